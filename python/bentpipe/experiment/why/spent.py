"""Divides the time of each kind of flow into parts that add up, the largest first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import formatting
from bentpipe.catalog import unknown
from bentpipe.entries import find_entries
from bentpipe.errors import BentpipeError
from bentpipe.experiment.why.causes import CAUSES
from bentpipe.experiment.why.explanation import check, why, with_series
from bentpipe.experiment.why.gaps import join_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.experiment.why.explanation import Explanation
    from bentpipe.experiment.why.remedies import Remedy
    from bentpipe.progress import Wish

SERIES = "critical_path"
"""The series of a breakdown. A result that has it is not run again."""
SMALL = 0.01
"""Parts below this share of the time are shown as one part."""
UNEXPLAINED = 0.05
"""Share of the time without a cause that a note names."""
NOUNS = {
    "page": "page",
    "request-response": "exchange",
    "bulk": "transfer",
    "arrivals": "transfer",
    "records": "record",
    "file": "file",
}
"""Names of a transfer for each kind of application whose transfers end."""
TRIPS = {
    "opening": "handshakes and requests",
    "exchange": "handshakes and requests",
    "slow-start": "waiting for ACKs in slow start",
    "window": "waiting for ACKs to move the congestion window",
    "receive-window": "waiting for the receiver's window",
    "send-buffer": "waiting for room in the send buffer",
    "repair": "repairing losses",
}
"""Parts in which packets travel, one round trip after the other."""
WAITS = {
    "timeout": "waiting for the retransmission timer",
    "delayed-ack": "waiting for delayed ACKs",
    "pacing": "spacing packets",
    "application": "waiting for the application",
    "rest": "not explained by any packet",
}
WAY = "propagation and processing on the way"
"""Name of the propagation of a datagram, which has no answer."""


@dataclass(frozen=True)
class TimePart:
    """A part of the time of a kind of flow.

    Attributes
    ----------
    part : str
        `queue`, `transmission`, `slow-start` and others. Opening and exchange are one part.
    where : str
        The link or node; empty for the whole path.
    time_s : float
        Mean per transfer or datagram.
    share : float
        Share of the flow's time, 0 to 1.
    round_trips : float
        Mean number per transfer.
    by : dict
        In the queue where packets wait: the share of each flow in that queue, the largest first.
    """

    part: str
    where: str
    time_s: float
    share: float
    round_trips: float
    by: Mapping[str, float]

    @property
    def what(self) -> str:
        """Describe the part in plain words."""
        if self.part == "queue":
            fillers = [f"{name} ({formatting.percent(share)})" for name, share in self.by.items() if share >= SMALL]
            return f"waiting in the queue of {self.where}, filled by {join_parts(fillers)}"
        if self.part == "transmission":
            return f"sending its own bytes on {self.where}"
        if self.part == "shaper":
            return f"waiting for tokens of the shaper of {self.where}"
        if self.part == "outage":
            return f"waiting for {self.where}, which sent nothing"
        if self.part == "access":
            return f"waiting for grants or frames on {self.where}"
        if self.part == "middlebox":
            return f"held by a middlebox at {self.where}"
        if self.part == "way":
            return WAY
        if self.part in TRIPS:
            return f"{TRIPS[self.part]} ({formatting.count_mean(self.round_trips, 'round trip')})"
        return WAITS[self.part]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        place = {"part": self.part, "where": self.where, "what": self.what}
        numbers = {"time_s": self.time_s, "share": self.share, "round_trips": self.round_trips}
        return {**place, **numbers, "by": dict(self.by)}


@dataclass(frozen=True)
class FlowTime:
    """The time of the flows of one kind.

    Attributes
    ----------
    flow : str
        The entry of the scenario; it may stand for many flows.
    noun : str
        Name of a transfer, such as `page` or `packet`; empty for a flow that never ends.
    count : int
        Number of transfers.
    time_s : float
        Mean per transfer; for a flow that never ends, the time until the last packet arrived.
    parts : tuple of TimePart
        Parts that add up to `time_s`, the largest first.
    said : str
        Goodput, losses, and the number of unfinished transfers, in words.
    names : tuple of str
        Names of the flows.
    """

    flow: str
    noun: str
    count: int
    time_s: float
    parts: tuple[TimePart, ...]
    said: str
    names: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """Write the measured time in words."""
        time = formatting.quantity(self.time_s, "s")
        if not self.noun:
            return f"{self.flow}: {time} of sending. {self.said}".rstrip()
        on_average = f" on average of {self.count:,}" if self.count > 1 else ""
        flows = f" ({len(self.names)} flows)" if len(self.names) > 1 else ""
        article = "an" if self.noun[0] in "aeiou" else "a"
        return f"{self.flow}{flows}: {article} {self.noun} takes {time}{on_average}. {self.said}".rstrip()

    @property
    def shown_parts(self) -> list[tuple[float, float, str]]:
        """List seconds, share and words of each part; small parts are joined."""
        large = [part for part in self.parts if part.share >= SMALL]
        rows = [(part.time_s, part.share, part.what) for part in large]
        small = [part for part in self.parts if part.share < SMALL]
        if small:
            rows.append((sum(part.time_s for part in small), sum(part.share for part in small), "all else"))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        numbers = {"count": self.count, "time_s": self.time_s}
        parts = [part.to_dict() for part in self.parts]
        return {"flow": self.flow, "noun": self.noun, **numbers, "said": self.said, "parts": parts}


@dataclass(frozen=True, repr=False)
class Breakdown:
    """The parts of the time of each kind of flow, and changes that may help.

    Attributes
    ----------
    flows : tuple of FlowTime
        The time of each entry of the scenario whose flows have sent data.
    remedies : tuple of Remedy
        Changes that were tried, ordered by effect.
    missing : tuple of str
        Kinds of flows without a complete transfer or datagram.
    pages : str
        Sizes of the pages, as in `RunResult.pages`.
    of_run : tuple of str
        Notes of the run, as in `RunResult.notes`.
    """

    flows: tuple[FlowTime, ...]
    remedies: tuple[Remedy, ...]
    missing: tuple[str, ...]
    pages: str = ""
    of_run: tuple[str, ...] = ()

    def __getitem__(self, flow: str) -> FlowTime:
        """Return the time of one kind."""
        for each in self.flows:
            if each.flow == flow:
                return each
        raise BentpipeError(unknown(flow, "a flow of this breakdown", [each.flow for each in self.flows]))

    @property
    def notes(self) -> list[str]:
        """Notes for the reader."""
        rests = {each.flow: sum(part.share for part in each.parts if part.part == "rest") for each in self.flows}
        unknown = [
            f"{flow}: {formatting.percent(share)} of its time has no known cause, so its other parts may be larger"
            for flow, share in rests.items()
            if share > UNEXPLAINED
        ]
        missing = [f"{name}: no transfer has ended, so there is no time to explain" for name in self.missing]
        return [*self.of_run, *unknown, *missing]

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain data, fit for JSON."""
        return {
            "flows": [each.to_dict() for each in self.flows],
            "remedies": [each.to_dict() for each in self.remedies],
            "notes": self.notes,
            "pages": self.pages,
        }

    def __repr__(self) -> str:
        heads = "; ".join(f"{each.flow} {formatting.quantity(each.time_s, 's')}" for each in self.flows)
        return f"<Breakdown of {heads}; {len(self.remedies)} changes tried>"

    def __str__(self) -> str:
        lines = [f"pages: {self.pages}"] if self.pages else []
        for each in self.flows:
            lines.append(each.head)
            lines += [
                f"{formatting.quantity(s, 's'):>10}  {formatting.percent(r):>5}  {w}" for s, r, w in each.shown_parts
            ]
        return "\n".join([*lines, *map(str, self.remedies), *self.notes])

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        heads = ["time", "share", "part"]
        text = notebook.page(f"pages: {self.pages}", []) if self.pages else ""
        for each in self.flows:
            rows = [
                [formatting.quantity(s, "s"), formatting.percent(share), what] for s, share, what in each.shown_parts
            ]
            text += notebook.page(each.head, [(heads, rows, 0)])
        if self.remedies:
            rows = [[each.name, each.effect, each.command] for each in self.remedies]
            text += notebook.page("What to try", [(["change", "effect in one run", "command"], rows, 3)])
        return text + notebook.page("", [], self.notes)


def answer(
    result: RunResult,
    flow: str | None,
    *,
    at: float | None,
    start: float | None,
    end: float | None,
    tries: bool,
    progress: Wish,
) -> Explanation | Breakdown:
    """Explain a flow around an instant. Without an instant, break down the time of flows; see `RunResult.why`."""
    if flow is None and (at, start, end) != (None, None, None):
        raise BentpipeError("a time needs a flow\n  expected both: why(FLOW, at=72)")
    check(result.scenario, flow, at=at, start=start, end=end)
    if flow is None or (at is None and start is None):
        return breakdown(result, flow, tries=tries, progress=progress)
    return why(result, flow, at=at, start=start, end=end)


def breakdown(result: RunResult, only: str | None = None, *, tries: bool, progress: Wish = None) -> Breakdown:
    """Break down the time of each kind of flow; see `RunResult.why`."""
    from bentpipe.experiment.why.remedies import try_remedies

    scenario = result.scenario
    flows = scenario.to_dict()["flow"]
    entries = find_entries(flows)
    chosen = list(dict.fromkeys(entries.values())) if only is None else [entries.get(only, only)]
    if not set(chosen) <= set(entries.values()):
        raise BentpipeError(unknown(chosen[0], "a flow of this scenario", [*dict.fromkeys(entries.values())]))
    result = with_series(result, SERIES, progress=progress)
    table = result.recorded[SERIES].with_columns(
        pl.col("flow").replace_strict(entries).alias("entry"),
        pl.col("by").replace_strict({**entries, "": ""}).alias("by"),
    )
    names = {entry: tuple(name for name in entries if entries[name] == entry) for entry in entries.values()}
    every = {
        entry: _flow_time(result, entry, flows[names[entry][0]], names[entry], rows)
        for entry in names
        if (rows := table.filter(pl.col("entry") == entry)).height
    }
    found = tuple(every[entry] for entry in chosen if entry in every)
    missing = tuple(entry for entry in chosen if entry not in every and find_kind(flows[names[entry][0]]) != "port")
    remedies = try_remedies(result, found, tuple(every.values()), progress) if tries else ()
    return Breakdown(found, tuple(remedies), missing, result.pages, tuple(result.notes))


def find_kind(flow: Mapping[str, Any]) -> str:
    """Return the kind of an entry's application."""
    app = flow.get("app", "greedy")
    return str(app["kind"] if isinstance(app, dict) else app)


def _flow_time(
    result: RunResult, entry: str, flow: Mapping[str, Any], names: Sequence[str], rows: pl.DataFrame
) -> FlowTime:
    datagrams = result.datagrams.filter(pl.col("flow").is_in(names))
    is_datagrams = datagrams.height > 0
    noun = "packet" if is_datagrams else NOUNS.get(find_kind(flow), "")
    count = int(rows.unique("flow")["transfers"].sum())
    total_s = float(rows["total_s"].sum())
    parts = _parts(rows, count, total_s, result.terminals["link"].to_list(), is_datagrams=is_datagrams)
    said = [*_goodput(result, names, noun), *_losses(result, names), *_list_unfinished(result, names)]
    return FlowTime(entry, noun, count, total_s / count, tuple(parts), " ".join(said), tuple(names))


def _parts(
    rows: pl.DataFrame, count: int, total_s: float, terminals: Sequence[str], *, is_datagrams: bool
) -> list[TimePart]:
    """Return the parts of a kind of flow. Links in a medium (`terminals`) of one entry are one place."""
    together = {"opening": "exchange"} | ({"exchange": "way"} if is_datagrams else {})
    rows = rows.with_columns(pl.col("part").replace(together))
    used = rows.filter(pl.col("part") != "queue")["where"].unique()
    entries = _entries_of_links(used.filter(used.is_in(terminals)).to_list())
    # A queue has a remedy, which names its link.
    place = pl.when(pl.col("part") == "queue").then(pl.col("where")).otherwise(pl.col("where").replace(entries))
    rows = rows.with_columns(place.alias("where"))
    found = []
    for (part, where), group in rows.group_by("part", "where", maintain_order=True):
        time_s = float(group["total_s"].sum())
        by = group.group_by("by", maintain_order=True).agg(pl.col("total_s").sum()).sort("total_s", descending=True)
        fillers = {name: s / time_s for name, s in by.iter_rows() if name and time_s > 0}
        trips = float(group["trips"].sum()) / (2 * count)
        share = time_s / total_s if total_s > 0 else 0.0
        found.append(TimePart(str(part), str(where), time_s / count, share, trips, fillers))
    return sorted(found, key=lambda each: -each.time_s)


def _entries_of_links(links: Iterable[str]) -> dict[str, str]:
    """Return the name of the entry of links that differ only in the numbers in their names.

    >>> _entries_of_links(["sat1.reverse", "sat2.reverse", "hop1.forward"])
    {'sat1.reverse': 'sat{n}.reverse', 'sat2.reverse': 'sat{n}.reverse'}
    """
    kinds: dict[str, list[str]] = {}
    for link in links:
        kinds.setdefault(re.sub(r"\d+", "{n}", link), []).append(link)
    return {name: pattern for pattern, names in kinds.items() if len(names) > 1 for name in names}


def _goodput(result: RunResult, names: Sequence[str], noun: str) -> list[str]:
    if noun == "packet":
        return []
    rates = result.flows.filter(pl.col("flow").is_in(names))["goodput_active_bps"].drop_nulls()
    if noun not in ("", "file") or rates.is_empty():
        return []
    mean: float = rates.mean()  # type: ignore[assignment]
    each = " each" if len(rates) > 1 else ""
    return [f"Goodput: {formatting.quantity(mean, 'bit/s')}{each}."]


def _losses(result: RunResult, names: Sequence[str]) -> list[str]:
    drops = result.drops.filter(pl.col("flow").is_in(names))
    lost = int(drops["packets"].sum()) if drops.height else 0
    if not lost:
        return []
    groups = drops.group_by("where", "cause", maintain_order=True).agg(pl.col("packets").sum())
    top = groups.sort("packets", descending=True).head(2)
    places = [(n, f"at {where} ({CAUSES.get(cause, cause)})") for where, cause, n in top.iter_rows()]
    if elsewhere := lost - int(top["packets"].sum()):
        places.append((elsewhere, "elsewhere"))
    datagrams = result.datagrams.filter(pl.col("flow").is_in(names))
    sent = int(datagrams["sent_packets"].sum()) if datagrams.height else 0
    share = f" ({formatting.percent(lost / sent)})" if sent else ""
    if len(places) == 1:
        return [f"Packets lost: {lost:,}{share} {places[0][1]}."]
    return [f"Packets lost: {lost:,}{share}; {join_parts([f'{n:,} {place}' for n, place in places])}."]


def _list_unfinished(result: RunResult, names: Sequence[str]) -> list[str]:
    rows = result.completions.filter(pl.col("flow").is_in(names) & (pl.col("sizes") == "all"))
    unfinished = sum(int(rows[column].sum()) for column in ("unfinished", "failed")) if rows.height else 0
    return [f"Not finished, and not counted: {unfinished:,}."] if unfinished else []
