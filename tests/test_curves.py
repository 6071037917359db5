"""Curves: columns keep integrals and extremes, stay where they are at any width, and end where knowledge ends."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bentpipe as bp
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.statistics.curve import Curve, choose_width

SCENARIO = """
title = "Two flows, an outage and a handover"
duration = "20 s"
tcp.like = "rfc"
[link.old]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "50 ms"
queue = "1 bdp"
outage = { spans = [["3 s", "3.4 s"]] }
[link.new]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "60 ms"
queue = "1 bdp"
[flow.long]
from = "a"
to = "b"
route = ["old"]
reverse_route = ["old"]
[flow.short]
from = "a"
to = "b"
route = ["old"]
reverse_route = ["old"]
app = { kind = "file", size = "300 kB" }
[[at]]
time = "12 s"
down = ["old"]
install = [
    { flow = "long", route = ["new"], reverse_route = ["new"] },
    { flow = "short", route = ["new"], reverse_route = ["new"] },
]
"""
SERIES = ("goodput_bps", "cwnd_bytes", "srtt_s", "queue_bytes", "limited_by", "carried_bps", "losses", "decisions")


@pytest.fixture(scope="module")
def result():
    return bp.run(bp.loads(SCENARIO), series=SERIES)


@st.composite
def rows(draw):
    lengths = draw(st.lists(st.floats(1e-3, 2.0), min_size=1, max_size=300))
    values = draw(st.lists(st.floats(0, 1e6), min_size=len(lengths), max_size=len(lengths)))
    return np.cumsum(lengths), np.array(values)


@settings(deadline=None)
@given(rows(), st.sampled_from(["level", "rate"]), st.integers(1, 200))
def test_columns_keep_the_integral_and_the_extremes(series, kind, columns):
    times, values = series
    end = times[-1] + (1.0 if kind == "level" else 0.0)
    curve = Curve.from_rows(kind, times, values, [(0.0, end)])
    found = curve.cut(0.0, end, columns)
    there = ~np.isnan(found.values)
    assert found.least[there].min() == values.min()
    assert found.greatest[there].max() == values.max()
    begins = times if kind == "level" else np.concatenate(([0.0], times[:-1]))
    ends = np.append(times[1:], end) if kind == "level" else times
    whole = float((values * (ends - begins)).sum())
    # A column at an end of the curve has its mean over the known part.
    lasts = np.append(found.begins[1:], found.end_s)
    known = np.minimum(lasts, ends[-1]) - np.maximum(found.begins, begins[0])
    assert float((found.values[there] * known[there]).sum()) == pytest.approx(whole, rel=1e-6, abs=1e-3)


@given(st.floats(1e-3, 1e6), st.integers(1, 4000))
def test_widths_are_one_two_or_five_times_a_power_of_ten(span, columns):
    width = choose_width(span, columns)
    assert span / columns * (1 - 1e-9) <= width <= 2.5 * span / columns * (1 + 1e-9)
    assert re.fullmatch(r"[125]0*\.?0*e.*", f"{width:.12e}")


def test_columns_stay_where_they_are_if_the_picture_moves(result):
    curve = result.curve("cwnd_bytes", "long")
    one, other = curve.average(2.0, 9.0, 0.5), curve.average(3.13, 9.41, 0.5)
    shared = np.intersect1d(one.begins, other.begins)
    assert len(shared) >= 11
    for name in ("values", "least", "greatest"):
        at = [dict(zip(each.begins, getattr(each, name), strict=True)) for each in (one, other)]
        assert all(at[0][begin] == at[1][begin] for begin in shared)


def episodes(curve, low):
    """Begin and end of each span in which a curve is at most `low`, and of each in which it is above."""
    found = []
    for begin, end, value in zip(curve.begins, curve.ends, curve.values, strict=True):
        if found and found[-1][2] == (value <= low):
            found[-1][1] = end
        else:
            found.append([begin, end, value <= low])
    return found


@pytest.mark.parametrize(("name", "low"), [("goodput_bps", 0.0), ("cwnd_bytes", 20_000.0)])
def test_a_run_drawn_at_20_widths_shows_every_episode_longer_than_two_columns(result, name, low):
    curve = result.curve(name, "long")
    assert len(episodes(curve, low)) > 4
    seen = 0
    for pixels in np.linspace(60, 1920, 20).astype(int):
        drawn = curve.cut(0.0, 20.0, int(pixels))
        for begin, end, is_low in episodes(curve, low):
            if end - begin <= 2 * drawn.width_s:
                continue
            seen += 1
            within = (drawn.begins >= begin - 1e-9) & (np.append(drawn.begins[1:], drawn.end_s) <= end + 1e-9)
            assert within.any(), (pixels, begin, end)
            assert np.all((drawn.values[within] <= low) == is_low), (pixels, begin, end)
    assert seen > 60


def test_a_curve_ends_with_its_flow(result):
    start, end = result.find_life("short")
    completion = result.flows.row(1, named=True)["completion_s"]
    assert (start, end) == (0.0, completion)
    assert end < 12
    for name in ("cwnd_bytes", "srtt_s", "goodput_bps"):
        assert result.curve(name, "short").end_s == pytest.approx(end)
        assert result.curve(name, "short").find_value(end + 0.3) is None
        assert "short" not in result.find_values(end + 0.3)[name]
        assert "short" in result.find_values(end - 0.3)[name]
    spent = result.time_spent(flow="short")
    assert (spent.start_s, spent.end_s) == (start, end)
    assert sum(part.time_s for part in spent.parts) == pytest.approx(end)
    assert result.time_spent(15.0, 20.0, "short").parts[0].share == 0.0
    assert result.sentences("short", at=15.0)[-1] == f"Now, at 15.00 s: short has ended, at {end:.2f} s."


def test_a_link_that_is_taken_away_ends_and_the_queue_of_the_route_goes_on(result):
    old, new = (result.curve("queue_bytes", f"{link}.forward") for link in ("old", "new"))
    assert old.end_s == 12.0
    assert (old.find_value(12.5), "old.forward" in result.find_values(12.5)["queue_bytes"]) == (None, False)
    route = result.curve("route_queue_bytes", "long")
    assert route.end_s == 20.0
    for t in np.arange(0.05, 20.0, 0.1):
        assert route.find_value(t) == (old if t < 12 else new).find_value(t)
    fullest = max(old.greatest.max(), new.greatest.max())
    assert route.greatest.max() == fullest
    # The sentence has the same queue.
    waits = next(t for t in np.arange(12.5, 20.0, 0.1) if route.find_value(t))
    assert "wait at new.forward" in result.sentences("long", at=waits)[-1]


def test_samples_miss_no_peak_of_a_queue(result):
    for link, most in result.links.select("link", "queue_max_bytes").iter_rows():
        curve = result.curve("queue_bytes", link)
        assert curve.greatest.max() == most
        assert np.nanmax(curve.cut(0.0, 20.0, 50).greatest) == most
    # Snapshots alone miss the first burst.
    first = result.series("queue_bytes", link="old.forward").row(1, named=True)
    assert first["queue_bytes"] < first["greatest"]


def test_a_full_series_covers_the_run(result):
    thinned = bp.run(bp.loads(SCENARIO, sets={"record.rows_max": 300}), series=SERIES)
    for name in ("cwnd_bytes", "srtt_s", "queue_bytes", "goodput_bps", "carried_bps"):
        assert thinned.recorded[name].height <= 300
        for of in ("long", "old.forward"):
            if of not in thinned.recorded[name].to_series(1):
                continue
            mine, whole = thinned.curve(name, of), result.curve(name, of)
            assert (mine.end_s, mine.greatest.max()) == (whole.end_s, whole.greatest.max())
    column_s = thinned.coverage["cwnd_bytes"]["column_s"]
    assert f"cwnd_bytes is thinned to columns of {column_s:g} s" in " ".join(thinned.notes)
    # The integral of a rate stays.
    assert thinned.curve("carried_bps", "old.forward").average(0.0, 12.0, 12.0).values[0] == pytest.approx(
        result.curve("carried_bps", "old.forward").average(0.0, 12.0, 12.0).values[0]
    )


def test_lists_end_and_why_says_so(result):
    cut = bp.run(bp.loads(SCENARIO, sets={"record.rows_max": 5}), series=SERIES)
    end = cut.coverage["decisions"]["end_s"]
    assert cut.recorded_until("decisions") == end == result.series("decisions")["time_s"][5]
    said = str(cut.why("long", start=0.0, end=20.0))
    assert re.search(rf"Unknown after {end:.6g} s: .*decisions.* did not fit the record", said)
    assert f"Unknown after {end:.6g} s" in cut.sentences("long", at=15.0)[-1]
    assert "Unknown" not in str(result.why("long", start=0.0, end=20.0))


def test_coverage_is_kept_with_a_saved_result(tmp_path):
    scenario = bp.loads(SCENARIO, sets={"record.rows_max": 5})
    run = bp.run(scenario, series=SERIES)
    run.save(tmp_path / "run")
    assert RunResult.load(tmp_path / "run").coverage == run.coverage


def test_a_missing_value_is_a_gap():
    curve = Curve.from_rows("level", np.array([1.0, 2.0, 3.0]), np.array([5.0, math.nan, 7.0]), [(0.0, 4.0)])
    assert [curve.find_value(t) for t in (0.5, 1.5, 2.5, 3.5, 4.5)] == [None, 5.0, None, 7.0, None]
    drawn = curve.cut(0.0, 4.0, 10)
    assert list(drawn.begins) == [1.0, 2.0, 3.0]
    assert [drawn.find_value(t) for t in (1.5, 2.5, 3.5)] == [5.0, None, 7.0]


def test_figures_have_the_same_columns(result):
    figure = result.plot()
    panel = next(axes for axes in figure.axes if axes.get_ylabel().startswith("Congestion window"))
    line = panel.get_lines()[0]
    drawn = result.curve("cwnd_bytes", "long").cut(0.0, 20.0, 240)
    assert list(line.get_xdata())[:-1] == list(drawn.begins)
    values = np.array(line.get_ydata(), dtype=float)[:-1]
    assert values / np.nanmax(values) == pytest.approx(drawn.values / np.nanmax(drawn.values), nan_ok=True)
    # Flow `short` ends, and so does its line.
    assert np.isnan(panel.get_lines()[1].get_ydata()[-1])
    assert any(axes.get_ylabel().startswith("Queue of route") for axes in figure.axes)
