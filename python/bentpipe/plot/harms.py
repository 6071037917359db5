"""Figures of mixes at several points: the harm of each case, and whether the cases are fair."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from bentpipe.plot.cuts import CUT, EXPLAINED, mark_cuts
from bentpipe.plot.style import WIDTH, choose_colour, legend_above, plain, sheet, style, write_title
from bentpipe.plot.sweeps import MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.experiment.results.mixes import Mixes

SPREAD = 0.5
"""Height between the first and the last case of a row; rows have the distance 1."""
NAME_LETTERS = 26
"""Maximum number of letters in a line of a point's name."""
GAIN_MAX, HARM_MAX = 120.0, 105.0
"""Ends of the axis, in per cent. A case may gain many times its goodput, but the question is the harm."""


def harm_figure(mixes: Mixes) -> Figure:
    """Draw the harm of each case at each point, with its interval, the margin, and the answer beside the row."""
    with style():
        figure = sheet(WIDTH, 0.95 + (0.14 + 0.09 * len(mixes.cases)) * len(mixes.names))
        axes = figure.subplots()
        _rows(axes, mixes)
        count = max(len(mix.seeds) for mix in mixes.mixes)
        sample = f"{count} replications, {mixes.judgement.level} intervals of all together" if count > 1 else "one run"
        sample += f"; {EXPLAINED}" if any(line.get_label() == CUT for line in axes.lines) else ""
        figure.suptitle(write_title(mixes.scenario.title, sample), x=0.02, ha="left")
    return figure


def _rows(axes: Axes, mixes: Mixes) -> None:
    answers = [*mixes.fairness.values()]
    for place, case in enumerate(mixes.cases):
        shift = 0.0 if len(mixes.cases) == 1 else SPREAD * (place / (len(mixes.cases) - 1) - 0.5)
        known = [(at + shift, each.harms[case]) for at, each in enumerate(answers) if case in each.harms]
        harms = [100 * value for _, (value, _, _) in known]
        # A single replication has no interval.
        ends = [(low, high) for _, (_, low, high) in known if low is not None and high is not None]
        has_ends = len(ends) == len(known)
        margins = [
            [harm - 100 * low for harm, (low, _) in zip(harms, ends, strict=True)],
            [100 * high - harm for harm, (_, high) in zip(harms, ends, strict=True)],
        ]
        axes.errorbar(
            harms,
            [height for height, _ in known],
            xerr=margins if has_ends else None,
            fmt=MARKERS[place % len(MARKERS)],
            color=choose_colour(case, place),
            markersize=3.5,
            markeredgewidth=0,
            capsize=2,
            elinewidth=0.8,
            label=case,
        )
    axes.axvline(0, color="0.7", linewidth=0.6, zorder=1)
    axes.axvline(100 * answers[0].margin, color="0.4", linestyle=":", linewidth=0.9, zorder=1)
    low, high = axes.get_xlim()
    axes.set_xlim(max(low, -GAIN_MAX), min(high, HARM_MAX))
    mark_cuts(axes)
    for at, each in enumerate(answers):
        axes.annotate(
            {"yes": "fair", "no": "not fair"}.get(each.answer, each.answer),
            (1, at),
            (3, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=6,
        )
    axes.set_yticks(range(len(answers)), [plain(textwrap.fill(name, NAME_LETTERS)) for name in mixes.names])
    axes.set_ylim(len(answers) - 0.4, -0.6)
    axes.set_axisbelow(True)
    axes.grid(axis="x")
    axes.set_xlabel(
        f"Goodput lost beside the others (%)\ndotted: {100 * answers[0].margin:.3g} %, the largest fair harm"
    )
    legend_above(axes)
