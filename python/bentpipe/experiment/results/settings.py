"""Scenarios of a sweep at its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.catalog import compared_keys
from bentpipe.errors import BentpipeError
from bentpipe.own.loading import absent
from bentpipe.scenario.scenario import Scenario

if TYPE_CHECKING:
    from bentpipe.experiment.results.sweep import Sweep

SETTINGS_MAX = 64
"""Maximum number of scenarios whose bottleneck is looked up. Each takes a millisecond, or seconds over a sky."""


def list_scenarios(sweep: Sweep, key: str) -> dict[Any, list[Scenario]]:
    """List the scenarios at each value of a key; empty if they are too many, or not known."""
    keys = [each for each in sweep.keys if each not in compared_keys() or each == key]
    settings = sweep.points.select(keys).unique(maintain_order=True).rows(named=True)
    if "case" in sweep.keys or len(settings) > SETTINGS_MAX:
        return {}
    found: dict[Any, list[Scenario]] = {}
    try:
        base = _read_base(sweep)
        if base.to_dict().get("sky"):
            return {}
        for setting in settings:
            found.setdefault(setting[key], []).append(base.with_sets(setting))
    except BentpipeError:
        # A class that is not there, or keys that do not fit the resolved scenario.
        return {}
    return found


def _read_base(sweep: Sweep) -> Scenario:
    """Read the scenario as it was written: keys of a link are those of both directions."""
    text, form = sweep.facts["written"]
    sets = [(key, value) for key, value in sweep.facts["sets"] if not key.startswith("sweep.")]
    classes = absent(sweep.facts["scenario"])
    return Scenario(text, form=form, source=sweep.facts["source"], sets=sets, senders=classes)
