"""The picture of all flows of a run that has many: its numbers, and how little it draws."""

import base64
import json
from itertools import pairwise

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.studio import flows
from bentpipe.studio.data import RunData
from bentpipe.studio.flows import gather_flows
from bentpipe.studio.share import single
from tests.test_studio_file import View

COUNT = 12
ENDS = {"from": "a", "to": "b"}
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def data():
    """Flows that start one after the other; every other one is a file that ends."""
    made = {
        f"f{number}": {
            **ENDS,
            "start": f"{0.2 * number:g} s",
            **({"app": {"kind": "file", "size": f"{100 + 40 * number} kB"}} if number % 2 else {}),
        }
        for number in range(COUNT)
    }
    link = {**ENDS, "rate": "20 Mbit/s", "delay": "20 ms"}
    return RunData(bp.run({"duration": "6 s", "link": {"l": link}, "flow": made}))


def unpacked(found, name):
    return np.frombuffer(base64.b64decode(found[name]), "<f4").reshape(-1, len(found["begins"]))


def test_rows_and_quantiles_are_those_of_the_curves(data):
    found = gather_flows(data.result, "goodput_bps", 1.0, 5.0, 40)
    curves = [data.curve("goodput_bps", flow).average(1.0, 5.0, found["width_s"]) for flow in found["flows"]]
    expected = np.array([each.values for each in curves])
    assert (found["each"], found["begins"]) == (1, curves[0].begins.tolist())
    assert np.allclose(unpacked(found, "rows"), expected, equal_nan=True)
    # Some flows have not started, others have ended.
    assert np.isnan(expected).any()
    for column, values in enumerate(expected.T):
        known = np.sort(values[~np.isnan(values)])
        drawn = unpacked(found, "quantiles")[:, column]
        assert np.allclose(drawn, np.quantile(known, flows.SHARES))
        assert known[0] * (1 - 1e-6) <= drawn[0] <= drawn[-1] <= known[-1] * (1 + 1e-6)


def test_orders_have_the_largest_the_worst_and_the_longest_first(data):
    rows = {row["flow"]: row for row in data.result.rows("flows")}
    orders = {each: gather_flows(data.result, "goodput_bps", 0.0, 6.0, 600, each)["flows"] for each in flows.ORDERS}
    assert orders["scenario"] == data.result.scenario.flow_names
    assert {*map(frozenset, orders.values())} == {frozenset(rows)}
    delivered = [rows[flow]["delivered_bytes"] for flow in orders["largest"]]
    assert delivered == sorted(delivered, reverse=True)
    lasted = [rows[flow]["completion_s"] or 6.0 - rows[flow]["start_s"] for flow in orders["longest"]]
    assert all(one > other - 0.05 for one, other in pairwise(lasted))
    pace = [rows[flow]["delivered_bytes"] / lasted[orders["longest"].index(flow)] for flow in orders["worst"]]
    assert pace[0] == min(pace)
    with pytest.raises(BentpipeError, match="known: scenario, largest, worst, longest"):
        gather_flows(data.result, "goodput_bps", 0.0, 6.0, 10, "best")
    with pytest.raises(BentpipeError, match="a series of flows"):
        gather_flows(data.result, "queue_bytes", 0.0, 6.0, 10)


def test_more_flows_than_rows_share_them(data, monkeypatch):
    whole = unpacked(gather_flows(data.result, "goodput_bps", 0.0, 6.0, 60), "rows")
    monkeypatch.setattr(flows, "ROWS_MOST", 5)
    found = gather_flows(data.result, "goodput_bps", 0.0, 6.0, 60)
    assert found["each"] == 3
    rows = unpacked(found, "rows")
    assert len(rows) == 4
    known = ~np.isnan(whole[:3]).all(axis=0)
    assert np.allclose(rows[0][known], np.nanmean(whole[:3][:, known], axis=0))


SYNTHETIC = """
([count, rows, columns]) => {
  const pack = (length) => {
    const values = Float32Array.from({ length }, (_, index) => 1e6 * (1 + Math.sin(index)));
    return btoa(Array.from(new Uint8Array(values.buffer), (byte) => String.fromCharCode(byte)).join(""));
  };
  const answer = {
    flows: Array.from({ length: count }, (_, index) => `f${index}`),
    each: Math.ceil(count / rows),
    begins: Array.from({ length: columns }, (_, index) => (6 * index) / columns),
    width_s: 6 / columns,
    quantiles: pack(5 * columns),
    rows: pack(rows * columns),
  };
  studio.source.flows = async () => answer;
}
"""
COUNTED = """
() => {
  const kind = CanvasRenderingContext2D.prototype;
  studio.drawn = 0;
  const paths = ["stroke", "fill", "lineTo", "moveTo"];
  for (const name of [...paths, "fillRect", "drawImage", "putImageData", "fillText", "strokeText"]) {
    const draw = kind[name];
    kind[name] = function (...given) {
      studio.drawn += 1;
      return draw.apply(this, given);
    };
  }
}
"""


def test_ten_thousand_flows_take_no_more_instructions_than_a_hundred(browser, data, tmp_path):
    place = tmp_path / "many.html"
    place.write_text(single(data), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    view = View(context, place)
    report = view.state()["flows"]
    assert report["flows"] == COUNT
    assert {"spread", "heat"} <= {each["id"] for each in view.state()["plots"] if each["isShown"]}
    view.page.evaluate(COUNTED)
    drawn = {}
    for count in (100, 10_000):
        view.page.evaluate(SYNTHETIC, [count, min(count, flows.ROWS_MOST), 400])
        view.set(**{"from": 0, "to": 5.8})
        view.page.evaluate("studio.drawn = 0")
        # A zoom loads and draws everything.
        view.set(**{"from": 0, "to": 5.5})
        drawn[count] = view.page.evaluate("studio.drawn")
        assert view.state()["flows"]["flows"] == count
    assert 0 < drawn[10_000] < 1.1 * drawn[100]
    # A click in a row chooses its flow.
    view.page.evaluate(SYNTHETIC, [COUNT, COUNT, 400])
    view.set(**{"from": 0, "to": 6})
    box = view.page.locator('[data-panel="heat"] .u-over').bounding_box()
    view.page.mouse.click(box["x"] + 40, box["y"] + box["height"] * 2.5 / COUNT)
    assert view.state()["flow"] == "f2"
    context.close()
    assert view.printed == []


def test_a_list_of_many_flows_is_searched(browser, data, tmp_path):
    place = tmp_path / "many.html"
    place.write_text(single(data), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    view = View(context, place)
    # The file names eight flows: a list of so few has no search. One of a server has all.
    names = json.dumps([f"x{number}" for number in range(10_000)])
    view.page.evaluate(f"studio.source.meta('run').then((meta) => (meta.links = {names}))")
    view.page.evaluate("studio.time.set({ run: null })")
    view.state()
    view.page.evaluate("studio.time.set({ run: 'run' })")
    view.state()
    view.page.locator("summary", has_text="Links").click()
    field = view.page.get_by_label("Search links")
    assert view.page.locator(".studio-picker[open] label").count() < 120
    field.fill("x999")
    found = view.page.locator(".studio-picker[open] label").all_inner_texts()
    assert [each for each in found if "x999" in each] == ["x999", *(f"x999{number}" for number in range(10))]
    context.close()
