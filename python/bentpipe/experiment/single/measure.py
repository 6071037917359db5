"""Metrics of a run, computed from the core's tables. This module needs NumPy; `bentpipe.metric` does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import BentpipeError
from bentpipe.experiment.single.tables import MISSING
from bentpipe.metric import matching
from bentpipe.statistics.quality import PACKETISATION_S, mos, r_factor
from bentpipe.statistics.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from bentpipe.experiment.single.tables import Columns, Tables
    from bentpipe.metric import Metric


def outcome(tables: Tables) -> dict[str, float]:
    """Return the values that are kept of every run, by the names in `metric.COLUMNS`; NaN where missing."""
    flows, links, summary = tables["flows"], tables["links"], tables["summary"]
    retransmitted, timeouts = numbers(flows, "retransmitted_bytes"), numbers(flows, "timeouts")
    # Flows without known retransmissions do not count. The sent bytes of real packets have headers, and retransmitted
    # bytes have none, so the share counts. Of a simulated flow, it gives its retransmitted bytes again.
    is_known = ~np.isnan(retransmitted)
    sent_bytes = numbers(flows, "sent_bytes")
    again = np.round(sent_bytes * np.nan_to_num(1 - numbers(flows, "tcp_efficiency_pct") / 100))[is_known].sum()
    sent = sent_bytes[is_known].sum()
    rtt = numbers(flows, "rtt_p50_s")
    rtt = rtt[~np.isnan(rtt)]
    utilisation = numbers(links, "utilisation")
    unfinished = float(numbers(summary, "transfers_unfinished")[0] + numbers(summary, "transfers_failed")[0])
    has_transfers = len(numbers(tables["completions"], "transfers")) > 0
    return {
        "goodput": float(numbers(summary, "goodput_bps")[0]),
        "utilisation": float(utilisation.max()) if len(utilisation) else np.nan,
        "jain": float(numbers(summary, "jain")[0]),
        "completion": float(numbers(summary, "completion_mean_s")[0]),
        "retransmitted": float(100 * again / sent) if sent else np.nan,
        "timeouts": _total(timeouts),
        "lost": float(numbers(summary, "lost_packets")[0]),
        "rtt": float(rtt.mean()) if len(rtt) else np.nan,
        "fct": float(numbers(summary, "transfer_mean_s")[0]),
        "fct_p95": float(numbers(summary, "transfer_p95_s")[0]),
        "slowdown": float(numbers(summary, "slowdown_mean")[0]),
        "needless": _total(numbers(flows, "spurious_reductions") + numbers(flows, "error_reductions")),
        "missed": _total(numbers(flows, "congestion_taken_for_errors")),
        "unfinished": unfinished if has_transfers else np.nan,
        "completion_bound": float(numbers(summary, "completion_bound_s")[0]),
        "finished": float(numbers(summary, "transfers")[0]) if has_transfers else np.nan,
    }


def numbers(columns: Columns, name: str) -> NDArray[np.float64]:
    """Return a column; NaN where missing."""
    values = columns[name]
    if isinstance(values, list):
        raise TypeError(f"{name} is text")
    dtype, content = values
    read = np.frombuffer(content, dtype=dtype)
    found = read.astype(np.float64)
    if read.dtype.kind == "i":
        found[read == MISSING] = np.nan
    return found


def _total(values: NDArray[np.float64]) -> float:
    """Return the sum over the flows that have a value; NaN if flows exist and none has one."""
    return float(np.nansum(values)) if not len(values) or not np.isnan(values).all() else np.nan


def find_sample(metric: Metric, values: Mapping[str, float | None]) -> Sample:
    """Make the sample of a metric in one replication, from the row of that replication in `runs`."""
    columns = ("replication", *metric.columns)
    return Sample.from_columns(metric, {name: np.array([values[name]], dtype=np.float64) for name in columns})


def with_metrics(
    runs: pl.DataFrame,
    kept: Mapping[str, pl.DataFrame],
    wanted: Iterable[Metric],
    keys: Sequence[str] = ("point", "replication"),
) -> pl.DataFrame:
    """Add the columns of these metrics to a table of runs, computed from kept tables of each run.

    Parameters
    ----------
    runs : polars.DataFrame
        Table with the columns `keys`.
    kept : mapping
        Tables of all runs by name, with the same columns.
    wanted : iterable of Metric
    keys : sequence of str
        Columns that identify a row of `runs`.

    Raises
    ------
    BentpipeError
        A table that a metric needs was not kept.
    """
    for metric in wanted:
        if metric.source is None or set(metric.columns) <= set(runs.columns):
            continue
        missing = [table for table in metric.tables if table not in kept]
        if missing:
            raise BentpipeError(
                f"{metric.name} is of the table {missing[0]}, which these runs did not keep\n"
                "  expected it among the metrics of the call: {metric}",
                metric=metric.name,
            )
        runs = _join_tables(runs, kept, metric, list(keys))
    return runs


def _join_tables(runs: pl.DataFrame, kept: Mapping[str, pl.DataFrame], metric: Metric, keys: list[str]) -> pl.DataFrame:
    import polars as pl

    assert metric.source is not None, "asked only of those that have one"
    table, column, how = metric.source
    rows = kept[table]
    if table == "completions":
        rows = rows.filter(pl.col("sizes") == "all")
    if metric.of:
        have = [kept[name] for name in metric.tables]
        names = {name for frame in have for at in ("flow", "link") if at in frame.columns for name in frame[at]}
        wanted = matching(metric.of, names)
        rows = rows.filter(
            pl.any_horizontal(pl.col(name).is_in(wanted) for name in ("flow", "link", "where") if name in rows.columns)
        )
    if metric.is_completion:
        shared = [key for key in keys if key in kept["summary"].columns]
        ends = kept["summary"].select(*shared, "simulated_s")
        rows = rows.join(ends, on=shared, maintain_order="left")
    exprs = {metric.column: worked_out()[column] if how == "ratio" else _make_expression(how, column, table)}
    if metric.is_completion:
        had = pl.col(column).fill_null(pl.col("simulated_s") - pl.col("start_s").fill_null(pl.col("simulated_s")))
        # Missing if one of the flows did not complete: a mean over the others would favour failures.
        exprs[metric.column] = pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).mean())
        exprs[metric.bound] = had.mean()
    elif metric.has_transfers and table == "completions":
        exprs[metric.finished_column] = pl.col("transfers").sum()
        exprs[metric.unfinished_column] = pl.col("failed").sum() + pl.col("unfinished").sum()
    found = rows.group_by(*keys, maintain_order=True).agg(
        expr.cast(pl.Float64).fill_nan(None).alias(name) for name, expr in exprs.items() if name not in runs.columns
    )
    runs = runs.join(found, on=keys, how="left", maintain_order="left")
    # There are no rows without losses.
    return runs.with_columns(pl.col(metric.column).fill_null(0)) if table == "drops" else runs


def _make_expression(how: str, column: str, table: str) -> pl.Expr:
    import polars as pl

    value = pl.col(column)
    if how == "mean" and table == "completions":
        # Each transfer counts once, not each flow.
        weight = pl.when(value.is_not_null()).then(pl.col("transfers"))
        return (value * weight).sum() / weight.sum()
    if how == "sum":
        # A sum without values is missing, not zero.
        return pl.when(value.is_not_null().any()).then(value.sum())
    taken: pl.Expr = getattr(value, how)()
    return taken


def worked_out() -> dict[str, pl.Expr]:
    """Return expressions of the metrics that need several columns, by name.

    Ratios are ratios of sums, not means of ratios.
    """
    import polars as pl

    def total(name: str) -> pl.Expr:
        # A sum without values is missing, not zero.
        return pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum())

    # Flows without known retransmissions do not count.
    is_known = pl.col("retransmitted_bytes").is_not_null()
    own = pl.col("sent_bytes").filter(is_known).sum()
    # The sent bytes of a flow of real packets have headers, and its retransmitted bytes have none: its share counts.
    share_again = (1 - pl.col("tcp_efficiency_pct") / 100).fill_nan(0).fill_null(0)
    again = pl.when(is_known.any()).then((pl.col("sent_bytes") * share_again).round().filter(is_known).sum())
    sent, arrived = total("sent_packets"), total("arrived_packets")
    # The bytes of a flow's packets with headers follow from its information efficiency.
    share = pl.col("information_efficiency") * pl.col("sent_packets") / pl.col("arrived_packets")
    wire = (pl.col("sent_bytes") / share).sum()
    least = pl.col("rtt_min_s")
    return {
        "retransmitted": 100 * again / own,
        "tcp_efficiency": 100 * (own - again) / own,
        "information_efficiency": total("sent_bytes") / wire * arrived / sent,
        "overhead": 100 * (1 - total("delivered_bytes") / wire),
        "packet_delivery": arrived / sent,
        "buffer_delay": 100 * ((pl.col("rtt_mean_s") - least) / least).mean(),
        "errors_per_packet": total("corrupted_packets") / total("carried_packets"),
        "errors_per_bit": total("corrupted_packets") / (8 * total("carried_bytes")),
        "file_complete": pl.when((pl.col("file_lacks_packets").fill_null(0) == 0).all()).then(
            pl.col("file_complete_s").max()
        ),
        "unused": 100 * (pl.col("unused_share") * pl.col("granted_bps")).sum() / total("granted_bps"),
        "loss": 100 * total("lost_packets") / total("sent_packets"),
        "r_factor": _average_calls(r_factor),
        "mos": _average_calls(lambda delay_s, loss_pct: mos(r_factor(delay_s, loss_pct))),
        "needless": total("spurious_reductions") + total("error_reductions"),
        "missed": total("congestion_taken_for_errors"),
        "lost": total("packets"),
        "unfinished": total("failed") + total("unfinished"),
    }


def _average_calls(rating: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]) -> pl.Expr:
    """Average over calls, each played late enough for 99 of 100 packets to be in time."""
    import polars as pl

    def rate(calls: pl.Series) -> pl.Series:
        columns = calls.struct
        delay_s = columns.field("delay_p99_s").cast(pl.Float64).to_numpy() + PACKETISATION_S
        rated = rating(delay_s, columns.field("loss_pct").cast(pl.Float64).to_numpy())
        return pl.Series(rated, dtype=pl.Float64)

    calls = pl.struct("delay_p99_s", "loss_pct")
    return calls.map_batches(rate, return_dtype=pl.Float64).fill_nan(None).mean()
