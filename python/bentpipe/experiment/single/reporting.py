"""Report of a single run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import formatting
from bentpipe.contract.reporter import Reporter, caption
from bentpipe.experiment.common.provenance import of_run, titled
from bentpipe.experiment.single.readable import SHOWN_DROPS, SHOWN_FLOWS, SHOWN_LINKS, readable
from bentpipe.plot.runs import PANELS
from bentpipe.plot.style import Drawing
from bentpipe.reports.page import Page, Points, Section, Tabled
from bentpipe.reports.tables import ROWS_MAX, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.reports.page import Block


class OfRun(Reporter):
    def __init__(self, run: RunResult) -> None:
        super().__init__(of_run(run.scenario, run.version))
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


def _valued(row: Mapping[str, Any]) -> str:
    """Write the mean of a row of `table`, which may be a bound."""
    text = formatting.quantity(row["mean"], row["unit"])
    return f"> {text}" if row["is_bound"] else text
