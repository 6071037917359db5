"""What the command line prints of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from bentpipe import formatting
from bentpipe.cli.tables import Shown, hidden, make_rows, make_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from rich.console import RenderableType
    from rich.table import Table

    from bentpipe.experiment.result import RunResult

FLOWS_MAX = 12
LINKS_MAX = 10
DROPS_MAX = 10


def run(result: RunResult, show_all: bool = False) -> Iterator[RenderableType]:
    """A run: flows, links, why packets were lost, and whether the count of packets adds up."""
    flows = result.flows
    is_many = flows.height > FLOWS_MAX and not show_all
    yield _spread(flows) if is_many else _flows(flows)
    if is_many:
        yield Text(f"{flows.height} flows; --all shows each", style="dim")
    yield from _times(result, is_many)
    yield from _verdicts(result, is_many)
    yield from _completions(result, show_all)
    yield from _datagrams(result.datagrams, show_all)
    yield from _links(result.links, show_all)
    yield from _drops(result.drops, show_all)
    yield _summary(result)
    for note in result.notes:
        yield Text(f"note: {note}", style="yellow")


def _flows(flows: pl.DataFrame) -> Table:
    names = flows["flow"].to_list()
    texts = [("sender", flows["cc"].to_list()), ("outcome", flows["outcome"].to_list())]
    table = make_rows("Flows", "flow", names, texts, _flow_columns(flows))
    table.names = 1
    return table


def _spread(flows: pl.DataFrame) -> Table:
    """Many flows: per sender, the smallest, middle and largest value of each column."""
    names, kinds, parts = [], [], []
    for (cc,), group in flows.group_by("cc", maintain_order=True):
        names += [f"{cc} x {group.height}", "", ""]
        kinds += ["min", "median", "max"]
        parts.append(group)
    columns = []
    for title, _, unit, quantity in _flow_columns(flows):
        source = _FLOW_COLUMNS[title]
        values: list[float | None] = []
        for group in parts:
            values += [group[source].min(), group[source].median(), group[source].max()]  # type: ignore[list-item]
        columns.append(Shown(title, values, unit, quantity))
    return make_rows("Flows", "sender", names, [("", kinds)], columns)


def _flow_columns(flows: pl.DataFrame) -> list[Shown]:
    from bentpipe.catalog import unit

    columns = [
        Shown(title, flows[name].to_list(), unit("flows", name), "rtt" if "rtt" in name else "")
        for title, name in _FLOW_COLUMNS.items()
    ]
    return [column for column in columns if any(value is not None for value in column.values)]


def _times(result: RunResult, is_many: bool) -> Iterator[RenderableType]:
    """What kept the senders from sending: a row per flow, or the sums of each sender's; seconds over per cent."""
    import polars as pl

    names = list(_TIMES.values())
    timed = result.flows.drop_nulls(names[0])
    labels = timed["flow"].to_list()
    if is_many:
        labels = [f"{cc} x {count}" for cc, count in timed.group_by("cc", maintain_order=True).len().rows()]
        times = [*names, *_ERROR_TIMES.values()]
        timed = timed.group_by("cc", maintain_order=True).agg(pl.col(times).sum())
    # Recovery from errors of links is shown apart from that of congestion.
    names += list(_ERROR_TIMES.values())
    timed = timed.with_columns(timed[of.removeprefix("error_")] - timed[of] for of in _ERROR_TIMES.values())
    rows = timed.select(names).rows()
    shown = [at for at in range(len(names)) if any(row[at] > 0 for row in rows)]
    if not shown:
        return
    table = make_table("Where the time went (s)", "sender" if is_many else "flow", [])
    for at in shown:
        table.add_column([*_TIMES, *_ERROR_TIMES][at], justify="right", no_wrap=True)
    digits = 1 if max(map(max, rows)) >= 10 else 2
    for label, row in zip(labels, rows, strict=True):
        table.add_row(Text(label), *(f"{row[at]:.{digits}f}\n{_percent(row[at], sum(row))}" for at in shown))
    yield table
    if max(map(sum, rows)) > 1.001 * result.summary["simulated_s"][0]:
        yield Text("summed over all connections", style="dim")


def _verdicts(result: RunResult, is_many: bool) -> Iterator[RenderableType]:
    """What the senders took their losses for: a row per flow, or the sums of each sender's."""
    import polars as pl

    flows = result.flows
    found = flows.filter(flows["reductions"] + flows["congestion_losses"] + flows["link_losses"] > 0)
    if found.is_empty():
        return
    labels = found["flow"].to_list()
    if is_many:
        sums = found.group_by("cc", maintain_order=True)
        labels = [f"{cc} x {count}" for cc, count in sums.len().rows()]
        found = sums.agg(pl.col(list(_VERDICTS.values())).sum())
    columns = [Shown(title, found[name].to_list(), "1") for title, name in _VERDICTS.items()]
    yield make_rows("Losses, and what they were taken for", "sender" if is_many else "flow", labels, [], columns)


def _percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0.0
    return "<1 %" if 0 < share < 1 else f"{share:.0f} %"


def _completions(result: RunResult, show_all: bool) -> Iterator[RenderableType]:
    """Transfers: a row per flow; of a single flow a row per class of sizes; of many flows all together."""
    rows = result.completions
    if rows.is_empty():
        return
    import polars as pl

    totals = rows.filter(pl.col("sizes") == "all")
    if totals.height > FLOWS_MAX and not show_all:
        row = result.summary.row(0, named=True)
        values = {"transfers": row["transfers"], "unfinished": row["transfers_unfinished"]}
        values |= {"failed": row["transfers_failed"], "slowdown": row["slowdown_mean"]}
        values |= {name: row[f"transfer_{name}_s"] for name in ("mean", "p50", "p95", "p99")}
        columns = [Shown(title, [values[title]], unit, unit) for title, _, unit in _COMPLETION_COLUMNS]
        yield make_rows("Transfers", "flow", ["all"], [], columns)
        yield Text(f"{totals.height} flows; --all shows each", style="dim")
        return
    shown = rows if totals.height == 1 else totals
    columns = [
        Shown(title, _counts(shown[name].to_list(), unit), unit, unit) for title, name, unit in _COMPLETION_COLUMNS
    ]
    columns = [column for column in columns if any(value is not None for value in column.values)]
    names = shown["sizes" if totals.height == 1 else "flow"].to_list()
    yield make_rows("Transfers", "sizes" if totals.height == 1 else "flow", names, [], columns)


def _counts(values: list[float | None], unit: str) -> list[float | None]:
    """Counts are whole, also where the table has gaps."""
    if unit != "1" or any(value is not None and value != int(value) for value in values):
        return values
    return [None if value is None else int(value) for value in values]


def _datagrams(datagrams: pl.DataFrame, show_all: bool) -> Iterator[RenderableType]:
    if datagrams.is_empty():
        return
    shown = datagrams if show_all else datagrams.head(FLOWS_MAX)
    columns = [
        Shown("sent", shown["sent_packets"].to_list(), "1"),
        Shown("lost", shown["loss_pct"].to_list(), "%"),
        Shown("delay min", shown["delay_min_s"].to_list(), "s", "delay"),
        Shown("p50", shown["delay_p50_s"].to_list(), "s", "delay"),
        Shown("p95", shown["delay_p95_s"].to_list(), "s", "delay"),
        Shown("p99", shown["delay_p99_s"].to_list(), "s", "delay"),
        Shown("jitter", shown["jitter_s"].to_list(), "s"),
    ]
    yield make_rows("Datagrams", "flow", shown["flow"].to_list(), [], columns)
    yield from hidden(datagrams.height - shown.height, "more")


def _links(links: pl.DataFrame, show_all: bool) -> Iterator[RenderableType]:
    busy = links.filter(links["carried_packets"] > 0).sort(["utilisation", "link"], descending=[True, False])
    shown = busy if show_all else busy.head(LINKS_MAX)
    if shown.is_empty():
        return
    columns = [
        Shown("carried", shown["carried_bps"].to_list(), "bit/s"),
        Shown("busy", (100 * shown["utilisation"]).to_list(), "%"),
        Shown("queue p95", shown["queue_p95_s"].to_list(), "s"),
        Shown("queue max", shown["queue_max_bytes"].to_list(), "B"),
        Shown("corrupted", shown["corrupted_packets"].to_list(), "1"),
        Shown("dropped", shown["dropped_packets"].to_list(), "1"),
    ]
    yield make_rows("Links", "link", shown["link"].to_list(), [], columns)
    yield from hidden(busy.height - shown.height, "more with traffic")


def _drops(drops: pl.DataFrame, show_all: bool) -> Iterator[RenderableType]:
    if drops.is_empty():
        return
    import polars as pl

    grouped = (
        drops.group_by("where", "cause")
        .agg(pl.col("packets").sum(), pl.col("flow").n_unique().alias("flows"))
        .sort(["packets", "where", "cause"], descending=[True, False, False])
    )
    shown = grouped if show_all else grouped.head(DROPS_MAX)
    columns = [Shown("packets", shown["packets"].to_list(), "1"), Shown("flows hit", shown["flows"].to_list(), "1")]
    yield make_rows("Lost", "where", shown["where"].to_list(), [("why", shown["cause"].to_list())], columns)
    yield from hidden(grouped.height - shown.height, "more")


def _summary(result: RunResult) -> Text:
    row = result.summary.row(0, named=True)
    failed = result.flows["outcome"].to_list().count("aborted")
    done = "every transfer was over" if failed else "every transfer was done"
    ended = {"time-limit": "the time was over", "completed": done}.get(row["stop"], row["stop"])
    if failed:
        ended += f"; {formatting.count(failed, 'connection')} gave up"
    text = Text(
        f"\nGoodput {formatting.quantity(row['goodput_bps'], 'bit/s')} in all, "
        f"fairness {formatting.quantity(row['jain'], '1')} (Jain)\n"
        f"Ended at {row['simulated_s']:.6g} s: {ended}\n"
    )
    sent, delivered, lost, flying = (row[f"{what}_packets"] for what in ("sent", "delivered", "lost", "in_flight"))
    equal = "=" if sent == delivered + lost + flying else "is NOT (a bug in bentpipe, please report it)"
    text.append(f"{sent:,} packets sent {equal} {delivered:,} delivered + {lost:,} lost + {flying:,} in flight")
    return text


_COMPLETION_COLUMNS = (
    ("transfers", "transfers", "1"),
    ("unfinished", "unfinished", "1"),
    ("failed", "failed", "1"),
    ("mean", "duration_mean_s", "s"),
    ("p50", "duration_p50_s", "s"),
    ("p95", "duration_p95_s", "s"),
    ("p99", "duration_p99_s", "s"),
    ("slowdown", "slowdown_mean", "1"),
)
_FLOW_COLUMNS = {
    "goodput": "goodput_bps",
    "done in": "completion_s",
    "resent": "retransmissions",
    "timeouts": "timeouts",
    "RTT p50": "rtt_p50_s",
    "RTT p95": "rtt_p95_s",
}
_VERDICTS = {
    "by congestion": "congestion_losses",
    "by links": "link_losses",
    "reductions": "reductions",
    "for errors": "error_reductions",
    "spurious": "spurious_reductions",
    "unheeded": "congestion_taken_for_errors",
}
"""Packets with data lost, reductions and needless ones, congestion taken for errors, with their columns of `flows`."""
_ERROR_TIMES = {"recovery\n(errors)": "error_recovery_s", "timeout\n(errors)": "error_timeout_s"}
"""Parts of `recovery_s` and `timeout_s`, shown apart from the rest of them."""
_TIMES = {
    "\nstart-up": "start_up_s",
    "congestion\nwindow": "cwnd_limited_s",
    "receive\nwindow": "rwnd_limited_s",
    "send\nbuffer": "send_buffer_limited_s",
    "appli-\ncation": "app_limited_s",
    "\nrecovery": "recovery_s",
    "\ntimeout": "timeout_s",
    "\noutage": "outage_s",
}
"""What kept a sender from sending, as titled, with its column of `flows`."""
