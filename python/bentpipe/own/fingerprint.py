"""Computes fingerprints of custom classes. Two classes that may act differently have different fingerprints."""

from __future__ import annotations

import hashlib
import inspect
import sys
from itertools import takewhile
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from bentpipe.own.hooks import Absent
from bentpipe.own.middlebox import Middlebox
from bentpipe.own.scheduler import Scheduler
from bentpipe.own.sender import Bbr, CongestionControl, Cubic, Reno

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BASES = (CongestionControl, Cubic, Reno, Bbr, Middlebox, Scheduler)
"""The classes of bentpipe that others extend."""


def compute_code(cls: type) -> str:
    """Compute the fingerprint of a class: 16 hexadecimal digits, which differ if two classes may act differently.

    It covers the files, or notebook cells, that define the class and its base classes. Without the source, it covers
    the compiled methods. It also covers plain values and functions: attributes of the classes, and names outside the
    classes that their methods use.
    """
    if "_code" in vars(cls) and issubclass(cls, Absent):
        return str(vars(cls)["_code"])
    digest = hashlib.sha256()
    if extends := getattr(cls, "extends", None):
        digest.update(f"extends {extends}\0".encode())
    for each in takewhile(lambda each: each not in BASES, cls.__mro__):
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
"""Attributes without effect on a class: its module may be imported under any name."""


def _facts(values: Mapping[str, Any], seen: set[int]) -> Iterator[str]:
    """Describes values: plain values as text, functions by their code and the names that they use."""
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
    """Returns the values that a function uses from around it."""
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
    """Returns the value if equal values have equal text, otherwise its type."""
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
