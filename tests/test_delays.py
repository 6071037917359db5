"""The delay of packets over time equals a separate computation, in series, curves and figures."""

import numpy as np
import pytest

import bentpipe as bp
from bentpipe import plot
from bentpipe.plot import delays

CALL = {"from": "a", "to": "b", "app": {"kind": "cbr", "rate": "64 kbit/s", "size": "160 B"}}
OTHER = {"from": "a", "to": "b", "start": "1003 ms", "app": {"kind": "cbr", "rate": "896 kbit/s", "size": "1400 B"}}
PATH = {
    "duration": "3 s",
    "link": {"l": {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "250 ms", "queue": "unlimited"}},
    "flow": {"call": CALL, "other": OTHER},
}


def wait_in_line(flow: str, duration_s: int = 3) -> list[tuple[float, float]]:
    """Arrival and delay of each packet of a flow, s, by D. V. Lindley's recursion over all packets."""
    sent = [(20_000 * n, "call", 188) for n in range(50 * duration_s)]
    sent += [(1_003_000 + 12_500 * n, "other", 1428) for n in range(80 * duration_s)]
    free, found = 0, []
    for at, of, size in sorted(sent):
        free = max(free, at) + 8 * size
        if of == flow and free + 250_000 <= 1_000_000 * duration_s:
            found.append(((free + 250_000) / 1e6, (free + 250_000 - at) / 1e6))
    return found


@pytest.fixture(scope="module")
def result():
    return bp.run(PATH, series="delay_s", progress=False)


@pytest.mark.parametrize("flow", ["call", "other"])
def test_each_change_of_the_delay_is_that_of_packets_that_wait_in_line(result, flow):
    expected = wait_in_line(flow)
    changes = [
        row for before, row in zip([(0.0, 0.0), *expected], expected, strict=False) if abs(row[1] - before[1]) > 1e-9
    ]
    assert len(changes) > 20
    found = result.series("delay_s", flow=flow)
    assert np.allclose(found.select("time_s", "delay_s").to_numpy(), changes, rtol=0, atol=1e-9)
    row = result.datagrams.filter(flow=flow).to_dicts()[0]
    assert row["delay_min_s"] == pytest.approx(found["delay_s"].min())
    assert (row["arrived_packets"], row["delay_mean_s"]) == (
        len(expected),
        pytest.approx(np.mean([each for _, each in expected])),
    )


def test_the_panel_has_the_means_and_the_band_of_the_packets_in_each_column():
    result = bp.run({**PATH, "duration": "20 s"}, series="delay_s", progress=False)
    figure = plot.run_figure(result)
    panel = next(axes for axes in figure.axes if "Delay of" in axes.get_ylabel())
    assert panel.get_ylabel().split() == ["Delay", "of", "packets", "(ms)"]
    assert panel.get_ylim()[0] == 0
    at, delays_s = np.array(wait_in_line("call", 20)).T
    for line in panel.lines[:1]:
        assert line.get_label() == "call"
        begins, values = line.get_data()
        # The delay of the last arrival at 1,000 instants of each column.
        for begin, end, value in zip(begins[10:-2], begins[11:-1], values[10:], strict=False):
            instants = np.linspace(begin, end, 1000, endpoint=False)
            held = delays_s[np.searchsorted(at, instants + 1e-9, side="right") - 1]
            assert value == pytest.approx(1e3 * held.mean(), rel=1e-3)
    # Alone, each packet takes 1.504 ms to send and 250 ms to arrive.
    assert values[(begins > 0.3) & (begins < 1)] == pytest.approx(251.504)
    heights = [band.get_paths()[0].vertices[:, 1] for band in panel.collections]
    for of, found in zip(("call", "other"), heights, strict=True):
        expected = [1e3 * delay_s for _, delay_s in wait_in_line(of, 20)]
        assert (found.min(), found.max()) == (pytest.approx(min(expected)), pytest.approx(max(expected)))


@pytest.mark.parametrize("size", [None, (7.0, 6.0)])
def test_the_note_is_below_the_label_of_the_axis(result, size):
    figure = result.plot(size=size)
    figure.draw_without_rendering()
    below = figure.axes[-1]
    (note,) = [text for text in below.texts if text.get_gid() == "note"]
    assert "dot: median" in note.get_text()
    assert note.get_window_extent().y1 <= below.xaxis.label.get_window_extent().y0


def test_flows_are_told_apart_without_colours(result):
    panel = next(axes for axes in plot.run_figure(result).axes if "Delay of" in axes.get_ylabel())
    lines = {line.get_label(): line for line in panel.lines}
    assert lines["call"].get_linestyle() != lines["other"].get_linestyle()


def test_a_delay_is_known_from_the_first_arrival_to_the_end(result):
    curve = result.curve("delay_s", "call")
    assert curve.find_value(0.2) is None
    assert curve.find_value(0.9) == pytest.approx(0.251504)
    assert curve.end_s == pytest.approx(3.0)


def test_the_panel_has_the_delay_up_to_which_media_are_played():
    media = {"from": "a", "to": "b", "app": {"kind": "rtp", "rate": "256 kbit/s", "size": "640 B", "playout": "60 ms"}}
    found = bp.run({**PATH, "flow": {"film": media, "other": OTHER}}, series="delay_s", progress=False)
    panel = next(axes for axes in plot.run_figure(found).axes if "Delay of" in axes.get_ylabel())
    # 680 B take 5.44 ms, and the first packet waits for nothing.
    (text,) = [each.get_text() for each in panel.texts if "playout" in each.get_text()]
    assert text == "playout of film: 315 ms"
    assert any(list(line.get_ydata()) == pytest.approx([315.44, 315.44]) for line in panel.lines)


def test_the_delay_of_datagrams_over_quic_is_that_of_the_table():
    found = bp.run({**PATH, "flow": {"call": {**CALL, "quic": {}}}}, series="delay_s", progress=False)
    values = found.series("delay_s")["delay_s"]
    row = found.datagrams.to_dicts()[0]
    assert len(values) > 0
    assert (values.min(), row["delay_min_s"]) == (pytest.approx(row["delay_min_s"]), pytest.approx(0.25, rel=0.05))


@pytest.mark.parametrize(
    ("app", "is_there"),
    [
        ({"kind": "cbr", "rate": "64 kbit/s"}, True),
        ({"kind": "rtp", "rate": "64 kbit/s"}, True),
        ({"kind": "poisson", "rate": "64 kbit/s"}, True),
        ({"kind": "on-off", "peak": "64 kbit/s", "on": "1 s", "off": "1 s"}, True),
        ({"kind": "probe"}, True),
        ({"kind": "file", "size": "10 kB"}, False),
        ({"kind": "page"}, False),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else None,
)
def test_a_figure_asks_for_the_delay_where_there_are_datagrams(app, is_there):
    found = bp.run({**PATH, "flow": {"f": {"from": "a", "to": "b", "app": app}}}, series="delay_s", progress=False)
    assert (found.datagrams.height > 0) == (found.series("delay_s").height > 0) == is_there
    assert delays.sends_datagrams(found.scenario) == is_there
    assert ("delay_s" in plot.choose_panels(found.scenario)) == is_there
