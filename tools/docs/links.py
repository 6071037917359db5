"""Leads links between the pages of the site, and finds dead ones in the pages that mkdocs wrote.

Pages that the site generates are not in the repository. Other pages link to their address on the site: links then also
lead somewhere where the repository is read. Within the site they become links between pages, which mkdocs checks.
"""

from __future__ import annotations

import os
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

SITE = "https://bentpipe.github.io/bentpipe/"
_LINK = re.compile(rf"\]\({re.escape(SITE)}([\w./-]*)")
_TARGET = re.compile(r"<(?:a|img|iframe|link|script)\b[^>]*?\s(?:href|src)=(?:\"([^\"]*)\"|([^\s>\"]+))")
_ANCHOR = re.compile(r"\s(?:id|name)=(?:\"([^\"]*)\"|([^\s>\"]+))")


def page_of(address: str) -> str:
    """The page below `docs` that has this address on the site: `gallery/` is `gallery/index.md` or `gallery.md`.

    The page to try bentpipe has no Markdown.

    >>> page_of("reference/python/"), page_of("gallery/")
    ('reference/python.md', 'gallery/index.md')
    """
    path = address.strip("/")
    if path == "try" or path.endswith(".html"):
        return path if path.endswith(".html") else f"{path}/index.html"
    return f"{path}/index.md".lstrip("/") if path in ("", "gallery", "papers", "specs") else f"{path}.md"


def localised(markdown: str, page: str) -> str:
    """The text of a page with relative links in place of those to the site.

    >>> localised("[names](https://bentpipe.github.io/bentpipe/reference/names/#cc)", "guides/sky.md")
    '[names](../reference/names.md#cc)'
    """

    def to_path(found: re.Match[str]) -> str:
        return f"]({os.path.relpath(page_of(found[1]), Path(page).parent)}"

    return _LINK.sub(to_path, markdown)


def dead(site: Path) -> list[str]:
    """Links of the pages of a built site that lead nowhere within it, as `PAGE: LINK`."""
    anchors: dict[Path, set[str]] = {}
    links: list[tuple[Path, str]] = []
    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        anchors[page] = {unescape(one or other) for one, other in _ANCHOR.findall(text)}
        # The page of a wrong address has links from the root of the server.
        links += [] if page.name == "404.html" else [(page, unescape(a or b)) for a, b in _TARGET.findall(text)]
    found = []
    for page, link in links:
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:|//", path):
            continue
        target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
        target = target / "index.html" if target.is_dir() else target
        # A page reads what is behind a sign of equality by itself.
        anchor = "" if "=" in anchor else anchor
        if not target.is_file() or (anchor and unquote(anchor) not in anchors.get(target, {unquote(anchor)})):
            found.append(f"{page.relative_to(site)}: {link}")
    return found


def on_page_markdown(markdown, page, config, files):
    """Called by mkdocs for each page."""
    return localised(markdown, page.file.src_uri)
