"""Intervals that the frame of a figure cuts, and titles of reports."""

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.experiment.common.provenance import choose_title
from bentpipe.plot.cuts import CUT, EXPLAINED, mark_cuts

LOSSY = """
duration = "2 s"
[tcp]
like = "rfc"
[link.sat]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "100 ms"
error = { kind = "packet", rate = 0.02 }
[flow.f]
from = "a"
to = "b"
"""


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


def cuts(axes):
    return sorted((line.get_marker(), *np.ravel(line.get_xydata())) for line in axes.lines if line.get_label() == CUT)


def test_error_bars_have_a_triangle_where_they_leave_the_frame(axes):
    axes.errorbar([1, 2, 3], [1, 1, 1], yerr=[[0.5, 3, 0.5], [0.5, 5, 4]], fmt="o")
    axes.set_ylim(0, 2)
    assert mark_cuts(axes)
    assert cuts(axes) == [("^", 2, 2), ("^", 3, 2), ("v", 2, 0)]
    assert axes.get_ylim() == (0, 2)


def test_lying_error_bars_and_bands_have_them_too(axes):
    axes.errorbar(1, 5, xerr=3, fmt="o")
    axes.set_xlim(0, 10)
    assert mark_cuts(axes)
    assert cuts(axes) == [("<", 0, 5)]
    axes.fill_between([1, 2, 3], [1, 1, 1], [2, 9, 2])
    axes.set_ylim(0, 6)
    mark_cuts(axes)
    assert ("^", 2, 6) in cuts(axes)


def test_nothing_is_marked_where_nothing_is_cut(axes):
    axes.errorbar([1, 2], [1, 1], yerr=0.5)
    axes.set_ylim(0, 2)
    assert not mark_cuts(axes)
    assert not cuts(axes)


def test_figures_of_sweeps_and_mixes_explain_the_triangles():
    scenario = bp.loads(LOSSY)
    swept = bp.sweep(scenario, {"link.sat.delay": ["1 ms", "50 ms", "100 ms", "200 ms"]}, replications=2)
    wide = [each for each in swept.estimates("goodput") if each.low < 0 or each.high > 2 * each.mean]
    figure = swept.plot()
    marked = [line for axes in figure.axes for line in axes.lines if line.get_label() == CUT]
    assert bool(wide) == bool(marked) == (EXPLAINED in figure.get_suptitle().replace("\n", " "))
    mixed = bp.mix(scenario, ["reno", "cubic"], replications=2)
    below = any(mixed.estimate(name, "share").low < 0 for name in mixed.names)
    assert below == (EXPLAINED in mixed.plot("share").get_suptitle().replace("\n", " "))


def test_reports_without_a_title_have_the_name_of_the_file(tmp_path):
    assert choose_title("Given", "a/b.toml") == "Given"
    assert choose_title("", "a/lossy.toml") == "lossy"
    assert choose_title("", "runs/first/scenario.toml") == "first"
    (tmp_path / "lossy.toml").write_text(LOSSY, encoding="utf-8")
    report = bp.run(tmp_path / "lossy.toml").report(tmp_path / "out")
    assert "untitled" not in (text := report.page.read_text(encoding="utf-8"))
    assert "<h1>lossy" in text
