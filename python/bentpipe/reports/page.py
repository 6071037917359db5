"""A page that opens anywhere: one file, no scripts, nothing fetched; for screens, phones, dark rooms and paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.reports.provenance import Provenance
    from bentpipe.reports.tables import Table


class Block(Protocol):
    """What a section is made of."""

    def html(self) -> str:
        """Escaped and complete."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    is_warning: bool = False

    def html(self) -> str:
        kind = ' class="warning"' if self.is_warning else ""
        return f"<p{kind}>{escape(self.text)}</p>\n"


@dataclass(frozen=True)
class Points:
    """A list."""

    texts: Sequence[str]

    def html(self) -> str:
        items = "".join(f"<li>{escape(text)}</li>\n" for text in self.texts)
        return f"<ul>\n{items}</ul>\n"


@dataclass(frozen=True)
class Code:
    """Text that is shown as it is: a command, a file."""

    text: str

    def html(self) -> str:
        return f"<pre>{escape(self.text)}</pre>\n"


@dataclass(frozen=True)
class Folded:
    """What only some readers want to see."""

    summary: str
    blocks: Sequence[Block]
    anchor: str = ""

    def html(self) -> str:
        inside = "".join(block.html() for block in self.blocks)
        # Inside, so that who follows a link to it finds it unfolded.
        anchor = f' id="{escape(self.anchor)}"' if self.anchor else ""
        return f"<details><summary>{escape(self.summary)}</summary>\n<div{anchor}>\n{inside}</div></details>\n"


@dataclass(frozen=True)
class Picture:
    """A figure with its caption and where it is from."""

    svg: str
    caption: str
    provenance: Provenance | None = None

    def html(self) -> str:
        return f"<figure>\n{self.svg}{_caption(self.caption, self.provenance)}</figure>\n"


@dataclass(frozen=True)
class Tabled:
    """A table with its caption and where it is from."""

    table: Table
    caption: str
    provenance: Provenance | None = None

    def html(self) -> str:
        return f"<figure>\n{self.table.html()}{_caption(self.caption, self.provenance)}</figure>\n"


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading."""

    title: str
    blocks: Sequence[Block] = field(default_factory=list)

    def html(self) -> str:
        return f"<section>\n<h2>{escape(self.title)}</h2>\n{''.join(block.html() for block in self.blocks)}</section>\n"


@dataclass(frozen=True)
class Page:
    """All of it."""

    title: str
    lead: str
    sections: Sequence[Section]
    foot: str = ""

    def html(self) -> str:
        """The whole file."""
        foot = f"<footer>{escape(self.foot)}</footer>\n" if self.foot else ""
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            # Whatever a title may contain: this page runs nothing and fetches nothing.
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'; img-src data:\">\n"
            f"<title>{escape(self.title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n<main>\n"
            f'<h1>{escape(self.title)}</h1>\n<p class="lead">{escape(self.lead)}</p>\n'
            f"{''.join(section.html() for section in self.sections)}"
            f"{foot}</main>\n</body>\n</html>\n"
        )


def _caption(text: str, provenance: Provenance | None) -> str:
    if provenance is None:
        return f"<figcaption>{escape(text)}</figcaption>\n"
    link = '<a href="#scenario">resolved scenario</a>' if provenance.scenario else ""
    facts = " · ".join([*map(escape, provenance.facts), *filter(None, [link])])
    again = f"<code>{escape(provenance.command)}</code>" if provenance.command else ""
    note = f" ({escape(provenance.note)})" if provenance.note else ""
    return f'<figcaption>{escape(text)}\n<div class="made"><p>{facts}</p>\n<p>{again}{note}</p></div></figcaption>\n'


_STYLE = """\
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #d5d9de; --ground: #ffffff; --shade: #f4f6f8;
  --alarm: #9a3412; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #9aa5b1; --line: #363d46; --ground: #14171b; --shade: #1d2228; --alarm: #fdba74; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 58rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; padding-top: .5rem; border-top: 1px solid var(--line); }
p, ul { margin: .5rem 0; max-width: 44rem; overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; }
.lead { color: var(--soft); }
.warning { color: var(--alarm); }
figure { margin: 1.25rem 0 1.75rem; }
div.wide { overflow-x: auto; }
svg { display: block; height: auto; }
svg.column { width: 34rem; max-width: 100%; }
svg.wide { width: 100%; min-width: 34rem; }
figure:has(> svg.wide) { overflow-x: auto; }
figcaption { margin-top: .5rem; max-width: 44rem; font-size: .875rem; overflow-wrap: anywhere; }
.made { color: var(--soft); font-size: .75rem; }
.made p { margin: .25rem 0; }
a { color: inherit; }
code, pre { font-family: ui-monospace, monospace; font-size: .75rem; }
pre { margin: .5rem 0; padding: .75rem; background: var(--shade); border-radius: .25rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .9rem .2rem 0; text-align: left; vertical-align: top; white-space: nowrap; }
th { border-bottom: 1px solid var(--ink); vertical-align: bottom; font-weight: 600; }
td { border-bottom: 1px solid var(--line); }
.n { text-align: right; }
summary { cursor: pointer; color: var(--soft); font-size: .875rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .8125rem; }
@media print {
  :root { --ink: #000; --soft: #444; --line: #bbb; --ground: #fff; --shade: #f4f4f4; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  figure, tr { break-inside: avoid; }
  figure:has(table) { break-inside: auto; }
  h2 { break-after: avoid; }
  thead { display: table-header-group; }
  div.wide, figure:has(> svg.wide) { overflow: visible; }
  th, td { white-space: normal; }
  svg.column { width: 4.5in; }
}
"""
