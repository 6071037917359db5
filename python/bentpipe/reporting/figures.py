"""Figures in files and inside a page."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from bentpipe.plot.house import save, style

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


def write(figure: Figure, folder: Path, name: str, note: str = "") -> list[Path]:
    """As SVG and PNG; the note goes into the files."""
    places = [folder / f"{name}{ending}" for ending in (".svg", ".png")]
    for place in places:
        save(figure, place, note)
    return places


def inline(figure: Figure, name: str, about: str) -> str:
    """SVG for a page: no headers, ids of its own, and black as whatever colour the page's text has.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        Of letters and digits; other figures on the page have other names.
    about : str
        What is to be seen, for who cannot see it.
    """
    from html import escape

    out = io.StringIO()
    with style():
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    names = {one or other for one, other in used}
    text = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in names else "", text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = text.replace("#000000", "currentColor")
    text = re.sub(r"\n\s*", "\n", text).replace("\n\n", "\n").strip()
    width = figure.get_figwidth()
    head = (
        f'<svg role="img" aria-label="{escape(about)}" class="{"wide" if width > 4 else "column"}" fill="currentColor" '
        'stroke-linejoin="round" stroke-linecap="butt" '
    )
    # Its size is the page's business; its shape is in the view box.
    first, rest = text.split(">", 1)
    first = re.sub(r' (?:width|height|version|xmlns(?::\w+)?)="[^"]*"', "", first.removeprefix("<svg"))
    return f"{head}{first.strip()}>{rest}".replace("xlink:href", "href") + "\n"
