"""Figures of comparisons: a row per case, or windows over time."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting
from bentpipe.metric import Metric, find_metric
from bentpipe.plot import traces
from bentpipe.plot.capacity import RATES
from bentpipe.plot.ends import explain_lines
from bentpipe.plot.runs import PANEL_IN, windows
from bentpipe.plot.style import (
    at_least,
    blank,
    choose_colour,
    draw_rate,
    find_place,
    label,
    look,
    make_empty_error,
    plain,
    style,
    write_title,
)
from bentpipe.statistics.samples import AtLeast, has_transfers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.experiment.results.comparison import Comparison
    from bentpipe.experiment.single.run_result import RunResult

LABEL_LETTERS = 44
"""Maximum number of letters in a line of a label. Longer lines would be cut off."""
FAR = 5.0
"""Ratio of the largest window to the second largest above which the axis ends at the second."""
LINES_MAX = 4
"""Maximum number of windows in a panel. More saw teeth look alike."""


def comparison_figure(comparison: Comparison, metric: str) -> Figure:
    """Draw mean or median and confidence interval of each case, with the single runs as faint dots.

    Parameters
    ----------
    comparison : Comparison
    metric : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    BentpipeError
        Unknown metric, or no run has it.
    """
    what = find_metric(metric)
    if not comparison.order_cases(what.name):
        raise make_empty_error(what.name)
    with style():
        return _comparison_figure(comparison, what)


def _comparison_figure(comparison: Comparison, what: Metric) -> Figure:
    figure, (axes,) = blank(1, height=1.0 + 0.28 * len(comparison.names))
    draw_comparison(axes, comparison, what.name)
    count = len(comparison.seeds)
    of = "" if comparison.judgement.statistic == "mean" else f"{comparison.judgement.statistic}s of "
    sample = f"{of}{count} replications, {comparison.judgement.level} intervals" if count > 1 else "one run"
    if any(isinstance(comparison.estimate(name, what.name), AtLeast) for name in comparison.names):
        sample += "; open: at least this"
    figure.suptitle(write_title(comparison.scenario.title, sample), x=0.02, ha="left")
    return figure


def _find_usual(largest: Sequence[float]) -> float | None:
    """Return the second largest window if the largest is far above it; None otherwise."""
    order = sorted(largest)
    return order[-2] if len(order) > 1 and order[-1] > FAR * order[-2] > 0 else None


def _scale_ratios(axes: Axes, values: list[float]) -> None:
    """Make the axis of ratios logarithmic, so that half and double are equally far from 1; not if one is 0."""
    if min(values, default=0.0) <= 0:
        return
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    axes.set_xscale("log")
    low, high = min(*values, 1.0), max(*values, 1.0)
    nice = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    ticks = [tick for tick in nice if low <= tick <= high]
    if len(ticks) < 3:
        ticks = [tick for tick in MaxNLocator(5).tick_values(low, high) if tick > 0]
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def ratio_figure(comparison: Comparison, metric: str) -> Figure:
    """Draw the ratio of each case to the baseline, with its interval.

    Raises
    ------
    BentpipeError
        There is no baseline, or no ratio to it.
    """
    what, names = find_metric(metric), [name for name in comparison.names if name != comparison.against]
    found = [comparison.ratio(name, metric=what.name) for name in names]
    with style():
        figure, (axes,) = blank(1, height=1.0 + 0.28 * len(names))
        for place, each in enumerate(found):
            if each.value is None:
                continue
            margins = None
            if each.low is not None and each.high is not None:
                margins = [[each.value - each.low], [each.high - each.value]]
            colour = choose_colour(names[place], comparison.names.index(names[place]))
            axes.errorbar(each.value, place, xerr=margins, fmt="o", color=colour, capsize=3, markersize=4)
        axes.axvline(1, color="0.4", linestyle=":", linewidth=0.9)
        _scale_ratios(axes, [end for each in found for end in (each.value, each.low, each.high) if end is not None])
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel(plain(f"{what.label} over that of {comparison.against}"))
        axes.grid(axis="x")
        count = len(comparison.seeds)
        sample = f"{count} pairs, {comparison.judgement.level} intervals" if count > 1 else "one run"
        figure.suptitle(write_title(comparison.scenario.title, sample), x=0.02, ha="left")
    return figure


def windows_figure(comparison: Comparison, results: Mapping[str, RunResult]) -> Figure:
    """Draw congestion windows over time, a line per case: of its flow, or the mean of its active flows.

    Parameters
    ----------
    comparison : Comparison
    results : mapping
        A run of each case with the series `cwnd_bytes`.
    """
    names = list(results)
    parts = [names[first : first + LINES_MAX] for first in range(0, len(names), LINES_MAX)]
    with style():
        figure, panels = blank(len(parts), height=0.6 + 1.45 * len(parts))
        lines = {name: windows(result) for name, result in results.items()}
        largest = [float(each.greatest.max(initial=0.0, where=each.greatest > 0)) for each in lines.values()]
        usual = _find_usual(largest)
        divisor, unit = formatting.scale([usual or max(largest)], "B")
        for axes, part in zip(panels, parts, strict=True):
            for name in part:
                place = find_place(name, names.index(name))
                traces.draw(axes, lines[name], divisor, **look(place), label=name)
            # All panels have one scale. A window far above all others must not press them to the ground.
            axes.set_ylim(0, (traces.ROOM * usual if usual else 1.05 * max(largest)) / divisor or 1)
            axes.set_ylabel(label("Congestion window", unit))
            axes.grid()
        panels[-1].set_xlabel("Time (s)")
        panels[-1].set_xlim(0, max(result.simulated_s for result in results.values()) or None)
        for axes, part in zip(panels, parts, strict=True):
            if usual is not None:
                traces.cap(axes, [lines[name] for name in part], divisor, usual)
            explain_lines(axes, PANEL_IN)
        many = any(len(result.scenario.flow_names) > 1 for result in results.values())
        of = "mean over the flows that are active, first replication" if many else "first replication"
        figure.suptitle(write_title(comparison.scenario.title, of), x=0.02, ha="left")
    return figure


def draw_comparison(axes: Axes, comparison: Comparison, metric: str) -> None:
    """Draw mean, interval and single runs of each case into given axes, for figures of several comparisons.

    If not every run completed, the mean is larger than the drawn value, shown as an open mark with an arrow.
    """
    what = find_metric(metric)
    samples = [comparison.sample(name, what.name) for name in comparison.names]
    found = [comparison.estimate(name, what.name) for name in comparison.names]
    divisor, unit = formatting.scale(
        [*(value for each in samples for value in each.values), *(each.value for each in found)], what.unit
    )
    names = []
    for place, (name, sample, each) in enumerate(zip(comparison.names, samples, found, strict=True)):
        colour = choose_colour(name, place)
        dots: dict[str, Any] = {"color": colour, "alpha": 0.4, "markersize": 4, "markeredgewidth": 0}
        # The single runs a little below, where the interval does not hide them.
        height = [place + 0.25] * len(sample.values)
        axes.plot(sample.values / divisor, height, ".", **dots)
        held = np.where(np.isnan(sample.values), sample.bounds, np.nan) / divisor
        axes.plot(held, height, ">", **{**dots, "markersize": 3})
        names.append(name if sample.counts.is_whole else f"{name}\n{sample.counts} {_name_end(what)}")
        if isinstance(each, AtLeast) and each.value is not None:
            at_least(axes, each.value / divisor, place, colour, "x")
        elif each.value is not None:
            margins = None
            if each.low is not None and each.high is not None:
                margins = [[(each.value - each.low) / divisor], [(each.high - each.value) / divisor]]
            axes.errorbar(each.value / divisor, place, xerr=margins, fmt="o", color=colour, capsize=3, markersize=4)
    if any(isinstance(each, AtLeast) for each in found):
        # For the arrows, which the axis does not include.
        axes.margins(x=0.1)
    if what.base in RATES:
        draw_rate(axes, comparison.scenarios.values() or [comparison.scenario], divisor, "x")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(textwrap.fill(label(plain(what.label), unit), LABEL_LETTERS))
    axes.grid(axis="x")


def _name_end(what: Metric) -> str:
    return "finished" if has_transfers(what) else "completed"
