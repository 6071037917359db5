"""Congestion controls and cases by name, each the same scenario with other settings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bentpipe.catalog import QUIC_CC, cc_keys
from bentpipe.errors import ScenarioError
from bentpipe.own import loading
from bentpipe.scenario.overrides import checked_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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


def used_cc_keys(scenario: Scenario) -> tuple[str, ...]:
    """List the keys that set the congestion control of all flows: one key for each transport that a flow uses."""
    flows = scenario.to_dict()["flow"].values()
    over_quic = {"quic" in flow for flow in flows}
    return (*(cc_keys() if over_quic != {True} else ()), *((QUIC_CC,) if True in over_quic else ()))


def name_senders(
    scenario: Scenario,
    cc: Sender | Iterable[Sender] | None = None,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    keys: Sequence[str] | None = None,
) -> dict[str, Scenario]:
    """Name the scenarios to compare, in the given order.

    Parameters
    ----------
    keys : sequence of str, optional
        Keys that set the congestion control. The default has the key of each transport that a flow uses.

    Raises
    ------
    ScenarioError
        Both `cc` and `cases` are given, or neither, or one of them is invalid.
    """
    if cc is not None and cases:
        raise ScenarioError("congestion controls and cases cannot be compared together\n  expected one of the two")
    if cc is not None:
        keys = used_cc_keys(scenario) if keys is None else keys
        named = loading.name_senders(cc)
        return {name: scenario.with_sets([(key, sender) for key in keys]) for name, sender in named.items()}
    checked_names(cases or (), "a case")
    alternatives = {name: as_case(scenario, name, sets) for name, sets in cases.items()} if cases else scenario.cases
    if not alternatives:
        raise ScenarioError(
            "the scenario has no cases to compare\n  expected congestion controls, as {cc}, or cases, as {cases}",
            cc=["reno", "sack"],
            cases={"prr": {"tcp.reduction": "prr"}},
        )
    return alternatives
