"""Report of a mix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.contract.reporter import Reporter, join_answer
from bentpipe.experiment.common.provenance import choose_title
from bentpipe.experiment.results.mix import FAIR, share_shown
from bentpipe.experiment.results.provenance import describe_sweep
from bentpipe.plot.style import Drawing
from bentpipe.reports.page import Page, Points, Section, Tabled
from bentpipe.reports.tables import ROWS_MAX, Table
from bentpipe.statistics.comparing import ONE_RUN

if TYPE_CHECKING:
    from bentpipe.experiment.results.mix import Mix
    from bentpipe.experiment.results.mixes import Mixes

ENDS = ("mean", "low", "high")


class OfMix(Reporter):
    def __init__(self, mix: Mix) -> None:
        assert mix.sweep is not None, "a mix is made of runs"
        super().__init__(describe_sweep(mix.sweep))
        self.mix = mix

    def page(self) -> Page:
        mix = self.mix
        self.said = mix.statements
        drawing = Drawing(mix.plot("all"), [])
        shares = self.picture(
            "shares", drawing, "Shares, goodput and windows", mix.scenario.title, "means and intervals"
        )
        return Page(
            choose_title(mix.scenario.title, mix.scenario.source),
            join_answer(self._shares() or self.said, mix.names),
            [
                Section("Shares", [Points([*self.said, *mix.notes]), shares]),
                Section("Means", [self._means()]),
            ],
            about=f"{', '.join(mix.names)} in the same runs, {_replications(mix)}; {mix.describe_setup()}",
            method=f"Means with Student's {mix.judgement.level} intervals.",
            provenance=self.provenance,
        )

    def _shares(self) -> list[str]:
        """Two sentences: all shares, and those that are shown to differ from a fair one; none without a share."""
        mix = self.mix
        shares = {name: mix.estimate(name, "share") for name in mix.names}
        if any(share.mean is None for share in shares.values()):
            return []
        order = sorted(mix.names, key=lambda name: -(shares[name].mean or 0))
        texts = []
        for name in order:
            texts.append(f"{name} {share_shown(shares[name].mean or 0, shares[name].low, shares[name].high)}")
        shared = f"shares of the goodput, {100 * mix.fair:.3g} % is fair: {', '.join(texts)}"
        if len(mix.seeds) == 1:
            return [shared, ONE_RUN]
        found = {row["of"]: row for row in mix.differences.iter_rows(named=True) if row["other"] == FAIR}
        shown = [name for name in order if found[name]["is_shown"]]
        more = [name for name in shown if (shares[name].mean or 0) > mix.fair]
        less = [name for name in shown if name not in more]
        told = [f"{', '.join(names)} {word}" for names, word in ((more, "more"), (less, "less")) if names]
        if not told:
            return [shared, "no share is shown to differ from a fair one"]
        return [shared, f"shown to differ from a fair share: {'; '.join(told)}"]

    def _means(self) -> Tabled:
        data = self.mix.table
        rows = [
            [row["of"], row["metric"], *(formatting.quantity(row[each], row["unit"]) for each in ENDS)]
            for row in data.iter_rows(named=True)
        ]
        self.tables += [Table("means", data, ["of", "metric", *ENDS], rows, 2, len(rows)), self._totals()]
        return Tabled(self.tables[0], "Each congestion control or case, with its interval.")

    def _totals(self) -> Table:
        """Makes the table of totals, which is only a file."""
        data = self.mix.totals
        rows = [
            [str(row[0]), str(row[1]), *(f"{each:.5g}" for each in row[2:])] for row in data.head(ROWS_MAX).iter_rows()
        ]
        return Table("totals", data, data.columns, rows, 0, data.height)


class OfMixes(Reporter):
    def __init__(self, mixes: Mixes) -> None:
        super().__init__(describe_sweep(mixes.sweep))
        self.mixes = mixes

    def page(self) -> Page:
        mixes = self.mixes
        self.said = mixes.statements
        title = mixes.scenario.title
        harms = self.picture("harm", Drawing(mixes.plot(), []), "Harm of each case", title, "harm with intervals")
        head, rows, texts = mixes.make_notebook_table()
        self.tables.append(Table("answers", mixes.table, head, rows, texts, len(rows)))
        return Page(
            choose_title(title, mixes.scenario.source),
            join_answer(self.said, mixes.cases),
            [
                Section("Harm", [Points([*self.said, *mixes.notes]), harms]),
                Section("Answers", [Tabled(self.tables[0], "The case that loses most at each point, and the answer.")]),
            ],
            about=f"{', '.join(mixes.cases)} in the same runs, {formatting.count(len(mixes.mixes), 'point')}, "
            f"{_replications(mixes.mixes[0])} each; {mixes.describe_setup()}",
            method="Harm is the share of the goodput that a case loses beside the others, against its goodput beside "
            f"its own kind. The answers of all points hold together with {mixes.judgement.level}.",
            provenance=self.provenance,
        )


def _replications(mix: Mix) -> str:
    return formatting.count(len(mix.seeds), "replication")
