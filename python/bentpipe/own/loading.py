"""Finds, names and distinguishes custom classes."""

from __future__ import annotations

import hashlib
import json
import linecache
import os
import re
import sys
import traceback
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bentpipe.catalog import QUIC_CC, cc_keys, names, unknown
from bentpipe.errors import ScenarioError
from bentpipe.files import reason
from bentpipe.own import plugins
from bentpipe.own.fingerprint import BASES, compute_code
from bentpipe.own.middlebox import RULES as MIDDLEBOX_RULES
from bentpipe.own.middlebox import AbsentMiddlebox, Middlebox
from bentpipe.own.scheduler import RULES as SCHEDULER_RULES
from bentpipe.own.scheduler import AbsentScheduler, Scheduler
from bentpipe.own.sender import RULES as SENDER_RULES
from bentpipe.own.sender import AbsentSender, CongestionControl

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from bentpipe.errors import Problem
    from bentpipe.scenario.names import CcName

    Sender: TypeAlias = "CcName | str | type[CongestionControl]"
    """The name of a congestion control, `FILE.py:CLASS`, or a class."""
    Function: TypeAlias = "str | type[Middlebox] | Mapping[str, Any]"
    """`FILE.py:CLASS`, a class, or a table as in a scenario."""
    Own: TypeAlias = type[CongestionControl] | type[Middlebox] | type[Scheduler]
    """A custom class."""

_KINDS: dict[type, str] = {
    CongestionControl: "a congestion control",
    Middlebox: "a middlebox",
    Scheduler: "a scheduler",
}
"""Kinds of custom classes, by their base."""
_TOPICS: dict[type, str] = {CongestionControl: "cc", Middlebox: "middlebox", Scheduler: "scheduler"}
"""The topic of `choices` with the bundled ones."""

LIKE = {
    "sack": "sack",
    "newreno": "newreno",
    "reno": "reno",
    "fast-retransmit": "tahoe",
    "timeout-only": "tcpmin",
}
"""The registered congestion control that was published with each loss recovery."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*")
_SCHEDULER = re.compile(r"(^|\.)flow\..+\.multipath\.scheduler$")
_PLACE = re.compile(r"(^|\.)node\..+\.middlebox(\.(append|prepend|remove|replace))?$")
_SKY = re.compile(r"(^|\.)sky(\.constellation\..+)?\.middlebox$")
_PART = re.compile(r"((\[\d+\]|\.\d+)(\.(kind|name))?|\.kind)$")
"""End of the key of a problem: a part of the value of a key."""
_IN_FILE = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)")


def find_base(key: str) -> type | None:
    """Return the base class of custom classes at a dotted key of a scenario or sweep; None if the key takes none."""
    if key.endswith(".cc") and any(f".{key}".endswith(f".{each}") for each in (*cc_keys(), QUIC_CC)):
        return CongestionControl
    if _SCHEDULER.search(key):
        return Scheduler
    return Middlebox if is_place(key) or _SKY.search(key) else None


def is_place(key: str) -> bool:
    """Whether a dotted key of a scenario sets or changes the list of middleboxes of a node."""
    return _PLACE.search(key) is not None


def changes_list(key: str) -> bool:
    """Whether a dotted key changes the list of middleboxes of a node. Only overrides can have such a key."""
    return is_place(key) and not key.endswith(".middlebox")


def is_own(what: object) -> bool:
    """Whether the value refers to a custom class."""
    return isinstance(what, type) or (isinstance(what, str) and _IN_FILE.fullmatch(what.strip()) is not None)


def find_name(own: str | Own) -> str:
    """Return the name of a class in tables."""
    return own if isinstance(own, str) else str(vars(own).get("name", own.__name__))


def in_scenario(cls: Own) -> Any:
    """Return the value that stands for a class in scenarios."""
    return {"kind": "own", "name": find_name(cls)} if issubclass(cls, Middlebox) else find_name(cls)


def load_class(own: Any, base: type | None = None) -> Any:
    """Load `FILE.py:CLASS`, or the class of an installed package; return classes and other texts unchanged.

    If `base` is given, a name that is not bundled is searched in installed packages.

    Parameters
    ----------
    own : class or str
    base : class, optional
        Required base: `CongestionControl`, `Middlebox` or `Scheduler`; any of them if not given.

    Raises
    ------
    ScenarioError
        There is no such file or class, it cannot be imported, or it has another base.
    """
    bases = {each: what for each, what in _KINDS.items() if base in (None, each)}
    if isinstance(own, str):
        found = _IN_FILE.fullmatch(own.strip())
        if found is None:
            return own if base is None else find_plugin(own.strip(), base) or own
        own = _in_file(Path(found["path"]), found["name"], tuple(bases))
    if not (isinstance(own, type) and issubclass(own, tuple(bases))):
        raise ScenarioError(
            f"{getattr(own, '__name__', own)!r} is not {' or '.join(bases.values())}\n  {_name_expected(bases)}"
        )
    _check_class(own, next(what for each, what in bases.items() if issubclass(own, each)))
    return own


def find_plugin(name: str, base: type) -> Own | None:
    """Load the class of this name from an installed package; None without such a package, and for bundled names.

    Raises
    ------
    BentpipeError
        Several packages have the name, or its package cannot be imported.
    ScenarioError
        It is not such a class, or has another name in tables.
    """
    if not _NAME.fullmatch(name) or name in names(_TOPICS[base]):
        return None
    found = plugins.find_plugin(name, plugins.GROUPS[base])
    if found is None:
        return None
    cls: Own = load_class(found, base)
    if find_name(cls) != name:
        raise ScenarioError(
            f"{name} of {plugins.find_package(cls)} is called {find_name(cls)} in tables\n"
            f"  expected one name: the class needs an attribute name = {name!r}"
        )
    return cls


def find_any_plugin(name: str) -> Own | None:
    """Load the class of this name from an installed package; None without such a package."""
    return next((found for base in _KINDS if (found := find_plugin(name, base)) is not None), None)


def find_named_plugins(problems: Iterable[Problem]) -> dict[str, Own]:
    """Load the classes of installed packages whose names the core does not know, by name."""
    found = {}
    for each in problems:
        base = find_base(_PART.sub("", each.key))
        if base is not None and isinstance(each.value, str) and (cls := find_plugin(each.value, base)) is not None:
            found[each.value] = cls
    return found


def find_varied_plugins(known: Mapping[str, Own], *experiments: str | None) -> dict[str, Own]:
    """Load the classes of installed packages that a sweep or search varies, by name, before the core checks them.

    `experiments` has the tables of the core as JSON. `known` has classes that need not be loaded.
    """
    axes = [axis for text in experiments if text for axis in json.loads(text)["axes"]]
    found = {}
    for axis in axes:
        for key, values in zip(axis["keys"], zip(*axis["values"], strict=True), strict=True):
            if (base := find_base(key)) is None:
                continue
            for name in (name for value in values for name in _list_names(value)):
                if name not in known and (cls := find_plugin(name, base)) is not None:
                    found[name] = cls
    return found


def _list_names(value: Any) -> list[str]:
    """Names of classes in a value: a name, a table of this kind, or a list of both."""
    if isinstance(value, list):
        return [name for each in value for name in _list_names(each)]
    if isinstance(value, dict):
        value = value.get("name" if value.get("kind") == "own" else "kind")
    return [value] if isinstance(value, str) else []


def _name_expected(bases: Iterable[type]) -> str:
    return f"expected a class that extends {' or '.join(f'bentpipe.{each.__name__}' for each in bases)}"


def _check_class(cls: Any, what: str) -> None:
    name = find_name(cls)
    if not isinstance(vars(cls).get("name", ""), str) or not _NAME.fullmatch(name):
        raise ScenarioError(f"{what} cannot be called {name!r}\n  expected a name like MyIdea")
    # Again: attributes can be added to a class after its definition.
    if issubclass(cls, Middlebox):
        return MIDDLEBOX_RULES.check(cls, Middlebox)
    is_scheduler = issubclass(cls, Scheduler)
    if is_scheduler:
        SCHEDULER_RULES.check(cls, Scheduler)
    else:
        SENDER_RULES.check(cls, CongestionControl)
    if name in names("scheduler" if is_scheduler else "cc"):
        raise ScenarioError(f"{cls.__qualname__} is called {name}, like a bundled one\n  expected another name")
    if is_scheduler:
        return None
    recovery, extends = getattr(cls, "recovery", None), getattr(cls, "extends", None)
    if recovery not in LIKE:
        raise ScenarioError(unknown(str(recovery), f"a loss recovery that {name} can have", LIKE))
    if extends is None:
        return None
    known = names("cc")
    if extends not in known:
        raise ScenarioError(unknown(str(extends), f"a congestion control that {name} can extend", known))
    if "recovery" in {key for each in cls.__mro__ if each is not CongestionControl for key in vars(each)}:
        raise ScenarioError(
            f"{name} has its own recovery, and extends {extends}, which has one\n"
            "  expected one of the two; the scenario may set tcp.recovery"
        )
    return None


def unite_classes(*classes: Mapping[str, Own]) -> dict[str, Own]:
    """Unite classes by name.

    Raises
    ------
    ScenarioError
        Two different classes have the same name.
    """
    found: dict[str, Own] = {}
    for name, cls in (item for each in classes for item in each.items()):
        if name in found and found[name] is not cls and compute_code(found[name]) != compute_code(cls):
            raise ScenarioError(
                f"two {_name_kind(found[name], cls)} are called {name}\n"
                "  expected different names: give one of the classes an attribute name"
            )
        found[name] = cls
    return found


def _name_kind(*classes: Own) -> str:
    """The plural of the kind of classes; `classes` if they differ in kind."""
    plurals = {CongestionControl: "congestion controls", Middlebox: "middleboxes", Scheduler: "schedulers"}
    found = {what for base, what in plurals.items() for each in classes if issubclass(each, base)}
    return found.pop() if len(found) == 1 else "classes"


def parts(cc: Sender | Iterable[Sender]) -> list[Sender]:
    """Split texts with several names separated by commas.

    Raises
    ------
    ScenarioError
        A name is given twice.
    """
    if not hasattr(cc, "__iter__") and not isinstance(cc, type):
        raise ScenarioError(f"{cc!r} is not a congestion control\n  expected a name, a class, or a list of them")
    asked: list[Sender] = []
    for each in [cc] if isinstance(cc, (str, type)) else cc:
        asked += [part.strip() for part in each.split(",") if part.strip()] if isinstance(each, str) else [each]
    for at, each in enumerate(asked):
        _refuse_twice(each, asked[:at])
    return asked


def _refuse_twice(sender: Sender, others: Iterable[Sender]) -> None:
    """Reject a name that occurs twice."""
    if sender in others:
        name = sender if isinstance(sender, str) else find_name(sender)
        raise ScenarioError(f"{name} is given twice\n  expected each congestion control or case once")


def name_senders(cc: Sender | Iterable[Sender]) -> dict[str, Sender]:
    """Return congestion controls by name, in the given order. A text may name several, separated by commas.

    `all` stands for all bundled congestion controls.

    Raises
    ------
    ScenarioError
        A congestion control is unknown, two have the same name, or none is given.
    """
    asked = parts(cc)
    known = names("cc")
    problems: list[str] = []
    found: dict[str, Sender] = {}
    classes: dict[str, Own] = {}
    senders = (sender for each in asked for sender in (known if each == "all" else [each]))
    for whole in (load_class(sender, CongestionControl) for sender in senders):
        if isinstance(whole, str):
            if whole not in known:
                problems.append(_unknown(whole, known))
            found[whole] = whole
        else:
            classes = unite_classes(classes, {find_name(whole): whole})
            found[find_name(whole)] = whole
    if problems:
        raise ScenarioError("\n".join(f"{problem}" for problem in dict.fromkeys(problems)))
    if not found:
        raise ScenarioError("no congestion control to compare\n  known: " + ", ".join(known))
    return found


def _unknown(name: str, known: Iterable[str]) -> str:
    path, colon, _ = name.partition(".py")
    if colon:
        return f"{name!r} is not a congestion control\n  expected FILE.py:CLASS, as {path}.py:MyIdea"
    return unknown(name, "a congestion control", [*known, *plugins.list_plugins(plugins.GROUPS[CongestionControl])])


def describe_classes(classes: Mapping[str, Own]) -> list[tuple[str, str, str | None, type]]:
    """Describe classes for the core: name, code, the built-in congestion control that each extends, and the class."""
    return [(name, compute_code(cls), _find_like(cls), cls) for name, cls in classes.items()]


def _find_like(cls: Own) -> str | None:
    """The congestion control of the registry that a class is like; None for other classes."""
    return cls.extends or LIKE[cls.recovery] if issubclass(cls, CongestionControl) else None


def where(cls: type) -> str | None:
    """Return how the command line names a class: `FILE.py:CLASS`, or its name in a package; None if it cannot."""
    if plugins.find_package(cls) is not None:
        return find_name(cls)
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None or cls.__module__ == "__main__":
        return None
    here, path = Path.cwd(), Path(file)
    text = f"{path.relative_to(here) if path.is_relative_to(here) else path}:{cls.__qualname__}"
    is_there = getattr(module, cls.__qualname__, None) is cls and _IN_FILE.fullmatch(text) is not None
    return text if is_there else None


def _in_file(path: Path, name: str, bases: tuple[type, ...]) -> type:
    try:
        if path.is_fifo():
            raise ScenarioError(f"{path} is a pipe, which may never end\n  expected a file with a class")
        source = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {reason(error)}\n  expected the file of {name}") from error
    module = import_file(str(path.absolute()), source)
    found = getattr(module, name, None)
    if found is not None and not isinstance(found, type):
        raise ScenarioError(f"{name} in {path} is not a class, but a {type(found).__name__}\n  {_name_expected(bases)}")
    if found is None:
        classes = [key for key, value in vars(module).items() if _is_usable(value, bases)]
        raise ScenarioError(unknown(name, f"there: {path} has no class {name}", classes))
    return found


def _is_usable(value: object, bases: tuple[type, ...]) -> bool:
    return isinstance(value, type) and issubclass(value, bases) and value not in BASES


@cache
def import_file(path: str, source: bytes) -> ModuleType:
    """Import a file as a module; a changed file becomes a new module.

    Raises
    ------
    ScenarioError
        It cannot be imported. The text has the traceback.
    """
    # Under a unique name, which hides no other module.
    name = f"_bentpipe_{Path(path).stem}_{hashlib.sha256(os.fsencode(path) + source).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    assert spec is not None, "it is a Python file"
    module = module_from_spec(spec)
    sys.modules[name] = module
    module.__dict__["__source__"] = source
    folder = str(Path(path).parent)
    sys.path.insert(0, folder)
    try:
        linecache.checkcache(path)
        exec(compile(source, path, "exec"), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        # Also requests to end the process, such as `sys.exit()`, which would end it without a message.
        if isinstance(error, (ScenarioError, KeyboardInterrupt)):
            raise
        raise ScenarioError(f"{path} cannot be imported\n\n{_traceback(error)}") from error
    finally:
        sys.path.remove(folder)
    return module


def _traceback(error: BaseException) -> str:
    # Without the frames of this module.
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def present(text: str, classes: Iterable[Sender | Function]) -> dict[str, Own]:
    """Return the classes that a resolved scenario names, by name: the given classes, and placeholders for the others.

    Raises
    ------
    ScenarioError
        A given class cannot be found, or the scenario does not name it.
    """
    found = absent(text)
    for cls in map(load_class, classes):
        name = find_name(cls)
        if name not in found:
            raise ScenarioError(unknown(name, "a class that this result has", found))
        if compute_code(cls) != compute_code(found[name]):
            raise ScenarioError(
                f"{name} is not the class of the result: its code has changed\n"
                "  expected the former class, or a new run with this class"
            )
        found[name] = cls
    return found


def absent(text: str | Mapping[str, Any]) -> dict[str, Own]:
    """Return placeholders for the classes that a resolved scenario names, by name."""
    content = tomllib.loads(text) if isinstance(text, str) else text
    transports = [content.get("tcp", {}), *(flow.get("tcp", {}) for flow in content["flow"].values())]
    named = [tcp["cc"] for tcp in transports if "code" in tcp.get("cc", {})]
    found: dict[str, Own] = {
        cc["kind"]: type(cc["kind"], (AbsentSender,), {"_code": cc["code"], "extends": cc.get("extends")})
        for cc in named
    }
    multipaths = [flow.get("multipath", {}) for flow in content["flow"].values()]
    for each in (multipath.get("scheduler", {}) for multipath in multipaths):
        if "code" in each:
            found[each["kind"]] = type(each["kind"], (AbsentScheduler,), {"_code": each["code"]})
    placed = [each for node in content.get("node", {}).values() for each in node.get("middlebox", [])]
    for each in placed:
        if isinstance(each, dict) and each["kind"] == "own":
            found[each["name"]] = type(each["name"], (AbsentMiddlebox,), {"_code": each["code"]})
    return found
