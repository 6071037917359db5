"""The kernel's Multipath TCP over several paths. Tests are skipped with a reason where it has none."""

import itertools
import socket
import sys

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.emulation import ports
from bentpipe.emulation.like_kernel import LINUX_PATHS, spell_simulation
from bentpipe.errors import EmulationError

pytestmark = pytest.mark.timeout(600)

LEO = {"route": ["server", "gateway", "ship"], "reverse_route": ["ship", "gateway", "server"]}
GEO = {"route": ["server", "hub", "ship"], "reverse_route": ["ship", "hub", "server"]}
TWO = {
    "duration": "4 s",
    "link": {
        "gateway": {"from": "server", "to": "gateway", "rate": "1 Gbit/s", "delay": "1 ms"},
        "leo": {"from": "gateway", "to": "ship", "rate": "8 Mbit/s", "delay": "20 ms", "queue": "60 kB"},
        "hub": {"from": "server", "to": "hub", "rate": "1 Gbit/s", "delay": "1 ms"},
        "geo": {"from": "hub", "to": "ship", "rate": "4 Mbit/s", "delay": "100 ms", "queue": "100 kB"},
    },
    "flow": {"get": {"from": "server", "to": "ship", "multipath": {}, "subflow": {"leo": LEO, "vsat": GEO}}},
}


def two(**sets):
    return bp.Scenario(TWO, sets=sets)


@pytest.fixture(scope="module")
def kernel(namespaces):
    """Skip the test if the kernel has no Multipath TCP."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).close()
    except OSError as error:
        pytest.skip(f"this kernel has no Multipath TCP: {error}")


def bulk(scenario, **more):
    return bp.emulate(scenario, serve="bulk", cc="cubic", quiet=True, **more)


def test_a_flow_over_paths_becomes_a_port_for_each():
    scenario, paths = ports.with_port(two(**{"flow.get.subflow.vsat.backup": True}))
    assert paths == [ports.Path("get.leo", False), ports.Path("get.vsat", True)]
    flows = scenario.to_dict()["flow"]
    assert {name: flow["route"] for name, flow in flows.items()} == {"get.leo": LEO["route"], "get.vsat": GEO["route"]}
    assert scenario.flow_kinds == ["port", "port"]
    assert ports.with_port(scenario) == (scenario, [])


def test_changes_of_a_subflow_are_those_of_its_port():
    gone = [{"time": "1 s", "withdraw": ["get.leo"], "down": ["leo"]}]
    scenario, _ = ports.with_port(two(at=gone))
    later = {each["flow"]: each["routes_later"] for each in scenario.network()["flows"]}
    assert later == {"get.leo": [{"time_s": 1.0, "route": None}], "get.vsat": []}


def test_a_subflow_that_starts_later_is_refused():
    with pytest.raises(EmulationError, match=r"subflow vsat of get starts at 1 s.*\n  expected start = '0 s'"):
        bulk(two(**{"flow.get.subflow.vsat.start": "1 s"}))


def test_the_simulated_twin_has_the_multipath_of_linux():
    simulated = spell_simulation(two(**{"flow.get.subflow.vsat.backup": True}), "get", "cubic", {}).to_dict()["flow"][
        "get"
    ]
    assert simulated["multipath"]["scheduler"] == {"kind": LINUX_PATHS["scheduler"]}
    assert simulated["multipath"]["reinject"] == {**LINUX_PATHS["reinject"], "notice": "0 s"}
    assert spell_simulation(two(), "get", "cubic", {}).to_dict()["tcp"]["idle_restart"] is False
    assert {name: each["backup"] for name, each in simulated["subflow"].items()} == {"leo": False, "vsat": True}


def test_an_end_of_bentpipe_has_one_path(namespaces):
    with pytest.raises(EmulationError, match="bentpipe's end has one path"):
        bp.speak(two(), quiet=True)


def test_the_kernel_opens_a_subflow_on_each_path(kernel):
    found = bulk(two())
    assert found.multipath["subflows"].max() == 2
    ends = found.connections.filter(pl.col("host") == "server")
    acked = dict(ends.select("flow", "acked_bytes").iter_rows())
    assert set(acked) == {"get.leo", "get.vsat"}
    assert min(acked.values()) > 200_000
    rows = {row["flow"]: row for row in found.result.rows("flows")}
    # SYN and FIN count as bytes, also at the other end.
    assert {flow: row["acked_bytes"] for flow, row in rows.items()} == pytest.approx(acked, abs=10)
    # Each path has its own round trip.
    trips = dict(ends.select("flow", "min_rtt_s").iter_rows())
    assert 0.041 < trips["get.leo"] < 0.1
    assert 0.201 < trips["get.vsat"] < 0.3
    data = found.multipath.filter(pl.col("host") == "server").sort("time_s")["acked_bytes"]
    # A sample of the connection comes after that of its subflows: those of the next one have at least as much.
    assert len(data) > 1
    assert data[-2] <= sum(acked.values())
    # More than the faster path has alone: 8 Mbit/s for 4 s.
    assert data[-1] > 4e6


def test_a_backup_carries_data_only_while_no_other_path_does(kernel):
    gone = [{"time": "2 s", "withdraw": ["get.leo"], "down": ["leo"]}]
    backup = {"flow.get.subflow.vsat.backup": True}
    acked = []
    for sets in (backup, {**backup, "at": gone, "duration": "8 s"}):
        ends = bulk(two(**sets)).connections.filter(pl.col("host") == "server")
        acked.append(dict(ends.select("flow", "acked_bytes").iter_rows()))
    assert acked[0]["get.vsat"] < 1000
    assert acked[1]["get.vsat"] > 300_000


def test_other_connections_take_the_first_path(kernel):
    ask = "import socket\nsocket.create_connection(('server', 5001)).recv(100_000)"
    found = bp.emulate(two(), [sys.executable, "-c", ask], serve="bulk", quiet=True)
    assert found.status == 0
    assert found.connections["flow"].unique().to_list() == ["get.leo"]
    assert found.multipath["subflows"].max() in (None, 1)


def test_samples_of_several_paths_are_kept(kernel, tmp_path):
    found = bulk(two(duration="2 s"))
    found.save(tmp_path / "saved")
    assert bp.Emulation.load(tmp_path / "saved").multipath.equals(found.multipath)


def test_more_paths_than_the_kernel_allows_are_refused(kernel):
    links, subflows = {}, {}
    for number in range(10):
        way = ["server", f"n{number}", "ship"]
        for index, (start, end) in enumerate(itertools.pairwise(way)):
            links[f"l{number}-{index}"] = {"from": start, "to": end, "rate": "1 Mbit/s", "delay": "5 ms"}
        subflows[f"p{number}"] = {"route": way, "reverse_route": way[::-1]}
    flow = {"from": "server", "to": "ship", "multipath": {}, "subflow": subflows}
    with pytest.raises(EmulationError, match=r"does not open 10 subflows.*\n  expected .* at most 9 subflows"):
        bulk({"duration": "1 s", "link": links, "flow": {"get": flow}})


def test_a_twin_over_two_paths_has_shares_and_reinjections(kernel):
    found = bp.twin(two(), cc="cubic", replications=2, emulations=1)
    assert found.runs.height == 3
    for name in ("opener_share", "reinjected_bytes", "goodput_bps"):
        assert found.runs[name].null_count() == 0
    assert found.runs["opener_share"].is_between(0.2, 0.95).all()
    assert "multipath" in found.scenario.to_dict()["flow"]["get"]
    if found.trust[0].is_trustworthy:
        simulated, emulated = (found.runs.filter(side=side)["goodput_bps"].mean() for side in ("simulated", "emulated"))
        assert emulated == pytest.approx(simulated, rel=0.15)
