"""A page for any browser: one file, without scripts and downloads; for screens, phones, dark mode and paper.

`templates` has its appearance.
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
    """Parts of a section."""


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
    """Text that is shown unchanged: a command, a file."""

    kind: ClassVar = "code"
    text: str


@dataclass(frozen=True)
class Folded:
    """Content for some readers, folded by default."""

    kind: ClassVar = "folded"
    summary: str
    blocks: Sequence[Block]
    anchor: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure with its caption and provenance."""

    kind: ClassVar = "picture"
    svg: str
    caption: str
    provenance: Provenance | None = None


@dataclass(frozen=True)
class Tabled:
    """A table with its caption and provenance."""

    kind: ClassVar = "tabled"
    table: Table
    caption: str
    provenance: Provenance | None = None


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading."""

    title: str
    blocks: Sequence[Block] = field(default_factory=list)
    anchor: str = ""
    html: str = ""
    """HTML of a section that is already rendered, which is used unchanged."""


@dataclass(frozen=True)
class Page:
    """A whole page."""

    title: str
    lead: str
    sections: Sequence[Section]
    foot: str = ""

    def html(self) -> str:
        """Write the whole file."""
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
