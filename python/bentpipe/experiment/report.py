"""Reports: what an experiment gave as a page, with its figures and tables as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import files, formatting
from bentpipe.errors import BentpipeError, ScenarioError, Word
from bentpipe.experiment.contract.reporter import Report, Reporter, caption
from bentpipe.experiment.results.comparison import VERB as COMPARE
from bentpipe.experiment.results.comparison import Comparison
from bentpipe.experiment.results.mix import VERB as MIX
from bentpipe.experiment.results.mix import Mix
from bentpipe.experiment.results.provenance import of_run, of_sweep, titled
from bentpipe.experiment.results.sweep import Sweep
from bentpipe.experiment.results.swept import OfComparison, OfSweep
from bentpipe.experiment.single.run_result import FORM as RUN
from bentpipe.experiment.single.run_result import SHOWN_DROPS, SHOWN_FLOWS, SHOWN_LINKS, RunResult, readable
from bentpipe.plot.runs import PANELS
from bentpipe.plot.style import Drawing
from bentpipe.reports.page import Page, Points, Section, Tabled
from bentpipe.reports.tables import ROWS_MAX, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.experiment.contract.result import Result
    from bentpipe.reports.page import Block

FOLDER = "report"
ENDS = ("mean", "low", "high")


def report(
    source: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None, *, against: str | None = None
) -> Report:
    """Write what an experiment gave as a page that opens anywhere, with its figures (SVG, PNG) and tables (CSV, LaTeX).

    Equal results give equal files. An older report is replaced.

    Parameters
    ----------
    source : path
        The store of a sweep, comparison or mix, or what one of them or a run saved; it is only read.
    folder : path, optional
        Where to write; `report` in the source if not given.
    against : str, optional
        The sender or case of a sweep or comparison that every other one is compared with, instead of what it says.

    Returns
    -------
    Report

    Raises
    ------
    BentpipeError
        There is no result in the source, or the folder cannot be written.
    ScenarioError
        `against` is no sender or case of the sweep.
    """
    with files.reading(source):
        place = _place(Path(source), folder)
    if files.form_of(Path(source)) == RUN:
        if against is not None:
            raise ScenarioError(
                f"{source} is one run: there is nothing to compare with {against}\n  leave {{against}} out",
                against=None,
            )
        return _OfRun(RunResult.load(source)).write(place)
    if against is None and Sweep.verb_of(source) == MIX:
        return _OfMix(Mix.load(source)).write(place)
    if Sweep.verb_of(source) == COMPARE:
        return OfComparison(Comparison.load(source, against)).write(place)
    return OfSweep(Sweep.load(source, against)).write(place)


def report_of(result: Result, folder: str | os.PathLike[str]) -> Report:
    """The same of a result at hand."""
    files.refuse_unless_free(folder)
    if isinstance(result, Mix):
        return _OfMix(result).write(Path(folder))
    if isinstance(result, RunResult):
        return _OfRun(result).write(Path(folder))
    if isinstance(result, Sweep):
        return OfSweep(result).write(Path(folder))
    assert isinstance(result, Comparison), "each kind of result has its report"
    if result.sweep is None:
        raise BentpipeError("comparisons that were joined have no report\n  report each of them")
    return OfComparison(result).write(Path(folder))


def _place(source: Path, folder: str | os.PathLike[str] | None) -> Path:
    """The folder of the report, which can be written."""
    if folder is not None:
        files.refuse_unless_free(folder)
        return Path(folder)
    place = source / FOLDER
    if source.is_dir() and not os.access(source, os.W_OK):
        raise BentpipeError(
            f"{source} is write-protected, so its report has no place in it\n  name another folder: {{folder}}",
            folder=Word("FOLDER"),
        )
    # What is no store is said so by who reads it.
    if source.is_dir():
        files.refuse_unless_free(place)
    return place


class _OfMix(Reporter):
    def __init__(self, mix: Mix) -> None:
        assert mix.sweep is not None, "a mix is made of runs"
        super().__init__(of_sweep(mix.sweep))
        self.mix = mix

    def page(self) -> Page:
        mix = self.mix
        self.said = mix.statements
        drawing = Drawing(mix.plot("all"), [])
        shares = self.picture(
            "shares", drawing, "Shares, goodput and windows", mix.scenario.title, "means and intervals"
        )
        return Page(
            titled(mix.scenario.title, mix.scenario.source),
            f"{', '.join(mix.senders)} in the same runs, {_replications(mix)}; hosts: {mix.hosts}",
            [
                Section("Who gets how much", [Points([*self.said, *mix.notes]), shares]),
                Section("Means", [self._means()]),
                self.scenario(),
            ],
            f"{self.provenance.version}. Means with Student's {mix.judgement.level} intervals.",
        )

    def _means(self) -> Tabled:
        data = self.mix.table
        rows = [
            [row["sender"], row["quantity"], *(formatting.quantity(row[each], row["unit"]) for each in ENDS)]
            for row in data.iter_rows(named=True)
        ]
        self.tables += [Table("means", data, ["sender", "quantity", *ENDS], rows, 2, len(rows)), self._totals()]
        return Tabled(self.tables[0], "Each sender, with its interval.", self.provenance)

    def _totals(self) -> Table:
        """Only as a file."""
        data = self.mix.totals
        rows = [
            [str(row[0]), str(row[1]), *(f"{each:.5g}" for each in row[2:])] for row in data.head(ROWS_MAX).iter_rows()
        ]
        return Table("totals", data, data.columns, rows, 0, data.height)


class _OfRun(Reporter):
    def __init__(self, run: RunResult) -> None:
        super().__init__(of_run(run))
        self.run = run

    def page(self) -> Page:
        run = self.run
        self.said = run.statements
        first: list[Block] = [Points(self.said)]
        if any(name in run.recorded for name in PANELS):
            drawing = Drawing(run.plot(), [])
            first.append(self.picture("series", drawing, "Series of the run", run.scenario.title, "as recorded"))
        shown = (("flows", SHOWN_FLOWS), ("links", SHOWN_LINKS), ("drops", SHOWN_DROPS))
        sections = [Section(_RUN[name][0], [self._tabled(name, columns)]) for name, columns in shown]
        return Page(
            titled(run.scenario.title, run.scenario.source),
            f"one run, seed {run.seed}: {run.stop} at {run.simulated_s:.10g} s; hosts: {run.hosts}",
            [Section("Run", first), Section(_RUN["metrics"][0], [self._metrics()]), *sections, self.scenario()],
            f"{self.provenance.version}. One run has no intervals.",
        )

    def _metrics(self) -> Tabled:
        data = self.run.table
        rows = [[row["metric"], _valued(row)] for row in data.iter_rows(named=True)]
        self.tables.append(Table("metrics", data, ["metric", "value"], rows, 1, len(rows)))
        return Tabled(self.tables[-1], _RUN["metrics"][1], self.provenance)

    def _tabled(self, name: str, columns: Mapping[str, str]) -> Tabled:
        data = self.run.tables[name]
        table = Table(name, data, *readable(data.head(ROWS_MAX), name, columns), data.height)
        self.tables.append(table)
        return Tabled(table, caption(table, _RUN[name][1]), self.provenance)


_RUN = {
    "metrics": ("Metrics", "Each metric of the run; > is what a completion time is at least."),
    "flows": ("Flows", "Each flow; the CSV file has all columns."),
    "links": ("Links", "Each link and direction; the CSV file has all columns."),
    "drops": ("Losses", "Packets lost, by place, flow and cause."),
}


def _replications(mix: Mix) -> str:
    return formatting.count(len(mix.seeds), "replication")


def _valued(row: Mapping[str, Any]) -> str:
    """The mean of a row of `table`, which may be a bound."""
    text = formatting.quantity(row["mean"], row["unit"])
    return f"> {text}" if row["is_bound"] else text
