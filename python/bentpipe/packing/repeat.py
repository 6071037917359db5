"""Repeats a packed result, and compares the tables."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import arguments, files
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.commands import WRITTEN
from bentpipe.experiment.report import open_result
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.own import loading
from bentpipe.packing.archive import RESULT, SCENARIO, Archive, read_archive
from bentpipe.packing.pack import versions

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import polars as pl

    from bentpipe.progress import Wish

AGAIN = "again"
"""Folder of the repeated result, beside the unpacked one."""
RUNS = "runs"
"""Folder of the store of the repetition: if it is interrupted, the next one goes on from there."""
SHOWN_MAX = 12
"""Most differences that are named."""
OPTIONS = frozenset(
    f"--{name}"
    for name in (
        *("set", "seed", "vary", "cc", "case", "metric", "tables", "replications", "replications-max", "until"),
        *("statistic", "confidence", "correction", "against", "sides", "margin", "fair", "stagger"),
    )
)
"""Options that a packed command may have: those that decide the result."""
BYTES = "equal to the byte"
VALUES = "equal values"


@dataclass(frozen=True)
class Repeated:
    """A packed result, repeated.

    Attributes
    ----------
    tables : dict of str to str
        For each table: `equal to the byte`, `equal values`, or its differences.
    others : tuple of str
        Versions on this machine that differ from those of the packed result.
    """

    tables: dict[str, str]
    others: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """Whether all tables have equal values."""
        return all(each in (BYTES, VALUES) for each in self.tables.values())

    @property
    def verdict(self) -> str:
        """The comparison in a sentence."""
        if set(self.tables.values()) == {BYTES}:
            return f"equal to the byte: {len(self.tables)} tables"
        if self.is_equal:
            return f"equal values in {len(self.tables)} tables; their files differ in form"
        count = sum(each not in (BYTES, VALUES) for each in self.tables.values())
        return f"{count} of {len(self.tables)} tables differ"

    def to_dict(self) -> dict[str, Any]:
        """Return all content as plain data, fit for JSON."""
        return {
            "is_equal": self.is_equal,
            "verdict": self.verdict,
            "tables": self.tables,
            "others": list(self.others),
        }

    def __str__(self) -> str:
        lines = [f"{name}: {said}" for name, said in self.tables.items() if said != BYTES]
        return "\n".join([self.verdict, *lines, *self.others])


def repeat(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    trust: bool = False,
    progress: Wish = None,
) -> Repeated:
    """Repeat a packed result, and compare each table with the packed one.

    Parameters
    ----------
    source : path
        A file of `pack`.
    folder : path, optional
        Folder for the unpacked files and the runs, which is kept. With the same folder, an interrupted repetition
        continues. The default is a temporary folder.
    trust : bool
        Whether code in the file may run. Custom classes are Python code of the person who packed the result, and run
        with all your rights. Look at the code first: `bentpipe repeat FILE --look`.
    progress : callable or bool, optional
        Whether to show a bar, as in `run`.

    Returns
    -------
    Repeated

    Raises
    ------
    BentpipeError
        The file is damaged or not a packed result, it has code and `trust` is false, or the runs fail.
    """
    archive = read_archive(source)
    if archive.facts["classes"] and not trust:
        raise BentpipeError(
            f"{archive.path} has Python code: {', '.join(archive.facts['classes'].values())}\n"
            "  it runs with your rights; look at it first, then allow it with {trust}",
            trust=True,
        )
    if missing := _find_missing(archive.facts["packages"]):
        raise BentpipeError(
            f"{archive.path} needs what is not installed here: {', '.join(missing)}\n"
            f"  expected it: pip install {' '.join(each.replace(' ', '==') for each in missing)}"
        )
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if folder is None else Path(folder)
        arguments.path("folder", place)
        archive.extract(place)
        classes: list[Any] = [str(place / each) for each in archive.facts["classes"].values()]
        classes += map(loading.find_any_plugin, archive.facts["packages"])
        if archive.facts["verb"] == "run":
            RunResult.load(place / RESULT, classes).rerun(progress=progress).save(place / AGAIN)
        else:
            _run_command(archive, place, is_shown=progress is not False)
            open_result(place / RUNS).save(place / AGAIN)
        return _compare(archive, place)


def _find_missing(packages: Mapping[str, str]) -> list[str]:
    """Return the packages, with their versions, that are not installed in this version."""
    found = {f"{each.name} {each.version}" for each in distributions()}
    return sorted(set(packages.values()) - found)


def _run_command(archive: Archive, place: Path, *, is_shown: bool) -> None:
    words = archive.facts["command"]
    refuse_command(archive)
    command = [sys.executable, "-m", *words, "--store", RUNS]
    # Its tables are compared here: of this process only progress and errors are of interest.
    errors = None if is_shown else subprocess.PIPE
    done = subprocess.run(command, cwd=place, check=False, stdout=subprocess.DEVNULL, stderr=errors)
    if done.returncode:
        said = (done.stderr or b"").decode("utf-8", "replace").strip()
        raise BentpipeError(f"the runs ended with exit code {done.returncode}: {shlex.join(words)}\n{said}".rstrip())


def refuse_command(archive: Archive) -> None:
    """Refuse a command that does more than run the packed scenario with the packed classes.

    The author of the file also wrote the command. It must not read, write or import anything else.

    Raises
    ------
    BentpipeError
        The command does more.
    """
    words = archive.facts["command"]
    classes = set(archive.facts["classes"].values())
    places = [name for name in archive.content if name.startswith(f"{SCENARIO}/{WRITTEN}.")]
    is_ours = words[:1] == ["bentpipe"] and words[1:2] in (["compare"], ["mix"], ["sweep"]) and words[2:3] == places
    options = [word.partition("=")[0] for word in words[3:] if word.startswith("-")]
    imported = [part for word in words[3:] for part in re.findall(r"[^\s,;=\[\]\"']+\.py\b[^\s,;\[\]\"']*", word)]
    if not is_ours or not OPTIONS.issuperset(options) or not classes.issuperset(imported):
        raise BentpipeError(
            f"the command in {archive.path} does more than repeat its result: {shlex.join(words)}\n"
            "  do not use this file"
        )


def _compare(archive: Archive, place: Path) -> Repeated:
    others = tuple(
        f"{name}: packed with {was}, here {here}"
        for name, here in versions().items()
        if str(was := archive.facts.get(name)) != str(here)
    )
    names = sorted(name.rpartition("/")[2] for name in archive.content if name.startswith(f"{RESULT}/"))
    tables = {
        name.removesuffix(".parquet"): _compare_table(place / RESULT / name, place / AGAIN / name)
        for name in names
        if name.endswith(".parquet")
    }
    return Repeated(tables, others)


def _compare_table(former: Path, again: Path) -> str:
    if not again.is_file():
        return "not there any more"
    if former.read_bytes() == again.read_bytes():
        return BYTES
    import polars as pl

    with files.reading(former):
        one, other = pl.read_parquet(former), pl.read_parquet(again)
    if one.equals(other, null_equal=True):
        return VALUES
    if one.columns != other.columns:
        return (
            f"other columns: {', '.join(sorted({*one.columns} ^ {*other.columns})[:SHOWN_MAX]) or 'in another order'}"
        )
    if one.height != other.height:
        return f"{one.height} rows, here {other.height}"
    said = [_compare_column(one[name], other[name]) for name in one.columns if not one[name].equals(other[name])]
    return "; ".join(said[:SHOWN_MAX]) + (f"; {len(said) - SHOWN_MAX} more columns" if len(said) > SHOWN_MAX else "")


def _compare_column(one: pl.Series, other: pl.Series) -> str:
    differs = one.ne_missing(other) if one.dtype == other.dtype else None
    if differs is None:
        return f"{one.name} has another type"
    said = f"{one.name} in {differs.sum()} of {len(one)} rows"
    if one.dtype.is_numeric():
        most = ((one - other).abs() / one.abs()).filter(differs).max()
        said += "" if most is None else f", by {100 * float(most):.2g} % at most"
    return said
