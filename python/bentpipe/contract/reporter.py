"""Base of all reports: a page, with its figures and tables as files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bentpipe import files
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.reports import figures
from bentpipe.reports.page import Picture

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bentpipe.plot.style import Drawing
    from bentpipe.reports.page import Page
    from bentpipe.reports.provenance import Provenance
    from bentpipe.reports.tables import Table

FORM = "bentpipe report"
PAGE = "report.html"
Style: TypeAlias = Literal["column", "page"]
"""Width of figures: a column of a paper with two columns, or both."""
WIDTHS: dict[Style, float] = {"column": 3.3, "page": 7.0}
"""Width in inches of each style."""
SENTENCES_MAX = 3
"""Sentences of the first paragraph."""


@dataclass(frozen=True)
class Report:
    """Paths of a report and its files.

    Attributes
    ----------
    folder, page : Path
    figures, tables : list of Path
        Each figure as SVG, PNG and PDF, each table as CSV and LaTeX.
    statements : list of str
        Sentences about each metric. With many settings, a sentence gives their counts.
    """

    folder: Path
    page: Path
    figures: list[Path]
    tables: list[Path]
    statements: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Converts it to plain data for JSON."""
        return {
            "page": str(self.page),
            "figures": list(map(str, self.figures)),
            "tables": list(map(str, self.tables)),
            "statements": self.statements,
        }


class Reporter(ABC):
    """Builds a page with its figures and tables, and writes all of them."""

    def __init__(self, provenance: Provenance) -> None:
        self.provenance = provenance
        self.tables: list[Table] = []
        self.figures: dict[str, figures.Drawn] = {}
        self.said: list[str] = []
        self.style: Style | None = None
        """Width of all figures; None for the usual width of each."""

    def write(self, place: Path, style: Style | None = None) -> Report:
        """Writes the report into a folder, in place of an older one."""
        if style is not None and style not in WIDTHS:
            raise BentpipeError(unknown(style, "a style of figures", WIDTHS))
        self.style = style
        content = self.page().html()
        note = str(self.provenance)

        def fill(folder: Path) -> None:
            (folder / PAGE).write_text(content, encoding="utf-8")
            for name, text in self.provenance.files.items():
                (folder / name).write_text(text, encoding="utf-8")
            for name in ("figures", "tables"):
                (folder / name).mkdir()
            for name, drawn in self.figures.items():
                drawn.write(folder / "figures", name, note)
            for table in self.tables:
                (folder / "tables" / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
                (folder / "tables" / f"{table.name}.tex").write_text(table.latex(note), encoding="utf-8")

        files.put_folder(place, FORM, fill, provenance=self.provenance.to_dict())
        return Report(
            place,
            place / PAGE,
            [place / "figures" / f"{name}{ending}" for name in self.figures for ending in (".svg", ".png", ".pdf")],
            [place / "tables" / f"{table.name}{ending}" for table in self.tables for ending in (".csv", ".tex")],
            self.said,
        )

    @abstractmethod
    def page(self) -> Page:
        """Builds the page, and collects the figures, the tables and the sentences."""

    def picture(self, file: str, drawing: Drawing, meaning: str, of: str, what_is_drawn: str) -> Picture:
        """Adds a figure to the page and to the files."""
        if self.style is not None:
            drawing.figure.set_figwidth(WIDTHS[self.style])
        drawn = figures.Drawn.from_figure(drawing.figure, str(self.provenance))
        self.figures[file] = drawn
        caption = f"{meaning}: {what_is_drawn}." if what_is_drawn else f"{meaning}."
        caption += "".join(f" {note[:1].upper()}{note[1:]}." for note in drawing.notes)
        svg = figures.inline(drawn, f"f{len(self.figures)}", f"{meaning} of {of}")
        return Picture(svg, caption)


def join_answer(said: Iterable[str], names: Iterable[str] = ()) -> str:
    """Joins sentences to the first paragraph of a page. A sentence that begins with one of `names` keeps its spelling.

    >>> join_answer(["cubic is faster", "best in goodput: cubic"], ["cubic"])
    'cubic is faster. Best in goodput: cubic.'
    """
    known = tuple(f"{name} " for name in names)
    sentences = [text if text.startswith(known) else f"{text[:1].upper()}{text[1:]}" for text in said]
    return " ".join(text if text.endswith(".") else f"{text}." for text in sentences)


def caption(table: Table, text: str) -> str:
    """Adds a note to a caption if the page has only the first rows."""
    if table.total <= len(table.rows):
        return text
    return f"{text} The first {len(table.rows)} of {table.total:,} rows; tables/{table.name}.csv has all."
