"""What the command line prints: tables for 80 columns, busiest and most important first."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

from bentpipe import formatting
from bentpipe.experiment import aside
from bentpipe.metrics import METRICS, TRANSFERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from bentpipe.experiment.compare import Comparison
    from bentpipe.experiment.mix import Mix
    from bentpipe.experiment.report import Report
    from bentpipe.experiment.result import RunResult
    from bentpipe.experiment.sweep import Sweep
    from bentpipe.papers.reproduce import Reproduction
    from bentpipe.scenario.scenario import Scenario
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.statistics.samples import Counts

GAP = 2
"""Spaces between columns."""
BROKEN_AT = 12
"""Letters that a text keeps in a narrow terminal."""
FLOWS_MAX = 12
POINTS_MAX = 40
FAILURES_MAX = 5
LINKS_MAX = 10
DROPS_MAX = 10


class Shown(NamedTuple):
    """A column as printed."""

    title: str
    values: Sequence[float | None]
    unit: str
    quantity: str = ""
    """Columns of one quantity have one unit; empty: it is the only one."""


class Blocks(Table):
    """A table that is never wider than the terminal: columns that do not fit follow below, with the names again."""

    names = 1
    """So many columns on the left say what a row is of."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        blocks = self._blocks(options.max_width)
        if len(blocks) == 1:
            yield from super().__rich_console__(console, options)
            return
        for number, columns in enumerate(blocks):
            block = Table(
                title=self.title if number == 0 else None,
                title_justify="left",
                title_style="bold",
                box=None,
                pad_edge=False,
                padding=(0, GAP, 0, 0),
            )
            block.columns = [replace(column, _index=at) for at, column in enumerate(columns)]
            block.rows = list(self.rows)
            if number > 0 and not all(str(column.header).startswith("\n") for column in columns):
                yield Text("")
            yield block

    def _blocks(self, width: int) -> list[list[Column]]:
        """The columns of each block."""
        names, values = self.columns[: self.names], self.columns[self.names :]
        room = width - sum(map(_needed, names))
        blocks: list[list[Column]] = []
        left = 0
        for column in values:
            if _needed(column) > left or not blocks:
                blocks.append([*names])
                left = room
            blocks[-1].append(column)
            left -= _needed(column)
        return blocks or [names]


def _needed(column: Column) -> int:
    """The letters that a column takes at least, with the space to the next; long texts are broken."""
    lines = [line for cell in (column.header, *column.cells) for line in str(cell).split("\n")]
    widest = max(map(cell_len, lines), default=0)
    return GAP + (min(widest, BROKEN_AT) if column.overflow == "fold" else widest)


def facts(scenario: Scenario) -> Text:
    """Title and one line of key facts."""
    text = Text(scenario.title or "untitled", style="bold")
    text.append(
        f"\n{_count(len(scenario.flow_names), 'flow')}, {_count(len(scenario.link_names), 'link direction')}, "
        f"{scenario.duration_s:.10g} s, seed {scenario.seed}",
        style="not bold",
    )
    return text


def run(result: RunResult, show_all: bool = False) -> Iterator[RenderableType]:
    """A run: flows, links, why packets were lost, and whether the count of packets adds up."""
    flows = result.flows
    is_many = flows.height > FLOWS_MAX and not show_all
    yield _spread(flows) if is_many else _flows(flows)
    if is_many:
        yield Text(f"{flows.height} flows; --all shows each", style="dim")
    yield from _times(result, is_many)
    yield from _completions(result, show_all)
    yield from _datagrams(result.datagrams, show_all)
    yield from _links(result.links, show_all)
    yield from _drops(result.drops, show_all)
    yield _summary(result)
    for note in result.notes:
        yield Text(f"note: {note}", style="yellow")


def comparison(comparison: Comparison) -> Iterator[RenderableType]:
    """A comparison: a row per sender, means over half widths, then what can be said."""
    estimates = {
        metric.name: [comparison.estimate(name, metric.name) for name in comparison.senders]
        for metric in METRICS.values()
    }
    shown = {name: found for name, found in estimates.items() if any(each.value is not None for each in found)}
    # What flows with several transfers have besides goes into a table of its own: both fit the terminal.
    of_transfers = {name: found for name, found in shown.items() if name in TRANSFERS}
    yield _estimates(comparison, {name: found for name, found in shown.items() if name not in TRANSFERS})
    if of_transfers:
        yield _estimates(comparison, of_transfers, "Transfers")
    replications = len(comparison.seeds)
    if replications > 1:
        margin = "±" if comparison.statistic == "mean" else "with"
        level = f"{100 * comparison.confidence:g} %"
        yield Text(f"{comparison.statistic} of {replications} replications, {margin} {level} interval", style="dim")
    # The times of transfers are all of the same ones.
    notes = (comparison.unfinished(name) for name in shown if name not in ("fct_p95", "slowdown"))
    for note in filter(None, notes):
        yield Text(note, style="yellow")
    yield Text("")
    for statement in comparison.statements:
        yield Text(statement)


def mix(mix: Mix) -> Iterator[RenderableType]:
    """Senders in one run: a row per sender, means over half widths, then what can be said."""
    from bentpipe.experiment.mix import QUANTITIES
    from bentpipe.statistics.samples import Counts

    titles = ("goodput", "share", "own", "resent", "timeouts", "rtt")
    shown = {name: [mix.estimate(sender, name) for sender in mix.senders] for name in titles}
    table = _table("", "sender", [])
    columns = []
    for name, found in shown.items():
        is_share = name == "share"
        divisor, unit = (
            (0.01, "%") if is_share else formatting.scale([each.value for each in found], QUANTITIES[name].unit)
        )
        table.add_column("among\nits own" if name == "own" else _title(name, unit), justify="right")
        columns.append([_cell(each, divisor, Counts(each.replications, len(mix.seeds))) for each in found])
    for place, sender in enumerate(mix.senders):
        table.add_row(Text(sender), *(column[place] for column in columns))
    yield table
    jain = mix.total("jain_senders")
    value = _cell(jain, 1).replace("\n", " ")
    yield Text(f"\nJain's index {value}, goodput {formatting.quantity(mix.total('goodput_bps').mean, 'bit/s')} in all")
    yield Text(f"{_count(mix.runs['flows'][0], 'flow')} of each sender", style="dim")
    replications = len(mix.seeds)
    if replications > 1:
        yield Text(f"mean of {replications} replications, ± {100 * mix.confidence:g} % interval", style="dim")
    yield Text("")
    for statement in mix.statements:
        yield Text(statement)


def sweep(result: Sweep, place: Path) -> Iterator[RenderableType]:
    """A sweep: a row per point, means over half widths, what can be said, what failed, and where it all is."""
    keys = [formatting.short_key(key, result.keys) for key in result.keys]
    table = _table("", keys[0], keys[1:])
    table.add_column("\nruns", justify="right")
    cells = []
    for name in result.metrics:
        found = result.estimates(name)
        divisor, unit = _scale(name, {name: found})
        table.add_column(_SHORT.get(name) or _title(name, unit), justify="right")
        counts = [None] * len(found) if name in TRANSFERS else result.counts(name)
        cells.append([_cell(each, divisor, of) for each, of in zip(found, counts, strict=True)])
    points = result.points.head(POINTS_MAX)
    for number, row in enumerate(points.iter_rows(named=True)):
        names = [Text(formatting.setting(row[key])) for key in result.keys]
        table.add_row(*names, str(found[number].replications), *(column[number] for column in cells))
    yield Text(result.title, style="bold")
    yield table
    yield from _hidden(result.points.height - points.height, "more points; `bentpipe report` shows them", hint="")
    yield Text("mean, ± 95 % interval", style="dim")
    for note in filter(None, map(result.unfinished, result.metrics)):
        yield Text(note, style="yellow")
    yield Text("")
    first, *others = result.metrics
    for statement in (*result.statements_of(first), *(text for name in others for text in result.best(name)[:1])):
        yield Text(statement)
    for failure in result.failures[:FAILURES_MAX]:
        yield Text(
            f"\nfailed at {failure['parameters']}: {failure['message']}\n  bentpipe run {failure['replay']}",
            style="red",
        )
    yield from _hidden(len(result.failures) - FAILURES_MAX, "more failed", hint="")
    if result.missing:
        yield Text(f"{_count(result.missing, 'run')} missing; the same command goes on", style="yellow")
    for others in result.facts["aside"]:
        yield Text(f"{aside.said(others)} are kept in {place / others['folder']}, and not used", style="yellow")
    yield f"\nAll runs are in {place}; for tables and figures: bentpipe report {place}"


def reproduction(result: Reproduction, place: Path | None) -> Iterator[RenderableType]:
    """Papers: a row per claim, then how many of each verdict; without a place, claims at length."""
    from bentpipe.papers import pages, summary, verdicts

    for each in result.papers:
        table = _table(f"{each.paper.name}: {each.paper.title}", "claim", [])
        for title, width in (("what", 24), ("printed, or\nhas to hold", 14), ("ours,\n± 95 %", 16), ("verdict", 16)):
            table.add_column(title if "\n" in title else f"\n{title}", overflow="fold", max_width=width)
        for verdict in each.verdicts:
            for cells in pages.compared(verdict):
                table.add_row(*map(Text, cells))
        yield table
        if place is None:
            for verdict in each.verdicts:
                yield Text("\n".join(pages.claim(verdict)).replace("**", "").replace("### ", ""))
        else:
            yield from map(Text, summary.in_words(each))
    if place is None:
        return
    counts = _table("Verdicts", "paper", [])
    kinds = [kind for kind in verdicts.KINDS if any(kind in each.counts for each in result.papers)]
    for kind in kinds:
        counts.add_column(kind.replace(" ", "\n", 1), justify="right", vertical="bottom")
    for each in result.papers:
        counts.add_row(Text(each.paper.name), *(str(each.counts.get(kind, 0)) for kind in kinds))
    yield counts
    yield f"\nPages, figures and claims.csv are in {place}"


def report(report: Report) -> Iterator[RenderableType]:
    """What can be said, and where the parts of the report are."""
    # Not a table: that would break a path which somebody copies.
    places = [f"page     {report.page}"]
    for what, files in (("figures", report.figures), ("tables", report.tables)):
        kinds = ", ".join(dict.fromkeys(file.suffix[1:].upper().replace("TEX", "LaTeX") for file in files))
        names = ", ".join(dict.fromkeys(file.stem for file in files))
        if files:
            places += [f"{what:<9}{files[0].parent}", f"{'':<9}{names} ({kinds})"]
    for statement in report.statements:
        yield Text(statement)
    yield Text("")
    yield from places


def _estimates(comparison: Comparison, shown: Mapping[str, Sequence[Estimate | Interval]], title: str = "") -> Table:
    from bentpipe.statistics.samples import is_of_transfers

    table = _table(title, "sender", [])
    cells: list[list[str]] = []
    for name, found in shown.items():
        divisor, unit = _scale(name, shown)
        table.add_column(_SHORT.get(name) or _title(name, unit), justify="right")
        # Of transfers there are many, and several columns are of them; they are counted below the table.
        counts = [
            None if is_of_transfers(METRICS[name]) else comparison.sample(sender, name).counts
            for sender in comparison.senders
        ]
        cells.append([_cell(each, divisor, of) for each, of in zip(found, counts, strict=True)])
    for place, name in enumerate(comparison.senders):
        table.add_row(Text(name), *(column[place] for column in cells))
    return table


def choices(entries: Sequence[tuple[str, str]]) -> Table:
    """Names with what they are."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, summary in entries:
        table.add_row(Text(name), Text(summary))
    return table


def _flows(flows: pl.DataFrame) -> Table:
    names = flows["flow"].to_list()
    texts = [("sender", flows["cc"].to_list()), ("outcome", flows["outcome"].to_list())]
    table = _rows("Flows", "flow", names, texts, _flow_columns(flows))
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
    return _rows("Flows", "sender", names, [("", kinds)], columns)


def _flow_columns(flows: pl.DataFrame) -> list[Shown]:
    from bentpipe.catalog import unit

    columns = [
        Shown(title, flows[name].to_list(), unit("flows", name), "rtt" if "rtt" in name else "")
        for title, name in _FLOW_COLUMNS.items()
    ]
    return [column for column in columns if any(value is not None for value in column.values)]


def _times(result: RunResult, is_many: bool) -> Iterator[RenderableType]:
    """What kept the senders from sending: a row per flow, or the sums of each sender's; seconds over per cent."""
    names = list(_TIMES.values())
    timed = result.flows.drop_nulls(names[0])
    labels = timed["flow"].to_list()
    if is_many:
        labels = [f"{cc} x {count}" for cc, count in timed.group_by("cc", maintain_order=True).len().rows()]
        timed = timed.group_by("cc", maintain_order=True).sum()
    rows = timed.select(names).rows()
    shown = [at for at in range(len(names)) if any(row[at] > 0 for row in rows)]
    if not shown:
        return
    table = _table("Where the time went (s)", "sender" if is_many else "flow", [])
    for at in shown:
        table.add_column(list(_TIMES)[at], justify="right", no_wrap=True)
    digits = 1 if max(map(max, rows)) >= 10 else 2
    for label, row in zip(labels, rows, strict=True):
        table.add_row(Text(label), *(f"{row[at]:.{digits}f}\n{_percent(row[at], sum(row))}" for at in shown))
    yield table
    if max(map(sum, rows)) > 1.001 * result.summary["simulated_s"][0]:
        yield Text("summed over all connections", style="dim")


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
        yield _rows("Transfers", "flow", ["all"], [], columns)
        yield Text(f"{totals.height} flows; --all shows each", style="dim")
        return
    shown = rows if totals.height == 1 else totals
    columns = [
        Shown(title, _counts(shown[name].to_list(), unit), unit, unit) for title, name, unit in _COMPLETION_COLUMNS
    ]
    columns = [column for column in columns if any(value is not None for value in column.values)]
    names = shown["sizes" if totals.height == 1 else "flow"].to_list()
    yield _rows("Transfers", "sizes" if totals.height == 1 else "flow", names, [], columns)


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
    yield _rows("Datagrams", "flow", shown["flow"].to_list(), [], columns)
    yield from _hidden(datagrams.height - shown.height, "more")


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
    yield _rows("Links", "link", shown["link"].to_list(), [], columns)
    yield from _hidden(busy.height - shown.height, "more with traffic")


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
    yield _rows("Lost", "where", shown["where"].to_list(), [("why", shown["cause"].to_list())], columns)
    yield from _hidden(grouped.height - shown.height, "more")


def _summary(result: RunResult) -> Text:
    row = result.summary.row(0, named=True)
    failed = result.flows["outcome"].to_list().count("aborted")
    done = "every transfer was over" if failed else "every transfer was done"
    ended = {"time-limit": "the time was over", "completed": done}.get(row["stop"], row["stop"])
    if failed:
        ended += f"; {_count(failed, 'connection')} gave up"
    text = Text(
        f"\nGoodput {formatting.quantity(row['goodput_bps'], 'bit/s')} in all, "
        f"fairness {formatting.quantity(row['jain'], '1')} (Jain)\n"
        f"Ended at {row['simulated_s']:.6g} s: {ended}\n"
    )
    sent, delivered, lost, flying = (row[f"{what}_packets"] for what in ("sent", "delivered", "lost", "in_flight"))
    equal = "=" if sent == delivered + lost + flying else "is NOT (a bug in bentpipe, please report it)"
    text.append(f"{sent:,} packets sent {equal} {delivered:,} delivered + {lost:,} lost + {flying:,} in flight")
    return text


def _scale(name: str, shown: Mapping[str, Sequence[Estimate | Interval]]) -> tuple[float, str]:
    """Divisor and unit of a metric, the same for all of its quantity that are shown (`fct`, `fct_p95`)."""
    if name == "utilisation":
        return 0.01, "%"
    quantity = name.partition("_")[0]
    values = [each.value for other, found in shown.items() if other.partition("_")[0] == quantity for each in found]
    return formatting.scale(values, METRICS[name].unit)


def _rows(
    title: str, key: str, names: Sequence[str], texts: Sequence[tuple[str, Sequence[str]]], columns: Sequence[Shown]
) -> Blocks:
    table = _table(title, key, [name for name, _ in texts])
    printed = []
    for column in columns:
        same = [each for each in columns if each.quantity == column.quantity and each.quantity] or [column]
        cells, unit = formatting.column(column.values, column.unit, [value for each in same for value in each.values])
        table.add_column(_title(column.title, unit), justify="right", no_wrap=True)
        printed.append(cells)
    for place, name in enumerate(names):
        table.add_row(Text(name), *(Text(values[place]) for _, values in texts), *(cells[place] for cells in printed))
    return table


def _table(title: str, key: str, texts: Sequence[str]) -> Blocks:
    table = Blocks(
        title=f"\n{title}" if title else None,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, GAP, 0, 0),
    )
    table.names = 1 + len(texts)
    for text in (key, *texts):
        table.add_column(f"\n{text}", overflow="fold")
    return table


def _title(name: str, unit: str) -> str:
    # The unit stands under the name; where there is none the name moves down, next to its numbers.
    return f"{name}\n{unit}" if unit else f"\n{name}"


def _cell(found: Estimate | Interval, divisor: float, counts: Counts | None = None) -> str:
    """The value, and under it its margin, or two where the interval is not symmetric; then of how many, if not all."""
    from bentpipe.statistics.samples import bound

    text = bound(_value_and_margin(found, divisor), found)
    return text if counts is None or counts.is_whole or found.value is None else f"{text}\n{counts}"


def _value_and_margin(found: Estimate | Interval, divisor: float) -> str:
    value, low, high = (None if each is None else each / divisor for each in (found.value, found.low, found.high))
    if value is None:
        return formatting.MISSING
    if low is None or high is None:
        return formatting.mean_and_margin(value, None)[0]
    by, margin = formatting.mean_and_margin(value, (high - low) / 2)
    digits = len(by.partition(".")[2])
    is_even = math.isclose(high - value, value - low, rel_tol=1e-6, abs_tol=1e-9 * abs(value))
    return f"{by}\n±{margin}" if is_even else f"{by}\n+{high - value:.{digits}f}\n-{value - low:.{digits}f}"


def _hidden(count: int, what: str, hint: str = "; --all shows each") -> Iterator[Text]:
    if count > 0:
        yield Text(f"{count} {what}{hint}", style="dim")


_count = formatting.count


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
_SHORT = {"utilisation": "busiest\nlink %", "lost": "\nlost", "jain": "fairness\n(Jain)", "unfinished": "\nnot done"}
