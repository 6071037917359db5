"""Marks of handovers and outages, from the scenario of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from bentpipe.scenario.scenario import Scenario

MARKS_MAX = 200
"""Maximum number of marks. More marks would be a solid line."""


def mark(panels: Sequence[Axes], scenario: Scenario, end_s: float) -> str:
    """Draw ticks at handovers and grey spans for outages into every panel; return the text for the axis of time."""
    content: Any = scenario.to_dict()
    changes = sorted({_seconds(change["time"]) for change in content.get("at", ())} | set(_steps(content, end_s)))
    changes = [at_s for at_s in changes if 0 < at_s < end_s]
    outages = list(_outages(content, end_s))
    said = ""
    if 0 < len(changes) <= MARKS_MAX:
        said += "; ticks: handovers"
        for axes in panels:
            place = axes.get_xaxis_transform()
            axes.plot(changes, np.zeros(len(changes)), "|", color="0.2", markersize=6, transform=place, clip_on=False)
    if 0 < len(outages) <= MARKS_MAX:
        said += "; grey: outages"
        for axes in panels:
            for begin_s, until_s in outages:
                axes.axvspan(begin_s, until_s, color="0.85", linewidth=0, zorder=0)
    return said


def _sides(content: Mapping[str, Any], key: str) -> Iterator[Any]:
    """List the values of a key of links, in both directions."""
    for link in content["link"].values():
        for part in (link, link.get("forward", {}), link.get("reverse", {})):
            if isinstance(part.get(key), dict):
                yield part[key]


def _steps(content: Mapping[str, Any], end_s: float) -> Iterator[float]:
    """List the instants when the delay of a link jumps: another satellite."""
    for profile in _sides(content, "delay"):
        if isinstance(profile.get("points"), list) and profile.get("interpolate") == "hold":
            period_s = _seconds(profile["every"]) if "every" in profile else end_s
            for time, _ in profile["points"]:
                yield from np.arange(_seconds(time), end_s, period_s).tolist()


def _outages(content: Mapping[str, Any], end_s: float) -> Iterator[tuple[float, float]]:
    for outage in _sides(content, "outage"):
        period_s = _seconds(outage["every"]) if "every" in outage else end_s
        for first, last in outage.get("spans", ()):
            length_s = _seconds(last) - _seconds(first)
            yield from ((at_s, at_s + length_s) for at_s in np.arange(_seconds(first), end_s, period_s).tolist())


def _seconds(text: str) -> float:
    found = _core.quantity(text)
    assert found is not None, "the scenario is valid"
    return found[0]
