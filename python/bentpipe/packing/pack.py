"""Packs a result: its tables, the scenario with all files that it names, custom classes, and the command."""

from __future__ import annotations

import platform
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import _core, arguments, files
from bentpipe.experiment.common.commands import WRITTEN, spell_command
from bentpipe.experiment.report import open_result
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.own.plugins import find_package
from bentpipe.packing import content
from bentpipe.packing.archive import CLASSES, RESULT, SCENARIO, write_archive
from bentpipe.packing.cite import cite_result
from bentpipe.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bentpipe.own.loading import Function, Sender


@dataclass(frozen=True)
class Packed:
    """A packed result.

    Attributes
    ----------
    path : Path
    verb : str
        `run`, `compare`, `mix` or `sweep`.
    command : str
        The command that repeats the result from the packed files; empty for a run, which needs no command.
    files : dict of str to int
        Size of each packed file in bytes, by its name inside.
    classes : tuple of str
        Names of custom classes whose source is inside.
    """

    path: Path
    verb: str
    command: str
    files: Mapping[str, int]
    classes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain data, fit for JSON."""
        return {
            "path": str(self.path),
            "verb": self.verb,
            "command": self.command,
            "files": dict(self.files),
            "classes": list(self.classes),
        }

    def __str__(self) -> str:
        size = sum(self.files.values())
        return f"{self.path}: the result of bentpipe {self.verb} in {len(self.files)} files of {size / 1e6:.3g} MB"


def pack(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    classes: Iterable[Sender | Function] = (),
) -> Packed:
    """Pack a result into one file. Others can repeat it with `repeat`.

    The file has the tables, the scenario as written, each file that the scenario names, the sources of custom classes,
    the command, the versions, and a digest of each file. For a class from an installed package, it has the name and
    version of the package instead. Equal results give equal files.

    Parameters
    ----------
    source : path
        The store of a sweep, comparison or mix, or a folder where one of them or a run was saved. It is not changed.
    out : path, optional
        The file to write. The default is the name of the source with `.pack.zip`, beside it.
    classes : iterable of classes or str, optional
        Custom classes, or `FILE.py:CLASS`, if their files are no longer at the former places.

    Returns
    -------
    Packed

    Raises
    ------
    BentpipeError
        The source has no result, a file that its scenario names has changed since the runs, or the file cannot be
        written.
    ScenarioError
        A custom class cannot be found, is not in a file, or has changed since the runs.
    """
    folder = arguments.path("source", source)
    place = folder.with_name(f"{folder.resolve().name}.pack.zip") if out is None else arguments.path("out", out)
    if not folder.is_dir():
        raise files.is_no_result(folder)
    files.refuse_unless_writable(place)
    result = open_result(folder)
    known = content.find_classes(folder, result, classes)
    packages = {name: package for name, cls in known.items() if (package := find_package(cls))}
    own = {name: cls for name, cls in known.items() if name not in packages}
    packed = {name: f"{CLASSES}/{name}/{content.find_own_file(cls)}" for name, cls in own.items()}
    inside = {f"{CLASSES}/{name}/{file}": data for name, cls in own.items() for file, data in content.sources(cls)}
    argv: list[str] = []
    if isinstance(result, RunResult):
        verb, citation = "run", cite_result(result)
    else:
        sweep = content.find_sweep(result)
        verb, (text, form) = str(sweep.facts["verb"]), sweep.facts["written"]
        beside = content.find_named_files(sweep)
        content.check_scenario(sweep, known, beside)
        source = f"{SCENARIO}/{WRITTEN}.{form}"
        inside |= {source: text.encode(), **{f"{SCENARIO}/{name}": data for name, data in beside.items()}}
        # Folders of the machine that packs it are private, and mean nothing elsewhere.
        content.hide_folders(sweep)
        citation = cite_result(result)
        senders = {
            name: {**each, **({"class": packed[name]} if name in packed else {})}
            for name, each in sweep.facts["senders"].items()
        }
        sweep.facts.update(source=source, senders=senders)
        argv = shlex.split(spell_command(sweep.facts))
    inside |= {f"{RESULT}/{name}": data for name, data in content.tables(result)}
    facts = {
        "verb": verb,
        "title": citation.title,
        "command": argv,
        "classes": packed,
        "packages": packages,
        "citation": citation.sentence,
        **versions(),
    }
    write_archive(place, facts, inside)
    return Packed(place, verb, shlex.join(argv), {name: len(data) for name, data in sorted(inside.items())}, tuple(own))


def versions() -> dict[str, Any]:
    """Return the versions that may make repetitions differ: bentpipe, its results, Python, Polars and the system."""
    import polars as pl

    return {
        "bentpipe": __version__,
        "results": _core.RESULTS,
        "python": platform.python_version(),
        "polars": pl.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
