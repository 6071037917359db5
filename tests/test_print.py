"""Figures for print: lines differ without colours, ratios are on a logarithmic axis, fonts are in the file."""

import itertools
import math

import pytest

import bentpipe as bp
from bentpipe.plot import save, style

FOUR = """
duration = "10 s"
[link.sat]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "50 ms"
[flow.one]
from = "a"
to = "b"
[flow.two]
from = "a"
to = "b"
[flow.three]
from = "a"
to = "b"
[flow.four]
from = "a"
to = "b"
[flow.five]
from = "a"
to = "b"
"""
GREYS_APART = 15.0
"""Least difference of the lightness L* (CIE 1976, 0 to 100) of two lines with the same dashes."""


def lightness(colour):
    """L* of a colour, by CIE 15."""
    from matplotlib.colors import to_rgb

    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
    return 116 * math.cbrt(luminance) - 16 if luminance > 0.008856 else 903.3 * luminance


def are_apart(one, other):
    """Whether two lines differ in a grey picture."""
    if one.get_marker() != other.get_marker() and "None" not in (one.get_marker(), other.get_marker()):
        return True
    greys = abs(lightness(one.get_color()) - lightness(other.get_color()))
    return (
        one.get_linestyle() != other.get_linestyle()
        or one._unscaled_dash_pattern != other._unscaled_dash_pattern
        or greys >= GREYS_APART
    )


def lines(axes):
    return [line for line in axes.get_lines() if len(line.get_xdata()) > 2]


@pytest.mark.parametrize("what", ["run", "mix", "sweep", "looks"])
def test_lines_differ_in_a_grey_picture(what):
    scenario = bp.loads(FOUR)
    if what == "run":
        figure = bp.run(scenario).plot()
    elif what == "mix":
        single = bp.loads(FOUR.partition("[flow.two]")[0])
        figure = bp.mix(single, ["cubic", "reno", "bbr3", "vegas", "hybla"], replications=1).plot(chart="cwnd")
    elif what == "sweep":
        rates = [f"{rate} Mbit/s" for rate in range(1, 13)]
        vary = {"link.sat.rate": rates, "tcp.cc": ["cubic", "reno", "bbr3", "vegas"]}
        figure = bp.sweep(bp.loads(FOUR, {"duration": "1 s"}), vary, replications=1).plot(metric="goodput")
    else:
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.subplots()
        for place in range(len(style.COLOURS)):
            axes.plot([0, 1, 2], [place] * 3, **style.look(place))
    several = [lines(axes) for axes in figure.axes if len(lines(axes)) > 2]
    assert several
    for panel in several:
        assert all(are_apart(*pair) for pair in itertools.combinations(panel, 2))


def test_a_ratio_and_its_inverse_are_equally_far_from_one():
    slow = {"fast": {}, "slow": {"link.sat.rate": "1 Mbit/s"}, "slower": {"link.sat.rate": "500 kbit/s"}}
    found = bp.compare(bp.loads(FOUR), cases=slow, replications=2, metric="goodput", against="fast")
    figure = found.plot("ratio", metric="goodput")
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    ticks = [text.get_text() for text in axes.get_xticklabels()]
    assert "1" in ticks
    assert all("e" not in tick and "times" not in tick for tick in ticks)


def test_the_first_interval_of_a_rate_is_drawn():
    result = bp.run(bp.loads(FOUR), series=["goodput_bps", "cwnd_bytes", "queue_bytes"])
    drawn = lines(result.plot().axes[0])
    # A value holds up to the next one, and the first one from the start of the run.
    assert {(line.get_drawstyle(), line.get_xdata()[0]) for line in drawn} == {("steps-post", 0)}
    rows = result.series("goodput_bps")
    first = rows.filter(rows["time_s"] == rows["time_s"].min())["goodput_bps"]
    assert sorted(line.get_ydata()[0] for line in drawn) == sorted(first / 1e6)
    second = rows.filter(rows["time_s"] == rows["time_s"].unique().sort()[1])["goodput_bps"]
    assert sorted(line.get_ydata()[1] for line in drawn) == pytest.approx(sorted(second / 1e6))


def test_labels_of_panels_do_not_touch():
    figure = bp.run(bp.loads(FOUR)).plot()
    figure.canvas.draw()
    boxes = [axes.yaxis.label.get_window_extent() for axes in figure.axes]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    for axes, box in zip(figure.axes, boxes, strict=True):
        assert box.height <= 1.05 * axes.get_window_extent().height


def test_fonts_are_in_the_file(tmp_path):
    style.save(bp.run(bp.loads(FOUR, {"duration": "1 s"})).plot(), tmp_path / "run.pdf")
    content = (tmp_path / "run.pdf").read_bytes()
    # TrueType, which journals ask for, and no Type 3.
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


@pytest.mark.parametrize(("start", "end"), [(0, 10), (0, 2), (2, 4)])
def test_a_part_of_a_run_has_the_room_of_the_whole(start, end, tmp_path):
    # Without room Matplotlib warns, which is an error here.
    figure = bp.run("geo", series=["goodput_bps", "cwnd_bytes"]).plot(start=start, end=end)
    save(figure, tmp_path / "part.png")
    assert all(axes.get_position().height > 0.2 for axes in figure.axes)
