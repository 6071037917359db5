"""Congestion controls of your own as classes: how they are found, named, told apart and taken to other processes."""

from __future__ import annotations

import hashlib
import linecache
import os
import re
import sys
import traceback
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bentpipe.catalog import choices, unknown
from bentpipe.cc.base import Absent, CongestionControl, check_hooks
from bentpipe.cc.fingerprint import code_of
from bentpipe.errors import ScenarioError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType

    Sender: TypeAlias = "str | type[CongestionControl]"
    """The name of a congestion control, `FILE.py:CLASS`, or a class."""

LIKE = {
    "sack": "sack",
    "newreno": "newreno",
    "reno": "reno",
    "fast-retransmit": "tahoe",
    "timeout-only": "tcpmin",
}
"""By loss recovery, the congestion control of the registry that was published with it."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*")
_IN_FILE = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)")


MARKER = "marker-of-takers"


@cache
def marker(recovery: str) -> type[CongestionControl]:
    """To put in the place of another, to see which flows take it; it is called `MARKER`."""
    return type(MARKER, (CongestionControl,), {"recovery": recovery})


def is_key(key: str) -> bool:
    """Whether a dotted key of a scenario, or of what a sweep varies, names a congestion control."""
    return key == "tcp.cc" or key.endswith(".tcp.cc")


def is_own(what: object) -> bool:
    """Whether it is meant as a class of one's own."""
    return isinstance(what, type) or (isinstance(what, str) and _IN_FILE.fullmatch(what.strip()) is not None)


def name_of(sender: Sender) -> str:
    """What tables call it."""
    return sender if isinstance(sender, str) else str(vars(sender).get("name", sender.__name__))


def taken(sender: Sender) -> Sender:
    """A class as it is, `FILE.py:CLASS` as the class, and any other text as it is.

    Raises
    ------
    ScenarioError
        There is no such file or class, it cannot be imported, or it cannot be a congestion control.
    """
    if isinstance(sender, str):
        found = _IN_FILE.fullmatch(sender.strip())
        if found is None:
            return sender
        sender = _in_file(Path(found["path"]), found["name"])
    if not (isinstance(sender, type) and issubclass(sender, CongestionControl)):
        raise ScenarioError(
            f"{getattr(sender, '__name__', sender)!r} is not a congestion control\n"
            "  expected a class that extends bentpipe.CongestionControl"
        )
    _check_class(sender)
    return sender


def _check_class(cls: type[CongestionControl]) -> None:
    # Once more: attributes can be put into a class after it was made.
    check_hooks(cls)
    name = name_of(cls)
    if not isinstance(vars(cls).get("name", ""), str) or not _NAME.fullmatch(name):
        raise ScenarioError(f"a congestion control cannot be called {name!r}\n  expected a name like MyIdea")
    if any(name == choice["name"] for choice in choices()["cc"]):
        raise ScenarioError(
            f"{cls.__qualname__} is called {name}, as one that comes with bentpipe\n  expected another name"
        )
    recovery = getattr(cls, "recovery", None)
    if recovery not in LIKE:
        raise ScenarioError(unknown(str(recovery), f"a loss recovery that {name} can have", LIKE))


def united(*senders: Mapping[str, type[CongestionControl]]) -> dict[str, type[CongestionControl]]:
    """All of them by name.

    Raises
    ------
    ScenarioError
        Two different ones have one name.
    """
    found: dict[str, type[CongestionControl]] = {}
    for name, cls in (item for each in senders for item in each.items()):
        if name in found and found[name] is not cls and code_of(found[name]) != code_of(cls):
            raise ScenarioError(
                f"two congestion controls are called {name}\n"
                "  expected different names: give one of the classes an attribute name"
            )
        found[name] = cls
    return found


def parts(cc: Sender | Iterable[Sender]) -> list[Sender]:
    """Each by itself; a text may have several, with commas between them.

    Raises
    ------
    ScenarioError
        One is there twice.
    """
    asked: list[Sender] = []
    for each in [cc] if isinstance(cc, (str, type)) else cc:
        asked += [part.strip() for part in each.split(",") if part.strip()] if isinstance(each, str) else [each]
    for at, each in enumerate(asked):
        _refuse_twice(each, asked[:at])
    return asked


def _refuse_twice(sender: Sender, others: Iterable[Sender]) -> None:
    """A sender beside itself would look like a result."""
    if sender in others:
        name = sender if isinstance(sender, str) else name_of(sender)
        raise ScenarioError(f"{name} is there twice\n  expected each congestion control or case once")


def named(cc: Sender | Iterable[Sender]) -> dict[str, Sender]:
    """Congestion controls by name, in the order asked for; a text may have several, with commas between them.

    `all` stands for every one that comes with bentpipe.

    Raises
    ------
    ScenarioError
        One of them is not known, two have one name, or there are none.
    """
    asked = parts(cc)
    known = [choice["name"] for choice in choices()["cc"]]
    problems: list[str] = []
    found: dict[str, Sender] = {}
    classes: dict[str, type[CongestionControl]] = {}
    for whole in (taken(sender) for each in asked for sender in (known if each == "all" else [each])):
        if isinstance(whole, str):
            if whole not in known:
                problems.append(unknown(whole, "a congestion control", known))
            found[whole] = whole
        else:
            classes = united(classes, {name_of(whole): whole})
            found[name_of(whole)] = whole
    if problems:
        raise ScenarioError("\n".join(f"{problem}" for problem in dict.fromkeys(problems)))
    if not found:
        raise ScenarioError("no congestion control to compare\n  known: " + ", ".join(known))
    return found


def given(senders: Mapping[str, type[CongestionControl]]) -> list[tuple[str, str, str, type]]:
    """For the core: name, code, which of the registry it is like, and the class."""
    return [(name, code_of(cls), LIKE[cls.recovery], cls) for name, cls in senders.items()]


class Written(NamedTuple):
    """A class by its source, for other processes."""

    name: str
    path: str
    source: bytes


def written(senders: Mapping[str, type[CongestionControl]]) -> tuple[Written, ...]:
    """Classes from files, `FILE.py:CLASS`, by their source.

    Raises
    ------
    ScenarioError
        One is from elsewhere.
    """
    found = []
    for name, cls in senders.items():
        module = sys.modules.get(cls.__module__)
        source = getattr(module, "__source__", None)
        if not isinstance(source, bytes) or getattr(module, cls.__qualname__, None) is not cls:
            raise ScenarioError(
                f"{name} cannot be sent to other processes: it is from {cls.__module__}\n"
                "  expected it in a file, as myidea.py:MyIdea"
            )
        found.append(Written(cls.__qualname__, str(module.__file__) if module else "", source))
    return tuple(found)


def where(cls: type[CongestionControl]) -> str | None:
    """`FILE.py:CLASS`, by which the command line finds a class again; None if it cannot, as for one of a notebook."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None or cls.__module__ == "__main__":
        return None
    here, path = Path.cwd(), Path(file)
    text = f"{path.relative_to(here) if path.is_relative_to(here) else path}:{cls.__qualname__}"
    is_there = getattr(module, cls.__qualname__, None) is cls and _IN_FILE.fullmatch(text) is not None
    return text if is_there else None


def read(senders: Sequence[Written]) -> dict[str, type[CongestionControl]]:
    """What `written` wrote, by name."""
    classes = [getattr(imported(each.path, each.source), each.name) for each in senders]
    return {name_of(cls): cls for cls in classes}


def _in_file(path: Path, name: str) -> type:
    try:
        if path.is_fifo():
            raise ScenarioError(f"{path} is a pipe, which may never end\n  expected a file with a class")
        source = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}") from error
    module = imported(str(path.absolute()), source)
    found = getattr(module, name, None)
    if found is not None and not isinstance(found, type):
        raise ScenarioError(
            f"{name} in {path} is no class, but of the type {type(found).__name__}\n"
            "  expected a class that extends bentpipe.CongestionControl"
        )
    if found is None:
        classes = [key for key, value in vars(module).items() if _is_usable(value)]
        raise ScenarioError(unknown(name, f"there: {path} has no class {name}", classes))
    return found


def _is_usable(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, CongestionControl) and value is not CongestionControl


@cache
def imported(path: str, source: bytes) -> ModuleType:
    """A file as a module; another one when its content has changed.

    Raises
    ------
    ScenarioError
        It cannot be imported. The text has the traceback.
    """
    # Under a name of its own, which hides no other module.
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
        # Also what asks to end the process, such as `sys.exit()`, which would end it without a word.
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


def absent(text: str | Mapping[str, Any]) -> dict[str, type[CongestionControl]]:
    """By name, what stands for the classes that a resolved scenario names, as a text or as data."""
    content = tomllib.loads(text) if isinstance(text, str) else text
    transports = [content.get("tcp", {}), *(flow.get("tcp", {}) for flow in content["flow"].values())]
    named = [tcp["cc"] for tcp in transports if "code" in tcp.get("cc", {})]
    return {cc["kind"]: type(cc["kind"], (Absent,), {"_code": cc["code"]}) for cc in named}
