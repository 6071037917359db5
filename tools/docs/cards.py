"""Draws the figures of a bundled scenario for the gallery: that of `bentpipe run --plot`, and a small one for its card.

python -m tools.docs.cards geo folder    # folder/geo.png, folder/geo-card.png
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import bentpipe as bp
from bentpipe import formatting
from bentpipe.plot import COLOURS, DASHES, PANELS, save
from bentpipe.plot import style as house

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bentpipe.experiment.single.run_result import RunResult

SIZE = (2.6, 1.45)
"""Width and height of a card's picture in inches."""
DPI = 200
ROUND_TRIPS = 5
"""Round trips over which goodput is averaged."""
INTERVALS_MAX = 60
FLOWS_MAX = len(COLOURS) * len(DASHES)


def card(result: RunResult) -> Figure:
    """Goodput of each flow over time, in one panel."""
    with house.style():
        figure = house.sheet(*SIZE)
        axes = figure.subplots()
        lines = [line(result, flow) for flow in shown(result)]
        divisor, unit = formatting.scale([max(float(values.max()) for _, values in lines)], "bit/s")
        for place, (times, values) in enumerate(lines):
            colour, dash = COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS)]
            axes.plot(times, values / divisor, color=colour, linestyle=dash, linewidth=1.1, drawstyle="steps-post")
        house.draw_rate(axes, [result.scenario], divisor, "y")
        axes.set(ylabel=house.label("Goodput", unit), xlabel="Time (s)", xlim=(0, result.simulated_s))
        axes.set_ylim(bottom=0)
        axes.grid()
    return figure


def shown(result: RunResult) -> list[str]:
    """The flows with goodput, in the order of the scenario."""
    known = set(result.recorded["goodput_bps"]["flow"].unique())
    return [flow for flow in result.scenario.flow_names if flow in known][:FLOWS_MAX]


def line(result: RunResult, flow: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Begins and goodputs of intervals of some round trips, and the end of the last one with its goodput again."""
    longest = float(result.flows["rtt_p50_s"].max() or 0.0)
    intervals = min(INTERVALS_MAX, int(result.simulated_s / (ROUND_TRIPS * longest))) if longest else INTERVALS_MAX
    means = result.curve("goodput_bps", flow).average(0.0, result.simulated_s, result.simulated_s / max(1, intervals))
    # Nothing arrives before the flow begins and after its end.
    values = np.nan_to_num(means.values)
    limit = result.scenario.bottleneck()
    if limit is not None:
        values = arrived(values, limit[1])
    return np.append(means.begins, means.end_s), np.append(values, values[-1])


def arrived(values: NDArray[np.float64], rate_bps: float) -> NDArray[np.float64]:
    """Move goodput above the rate of the link to the intervals before.

    A repaired loss releases the data behind it at one instant. That data crossed the link earlier, at most at its rate.
    """
    found, early = values.copy(), 0.0
    for at in reversed(range(len(found))):
        total = found[at] + early
        found[at] = min(total, rate_bps)
        early = total - found[at]
    return found


def draw(name: str, folder: Path) -> None:
    """Run a scenario once and draw both figures."""
    result = bp.run(name, series=[*PANELS])
    save(result.plot(), folder / f"{name}.png")
    save(card(result), folder / f"{name}-card.png", dpi=DPI)


if __name__ == "__main__":
    draw(sys.argv[1], Path(sys.argv[2]))
