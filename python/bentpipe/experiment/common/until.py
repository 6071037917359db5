"""Rule that decides when a point of an experiment has enough runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.arguments import share
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.metric import find_metric
from bentpipe.statistics.estimates import estimate
from bentpipe.statistics.judgement import Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from bentpipe.statistics.estimates import Estimate

UNTIL_MAX = 100
"""Default maximum of runs of a point with `until`, as in `[sweep]`."""
GROWTH = 1.5
"""Growth factor of the replications of a point while its interval is too wide."""


@dataclass(frozen=True)
class Until:
    """Rule that decides when a point has enough runs."""

    metric: str
    half_width: float
    """Largest half width of the mean's 95 % interval, as a share of the mean. `confidence` does not change the 95 %."""

    @classmethod
    def from_dict(cls, written: Mapping[str, Any] | None) -> Until | None:
        """Read the rule from a scenario or a call, after `checked_until`."""
        if written is None:
            return None
        return cls(written["metric"], share("until", written["half_width"], error=ScenarioError))

    def is_met(self, found: Estimate) -> bool:
        """Whether the interval of a mean is narrow enough."""
        return (
            found.mean is not None
            and found.half_width is not None
            and found.half_width <= self.half_width * abs(found.mean)
        )


def enough(values: NDArray[np.float64], until: Until, replications_max: int) -> int:
    """Count the replications that a point needs, from its values so far (NaN for a run without a value).

    Frequent checks would often stop too early, at an interval that is narrow by chance. So the number of runs grows by
    half from one check to the next. With ten or more first runs, 93 to 95 % of the final intervals contain the mean.
    """
    found = estimate(values, Judgement.confidence)
    # More runs cannot help without a value.
    if found.mean is None or until.is_met(found):
        return len(values)
    return max(len(values), min(math.ceil(len(values) * GROWTH), replications_max))


def checked_until(
    until: Mapping[str, Any] | None, known: Callable[[str], object] = find_metric
) -> dict[str, Any] | None:
    """Convert `{"metric": "goodput", "half_width": "2 %"}` to numbers.

    Raises
    ------
    ScenarioError
        The rule has another form, or the metric is unknown.
    """
    if until is None:
        return None
    expected = '\n  expected {"metric": "goodput", "half_width": "2 %"}'
    if not hasattr(until, "items") or set(until) != {"metric", "half_width"}:
        raise ScenarioError(f"until = {until!r}{expected}")
    try:
        known(until["metric"])
    except BentpipeError as error:
        raise ScenarioError(str(error)) from None
    return {"metric": until["metric"], "half_width": share("until", until["half_width"], error=ScenarioError)}
