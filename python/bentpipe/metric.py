"""Metrics of comparisons: one number per run, and the table columns that they need."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe import arguments, formatting
from bentpipe.catalog import compared_keys, dictionary, unknown
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Source(NamedTuple):
    """The table of a run that a metric is computed with. It is kept of each run only if the metric is requested."""

    table: str
    column: str
    """Column of the table. For a metric computed from several columns: the name of the metric."""
    how: str
    """Aggregation of the rows: `sum`, `mean`, `max`, `min`, or `ratio` for computed metrics."""


_SHARE = re.compile(r"share|utilisation|jain|information_efficiency")
_QUANTILE = re.compile(r"_p\d+(_s)?$")
_HALF_BIN = 1 / 128
"""Histograms of times have 64 bins per octave, and quantiles are upper edges of bins."""


def find_span(column: str, unit: str) -> tuple[float, float]:
    """Return the smallest and largest possible value of a column with this unit."""
    if unit == "%":
        return 0.0, 100.0
    return 0.0, 1.0 if unit == "1" and _SHARE.search(column) else math.inf


def find_resolution(column: str) -> float:
    """Return the half width of a bin as a share of the value, for columns of quantiles; otherwise 0."""
    return _HALF_BIN if _QUANTILE.search(column) else 0.0


@dataclass(frozen=True)
class Metric:
    """A metric of a run, or of one flow or link."""

    name: str
    column: str
    """Column name in tables."""
    unit: str
    is_more_better: bool
    meaning: str
    source: Source | None = None
    """Table that has its values; None if the metric itself is kept of every run."""
    of: str = ""
    """The flow or link of the metric; empty for the whole run."""
    is_judged: bool = True
    """Whether the metric has a better direction, more or less. Without one, the largest value comes first."""

    @property
    def base(self) -> str:
        """Name without the flow or link."""
        return self.name.partition(":")[0]

    @property
    def title(self) -> str:
        """Title for headings."""
        title = _TITLES.get(self.base, self.base.replace("_", " ").capitalize())
        return f"{title} of {self.of}" if self.of else title

    @property
    def label(self) -> str:
        """Label of axes."""
        return self.meaning if self.source is None else self.title

    @property
    def span(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return find_span(self.source.column if self.source else self.column, self.unit)

    @property
    def resolution(self) -> float:
        """Half of the width of a bin as a share of the value, for quantiles of histograms; otherwise 0."""
        return find_resolution(self.source.column if self.source else self.column)

    @property
    def slug(self) -> str:
        """Name as a part of file names."""
        return re.sub(r"[^\w.-]", "-", self.name)

    @property
    def ends(self) -> tuple[str, str]:
        """Words for the first and the last case in order: best and worst, or largest and smallest."""
        return ("best", "worst") if self.is_judged else ("largest", "smallest")

    @property
    def is_completion(self) -> bool:
        """Whether it is a completion time, which is missing for runs or flows that did not complete."""
        return self.base in ("completion", "completion_rx", "completion_acked")

    @property
    def has_transfers(self) -> bool:
        """Whether it covers only the finished transfers of a run (`fct` and `slowdown`)."""
        return self.base.partition("_")[0] in ("fct", "slowdown")

    @property
    def is_counted(self) -> bool:
        """Whether it counts completed work."""
        return self.is_completion or self.has_transfers or self.base == "unfinished"

    @property
    def bound(self) -> str:
        """Column of the lower bound of a completion time."""
        return _beside("completion_bound_s", self.of)

    @property
    def finished_column(self) -> str:
        """Column of the number of finished transfers."""
        return _beside("transfers_finished", self.of)

    @property
    def unfinished_column(self) -> str:
        """Column of the number of unfinished transfers."""
        return _beside("transfers_unfinished", self.of)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it needs in tables of runs."""
        if self.is_completion:
            return (self.column, self.bound)
        return (self.column, self.finished_column, self.unfinished_column) if self.has_transfers else (self.column,)

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables of a run that it needs."""
        if self.source is None:
            return ()
        # The time of a flow that did not complete is until the end of the run.
        if self.is_completion:
            return (self.source.table, "summary")
        # Drops do not name flows and links without losses.
        return ("drops", "flows", "links") if self.source.table == "drops" else (self.source.table,)


def _beside(column: str, of: str) -> str:
    return f"{column}:{of}" if of else column


_TITLES = {
    "jain": "Fairness (Jain)",
    "retransmitted": "Retransmitted",
    "r_factor": "R factor of calls",
    "mos": "Mean opinion score of calls",
    "rtt": "RTT",
    "completion": "Completion time",
    "completion_rx": "Completion time at the receiver",
    "completion_acked": "Completion time at the sender",
    "delay_mean": "Mean one-way delay",
    "delay_p95": "One-way delay, 95 % quantile",
    "rtt_mean": "Mean RTT",
    "rtt_min": "Least RTT",
    "rtt_p95": "RTT, 95 % quantile",
    "queue_p95": "Queueing delay, 95 % quantile",
    "fct": "Flow completion time",
    "fct_p50": "Flow completion time, median",
    "fct_p95": "Flow completion time, 95 % quantile",
    "fct_p99": "Flow completion time, 99 % quantile",
    "tcp_efficiency": "TCP efficiency",
    "unfinished": "Not finished",
    "needless": "Needless reductions",
    "missed": "Missed congestion",
}

METRICS = {
    metric.name: metric
    for metric in (
        Metric("goodput", "goodput_bps", "bit/s", True, "Sum of the flows' goodput"),
        Metric("utilisation", "utilisation", "1", True, "Utilisation of the busiest link"),
        Metric("jain", "jain", "1", True, "Jain's fairness index of goodput"),
        Metric("completion", "completion_s", "s", False, "Mean completion time of transfers"),
        Metric("retransmitted", "retransmitted_pct", "%", False, "Share of sent bytes that were retransmissions"),
        Metric("timeouts", "timeouts", "1", False, "Retransmission timeouts of all flows"),
        Metric("lost", "lost_packets", "1", False, "Packets lost, for any cause"),
        Metric("rtt", "rtt_p50_s", "s", False, "Median round-trip time, mean over flows"),
        Metric("fct", "transfer_mean_s", "s", False, "Mean time of transfers, for flows with several"),
        Metric("fct_p95", "transfer_p95_s", "s", False, "95 % quantile of the time of transfers"),
        Metric("slowdown", "slowdown_mean", "1", False, "Mean time of transfers over the least time on the path"),
        Metric("needless", "needless_reductions", "1", False, "Window reductions for link errors, or without a loss"),
        Metric("missed", "missed_losses", "1", False, "Packets lost to congestion but treated as link errors"),
        Metric("unfinished", "transfers_unfinished", "1", False, "Transfers under way at the end, or failed"),
    )
}

BESIDE = {"completion_bound": "completion_bound_s", "finished": "transfers_finished"}
"""Columns of tables of runs besides the metrics, by name.

They are a lower bound of the mean completion time if not every transfer completed, and the number of finished
transfers.
"""
COLUMNS = {metric.name: metric.column for metric in METRICS.values()} | BESIDE

TRANSFERS = ("fct", "fct_p95", "slowdown", "unfinished")
"""Metrics of flows with several transfers. Runs without such flows lack them."""

_MORE, _LESS, _NEITHER = (True, True), (False, True), (True, False)
"""`is_more_better` and `is_judged`."""
_DECLARED = (
    ("summary", "sum", _NEITHER, "simulated_s sent_packets delivered_packets in_flight_packets packet_hops transfers"),
    ("summary", "sum", _NEITHER, "on_links_packets queued_packets"),
    ("summary", "sum", _LESS, "transfers_failed stranded_packets"),
    ("summary", "mean", _LESS, "transfer_p50_s transfer_p99_s"),
    ("flows", "sum", _MORE, "goodput_bps throughput_bps delivered_bytes acked_bytes"),
    ("flows", "sum", _LESS, "retransmitted_bytes retransmissions spurious_retransmissions timeouts fast_retransmits"),
    ("flows", "sum", _NEITHER, "sent_bytes sent_packets arrived_packets undos marked_packets ecn_reductions"),
    ("flows", "sum", _NEITHER, "dummy_packets reductions keepalives challenged"),
    ("flows", "sum", _NEITHER, "timeout_undos tail_loss_probes probe_repairs reorderings"),
    ("flows", "sum", _LESS, "lost_retransmissions reinjected_bytes data_duplicate_bytes"),
    ("flows", "mean", _MORE, "goodput_active_bps"),
    ("flows", "mean", _LESS, "completion_s completion_rx_s completion_acked_s"),
    ("flows", "mean", _LESS, "rtt_mean_s rtt_p50_s rtt_p95_s rtt_p99_s"),
    ("flows", "mean", _LESS, "recovery_s timeout_s outage_s error_recovery_s error_timeout_s"),
    ("flows", "sum", _LESS, "congestion_losses link_losses spurious_reductions error_reductions"),
    ("flows", "sum", _LESS, "errors_taken_for_congestion congestion_taken_for_errors"),
    ("flows", "min", _LESS, "rtt_min_s"),
    ("flows", "sum", _LESS, "hol_held_s"),
    ("flows", "max", _LESS, "hol_held_bytes_max reordering_depth_max"),
    ("subflows", "sum", _NEITHER, "delivered_share joins"),
    ("subflows", "sum", _LESS, "failures"),
    ("flows", "mean", _NEITHER, "start_s cwnd_end_bytes ssthresh_end_bytes start_up_s cwnd_limited_s rwnd_limited_s"),
    ("flows", "mean", _NEITHER, "send_buffer_limited_s app_limited_s"),
    ("links", "max", _MORE, "utilisation carried_bps"),
    ("links", "sum", _NEITHER, "offered_packets carried_packets carried_bytes queue_end_packets marked_packets"),
    ("links", "sum", _LESS, "resent_packets"),
    ("links", "sum", _LESS, "corrupted_packets dropped_packets"),
    ("links", "max", _LESS, "queue_mean_s queue_p50_s queue_p95_s queue_p99_s queue_max_bytes"),
    ("links", "max", _LESS, "l4s_queue_mean_s l4s_queue_p99_s classic_queue_mean_s"),
    ("links", "sum", _NEITHER, "l4s_packets l4s_native_marks l4s_coupled_marks"),
    ("terminals", "mean", _LESS, "grant_wait_mean_s"),
    ("terminals", "max", _LESS, "grant_wait_p95_s"),
    ("terminals", "mean", _LESS, "asking_mean_s behind_mean_s turn_mean_s sending_mean_s air_mean_s"),
    ("terminals", "sum", _NEITHER, "granted_bps"),
    ("completions", "sum", _NEITHER, "transfers"),
    ("completions", "sum", _LESS, "failed"),
    ("completions", "mean", _NEITHER, "size_mean_bytes"),
    ("completions", "mean", _LESS, "duration_mean_s duration_p50_s duration_p95_s duration_p99_s"),
    ("completions", "mean", _LESS, "slowdown_mean slowdown_p50 slowdown_p99"),
    ("completions", "min", _LESS, "duration_min_s"),
    ("datagrams", "sum", _LESS, "lost_packets file_lacks_packets"),
    ("datagrams", "mean", _LESS, "delay_mean_s delay_p50_s delay_p95_s delay_p99_s jitter_s"),
    ("datagrams", "min", _LESS, "delay_min_s"),
    ("quic", "mean", _LESS, "handshake_s first_byte_s"),
    ("quic", "sum", _LESS, "declared_lost needless idle_timeouts blocked"),
    ("quic", "sum", _NEITHER, "connections acks"),
)
"""Columns that are metrics, with their aggregation over several flows or links."""
_WORKED_OUT = (
    ("retransmitted", "flows", "%", _LESS, "100 x bytes retransmitted / bytes sent"),
    ("tcp_efficiency", "flows", "%", _MORE, "100 x (sent - retransmitted) / sent payload bytes (RFC 6349 §4.2)"),
    (
        "information_efficiency",
        "flows",
        "1",
        _MORE,
        "Payload share of the bytes sent x share of the packets that arrived (Carek 2005)",
    ),
    ("overhead", "flows", "%", _LESS, "100 x (1 - payload delivered / bytes that the senders sent, headers included)"),
    ("packet_delivery", "flows", "1", _MORE, "Packets that reached the receiver uncorrupted / packets sent"),
    ("buffer_delay", "flows", "%", _LESS, "100 x (mean - least round-trip time) / least, mean over flows (RFC 6349)"),
    ("errors_per_packet", "links", "1", _LESS, "Packets corrupted / packets carried"),
    ("errors_per_bit", "links", "1", _LESS, "Packets corrupted / bits carried, headers included"),
    ("unused", "terminals", "%", _LESS, "100 x capacity granted to links of a medium and not used / granted"),
    ("loss", "datagrams", "%", _LESS, "100 x datagrams lost / sent"),
    ("r_factor", "datagrams", "1", _MORE, "R of a call: delay and loss by the E-model (ITU-T G.107), mean over flows"),
    ("mos", "datagrams", "1", _MORE, "Mean opinion score of a call, 1 to 4.5 (ITU-T G.107), mean over flows"),
    ("file_complete", "datagrams", "s", _LESS, "Time until the last receiver of a file has it; missing if one has not"),
    ("lost", "drops", "1", _LESS, "Packets lost, for any cause"),
    ("needless", "flows", "1", _LESS, "Window reductions for link errors, or without a loss"),
    ("missed", "flows", "1", _LESS, "Packets lost to congestion but treated as link errors"),
    ("unfinished", "completions", "1", _LESS, "Transfers under way at the end, or failed"),
)
"""Metrics computed from sums over several columns: name, table, unit, better direction, meaning."""
_NAMES = {
    ("flows", "rtt_p50_s"): "rtt",
    # Different from the number of timeouts.
    ("flows", "timeout_s"): "timeout_time",
    ("flows", "error_timeout_s"): "error_timeout_time",
    ("completions", "failed"): "transfers_failed",
    ("completions", "duration_mean_s"): "fct",
    ("completions", "slowdown_mean"): "slowdown",
    ("completions", "size_mean_bytes"): "size_mean",
    # Flows and the whole run have a metric of this name, too.
    ("datagrams", "lost_packets"): "datagrams_lost",
    ("links", "marked_packets"): "link_marks",
    ("links", "queue_max_bytes"): "queue_max",
}
"""Names of metrics that differ from their columns without the unit."""
_MEANINGS = {
    "fct_min": "Least time of transfers",
    "fct_p50": "Median time of transfers",
    "fct_p95": "95 % quantile of the time of transfers",
    "fct_p99": "99 % quantile of the time of transfers",
    "slowdown_p50": "Median slowdown of transfers",
    "slowdown_p99": "99 % quantile of the slowdown of transfers",
    "rtt_p95": "95 % quantile of the round-trip time",
    "rtt_p99": "99 % quantile of the round-trip time",
    "queue_p50": "Median time that carried packets waited",
    "queue_p95": "95 % quantile of the time that carried packets waited",
    "queue_p99": "99 % quantile of the time that carried packets waited",
    "grant_wait_p95": "95 % quantile of the wait for a grant",
    "delay_p95": "95 % quantile of the one-way delay",
    "delay_p99": "99 % quantile of the one-way delay",
    "error_timeout_time": "Time lost to the retransmission timer by errors of links",
    "spurious_reductions": "Window reductions without a loss of outstanding data",
    "error_reductions": "Window reductions where all losses were link errors",
    "goodput_active": "Goodput from the first packet to the completion or the end of the run",
    "ssthresh_end": "Slow start threshold at the end of the latest connection",
}
"""Columns whose meaning is that of another column."""
NOT_METRICS = {
    "flows": ("tcp_efficiency_pct", "information_efficiency"),
    "terminals": ("unused_share",),
    "completions": ("unfinished",),
    "datagrams": (
        "sent_packets",
        "arrived_packets",
        "loss_pct",
        "interarrival_jitter_s",
        "late_packets",
        "file_complete_s",
    ),
    "summary": (
        "goodput_bps",
        "jain",
        "lost_packets",
        "completion_mean_s",
        "completion_bound_s",
        "transfers_unfinished",
        "transfer_mean_s",
        "transfer_p95_s",
        "slowdown_mean",
    ),
}
"""Columns that are metrics by another name: computed, kept of every run, or the same as in `flows`."""
ENTITIES = {
    "flows": "flow",
    "subflows": "subflow",
    "links": "link",
    "terminals": "link",
    "completions": "flow",
    "datagrams": "flow",
    "drops": "flow or link",
}
"""Subject of a row of each table."""
_TAKEN = {"sum": "sum", "mean": "mean", "max": "largest", "min": "least"}


def find_name(table: str, column: str) -> str:
    """Return the name of the metric of a column."""
    plain = re.sub("_(s|bps|bytes|pct)$", "", column)
    return _NAMES.get((table, column), re.sub("^(duration|transfer)_", "fct_", plain))


@cache
def list_table_metrics() -> dict[str, Metric]:
    """Return the metrics of a whole run that are computed from a kept table, by name. Other metrics need no table."""
    found = {
        each.name: each
        for each in _list_row_metrics(("summary", "flows", "links", "terminals", "completions", "datagrams"))
    }
    # A run does not have this time if one of its flows has no end.
    return {name: each for name, each in found.items() if name not in METRICS and not each.is_completion}


@cache
def list_single_metrics() -> dict[str, Metric]:
    """Return the metrics that a flow or link can have, by name, as `NAME:FLOW` or `NAME:LINK`."""
    return {
        each.name: each
        for each in _list_row_metrics(("flows", "subflows", "links", "terminals", "completions", "datagrams", "drops"))
    }


def _list_row_metrics(tables: Sequence[str]) -> list[Metric]:
    """Return the first metric of each name, in the order of the tables."""
    found: dict[str, Metric] = {}
    for table in tables:
        defined = {entry["name"]: entry for entry in dictionary()[table]}
        for where, how, (is_more_better, is_judged), columns in _DECLARED:
            for column in columns.split() if where == table else ():
                name, entry = find_name(table, column), defined[column]
                what = re.split(r"[.;(]", str(entry["meaning"]), maxsplit=1)[0].strip()
                what = _MEANINGS.get(name, what)
                over = f"; {_TAKEN[how]} over {ENTITIES[table]}s" if table != "summary" else ""
                unit = str(entry["unit"])
                found.setdefault(
                    name,
                    Metric(
                        name,
                        _column(name, unit),
                        unit,
                        is_more_better,
                        what + over,
                        Source(table, column, how),
                        "",
                        is_judged,
                    ),
                )
        for name, where, unit, (is_more_better, is_judged), meaning in _WORKED_OUT:
            if where == table:
                source = Source(table, name, "ratio")
                metric = Metric(name, _column(name, unit), unit, is_more_better, meaning, source, "", is_judged)
                found.setdefault(name, metric)
    return list(found.values())


def _column(name: str, unit: str) -> str:
    """Add the unit to a name, as in names of columns."""
    return name + {"s": "_s", "B": "_bytes", "bit/s": "_bps", "%": "_pct"}.get(unit, "")


def list_metrics() -> dict[str, Metric]:
    """Return every metric of a whole run."""
    return METRICS | list_table_metrics()


VERDICTS = ("needless", "missed")
"""Metrics of the loss differentiation of senders."""


def find_metric(name: str) -> Metric:
    """Return the metric of a name: `goodput` of the run, `goodput:web` of a flow, `queue_p95:sat.forward` of a link.

    Raises
    ------
    BentpipeError
        Unknown name.
    """
    base, colon, of = arguments.text("metric", name).partition(":")
    if not colon:
        if base in METRICS:
            return METRICS[base]
        if base not in list_table_metrics() and base in list_single_metrics():
            raise BentpipeError(f"{base} needs the name of a {_entity(base)}\n  expected {base}:NAME")
        if base not in list_table_metrics():
            raise BentpipeError(unknown(base, "a metric", list_metrics()))
        return list_table_metrics()[base]
    if base not in list_single_metrics():
        raise BentpipeError(unknown(base, "a metric of a flow or link", list_single_metrics()))
    if not of:
        raise BentpipeError(f"{name} names no {_entity(base)}\n  expected {base}:NAME")
    metric = list_single_metrics()[base]
    return replace(metric, name=name, column=f"{metric.column}:{of}", of=of)


def _entity(base: str) -> str:
    source = list_single_metrics()[base].source
    assert source is not None, "a metric of one flow or link is from a table"
    return ENTITIES[source.table]


def matching(of: str, names: Iterable[str]) -> list[str]:
    """Return the flows or links of a name: itself or both directions, else the flows of an entry with `count`.

    >>> matching("web", ["web1", "web2", "webcam"]), matching("sat", ["sat.forward", "sat.reverse"])
    (['web1', 'web2'], ['sat.forward', 'sat.reverse'])
    """
    names = list(names)
    exact = [name for name in names if name in (of, f"{of}.forward", f"{of}.reverse")]
    if exact:
        return exact
    number = re.escape(of).replace(r"\{n\}", r"\d+")
    return [name for name in names if re.fullmatch(rf"{number}\d*(\.(forward|reverse))?", name)]


def list_names(metric: Metric, known: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names that a metric can have after its colon, of those `known` as `flow`, `subflow` and `link`."""
    return [name for kind in _entity(metric.base).split(" or ") for name in known.get(kind, ())]


def check_entity(metric: Metric, known: Mapping[str, Sequence[str]]) -> None:
    """Check that a scenario, whose `flow`, `subflow` and `link` names are `known`, has the one of a metric.

    Raises
    ------
    BentpipeError
        The scenario lacks it. The text has all names and the nearest.
    """
    if not metric.of:
        return
    names = list_names(metric, known)
    if not matching(metric.of, names):
        what = _entity(metric.base)
        raise BentpipeError(f"{metric.name}: " + unknown(metric.of, f"a {what} of this scenario", names))


def named_point(row: Mapping[str, Any], keys: Sequence[str], shown: Sequence[str] | None = None) -> str:
    """Name a point as people do: `sack, queue 1 bdp, rate 1e-3`; only some of its keys if these are given."""
    return ", ".join(
        formatting.setting(row[key])
        if key in compared_keys()
        else f"{formatting.short_key(key, keys)} {formatting.setting(row[key])}"
        for key in (keys if shown is None else shown)
    )


def jain(values: Sequence[float]) -> float | None:
    """Return Jain's index (Jain, Chiu and Hawe 1984): 1 if all are equal, 1 / n if one has all; None if all are 0."""
    squares = len(values) * sum(value * value for value in values)
    return sum(values) ** 2 / squares if squares else None
