"""Files of element sets in looks and scenarios: their satellites, and notes on those that are left out."""

import json
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import SkyError
from validation import kept

ROOT = Path(__file__).resolve().parent.parent
SETS = """\
IRIDIUM 106
1 41917U 17003A   26164.81636816  .00000002  00000+0 -64509-5 0  9992
2 41917  86.3963  89.9654 0001784  83.5618 276.5781 14.34217470492724
"""


def ran(*words):
    return CliRunner().invoke(app, ["sky", *map(str, words)], env={"COLUMNS": "80"})


def record(number, epoch="26164.81636816", bstar=" 00000+0", motion="14.34217470"):
    """An Iridium satellite of this number, with the epoch, drag and mean motion of a two-line element set."""
    lines = [f"1 {number}U 17003A   {epoch}  .00000002  00000+0 {bstar} 0  999", SETS.splitlines()[2][:-1]]
    lines[1] = f"2 {number}{lines[1][7:52]}{motion}{lines[1][63:]}"
    digits = (sum(int(c) if c.isdigit() else c == "-" for c in line) % 10 for line in lines)
    return "\n".join([f"IRIDIUM {number}", *(f"{line}{digit}" for line, digit in zip(lines, digits, strict=True)), ""])


def test_satellites_of_a_file_are_those_that_can_be_believed_and_the_others_are_said(tmp_path, monkeypatch):
    file = tmp_path / "some.tle"
    newer = record("41917", "26165.81636816")
    # The last one is at 280 km and decays.
    falls = record("41919", bstar=" 44853-1", motion="15.92146194")
    file.write_text(record("41917") + newer + newer + record("41918") + falls)
    found = bp.sky.passes("London", over=file, start="2026-06-21", elements_age_max="8 d")
    assert found.scene.satellites == ("IRIDIUM 41917", "IRIDIUM 41918")
    facts = found.to_dict()["provenance"]
    counts = {"records": 5, "satellites": 2, "copies": 1, "superseded": 1}
    assert {name: facts["elements"][name] for name in counts} == counts
    assert sum(facts["elements"][name] for name in ("sgp4_errors", "too_low", "too_high")) == 1
    assert facts["elements"]["age_max_s"] == pytest.approx((7.18363184 + 1 / 24) * 86_400, abs=1)
    assert facts["notes"] == list(found.scene.notes)
    assert len(facts["notes"]) == 4
    shown = ran("passes", "London", "--over", file, "--start", "2026-06-21").output
    for note in ("1 copy of an element set is counted once", "1 satellite is left out"):
        assert f"note: {note}" in " ".join(shown.split()), shown
    assert bp.sky.map(over="iridium").to_dict()["provenance"]["elements"] is None


def test_old_elements_are_refused_alike_by_python_and_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("one.tle").write_text(SETS)
    look = {"over": "one.tle", "start": "2026-12-24"}
    with pytest.raises(SkyError, match=r"one\.tle: elements: all 1 satellites .* 193 days.*elements_age_max"):
        bp.sky.map(**look)
    words = ("map", "--over", "one.tle", "--start", "2026-12-24", "--json")
    assert ran(*words).exit_code == 2
    for age in ("194 d", "200days", "4656 h", 194 * 86_400):
        notes = bp.sky.map(**look, elements_age_max=age).scene.notes
        assert notes == tuple(json.loads(ran(*words, "--elements-age-max", "194 d").output)["notes"])
        assert "1 satellite has elements 7 days or more from the run, 193 days in the median" in notes[0]
    with pytest.raises(SkyError, match=r"elements_age_max = 1 year: .*expected a number with d, h, min or s"):
        bp.sky.map(**look, elements_age_max="1 year")
    # Limits without a file would change nothing.
    for over in ("iridium", "geo:19.2E", "delta:53:72/6/1:550"):
        for limit in ({"elements_age_max": "1 d"}, {"bad": "skip"}):
            with pytest.raises(SkyError, match=rf"{over} is not a file\n  expected no elements_age_max"):
                bp.sky.map(over=over, **limit)
    # All of the look counts: begin and length, too.
    with pytest.raises(SkyError, match="elements_age_max"):
        bp.sky.passes("London", over="one.tle", at="2400 h", duration="1 min")
    with pytest.raises(SkyError, match="elements_age_max"):
        bp.sky.passes("London", over="one.tle", duration="2400 h", step="10 min")


def test_an_instant_may_be_a_datetime(tmp_path):
    east = timezone(timedelta(hours=2))
    for epoch in ("2026-06-14T10:00:00", datetime(2026, 6, 14, 10), datetime(2026, 6, 14, 12, tzinfo=east)):
        assert bp.sky.map(over="iridium", start=epoch).scene.epoch == "2026-06-14T10:00:00.000Z"
    assert bp.sky.map(over="iridium", start=date(2026, 6, 14)).scene.epoch == "2026-06-14T00:00:00.000Z"
    flow = {"duration": "5 s", "flow": {"a": {"from": "London", "to": "Paris"}}}
    starts = ("2026-06-14", date(2026, 6, 14))
    given = [bp.Scenario(flow | {"sky": {"over": "iridium", "start": start}}) for start in starts]
    assert given[0] == given[1] == given[0].replace("sky.start", date(2026, 6, 14))


def test_notes_on_a_file_are_in_check_and_in_the_results_of_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"SAT {k},{k},2026-06-01,1.0027,0.0001,0.1,0,0,{120 * k},0" for k in (1, 2, 3, 3)]
    head = (
        "OBJECT_NAME,NORAD_CAT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,"
        "MEAN_ANOMALY,BSTAR"
    )
    Path("sats.csv").write_text("\n".join([head, *rows]))
    Path("geo.toml").write_text(
        'duration = "2 s"\n[sky]\nover = { elements = "sats.csv" }\nelevation_min = "5 deg"\nstart = 2026-06-15\n'
        '[flow.a]\nfrom = "London"\nto = "Paris"\n'
    )
    scenario = bp.load("geo.toml")
    copy, old = scenario.notes
    assert copy == "sats.csv: 1 copy of an element set is counted once"
    assert old.startswith(
        "sats.csv: 3 satellites have elements 7 days or more from the run, 14 days in the median and 14 days at most"
    )
    assert list(bp.run(scenario).notes)[:2] == [copy, old]
    shown = CliRunner().invoke(app, ["check", "geo.toml"], env={"COLUMNS": "80"}).output
    assert shown.startswith(f"# note: {copy}\n# note: {old}\n")
    assert bp.Scenario(shown).digest == scenario.digest
    result = CliRunner().invoke(app, ["check", "geo.toml", "--json"])
    found = json.loads(result.stdout)
    assert bp.Scenario(found["scenario"]).digest == scenario.digest
    assert [problem["message"] for problem in found["problems"]] == [copy, old]
    shown = CliRunner().invoke(app, ["run", "geo.toml"], env={"COLUMNS": "200"}).output
    assert f"note: {copy}" in shown
    assert f"note: {old}" in shown


def test_errors_of_old_elements_are_those_of_the_notes():
    found = kept.load("elements")
    # The numbers that notes have.
    medians = [row["median_km"] for row in found["errors"]]
    assert medians == pytest.approx([3800, 9800, 12, 60], rel=0.03)
    for row in found["catalogue"]:
        gone = sum(row[name] for name in ("sgp4_errors", "too_low", "too_high", "impossible"))
        assert row["satellites"] + gone == row["records"] == 15_699
