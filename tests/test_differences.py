"""The settings in which two scenarios differ."""

import bentpipe as bp
from bentpipe.scenario.differences import find_differences


def named(one, other):
    return [(each.key, each.one, each.other) for each in find_differences(one, other) if each.is_written]


def test_a_choice_is_one_difference_and_its_defaults_come_last():
    one, other = bp.load("geo"), bp.load("geo", {"tcp.cc": "bbr3"})
    assert named(one, other) == [("tcp.cc", "cubic", "bbr3")]
    found = find_differences(one, other)
    assert [each.key for each in found] == ["tcp.cc", "tcp.slow_start"]
    assert not found[1].is_written


def test_each_written_difference_is_found_in_both_directions():
    sets = {"link.sat.forward.queue": "60 packets", "seed": 3, "duration": "20 s", "title": "another"}
    one, other = bp.load("geo"), bp.load("geo", sets)
    keys = ["duration", "link.sat.forward.queue", "seed"]
    assert sorted(key for key, *_ in named(one, other)) == keys
    assert sorted(named(other, one)) == sorted((key, there, here) for key, here, there in named(one, other))
    assert find_differences(one, bp.load("geo")) == []


def test_a_link_or_flow_of_one_scenario_only_is_there_or_absent():
    flow = {"from": "server", "to": "terminal"}
    content = bp.load("geo").to_dict()
    more = bp.load({**content, "flow": {**content["flow"], "second": flow}})
    assert named(bp.load(content), more) == [("flow.second", None, "there")]
