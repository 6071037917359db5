"""Flows over QUIC, from Python and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.experiment.common.commands import run_command
from tests import qlogs

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
title = "QUIC over GEO"
duration = "60 s"
[link.sat]
from = "terminal"
to = "gateway"
delay = "300 ms"
forward = { rate = "2 Mbit/s", queue = "150 kB" }
reverse = { rate = "20 Mbit/s", queue = "1500 kB" }
[flow.web]
from = "terminal"
to = "gateway"
app = { kind = "request-response", request = "100 B", response = "1 MB", count = 2 }
"""


def test_a_flow_over_quic_has_a_row_of_its_own() -> None:
    result = bp.run(bp.loads(TEXT, {"flow.web.quic.cc": "bbr3"}))
    row = result.quic.row(0, named=True)
    assert row["flow"] == "web"
    assert row["failure"] == ""
    # A round trip, and the transmission of the server's certificates.
    assert row["handshake_s"] == pytest.approx(0.605, abs=0.01)
    flow = result.flows.row(0, named=True)
    assert (flow["cc"], flow["outcome"]) == ("bbr3", "completed")
    assert flow["delivered_bytes"] == 2 * (1_000_000 + 100)


def test_tcp_and_quic_are_compared_side_by_side() -> None:
    cases = TEXT + "[case.tcp]\nflow.web.tcp.cc = 'cubic'\n[case.quic]\nflow.web.quic.cc = 'cubic'\n"
    found = bp.compare(bp.loads(cases), replications=3)
    # The stack reports no timeouts: their number is missing, and no number stands for it.
    assert found.estimate("quic", "timeouts").value is None
    assert found.estimate("tcp", "timeouts").value >= 0
    # Both wait a round trip for the handshake.
    tcp, quic = (found.estimate(case, "fct").value for case in ("tcp", "quic"))
    assert quic == pytest.approx(tcp, rel=0.3)


def test_runs_are_equal_with_recording_and_without() -> None:
    scenario = bp.loads(
        TEXT, {"flow.web.quic.cc": "cubic", "link.sat.reverse.error": "{ kind = 'packet', rate = 0.01 }"}
    )
    plain = bp.run(scenario)
    recorded = bp.run(scenario, series=["cwnd_bytes", "srtt_s"])
    assert plain.flows.equals(recorded.flows)
    assert plain.quic.equals(recorded.quic)
    assert recorded.series("cwnd_bytes", flow="web").height > 10


def test_impossible_settings_are_refused() -> None:
    for sets, reason in (
        ({"flow.web.quic.cc": "peach"}, "cannot control QUIC"),
        ({"flow.web.quic.mtu": "1000 B"}, "1200 B"),
        ({"flow.web.quic.cc": "cubic", "flow.web.tcp.cc": "cubic"}, "one transport"),
    ):
        with pytest.raises(ScenarioError, match=reason):
            bp.loads(TEXT, sets)


def test_why_tells_slow_start_from_handshakes_and_requests() -> None:
    """100 kB are 69 packets: flights of 10, 20 and 40 at most, so two or three wait for ACKs in slow start."""
    text = TEXT.replace('response = "1 MB", count = 2', 'response = "100 kB", count = 1')
    scenario = bp.loads(text, {"flow.web.quic.cc": "cubic"})
    spent = bp.run(scenario, series="critical_path").recorded["critical_path"]
    seconds = {row["part"]: row["total_s"] for row in spent.iter_rows(named=True)}
    assert seconds["opening"] == pytest.approx(0.6, abs=0.02)
    # The request, the first flight of its answer, its ACK, at most one trip more. ACKs of the other end begin none.
    assert 0.8 < seconds["exchange"] < 1.25
    assert 1.1 < seconds["slow-start"] < 1.6


PAGES = TEXT.replace(
    'kind = "request-response", request = "100 B", response = "1 MB", count = 2',
    'kind = "page", model = "3gpp2", objects = 10, count = 1',
)


def test_the_time_of_a_flow_over_quic_is_that_of_its_links() -> None:
    # Of the answer in slow start, the flights of 20 and 40 packets leave at 1.5 and 2.1 s, at 20 Mbit/s.
    found = bp.run(bp.loads(TEXT, {"flow.web.quic.mtu": "1452 B"}), series=["carried_bps"]).time_spent(1.5, 2.5)
    assert {each.part for each in found.parts} == {"link-busy", "path-free"}
    assert found["link-busy"].share == pytest.approx(60 * 1480 * 8 / 20e6, rel=0.1)


def test_a_comparison_of_pages_with_and_without_tls_has_a_hint() -> None:
    cases = "[case.h2]\nflow.web.app.tls_rtts = {}\n[case.h3]\nflow.web.quic = {{}}\n"
    open_, secured = (
        bp.compare(bp.loads(PAGES + cases.format(rtts)), metric="fct", replications=2).notes for rtts in (0, 1)
    )
    assert any(note.startswith("pages over TCP have no round trip for TLS") for note in open_)
    assert not any("TLS" in note for note in secured)


def test_qlog_files_are_sequences_of_json(tmp_path: Path) -> None:
    scenario = bp.loads(PAGES, {"flow.web.quic": "{}"})
    result = bp.run(scenario, qlog=tmp_path / "qlog")
    files = sorted(each.name for each in (tmp_path / "qlog").iterdir())
    assert files == ["web-0-client.sqlog", "web-0-server.sqlog"]
    for name in files:
        events = qlogs.read(tmp_path / "qlog" / name)
        sent = [event for event in events if event["name"] == "transport:packet_sent"]
        assert sent
    # The listener sends the data.
    numbers = {(header["packet_type"], header["packet_number"]) for header in (each["data"]["header"] for each in sent)}
    # A datagram of the handshake may have packets of several types.
    assert len(numbers) == len(sent) >= result.quic["sent_datagrams"][0]
    assert bp.run(scenario).flows.equals(result.flows)


def test_qlog_files_need_flows_over_quic_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(BentpipeError, match="no flow is over QUIC"):
        bp.run(bp.loads(PAGES), qlog=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(BentpipeError, match="is a file"):
        bp.run(bp.loads(PAGES, {"flow.web.quic": "{}"}), qlog=tmp_path / "file")


FILE = TEXT + "[flow.f]\nfrom = 'terminal'\nto = 'gateway'\napp = { kind = 'file', size = '500 kB' }\n"


@pytest.mark.parametrize(("over_quic", "sets"), [(["web"], {"tcp.cc", "quic.cc"}), (["web", "f"], {"quic.cc"})])
def test_a_congestion_control_is_set_for_each_transport(over_quic: list[str], sets: set[str]) -> None:
    scenario = bp.loads(FILE, {f"flow.{name}.quic.mtu": "1452 B" for name in over_quic})
    result = bp.run(scenario, cc="newreno")
    assert set(result.flows["cc"]) == {"newreno"}
    assert sets <= {key for key, _ in result.scenario.sets}
    found = bp.compare(scenario, ["newreno", "bbr3"], replications=2)
    assert found.estimate("newreno", "completion").value != found.estimate("bbr3", "completion").value


def test_a_flow_keeps_its_own_congestion_control() -> None:
    scenario = bp.loads(FILE, {"flow.web.quic.cc": "bbr3", "flow.f.quic.mtu": "1452 B"})
    assert list(bp.run(scenario, cc="newreno").flows["cc"]) == ["newreno", "bbr3"]
    with pytest.raises(ScenarioError, match="each flow has its own cc"):
        bp.run(bp.loads(TEXT, {"flow.web.quic.cc": "bbr3"}), cc="newreno")


def test_a_congestion_control_that_cannot_control_quic_is_refused() -> None:
    scenario = bp.loads(TEXT, {"flow.web.quic.mtu": "1452 B"})
    with pytest.raises(ScenarioError, match="cannot control QUIC: its dummy segments are segments of TCP"):
        bp.compare(scenario, ["cubic", "peach"])
    with pytest.raises(ScenarioError, match="cannot control QUIC"):
        bp.mix(scenario, ["cubic", "peach"])


def test_a_mix_sets_the_congestion_control_of_each_transport() -> None:
    """Each of two copies has its own congestion control, also if one flow is over TCP and another over QUIC."""
    scenario = bp.loads(FILE, {"flow.web.quic.mtu": "1452 B", "duration": "20 s"})
    found = bp.mix(scenario, ["newreno", "bbr3"], replications=2)
    row = found.run(0).flows.select("flow", "transport", "cc").sort("flow").rows()
    assert [each[1:] for each in row] == [("tcp", "newreno"), ("tcp", "bbr3"), ("quic", "newreno"), ("quic", "bbr3")]


def test_a_mix_of_cases_has_tcp_and_quic_on_one_path() -> None:
    cases = FILE + "[case.tcp]\nflow.f.tcp.cc = 'newreno'\n[case.quic]\nflow.f.quic.cc = 'newreno'\n"
    found = bp.mix(bp.loads(cases, {"flow.f.app": "greedy", "duration": "30 s"}), ["tcp", "quic"], replications=2)
    assert set(found.run(0).flows["transport"]) == {"tcp", "quic"}
    assert all(0.1 < found.estimate(case, "share").value < 0.9 for case in ("tcp", "quic"))


def test_connections_that_the_idle_timeout_ends_have_a_note() -> None:
    """Three requests with a pause above the idle timeout are three connections, and each ends in its pause."""
    sets = {"flow.web.app.count": 3, "flow.web.app.response": "10 kB", "flow.web.app.wait": "5 s"}
    result = bp.run(bp.loads(TEXT, {**sets, "flow.web.quic.idle_timeout": "3 s"}))
    assert result.quic.select("connections", "idle_timeouts").row(0) == (3, 3)
    assert any(note.startswith('the idle timeout ended 3 of 3 connections of flow "web"') for note in result.notes)
    kept = bp.run(bp.loads(TEXT, {**sets, "flow.web.quic.idle_timeout": "30 s"}))
    assert kept.quic.select("connections", "idle_timeouts").row(0) == (1, 0)
    assert not any("idle timeout" in note for note in kept.notes)


def test_needless_repairs_are_counted_and_have_a_note() -> None:
    """A middlebox that holds packets back loses none of them, and the stack declares some of them lost."""
    text = TEXT.replace('to = "gateway"\ndelay', 'to = "middle"\ndelay') + "quic = {}\n"
    text += "[link.more]\nfrom = 'middle'\nto = 'gateway'\nrate = '1 Gbit/s'\ndelay = '1 ms'\n"
    text += "[node.middle]\nmiddlebox = [{ kind = 'impair', reorder = 0.02, hold = '20 ms' }]\n"
    result = bp.run(bp.loads(text, {"flow.web.app.response": "200 kB"}))
    assert result.drops.height == 0
    row = result.quic.row(0, named=True)
    assert row["needless"] == row["declared_lost"] > 0
    assert any("declared lost had arrived" in note for note in result.notes)


def test_the_bundled_scenario_of_deep_space_runs() -> None:
    result = bp.run("mars", {"quic.cc": "none", "quic.initial_window": "1 bdp"})
    # Two round trips of 480 s, and 10 MB at 1 Mbit/s.
    assert result.flows["completion_s"][0] == pytest.approx(960 + 80, rel=0.01)
    assert result.notes == ()
    warnings = bp.load("mars").cases["defaults"].warnings
    assert any("ends after 30 s, and never opens" in warning.message for warning in warnings)


def test_commands_name_the_key_of_the_transport(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(TEXT + "quic = {}\n")
    done = CliRunner().invoke(app, ["run", str(base), "-c", "bbr3"])
    assert done.exit_code == 0
    assert "tcp.cc" not in done.stdout
    done = CliRunner().invoke(app, ["run", str(base), "-c", "bbr3", "--set", "quic.cc=newreno"])
    assert "quic.cc" in done.stderr
    facts = {"verb": "compare", "source": str(base), "sets": [("quic.cc", '"reno"')], "senders": {}}
    assert run_command(facts, {"tcp.cc": "bbr3"}, 3).endswith("base.toml --cc bbr3 --seed 3")


def test_a_run_with_many_connections_keeps_its_result(tmp_path: Path) -> None:
    more = {"flow.web.quic.mtu": "1452 B", "flow.web.app.response": "1 kB", "flow.web.app.reconnect": True}
    sets = {**more, "flow.web.app.count": 251, "link.sat.delay": "1 ms"}
    result = bp.run(bp.loads(TEXT, sets), qlog=tmp_path / "logs")
    assert list(result.flows["outcome"]) == ["completed"]
    assert "qlog of the first 250 connections" in result.notes
    assert len(list((tmp_path / "logs").iterdir())) == 500


def test_a_file_over_quic_has_no_datagrams(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(TEXT + "quic = {}\n")
    assert "All data arrived." in CliRunner().invoke(app, ["run", str(base)]).stdout
