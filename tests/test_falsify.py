"""Attacks on claims: a claim that holds is measured again without its mechanism."""

import json
import math
import re

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe import papers
from bentpipe.cli.reproduce import command
from bentpipe.errors import BentpipeError, PaperError
from bentpipe.papers import claims, falsify, loading, pages, summary, verdicts
from bentpipe.papers.lab import Finding, Lab
from bentpipe.papers.reproduce import Reproduced

PAPER = claims.paper("geo")


class Measures:
    """A paper's measures. Their value is given, or depends on the mechanism."""

    @staticmethod
    def measured(lab, value=None, on=True):
        if on == "broken":
            raise IndexError("no rows")
        if on == "empty":
            return Finding(None, note="no rows")
        if on == "nan":
            return Finding.exact(math.nan)
        if on == "wide":
            return Finding(10, 5, 15, 4)
        return Finding.exact(value if on else 0)


@pytest.fixture
def attack(monkeypatch):
    """Attacks a claim of 10 ± 1 by the values of its readings."""
    monkeypatch.setattr(loading, "module", lambda paper, name: Measures)

    def attacked(*values, **more):
        readings = [{"name": f"reading {k}", "value": value} for k, value in enumerate(values)]
        entry = {"statement": "S.", "where": "W", "how": "H", "printed": 10, "measure": "measured"}
        entry |= {"passes": {"within": 1}, "readings": readings} | more
        lab = Lab(PAPER.folder)
        return falsify.attack_claim(PAPER, verdicts.judge(PAPER, claims._claim("X-1", entry, []), lab), lab)

    return attacked


def off(on=False, **more):
    return {"mechanism": "the mechanism", "with": {"on": on}, **more}


def test_a_claim_fails_without_its_mechanism_or_is_found_out(attack):
    assert attack(10, without=off()).attack.text == "fails without the mechanism"
    found = attack(10, without=off(on=True)).attack
    assert (found.kind, found.is_explained) == ("holds", False)
    assert found.text == "holds also without the mechanism: no reason is given"
    excused = attack(10, without=off(on=True, why="It is about the path.")).attack
    assert (excused.text, excused.is_explained) == ("holds also without the mechanism: It is about the path.", True)
    # The reason is for claims that hold.
    assert attack(10, without=off(why="It is about the path.")).attack.note == ""


@pytest.mark.parametrize("on", ["empty", "nan", "wide"])
def test_nothing_to_measure_shows_nothing(attack, on):
    found = attack(10, without=off(on)).attack
    assert (found.kind, found.is_explained) == ("undecided", True)
    assert found.text.endswith("nothing to measure") == (on != "wide")


def test_a_measure_that_fails_without_the_mechanism_is_no_proof(attack):
    found = attack(10, without=off("broken")).attack
    assert (found.kind, found.is_explained) == ("error", False)
    assert "IndexError: no rows" in found.note


def test_the_reading_that_gave_the_verdict_is_attacked(attack):
    assert attack(5, 10, 10, without=off()).attack.reading == "reading 1"
    parts = [{"name": "one"}, {"name": "two", "passes": {"between": [10, 20]}}]
    whole = attack(9, 11, without=off(), parts=parts)
    assert whole.reading == "reading 1"
    assert [part.attack.reading for part in whole.parts] == ["reading 1", "reading 1"], "in which both hold"
    assert whole.attack is None
    assert attack(5, without=off()).attack.text == "not attacked: it does not hold"


def test_a_claim_without_mechanism_says_so(attack):
    assert attack(10).attack.kind == "unnamed"
    assert not attack(10).attack.is_explained
    assert attack(10, by="arithmetic").attack.text == "by arithmetic"
    assert attack(10, without="It counts figures.").attack.text == "no mechanism: It counts figures."


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"with": {"on": False}}, "has no mechanism or condition"),
        ({"mechanism": "it", "condition": "it", "with": {"on": False}}, "has both mechanism and condition"),
        ({"mechanism": "it"}, "removes nothing"),
        ({}, "removes nothing"),
        ({"mechanism": "it", "keys": {"tcp": {"ack": {"every": 1}}}}, r"expected dotted keys in quotes"),
        ({"condition": "it", "sets": {}}, "unknown keys: sets"),
    ],
)
def test_what_takes_nothing_away_is_refused(wrong, said):
    entry = {"statement": "S.", "where": "W", "how": "H", "printed": 1, "measure": "m", "passes": {"within": 1}}
    with pytest.raises(ValueError, match=said):
        claims._claim("X-1", {**entry, "without": wrong}, [])


def test_pages_and_tables_have_the_attack_beside_the_verdict(attack):
    held = attack(10, without=off())
    survived = attack(10, without=off(on=True))
    idle = attack(10, without={"condition": "errors", "with": {"on": False}})
    assert (held.attack.of, idle.attack.of) == ("mechanism", "condition")
    result = Reproduced(PAPER, (held, survived, idle), {})
    assert list(summary.attacks(result)) == [
        "Of 2 claims measured again without their mechanism, 1 fails, 1 still holds.",
        "Of 1 claims measured again without their condition, 1 fails.",
        "X-1: holds also without the mechanism: no reason is given.",
    ]
    page = pages.page(result, is_full=False)
    assert "| without its mechanism or condition | verdict |" in page
    assert "| fails, mechanism | reproduced |" in page
    assert "| fails, condition | reproduced |" in page
    assert "- Without the mechanism: **0**, fails." in page
    plain = Reproduced(PAPER, (verdicts.judge(PAPER, held.claim, Lab(PAPER.folder)),), {})
    assert not plain.is_attacked
    assert list(summary.attacks(plain)) == []
    assert "mechanism" not in pages.page(plain, is_full=False).partition("## Printed")[2].partition("## Claim")[0]


# Scenarios without the mechanism


def test_keys_go_over_sets_cases_and_axes():
    with Lab(claims.PACKS / "timers", jobs=1) as lab:
        with lab.without({"tcp.rto.granularity": "7 ms", "tcp.cc": "tahoe"}):
            scenario = lab.load("grid", {"tcp.cc": "reno", "tcp.rto.granularity": "9 ms"}, case="s05")
            resolved = json.loads(scenario.to_json()) if hasattr(scenario, "to_json") else scenario.resolve()
        assert "7 ms" in str(resolved) or "0.007" in str(resolved)
        assert "tahoe" in str(resolved)
        assert "250 ms" not in re.findall(r"granularity = .*", str(resolved))
        assert "tahoe" not in lab.load("grid", case="s05").resolve()
    with Lab(PAPER.folder, jobs=1) as lab, lab.without({"tcp.cc": "tahoe", "tcp.smss": "500 B"}):
        resolved = lab.load("dumbbell", {"tcp.cc": {"kind": "cubic"}, "tcp.cc.beta": 0.5}).resolve()
        assert 'cc = "tahoe"' in resolved or 'kind = "tahoe"' in resolved
        assert "500" in re.search(r"smss = .*", resolved).group()


def test_an_axis_that_is_taken_away_has_the_same_runs_at_all_values():
    vary = {"tcp.cc": ["reno", "sack"], "tcp.ack.every": [1, 2], "flow.file.app.size": ["10 kB", "20 kB"]}
    with Lab(PAPER.folder, jobs=1) as lab:

        def sweep():
            return lab.sweep("dumbbell", vary=vary, replications=2, tables=["flows"])

        plain = sweep()
        # Another value than in the file.
        with lab.without({"tcp.ack.every": 2}):
            held = sweep()
            assert sweep() is held
        assert sweep() is plain
        for frame, other in ((plain.runs, held.runs), (plain.tables["flows"], held.tables["flows"])):
            keys = [*vary, "replication"]
            assert frame.select(keys).rows() == other.select(keys).rows()
            assert frame.schema == other.schema
            assert not frame.select(keys, "completion_s").equals(other.select(keys, "completion_s"))
            one, two = (other.filter(other["tcp.ack.every"] == every) for every in (1, 2))
            assert one["completion_s"].to_list() == two["completion_s"].to_list()
            assert one["completion_s"].to_list() == frame.filter(frame["tcp.ack.every"] == 2)["completion_s"].to_list()
        assert held.runs["run"].n_unique() == held.runs.height, "to be joined by"
        assert held.runs.join(held.tables["flows"], on="run").height == held.runs.height


def test_a_part_of_an_axis_cannot_be_taken_away():
    said = r"tcp\.ack varies, and one of its parts is held"
    with Lab(PAPER.folder, jobs=1) as lab, lab.without({"tcp.ack.every": 1}), pytest.raises(BentpipeError, match=said):
        lab.sweep("dumbbell", vary={"tcp.ack": [{"every": 1}, {"every": 2}]}, replications=1)


# From the folder to the pages


@pytest.fixture
def mine(tmp_path):
    papers.scaffold(tmp_path / "mine")
    return tmp_path / "mine"


def test_the_new_paper_names_its_mechanisms_and_fails_without(mine):
    (paper,) = bp.reproduce(mine, falsify=True, jobs=1).papers
    first, second = (verdict.attack for verdict in paper.verdicts)
    assert first.kind == "fails"
    assert second.kind == "exempt"


def test_an_argument_that_the_measure_does_not_take_is_said_before_anything_is_run(mine):
    path = mine / "claims.toml"
    text = path.read_text(encoding="utf-8").replace(
        "[MINE-02]", 'without = { mechanism = "it", with = { no = 1 } }\n[MINE-02]'
    )
    path.write_text(re.sub(r"without = \{ condition = .*keys.*\n", "", text), encoding="utf-8")
    with pytest.raises(PaperError, match=r"MINE-01 \(errors per packet, without\): .*'no'"):
        bp.reproduce(mine, only=["MINE-01"])


def test_the_command_lists_what_holds_without_its_mechanism(mine, tmp_path):
    path = mine / "claims.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        re.sub(r"without = .*", 'without = { mechanism = "the title", keys = { title = "Another" } }', text),
        encoding="utf-8",
    )
    out = tmp_path / "out"
    asked = [str(mine), "--falsify", "--claim", "MINE-01", "-o", str(out), "--jobs", "1"]
    done = CliRunner().invoke(command, asked)
    assert done.exit_code == 0, done.output
    assert "MINE-01: holds also without the title: no reason is given." in done.output
    rows = json.loads(CliRunner().invoke(command, [*asked, "--json"]).stdout)["claims"]
    assert {row["without_outcome"] for row in rows} == {"holds"}
    assert {row["without_kind"] for row in rows} == {"mechanism"}
    assert {row["without_reading"] for row in rows} == {"errors per packet"}


def test_pages_write_zero_without_a_sign(attack):
    page = pages.page(Reproduced(PAPER, (attack(-1e-7),), {}), is_full=False)
    assert "**0.000000**" in page
    assert "-0.0" not in page
