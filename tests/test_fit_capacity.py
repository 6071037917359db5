"""Rates, queues and losses from the rows that iperf3 prints, which count writes at the sender."""

import json
import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.fitting import capacity, jitter
from bentpipe.fitting.measured import UNIX_S, Load, oppose
from tests import measurements

JITTERY = """
duration = "{duration}"
[tcp]
like = "linux-6"
cc = "cubic"
[link.path]
from = "server"
to = "terminal"
delay = "20 ms"
jitter = {{ delay = {{ kind = "exponential", mean = "{mean}" }}, every = "{every}" }}
[link.path.forward]
rate = "{rate}"
queue = "{queue} B"
[link.path.reverse]
rate = "5 Mbit/s"
[flow.f]
from = "{from_}"
to = "{to}"
app = {app}
"""
BEGIN = 946_684_800
"""2000-01-01, when the captures of simulated runs begin."""
BLOCK, MSS = 131072, 1448
SHARED = Path(__file__).parents[2] / "shared" / "review" / "cases" / "B"


def upload(rate_bps, base_s=0.28, seconds=40.0, *, is_limited=False, step_s=0.1):
    """Rows of a CUBIC upload: the receiver gets a constant rate, the sender writes blocks into a send buffer.

    With a full queue, the round trip is the window over the rate. A limited transfer has half of the rate, and its
    window changes without a queue.
    """
    goodput = rate_bps / 8 * MSS / (MSS + 52) * (0.5 if is_limited else 1.0)
    times = np.arange(0, seconds, step_s) + step_s
    started = np.minimum(times / (4 * base_s), 1.0)
    bdp = rate_bps * base_s / 8
    queue = bdp / 2
    saw = (times % 5.0) / 5.0
    if is_limited:
        windows, trips = bdp * (0.3 + 0.4 * saw), np.full(len(times), 1.08 * base_s)
    else:
        windows = started * (bdp + queue * (0.4 + 0.6 * saw))
        trips = np.maximum(base_s, 8 * windows / rate_bps)
    arrived = goodput * np.maximum(times - 2 * base_s, 0.0)
    # Two windows and a block wait in the send buffer.
    written = BLOCK * np.ceil((arrived + 2 * np.maximum.accumulate(windows)) / BLOCK)
    return Load(
        times - step_s,
        np.full(len(times), step_s),
        np.diff(written, prepend=0.0),
        "up.json",
        "reverse",
        srtt_s=trips,
        cwnd_bytes=windows,
        retransmits=np.zeros(len(times)),
        mss=MSS,
        cc="cubic",
        block=BLOCK,
        received=(float(goodput * (seconds - base_s)), seconds + base_s),
    )


@pytest.mark.parametrize("rate", [128e3, 256e3, 2e6, 10e6])
def test_blocks_of_writes_do_not_hide_the_rate(rate):
    found = capacity.estimate(upload(rate), 0.28, None)
    assert not found.is_bound, found.how
    assert found.rate_bps.low <= rate <= found.rate_bps.high
    assert found.rate_bps.value == pytest.approx(rate, rel=0.05)
    assert found.rate_bps.high < 1.2 * found.rate_bps.low


def test_rows_with_equal_numbers_do_not_make_a_queue_full():
    """A transfer that losses limit has rows of whole blocks, too, and its goodput grows with the window."""
    found = capacity.estimate(upload(20e6, is_limited=True), 0.28, None)
    assert found.is_bound
    assert found.elasticity > 0.9
    assert 0 < found.rate_bps.value <= 20e6


def test_a_lower_bound_is_below_the_rate_when_a_repaired_hole_delivers_a_window_at_once():
    """The receiver of a 10 Mbit/s path gets nothing for a round trip, and then three windows in a tenth of a second."""
    bytes_ = np.full(300, 10e6 / 8 * 0.1 * MSS / (MSS + 52))
    for hole in range(20, 300, 20):
        bytes_[hole + 15] += bytes_[hole : hole + 15].sum()
        bytes_[hole : hole + 15] = 0.0
    load = Load(0.1 * np.arange(300), np.full(300, 0.1), bytes_, "down.json", mss=MSS)
    found = capacity.estimate(load, 0.5, None)
    assert found.is_bound
    assert 9e6 <= found.rate_bps.value <= 10e6 * 1.0001
    window = np.full(300, 1e6)
    found = capacity.estimate(replace(load, cwnd_bytes=window, srtt_s=np.full(300, 0.5)), 0.5, None)
    assert found.rate_bps.value <= 10e6 * 1.0001


@pytest.mark.parametrize(
    ("begin_s", "seconds", "is_beside"), [(0.0, 30.0, True), (29.4, 30.0, False), (40.0, 30.0, False), (0.0, 2.5, True)]
)
def test_transfers_both_ways_are_told_from_those_that_follow_each_other(begin_s, seconds, is_beside):
    """iperf3 writes its start in whole seconds, so a later transfer may seem to overlap by a second."""

    def load(source, direction, begin_s, seconds):
        count = round(seconds / 0.1)
        times = UNIX_S + begin_s + 0.1 * np.arange(count)
        state = {"srtt_s": np.full(count, 0.1), "cwnd_bytes": np.full(count, 1e5)}
        return Load(times, np.full(count, 0.1), np.full(count, 1e4), source, direction, mss=MSS, **state)

    loads = oppose([load("down.json", "forward", 0.0, 30.0), load("up.json", "reverse", begin_s, seconds)])
    assert [bool(each.is_alone.all()) for each in loads] == [not is_beside] * 2
    found = [capacity.estimate(each, 0.1, None) for each in loads]
    # The download is also alone for a time if the upload is short.
    assert ["both ways" in each.how for each in found] == [is_beside and seconds > 20, is_beside]


def test_segments_that_a_full_queue_dropped_are_no_losses_of_the_link():
    load = upload(2e6)
    again = np.zeros(400)
    again[[10, 12]] = 300
    # Six in the last nine tenths of the time.
    again[100:400:50] = 1
    found = capacity._find_retransmissions(replace(load, retransmits=again, srtt_s=np.full(400, 0.28)), 0.28)
    assert found.value == pytest.approx(6 / (0.9 * load.received[0] / MSS), rel=0.05)


def test_a_rate_below_a_proven_one_is_refused():
    slow = capacity.Capacity(capacity.Value(4e6, 3.9e6, 4.1e6), is_bound=False, elasticity=0.1, how="")
    fast = capacity.Capacity(capacity.Value(41e6, 41e6, np.inf), is_bound=True, elasticity=None, how="")
    assert capacity.is_better(fast, slow)
    assert not capacity.is_better(slow, fast)


TRUTHS = {
    "geo": {"rate forward": 10e6, "queue forward": 675e3, "rate reverse": 2e6, "queue reverse": 135e3},
    "slow": {"rate forward": 512e3, "queue forward": 20e3, "rate reverse": 256e3, "queue reverse": 20e3},
    "lossy": {
        "rate forward": 20e6,
        "retransmitted forward": 0.002,
        "rate reverse": 2e6,
        "retransmitted reverse": 0.01,
    },
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="no recorded transfers over paths with known truth beside the clone")
@pytest.mark.parametrize("name", TRUTHS)
def test_intervals_of_recorded_transfers_hold_the_truth(name, tmp_path):
    files = []
    for part in ("ping.txt", "down.json", "up.json"):
        files.append(tmp_path / part)
        files[-1].write_bytes(lzma.decompress((SHARED / f"{name}-{part}.xz").read_bytes()))
    found = bp.fit(files, check=False, held_out=False)
    # Losses of a ping are shared as the retransmissions of both directions: 0.2 % down, 1 % up.
    assert name != "lossy" or found.parts().shares["forward"] == pytest.approx(0.002 / 0.012, abs=0.05)
    for number, truth in TRUTHS[name].items():
        low, high = found.by_name[number].low, found.by_name[number].high
        assert found.by_name[number].value <= truth if high is None else low <= truth <= high, found.by_name[number]


@pytest.mark.parametrize(
    ("mean", "every", "rate", "queue"),
    [
        ("1 ns", "20 ms", "10 Mbit/s", 50_000),
        ("2 ms", "20 ms", "10 Mbit/s", 50_000),
        ("3 ms", "1 s", "10 Mbit/s", 50_000),
        ("5 ms", "20 ms", "5 Mbit/s", 100_000),
    ],
)
def test_delays_that_a_path_has_without_load_are_no_queue(tmp_path, mean, every, rate, queue):
    """A ping, then a download, over a simulated path. A capture shows the jitter, too: its segments are late."""
    path = {"mean": mean, "every": every, "rate": rate, "queue": queue}
    probing = JITTERY.format(
        duration="20 s", from_="terminal", to="server", app='{ kind = "probe", interval = "10 ms" }', **path
    )
    loading = JITTERY.format(duration="30 s", from_="server", to="terminal", app='"greedy"', **path)
    later_s = 10**9
    (tmp_path / "ping.txt").write_text(measurements.pings(bp.run(bp.loads(probing)).probes, BEGIN + later_s - 60))
    bp.run(bp.loads(loading), pcap=tmp_path / "run.pcapng")
    captures = [tmp_path / "run-server.pcapng", tmp_path / "run-terminal.pcapng"]
    for capture in captures:
        capture.write_bytes(measurements.later(capture.read_bytes(), later_s))
    for files in (captures[:1], captures, [tmp_path / "ping.txt", captures[0]], [tmp_path / "ping.txt", *captures]):
        found = bp.fit(files, check=False, held_out=False).by_name["queue forward"]
        assert found.low <= queue <= found.high, (files, found)
        assert found.value == pytest.approx(queue, rel=0.1), files


def test_a_link_that_is_idle_at_times_has_no_line():
    """Half of the rate arrives in each window, so the link was idle, and no arrival is late because of jitter."""
    times = np.arange(0, 20, 0.01)
    waits = np.full(200, 0.1)
    load = Load(
        0.1 * np.arange(200),
        np.full(200, 0.1),
        np.full(200, 1e4),
        "a.pcap",
        arrived=(times, 1e3 * np.arange(2000), times),
    )
    assert jitter.remove_under_load(load, waits, 0.0, 1.6e6) is waits
    late_s = 0.02 * (np.arange(2000) % 7 == 0)
    load = replace(load, arrived=(times + late_s, 1e3 * np.arange(2000), 0.06 + late_s))
    found = jitter.remove_under_load(load, 0.08 + 0 * waits, 0.0, 0.8e6)
    assert found == pytest.approx(np.full(len(found), 0.06), abs=1e-9)


def test_smoothed_round_trips_are_above_the_queue_by_the_mean_of_the_jitter():
    steady = upload(2e6)
    mean_s = 0.02
    longer = replace(steady, srtt_s=steady.srtt_s + mean_s, cwnd_bytes=steady.cwnd_bytes + 2e6 * mean_s / 8)
    measured = jitter.Jitter(np.arange(100) * 0.1, 0.28 + mean_s * (np.arange(100) % 3))
    queues = [
        capacity.estimate(load, 0.28, None, known).queue_bytes.value
        for load, known in ((steady, None), (longer, measured), (longer, None))
    ]
    assert queues[1] == pytest.approx(queues[0], rel=0.05)
    assert queues[2] > queues[0] + 0.8 * 2e6 * mean_s / 8


def test_a_lower_bound_of_an_upload_by_flent_is_that_of_the_receiver(tmp_path):
    """Rows of an upload count the writes of netperf: here two of 128 kB follow each other at 0.5 Mbit/s."""
    count, rate, write = 300, 0.5e6, 131072
    seconds = 0.2 * count
    every = int(5 * 8 * write / rate)
    rows = [8e-6 * write / 0.2 if number % (2 * every) < 2 else 0.0 for number in range(count)]
    series = {"Ping (ms) ICMP": [50.0 + number % 5 for number in range(count)], "TCP upload": rows}
    about = {"Ping (ms) ICMP": {"UNITS": "ms"}, "TCP upload": {"UNITS": "Mbits/s"}}
    bounds = []
    for known in ({}, {"BYTES_RECVD": rate / 8 * seconds, "ELAPSED_TIME": seconds}):
        about["TCP upload"] |= known
        metadata = {"NAME": "tcp_upload", "TIME": "2024-11-25T21:43:20Z", "SERIES_META": about}
        content = {"x_values": [0.2 * number for number in range(count)], "results": series, "metadata": metadata}
        (tmp_path / "data.flent").write_text(json.dumps(content))
        found = bp.fit(tmp_path / "data.flent", check=False, held_out=False).by_name["rate reverse"]
        assert found.kind == "lower bound"
        bounds.append(found.value)
    assert bounds[0] > 1.5 * rate
    assert bounds[1] == pytest.approx(rate * 1500 / 1448, rel=0.001)
