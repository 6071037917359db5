"""Sets the equations of congestion controls and middleboxes as readable lines that wrap and are never cut off.

A hook of mkdocs (see `hooks` in mkdocs.yml). The texts have equations in plain characters, in blocks of `text`, so they
can be read in the code and in a terminal. The site gets the same characters as HTML: variables in italics, indices
lowered, aligned parts in columns. It needs no script and fetches nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from html import escape

FOLDERS = ("congestion-controls/", "middleboxes/")
"""Folders of `docs` in which blocks of `text` are equations."""

BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PART = re.compile(r"(?<=  )\S")
"""Begin of an aligned part: two spaces or more are in front."""

GAP = "\u2003"
SIGNS = {" - ": " − ", "-=": "−=", ">=": "≥", "<=": "≤", " x ": " × "}
LETTER = "[B-Zb-zα-ωδ]\u0302?"
"""A variable of one letter. *a* is an article in most of the texts."""

RULES = (
    (re.compile(r"\bRTT(min|standing)\b"), r"RTT<sub>\1</sub>"),
    (re.compile(rf"(?<![\w&])({LETTER})_(\w+)"), r"<i>\1</i><sub>\2</sub>"),
    (re.compile(r"\^(\w+)"), r"<sup>\1</sup>"),
    (re.compile(rf"(?<![\w&<>/'])({LETTER})(?![\w\u0302>;'])"), r"<i>\1</i>"),
)


def column(lines: list[str]) -> int | None:
    """Find the column where the second part of most lines begins, or None if the lines are not aligned."""
    starts = Counter(found.start() for line in lines for found in PART.finditer(line))
    place, count = max(starts.items(), key=lambda each: (each[1], -each[0]), default=(0, 0))
    return place if count > 1 and 2 * count >= len(lines) else None


def part(text: str) -> str:
    """The HTML of one part of a line."""
    text = re.sub(r" {2,}", GAP, re.sub(r" +=", " =", text.strip()))
    for plain, sign in SIGNS.items():
        text = text.replace(plain, sign)
    text = escape(text, quote=False)
    for pattern, html in RULES:
        text = pattern.sub(html, text)
    return text


def block(text: str) -> str:
    """The HTML of a block of equations."""
    lines = [line for line in text.splitlines() if line.strip()]
    place = column(lines)
    rows = ""
    for line in lines:
        is_split = place is not None and (len(line) > place and line[:place].endswith("  "))
        parts = [line[:place], line[place:]] if is_split else [line]
        rows += "<div>" + "".join(f"<span>{part(each)}</span>" for each in parts) + "</div>\n"
    return f'<div class="equations">\n{rows}</div>'


def typeset(text: str) -> str:
    """The text of a page with its equations as HTML."""
    return BLOCK.sub(lambda found: block(found.group(1)), text)


def on_page_markdown(markdown, page, config, files):
    """Called by mkdocs for each page."""
    return typeset(markdown) if page.file.src_uri.startswith(FOLDERS) else markdown
