"""Rates and delays of links over time, as series: rain with its MODCODs, passes, moving paths.

`Scenario.network` has them as profiles. A run does not record them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

SERIES = {
    "link_rate_bps": ("rate_bps", "bit/s", "Rate of the link: it changes with rain, MODCODs and passes."),
    "link_delay_s": ("delay_s", "s", "Propagation delay of the link."),
}
"""By name: the key of `Scenario.network`, the unit, and the meaning."""
POINTS_MOST = 100_000
"""Points of a profile that repeats."""
BETWEEN = 8
"""Points between two of a profile that changes evenly."""


def describe_series(network: dict[str, Any]) -> list[dict[str, Any]]:
    """Describe the series that change for any link, as `RunData.described` does."""
    return [
        {"name": name, "of": "link", "unit": unit, "meaning": meaning, "style": "level"}
        for name, (key, unit, meaning) in SERIES.items()
        if any(len(link[key]["values"]) > 1 for link in network["links"])
    ]


def steps(network: dict[str, Any], name: str, link: str, end_s: float) -> tuple[Values, Values]:
    """Times and values of a profile up to the end of a run.

    Raises
    ------
    BentpipeError
        There is no such link.
    """
    links = {each["link"]: each for each in network["links"]}
    if link not in links:
        raise BentpipeError(unknown(link, "a link of this scenario", links))
    profile = links[link][SERIES[name][0]]
    times, values = np.array(profile["times_s"], dtype=np.float64), np.array(profile["values"], dtype=np.float64)
    if profile["linear"] and len(times) > 1:
        fine = np.unique(np.concatenate([np.linspace(a, b, BETWEEN + 1) for a, b in pairwise(times)]))
        times, values = fine, np.interp(fine, times, values)
    if profile["period_s"] is not None:
        turns = min(int(end_s // profile["period_s"]) + 1, max(1, POINTS_MOST // len(times)))
        times = (times + profile["period_s"] * np.arange(turns)[:, None]).ravel()
        values = np.tile(values, turns)
    there = times <= end_s
    return times[there], values[there]
