"""House style of figures: column width, colours for all kinds of vision, and reproducible files."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bentpipe import files, formatting
from bentpipe.catalog import names
from bentpipe.errors import BentpipeError
from bentpipe.files import refuse_unless_writable

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.scenario.scenario import Scenario

ENDINGS = (".png", ".svg", ".pdf")

WIDTH = 3.5
"""Width of one column of a paper, in inches."""
WIDE = 7.0
"""Width of both columns, in inches."""

# Okabe and Ito, "Color universal design", 2008: distinct for any kind of colour vision. Without yellow, which is too
# faint for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
COMMON = ("cubic", "reno", "bbr3", "hybla", "vegas", "bbr1", "westwood")
"""Congestion controls that are often compared. Each has its own colour, the others share them with other dashes."""
DASHES = ("-", (0, (4, 1.2)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)))
"""Solid, dashed, dotted, dashes with dots: lines differ on paper without colours, too."""

Size = tuple[float, float]
"""Width and height in inches."""
Labels = Mapping[str, str]
"""Labels of the axes, by `x` and `y`."""
FAR = 3.0
"""Ratio of the link rate to the end of the axis above which the rate is left out, as it would squeeze the data."""
ROOM = 1.15
"""Least end of the axis relative to the rate of a link, so that the name fits above the line."""
TITLE_LETTERS = 56
"""Maximum number of letters in a line of the title."""
LEGEND_WIDTH, LEGEND_LINE = 60, 9
"""Letters that fit above a panel, and the letters that a line with its gaps takes."""
NOTE = "note"
"""Mark of the note among the texts of a figure."""
NOTE_LETTERS = 17
"""Letters of a note for each inch of the figure."""
NOTE_BELOW_PT = 30.0
"""Distance of a note from the last panel, in points: numbers and label of the axis are between them."""
SIZE_MAX = 100.0
"""Largest size in inches. A larger size is probably a typing mistake, and takes gigabytes."""


@dataclass(frozen=True)
class Drawing:
    """A figure, with notes for its reader."""

    figure: Figure
    notes: list[str]


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a place where no figure can be written, before any work."""
    _check_ending(path)
    refuse_unless_writable(path)


def check_size(size: Size) -> Size:
    """Refuse a size that no figure can have, before any work."""
    try:
        width, height = (float(each) for each in size)
    except (TypeError, ValueError):
        raise BentpipeError(f"size = {size!r}\n  expected two numbers: width and height in inches") from None
    if not (0 < width <= SIZE_MAX and 0 < height <= SIZE_MAX):
        raise BentpipeError(
            f"a figure of {width:g} x {height:g} inches\n  expected two numbers above 0, to {SIZE_MAX:g}"
        )
    return size


def _check_ending(path: str | os.PathLike[str]) -> None:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise BentpipeError(f"{path} has no ending of a figure\n  expected one of {', '.join(ENDINGS)}")


def save(figure: Figure, path: str | os.PathLike[str], note: str = "", dpi: int = 300) -> None:
    """Write a figure. The ending of the name is its format. Equal figures are equal files.

    An older file stays unchanged until the new file is whole.

    The note goes into the file's description, and stays with the figure. `dpi` has an effect only on PNG.
    """
    _check_ending(path)
    # Otherwise the file would contain the time of its creation.
    ending = Path(path).suffix.lower()
    about: dict[str, Any] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[ending]
    if note:
        about["Subject" if ending == ".pdf" else "Description"] = note
    content = io.BytesIO()
    with style():
        figure.savefig(content, format=ending[1:], dpi=dpi, metadata=about)
    with files.writing(path):
        files.replace(path, content.getvalue())


def dress_figure(
    figure: Figure, size: Size | None = None, title: str | None = None, labels: Labels | None = None
) -> Figure:
    """Give a figure another size, title and labels.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    size : (float, float), optional
        Width and height in inches.
    title : str, optional
        Title that replaces title and sample; empty for none.
    labels : mapping, optional
        Labels of the axes, by `x` and `y`.

    Raises
    ------
    BentpipeError
        The size is invalid, a key is not `x` or `y`, or the panels of the figure have different labels.
    """
    if size is not None:
        figure.set_size_inches(*check_size(size))
    if title is not None:
        figure.suptitle(plain(title), x=0.02, ha="left", fontsize=STYLE["figure.titlesize"])
    for which, text in (labels or {}).items():
        if which not in ("x", "y"):
            raise BentpipeError(f"a label of {which}\n  expected labels of x and y")
        _relabel(figure, which, plain(text))
    if size is not None:
        _wrap_labels(figure)
    return figure


def _wrap_labels(figure: Figure) -> None:
    """Break the labels beside panels that would leave a low figure."""
    figure.draw_without_rendering()
    for axes in figure.axes:
        text, extent = axes.get_ylabel(), axes.yaxis.label.get_window_extent()
        middle = (extent.y0 + extent.y1) / 2
        room = 2 * min(middle - figure.bbox.y0, figure.bbox.y1 - middle)
        if extent.height > room > 0:
            letters = max(1, int(max(map(len, text.split("\n"))) * room / extent.height))
            axes.set_ylabel(textwrap.fill(text, letters, break_long_words=False))


def _relabel(figure: Figure, which: str, text: str) -> None:
    # A label of all panels is a text of the figure.
    whole = getattr(figure, f"_sup{which}label", None)
    if whole is not None:
        whole.set_text(text)
        return
    have = [axes for axes in figure.axes if getattr(axes, f"get_{which}label")()]
    if len({getattr(axes, f"get_{which}label")() for axes in have}) > 1:
        raise BentpipeError(f"the panels have different labels of {which}\n  expected a figure of one panel")
    for axes in have or figure.axes:
        getattr(axes, f"set_{which}label")(text)


def write_title(title: str, sample: str) -> str:
    """Write the title of a scenario, if it has one, above the sample of a figure."""
    return f"{plain(textwrap.fill(title, TITLE_LETTERS))}\n{textwrap.fill(sample, TITLE_LETTERS)}".lstrip("\n")


def draw_rate(axes: Axes, scenarios: Iterable[Scenario], divisor: float, along: Literal["x", "y"]) -> None:
    """Draw a line at the rate of the bottleneck, the limit of goodput, if all flows and scenarios share this rate."""
    found = {scenario.bottleneck() for scenario in scenarios}
    if len(found) != 1 or None in found:
        return
    ((link, rate_bps),) = (each for each in found if each is not None)
    draw_limit(axes, rate_bps / divisor, plain(f"{link}: {formatting.quantity(rate_bps, 'bit/s')}"), along)


def draw_limit(axes: Axes, place: float, name: str, along: Literal["x", "y"] = "y") -> None:
    """Draw a dotted line with a name at a limit of the curves, unless the limit is far above them."""
    from matplotlib.patheffects import withStroke

    line: dict[str, Any] = {"color": "0.4", "linestyle": ":", "linewidth": 0.9}
    # A curve close to the limit is below the line. An edge separates the name from lines that cross it.
    edge = [withStroke(linewidth=1.5, foreground="white")]
    text: dict[str, Any] = {"fontsize": 6, "color": "0.4", "textcoords": "offset points", "path_effects": edge}
    if place > FAR * (axes.get_ylim() if along == "y" else axes.get_xlim())[1]:
        return
    if along == "y":
        axes.axhline(place, **line)
        axes.set_ylim(top=max(axes.get_ylim()[1], ROOM * place))
        axes.annotate(name, (1, place), (-2, 2), xycoords=("axes fraction", "data"), ha="right", va="bottom", **text)
    else:
        axes.axvline(place, **line)
        axes.annotate(name, (place, 1), (-3, -1), xycoords=("data", "axes fraction"), ha="right", va="top", **text)


_place: ContextVar[Axes | None] = ContextVar("place", default=None)
"""Axes whose place the next figure takes."""


@contextmanager
def use_place(axes: Axes | None) -> Iterator[None]:
    """Draw figures in the place of these axes within this context; None for separate figures.

    Raises
    ------
    BentpipeError
        The value is not axes of matplotlib, or the axes have no place in a grid.
    """
    if axes is not None and getattr(axes, "get_subplotspec", lambda: None)() is None:
        raise BentpipeError(
            f"axes = {axes!r}\n  expected axes of a grid of matplotlib: pyplot.subplots(1, 2, layout='constrained')"
        )
    before = _place.set(axes)
    try:
        yield
    finally:
        _place.reset(before)


def find_width(figure: Figure) -> float:
    """Return the width of a figure, or of a part of a figure, in inches."""
    return float(figure.bbox.width / figure.dpi)


def grow(figure: Figure, inches: float) -> None:
    """Make a figure higher. A part of another figure keeps the height that it has there."""
    if _place.get() is None:
        figure.set_figheight(figure.get_figheight() + inches)


def sheet(width: float, height: float) -> Figure:
    """Make an empty figure, with its size in inches; or a part of another figure, see `use_place`."""
    axes = _place.get()
    if axes is not None:
        spec, whole = axes.get_subplotspec(), axes.get_figure()
        axes.remove()
        return whole.add_subfigure(spec)  # type: ignore[union-attr, arg-type, return-value]
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from bentpipe.plot.shown import Figure

    # Figure objects, not pyplot: the caller's figures and backend stay unchanged.
    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def blank(panels: int, height: float) -> tuple[Figure, list[Axes]]:
    """Make a figure with the width of a column, its height in inches, and stacked panels that share their x axis."""
    made = sheet(WIDTH, height)
    grid = made.subplots(panels, 1, sharex=True, squeeze=False)
    return made, list(grid[:, 0])


def make_empty_error(metric: str) -> BentpipeError:
    """Return the error for a metric that no run has: empty axes would look like a result."""
    return BentpipeError(f"no run has a value of {metric}\n  expected a metric with values")


def style() -> AbstractContextManager[None]:
    """Draw in the house style within this context."""
    from matplotlib import rc_context

    return rc_context(STYLE)


def plain(text: str) -> str:
    """Escape text of the user for matplotlib, so that a dollar sign does not start a formula."""
    return text.replace("$", r"\$")


def find_place(name: Any, position: int) -> int:
    """Return the place of a case among the looks of lines. A congestion control has the same look in all figures.

    Parameters
    ----------
    name : str
        Name of the case. For cases that are not congestion controls, `position` is the place.
    position : int
    """
    known = (*COMMON, *(each for each in names("cc") if each not in COMMON))
    return known.index(name) if name in known else position


def choose_colour(name: Any, position: int) -> str:
    """Return the colour of a case; see `find_place`."""
    return COLOURS[find_place(name, position) % len(COLOURS)]


def look(place: int) -> dict[str, Any]:
    """Return colour and dashes of the line with this place. Lines with the same dashes differ as greys."""
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": DASHES[place % len(DASHES)]}


def spread(items: list[Any], most: int) -> list[Any]:
    """Return at most `most` of the items, spaced evenly from the first to the last."""
    if len(items) <= most:
        return items
    return [items[round(at * (len(items) - 1) / (most - 1))] for at in range(most)]


def label(what: str, unit: str) -> str:
    """Write the label of an axis, with its unit if it has one."""
    return f"{what} ({unit})" if unit else what


def write_note(axes: Axes, text: str) -> None:
    """Write how to read a figure below its last panel, in small letters across the figure."""
    figure = axes.get_figure()
    letters = int(NOTE_LETTERS * find_width(figure))  # type: ignore[arg-type]
    note = textwrap.fill(text, letters)
    grow(figure, 0.11 * (note.count("\n") + 1))  # type: ignore[arg-type]
    axes.annotate(
        plain(note),
        (1, 0),
        (0, -NOTE_BELOW_PT),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=6,
        color="0.3",
        annotation_clip=False,
        gid=NOTE,
    )


def legend_above(axes: Axes, most: int = 4) -> None:
    """Draw a legend above the panel, where it hides no data, in as many columns as fit."""
    texts = axes.get_legend_handles_labels()[1]
    longest = max(map(len, texts), default=0)
    columns = max(1, min(most, int(LEGEND_WIDTH // (longest + LEGEND_LINE))))
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns)


def at_least(axes: Axes, x: float, y: float, colour: Any, along: Literal["x", "y"], size: float = 4) -> None:
    """Draw a lower bound: an open mark, and an arrow along the axis of the value."""
    axes.plot(x, y, "o", color=colour, markerfacecolor="none", markersize=size, markeredgewidth=0.8, zorder=3)
    axes.annotate(
        "",
        (x, y),
        (13, 0) if along == "x" else (0, 13),
        textcoords="offset points",
        # From the offset to the mark, so the head is at the tail.
        arrowprops={"arrowstyle": "<-", "color": colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": size / 2},
    )


# The keys are literal types in some versions of matplotlib and plain text in others.
STYLE: dict[Any, object] = {
    "font.size": 8,
    "figure.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 6,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.borderaxespad": 0.2,
    "legend.columnspacing": 1.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.4,
    "lines.linewidth": 0.9,
    "hatch.linewidth": 0.3,
    "pdf.fonttype": 42,
    "svg.hashsalt": "bentpipe",
}
