"""One contract for all results: the same members, parameters, columns and keys, and a command that repeats them."""

import inspect
import json
import shlex

import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.contract import frames
from bentpipe.contract.result import Result
from bentpipe.errors import BentpipeError
from bentpipe.statistics.judgement import DEFAULT

CASES = """
[case.two]
tcp.initial_window = "2 segments"
"""
TABLE = frames.table((), DEFAULT).columns
DIFFERENCES = frames.differences((), DEFAULT).columns
KEYS = ["provenance", "statements", "notes", "table", "differences"]
VARIED = {"tcp.cc": ["reno", "sack"], "link.l.delay": ["10 ms", "90 ms"], "link.l.rate": ["1 Mbit/s", "2 Mbit/s"]}
WINDOWS = {"tcp.initial_window": ["2 segments", "20 segments"]}
MADE = {
    "run": lambda file: bp.run(file, cc="reno", series="cwnd_bytes"),
    "compare": lambda file: bp.compare(file, ["reno", "sack"], replications=3, metric="goodput,rtt", jobs=1),
    "mix": lambda file: bp.mix(file, ["reno", "sack"], replications=3, jobs=1),
    "mixes": lambda file: bp.mixes(
        file, ["reno", "sack"], {"link.l.delay": ["10 ms", "90 ms"]}, replications=3, jobs=1
    ),
    "tune": lambda file: bp.tune(file, WINDOWS, objective="goodput", jobs=1),
    "sweep": lambda file: bp.sweep(file, VARIED, replications=3, metric="rtt", jobs=1),
}
"""Code that makes a result of each function, from a file."""


def classes(of=Result):
    for each in of.__subclasses__():
        yield each
        yield from classes(each)


@pytest.fixture(scope="module")
def place(lossy, tmp_path_factory):
    place = tmp_path_factory.mktemp("results")
    (place / "file.toml").write_text(lossy + CASES)
    return place


@pytest.fixture(scope="module", params=MADE)
def result(request, place):
    return MADE[request.param](str(place / "file.toml"))


def test_every_class_has_each_member_with_the_same_parameters():
    found = [getattr(bp, name) for name in bp.__all__]
    assert {bp.RunResult, bp.Comparison, bp.Mix, bp.Mixes, bp.Sweep} <= set(classes()) & {
        each for each in found if isinstance(each, type)
    }
    for each in classes():
        for name, member in vars(Result).items():
            if name.startswith("_") and name != "_repr_html_":
                continue
            assert inspect.getattr_static(each, name, None) is not None, (each, name)
            if inspect.isfunction(member):
                common = [*inspect.signature(member).parameters.values()]
                own = [*inspect.signature(getattr(each, name)).parameters.values()]
                shared = [own_one for own_one in own if own_one.name in {wanted.name for wanted in common}]
                as_text = [[(one.name, one.kind, one.default) for one in some] for some in (shared, common)]
                assert as_text[0] == as_text[1], (each, name)
                more = [one for one in own if one not in shared]
                assert all(one.kind is one.KEYWORD_ONLY and one.default is not one.empty for one in more), (each, name)
        if each in found:
            assert each.charts, each
        # A fit saves a scenario, which `bp.load` reads.
        if each in found and each is not bp.Fit:
            assert "folder" in inspect.signature(each.load).parameters, each


OTHERS = {
    "check": "problems of a text, before any run",
    "choices": "a list of values of a key",
    "cite": "a sentence about a result",
    "drill": "scripts hold or differ: no runs, no metrics",
    "from_tc": "a scenario, with a list of omissions",
    "load": "a scenario",
    "loads": "a scenario",
    "metrics": "a list",
    "pack": "a file with a result",
    "pcap": "files of packets",
    "repeat": "a comparison of a result with its repetition",
    "report": "a page of a result",
    "scenarios": "a list",
    "schema": "the schema of a file",
    "series": "a list",
    "to_tc": "lines of a shell",
}
"""Public functions that return no result of an experiment, with the reason."""


def test_every_public_verb_returns_a_result_or_has_its_reason():
    verbs = {name for name in bp.__all__ if inspect.isfunction(getattr(bp, name))}
    assert verbs >= {"run", "compare", "mix", "sweep", "tune", "twin", "emulate", "fit", "reproduce", "drill"}
    for name in verbs:
        words = inspect.get_annotations(getattr(bp, name))["return"].split(" | ")
        returned = [getattr(bp, word, None) for word in words]
        is_result = all(isinstance(each, type) and issubclass(each, bp.Result) for each in returned)
        assert is_result != (name in OTHERS), (name, words)


def test_any_result_and_its_estimates_have_public_types(result):
    assert isinstance(result, bp.Result)
    assert isinstance(result.estimate(result.names[0], "goodput"), bp.Estimate)


def test_tables_have_one_schema(result):
    keys = [name for name in result.table.columns if name not in TABLE]
    assert [name for name in result.table.columns if name in TABLE] == TABLE
    assert keys == getattr(result, "keys", [])
    assert [name for name in result.differences.columns if name in DIFFERENCES] == DIFFERENCES
    assert result.differences.schema["is_shown"] == pl.Boolean
    assert set(result.table["of"]) == set(result.names)
    assert set(result.differences["metric"]) <= set(result.table["metric"])


def test_an_estimate_is_the_row_of_the_table(result):
    for row in result.table.filter(pl.col("metric") != "of_own").iter_rows(named=True):
        found = result.estimate(row["of"], row["metric"])
        assert (found.replications, found.value, found.low) == (row["replications"], row["mean"], row["low"])
    metric = row["metric"] if row["metric"] != "of_own" else "goodput"
    if len(result.names) == 1:
        assert result.estimate(metric).value == result.estimate(result.names[0], metric).value
    else:
        with pytest.raises(BentpipeError, match="needs a name"):
            result.estimate(metric)
    with pytest.raises(BentpipeError, match="'someone' is not a name of this"):
        result.estimate("someone", metric)


def test_plain_data_has_the_same_keys_and_survives_json(result):
    told = result.to_dict()
    assert list(told)[: len(KEYS)] == KEYS
    assert {"title", "seed", "version", "hosts"} <= told["provenance"].keys()
    assert json.loads(json.dumps(told, allow_nan=False)) == json.loads(json.dumps(told))
    assert told["table"] == result.table.to_dicts()


def test_what_is_saved_is_read_back(result, tmp_path):
    result.save(tmp_path / "kept")
    again = type(result).load(tmp_path / "kept")
    for part in ("table", "differences"):
        assert getattr(again, part).equals(getattr(result, part))
    assert again.statements == result.statements
    assert again.report(tmp_path / "page").page.is_file()
    assert "<table" in again._repr_html_()


def test_its_command_makes_it_again(result):
    words = shlex.split(result.command())
    done = CliRunner().invoke(app, [*words[1:], "--json", *(["--store", "again"] if words[1] == "sweep" else [])])
    assert done.exit_code == 0, done.output
    told, wanted = json.loads(done.stdout), json.loads(json.dumps(result.to_dict()))
    assert told["table"] == wanted["table"]
    assert told["differences"] == wanted["differences"]
    assert told["statements"] == wanted["statements"]


def test_a_command_names_each_recorded_series_once(place):
    run = bp.run(str(place / "file.toml"), {"duration": "1 s"}, series=["cwnd_bytes", "goodput_bps"])
    words = shlex.split(run.command())
    assert words[-2:] == ["--series", "cwnd_bytes,goodput_bps"]
    assert not [word for word in words if word.startswith("record.series")]


@pytest.mark.parametrize("verb", MADE)
def test_a_command_has_all_of_a_name_with_signs_of_a_shell(verb, place):
    (place / "a && b.toml").write_bytes((place / "file.toml").read_bytes())
    words = shlex.split(MADE[verb](str(place / "a && b.toml")).command())
    assert words[2] == str(place / "a && b.toml")
    assert words[3:] == shlex.split(MADE[verb](str(place / "file.toml")).command())[3:]


@pytest.mark.parametrize("verb", ["compare", "mix"])
def test_a_command_leaves_out_what_the_congestion_controls_replace(verb, place):
    scenario = bp.load(place / "file.toml", sets={"tcp.cc": "cubic", "duration": "1 s"})
    result = getattr(bp, verb)(scenario, ["reno", "sack"], replications=2, jobs=1)
    words = shlex.split(result.command())
    assert [word for word in words if word.startswith(("tcp.cc", "duration"))] == ["duration=1 s"]
    done = CliRunner().invoke(app, [*words[1:], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["table"] == json.loads(json.dumps(result.table.to_dicts()))


@pytest.mark.parametrize("verb", MADE)
def test_where_no_command_makes_it_again_the_reason_is_said(verb, place):
    content = bp.load(place / "file.toml").to_dict()
    with pytest.raises(BentpipeError, match="the scenario was given in Python"):
        MADE[verb](content).command()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_figures_are_drawn_by_name(result):
    for chart in result.charts:
        without = {"ratio": "against", "waterfall": "no page"}
        if isinstance(result, bp.Tuning):
            without = {"front": "no front", "map": "too few settings"}
        if chart in without:
            with pytest.raises(BentpipeError, match=without[chart]):
                result.plot(chart)
        else:
            assert result.plot(chart, title="mine").axes
    with pytest.raises(BentpipeError, match=f"known: {', '.join(result.charts)}"):
        result.plot("pie")
    with pytest.raises(BentpipeError, match=r"rtt is a metric\n  expected plot\(metric='rtt'\)"):
        result.plot("rtt")


def test_a_figure_of_another_type_is_refused(result):
    for name, wrong in (("metric", 3), ("title", 3), ("size", 3)):
        with pytest.raises(BentpipeError, match=f"{name} = 3\n  expected "):
            result.plot(**{name: wrong})


def test_a_chart_is_no_metric(place):
    compared = MADE["compare"](str(place / "file.toml"))
    with pytest.raises(BentpipeError, match=r"cwnd is a chart, no metric\n  expected plot\('cwnd'\)"):
        compared.plot(metric="cwnd")


@pytest.mark.parametrize("verb", ["compare", "mix", "sweep"])
def test_a_seed_replaces_that_of_the_scenario(verb, small):
    about = {"replications": 2, "jobs": 1}
    asked = {"vary": {"tcp.cc": ["reno", "sack"]}} if verb == "sweep" else {"cc": ["reno", "sack"]}
    found = getattr(bp, verb)(small, **asked, **about, seed=41)
    same = getattr(bp, verb)(bp.load(small).with_seed(41), **asked, **about)
    assert found.runs["seed"].unique().sort().to_list() == [41, 42]
    assert found.runs.equals(same.runs)
    assert "--seed 41" in found.command()
    with pytest.raises(BentpipeError, match="seed"):
        getattr(bp, verb)(small, **asked, **about, seed=-1)


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir()
    link.symlink_to(target)
    result = bp.run("geo", {"duration": "1 s"})
    # The second time it replaces a result.
    for _ in range(2):
        result.save(link)
        assert link.is_symlink()
        assert bp.RunResult.load(target).flows.equals(bp.RunResult.load(link).flows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]
