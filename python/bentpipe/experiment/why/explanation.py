"""Explains the events of a flow at a time, in order and in plain words.

They are losses with their causes, reactions of the sender, changes of the path, and waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import arguments, formatting
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError, Word
from bentpipe.experiment.common.paths import list_subflows
from bentpipe.experiment.why import modes
from bentpipe.experiment.why.causes import CAUSES, CONGESTION
from bentpipe.experiment.why.gaps import describe_gaps, join_parts
from bentpipe.experiment.why.happenings import CHANGES, EVENTS, median_rtt_s, read_number, read_seconds
from bentpipe.own.hooks import Absent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.progress import Wish
    from bentpipe.scenario.scenario import Scenario

SERIES = ("losses", "decisions", "limited_by", "cwnd_bytes", *modes.SERIES)
"""Series of an explanation. A result that has all of them is not run again."""
LEAST_S = 0.5
"""Least half width of the window around an instant, in seconds; otherwise four round trips."""
PROXIES = ("split", "satpep", "spoof")
"""Middleboxes that acknowledge data themselves with their own window, and repair losses behind them."""
CHANGES_MOST = 8
"""Maximum number of listed changes of a link's key. More changes are counted."""
SHARE_LEAST = 0.05
"""Least share of the time for a limit in the summary."""
LIMITS = (
    "nothing",
    "the start of the connection",
    "the congestion window",
    "the receiver's window",
    "the send buffer",
    "the application, which had nothing to send",
    "fast recovery",
    "the retransmission timer",
)
"""Limits of a sender, by the number in `limited_by`."""


KINDS = {
    "handover": "a link comes or goes, or a flow changes its route",
    "outage": "a link is down",
    "change": "the delay, rate or error rate of a link changes",
    "loss": "packets are lost",
    "recovery": "fast recovery begins",
    "recovery-end": "recovery ends",
    "timeout": "the retransmission timer expires",
    "retransmission": "segments are retransmitted",
    "reduction": "the sender treats a loss as congestion",
    "no-reduction": "the sender treats a loss as a link error",
    "ecn-reduction": "ECN marks reduce the congestion window",
    "state": "the congestion control changes its state",
    "fall": "the congestion control lowers its window by more than a fifth without a loss",
    "undo": "the sender detects a spurious loss",
    "slow-start-end": "slow start ends",
    "wait": "the application or the receiver holds the sender back",
    "connection": "the connection opens, completes or gives up",
    "transfer": "a transfer is complete",
    "subflow": "a path of the flow is established, fails or delivers again",
    "reinjection": "data of one path are given to another one",
}
"""Kinds of happenings, with their meanings."""


@dataclass(frozen=True)
class Happening:
    """An event or state of a flow.

    Attributes
    ----------
    time_s : float
        Simulated seconds.
    kind : str
        One of `KINDS`.
    text : str
        Sentence about it.
    numbers : dict
        The numbers in the sentence, by names that end in their units: `packets`, `until_s`, `duration_s`,
        `offset_bytes`, `lost_s`, `cwnd_before_bytes`, `cwnd_after_bytes`, `before` and `after`.
    """

    time_s: float
    kind: str
    text: str
    numbers: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"time_s": self.time_s, "kind": self.kind, "text": self.text, "numbers": dict(self.numbers)}

    def __str__(self) -> str:
        return f"{self.time_s:10.4f} s  {self.text}"


@dataclass(frozen=True, repr=False)
class Explanation:
    """The happenings of a flow in a window of time.

    Attributes
    ----------
    flow : str
    start_s, end_s : float
        The window, simulated seconds.
    happenings : tuple of Happening
        Happenings in order of time.
    summary : str
        One sentence about the window.
    """

    flow: str
    start_s: float
    end_s: float
    happenings: tuple[Happening, ...]
    summary: str

    def select_kinds(self, *kinds: str) -> list[Happening]:
        """Return the happenings of some kinds.

        Raises
        ------
        BentpipeError
            Unknown kind.
        """
        for kind in kinds:
            if kind not in KINDS:
                raise BentpipeError(unknown(kind, "a kind of happening", KINDS))
        return [each for each in self.happenings if each.kind in kinds]

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain data, fit for JSON."""
        window = {"flow": self.flow, "start_s": self.start_s, "end_s": self.end_s}
        return {**window, "happenings": [each.to_dict() for each in self.happenings], "summary": self.summary}

    def __repr__(self) -> str:
        happened = formatting.count(len(self.happenings), "happening")
        return f"<Explanation of {self.flow}, {self.start_s:g} s to {self.end_s:g} s, {happened}: {self.summary}>"

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        rows = [[f"{each.time_s:.4f}", each.kind, each.text] for each in self.happenings]
        return notebook.page("", [(["time (s)", "kind", "what happened"], rows, 3)], [self.summary])

    def __str__(self) -> str:
        return "\n".join([*map(str, self.happenings), self.summary])


def why(
    result: RunResult,
    flow: str,
    *,
    at: float | None = None,
    start: float | None = None,
    end: float | None = None,
    changes_most: int = CHANGES_MOST,
) -> Explanation:
    """Explain a time of a flow; see `RunResult.why`.

    If a key changes suddenly more than `changes_most` times, one happening covers all its changes.
    """
    check(result.scenario, flow, at=at, start=start, end=end)
    start_s, end_s = _window(result, flow, at, start, end)
    return _Story(with_series(result, *SERIES), flow, start_s, end_s, changes_most).tell()


def with_series(result: RunResult, *series: str, progress: Wish = None) -> RunResult:
    """Return the result if it has these series; otherwise run the scenario again with them."""
    if all(name in result.recorded for name in series):
        return result
    refuse_absent(result.scenario, *series)
    return result.rerun(series=series, progress=progress)


def check(
    scenario: Scenario,
    flow: str | None,
    *,
    at: float | None = None,
    start: float | None = None,
    end: float | None = None,
) -> None:
    """Refuse questions that no run of the scenario can answer, before it runs.

    Raises
    ------
    BentpipeError
        An unknown flow, a time outside the run, or a time without a flow.
    """
    from bentpipe.entries import find_entries

    times = {name: value for name, value in (("at", at), ("start", start), ("end", end)) if value is not None}
    # An entry with a count is several flows. Only the whole run takes all of them.
    entries = [] if times else find_entries(scenario.to_dict()["flow"]).values()
    known = [*scenario.flow_names, *(scenario.subflow_names if times else []), *entries]
    if flow is not None and arguments.text("flow", flow) not in known:
        raise BentpipeError(unknown(flow, "a flow of this scenario", dict.fromkeys(known)))
    if not times:
        return
    latest = scenario.duration_s
    for name, value in times.items():
        if not 0 <= arguments.number(name, value) <= latest:
            raise BentpipeError(
                f"{{{name} = }} is outside of the run\n  expected a time from 0 to {latest:g} s", **_spell_times(times)
            )
    given = " and ".join(f"{{{name} = }}" for name in times)
    if "at" in times and len(times) > 1:
        raise BentpipeError(f"{given} exclude each other\n  expected one instant, or two ends", **_spell_times(times))
    if len(times) == 1 and "at" not in times:
        other = "end" if "start" in times else "start"
        raise BentpipeError(
            f"{given} is only one end of a window\n  expected {{{other}}}, too, or {{at}} alone",
            **{**_spell_times(times), other: None, "at": None},
        )
    if start is not None and end is not None and not start < end:
        raise BentpipeError(
            "{start = } is not before {end = }\n  expected an end after the start", **_spell_times(times)
        )
    if flow is None and len(scenario.flow_names) > 1:
        raise BentpipeError(
            f"the scenario has several flows\n  expected the name of one: {', '.join(scenario.flow_names[:8])}"
        )


def _spell_times(times: Mapping[str, float]) -> dict[str, Word]:
    return {name: Word(f"{value:g} s") for name, value in times.items()}


def refuse_absent(scenario: Scenario, *series: str) -> None:
    """Refuse a result that was saved without a class, because its scenario cannot run again."""
    absent = {name: cls for name, cls in scenario.senders.items() if issubclass(cls, Absent)}
    if not absent:
        return
    raise BentpipeError(
        f"the saved run lacks series, and cannot be run again without {join_parts([*absent])}\n"
        "  expected a run saved with {series}, or loaded with {classes}",
        series=list(series),
        classes=[f"FILE.py:{name}" for name in absent],
    )


def _window(
    result: RunResult, flow: str, at: float | None, start: float | None, end: float | None
) -> tuple[float, float]:
    latest = result.simulated_s
    if at is not None:
        half = max(LEAST_S, 4 * median_rtt_s(result, flow))
        if 0 <= at <= latest:
            return max(0.0, at - half), min(latest, at + half)
        start = end = at
    assert start is not None
    assert end is not None
    if not 0 <= start < end <= latest:
        asked = f"at {at:g} s" if at is not None else f"from {start:g} s to {end:g} s"
        raise BentpipeError(f"{asked}\n  expected a time from 0 to {latest:g} s, within the run")
    return start, end


class _Story:
    """The happenings of a window, and their summary."""

    def __init__(self, result: RunResult, flow: str, start_s: float, end_s: float, changes_most: int) -> None:
        self.result, self.flow, self.start_s, self.end_s = result, flow, start_s, end_s
        self.changes_most = changes_most
        self.content = result.scenario.to_dict()
        self.paths = list_subflows(result.scenario, flow)
        self.losses = self._join_paths("losses")
        self.decisions = self._join_paths("decisions")
        self.rtt_s = median_rtt_s(result, flow)

    def _join_paths(self, name: str) -> pl.DataFrame:
        """Return the rows of the flow and of its paths, in order of time."""
        rows = [self.result.series(name, each) for each in (self.flow, *self.paths)]
        return pl.concat(rows).sort("time_s", maintain_order=True) if self.paths else rows[0]

    def _name_path(self, flow: str) -> str:
        """Name the path of a happening, if the flow has several."""
        return f"{flow.rpartition('.')[2]}: " if flow in self.paths else ""

    def tell(self) -> Explanation:
        # At one instant, possible causes come first. A sender learns of a loss later.
        parts = (
            self._changes(),
            self._outages(),
            self._profiles(),
            self._decisions(),
            self._retransmissions(),
            self._reinjections(),
            self._losses(),
            self._waits(),
            (Happening(*told) for told in modes.tell(self.result, self.flow, self.start_s, self.end_s, self.rtt_s)),
        )
        happenings = sorted((each for part in parts for each in part), key=lambda each: each.time_s)
        return Explanation(self.flow, self.start_s, self.end_s, tuple(happenings), self._summary())

    def _within(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.filter(pl.col("time_s").is_between(self.start_s, self.end_s))

    def _changes(self) -> Iterator[Happening]:
        for change in self.content.get("at", ()):
            time_s = read_seconds(change["time"])
            if not self.start_s <= time_s <= self.end_s:
                continue
            said = [f"{_first(change[key])} {what}" for key, what in CHANGES.items() if change.get(key)]
            said += [f"{each['from']} hands over to {each['to']}" for each in change.get("handover", ())]
            said += self._flows([each["flow"] for each in change.get("install", ())], "gets another route")
            said += self._flows(change.get("withdraw", ()), "has no route any more")
            numbers = {key: len(change[key]) for key in ("up", "down", "install", "withdraw") if change.get(key)}
            yield Happening(time_s, "handover", "handover: " + "; ".join(said), numbers)

    def _flows(self, names: Sequence[str], what: str) -> list[str]:
        """Name this flow or the first one, and count the others."""
        first = self.flow if self.flow in names else next(iter(names), "")
        others = len({*names} - {first})
        also = f", as {formatting.count(others, 'other flow')}" if others else ""
        return [f"{first} {what}{also}"] if first else []

    def _sides(self, key: str) -> Iterator[tuple[str, Any]]:
        """List the values of a key of each link.

        A link with equal values in both directions is listed once, by its name.
        """
        for name, link in self.content["link"].items():
            there, back = (link.get(side, {}).get(key, link.get(key)) for side in ("forward", "reverse"))
            if there == back:
                yield name, there
            else:
                yield from ((f"{name}.forward", there), (f"{name}.reverse", back))

    def _outages(self) -> Iterator[Happening]:
        for name, outage in self._sides("outage"):
            if not isinstance(outage, dict) or "spans" not in outage:
                continue
            period_s = read_seconds(outage["every"]) if "every" in outage else 0.0
            for first, last in outage["spans"]:
                length_s = read_seconds(last) - read_seconds(first)
                for begin_s in self._list_starts(read_seconds(first), period_s, length_s):
                    text = f"{name} is down for {formatting.quantity(length_s, 's')}"
                    yield Happening(begin_s, "outage", text, {"duration_s": length_s})

    def _list_starts(self, first_s: float, period_s: float, length_s: float = 0.0) -> Iterator[float]:
        """List the starts of events of this length that overlap the window, repeated with a period."""
        begin_s = first_s
        if period_s and begin_s + length_s < self.start_s:
            begin_s += period_s * int((self.start_s - begin_s) // period_s)
        while begin_s <= self.end_s:
            if begin_s + length_s >= self.start_s:
                yield begin_s
            if not period_s:
                break
            begin_s += period_s

    def _profiles(self) -> Iterator[Happening]:
        """List delays, rates and error rates that change by a list of points."""
        for key, what in (("delay", "the delay"), ("rate", "the rate"), ("error", "the error rate")):
            for name, profile in self._sides(key):
                if isinstance(profile, dict) and isinstance(profile.get("points"), list):
                    yield from self._steps(f"{what} of {name}", profile)

    def _steps(self, what: str, profile: Mapping[str, Any]) -> Iterator[Happening]:
        points = [(read_seconds(time), value) for time, value in profile["points"]]
        period_s = read_seconds(profile["every"]) if "every" in profile else 0.0
        # The value at the start changes when the list begins again.
        before = [points[-1 if period_s else 0], *points[:-1]]
        steps = [
            (at_s, old, new)
            for (first_s, new), (_, old) in zip(points, before, strict=True)
            for at_s in self._list_starts(first_s, period_s)
            if old != new and at_s > 0
        ]
        steps.sort(key=lambda step: step[0])
        is_gradual = profile.get("interpolate") == "linear"
        if len(steps) > (CHANGES_MOST if is_gradual else self.changes_most):
            (first_s, *_), (last_s, *_) = steps[0], steps[-1]
            numbers = {"changes": len(steps), "until_s": last_s}
            yield Happening(first_s, "change", f"{what} changes {len(steps)} times, until {last_s:.4f} s", numbers)
            return
        for at_s, old, new in steps:
            numbers = {"before": read_number(old), "after": read_number(new)}
            said = f"is {new}, and changes from here on" if is_gradual else f"changes from {old} to {new}"
            yield Happening(at_s, "change", f"{what} {said}", numbers)

    def _losses(self) -> Iterator[Happening]:
        """List losses. Losses of one kind within a round trip are one happening."""
        groups: list[dict[str, Any]] = []
        latest: dict[tuple[str, str, bool], dict[str, Any]] = {}
        for row in self._within(self.losses).iter_rows(named=True):
            key = (row["where"], row["cause"], row["data_bytes"] > 0)
            last = latest.get(key)
            if last is not None and row["time_s"] - last["end"] <= max(self.rtt_s, 1e-3):
                last["end"], last["count"] = row["time_s"], last["count"] + 1
            else:
                latest[key] = {"key": key, "time": row["time_s"], "end": row["time_s"], "count": 1}
                groups.append(latest[key])
        for group in groups:
            where, cause, has_data = group["key"]
            data = "with data" if has_data else "without data"
            what = f"{formatting.count(group['count'], 'packet')} {data}"
            until = f", until {group['end']:.4f} s" if group["end"] > group["time"] else ""
            numbers = {"packets": group["count"], "until_s": group["end"]}
            yield Happening(group["time"], "loss", f"lost: {what} {self._place(where, cause)}{until}", numbers)

    def _place(self, where: str, cause: str) -> str:
        """Write the place and cause of a loss. Bit errors occur on a link, and the packet ends at the next node."""
        why = CAUSES.get(cause, cause)
        if cause != "bit-error":
            return f"at {where}: {why}"
        corrupting = self.result.links.filter(pl.col("corrupted_packets") > 0)["link"].to_list()
        here = [name for name in corrupting if self._end(name) == where] or corrupting
        return f"at {where}: {why} on {' or '.join(here)}" if here else f"at {where}: {why}"

    def _end(self, direction: str) -> str | None:
        """Return the node at the end of a link's direction, if the entry is a link."""
        name, _, side = direction.rpartition(".")
        link = self.content["link"].get(name, {})
        end: str | None = link.get("to" if side == "forward" else "from")
        return end

    def _lost_before(self, flow: str, offset: float, time_s: float) -> tuple[str, float] | None:
        """Return the cause and time of the loss of the data at this offset; None if the data was not lost."""
        hit = self.losses.filter(
            (pl.col("time_s") < time_s)
            & (pl.col("flow") == flow)
            & (pl.col("offset_bytes") <= offset)
            & (pl.col("offset_bytes") + pl.col("data_bytes") > offset)
        )
        if hit.is_empty():
            return None
        row = hit.row(-1, named=True)
        lost_s = row["time_s"]
        return f", because its packet was lost {self._place(row['where'], row['cause'])}, at {lost_s:.4f} s", lost_s

    def _nothing_lost(self, time_s: float) -> str:
        since_s = max(0.0, time_s - max(3.0, 4 * self.rtt_s))
        acks = self.losses.filter(pl.col("time_s").is_between(since_s, time_s) & (pl.col("data_bytes") == 0)).height
        if acks:
            without = f"{formatting.count(acks, 'packet')} without data, such as ACKs, since {since_s:.4f} s"
            return f"; no packet of it was lost, but {without}"
        return "; no packet of it was lost: the answer came late or out of order"

    def _decisions(self) -> Iterator[Happening]:
        for row in self._within(self.decisions).iter_rows(named=True):
            time_s, event, value = row["time_s"], row["event"], row["value"]
            if event not in EVENTS:
                continue
            kind, text = EVENTS[event]
            numbers: dict[str, float] = {}
            if event in ("fast_retransmit", "timeout"):
                numbers["offset_bytes"] = value
                lost = self._lost_before(row["flow"], value, time_s)
                if lost is not None:
                    numbers["lost_s"] = lost[1]
                text += f" for the data at {value}{lost[0] if lost else self._nothing_lost(time_s)}"
            elif event in ("reduction", "no_reduction"):
                said, numbers = self._describe_window(row["flow"], time_s)
                text += f"; {said}"
            elif event == "transfer":
                numbers["size_bytes"] = value
            yield Happening(time_s, kind, self._name_path(row["flow"]) + text, numbers)

    def _retransmissions(self) -> Iterator[Happening]:
        """List retransmissions. Retransmissions within a round trip are one happening."""
        for flow in (self.flow, *self.paths):
            for times in self._bursts(flow, "retransmission"):
                until = f", until {times[-1]:.4f} s" if times[-1] > times[0] else ""
                text = f"{self._name_path(flow)}{formatting.count(len(times), 'segment')} retransmitted{until}"
                yield Happening(times[0], "retransmission", text, {"segments": len(times), "until_s": times[-1]})

    def _reinjections(self) -> Iterator[Happening]:
        """List data given to a second path. Those within a round trip are one happening."""
        for flow in self.paths:
            for times in self._bursts(flow, "reinjected"):
                what = formatting.count(len(times), "segment")
                text = f"{self._name_path(flow)}gets {what} that another path carries and that hold up the data"
                yield Happening(times[0], "reinjection", text, {"segments": len(times), "until_s": times[-1]})

    def _bursts(self, flow: str, event: str) -> list[list[float]]:
        """Return the times of an event of a flow or path. Times within a round trip are one burst."""
        table = self._within(self.decisions).filter((pl.col("event") == event) & (pl.col("flow") == flow))
        groups: list[list[float]] = []
        for time_s in table["time_s"]:
            if groups and time_s - groups[-1][-1] <= max(self.rtt_s, 1e-3):
                groups[-1].append(time_s)
            else:
                groups.append([time_s])
        return groups

    def _describe_window(self, flow: str, time_s: float) -> tuple[str, dict[str, float]]:
        """Describe the change of the congestion window at a time, in words and numbers."""
        curve = self.result.curve("cwnd_bytes", flow)
        before = curve.find_value(time_s - 1e-9)
        after = curve.within((time_s, time_s + max(self.rtt_s, 1e-3)))
        if time_s > self.result.recorded_until("cwnd_bytes"):
            return "the congestion window was not recorded here", {}
        if before is None or not len(after.least):
            return "the congestion window before is unknown", {}
        least = float(after.least.min())
        numbers = {"cwnd_before_bytes": before, "cwnd_after_bytes": least}
        old, new = (formatting.quantity(each, "B") for each in (before, least))
        column_s = self.result.coverage.get("cwnd_bytes", {}).get("column_s") or 0.0
        about = f", from columns of {formatting.quantity(column_s, 's')}" if column_s > max(self.rtt_s, 1e-3) else ""
        if least >= before:
            return f"the congestion window stays at {old}{about}", numbers
        return f"the congestion window falls from {old} to {new} in a round trip{about}", numbers

    def _spans(self) -> list[tuple[float, float, int]]:
        """List the limits of the sender in the window: start, end, number of the limit."""
        table = self.result.series("limited_by", self.flow)
        if table.is_empty():
            # Datagrams never wait.
            return []
        times, limits = table["time_s"].to_list(), [int(limit) for limit in table["limited_by"]]
        life = self.result.find_life(self.flow)
        ends = [*times[1:], min(life[1] if life else 0.0, self.result.recorded_until("limited_by"))]
        spans = zip(times, ends, limits, strict=True)
        cut = ((max(begin, self.start_s), min(end, self.end_s), limit) for begin, end, limit in spans)
        return [(begin, end, limit) for begin, end, limit in cut if end > begin]

    def _waits(self) -> Iterator[Happening]:
        """List times of at least a round trip in which the application or the receiver limited the sender."""
        for begin_s, end_s, limit in self._spans():
            lasted = f"for {formatting.quantity(end_s - begin_s, 's')}"
            if end_s - begin_s < max(self.rtt_s, 1e-3):
                continue
            if limit == LIMITS.index("the application, which had nothing to send"):
                text = f"the application had nothing to send {lasted}"
            elif limit == LIMITS.index("the receiver's window"):
                text = f"the receiver's window held the sender back {lasted}{self._proxies()}"
            elif limit == LIMITS.index("the send buffer"):
                text = f"the send buffer was full {lasted}"
            else:
                continue
            yield Happening(begin_s, "wait", text, {"duration_s": end_s - begin_s})

    def _proxies(self) -> str:
        """Name the proxies. A proxy advertises its own window, so its buffer was full."""
        found = self._on_the_way()
        return f" (the buffer of {' or '.join(found)} was full)" if found else ""

    def _on_the_way(self) -> list[str]:
        """Return the proxies at the nodes of the flow's path."""
        nodes: Mapping[str, Any] = self.content.get("node", {})
        entry, _, subflow = self.flow.rpartition(".")
        flow: Mapping[str, Any] = self.content["flow"].get(self.flow) or self.content["flow"][entry]["subflow"][subflow]
        if self.paths:
            # No path has a proxy: a proxy knows one path only.
            return []
        passed = {name for key in ("route", "reverse_route") for name in flow.get(key, ())} or set(nodes)
        return [
            f"{each['kind']} at {name}"
            for name, node in nodes.items()
            for each in node.get("middlebox", ())
            if name in passed and each["kind"] in PROXIES
        ]

    def _summary(self) -> str:
        lost = self._within(self.losses).filter(pl.col("data_bytes") > 0)
        by_congestion = lost.filter(pl.col("cause").is_in(CONGESTION)).height
        events = self._within(self.decisions)["event"].to_list()
        said = []
        if lost.is_empty():
            said.append("lost no data")
        else:
            said.append(f"lost {by_congestion} packets to congestion and {lost.height - by_congestion} on links")
        for event, what in (("reduction", "reduced its window"), ("timeout", "waited for its retransmission timer")):
            if event in events:
                said.append(f"{what} {formatting.count(events.count(event), 'time')}")
        text = f"From {self.start_s:g} s to {self.end_s:g} s {self.flow} {join_parts(said)}."
        if proxies := self._on_the_way():
            text += f" {join_parts(proxies)} repairs the losses behind it."
        shares: dict[int, float] = {}
        for begin_s, end_s, limit in self._spans():
            shares[limit] = shares.get(limit, 0.0) + end_s - begin_s
        whole = sum(shares.values())
        told = sorted((each for each in shares if shares[each] >= SHARE_LEAST * whole), key=lambda each: -shares[each])
        if self.flow in self.result.datagrams["flow"]:
            text += " It sends datagrams, which wait for no window and are not repeated."
        if told:
            limits = join_parts([f"{LIMITS[each]} ({100 * shares[each] / whole:.0f} % of the time)" for each in told])
            text += f" It was limited by {limits}."
        return text + describe_gaps(self.result, SERIES, self.end_s)


def _first(names: Sequence[str]) -> str:
    """List the first names, and count the others."""
    others = len(names) - CHANGES_MOST
    return ", ".join(names[:CHANGES_MOST]) + (f" and {formatting.count(others, 'other')}" if others > 0 else "")
