"""Heat maps of sweeps: the mean in each cell of two axes, a panel for each case or value of the other keys."""

from __future__ import annotations

import textwrap
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting
from bentpipe.catalog import compared_keys
from bentpipe.metric import Metric, named_point
from bentpipe.plot.axis import describe_key, numbers
from bentpipe.plot.style import (
    WIDE,
    WIDTH,
    Drawing,
    find_width,
    grow,
    label,
    make_empty_error,
    plain,
    sheet,
    spread,
    style,
)
from bentpipe.statistics.samples import AtLeast, bound, has_transfers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.statistics.samples import Counts

PANELS_MAX = 12
COLUMNS_MAX = 12
"""Maximum number of cells in a row with readable numbers."""
DARK, LIGHT = "#0a0a0a", "#fafafa"
"""Ink on cells. Pages replace black by the colour of their text, and remove white."""
LETTER = 0.06
"""Width of a letter at an axis, in inches."""
RATIO = 30
"""Ratio of the largest to the smallest mean above which colours are logarithmic."""


def choose_axes(points: pl.DataFrame, keys: Sequence[str], *, has_cases: bool) -> tuple[str, str, list[str]] | None:
    """Choose the keys of the axes and of the panels; None if there are no two axes.

    Each case has its own panel. If there is only one other key, `has_cases` makes the cases an axis.
    """
    values = {key: points[key].n_unique() for key in keys if points[key].n_unique() > 1}
    # A key that another key decides is not an axis.
    free: list[str] = []
    for key in values:
        if not any(points.select(other, key).n_unique() == values[other] for other in free):
            free.append(key)
    plain_keys = sorted((key for key in free if key not in (*compared_keys(), "seed")), key=lambda key: -values[key])
    cases = [key for key in free if key in compared_keys()]
    if len(plain_keys) == 1 and has_cases:
        plain_keys += cases[:1]
    if len(plain_keys) < 2:
        return None
    across, up = plain_keys[:2]
    return across, up, [key for key in free if key not in (across, up)]


def draw_map(
    sweep: Sweep, what: Metric, estimates: Sequence[Estimate | Interval], *, has_cases: bool = False
) -> Drawing | None:
    """Draw the mean of a metric over two keys, or with `has_cases` over cases and a key; return None without two axes.

    Colours are cividis, for any kind of colour vision. Bright is better. A cell with `>` and hatching is a bound: not
    all its runs completed.

    Raises
    ------
    BentpipeError
        No run has the metric.
    """
    if all(each.value is None for each in estimates):
        raise make_empty_error(what.name)
    found = choose_axes(sweep.points, sweep.keys, has_cases=has_cases)
    if found is None:
        return None
    with style():
        return _Mapper(sweep, what, estimates, *found).draw()


class _Mapper:
    def __init__(
        self,
        sweep: Sweep,
        what: Metric,
        estimates: Sequence[Estimate | Interval],
        across: str,
        up: str,
        panels: list[str],
    ) -> None:
        self.sweep, self.what, self.estimates = sweep, what, estimates
        self.across, self.up, self.panels = across, up, panels
        self.divisor, self.unit = formatting.scale([each.value for each in estimates], what.unit)
        self.values = {
            key: _order_values(sweep.points[key].unique(maintain_order=True).to_list()) for key in sweep.keys
        }
        self.notes: list[str] = []
        self.width = WIDTH

    def draw(self) -> Drawing:
        every = list(product(*(self.values[key] for key in self.panels)))
        shown = spread(every, PANELS_MAX)
        if len(shown) < len(every):
            self.notes.append(f"{len(shown)} of {len(every)} panels are shown; the tables have all")
        width, height = len(self.values[self.across]), len(self.values[self.up])
        beside = 1 if len(shown) == 1 or width > COLUMNS_MAX // 2 else 2
        rows = -(-len(shown) // beside)
        figure = sheet(
            WIDTH if beside == 1 and width <= COLUMNS_MAX // 2 else WIDE, 0.9 + rows * (0.35 + 0.27 * height)
        )
        grid = figure.subplots(rows, beside, sharex=True, sharey=True, squeeze=False)
        # Width of a panel, without the axis on the left and the scale of colours.
        self.width = (find_width(figure) - 1.3) / beside
        cells = self._cells()
        norm = self._norm()
        for axes, panel in zip(grid.flat, shown, strict=False):
            self._panel(axes, norm, {key[-2:]: each for key, each in cells.items() if key[:-2] == panel})
            if panel:
                names = named_point(dict(zip(self.panels, panel, strict=True)), self.sweep.keys, self.panels)
                axes.set_title(plain(names), loc="left", fontsize=7)
        for axes in list(grid.flat)[len(shown) :]:
            axes.set_visible(False)
        self._bar(figure, grid, norm)
        figure.supxlabel(plain(describe_key(self.across)), fontsize=8)
        figure.supylabel(plain(describe_key(self.up)), fontsize=8)
        title = plain(textwrap.fill(self.sweep.title, 56 if find_width(figure) <= WIDTH else 112))
        grow(figure, 0.14 * title.count("\n"))
        bounds = "; > and hatched: at least this" if any(isinstance(each, AtLeast) for each in self.estimates) else ""
        figure.suptitle(f"{title}\n{label(plain(self.what.label), self.unit)}{bounds}".lstrip("\n"), x=0.02, ha="left")
        return Drawing(figure, self.notes)

    def _cells(self) -> dict[tuple[Any, ...], tuple[Estimate | Interval, Counts]]:
        rows = self.sweep.points.select(*self.panels, self.up, self.across).iter_rows()
        values = zip(self.estimates, self.sweep.counts(self.what.name), strict=True)
        return dict(zip(rows, values, strict=True))

    def _norm(self) -> Normalize:
        from matplotlib.colors import LogNorm, Normalize

        means = [each.value / self.divisor for each in self.estimates if each.value is not None]
        low, high = min(means), max(means)
        return LogNorm(low, high) if low > 0 and high > RATIO * low else Normalize(low, high if high > low else low + 1)

    def _panel(
        self, axes: Axes, norm: Normalize, cells: dict[tuple[Any, ...], tuple[Estimate | Interval, Counts]]
    ) -> None:
        from matplotlib.patches import Rectangle

        ups, across = self.values[self.up], self.values[self.across]
        colours = self._colours()
        for (up, at), (each, counts) in cells.items():
            y, x = ups.index(up), across.index(at)
            if each.value is None:
                axes.text(x, y, formatting.MISSING, ha="center", va="center", fontsize=6)
                continue
            colour = colours(norm(each.value / self.divisor))
            is_bound = isinstance(each, AtLeast)
            # The better readable ink (luminance, ITU-R BT.709).
            ink = DARK if np.dot(colour[:3], (0.2126, 0.7152, 0.0722)) > 0.45 else LIGHT
            axes.add_patch(
                Rectangle(
                    (x - 0.5, y - 0.5),
                    1,
                    1,
                    facecolor=colour,
                    edgecolor=ink if is_bound else "none",
                    linewidth=0,
                    hatch="///" if is_bound else None,
                    alpha=1,
                )
            )
            if len(across) <= COLUMNS_MAX:
                box = {"facecolor": colour, "edgecolor": "none", "pad": 0.6} if is_bound else None
                text = bound(formatting.mean_and_margin(each.value / self.divisor, None)[0], each)
                text += "" if counts.is_whole or has_transfers(self.what) else f"\n{counts}"
                axes.text(x, y, text, ha="center", va="center", fontsize=6, color=ink, bbox=box)
        axes.set_xlim(-0.5, len(across) - 0.5)
        axes.set_ylim(-0.5, len(ups) - 0.5)
        # As many ticks as there is room for their texts.
        texts = [_tick(value) for value in across]
        fit = max(1, int(self.width / (LETTER * (max(map(len, texts)) + 2))))
        step = -(-len(across) // fit)
        axes.set_xticks(range(0, len(across), step), texts[::step])
        axes.set_yticks(range(len(ups)), [_tick(value) for value in ups])
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)

    def _colours(self) -> Any:
        from matplotlib import colormaps

        return colormaps["cividis" if self.what.is_more_better else "cividis_r"]

    def _bar(self, figure: Figure, grid: Any, norm: Normalize) -> None:
        from matplotlib.cm import ScalarMappable

        bar = figure.colorbar(ScalarMappable(norm, self._colours()), ax=grid, location="right", aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label(label(self.what.name, self.unit))


def _tick(value: Any) -> str:
    """Write a value of a key with three digits: steps of a logarithmic range have many."""
    return plain(formatting.setting(float(f"{value:.3g}") if isinstance(value, float) else value))


def _order_values(values: list[Any]) -> list[Any]:
    """Sort numbers by size, and keep the order of other values."""
    found = numbers(values)
    return values if found is None else [value for _, value in sorted(zip(found[0], values, strict=True))]
