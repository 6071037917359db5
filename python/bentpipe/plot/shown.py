"""Figures that show themselves in notebooks.

Matplotlib's own do so only if pyplot made them, or after `%matplotlib inline`. Not imported before a figure is drawn.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from matplotlib import figure

from bentpipe.plot.style import style

if TYPE_CHECKING:
    Png = tuple[bytes, dict[str, int]]
    """A picture, and how large it is shown."""

PIXELS = 120
"""Of a notebook, for an inch: the text of figures is then as large as that of cells."""
SHARPNESS = 2
"""Dots for each of them: screens have more than they say."""


class Figure(figure.Figure):
    """A figure of matplotlib that notebooks show as it is."""

    def _repr_png_(self) -> Png:
        """The picture, for IPython."""
        return png(self)


def png(figure: figure.Figure) -> Png:
    """Any figure of matplotlib as a notebook shows it."""
    content = io.BytesIO()
    with style():
        figure.savefig(content, format="png", dpi=PIXELS * SHARPNESS)
    width, height = (round(PIXELS * inches) for inches in figure.get_size_inches())
    return content.getvalue(), {"width": width, "height": height}
