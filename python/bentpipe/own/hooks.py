"""What makes a method of a class of one's own a hook, whatever the class stands for."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from bentpipe.catalog import unknown
from bentpipe.errors import ScenarioError


@dataclass(frozen=True)
class Rules:
    """What is refused in classes that extend one of the core's, because it would never run, or hide something."""

    base: type
    """The core's class."""
    hooks: tuple[str, ...]
    state: tuple[str, ...]
    """What the core gives its objects, or reads from them."""
    owner: str
    """Whose that is."""
    use: str
    """What hooks do with it."""
    why_method: str
    """Why a hook is a method."""

    def check(self, cls: type, extended: type) -> None:
        """Refuse what looks like a hook and would never run, and what hides the state."""
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
        """What it is instead of a method that does its work when it is called; empty if it is one."""
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
    start = _shared(one, other)
    end = _shared(one[start:][::-1], other[start:][::-1])
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])


def _shared(one: str, other: str) -> int:
    """How many letters they begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class Absent:
    """A class that a saved result names, and that is not known."""

    instead: ClassVar[str]
    """How to put a class in its place."""

    def __init__(self, *args: Any) -> None:
        raise ScenarioError(
            f"{type(self).__name__} is not saved with the result\n  expected the class in its place, {self.instead}"
        )
