"""The guide "TCP over satellite, switch by switch": what it says can be typed, and it says what was measured."""

import importlib.util
import json
import shlex
import sys
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.experiment.contract.senders import senders_of
from bentpipe.scenario import overrides

ROOT = Path(__file__).resolve().parent.parent
SPEC = importlib.util.spec_from_file_location("mitigations", ROOT / "validation" / "mitigations.py")
mitigations = importlib.util.module_from_spec(SPEC)
sys.modules["mitigations"] = mitigations
SPEC.loader.exec_module(mitigations)


@pytest.mark.parametrize("mitigation", mitigations.MITIGATIONS, ids=lambda mitigation: mitigation.name)
@pytest.mark.parametrize("path", ["geo", "leo"])
def test_each_switch_is_accepted_on_both_paths(mitigation, path):
    cases = senders_of(bp.load(path, mitigations.STANDARD | mitigation.sets), cases=mitigation.cases)
    assert len({case.digest for case in cases.values()}) == len(mitigation.cases)


@pytest.mark.parametrize("mitigation", mitigations.MITIGATIONS, ids=lambda mitigation: mitigation.name)
def test_the_commands_say_what_was_measured(mitigation):
    words = shlex.split(mitigations.command(mitigation, "geo").replace("\\\n", " "))
    given = {option: [words[i + 1] for i, word in enumerate(words) if word == option] for option in ("--set", "--case")}
    typed = senders_of(bp.load("geo", overrides.pairs(given["--set"])), cases=overrides.cases(given["--case"]))
    assert typed == senders_of(bp.load("geo", mitigations.STANDARD | mitigation.sets), cases=mitigation.cases)


def test_the_page_is_made_from_the_numbers():
    found = json.loads(mitigations.NUMBERS.read_text())
    assert (mitigations.GUIDES / "tcp-over-satellite.md").read_text() == mitigations.page(found)
    assert all((mitigations.GUIDES / "mitigations" / f"{m.name}.png").exists() for m in mitigations.MITIGATIONS)
