"""Errors of the library name parameters of the call; errors of the command line name its options."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import shlex
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, Problem, ScenarioError, Word

PACKAGE = Path(bp.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
LINK = {"from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "5 ms"}
SMALL = {"duration": "0.2 s", "link": {"sat": LINK}, "flow": {"f": {"from": "a", "to": "b"}}}
WRONG = (-1, float("nan"), "nonsense", object(), ["nonsense"], {"nonsense": "x"})
CITIES = {"origin": "London", "destination": "Tokyo", "place": "London", "places": ["London", "Tokyo"]}
LOOK = {**CITIES, "over": "iridium", "duration": 20.0, "step": 10.0, "cell": 30.0}
RADIO = {"frequency": 12.0, "eirp": 50.0, "g_over_t": 10.0, "percent": 0.1}
VERBS = {
    bp.run: {"scenario": SMALL},
    bp.compare: {"scenario": SMALL, "cc": ["reno", "sack"], "replications": 1, "jobs": 1},
    bp.mix: {"scenario": SMALL, "cc": ["reno", "sack"], "replications": 1, "jobs": 1},
    bp.mixes: {"scenario": SMALL, "cc": ["reno", "sack"], "vary": {"stagger": ["0 s"]}, "replications": 1, "jobs": 1},
    bp.sweep: {"scenario": SMALL, "vary": {"tcp.cc": ["reno", "sack"]}, "replications": 1, "jobs": 1},
    bp.load: {"source": "geo"},
    bp.report: {"source": "nothere"},
    bp.reproduce: {"papers": "nothere"},
    bp.sky.path: LOOK,
    bp.sky.paths: LOOK,
    bp.sky.passes: LOOK,
    bp.sky.coverage: LOOK,
    bp.sky.map: LOOK,
    bp.sky.budget: {**LOOK, **RADIO},
}
DROPPED = ("progress", "size", "pcap", "store", "folder")
"""Arguments that take any value, or write files."""


def refusals():
    """Return functions with one wrong argument each."""
    for verb, usual in VERBS.items():
        parameters = inspect.signature(verb).parameters
        given = {name: value for name, value in usual.items() if name in parameters}
        for name in sorted(parameters.keys() - DROPPED):
            yield pytest.param(verb, given, name, id=f"{verb.__module__.split('.')[1]}-{verb.__name__}-{name}")


@pytest.mark.parametrize(("verb", "given", "name"), [*refusals()])
def test_errors_of_verbs_speak_python(verb, given, name):
    for wrong in WRONG:
        said = refused(verb, {**given, name: wrong})
        assert not OPTION.search(said), said
        assert "{" + name not in said, said


def refused(verb, given):
    """Return the text of the error, or None."""
    # Python refuses values of some other types.
    with suppress(TypeError, ValueError, AttributeError, OSError):
        try:
            verb(**given)
        except BentpipeError as error:
            return str(error)
    return ""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bp.compare(SMALL, ["reno", "sack"], against="x"), "against: 'x' is not a case of this comparison"),
        (lambda: bp.compare(SMALL, ["reno", "sack"], jobs=2, on="local:2"), r"^jobs=2 with on='local:2'\n"),
        (lambda: bp.compare(SMALL, ["reno", "sack"], on="moon"), r"^on='moon'\n"),
        (lambda: bp.compare(SMALL), r"as cc=\['reno', 'sack'\], or cases, as cases=\{'prr': "),
        (lambda: bp.sweep(SMALL, {}), r"or vary=\{'tcp.cc': \['newreno', 'sack'\]\}"),
        (lambda: bp.compare(SMALL, ["reno", "sack"], replications=1, jobs=1).ratios, "expected against=NAME"),
        (lambda: bp.run(SMALL, {"link.sat.rat": 1}), r'link.sat.rat is not a known key +sets\["link.sat.rat"\]'),
        (lambda: bp.sweep(SMALL, {"link.sat.rat": [1]}), r'a known key +vary\["link.sat.rat"\]'),
        (lambda: bp.run(SMALL, pcap="no/where.pcapng"), "^pcap='no/where.pcapng': there is no folder no"),
        (lambda: bp.run(SMALL, seed=-1), "seed"),
        (lambda: bp.sky.path("London", "Tokyo", over="iridium", relay="ground"), "expected gateway=PLACE"),
    ],
)
def test_an_error_has_the_parameter(call, message):
    with pytest.raises(BentpipeError, match=message) as caught:
        call()
    assert not OPTION.search(str(caught.value))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compare geo --cc reno,sack --against x", "--against: 'x' is not a case of this comparison"),
        ("compare geo --cc reno,sack -j 2 --on local:2", "--jobs 2 with --on local:2\n"),
        ("compare geo --cc reno,sack --on moon", "--on moon\n"),
        ("compare geo", "as --cc reno,sack, or cases, as --case 'prr: tcp.reduction=prr'"),
        ("sweep geo", "or --vary tcp.cc=newreno,sack"),
        ("run geo --set link.sat.rat=1", "--set link.sat.rat"),
        ("run geo --pcap no/where.pcapng", "--pcap no/where.pcapng: there is no folder no"),
        ("compare geo --cc reno,sack --replications-max 5 -n 10", "--replications-max"),
        ("sky path London Tokyo --over iridium --relay ground", "expected --gateway PLACE"),
        ("sky budget London --over iridium --frequency 12 --eirp 9 --gt 1 --to Tokyo", "expected --down-frequency, "),
        ('emulate geo --serve "\'"', "--serve "),
    ],
)
def test_the_command_line_has_the_option(words, message):

    done = CliRunner().invoke(app, shlex.split(words))
    assert done.exit_code == 2, done.output
    assert message in done.output


def test_parameters_are_spelled_when_an_error_is_printed():
    error = BentpipeError("{jobs} and {on}; {n = }; {other}", jobs=2, on=Word("WHERE"), n=1)
    assert str(error) == "jobs=2 and on=WHERE; n = 1; {other}"
    assert error.text("error: ", lambda name, value, sign: f"<{name}>") == "error: <jobs> and <on>; <n>; {other}"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    wrong = ScenarioError("{jobs} is wrong\n  expected {jobs}", Problem("m", place="--set a.b"), jobs=1)
    assert wrong.problems[0].message == "jobs=1 is wrong"
    assert str(wrong).splitlines()[-2].endswith('sets["a.b"]')
    assert str(pickle.loads(pickle.dumps(wrong))) == str(wrong)


def test_braces_in_a_value_are_no_parameters():
    error = BentpipeError("{jobs} with {on}", jobs="{on}", on="{jobs}")
    assert str(error) == "jobs='{on}' with on='{jobs}'"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_no_error_of_the_library_is_written_with_an_option():
    """The command line has a separate grammar of overrides."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).as_posix().startswith(("cli/", "scenario/overrides.py")):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_error = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error")
            texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)] if is_error else []
            found += [(path.name, text) for text in texts if isinstance(text, str) and OPTION.search(text)]
    assert found == []
