"""A mix at each point of a grid: points are those of single mixes, and their answers hold together."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, ScenarioError

SMALL = Path(__file__).parent / "small.toml"
OWN = {"flow.file.tcp.cc": "tahoe"}
"""The file does not take part."""
VARY = {"link.down.delay": ["10 ms", "100 ms"], "stagger": ["0 s", "1 s"]}


def cli(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def found():
    return bp.mixes(bp.load(SMALL, OWN), ["cubic", "vegas"], VARY, replications=3, progress=False)


def test_each_point_is_the_mix_that_would_be_asked_alone(found):
    assert found.names == [
        "delay 10 ms, stagger 0 s",
        "delay 10 ms, stagger 1 s",
        "delay 100 ms, stagger 0 s",
        "delay 100 ms, stagger 1 s",
    ]
    for row in found.points.iter_rows(named=True):
        scenario = bp.load(SMALL, {**OWN, "link.down.delay": row["link.down.delay"]})
        alone = bp.mix(scenario, ["cubic", "vegas"], stagger=row["stagger"], replications=3, progress=False)
        (name,) = (each for each in found.names if all(value in each for value in row.values()))
        assert found.mix(name).runs.equals(alone.runs)
        assert found.mix(name).statements == alone.statements
    # The conditions have an effect, so equal tables are no coincidence.
    goodputs = {name: found.estimate(name, "goodput:cubic").value for name in found.names}
    assert len(set(goodputs.values())) == 4


def test_answers_of_all_points_hold_together(found):
    # By hand: the delta method on the logarithm of the ratio, and Bonferroni over two cases at four points.
    for name in found.names:
        mix = found.mix(name)
        for case in ("cubic", "vegas"):
            goodput, own = mix.values(case, "goodput"), mix.values(case, "own")
            ratio = goodput.mean() / own.mean()
            apart = goodput / goodput.mean() - own / own.mean()
            width = stats.t(2).ppf(1 - 0.05 / 8 / 2) * np.std(apart, ddof=1) / 3**0.5
            wanted = (1 - ratio, 1 - ratio * np.exp(width), 1 - ratio * np.exp(-width))
            assert found.fairness[name].harms[case] == pytest.approx(wanted, rel=1e-6)
            row = found.table.filter(of=name, metric=f"harm:{case}").to_dicts()[0]
            assert (row["mean"], row["low"], row["high"]) == found.fairness[name].harms[case]


def test_statements_count_the_answers(found):
    answers = [each.answer for each in found.fairness.values()]
    said = found.statements[0]
    assert said.startswith("fair within 10 %, 4 points: ")
    for answer in set(answers):
        assert f"{answer} at {answers.count(answer)}" in said
    worst = max(found.names, key=lambda name: max(each[0] for each in found.fairness[name].harms.values()))
    assert found.statements[1].startswith(f"largest harm, at {worst}: ")


def test_the_table_fits_a_terminal_and_its_rows_are_the_points(written):
    done = cli("mix", written, "--cc", "cubic,vegas", "-n", 2, "--vary", "link.l.delay=10ms,100ms", "--vary",
               "stagger=0s,1s")  # fmt: skip
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split()[:3] for line in lines if line.startswith(("10ms", "100ms"))]
    assert [row[:2] for row in rows] == [["10ms", "0s"], ["10ms", "1s"], ["100ms", "0s"], ["100ms", "1s"]]
    assert {row[2] for row in rows} <= {"cubic", "vegas"}


def test_a_range_is_an_axis(written):
    done = cli(
        "mix", written, "--cc", "cubic,reno", "-n", 1, "--vary", "link.l.rate=1 Mbit/s..4 Mbit/s:3:log", "--json"
    )
    assert done.exit_code == 0, done.output
    rates = [each["link.l.rate"] for each in json.loads(done.stdout)["answers"]]
    assert rates == ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]


def test_a_store_goes_on_and_its_command_repeats_it(written):
    words = ["mix", written, "--cc", "cubic,vegas", "--vary", "stagger=0s,1s", "--store", "kept"]
    assert cli(*words, "-n", 2).exit_code == 0
    two = bp.Mixes.load("kept")
    assert cli(*words, "-n", 3).exit_code == 0
    three = bp.Mixes.load("kept")
    assert three.runs.filter(three.runs["replication"] < 2).equals(two.runs)
    assert three.command().endswith("--vary stagger=0s,1s")
    with pytest.raises(BentpipeError, match=r"expected Mixes\.load"):
        bp.Mix.load("kept")
    assert bp.report("kept", "page").page.is_file()
    bp.mix(written, ["cubic", "vegas"], replications=1, progress=False).save("single")
    with pytest.raises(BentpipeError, match=r"expected Mix\.load"):
        bp.Mixes.load("single")


def test_until_grows_each_point_by_itself(small):
    vary = {"link.down.error": [{"kind": "packet", "rate": 1e-9}, {"kind": "packet", "rate": 0.02}]}
    wish = {"metric": "share", "half_width": "10 %"}
    mixed = bp.mixes(small, ["reno", "sack"], vary, replications=3, replications_max=40, until=wish, progress=False)
    counts = [len(each.seeds) for each in mixed.mixes]
    assert len(set(counts)) == 2
    for mix, count in zip(mixed.mixes, counts, strict=True):
        shares = [mix.estimate(case, "share") for case in mix.names]
        assert all(share.half_width <= 0.1 * share.mean for share in shares)
        assert 3 <= count < 40


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ({}, "there is no key to vary"),
        ({"tcp.cc": ["reno", "sack"]}, "tcp.cc cannot vary"),
        ({"seed": [1, 2]}, "seed cannot vary"),
        ({"stagger": "1 s"}, "is not a list of times"),
        ({"stagger": []}, "is not a list of times"),
        ({"stagger": ["soon"]}, "is not a time"),
        ({"link.down.delay": ["10 ms", "ten"]}, "ten"),
        ({"stagger": ["0 s", "1 s"]}, r"flow.file.start is random(.|\n)*at the point stagger=1 s"),
        ({"link.nothing.delay": ["10 ms"]}, "nothing"),
    ],
)
def test_an_axis_without_meaning_is_refused(small, vary, said):
    with pytest.raises((ScenarioError, BentpipeError), match=said):
        bp.mixes(small, ["cubic", "vegas"], vary, replications=1, progress=False)


def test_keys_do_not_change_together(written):
    done = cli("mix", written, "--cc", "cubic,vegas", "--vary", "stagger=0s,1s; link.l.delay=1ms,2ms")
    assert done.exit_code == 2
    assert "one key each" in done.stderr


def test_the_figure_has_each_harm_the_margin_and_the_answers(found, tmp_path):
    figure = found.plot()
    (axes,) = figure.axes
    drawn = {bar.get_label(): bar.lines[0].get_xdata() for bar in axes.containers}
    for case in ("cubic", "vegas"):
        harms = [each.harms[case][0] for each in found.fairness.values()]
        assert drawn[case] == pytest.approx([100 * harm for harm in harms])
    assert any(list(line.get_xdata()) == [10, 10] for line in axes.lines)
    shown = [text.get_text() for text in axes.texts]
    assert shown == [
        {"yes": "fair", "no": "not fair"}.get(each.answer, "cannot tell") for each in found.fairness.values()
    ]
    # Cases differ in a grey picture by their marks.
    marks = [bar.lines[0].get_marker() for bar in axes.containers]
    assert len(set(marks)) == len(marks)
    figure.draw_without_rendering()
    for text in (*axes.texts, axes.xaxis.label, *axes.get_yticklabels()):
        extent = text.get_window_extent()
        assert figure.bbox.x0 <= extent.x0 <= extent.x1 <= figure.bbox.x1
