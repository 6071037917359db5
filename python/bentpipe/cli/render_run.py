"""Renders a single run for the terminal."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from rich.text import Text

from bentpipe import formatting
from bentpipe.cli.render import hosts
from bentpipe.cli.tables import Shown, hidden, make_rows, make_table
from bentpipe.entries import find_entries
from bentpipe.heads import head
from bentpipe.metric import jain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from bentpipe.experiment.single.run_result import RunResult

    Rows = list[dict[str, Any]]
    Entries = Mapping[str, str]
    """Entry of the file by flow."""

PAUSING = ("arrivals", "bulk", "on-off", "page", "records", "request-response")
"""Applications whose pauses decide their goodput."""
DATAGRAMS = ("cbr", "poisson", "on-off")
FLOWS_MAX = 12
LINKS_MAX = 10
DELAY_PARTS = ("asking_mean_s", "behind_mean_s", "turn_mean_s", "sending_mean_s", "air_mean_s")
DROPS_MAX = 10


def run(result: RunResult, show_all: bool = False, *, has_limits: bool = False) -> Iterator[RenderableType]:
    """Renders a run: flows, links, causes of loss, and the balance of packets.

    The limits of senders and their reactions to losses are there with `has_limits`, or with `show_all`.
    """
    yield hosts(result)
    flows = result.rows("flows")
    is_many = len(flows) > FLOWS_MAX and not show_all
    entries = find_entries(result.scenario.to_dict()["flow"])
    yield _spread(flows, entries) if is_many else _flows(flows)
    if is_many:
        yield Text(f"{len(flows)} flows; --all shows each", style="dim")
    yield from _proxies(result, flows)
    # A row for each of many flows would say less than a row for each entry.
    grouped = entries if len(flows) > FLOWS_MAX else None
    if show_all:
        yield from _subflows(result.rows("subflows"))
    if has_limits or show_all:
        yield from _times(flows, result.simulated_s, grouped)
        yield from _verdicts(flows, grouped)
    yield from _completions(result, show_all)
    yield from _datagrams(result, show_all)
    yield from _links(result.rows("links"), show_all)
    yield from _terminals(result.rows("terminals"), show_all)
    yield from _drops(result.rows("drops"), show_all)
    yield _summary(result)
    for note in result.notes:
        yield Text(f"note: {note}", style="yellow")


def _flows(flows: Rows) -> Table:
    senders = [cc or formatting.MISSING for cc in _all(flows, "cc")]
    texts = [(head("cc"), senders), ("outcome", _all(flows, "outcome"))]
    table = make_rows("Flows", "flow", _all(flows, "flow"), texts, [*_flow_columns(flows).values()])
    table.names = 1
    return table


def _subflows(subflows: Rows) -> Iterator[Table]:
    """Renders the subflows of flows over several paths."""
    if not subflows:
        return
    found = {name: _all(subflows, name) for name, _ in _SUBFLOW_COLUMNS}
    found["delivered_share"] = [None if share is None else 100 * share for share in found["delivered_share"]]
    columns = [
        Shown(head(name), found[name], unit, "rtt" if name.startswith("rtt") else "") for name, unit in _SUBFLOW_COLUMNS
    ]
    yield make_rows("Subflows", "subflow", _all(subflows, "flow"), [], columns)


def _proxies(result: RunResult, flows: Rows) -> Iterator[Text]:
    """Renders the peers of round trips that end at a proxy."""
    ends = {name: flow["to"] for name, flow in result.scenario.to_dict()["flow"].items()}
    nodes = sorted({row["rtt_to"] for row in flows} - {""} - set(ends.values()))
    if nodes:
        yield Text(f"RTT: to {' or '.join(nodes)}, which acknowledges in the receiver's place", style="dim")


def _spread(flows: Rows, entries: Entries) -> Table:
    """Renders many flows: minimum, median and maximum of each column, per entry of the file and congestion control."""
    groups = _by_entry(flows, entries)
    names = [name for label in groups for name in (label, "", "")]
    columns = []
    for name, (title, _, unit, quantity) in _flow_columns(flows).items():
        values: list[float | None] = []
        for group in groups.values():
            have = [row[name] for row in group if row[name] is not None]
            values += [min(have), median(have), max(have)] if have else [None, None, None]
        columns.append(Shown(title, values, unit, quantity))
    return make_rows("Flows", head("flow"), names, [("", ["min", "median", "max"] * len(groups))], columns)


def _flow_columns(flows: Rows) -> dict[str, Shown]:
    from bentpipe.catalog import unit

    # Elsewhere it is when the transfer is done.
    is_early = any((row["completion_acked_s"] or 0.0) < (row["completion_rx_s"] or 0.0) for row in flows)
    columns = {
        name: Shown(head(name, is_soft=True), _all(flows, name), unit("flows", name), "rtt" if "rtt" in name else "")
        for name in _FLOW_COLUMNS
        if is_early or name != "completion_acked_s"
    }
    return {name: column for name, column in columns.items() if any(value is not None for value in column.values)}


def _times(flows: Rows, simulated_s: float, entries: Entries | None) -> Iterator[RenderableType]:
    """Renders the limits of the senders: a row per flow or entry of the file, seconds above per cent."""
    names = [*_TIMES.values(), *_ERROR_TIMES.values()]
    timed = [row for row in flows if row[names[0]] is not None]
    labels = _all(timed, "flow")
    if entries is not None:
        labels, timed = _sums(timed, names, entries)
    # Recovery from errors of links is shown apart from that of congestion.
    rest = {of.removeprefix("error_"): of for of in _ERROR_TIMES.values()}
    # Outages of a flow over several paths are missing.
    rows = [[(row[name] or 0.0) - (row[rest[name]] if name in rest else 0.0) for name in names] for row in timed]
    missing = {(at, column) for at, row in enumerate(timed) for column, name in enumerate(names) if row[name] is None}
    shown = [at for at in range(len(names)) if any(row[at] > 0 for row in rows)]
    if not shown:
        return
    table = make_table("Where the time went (s)", head("flow"), [])
    for at in shown:
        table.add_column([*_TIMES, *_ERROR_TIMES][at], justify="right", no_wrap=True)
    digits = 1 if max(map(max, rows)) >= 10 else 2
    for number, (label, row) in enumerate(zip(labels, rows, strict=True)):
        values = [f"{row[at]:.{digits}f}\n{_percent(row[at], sum(row))}" for at in shown]
        known = [
            formatting.MISSING if (number, at) in missing else value for at, value in zip(shown, values, strict=True)
        ]
        table.add_row(Text(label), *known)
    yield table
    if max(map(sum, rows)) > 1.001 * simulated_s:
        yield Text("summed over all connections", style="dim")


def _verdicts(flows: Rows, entries: Entries | None) -> Iterator[RenderableType]:
    """Renders loss differentiation: a row per flow or entry of the file."""
    signs = ("reductions", "congestion_losses", "link_losses")
    found = [row for row in flows if any(row[sign] for sign in signs)]
    if not found:
        return
    labels = _all(found, "flow")
    if entries is not None:
        labels, found = _sums(found, _VERDICTS, entries)
    columns = [Shown(head(name), _all(found, name), "1") for name in _VERDICTS]
    yield make_rows("Loss reactions", head("flow"), labels, [], columns)


def _all(rows: Rows, name: str) -> list[Any]:
    return [row[name] for row in rows]


def _group_rows(rows: Rows, *names: str) -> dict[Any, Rows]:
    """Groups rows by a value, in the order of first occurrence."""
    groups: dict[Any, Rows] = {}
    for row in rows:
        groups.setdefault(row[names[0]] if len(names) == 1 else tuple(row[name] for name in names), []).append(row)
    return groups


def _by_entry(flows: Rows, entries: Entries) -> dict[str, Rows]:
    """Groups flows by their entry in the file, by label: unlike flows have nothing in common.

    Flows of one entry with several congestion controls, as in a mix, are a group each.
    """
    found = [{**row, "entry": entries[row["flow"]]} for row in flows]
    groups = _group_rows(found, "entry", "cc")
    several = [entry for entry, _ in groups]
    labels = {
        (entry, cc): f"{entry} x {len(group)}" + (f", {cc}" if several.count(entry) > 1 else "")
        for (entry, cc), group in groups.items()
    }
    return {labels[key]: group for key, group in groups.items()}


def _sums(flows: Rows, names: Sequence[str], entries: Entries) -> tuple[list[str], Rows]:
    """Labels of entries of the file, and the sums of columns over the flows of each."""
    groups = _by_entry(flows, entries)
    return [*groups], [{name: _sum(_all(group, name)) for name in names} for group in groups.values()]


def _sum(values: Sequence[float | None]) -> float | None:
    """Sum of the values that exist; None without any."""
    have = [value for value in values if value is not None]
    return sum(have) if have else None


def _percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0.0
    return "<1 %" if 0 < share < 1 else f"{share:.0f} %"


def _completions(result: RunResult, show_all: bool) -> Iterator[RenderableType]:
    """Renders transfers: a row per flow, a row per class of sizes for a single flow, or one row for many flows."""
    rows = result.rows("completions")
    if not rows:
        return
    totals = [row for row in rows if row["sizes"] == "all"]
    if len(totals) > FLOWS_MAX and not show_all:
        row = result.rows("summary")[0]
        values = {"transfers": row["transfers"], "unfinished": row["transfers_unfinished"]}
        values |= {"failed": row["transfers_failed"], "slowdown": row["slowdown_mean"]}
        values |= {name: row[f"transfer_{name}_s"] for name in ("mean", "p50", "p95", "p99")}
        columns = [Shown(head(name), [values[head(name)]], unit, unit) for name, unit in _COMPLETION_COLUMNS]
        yield make_rows("Transfers", "flow", ["all"], [], columns)
        yield Text(f"{len(totals)} flows; --all shows each", style="dim")
        return
    shown, key = (rows, "sizes") if len(totals) == 1 else (totals, "flow")
    columns = [Shown(head(name), _counts(_all(shown, name), unit), unit, unit) for name, unit in _COMPLETION_COLUMNS]
    columns = [column for column in columns if any(value is not None for value in column.values)]
    yield make_rows("Transfers", key, _all(shown, key), [], columns)


def _counts(values: list[float | None], unit: str) -> list[float | None]:
    """Counts are whole, also where the table has gaps."""
    if unit != "1" or any(value is not None and value != int(value) for value in values):
        return values
    return [None if value is None else int(value) for value in values]


def _datagrams(result: RunResult, show_all: bool) -> Iterator[RenderableType]:
    """Renders flows of datagrams, and flows of packets from outside, which may be of any protocol."""
    kinds = dict(zip(result.scenario.flow_names, result.scenario.flow_kinds, strict=True))
    rows = result.rows("datagrams")
    own = [row for row in rows if kinds[row["flow"]] != "port"]
    yield from _packets("Datagrams", [row for row in own if row["file_lacks_packets"] is None], show_all)
    yield from _packets("Files", [row for row in own if row["file_lacks_packets"] is not None], show_all, _FILE_COLUMNS)
    yield from _packets("Real packets", [row for row in rows if kinds[row["flow"]] == "port"], show_all)


def _packets(
    title: str, datagrams: Rows, show_all: bool, columns: Sequence[tuple[str, str]] = ()
) -> Iterator[RenderableType]:
    if not datagrams:
        return
    shown = datagrams if show_all else datagrams[:FLOWS_MAX]
    values = [
        Shown(head(name), _all(shown, name), unit, "delay" if "delay" in name else "")
        for name, unit in columns or _DATAGRAM_COLUMNS
    ]
    yield make_rows(title, "flow", _all(shown, "flow"), [], values)
    yield from hidden(len(datagrams) - len(shown), "more")


def _links(links: Rows, show_all: bool) -> Iterator[RenderableType]:
    busy = [row for row in links if row["carried_packets"] > 0]
    busy.sort(key=lambda row: (-(row["utilisation"] or 0.0), row["link"]))
    shown = busy if show_all else busy[:LINKS_MAX]
    if not shown:
        return
    columns = [
        Shown(head("carried_bps"), _all(shown, "carried_bps"), "bit/s"),
        Shown(
            head("utilisation"),
            [None if row["utilisation"] is None else 100 * row["utilisation"] for row in shown],
            "%",
        ),
        Shown(head("queue_p95_s"), _all(shown, "queue_p95_s"), "s"),
        Shown(head("queue_max_bytes"), _all(shown, "queue_max_bytes"), "B"),
        Shown(head("corrupted_packets"), _all(shown, "corrupted_packets"), "1"),
        Shown(head("dropped_packets"), _all(shown, "dropped_packets"), "1"),
    ]
    yield make_rows("Links", "link", _all(shown, "link"), [], columns)
    yield from hidden(len(busy) - len(shown), "more with traffic")


def _terminals(terminals: Rows, show_all: bool) -> Iterator[RenderableType]:
    """Renders the links in a medium, the longest waits for grants first."""
    waits = sorted(terminals, key=lambda row: -(row["grant_wait_mean_s"] or 0.0))
    shown = waits if show_all else waits[:LINKS_MAX]
    if not shown:
        return
    unused = _all(shown, "unused_share")
    columns = [
        Shown(head("grant_wait_mean_s"), _all(shown, "grant_wait_mean_s"), "s", "wait"),
        Shown(head("grant_wait_p95_s"), _all(shown, "grant_wait_p95_s"), "s", "wait"),
        *(Shown(head(part), _all(shown, part), "s", "part") for part in DELAY_PARTS),
        Shown(head("granted_bps"), _all(shown, "granted_bps"), "bit/s"),
        Shown(head("unused_share"), [None if share is None else 100 * share for share in unused], "%"),
    ]
    yield make_rows("Grants", "link", _all(shown, "link"), [], columns)
    yield from hidden(len(waits) - len(shown), "more")


def _drops(drops: Rows, show_all: bool) -> Iterator[RenderableType]:
    if not drops:
        return
    lost = [
        (sum(_all(rows, "packets")), where, cause, len(set(_all(rows, "flow"))))
        for (where, cause), rows in _group_rows(drops, "where", "cause").items()
    ]
    lost.sort(key=lambda each: (-each[0], *each[1:3]))
    packets, places, causes, flows = zip(*(lost if show_all else lost[:DROPS_MAX]), strict=True)
    columns = [Shown(head("packets"), packets, "1"), Shown("flows hit", flows, "1")]
    yield make_rows("Lost", "where", places, [(head("cause"), causes)], columns)
    yield from hidden(len(lost) - len(packets), "more")


def _summary(result: RunResult) -> Text:
    row = result.rows("summary")[0]
    failed = _all(result.rows("flows"), "outcome").count("aborted")
    done = "every transfer was over" if failed else "every transfer was done"
    words = {"time-limit": "duration", "completed": done, "ended": "the program ended"}
    ended = words.get(row["stop"], row["stop"])
    if failed:
        ended += f"; {formatting.count(failed, 'connection')} gave up"
    text = Text(
        f"\nGoodput {formatting.quantity(row['goodput_bps'], 'bit/s')} in all{_fairness(result)}\n"
        f"Ended at {row['simulated_s']:.6g} s ({ended})\n"
    )
    sent, delivered, lost, flying = (row[f"{what}_packets"] for what in ("sent", "delivered", "lost", "in_flight"))
    equal = "=" if sent == delivered + lost + flying else "is NOT (a bug in bentpipe, please report it)"
    text.append(f"{sent:,} packets sent {equal} {delivered:,} delivered + {lost:,} lost + {flying:,} in flight")
    places = {"on_links": "on links", "queued": "in queues", "stranded": "waiting for links that are away or down"}
    found = [f"{row[f'{key}_packets']:,} {where}" for key, where in places.items() if row[f"{key}_packets"]]
    text.append(f"\nIn flight: {', '.join(found)}" if found else "")
    return text


def _fairness(result: RunResult) -> str:
    """Jain's index of the flows of each kind with several: a call does not compete with a download.

    Flows that pause, such as pages, have goodputs that say nothing about fairness, as have datagrams of other rates.
    """
    goodputs: dict[str, list[float]] = {}
    flows = result.scenario.to_dict()["flow"]
    rates = {str(flow["app"]) for flow in flows.values() if flow["app"]["kind"] in DATAGRAMS}
    for kind, row in zip(result.scenario.flow_kinds, result.rows("flows"), strict=True):
        if kind != "datagrams" or len(rates) == 1:
            goodputs.setdefault(kind, []).append(row["goodput_bps"])
    goodputs = {kind: values for kind, values in goodputs.items() if kind not in PAUSING and len(values) > 1}
    if len(goodputs) == 1 and len(goodputs) == len({*result.scenario.flow_kinds}):
        return f", fairness {formatting.quantity(result.rows('summary')[0]['jain'], '1')} (Jain)"
    found = [(jain(values), f"{len(values)} {kind}") for kind, values in goodputs.items()]
    shown = [f"{formatting.quantity(index, '1')} of {of}" for index, of in found if index is not None]
    return f", fairness (Jain) {', '.join(shown)}" if shown else ""


_SUBFLOW_COLUMNS = (
    ("delivered_share", "%"),
    ("goodput_bps", "bit/s"),
    ("rtt_p50_s", "s"),
    ("rtt_p95_s", "s"),
    ("joins", "1"),
    ("failures", "1"),
)
_COMPLETION_COLUMNS = (
    ("transfers", "1"),
    ("unfinished", "1"),
    ("failed", "1"),
    ("duration_mean_s", "s"),
    ("duration_p50_s", "s"),
    ("duration_p95_s", "s"),
    ("duration_p99_s", "s"),
    ("slowdown_mean", "1"),
)
_DATAGRAM_COLUMNS = (
    ("sent_packets", "1"),
    ("loss_pct", "%"),
    ("delay_min_s", "s"),
    ("delay_p50_s", "s"),
    ("delay_p95_s", "s"),
    ("delay_p99_s", "s"),
    ("jitter_s", "s"),
)
_FILE_COLUMNS = (
    ("sent_packets", "1"),
    ("loss_pct", "%"),
    ("delay_min_s", "s"),
    ("delay_p95_s", "s"),
    ("file_complete_s", "s"),
    ("file_lacks_packets", "1"),
)
_FLOW_COLUMNS = (
    "goodput_bps",
    "completion_s",
    "completion_acked_s",
    "retransmissions",
    "timeouts",
    "rtt_p50_s",
    "rtt_p95_s",
)
_VERDICTS = (
    "congestion_losses",
    "link_losses",
    "reductions",
    "error_reductions",
    "spurious_reductions",
    "congestion_taken_for_errors",
)
"""Columns of `flows`: packets with data lost, reductions and needless ones, congestion taken for errors."""
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
"""Titles of the limits of a sender, with their columns in `flows`."""
