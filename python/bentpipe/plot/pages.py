"""Waterfall of a page: the waits of each object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.errors import BentpipeError
from bentpipe.plot.style import COLOURS, WIDTH, legend_above, plain, sheet, style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.experiment.single.run_result import RunResult

PARTS = (
    ("wait", "due_s", "request_s", "#bbbbbb"),
    ("request and answer", "request_s", "first_byte_s", COLOURS[4]),
    ("bytes", "first_byte_s", "last_byte_s", COLOURS[0]),
)
"""Parts of a bar, each with its two columns and its colour."""
ROW_IN = 0.055
"""Height of an object, in inches."""
HEIGHT_IN = 1.2
"""Height of title, legend and axis, in inches."""


def waterfall_figure(result: RunResult, start: float, end: float) -> Figure:
    """Draw a bar for each object of the page that took longest, of those that begin between `start` and `end`.

    A bar has three parts: the wait for a connection, the request until the first byte of the answer, and its bytes.

    Raises
    ------
    BentpipeError
        No page was complete, or the series `objects` was not recorded.
    """
    objects = find_slowest(result, start, end)
    with style():
        figure = sheet(WIDTH, HEIGHT_IN + ROW_IN * objects.height)
        axes = figure.subplots()
        begin_s = objects["due_s"].to_numpy().min()
        for name, first, last, colour in PARTS:
            widths = (objects[last] - objects[first]).to_numpy()
            lefts = objects[first].to_numpy() - begin_s
            axes.barh(objects["object"].to_numpy(), widths, left=lefts, height=0.8, color=colour, label=name)
        axes.set_ylim(objects.height - 0.5, -0.5)
        axes.set_xlim(0, objects["last_byte_s"].to_numpy().max() - begin_s)
        axes.set_ylabel("Object")
        axes.set_xlabel("Time since the page began (s)")
        legend_above(axes)
        flow, page = objects["flow"][0], objects["page"][0]
        size = formatting.quantity(float(objects["bytes"].sum()), "B")
        said = f"{flow}, page {page + 1}: {objects.height} objects, {size}"
        figure.suptitle(plain(said), x=0.02, ha="left")
        return figure


def find_slowest(result: RunResult, start: float, end: float) -> pl.DataFrame:
    """Return the objects of the page that took longest, in the order in which they were needed.

    The page begins between `start` and `end`, simulated seconds, and is complete.
    """
    import polars as pl

    recorded = result.series("objects")
    pages = recorded.group_by("flow", "page").agg(pl.sum("bytes"))
    # A page is left out if some of its objects did not fit the record.
    whole = result.transfers.join(
        pages, left_on=["flow", "transfer", "size_bytes"], right_on=["flow", "page", "bytes"], how="semi"
    )
    whole = whole.filter(pl.col("start_s").is_between(start, end))
    if whole.height == 0:
        raise BentpipeError(
            f"no page that began between {start} s and {end} s is complete\n"
            f"  expected a flow with app = 'page', and time for a whole page"
        )
    flow, page = whole.sort("duration_s", descending=True).select("flow", "transfer").row(0)
    objects = recorded.filter(pl.col("flow") == flow, pl.col("page") == page)
    return objects.sort("due_s", "object").with_columns(object=pl.int_range(pl.len()))
