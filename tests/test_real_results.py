"""Twins, emulations and reproductions keep the contract of results."""

import json
from dataclasses import replace

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.contract import frames
from bentpipe.contract.result import Result
from bentpipe.emulation.asked import collect_asked
from bentpipe.emulation.quantities import BY_NAME
from bentpipe.errors import BentpipeError, EmulationError, PaperError
from bentpipe.papers import scaffold
from bentpipe.statistics.judgement import DEFAULT

PATH = """
duration = "2 s"
[link.sat]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "5 ms"
[flow.f]
from = "a"
to = "b"
app = "greedy"
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "path.toml").write_text(PATH)
    return str(tmp_path / "path.toml")


def row(side, seed, shift):
    values = {name: (100.0 + shift) * (1 + number) for number, name in enumerate(BY_NAME)}
    return {"side": side, "seed": seed, "is_trustworthy": side == "simulated" or seed != 4, **values}


@pytest.fixture
def twin(path):
    """Thirty simulated and four emulated runs, as if they had been made; one is not trustworthy."""
    scenario = bp.load(path)
    simulated = [row("simulated", seed, seed % 3) for seed in range(1, 31)]
    emulated = [row("emulated", seed, 40 + seed % 3) for seed in range(1, 5)]
    window = pl.DataFrame({"time_s": [0.0, 1.0], "cwnd_bytes": [1500.0, 3000.0]})
    return bp.Twin(
        scenario=scenario,
        runs=pl.DataFrame([*simulated, *emulated]),
        kernel={"release": "6.1", "cc": "cubic"},
        trust=(),
        notes=("they part at once",),
        windows={"simulated": window, "emulated": window},
        margins={"goodput_bps": 0.2},
        asked=collect_asked(
            scenario, {"cc": "cubic", "margin": {"goodput": "20%"}, "replications": 30, "emulations": 4}
        ),
    )


@pytest.fixture
def emulation(path):
    try:
        return bp.emulate(path, serve="bulk", cc="reno", seed=3)
    except EmulationError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """The paper of the template, reproduced."""
    folder = tmp_path_factory.mktemp("paper") / "mine"
    scaffold(folder)
    return bp.reproduce(folder, jobs=1)


@pytest.fixture(params=["twin", "emulation", "paper"])
def result(request):
    return request.getfixturevalue(request.param)


def test_all_are_results(result):
    assert isinstance(result, Result)
    assert result.table.columns[:1] == ["of"]
    assert {"metric", "unit", "replications", "mean", "low", "high"} <= set(result.table.columns)
    assert set(result.names) == set(result.table["of"])
    assert isinstance(result.runs, pl.DataFrame)
    assert result.differences.schema == frames.differences([], DEFAULT).schema
    content = result.to_dict()
    assert list(content)[:5] == ["provenance", "statements", "notes", "table", "differences"]
    json.dumps(content)
    of, metric, mean = result.table.drop_nulls("mean").select("of", "metric", "mean").row(0)
    assert result.estimate(of, metric).value == mean
    with pytest.raises(BentpipeError, match="nonsense"):
        result.estimate(of, "nonsense")
    with pytest.raises(BentpipeError, match="nonsense"):
        result.plot("nonsense")
    assert result._repr_html_()


def test_what_was_saved_is_the_same_after_it_was_opened(result, tmp_path):
    result.save(tmp_path / "kept")
    opened = type(result).load(tmp_path / "kept")
    assert opened.to_dict() == json.loads(json.dumps(result.to_dict()))
    assert opened.table.equals(result.table)
    assert opened.command() == result.command()
    opened.save(tmp_path / "again")
    kept, again = (
        # The comments of a scenario say where its values are from.
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir() if file.name != "scenario.toml"}
        for name in ("kept", "again")
    )
    assert kept == again


def test_a_report_has_the_sentences(result, tmp_path):
    report = result.report(tmp_path / "page")
    assert report.statements == result.statements
    assert report.tables
    assert result.command().split()[1] in report.page.read_text(encoding="utf-8")


def test_another_folder_is_refused_with_words(path, tmp_path):
    bp.run(path).save(tmp_path / "run")
    for cls, words in (
        (bp.Twin, "is not the result of a bentpipe twin"),
        (bp.Emulation, "is the result of a simulated run"),
        (bp.Reproduction, "is not the result of a bentpipe reproduction"),
    ):
        with pytest.raises(BentpipeError, match=words):
            cls.load(tmp_path / "run")
        with pytest.raises(BentpipeError, match="is not the result of"):
            cls.load(tmp_path / "nothing")


def test_a_twin_has_a_row_per_side_and_says_what_differs(twin):
    assert twin.names == ("simulated", "real")
    assert twin.table.filter(of="real")["replications"].to_list() == [3] * len(BY_NAME)
    row = twin.differences.row(by_predicate=pl.col("metric") == "srtt", named=True)
    judged = next(each for each in twin.quantities if each.quantity == "srtt_p50_s")
    assert (row["of"], row["other"], row["mean"]) == ("real", "simulated", judged.difference)
    assert row["mean_pct"] == pytest.approx(100 * judged.difference / judged.simulated)
    assert row["is_shown"] is (judged.verdict == "differs") is True
    assert twin.statements == [twin.verdict]
    assert twin.command().endswith("path.toml --cc cubic --margin goodput=20% --replications 30 --emulations 4")
    with pytest.raises(BentpipeError, match="given in Python"):
        replace(twin, asked=collect_asked(bp.loads(PATH), {})).command()


def test_an_emulation_is_also_opened_as_a_run(emulation, tmp_path):
    emulation.save(tmp_path / "kept")
    assert bp.RunResult.load(tmp_path / "kept").flows.equals(emulation.result.flows)
    assert emulation.command().endswith("path.toml --serve bulk --seed 3 --cc reno")
    assert emulation.statements[0] == emulation.trust.sentence


def test_a_reproduction_has_a_row_per_claim_and_its_figures(paper, tmp_path):
    verdicts = [verdict for each in paper.papers for verdict in each.verdicts]
    assert list(paper.names) == [verdict.claim.id for verdict in verdicts]
    assert paper.charts
    assert paper.plot(paper.charts[0], title="mine").axes
    paper.save(tmp_path / "kept")
    opened = bp.Reproduction.load(tmp_path / "kept")
    assert (opened.rows(), repr(opened)) == (json.loads(json.dumps(paper.rows())), repr(paper))
    with pytest.raises(PaperError, match="made by reproduce"):
        opened.plot()
