"""Custom classes and readers of installed packages, found by the names of their entry points.

A package declares them in its `pyproject.toml`, such as `[project.entry-points."bentpipe.congestion_controls"]` with
`mycc = "bentpipe_mycc:MyCc"`. A package is imported only when one of its names is used.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError
from bentpipe.own.middlebox import Middlebox
from bentpipe.own.scheduler import Scheduler
from bentpipe.own.sender import CongestionControl

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS: dict[type, str] = {
    CongestionControl: "bentpipe.congestion_controls",
    Middlebox: "bentpipe.middleboxes",
    Scheduler: "bentpipe.schedulers",
}
"""Group of entry points of each kind of class."""
READERS = "bentpipe.readers"
"""Group of entry points of readers of measurements."""
TOPICS = {
    "cc": GROUPS[CongestionControl],
    "middlebox": GROUPS[Middlebox],
    "scheduler": GROUPS[Scheduler],
    "readers": READERS,
}
"""Group of entry points of each topic of `bentpipe list`."""

_packages: dict[Any, str] = {}
"""Name and version of the package of each loaded object."""


def find_plugin(name: str, group: str) -> Any:
    """Load the object of this name in a group of entry points; None if no installed package has it.

    Raises
    ------
    BentpipeError
        Several packages have this name, or its package cannot be imported.
    """
    found = [each for each in entry_points(group=group) if each.name == name]
    if not found:
        return None
    packages = sorted({_describe(each) for each in found})
    if len(packages) > 1:
        raise BentpipeError(
            f"{name} is in several packages: {', '.join(packages)}\n  expected one of them to be installed"
        )
    try:
        loaded = found[0].load()
    except Exception as error:
        raise BentpipeError(
            f"{name} of {packages[0]} cannot be imported: {type(error).__name__}: {error}\n"
            "  expected a package that is made for this version of bentpipe"
        ) from error
    _packages[loaded] = packages[0]
    return loaded


def list_plugins(group: str) -> dict[str, str]:
    """Return the names that installed packages have in a group, each with the packages. Nothing is imported."""
    found: dict[str, set[str]] = {}
    for each in entry_points(group=group):
        found.setdefault(each.name, set()).add(_describe(each))
    return {name: ", ".join(sorted(packages)) for name, packages in sorted(found.items())}


def find_package(loaded: Any) -> str | None:
    """Return name and version of the package that a loaded object came from, as `bentpipe-mycc 1.0`."""
    return _packages.get(loaded)


def _describe(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
