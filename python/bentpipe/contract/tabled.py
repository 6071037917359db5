"""Report of a result that has tables and figures, but no list of runs: sentences, figures, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.contract.reporter import Reporter, caption
from bentpipe.errors import BentpipeError
from bentpipe.plot.style import Drawing
from bentpipe.reports.page import Page, Points, Section, Tabled
from bentpipe.reports.tables import ROWS_MAX, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from bentpipe.contract.result import Result
    from bentpipe.reports.page import Block
    from bentpipe.reports.provenance import Provenance

    Tables = Mapping[str, tuple[str, pl.DataFrame]]
    """The heading and the data, by name of the file."""


class OfTables(Reporter):
    """Writes the report of any result from its contract and further tables."""

    def __init__(self, result: Result, provenance: Provenance, tables: Tables) -> None:
        super().__init__(provenance)
        self.result = result
        # A table without columns has no LaTeX.
        self.more = {
            name: each for name, each in {"metrics": ("Metrics", result.table), **tables}.items() if each[1].width
        }

    def page(self) -> Page:
        self.said = self.result.statements
        first: list[Block] = [Points([*self.said, *self.result.notes])]
        for chart in self.result.charts:
            try:
                drawing = Drawing(self.result.plot(chart), [])
            except BentpipeError:
                # No data to draw; the sentences give the reason.
                continue
            first.append(self.picture(chart, drawing, chart.capitalize(), self.provenance.title, "as computed"))
        sections = [Section(title, [self._tabled(name, data)]) for name, (title, data) in self.more.items()]
        scenario = [self.scenario()] if self.provenance.scenario else []
        lead = "; ".join(filter(None, (self.provenance.replications, self.result.hosts)))
        return Page(
            self.provenance.title, lead, [Section("Result", first), *sections, *scenario], self.provenance.version
        )

    def _tabled(self, name: str, data: pl.DataFrame) -> Tabled:
        rows = [[formatting.setting(cell) for cell in row] for row in data.head(ROWS_MAX).iter_rows()]
        table = Table(name, data, data.columns, rows, 0, data.height)
        self.tables.append(table)
        return Tabled(table, caption(table, f"{self.more[name][0]}."), self.provenance)
