"""Figures: readable in one column of a paper and on the screen, with units on the axes and intervals drawn."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import human
from bentpipe.errors import BentpipeError
from bentpipe.metrics import Metric, named
from bentpipe.reference import unit as unit_of
from bentpipe.store import refuse_unless_writable

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.comparison import Comparison
    from bentpipe.lines import Line
    from bentpipe.result import RunResult

ENDINGS = (".png", ".svg", ".pdf")
PANELS = {"goodput_bps": "Goodput", "cwnd_bytes": "Congestion window", "queue_bytes": "Queue"}
"""Series that `run_figure` draws, in this order, if they were recorded, and what it calls them."""

WIDTH = 3.5
"""Inches: one column of a paper."""

LEGEND_MAX = 8
LINKS_MAX = 3

# Okabe and Ito, "Color universal design", 2008: told apart with any kind of colour vision. Yellow is left out, it is
# too faint for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--")


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a place where no figure can be written, before any work is done for it."""
    _check_ending(path)
    refuse_unless_writable(path)


def _check_ending(path: str | os.PathLike[str]) -> None:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise BentpipeError(f"error: {path} is no name for a figure\n  expected an ending {', '.join(ENDINGS)}")


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure; the ending of the name decides the kind. Equal figures are equal files."""
    _check_ending(path)
    # Without these the file would contain the time of its making.
    undated = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[Path(path).suffix.lower()]
    try:
        with _style():
            figure.savefig(path, dpi=300, metadata=undated)
    except OSError as error:
        raise BentpipeError(f"error: {path} cannot be written: {error.strerror}") from error


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
        No such metric.
    """
    what = named(metric)
    with _style():
        return _comparison_figure(comparison, what)


def _comparison_figure(comparison: Comparison, what: Metric) -> Figure:
    figure, (axes,) = _figure(1, height=1.0 + 0.28 * len(comparison.senders))
    draw_comparison(axes, comparison, what.name)
    count = len(comparison.seeds)
    of = "" if comparison.statistic == "mean" else f"{comparison.statistic}s of "
    sample = f"{of}{count} replications, {100 * comparison.confidence:g} % intervals" if count > 1 else "one run"
    figure.suptitle(f"{textwrap.fill(comparison.scenario.title, 56)}\n{sample}", x=0.02, ha="left")
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
    axes.set_xlabel(_label(what.meaning, unit))
    axes.grid(axis="x")


def run_figure(result: RunResult) -> Figure:
    """Time series of a run, one panel each for those of `PANELS` that were recorded.

    Raises
    ------
    BentpipeError
        None of them was recorded.
    """
    names = [name for name in PANELS if name in result.recorded]
    if not names:
        raise BentpipeError("error: no time series to draw\n  record at least one of " + ", ".join(PANELS))
    with _style():
        return _run_figure(result, names)


def _run_figure(result: RunResult, names: list[str]) -> Figure:
    figure, panels = _figure(len(names), height=0.5 + 1.45 * len(names))
    of_flows = [name for name in names if "flow" in result.recorded[name].columns]
    for axes, name in zip(panels, names, strict=True):
        # The colours of flows are explained once.
        _draw(axes, result, name, has_legend=name not in of_flows[1:])
    figure.suptitle(textwrap.fill(result.scenario.title, 56), x=0.02, ha="left")
    panels[-1].set_xlabel("Time (s)" + _averaging(result, names))
    panels[-1].set_xlim(0, result.simulated_s or None)
    return figure


def _averaging(result: RunResult, names: list[str]) -> str:
    from bentpipe.lines import RATES

    is_averaged = any(_is_rate(name) and result.recorded[name].height > RATES for name in names)
    return f"; rates are means over {human.quantity(result.simulated_s / RATES, 's')}" if is_averaged else ""


def _draw(axes: Axes, result: RunResult, name: str, has_legend: bool) -> None:
    from bentpipe import lines

    table = result.recorded[name]
    entity = "link" if "link" in table.columns else "flow"
    if entity == "link":
        # Most links of a network have empty queues; those that matter have the largest.
        largest = table.group_by("link").agg(largest=_max(name)).sort("largest", "link", descending=[True, False])
        matters = largest["largest"] >= 0.1 * (largest["largest"].max() or 0)  # type: ignore[operator]
        shown = largest.filter(matters)["link"].head(LINKS_MAX).to_list()
    else:
        known = set(table["flow"].unique())
        shown = [flow for flow in result.scenario.flow_names if flow in known]
    drawn = [_line(table.filter(table[entity] == each), name, result.simulated_s) for each in shown]
    largest_value = max((float(values.max()) for _, values in drawn if len(values)), default=0.0)
    divisor, unit = human.scale([largest_value], unit_of("series", name))
    is_many = len(shown) > LEGEND_MAX
    for place, each in enumerate(shown):
        times, values = drawn[place]
        # Many lines cannot be told apart, so they are one cloud, and their mean is the line.
        colour = COLOURS[place % len(COLOURS)] if not is_many else "0.7"
        axes.plot(
            times,
            values / divisor,
            color=colour,
            linestyle=DASHES[place // len(COLOURS) % len(DASHES)] if not is_many else "-",
            linewidth=0.4 if is_many else 0.9,
            drawstyle="steps-post" if _holds(name) else "default",
            label=(f"each of {len(shown)}" if place == 0 else None) if is_many else each,
            rasterized=len(times) > 20_000,
        )
    if is_many:
        times, values = lines.mean(drawn, _spans(result, shown), result.simulated_s, holds=_holds(name))
        axes.plot(times, values / divisor, color=COLOURS[0], linewidth=1.2, label="mean of those active")
    axes.set_ylim(bottom=0)
    axes.set_ylabel(_label(PANELS[name], unit))
    axes.grid()
    if has_legend:
        # Above the panel, where it hides no data.
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4)


def _line(rows: pl.DataFrame, name: str, end_s: float) -> Line:
    from bentpipe import lines

    return lines.rates(rows, name, end_s) if _is_rate(name) else lines.line(rows, name)


def _holds(name: str) -> bool:
    """Between two rows of a series that is recorded on change, the value does not change."""
    return name == "cwnd_bytes"


def _is_rate(name: str) -> bool:
    return unit_of("series", name) == "bit/s"


def _spans(result: RunResult, flows: Sequence[str]) -> list[tuple[float, float]]:
    """From when to when each of the flows was active."""
    rows = {row["flow"]: row for row in result.flows.iter_rows(named=True)}
    return [(rows[flow]["start_s"], rows[flow]["start_s"] + (rows[flow]["completion_s"] or math.inf)) for flow in flows]


def _max(name: str) -> pl.Expr:
    import polars as pl

    return pl.col(name).max()


def _figure(panels: int, height: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Figure objects, not pyplot: the caller's figures and backend are left alone.
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(panels, 1, sharex=True, squeeze=False)
    return figure, list(grid[:, 0])


def _style() -> AbstractContextManager[None]:
    from matplotlib import rc_context

    return rc_context(_STYLE)


def _label(what: str, unit: str) -> str:
    return f"{what} ({unit})" if unit else what


# The keys are literal types in some versions of matplotlib and plain text in others.
_STYLE: dict[Any, object] = {
    "font.size": 8,
    "figure.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 6,
    "legend.frameon": False,
    "legend.borderaxespad": 0.2,
    "legend.columnspacing": 1.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.4,
    "lines.linewidth": 0.9,
    "pdf.fonttype": 42,
    "svg.hashsalt": "bentpipe",
}
