"""Result of several congestion controls in one run: their shares of a path, and the cases that starve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import arguments, files, formatting
from bentpipe.catalog import names
from bentpipe.contract import frames
from bentpipe.contract.result import Result, column_shown
from bentpipe.contract.rows import difference_row, estimate_row, table_row
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.commands import spell_command
from bentpipe.experiment.common.options import MIX_CHARTS
from bentpipe.experiment.results import hints
from bentpipe.experiment.results.plan import Plan
from bentpipe.experiment.results.quantities import QUANTITIES, Quantity, quantity
from bentpipe.experiment.results.sweep import Sweep
from bentpipe.experiment.single.measure import with_metrics
from bentpipe.experiment.single.run import run
from bentpipe.heads import head
from bentpipe.metric import Metric, find_span, jain
from bentpipe.own.loading import absent
from bentpipe.scenario.scenario import Scenario
from bentpipe.statistics.comparing import ONE_RUN, differences
from bentpipe.statistics.estimates import Estimate, estimate, ratio_of_means
from bentpipe.statistics.fairness import Fairness, judge_fairness
from bentpipe.statistics.judgement import FAIR_USUAL
from bentpipe.statistics.samples import Counts, Sample

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bentpipe.contract.reporter import Reporter
    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.plot.style import Labels, Size
    from bentpipe.scenario.names import MetricName, MixChart
    from bentpipe.statistics.comparing import Difference
    from bentpipe.statistics.estimates import Interval
    from bentpipe.statistics.judgement import Judgement

    Values = NDArray[np.float64]

VERB = "mix"
TESTS = 3
"""Number of questions that are tested for each case."""
FAIR, OWN = "a fair share", "its own kind"
"""References of shares and goodputs, as in `differences`."""
STARVED = 0.5
"""A case is called starved below this part of its fair share, if the data shows it and the case gets more among its own
kind.
"""


@dataclass(frozen=True)
class Flows:
    """Values per flow that a mix takes from a run."""

    values: dict[str, Values]
    names: list[str]
    utilisation: float

    @classmethod
    def from_tables(cls, flows: pl.DataFrame, links: pl.DataFrame) -> Flows:
        """Take the values from the tables of a run."""
        columns = ("goodput_bps", "sent_bytes", "retransmitted_bytes", "timeouts", "rtt_p50_s")
        values = {name: np.array(flows[name].to_list(), dtype=np.float64) for name in columns}
        largest = links["utilisation"].max()
        return cls(values, flows["flow"].to_list(), np.nan if largest is None else float(largest))  # type: ignore[arg-type]


def share_shown(share: float, low: float | None, high: float | None) -> str:
    """Write a share with its interval in per cent.

    >>> share_shown(0.58, 0.15, 1.0), share_shown(0.5, 0.45, 0.55), share_shown(0.5, None, None)
    ('58 % (15 to 100 %)', '50.0 % (±5.0 %)', '50.0 %')
    """
    ends = (None if end is None else 100 * end for end in (share, low, high))
    text = formatting.interval(*ends)
    value, _, interval = text.partition(" ")
    if not interval:
        return f"{value} %"
    return f"{value} % ({interval.strip('()')} %)"


def _limit_ends(ends: list[float | None]) -> list[float | None]:
    return [None if end is None else min(max(end, 0.0), 1.0) for end in ends]


def _tables(plan: Plan, seeds: dict[int, int], complete: dict[int, list[Flows]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make a table with a row per replication and case, and a table with a row per replication."""
    rows: list[dict[str, Any]] = []
    totals: list[dict[str, Any]] = []
    for k, (mixed, *own) in complete.items():
        senders = plan.senders(k)
        of = np.array([plan.names.index(senders[name]) if name in senders else -1 for name in mixed.names])
        goodput = mixed.values["goodput_bps"]
        total = float(goodput[of >= 0].sum())
        sums = [float(goodput[of == place].sum()) for place in range(len(plan.names))]
        for place, name in enumerate(plan.names):
            sent = mixed.values["sent_bytes"][of == place].sum()
            retransmitted = mixed.values["retransmitted_bytes"][of == place].sum()
            rtt = mixed.values["rtt_p50_s"][of == place]
            rtt = rtt[~np.isnan(rtt)]
            rows.append(
                {
                    "of": name,
                    "replication": k,
                    "seed": seeds[k],
                    "flows": int((of == place).sum()),
                    "goodput_bps": sums[place],
                    "share": sums[place] / total if total else None,
                    "own_bps": float(own[place].values["goodput_bps"][of >= 0].sum()) / len(plan.names),
                    "retransmitted_pct": float(100 * retransmitted / sent) if sent else None,
                    "timeouts": float(mixed.values["timeouts"][of == place].sum()),
                    "rtt_p50_s": float(rtt.mean()) if len(rtt) else None,
                }
            )
        totals.append(
            {
                "replication": k,
                "seed": seeds[k],
                "goodput_bps": total,
                "jain_senders": jain(sums),
                "jain_flows": jain(goodput[of >= 0].tolist()),
                "utilisation": mixed.utilisation,
            }
        )
    whole = {"replication": pl.Int64, "seed": pl.UInt64}
    reals = {quantity.column: pl.Float64 for quantity in QUANTITIES.values()}
    each = {"of": pl.String, **whole, "flows": pl.Int64, **reals}
    every = whole | dict.fromkeys(("goodput_bps", "jain_senders", "jain_flows", "utilisation"), pl.Float64)
    return pl.DataFrame(rows, schema=each), pl.DataFrame(totals, schema=every).fill_nan(None)


@dataclass(frozen=True, repr=False, eq=False)
class Mix(Result):
    """The result of `bentpipe.mix`: cases that shared a path in the same runs.

    Attributes
    ----------
    scenario : Scenario
        The given scenario, without the copies of its flows; `make_scenario` has them.
    plan : Plan
    runs : polars.DataFrame
        A row per replication and case: `of` (the case), `replication`, `seed`, `flows` (the number of its flows),
        `goodput_bps`, `share`, `own_bps` (goodput if all flows have this case), `retransmitted_pct`, `timeouts`,
        `rtt_p50_s`; see `QUANTITIES`.
    totals : polars.DataFrame
        One row per replication: `goodput_bps` of all flows in the mix, Jain's index of the cases' goodput
        (`jain_senders`) and of the flows' goodput (`jain_flows`), `utilisation` of the busiest link.
    judgement : Judgement
        Decides which differences are shown, by its `confidence` and `correction`.
    version : str
        Version of bentpipe.
    """

    scenario: Scenario
    plan: Plan
    runs: pl.DataFrame
    totals: pl.DataFrame
    judgement: Judgement
    version: str
    sweep: Sweep | None = None
    """All runs of the mix."""
    asked: tuple[str, ...] = ()
    """Metrics of the tables in addition to `QUANTITIES`."""
    largest_harm: str = FAIR_USUAL
    """Largest harm that is fair: `10 %`."""

    charts = MIX_CHARTS

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Mix:
        """Load a saved mix, or the last mix of a store.

        Custom congestion controls are named, but cannot run again.

        Raises
        ------
        BentpipeError
            The folder has no mix.
        """
        sweep = Sweep.load(folder, verb=VERB)
        with files.reading(folder):
            facts = sweep.facts
            if "parts" in facts:
                raise BentpipeError(f"{folder} has mixes at several points\n  expected Mixes.load")
            text = facts["scenario"]
            scenario = Scenario(text, source=facts["source"], senders=absent(text))
            plan = Plan.from_facts(facts["plan"], scenario.folder)
            if not complete(sweep, plan):
                raise BentpipeError(f"no replication of {folder} is finished\n  run the same command again to continue")
            return cls.from_sweep(sweep, scenario, plan)

    @classmethod
    def from_sweep(cls, sweep: Sweep, scenario: Scenario, plan: Plan) -> Mix:
        """Make a mix from the replications whose runs have all ended."""
        flows, links = (sweep.read_table(name).partition_by("run", as_dict=True) for name in ("flows", "links"))
        runs: dict[int, list[Flows]] = {k: [] for k in complete(sweep, plan)}
        seeds: dict[int, int] = {}
        # The mix of a replication comes before the runs of one kind.
        for row in sweep.runs.sort("replication", "point").iter_rows(named=True):
            if (k := row["replication"]) in runs:
                runs[k].append(Flows.from_tables(flows[row["run"],], links[row["run"],]))
                seeds[k] = row["seed"]
        tables = _tables(plan, seeds, runs)
        facts = sweep.facts
        asked = tuple(facts["asked"])
        # Older stores have the usual one.
        harm = facts.get("fair", FAIR_USUAL)
        found = cls(scenario, plan, *tables, sweep.judgement, facts["version"], sweep, asked, harm)
        return replace(found, runs=found._with([quantity(name) for name in asked]))

    def _with(self, wanted: Iterable[Quantity | Metric]) -> pl.DataFrame:
        """Return the runs with columns of these metrics over all flows of each case."""
        new = [each for each in wanted if isinstance(each, Metric) and not set(each.columns) <= set(self.runs.columns)]
        if not new or self.sweep is None:
            return self.runs
        rows = [
            (k, flow, entry, sender)
            for k in self.totals["replication"]
            for flow, (entry, sender) in self.plan.copies(k).items()
        ]
        schema = {"replication": pl.Int64, "flow": pl.String, "entry": pl.String, "of": pl.String}
        owners = pl.DataFrame(rows, schema=schema, orient="row")
        kept = {}
        for name, table in self.sweep.tables.items():
            mixed = table.filter(pl.col("point") < len(self.names))
            if "flow" in mixed.columns:
                # A copy has the name of its original flow.
                mixed = mixed.join(owners, on=["replication", "flow"], maintain_order="left").drop("flow")
                mixed = mixed.rename({"entry": "flow"})
            kept[name] = mixed
        return with_metrics(self.runs, kept, new, ("of", "replication"))

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Congestion controls or cases, in the given order."""
        return self.plan.names

    @property
    def seeds(self) -> list[int]:
        """Seeds of the replications, in order."""
        return self.totals["seed"].to_list()

    @property
    def fair(self) -> float:
        """The equal share of each case."""
        return 1 / len(self.names)

    @property
    def quantities(self) -> dict[str, Quantity | Metric]:
        """Quantities that the tables have of each case, by name."""
        return {name: quantity(name) for name in (*QUANTITIES, *self.asked)}

    def estimate(self, of: MetricName | str, metric: MetricName | str | None = None) -> Estimate:
        """Estimate the mean of one of `QUANTITIES`, or of a metric of flows, for one name, with Student's interval."""
        return super().estimate(of, metric)  # type: ignore[return-value]

    def _estimate(self, of: str, metric: str) -> Estimate | Interval:
        return self.sample(of, metric).estimate(self.judgement, quantity(metric))

    def estimate_own_ratio(self, of: str) -> Interval:
        """Divide the mean goodput of a case in the mix by that among its own kind; the interval is above 0."""
        return ratio_of_means(self.values(of, "goodput"), self.values(of, "own"), self.judgement.confidence)

    @property
    def fairness(self) -> Fairness:
        """The harm of each case, and whether the cases are fair to each other within `largest_harm`."""
        return self.judge_harm()

    def judge_harm(self, answers: int = 1) -> Fairness:
        """Judge `fairness`, corrected for this number of mixes, so that all their answers hold together."""
        pairs = {name: (self.values(name, "goodput"), self.values(name, "own")) for name in self.names}
        margin = arguments.margin("fair", self.largest_harm)
        return judge_fairness(pairs, margin, self.judgement.confidence, answers)

    def total(self, column: str) -> Estimate:
        """Estimate the mean of a column of `totals`, with Student's interval."""
        found = estimate(np.array(self.totals[column].to_list(), dtype=np.float64), self.judgement.confidence)
        return found._replace(span=find_span(column, "bit/s" if column == "goodput_bps" else "1"))

    def unit(self, metric: str) -> str:
        """Look up the unit of one of `QUANTITIES` or a metric of flows."""
        return quantity(metric).unit

    def values(self, of: str, metric: str) -> Values:
        """Take the values of `estimate` in each replication, shape (replications,); NaN where missing."""
        return self.sample(of, metric).values

    def sample(self, of: str, metric: str) -> Sample:
        """Take one of `QUANTITIES`, or a metric, of one case in each replication, with the counts of completed work."""
        what = quantity(metric)
        rows = self._with([what]).filter(pl.col("of") == self._check_name(of))
        if isinstance(what, Quantity):
            return Sample.from_values(np.array(rows[what.column].to_list(), dtype=np.float64))
        columns = {name: np.array(rows[name].to_list(), dtype=np.float64) for name in ("replication", *what.columns)}
        return Sample.from_columns(what, columns)

    @property
    def table(self) -> pl.DataFrame:
        """Table with a row per name and metric.

        The columns are `of`, `metric`, `unit`, `mean`, `low`, `high`, `replications`, as in a comparison.

        The metrics are `quantities` and `of_own`, the ratio of `goodput` to `own`. The harm in `fairness` is 1 minus
        this ratio.
        """
        rows = [
            table_row(name, what, self.sample(name, what.name), self.judgement)
            for name in self.names
            for what in self.quantities.values()
        ]
        for name in self.names:
            ratio = self.estimate_own_ratio(name)
            found = estimate_row(ratio, Counts(ratio.replications, ratio.replications), self.judgement)
            rows.append({"of": name, "metric": "of_own", "unit": "1", **found})
        return frames.table(rows, self.judgement)

    @property
    def differences(self) -> pl.DataFrame:
        """Table with two rows per case: its share minus a fair share, and its goodput minus that among its own kind.

        The columns are those of `Comparison.differences`; `other` is `a fair share` or `its own kind`.
        """
        judged = self._judge_names()
        rows = (
            difference_row(QUANTITIES[metric], name, other, judged[name, test])
            for name in self.names
            for test, metric, other in (("fair", "share", FAIR), ("taken", "goodput", OWN))
        )
        return frames.differences(rows, self.judgement)

    @property
    def statements(self) -> list[str]:
        """Conclusions in plain words: cases above a fair share, starved cases, and their causes."""
        said = []
        if len(self.seeds) == 1:
            said.append(ONE_RUN)
        shares = {name: self.estimate(name, "share") for name in self.names}
        order = sorted(self.names, key=lambda name: -(shares[name].mean or 0))
        if any(shares[name].mean is None for name in order):
            return [*said, "nothing was delivered in any run"]
        judged, tests = self._judge_names(), self._tests()
        winners = [name for name in order if tests[name]["fair"] and (shares[name].mean or 0) > self.fair]
        for name in order:
            # The corrected interval, which agrees with the sentence: that of the difference from a fair share.
            ends = [None if end is None else self.fair + end for end in judged[name, "fair"].corrected]
            amount = f"{share_shown(shares[name].mean or 0, *_limit_ends(ends))} of the goodput"
            said.append(self._sentence(name, amount, tests[name], winners))
        return [*said, self.fairness.sentence]

    def _sentence(self, name: str, amount: str, tests: dict[str, bool], winners: list[str]) -> str:
        fair = f"{100 * self.fair:.3g} %"
        among = self.estimate(name, "own").mean
        found = self.estimate_own_ratio(name) if among else None
        ratio, often = (found and found.value), ""
        if found is not None and ratio is not None:
            ends = "" if found.low is None else f" ({found.low:.3g} to {found.high:.3g})"
            often = f"{ratio:.3g} times{ends}"
        own = f"that is {often} its goodput when all flows are {name}" if often else ""
        mean = self.estimate(name, "share").mean or 0
        if len(self.seeds) == 1:
            return f"{name} gets {amount}, {fair} is fair" + (f"; {own}" if own else "")
        if not tests["fair"]:
            text = f"{name} gets {amount}: no difference from a fair {fair} can be shown"
        elif mean > self.fair:
            text = f"{name} gets {amount}, more than a fair {fair}"
        elif tests["starved"] and tests["taken"]:
            by = f" by {' and '.join(filter(None, [', '.join(winners[:-1]), winners[-1]]))}" if winners else ""
            text = f"{name} is starved{by}: {amount} where {fair} is fair"
        else:
            text = f"{name} gets {amount}, less than a fair {fair}"
        if own and mean < self.fair and tests["fair"] and not tests["taken"]:
            return f"{text}, but not less than when all flows are {name} can be shown ({often})"
        return text + (f"; {own}" if own else "")

    def _tests(self) -> dict[str, dict[str, bool]]:
        """Test whether the share of each name is fair or starved, and its goodput below that among its kind."""
        tests: dict[str, dict[str, bool]] = {name: {} for name in self.names}
        for (name, what), found in self._judge_names().items():
            is_seen = bool(found.is_shown) and not found.is_negligible
            tests[name][what] = is_seen and (what == "fair" or (found.value or 0) < 0)
        return tests

    def _judge_names(self) -> dict[tuple[str, str], Difference]:
        """Test all names, corrected together: against a fair share, half of a fair share, and its own kind."""
        pairs: dict[tuple[str, str], tuple[Values, Values]] = {}
        for name in self.names:
            share, goodput, own = (self.values(name, what) for what in ("share", "goodput", "own"))
            pairs[name, "fair"] = share, np.full(len(share), self.fair)
            pairs[name, "starved"] = share, np.full(len(share), STARVED * self.fair)
            pairs[name, "taken"] = goodput, own
        return dict(zip(pairs, differences(pairs.values(), self.judgement), strict=True))

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        """Notes on the scenario, and hints on the coverage and power of the replications."""
        facts: Mapping[str, Any] = {} if self.sweep is None else self.sweep.facts
        tests = TESTS * len(self.names)
        return [
            *facts.get("notes", []),
            *hints.hint_files(self.scenario),
            *hints.hint_until(facts, lambda metric: (self.values(name, metric) for name in self.names), "case"),
            *hints.hint_replications(facts, len(self.seeds), tests, self.judgement.confidence),
        ]

    @property
    def has_cases(self) -> bool:
        """Whether it has cases besides congestion controls."""
        return not set(self.names) <= set(names("cc"))

    @property
    def has_days(self) -> bool:
        """Whether each replication has another day of the sky."""
        return self.sweep is not None and self.sweep.has_days

    def make_scenario(self, replication: int = 0) -> Scenario:
        """Make the scenario of a replication: copies of the flows, each with its case, and the seed."""
        count = len(self.names)
        kinds = [(slot + replication) % count for slot in range(count)]
        # A loaded mix does not know this. All replications have its first day unless the runs have others.
        day = replication if self.has_days else 0
        return self.plan.on_day(day).mix_cases(kinds).with_seed((self.scenario.seed + replication) % 2**64)

    def list_cases(self, replication: int = 0) -> dict[str, str]:
        """Return the case of each flow in a replication, by name. Flows that do not take part are missing."""
        return self.plan.senders(replication)

    def run(self, replication: int = 0, series: str | Iterable[str] = ()) -> RunResult:
        """Repeat a replication, with all its tables and with time series."""
        return run(self.make_scenario(replication), series=series)

    def plot(
        self,
        chart: MixChart | str | None = None,
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
            `share` shows the share of each case and a fair share. `goodput` shows the goodput, also among its own kind.
            `cwnd` repeats the first replication and shows the congestion window of each flow. `all` shows these three.
            `intervals` shows `metric` with the single runs.
        metric : str, optional
            One of `QUANTITIES`, or a metric of flows: the chart is `intervals`.
        size, title, labels, axes : optional
            Arguments as in `Comparison.plot`. Labels need a single panel.

        Raises
        ------
        BentpipeError
            Unknown chart or metric.
        """
        chart = "intervals" if chart is None and metric is not None else chart
        return super().plot(chart, metric=metric, size=size, title=title, labels=labels, axes=axes)

    def _figure(self, chart: str, metric: str | None) -> Figure:
        from bentpipe.plot import mix_figure

        if metric is not None and chart != "intervals":
            raise BentpipeError(f"{chart} draws no metric of choice\n  expected plot(metric={metric!r})")
        return mix_figure(self, chart, metric or "goodput")

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write all data that `load` needs, with `table`, `differences` and `totals` as Parquet.

        Otherwise like `RunResult.save`.
        """
        assert self.sweep is not None, "a mix is made of runs"
        self.sweep.write(folder, {"table": self.table, "differences": self.differences, "totals": self.totals})

    def _reporter(self) -> Reporter:
        from bentpipe.experiment.results.mixed import OfMix

        return OfMix(self)

    @property
    def hosts(self) -> str:
        return str(self.sweep.facts["hosts"]) if self.sweep is not None else ""

    @property
    def pages(self) -> str:
        return self.sweep.pages if self.sweep is not None else ""

    def command(self) -> str:
        assert self.sweep is not None, "a mix is made of runs"
        return spell_command(self.sweep.facts)

    def _content(self) -> dict[str, Any]:
        return {"totals": self.totals.to_dicts(), "runs": self.runs.to_dicts()}

    def make_notebook_table(self) -> tuple[list[str], list[list[str]], int]:
        """Make a row per name and a column per quantity."""
        columns = [[head("case" if self.has_cases else "cc"), *self.names]]
        for name, what in self.quantities.items():
            columns.append(column_shown(name, what.unit, [self.estimate(of, name) for of in self.names]))
        first, *rows = map(list, zip(*columns, strict=True))
        return first, rows, 1

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        # Congestion windows would need another run.
        return notebook.page(
            self.describe_setup(),
            [self.make_notebook_table()],
            [*self.statements, *self.notes],
            lambda: self.plot("goodput"),
        )

    def __repr__(self) -> str:
        return f"<Mix {self.scenario.title!r}, {len(self.seeds)} replications: " + "; ".join(self.statements) + ">"

    def _provenance(self) -> dict[str, Any]:
        return {
            "title": self.scenario.title,
            "names": list(self.names),
            "seed": self.scenario.seed,
            "replications": len(self.seeds),
            **self.judgement.to_dict(),
            "version": self.version,
            "hosts": self.hosts,
            "pages": self.pages,
            "digest": self.scenario.digest,
        }


def complete(sweep: Sweep, plan: Plan) -> list[int]:
    """List the replications whose runs have all ended."""
    counts = sweep.runs["replication"].value_counts()
    return sorted(counts.filter(pl.col("count") == len(plan.names) + 1)["replication"].to_list())
