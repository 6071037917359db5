"""Mean of a recorded series after the warm-up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from bentpipe import _core
from bentpipe.catalog import dictionary, unknown
from bentpipe.errors import BentpipeError
from bentpipe.statistics import steady
from bentpipe.statistics.judgement import Judgement

if TYPE_CHECKING:
    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.scenario.scenario import Scenario

LEVELS_MAX = 1_000_000
"""Intervals over which `steady` averages a series that has a row per change."""


def average_series(
    result: RunResult, name: str, flow: str | None, link: str | None, after: str | float, confidence: float
) -> steady.Steady:
    """Average a series; see `RunResult.steady`."""
    entry = next((entry for entry in dictionary()["series"] if entry["name"] == name), None)
    if entry is None or name not in result.recorded:
        raise BentpipeError(unknown(name, "a series that was recorded", result.recorded))
    if isinstance(after, str) and after != "mser":
        raise BentpipeError(f"after = {after!r}\n  expected 'mser' or a number of seconds")
    if not isinstance(after, str) and not 0 <= after < math.inf:
        raise BentpipeError(f"after = {after}\n  expected 'mser' or a number of seconds, at least 0")
    Judgement(confidence=confidence)
    entity = entry["entity"]
    table = result.series(name, flow, link)
    present = table[entity].unique(maintain_order=True).to_list()
    if len(present) > 1:
        raise BentpipeError(f"{name} of several {entity}s\n  expected one of {', '.join(sorted(present))}")
    times, values = table["time_s"].to_numpy(), table[name].to_numpy()
    interval_s = _interval_s(result.scenario)
    start_s, end_s = 0.0, result.simulated_s
    if entity == "flow" and present:
        row = result.flows.row(by_predicate=pl.col("flow") == present[0], named=True)
        start_s = row["start_s"] or 0.0
        end_s = min(end_s, start_s + (row["completion_s"] or math.inf))
    if not entry["sampled"]:
        interval_s = max(interval_s, end_s / LEVELS_MAX)
        times, values = steady.levels(times, values, interval_s, end_s)
    # A row covers the interval before it.
    within = (times > start_s + (1 - 1e-9) * interval_s) & (times <= end_s + 1e-9)
    asked = None if isinstance(after, str) else after
    return steady.steady(times[within], values[within], after=asked, confidence=confidence)


def _interval_s(scenario: Scenario) -> float:
    """Return the time between samples of the scenario's series."""
    found = _core.quantity(scenario.to_dict()["record"]["interval"])
    assert found is not None, "the scenario is valid"
    return found[0]
