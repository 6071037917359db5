"""Lays out tables in a terminal: units in the heads, columns that do not fit in a second table below."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

from bentpipe import formatting
from bentpipe.heads import SOFT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

GAP = 2
"""Spaces between columns."""
BROKEN_AT = 12
"""Letters that a text keeps in a narrow terminal."""


class Shown(NamedTuple):
    """A column as printed."""

    title: str
    values: Sequence[float | None]
    unit: str
    quantity: str = ""
    """Columns of one quantity have one unit; empty: it is the only one."""


class Blocks(Table):
    """A table that is never wider than the terminal: columns that do not fit follow below, with the names again."""

    names = 1
    """Number of columns on the left that identify a row."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        blocks = [_broken(columns, options.max_width) for columns in self._blocks(options.max_width)]
        if blocks == [self.columns]:
            yield from super().__rich_console__(console, options)
            return
        for number, columns in enumerate(blocks):
            block = Table(
                title=self.title if number == 0 else None,
                title_justify="left",
                title_style="bold",
                box=None,
                pad_edge=False,
                padding=(0, GAP, 0, 0),
            )
            block.columns = [replace(column, _index=at) for at, column in enumerate(columns)]
            block.rows = list(self.rows)
            if number > 0 and not all(str(column.header).startswith("\n") for column in columns):
                yield Text("")
            yield block

    def _blocks(self, width: int) -> list[list[Column]]:
        """The columns of each block."""
        names, values = self.columns[: self.names], self.columns[self.names :]
        room = width + GAP - sum(map(_find_width, names))  # No space after the last.
        blocks: list[list[Column]] = []
        left = 0
        for column in values:
            if _find_width(column) > left or not blocks:
                blocks.append([*names])
                left = room
            blocks[-1].append(column)
            left -= _find_width(column)
        return blocks or [names]


def _find_width(column: Column) -> int:
    """Least width of a column in letters, with the space to the next; long texts are broken."""
    lines = [line for cell in (column.header, *column.cells) for line in str(cell).split("\n")]
    widest = max(map(cell_len, lines), default=0)
    return GAP + (min(widest, BROKEN_AT) if column.overflow == "fold" else widest)


def _broken(columns: list[Column], width: int) -> list[Column]:
    """Breaks long names in the first column after one of `.~-`, so that no word is split."""
    first, *others = columns
    room = width - sum(map(_find_width, others))
    cells = [
        Text(re.sub(r"\S+", lambda word: _lines(word[0], room), str(cell))) if cell_len(str(cell)) > room else cell
        for cell in first.cells
    ]
    return [replace(first, _cells=cells), *others]


def _lines(word: str, room: int) -> str:
    lines = [""]
    for piece in re.findall(r".+?(?:[.~-]|$)", word):
        if lines[-1] and cell_len(lines[-1] + piece) > room:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def make_rows(
    title: str, key: str, names: Sequence[str], texts: Sequence[tuple[str, Sequence[str]]], columns: Sequence[Shown]
) -> Blocks:
    """Builds a table with a row per name: texts, then numbers, with one unit per quantity."""
    table = make_table(title, key, [name for name, _ in texts])
    printed = []
    for column in columns:
        same = [each for each in columns if each.quantity == column.quantity and each.quantity] or [column]
        cells, unit = formatting.column(column.values, column.unit, [value for each in same for value in each.values])
        table.add_column(heading(column.title, unit), justify="right", no_wrap=True)
        printed.append(cells)
    for place, name in enumerate(names):
        table.add_row(Text(name), *(Text(values[place]) for _, values in texts), *(cells[place] for cells in printed))
    return table


def make_table(title: str, key: str, texts: Sequence[str]) -> Blocks:
    """A table without rows, whose first columns are texts."""
    table = Blocks(
        title=f"\n{title}" if title else None,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, GAP, 0, 0),
    )
    table.names = 1 + len(texts)
    for text in (key, *texts):
        table.add_column(f"\n{text}", overflow="fold")
    return table


def heading(name: str, unit: str) -> str:
    """Returns the head of a column of numbers."""
    # The unit is under the name. A name without a unit moves down, next to its numbers, or has both lines.
    if not unit and SOFT in name:
        return name.replace(SOFT, "-\n")
    name = name.replace(SOFT, "")
    return f"{name}\n{unit}" if unit else f"\n{name}"


def hidden(count: int, what: str, hint: str = "; --all shows each") -> Iterator[Text]:
    """Line with the number of hidden rows; empty if all are shown."""
    if count > 0:
        yield Text(f"{count} {what}{hint}", style="dim")
