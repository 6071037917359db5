"""Common part of all reports: a page, with its figures and tables as files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.reports import figures
from bentpipe.reports.page import Code, Folded, Page, Picture, Section

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.plot.style import Drawing
    from bentpipe.reports.provenance import Provenance
    from bentpipe.reports.tables import Table

FORM = "bentpipe report"
PAGE = "report.html"


@dataclass(frozen=True)
class Report:
    """The places of a report and its files.

    Attributes
    ----------
    folder, page : Path
    figures, tables : list of Path
        Each figure as SVG and PNG, each table as CSV and LaTeX.
    statements : list of str
        Sentences about each metric; counts, if they are about many settings.
    """

    folder: Path
    page: Path
    figures: list[Path]
    tables: list[Path]
    statements: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, fit for JSON."""
        return {
            "page": str(self.page),
            "figures": list(map(str, self.figures)),
            "tables": list(map(str, self.tables)),
            "statements": self.statements,
        }


class Reporter(ABC):
    """Writer of a page with its figures and tables."""

    def __init__(self, provenance: Provenance) -> None:
        self.provenance = provenance
        self.tables: list[Table] = []
        self.figures: dict[str, figures.Drawn] = {}
        self.said: list[str] = []

    def write(self, place: Path) -> Report:
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

        files.put(place, FORM, fill, provenance=self.provenance.to_dict())
        return Report(
            place,
            place / PAGE,
            [place / "figures" / f"{name}{ending}" for name in self.figures for ending in (".svg", ".png")],
            [place / "tables" / f"{table.name}{ending}" for table in self.tables for ending in (".csv", ".tex")],
            self.said,
        )

    @abstractmethod
    def page(self) -> Page:
        """Make the page, and collect its figures, tables and sentences."""

    def scenario(self) -> Section:
        """Make the section of the resolved scenario."""
        text = Code(self.provenance.scenario)
        return Section("Scenario", [Folded("The scenario with every default filled in", [text], "scenario")])

    def picture(self, file: str, drawing: Drawing, meaning: str, of: str, what_is_drawn: str) -> Picture:
        """Make a figure, which becomes a file as well."""
        drawn = figures.Drawn.of(drawing.figure, str(self.provenance))
        self.figures[file] = drawn
        caption = f"{meaning}: {what_is_drawn}."
        caption += "".join(f" {note[:1].upper()}{note[1:]}." for note in drawing.notes)
        svg = figures.inline(drawn, f"f{len(self.figures)}", f"{meaning} of {of}")
        return Picture(svg, caption, self.provenance)


def caption(table: Table, text: str) -> str:
    if table.total <= len(table.rows):
        return text
    return f"{text} The first {len(table.rows)} of {table.total:,} rows; tables/{table.name}.csv has all."
