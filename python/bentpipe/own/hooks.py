"""Checks the hooks of custom classes: congestion controls, middleboxes and schedulers."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bentpipe.catalog import unknown
from bentpipe.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Rules:
    """Rules for classes that extend a class of the core.

    They reject methods that would never run, or hide attributes.
    """

    base: type
    """The core's class."""
    hooks: tuple[str, ...]
    state: tuple[str, ...]
    """Attributes of objects that the core sets or reads."""
    owner: str
    """Owner of the state, for messages."""
    use: str
    """Verb for the use of the state in hooks."""
    why_method: str
    """Reason why a hook must be a method, for messages."""

    def check(self, cls: type, extended: type) -> None:
        """Reject methods that resemble hooks and would never run, and attributes that hide the state."""
        for each in (each for each in cls.__mro__ if each not in extended.__mro__):
            for name, value in vars(each).items():
                if name in self.state:
                    raise ScenarioError(
                        f"{each.__name__} has its own {name} ({type(value).__name__}), which would hide the one of"
                        f" {self.owner}\n  expected another name; hooks {self.use} self.{name}"
                    )
                if name in self.hooks and (what := self._why_no_hook(value)):
                    raise ScenarioError(f"{name} of {each.__name__} is {what}")
                if name not in self.hooks and callable(getattr(value, "__func__", value)) and self._is_slip(name):
                    raise ScenarioError(unknown(name, f"a hook, but a method of {each.__name__}", self.hooks))

    def _why_no_hook(self, value: object) -> str:
        """Names the kind of an attribute that is not a plain method; empty for a plain method."""
        if isinstance(value, (staticmethod, classmethod)):
            return f"a {type(value).__name__}\n  expected a method: {self.why_method}"
        if not callable(value):
            return f"{'a property' if isinstance(value, property) else repr(value)}\n  expected a method"
        function = inspect.unwrap(value)
        if inspect.isgeneratorfunction(function):
            return "a generator, whose lines would never run\n  expected a method without `yield`"
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return "`async`, so its lines would never run\n  expected a method without `async`"
        return ""

    def _is_slip(self, name: str) -> bool:
        """Whether a name is meant as a hook: like `onAck`, or one letter, or two that changed places, away from one."""
        if name.startswith("_") or name in dir(self.base):
            return False
        is_near = any(_is_near(_flat(name), _flat(hook)) for hook in self.hooks)
        return re.match("on_|[oO]n[A-Z]", name) is not None or is_near


def _flat(name: str) -> str:
    return name.replace("_", "").lower()


def _is_near(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    start = _count_shared(one, other)
    end = _count_shared(one[start:][::-1], other[start:][::-1])
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])


def _count_shared(one: str, other: str) -> int:
    """Counts the letters of their common beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def list_state(of: object) -> Iterator[tuple[str, Any]]:
    """Return the attributes that a class in Python has set on an object."""
    yield from vars(of).items()
    for cls in type(of).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(of, slot):
                yield slot, getattr(of, slot)


class Absent:
    """Placeholder for a custom class of a saved result that is not available."""

    instead: ClassVar[str]
    """Advice on the use of the class instead."""

    def __init__(self, *args: Any) -> None:
        raise ScenarioError(
            f"{type(self).__name__} is not saved with the result\n  expected the class in its place, {self.instead}"
        )
