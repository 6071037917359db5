"""Figure 3 of the paper, drawn from our runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.papers import COLOURS, Finding, blank, intervals, label, style

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


def figure_3a(lab: Lab) -> Figure:
    """Utilisation over the loss rate, below what survives, with what the paper's text says of a loss rate of 0.3."""
    with style():
        figure, (axes,) = blank(1, height=2.6)
        rates = _curves(axes, lab, "utilisation_share")
        # The most that can be delivered; a packet that is lost has been carried in vain.
        fine = np.geomspace(min(rates), max(rates), 200)
        axes.plot(fine, 1 - fine, ":", color="0.5", label="1 - p")
        # Nudged apart: both are at 0.3.
        axes.plot(0.3, 0.3, "^", color="black", fillstyle="none", markersize=5, label="printed: REFWA Plus, above")
        axes.plot(0.3, 0.0, "D", color="black", fillstyle="none", markersize=5, clip_on=False, label="printed: others")
        axes.set_ylim(0, 1.03)
        axes.set_ylabel(label("Utilisation", ""))
        axes.legend(loc="lower left")
    return figure


def figure_3b(lab: Lab) -> Figure:
    """Fairness over the loss rate, above the least that there can be; the paper's text prints no value."""
    with style():
        figure, (axes,) = blank(1, height=2.6)
        _curves(axes, lab, "jain")
        axes.axhline(1 / runs.FLOWS, linestyle=":", color="0.5", label="least, 1/N")
        axes.set_ylim(0, 1.03)
        axes.set_ylabel(label("Fairness index F", ""))
        axes.legend(loc="lower left", bbox_to_anchor=(0, 0.12))
    return figure


def _curves(axes: Axes, lab: Lab, column: str) -> list[float]:
    """Mean and 95 % interval of each sender over the loss rates, which are returned."""
    table = runs.figure(lab)
    rates = sorted(table["rate"].unique())
    for place, sender in enumerate(runs.SENDERS):
        found = [Finding.mean(runs.values(table, column, sender=sender, rate=rate)) for rate in rates]
        # Beside each other where they would hide each other.
        places = [rate * 1.08**place for rate in rates]
        intervals(axes, places, found, marker=MARKERS[place], color=COLOURS[place], label=NAMES[sender])
    axes.set_xscale("log")
    axes.set_xlabel("Loss rate p of packets")
    axes.grid()
    return rates
