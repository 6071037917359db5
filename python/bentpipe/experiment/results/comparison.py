"""Cases compared over the same replications: intervals, and statements with their confidence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import files
from bentpipe.catalog import unknown
from bentpipe.contract import frames
from bentpipe.contract.result import Result, column_shown
from bentpipe.contract.rows import difference_row, table_row
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.commands import spell_command
from bentpipe.experiment.common.options import CHARTS
from bentpipe.experiment.results import hints
from bentpipe.experiment.results.ratios import RATIOS, baseline, ratio, ratio_rows
from bentpipe.experiment.results.sweep import Sweep
from bentpipe.experiment.single.measure import with_metrics
from bentpipe.experiment.single.run import run
from bentpipe.heads import head
from bentpipe.metric import COLUMNS, METRICS, find_metric
from bentpipe.own import loading
from bentpipe.scenario.scenario import Scenario, list_notes
from bentpipe.statistics.comparing import ONE_RUN, differences, statement
from bentpipe.statistics.estimates import least
from bentpipe.statistics.judgement import DEFAULT, Judgement
from bentpipe.statistics.samples import Sample, not_whole, rank_samples

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.metric import Metric
    from bentpipe.plot.style import Labels, Size
    from bentpipe.scenario.names import ComparisonChart, MetricName
    from bentpipe.statistics.comparing import Difference
    from bentpipe.statistics.estimates import Estimate, Interval

VERB = "compare"


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Cases compared over the same replications.

    Attributes
    ----------
    scenario : Scenario
    names : tuple of str
        Congestion controls or cases, in the given order.
    runs : polars.DataFrame
        A row per replication and name: `of`, `replication`, `seed`, a column per metric, `completion_bound_s`
        (a lower bound of a missing completion time) and `transfers_finished`.
    metric : str
        Metric of `statements`.
    version : str
        Version of bentpipe.
    judgement : Judgement
        Decides which differences are shown: `statistic`, `confidence`, `correction`, `against`, as in `compare`.
    scenarios : mapping
        The scenarios that ran, by name.
    sweep : Sweep or None
        All runs, with failures and kept tables.
    asked : tuple of str
        Requested metrics. The tables have these and the usual metrics.
    """

    scenario: Scenario
    names: tuple[str, ...]
    runs: pl.DataFrame
    metric: str
    version: str
    judgement: Judgement = DEFAULT
    scenarios: Mapping[str, Scenario] = field(default_factory=dict)
    sweep: Sweep | None = None
    asked: tuple[str, ...] = ()

    charts = CHARTS

    @property
    def against(self) -> str | None:
        """The baseline of all differences; None for the best case."""
        return self.judgement.against

    @property
    def metrics(self) -> list[str]:
        """The usual metrics, and the requested metrics."""
        return list(dict.fromkeys([*METRICS, *self.asked]))

    @property
    def kind(self) -> str:
        """Kind of the compared things: `sender` (a congestion control) or `case`."""
        return "case" if self.sweep is not None and self.sweep.keys == ["case"] else "congestion control"

    @classmethod
    def load(cls, folder: str | os.PathLike[str], against: str | None = None) -> Comparison:
        """Load a saved comparison, or the last comparison of a store.

        Custom congestion controls are named, but cannot run again.

        Parameters
        ----------
        folder : path
        against : str, optional
            The baseline: a congestion control or case. It replaces the baseline of the comparison.

        Raises
        ------
        BentpipeError
            The folder has no comparison.
        ScenarioError
            `against` is not a congestion control or case of the comparison.
        """
        sweep = Sweep.load(folder, against, verb=VERB)
        with files.reading(folder):
            if not complete(sweep):
                raise BentpipeError(f"no replication of {folder} is finished\n  run the same command again to continue")
            arms = {
                name: Scenario(text, source=name, senders=loading.absent(text))
                for name, text in sweep.facts["arms"].items()
            }
            whole = sweep.facts["scenario"]
            return cls.from_sweep(
                sweep, Scenario(whole, source=sweep.facts["source"], senders=loading.absent(whole)), arms
            )

    @classmethod
    def from_sweep(cls, sweep: Sweep, scenario: Scenario, scenarios: Mapping[str, Scenario]) -> Comparison:
        """Make a comparison from the replications that every case has finished."""
        (key,), facts = sweep.keys, sweep.facts
        place = pl.DataFrame({"of": list(scenarios), "place": range(len(scenarios))})
        columns = [column for name in facts["metrics"] for column in find_metric(name).columns]
        runs = (
            sweep.runs.filter(pl.col("replication").is_in(complete(sweep)))
            .rename({key: "of"})
            .join(place, on="of")
            .sort("replication", "place")
            .select("of", "replication", "seed", *dict.fromkeys([*COLUMNS.values(), *columns]))
        )
        return cls(
            scenario,
            tuple(scenarios),
            runs,
            facts["metrics"][0],
            facts["version"],
            sweep.judgement,
            scenarios,
            sweep,
            tuple(facts["metrics"]),
        )

    def join(self, other: Comparison) -> Comparison:
        """Join another comparison of other cases over the same replications of the same scenario.

        Raises
        ------
        BentpipeError
            The scenarios or the seeds differ, or a case is in both.
        """
        both = set(self.names) & set(other.names)
        if self.scenario.digest != other.scenario.digest or self.seeds != other.seeds or both:
            raise BentpipeError(
                "these comparisons cannot be joined\n  expected the same scenario and seeds, and different cases"
            )
        columns = [name for name in self.runs.columns if name in other.runs.columns]
        runs = pl.concat([each.runs.select(columns) for each in (self, other)]).sort("replication", maintain_order=True)
        scenarios = {**self.scenarios, **other.scenarios}
        asked = tuple(name for name in self.asked if name in other.metrics)
        names = self.names + other.names
        return replace(self, names=names, runs=runs, scenarios=scenarios, sweep=None, asked=asked)

    @property
    def table(self) -> pl.DataFrame:
        """Table with a row per name and metric: `of`, `metric`, `unit`, `mean`, `low`, `high`, `replications`.

        `low` and `high` are the ends of the interval; null with too few replications. With the median as statistic, the
        column `mean` is called `median`. For completion times, `completed` of `due` replications completed. For `fct`,
        `fct_p95` and `slowdown`, these columns count transfers; for other metrics, replications with a value. If
        `is_bound`, the true mean is larger than `mean`, because incomplete runs count with their duration.
        """
        return frames.table(
            (
                table_row(name, metric, self.sample(name, metric.name), self.judgement)
                for name in self.names
                for metric in map(find_metric, self.metrics)
            ),
            self.judgement,
        )

    @property
    def differences(self) -> pl.DataFrame:
        """Paired differences, `of` minus `other`, of each metric: of all pairs, or with `against` of pairs with it.

        Columns `metric`, `unit`, `of`, `other`, `replications` (pairs with both values), `mean`, `low`, `high` (in the
        metric's unit), `mean_pct`, `low_pct`, `high_pct` (of the other's mean). Further columns are `effect` (Hedges'
        g_z), `magnitude` (the effect in a word), `p`, `p_adjusted` (over all tests of the
        metric) and `is_shown` (`p_adjusted` below 1 - confidence). With the median as statistic, the columns are
        `median` and `median_pct`, and `effect` is Cliff's delta.

        These columns cover only replications that both cases completed. If a case did not complete everything, six
        more columns have values; otherwise they are null. `of_completed` and `other_completed` count completed
        replications or transfers. `more_often` and `less_often` count the replications in which `of` completed more, or
        less, than `other`. `p_completed` (corrected like `p_adjusted`) and `is_completed_shown` are from the exact test
        of these counts.
        """
        return frames.differences(
            (
                difference_row(find_metric(name), *pair, found)
                for name in self.metrics
                for pair, found in self.judge_metric(name).items()
            ),
            self.judgement,
        )

    @property
    def statements(self) -> list[str]:
        """Statements about the metric in plain words: the best case, or `against`, with each other case."""
        return self.make_statements(self.metric)

    def make_statements(self, name: str) -> list[str]:
        """Statements about any metric in plain words, corrected over the pairs of this metric."""
        metric, judgement = find_metric(name), self.judgement
        order = self.order_cases(name)
        why = "no flow has an end" if name == "completion" else "no run has a value"
        said = [f"{each} has no {name}: {why}" for each in self.names if each not in order]
        if len(self.seeds) == 1:
            said.append(ONE_RUN)
        elif len(self.names) > 1 and self._is_fixed():
            said.append("all replications are equal: this scenario has no randomness")
        elif (
            len(self.names) > 1
            and judgement.statistic == "median"
            and len(self.seeds) < (wanted := least(judgement.confidence))
        ):
            said.append(f"too few replications: medians need at least {wanted} for intervals of {judgement.level}")
        found = self.judge_metric(name, best=order[:1])
        if self.against is not None:
            pairs = [(each, self.against) for each in order if each != self.against and self.against in order]
        else:
            pairs = [(order[0], other) for other in order[1:]]
        return said + [statement(*pair, found[pair], metric) for pair in pairs]

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        """Notes on the scenarios, and hints on the coverage and power of the replications."""
        fairness = hints.hint_fairness([self.scenario], self.asked)
        fairness += hints.hint_security(self.scenarios.values())
        fairness += self.judgement.notes([*map(find_metric, self.asked)])
        if self.sweep is None:
            return [*list_notes(self.scenarios.values()), *fairness]
        facts, tests = self.sweep.facts, self.tests
        # Medians have their own minimum of replications, and equal values have no spread.
        is_said = self.judgement.statistic == "median" or self._is_fixed()
        found = [] if is_said else hints.hint_replications(facts, len(self.seeds), tests, self.judgement.confidence)
        values = self.sweep.values
        wide = hints.hint_until(facts, lambda metric: values(metric).values(), self.kind)
        return [*facts.get("notes", []), *fairness, *wide, *found]

    @property
    def tests(self) -> int:
        """Number of differences that are corrected together: all pairs, or with `against` only the pairs with it."""
        count = len(self.names)
        return count - 1 if self.against is not None else count * (count - 1) // 2

    @property
    def has_days(self) -> bool:
        """Whether each replication has another day of the sky."""
        return self.sweep is not None and self.sweep.has_days

    def order_cases(self, metric: str | None = None) -> list[str]:
        """Order the cases that have the metric, best first: by completed share, then by value."""
        what = find_metric(metric or self.metric)
        return rank_samples(self._samples(what.name), what, self.judgement)

    def note_unfinished(self, metric: str) -> str | None:
        """Name the cases with incomplete work, as a note to a table or figure; None if all completed."""
        what = find_metric(metric)
        counts = {name: sample.counts for name, sample in self._samples(metric).items() if sample.is_there}
        return not_whole(what, counts)

    @property
    def seeds(self) -> list[int]:
        """Seeds of the replications, in order."""
        return self.runs["seed"].unique(maintain_order=True).to_list()

    def _estimate(self, of: str, metric: str) -> Estimate | Interval:
        return self.sample(of, metric).estimate(self.judgement, find_metric(metric))

    def ratio(self, of: str, other: str | None = None, metric: str | None = None) -> Interval:
        """Divide a metric of one case by that of another: the geometric mean of the ratios in pairs of equal seeds.

        Parameters
        ----------
        of : str
        other : str, optional
            The baseline. The default is `against`.
        metric : str, optional
            The default is the metric of the statements.

        Raises
        ------
        BentpipeError
            There is no baseline, not everything was completed, or a value is not above 0.
        """
        what, other = find_metric(metric or self.metric), baseline(other or self.against)
        samples = {name: self.sample(name, what.name) for name in (of, other)}
        return ratio(what, samples, of, other, self.judgement.confidence)

    @property
    def ratios(self) -> pl.DataFrame:
        """Ratios to `against` of each metric: `metric`, `of`, `other`, `replications`, `ratio`, `low`, `high`.

        Each interval is for a single ratio, without correction. `note` gives the reason for a missing ratio.

        Raises
        ------
        BentpipeError
            There is no `against`.
        """
        other, confidence = baseline(self.against), self.judgement.confidence
        each = (
            ratio_rows(what, self._samples(what.name), other, confidence) for what in map(find_metric, self.metrics)
        )
        return pl.DataFrame(list(chain.from_iterable(each)), schema=RATIOS)

    def sample(self, of: str, metric: str) -> Sample:
        """Take a metric of one case in each replication, with the counts of completed work."""
        what = find_metric(metric)
        rows = self._with(what).filter(pl.col("of") == self._check_name(of))
        columns = {name: np.array(rows[name].to_list(), dtype=np.float64) for name in ("replication", *what.columns)}
        return Sample.from_columns(what.name, columns)

    def _with(self, metric: Metric) -> pl.DataFrame:
        """Return the runs with the columns of a metric."""
        if set(metric.columns) <= set(self.runs.columns):
            return self.runs
        if self.sweep is None:
            raise BentpipeError(unknown(metric.name, "a metric of these comparisons", self.metrics))
        asked = {**self.sweep.facts, "metrics": [metric.name]}
        runs = with_metrics(self.sweep.runs, self.sweep.tables, [metric])
        return Comparison.from_sweep(replace(self.sweep, runs=runs, facts=asked), self.scenario, self.scenarios).runs

    def values(self, of: str, metric: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return a metric of one case in each replication, shape (replications,); NaN where missing."""
        return self.sample(of, metric).values

    def plot(
        self,
        chart: ComparisonChart | str | None = None,
        *,
        metric: MetricName | str | None = None,
        size: Size | None = None,
        title: str | None = None,
        labels: Labels | None = None,
        axes: Axes | None = None,
    ) -> Figure:
        """Draw a matplotlib figure.

        Parameters
        ----------
        chart : str, optional
            `intervals` shows the mean or median and interval of each name, and the single runs. `ratio` shows the
            ratios to `against`. `cwnd` repeats the first replication and shows the congestion window of each name.
        metric : str, optional
            Metric as in `compare`. The default is the metric of the statements.
        size, title, labels, axes : optional
            Width and height in inches, a title instead of the scenario's title, and labels of the axes:
            `{"x": ..., "y": ...}`.

        Raises
        ------
        BentpipeError
            Unknown chart or metric, or no run has the metric.
        """
        return super().plot(chart, metric=metric, size=size, title=title, labels=labels, axes=axes)

    def _figure(self, chart: str, metric: str | None) -> Figure:
        from bentpipe.plot import comparison_figure, ratio_figure, windows_figure

        if chart != "cwnd":
            draw = ratio_figure if chart == "ratio" else comparison_figure
            return draw(self, metric or self.metric)
        day = self.runs["replication"][0] if self.has_days else 0
        scenarios = {name: each.on_day(day) for name, each in self.scenarios.items()}
        runs = {name: run(each, seed=self.seeds[0], series="cwnd_bytes") for name, each in scenarios.items()}
        return windows_figure(self, runs)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the data for `load`, with `table` and `differences` as Parquet; see `RunResult.save`."""
        if self.sweep is None:
            raise BentpipeError("joined comparisons cannot be saved\n  save each comparison")
        self.sweep.write(folder, {"table": self.table, "differences": self.differences})

    def _reporter(self) -> Reporter:
        if self.sweep is None:
            raise BentpipeError("joined comparisons have no report\n  report each comparison")
        from bentpipe.experiment.results.swept import OfComparison

        return OfComparison(self)

    @property
    def hosts(self) -> str:
        return str(self.sweep.facts["hosts"]) if self.sweep is not None else ""

    @property
    def pages(self) -> str:
        return self.sweep.pages if self.sweep is not None else ""

    def command(self) -> str:
        if self.sweep is None:
            raise BentpipeError("joined comparisons have no command\n  repeat each comparison")
        return spell_command(self.sweep.facts)

    def _content(self) -> dict[str, Any]:
        return {**({} if self.against is None else {"ratios": self.ratios.to_dicts()}), "runs": self.runs.to_dicts()}

    def make_notebook_table(self) -> tuple[list[str], list[list[str]], int]:
        """Make a row per name, and a column per metric that has values."""
        columns = [[head(self.kind), *self.names]]
        for what in map(find_metric, self.metrics):
            found = [self.estimate(name, what.name) for name in self.names]
            if any(each.value is not None for each in found):
                columns.append(column_shown(what.name, what.unit, found))
        first, *rows = map(list, zip(*columns, strict=True))
        return first, rows, 1

    def __repr__(self) -> str:
        return (
            f"<Comparison {self.scenario.title!r}, {len(self.seeds)} replications: " + "; ".join(self.statements) + ">"
        )

    def _provenance(self) -> dict[str, Any]:
        return {
            "title": self.scenario.title,
            "names": list(self.names),
            "seed": self.scenario.seed,
            "replications": len(self.seeds),
            "metric": self.metric,
            **self.judgement.to_dict(),
            "version": self.version,
            "hosts": self.hosts,
            "pages": self.pages,
            "digest": self.scenario.digest,
        }

    def _is_fixed(self) -> bool:
        return self.runs.drop("replication", "seed").n_unique() == len(self.names)

    def _samples(self, metric: str) -> dict[str, Sample]:
        return {name: self.sample(name, metric) for name in self.names}

    def judge_metric(self, metric: str, best: Sequence[str] = ()) -> dict[tuple[str, str], Difference]:
        """Judge the differences in a metric, by `of` and `other`, corrected together.

        `best` are first in their pairs.
        """
        values = self._samples(metric)
        if self.against is not None:
            pairs = [(name, self.against) for name in self.names if name != self.against]
        else:
            pairs = list(combinations([*best, *(name for name in self.names if name not in best)], 2))
        found = differences([(values[one], values[other]) for one, other in pairs], self.judgement, find_metric(metric))
        return dict(zip(pairs, found, strict=True))


def complete(sweep: Sweep) -> list[int]:
    """List the replications that every case has finished."""
    counts = sweep.runs["replication"].value_counts()
    return sorted(counts.filter(pl.col("count") == sweep.points.height)["replication"].to_list())
