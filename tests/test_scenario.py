"""Reading scenarios: what is accepted, and what is said about what is not."""

import os
import pickle

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.scenario.scenario import SIZE_MAX, shipped


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
    assert bp.loads(from_file.resolved()) == from_file
    assert bp.loads(bp.check(small)) == from_file


def test_dicts_files_and_names_can_be_run_as_they_are(small):
    content = bp.load(small).to_dict()
    flows = bp.run(bp.load(small)).flows
    assert all(bp.run(what).flows.equals(flows) for what in (content, small, str(small)))
    assert bp.compare(content, "reno, sack", replications=1).senders == ("reno", "sack")
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
    # What is resolved needs the file no longer.
    resolved = scenario.resolved()
    (tmp_path / "traces" / "down.csv").write_text("time_s,rate_mbps\n0,fast\n")
    assert bp.loads(resolved) == scenario
    with pytest.raises(ScenarioError, match=r'traces/down.csv" is no such trace: line 2: "fast" is not a bit rate'):
        bp.load(path)
    with pytest.raises(ScenarioError, match="this scenario is in no folder"):
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
    path.write_bytes(b"title = \xff\xfe")
    with pytest.raises(ScenarioError, match=r"not text in UTF-8 \(byte 8\)"):
        bp.load(path)


def test_dicts_that_are_no_data_are_refused():
    with pytest.raises(ScenarioError, match="cannot be a scenario"):
        bp.Scenario({"duration": object()})
    with pytest.raises(ScenarioError, match="cannot be a scenario"):
        bp.Scenario({"seed": float("nan")})


def test_shipped_scenarios_are_valid_and_found_by_name():
    assert all(shipped().values()), "each has a title"
    for name in shipped():
        assert bp.load(name).title == shipped()[name]


def test_the_nearest_shipped_scenario_is_named(tmp_path, monkeypatch):
    (tmp_path / "s1.toml").touch()
    monkeypatch.setattr("bentpipe.scenario.scenario.SHIPPED", tmp_path)
    with pytest.raises(ScenarioError, match="did you mean 's1'"):
        bp.load("s11")
    with pytest.raises(ScenarioError):
        bp.load("../" + tmp_path.name + "/s1")
