"""A mix answers whether its cases are fair to each other, or how many replications would decide."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError
from bentpipe.statistics.fairness import judge_fairness


def judge(margin=0.1, confidence=0.95, **pairs):
    return judge_fairness({name: tuple(map(np.array, pair)) for name, pair in pairs.items()}, margin, confidence)


OWN = [100.0, 101, 99, 100, 102, 98]


def test_harm_is_the_share_that_is_lost_against_its_own_kind():
    found = judge(a=([97.0, 98, 96, 97, 99, 95], OWN), b=([105.0, 106, 104, 105, 107, 103], OWN))
    value, low, high = found.harms["a"]
    assert value == pytest.approx(0.03)
    assert low < value < high < 0.1
    assert found.harms["b"][0] == pytest.approx(-0.05)
    assert (found.is_fair, found.more) == (True, None)
    assert found.sentence.startswith("fair within 10 %: yes; a loses 3.000 % (2.945 to 3.055 %) of")


def test_one_harmed_case_is_enough_for_no():
    found = judge(a=([60.0, 62, 61, 59, 60, 61], OWN), b=([139.0, 140, 138, 141, 140, 139], OWN))
    assert found.is_fair is False
    assert found.sentence.startswith("fair within 10 %: no; a loses 39.5 %")
    assert judge(0.5, a=([60.0, 62, 61, 59, 60, 61], OWN)).is_fair is True


def test_a_gain_is_called_a_gain():
    found = judge(a=([120.0, 121, 119, 120, 122, 118], OWN))
    assert "a gains 20.00 % (" in found.sentence
    low, high = (float(each.strip(" %()")) for each in found.sentence.partition("(")[2].partition(")")[0].split(" to "))
    assert low < 20 < high


def test_what_cannot_be_told_comes_with_the_number_that_would_tell():
    # 18 of 20 pairs: the number is that of intervals whose width falls with the root of their number.
    rng = np.random.default_rng(1)
    enough = []
    for _ in range(40):
        goodput = rng.normal(80.0, 25.0, 400)
        first = judge(a=(goodput[:8], np.full(8, 100.0)))
        if first.is_fair is not None or first.more is None:
            continue
        count = 8 + first.more
        if count <= 400:
            enough.append(judge(a=(goodput[:count], np.full(count, 100.0))).is_fair is not None)
    assert len(enough) > 10
    assert np.mean(enough) > 0.4


def test_the_answer_is_wrong_in_fewer_cases_than_its_level():
    # Harms just inside and outside of the margin, 400 mixes of eight replications each.
    rng = np.random.default_rng(2)
    for truth, wrong in ((0.101, True), (0.099, False)):
        said = [
            judge(
                a=(100 * (1 - truth) + rng.normal(0, 3, 8), np.full(8, 100.0)),
                b=(100 * (1 + truth) + rng.normal(0, 3, 8), np.full(8, 100.0)),
            ).is_fair
            for _ in range(400)
        ]
        assert said.count(wrong) <= 0.08 * len(said)


def test_one_replication_and_nothing_at_all():
    assert "cannot tell from one replication; a loses 40.0 % of" in judge(a=([60.0], [100.0])).sentence
    assert judge(a=([0.0, 0.0], [0.0, 0.0])).sentence == "fair within 10 %: not known, as nothing was delivered"


def test_far_from_decided_is_said():
    found = judge(a=([90.0, 91.0, 89.0, 90.0], [100.0] * 4))
    assert (found.is_fair, found.more) == (None, None)
    assert "too close to decide" in found.sentence


def test_the_margin_is_a_part_of_the_result_and_of_its_command(small, tmp_path):
    words = ["mix", str(small), "--cc", "cubic,vegas", "--replications", "2", "--fair", "60%", "--store"]
    done = CliRunner().invoke(app, [*words, str(tmp_path / "kept"), "--json"])
    assert done.exit_code == 0, done.output
    assert "fair within 60 %" in json.loads(done.stdout)["statements"][-1]
    again = bp.Mix.load(tmp_path / "kept")
    assert again.fairness.margin == 0.6
    assert again.command().endswith("--fair 60%")
    assert bp.repeat(bp.pack(tmp_path / "kept").path, progress=False).is_equal


def test_cases_can_start_one_after_the_other(written, tmp_path):
    words = ["mix", written, "--cc", "cubic,vegas", "--replications", "2", "--stagger", "0.5s", "--store", "kept"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    mixed = bp.Mix.load("kept")
    assert mixed.command().endswith("--stagger 0.5s")
    for turn, late in enumerate(("vegas", "cubic")):
        flows = mixed.make_scenario(turn).to_dict()["flow"]
        starts = {sender: flows[name]["start"] for name, sender in mixed.list_cases(turn).items()}
        # In turn, each case is the late one.
        assert starts == {**dict.fromkeys(("cubic", "vegas"), "0 s"), late: "500 ms"}
    assert bp.repeat(bp.pack("kept").path, progress=False).is_equal


@pytest.mark.parametrize("stagger", ["late", "-1 s", "3 Mbit/s", True, float("nan"), "1000 s"])
def test_impossible_starts_are_refused(small, stagger):
    with pytest.raises(BentpipeError, match="stagger"):
        bp.mix(small, ["cubic", "vegas"], stagger=stagger, progress=False)


@pytest.mark.parametrize("fair", ["10", 0.1, "0 %", "200 %", "much"])
def test_a_margin_that_is_no_share_is_refused(small, fair):
    with pytest.raises(BentpipeError, match="is not a share between 0 and 100 %"):
        bp.mix(small, ["cubic", "vegas"], fair=fair, progress=False)


def test_an_interval_that_says_nothing_has_no_numbers():
    # Each has a run that delivered next to nothing, so their ratio may be anything.
    found = judge(a=([1e-4, 100.0], [100.0, 1e-4]))
    assert any(end is not None and abs(end) > 10 for end in found.harms["a"])
    assert "(interval wider than 1000 %) of its goodput" in found.sentence
    assert found.is_fair is None
