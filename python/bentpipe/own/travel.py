"""Sends custom classes to other processes: as the source of their file, or pickled by value."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.own.loading import describe_classes, find_name, import_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import ModuleType

    from bentpipe.own.loading import Own

    Given: TypeAlias = tuple[str, str, str | None, type]
    """Name, code and class for the core: see `loading.describe_classes`."""
    Plain: TypeAlias = tuple[str, str | None, bytes, tuple[int, int]]
    """A `Sent` as a plain tuple."""

IN_A_FILE = "the class in a file, as myidea.py:MyIdea"


class Sent(NamedTuple):
    """A class in transit to another process."""

    name: str
    path: str | None
    """File of the class; None if it is pickled by value."""
    content: bytes
    """Source of the file, or a pickled `Given`, with the code that the class has in this process."""
    python: tuple[int, int]
    """Version of Python. Other versions cannot read the byte code."""


def sent(classes: Mapping[str, Own]) -> tuple[Plain, ...]:
    """Pack classes for another process: classes of files by their source, of notebooks and modules by value.

    The result has plain tuples, so a process with another version of bentpipe can read them and report the difference.

    Raises
    ------
    ScenarioError
        A class refers to an object that cannot be pickled, or `cloudpickle` is not installed.
    """
    return tuple(_sent(name, cls) for name, cls in classes.items())


def receive_classes(classes: Iterable[Plain]) -> list[Given]:
    """Unpack the classes of `sent`, for the core.

    Raises
    ------
    BentpipeError
        A class was pickled by another version of Python.
    """
    return [_receive_class(Sent(*each)) for each in classes]


def _sent(name: str, cls: Own) -> Plain:
    module = sys.modules.get(cls.__module__)
    source = getattr(module, "__source__", None)
    if module is not None and isinstance(source, bytes) and getattr(module, cls.__qualname__, None) is cls:
        return cls.__qualname__, str(module.__file__), source, sys.version_info[:2]
    return name, None, _pickle_class(name, cls), sys.version_info[:2]


def _receive_class(each: Sent) -> Given:
    if each.path is not None:
        cls = getattr(import_file(each.path, each.content), each.name)
        return describe_classes({find_name(cls): cls})[0]
    if each.python != sys.version_info[:2]:
        here = _write_version(sys.version_info[:2])
        raise BentpipeError(
            f"{each.name} was defined with Python {_write_version(each.python)}, and a worker has Python {here}\n"
            f"  expected the same version, or {IN_A_FILE}"
        )
    found: Given = import_module("cloudpickle").loads(each.content)
    return found


def _pickle_class(name: str, cls: Own) -> bytes:
    try:
        cloudpickle: Any = import_module("cloudpickle")
    except ImportError:
        raise ScenarioError(
            f"to send {name} to other processes needs cloudpickle, which is not installed\n"
            f"  pip install 'bentpipe[cluster]', or use {IN_A_FILE}"
        ) from None
    # By reference, a process would take the class from its copy of the module, or find none.
    by_value = [
        module for module in _modules(cls) if module.__name__ not in cloudpickle.list_registry_pickle_by_value()
    ]
    for module in by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        content: bytes = cloudpickle.dumps(describe_classes({name: cls})[0])
        return content
    except Exception as error:
        raise ScenarioError(f"{name} cannot be sent to other processes: {error}\n  expected {IN_A_FILE}") from error
    finally:
        for module in by_value:
            cloudpickle.unregister_pickle_by_value(module)


def _modules(cls: type) -> Iterator[ModuleType]:
    """Modules that define the class and the classes that it extends, without those that each process has."""
    for name in dict.fromkeys(each.__module__ for each in cls.__mro__):
        first = name.partition(".")[0]
        if first not in ("bentpipe", "__main__") and first not in sys.stdlib_module_names and name in sys.modules:
            yield sys.modules[name]


def _write_version(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
