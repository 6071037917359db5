"""The paper's figures, drawn again: from our runs, beside what the paper prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.papers.drawing import intervals, legend_above
from bentpipe.papers.hswa.measures import (
    ENHANCED_BPS,
    FLAVOURS,
    HSWA_BPS,
    RATE_BPS,
    RATES,
    increments,
    passed_share,
    step,
    throughputs,
)
from bentpipe.papers.lab import Finding
from bentpipe.plot.house import COLOURS, blank, label, style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.papers.lab import Lab

FIGURE_2 = (*FLAVOURS, "vegas", "highspeed", "scalable")
"""Those of the paper's that there are: Westwood and SCPS-TP are not, and HSWA is drawn as printed."""
MARKERS = "osdv<>"


def figure_1(lab: Lab) -> Figure:
    """Increment of the window over TD, after eq. 3.1, at some error rates."""
    with style():
        figure, (axes,) = blank(1, height=2.2)
        delays = np.linspace(1, 2.5, 151)
        for colour, rate in zip(COLOURS, (1e-8, 1e-5, 1e-2), strict=False):
            values = [increments(float(delay), step(rate))[0] for delay in delays]
            axes.plot(delays, values, color=colour, label=f"error rate {rate:.0e}".replace("e-0", "e-"))
        axes.set_xlabel("TD as a multiple of BaseTD")
        axes.set_ylabel(label("Increment", "segments"))
        axes.set_ylim(bottom=0)
        axes.grid()
        axes.legend(loc="upper right")
        figure.suptitle("Eq. 3.1, third case from 2 BaseTD", x=0.02, ha="left")
    return figure


def figure_2(lab: Lab) -> Figure:
    """Throughput over the rate of packet errors: the flavours that there are, and HSWA as printed."""
    # Runs that are almost without losses take the longest, and are almost equal.
    rare, frequent = lab.choose((1e-8, 1e-6), RATES[:3]), RATES[3:]
    rates = (*rare, *frequent)
    with style():
        figure, (axes,) = blank(1, height=2.6)
        for place, cc in enumerate(FIGURE_2):
            curve = throughputs(lab, cc=cc, rates=rare)
            curve |= throughputs(lab, cc=cc, rates=frequent, replications=lab.choose(8, 20))
            findings = [Finding.mean(curve[rate]) for rate in rates]
            # A little apart, or the last would hide the others: without losses they are the same.
            places = [rate * 1.12 ** (place - 2.5) for rate in rates]
            intervals(axes, places, findings, factor=1e-6, color=COLOURS[place], marker=MARKERS[place], label=cc)
        _printed(axes, "HSWA, printed", HSWA_BPS, COLOURS[6], "^")
        _axes(axes)
        legend_above(axes, 4)
        replications = lab.choose("8 (below 1e-5: 2)", "20 (below 1e-5: 10)")
        sample = f"{replications} replications, 95 % intervals"
        figure.suptitle(f"GEO, 100 Mbit/s, one connection, 50 s, errors per packet\n{sample}", x=0.02, ha="left")
    return figure


def figure_6(lab: Lab) -> Figure:
    """HSWA and Enhanced HSWA as printed, and the most that the channel passes with errors per packet, byte and bit."""
    with style():
        figure, (axes,) = blank(1, height=2.6)
        fine = np.logspace(-8, -1, 141)
        for colour, error in zip(COLOURS, ("packet", "byte", "bit"), strict=False):
            highest = [RATE_BPS * passed_share(float(rate), error) / 1e6 for rate in fine]
            axes.plot(fine, highest, color=colour, label=f"ceiling, errors per {error}")
        _printed(axes, "HSWA, printed", HSWA_BPS, COLOURS[6], "^")
        _printed(axes, "Enhanced HSWA, printed", ENHANCED_BPS, COLOURS[3], "v")
        _axes(axes)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 0.02))
        figure.suptitle("Printed, and what the channel lets through", x=0.02, ha="left")
    return figure


def _printed(axes: Axes, text: str, values: Mapping[float, float], colour: str, marker: str) -> None:
    axes.plot(
        list(values),
        [value / 1e6 for value in values.values()],
        marker=marker,
        markeredgecolor=colour,
        linestyle="none",
        markerfacecolor="none",
        markersize=5,
        label=text,
        clip_on=False,
    )


def _axes(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xticks(RATES)
    axes.minorticks_off()
    axes.set_ylim(0, 105)
    axes.set_xlabel("Error rate")
    axes.set_ylabel(label("Throughput", "Mbit/s"))
    axes.grid()
