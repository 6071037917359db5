"""Divides the time of a flow in a window into parts that add up to the window.

The series `limited_by` names the limit of the sender at each instant. If the limit is the congestion window, the time
is divided by the use of the slowest link on the flow's route, from the series `carried_bps`: in use or idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe import arguments, formatting
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.paths import list_subflows
from bentpipe.experiment.why.explanation import with_series

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bentpipe.experiment.single.run_result import RunResult

    Values = NDArray[np.float64]

SERIES = ("limited_by", "carried_bps")
"""Series of the parts. A result that has both is not run again."""
PARTS = {
    "link-busy": "the slowest link of the route was in use",
    "path-not-filled": "the congestion window was too small to fill the path",
    "recovery": "losses were repaired",
    "silence": "the sender waited for its retransmission timer",
    "sender-limited": "the application had nothing to send, or the send buffer was full",
    "receiver-limited": "the receiver's window was full",
}
"""The parts of a window of a transport, with their meanings."""
OF_DATAGRAMS = {
    "link-busy": "the slowest link of the route was in use",
    "path-free": "the slowest link of the route was free",
}
"""The parts of a window of datagrams, and of a flow over QUIC, whose stack does not report what limits it."""
OF_LIMITS = ("sender-limited", "", "", "receiver-limited", "sender-limited", "sender-limited", "recovery", "silence")
"""Part of each limit, by its number in `limited_by`; empty if links decide."""


@dataclass(frozen=True)
class SpentPart:
    """A part of a window.

    Attributes
    ----------
    part : str
        One of `PARTS`, or of `OF_DATAGRAMS`.
    time_s : float
        Total seconds in the window.
    share : float
        Share of the window, 0 to 1.
    longest_s : (float, float) or None
        Begin and end of the longest period in which this part has the most time; None without one.
    """

    part: str
    time_s: float
    share: float
    longest_s: tuple[float, float] | None

    @property
    def what(self) -> str:
        """Describe the part in plain words."""
        return {**PARTS, **OF_DATAGRAMS}[self.part]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        longest = None if self.longest_s is None else list(self.longest_s)
        return {"part": self.part, "what": self.what, "time_s": self.time_s, "share": self.share, "longest_s": longest}


@dataclass(frozen=True, repr=False)
class TimeSpent:
    """The time of a flow in a window.

    Attributes
    ----------
    flow : str
    start_s, end_s : float
        The part of the window in which the flow lived, simulated seconds.
    parts : tuple of SpentPart
        All of `PARTS`, or of `OF_DATAGRAMS`, in that order. Their times add up to `end_s` minus `start_s`.
    """

    flow: str
    start_s: float
    end_s: float
    parts: tuple[SpentPart, ...]

    def __getitem__(self, part: str) -> SpentPart:
        """Return a part by its name."""
        for each in self.parts:
            if each.part == part:
                return each
        raise BentpipeError(unknown(part, "a part of the time", [each.part for each in self.parts]))

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain data, fit for JSON."""
        window = {"flow": self.flow, "start_s": self.start_s, "end_s": self.end_s}
        return {**window, "parts": [each.to_dict() for each in self.parts]}

    @property
    def shown_parts(self) -> list[tuple[str, str, str]]:
        """List time, share and words of each part that took time, the largest first."""
        there = sorted((each for each in self.parts if each.time_s > 0), key=lambda each: -each.time_s)
        return [(formatting.quantity(each.time_s, "s"), formatting.percent(each.share), each.what) for each in there]

    def __str__(self) -> str:
        head = f"{self.flow}, {self.start_s:g} s to {self.end_s:g} s"
        return "\n".join([head, *(f"{time:>10}  {share:>5}  {what}" for time, share, what in self.shown_parts)])

    def __repr__(self) -> str:
        most = max(self.parts, key=lambda each: each.time_s)
        largest = f"{most.part} {formatting.percent(most.share)}"
        return f"<TimeSpent of {self.flow}, {self.start_s:g} s to {self.end_s:g} s: {largest}>"

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        head = f"{self.flow}, {self.start_s:g} s to {self.end_s:g} s"
        return notebook.page(head, [(["time", "share", "part"], [list(row) for row in self.shown_parts], 0)])


class Piece(NamedTuple):
    """A period in which neither the limit nor the use of the path changes."""

    begin_s: float
    end_s: float
    part: str
    """One of `PARTS`; empty if the use of links decides."""
    busy: float
    """Share of the time in which the slowest link is in use."""
    idle: str
    """Part (one of `PARTS` or `OF_DATAGRAMS`) for the time in which the slowest link is idle."""


def time_spent(
    result: RunResult, start_s: float | None = None, end_s: float | None = None, flow: str | None = None
) -> TimeSpent:
    """Divide the time of a flow; see `RunResult.time_spent`."""
    flows = result.scenario.flow_names
    if flow is None and len(flows) > 1:
        raise BentpipeError(f"the scenario has several flows\n  expected the name of one: {', '.join(flows[:8])}")
    known = [*flows, *result.scenario.subflow_names]
    flow = known[0] if flow is None else arguments.text("flow", flow)
    if flow not in known:
        raise BentpipeError(unknown(flow, "a flow of this scenario", known))
    latest = result.simulated_s
    begin = 0.0 if start_s is None else arguments.number("start_s", start_s)
    end = latest if end_s is None else arguments.number("end_s", end_s)
    if not 0 <= begin < end <= latest:
        raise BentpipeError(
            f"start_s = {begin:g}, end_s = {end:g}\n  expected an end after the start, and 0 to {latest:g} s"
        )
    life = result.find_life(flow) or (latest, latest)
    begin, end = (min(max(each, life[0]), life[1]) for each in (begin, end))
    result = with_series(result, *SERIES)
    limits = result.series("limited_by", flow)
    edges, busy = _use(result, flow)
    is_of_links = flow in result.datagrams["flow"] or flow in result.quic["flow"]
    times = None if is_of_links else limits["time_s"].to_list()
    return divide_window(flow, begin, end, times, limits["limited_by"].to_list(), edges, busy)


def divide_window(
    flow: str,
    start_s: float,
    end_s: float,
    times_s: Sequence[float] | None,
    limits: Sequence[float],
    edges_s: Sequence[float],
    busy: Sequence[float],
) -> TimeSpent:
    """Divide a window into its parts, from the limits of a sender and the use of its path.

    Parameters
    ----------
    times_s, limits : sequence of float
        The series `limited_by` of the flow. Before its first row, the application had nothing to send. `times_s` is
        None for datagrams and flows over QUIC: only the use of links is known.
    edges_s, busy : sequence of float
        Ends of intervals, and the share of each in which the slowest link was in use. The last share continues.
    """
    pieces = list(_pieces(start_s, end_s, times_s, limits, edges_s, busy))
    times = dict.fromkeys(OF_DATAGRAMS if times_s is None else PARTS, 0.0)
    for piece in pieces:
        for part, time_s in _times(piece):
            times[part] += time_s
    # The largest part takes the rounding error, so the parts add up to exactly the window.
    largest = max(times, key=lambda part: times[part])
    whole = end_s - start_s
    times[largest] = max(0.0, whole - sum(time_s for part, time_s in times.items() if part != largest))
    longest = _longest(pieces)
    parts = (
        SpentPart(part, time_s, time_s / whole if whole else 0.0, longest.get(part)) for part, time_s in times.items()
    )
    return TimeSpent(flow, start_s, end_s, tuple(parts))


def _pieces(
    start_s: float,
    end_s: float,
    times_s: Sequence[float] | None,
    limits: Sequence[float],
    edges_s: Sequence[float],
    busy: Sequence[float],
) -> Iterator[Piece]:
    has_no_limits, times_s = times_s is None, times_s or ()
    cuts = sorted({start_s, end_s, *(cut for cut in (*times_s, *edges_s) if start_s < cut < end_s)})
    limit_at, use_at = -1, 0
    for begin, end in pairwise(cuts):
        while limit_at + 1 < len(times_s) and times_s[limit_at + 1] <= begin:
            limit_at += 1
        while use_at < len(edges_s) and edges_s[use_at] <= begin:
            use_at += 1
        part = OF_LIMITS[int(limits[limit_at])] if limit_at >= 0 else "" if has_no_limits else "sender-limited"
        use = busy[min(use_at, len(busy) - 1)] if len(busy) else 0.0
        yield Piece(begin, end, part, use, "path-free" if has_no_limits else "path-not-filled")


def _times(piece: Piece) -> list[tuple[str, float]]:
    length_s = piece.end_s - piece.begin_s
    if piece.part:
        return [(piece.part, length_s)]
    return [("link-busy", length_s * piece.busy), (piece.idle, length_s * (1 - piece.busy))]


def _longest(pieces: Sequence[Piece]) -> dict[str, tuple[float, float]]:
    """Find the longest run of pieces that are mostly of each part."""
    found: dict[str, tuple[float, float]] = {}
    begin_s, before = 0.0, ""
    for piece in pieces:
        part = max(_times(piece), key=lambda each: each[1])[0]
        if part != before:
            begin_s, before = piece.begin_s, part
        if part not in found or piece.end_s - begin_s > found[part][1] - found[part][0]:
            found[part] = (begin_s, piece.end_s)
    return found


def _use(result: RunResult, flow: str) -> tuple[list[float], list[float]]:
    """Return ends of intervals, and the share of each in which the busiest link of the flow's routes was in use."""
    import numpy as np

    network = result.scenario.network()
    profiles = {link["link"]: link["rate_bps"] for link in network["links"]}
    ways = [result.find_routes(way) for way in list_subflows(result.scenario, flow) or [flow]]
    carried = result.series("carried_bps")
    edges: Values = carried["time_s"].unique().sort().to_numpy()
    if not len(edges):
        # The run is shorter than an interval.
        last = [link for routes in ways for link in routes[-1][1]]
        shares = [result.links.row(by_predicate=_is(link), named=True)["utilisation"] for link in last]
        return [], [max(shares, default=0.0)]
    begins = np.concatenate(([0.0], edges[:-1]))
    busy = np.zeros(len(edges))
    for link in dict.fromkeys(link for routes in ways for _, route in routes for link in route):
        share = _mean_rates(result, link, begins, edges) * (edges - begins) / _capacity(profiles[link], begins, edges)
        utilisation = result.links.row(by_predicate=_is(link), named=True)["utilisation"] or 0.0
        in_use_s = float((share * (edges - begins)).sum())
        # The table of links includes framing and repetitions, which the bytes do not show.
        share = share * (utilisation * result.simulated_s / in_use_s) if in_use_s > 0 else share
        is_on = np.any([_is_on(routes, link, begins) for routes in ways], axis=0)
        busy = np.where(is_on, np.maximum(busy, np.minimum(share, 1.0)), busy)
    return edges.tolist(), busy.tolist()


def _mean_rates(result: RunResult, link: str, begins: Values, ends: Values) -> Values:
    """Return the mean of `carried_bps` in each interval. A series that was thinned has rows at other times."""
    import numpy as np

    rows = result.series("carried_bps", link=link)
    times = np.concatenate(([0.0], rows["time_s"].to_numpy()))
    bits = np.concatenate(([0.0], np.cumsum(rows["carried_bps"].to_numpy() * np.diff(times))))
    return np.asarray((np.interp(ends, times, bits) - np.interp(begins, times, bits)) / (ends - begins))


def _is(link: str) -> Any:
    import polars as pl

    return pl.col("link") == link


def _is_on(routes: Sequence[tuple[float, Sequence[str]]], link: str, begins: Values) -> NDArray[np.bool_]:
    """Whether the route uses the link in each interval, by the begin of the interval."""
    import numpy as np

    there = np.array([link in route for _, route in routes])
    at = np.searchsorted([time_s for time_s, _ in routes], begins, side="right") - 1
    return np.asarray(there[at])


def _capacity(profile: Mapping[str, Any], begins: Values, ends: Values) -> Values:
    """Return the bits that a link can carry in each interval.

    A rate of 0 for a whole interval counts as one bit, with no load.
    """
    import numpy as np

    return np.maximum(_carriable(profile, ends) - _carriable(profile, begins), 1.0)


def _carriable(profile: Mapping[str, Any], until: Values) -> Values:
    """Count the bits from the start until each instant."""
    import numpy as np

    times, values, period_s = np.array(profile["times_s"]), np.array(profile["values"]), profile["period_s"]
    following = np.append(values[1:], values[-1]) if profile["linear"] else values
    lengths = np.diff(times)
    sums = np.concatenate(([0.0], np.cumsum(lengths * (values[:-1] + following[:-1]) / 2)))
    slopes = np.append((following[:-1] - values[:-1]) / np.where(lengths > 0, lengths, 1.0), 0.0)

    def within(t: Values) -> Values:
        at = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 1)
        since = t - times[at]
        return np.asarray(sums[at] + values[at] * since + slopes[at] * since**2 / 2)

    if period_s is None:
        return within(until)
    turns = np.floor(until / period_s)
    return np.asarray(turns * within(np.array([period_s]))[0] + within(until - turns * period_s))
