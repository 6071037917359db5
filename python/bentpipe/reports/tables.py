"""Writes tables as CSV for programs, as LaTeX for papers, and as HTML for the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import polars as pl

ROWS_MAX = 100
"""Rows in LaTeX and on the page. The CSV file has all rows."""

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "±": r"$\pm$",
    "µ": r"$\mu$",
    "−": r"$-$",
    "…": r"\ldots{}",
    "\u00a0": "~",
}


FORMULA = r"^([=+\-@\t\r])"
"""Beginnings of formulas in spreadsheets."""
_MINUS = re.compile(r"(?<![\w.-])-(?=\.?\d)")
"""Minus sign of a negative number, but not the hyphen of a name or an exponent."""


@dataclass(frozen=True)
class Table:
    """A table for people, with its data."""

    name: str
    """Name of its files."""
    data: pl.DataFrame
    """All rows, for CSV: plain numbers, units in the names of the columns."""
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    """Formatted rows, at most `ROWS_MAX`."""
    texts: int
    """Number of text columns, which come first; the others are numbers."""
    total: int
    """Number of all rows."""
    best: frozenset[tuple[int, int]] = frozenset()
    """Row and column of the cells that are bold in LaTeX."""

    def csv(self) -> str:
        """Formats all rows. Text that a spreadsheet would take for a formula gets an apostrophe."""
        import polars as pl

        return self.data.with_columns(pl.col(pl.String).str.replace(FORMULA, "'${1}")).write_csv()

    def latex(self, note: str = "") -> str:
        """Formats a plain `tabular`, which needs no package. The note is a comment before it."""
        lines = [f"% {line}" for line in note.splitlines()]
        if self.total > len(self.rows):
            lines.append(f"% The first {len(self.rows)} of {self.total} rows; {self.name}.csv has all.")
        columns = "l" * self.texts + "r" * (len(self.head) - self.texts)
        lines += [rf"\begin{{tabular}}{{{columns}}}", r"\hline", _row(self.head), r"\hline"]
        lines += [
            _row(row, {column for at, column in self.best if at == number}) for number, row in enumerate(self.rows)
        ]
        return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def latex(text: str) -> str:
    r"""Escapes text for LaTeX.

    >>> print(latex("10 % of_all & more"))
    10 \% of\_all \& more
    >>> print(latex("-0.17 ±0.47"), latex("1e-3"))
    $-$0.17 $\pm$0.47 1e-3
    """
    return "".join(_LATEX.get(letter, letter) for letter in _MINUS.sub("\N{MINUS SIGN}", text))


def _row(cells: Sequence[str], bold: Collection[int] = ()) -> str:
    first, *rest = (rf"\textbf{{{latex(cell)}}}" if at in bold else latex(cell) for at, cell in enumerate(cells))
    # LaTeX would take a bracket at the beginning for an option of the line end before it.
    return " & ".join(["{}" + first if first.startswith(("[", "*")) else first, *rest]) + r" \\"
