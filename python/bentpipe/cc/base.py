"""The class that a congestion control of your own extends, and what makes a method of it a hook."""

from __future__ import annotations

import copy
import inspect
import re
from types import GetSetDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar

from bentpipe import _core
from bentpipe._core import AckSample, Congestion, Delivery, Init, PathState
from bentpipe.catalog import unknown
from bentpipe.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AckSample", "Congestion", "CongestionControl", "Delivery", "Init", "PathState"]

HOOKS: tuple[str, ...] = tuple(_core.hooks())
STATE = tuple(name for name, value in vars(_core.CongestionControl).items() if isinstance(value, GetSetDescriptorType))
"""What the connection reads from an object: `cwnd` and `ssthresh`."""


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
        check_hooks(cls)

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


def _state(of: _core.CongestionControl) -> Iterator[tuple[str, Any]]:
    yield from vars(of).items()
    for cls in type(of).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(of, slot):
                yield slot, getattr(of, slot)


def check_hooks(cls: type) -> None:
    """Refuse what looks like a hook and would never run, and what hides what the connection sets and reads."""
    for each in (each for each in cls.__mro__ if each not in CongestionControl.__mro__):
        for name, value in vars(each).items():
            if name in STATE:
                raise ScenarioError(
                    f"{each.__name__} has a {name} of its own ({type(value).__name__}), which would hide that of"
                    f" the connection\n  expected another name; hooks set self.{name}"
                )
            if name in HOOKS and (what := _why_no_hook(value)):
                raise ScenarioError(f"{name} of {each.__name__} is {what}")
            if name not in HOOKS and callable(getattr(value, "__func__", value)) and _is_slip(name):
                raise ScenarioError(unknown(name, f"a hook, and {each.__name__} has a method of that name", HOOKS))


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


class Absent(CongestionControl):
    """One that a saved result names, and whose class is not known."""

    def __init__(self, init: Init) -> None:
        raise ScenarioError(f"{type(self).__name__} is not a part of the result: put the class in its place, as cc=...")
