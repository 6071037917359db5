"""Writes figures as files and puts them into pages."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from bentpipe.plot.style import COLOURS, save, style

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawn:
    """A finished figure and its SVG."""

    figure: Figure
    svg: str

    @classmethod
    def from_figure(cls, figure: Figure, note: str = "") -> Drawn:
        """Draws a figure; the note becomes the description inside the SVG."""
        with style():
            # The layout takes longer than the drawing, and is the same for all kinds of files.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            out = io.StringIO()
            figure.savefig(out, format="svg", metadata={"Date": None, "Description": note})
        return cls(figure, out.getvalue())

    def write(self, folder: Path, name: str, note: str = "") -> None:
        """Writes the figure as SVG, PNG and PDF."""
        (folder / f"{name}.svg").write_text(self.svg, encoding="utf-8")
        for ending in (".png", ".pdf"):
            save(self.figure, folder / f"{name}{ending}", note)


def inline(drawn: Drawn, name: str, about: str) -> str:
    """Converts a figure to SVG for a page that has a light and a dark scheme.

    Black becomes the colour of the page's text and white its ground. The other colours become variables of
    `style.css`, which is brighter in the dark. Ids get the name of the figure as a prefix.

    Parameters
    ----------
    drawn : Drawn
    name : str
        Letters and digits, unique on the page.
    about : str
        Description for readers who cannot see the figure.
    """
    text = drawn.svg
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    names = {one or other for one, other in used}
    text = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in names else "", text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = text.replace("#000000", "currentColor").replace("fill: #ffffff", "fill: none")
    text = text.replace("#ffffff", "var(--ground)")
    text = re.sub(r"(?<=: )#(\w{6})\b", _replace_colour, text)
    text = re.sub(r"\n\s*", "\n", text).replace("\n\n", "\n").strip()
    kind = ("wide" if drawn.figure.get_figwidth() > 4 else "column") + (" mapped" if _has_map(drawn.figure) else "")
    head = (
        f'<svg role="img" aria-label="{escape(about)}" class="{kind}" fill="currentColor" '
        'stroke-linejoin="round" stroke-linecap="butt" '
    )
    # The page sets the size; the view box keeps the shape.
    first, rest = text.split(">", 1)
    first = re.sub(r' (?:width|height|version|xmlns(?::\w+)?)="[^"]*"', "", first.removeprefix("<svg"))
    return f"{head}{first.strip()}>{rest}".replace("xlink:href", "href") + "\n"


def _has_map(figure: Figure) -> bool:
    """Whether colours in the figure are values, which both schemes must show alike."""
    parts = (part for axes in figure.axes for part in (*axes.images, *axes.collections))
    return any(part.get_array() is not None for part in parts)


def _replace_colour(found: re.Match[str]) -> str:
    """Replaces a grey or a colour of the house style by its variable."""
    colour = found[1].lower()
    is_grey = colour[:2] == colour[2:4] == colour[4:]
    return f"var(--c-{colour}, #{colour})" if is_grey or f"#{colour}".upper() in COLOURS else found[0]
