"""Measures for the claims of this paper.

Times are from the first packet sent (the SYN, if there is a handshake) to the last byte acknowledged: `completion_s`
of the table of flows, as a mean over the senders of a run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.papers import Finding, Possible

from . import printed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from bentpipe import RunResult
    from bentpipe.papers import Lab

TOLERANCE = 0.05
"""Round trips that table III implies scatter by 5 % around 0.56 s, so the tolerance is 5 %."""

FLAVOURS = ("tahoe", "reno", "newreno", "sack")
RATES = (8e-8, 8e-7, 8e-6, 8e-5, 8e-4)
BUFFER_OF_BDP_KB = 675


SOCKETS = {"receiver": "tcp.receive_buffer", "sender": "tcp.send_buffer"}
"""Keys of the buffers at the two ends."""


@dataclass(frozen=True)
class Network:
    """Choices that the paper leaves open about its test network."""

    senders: int = 1
    handshake: bool = True
    rtt_s: float = 0.54
    ssthresh: str = "32 segments"
    buffer_is: str = "router"
    """Buffer that the tables vary: the queue of the `router`, or the socket's at the `receiver` or at the `sender`."""

    def sets(self, buffer_kb: int) -> dict[str, Any]:
        """The overrides of these choices in `dumbbell.toml`."""
        sets: dict[str, Any] = {
            "link.geo.delay": f"{500 * self.rtt_s:g} ms",
            "tcp.handshake": self.handshake,
            "tcp.initial_ssthresh": self.ssthresh,
        }
        if self.senders > 1:
            # Different instants: otherwise the order of the senders would decide whose packets a full queue drops.
            sets |= _count(self.senders) | {"flow.file.start": {"uniform": ["0 s", "10 ms"]}}
        if self.buffer_is in SOCKETS:
            # The router then has the paper's usual queue.
            return sets | {SOCKETS[self.buffer_is]: f"{buffer_kb} kB", "link.geo.queue": "1 bdp"}
        assert self.buffer_is == "router", self.buffer_is
        # Packets of 1000 B; ns-2 counts the one being sent.
        return sets | {"link.geo.queue": f"{buffer_kb - 1} packets"}


def _count(senders: int) -> dict[str, Any]:
    return {f"{each}.count": senders for each in ("link.up", "link.down", "flow.file")}


def times_s(
    lab: Lab,
    network: Network,
    size: str,
    initial_window: int = printed.IMPLIED_INITIAL_WINDOW,
    buffer_kb: int = 64,
) -> NDArray[np.float64]:
    """Mean transfer time over the senders, one per replication; one sender without loss has no randomness."""
    runs = lab.sweep(
        "dumbbell", _sets(network, size, initial_window, buffer_kb), replications=_replications(lab, network)
    )
    return runs.runs["completion_s"].to_numpy()


def _sets(network: Network, size: str, initial_window: int, buffer_kb: int) -> dict[str, Any]:
    window = {"flow.file.app.size": size, "tcp.initial_window": f"{initial_window} segments"}
    return window | network.sets(buffer_kb)


def _replications(lab: Lab, network: Network) -> int:
    return 1 if network.senders == 1 else int(lab.choose(5, 50))


def _make_finding(values: NDArray[np.float64], note: str = "") -> Finding:
    """One value is of a run in which nothing is random."""
    return Finding.exact(values[0], note) if len(values) == 1 else Finding.mean(values, note)


def _least(findings: Iterable[Finding], note: str) -> Finding:
    """The smallest of several findings, with its interval."""
    least = min(findings, key=lambda each: np.inf if each.value is None else each.value)
    return replace(least, note=note)


def transfer_time(lab: Lab, *, size: str, initial_window: int, **network: Any) -> Finding:
    """Transfer time (s) with a buffer of 64 kB; the note has the time to the last byte received beside it."""
    how = Network(**network)
    flows = lab.sweep("dumbbell", _sets(how, size, initial_window, 64), replications=1, tables=["flows"]).tables[
        "flows"
    ]
    received_s = float(flows["completion_rx_s"].to_numpy().mean())
    ssthresh = 32 if how.ssthresh == "32 segments" else np.inf
    rounds = printed.rounds(size, initial_window, ssthresh)
    table = printed.TABLES_1_TO_3[size][printed.INITIAL_WINDOWS.index(initial_window)]
    trips = rounds + how.handshake
    return _make_finding(
        times_s(lab, how, size, initial_window),
        f"last byte received after {received_s:.3f} s; {_trips(trips)}, {1e3 * table / trips:.0f} ms each in the "
        "printed time",
    )


def _trips(count: int) -> str:
    return f"{count} round trip{'s' if count != 1 else ''}"


def least_time(lab: Lab, *, size: str, initial_window: int, **network: Any) -> Possible:
    """Transfer times (s) that geostationary propagation allows."""
    rounds = printed.rounds(size, initial_window)
    floor = printed.floor_s(size, initial_window)
    return Possible(
        floor,
        float("inf"),
        f"a geostationary hop takes at least 238.7 ms. {size} in segments of 1000 B from a window "
        f"of {initial_window} need {_trips(rounds)}, half of the last one: {2 * rounds - 1} x 238.7 ms + 0.8 ms "
        f"= {floor:.3f} s before the last byte arrives",
    )


def gains_pct(lab: Lab, network: Network, size: str, initial_window: int) -> NDArray[np.float64]:
    """Time that an initial window saves against one of 1 (%), per replication."""
    return np.asarray(
        100 * (1 - times_s(lab, network, size, initial_window) / times_s(lab, network, size, 1)), dtype=np.float64
    )


def gain(lab: Lab, *, size: str, initial_window: int, **network: Any) -> Finding:
    """Time that an initial window saves against one of 1 (%), of the same file in the same replication."""
    return _make_finding(gains_pct(lab, Network(**network), size, initial_window))


def gain_possible(lab: Lab, *, size: str, initial_window: int, **network: Any) -> Possible:
    """Savings (%) between none and all extra round trips of the smaller window."""
    first, last = printed.rounds(size, 1), printed.rounds(size, initial_window)
    return Possible(
        0,
        100 * (1 - last / first),
        f"{size} take {_trips(first)} from a window of 1 and {last} from one of {initial_window}: at most "
        f"1 - {last}/{first} = {100 * (1 - last / first):.0f} % are saved",
    )


def printed_gain(lab: Lab, *, size: str, initial_window: int) -> Finding:
    """The gain (%) that follows from the paper's own times."""
    first, time = _printed_times(size, initial_window)
    return Finding.exact(100 * (1 - time / first), f"({first:g} - {time:g}) / {first:g}, from the printed times in s")


def printed_gain_possible(lab: Lab, *, size: str, initial_window: int) -> Possible:
    """Gains (%) of all times that are rounded to the printed ones."""
    first, time = _printed_times(size, initial_window)
    half = 0.0005
    low, high = 100 * (1 - (time + half) / (first - half)), 100 * (1 - (time - half) / (first + half))
    return Possible(
        low,
        high,
        f"times that round to {1e3 * first:.0f} ms and {1e3 * time:.0f} ms have a gain of {low:.2f} % to {high:.2f} %",
    )


def _printed_times(size: str, initial_window: int) -> tuple[float, float]:
    row = printed.TABLES_1_TO_3[size]
    return row[0], row[printed.INITIAL_WINDOWS.index(initial_window)]


def buffer_rows(
    lab: Lab, *, size: str, initial_window: int = printed.IMPLIED_INITIAL_WINDOW, **network: Any
) -> Finding:
    """Rows of a buffer table, of five, whose printed time our mean time meets within 5 %."""
    how = Network(**network)
    ours = [times_s(lab, how, size, initial_window, buffer_kb).mean() for buffer_kb in printed.BUFFERS_KB]
    theirs = printed.TABLES_4_TO_6[size]
    agreeing = sum(abs(our - their) <= TOLERANCE * their for our, their in zip(ours, theirs, strict=True))
    return Finding.exact(
        agreeing, "ours: " + ", ".join(f"{time:.3g}" for time in ours) + " s at 32, 64, 96, 128, 160 kB"
    )


def buffer_rows_possible(
    lab: Lab, *, size: str, initial_window: int = printed.IMPLIED_INITIAL_WINDOW, **network: Any
) -> Possible:
    """Rows of a buffer table that are not below the least time that propagation allows."""
    floor = printed.floor_s(size, initial_window)
    count = printed.rows_possible(size, initial_window)
    rounds = printed.rounds(size, initial_window)
    return Possible(
        0,
        count,
        f"{count} of the 5 printed times are not below {floor:.3f} s, the geostationary propagation time of "
        f"{_trips(rounds)} from a window of {initial_window}, half of the last one. The buffer cannot matter to one "
        "sender whose own link is no faster than the satellite's",
    )


def initial_window(lab: Lab, *, smss_bytes: int = 1000) -> Finding:
    """Bytes that a sender has out before its first ACK, `tcp.initial_window = "rfc3390"`."""

    def flight(smss: int) -> float:
        sets = {"tcp.initial_window": "rfc3390", "tcp.smss": f"{smss} B"}
        trace = lab.run("dumbbell", sets, series=["events"])
        first_ack_s = _events(trace, "acked")["time_s"][0]
        # Packets that one ACK releases leave at the same instant.
        return float(_events(trace, "sent").filter(pl.col("time_s") < first_ack_s)["value"].len() * smss)

    others = ", ".join(f"{flight(smss):.0f} B at an MSS of {smss} B" for smss in (536, 1460, 2200))
    return Finding.exact(flight(smss_bytes), f"{others}; by the formula 2144, 4380 and 4400 B")


def two_statements(lab: Lab, *, larger: int | None = None, **network: Any) -> Finding:
    """Statements of two that hold for ratios of times: 4 over 1 not above 1; 4 over 1, or `larger` over 4, above 1."""
    how = Network(**network)
    times = {window: times_s(lab, how, "100 kB", window) for window in (1, 4, *([larger] if larger else []))}
    first = _make_finding(times[4] / times[1])
    second = first if larger is None else _make_finding(times[larger] / times[4])
    assert first.high is not None
    assert second.low is not None
    note = f"transfer time with a window of 4 over that with 1: {first.value:.3f}"
    note += f", with {larger} over that with 4: {second.value:.3f}" if larger else ""
    return Finding.exact((first.high <= 1) + (second.low > 1), note)


def one_statement(lab: Lab, *, larger: int | None = None, **network: Any) -> Possible:
    """No ratio is at most 1 and above 1; two ratios may be."""
    why = "the time with a window of 4 cannot both be no longer and be longer than with a window of 1"
    return Possible(0, 1, why) if larger is None else Possible(0, 2, "both sentences can hold")


def delayed_ack_saving(lab: Lab, *, initial_window: int) -> Finding:
    """Least time saved (s) over files of 10 kB, 100 kB and 1 MB by delaying ACKs only after slow start.

    Against a receiver that always delays them (every second segment, 200 ms).
    """
    sets = {"tcp.initial_window": f"{initial_window} segments", "tcp.ack": {"every": 2}}
    vary = {"flow.file.app.size": ["10 kB", "100 kB", "1 MB"], "tcp.ack.slow_start": ["delayed", "every"]}
    runs = lab.sweep("dumbbell", sets, vary=vary, replications=1).runs
    always, after = (
        runs.filter(pl.col("tcp.ack.slow_start") == kind)["completion_s"].to_numpy() for kind in ("delayed", "every")
    )
    saved = ", ".join(f"{100 * share:.0f} %" for share in 1 - after / always)
    return Finding.exact(float(np.min(always - after)), f"of 10 kB, 100 kB and 1 MB it saves {saved} of the time")


def ssthresh_estimate(lab: Lab, *, senders: int, access: str) -> Finding:
    """The smaller of two savings (%) by estimating ssthresh (Hoe): of transfer time and of lost packets, 10 MB each."""
    sets = {
        **_count(senders),
        "flow.file.start": {"uniform": ["0 s", "1 s"]},
        "flow.file.app.size": "10 MB",
        "tcp.initial_ssthresh": "unlimited",
        "link.up.rate": access,
        "link.geo.queue": "1 bdp",
    }
    vary = {"tcp.slow_start": ["standard", "hoe"]}
    runs = lab.sweep("dumbbell", sets, vary=vary, replications=lab.choose(5, 50)).runs
    savings = {}
    for column in ("completion_s", "lost_packets"):
        standard, hoe = (
            runs.filter(pl.col("tcp.slow_start") == kind)[column].to_numpy() for kind in ("standard", "hoe")
        )
        # Ratio of means, since a run without any loss has no share to save.
        savings[column] = _make_finding(100 * (standard - hoe) / max(float(standard.mean()), 1e-9))
    time, lost = savings["completion_s"], savings["lost_packets"]
    note = f"saved: {time.value:.1f} % of the time, {lost.value:.1f} % of the losses"
    return _least((time, lost), note)


def same_row(lab: Lab, *, size: str, initial_window: int) -> Finding:
    """Distance (%) of the printed time at 64 kB of tables IV to VI from that of tables I to III."""
    _, time = _printed_times(size, initial_window)
    return Finding.exact(100 * (printed.TABLES_4_TO_6[size][1] / time - 1), f"the other table has {time:g} s")


def least_step(lab: Lab, *, sizes: list[str], **network: Any) -> Finding:
    """Least fall (points) of the gain of a window of 8 from one file size to the next."""
    how = Network(**network)
    gains = [gains_pct(lab, how, size, 8) for size in sizes]
    steps = [_make_finding(shorter - longer) for shorter, longer in pairwise(gains)]
    note = ", ".join(f"{size} {mean.mean():.1f} %" for size, mean in zip(sizes, gains, strict=True))
    return _least(steps, note)


def longer_gains_more(lab: Lab, *, short: str, long: str, **network: Any) -> Finding:
    """Gain of a buffer of 160 kB against one of 32 kB, of the longer file less that of the shorter (points)."""
    how = Network(**network)
    gains = {
        size: 100 * (1 - times_s(lab, how, size, buffer_kb=160) / times_s(lab, how, size, buffer_kb=32))
        for size in (short, long)
    }
    note = ", ".join(f"{size} {value.mean():.1f} %" for size, value in gains.items())
    return _make_finding(gains[long] - gains[short], note)


def greedy(lab: Lab, network: Network, buffers_kb: list[int]) -> pl.DataFrame:
    """Runs of greedy senders: `buffer_kb`, `replication`, `goodput_bps`, `rtt_mean_s`, `wait_s` at the router."""
    duration = "60 s" if network.senders == 1 else "200 s"
    parts = []
    for buffer_kb in buffers_kb:
        sets = {**network.sets(buffer_kb), "flow.file.app": "greedy", "duration": duration}
        count = 1 if network.senders == 1 else lab.choose(3, 30)
        runs = lab.sweep("dumbbell", sets, replications=count, tables=["flows", "links"])
        flows = runs.tables["flows"].group_by("replication", maintain_order=True)
        router = runs.tables["links"].filter(pl.col("link") == "geo.forward")
        parts.append(
            runs.runs.select("replication", "goodput_bps", buffer_kb=pl.lit(buffer_kb))
            .join(flows.agg(pl.col("rtt_mean_s").mean()), on="replication")
            .join(router.select("replication", wait_s="queue_mean_s"), on="replication")
        )
    return pl.concat(parts)


def _select_values(runs: pl.DataFrame, buffer_kb: int, column: str) -> NDArray[np.float64]:
    return runs.filter(pl.col("buffer_kb") == buffer_kb)[column].to_numpy()


def short_and_long_buffer(lab: Lab, **network: Any) -> Finding:
    """The smaller of two factors: goodput at one BDP over that at 32 kB, and mean RTT at four BDP over that at one."""
    long_kb = 4 * BUFFER_OF_BDP_KB
    runs = greedy(lab, Network(**network), [32, BUFFER_OF_BDP_KB, long_kb])
    rate = _make_finding(
        _select_values(runs, BUFFER_OF_BDP_KB, "goodput_bps") / _select_values(runs, 32, "goodput_bps")
    )
    delay = _make_finding(
        _select_values(runs, long_kb, "rtt_mean_s") / _select_values(runs, BUFFER_OF_BDP_KB, "rtt_mean_s")
    )
    note = f"rate at 675 kB over 32 kB: {rate.value:.2f}; round trip at 2700 kB over 675 kB: {delay.value:.2f}"
    return _least((rate, delay), note)


def saturation(lab: Lab, **network: Any) -> Finding:
    """Mean wait at the router (s) with a buffer of two BDP less that with one of 160 kB."""
    buffers = [160, BUFFER_OF_BDP_KB, 2 * BUFFER_OF_BDP_KB]
    runs = greedy(lab, Network(**network), buffers)
    means = [
        (_select_values(runs, kb, "wait_s").mean(), _select_values(runs, kb, "goodput_bps").mean()) for kb in buffers
    ]
    note = "; ".join(
        f"{kb} kB: {1e3 * wait:.0f} ms, {rate / 1e6:.2f} Mbit/s"
        for kb, (wait, rate) in zip(buffers, means, strict=True)
    )
    return _make_finding(_select_values(runs, buffers[-1], "wait_s") - _select_values(runs, 160, "wait_s"), note)


def doubling(lab: Lab) -> Finding:
    """Congestion window (segments) five round trips after the first segment, from a window of 1."""
    trace = lab.run("dumbbell", {"tcp.initial_window": "1 segments"}, series=["cwnd_bytes", "events"])
    start_s = _events(trace, "established")["time_s"][0]
    cwnd = trace.series("cwnd_bytes")
    # Half a round trip later all ACKs of the round are there; 16 segments take 13 ms.
    windows = [
        float(cwnd.filter(pl.col("time_s") <= start_s + (n + 0.5) * 0.54)["cwnd_bytes"][-1]) / printed.SEGMENT_BYTES
        for n in range(6)
    ]
    return Finding.exact(windows[5], "after 0 to 5 round trips: " + ", ".join(f"{window:g}" for window in windows))


def throughput_factor(lab: Lab, **network: Any) -> Finding:
    """Largest throughput with a window of 8 over that with one of 1, of the three sizes."""
    how = Network(**network)
    factors = {size: times_s(lab, how, size, 1) / times_s(lab, how, size, 8) for size in printed.SIZES}
    largest = max(factors.values(), key=lambda values: float(values.mean()))
    return _make_finding(largest, ", ".join(f"{size}: {values.mean():.2f}" for size, values in factors.items()))


def page_time(lab: Lab, *, initial_window: int = 4) -> Finding:
    """Mean time of a page with a window of 1 less that with a larger one (s), for the same pages."""
    sets = {"flow.pages.app.count": lab.choose(10, 50)}
    windows = ["1 segments", f"{initial_window} segments"]
    runs = lab.sweep("web", sets, vary={"tcp.initial_window": windows}, replications=lab.choose(5, 20)).runs
    one, larger = (
        runs.filter(pl.col("tcp.initial_window") == window)["transfer_mean_s"].to_numpy() for window in windows
    )
    return _make_finding(one - larger, f"{one.mean():.2f} s and {larger.mean():.2f} s per page")


def handshake_saved(lab: Lab, *, option: str = "transactions", knows: str = "counts") -> Finding:
    """Round trips that data in the SYN save of a request and its answer on a new connection, by `tcp.OPTION`."""
    sets = {"flow.pages.app": {"kind": "request-response", "response": "1 kB", "count": 1, "reconnect": True}}
    vary = {f"tcp.{option}": ["off", {"kind": "on", knows: "cached"}]}
    runs = lab.sweep("web", sets, vary=vary, replications=1).runs["transfer_mean_s"].to_list()
    return Finding.exact(
        (runs[0] - runs[1]) / 0.54, f"{runs[0]:.3f} s without and {runs[1]:.3f} s with data in the SYN"
    )


def byte_counting(lab: Lab) -> Finding:
    """Largest error (B) of the growth per ACK in slow start, one ACK for four segments.

    The expected growth is all bytes that the ACK covers (`ubc-pure`, `ubc`), at most two segments of them (`lbc`), or
    one segment (`per-ack`).
    """
    smss = printed.SEGMENT_BYTES
    limits = {"ubc-pure": np.inf, "ubc": np.inf, "lbc": 2 * smss, "per-ack": smss}
    worst, seen = 0.0, 0
    for kind, limit in limits.items():
        sets = {"tcp.byte_counting": kind, "tcp.ack": {"every": 4}, "tcp.initial_window": "8 segments"}
        for covered, _, grown in _growth(lab, sets, in_slow_start=True):
            worst = max(worst, abs(grown - min(covered, limit)))
            seen += 1
    return Finding.exact(worst, f"{seen} ACKs in slow start, each for up to 4 segments")


def avoidance_growth(lab: Lab) -> Finding:
    """Largest relative error of the growth of congestion avoidance per round trip, for three rules.

    Expected per ACK of a segment: k SMSS^2 / cwnd, k being 1 (standard), 4 (by-K) and (RTT / 100 ms)^2 = 29 (constant
    rate). Slow start must be the same for all three, or the error is 1.
    """
    error, starts, notes = 0.0, [], []
    for rule, k in (("standard", 1.0), ("by-k", 4.0), ("constant-rate", (0.54 / 0.1) ** 2)):
        sets = {"tcp.increase": rule, "flow.file.app.size": "1 MB"}
        starts.append([(cwnd, grown) for _, cwnd, grown in _growth(lab, sets, in_slow_start=True)])
        added = [grown * cwnd / printed.SEGMENT_BYTES**2 for _, cwnd, grown in _growth(lab, sets, in_slow_start=False)]
        mean = float(np.mean(added))
        error = max(error, abs(mean / k - 1))
        notes.append(f"{rule} {mean:.2f}")
    is_same = all(start == starts[0] for start in starts)
    note = "segments per window: " + ", ".join(notes) + f"; slow start is {'the same' if is_same else 'not the same'}"
    return Finding.exact(error if is_same else 1.0, note)


def _growth(lab: Lab, sets: Mapping[str, Any], in_slow_start: bool) -> list[tuple[float, float, float]]:
    """Per ACK: bytes that it covers, window before it, growth; before or after the window has reached ssthresh."""
    trace = lab.run("dumbbell", sets, series=["cwnd_bytes", "events"])
    cwnd = trace.series("cwnd_bytes").rename({"cwnd_bytes": "after"}).group_by("time_s", maintain_order=True).last()
    acks = (
        _events(trace, "acked")
        .select("time_s", covered=pl.col("value").diff().fill_null(pl.col("value")))
        .join_asof(cwnd.select("time_s", "after"), on="time_s")
        .with_columns(before=pl.col("after").shift(1, fill_value=cwnd["after"][0]))
    )
    limit = 32 * printed.SEGMENT_BYTES
    # The ACK that crosses ssthresh belongs to neither.
    chosen = acks.filter(pl.col("after") < limit if in_slow_start else pl.col("before") >= limit)
    return [
        (float(row["covered"]), float(row["before"]), float(row["after"] - row["before"]))
        for row in chosen.iter_rows(named=True)
    ]


def _events(trace: RunResult, kind: str) -> pl.DataFrame:
    return trace.events.filter(pl.col("event") == kind)


def access_rate(lab: Lab) -> Finding:
    """Largest router queue with access at 100 Mbit/s less that at 10 Mbit/s, over the window of 32 segments."""
    vary = {"link.up.rate": ["10 Mbit/s", "100 Mbit/s"]}
    links = lab.sweep("dumbbell", vary=vary, replications=1, tables=["links"]).tables["links"]
    slow, fast = (links.filter(pl.col("link") == "geo.forward")["queue_max_bytes"] / 1040).to_list()
    return Finding.exact((fast - slow) / 32, f"{slow:.0f} packets at 10 Mbit/s, {fast:.0f} at 100 Mbit/s")


CODE = {"link.geo.forward.coding": {"kind": "convolutional"}}
"""The code of rate 1/2 that the paper names, on the link with the errors. Error rates are those before decoding."""


def error_runs(lab: Lab, coded: bool = False) -> pl.DataFrame:
    """Figures 3 and 4: `tcp.cc`, `rate`, `replication`, `goodput_bps`, `utilisation` of the satellite's link."""
    sets = {"duration": lab.choose("30 s", "300 s"), **(CODE if coded else {})}
    runs = lab.sweep("errors", sets, replications=lab.choose(4, 20), tables=["links"])
    satellite = runs.tables["links"].filter(pl.col("link") == "geo.forward").select("run", "utilisation")
    key = "link.geo.forward.error.rate"
    return runs.runs.select("run", "tcp.cc", "replication", "goodput_bps", rate=key).join(satellite, on="run")


def snack_runs(
    lab: Lab,
    cc: str = "newreno",
    verdict: str = "always-congestion",
    coded: bool = False,
    recovery: str = "snack",
) -> pl.DataFrame:
    """The columns of `error_runs` with SNACK, for another window and another verdict on losses."""
    runs = lab.sweep(
        "errors",
        {
            "duration": lab.choose("30 s", "300 s"),
            "tcp.cc": cc,
            "tcp.recovery": recovery,
            "tcp.verdict": verdict,
            **(CODE if coded else {}),
        },
        vary={"link.geo.forward.error.rate": RATES},
        replications=lab.choose(4, 20),
        tables=["links"],
    )
    satellite = runs.tables["links"].filter(pl.col("link") == "geo.forward").select("run", "utilisation")
    key = "link.geo.forward.error.rate"
    return runs.runs.select("run", "replication", "goodput_bps", rate=key).join(satellite, on="run")


def _read_column(runs: pl.DataFrame, column: str, rate: float, cc: str | None = None) -> NDArray[np.float64]:
    chosen = runs.filter(pl.col("rate") == rate)
    return (chosen if cc is None else chosen.filter(pl.col("tcp.cc") == cc))[column].to_numpy()


def spread_of_flavours(lab: Lab, coded: bool = False, **snack: str) -> Finding:
    """Goodput at 8e-8 of the best flavour less that of the worst, SNACK among them, over the mean of all, paired."""
    runs = error_runs(lab, coded)
    goodputs = {cc: _read_column(runs, "goodput_bps", RATES[0], cc) for cc in FLAVOURS}
    goodputs["SNACK"] = _read_column(snack_runs(lab, coded=coded, **snack), "goodput_bps", RATES[0])
    means = {name: float(values.mean()) for name, values in goodputs.items()}
    best, worst = max(means, key=lambda name: means[name]), min(means, key=lambda name: means[name])
    note = ", ".join(f"{name} {mean / 1e6:.2f}" for name, mean in means.items()) + " Mbit/s"
    return _make_finding((goodputs[best] - goodputs[worst]) / float(np.mean(list(means.values()))), note)


def _best_flavour(runs: pl.DataFrame) -> str:
    """The case with the highest goodput at 8e-6 except SNACK."""
    return max(FLAVOURS, key=lambda cc: float(_read_column(runs, "goodput_bps", 8e-6, cc).mean()))


def _without_snack(lab: Lab, column: str, coded: bool, snack: Mapping[str, str]) -> tuple[str, NDArray[np.float64]]:
    """The best case at 8e-6 of the flavours and of SNACK's sender with SACK instead of SNACK, with its values.

    Without that sender, the window and the verdict of SNACK's sender would count as effects of SNACK.
    """
    runs = error_runs(lab, coded)
    values = {cc: _read_column(runs, column, 8e-6, cc) for cc in FLAVOURS}
    own = snack_runs(lab, coded=coded, **{**snack, "recovery": "sack"})
    values["SACK in SNACK's sender"] = _read_column(own, column, 8e-6)
    best = max(values, key=lambda name: float(values[name].mean()))
    return best, values[best]


def fall_at_1e_5(lab: Lab, coded: bool = False, **_snack: str) -> Finding:
    """Share of the goodput at 8e-8 that is lost from 8e-7 to 8e-6, less the largest lost in another step, paired."""
    runs = error_runs(lab, coded)
    best = _best_flavour(runs)
    goodputs = np.array([_read_column(runs, "goodput_bps", rate, best) for rate in RATES])
    falls = -np.diff(goodputs, axis=0) / goodputs[0].mean()
    here = RATES.index(8e-6) - 1
    others = [place for place in range(len(falls)) if place != here]
    largest = max(others, key=lambda place: float(falls[place].mean()))
    note = ", ".join(
        f"{100 * fall.mean():.0f} % from {low:g} to {high:g}"
        for fall, (low, high) in zip(falls, pairwise(RATES), strict=True)
    )
    return _make_finding(falls[here] - falls[largest], f"{best} loses {note}")


def snack_gain(lab: Lab, coded: bool = False, **snack: str) -> Finding:
    """Goodput with SNACK at 8e-6 less that of the best case without SNACK, paired, bit/s."""
    best, there = _without_snack(lab, "goodput_bps", coded, snack)
    return _make_finding(
        _read_column(snack_runs(lab, coded=coded, **snack), "goodput_bps", 8e-6) - there,
        f"{best} has {there.mean() / 1e3:.0f} kbit/s",
    )


def snack_utilisation(lab: Lab, coded: bool = False, **snack: str) -> Finding:
    """Utilisation of the satellite's link with SNACK over that of the best case without SNACK at 8e-6."""
    best, there = _without_snack(lab, "utilisation", coded, snack)
    ours = _read_column(snack_runs(lab, coded=coded, **snack), "utilisation", 8e-6)
    return _make_finding(ours / there, f"over {best}: {100 * ours.mean():.1f} % for {100 * there.mean():.1f} %")


def cited_figures(lab: Lab) -> Finding:
    """Figures of the two that the text cites, 6.9 and 6.10, that are among the paper's figures, 1 to 4."""
    return Finding.exact(len({"6.9", "6.10"} & {"1", "2", "3", "4"}), "figures 3 and 4 are meant")
