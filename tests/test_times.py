"""Time spent by a flow: every instant counts once, and the parts match the events."""

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.cli import render_run

TIMES = [*render_run._TIMES.values()]
PATH = {
    "duration": "60 s",
    "link": {
        "sat": {
            "from": "a",
            "to": "b",
            "rate": "2 Mbit/s",
            "delay": "100 ms",
            "queue": "200 packets",
            "outage": {"spans": [["5 s", "5.4 s"]], "queue": "flush"},
        }
    },
    "flow": {"f": {"from": "a", "to": "b", "app": {"kind": "file", "size": "2 MB"}}},
    "tcp": {"like": "rfc", "cc": "sack", "processing": "0 s"},
}


@pytest.mark.parametrize("name", ["geo-broadband", "s1", "leo-pass", "bursts", "starlink"])
def test_the_times_of_a_connection_sum_to_its_life(name):
    result = bp.run(name)
    end = result.summary["simulated_s"][0]
    for row in result.flows.iter_rows(named=True):
        life = row["completion_s"] if row["completion_s"] is not None else end - row["start_s"]
        assert sum(row[name] for name in TIMES) == pytest.approx(life, abs=1e-9)
        assert all(row[name] >= 0 for name in TIMES)


def told(events, begin, end):
    """Seconds from each event of one kind to the next one of the other."""
    total, since = 0.0, None
    for time, event in events.select("time_s", "event").iter_rows():
        if event in begin and since is None:
            since = time
        elif event in end and since is not None:
            total, since = total + time - since, None
    return total, since


def test_recovery_and_start_up_are_as_the_events_have_them():
    result = bp.run(bp.load("geo", {"tcp.like": "rfc"}), cc="cubic", series="events")
    row, end = result.flows.row(0, named=True), result.summary["simulated_s"][0]
    recovery, open_since = told(result.events, {"fast_retransmit"}, {"recovery_exit"})
    assert row["recovery_s"] == pytest.approx(recovery + (end - open_since if open_since else 0), abs=1e-9)
    first = result.events.filter(pl.col("event") == "fast_retransmit")["time_s"][0]
    assert row["start_up_s"] == pytest.approx(first - row["start_s"], abs=1e-9)
    assert row["cwnd_limited_s"] == pytest.approx(end - first - row["recovery_s"], abs=1e-9)


def test_a_timeout_counts_from_the_start_of_its_timer_to_the_repair_and_an_outage_apart():
    """All packets in flight are lost, and only the timer finds it."""
    result = bp.run(PATH, series="events")
    row, events = result.flows.row(0, named=True), result.events
    assert row["outage_s"] == pytest.approx(0.4, abs=1e-9)
    expiry = events.filter(pl.col("event") == "timeout")["time_s"][0]
    sent = events.filter((pl.col("event") == "sent") & (pl.col("time_s") < expiry))["value"].max()
    repaired = events.filter((pl.col("event") == "acked") & (pl.col("value") > sent))["time_s"][0]
    # RFC 6298 §5.3: an ACK of new data starts the timer, and so does the first retransmission of a recovery.
    acked = events.filter(pl.col("event") == "acked")
    starts = pl.concat([acked.filter(pl.col("value").diff() > 0), events.filter(pl.col("event") == "fast_retransmit")])
    last = starts.filter(pl.col("time_s") < expiry)["time_s"].max()
    down = 5.4 - max(last, 5.0)
    assert row["timeout_s"] == pytest.approx(repaired - last - down, abs=1e-9)


def test_windows_and_buffers_that_are_too_small_are_named():
    def most(sets):
        row = bp.run(bp.Scenario(PATH).with_sets(sets)).flows.row(0, named=True)
        return max(TIMES, key=lambda name: row[name])

    assert most({"tcp.receive_buffer": "10 kB"}) == "rwnd_limited_s"
    assert most({"tcp.send_buffer": "10 kB"}) == "send_buffer_limited_s"
    assert most({"flow.f.app": {"kind": "bulk", "size": "5 kB", "pause": "2 s", "count": 5}}) == "app_limited_s"
    assert most({"tcp.initial_ssthresh": "10 segments", "flow.f.app.size": "500 kB"}) == "cwnd_limited_s"


def test_a_run_shows_where_the_time_went(capsys):
    from rich.console import Console

    console = Console(width=80)
    for part in render_run.run(bp.run("geo-broadband"), True):
        console.print(part)
    shown = capsys.readouterr().out
    assert "Where the time went (s)" in shown
    assert "outage" not in shown, "what took no time is left out"
    assert all(len(line.rstrip()) <= 80 for line in shown.splitlines())
