"""Needs of a page over the library, tried on three scenarios."""

import json
import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.experiment.single.tables import GivenTables
from bentpipe.experiment.why.explanation import KINDS

NAMES = ("geo", "leo", "ship")
ROWS = 10_000_000
SERIES = ["goodput_bps", "cwnd_bytes", "srtt_s", "queue_bytes", "losses", "decisions", "limited_by", "carried_bps"]


@pytest.fixture(scope="module", params=NAMES)
def scenario(request):
    return bp.load(request.param, {"duration": "30 s"})


@pytest.fixture(scope="module")
def result(scenario):
    return bp.run(scenario, series=SERIES)


def test_the_network_has_nodes_links_and_flows_over_time(scenario):
    network = json.loads(json.dumps(scenario.network()))
    nodes = {node["node"] for node in network["nodes"]}
    links = {link["link"]: link for link in network["links"]}
    assert [flow["flow"] for flow in network["flows"]] == scenario.flow_names
    assert list(links) == scenario.link_names
    for link in links.values():
        assert {link["from"], link["to"]} <= nodes
        for name in ("rate_bps", "delay_s"):
            assert len(link[name]["times_s"]) == len(link[name]["values"]) >= 1
            assert link[name]["times_s"][0] == 0
    for flow in network["flows"]:
        for route in (flow["route"], *(later["route"] or [] for later in flow["routes_later"])):
            assert set(route) <= set(links)
            ends = [end for name in route for end in (links[name]["from"], links[name]["to"])]
            # Each link begins where the one before ends.
            assert ends[1:-1:2] == ends[2::2]


def test_an_edited_text_keeps_its_comments(scenario):
    text, form = scenario.written
    assert form == "toml"
    other = scenario.edit_text("tcp.cc", "cubic")
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert comments
    assert [line for line in other.splitlines() if line.startswith("#")] == comments
    edited = bp.loads(other, {"duration": "30 s"})
    assert edited.digest == scenario.replace("tcp.cc", "cubic").digest
    assert set(text.splitlines()) - set(other.splitlines()) <= {line for line in text.splitlines() if "cc =" in line}


def test_values_at_an_instant_are_those_of_the_series(result):
    flow = result.scenario.flow_names[0]
    for time_s in (0.0, 7.31, 20.0, 30.0):
        found = result.find_values(time_s)
        assert set(found) <= set(SERIES)
        rows = result.series("cwnd_bytes", flow).filter(pl.col("time_s") <= time_s)
        assert found["cwnd_bytes"].get(flow) == (rows["cwnd_bytes"][-1] if rows.height else None)


def test_losses_and_decisions_are_lists_of_what_happened(result):
    assert {"time_s", "where", "flow", "cause", "bytes"} <= set(result.series("losses").columns)
    decisions = result.series("decisions")
    assert not {"sent", "acked"} & set(decisions["event"])
    assert decisions.height < 5_000


def test_a_moment_is_explained_in_kinds_and_numbers(result):
    flow = result.scenario.flow_names[0]
    told = result.why(flow, start=0, end=30)
    assert told.happenings
    assert {each.kind for each in told.happenings} <= set(KINDS)
    json.dumps(told.to_dict())
    spent = result.time_spent(flow=flow)
    assert sum(part.time_s for part in spent.parts) == pytest.approx(30, abs=1e-9)


def test_progress_is_one_class_with_a_result_on_the_way(scenario):
    seen = []
    bp.run(scenario, progress=lambda state: seen.append((type(state), state.share)))
    assert {kind for kind, _ in seen} == {bp.progress.Progress}
    assert [share for _, share in seen] == sorted(share for _, share in seen)


def test_a_figure_of_a_part(result):
    figure = result.plot(start=5, end=9)
    assert figure.axes[-1].get_xlim() == (5, 9)


def test_a_large_saved_result_opens_at_once(tmp_path):
    small = bp.run("leo", {"duration": "2 s"}, series="cwnd_bytes")
    table = pl.DataFrame({"time_s": np.linspace(0, 2, ROWS), "cwnd_bytes": np.arange(ROWS, dtype=np.float64)})
    table = table.select("time_s", pl.lit("transfer").alias("flow"), "cwnd_bytes")
    replace(small, recorded=GivenTables({"cwnd_bytes": table})).save(tmp_path / "large")
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        opened = bp.RunResult.load(tmp_path / "large")
        assert opened.flows.height == 1
        times.append(time.perf_counter() - begun)
    # The machine may be busy with something else once, not each time.
    assert min(times) < 0.2
    assert opened.find_values(2.0)["cwnd_bytes"] == {"transfer": ROWS - 1}
