"""Report of a mix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.contract.reporter import Reporter
from bentpipe.experiment.common.provenance import titled
from bentpipe.experiment.results.provenance import of_sweep
from bentpipe.plot.style import Drawing
from bentpipe.reports.page import Page, Points, Section, Tabled
from bentpipe.reports.tables import ROWS_MAX, Table

if TYPE_CHECKING:
    from bentpipe.experiment.results.mix import Mix

ENDS = ("mean", "low", "high")


class OfMix(Reporter):
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
            f"{', '.join(mix.names)} in the same runs, {_replications(mix)}; hosts: {mix.hosts}",
            [
                Section("Shares", [Points([*self.said, *mix.notes]), shares]),
                Section("Means", [self._means()]),
                self.scenario(),
            ],
            f"{self.provenance.version}. Means with Student's {mix.judgement.level} intervals.",
        )

    def _means(self) -> Tabled:
        data = self.mix.table
        rows = [
            [row["of"], row["metric"], *(formatting.quantity(row[each], row["unit"]) for each in ENDS)]
            for row in data.iter_rows(named=True)
        ]
        self.tables += [Table("means", data, ["of", "metric", *ENDS], rows, 2, len(rows)), self._totals()]
        return Tabled(self.tables[0], "Each sender, with its interval.", self.provenance)

    def _totals(self) -> Table:
        """Make the table of totals, which is only a file."""
        data = self.mix.totals
        rows = [
            [str(row[0]), str(row[1]), *(f"{each:.5g}" for each in row[2:])] for row in data.head(ROWS_MAX).iter_rows()
        ]
        return Table("totals", data, data.columns, rows, 0, data.height)


def _replications(mix: Mix) -> str:
    return formatting.count(len(mix.seeds), "replication")
