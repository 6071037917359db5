"""Perceived quality of calls and videos, against the values of the recommendation and a known path."""

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.statistics.quality import mos, r_factor, stalls


@pytest.mark.parametrize(("r", "printed"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)])
def test_the_opinion_scores_are_those_that_g107_annex_b_prints(r, printed):
    assert mos(r) == pytest.approx(printed, abs=0.01)


def test_the_opinion_score_stays_between_1_and_4_5():
    assert [float(mos(r)) for r in (-20, 0, 3, 100, 130)] == [1, 1, 1, 4.5, 4.5]


def test_delay_up_to_100_ms_costs_nothing_and_each_doubling_more():
    """Idd at X = 1: 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2) = 3.044; at X = 2: 24.07."""
    assert r_factor([0.0, 0.1], 0) == pytest.approx([93.2, 93.2])
    assert 93.2 - r_factor([0.2, 0.4], 0) == pytest.approx([3.044, 24.07], abs=0.01)


def test_as_much_loss_as_the_codec_is_robust_to_costs_half_of_95():
    assert 93.2 - r_factor(0, 25.1) == pytest.approx(47.5)
    assert r_factor(10, 100) == 0


CALL = """
duration = "20 s"
[tcp]
like = "rfc"
[link.sat]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "250 ms"
[flow.call]
from = "a"
to = "b"
app = { kind = "cbr", rate = "64 kbit/s", size = "160 B" }
[flow.file]
from = "a"
to = "b"
start = "5 s"
"""


def test_calls_are_compared_by_what_people_hear():
    scenario = bp.loads(CALL)
    alone = scenario.replace("flow.file.start", "19.9 s")
    # 250 ms, 1.5 ms to send 188 B, 20 ms to collect: X = 1.44.
    # A quantile is the upper edge of a bin of 1.6 %, 0.4 of R here.
    value = bp.run(alone).estimate("r_factor").value
    assert value == pytest.approx(float(r_factor(0.2735, 0)), abs=0.5)
    found = bp.compare(scenario, ["vegas", "cubic"], replications=3, metric=["mos", "mos:call", "r_factor"])
    scores = [found.values(cc, "mos").mean() for cc in ("vegas", "cubic")]
    assert scores[0] > scores[1] + 0.2, "a queue of seconds lowers the score"
    rated = found.values("cubic", "r_factor")
    assert found.values("cubic", "mos:call") == pytest.approx(mos(rated))


def test_a_video_stalls_where_less_comes_in_than_it_plays():
    """1 Mbit/s of video. 2 s of it come in 1 s, nothing for 4 s, then all at once."""
    times, rates = np.arange(1.0, 11), np.array([2, 0, 0, 0, 0, 4, 4, 0, 0, 0]) * 1e6
    played = stalls(times, rates, rate_bps=1e6, buffer_s=2)
    # Plays from 1 s to 3 s. The next sample finds the buffer empty for a second. At 6 s it holds 4 s.
    assert (played.start_s, played.count, played.stalled_s) == (1.0, 1, 3.0)
    assert stalls(times, rates * 0, 1e6).count == 0
    assert np.isnan(stalls(times, rates * 0, 1e6).start_s)
    with pytest.raises(BentpipeError, match="expected both above 0"):
        stalls(times, rates, 0)


def test_a_video_faster_than_its_link_stalls_and_a_slower_one_does_not():
    scenario = bp.loads(CALL).replace("flow.file.start", "0 s").replace("record.series", ["goodput_bps"])
    run = bp.run(scenario, cc="cubic")
    assert run.stalls("file", 500e3).count == 0
    stalled = run.stalls("file", 2e6)
    assert stalled.count >= 2
    played_s, came_s = 20 - stalled.start_s - stalled.stalled_s, float(run.flows["delivered_bytes"][1]) * 8 / 2e6
    assert -1e-6 <= came_s - played_s <= 2, "received data were played, or are in the buffer"
