"""Helpers for figures of papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.plot.style import COLOURS, blank, label, style

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from bentpipe.papers.lab import Finding


__all__ = ["COLOURS", "blank", "intervals", "label", "legend_above", "style"]


def intervals(axes: Axes, xs: Sequence[float], found: Iterable[Finding], *, factor: float = 1.0, **style: Any) -> None:
    """Draw means times a factor, with their intervals. Missing values and intervals are not drawn."""
    found = list(found)
    means = np.array([np.nan if each.value is None else each.value for each in found])
    halves = np.array([0.0 if each.value is None or each.high is None else each.high - each.value for each in found])
    axes.errorbar(xs, factor * means, yerr=factor * halves, **{"markersize": 3, "capsize": 2, **style})


def legend_above(axes: Axes, columns: int) -> None:
    """Put the legend above the panel, where it hides no data."""
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns)
