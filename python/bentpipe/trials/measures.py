"""Metrics of a search: one number per run.

They differ from those of a comparison in one point: an unfinished transfer counts. Otherwise the search would praise a
sender that does not finish.

The tables of a run do not have the starts of unfinished transfers. They are assumed to start evenly spaced between the
end of the flow's last finished transfer, after the usual pause, and the end of the run. Each lasts until the end of the
run, and at least as long as the mean of the flow's finished transfers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import BentpipeError
from bentpipe.metric import Metric, check_entity, find_metric, matching

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.scenario.scenario import Scenario

BYTES = "bytes"
_QUANTILES = {"fct": None, "fct_p50": 0.5, "fct_p95": 0.95, "fct_p99": 0.99}
"""Metrics of the time of transfers, with their quantile; None is the mean."""
_LASTING = ("transfers", "completions", "flows", "summary")
_FACTORS = {"s": {"s": 1.0, "ms": 1e-3, "us": 1e-6}, "bit/s": {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6}}


@dataclass(frozen=True)
class Measure:
    """A metric of a search."""

    name: str
    unit: str
    is_more_better: bool
    title: str
    tables: tuple[str, ...]
    """Tables of a run that it needs."""
    metric: Metric | None
    """Metric of comparisons; None for `bytes`."""

    @property
    def of(self) -> str:
        """The flow or link; empty for the whole run."""
        return self.name.partition(":")[2]

    @property
    def base(self) -> str:
        """Name without the flow or link."""
        return self.name.partition(":")[0]

    @property
    def is_lasting(self) -> bool:
        """Whether it is a time of transfers that also covers unfinished transfers."""
        return self.base in _QUANTILES

    def refuse_as_objective(self) -> None:
        """Refuse a metric that has no better direction, or that can be zero."""
        if self.metric is not None and not self.metric.is_judged:
            raise BentpipeError(f"{self.name} has no better value\n  expected a metric such as fct or goodput")
        if not self.is_more_better and self.unit != "s" and self.base != BYTES:
            raise BentpipeError(
                f"{self.name} can be 0, so it has no ratio to the default\n  expected it as a guard: {self.name} = 0"
            )
        if self.base in ("slowdown", "slowdown_p50", "slowdown_p99", "fct_min"):
            raise BentpipeError(
                f"{self.name} ignores unfinished transfers\n  expected fct, fct_p50, fct_p95 or fct_p99"
            )

    def check(self, scenario: Scenario) -> None:
        """Check that the scenario has the flow or link."""
        if self.metric is not None:
            names = {"flow": scenario.flow_names, "subflow": scenario.subflow_names, "link": scenario.link_names}
            check_entity(self.metric, names)
        elif not matching(self.of, scenario.link_names):
            check_entity(find_metric(f"carried_bytes:{self.of}"), {"link": scenario.link_names})

    def number(self, text: str) -> float | None:
        """Read a value with a unit of this metric."""
        number, _, unit = text.strip().partition(" ")
        factors = _FACTORS.get(self.unit, {"": 1.0, self.unit: 1.0})
        try:
            return float(number) * factors[unit.strip()]
        except (KeyError, ValueError):
            return None


def measure(name: str) -> Measure:
    """Return the metric of this name.

    Raises
    ------
    BentpipeError
        Unknown metric, flow or link.
    """
    base, _, of = name.partition(":")
    if base == BYTES:
        if not of:
            raise BentpipeError("bytes needs the name of a link\n  expected bytes:NAME")
        title = f"Bytes on {of} per delivered byte"
        return Measure(name, "1", False, title, ("links", "flows"), None)
    metric = find_metric(name)
    tables = _LASTING if base in _QUANTILES else metric.tables
    title = f"Time of {of}" if base == "fct" and of else metric.title
    return Measure(name, metric.unit, metric.is_more_better, title, tables, metric)


def list_compared(measures: Sequence[Measure]) -> list[str]:
    """List the metrics that the tables of comparisons have."""
    return [each.name for each in measures if each.metric is not None and not each.is_lasting]


def values(sweep: Sweep, measures: Sequence[Measure]) -> NDArray[np.float64]:
    """Return the metrics of all runs: a row per row of `sweep.runs`, a column per metric. NaN is a missing value."""
    return np.stack([_value(sweep, each) for each in measures], axis=-1)


def _value(sweep: Sweep, each: Measure) -> NDArray[np.float64]:
    if each.is_lasting:
        return _measure_runs(sweep, times(sweep.tables, each))
    if each.metric is None:
        return _measure_runs(sweep, _bytes(sweep, each))
    metric = each.metric
    # A flow that did not complete has its time so far.
    column = metric.bound if metric.is_completion else metric.column
    return np.asarray(sweep.runs[column].cast(float).to_numpy(), dtype=float)


def _measure_runs(sweep: Sweep, found: pl.DataFrame) -> NDArray[np.float64]:
    joined = sweep.runs.select("run").join(found, on="run", how="left", maintain_order="left")
    return np.asarray(joined["value"].cast(float).to_numpy(), dtype=float)


def _bytes(sweep: Sweep, each: Measure) -> pl.DataFrame:
    import polars as pl

    links, flows = sweep.tables["links"], sweep.tables["flows"]
    chosen = matching(each.of, links["link"].unique())
    carried = links.filter(pl.col("link").is_in(chosen)).group_by("run").agg(pl.col("carried_bytes").sum())
    delivered = flows.group_by("run").agg(pl.col("delivered_bytes").sum())
    ratio = pl.col("carried_bytes") / pl.col("delivered_bytes")
    return carried.join(delivered, on="run").select("run", value=pl.when(ratio.is_finite()).then(ratio))


def times(tables: Mapping[str, pl.DataFrame], each: Measure) -> pl.DataFrame:
    """Return mean or quantile of the time of a flow's transfers in each run, unfinished ones included.

    The tables have a column `run`.
    """
    import polars as pl

    whole = tables["completions"].filter(pl.col("sizes") == "all")
    if each.of:
        whole = whole.filter(pl.col("flow").is_in(matching(each.of, whole["flow"].unique())))
    ended = tables["transfers"].select("run", "flow", "transfer", "start_s", "duration_s")
    ended = ended.join(whole.select("run", "flow"), on=["run", "flow"], how="semi")
    if len(ended) < whole["transfers"].sum():
        raise BentpipeError(
            f"{each.name}: not every transfer was kept\n  expected a larger record.transfers_max in the scenario"
        )
    all_times = pl.concat([ended.select("run", "duration_s"), _find_unfinished(tables, whole, ended)])
    quantile = _QUANTILES[each.base]
    value = pl.col("duration_s").mean() if quantile is None else pl.col("duration_s").quantile(quantile, "linear")
    return all_times.group_by("run").agg(value=value)


def _find_unfinished(tables: Mapping[str, pl.DataFrame], whole: pl.DataFrame, ended: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    end = pl.col("start_s") + pl.col("duration_s")
    of_flows = (
        ended.sort("run", "flow", "start_s")
        .with_columns(pause=(pl.col("start_s") - end.shift(1).over("run", "flow")).clip(0))
        .group_by("run", "flow")
        .agg(last=end.max(), mean=pl.col("duration_s").mean(), pause=pl.col("pause").median())
    )
    open_ = (
        whole.select("run", "flow", count=pl.col("unfinished").fill_null(0) + pl.col("failed").fill_null(0))
        .filter(pl.col("count") > 0)
        .join(of_flows, on=["run", "flow"], how="left")
        .join(tables["flows"].select("run", "flow", "start_s"), on=["run", "flow"], how="left")
        .join(tables["summary"].select("run", "simulated_s"), on="run", how="left")
        .with_columns(first=pl.coalesce(pl.col("last") + pl.col("pause").fill_null(0), "start_s", pl.lit(0.0)))
        .with_columns(left=(pl.col("simulated_s") - pl.col("first")).clip(0))
        .with_columns(number=pl.int_ranges(0, pl.col("count").cast(int)))
        .explode("number")
        .with_columns(duration_s=pl.col("left") * (1 - pl.col("number") / pl.col("count")))
    )
    return open_.select("run", duration_s=pl.max_horizontal("duration_s", pl.col("mean").fill_null(0)))
