"""Figures that notebooks show.

Notebooks show matplotlib's figures only if pyplot made them, or after `%matplotlib inline`. This module is imported
when the first figure is drawn.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from matplotlib import figure

from bentpipe.plot.style import style

if TYPE_CHECKING:
    Png = tuple[bytes, dict[str, int]]
    """A picture and its shown size."""

PIXELS = 120
"""Pixels of a notebook per inch. The text of figures is then as large as the text of cells."""
SHARPNESS = 2
"""Dots per pixel: screens have more dots than they report."""


class Figure(figure.Figure):
    """A figure of matplotlib that notebooks show."""

    def _repr_png_(self) -> Png:
        """Return the picture, for IPython."""
        return png(self)


def png(figure: figure.Figure) -> Png:
    """Draw any figure of matplotlib as a notebook shows it."""
    content = io.BytesIO()
    with style():
        figure.savefig(content, format="png", dpi=PIXELS * SHARPNESS)
    width, height = (round(PIXELS * inches) for inches in figure.get_size_inches())
    return content.getvalue(), {"width": width, "height": height}
