"""Writes the report of an experiment: a page, with its figures and tables as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe import arguments, files
from bentpipe.errors import BentpipeError, ScenarioError, Word
from bentpipe.experiment.results.comparison import VERB as COMPARE
from bentpipe.experiment.results.comparison import Comparison
from bentpipe.experiment.results.mix import VERB as MIX
from bentpipe.experiment.results.mix import Mix
from bentpipe.experiment.results.mixes import Mixes
from bentpipe.experiment.results.sweep import Sweep
from bentpipe.experiment.single.run_result import FORM as RUN
from bentpipe.experiment.single.run_result import RunResult

if TYPE_CHECKING:
    from bentpipe.contract.reporter import Report, Style
    from bentpipe.contract.result import Result

FOLDER = "report"


def report(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    against: str | None = None,
    style: Style | None = None,
) -> Report:
    """Write the result of an experiment as a page for any browser, with figures and tables as files.

    Equal results give equal files. An older report is replaced.

    Parameters
    ----------
    source : path
        The store of a sweep, comparison or mix, or a folder where one of them or a run was saved. It is not changed.
    folder : path, optional
        Folder of the report. The default is `report` in the source.
    against : str, optional
        The baseline of a sweep or comparison: a congestion control or case. It replaces the baseline in the source.
    style : str, optional
        Width of all figures, as in `Result.report`.

    Returns
    -------
    Report

    Raises
    ------
    BentpipeError
        The source has no result, or the folder cannot be written.
    ScenarioError
        `against` is not a congestion control or case of the sweep.
    """
    with files.reading(source):
        place = find_place(arguments.path("source", source), folder)
    return open_result(source, against)._reporter().write(place, style)


def open_result(source: str | os.PathLike[str], against: str | None = None) -> Result:
    """Open the result in a folder: of a run, sweep, comparison or mix.

    Raises
    ------
    BentpipeError
        The folder has no result.
    """
    if files.find_form(Path(source)) == RUN:
        if against is not None:
            raise ScenarioError(
                f"{source} is one run, which has no cases to compare with {against}\n  leave {{against}} out",
                against=None,
            )
        return RunResult.load(source)
    verb = Sweep.find_verb(source)
    if against is None and verb == MIX:
        return Mixes.load(source) if "parts" in Sweep.load(source, verb=MIX).facts else Mix.load(source)
    return Comparison.load(source, against) if verb == COMPARE else Sweep.load(source, against)


def find_place(source: Path, folder: str | os.PathLike[str] | None) -> Path:
    """Return the folder of the report, which can be written."""
    if folder is not None:
        files.refuse_unless_free(folder)
        return Path(folder)
    place = source / FOLDER
    if source.is_dir() and not os.access(source, os.W_OK):
        raise BentpipeError(
            f"{source} is write-protected, so the report cannot be written into it\n"
            f"  expected another folder: {{folder}}",
            folder=Word("FOLDER"),
        )
    # Other places are refused where they are read.
    if source.is_dir():
        files.refuse_unless_free(place)
    return place
