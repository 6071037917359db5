"""Figures: readable in one column of a paper and on the screen, with units on the axes and intervals drawn."""

from __future__ import annotations

from bentpipe.plot.comparisons import comparison_figure, draw_comparison, ratio_figure, windows_figure
from bentpipe.plot.harms import harm_figure
from bentpipe.plot.maps import draw_map
from bentpipe.plot.mixes import mix_figure
from bentpipe.plot.pages import waterfall_figure
from bentpipe.plot.runs import PANELS, choose_panels, choose_series, run_figure
from bentpipe.plot.style import COLOURS, DASHES, ENDINGS, WIDTH, check_place, check_size, dress_figure, save
from bentpipe.plot.sweeps import sweep_figure

__all__ = [
    "COLOURS",
    "DASHES",
    "ENDINGS",
    "PANELS",
    "WIDTH",
    "check_place",
    "check_size",
    "choose_panels",
    "choose_series",
    "comparison_figure",
    "draw_comparison",
    "draw_map",
    "dress_figure",
    "harm_figure",
    "mix_figure",
    "ratio_figure",
    "run_figure",
    "save",
    "sweep_figure",
    "waterfall_figure",
    "windows_figure",
]


def __dir__() -> list[str]:
    return list(__all__)
