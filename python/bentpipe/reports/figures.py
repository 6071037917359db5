"""Figures in files and inside a page."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from bentpipe.plot.style import save, style

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawn:
    """A figure that will not change any more, with its SVG."""

    figure: Figure
    svg: str

    @classmethod
    def of(cls, figure: Figure, note: str = "") -> Drawn:
        """Draw a figure. The note goes into the descriptions of the files, and stays with them."""
        with style():
            # Placing the parts takes longer than drawing them, and is the same for each kind of file.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            out = io.StringIO()
            figure.savefig(out, format="svg", metadata={"Date": None, "Description": note})
        return cls(figure, out.getvalue())

    def write(self, folder: Path, name: str, note: str = "") -> None:
        """Write SVG and PNG."""
        (folder / f"{name}.svg").write_text(self.svg, encoding="utf-8")
        save(self.figure, folder / f"{name}.png", note)


def inline(drawn: Drawn, name: str, about: str) -> str:
    """Return SVG for a page: no headers, unique ids, black as the colour of the page's text, and no white.

    Parameters
    ----------
    drawn : Drawn
    name : str
        Unique name on the page, of letters and digits.
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
    text = re.sub(r"\n\s*", "\n", text).replace("\n\n", "\n").strip()
    width = drawn.figure.get_figwidth()
    head = (
        f'<svg role="img" aria-label="{escape(about)}" class="{"wide" if width > 4 else "column"}" fill="currentColor" '
        'stroke-linejoin="round" stroke-linecap="butt" '
    )
    # The page decides its size. The view box has its shape.
    first, rest = text.split(">", 1)
    first = re.sub(r' (?:width|height|version|xmlns(?::\w+)?)="[^"]*"', "", first.removeprefix("<svg"))
    return f"{head}{first.strip()}>{rest}".replace("xlink:href", "href") + "\n"
