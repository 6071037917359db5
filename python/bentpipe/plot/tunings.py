"""Figures of a search: the worth of each change, the front of compromises, and the two keys that interact most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.formatting import choice
from bentpipe.plot.style import COLOURS, WIDTH, plain, sheet, style, write_title

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.tuning.result import Tuning

    Content = Mapping[str, Any]

LETTERS = 34
"""Letters of a name beside an axis."""


def tuning_figure(tuning: Tuning, chart: str) -> Figure:
    """Draw one of the charts of a search.

    Raises
    ------
    BentpipeError
        Unknown chart, or no data to draw.
    """
    if chart not in _CHARTS:
        raise BentpipeError(unknown(chart, "a chart of a search", list(_CHARTS)))
    content = tuning.content
    rows = len(content["effects"]) if chart == "worth" else 6
    with style():
        figure = sheet(WIDTH, 1.0 + 0.3 * max(rows, 3))
        _CHARTS[chart](figure.subplots(), tuning)
        sample = (
            f"{content['worth_blocks']} seeds, 95 % intervals"
            if content["blocks"] and chart != "map"
            else "seeds of the search"
        )
        figure.suptitle(write_title(tuning.title, sample), x=0.02, ha="left")
    return figure


def _worth(axes: Axes, tuning: Tuning) -> None:
    content = tuning.content
    if not content["effects"]:
        raise BentpipeError("the search recommends no change, so there is no worth to draw\n  expected the chart map")
    metric = content["objective"][0]["metric"]
    for place, each in enumerate(content["effects"]):
        for offset, how, filled in ((-0.15, "alone", True), (0.15, "back", False)):
            effect = each[how][metric]
            if effect["value"] is None or effect["low"] is None:
                continue
            axes.errorbar(
                100 * effect["value"],
                place + offset,
                xerr=[[100 * (effect["value"] - effect["low"])], [100 * (effect["high"] - effect["value"])]],
                fmt="o",
                color=COLOURS[0 if filled else 1],
                markerfacecolor=COLOURS[0] if filled else "none",
                capsize=3,
                markersize=4,
                label=("alone" if filled else "taken back") if place == 0 else None,
            )
    axes.axvline(0, color="0.4", linewidth=0.9)
    names = [_name_change(content, each["key"], each["value"]) for each in content["effects"]]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(f"Change of {plain(content['objective'][0]['title'].lower())} (%)")
    axes.legend(fontsize="small")
    axes.grid(axis="x")


def _front(axes: Axes, tuning: Tuning) -> None:
    content = tuning.content
    metrics = list(content["front_of"])[:2]
    if len(content["front"]) == 0 or len(metrics) < 2:
        raise BentpipeError("the search has no front\n  expected an objective such as { pareto = [...] }")
    for each in content["front"]:
        across, up = (each["effect"][metric] for metric in metrics)
        if None in (across["value"], up["value"], across["low"], up["low"]):
            continue
        axes.errorbar(
            100 * across["value"],
            100 * up["value"],
            xerr=[[100 * (across["value"] - across["low"])], [100 * (across["high"] - across["value"])]],
            yerr=[[100 * (up["value"] - up["low"])], [100 * (up["high"] - up["value"])]],
            fmt="o",
            color=COLOURS[0],
            capsize=2,
            markersize=4,
        )
    axes.plot(0, 0, "s", color=COLOURS[1], markersize=5, label="default")
    axes.set_xlabel(f"Change of {plain(metrics[0])} (%)")
    axes.set_ylabel(f"Change of {plain(metrics[1])} (%)")
    axes.legend(fontsize="small")
    axes.grid()


def _map(axes: Axes, tuning: Tuning) -> None:
    content = tuning.content
    pair = (content["influence"] or {}).get("strongest")
    if pair is None:
        raise BentpipeError("there are too few settings for a map\n  expected two keys or more, and 30 settings")
    kept = {axis["key"]: [None, *axis["values"]] for axis in content["axes"] if axis["key"] in pair}
    across, up = pair
    table = np.full((len(kept[up]), len(kept[across])), np.nan)
    for row, mine in enumerate(kept[up]):
        for column, other in enumerate(kept[across]):
            found = [
                each["change"]
                for each in content["rungs"][0]["settings"]
                if each["set"].get(up) == mine and each["set"].get(across) == other and each["change"] is not None
            ]
            table[row, column] = 100 * np.mean(found) if found else np.nan
    image = axes.imshow(table, cmap="cividis_r", aspect="auto")
    axes.set_xticks(
        range(len(kept[across])), [_value(content, across, each) for each in kept[across]], rotation=30, ha="right"
    )
    axes.set_yticks(range(len(kept[up])), [_value(content, up, each) for each in kept[up]])
    bar = axes.figure.colorbar(image, ax=axes)
    bar.set_label("Mean change (%)")


def _value(content: Content, key: str, value: Any) -> str:
    axis = next(axis for axis in content["axes"] if axis["key"] == key)
    return plain(axis["default"] if value is None else choice(value))[:LETTERS]


def _name_change(content: Content, key: str, value: Any) -> str:
    axis = next(axis for axis in content["axes"] if axis["key"] == key)
    return f"{axis['what']}:\n{_value(content, key, value)}"


_CHARTS: dict[str, Callable[[Axes, Tuning], None]] = {"worth": _worth, "front": _front, "map": _map}
