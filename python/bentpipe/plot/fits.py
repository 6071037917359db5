"""Figures of a fit: delays and slots over time, and quantiles of measured and simulated round trips."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import FitError
from bentpipe.plot.style import COLOURS, WIDTH, sheet, style, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.fitting.result import Fit

POINTS_MAX = 20_000
SHARES = np.linspace(0.001, 0.999, 400)
LINES_MAX = 100
"""Largest number of drawn boundaries."""


def fit_figure(fit: Fit, chart: str = "all") -> Figure:
    """Draw the delays, the quantiles, or both below each other."""
    if fit.probes is None:
        raise FitError("no probes were measured\n  expected a ping or irtt for a figure")
    drawn = list(_CHARTS) if chart == "all" else [chart]
    with style():
        figure = sheet(WIDTH, 0.4 + 1.8 * len(drawn))
        grid = figure.subplots(len(drawn), 1, squeeze=False)
        for axes, name in zip(grid[:, 0], drawn, strict=True):
            _CHARTS[name](axes, fit)
        figure.suptitle(write_title(fit.scenario.title, f"{len(fit.probes.send_s):,} probes"), x=0.02, ha="left")
    return figure


def _delay(axes: Axes, fit: Fit) -> None:
    probes = fit.probes
    assert probes is not None, "checked by the figure"
    step = -(-len(probes.send_s) // POINTS_MAX)
    begin = probes.send_s[0]
    axes.plot(
        probes.send_s[::step] - begin,
        1e3 * probes.rtt_s[::step],
        ".",
        color=COLOURS[0],
        markersize=1,
        markeredgewidth=0,
        rasterized=True,
        label="measured",
    )
    edges = fit.slots.edges_s[1:-1] - begin
    if 0 < len(edges) <= LINES_MAX:
        for at, edge in enumerate(edges):
            axes.axvline(edge, color="0.7", linewidth=0.4, zorder=0, label=None if at else "boundary of slots")
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("Round trip (ms)")
    axes.set_xlim(0, probes.duration_s)
    axes.legend(markerscale=4)


def _quantiles(axes: Axes, fit: Fit) -> None:
    probes = fit.probes
    assert probes is not None, "checked by the figure"
    for colour, name, values in (
        (COLOURS[0], "measured", probes.rtt_s[~probes.is_lost]),
        (COLOURS[1], "simulated", fit.simulated_s),
    ):
        if len(values):
            axes.plot(1e3 * np.quantile(values, SHARES), 100 * SHARES, color=colour, label=name)
    axes.set_xlabel("Round trip (ms)")
    axes.set_ylabel("Share of the probes (%)")
    axes.set_ylim(0, 100)
    axes.grid()
    axes.legend()


_CHARTS = {"delay": _delay, "quantiles": _quantiles}
