"""Values inside congestion controls: series of built-in ones and of classes."""

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.catalog import dictionary
from bentpipe.errors import SenderError
from bentpipe.plot import runs
from bentpipe.studio.data import RunData

SCENARIO = """
duration = "10 s"
seed = 3
[link.hop]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
queue = "2 bdp"
[flow.one]
from = "a"
to = "b"
"""
INSIDES = [each["name"] for each in dictionary()["series"] if each["name"].startswith("cc_")]


class Observed(bp.CongestionControl):
    def __init__(self, init):
        self.least_s = None

    def on_ack(self, ack, path):
        self.least_s = min(filter(None, (self.least_s, ack.rtt_s)), default=None)
        super().on_ack(ack, path)

    def inside(self):
        state = "doubles" if self.cwnd < self.ssthresh else "adds"
        return {"state": state, "min_rtt_s": self.least_s, "twice_bytes": 2 * self.cwnd, "is_odd": True}


class Watched(bp.Bbr):
    def inside(self):
        return {**super().inside(), "extra_s": 1}


def run(cc, series=(), **sets):
    return bp.run(bp.loads(SCENARIO, sets), cc=cc, series=list(series))


def test_a_class_names_its_state_and_values():
    result = run(Observed, ["cc_state", "cc_min_rtt_s", "cc_values", "cc_pacing_gain", "cwnd_bytes"])
    states = result.series("cc_state")
    assert states["name"].to_list()[:2] == ["doubles", "adds"]
    known = len(dictionary()["states"])
    assert set(states["cc_state"]) == {float(known), known + 1.0}, "after those of the registry"
    assert result.series("cc_min_rtt_s")["cc_min_rtt_s"].min() == pytest.approx(0.0413, abs=0.001)
    tables = [result.series("cc_values").filter(name="twice_bytes"), result.series("cwnd_bytes")]
    twice, windows = (table.unique("time_s", keep="last", maintain_order=True) for table in tables)
    # In recovery the connection has another window.
    joined = twice.join(windows, on="time_s").filter(pl.col("time_s") < states["time_s"][1])
    assert len(joined) > 100
    assert (joined["cc_values"] == 2 * joined["cwnd_bytes"]).all()
    assert result.series("cc_pacing_gain").is_empty(), "it has none"
    assert result.find_values(5.0)["cc_values:is_odd"] == {"one": 1.0}


def test_a_class_that_extends_a_built_in_has_its_values_and_more():
    series = [*INSIDES, "cwnd_bytes"]
    mine, built_in = run(Watched, series), run("bbr3", series)
    for name in set(INSIDES) - {"cc_values"}:
        assert mine.series(name).equals(built_in.series(name)), name
    more = mine.series("cc_values").filter(pl.col("name") != "extra_s")
    assert more.equals(built_in.series("cc_values"))
    assert mine.series("cc_values").filter(name="extra_s").height == 1


@pytest.mark.parametrize("cc", [Observed, Watched, "bbr1", "bbr2", "bbr3", "leocc", "copa", "yeah", "cubic"])
def test_a_record_changes_nothing(cc):
    assert run(cc, INSIDES).flows.equals(run(cc).flows)


def test_it_is_not_asked_unless_a_series_of_it_is_recorded():
    class Counted(bp.CongestionControl):
        calls = 0

        def inside(self):
            Counted.calls += 1
            return {}

    run(Counted, ["cwnd_bytes"])
    assert Counted.calls == 0
    run(Counted, ["cc_values"])
    assert Counted.calls > 100


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([1], r"inside\(\) returned \[1\]: expected a dict of names with numbers or None"),
        ({"state": 1}, "inside.. returned a state of 1"),
        ({"queue_s": "long"}, "inside.. returned queue_s = 'long'"),
        ({1: 1}, "inside.. returned the name 1"),
        ({"": 1}, "inside.. returned an empty name"),
    ],
)
def test_wrong_values_end_the_run(returned, message):
    wrong = type("Wrong", (bp.CongestionControl,), {"inside": lambda self: returned, "__module__": __name__})
    with pytest.raises(SenderError, match=message):
        run(wrong, ["cc_values"])


def test_a_bound_that_is_lifted_is_missing():
    result = run("bbr3", ["cc_inflight_shortterm_bytes"], **{"link.hop.queue": "30 kB"})
    bounds = result.series("cc_inflight_shortterm_bytes")["cc_inflight_shortterm_bytes"]
    assert bounds.null_count() > 0
    assert bounds[0] is not None


def test_figures_and_the_studio_have_a_curve_for_each():
    result = run(Watched, ["cc_state", "cc_values", "cwnd_bytes", *("losses", "decisions", "queue_bytes")])
    figure = runs.run_figure(result)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert "State" in labels
    assert "round_count" in labels
    assert "extra_s" in labels
    names = [tick.get_text() for tick in figure.axes[labels.index("State")].get_yticklabels()]
    assert "startup" in names
    assert "drain" in names
    data = RunData(result, "run")
    assert {"cc_state", "cc_values:extra_s"} <= {each["name"] for each in data.described}
    curve = data.curve("cc_values:round_count", "one")
    assert len(curve.begins) > 10
    assert (np.diff(curve.values) > 0).all()
