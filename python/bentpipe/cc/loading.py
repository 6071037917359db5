"""Congestion controls of your own, in Python: the class to extend, and how classes are found, named and told apart."""

from __future__ import annotations

import copy
import hashlib
import inspect
import linecache
import os
import re
import sys
import traceback
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType, GetSetDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from bentpipe import _core
from bentpipe._core import AckSample, Congestion, Delivery, Init, PathState
from bentpipe.catalog import choices, unknown
from bentpipe.errors import ScenarioError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Sender: TypeAlias = "str | type[CongestionControl]"
    """The name of a congestion control, `FILE.py:CLASS`, or a class."""

__all__ = ["AckSample", "Congestion", "CongestionControl", "Delivery", "Init", "PathState"]

HOOKS: tuple[str, ...] = tuple(_core.hooks())
STATE = tuple(name for name, value in vars(_core.CongestionControl).items() if isinstance(value, GetSetDescriptorType))
"""What the connection reads from an object: `cwnd` and `ssthresh`."""
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


class CongestionControl(_core.CongestionControl):
    """Extend this to write a congestion control of your own. What you do not override does what Reno does.

    A hook is called with the same facts as one in Rust, in the same order: on one ACK first losses are found
    (`on_congestion`, `on_recovery_exit`), then comes `on_delivery`, then `on_ack`. Set `cwnd` and `ssthresh` in it;
    what they are when it returns is what the connection uses. Retransmission, timers and loss recovery belong to the
    connection.

    The objects that a hook is given are the same each time, with new values: keep the values, not the objects. For
    random choices use `random.Random(init.seed)`: then equal seeds give equal results.

    Attributes
    ----------
    cwnd : float
        The congestion window, bytes, with fractions; 0 to 2**40. Never below one segment: less becomes one.
    ssthresh : float
        The slow start threshold, bytes; `math.inf`: none yet.
    name : str
        For tables and figures; the name of the class if not given.
    recovery : str
        Loss recovery, unless the scenario names one: `sack` (if not given), `newreno`, `reno`, `fast-retransmit` or
        `timeout-only`.

    Examples
    --------
    >>> import bentpipe as bp
    >>> class Gentle(bp.CongestionControl):
    ...     "Reno that keeps 70 % of the window."
    ...
    ...     def on_congestion(self, why, path):
    ...         kept = path.share(why.left(0.7))
    ...         self.reduce(path.as_ssthresh(kept), kept)
    >>> comparison = bp.compare("geo", cc=["newreno", Gentle], replications=2)      # doctest: +SKIP
    """

    name: ClassVar[str]
    recovery: ClassVar[str] = "sack"

    def __init__(self, init: _core.Init) -> None:
        """Begin with a window of `init.cwnd` bytes in slow start; see `Init`.

        Called for both ends of a connection, when it is made and again when its data transfer begins.
        """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_hooks(cls)

    def __deepcopy__(self, memo: dict[int, Any]) -> CongestionControl:
        # Made without `__init__`, which may have any arguments.
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        _core.CongestionControl.undo(new, self)
        for key, value in _state(self):
            setattr(new, key, copy.deepcopy(value, memo))
        return new

    def undo(self, before: _core.CongestionControl) -> None:
        """What looked like congestion was none: go on as `before` it, a copy of this object."""
        super().undo(before)
        for key, value in _state(before):
            setattr(self, key, value)


MARKER = "marker-of-takers"


@cache
def marker(recovery: str) -> type[CongestionControl]:
    """To put in the place of another, to see which flows take it; it is called `MARKER`."""
    return type(MARKER, (CongestionControl,), {"recovery": recovery})


def _state(of: _core.CongestionControl) -> Iterator[tuple[str, Any]]:
    yield from vars(of).items()
    for cls in type(of).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(of, slot):
                yield slot, getattr(of, slot)


def _check_hooks(cls: type) -> None:
    """Refuse what looks like a hook and would never run, and what hides what the connection sets and reads."""
    for each in (each for each in cls.__mro__ if each not in CongestionControl.__mro__):
        for name, value in vars(each).items():
            if name in STATE:
                raise ScenarioError(
                    f"error: {each.__name__} has a {name} of its own ({type(value).__name__}), which would hide that of"
                    f" the connection\n  expected another name; hooks set self.{name}"
                )
            if name in HOOKS and (what := _why_no_hook(value)):
                raise ScenarioError(f"error: {name} of {each.__name__} is {what}")
            if name not in HOOKS and callable(getattr(value, "__func__", value)) and _is_slip(name):
                raise ScenarioError(
                    "error: " + unknown(name, f"a hook, and {each.__name__} has a method of that name", HOOKS)
                )


def _why_no_hook(value: object) -> str:
    """What it is instead of a method that does its work when it is called; empty if it is one."""
    if isinstance(value, (staticmethod, classmethod)):
        return f"a {type(value).__name__}\n  expected a method: it works on the window of one connection"
    if not callable(value):
        return f"{'a property' if isinstance(value, property) else repr(value)}\n  expected a method"
    function = inspect.unwrap(value)
    if inspect.isgeneratorfunction(function):
        return "a generator, and its lines would never run\n  expected a method without `yield`"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "`async`, and its lines would never run\n  expected a method without `async`"
    return ""


def _is_slip(name: str) -> bool:
    """Whether a name is meant as a hook: like `onAck`, or one letter, or two that changed places, away from one."""
    if name.startswith("_") or name in dir(_core.CongestionControl):
        return False
    return re.match("on_|[oO]n[A-Z]", name) is not None or any(_is_near(_flat(name), _flat(hook)) for hook in HOOKS)


def _flat(name: str) -> str:
    return name.replace("_", "").lower()


def _is_near(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    start = _shared(one, other)
    end = _shared(one[start:][::-1], other[start:][::-1])
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])


def _shared(one: str, other: str) -> int:
    """How many letters they begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


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
            f"error: {getattr(sender, '__name__', sender)!r} is not a congestion control\n"
            "  expected a class that extends bentpipe.CongestionControl"
        )
    _check_class(sender)
    return sender


def _check_class(cls: type[CongestionControl]) -> None:
    # Once more: attributes can be put into a class after it was made.
    _check_hooks(cls)
    name = name_of(cls)
    if not isinstance(vars(cls).get("name", ""), str) or not _NAME.fullmatch(name):
        raise ScenarioError(f"error: a congestion control cannot be called {name!r}\n  expected a name like MyIdea")
    if any(name == choice["name"] for choice in choices()["cc"]):
        raise ScenarioError(
            f"error: {cls.__qualname__} is called {name}, as one that comes with bentpipe\n  expected another name"
        )
    recovery = getattr(cls, "recovery", None)
    if recovery not in LIKE:
        raise ScenarioError("error: " + unknown(str(recovery), f"a loss recovery that {name} can have", LIKE))


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
                f"error: two congestion controls are called {name}\n"
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
        raise ScenarioError(f"error: {name} is there twice\n  expected each congestion control or case once")


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
        raise ScenarioError("\n".join(f"error: {problem}" for problem in dict.fromkeys(problems)))
    if not found:
        raise ScenarioError("error: no congestion control to compare\n  known: " + ", ".join(known))
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
                f"error: {name} cannot be sent to other processes: it is from {cls.__module__}\n"
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
            raise ScenarioError(f"error: {path} is a pipe, which may never end\n  expected a file with a class")
        source = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"error: {path} cannot be read: {error.strerror}") from error
    module = imported(str(path.absolute()), source)
    found = getattr(module, name, None)
    if found is not None and not isinstance(found, type):
        raise ScenarioError(
            f"error: {name} in {path} is no class, but of the type {type(found).__name__}\n"
            "  expected a class that extends bentpipe.CongestionControl"
        )
    if found is None:
        classes = [key for key, value in vars(module).items() if _is_usable(value)]
        raise ScenarioError("error: " + unknown(name, f"there: {path} has no class {name}", classes))
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
        raise ScenarioError(f"error: {path} cannot be imported\n\n{_traceback(error)}") from error
    finally:
        sys.path.remove(folder)
    return module


def _traceback(error: BaseException) -> str:
    # Without the frames of this module.
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def code_of(cls: type) -> str:
    """16 hexadecimal digits that differ wherever a class may act differently.

    They are made of the files that define it and the classes that it extends, or the cells of a notebook; where the
    source cannot be had, of the compiled methods. Values count, too: attributes of the classes, and what their methods
    take from around them, as far as these are plain values or functions.
    """
    if "_code" in vars(cls) and issubclass(cls, Absent):
        return str(vars(cls)["_code"])
    digest = hashlib.sha256()
    for each in cls.__mro__[: cls.__mro__.index(CongestionControl)]:
        digest.update(f"{each.__qualname__}\0{_source(each)}\0".encode())
        for fact in _facts(vars(each), set()):
            digest.update(f"{fact}\0".encode())
    return digest.hexdigest()[:16]


def _source(cls: type) -> str:
    module = sys.modules.get(cls.__module__)
    kept = getattr(module, "__source__", None)
    if isinstance(kept, bytes):
        return kept.decode("utf-8", "replace")
    try:
        return "".join(inspect.findsource(cls)[0])
    except (OSError, TypeError):
        return ""


_NO_FACTS = ("__doc__", "__firstlineno__", "__static_attributes__", "__dict__", "__weakref__", "__module__")
"""What says nothing about what a class does; its module may be imported under any name."""


def _facts(values: Mapping[str, Any], seen: set[int]) -> Iterator[str]:
    """What is known of values: plain ones as they are, functions by what they do and use."""
    for name, value in sorted(values.items()):
        if name in _NO_FACTS:
            continue
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(function, FunctionType):
            if id(function) not in seen:
                seen.add(id(function))
                yield f"{name}:"
                yield from _code(function.__code__)
                yield repr(_plain((function.__defaults__, function.__kwdefaults__)))
                yield from _facts({f".{k}": v for k, v in _around(function)}, seen)
        else:
            yield f"{name}={_plain(value)!r}"


def _around(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function takes from around it."""
    names = set(_names(function.__code__))
    yield from ((name, value) for name, value in function.__globals__.items() if name in names)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # Not set yet.
            continue


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _code(const)
        else:
            yield repr(_plain(const))


def _plain(value: Any) -> Any:
    """The value, if equal ones read the same; else of what type it is."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(_plain, value)]
    if isinstance(value, (set, frozenset)):
        return [type(value).__name__, *sorted(map(repr, map(_plain, value)))]
    if isinstance(value, dict):
        return {repr(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (type, ModuleType)):
        return value.__name__
    return type(value).__qualname__


class Absent(CongestionControl):
    """One that a saved result names, and whose class is not known."""

    def __init__(self, init: Init) -> None:
        raise ScenarioError(f"{type(self).__name__} is not a part of the result: put the class in its place, as cc=...")


def absent(text: str | Mapping[str, Any]) -> dict[str, type[CongestionControl]]:
    """By name, what stands for the classes that a resolved scenario names, as a text or as data."""
    content = tomllib.loads(text) if isinstance(text, str) else text
    transports = [content.get("tcp", {}), *(flow.get("tcp", {}) for flow in content["flow"].values())]
    named = [tcp["cc"] for tcp in transports if "code" in tcp.get("cc", {})]
    return {cc["kind"]: type(cc["kind"], (Absent,), {"_code": cc["code"]}) for cc in named}
