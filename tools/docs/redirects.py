"""Writes a page at each old address of the site that leads to the new one.

A hook of mkdocs (see `hooks` in mkdocs.yml).
"""

from __future__ import annotations

import os
from pathlib import Path

MOVED = {
    "senders": "congestion-controls",
    "functions": "middleboxes",
    "guides/compare-senders.md": "guides/compare-congestion-controls.md",
    "guides/own-sender.md": "guides/custom-congestion-control.md",
    "guides/own-sender-in-rust.md": "guides/custom-congestion-control-in-rust.md",
    "guides/own-function.md": "guides/custom-middlebox.md",
    "guides/own-paper.md": "guides/reproduce-paper.md",
}
"""New address of each moved page or folder of `docs`, by its old address."""

PAGE = """<!doctype html>
<title>Moved</title>
<link rel="canonical" href="{url}">
<meta http-equiv="refresh" content="1; url={url}">
<script>location.replace("{url}" + location.hash)</script>
<p>This page is now at <a href="{url}">{url}</a>.</p>
"""


def moved(docs: Path) -> dict[str, str]:
    """New address of each moved page, by its old address. A folder stands for its pages."""
    found: dict[str, str] = {}
    for old, new in MOVED.items():
        pages = (docs / new).glob("*.md") if (docs / new).is_dir() else [docs / new]
        found |= {old + str(page.relative_to(docs)).removeprefix(new): str(page.relative_to(docs)) for page in pages}
    return found


def folder(path: str) -> str:
    """The folder of the site that holds a page."""
    return path.removesuffix("index.md").removesuffix(".md").rstrip("/")


def on_post_build(config):
    """Called by mkdocs after it wrote the site."""
    for old, new in moved(Path(config.docs_dir)).items():
        page = Path(config.site_dir, folder(old), "index.html")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(PAGE.format(url=os.path.relpath(folder(new), folder(old)) + "/"), encoding="utf-8")
