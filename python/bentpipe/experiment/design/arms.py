"""Work of a comparison: congestion controls or cases, each the same scenario with other settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bentpipe.experiment.design.design import Arms
from bentpipe.experiment.results.comparison import VERB, Comparison, complete
from bentpipe.scenario.overrides import case_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe.experiment.results.sweep import Sweep


class Compared(Arms["Comparison"]):
    """Work of a comparison. Every case has the same seeds, as many as the case that needs the most replications."""

    verb = VERB
    cases: Mapping[str, Mapping[str, Any]]
    """Cases that are not part of the scenario."""

    def result(self, sweep: Sweep) -> Comparison | None:
        # There is no comparison before every case has finished a replication.
        return Comparison.from_sweep(sweep, self.scenario, self.arms) if complete(sweep) else None

    def grow_counts(self, counts: Sequence[int], so_far: Callable[[], Sweep]) -> list[int]:
        # Differences are paired, so all cases have equally many runs.
        return [max(super().grow_counts(counts, so_far))] * len(counts)

    def facts(self) -> dict[str, Any]:
        (key,) = self.keys
        named = [*case_sets(self.cases), (f"sweep.vary.{key}", list(self.arms))]
        return {
            "cases": json.loads(json.dumps(self.cases, default=str)),
            "arms": {name: arm.resolve() for name, arm in self.arms.items()},
            # A sweep with these values does the same runs.
            "sets": [
                *self.scenario.sets,
                *((key, json.dumps(value, default=str)) for key, value in named),
                *self.sets(),
            ],
        }
