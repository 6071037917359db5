"""Reports of sweeps and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe import formatting
from bentpipe.contract.reporter import SENTENCES_MAX, Reporter, caption, join_answer
from bentpipe.experiment.common.provenance import choose_title
from bentpipe.experiment.results.contrasts import Contrast, amount, count_preferred, find_sender_key, rank_points
from bentpipe.experiment.results.provenance import describe_sweep
from bentpipe.experiment.results.wide import make_wide
from bentpipe.experiment.store import aside
from bentpipe.experiment.store.frames import column as as_column
from bentpipe.experiment.store.store import FAILURES
from bentpipe.metric import find_metric
from bentpipe.plot.maps import draw_map
from bentpipe.plot.style import Drawing, label
from bentpipe.plot.sweeps import draw_sweep
from bentpipe.reports.page import Code, Folded, Page, Picture, Points, Section, Tabled, Text
from bentpipe.reports.tables import ROWS_MAX, Table
from bentpipe.statistics.samples import AtLeast, bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.experiment.results.comparison import Comparison
    from bentpipe.experiment.results.contrasts import Ranked
    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.metric import Metric
    from bentpipe.reports.page import Block
    from bentpipe.statistics.comparing import Difference
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.statistics.judgement import Judgement
    from bentpipe.statistics.samples import Counts

FAILURES_MAX = 50
_OF_RATIO = ("metric", "of", "other", "replications", "ratio", "low", "high", "note")
FOLDED_MAX = 20_000
"""Longer texts are folded; readers rarely read more."""


class OfSweep(Reporter):
    """A report whose sentences and numbers come from `result`, and whose runs come from `sweep`."""

    result: Sweep | Comparison

    def __init__(self, sweep: Sweep) -> None:
        super().__init__(describe_sweep(sweep))
        self.result = self.sweep = sweep
        self.judgement = sweep.judgement
        self.estimates = {name: self.estimate_values(name) for name in sweep.metrics}

    def estimate_values(self, name: str) -> list[Estimate | Interval]:
        """Estimate a metric at each point."""
        return self.sweep.estimates(name)

    def counts(self, name: str) -> list[Counts]:
        """Count completed and due work at each point."""
        return self.sweep.counts(name)

    def ranking(self, name: str) -> list[Ranked]:
        """Order all points, best first."""
        return self.sweep.ranking(name)

    def contrasts(self, name: str) -> list[Contrast]:
        """Return the compared pairs."""
        return self.sweep.contrasts(name)

    def in_full(self, name: str) -> list[str]:
        """Write the sentences setting by setting."""
        return [each.in_full() for each in self.contrasts(name)]

    @property
    def who(self) -> str:
        """Describe the compared pairs."""
        against = self.judgement.against
        return f"Each other one against {against}" if against else "The best against each other one"

    def page(self) -> Page:
        sweep = self.sweep
        size = f"{formatting.count(sweep.points.height, 'point')}, {formatting.count(sweep.runs.height, 'run')}"
        sections = [self._metric(name) for name in sweep.metrics]
        sections.append(Section("Means at all points", [self._points()]))
        self.tables += make_wide(self)
        # Means before differences, which compare them.
        ranked = [self._rank_points(name) for name in sweep.metrics if len(self.ranking(name)) > 1]
        sections += [Section("Ranking", ranked)] if ranked else []
        compared = [self._differences(find_metric(name)) for name in sweep.metrics if self.contrasts(name)]
        sections += [Section("Differences", compared)] if compared else []
        # Ratios need a baseline.
        sections += [Section("Ratios", [self._ratios()])] if self.judgement.against is not None and compared else []
        if sweep.failures:
            sections.append(self._failures())
        warnings: list[Block] = []
        if sweep.missing:
            wanted = int(sweep.points["replications"].sum())
            text = f"{formatting.count(sweep.missing, 'run')} of {wanted:,} missing: not done yet, or failed."
            warnings.append(Text(text, is_warning=True))
        warnings += [
            Text(f"{aside.describe_runs(others)} are in the store as well, and not used here.", is_warning=True)
            for others in sweep.facts["aside"]
        ]
        warnings += [Text(f"Note: {note}.", is_warning=True) for note in self.result.notes]
        first = sections[0]
        return Page(
            choose_title(sweep.title, sweep.facts["source"]),
            join_answer(self.first(), self.cases),
            [Section(first.title, [*warnings, *first.blocks]), *sections[1:]],
            about=f"{size}; varied: {', '.join(sweep.keys)}; {sweep.describe_setup()}",
            method=f"{_middles(self.judgement)} with {_METHODS[self.judgement.statistic]} {self.judgement.level} "
            f"intervals; differences in pairs of equal seeds, {_describe_correction(self.judgement)}.",
            provenance=self.provenance,
        )

    def first(self) -> list[str]:
        """Selects the sentences of the first paragraph: about the first metric, the best case before the others."""
        name = self.sweep.metrics[0]
        best = self.best(name)
        others = [text for text in self.result.make_statements(name) if text not in best]
        return [*best, *others][:SENTENCES_MAX]

    def best(self, name: str) -> list[str]:
        """Counts the settings at which each case is best, if there are several settings."""
        choices = self.sweep.choices(name)
        is_known = max(self.sweep.points["replications"].to_list()) > 1
        return [count_preferred(choices, find_metric(name))] if len(choices) > 1 and is_known else []

    @property
    def cases(self) -> list[str]:
        """Congestion controls or cases whose names sentences may begin with."""
        sender = find_sender_key(self.sweep.points, self.sweep.keys)
        return [] if sender is None else [str(name) for name in self.sweep.points[sender].unique()]

    # A metric.

    def _metric(self, name: str) -> Section:
        metric = find_metric(name)
        blocks: list[Block] = []
        said = self.result.make_statements(name)
        self.said += said
        # The first paragraph has some of the first metric.
        above = self.first() if name == self.sweep.metrics[0] else []
        left = [text for text in said if text not in above]
        blocks += [Points(left)] if left else []
        note = self.result.note_unfinished(name)
        blocks += [Text(f"{note[:1].upper()}{note[1:]}.", is_warning=True)] if note else []
        full = [text for text in self.in_full(name) if text not in said]
        if sum(map(len, full)) > FOLDED_MAX:
            blocks.append(Text(f"tables/differences-{metric.slug}.csv has them for each setting."))
        elif full:
            blocks.append(Folded("For each setting", [Points(full)]))
        if any(each.value is not None for each in self.estimates[name]):
            what_is_drawn = _what_is_drawn(self.estimates[name], self.judgement)
            blocks.append(
                self._picture(metric.slug, metric, draw_sweep(self.sweep, metric, self.estimates[name]), what_is_drawn)
            )
            heat = draw_map(self.sweep, metric, self.estimates[name])
            if heat is not None:
                blocks.append(
                    self._picture(
                        f"{metric.slug}-map",
                        metric,
                        heat,
                        f"{self.judgement.statistic} in each cell, brighter is better",
                    )
                )
        return Section(metric.title, blocks)

    def _picture(self, file: str, metric: Metric, drawing: Drawing, what_is_drawn: str) -> Picture:
        return self.picture(file, drawing, metric.meaning, self.sweep.title, what_is_drawn)

    def _rank_points(self, name: str) -> Tabled:
        """Make a table with every point in its place, against the best."""
        metric, keys = find_metric(name), self.sweep.keys
        order = self.ranking(name)
        settings = {row["point"]: [row[key] for key in keys] for row in self.sweep.points.iter_rows(named=True)}
        rows = [each.to_dict(self.judgement) for each in order]
        data = pl.DataFrame(
            [
                pl.Series("rank", range(1, len(order) + 1), dtype=pl.Int64),
                *(as_column(key, [settings[each.point][at] for each in order]) for at, key in enumerate(keys)),
                *pl.DataFrame(rows, infer_schema_length=None).get_columns(),
            ]
        ).rename(
            {self.judgement.statistic: metric.column, "low": f"{metric.column}_low", "high": f"{metric.column}_high"}
        )
        divisor, unit = formatting.scale([each.found.value for each in order], metric.unit)
        head = [
            *(formatting.short_key(key, keys) for key in keys),
            "rank",
            label(name, unit),
            "completed",
            "worse than the best",
        ]
        shown = [
            [
                *map(formatting.setting, settings[each.point]),
                str(at),
                bound(_margin(each.found.value, each.found.low, each.found.high, divisor), each.found),
                str(each.counts),
                _worse(each),
            ]
            for at, each in enumerate(order[:ROWS_MAX], 1)
        ]
        table = Table(f"ranking-{metric.slug}", data, head, shown, len(keys), len(order))
        self.tables.append(table)
        return Tabled(table, caption(table, f"{metric.title}. {_ranking(self.judgement)}"))

    def _ratios(self) -> Tabled:
        """Make a table of each case as a multiple of the baseline, setting by setting."""
        data = self.result.ratios.filter(pl.col("metric").is_in(self.sweep.metrics))
        keys = [name for name in data.columns if name not in _OF_RATIO]
        head = ["metric", "of", "against", *(formatting.short_key(key, self.sweep.keys) for key in keys)]
        shown = [
            [
                find_metric(row["metric"]).title,
                row["of"],
                row["other"],
                *(formatting.setting(row[key]) for key in keys),
                "" if row["ratio"] is None else f"{row['ratio']:.3g} ({row['low']:.3g} to {row['high']:.3g})",
                row["note"] or "",
            ]
            for row in data.head(ROWS_MAX).iter_rows(named=True)
        ]
        table = Table("ratios", data, [*head, "ratio", "why none"], shown, 3 + len(keys), data.height)
        self.tables.append(table)
        text = "Geometric mean of the ratios to the baseline in pairs of equal seeds, with its interval."
        return Tabled(table, caption(table, text))

    def _differences(self, metric: Metric) -> Tabled:
        contrasts = self.contrasts(metric.name)
        keys = list(next((each for one in contrasts for each in one.settings.values()), {}))
        flat = [
            (contrast, contrast.settings[at], difference)
            for contrast in contrasts
            for at, difference in contrast.differences.items()
        ]
        found = [difference for _, _, difference in flat]
        data = self.result.differences.filter(pl.col("metric") == metric.name)
        shown = flat[:ROWS_MAX]
        divisor, unit = formatting.scale([each.value for each in found], metric.unit)
        short = [formatting.short_key(key, self.sweep.keys) for key in keys]
        # Only if a case did not complete everything: a higher completed share is another question than a shorter time.
        is_held = any(each.shares is not None for each in found)
        completed = ["completed", "p of that"] if is_held else []
        head = [
            "of",
            "against",
            *short,
            *completed,
            "pairs",
            label("difference", unit),
            "in %",
            "p",
            "effect",
            "shown",
        ]
        rows = [
            [
                contrast.sender,
                contrast.other,
                *(formatting.setting(settings[key]) for key in keys),
                *(_write_completed(each) if is_held else []),
                str(each.replications),
                _margin(each.value, each.low, each.high, divisor),
                _margin(each.percent(each.value), each.percent(each.low), each.percent(each.high), 1),
                _probability(each.p_adjusted),
                _effect(each),
                {True: "yes", False: "no", None: formatting.MISSING}[each.is_shown],
            ]
            for contrast, settings, each in shown
        ]
        table = Table(f"differences-{metric.slug}", data, head, rows, 2 + len(keys), len(flat))
        self.tables.append(table)
        text = f"{metric.title}. {self.who}, {_differences(self.judgement, metric)}" + (f" {_HELD}" if is_held else "")
        return Tabled(table, caption(table, text))

    # Sections about all metrics together.

    def _points(self) -> Tabled:
        sweep = self.sweep
        data = sweep.points.select(*sweep.keys)
        head = [formatting.short_key(key, sweep.keys) for key in sweep.keys]
        counts = sweep.runs.group_by("point").len()
        have = dict(zip(counts["point"].to_list(), counts["len"].to_list(), strict=True))
        runs = [have.get(point, 0) for point in sweep.points["point"]]
        data = data.with_columns(pl.Series("runs", runs, dtype=pl.Int64))
        cells = [[formatting.setting(value) for value in sweep.points[key].head(ROWS_MAX)] for key in sweep.keys]
        cells.append([str(count) for count in runs[:ROWS_MAX]])
        head.append("runs")
        for name, found in self.estimates.items():
            metric = find_metric(name)
            divisor, unit = formatting.scale([each.value for each in found], metric.unit)
            head.append(label(name, unit))
            # Missing values change the meaning of a mean, so they are counted beside it.
            completed = self.counts(name)
            cells.append(
                [
                    bound(_margin(each.value, each.low, each.high, divisor), each)
                    + ("" if of.is_whole or each.value is None else f" ({of})")
                    for each, of in zip(found[:ROWS_MAX], completed, strict=False)
                ]
            )
            data = data.with_columns(
                pl.Series(metric.column, [each.value for each in found], dtype=pl.Float64),
                pl.Series(f"{metric.column}_low", [each.low for each in found], dtype=pl.Float64),
                pl.Series(f"{metric.column}_high", [each.high for each in found], dtype=pl.Float64),
                pl.Series(f"{metric.column}_count", [each.replications for each in found], dtype=pl.Int64),
                pl.Series(f"{metric.column}_completed", [of.done for of in completed], dtype=pl.Int64),
                pl.Series(f"{metric.column}_due", [of.due for of in completed], dtype=pl.Int64),
                pl.Series(f"{metric.column}_is_bound", [isinstance(each, AtLeast) for each in found], dtype=pl.Boolean),
            )
        rows = list(zip(*cells, strict=True))
        seen = [pair for name, found in self.estimates.items() for pair in zip(self.counts(name), found, strict=False)]
        table = Table("points", data, head, rows, len(sweep.keys), sweep.points.height)
        self.tables.append(table)
        is_whole = all(of.is_whole or each.value is None for of, each in seen)
        is_bound = any(isinstance(each, AtLeast) for _, each in seen)
        return Tabled(table, caption(table, _points(self.judgement, is_whole, is_bound)))

    def _failures(self) -> Section:
        shown = self.sweep.failures[:FAILURES_MAX]
        blocks: list[Block] = [
            Text(
                f"{formatting.count(len(self.sweep.failures), 'run')} failed. "
                "To see one fail again, in the folder of the store:"
            )
        ]
        for failure in shown:
            # Without the path of the store, which may move.
            replay = f"{FAILURES}/{failure['id']}.json"
            blocks.append(Code(f"{failure['parameters']}\n{failure['message']}\nbentpipe run {replay}"))
        if len(shown) < len(self.sweep.failures):
            blocks.append(Text(f"{len(self.sweep.failures) - len(shown):,} more are in the store."))
        return Section("What failed", blocks)


class OfComparison(OfSweep):
    """Report of the replications that all cases have finished, judged like the comparison: over all pairs."""

    result: Comparison

    def __init__(self, comparison: Comparison) -> None:
        assert comparison.sweep is not None, "a comparison that was joined has no report"
        self.comparison = comparison
        super().__init__(comparison.sweep)
        self.result = comparison

    def estimate_values(self, name: str) -> list[Estimate | Interval]:
        return [self.comparison.estimate(sender, name) for sender in self.comparison.names]

    def counts(self, name: str) -> list[Counts]:
        return [self.comparison.sample(sender, name).counts for sender in self.comparison.names]

    def ranking(self, name: str) -> list[Ranked]:
        # With a baseline, no pair is compared with the best.
        if self.judgement.against is not None:
            return []
        names = self.comparison.names
        best, *rest = order = self.comparison.order_cases(name) or [""]
        found = self.comparison.judge_metric(name, order[:1]) if rest else {}
        samples = {place: self.comparison.sample(sender, name) for place, sender in enumerate(names)}
        behind = [None, *(found[best, other] for other in rest)]
        places = [names.index(sender) for sender in order if sender]
        return rank_points(places, samples, behind[: len(places)], find_metric(name), self.judgement)

    def contrasts(self, name: str) -> list[Contrast]:
        found = self.comparison.judge_metric(name).items()
        return [Contrast(name, *pair, {"": {}}, {"": difference}) for pair, difference in found]

    def best(self, name: str) -> list[str]:
        order, metric = self.comparison.order_cases(name), find_metric(name)
        if not order or len(self.comparison.names) == 1:
            return []
        found = amount(self.comparison.estimate(order[0], name), metric)
        return [f"{metric.ends[0]} {metric.name}: {order[0]}, {found}"]

    def in_full(self, name: str) -> list[str]:
        return []

    @property
    def who(self) -> str:
        return super().who if self.judgement.against else "All pairs"


_METHODS = {"mean": "Student's", "median": "bootstrap"}
_CORRECTIONS = {
    "holm": "corrected for their number (Holm)",
    "bh": "corrected for their number (Benjamini and Hochberg)",
    "none": "not corrected for their number",
}
_EFFECTS = {"mean": "Hedges' g_z", "median": "Cliff's delta"}


def _middles(judgement: Judgement) -> str:
    return f"{judgement.statistic}s".capitalize()


def _describe_correction(judgement: Judgement) -> str:
    return _CORRECTIONS[judgement.correction]


def _margins(judgement: Judgement) -> str:
    return f"± half of the {judgement.level} interval"


def _points(judgement: Judgement, is_whole: bool, is_bound: bool) -> str:
    text = f"{judgement.statistic.capitalize()} {_margins(judgement)} at each point."
    if not is_whole:
        text += " In brackets: the runs or flows with a value, if some have none."
    if is_bound:
        text += " > marks a lower bound: runs that did not complete count with the time that they had."
    return text


def _ranking(judgement: Judgement) -> str:
    return (
        f"Best first, by completed runs, then by the {judgement.statistic}. Each point is tested against the best in "
        f"pairs of equal seeds. The level is {100 * judgement.alpha:.3g} %, {_describe_correction(judgement)}. Not "
        "shown: the point may be as good as the best."
    )


def _differences(judgement: Judgement, metric: Metric) -> str:
    return (
        f"in pairs of equal seeds: {judgement.statistic} difference {_margins(judgement)}, "
        f"p {_describe_correction(judgement)}, effect size ({_EFFECTS[judgement.statistic]}), and whether the "
        f"difference is shown at {100 * judgement.alpha:.3g} %.{_describe_test(judgement, metric)}"
    )


def _describe_test(judgement: Judgement, metric: Metric) -> str:
    """Return the question of the tests, if it is not the usual question."""
    question = judgement.question(metric)
    if question is None:
        return ""
    return f" It is shown if the first is {question.claim} the other; each end of an interval is a one-sided bound."


_HELD = (
    "Differences cover the runs that both completed. The test of the completed counts is exact (p of that) and "
    "corrected with the others."
)


def _what_is_drawn(estimates: Sequence[Estimate | Interval], judgement: Judgement) -> str:
    if any(each.low is not None for each in estimates):
        return f"{judgement.statistic} and {judgement.level} interval"
    if all(each.replications <= 1 for each in estimates):
        return "one run at each point, so no intervals"
    return f"{judgement.statistic}s of too few runs for intervals"


def _margin(value: float | None, low: float | None, high: float | None, divisor: float) -> str:
    if value is None:
        return formatting.MISSING
    half = None if low is None or high is None else abs(high - low) / 2 / divisor
    mean, margin = formatting.mean_and_margin(value / divisor, half)
    return mean if margin is None else f"{mean} ± {margin}"


def _probability(p: float | None) -> str:
    return formatting.MISSING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _write_completed(difference: Difference) -> list[str]:
    """Write the counts of both, and the p of the test."""
    shares = difference.shares
    if shares is None:
        return ["all", formatting.MISSING]
    return [f"{shares.one}, {shares.other}", _probability(shares.p_adjusted)]


def _worse(each: Ranked) -> str:
    if each.behind is None:
        return "the best"
    if each.is_as_good:
        return "no difference that matters"
    return "yes" if each.is_worse else "not shown"


def _effect(difference: Difference) -> str:
    effect = difference.effect
    return formatting.MISSING if effect.value is None else f"{effect.value:.2f}, {effect.magnitude}"
