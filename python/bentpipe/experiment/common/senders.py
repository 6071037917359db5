"""Congestion controls and cases by name, each the same scenario with other settings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bentpipe.catalog import cc_keys
from bentpipe.errors import ScenarioError
from bentpipe.own import loading
from bentpipe.scenario.overrides import checked_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bentpipe.errors import Problem
    from bentpipe.own.loading import Sender
    from bentpipe.scenario.scenario import Scenario


def as_case(scenario: Scenario, name: str, sets: Mapping[str, Any]) -> Scenario:
    """Make the scenario with the settings of a case.

    Raises
    ------
    ScenarioError
        The settings are invalid. Problems have the name of the case as their place.
    """
    try:
        return scenario.with_sets(sets)
    except ScenarioError as error:
        raise error.change_problems(partial(_place_problem, name)) from None


def _place_problem(name: str, problem: Problem) -> Problem:
    return replace(problem, place=problem.place.replace("--set", f"case {name}:", 1))


def name_senders(
    scenario: Scenario,
    cc: Sender | Iterable[Sender] | None = None,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Scenario]:
    """Name the scenarios to compare, in the given order.

    Raises
    ------
    ScenarioError
        Both or neither are given, or one of them is invalid.
    """
    if cc is not None and cases:
        raise ScenarioError("congestion controls and cases cannot be compared together\n  expected one of the two")
    if cc is not None:
        return {name: scenario.replace(cc_keys()[0], sender) for name, sender in loading.name_senders(cc).items()}
    checked_names(cases or (), "a case")
    alternatives = {name: as_case(scenario, name, sets) for name, sets in cases.items()} if cases else scenario.cases
    if not alternatives:
        raise ScenarioError(
            "the scenario has no cases to compare\n  expected congestion controls, as {cc}, or cases, as {cases}",
            cc=["reno", "sack"],
            cases={"prr": {"tcp.reduction": "prr"}},
        )
    return alternatives
