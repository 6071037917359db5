"""Runs the 22 test cases of the BBR draft (draft-ietf-ccwg-bbr, appendix "BBR Example Test Cases", August 2026).

    python -m validation.bbr                       # a minute with one process
    python -m tools.docs bbr                       # after that: the page

The verdicts and figures go into `validation/data/bbr.json`. Instants at which a case changes the path are taken from a
first run without the change: runs are deterministic until then.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bentpipe as bp
from validation import kept

if TYPE_CHECKING:
    from collections.abc import Callable

PATH = Path(__file__).resolve().parent / "bbr.toml"
VERSIONS = ("bbr3", "bbr2", "bbr1")
SERIES = [
    *("cc_state", "cc_pacing_gain", "cc_cwnd_gain", "cc_bandwidth_bps", "cc_min_rtt_s", "cc_full_bw_reached"),
    *("cc_inflight_longterm_bytes", "cc_inflight_shortterm_bytes", "cc_bw_shortterm_bps", "cc_extra_acked_bytes"),
    *("cc_values", "cwnd_bytes", "flight_size_bytes", "pacing_rate_bps", "goodput_bps", "decisions"),
]
SEGMENT = 1448
PAYLOAD = SEGMENT / 1500
"""Payload of a full packet of 1500 bytes, with timestamps."""
HOLDS, DIFFERS, NONE, OPEN = "holds", "differs", "does not apply", "not judged"

WAY = "link.way.forward"
LIMITED = {"flow.one.app": {"kind": "records", "size": "5 kB", "interval": "1 ms"}, f"{WAY}.rate": "100 Mbit/s"}
"""An application that sends 40 of 100 Mbit/s."""
BURSTS = {
    f"{WAY}.rate": "20 Mbit/s",
    f"{WAY}.queue": "8 bdp",
    "link.way.reverse.delay": {"points": [["0 s", "20 ms"], ["60 ms", "80 ms"]], "every": "120 ms"},
}
"""ACKs that arrive in bursts: the return path is 60 ms longer in every second slot of 60 ms."""


@dataclass(frozen=True)
class Span:
    """A stay in a state."""

    state: str
    start: float
    end: float

    @property
    def length(self) -> float:
        """Seconds."""
        return self.end - self.start


class Run:
    """A run of the path with the values inside the congestion control."""

    def __init__(self, version: str, sets: dict[str, Any], seconds: float) -> None:
        scenario = bp.load(PATH, {"tcp.cc": version, "duration": f"{seconds:.6f} s", **sets})
        self.seconds = seconds
        self.result = bp.run(scenario, series=SERIES)
        self.flow = self.result.flows.row(0, named=True)

    @cached_property
    def spans(self) -> list[Span]:
        """The stays in states, in order of time."""
        rows = list(self.result.series("cc_state").select("time_s", "name").iter_rows())
        return [Span(name, start, end) for (start, name), (end, _) in pairwise([*rows, (self.seconds, "")])]

    def first(self, state: str, after: float = 0.0) -> Span:
        """The first stay in a state that begins at `after` or later."""
        return next(span for span in self.spans if span.state == state and span.start >= after)

    def next(self, span: Span) -> Span:
        """The stay after another."""
        return self.spans[self.spans.index(span) + 1]

    def column(self, name: str) -> tuple[list[float], list[float | None]]:
        """Times and values of a series; names without `_` of a unit are those of `cc_values`."""
        if name in SERIES:
            table, column = self.result.series(name), name
        else:
            table, column = self.result.series("cc_values").filter(name=name), "cc_values"
        return table["time_s"].to_list(), table[column].to_list()

    def at(self, name: str, time: float) -> float:
        """Value at an instant; NaN if it is missing."""
        times, values = self.column(name)
        place = bisect_right(times, time + 1e-12) - 1
        value = values[place] if place >= 0 else None
        return math.nan if value is None else float(value)

    def before(self, name: str, time: float) -> float:
        """Value before an instant."""
        return self.at(name, time - 1e-9)

    def within(self, name: str, start: float, end: float) -> list[float]:
        """Values in a time, that at its start among them."""
        times, values = self.column(name)
        found = [value for at, value in zip(times, values, strict=True) if start < at <= end and value is not None]
        first = self.at(name, start)
        return found if math.isnan(first) else [first, *found]

    def when(self, name: str, start: float, holds: Callable[[float], bool]) -> float:
        """First instant from `start` on when a value fulfils a condition; NaN: never."""
        times, values = self.column(name)
        if not math.isnan(self.at(name, start)) and holds(self.at(name, start)):
            return start
        found = (
            at for at, value in zip(times, values, strict=True) if at > start and value is not None and holds(value)
        )
        return next(found, math.nan)

    def goodput(self, start: float, end: float) -> float:
        """Mean goodput in a time, bit/s."""
        table = self.result.series("goodput_bps")
        found = [value for at, value in table.select("time_s", "goodput_bps").iter_rows() if start < at <= end]
        return sum(found) / len(found)

    def bdp(self, time: float) -> float:
        """Estimated bandwidth times least round-trip time, bytes."""
        bw, short = self.at("cc_bandwidth_bps", time), self.at("cc_bw_shortterm_bps", time)
        return (bw if math.isnan(short) else min(bw, short)) / 8 * self.at("cc_min_rtt_s", time)


Verdict = tuple[str, str]
"""Verdict, and the figures behind it."""


def verdict(holds: bool, said: str) -> Verdict:
    """Returns the verdict of a condition."""
    return (HOLDS if holds else DIFFERS), said


@cache
def greedy(version: str) -> Run:
    """A greedy flow on the unchanged path, with a queue in which nothing is lost."""
    return Run(version, {f"{WAY}.queue": "8 bdp"}, 30)


@cache
def limited(version: str) -> Run:
    """A flow that its application limits from the start."""
    return Run(version, LIMITED, 20)


def grown(version: str, more: dict[str, Any] | None = None) -> Run:
    """A flow that the path limits for two seconds and the application after that."""
    rate = {"points": [["0 s", "10 Mbit/s"], ["2 s", "100 Mbit/s"]]}
    return Run(version, {**LIMITED, f"{WAY}.rate": rate, f"{WAY}.queue": "unlimited", **(more or {})}, 30)


def errors(start: float, seconds: float = 0.2) -> dict[str, Any]:
    """A tenth of the packets is lost for a time."""
    points = [["0 s", 0.0], [f"{start:.6f} s", 0.1], [f"{start + seconds:.6f} s", 0.0]]
    return {f"{WAY}.error": {"kind": "profile", "points": points}}


def step(at: float, before: str, after: str) -> dict[str, Any]:
    """Another link rate from an instant on."""
    return {f"{WAY}.rate": {"points": [["0 s", before], [f"{at:.6f} s", after]]}}


def startup_plateau(version: str) -> Verdict:
    run = greedy(version)
    drain = run.first("drain")
    share = run.at("cc_bandwidth_bps", drain.start) / (50e6 * PAYLOAD)
    count, reached = run.at("full_bw_count", drain.start), run.at("cc_full_bw_reached", drain.start)
    holds = abs(share - 1) <= 0.02 and count == 3 and reached == 1
    return verdict(
        holds, f"bandwidth {share:.3f} of the link's, full_bw_count {count:.0f}, Drain at {drain.start:.2f} s"
    )


def startup_loss(version: str) -> Verdict:
    run = Run(version, {**LIMITED, **errors(2.0)}, 4)
    end = run.spans[0].end
    if version == "bbr1":
        return NONE, f"v1 ignores losses in Startup; it lasts {end:.2f} s"
    holds = 2.0 < end < 2.5 and run.at("cc_full_bw_reached", end) == 1
    said = f"losses from 2.00 s on; Startup ends at {end:.2f} s, and the same ACK ends Drain, as little is in flight"
    return verdict(holds, said if run.spans[1].state != "drain" else f"losses from 2.00 s on; Drain at {end:.2f} s")


def drain_inflight(version: str) -> Verdict:
    run = greedy(version)
    drain = run.first("drain")
    gain = run.at("cc_pacing_gain", drain.start)
    expected = 0.5 if version == "bbr3" else 1 / 2.885
    flight, bdp = run.at("flight_size_bytes", drain.end), run.bdp(drain.end)
    room = (8 if version == "bbr1" else 2) * SEGMENT
    holds = abs(gain - expected) < 0.001 and flight <= bdp + room and run.next(drain).state.startswith("probe-bw")
    return verdict(holds, f"pacing gain {gain:.3f}; leaves with {flight / bdp:.2f} BDP in flight")


def drain_time(version: str) -> Verdict:
    start = greedy(version).first("drain").start
    found = []
    for rate in ("45 Mbit/s", "20 Mbit/s"):
        run = Run(version, {f"{WAY}.queue": "8 bdp", **step(start, "50 Mbit/s", rate)}, 10)
        drain = run.first("drain")
        rounds = run.at("round_count", drain.end) - run.at("round_count", drain.start)
        found.append((rate, rounds, run.at("flight_size_bytes", drain.end) / run.bdp(drain.end)))
    said = "; ".join(f"{rate}: {rounds:.0f} rounds, leaves with {flight:.2f} BDP" for rate, rounds, flight in found)
    if version != "bbr3":
        return NONE, f"no limit in this version, {said}"
    _, rounds, flight = found[1]
    return verdict(rounds == 4 and flight > 1, f"{said} (the fourth round starts more than 3 later)")


def up_plateau(version: str) -> Verdict:
    if version == "bbr1":
        return NONE, "v1 ends the phase after min_rtt with 1.25 BDP in flight"
    run = greedy(version)
    up = run.first("probe-bw-up")
    count = run.at("full_bw_count", up.end)
    rounds = run.at("round_count", up.end) - run.at("round_count", up.start)
    said = f"Up lasts {rounds:.0f} rounds, full_bw_count {count:.0f}, then {run.next(up).state}"
    if version == "bbr2":
        return NONE, f"v2 ends Up after min_rtt with 1.25 BDP in flight; {said}"
    return verdict(run.at("full_bw_now", up.end) == 1 and run.next(up).state == "probe-bw-down", said)


def up_loss_limited(version: str) -> Verdict:
    if version == "bbr1":
        return NONE, "v1 has no reaction to losses in a probe"
    start = max(grown(version).spans, key=lambda span: (span.state == "probe-bw-up") * span.length).start + 0.2
    run = grown(version, errors(start))
    up = next(span for span in run.spans if span.start < start < span.end)
    bound = run.at("cc_inflight_longterm_bytes", up.end + 0.2)
    is_set = "not set" if math.isnan(bound) else f"{bound / run.bdp(up.end):.2f} BDP"
    holds = up.state == "probe-bw-up" and up.end < start + 0.3 and run.next(up).state.startswith("probe-bw")
    return verdict(
        holds,
        f"losses {start - up.start:.2f} s after the start of Up end it {up.end - start:.2f} s later; bound {is_set}",
    )


def limited_forever(version: str) -> Verdict:
    run = limited(version)
    states = {span.state for span in run.spans}
    startup = states <= {"startup", "probe-rtt"}
    said = f"Startup for {run.seconds:.0f} s ({', '.join(sorted(states))})"
    if version == "bbr1":
        return (HOLDS if startup else DIFFERS), f"{said}; v1 has no Up"
    run = grown(version)
    up = max((span for span in run.spans if span.state == "probe-bw-up"), key=lambda span: span.length)
    after = run.next(up).state if up.end < run.seconds else "the end of the run"
    holds = startup and after in ("probe-rtt", "the end of the run")
    if version == "bbr2":
        return (HOLDS if startup else DIFFERS), f"{said}; v2 leaves Up by its queue rule (longest {up.length:.1f} s)"
    return verdict(holds, f"{said}; Up lasts {up.length:.1f} s, until {after}")


def down_inflight(version: str) -> Verdict:
    run = greedy(version)
    down = next(
        s for s in run.spans if s.state == "probe-bw-down" and s.start > 2 and run.next(s).state == "probe-bw-cruise"
    )
    gain = run.at("cc_pacing_gain", down.start)
    flight, bdp = run.at("flight_size_bytes", down.end), run.bdp(down.end)
    expected = 0.9 if version == "bbr3" else 0.75
    said = f"pacing gain {gain:.2f}; Cruise with {flight / bdp:.2f} BDP in flight after {down.length * 1000:.0f} ms"
    return verdict(abs(gain - expected) < 0.001 and (flight <= bdp + 2 * SEGMENT or version == "bbr1"), said)


def down_time(version: str) -> Verdict:
    if version == "bbr1":
        return NONE, "a phase of v1 lasts min_rtt at most"
    start = greedy(version).first("probe-bw-down", 2.0).start
    run = Run(version, {f"{WAY}.queue": "8 bdp", **step(start, "50 Mbit/s", "45 Mbit/s")}, 20)
    down = run.first("probe-bw-down", start - 1e-9)
    after, wait = run.next(down), run.at("probe_wait_s", down.start)
    said = f"Down lasts {down.length:.2f} s (wait {wait:.2f} s), then {after.state}"
    if version == "bbr2":
        return NONE, f"at 0.75 v2 drains the queue of this test; {said}"
    return verdict(after.state == "probe-bw-refill" and abs(down.length - wait) < 0.1, said)


def probe_rtt(version: str) -> Verdict:
    run = greedy(version)
    spans = [span for span in run.spans if span.state == "probe-rtt"]
    first = spans[0]
    gain, rtt = run.at("cc_cwnd_gain", first.start), run.at("cc_min_rtt_s", first.start)
    after = run.next(first).state
    apart = min(b.start - a.end for a, b in pairwise(spans)) if len(spans) > 1 else math.nan
    interval, expected = (10, 1.0) if version == "bbr1" else (5, 0.5)
    holds = gain == expected and first.length >= max(0.2, rtt) and after.startswith("probe-bw") and not apart < interval
    if version == "bbr1":
        said = f"window of 4 segments, {first.length * 1000:.0f} ms, every {apart:.1f} s at least, then {after}"
        return (HOLDS if holds else DIFFERS), said
    return verdict(
        holds, f"window gain {gain}, {first.length * 1000:.0f} ms, every {apart:.1f} s at least, then {after}"
    )


def probe_rtt_skipped(version: str) -> Verdict:
    pause = 12 if version == "bbr1" else 7
    app = {"kind": "bulk", "size": "20 MB", "pause": f"{pause} s"}
    run = Run(version, {"flow.one.app": app, f"{WAY}.queue": "8 bdp"}, 40)
    transfers = run.result.transfers["start_s"].to_list() if run.result.transfers.height else []
    resumed = transfers[1:3]
    probes = [span.start for span in run.spans if span.state == "probe-rtt"]
    early = [at for at in probes if any(start - 1e-6 <= at < start + 1 for start in resumed)]
    restarted = [run.at("idle_restart", start + 0.001) for start in resumed] if version != "bbr1" else []
    holds = bool(resumed) and not early and all(flag == 1 for flag in restarted)
    return verdict(holds, f"{len(resumed)} pauses of {pause} s; ProbeRTT within a second of {len(early)} of them")


def startup_bursts(version: str) -> Verdict:
    run = Run(version, BURSTS, 20)
    end = run.spans[0].end
    extra, window = run.at("cc_extra_acked_bytes", end), max(run.within("cwnd_bytes", 0, end))
    share = run.at("cc_bandwidth_bps", end) / (20e6 * PAYLOAD)
    bdp = 20e6 * PAYLOAD / 8 * 0.040
    model = f"extra_acked {extra / bdp:.1f}, window {window / bdp:.1f} BDP"
    said = f"bandwidth {share:.2f} of the link's after {end:.2f} s, {model}"
    return verdict(share >= 0.98 and extra > 0 and window > 2 * bdp, said)


def cruise_bursts(version: str) -> Verdict:
    run = Run(version, BURSTS, 40)
    bdp = 20e6 * PAYLOAD / 8 * 0.040
    cruises = [span for span in run.spans if span.state == "probe-bw-cruise" and span.start > 5]
    extra = min(run.at("cc_extra_acked_bytes", span.end) for span in cruises)
    window = min(
        max(run.within("cwnd_bytes", span.start, span.end))
        for span in cruises
        if span.length > 0.2 or version == "bbr1"
    )
    share = run.goodput(5, 40) / (20e6 * PAYLOAD)
    said = f"extra_acked {extra / bdp:.1f}, window {window / bdp:.1f} BDP, goodput {share:.3f} of the link"
    return verdict(share >= 0.95 and extra > 0 and window > 2 * bdp, said)


def sub_packet(version: str) -> Verdict:
    sets = {
        f"{WAY}.rate": "64 kbit/s",
        f"{WAY}.delay": "1 ms",
        f"{WAY}.queue": "75 kB",
        "link.way.reverse.delay": "1 ms",
    }
    run = Run(version, sets, 120)
    steady = [span for span in run.spans if span.state.startswith("probe-bw")]
    start = steady[0].start
    window = min(run.within("cwnd_bytes", start, run.seconds))
    share = run.goodput(60, 120) / (64e3 * PAYLOAD)
    cruise = next(span for span in reversed(steady) if span.state == "probe-bw-cruise")
    pace = run.at("pacing_rate_bps", cruise.start) / 64e3
    said = f"window of {window / SEGMENT:.0f} segments at least, pace {pace:.2f} of the link, goodput {share:.2f}"
    return verdict(window >= 4 * SEGMENT - 1 and abs(pace - 1) < 0.1 and share > 0.95, said)


def ten_times_more(version: str) -> Verdict:
    run = Run(version, {f"{WAY}.queue": "100 kB", **step(10, "10 Mbit/s", "100 Mbit/s")}, 40)
    found = run.when("cc_bandwidth_bps", 10, lambda bw: bw >= 0.95 * 100e6 * PAYLOAD)
    if math.isnan(found):
        return DIFFERS, f"never; {run.goodput(30, 40) / 1e6:.1f} Mbit/s in the last 10 s"
    begin = next((span.start for span in run.spans if span.state == "probe-bw-up" and span.end > 10), 10.0)
    rounds = run.at("round_count", found) - run.at("round_count", max(begin, 10.0))
    # Ten times the data in flight: log2(10) doublings after the first steps, with the rounds of the plateau's test.
    said = f"95 % after {found - 10:.2f} s, {rounds:.0f} rounds after the first probe"
    return verdict(rounds <= 40 if version == "bbr3" else found < 40, said)


def ten_times_less(version: str) -> Verdict:
    run = Run(version, {f"{WAY}.queue": "100 kB", **step(10, "100 Mbit/s", "10 Mbit/s")}, 40)
    limit = 10e6 * PAYLOAD
    found = run.when("cc_bandwidth_bps", 10, lambda bw: bw <= 1.1 * limit)
    cycles = len([span for span in run.spans if span.state == "probe-bw-down" and 10 < span.start <= found])
    if version == "bbr1":
        return (HOLDS if found < 20 else DIFFERS), f"no short-term bound; max_bw follows after {found - 10:.2f} s"
    short = run.when("cc_bw_shortterm_bps", 10, lambda bw: bw <= 2 * limit)
    said = (
        f"bw_shortterm at twice the rate after {short - 10:.2f} s, max_bw after {found - 10:.2f} s and {cycles} cycles"
    )
    return verdict(short - 10 < 2 and cycles <= 3, said)


def policer(version: str) -> Verdict:
    """The bucket holds 100 ms of 10 Mbit/s, and the link carries five times as much."""
    if "policer" not in bp.schema()["$defs"]["Link"]["properties"]:
        return OPEN, "links have no token bucket"
    run = Run(version, {f"{WAY}.policer": {"rate": "10 Mbit/s", "burst": "125 kB"}}, 60)
    lost = 1 - run.result.flows["arrived_packets"].item() / run.result.flows["sent_packets"].item()
    share = run.goodput(20, 60) / (10e6 * PAYLOAD)
    said = f"goodput {share:.2f} of the token rate after 20 s, {100 * lost:.1f} % of the packets dropped"
    if version == "bbr1":
        rate = [value for value in run.column("policer_rate_bps")[1] if value is not None]
        found = f"{rate[0] / 1e6:.1f} Mbit/s found as its rate" if rate else "its rate is not found"
        return verdict(bool(rate) and lost < 0.1, f"{said}; {found}")
    bounds = [run.when(name, 0, lambda _: True) for name in ("cc_bw_shortterm_bps", "cc_inflight_shortterm_bytes")]
    return verdict(not any(map(math.isnan, bounds)) and share > 0.8 and lost < 0.1, said)


def spurious_recovery(version: str) -> Verdict:
    node = [{"kind": "impair", "reorder": "0.05 %", "hold": "30 ms"}]
    run = Run(version, spurious(node), 30)
    undos = [
        at for at, event in run.result.series("decisions").select("time_s", "event").iter_rows() if event == "undo"
    ]
    return undone(run, undos)


def spurious(node: list[dict[str, Any]]) -> dict[str, Any]:
    """Late packets on the way."""
    return {
        f"{WAY}.queue": "8 bdp",
        "link.way.to": "middle",
        "node.middle.middlebox": node,
        "link.last": {"from": "middle", "to": "client", "rate": "1 Gbit/s", "delay": "100 us"},
    }


def undone(run: Run, undos: list[float]) -> Verdict:
    """Whether each undo has lifted the bounds of the spurious loss."""
    if not undos:
        return DIFFERS, f"no loss was undone ({run.flow['retransmissions']} retransmissions)"
    lowered = 0
    for at in undos:
        for name in ("cc_bw_shortterm_bps", "cc_inflight_shortterm_bytes", "cc_inflight_longterm_bytes"):
            before, after = run.before(name, at), run.at(name, at)
            lowered += after < before
    goodput = run.goodput(5, run.seconds) / (50e6 * PAYLOAD)
    recoveries = run.flow["fast_retransmits"] + run.flow["timeouts"]
    said = f"{len(undos)} undone of {recoveries} recoveries, {lowered} bounds lowered by them, goodput {goodput:.2f}"
    return verdict(lowered == 0 and goodput > 0.95, said)


def spurious_timeout(version: str) -> Verdict:
    state = "probe-bw-up"
    start = greedy(version).first(state, 5.0).start + 0.01
    delay = {"points": [["0 s", "20 ms"], [f"{start:.6f} s", "600 ms"]]}
    run = Run(version, {f"{WAY}.queue": "8 bdp", f"{WAY}.delay": delay}, 20)
    events = list(run.result.series("decisions").select("time_s", "event").iter_rows())
    timeout = next((at for at, event in events if event == "timeout"), math.nan)
    undo = next((at for at, event in events if event == "undo" and at > timeout), math.nan)
    if math.isnan(undo):
        return DIFFERS, f"timeout at {timeout - start:.2f} s, never undone"
    window = run.at("cwnd_bytes", undo) / run.before("cwnd_bytes", timeout)
    names = ("cc_bw_shortterm_bps", "cc_inflight_shortterm_bytes", "cc_inflight_longterm_bytes")
    lower = [
        name
        for name in names
        if run.at(name, undo) < run.before(name, timeout)
        or (math.isnan(run.before(name, timeout)) and not math.isnan(run.at(name, undo)))
    ]
    state = next(span.state for span in run.spans if span.start <= undo + 1e-9 < span.end)
    after = f"window {window:.2f} of before, {len(lower)} bounds lower, in {state}"
    said = f"timeout in Up, undone {undo - timeout:.2f} s later: {after}"
    # Refill has a window gain of 2, Up of 2.25.
    is_back = window >= 2 / 2.25 - 0.02 and (version != "bbr3" or state in ("probe-bw-refill", "probe-bw-up"))
    return verdict(is_back and not lower, said)


def startup_probe_rtt(version: str) -> Verdict:
    run = limited(version)
    probes = [span for span in run.spans if span.state == "probe-rtt"]
    after = {run.next(span).state for span in probes if span.end < run.seconds}
    return verdict(
        bool(probes) and after == {"startup"},
        f"{len(probes)} stays in ProbeRTT in 20 s, each followed by {', '.join(after)}",
    )


def up_loss(version: str) -> Verdict:
    if version == "bbr1":
        return NONE, "v1 has no long-term bound"
    sets = {f"{WAY}.queue": "150 kB"}
    first = Run(version, sets, 12)
    up = next(
        s
        for s in first.spans
        if s.state == "probe-bw-up" and s.start > 3 and not math.isnan(first.at("cc_inflight_longterm_bytes", s.start))
    )
    start = up.start - 0.02
    run = Run(version, {**sets, **errors(start, 0.05)}, 12)
    again = run.first("probe-bw-up", up.start - 1e-6)
    before, after = run.at("cc_inflight_longterm_bytes", again.start), run.at("cc_inflight_longterm_bytes", again.end)
    target = 0.7 * min(run.bdp(again.end), run.before("cwnd_bytes", again.end))
    holds = run.next(again).state == "probe-bw-down" and again.end < start + 0.15 and after >= target - SEGMENT
    bdp = run.bdp(again.start)
    bounds = f"bound {before / bdp:.2f} to {after / bdp:.2f} BDP"
    said = f"Up ends {1000 * (again.end - start):.0f} ms after the losses begin; {bounds}"
    return verdict(holds and after < before, said)


def refill_limited(version: str) -> Verdict:
    if version == "bbr1":
        return NONE, "v1 has no Refill"
    first = greedy(version)
    refill = first.first("probe-bw-refill", 4.0)
    sent = int(first.goodput(0, refill.start) * refill.start / 8 + first.at("flight_size_bytes", refill.start))
    app = {"kind": "bulk", "size": f"{sent} B", "pause": "100 ms"}
    run = Run(version, {f"{WAY}.queue": "8 bdp", "flow.one.app": app}, refill.start + 4)
    again = run.first("probe-bw-refill", refill.start - 0.2)
    before, after = (
        run.at("cc_bandwidth_bps", again.start),
        min(run.within("cc_bandwidth_bps", again.start, again.end + 0.3)),
    )
    state = run.next(again).state
    return verdict(
        after >= before and state == "probe-bw-up",
        f"max_bw {after / before:.3f} of before in Refill and 0.3 s later, then {state}",
    )


CASES: dict[str, Callable[[str], Verdict]] = {
    "Exiting STARTUP on Bandwidth Plateau": startup_plateau,
    "Exiting STARTUP on Loss When Application-Limited": startup_loss,
    "Exiting DRAIN Based on Inflight": drain_inflight,
    "Exiting DRAIN Based on Time": drain_time,
    "Exiting PROBE_UP on Bandwidth Plateau": up_plateau,
    "Exiting PROBE_UP on Loss When Application-Limited": up_loss_limited,
    "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss": limited_forever,
    "Exiting PROBE_DOWN on Inflight": down_inflight,
    "Exiting PROBE_DOWN After Max Time": down_time,
    "Entering and Exiting PROBE_RTT": probe_rtt,
    "Skipping PROBE_RTT Due to Application-Limited Sending": probe_rtt_skipped,
    "Achieving Expected STARTUP Bandwidth on a Link With Aggregation": startup_bursts,
    "Achieving Expected Cruise Bandwidth on a Link With Aggregation": cruise_bursts,
    "Correctly Managing Sub-Packet BDPs": sub_packet,
    "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached": ten_times_more,
    "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down": ten_times_less,
    "Handling Token Bucket Policers": policer,
    "Handling Spurious Fast Recovery": spurious_recovery,
    "Handling Spurious RTO Recovery": spurious_timeout,
    "Entering and Exiting PROBE_RTT During STARTUP": startup_probe_rtt,
    "Handling Loss During PROBE_UP After inflight_longterm is Set": up_loss,
    "Handling Application-Limited Sending During PROBE_REFILL": refill_limited,
}
"""The cases by their titles in the draft."""


DRAWN = {
    f"{WAY}.rate": "20 Mbit/s",
    f"{WAY}.queue": "1 bdp",
    "link.way.reverse.jitter": {
        "delay": {"kind": "quantiles", "points": [["50 %", "0 ms"], ["50.001 %", "60 ms"]]},
        "every": "60 ms",
    },
}
"""ACKs that arrive in bursts of random length: the return path is 60 ms longer in half of the slots of 60 ms."""
CHANGES: dict[str, dict[str, Any]] = {
    "as is": {},
    "queue of 4 bdp": {f"{WAY}.queue": "4 bdp"},
    "no headroom": {"headroom": 0.0},
    "no bound by losses of 2 %": {"loss_threshold": 0.9},
}
"""Changes that remove a cause of the low goodput: a change of the path, or a setting of `bbr2` and `bbr3`."""
SEEDS = (1, 2, 3)


def bursts() -> dict[str, dict[str, float]]:
    """Mean goodput with `DRAWN` by change and version, Mbit/s."""
    found: dict[str, dict[str, float]] = {}
    for name, change in CHANGES.items():
        path = {key: value for key, value in change.items() if key.startswith("link")}
        settings = {key: value for key, value in change.items() if key not in path}
        for version in VERSIONS:
            if not (settings and version == "bbr1"):
                sets = {**DRAWN, **path, "tcp.cc": {"kind": version, **settings}, "duration": "60 s"}
                rates = [bp.run(bp.load(PATH, sets), seed=seed).flows["goodput_bps"].item() for seed in SEEDS]
                found.setdefault(name, {})[version] = round(sum(rates) / len(rates) / 1e6, 2)
    return found


def main() -> None:
    """Judge all cases, and measure ACKs in bursts. The comparison with the modules stays as it is."""
    found = {name: {version: case(version) for version in VERSIONS} for name, case in CASES.items()}
    kept.save("bbr", {**kept.load("bbr"), "cases": found, "bursts": bursts()})
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    kept.begin(__doc__)
    main()
