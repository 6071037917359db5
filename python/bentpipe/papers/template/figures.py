"""Draws the figures: functions that take a `Lab` and return a figure of Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe.papers import COLOURS, Finding, Lab, blank, intervals, label, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SENDERS = ["reno", "sack"]
RATES = [1e-3, 3e-3, 1e-2, 3e-2]


def figure_1(lab: Lab) -> Figure:
    """Completion time over the error rate, by congestion control."""
    key = "link.sat.forward.error.rate"
    runs = lab.sweep(
        "path",
        vary={"tcp.cc": SENDERS, key: RATES},
        replications=lab.choose(quick=10, full=40),
        tables=["flows"],
    )
    flows = runs.tables["flows"]
    with style():
        figure, (axes,) = blank(1, height=2.2)
        for cc, colour in zip(SENDERS, COLOURS, strict=False):
            each = [flows.filter((pl.col("tcp.cc") == cc) & (pl.col(key) == rate))["completion_s"] for rate in RATES]
            intervals(axes, RATES, [Finding.mean(times.to_list()) for times in each], color=colour, label=cc)
        axes.set_xscale("log")
        axes.set_xlabel(label("Packet error rate", "1"))
        axes.set_ylabel(label("Completion time", "s"))
        axes.legend()
        return figure
