"""Results in a notebook: a head, tables, sentences, and a figure."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    Rows = tuple[Sequence[str], Sequence[Sequence[str]], int]
    """Heads, rows, and the number of text columns."""

ROWS_MAX = 20
"""Maximum number of rows of a table on the page. The table has all rows, perhaps thousands."""


def page(
    head: str,
    tables: Iterable[Rows],
    said: Iterable[str] = (),
    *draw: Callable[[], Figure],
) -> str:
    """Write a result as HTML; without a figure if there is no data to draw."""
    text = f"<p><b>{escape(head)}</b></p>" if head else ""
    text += "".join(formatting.html_table(names, rows, texts) for names, rows, texts in tables)
    text += "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
    return text + "".join(map(_picture, draw))


def _picture(draw: Callable[[], Figure]) -> str:
    from bentpipe.plot.shown import png

    try:
        content, size = png(draw())
    except BentpipeError:
        return ""
    data = base64.b64encode(content).decode()
    return f'<img src="data:image/png;base64,{data}" width="{size["width"]}" height="{size["height"]}" alt="figure">'


def take_rows(frame: pl.DataFrame, most: int = ROWS_MAX) -> Rows:
    """Return the first rows of a table."""
    texts = 0
    for kind in frame.dtypes:
        if kind.is_numeric():
            break
        texts += 1
    rows = [[formatting.setting(cell) for cell in row] for row in frame.head(most).iter_rows()]
    if frame.height > most:
        rows.append([f"{frame.height - most:,} more", *[""] * (frame.width - 1)])
    return frame.columns, rows, texts
