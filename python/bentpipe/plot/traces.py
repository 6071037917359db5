"""Lines of time series in a figure: curves in columns, by the rules of `statistics.curve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.statistics.curve import Columns, choose_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from bentpipe.statistics.curve import Curve

COLUMNS = 240
"""Columns of a figure: an episode of two of them is a millimetre wide."""
ROOM = 1.3
"""Top of the axis of goodput, as a multiple of the rate of the path."""
BAND = 0.22
"""Opacity of the band from the least to the greatest value of each column."""


def average_curves(curves: Sequence[Curve], end_s: float) -> Columns:
    """Average curves in columns, each where it is known."""
    width_s = choose_width(end_s, COLUMNS)
    parts = [curve.average(0.0, end_s, width_s) for curve in curves]
    values = np.array([part.values for part in parts])
    count = (~np.isnan(values)).sum(axis=0)
    found = np.where(count > 0, np.nansum(values, axis=0) / np.maximum(count, 1), np.nan)
    return Columns(parts[0].begins, found, found, found, width_s, parts[0].end_s)


def draw(axes: Axes, columns: Columns, divisor: float, *, has_band: bool = True, **look: Any) -> None:
    """Draw a curve as steps, with a band from the least to the greatest value of each column."""
    if not len(columns.begins):
        return
    times = np.append(columns.begins, columns.end_s)
    values, least, greatest = (
        np.append(each, each[-1]) / divisor for each in (columns.values, columns.least, columns.greatest)
    )
    if has_band and np.any(least < greatest):
        # A mean of NaN is a gap.
        axes.fill_between(
            times,
            np.where(np.isnan(values), np.nan, least),
            greatest,
            step="post",
            color=look.get("color"),
            alpha=BAND,
            linewidth=0,
            zorder=1,
        )
    axes.plot(times, values, drawstyle="steps-post", **look)


def cap(axes: Axes, drawn: Sequence[Columns], divisor: float, rate_bps: float | None) -> None:
    """End the axis of goodput a little above the rate of the path. An arrow with its value marks the largest peak.

    Data that waited for a retransmission is delivered in one burst. Such a peak would make all other values tiny.
    """
    peaks = [
        (float(np.nanmax(each.greatest)), float(each.begins[int(np.nanargmax(each.greatest))] + each.width_s / 2))
        for each in drawn
        if np.isfinite(each.greatest).any()
    ]
    if rate_bps is None or not peaks or max(peaks)[0] <= ROOM * rate_bps:
        return
    top = ROOM * rate_bps / divisor
    axes.set_ylim(top=top)
    peak, at_s = max(peaks)
    left, right = axes.get_xlim()
    is_left = at_s > (left + right) / 2
    value = f"{peak / divisor:.3g}"
    axes.annotate(
        f"{value} \u25b2" if is_left else f"\u25b2 {value}",
        (at_s, top),
        (3 if is_left else -3, 1),
        textcoords="offset points",
        ha="right" if is_left else "left",
        fontsize=6,
        color="0.4",
        # A figure of another part of the run has no room for it.
        annotation_clip=True,
    )
