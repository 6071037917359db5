"""Reports of results without replications to compare: sentences, figures, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe import formatting
from bentpipe.contract.reporter import SENTENCES_MAX, Reporter, caption, join_answer
from bentpipe.errors import BentpipeError
from bentpipe.plot.style import Drawing
from bentpipe.reports.page import Folded, Page, Points, Section, Tabled
from bentpipe.reports.tables import ROWS_MAX, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.contract.result import Result
    from bentpipe.reports.page import Block
    from bentpipe.reports.provenance import Provenance

    Tables = Mapping[str, tuple[str, pl.DataFrame]]
    """Heading and data of each table, by the name of its file."""

FOLDED_ROWS = 20
"""Longer tables are folded at first."""


class OfTables(Reporter):
    """Report of any result, from its contract and further tables."""

    def __init__(self, result: Result, provenance: Provenance, tables: Tables) -> None:
        super().__init__(provenance)
        self.result = result
        # A table without columns has no LaTeX.
        self.more = {
            name: each for name, each in {"metrics": ("Metrics", result.table), **tables}.items() if each[1].width
        }

    def page(self) -> Page:
        self.said = self.result.statements
        points = [*self.said[SENTENCES_MAX:], *self.result.notes]
        first: list[Block] = [Points(points)] if points else []
        for chart in self.result.charts:
            try:
                drawing = Drawing(self.result.plot(chart), [])
            except BentpipeError:
                # Nothing to draw; the sentences give the reason.
                continue
            first.append(self.picture(chart, drawing, chart.capitalize(), self.provenance.title, ""))
        sections = [Section(title, [self._make_block(name, data)]) for name, (title, data) in self.more.items()]
        return Page(
            self.provenance.title,
            join_answer(self.said[:SENTENCES_MAX], self.result.names),
            [*([Section("Result", first)] if first else []), *sections],
            about=self.result.describe_setup(),
            provenance=self.provenance,
        )

    def _make_block(self, name: str, data: pl.DataFrame) -> Block:
        rows = [[formatting.setting(cell) for cell in row] for row in data.head(ROWS_MAX).iter_rows()]
        texts = next((at for at, kind in enumerate(data.dtypes) if kind != pl.String), data.width)
        table = Table(name, data, data.columns, rows, texts, data.height)
        self.tables.append(table)
        shown = Tabled(table, caption(table, "").strip())
        return shown if len(rows) <= FOLDED_ROWS else Folded(formatting.count(data.height, "row"), [shown])
