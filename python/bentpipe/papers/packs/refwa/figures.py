"""Figure 3 of the paper, drawn from our runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.papers import COLOURS, Finding, blank, intervals, label, legend_above, style

from . import runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.papers import Lab

NAMES = {
    "reno": "Reno",
    "newreno": "NewReno",
    "westwood-nr": "WestwoodNR",
    "refwa": "REFWA",
    "refwa-plus": "REFWA Plus",
    "refwa-plus-westwood": "Plus over WestwoodNR",
}
MARKERS = ("o", "s", "d", "v", "^", "x")
HELPED = {"resend": "missing", "tolerance": 0.2, "trigger": "dup", "counted": "all"}
"""The reading of REF-07 in which REFWA Plus is ahead."""


def figure_3a(lab: Lab) -> Figure:
    """Utilisation over the loss rate, below the share that survives, with the paper's values for a loss rate of 0.3.

    One more curve shows REFWA Plus in the reading in which it is ahead of all.
    """
    with style():
        figure, (axes,) = blank(1, height=3.2)
        rates = _curves(axes, lab, "utilisation_share")
        table = runs.runs(lab, rates, ["refwa-plus"], scheme=HELPED)
        helped = [
            Finding.mean(runs.values(table, "utilisation_share", sender="refwa-plus", rate=rate)) for rate in rates
        ]
        intervals(axes, rates, helped, linestyle="--", marker="", color="black", label="REFWA Plus, best reading")
        # The largest deliverable share: links also carry lost packets.
        fine = np.geomspace(min(rates), max(rates), 200)
        axes.plot(fine, 1 - fine, ":", color="0.5", label="1 - p")
        hollow: dict[str, Any] = {"color": "black", "fillstyle": "none", "markersize": 6, "linestyle": ""}
        axes.plot(0.3, 0.3, marker="^", label="printed: REFWA Plus, above this", **hollow)
        axes.plot(0.3, 0.0, marker="D", label="printed: the others, almost null", clip_on=False, **hollow)
        axes.set_ylim(0, 1.03)
        axes.set_ylabel(label("Utilisation", ""))
        legend_above(axes, 2)
    return figure


def figure_3b(lab: Lab) -> Figure:
    """Fairness over the loss rate, above its least possible value. The paper's text prints no value."""
    with style():
        figure, (axes,) = blank(1, height=3.0)
        _curves(axes, lab, "jain")
        axes.axhline(1 / runs.FLOWS, linestyle=":", color="0.5", label="least, 1/N")
        axes.set_ylim(0, 1.03)
        axes.set_ylabel(label("Fairness index F", ""))
        legend_above(axes, 2)
    return figure


def _curves(axes: Axes, lab: Lab, column: str) -> list[float]:
    """Mean and 95 % interval of each sender over the loss rates, which are returned."""
    table = runs.figure(lab)
    rates = sorted(table["rate"].unique())
    for place, sender in enumerate(runs.SENDERS):
        found = [Finding.mean(runs.values(table, column, sender=sender, rate=rate)) for rate in rates]
        # Side by side, so that points do not hide each other.
        places = [rate * 1.03 ** (place - 2.5) for rate in rates]
        intervals(axes, places, found, marker=MARKERS[place], color=COLOURS[place], label=NAMES[sender])
    axes.set_xscale("log")
    axes.set_xlabel("Loss rate p of packets")
    axes.grid()
    return rates
