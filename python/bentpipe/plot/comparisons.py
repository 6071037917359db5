"""Figures of comparisons: a row per sender, or their windows over time."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from bentpipe import human
from bentpipe.metrics import Metric, named
from bentpipe.plot.house import COLOURS, blank, label, nothing_of, plain, style
from bentpipe.plot.runs import windows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.comparison import Comparison
    from bentpipe.result import RunResult

LINES_MAX = 4
"""Windows in a panel: more saw teeth cannot be told apart."""


def comparison_figure(comparison: Comparison, metric: str) -> Figure:
    """Mean or median and confidence interval of each sender, with the single runs as faint dots.

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
        No such metric, or no run has it.
    """
    what = named(metric)
    if comparison.runs[what.column].is_null().all():
        raise nothing_of(what.name)
    with style():
        return _comparison_figure(comparison, what)


def _comparison_figure(comparison: Comparison, what: Metric) -> Figure:
    figure, (axes,) = blank(1, height=1.0 + 0.28 * len(comparison.senders))
    draw_comparison(axes, comparison, what.name)
    count = len(comparison.seeds)
    of = "" if comparison.statistic == "mean" else f"{comparison.statistic}s of "
    sample = f"{of}{count} replications, {100 * comparison.confidence:g} % intervals" if count > 1 else "one run"
    figure.suptitle(f"{plain(textwrap.fill(comparison.scenario.title, 56))}\n{sample}", x=0.02, ha="left")
    return figure


def windows_figure(comparison: Comparison, results: Mapping[str, RunResult]) -> Figure:
    """Congestion window over time, a line per sender: of its flow, or the mean of its flows that are active.

    Parameters
    ----------
    comparison : Comparison
    results : mapping
        A run of each sender with the series `cwnd_bytes`.
    """
    names = list(results)
    parts = [names[first : first + LINES_MAX] for first in range(0, len(names), LINES_MAX)]
    with style():
        figure, panels = blank(len(parts), height=0.6 + 1.45 * len(parts))
        for axes, part in zip(panels, parts, strict=True):
            lines = [windows(results[name]) for name in part]
            divisor, unit = human.scale([float(values.max()) for _, values in lines if len(values)], "B")
            for place, (name, (times, values)) in enumerate(zip(part, lines, strict=True)):
                axes.plot(times, values / divisor, color=COLOURS[place], drawstyle="steps-post", label=name)
            axes.set_ylim(bottom=0)
            axes.set_ylabel(label("Congestion window", unit))
            axes.grid()
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=LINES_MAX)
        panels[-1].set_xlabel("Time (s)")
        panels[-1].set_xlim(0, max(result.simulated_s for result in results.values()) or None)
        many = any(len(result.scenario.flow_names) > 1 for result in results.values())
        of = "mean over the flows that are active, first replication" if many else "first replication"
        figure.suptitle(f"{plain(textwrap.fill(comparison.scenario.title, 56))}\n{of}", x=0.02, ha="left")
    return figure


def draw_comparison(axes: Axes, comparison: Comparison, metric: str) -> None:
    """Draw mean, interval and single runs of each sender into given axes, for figures of several comparisons."""
    what = named(metric)
    divisor, unit = human.scale(comparison.runs[what.column].to_list(), what.unit)
    for place, name in enumerate(comparison.senders):
        colour = COLOURS[place % len(COLOURS)]
        values = comparison.values(name, what.name) / divisor
        # The single runs a little below, where the interval does not hide them.
        axes.plot(values, [place + 0.25] * len(values), ".", color=colour, alpha=0.4, markersize=4, markeredgewidth=0)
        found = comparison.estimate(name, what.name)
        if found.value is not None:
            margins = None
            if found.low is not None and found.high is not None:
                margins = [[(found.value - found.low) / divisor], [(found.high - found.value) / divisor]]
            axes.errorbar(found.value / divisor, place, xerr=margins, fmt="o", color=colour, capsize=3, markersize=4)
    axes.set_yticks(range(len(comparison.senders)), comparison.senders)
    axes.set_ylim(len(comparison.senders) - 0.4, -0.6)
    axes.set_xlabel(label(what.meaning, unit))
    axes.grid(axis="x")
