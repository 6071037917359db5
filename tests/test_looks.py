"""Looks at the sky keep the contract of results: tables, sentences, files, reports and commands."""

import json
import shlex

import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.contract.result import Result
from bentpipe.errors import BentpipeError, SkyError
from bentpipe.sky.scenes import Place

SHORT = {"over": "iridium", "duration": 60.0, "step": "20 s"}
RADIO = {"frequency": 20.0, "eirp": 50.0, "g_over_t": 10.0, "percent": [0.1, 1.0]}
LOOKS = {
    "path": lambda: bp.sky.path("London", (40.713, -74.0061), **SHORT, disjoint=2),
    "gateways": lambda: bp.sky.path("Berlin", "Madrid", over="oneweb", gateway=["Bern", "Paris"], duration="40 s"),
    "paths": lambda: bp.sky.paths(["London", "Tokyo", (-33.9, 151.2)], **SHORT),
    "lean": lambda: bp.sky.paths(["London", "Tokyo"], **SHORT, series=False),
    "passes": lambda: bp.sky.passes("Nairobi", over="iridium", duration="30 min", elevation_min=20),
    "coverage": lambda: bp.sky.coverage(over="iridium", duration="2 min", cell=20.0),
    "delays": lambda: bp.sky.coverage(over="oneweb", to="London", gateway=["Bern"], duration="1 min", cell=20.0),
    "map": lambda: bp.sky.map(over="iridium", ends=("London", "Tokyo"), at="5 s"),
    "bare": lambda: bp.sky.map(over="iridium"),
    "budget": lambda: bp.sky.budget("London", over="geo:19.2E", clouds=True, **RADIO),
}

VARIANTS = ("gateways", "lean", "delays", "bare")
"""Looks whose charts others have too: their reports need not be drawn again."""


@pytest.fixture(scope="module", params=LOOKS)
def look(request):
    return LOOKS[request.param]()


def test_a_look_is_a_result(look):
    assert isinstance(look, Result)
    assert look.table.columns[:7] == ["of", "metric", "unit", "replications", "median", "low", "high"]
    assert set(look.names) == set(look.table["of"])
    assert isinstance(look.runs, pl.DataFrame)
    assert look.differences.is_empty()
    assert "p_adjusted" in look.differences.columns
    assert all(isinstance(each, str) for each in [*look.statements, *look.notes])
    content = look.to_dict()
    assert list(content)[:5] == ["provenance", "statements", "notes", "table", "differences"]
    json.dumps(content, allow_nan=False)
    of, metric, median = look.table.drop_nulls("median").select("of", "metric", "median").row(0)
    assert look.estimate(of, metric).value == median
    with pytest.raises(BentpipeError, match="nonsense"):
        look.estimate(of, "nonsense")
    with pytest.raises(BentpipeError, match="known: "):
        look.plot("nonsense")
    assert all(look.plot(chart).axes for chart in look.charts)


def test_a_saved_look_is_the_same_after_it_was_opened(look, tmp_path):
    look.save(tmp_path / "kept")
    opened = type(look).load(tmp_path / "kept")
    assert opened.to_dict() == look.to_dict()
    assert opened.command() == look.command()
    for name, value in vars(look).items():
        if isinstance(value, pl.DataFrame):
            assert getattr(opened, name).equals(value), name
    if getattr(look, "delays", None) is not None:
        assert opened.series("Tokyo", "London").equals(look.series("London", "Tokyo"))
    opened.save(tmp_path / "again")
    for file in (tmp_path / "kept").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_the_command_makes_a_look_again(look):
    done = CliRunner().invoke(app, [*shlex.split(look.command())[1:], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == json.loads(json.dumps(look.to_dict()))


def test_a_report_has_the_sentences_tables_and_command(look, tmp_path, request):
    if request.node.callspec.params["look"] in VARIANTS:
        request.getfixturevalue("undrawn")
    report = look.report(tmp_path / "page")
    text = report.page.read_text(encoding="utf-8")
    assert report.statements == look.statements
    assert report.figures
    assert report.tables
    assert look.command().split(" ")[2] in text


def test_another_folder_is_refused_with_words(tmp_path):
    LOOKS["bare"]().save(tmp_path / "map")
    with pytest.raises(BentpipeError, match="is not the result of a bentpipe sky path"):
        bp.sky.SkyPath.load(tmp_path / "map")
    with pytest.raises(BentpipeError, match="is not the result of a bentpipe sky map"):
        bp.sky.Map.load(tmp_path / "nothing")
    facts = tmp_path / "map" / "provenance.json"
    facts.write_text(facts.read_text().replace('"fields"', '"felder"'))
    with pytest.raises(BentpipeError, match="is damaged"):
        bp.sky.Map.load(tmp_path / "map")


def test_a_place_with_a_name_of_ones_own_has_no_command(tmp_path):
    look = bp.sky.passes(Place("hut", 46.0, 7.5, 3.0), over="iridium", duration="10 min")
    with pytest.raises(SkyError, match="the place hut was given in Python"):
        look.command()
    assert "hut" in look.report(tmp_path / "page").page.read_text(encoding="utf-8")
    look.save(tmp_path / "kept")
    assert bp.sky.Passes.load(tmp_path / "kept").to_dict() == look.to_dict()


def test_a_congestion_control_has_one_colour_in_all_figures():
    from bentpipe.catalog import names
    from bentpipe.plot.style import COLOURS, COMMON, choose_colour, find_place, look

    places = [find_place(name, 0) for name in names("cc")]
    assert len(set(places)) == len(places)
    assert [choose_colour(name, 3) for name in COMMON] == list(COLOURS)
    # As greys, lines of any two of them that are often compared differ in dashes or lightness.
    assert look(find_place("cubic", 5)) == look(find_place("cubic", 0))
    assert choose_colour("small buffers", 2) == COLOURS[2]
