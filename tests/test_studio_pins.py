"""The list of pinned runs in a browser: names, differences at the handle, ties, and colours."""

import re
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.plot.style import COLOURS, find_place
from bentpipe.studio import assets
from bentpipe.studio.data import RunData
from bentpipe.studio.series import list_run_series
from bentpipe.studio.share import single
from tests.test_studio_file import View

pytestmark = pytest.mark.timeout(300)
SENDERS = re.compile(r"const SENDERS = \{(.*?)\};", re.DOTALL)


def run(sets):
    scenario = bp.load("geo", {"duration": "20 s", **sets})
    return RunData(bp.run(scenario, series=list_run_series(scenario)))


@pytest.fixture(scope="module")
def runs():
    small = {"link.sat.forward.queue": "60 packets"}
    return [run({"tcp.cc": "bbr3"}), run({}), run({"tcp.cc": "bbr3", **small}), run({"tcp.cc": "bbr3"})]


@pytest.fixture
def view(browser, runs, tmp_path):
    place = tmp_path / "pins.html"
    place.write_text(single(runs[0], runs[1:]), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    view = View(context, place)
    yield view
    context.close()
    assert view.printed == []


def cells(view, row):
    return view.page.locator(".studio-pins tbody tr").nth(row).locator("td").all_inner_texts()


def test_pinned_runs_have_names_and_settings_that_differ(view):
    assert view.state()["pins"]["names"] == ["cubic", "queue 60 packets", "pinned run 3"]
    rows = view.page.locator(".studio-pins tbody tr").all_inner_texts()
    assert "this run: bbr3" in rows[0]
    assert "tcp.cc: cubic, here bbr3" in rows[1]
    assert "link.sat.forward.queue: 60 packets, here 1.350 MB" in rows[2]
    assert "no setting differs" in rows[3]


def test_values_at_the_handle_are_those_of_the_results(view, runs):
    for t in (4.0, 12.5):
        view.set(t=t)
        columns = {each["title"]: each["values"] for each in view.state()["pins"]["columns"]}
        for name, title in (("srtt_s", "Round trip"), ("cwnd_bytes", "Window")):
            for data, shown in zip(runs, columns[title], strict=True):
                curve = data.curve(name, "transfer")
                width_s = next(each["width"] for each in view.plot("srtt")["curves"]) or 0.1
                near = curve.average(max(0.0, t - width_s), t + width_s, width_s)
                assert min(near.least) * 0.999 <= shown <= max(near.greatest) * 1.001, (t, title)
    lost = [data.result.flows["sent_packets"][0] and data.result.series("losses").height for data in runs]
    assert columns["Lost"] == lost
    goodput = [data.curve("goodput_bps", "transfer").average(0.0, 20.0, 20.0).values[0] for data in runs]
    assert columns["Mean goodput"] == pytest.approx(goodput, rel=1e-3)


def test_ties_are_framed_within_the_margin_that_is_entered(view):
    view.set(t=12.5)

    def ties():
        found = view.page.locator(".studio-pins tbody tr").all()
        return [[each.get_attribute("data-tie") is not None for each in row.locator("td").all()] for row in found[1:]]

    # The third pinned run is the same run.
    assert all(ties()[2])
    assert not all(ties()[0])
    values = {each["title"]: each["values"] for each in view.state()["pins"]["columns"]}
    apart = {title: abs(numbers[1] - numbers[0]) / numbers[0] for title, numbers in values.items() if numbers[0]}
    for percent in (0.5, 20.0):
        view.page.get_by_label("Margin of ties, per cent").fill(str(percent))
        expected = [apart[title] <= percent / 100 for title in values if title in apart]
        assert [tie for tie, title in zip(ties()[0], values, strict=True) if title in apart] == expected, percent
    shares = dict(zip(values, cells(view, 1), strict=True))
    assert ("+" in shares["Mean goodput"]) == (values["Mean goodput"][1] > values["Mean goodput"][0])


def test_a_run_is_unpinned_in_the_list(view):
    view.page.get_by_label("Unpin cubic").click()
    assert view.state()["pins"]["names"] == ["queue 60 packets", "pinned run 2"]
    assert view.state()["pin"] == "pin-2,pin-3"


def test_colours_belong_to_congestion_controls(view):
    (curve,) = view.plot("goodput")["curves"][:1]
    assert curve["colour"] == "green"
    # A pinned run with the same congestion control is grey.
    assert curve["pinned"] == [["cubic", "blue"], ["queue 60 packets", "behind"], ["pinned run 3", "behind"]]
    text = (Path(assets.__file__).parent / "static" / "format.js").read_text(encoding="utf-8")
    found = dict(re.findall(r'(\w+): "(\w+)"', SENDERS.search(text)[1]))
    style = (Path(assets.__file__).parent / "static" / "studio.css").read_text(encoding="utf-8")
    places = [find_place(name, 0) for name in found]
    # The first colours of the page and of figures have the same order, and each has its own.
    assert sorted(places) == list(range(len(COLOURS)))
    assert found["cubic"] == "blue"
    assert f"--studio-blue: {COLOURS[find_place('cubic', 0)].lower()}" in style
    assert f"--studio-vermilion: {COLOURS[find_place('reno', 0)].lower()}" in style
    assert (found["reno"], found["bbr3"]) == ("vermilion", "green")


def test_a_figure_of_flows_with_several_congestion_controls_has_their_colours():
    ends = {"from": "a", "to": "b"}
    content = {
        "duration": "3 s",
        "link": {"l": {**ends, "rate": "5 Mbit/s", "delay": "20 ms"}},
        "flow": {"one": {**ends, "tcp": {"cc": "bbr3"}}, "two": {**ends, "tcp": {"cc": "cubic"}}},
    }
    figure = bp.run(content, series=("goodput_bps", "cwnd_bytes")).plot()
    drawn = {line.get_label(): line.get_color() for axes in figure.axes for line in axes.get_lines()}
    assert drawn["one"] == COLOURS[find_place("bbr3", 0)]
    assert drawn["two"] == COLOURS[find_place("cubic", 1)]
