"""Scenarios: valid files, and the errors of invalid ones."""

import json
import os
import pickle

import numpy as np
import pytest
from mypy import api

import bentpipe as bp
from bentpipe import catalog
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.scenario import overrides
from bentpipe.scenario.scenario import SIZE_MAX, list_bundled


def test_a_scenario_tells_what_it_is(small):
    scenario = bp.load(small)
    assert scenario.title == "Two senders over one satellite hop"
    assert scenario.duration_s == 20
    assert scenario.seed == 3
    assert scenario.flow_names == ["bulk", "file"]
    assert scenario.link_names == ["down.forward", "down.reverse", "up.forward", "up.reverse"]


def test_text_dict_and_file_give_the_same_scenario(small):
    from_file = bp.load(small)
    assert bp.loads(small.read_text()) == from_file
    assert bp.Scenario(from_file.to_dict()) == from_file
    assert bp.loads(from_file.resolve()) == from_file
    assert bp.loads(bp.check(small)) == from_file


def test_dicts_files_and_names_can_be_run_as_they_are(small):
    content = bp.load(small).to_dict()
    flows = bp.run(bp.load(small)).flows
    assert all(bp.run(what).flows.equals(flows) for what in (content, small, str(small)))
    assert bp.compare(content, "reno, sack", replications=1).names == ("reno", "sack")
    with pytest.raises(ScenarioError, match="did you mean 's1'"):
        bp.run("s11")


def test_one_series_may_be_named_without_a_list(small):
    assert list(bp.run(small, series="cwnd_bytes").recorded) == ["cwnd_bytes"]


def test_scenarios_can_be_sent_to_other_processes(small):
    scenario = bp.load(small).with_seed(9)
    assert pickle.loads(pickle.dumps(scenario)) == scenario


def test_what_follows_from_a_value_follows_when_it_is_put_over_a_case(small):
    scenario = bp.loads(small.read_text() + '\n[case.small]\ntcp.initial_window = "1 segments"\n')
    case = scenario.cases["small"].with_sets({"tcp.cc": "tcpmin"})
    assert case.to_dict()["tcp"]["recovery"] == {"kind": "timeout-only"}
    assert case == scenario.with_sets({"tcp.cc": "tcpmin"}).cases["small"]
    assert pickle.loads(pickle.dumps(case)) == case


def test_traces_are_read_from_beside_the_scenario(small, tmp_path):
    path = tmp_path / "traced.toml"
    path.write_text(small.read_text().replace('"1 Mbit/s"', '{ file = "traces/down.csv" }'))
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "down.csv").write_text("time_s,rate_mbps\n0,1\n5,0.5\n")
    scenario = bp.load(path)
    assert scenario.to_dict()["link"]["down"]["rate"]["points"] == [["0 s", "1 Mbit/s"], ["5 s", "500 kbit/s"]]
    assert bp.loads(path.read_text(), folder=tmp_path) == scenario
    assert pickle.loads(pickle.dumps(scenario)).with_seed(4).seed == 4
    # A resolved scenario does not need the file any more.
    resolved = scenario.resolve()
    (tmp_path / "traces" / "down.csv").write_text("time_s,rate_mbps\n0,fast\n")
    assert bp.loads(resolved) == scenario
    with pytest.raises(ScenarioError, match=r'traces/down.csv" is not such a trace: line 2: "fast" is not a bit rate'):
        bp.load(path)
    with pytest.raises(ScenarioError, match="this scenario has no folder"):
        bp.loads(path.read_text())


def test_json_files_are_read(small, tmp_path):
    import json

    path = tmp_path / "small.json"
    path.write_text(json.dumps(bp.load(small).to_dict()))
    assert bp.load(path) == bp.load(small)


def test_replacing_makes_another_scenario(small):
    scenario = bp.load(small)
    slower = scenario.replace("link.down.rate", "500 kbit/s")
    assert slower.digest != scenario.digest
    assert scenario == bp.load(small)
    assert slower == bp.load(small, {"link.down.rate": "500 kbit/s"})
    assert slower.replace("link.down.rate", "1 Mbit/s") == scenario
    assert scenario.with_seed(8).seed == 8


def test_values_that_are_not_text_can_replace(small):
    scenario = bp.load(small).replace("link.down.error", {"kind": "packet", "rate": "25 %"})
    assert scenario == bp.load(small).replace("link.down.error.rate", "25 %")
    assert scenario.with_series(["cwnd_bytes"]).with_series(["cwnd_bytes"]) == scenario.with_series(["cwnd_bytes"])


def test_problems_are_scenario_errors(small):
    with pytest.raises(ScenarioError, match="cubix") as problem:
        bp.load(small, {"tcp.cc": "cubix"})
    assert isinstance(problem.value, BentpipeError)
    assert isinstance(problem.value, ValueError)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"missing\.toml"):
        bp.load(tmp_path / "missing.toml")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="is a directory"):
        bp.load(tmp_path)


def test_a_folder_does_not_hide_a_bundled_scenario_of_its_name_but_a_file_does(tmp_path, monkeypatch, small):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "geo").mkdir()
    assert bp.load("geo").digest == bp.loads(bp.scenario.scenario.shipped_text("geo")).digest
    with pytest.raises(ScenarioError, match="is a directory"):
        bp.load("geo/")
    (tmp_path / "leo").write_text(small.read_text())
    assert bp.load("leo").digest == bp.load(small).digest


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "huge.toml"
    path.touch()
    os.truncate(path, 2**40)
    with pytest.raises(ScenarioError, match="larger than 16 MiB"):
        bp.load(path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no /dev/zero")  # noqa: PTH110
def test_an_endless_device_is_refused():
    with pytest.raises(ScenarioError, match="larger than 16 MiB"):
        bp.load("/dev/zero")


def test_a_file_of_the_largest_size_is_read(small, tmp_path):
    path = tmp_path / "large.toml"
    text = small.read_bytes()
    path.write_bytes(text + b"\n" * (SIZE_MAX - len(text)))
    assert bp.load(path) == bp.load(small)


def test_a_binary_file_is_refused(tmp_path):
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\ntitle = \xff\xfe")
    with pytest.raises(ScenarioError, match=r"not text in UTF-8 \(byte 0xff in line 2\)"):
        bp.load(path)


def test_dicts_that_are_no_data_are_refused():
    with pytest.raises(ScenarioError, match="cannot be a scenario"):
        bp.Scenario({"duration": object()})
    with pytest.raises(ScenarioError, match=r"^seed = nan is not a number\n  expected a finite number"):
        bp.Scenario({"seed": float("nan")})


@pytest.mark.parametrize(
    "number", [float("nan"), float("-inf"), np.float64("nan"), np.float32("inf"), np.array(np.nan)]
)
def test_numbers_that_are_not_finite_have_a_place(number):
    flows = {"f": {"from": "a", "to": "b", "tcp": {"cc": [{"kind": "vegas", "gamma": number}]}}}
    with pytest.raises(ScenarioError, match=r"^flow\.f\.tcp\.cc\[0\]\.gamma = (nan|-?inf) is not a number") as caught:
        bp.Scenario({"flow": flows})
    assert caught.value.problems[0].key == "flow.f.tcp.cc[0].gamma"


def test_shipped_scenarios_are_valid_and_found_by_name():
    assert all(list_bundled().values()), "each has a title"
    for name in list_bundled():
        assert bp.load(name).title == list_bundled()[name]


def test_the_nearest_shipped_scenario_is_named(tmp_path, monkeypatch):
    (tmp_path / "s1.toml").touch()
    monkeypatch.setattr("bentpipe.scenario.scenario.SHIPPED", tmp_path)
    with pytest.raises(ScenarioError, match="did you mean 's1'"):
        bp.load("s11")
    with pytest.raises(ScenarioError):
        bp.load("../" + tmp_path.name + "/s1")


WRONG = """duration = "1 s"
[link.sat]  # é
from = "a"
to = "b"
bandwidth = "1 Mbit/s"
delay = "20 msec"
[flow.f]
from = "a"
to = "b"
tcp.cc = "CUBIC"
"""


def test_an_error_has_its_problems_as_data_with_the_place_of_each():
    with pytest.raises(ScenarioError) as caught:
        bp.Scenario(WRONG, source="wrong.toml", sets={"seed": -1})
    problems = {problem.key: problem for problem in caught.value.problems}
    assert list(problems) == ["link.sat.bandwidth", "link.sat.delay", "flow.f.tcp.cc", "seed"]
    delay = problems["link.sat.delay"]
    assert (delay.value, delay.suggestion, delay.file) == ("20 msec", "20 ms", "wrong.toml")
    assert (delay.line, delay.column, delay.end_line, delay.end_column) == (6, 9, 6, 18)
    cc = problems["flow.f.tcp.cc"]
    assert "cubic" in cc.known
    assert (cc.suggestion, cc.place) == ("cubic", "wrong.toml:10:10")
    assert (problems["link.sat.bandwidth"].suggestion, problems["link.sat.bandwidth"].value) == ("rate", "1 Mbit/s")
    assert (problems["seed"].value, problems["seed"].place, problems["seed"].line) == (-1, "--set seed", None)


def test_the_text_of_an_error_is_made_from_its_problems_and_both_cross_processes():
    with pytest.raises(ScenarioError) as caught:
        bp.loads(WRONG)
    error = caught.value
    assert str(error).splitlines()[-1] == "3 problems; nothing was run"
    assert all(str(problem) in str(error) for problem in error.problems)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems) == (str(error), error.problems)
    with pytest.raises(ScenarioError) as caught:
        bp.loads(WRONG, {"link.sat.rate": object()})
    assert [problem.key for problem in caught.value.problems] == ["link.sat.rate"]


def test_numpy_values_go_wherever_numbers_go(small):
    np = pytest.importorskip("numpy")
    scenario = bp.load(small)
    rate = "link.up.forward.error.rate"
    sets = {"link.up.forward.error.kind": "packet", rate: 0.25}
    assert scenario.with_sets({**sets, rate: np.float64(0.25)}) == scenario.with_sets(sets)
    assert scenario.replace("seed", np.int64(9)).seed == 9
    assert bp.Scenario({**scenario.to_dict(), "seed": np.uint8(9)}).seed == 9
    points = scenario.with_sets([("sweep.vary.seed", np.arange(1, 4))])
    assert points == scenario.with_sets([("sweep.vary.seed", range(1, 4))])


def test_an_edited_text_differs_in_one_value_only(small):
    text = small.read_text()
    edited = bp.load(small).edit_text("link.up.rate", "3 Mbit/s")
    assert bp.loads(edited) == bp.load(small, {"link.up.rate": "3 Mbit/s"})
    changed = [(a, b) for a, b in zip(text.splitlines(), edited.splitlines(), strict=True) if a != b]
    assert len(changed) == 1
    commented = bp.loads("# head\n" + text.replace("[link.up]", "[link.up] # the way up")).edit_text("tcp.cc", "cubic")
    assert "# head" in commented
    assert "[link.up] # the way up" in commented
    assert bp.loads(commented).to_dict()["tcp"]["cc"]["kind"] == "cubic"
    for key in ("title.x", "", "a..b"):
        with pytest.raises(ScenarioError) as caught:
            bp.load(small).edit_text(key, 1)
        assert caught.value.problems[0].key == key


def test_a_network_is_plain_data_with_rates_and_delays_over_time():
    network = bp.load("leo").network()
    links = {link["link"]: link for link in network["links"]}
    assert json.loads(json.dumps(network)) == network
    assert {link["from"] for link in network["links"]} <= {node["node"] for node in network["nodes"]}
    assert any(len(link["delay_s"]["times_s"]) > 1 for link in links.values())
    assert all(set(flow["route"]) <= set(links) for flow in network["flows"])
    assert all(len(link["rate_bps"]["times_s"]) == len(link["rate_bps"]["values"]) for link in links.values())


def test_a_notebook_shows_what_is_in_a_scenario(small):
    page = bp.load(small).replace("title", "<b>")._repr_html_()
    assert all(text in page for text in ("&lt;b&gt;", "<td>up.forward</td>", "1.00 Mbit/s"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bp.load("nowhere"),
        lambda: bp.Scenario(3.5),
        lambda: bp.run("geo", cc="rino"),
        lambda: bp.run("geo", seed="x"),
        lambda: bp.sweep("geo"),
        lambda: bp.sweep("geo", {"tcp.cc": ["reno", "rino"]}),
        lambda: bp.sweep("geo", {"sweep.replications": [1, 2]}),
        lambda: bp.sweep("geo", {"tcp.cc": ["reno", "sack"]}, against="rino"),
        lambda: bp.compare("geo", ["reno"], until={"metric": "goodput"}),
        lambda: bp.compare("geo"),
        lambda: bp.mix("geo", ["reno"]),
        lambda: overrides.read_varied(["tcp.cc"]),
    ],
)
def test_every_error_about_a_scenario_has_its_problems_as_data(wrong):
    with pytest.raises(ScenarioError) as refused:
        wrong()
    problems, text = refused.value.problems, str(refused.value)
    assert problems
    for problem in problems:
        assert problem.message in text
        assert not problem.message.startswith("error")
        assert "\n" not in problem.message


TYPED = """
import bentpipe as bp

written: bp.ScenarioDict = {
    "duration": "5 s",
    "link": {"sat": {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "250 ms"}},
    "flow": {"bulk": {"from": "a", "to": "b"}},
}
bp.run(written)
bp.Scenario(written)
"""


def test_a_scenario_given_as_a_dict_has_types_that_find_a_wrong_key(tmp_path):
    file = tmp_path / "typed.py"
    for text, wrong in ((TYPED, None), (TYPED.replace('"delay"', '"latency"'), 'Extra key "latency"')):
        file.write_text(text)
        said, _, code = api.run([str(file)])
        assert (code == 0) == (wrong is None), said
        assert wrong is None or wrong in said
    exec(TYPED, {})


def test_the_keys_of_congestion_controls_come_from_the_schema(monkeypatch):
    assert catalog.cc_keys() == ("tcp.cc",)
    assert catalog.compared_keys() == ("tcp.cc", "case")
    schema = bp.schema()
    schema["properties"]["quic"] = {"$ref": "#/$defs/Quic"}
    schema["$defs"]["Quic"] = {"properties": {"controller": {"$ref": "#/$defs/Cc"}, "mtu": {"type": "string"}}}
    monkeypatch.setattr(catalog, "schema", lambda: schema)
    catalog.cc_keys.cache_clear()
    assert catalog.cc_keys() == ("tcp.cc", "quic.controller")
    catalog.cc_keys.cache_clear()
