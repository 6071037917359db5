"""Names at the ends of lines, so that a figure can be read without colours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.plot.style import legend_above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

NAMED_MIN, NAMED_MAX = 2, 6
"""Number of lines with names at their ends. One line needs no name there, and more names have no room."""
NAME_LETTERS = 16
"""Maximum number of letters of a name at an end. Longer names would take the room of the panel."""
LATE = 0.9
"""Least place of the end of a line, as a share of the axis. A name at the edge is far from a line that ends before."""
DISTINCT = 0.003
"""Least distance of the ends of two lines, as a share of the panel."""
APART_PT = 7.0
"""Least distance of two names, in points."""
GAP_PT = 9.0
"""Distance of names from the panel, in points. It has the line from the end to the name."""


@dataclass(frozen=True)
class End:
    """End of a line, as shares of the panel."""

    line: Line2D
    across: float
    place: float


def explain_lines(axes: Axes, height: float, most: int = 4) -> None:
    """Write the name of each line at its end. If there is too little room, draw a legend above the panel.

    Parameters
    ----------
    axes, height : optional
        See `name_lines`.
    most : int
        Maximum number of columns of the legend.
    """
    if not name_lines(axes, height):
        legend_above(axes, most)


def name_lines(axes: Axes, height: float) -> bool:
    """Write the name of each line at its end; return whether there is room for all names.

    The limits of the axes must be set.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    height : float
        Height of the panel in inches.
    """
    ends = _find_ends(axes)
    if ends is None or len(ends) * APART_PT > 72 * height:
        return False
    apart = APART_PT / 72 / height
    for end, place in zip(ends, _spread_places([end.place for end in ends], apart), strict=True):
        colour = end.line.get_color()
        axes.annotate(
            str(end.line.get_label()),
            (end.across, end.place),
            (1.0 + _find_gap(axes), place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=6,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 0},
        )
    return True


def measure_moves(axes: Axes, height: float) -> float:
    """Return how far names must move from the ends of their lines, as a share of the panel; infinite without room."""
    ends = _find_ends(axes)
    if ends is None:
        return math.inf
    places = [end.place for end in ends]
    return sum(
        abs(one - other) for one, other in zip(places, _spread_places(places, APART_PT / 72 / height), strict=True)
    )


def _find_gap(axes: Axes) -> float:
    """Return the distance of names from the panel, as a share of its width."""
    width_pt = 72 * axes.get_position().width * axes.get_figure(root=True).get_figwidth()  # type: ignore[union-attr]
    return GAP_PT / max(width_pt, GAP_PT)


def _find_ends(axes: Axes) -> list[End] | None:
    """Return the ends of the named lines from the lowest to the highest; None if the names have no place there."""
    lines = [line for line in axes.get_lines() if _is_named(line)]
    names = [str(line.get_label()) for line in lines]
    is_short = all(len(name) <= NAME_LETTERS for name in names)
    if not NAMED_MIN <= len(lines) <= NAMED_MAX or not is_short or len(set(names)) < len(names):
        return None
    ends = []
    to_axes = axes.transData + axes.transAxes.inverted()
    for line in lines:
        points = np.column_stack([np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)])
        known = points[~np.isnan(points).any(axis=1)]
        x, y = to_axes.transform(known[-1]) if len(known) else (0.0, 0.0)
        if x < LATE:
            return None
        ends.append(End(line, float(x), float(np.clip(y, 0.0, 1.0))))
    ends.sort(key=lambda end: end.place)
    # Names do not distinguish lines that end at one point, such as zero.
    if any(other.place - one.place < DISTINCT for one, other in pairwise(ends)):
        return None
    return ends


def _is_named(line: Line2D) -> bool:
    return not str(line.get_label()).startswith("_")


def _spread_places(places: Sequence[float], apart: float) -> list[float]:
    """Move sorted places to at least this distance, each as little as possible, within 0 to 1.

    >>> [round(place, 2) for place in _spread_places([0.0, 0.0, 0.5], 0.2)]
    [0.0, 0.2, 0.5]
    >>> [round(place, 2) for place in _spread_places([0.4, 0.5, 1.0], 0.2)]
    [0.35, 0.55, 1.0]
    """
    # Groups of names that touch each other have the middle of their ends.
    groups: list[list[float]] = []
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _find_span(groups[-2], apart)[1] + apart > _find_span(groups[-1], apart)[0]:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_find_span(group, apart)[0] + at * apart for group in groups for at in range(len(group))]


def _find_span(group: Sequence[float], apart: float) -> tuple[float, float]:
    """Return the places of the first and the last name of a group."""
    span = apart * (len(group) - 1)
    first = min(max(sum(group) / len(group) - span / 2, 0.0), max(1.0 - span, 0.0))
    return first, first + span
