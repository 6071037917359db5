"""Hints: settings without effect, queues far from their path, and the power of replications."""

import json
import re

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.experiment.results import hints
from bentpipe.statistics.power import count_replications, least_shown

PLAIN = """
title = "Plain"
duration = "2 s"
[tcp]
like = "rfc"
[link.sat]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "100 ms"
[flow.f]
from = "a"
to = "b"
"""
ECN = {"tcp.ecn": "classic"}
CALL = '\n[flow.call]\nfrom = "a"\nto = "b"\napp = { kind = "cbr", rate = "64 kbit/s" }\n'
JITTER, FEW, JAIN = "only the timing of hosts is random", "replications show only differences", "jain is over"


def noted(notes, begin):
    return [note for note in notes if begin in note]


def test_a_run_has_the_hints_of_its_scenario_once():
    result = bp.run(bp.loads(PLAIN, ECN))
    assert len(noted(result.notes, "tcp.ecn has no effect")) == 1
    assert noted(result.to_dict()["notes"], "tcp.ecn")
    assert noted(result.statements, "tcp.ecn")
    assert not bp.run(bp.loads(PLAIN)).notes


def test_sweeps_and_mixes_have_notes():
    swept = bp.sweep(bp.loads(PLAIN), {"tcp.ecn": ["off", "classic"]}, replications=1)
    (note,) = noted(swept.notes, "tcp.ecn has no effect")
    assert note.endswith("(at 1 of 2 points)")
    assert note in swept.to_dict()["notes"]
    mixed = bp.mix(bp.loads(PLAIN, ECN), ["reno", "cubic"], replications=1)
    assert noted(mixed.notes, "tcp.ecn has no effect")
    assert mixed.to_dict()["notes"] == mixed.notes


class Same(bp.Reno):
    """Reno under another name."""


def test_draws_of_custom_classes_are_named_in_the_note_on_randomness():
    mixed = bp.mix(bp.loads(PLAIN), ["reno", Same], replications=2)
    (note,) = noted(mixed.notes, "only the timing of hosts")
    assert note.startswith("only the timing of hosts and draws of custom classes are random here: intervals do not")
    lossy = bp.loads(PLAIN, {"link.sat.error": {"kind": "packet", "rate": 1e-3}})
    assert not noted(bp.mix(lossy, ["reno", Same], replications=2).notes, "timing of hosts")


def test_saved_results_keep_their_notes(tmp_path):
    compared = bp.compare(bp.loads(PLAIN, ECN), ["reno", "cubic"], replications=2)
    compared.save(tmp_path / "compared")
    assert bp.Comparison.load(tmp_path / "compared").notes == compared.notes


@pytest.mark.parametrize("verb", ["run", "compare", "sweep", "mix"])
def test_the_command_line_prints_each_note_once_and_none_if_quiet(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.toml").write_text(PLAIN, encoding="utf-8")
    more = {
        "run": [],
        "compare": ["--cc", "reno,cubic", "-n", "2"],
        "sweep": ["--vary", "tcp.cc=reno,cubic", "-n", "2"],
        "mix": ["--cc", "reno,cubic", "-n", "2"],
    }[verb]

    def said(*options):
        done = CliRunner().invoke(app, [verb, "plain.toml", "--set", "tcp.ecn=classic", *more, *options])
        assert done.exit_code == 0, done.stderr
        return done.stdout

    assert " ".join(said().split()).count("note: tcp.ecn has no effect") == 1
    assert said("--quiet") == ""
    assert len(noted(json.loads(said("--json"))["notes"], "tcp.ecn has no effect")) == 1


def test_where_hosts_alone_are_random_the_intervals_say_so():
    def notes(**sets):
        return bp.compare(bp.loads(PLAIN, sets), ["reno", "cubic"], replications=5).notes

    assert noted(notes(), JITTER)
    assert not noted(notes(**{"link.sat.error": {"kind": "packet", "rate": 1e-3}}), JITTER)
    assert not noted(notes(**{"flow.f.start": {"uniform": ["0 s", "1 s"]}}), JITTER)
    # One of the two draws random numbers when it probes.
    assert not noted(bp.compare(bp.loads(PLAIN), ["reno", "bbr3"], replications=5).notes, JITTER)
    assert not noted(bp.compare(bp.loads(PLAIN), ["reno", "cubic"], replications=1).notes, JITTER)


def test_too_few_replications_have_the_number_that_is_needed():
    lossy = bp.loads(PLAIN, {"link.sat.error": {"kind": "packet", "rate": 1e-3}})
    (note,) = noted(bp.compare(lossy, ["reno", "cubic"], replications=2).notes, FEW)
    assert note.startswith("2 replications show only differences above 9 standard deviations")
    assert "; 7 show" in note
    assert not noted(bp.compare(lossy, ["reno", "cubic"], replications=7).notes, FEW)
    swept = bp.sweep(lossy, {"link.sat.delay": ["10 ms", "20 ms", "30 ms"]}, replications=3)
    assert noted(swept.notes, FEW)
    assert least_shown(3, 0.95, 2) > hints.FAR
    assert noted(bp.mix(lossy, ["reno", "cubic"], replications=2).notes, FEW)


def test_numbers_of_replications_are_those_of_the_paired_t_test():
    # t(0.975, 1) = 12.706, t(0.975, 9) = 2.262.
    assert least_shown(2, 0.95) == pytest.approx(12.706 / 2**0.5, rel=1e-4)
    assert least_shown(10, 0.95) == pytest.approx(2.262 / 10**0.5, rel=1e-3)
    assert least_shown(10, 0.95, tests=3) > least_shown(10, 0.95)
    wanted = count_replications(1.0, 0.95)
    assert least_shown(wanted, 0.95) <= 1.0 < least_shown(wanted - 1, 0.95)


def test_fairness_is_of_flows_of_one_kind(tmp_path):
    mixed = bp.loads(PLAIN + CALL)
    assert noted(bp.compare(mixed, ["reno", "cubic"], replications=2, metric="goodput,jain").notes, JAIN)
    assert not noted(bp.compare(mixed, ["reno", "cubic"], replications=2).notes, JAIN)
    assert not noted(bp.compare(bp.loads(PLAIN), ["reno", "cubic"], replications=2, metric="jain").notes, JAIN)
    (tmp_path / "call.toml").write_text(PLAIN + CALL, encoding="utf-8")
    (tmp_path / "three.toml").write_text(PLAIN + CALL + CALL.replace("call", "second"), encoding="utf-8")
    (tmp_path / "plain.toml").write_text(PLAIN, encoding="utf-8")

    def said(*words):
        done = CliRunner().invoke(app, [words[0], str(tmp_path / words[1]), *words[2:]])
        assert done.exit_code == 0, done.stderr
        # The next command has the name of the folder.
        return " ".join(done.stdout.partition("Next:")[0].split())

    assert "fairness" not in said("run", "call.toml")
    assert re.search(r"fairness \(Jain\) 1\S* of 2 datagrams", said("run", "three.toml"))
    assert "fairness" not in said("run", "plain.toml"), "one flow has no other to share with"
    (tmp_path / "two.toml").write_text(PLAIN.replace("[flow.", "[flow.other]\nfrom = 'a'\nto = 'b'\n[flow.", 1))
    assert re.search(r"fairness \S+ \(Jain\)", said("run", "two.toml"))
    assert "fairness" not in said("compare", "call.toml", "--cc", "reno,cubic", "-n", "2")
    assert "fairness" in said("compare", "call.toml", "--cc", "reno,cubic", "-n", "2", "--metric", "goodput,jain")


def test_a_plural_option_names_the_singular_one(tmp_path):
    (tmp_path / "plain.toml").write_text(PLAIN, encoding="utf-8")
    for verb in ("compare", "sweep", "mix"):
        done = CliRunner().invoke(app, [verb, str(tmp_path / "plain.toml"), "--cc", "reno,cubic", "--metrics", "rtt"])
        assert done.exit_code == 2
    done = CliRunner().invoke(app, ["compare", str(tmp_path / "plain.toml"), "--cc", "reno", "--metrics", "rtt"])
    assert "did you mean --metric?" in str(done.exception) + done.stderr
