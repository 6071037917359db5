"""Figures of cases that share a run: shares, goodput, and the windows of all flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe import formatting
from bentpipe.plot import traces
from bentpipe.plot.cuts import CUT, EXPLAINED, mark_cuts
from bentpipe.plot.ends import explain_lines
from bentpipe.plot.style import (
    WIDTH,
    choose_colour,
    find_place,
    label,
    look,
    plain,
    sheet,
    style,
    write_title,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.experiment.results.mix import Mix
    from bentpipe.statistics.estimates import Estimate

LEGEND_COLUMNS = 4
WINDOWS_IN = 1.1
"""Height of the panel of windows in inches."""
THIN = 8
"""Number of flows above which lines are thin."""


def mix_figure(mix: Mix, chart: str = "all", metric: str = "goodput") -> Figure:
    """Draw shares, goodput and windows below each other, or one of them.

    Parameters
    ----------
    mix : Mix
    chart, metric : str
        Arguments as in `Mix.plot`.
    """
    drawn = list(_CHARTS) if chart == "all" else [chart]
    heights = [
        1.5 + 0.13 * -(-len(mix.names) // LEGEND_COLUMNS) if name == "cwnd" else 0.55 + 0.24 * len(mix.names)
        for name in drawn
    ]
    with style():
        figure = sheet(WIDTH, 0.5 + sum(heights))
        grid = figure.subplots(len(drawn), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
        for axes, name in zip(grid[:, 0], drawn, strict=True):
            if name == "intervals":
                _intervals(axes, mix, metric)
            else:
                _CHARTS[name](axes, mix)
        count = len(mix.seeds)
        sample = f"{count} replications, {mix.judgement.level} intervals" if count > 1 else "one run"
        sample = "first replication" if chart == "cwnd" else sample
        is_cut = any(line.get_label() == CUT for axes in figure.axes for line in axes.lines)
        sample += f"; {EXPLAINED}" if is_cut else ""
        figure.suptitle(write_title(mix.scenario.title, sample), x=0.02, ha="left")
    return figure


def _share(axes: Axes, mix: Mix) -> None:
    for place, name in enumerate(mix.names):
        found = mix.estimate(name, "share")
        if found.mean is None:
            continue
        axes.barh(
            place,
            100 * found.mean,
            0.6,
            xerr=_margins(found, 0.01),
            capsize=3,
            color=choose_colour(name, place),
            error_kw={"linewidth": 0.9},
        )
    axes.axvline(100 * mix.fair, color="0.4", linestyle=":", linewidth=0.9)
    axes.set_xlim(left=0)
    mark_cuts(axes)
    axes.set_xlabel("Share of the goodput (%); dotted: fair")
    _rows(axes, mix)


def _margins(found: Estimate, divisor: float) -> list[list[float]] | None:
    """Return the lengths of an error bar below and above the mean; None without an interval."""
    if found.mean is None or found.low is None or found.high is None:
        return None
    return [[(found.mean - found.low) / divisor], [(found.high - found.mean) / divisor]]


def _goodput(axes: Axes, mix: Mix) -> None:
    unit = _draw(axes, mix, "goodput", ring="own")
    axes.set_xlabel(label("Goodput", f"{unit}; ring: all flows alike"))


def _intervals(axes: Axes, mix: Mix, metric: str) -> None:
    unit = _draw(axes, mix, metric)
    axes.set_xlabel(label(plain(metric), unit))


def _draw(axes: Axes, mix: Mix, metric: str, ring: str | None = None) -> str:
    """Draw means with intervals and single runs, and another metric as rings; return the unit."""
    kinds = [(metric, True), *([(ring, False)] if ring else [])]
    values = [mix.values(name, kind) for kind, _ in kinds for name in mix.names]
    known = [float(value) for each in values for value in each if not np.isnan(value)]
    divisor, unit = formatting.scale(known, mix.unit(metric))
    for place, name in enumerate(mix.names):
        colour = choose_colour(name, place)
        runs = mix.values(name, metric) / divisor
        axes.plot(runs, np.full(len(runs), place + 0.28), ".", color=colour, alpha=0.4, markersize=4, markeredgewidth=0)
        for kind, is_filled in kinds:
            found = mix.estimate(name, kind)
            if found.mean is None:
                continue
            axes.errorbar(
                found.mean / divisor,
                place,
                xerr=_margins(found, divisor),
                fmt="o",
                color=colour,
                markerfacecolor=colour if is_filled else "none",
                capsize=3,
                markersize=4,
            )
    axes.set_xlim(left=0)
    mark_cuts(axes)
    _rows(axes, mix)
    return unit


def _cwnd(axes: Axes, mix: Mix) -> None:
    result = mix.run(series="cwnd_bytes")
    senders = mix.list_cases()
    drawn = {flow: result.curve("cwnd_bytes", flow).cut(0.0, result.simulated_s, traces.COLUMNS) for flow in senders}
    largest = [float(columns.greatest.max(initial=0.0, where=columns.greatest > 0)) for columns in drawn.values()]
    divisor, unit = formatting.scale(largest, "B")
    explained: set[str] = set()
    for flow, columns in drawn.items():
        place = mix.names.index(senders[flow])
        traces.draw(
            axes,
            columns,
            divisor,
            has_band=len(drawn) <= THIN,
            **look(find_place(senders[flow], place)),
            linewidth=0.9 if len(drawn) <= THIN else 0.4,
            label=None if senders[flow] in explained else senders[flow],
        )
        explained.add(senders[flow])
    axes.set_xlim(0, result.simulated_s or None)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel(label("Congestion window", unit))
    axes.grid()
    explain_lines(axes, WINDOWS_IN, LEGEND_COLUMNS)


def _rows(axes: Axes, mix: Mix) -> None:
    axes.set_yticks(range(len(mix.names)), mix.names)
    axes.set_ylim(len(mix.names) - 0.4, -0.6)
    axes.set_axisbelow(True)
    axes.grid(axis="x")


_CHARTS: dict[str, Callable[[Axes, Mix], None]] = {"share": _share, "goodput": _goodput, "cwnd": _cwnd}
