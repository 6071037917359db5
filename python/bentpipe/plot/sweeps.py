"""Figures of sweeps: mean and interval over the key with most values, a line per combination of the others."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bentpipe import formatting
from bentpipe.catalog import compared_keys
from bentpipe.metric import Metric, find_metric
from bentpipe.plot.axis import Axis, describe_key
from bentpipe.plot.capacity import RATES, draw_capacity
from bentpipe.plot.cuts import EXPLAINED, mark_cuts
from bentpipe.plot.ends import name_lines
from bentpipe.plot.style import (
    COLOURS,
    DASHES,
    WIDE,
    WIDTH,
    Drawing,
    at_least,
    choose_colour,
    find_width,
    grow,
    label,
    make_empty_error,
    plain,
    sheet,
    spread,
    style,
)
from bentpipe.statistics.samples import AtLeast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.statistics.estimates import Estimate, Interval

LABEL_LETTERS = 48
"""Maximum number of letters in a line below the axis."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES_MAX = 12
"""Maximum number of lines in one panel with colours and dashes. More lines need panels."""
NAMED_MAX = 14
"""Maximum number of distinct lines. Above it, only the highest and the lowest are named in a cloud of lines."""
PANELS_MAX = 15
BAND_MIN = 16
"""Minimum number of values for which intervals are bands. Bars would hide the lines."""
ROWS_MAX = 60
LINES_IN = 1.6
"""Height of a single panel in inches."""
DODGE_PT, DODGE_MOST_PT = 2.5, 10.0
"""Distance of the points of two lines at one place, and of the first and the last line, in points of print."""
OVER = 1.6
"""End of the axis, relative to the largest mean. Intervals of very few runs may be many times as wide as all values."""


@dataclass(frozen=True)
class Layout:
    """Assignment of keys to axes, colours, dashes and panels."""

    x: Axis | None
    """Horizontal axis; None if no key is numeric. Then there is a row per combination."""
    colour: str | None
    dash: str | None
    panels: list[str]
    values: dict[str, list[Any]]
    """Values of each key, in the order of the grid."""
    along: dict[str, str] = field(default_factory=dict)
    """Keys that are not shown because they vary together with another key."""

    @classmethod
    def from_points(cls, points: pl.DataFrame, keys: Sequence[str], senders: Sequence[str]) -> Layout:
        """Make the layout for the points of a grid."""
        values = {key: points[key].unique(maintain_order=True).to_list() for key in keys}
        axes = {key: Axis.from_values(key, values[key]) for key in keys if len(values[key]) > 1}
        numeric = [key for key in keys if axes.get(key) is not None and (key != "seed" or len(keys) == 1)]
        x = max(numeric, key=lambda key: len(values[key]), default=None)
        sender = next((key for key in senders if key in keys), None)
        first = [key for key in dict.fromkeys((sender, x)) if key is not None]
        others = [key for key in keys if key not in first]
        kept: list[str] = []
        along: dict[str, str] = {}
        for key in (*first, *sorted(others, key=lambda key: -len(values[key]))):
            decider = next(
                (other for other in kept if points.select(other, key).n_unique() == len(values[other])), None
            )
            if decider is not None:
                along[key] = decider
            elif len(values[key]) > 1:
                kept.append(key)
        if x not in kept:
            x = None
        rest = [key for key in kept if key != x]
        if x is None:
            colour = sender if sender in rest and len(rest) > 1 and len(values[sender]) <= len(COLOURS) else None
            return cls(None, colour, None, [], values, along)
        colour = rest.pop(0) if rest else None
        dash = None
        if colour is not None and rest:
            fewest = min(rest, key=lambda key: len(values[key]))
            if len(values[fewest]) <= len(DASHES) and len(values[fewest]) * len(values[colour]) <= LINES_MAX:
                dash = fewest
                rest.remove(fewest)
        return cls(axes[x], colour, dash, rest, values, along)


def sweep_figure(sweep: Sweep, metric: str) -> Figure:
    """Draw mean or median and interval over the numeric key with most values, a line per combination.

    If no key is numeric, the figure has a row per combination.

    Parameters
    ----------
    sweep : Sweep
    metric : str

    Raises
    ------
    BentpipeError
        Unknown metric, or no run has it.
    """
    return draw_sweep(sweep, find_metric(metric), sweep.estimates(metric)).figure


def draw_sweep(sweep: Sweep, what: Metric, estimates: Sequence[Estimate | Interval]) -> Drawing:
    """Draw the figure of a sweep from the estimates of all points, with notes."""
    if all(each.value is None for each in estimates):
        raise make_empty_error(what.name)
    with style():
        return _Drawer(sweep, what, estimates, Layout.from_points(sweep.points, sweep.keys, compared_keys())).draw()


class _Drawer:
    def __init__(self, sweep: Sweep, what: Metric, estimates: Sequence[Estimate | Interval], layout: Layout) -> None:
        self.sweep, self.what, self.layout = sweep, what, layout
        self.divisor, self.unit = formatting.scale([each.value for each in estimates], what.unit)
        self.estimates = estimates
        self.notes = [f"{key} goes with {other}" for key, other in layout.along.items()]
        self.is_cut = False

    def draw(self) -> Drawing:
        figure = self._rows() if self.layout.x is None else self._lines(self.layout.x)
        letters = 56 if find_width(figure) <= WIDTH else 112
        title, sample = plain(textwrap.fill(self.sweep.title, letters)), textwrap.fill(self._sample(), letters)
        # A long title takes no space from the panels.
        grow(figure, 0.14 * (title.count("\n") + sample.count("\n")))
        figure.suptitle(f"{title}\n{sample}".lstrip("\n"), x=0.02, ha="left")
        return Drawing(figure, self.notes)

    def _sample(self) -> str:
        bounds = ""
        if any(isinstance(each, AtLeast) for each in self.estimates):
            bounds = "; open: at least this"
            self.notes.append("open with an arrow: not every run completed, so the mean is larger")
        if self.is_cut:
            bounds += f"; {EXPLAINED}"
            self.notes.append(EXPLAINED)
        counts = sorted({each.replications for each in self.estimates if each.replications})
        if counts == [1]:
            return f"one run at each point, no intervals{bounds}"
        runs = f"{counts[-1]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        if any(
            each.replications < count
            for each, count in zip(self.estimates, self.sweep.points["replications"], strict=True)
        ):
            self.notes.append(f"runs without a {self.what.name} do not count")
        judgement = self.sweep.judgement
        return f"{judgement.statistic} of {runs} replications, {judgement.level} intervals{bounds}"

    # Lines.

    def _lines(self, x: Axis) -> Figure:
        layout = self.layout
        panels = list(product(*(layout.values[key] for key in layout.panels)))
        shown = spread(panels, PANELS_MAX)
        if len(shown) < len(panels):
            self.notes.append(f"{len(shown)} of {len(panels)} panels are shown; the tables have all")
        columns = _columns(len(shown), len(layout.values[layout.panels[-1]]) if layout.panels else 1)
        rows = -(-len(shown) // columns)
        figure = sheet(WIDTH if columns < 3 else WIDE, 0.75 + (2.0 if rows == 1 else 1.3) * rows)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        found = self._collect_points(x)
        for axes, panel in zip(grid.flat, shown, strict=False):
            self._panel(axes, x, panel, {key[1:]: line for key, line in found.items() if key[0] == panel})
            self._name(axes, panel, columns)
        for at, axes in enumerate(grid.flat):
            if at >= len(shown):
                axes.set_visible(False)
            # If the last row has a gap, the axis above it needs the numbers.
            elif at + columns >= len(shown):
                axes.tick_params(labelbottom=True)
        x.dress(grid[0, 0])
        grid[0, 0].set_xlim(*x.limits)
        grid[0, 0].set_ylim(*self._limits())
        if self.what.base in RATES:
            draw_capacity(list(grid.flat), self.sweep.list_scenarios(x.key), x.places, self.divisor)
        self.is_cut = any(mark_cuts(axes) for axes in grid.flat)
        for axes in grid.flat:
            _write_out(axes, "y")
        # With dashes for a second key, the names of both need a legend.
        is_named = len(shown) == 1 and layout.dash is None and name_lines(grid[0, 0], LINES_IN)
        lines = 0 if is_named else self._legend(figure)
        what = self._what(30 * rows)
        if len(shown) == 1:
            grid[0, 0].set(xlabel=_name_axis(x), ylabel=what)
        else:
            # The legend takes the place of the empty lines: both are at the lower edge.
            figure.supxlabel(_name_axis(x) + "\n" * lines, fontsize=8)
            figure.supylabel(what, fontsize=8)
        return figure

    def _collect_points(self, x: Axis) -> dict[tuple[Any, Any, Any], list[tuple[float, Estimate | Interval, Any]]]:
        """Return the points of each line, by panel, colour and dash."""
        found: dict[tuple[Any, Any, Any], list[tuple[float, Estimate | Interval, Any]]] = {}
        columns = [self.sweep.points[key].to_list() for key in (x.key, *self.layout.panels)]
        colours, dashes = (
            [None] * len(self.estimates) if key is None else self.sweep.points[key].to_list()
            for key in (self.layout.colour, self.layout.dash)
        )
        for (value, *panel), colour, dash, each in zip(
            zip(*columns, strict=True), colours, dashes, self.estimates, strict=True
        ):
            found.setdefault((tuple(panel), colour, dash), []).append((x.places[value], each, value))
        for line in found.values():
            line.sort(key=lambda point: point[0])
        return found

    def _panel(self, axes: Axes, x: Axis, panel: tuple[Any, ...], lines: dict[Any, Any]) -> None:
        from matplotlib.transforms import ScaledTranslation

        named_lines = self._choose_lines()
        for (colour, dash), line in lines.items():
            is_named = named_lines is None or colour in named_lines
            drawn: dict[str, Any] = {
                "color": self._colour(colour) if is_named else "0.75",
                "linestyle": self._dash(dash, colour),
                "zorder": 2.5 if is_named else 2,
            }
            if is_named:
                drawn |= {"marker": self._marker(colour), "markersize": 3, "markeredgewidth": 0}
            # Bars at one place would hide each other.
            drawn["transform"] = axes.transData + ScaledTranslation(
                self._dodge(colour) / 72,
                0,
                axes.get_figure(root=True).dpi_scale_trans,  # type: ignore[union-attr]
            )
            # A value that is zero on a log axis has no neighbours.
            *_, last = _parts(line, x.zero)
            for part in _parts(line, x.zero):
                name = self._entry(self.layout.colour, colour) if self.layout.colour and part == last else None
                places = np.array([place for place, _, _ in part])
                means, lows, highs = (
                    np.array([np.nan if getattr(each, of) is None else getattr(each, of) for _, each, _ in part])
                    / self.divisor
                    for of in ("value", "low", "high")
                )
                open_ = [isinstance(each, AtLeast) for _, each, _ in part]
                axes.plot(
                    places,
                    means,
                    **drawn,
                    label=name,
                    markevery=[at for at, is_open in enumerate(open_) if not is_open],
                )
                if not is_named:
                    continue
                for place, mean, is_open in zip(places, means, open_, strict=True):
                    if is_open:
                        at_least(axes, place, mean, drawn["color"], "y", size=3)
                # A single run has no interval, not even one without width.
                has = ~np.isnan(lows)
                if self._is_band():
                    axes.fill_between(places, lows, highs, color=drawn["color"], alpha=0.18, linewidth=0)
                    has = _lonely(lows)
                    alone = _lonely(means)
                    if alone.any():
                        axes.plot(places[alone], means[alone], ".", color=drawn["color"], markersize=3)
                if has.any():
                    axes.errorbar(
                        places[has],
                        means[has],
                        yerr=np.array([means - lows, highs - means])[:, has],
                        fmt="none",
                        ecolor=drawn["color"],
                        capsize=2,
                        elinewidth=0.7,
                        capthick=0.7,
                        zorder=drawn["zorder"],
                        transform=drawn["transform"],
                    )
        axes.grid()

    def _dodge(self, value: Any) -> float:
        """Return the distance of a line's points from their place, in points of print."""
        if self.layout.colour is None or self._is_band() or self._ramp() is not None:
            return 0.0
        values = self.layout.values[self.layout.colour]
        step = min(DODGE_PT, DODGE_MOST_PT / max(len(values) - 1, 1))
        return step * (values.index(value) - (len(values) - 1) / 2)

    def _choose_lines(self) -> set[Any] | None:
        """Choose the highest and the lowest of too many lines; None if all lines are distinct."""
        key = self.layout.colour
        if key is None or len(self.layout.values[key]) <= NAMED_MAX or self._ramp() is not None:
            return None
        sums: dict[Any, list[float]] = {}
        for value, each in zip(self.sweep.points[key], self.estimates, strict=True):
            if each.value is not None:
                sums.setdefault(value, []).append(each.value)
        order = sorted(sums, key=lambda value: sum(sums[value]) / len(sums[value]))
        return {order[0], order[-1]}

    def _ramp(self) -> Axis | None:
        """Return the scale of the colours, if there are more numbers than colours."""
        key = self.layout.colour
        if key is None or len(self.layout.values[key]) <= len(COLOURS):
            return None
        return Axis.from_values(key, self.layout.values[key])

    def _colour(self, value: Any) -> Any:
        if self.layout.colour is None:
            return COLOURS[0]
        values, ramp = self.layout.values[self.layout.colour], self._ramp()
        if ramp is not None:
            return _colours()(_share(ramp, ramp.places[value]))
        chosen = self._choose_lines()
        if chosen is not None:
            values = [each for each in values if each in chosen]
        return choose_colour(value, values.index(value))

    def _is_band(self) -> bool:
        return self.layout.x is not None and len(self.layout.x.places) >= BAND_MIN

    def _marker(self, value: Any) -> str:
        if self._is_band():
            return ""
        if self.layout.colour is None or self._ramp() is not None:
            return MARKERS[0]
        at = self.layout.values[self.layout.colour].index(value)
        # The second round of colours has other markers.
        return MARKERS[(at + at // len(COLOURS)) % len(MARKERS)]

    def _dash(self, value: Any, colour: Any) -> Any:
        if self.layout.dash is not None:
            return DASHES[self.layout.values[self.layout.dash].index(value)]
        # Markers tell the lines apart on paper without colours; bands have none.
        if not self._is_band() or self.layout.colour is None or self._ramp() is not None:
            return DASHES[0]
        return DASHES[self.layout.values[self.layout.colour].index(colour) % len(DASHES)]

    def _name(self, axes: Axes, panel: tuple[Any, ...], columns: int) -> None:
        if panel:
            names = ", ".join(self._setting(key, value) for key, value in zip(self.layout.panels, panel, strict=True))
            axes.set_title(plain(textwrap.fill(names, 60 if columns == 1 else 30)), loc="left", fontsize=7)

    def _setting(self, key: str, value: Any) -> str:
        return f"{formatting.short_key(key, self.sweep.keys)} {formatting.setting(value)}"

    def _limits(self) -> tuple[float, float]:
        """Choose the limits of the metric's axis.

        It begins at zero, unless the differences are small, and ends where the means need it.
        """
        means = [each.value / self.divisor for each in self.estimates if each.value is not None]
        ends = [each.high / self.divisor for each in self.estimates if each.high is not None]
        lows = [each.low / self.divisor for each in self.estimates if each.low is not None]
        top, bottom = max(means), min([*lows, *means])
        highest = max([*ends, *means])
        if highest > OVER * top > 0:
            highest = OVER * top
        if bottom < 0.5 * top or highest <= bottom:
            return 0, (1.05 * highest) or 1
        room = 0.08 * (highest - bottom)
        return bottom - room, highest + room

    def _what(self, width: int) -> str:
        """Write the metric in lines of this width; the unit stays with the last word."""
        return textwrap.fill(label(plain(self.what.label), self.unit).replace(" (", "\u00a0("), width)

    def _legend(self, figure: Figure) -> int:
        """Draw the meaning of colours and dashes; return the number of lines."""
        from matplotlib.lines import Line2D

        layout, ramp = self.layout, self._ramp()
        entries: list[tuple[str, Line2D]] = []
        if layout.colour is not None and ramp is not None:
            self._bar(figure, ramp)
        elif layout.colour is not None:
            chosen = self._choose_lines()
            values = layout.values[layout.colour]
            for value in values if chosen is None else [each for each in values if each in chosen]:
                drawn = {"color": self._colour(value), "marker": self._marker(value)}
                if layout.dash is None:
                    drawn["linestyle"] = self._dash(None, value)
                line = Line2D([], [], **drawn, markersize=3, markeredgewidth=0)
                entries.append((self._entry(layout.colour, value), line))
            if chosen is not None:
                entries.append((f"each of the other {len(values) - len(chosen)}", Line2D([], [], color="0.75")))
        if layout.dash is not None:
            for value in layout.values[layout.dash]:
                line = Line2D([], [], color="0.35", linestyle=self._dash(value, None))
                entries.append((self._setting(layout.dash, value), line))
        return _legend(figure, entries)

    def _entry(self, key: str, value: Any) -> str:
        # Names of congestion controls need no key.
        return str(value) if isinstance(value, str) and value[:1].isalpha() else self._setting(key, value)

    def _bar(self, figure: Figure, ramp: Axis) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LogNorm, Normalize

        low, high = min(ramp.places.values()), max(ramp.places.values())
        norm = LogNorm(low, high) if ramp.is_log else Normalize(low, high)
        bar = figure.colorbar(ScalarMappable(norm, _colours()), ax=figure.axes, location="right", aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label(_name_axis(ramp))
        if ramp.zero is not None:
            self.notes.append(f"the darkest line is {ramp.key} 0")

    # Rows.

    def _rows(self) -> Figure:
        layout, points = self.layout, self.sweep.points
        keys = [
            key
            for key in self.sweep.keys
            if key != layout.colour and key not in layout.along and len(layout.values[key]) > 1
        ]
        keys = keys or [key for key in self.sweep.keys if key not in layout.along][:1]
        short = [formatting.short_key(key, self.sweep.keys) for key in keys]
        rows: dict[tuple[Any, ...], list[tuple[Any, Estimate | Interval]]] = {}
        colours = [None] * points.height if layout.colour is None else points[layout.colour].to_list()
        for row, colour, each in zip(points.select(keys).iter_rows(), colours, self.estimates, strict=True):
            rows.setdefault(row, []).append((colour, each))
        shown = spread(list(rows), ROWS_MAX)
        if len(shown) < len(rows):
            self.notes.append(f"{len(shown)} of {len(rows)} rows are shown; the tables have all")
        senders = [None] if layout.colour is None else layout.values[layout.colour]
        step = max(0.2, 0.09 * len(senders) + 0.06)
        figure = sheet(WIDTH, 1.0 + step * len(shown) + (0.2 if layout.colour else 0))
        axes = figure.subplots()
        for at, row in enumerate(shown):
            for colour, each in rows[row]:
                if each.value is None:
                    continue
                place = senders.index(colour)
                margins = None
                if each.low is not None and each.high is not None:
                    ends = (each.value - each.low, each.high - each.value)
                    margins = [[end / self.divisor] for end in ends]
                # Cases below each other, so that none hides another.
                height = at + (0.0 if len(senders) == 1 else 0.5 * (place / (len(senders) - 1) - 0.5))
                if isinstance(each, AtLeast):
                    at_least(axes, each.value / self.divisor, height, COLOURS[place % len(COLOURS)], "x", size=3.5)
                    continue
                axes.errorbar(
                    each.value / self.divisor,
                    height,
                    xerr=margins,
                    fmt=MARKERS[place % len(MARKERS)],
                    color=COLOURS[place % len(COLOURS)],
                    markersize=3.5,
                    markeredgewidth=0,
                    capsize=2,
                    elinewidth=0.8,
                )
        names = [
            ", ".join(
                formatting.setting(value)
                if len(row) == 1 or key in compared_keys()
                else f"{name} {formatting.setting(value)}"
                for key, name, value in zip(keys, short, row, strict=True)
            )
            for row in shown
        ]
        axes.set_yticks(
            range(len(shown)),
            [
                plain(
                    textwrap.shorten(textwrap.fill(name, 28), 84, placeholder=" …")
                    if len(name) > 84
                    else textwrap.fill(name, 28)
                )
                for name in names
            ],
        )
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlim(*self._limits())
        self.is_cut = mark_cuts(axes)
        _write_out(axes, "x")
        axes.set_xlabel(self._what(44))
        axes.grid(axis="x")
        if layout.colour is not None:
            from matplotlib.lines import Line2D

            _legend(
                figure,
                [
                    (
                        self._entry(layout.colour, value),
                        Line2D(
                            [],
                            [],
                            color=COLOURS[at],
                            marker=MARKERS[at],
                            markersize=3.5,
                            markeredgewidth=0,
                            linestyle="",
                        ),
                    )
                    for at, value in enumerate(senders)
                ],
            )
        return figure


def _name_axis(axis: Axis) -> str:
    return textwrap.fill(label(plain(describe_key(axis.key)), axis.unit), LABEL_LETTERS)


def _legend(figure: Figure, entries: Sequence[tuple[str, Any]]) -> int:
    """Draw a legend below all panels, where it hides no data, in as many columns as fit; return its number of lines."""
    if not entries:
        return 0
    widths = [0.05 * len(text) + 0.35 for text, _ in entries]
    room = find_width(figure) - 0.1
    columns = next((n for n in range(len(entries), 1, -1) if sum(max(widths[at::n]) for at in range(n)) <= room), 1)
    lines = -(-len(entries) // columns)
    # Entries are read line by line, and drawn column by column.
    order = [entry for at in range(columns) for entry in entries[at::columns]]
    grow(figure, 0.13 * lines + 0.05)
    figure.legend(
        [handle for _, handle in order], [plain(text) for text, _ in order], loc="outside lower center", ncols=columns
    )
    return lines


def _colours() -> Any:
    """Return the colours of numbers: cividis, for any kind of colour vision, without the end that is faint on white."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["cividis"](np.linspace(0, 0.85, 256)))


def _columns(panels: int, last: int) -> int:
    """Count the panels in a row: as many as the last key has values, if these fit."""
    if panels <= 3:
        return 1
    if panels == 4:
        return 2
    return last if 2 <= last <= 4 else 3


def _parts(line: list[tuple[float, Any, Any]], zero: Any) -> Iterator[list[tuple[float, Any, Any]]]:
    """List the parts of a line: its connected points, and the separate point."""
    if zero is None:
        yield line
        return
    for part in ([point for point in line if point[2] == zero], [point for point in line if point[2] != zero]):
        if part:
            yield part


def _write_out(axes: Axes, which: Literal["x", "y"]) -> None:
    """Write full numbers at an axis, not distances from another number."""
    axes.ticklabel_format(axis=which, useOffset=False, scilimits=(-4, 7))


def _lonely(values: Any) -> Any:
    """Mark the values without neighbours for a line or a band."""
    has = ~np.isnan(values)
    beside = np.concatenate([[False], has, [False]])
    return has & ~beside[:-2] & ~beside[2:]


def _share(axis: Axis, place: float) -> float:
    """Return a place between the ends of an axis, from 0 to 1."""
    low, high = min(axis.places.values()), max(axis.places.values())
    if axis.is_log:
        return float(np.log(place / low) / np.log(high / low))
    return (place - low) / (high - low)
