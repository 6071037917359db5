"""What figures of the papers have in common."""

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
    """Means times a factor, with their intervals where there are such; nothing where there is no value."""
    found = list(found)
    means = np.array([np.nan if each.value is None else each.value for each in found])
    halves = np.array([0.0 if each.value is None or each.high is None else each.high - each.value for each in found])
    axes.errorbar(xs, factor * means, yerr=factor * halves, **{"markersize": 3, "capsize": 2, **style})


def legend_above(axes: Axes, columns: int) -> None:
    """A legend above the panel, where it hides no data."""
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns)
