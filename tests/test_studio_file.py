"""The view over a run in a browser, as one file opened from disk: handle, keys, zoom, pin, packets, and no request."""

import random
import re
import time
from pathlib import Path

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.studio.data import RunData
from bentpipe.studio.series import MODES, VIEW
from bentpipe.studio.share import single

TITLE = "</script><script>document.title = 'broken'</script> & <b>two</b> flows"
PATH = Path(__file__).parent / "studio.toml"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def result():
    return bp.run(bp.load(PATH, {"title": TITLE}), series=(*VIEW, *MODES))


@pytest.fixture(scope="module")
def file(result, tmp_path_factory):
    pinned = bp.run(bp.load(PATH, {"tcp.cc": "cubic"}), series=(*VIEW, *MODES))
    place = tmp_path_factory.mktemp("studio") / "shared.html"
    place.write_text(single(RunData(result), [RunData(pinned)]), encoding="utf-8")
    return place


class View:
    """A page with its messages and requests."""

    def __init__(self, context, place):
        self.page, self.printed, self.asked = context.new_page(), [], []
        self.page.on("console", lambda message: self.printed.append(message.text))
        self.page.on("pageerror", lambda error: self.printed.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(place.as_uri())
        self.ready()

    def ready(self):
        # Not `wait_for_function`: the policy of the page forbids its `eval`.
        for _ in range(600):
            if self.page.evaluate("Boolean(globalThis.studio && studio.ready)"):
                return
            time.sleep(0.05)
        raise AssertionError(f"not ready: {self.printed}")

    def set(self, **changes):
        self.page.evaluate("changes => studio.time.set(changes)", changes)
        return self.state()

    def press(self, key):
        self.page.keyboard.press(key)
        return self.state()

    def state(self):
        self.page.evaluate("() => new Promise(requestAnimationFrame)")
        self.ready()
        return self.page.evaluate("studio.state()")

    def plot(self, name):
        return next(each for each in self.state()["plots"] if each["id"] == name)


@pytest.fixture
def view(browser, file):
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    view = View(context, file)
    yield view
    context.close()
    assert view.printed == []
    assert [url for url in view.asked if not url.startswith(("file:", "blob:"))] == []


def test_it_opens_from_disk_without_a_network(view, result):
    assert view.page.title() == TITLE
    assert view.page.locator("h1").inner_text() == TITLE
    assert view.page.locator("html").get_attribute("lang") == "en"
    view.page.get_by_text("About this run").click()
    about = view.page.get_by_role("dialog").inner_text()
    for fact in (result.scenario.digest, result.version, "[flow.second]", "seed"):
        assert fact in about


def test_all_panels_have_points(view):
    state = view.state()
    shown = [each for each in state["plots"] if each["isShown"]]
    assert [each["id"] for each in shown] == ["goodput", "window", "state", "srtt", "queue", "losses"]
    for panel in shown:
        assert panel["x"] == [0, 12]
        assert any(curve["points"] for curve in panel["curves"])
    assert {"outage", "change", "loss", "timeout"} <= set(state["strip"]["kinds"])
    assert state["strip"]["losses"] == ["bit error", "queue overflow", "outage"]
    # The pinned run is behind.
    assert all(curve["behind"][0] > 0 for curve in view.plot("window")["curves"] if curve["name"] == "cwnd_bytes")


def test_values_agree_with_the_result_at_100_moments(view, result):
    moments = random.Random(8)
    for _ in range(100):
        t = moments.uniform(0.0, result.simulated_s)
        state = view.set(t=t)
        exact = result.find_values(t)
        for panel in state["plots"]:
            for curve in panel["curves"]:
                known = exact.get(curve["name"], {}).get(curve["of"])
                if curve["name"] in ("cwnd_bytes", "srtt_s", "queue_bytes") and curve["width"] == 0:
                    assert curve["value"] == (None if known is None else np.float32(known)), (t, curve)


CUT = """
([points, kind, from, to, columns]) => {
  const array = (name, Type) => Type.from(points[name].map((value) => value ?? NaN));
  const given = { ...points, begins: array("begins", Float64Array) };
  for (const name of ["values", "least", "greatest"]) given[name] = array(name, Float64Array);
  const found = studio.curves.cut(given, kind, from, to, columns);
  const plain = (name) => Array.from(found[name], (value) => (Number.isNaN(value) ? null : value));
  const names = ["begins", "values", "least", "greatest"];
  return { width: found.width, ...Object.fromEntries(names.map((name) => [name, plain(name)])) };
}
"""


def test_the_page_cuts_curves_as_python_does(view, result):
    draws = random.Random(5)
    for name, of in [
        *(("cwnd_bytes", "first"), ("goodput_bps", "second"), ("queue_bytes", "sat.forward"), ("cc_state", "first")),
        *(("limited_by", "second"), ("route_queue_bytes", "first")),
    ]:
        curve = result.curve(name, of)
        whole = curve.cut(0.0, 12.0, 10**6)
        points = {
            each: [None if np.isnan(value) else float(value) for value in getattr(whole, each)]
            for each in ("begins", "values", "least", "greatest")
        } | {"width": 0.0, "end": whole.end_s}
        for _ in range(12):
            start = draws.choice([0.0, draws.uniform(0, 9)])
            end = start + draws.uniform(0.05, 12 - start)
            columns = draws.choice([7, 40, 300, 1000])
            mine = curve.cut(start, end, columns)
            found = view.page.evaluate(CUT, [points, curve.kind, start, end, columns])
            assert found["width"] == pytest.approx(mine.width_s), (name, start, end, columns)
            for each in ("begins", "values", "least", "greatest"):
                theirs = np.array([np.nan if value is None else value for value in found[each]])
                assert len(theirs) == len(mine.begins), (name, start, end, columns, each)
                assert theirs == pytest.approx(getattr(mine, each), rel=1e-5, abs=1e-6, nan_ok=True), (name, start, end)


def test_a_label_is_the_value_that_is_drawn(view, result):
    for t in (1.234, 3.21, 7.77, 11.5):
        for panel in view.set(t=t)["plots"]:
            for curve in panel["curves"]:
                if curve["name"].startswith("losses:") or panel["id"] == "packets":
                    continue
                pixels = view.page.locator(f"[data-panel={panel['id']}] .studio-frame").bounding_box()["width"]
                mine = None
                if curve["name"] in ("cwnd_bytes", "srtt_s", "goodput_bps"):
                    of_rate = curve["name"] == "goodput_bps"
                    cut = result.curve(curve["name"], curve["of"]).cut(0.0, 12.0, int(np.ceil(pixels / (1 + of_rate))))
                    mine = cut.find_value(t, is_rate=of_rate)
                    assert curve["drawn"] == (None if mine is None else pytest.approx(mine, rel=1e-5)), (t, curve)


def test_sentences_are_those_of_the_result(view, result):
    state = view.set(t=3.5)
    assert state["why"]["sentences"] == result.sentences("first", at=3.5)
    parts = {each["part"]: each["time_s"] for each in state["why"]["parts"]}
    assert parts == {each.part: each.time_s for each in result.time_spent(flow="first").parts}


def test_the_handle_is_a_slider_for_the_keyboard(view):
    handle = view.page.get_by_role("slider")
    handle.focus()
    assert view.press("ArrowRight")["t"] == pytest.approx(0.6)
    assert view.press("Shift+ArrowRight")["t"] == pytest.approx(6.6)
    assert view.press("Alt+ArrowLeft")["t"] == pytest.approx(6.54)
    assert handle.get_attribute("aria-valuenow") == "6.54"
    assert handle.get_attribute("aria-valuetext") == "6.54 s of 12.00 s"
    assert view.press("End")["t"] == 12
    assert view.press("Home")["t"] == 0


def test_n_and_l_go_to_the_next_of_the_path_and_the_next_loss(view):
    assert view.press("n")["t"] == 3.0
    assert view.press("n")["t"] == 6.0
    assert view.press("n")["t"] == 6.0
    view.set(t=2.9)
    assert view.press("l")["t"] == pytest.approx(3.05, abs=0.01)
    view.set(t=0, **{"from": 0, "to": 1})
    state = view.press("n")
    assert state["from"] <= state["t"] == 3.0 <= state["to"]


def test_a_question_mark_lists_the_keys(view):
    keys = view.page.get_by_role("dialog", name="Keys")
    assert not keys.is_visible()
    view.page.keyboard.press("?")
    keys.wait_for()
    listed = keys.locator("dt").all_inner_texts()
    assert {"Space", "n", "l", "?"} <= {*listed}
    # A shared file has no editor.
    assert "Ctrl+S" not in listed
    assert keys.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    view.page.keyboard.press("Escape")
    keys.wait_for(state="hidden")
    view.page.get_by_role("button", name="Keys").click()
    keys.get_by_role("button", name="Close").click()
    keys.wait_for(state="hidden")
    # Each listed letter is announced where it acts.
    assert view.page.get_by_role("slider", name="Moment of the run").get_attribute("aria-keyshortcuts") == "n l"


def test_dragging_in_a_plot_zooms_all_and_a_double_click_resets(view):
    over = view.page.locator("[data-panel=srtt] .u-over")
    box = over.bounding_box()
    y = box["y"] + box["height"] / 2
    view.page.mouse.move(box["x"] + box["width"] * 0.25, y)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=5)
    view.page.mouse.up()
    state = view.state()
    assert (state["from"], state["to"]) == (pytest.approx(3, abs=0.1), pytest.approx(6, abs=0.1))
    for panel in state["plots"]:
        if panel["isShown"]:
            assert panel["x"] == [state["from"], state["to"]]
    over.dblclick()
    state = view.state()
    assert (state["from"], state["to"]) == (0, 12)


def test_a_click_in_a_plot_and_a_drag_of_the_handle_move_it(view):
    over = view.page.locator("[data-panel=queue] .u-over")
    box = over.bounding_box()
    view.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 10)
    assert view.state()["t"] == pytest.approx(6, abs=0.1)
    track = view.page.locator(".studio-track").bounding_box()
    y = track["y"] + track["height"] / 2
    view.page.mouse.move(track["x"] + track["width"] / 2, y)
    view.page.mouse.down()
    view.page.mouse.move(track["x"] + track["width"] * 0.75, y, steps=4)
    view.page.mouse.up()
    assert view.state()["t"] == pytest.approx(9, abs=0.1)


def test_the_cursor_has_its_own_value(view):
    box = view.page.locator("[data-panel=window] .u-over").bounding_box()
    view.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    under = view.page.locator("[data-panel=window] [data-series=cwnd_bytes][data-of=first] .studio-under")
    assert re.fullmatch(r"[\d.]+ k?B", under.inner_text())


def test_below_two_round_trips_packets_are_drawn(view):
    view.set(t=0.8)
    view.page.get_by_role("button", name="Packets").click()
    state = view.state()
    shown = {each["id"]: each["isShown"] for each in state["plots"]}
    assert (shown["packets"], shown["window"]) == (True, False)
    assert state["packets"]["sent"] > 0
    view.page.get_by_role("button", name="Whole run").click()
    shown = {each["id"]: each["isShown"] for each in view.state()["plots"]}
    assert (shown["packets"], shown["window"]) == (False, True)


def test_an_error_is_shown_and_goes_away(view):
    view.page.evaluate("studio.pending(Promise.reject(new Error('series: 400 no such <b>flow</b>')))")
    error = view.page.locator(".studio-error")
    assert error.inner_text() == "series: 400 no such <b>flow</b>"
    view.set(**{"from": 1, "to": 8})
    assert error.inner_text() == ""
    assert view.printed.pop().startswith("Error: series: 400")


def test_a_part_of_the_time_zooms_to_its_longest_span(view, result):
    begin, end = result.time_spent(flow="first")["silence"].longest_s
    view.page.locator("[data-part=silence]").click()
    state = view.state()
    assert state["from"] <= begin == state["t"] < end <= state["to"]


def test_play_moves_the_handle_and_space_stops_it(view):
    view.page.keyboard.press(" ")
    for _ in range(1000):
        if view.page.evaluate("studio.time.t") > 0:
            break
        time.sleep(0.02)
    view.page.keyboard.press(" ")
    state = view.state()
    assert not state["playing"]
    assert state["t"] > 0
    assert view.page.get_by_role("button", name="Play").is_visible()


def test_readers_who_want_less_motion_have_no_play(browser, file):
    context = browser.new_context(reduced_motion="reduce", offline=True)
    view = View(context, file)
    assert view.page.get_by_role("button", name="Play").is_disabled()
    assert not view.press(" ")["playing"]
    context.close()


def test_each_plot_has_a_label_and_a_table(view):
    frame = view.page.locator("[data-panel=window] .studio-frame")
    assert frame.get_attribute("aria-label").startswith("Window from 0.00 s to 12.00 s: first 1.460 kB to ")
    view.page.locator("[data-panel=window]").get_by_role("button", name="Table").click()
    table = view.page.locator("[data-panel=window] table")
    assert table.locator("thead th").all_inner_texts() == ["time", "first", "second", "ssthresh", "ssthresh"]
    assert table.locator("tbody tr").count() == 13


def test_any_series_can_be_added_and_removed(view):
    view.page.get_by_label("Add a series").select_option("limited_by")
    assert view.plot("limited_by")["curves"][0]["points"] > 0
    view.page.get_by_role("button", name="Remove Limited by").click()
    assert "limited_by" not in [each["id"] for each in view.state()["plots"]]


def test_flows_are_picked(view):
    view.page.get_by_text("Flows: 2 of 2").click()
    view.page.get_by_role("checkbox", name="second").uncheck()
    view.state()
    assert [curve["of"] for curve in view.plot("srtt")["curves"]] == ["first"]
    view.page.get_by_label("Flow", exact=True).select_option("second")
    assert view.state()["flow"] == "second"


def test_dark_follows_the_system(browser, file):
    colours = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, offline=True)
        view = View(context, file)
        colours.append(view.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    assert colours[0] != colours[1]


def test_a_notebook_shows_the_same_page(result):
    explored = result.explore(height=500)
    shown = explored._repr_html_()
    assert shown.startswith("<iframe ")
    assert 'height="500"' in shown
    assert 'sandbox="allow-scripts"' in shown
    assert "<script>" not in shown
    assert len(explored.html) < 1_000_000
    assert explored.html == single(RunData(result))


@pytest.mark.parametrize("width", [720, 900, 1180])
def test_a_cell_of_a_notebook_has_handle_play_and_reasons_in_sight(browser, file, width):
    context = browser.new_context(viewport={"width": width, "height": 720}, offline=True)
    view = View(context, file)
    view.set(t=2.0)
    for name in (".studio-play", ".studio-handle", ".studio-clock", ".studio-help", ".studio-why"):
        box = view.page.locator(name).first.bounding_box()
        assert box["y"] >= 0, name
        assert box["y"] + box["height"] <= 720, name
        assert box["x"] + box["width"] <= width, name
    # Nothing of the page scrolls, and the plots keep the larger part of the width.
    assert view.page.evaluate("document.documentElement.scrollHeight") <= 720
    assert view.page.locator(".studio-plots").first.bounding_box()["width"] > 0.55 * width
    assert view.page.locator(".studio-sentences, .studio-why").first.inner_text().strip()
    context.close()


def test_a_phone_keeps_the_handle_in_sight_while_it_scrolls(browser, file):
    context = browser.new_context(viewport={"width": 390, "height": 800}, offline=True)
    view = View(context, file)
    assert view.page.evaluate("document.documentElement.scrollWidth") <= 390
    for scrolled in (0, 500):
        view.page.evaluate(f"scrollTo(0, {scrolled})")
        box = view.page.locator(".studio-handle").first.bounding_box()
        assert 0 <= box["y"] <= 800 - box["height"]
    context.close()


def test_no_text_of_a_scenario_ends_a_script(result):
    page = single(RunData(result))
    content = re.search(r'id="studio-content">(.*?)</script>', page, re.DOTALL)[1]
    assert "<" not in content
    assert page.count("<script") == page.count("</script>")
    assert "<title>&lt;/script&gt;" in page
