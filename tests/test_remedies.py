"""Remedies of `why`: their metrics, their losses, and pairs."""

import dataclasses
from pathlib import Path

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.experiment.why.remedies import Judge, Remedy, select_remedies
from bentpipe.trials.aims import find_aim
from bentpipe.trials.stock import stock_space

SHIP = Path(__file__).resolve().parent.parent / "validation" / "advised" / "ship-vsat.toml"
"""Twenty crew, two calls and a backup on a VSAT with requests by rate and by volume."""
VSAT_AND_LEO = SHIP.with_name("vsat-and-leo.toml")

MOVED = """
duration = "20 s"
[link.a]
from = "s"
to = "x"
delay = "20 ms"
rate = "10 Mbit/s"
[link.b]
from = "x"
to = "d"
delay = "20 ms"
rate = "10 Mbit/s"
[link.c]
from = "s"
to = "y"
delay = "25 ms"
rate = "10 Mbit/s"
[link.e]
from = "y"
to = "d"
delay = "25 ms"
rate = "10 Mbit/s"
[flow.download]
from = "s"
to = "d"
app = { kind = "file", size = "1 MB" }
[flow.call]
from = "d"
to = "s"
app = { kind = "cbr", rate = "64 kbit/s", size = "160 B" }
[flow.third]
from = "s"
to = "d"
start = "9 s"
[[at]]
time = "10 s"
[[at.handover]]
from = "x"
to = "y"
"""


@pytest.fixture(scope="module")
def call():
    return bp.run(SHIP, {"duration": "60 s"}, series="critical_path", progress=False).why("call-up", progress=False)


def test_a_handover_after_a_transfer_leaves_no_time_without_a_cause():
    found = bp.run(bp.loads(MOVED), series="critical_path", progress=False).why(tries=False)
    assert not any(part.part == "rest" for part in found["download"].parts)
    assert found.notes == []


def test_an_unknown_part_above_five_per_cent_is_said_in_words():
    found = bp.run(bp.loads(MOVED), series="critical_path", progress=False).why("download", tries=False)
    (flow,) = found.flows
    for share, is_said in ((0.04, False), (0.06, True)):
        part = dataclasses.replace(flow.parts[0], part="rest", where="", share=share)
        told = dataclasses.replace(found, flows=(dataclasses.replace(flow, parts=(part,)),))
        assert any("download: 6 % of its time has no known cause" in note for note in told.notes) == is_said


def test_a_handover_of_many_flows_is_one_sentence():
    result = bp.run(bp.loads(MOVED), progress=False)
    (handover,) = result.why("download", start=9.9, end=10.1).select_kinds("handover")
    assert "download gets another route, as 2 other flows" in handover.text
    (from_call,) = result.why("call", start=9.9, end=10.1).select_kinds("handover")
    assert "call gets another route, as 2 other flows" in from_call.text


def test_a_call_is_judged_by_mos_with_its_losses(call):
    """A MOS of 2.50 as it is, 3.08 with fq-codel, 3.89 with fq-codel and a constant rate."""
    first = call.remedies[0]
    assert first.metric == "mos:call-up"
    assert first.before == pytest.approx(2.53, abs=0.15)
    assert first.after > 3.8
    assert any(len(key) for key in first.sets if key.startswith(("medium.return.free", "link.sat.reverse.access")))
    assert "link.sat.reverse.queue" in first.sets
    assert "lost " in first.effect
    assert "delay 512 ms to 2" in first.effect
    fair = '{ kind = "fq-codel", target = "27.6 ms", interval = "552 ms", ecn = false }'
    pair = next(
        each
        for each in call.remedies
        if each.sets.get("link.sat.reverse.queue") == fair and any(key.endswith(".constant") for key in each.sets)
    )
    assert pair.after == pytest.approx(3.89, abs=0.05)
    alone = next(each for each in call.remedies if each.sets == {"link.sat.reverse.queue": fair})
    assert first.before + 0.3 < alone.after < pair.after - 0.5
    assert alone.lost[1] < alone.lost[0] / 3


def test_access_and_priorities_are_tried(call):
    names = [each.name for each in call.remedies]
    for word in ("free slots of return", "a constant rate of", "requests by volume", "priority for call-up"):
        assert any(word in name for name in names), names
    # A greedy flow that came first would stop all others.
    backup = bp.run(SHIP, {"duration": "60 s"}, series="critical_path", progress=False).why("backup", progress=False)
    assert not any("priority" in each.name for each in backup.remedies)


def test_what_makes_it_worse_is_called_worse(call):
    helpful, lines = select_remedies(call.remedies)
    assert all(each.helps for each in helpful)
    worse = next(line for line in lines if line.startswith("Makes it worse: "))
    assert "hybla for backup (mos:call-up: 2.51 to 2." in worse
    assert not any("without effect" in line for line in lines)
    verdicts = {each.to_dict()["verdict"] for each in call.remedies}
    assert verdicts == {"helps", "worse", "no difference"}
    done = CliRunner().invoke(app, ["why", "geo", "--set", "duration=20 s", "-q"])
    assert done.exit_code == 0, done.output


def test_the_command_says_that_nothing_helps():
    done = CliRunner().invoke(app, ["why", "bursts", "--set", "duration=4 s"])
    assert done.exit_code == 0, done.output
    has_help = "Remedies, by their effect" in done.output
    assert has_help != ("No tried change helps by more than 2 %." in done.output)


@pytest.mark.parametrize(
    ("app_", "metric"),
    [
        ({"kind": "page"}, "fct:f"),
        ({"kind": "file", "size": "1 MB"}, "completion_rx:f"),
        ("greedy", "goodput_active:f"),
        ({"kind": "cbr", "rate": "64 kbit/s", "size": "160 B"}, "mos:f"),
        ({"kind": "on-off", "peak": "64 kbit/s", "size": "160 B"}, "mos:f"),
        ({"kind": "cbr", "rate": "8 Mbit/s", "size": "1316 B"}, "packet_delivery:f"),
        ({"kind": "poisson", "rate": "48 bit/s", "size": "12 B"}, "delay_mean:f"),
        ({"kind": "cbr", "rate": "48 bit/s", "size": "12 B"}, "delay_mean:f"),
    ],
)
def test_each_kind_of_flow_has_its_aim(app_, metric):
    assert find_aim("f", {"app": app_}).metric == metric


def test_a_film_is_judged_by_its_stalls():
    """A film of 4 Mbit/s over a link of 3 Mbit/s arrives at three quarters of its rate, less headers."""
    scenario = {
        "duration": "40 s",
        "link": {"l": {"from": "a", "to": "b", "rate": "3 Mbit/s", "delay": "20 ms", "queue": "1 bdp"}},
        "flow": {"film": {"from": "a", "to": "b", "app": {"kind": "cbr", "rate": "4 Mbit/s", "size": "1316 B"}}},
    }
    judge = Judge(bp.Scenario(scenario), {"film": ["film"]})
    assert judge.series == ["goodput_bps"]
    slow, fast = (
        judge.judge_result(bp.run(bp.Scenario(scenario, sets=sets), series=judge.series, progress=False))["film"]
        for sets in ({}, {"link.l.rate": "5 Mbit/s"})
    )
    share = 1 - 3 / 4 * 1316 / (1316 + 28)
    assert slow.value == pytest.approx(share * 40, abs=2.5)
    assert fast.value == 0.0
    assert judge.gain("film", slow, fast, 40.0) == pytest.approx(slow.value / 40)


def test_unfinished_transfers_count_as_in_a_search():
    scenario = {
        "duration": "20 s",
        "link": {
            "l": {
                "from": "a",
                "to": "b",
                "rate": "1 Mbit/s",
                "delay": "20 ms",
                "outage": {"spans": [["5 s", "20 s"]]},
            }
        },
        "flow": {"f": {"from": "a", "to": "b", "app": {"kind": "bulk", "size": "100 kB", "pause": "100 ms"}}},
    }
    result = bp.run(scenario, progress=False)
    found = Judge(bp.Scenario(scenario), {"f": ["f"]}).judge_result(result)["f"]
    assert found.unfinished == result.completions["unfinished"][0] > 0
    assert found.value > 2 * result.estimate("fct:f").mean


def test_the_links_of_a_sky_have_settings_and_their_media():
    """The user's link of each constellation, and its medium, with the round trip of a geostationary satellite."""
    found = stock_space(bp.load(VSAT_AND_LEO, sets={"duration": "90 s"}), is_all=False)
    values = {axis.key: axis.values for axis in found.axes}
    user = "sky.constellation.vsat.user.forward"
    assert f"{user}.queue" in values
    assert f"{user}.access.constant" in values
    assert values["medium.return.free"] == ("none", "asking", "all")
    assert "sky.constellation.leo.user.forward.queue" in values
    assert values["node.Madrid.middlebox"] == ([{"kind": "split"}],)
    assert not any(key.startswith(("node.leo", "node.vsat")) for key in values)
    assert float(values[f"{user}.queue"][4]["interval"].removesuffix(" ms")) > 500
    reasons = {axis.key: axis.reason for axis in found.axes}
    assert "a round trip takes 5" in reasons["tcp.initial_window"]


def test_a_queue_that_drops_packets_of_transfers_is_tried():
    """Its losses cost little repair in the finished pages, and most in those that did not finish."""
    told = bp.run("distance-learning", {"duration": "40 s"}, progress=False).why("slides", progress=False)
    parts = {part.part: part.share for part in told.flows[0].parts}
    assert parts["repair"] < 0.1
    assert any("link.up.forward.queue" in remedy.sets for remedy in told.remedies)


def test_the_best_remedy_of_each_kind_of_flow_is_shown():
    """The gain of a call is larger as a share than those of pages."""
    made = {"metric": "m", "before": 1.0, "after": 2.0, "lost": (0, 0), "command": ""}
    calls = [Remedy(f"c{number}", {f"c{number}": ""}, "call", gain=0.9, **made) for number in range(6)]
    pages = [Remedy(f"p{number}", {f"p{number}": ""}, "page", gain=0.1, **made) for number in range(2)]
    shown, others = select_remedies([*calls, *pages])
    assert [each.name for each in shown] == ["c0", "p0", "c1", "p1", "c2"]
    assert others[0] == "Helps less: c3, c4, c5."


def test_a_link_may_have_the_name_of_a_setting():
    """A queue of the link `access` was taken for its access: no queue was tried there."""
    named = '[link.access]\nfrom = "s"\nto = "d"\ndelay = "250 ms"\nrate = "5 Mbit/s"\n'
    flows = "".join(
        f'[flow.{name}]\nfrom = "s"\nto = "d"\napp = {app}\n'
        for name, app in (("call", '{ kind = "cbr", rate = "64 kbit/s", size = "160 B" }'), ("film", '"greedy"'))
    )
    told = bp.run(bp.loads(f'duration = "20 s"\n{named}{flows}'), progress=False).why("call", progress=False)
    assert {"fq-codel on access.forward", "CoDel on access.forward"} <= {remedy.name for remedy in told.remedies}


def test_the_paths_of_a_connection_are_tried_as_other_remedies():
    """With a receive buffer of 1.5 MB, the VSAT blocks LEO: a larger buffer helps, and so do BLEST and LEO alone."""
    sets = {"duration": "20 s", "at": [], "flow.download.app.size": "20 MB"}
    small = {**sets, "flow.download.multipath.receive_buffer": "1500 kB"}
    told = bp.run("ship-two-antennas", small, series="critical_path", progress=False).why("download", progress=False)
    found = {remedy.name: remedy for remedy in told.remedies}
    content = bp.load("ship-two-antennas", sets).to_dict()
    download = content["flow"]["download"]
    leo = download.pop("subflow")["leo"]
    del download["multipath"]
    download |= {key: leo[key] for key in ("route", "reverse_route")}
    content["tcp"]["receive_buffer"] = "1500 kB"
    alone = bp.run(content, progress=False).flows["completion_rx_s"][0]
    without = found["download without vsat"]
    assert without.sets == {"flow.download.subflow.vsat.start": "20 s"}
    assert without.helps
    assert without.after == pytest.approx(alone, rel=0.03)
    assert all(found[f"{name} for download"].helps for name in ("a receive buffer of 2 bdp", "the scheduler blest"))
    assert found["the coupling lia with sack for download"].sets["flow.download.tcp.cc"] == "sack"
    for name in ("the scheduler ecf", "vsat as a backup"):
        assert found[f"{name} for download"].before == without.before
    assert "flow.download.subflow.vsat.start" in without.command
