"""Reasons of windows that move without losses: each fall by more than a fifth has a sentence."""

import os

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.experiment.why import modes
from bentpipe.statistics.curve import Curve

IS_LONG = os.environ.get("BENTPIPE_ALL") == "1"
SENDERS = ("bbr1", "bbr2", "bbr3", "copa", "vegas", "leocc", "cubic")
SCENARIOS = ("geo", "leo", "geo-access", "ship", "starlink", "slow-start")


def tell_falls(result, flow):
    """Falls of the window of a flow, and those of them without a reason."""
    rtt_s = result.flows.row(by_predicate=pl.col("flow") == flow, named=True)["rtt_p50_s"] or 0.0
    falls = modes.find_falls(result.curve("cwnd_bytes", flow), max(rtt_s, 1e-3))
    found = result.why(flow, start=0.0, end=result.simulated_s).select_kinds("fall")
    return falls, [str(each) for each in found if modes.UNKNOWN in each.text]


@pytest.mark.parametrize("cc", SENDERS)
@pytest.mark.parametrize("scenario", SCENARIOS if IS_LONG else ("geo", "leo"))
def test_no_fall_by_more_than_a_fifth_is_without_a_sentence(scenario, cc):
    loaded = bp.load(scenario)
    seconds = min(loaded.duration_s, 60 if IS_LONG else 20)
    result = bp.run(
        bp.load(scenario, sets={"tcp.cc": cc, "duration": f"{seconds} s"}), series=("cwnd_bytes", *modes.SERIES)
    )
    for flow in result.scenario.flow_names[:4]:
        falls, unknown = tell_falls(result, flow)
        assert unknown == [], (len(falls), unknown)


def test_probe_rtt_of_bbr3_is_told_with_its_reason():
    result = bp.run(bp.load("geo", sets={"tcp.cc": "bbr3", "duration": "20 s"}))
    states = result.why("transfer", start=0.0, end=20.0).select_kinds("state")
    assert states[0].text.startswith("Startup: it doubles its rate in each round trip")
    (probe, *_) = [each for each in states if each.text.startswith("ProbeRTT: ")]
    assert "its minimum round trip is 5.0 s old" in probe.text
    assert "the congestion window falls from" in probe.text
    assert probe.numbers["cwnd_after_bytes"] < 0.8 * probe.numbers["cwnd_before_bytes"]
    said = result.sentences("transfer", at=probe.time_s + 0.6)
    assert any("ProbeRTT: its minimum round trip" in sentence for sentence in said)


def test_falls_are_found_where_they_are():
    times = np.array([0.0, 1.0, 2.0, 2.05, 4.0, 5.0])
    window = Curve.from_rows("level", times, np.array([10.0, 20.0, 12.0, 8.0, 30.0, 25.0]), [(0.0, 8.0)])
    assert [(each.time_s, each.before, each.after) for each in modes.find_falls(window, 0.4)] == [(2.0, 20.0, 8.0)]
    # 25 of 30 is a fall by a sixth.
    assert modes.find_falls(window.within((4.0, 8.0)), 0.4) == []


def test_a_custom_class_gives_its_state_and_why():
    class Two(bp.CongestionControl):
        def on_ack(self, ack, path):
            self.cwnd = 20_000

        def inside(self):
            return {"state": "steady", "why": "it has no other state"}

    result = bp.run(bp.load("slow-start", sets={"tcp.cc": Two, "duration": "5 s"}), series=("cc_state", "cwnd_bytes"))
    assert result.series("cc_state").select("name", "why").row(0) == ("steady", "it has no other state")
    (state,) = result.why("transfer", start=0.0, end=5.0).select_kinds("state")
    assert state.text.startswith("steady: it has no other state")
