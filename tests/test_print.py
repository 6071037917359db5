"""Figures for print: lines differ without colours, ratios are on a logarithmic axis, fonts are in the file."""

import itertools
import math

import pytest

import bentpipe as bp
from bentpipe.plot import save, style
from tests.drawn import ends_of, names_of, note_of

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


def test_lines_are_named_at_their_ends():
    from matplotlib.text import Text

    figure = bp.run(bp.loads(FOUR), series=["cwnd_bytes", "queue_bytes"]).plot()
    figure.draw_without_rendering()
    (panel, _) = figure.axes
    named = {line.get_label(): line for line in lines(panel) if not line.get_label().startswith("_")}
    ends = [text for text in panel.texts if text.get_text() in named]
    assert {text.get_text() for text in ends} == set(named) == {"one", "two", "three", "four", "five"}
    assert panel.get_legend() is None
    # Without the lines to the curves.
    boxes = [Text.get_window_extent(text) for text in ends]
    # Names touch neither each other nor the panel nor the edge of the figure, and keep the order of the lines.
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert min(box.x0 for box in boxes) > panel.get_window_extent().x1
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
    values = [named[text.get_text()].get_ydata()[-1] for text in ends]
    heights = [box.y0 for box in boxes]
    assert [heights[at] for at in sorted(range(5), key=lambda at: (values[at], heights[at]))] == sorted(heights)
    # Each name has a line to the end of its curve.
    for text, value in zip(ends, values, strict=True):
        x, y = panel.transAxes.transform(text.xy)
        wanted = panel.transData.transform((10.0, value))
        assert (x, y) == pytest.approx(tuple(wanted), abs=1.0)


def test_names_without_a_place_at_ends_have_a_legend():
    # The file ends long before the run, so that its name would be far from it.
    files = FOUR.replace("[flow.two]\n", '[flow.two]\napp = { kind = "file", size = "20 kB" }\n')
    figure = bp.run(bp.loads(files), series="cwnd_bytes").plot(end=10)
    assert sorted(names_of(figure.axes[0])) == ["five", "four", "one", "three", "two"]
    assert ends_of(figure.axes[0]) == {} or figure.axes[0].get_legend() is None
    longer = FOUR.replace("[flow.two]", "[flow.a-name-that-is-very-long]")
    figure = bp.run(bp.loads(longer), series="cwnd_bytes").plot()
    assert ends_of(figure.axes[0]) == {}
    assert figure.axes[0].get_legend() is not None


def test_lines_that_end_at_one_point_have_a_legend():
    from matplotlib.figure import Figure

    from bentpipe.plot import ends

    for last, is_apart in ((0.5, True), (0.0, False)):
        axes = Figure().subplots()
        for name, height in (("one", 0.0), ("two", last)):
            axes.plot([0, 1], [1, height], label=name)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        assert ends.name_lines(axes, 1.0) is is_apart


def test_a_sweep_names_its_lines_and_its_points_do_not_hide_each_other():
    vary = {"link.sat.delay": ["10 ms", "100 ms", "250 ms"], "tcp.cc": ["cubic", "reno", "vegas"]}
    single = bp.loads(FOUR.partition("[flow.two]")[0])
    figure = bp.sweep(single, vary, replications=2).plot(metric="goodput")
    (axes,) = figure.axes
    assert set(ends_of(axes)) == {"cubic", "reno", "vegas"}
    assert not figure.legends
    figure.draw_without_rendering()
    drawn = [line for line in axes.get_lines() if line.get_label() in ends_of(axes)]
    # In pixels, points of three lines at one delay are apart; in data they are at the delay.
    places = [line.get_transform().transform((line.get_xdata()[0], line.get_ydata()[0]))[0] for line in drawn]
    assert len({line.get_xdata()[0] for line in drawn}) == 1
    assert min(abs(one - other) for one, other in itertools.combinations(places, 2)) >= 2.0
    assert max(places) < axes.get_window_extent().x1
    assert min(places) > axes.get_window_extent().x0


def test_a_sweep_of_goodput_has_the_rate_of_the_link():
    single = FOUR.partition("[flow.two]")[0]
    slow = bp.sweep(bp.loads(single, {"duration": "2 s"}), {"link.sat.delay": ["10 ms", "50 ms"]}, replications=1)
    (level,) = [line for line in slow.plot(metric="goodput").axes[0].get_lines() if line.get_linestyle() == ":"]
    assert set(level.get_ydata()) == {2.0}
    rates = {"link.sat.rate": ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]}
    fast = bp.sweep(bp.loads(single, {"duration": "2 s"}), rates, replications=1)
    (line,) = [line for line in fast.plot(metric="goodput").axes[0].get_lines() if line.get_linestyle() == ":"]
    assert list(zip(*line.get_data(), strict=True)) == [(1, 1), (2, 2), (4, 4)]
    # Other metrics are not limited by it, and two links have no common rate.
    assert not [line for line in fast.plot(metric="rtt").axes[0].get_lines() if line.get_linestyle() == ":"]
    both = bp.sweep(bp.loads(single, {"duration": "2 s"}), {"link.sat.delay": ["10 ms", "50 ms"], **rates},
                    replications=1)  # fmt: skip
    panel = both.plot(metric="goodput").axes[0]
    across = {tuple(line.get_ydata()) for line in panel.get_lines() if line.get_linestyle() == ":"}
    assert across <= {(1.0, 2.0, 4.0)}


def test_congestion_controls_and_buffers_are_a_map():
    single = bp.loads(FOUR.partition("[flow.two]")[0], {"duration": "2 s"})
    vary = {"link.sat.queue": ["10 packets", "40 packets"], "tcp.cc": ["cubic", "reno", "vegas"]}
    swept = bp.sweep(single, vary, replications=1)
    axes = swept.plot("map", metric="goodput").axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["cubic", "reno", "vegas"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["10 packets", "40 packets"]
    shown = {tuple(map(round, text.get_position())): float(text.get_text()) for text in axes.texts}
    for row, each in zip(swept.points.iter_rows(named=True), swept.estimates("goodput"), strict=True):
        at = vary["link.sat.queue"].index(row["link.sat.queue"]), vary["tcp.cc"].index(row["tcp.cc"])
        assert shown[at] == pytest.approx(each.value / 1e6, rel=0.01)
    with pytest.raises(bp.errors.BentpipeError, match="a map needs two varied keys"):
        bp.sweep(single, {"tcp.cc": ["cubic", "reno"]}, replications=1).plot("map")


def test_how_to_read_a_figure_is_below_it():
    figure = bp.run(bp.loads(FOUR), series=["goodput_bps", "cwnd_bytes", "queue_bytes"]).plot()
    assert figure.axes[-1].get_xlabel() == "Time (s)"
    assert note_of(figure).startswith("lines are means over ")
    figure.draw_without_rendering()
    (note,) = [text for text in figure.axes[-1].texts if text.get_gid() == "note"]
    box = note.get_window_extent()
    assert box.y1 <= figure.axes[-1].xaxis.label.get_window_extent().y0
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert box.y0 >= figure.bbox.y0


def test_a_window_far_above_the_others_has_an_arrow():
    huge = {"many": {"tcp.initial_window": "4000 segments"}, "two": {}, "three": {"tcp.initial_window": "4 segments"}}
    figure = bp.compare(bp.loads(FOUR.partition("[flow.two]")[0]), cases=huge, replications=1).plot("cwnd")
    (axes,) = figure.axes
    tops = {line.get_label(): line.get_ydata().max() for line in lines(axes)}
    assert tops["many"] > axes.get_ylim()[1] > max(tops["two"], tops["three"])
    assert any("\u25b2" in text.get_text() for text in axes.texts)


@pytest.mark.parametrize("width", [3.3, 7.0])
def test_texts_of_both_widths_are_inside(width):
    result = bp.run(bp.loads(FOUR), series=["goodput_bps", "cwnd_bytes", "queue_bytes"])
    figure = result.plot(size=(width, 5.0))
    figure.draw_without_rendering()
    for axes in figure.axes:
        for text in (*axes.texts, axes.xaxis.label, axes.yaxis.label):
            if text.get_text():
                box = text.get_window_extent()
                assert figure.bbox.x0 <= box.x0 + 1
                assert box.x1 <= figure.bbox.x1 + 1


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
