"""Lines at the rate of the bottleneck, which goodput cannot exceed, in figures of sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.plot.style import draw_rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from bentpipe.scenario.scenario import Scenario

RATES = ("goodput", "goodput_active", "throughput")
"""Metrics that the rate of the bottleneck limits."""


def draw_capacity(
    panels: Sequence[Axes], scenarios: Mapping[Any, Sequence[Scenario]], places: Mapping[Any, float], divisor: float
) -> None:
    """Draw the rate of the bottleneck over an axis: one level, or a line if it changes along the axis.

    If scenarios at the same place have different bottlenecks, there is no line.
    """
    rates = {}
    for value, several in scenarios.items():
        found = {scenario.bottleneck() for scenario in several}
        if len(found) != 1 or None in found:
            return
        ((_, rates[value]),) = (each for each in found if each is not None)
    if not rates:
        return
    if len(set(rates.values())) == 1:
        for axes in panels:
            draw_rate(axes, [each for several in scenarios.values() for each in several], divisor, "y")
        return
    along = sorted((places[value], rate / divisor) for value, rate in rates.items())
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.plot(*zip(*along, strict=True), color="0.4", linestyle=":", linewidth=0.9, zorder=1)
        axes.set_ylim(top=max(top, 1.05 * along[-1][1]) if along[-1][1] < 2 * top else top)
        at, rate = along[len(along) // 2]
        axes.annotate("link", (at, rate), (-2, 2), textcoords="offset points", ha="right", fontsize=6, color="0.4")
