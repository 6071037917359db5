"""Builds a page for screens, phones and paper: one file without scripts that loads nothing from elsewhere.

The files in `templates` define its look. Colours, type and tables, light and dark, are those of the documentation site.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.reports.provenance import Provenance
    from bentpipe.reports.tables import Table

    Block: TypeAlias = "Text | Points | Code | Folded | Picture | Tabled"
    """Part of a section."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar = "text"
    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class Points:
    """A list."""

    kind: ClassVar = "points"
    texts: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Verbatim text: a command, a file."""

    kind: ClassVar = "code"
    text: str


@dataclass(frozen=True)
class Folded:
    """Details that only some readers need, folded at first."""

    kind: ClassVar = "folded"
    summary: str
    blocks: Sequence[Block]
    anchor: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure with its caption."""

    kind: ClassVar = "picture"
    svg: str
    caption: str


@dataclass(frozen=True)
class Tabled:
    """A table with its caption."""

    kind: ClassVar = "tabled"
    table: Table
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading."""

    title: str
    blocks: Sequence[Block] = field(default_factory=list)
    anchor: str = ""
    html: str = ""
    """Finished HTML of the whole section, used as it is."""


@dataclass(frozen=True)
class Page:
    """A page: the answer first, then figures and tables, then the provenance of all of them."""

    title: str
    answer: str
    """First paragraph: the result in sentences."""
    sections: Sequence[Section]
    about: str = ""
    """Sample: points, replications, hosts."""
    method: str = ""
    """Statistics of the page, in sentences."""
    provenance: Provenance | None = None

    def html(self) -> str:
        """Renders the whole file."""
        return _templates().get_template("page.html.j2").render(page=self)


@cache
def _templates() -> Environment:
    # Text that is not marked as safe is escaped.
    return Environment(
        loader=PackageLoader("bentpipe.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
