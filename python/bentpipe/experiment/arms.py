"""What a comparison runs: congestion controls or cases, each the same scenario with other settings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.errors import ScenarioError
from bentpipe.experiment.design import Arms
from bentpipe.own import loading
from bentpipe.scenario.overrides import case_sets, checked_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bentpipe.experiment.compare import Comparison
    from bentpipe.experiment.sweep import Sweep
    from bentpipe.own.loading import Sender
    from bentpipe.scenario.scenario import Scenario


class Compared(Arms["Comparison"]):
    """What a comparison runs: the same seeds for every sender, as many as the one that needs most."""

    verb = "compare"
    cases: Mapping[str, Mapping[str, Any]]
    """Those that the scenario does not have itself."""

    def result(self, sweep: Sweep) -> Comparison | None:
        from bentpipe.experiment.compare import Comparison

        # Without a replication that every sender has finished there is nothing to compare.
        return Comparison.of(sweep, self.scenario, self.arms) if complete(sweep) else None

    def grown(self, counts: Sequence[int], so_far: Callable[[], Sweep]) -> list[int]:
        # Differences are taken in pairs.
        return [max(super().grown(counts, so_far))] * len(counts)

    def facts(self) -> dict[str, Any]:
        (key,) = self.keys
        named = [*case_sets(self.cases), (f"sweep.vary.{key}", list(self.arms))]
        return {
            "cases": json.loads(json.dumps(self.cases, default=str)),
            "arms": {name: arm.resolved() for name, arm in self.arms.items()},
            # With these, a sweep does the same runs.
            "sets": [
                *self.scenario.sets,
                *((key, json.dumps(value, default=str)) for key, value in named),
                *self.sets(),
            ],
        }


def complete(sweep: Sweep) -> list[int]:
    """The replications that every sender has finished."""
    counts = sweep.runs["replication"].value_counts()
    return sorted(counts.filter(pl.col("count") == sweep.points.height)["replication"].to_list())


def as_case(scenario: Scenario, name: str, sets: Mapping[str, Any]) -> Scenario:
    """The scenario with the settings of a case.

    Raises
    ------
    ScenarioError
        They make no sense; problems have the name of the case as their place.
    """
    try:
        return scenario.with_sets(sets)
    except ScenarioError as error:
        placed = (replace(each, place=each.place.replace("--set", f"case {name}:", 1)) for each in error.problems)
        raise ScenarioError(*placed, where=error.where) from None


def senders_of(
    scenario: Scenario,
    cc: Sender | Iterable[Sender] | None = None,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Scenario]:
    """What is to be compared, by name, in the order asked for.

    Raises
    ------
    ScenarioError
        Both or neither are asked for, or one of them makes no sense.
    """
    if cc is not None and cases:
        raise ScenarioError("congestion controls and cases cannot be compared at once\n  expected one of them")
    if cc is not None:
        return {name: scenario.replace("tcp.cc", sender) for name, sender in loading.named(cc).items()}
    checked_names(cases or (), "a case")
    alternatives = {name: as_case(scenario, name, sets) for name, sets in cases.items()} if cases else scenario.cases
    if not alternatives:
        raise ScenarioError(
            "nothing to compare: the scenario has no cases\n"
            "  expected congestion controls, as --cc reno,sack, or cases, as --case 'prr: tcp.reduction=prr'"
        )
    return alternatives
