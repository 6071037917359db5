"""Marks of intervals that the frame of a figure cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

CUT = "_cut"
"""Label of the marks: an underscore keeps it out of legends."""
EXPLAINED = "triangles: the interval goes on"
"""Text for the caption of a figure that has such marks."""


def mark_cuts(axes: Axes) -> bool:
    """Draw a triangle where an error bar or band continues beyond the frame; return whether one was drawn.

    The limits of the axes must be set.
    """
    found = {(along, side, *place, colour) for along, side, place, colour in _cuts(axes)}
    for along, side, x, y, colour in sorted(found, key=str):
        marker = {"x": "<>", "y": "v^"}[along][side]
        axes.plot(x, y, marker, color=colour, markersize=3.5, markeredgewidth=0, clip_on=False, zorder=4, label=CUT)
    return bool(found)


def _cuts(axes: Axes) -> Iterator[tuple[str, int, tuple[float, float], Any]]:
    """List axis, side (0: low), place and colour of each end beyond the frame."""
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.colors import to_rgba

    bars = [bar for each in axes.containers for bar in getattr(each, "lines", [None, None, ()])[2]]
    for bar in bars:
        if isinstance(bar, LineCollection):
            colour = to_rgba(bar.get_color()[0])  # type: ignore[arg-type]
            for (x, y), (to_x, to_y) in bar.get_segments():
                along = "x" if y == to_y else "y"
                yield from _beyond(axes, along, [(x, y), (to_x, to_y)], colour)
    for band in axes.collections:
        # Only bands of intervals fill the space between lines.
        if isinstance(band, PolyCollection):
            colour = to_rgba(band.get_facecolor()[0], 1.0)  # type: ignore[arg-type]
            for path in band.get_paths():
                ends = [(float(x), float(y)) for x, y in np.asarray(path.vertices)]
                yield from _beyond(axes, "y", ends, colour)


def _beyond(
    axes: Axes, along: str, ends: list[tuple[float, float]], colour: Any
) -> Iterator[tuple[str, int, tuple[float, float], Any]]:
    at = "xy".index(along)
    low, high = sorted(axes.get_xlim() if along == "x" else axes.get_ylim())
    for end in ends:
        if not np.isfinite(end).all() or low <= end[at] <= high:
            continue
        side = int(end[at] > high)
        edge = (low, high)[side]
        yield along, side, (edge, end[1]) if along == "x" else (end[0], edge), colour
