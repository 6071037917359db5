"""The guide "Tune TCP for satellite paths" has commands that run, and the measured numbers."""

import shlex

import pytest

import bentpipe as bp
from bentpipe.experiment.common.senders import name_senders
from bentpipe.scenario import overrides
from tools.docs.mitigations import command, page, shown
from validation import kept, mitigations


@pytest.mark.parametrize("mitigation", mitigations.MITIGATIONS, ids=lambda mitigation: mitigation.name)
@pytest.mark.parametrize("path", ["geo", "leo"])
def test_each_switch_is_accepted_on_both_paths(mitigation, path):
    cases = name_senders(bp.load(path, mitigations.STANDARD | mitigation.sets), cases=mitigation.cases)
    assert len({case.digest for case in cases.values()}) == len(mitigation.cases)


@pytest.mark.parametrize("mitigation", mitigations.MITIGATIONS, ids=lambda mitigation: mitigation.name)
def test_the_commands_say_what_was_measured(mitigation):
    words = shlex.split(command(mitigation, "geo").replace("\\\n", " "))
    given = {option: [words[i + 1] for i, word in enumerate(words) if word == option] for option in ("--set", "--case")}
    typed = name_senders(bp.load("geo", overrides.pairs(given["--set"])), cases=overrides.cases(given["--case"]))
    assert typed == name_senders(bp.load("geo", mitigations.STANDARD | mitigation.sets), cases=mitigation.cases)


@pytest.mark.parametrize("name", [each.name for each in mitigations.MITIGATIONS if each.sets is mitigations.SHORT])
def test_the_sentences_of_short_transfers_agree_with_the_page(name):
    (mitigation,) = [each for each in mitigations.MITIGATIONS if each.name == name]
    found = mitigations.measure(mitigation, "geo")
    assert all(found.sample(case, "fct").counts.is_whole for case in found.names)
    means = mitigations.numbers(mitigation, found)
    assert shown(mitigation, means) in page(kept.load("mitigations"))
    slowest = max(means, key=lambda case: means[case][0])
    assert f" is faster than {slowest} in fct: " in found.statements[-1]


def test_each_switch_has_its_figure():
    assert all((mitigations.FIGURES / f"{each.name}.png").exists() for each in mitigations.MITIGATIONS)
