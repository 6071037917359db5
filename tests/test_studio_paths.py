"""Flows over several paths in the studio: facts, curves, reasons and the drawing of the network."""

import pytest

import bentpipe as bp
from bentpipe.studio.data import RunData
from tests.studio_pages import Page, server

pytestmark = pytest.mark.timeout(300)

FLOWS = ["download", "download.leo", "download.vsat"]
SHORT = {"duration": "6 s", "at": [], "link.leo.error": {"kind": "packet", "rate": 1e-3}}


@pytest.fixture(scope="module")
def result():
    return bp.run("ship-two-antennas", sets=SHORT, series=["cwnd_bytes", "goodput_bps"])


@pytest.fixture(scope="module")
def data(result):
    return RunData(result)


def test_subflows_are_among_the_flows(data):
    meta = data.meta()
    assert meta["flows"] == FLOWS
    assert meta["paths"] == {"download": FLOWS[1:]}
    assert meta["rtt_s"]["download.leo"] < meta["rtt_s"]["download.vsat"]
    assert "download.leo" in {each["flow"] for each in meta["happenings"]}


def test_a_flow_over_one_path_has_no_paths():
    meta = RunData(bp.run("s1", sets={"duration": "1 s"})).meta()
    assert meta["paths"] == {}


def test_curves_of_a_flow_are_those_of_its_paths(data):
    rate, *rates = (data.curve("route_rate_bps", flow).values[0] for flow in FLOWS)
    assert (rate, rates) == (110e6, [100e6, 10e6])
    causes = [each["name"] for each in data.described if each["name"].startswith("losses:")]
    whole, *parts = (sum(data.rows(cause, flow) for cause in causes) for flow in FLOWS)
    assert whole == sum(parts) > 0
    queue, *queues = (data.curve("route_queue_bytes", flow) for flow in FLOWS)
    for at_s in (1.0, 3.0, 5.0):
        assert queue.find_value(at_s) == max(each.find_value(at_s) for each in queues)


def test_a_path_that_is_away_has_no_rate():
    away = [{"time": "1 s", "withdraw": ["download.leo"], "down": ["leo"]}]
    data = RunData(bp.run("ship-two-antennas", sets={"duration": "2 s", "at": away}))
    curve = data.curve("route_rate_bps", "download")
    assert [curve.find_value(at_s) for at_s in (0.5, 1.5)] == [110e6, 10e6]


@pytest.mark.parametrize("flow", FLOWS)
def test_each_flow_and_subflow_has_reasons_and_parts_of_its_time(result, data, flow):
    sentences = data.why(flow, 5.0)["sentences"]
    assert sentences[-1].startswith("Now, at 5.00 s: window")
    spent = result.time_spent(flow=flow)
    assert sum(part.time_s for part in spent.parts) == pytest.approx(spent.end_s - spent.start_s)
    assert data.packets(flow, 3.0, 3.1)["is_whole"]


def test_losses_of_a_path_are_told_of_its_flow(result):
    lost_s = result.series("losses", flow="download.leo")["time_s"][0]
    told = [result.sentences(flow, at=lost_s + 0.05) for flow in FLOWS[:2]]
    assert all(any("packets lost" in sentence for sentence in each) for each in told)


def test_paths_have_curves_and_the_colours_of_their_curves(browser, visitor, tmp_path):
    pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")
    (tmp_path / "bonded.toml").write_text(bp.load("ship-two-antennas", sets=SHORT).resolve())
    with server(tmp_path, "bonded.toml") as (_, host, token), Page(visitor, f"http://{host}/{token}/") as page:
        page.until("document.querySelectorAll('#studio-topology svg text').length > 2")
        page.button("Run").click()
        page.until("studio.ready && studio.state().plots.length >= 5")
        page.page.locator("summary", has_text="Flows: 3 of 3").wait_for()
        colours = page.value("studio.topology.state().colours")
        curves = {flow: page.value(f"studio.plots.colourOf('{flow}')") for flow in FLOWS}
        assert len(set(curves.values())) == 3
        assert {link: curves[f"download.{link.partition('.')[0]}"] for link in ("leo.forward", "vsat.reverse")} == {
            link: colours[link] for link in ("leo.forward", "vsat.reverse")
        }
        note = page.page.locator("#studio-topology p")
        assert "over 2 paths, leo 100 Mbit/s at the slowest link; vsat 10 Mbit/s" in note.inner_text()
        page.value("studio.time.set({ flow: 'download.vsat' })")
        page.until(
            "document.querySelector('#studio-topology p').textContent.startsWith('download.vsat: server to ship')"
        )
        assert set(page.value("studio.topology.state().colours")) == {
            f"{link}.{way}" for link in ("hub", "vsat") for way in ("forward", "reverse")
        }
