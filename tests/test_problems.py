"""Problems of scenarios with their severity, places and remedies, and the groups of keys for forms."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import Problem, ScenarioError

TEXT = """\
title = "t"
duration = "5 s"
[tcp]
like = "rfc"
ecn = "classic"
[link.access]
from = "a"
to = "g"
rate = "10 Mbit/s"
delay = "5 ms"
[link.sat]
from = "g"
to = "b"
rate = "2 Mbit/s"
delay = "100 ms"
queue = "unlimited"
[flow.f]
from = "a"
to = "b"
"""


def refused(sets, text=TEXT):
    with pytest.raises(ScenarioError) as error:
        bp.loads(text, sets)
    return error.value.problems


def test_notes_and_hints_are_warnings_with_their_keys_and_places():
    scenario = bp.loads(TEXT)
    assert [warning.message for warning in scenario.warnings] == scenario.notes
    assert {warning.severity for warning in scenario.warnings} == {"warning"}
    by_key = {warning.key: warning for warning in scenario.warnings}
    assert set(by_key) == {"tcp.ecn", "link.sat.forward.queue"}
    ecn, queue = by_key["tcp.ecn"], by_key["link.sat.forward.queue"]
    lines = TEXT.splitlines()
    assert lines[ecn.line - 1].startswith("ecn")
    assert lines[queue.line - 1].startswith("queue")
    assert (queue.column, queue.end_line) == (1, queue.line)
    assert lines[queue.line - 1][queue.column - 1 : queue.end_column - 1].startswith("queue")
    assert queue.file == "scenario"


def test_a_scenario_without_notes_has_no_warnings():
    plain = bp.loads(TEXT, {"tcp.ecn": "off", "link.sat.queue": "1 bdp"})
    assert plain.notes == []
    assert plain.warnings == ()


def test_a_value_of_set_is_a_place_without_a_line():
    (warning,) = bp.loads(TEXT, {"tcp.ecn": "off"}).warnings
    assert warning.line is not None
    (set_,) = bp.loads(
        TEXT.replace('queue = "unlimited"\n', ""), {"tcp.ecn": "off", "link.sat.queue": "unlimited"}
    ).warnings
    assert (set_.line, set_.place) == (None, "--set link.sat.queue")


def test_the_notes_of_a_sky_are_warnings_at_it():
    found = [warning for warning in bp.load("ship").warnings if warning.message.startswith("sky: ")]
    assert found
    assert {warning.key for warning in found} == {"sky"}
    assert all(warning.line is not None for warning in found)


@pytest.mark.parametrize("name", ["geo", "leo", "ship", "web-on-geo", "bursts"])
def test_shipped_scenarios_have_as_many_warnings_as_notes(name):
    scenario = bp.load(name)
    assert [warning.message for warning in scenario.warnings] == scenario.notes


def test_errors_have_all_that_the_core_knows():
    (problem,) = refused({}, TEXT.replace('"2 Mbit/s"', '"2 Mbitt/s"'))
    assert (problem.severity, problem.key, problem.value) == ("error", "link.sat.rate", "2 Mbitt/s")
    assert TEXT.splitlines()[problem.line - 1] == 'rate = "2 Mbit/s"'
    assert problem.end_line == problem.line
    assert problem.column < problem.end_column
    assert "rate" in problem.expected or "Mbit/s" in problem.expected
    (unknown,) = refused({}, TEXT.replace('delay = "100 ms"', 'dealy = "100 ms"\ndelay = "100 ms"'))
    assert (unknown.key, unknown.suggestion) == ("link.sat.dealy", "delay")
    assert "delay" in unknown.known


def test_problems_are_plain_data():
    (problem,) = refused({}, TEXT.replace('"2 Mbit/s"', '"2 Mbitt/s"'))
    written = json.loads(json.dumps(problem.to_dict()))
    assert written["severity"] == "error"
    assert Problem(**{**written, "known": tuple(written["known"])}) == problem
    assert replace(problem, severity="warning") != problem


def test_check_prints_problems_as_json(tmp_path):
    file = tmp_path / "path.toml"
    file.write_text(TEXT)
    done = CliRunner().invoke(app, ["check", str(file), "--json"])
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert found["scenario"] == bp.load(file).to_dict()
    assert [problem["severity"] for problem in found["problems"]] == ["warning", "warning"]
    assert found["problems"][0]["file"] == str(file)
    file.write_text(TEXT.replace('"2 Mbit/s"', '"2 Mbitt/s"'))
    done = CliRunner().invoke(app, ["check", str(file), "--json"])
    found = json.loads(done.stdout)
    assert done.exit_code == 2
    assert found["scenario"] is None
    assert [problem["key"] for problem in found["problems"]] == ["link.sat.rate"]
    assert "Mbitt" in done.stderr


@pytest.mark.parametrize("name", ["satt", "satellite", "x", "the-way-over-the-satellite"])
def test_an_unknown_link_is_named_with_those_that_there_are(name):
    (problem,) = refused({f"link.{name}.error.rate": 1e-3})
    assert problem.message == f"link.{name} is not in the scenario"
    assert problem.known == ("access", "sat")
    assert problem.suggestion == ("sat" if name == "satt" else "")
    (flow,) = refused({"flow.upload.start": "1 s"})
    assert flow.known == ("f",)


def test_an_unknown_link_in_cases_and_grids_is_named_too():
    with pytest.raises(ScenarioError, match="known: access, sat"):
        bp.compare(bp.loads(TEXT), cases={"a": {"link.satellite.delay": "9 ms"}, "b": {}}, replications=1)
    with pytest.raises(ScenarioError, match="known: access, sat"):
        bp.sweep(bp.loads(TEXT), {"link.satellite.delay": ["9 ms", "8 ms"]}, replications=1)


def test_a_new_link_that_lacks_something_is_not_taken_for_a_slip():
    problems = refused({"link.new.from": "b", "link.new.rate": "1 Mbit/s"})
    assert any(problem.message == "link.new.to is missing" for problem in problems)


def test_large_tables_of_the_schema_have_groups_in_order():
    schema = bp.schema()
    tables = {"": schema, **{name: schema["$defs"][name] for name in ("Tcp", "Sky", "Link", "Flow", "Direction")}}
    for name, table in tables.items():
        keys = [key for group in table["x-groups"] for key in group["keys"]]
        assert sorted(keys) == sorted(table["properties"]), name
        assert all(group["title"] for group in table["x-groups"])
    assert next(group["title"] for group in schema["x-groups"]) == "Run"


def test_texts_with_units_say_what_they_are_amounts_of():
    found = {}

    def walk(node):
        if isinstance(node, dict):
            if isinstance(node.get("format"), str):
                found.setdefault(node["x-quantity"], set()).add(node["format"])
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(bp.schema())
    assert {"time", "rate", "size", "share"} <= set(found)
    assert "rate" in found["rate"]
    assert "duration" in found["time"]
