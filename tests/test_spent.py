"""Tests of `why` without a time: the parts add up, the queue names its flow, and the first remedy helps."""

import json
import shlex

import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError

OFFICE = """
title = "an office behind a satellite"
duration = "40 s"
[tcp]
like = "linux-6"
[link.internet]
from = "server"
to = "gateway"
rate = "1 Gbit/s"
delay = "10 ms"
[link.sat]
from = "gateway"
to = "terminal"
delay = "260 ms"
[link.sat.forward]
rate = "20 Mbit/s"
queue = "1 bdp"
[link.sat.reverse]
rate = "2 Mbit/s"
queue = "1 bdp"
[link.lan]
from = "user{n}"
to = "terminal"
count = 4
rate = "1 Gbit/s"
delay = "1 ms"
[flow.page]
from = "user{n}"
to = "server"
count = 4
app = { kind = "page", model = "3gpp2", tls_rtts = 1, multiplexed = true, reading = "1 s" }
[flow.backup]
from = "user1"
to = "server"
app = "greedy"
start = "2 s"
[flow.call]
from = "user2"
to = "server"
app = { kind = "cbr", rate = "64 kbit/s", size = "160 B" }
"""
OWN = """
import bentpipe

class Slow(bentpipe.CongestionControl):
    def on_ack(self, ack, path):
        pass
"""


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    path = tmp_path_factory.mktemp("why") / "office.toml"
    path.write_text(OFFICE)
    return path


@pytest.fixture(scope="module")
def found(office):
    return bp.run(office, series="critical_path").why()


def part(flow, name):
    return sum(each.time_s for each in flow.parts if each.part == name)


def is_fair_queue(remedy):
    """Whether it is fq-codel with an interval of a round trip, 542 ms here (RFC 8289 §4.3)."""
    queue = '{ kind = "fq-codel", target = "27.1 ms", interval = "542 ms", ecn = false }'
    return remedy.sets == {"link.sat.reverse.queue": queue}


def test_the_parts_add_up_to_what_was_measured(office, found):
    result = bp.run(office)
    means = {
        "page": result.estimate("fct:page").mean,
        "call": result.estimate("delay_mean:call").mean,
    }
    for name, mean_s in means.items():
        assert sum(each.time_s for each in found[name].parts) == pytest.approx(mean_s, rel=1e-9)
        assert found[name].time_s == pytest.approx(mean_s, rel=1e-9)
        assert sum(each.share for each in found[name].parts) == pytest.approx(1)
        assert [each.share for each in found[name].parts] == sorted((e.share for e in found[name].parts), reverse=True)
    assert sum(s for s, _, _ in found["page"].shown_parts) == pytest.approx(found["page"].time_s)
    assert found["backup"].time_s == pytest.approx(38, abs=1)


def test_who_fills_the_queue_is_named(found):
    for name in ("page", "call"):
        queue = next(each for each in found[name].parts if each.part == "queue" and each.where == "sat.reverse")
        assert next(iter(queue.by)) == "backup"
        assert queue.by["backup"] > 0.8
        assert "waiting in the queue of sat.reverse, filled by backup (" in queue.what
    assert found["call"].parts[-1].part != "rest"
    assert "filled by backup" in str(found)


def test_what_is_advised_first_helps_and_its_command_runs_as_printed(found, monkeypatch):
    first = found.remedies[0]
    assert first.helps
    assert [each.gain for each in found.remedies] == sorted((each.gain for each in found.remedies), reverse=True)
    assert any(is_fair_queue(each) and each.gain > 0.2 for each in found.remedies)
    words = shlex.split(first.command)
    assert words[:2] == ["bentpipe", "compare"]
    done = CliRunner().invoke(app, [*words[1:], "--replications", "2", "--json"])
    assert done.exit_code == 0, done.output
    table = bp.compare(
        words[2], cases={"as it is": {}, first.name: dict(first.sets)}, metric=first.metric, replications=2
    ).table
    means = dict(table.filter(pl.col("metric") == first.metric).select("of", "mean").iter_rows())
    assert (means[first.name] < means["as it is"]) == first.metric.startswith(("fct", "delay"))


def test_a_flow_that_never_ends_is_told_with_its_goodput(found):
    backup = found["backup"]
    assert "Goodput: " in backup.head
    assert part(backup, "transmission") > 0.3 * backup.time_s


def test_the_costs_of_other_flows_are_named_with_the_goodput_of_the_breakdown(office, found):
    for each in (found, bp.run(office).why("page")):
        remedy = next(each for each in each.remedies if is_fair_queue(each))
        (harm,) = remedy.harms
        before = harm.removeprefix("backup (goodput_active ").partition(" to ")[0]
        assert f"Goodput: {before}." in found["backup"].head
        assert "call" in f"{remedy.metric}{remedy.also}"


def test_all_of_it_is_plain_data_and_html(found):
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert sorted(each["flow"] for each in content["flows"]) == ["backup", "call", "page"]
    html = found._repr_html_()
    assert "sat.reverse" in html
    assert "What to try" in html
    assert repr(found).startswith("<Breakdown of backup ")


def test_the_command_shows_it(office):
    done = CliRunner().invoke(app, ["why", str(office), "--no-try"])
    assert done.exit_code == 0, done.output
    assert "page (4 flows): a page takes " in done.output
    assert "filled by backup (" in " ".join(done.output.split())
    assert "What to try" not in done.output
    content = CliRunner().invoke(app, ["why", str(office), "--no-try", "--flow", "call", "--json"])
    assert [each["flow"] for each in json.loads(content.stdout)["flows"]] == ["call"]


def test_losses_of_a_call_are_in_its_head():
    scenario = {
        "duration": "20 s",
        "tcp": {"like": "linux-6"},
        "link": {"l": {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "20 ms", "queue": "10 packets"}},
        "flow": {
            "load": {"from": "a", "to": "b"},
            "call": {"from": "a", "to": "b", "app": {"kind": "cbr", "rate": "64 kbit/s", "size": "160 B"}},
        },
    }
    call = bp.run(scenario).why("call", tries=False)["call"]
    assert "Packets lost: " in call.head
    assert "l.forward (its queue was full)" in call.head


def test_a_receive_window_is_found_and_a_larger_one_helps():
    scenario = {
        "duration": "30 s",
        "tcp": {"like": "rfc", "cc": "cubic", "receive_buffer": "64 kB"},
        "link": {"l": {"from": "a", "to": "b", "rate": "20 Mbit/s", "delay": "250 ms"}},
        "flow": {"f": {"from": "a", "to": "b", "app": {"kind": "file", "size": "1 MB"}}},
    }
    found = bp.run(scenario).why()
    assert found["f"].parts[0].part == "receive-window"
    assert found["f"].parts[0].round_trips > 10
    single = next(each for each in found.remedies if len(each.sets) == 1)
    assert list(single.sets) == ["flow.f.tcp.receive_buffer"]
    assert single.gain > 0.5
    assert found.remedies[0].command.startswith("bentpipe.compare(scenario, cases=")


def test_stock_buffers_are_found_and_raised_ones_help():
    scenario = {
        "duration": "30 s",
        "link": {"l": {"from": "a", "to": "b", "rate": "200 Mbit/s", "delay": "250 ms"}},
        "flow": {"f": {"from": "a", "to": "b", "app": {"kind": "file", "size": "100 MB"}}},
    }
    run = bp.run(scenario)
    assert run.hosts == "Linux 6, cubic"
    remedy = next(each for each in run.why().remedies if each.sets == {"flow.f.tcp.buffers": "raised"})
    assert remedy.gain > 0.2
    raised = bp.run({**scenario, "tcp": {"buffers": "raised"}})
    assert raised.hosts == "Linux 6 (raised buffers), cubic"
    # Raised buffers are the most that the remedy offers.
    assert not any("buffers" in key for each in raised.why().remedies for key in each.sets)


@pytest.mark.parametrize("smss", [536, 1448, 4000, 8000, 8948, 16_000])
def test_windows_of_linux_open_with_segments_of_any_size(smss):
    """A kernel reaches 8.2 Mbit/s with 536 B, and 9.4 to 9.97 in the second half of 9 s with 1000 to 16,000 B."""
    scenario = {
        "duration": "20 s",
        "tcp": {"smss": f"{smss} B"},
        "link": {"l": {"from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "260 ms"}},
        "flow": {"f": {"from": "a", "to": "b"}},
    }
    assert bp.run(scenario).flows["goodput_bps"][0] > 7e6


def test_a_saved_run_and_a_sender_of_ones_own(tmp_path, office, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.py").write_text(OWN)
    own = CliRunner().invoke(app, ["why", str(office), "--cc", "slow.py:Slow", "--no-try"])
    assert own.exit_code == 0, own.output
    assert "page (4 flows): a page takes " in own.output
    saved = ["run", str(office), "--cc", "slow.py:Slow", "--save", "runs", "--quiet"]
    assert CliRunner().invoke(app, saved).exit_code == 0
    refused = CliRunner().invoke(app, ["why", "runs", "--no-try"])
    assert refused.exit_code == 2
    assert "--cc FILE.py:Slow" in refused.output
    again = CliRunner().invoke(app, ["why", "runs", "--cc", "slow.py:Slow", "--no-try"])
    assert again.exit_code == 0, again.output
    assert again.output == own.output
    assert CliRunner().invoke(app, [*saved, "--series", "critical_path"]).exit_code == 0
    assert CliRunner().invoke(app, ["why", "runs", "--no-try"]).output == own.output


def test_a_flow_without_a_transfer_is_named():
    scenario = {
        "duration": "1 s",
        "tcp": {"like": "rfc"},
        "link": {"l": {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "2 s"}},
        "flow": {"web": {"from": "a", "to": "b", "app": {"kind": "page", "model": "3gpp2"}}},
    }
    found = bp.run(scenario).why()
    assert found.flows == ()
    assert found.missing == ("web",)
    assert "web: no transfer has ended" in str(found)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--no-try", "--at", "3s"], "--no-try and a time exclude each other: remedies are for the whole run"),
        (["--flow", "cell"], "did you mean 'call'"),
        (["--at", "3s"], "the scenario has several flows"),
    ],
)
def test_what_makes_no_sense_is_refused(office, arguments, expected):
    done = CliRunner().invoke(app, ["why", str(office), *arguments])
    assert done.exit_code == 2
    assert expected in done.output


def test_a_time_needs_a_flow(office):
    with pytest.raises(BentpipeError, match="a time needs a flow"):
        bp.run(office).why(at=3.0)
