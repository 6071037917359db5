"""Report of a single run."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bentpipe import formatting
from bentpipe.contract.reporter import Reporter, caption, join_answer
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.provenance import choose_title, describe_run
from bentpipe.experiment.single.readable import SHOWN_DROPS, SHOWN_FLOWS, SHOWN_LINKS, SHOWN_TERMINALS, readable
from bentpipe.plot.style import Drawing
from bentpipe.reports.page import Page, Points, Section, Tabled
from bentpipe.reports.tables import ROWS_MAX, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.reports.page import Block


class OfRun(Reporter):
    """Report of a single run."""

    def __init__(self, run: RunResult) -> None:
        super().__init__(describe_run(run.scenario, run.version, run.results))
        self.run = run

    def page(self) -> Page:
        run = self.run
        self.said = run.statements
        first: list[Block] = [Points(run.notes)] if run.notes else []
        # A run that recorded no series runs again. Some runs cannot: they have packets or classes of others.
        with suppress(BentpipeError):
            drawing = Drawing(run.plot(), [])
            first.append(self.picture("series", drawing, "Time series", run.scenario.title, ""))
        shown = {"flows": SHOWN_FLOWS, "links": SHOWN_LINKS, "terminals": SHOWN_TERMINALS, "drops": SHOWN_DROPS}
        if run.terminals.is_empty():
            del shown["terminals"]
        sections = [Section(_RUN[name][0], [self._make_table(name, columns)]) for name, columns in shown.items()]
        return Page(
            choose_title(run.scenario.title, run.scenario.source),
            join_answer([self._outcome(), *self.said]),
            [
                *([Section("Run", first)] if first else []),
                Section(_RUN["metrics"][0], [self._metrics()]),
                *sections,
            ],
            about=f"seed {run.seed}: {run.stop} at {run.simulated_s:.10g} s; {run.describe_setup()}",
            provenance=self.provenance,
        )

    def _outcome(self) -> str:
        """The metrics of `ANSWER` in one sentence, and the most frequent cause of loss."""
        rows = {row["metric"]: row for row in self.run.table.iter_rows(named=True) if row["mean"] is not None}
        said = [f"{words} {_write_mean(rows[name])}" for name, words in ANSWER.items() if name in rows]
        lost = self.run.tables["drops"].sort("packets", descending=True)
        if not lost.is_empty():
            count, most = int(lost["packets"].sum()), lost.row(0, named=True)
            part = "all" if most["packets"] == count else f"{most['packets']:,}"
            said.append(f"{formatting.count(count, 'packet')} lost, {part} by {most['cause']} at {most['where']}")
        return ", ".join(said) or "no flow has data"

    def _metrics(self) -> Tabled:
        data = self.run.table
        rows = [[row["metric"], _write_mean(row)] for row in data.iter_rows(named=True)]
        self.tables.append(Table("metrics", data, ["metric", "value"], rows, 1, len(rows)))
        return Tabled(self.tables[-1], _RUN["metrics"][1])

    def _make_table(self, name: str, columns: Sequence[str]) -> Tabled:
        data = self.run.tables[name]
        table = Table(name, data, *readable(data.head(ROWS_MAX), name, columns), data.height)
        self.tables.append(table)
        return Tabled(table, caption(table, _RUN[name][1]))


ANSWER = {
    "goodput": "goodput",
    "completion": "completion after",
    "fct": "mean flow completion time",
    "rtt": "median RTT",
}
"""Metrics of the first paragraph, in words."""
_RUN = {
    "metrics": ("Metrics", "Each metric of the run. > marks the lower bound of a completion time."),
    "flows": ("Flows", "The CSV file has all columns."),
    "links": ("Links", "The CSV file has all columns."),
    "terminals": ("Links in a medium", "Waits for grants, capacity granted, and the share of it without data."),
    "drops": ("Losses", "Packets lost, by place, flow and cause."),
}


def _write_mean(row: Mapping[str, Any]) -> str:
    """Write the mean of a row of `table`, which may be a bound."""
    text = formatting.quantity(row["mean"], row["unit"])
    return f"> {text}" if row["is_bound"] else text
