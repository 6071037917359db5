"""The time of a flow in a window, in parts that add up to it."""

import math
import random

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.experiment.why.explanation import LIMITS
from bentpipe.experiment.why.time_spent import OF_DATAGRAMS, OF_LIMITS, PARTS, SERIES, divide_window

PATH = {
    "duration": "20 s",
    "tcp": {"like": "rfc", "cc": "newreno"},
    "link": {
        "access": {"from": "server", "to": "gateway", "rate": "100 Mbit/s", "delay": "5 ms"},
        "sat": {"from": "gateway", "to": "client", "rate": "4 Mbit/s", "delay": "100 ms", "queue": "1 bdp"},
    },
    "flow": {"f": {"from": "server", "to": "client"}},
    "record": {"interval": "100 ms"},
}


def run(**changes):
    sets = {key.replace("__", "."): value for key, value in changes.items()}
    return bp.run(bp.Scenario(PATH, sets=sets), series=SERIES)


def times(found):
    return {part.part: part.time_s for part in found.parts}


def test_a_window_that_was_made_by_hand():
    # Slow start, the window, recovery, the timer, the receiver, the application.
    limits = [(0.5, 1), (2.0, 2), (5.0, 6), (6.0, 7), (8.0, 3), (9.0, 5)]
    # The link is in use for a quarter of the time until 3 s, then always.
    found = divide_window(
        "f", 0.0, 10.0, [at for at, _ in limits], [limit for _, limit in limits], [1, 2, 3, 10], [0, 0.5, 0.25, 1]
    )
    assert times(found) == pytest.approx(
        {
            "link-busy": 0.5 + 0.25 + 2.0,
            "path-not-filled": 0.5 + 0.5 + 0.75,
            "recovery": 1.0,
            "silence": 2.0,
            "sender-limited": 0.5 + 1.0,
            "receiver-limited": 1.0,
        }
    )
    assert found["silence"].longest_s == (6.0, 8.0)
    assert found["link-busy"].longest_s == (3.0, 5.0)
    assert sum(part.share for part in found.parts) == pytest.approx(1.0)
    # A part of a window.
    assert times(divide_window("f", 5.5, 6.5, [5.0, 6.0], [6, 7], [10], [1.0])) == pytest.approx(
        dict.fromkeys(PARTS, 0.0) | {"recovery": 0.5, "silence": 0.5}
    )


def test_parts_of_random_windows_add_up():
    draw = random.Random(7)
    for _ in range(300):
        begin, end = sorted(draw.uniform(0, 100) for _ in range(2))
        rows = sorted(draw.uniform(0, 100) for _ in range(draw.randrange(40)))
        edges = sorted(draw.uniform(0, 100) for _ in range(draw.randrange(40)))
        limits, busy = [draw.randrange(8) for _ in rows], [draw.random() for _ in edges]
        found = divide_window("f", begin, end, rows, limits, edges, busy)
        assert math.fsum(times(found).values()) == pytest.approx(end - begin, abs=1e-9)
        assert all(part.time_s >= 0 for part in found.parts)
        for part in found.parts:
            assert part.longest_s is None or begin <= part.longest_s[0] < part.longest_s[1] <= end


@pytest.mark.parametrize("name", ["geo", "leo", "ship"])
def test_parts_of_shipped_scenarios_add_up_in_any_window(name):
    result = bp.run(name, {"duration": "40 s"}, series=SERIES)
    flow = result.scenario.flow_names[0]
    for begin, end in [(0.0, result.simulated_s), (3.21, 17.9), (0.0, 1e-3)]:
        found = result.time_spent(begin, end, flow)
        assert math.fsum(times(found).values()) == pytest.approx(end - begin, abs=1e-9)
    assert math.fsum(times(result.time_spent(flow=flow)).values()) == pytest.approx(result.simulated_s, abs=1e-9)


def test_every_limit_has_a_part():
    assert len(OF_LIMITS) == len(LIMITS)
    assert {part for part in OF_LIMITS if part} == set(PARTS) - {"link-busy", "path-not-filled"}


def test_a_large_window_keeps_the_link_busy_and_a_small_one_does_not():
    full = run(tcp__initial_window="200 segments", tcp__receive_buffer="unlimited")
    assert full.time_spent(10, 20)["link-busy"].share > 0.9
    small = run(tcp__receive_buffer="20 kB").time_spent(5, 20)
    assert small["receiver-limited"].share > 0.95
    held = run(flow__f__app={"kind": "bulk", "size": "20 kB", "pause": "3 s"}).time_spent()
    assert held["sender-limited"].share > 0.5


def test_a_window_that_grows_does_not_fill_the_path():
    found = run(link__sat__rate="50 Mbit/s", tcp__initial_ssthresh="20 segments").time_spent(5, 15)
    assert found["path-not-filled"].share > 0.5
    assert found["link-busy"].share + found["path-not-filled"].share > 0.99


def test_framing_does_not_hide_that_the_link_is_busy():
    framed = run(link__sat__framing="ethernet", tcp__initial_window="200 segments")
    assert framed.time_spent(10, 20)["link-busy"].share > 0.9


def test_only_links_decide_about_datagrams():
    """An application that sends each 13 ms does not lack data. The link sends 1 Mbit/s and headers of 4 Mbit/s."""
    found = run(flow__f__app={"kind": "cbr", "rate": "1 Mbit/s", "size": "1000 B"}).time_spent()
    assert [part.part for part in found.parts] == list(OF_DATAGRAMS)
    assert found["link-busy"].share == pytest.approx(1.028 / 4, rel=0.02)
    assert math.fsum(times(found).values()) == pytest.approx(20.0)
    assert "nothing to send" not in str(found)


def test_a_result_without_the_series_is_run_again():
    assert bp.run(bp.Scenario(PATH)).time_spent(2, 9) == run().time_spent(2, 9)


def test_it_is_shown_as_text_html_and_plain_data():
    found = run().time_spent(2, 9)
    assert "f, 2 s to 9 s" in str(found)
    assert PARTS["link-busy"] in found._repr_html_()
    written = found.to_dict()
    assert [part["part"] for part in written["parts"]] == list(PARTS)
    assert repr(found).startswith("<TimeSpent of f, 2 s to 9 s: ")
    with pytest.raises(BentpipeError, match="known: "):
        found["idle"]


@pytest.mark.parametrize("window", [(5, 5), (9, 2), (-1, 3), (0, 21)])
def test_a_window_that_the_run_does_not_have_is_refused(window):
    with pytest.raises(BentpipeError, match="0 to 20 s"):
        run().time_spent(*window)


def test_an_unknown_flow_is_refused():
    with pytest.raises(BentpipeError, match="known: f"):
        run().time_spent(flow="g")
