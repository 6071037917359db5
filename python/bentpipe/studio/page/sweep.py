"""Sweep: a heat map over two keys that fills while the runs end; a click shows the run of a cell."""

from __future__ import annotations

import math
from typing import Any

from nicegui import ui

from bentpipe.catalog import names
from bentpipe.errors import BentpipeError
from bentpipe.formatting import scale, setting, short_key
from bentpipe.scenario.overrides import read_varied
from bentpipe.studio.page.experiment import Experiment
from bentpipe.studio.page.fields import groups

AXES = 3
MAP = ["#e8f1f8", "#9cc9e6", "#56a0d3", "#0072b2", "#003f66"]
"""From light to dark, so that it prints."""
BEST = "#d55e00"
HATCHES = {"color": "#52606d99", "dashArrayX": [1, 0], "dashArrayY": [2, 5], "rotation": -0.785}
CELL = """(params) => params.data.text"""


class Sweep(Experiment):
    """The panel of sweeps."""

    kind = "sweep"
    picked = 0
    """Of the third key, the level that is shown."""

    def settings(self) -> None:
        """Keys that vary, with their values."""
        self.axes: list[tuple[ui.select, ui.input]] = []
        keys = self._keys()
        first = {"tcp.cc": "cubic,reno"}
        rows = []
        with ui.column().classes("page-axes"):
            for number in range(AXES):
                key, values = next(iter(first.items())) if number == 0 else (None, "")
                with ui.row().classes("page-axis") as row:
                    rows.append(row)
                    chosen = ui.select(keys, value=key, label=f"Key {number + 1}", with_input=True, clearable=True)
                    chosen.props("dense outlined options-dense").classes("page-medium").mark(f"key-{number + 1}")
                    entered = ui.input("Values", value=values, placeholder="10 ms,250 ms  or  1e-5..1e-1:5:log")
                    entered.props("dense outlined").classes("page-medium").mark(f"values-{number + 1}")
                    self.axes.append((chosen, entered))
        # The next key has a place when the one before is chosen.
        for (chosen, _), row in zip(self.axes, rows[1:], strict=False):
            row.bind_visibility_from(chosen, "value", backward=bool)
        self.third = (
            ui.select({}, label="Third key", on_change=self._pick).props("dense outlined").classes("page-narrow")
        )
        self.third.set_visibility(False)
        self.session.on("opened", lambda: [chosen.set_options(self._keys()) for chosen, _ in self.axes])

    def _keys(self) -> list[str]:
        found = groups(self.session.text, self.session.scenario)
        keys = [field.key for group in found for field in group.in_order if field.key != "title"]
        return [*dict.fromkeys(["tcp.cc", *keys])]

    def options(self) -> dict[str, Any]:
        """The grid; without keys, that of the scenario."""
        for number, (chosen, entered) in enumerate(self.axes, 1):
            if bool(chosen.value) != bool(entered.value):
                missing = "values" if chosen.value else "key"
                raise BentpipeError(f"Key {number} has no {missing}\n  expected a key and its values, or neither")
        texts = [f"{chosen.value}={entered.value}" for chosen, entered in self.axes if chosen.value and entered.value]
        vary, _ = read_varied(texts)
        scenario = self.session.scenario
        if not vary and (scenario is None or not scenario.to_dict().get("sweep", {}).get("vary")):
            raise BentpipeError(
                "a sweep needs a key that varies\n  expected a key with values, or a scenario with [sweep.vary]"
            )
        known = names("cc")
        own = dict(zip(self.session.studio.senders, self.session.studio.own, strict=True))
        for key, values in vary.items():
            if key.endswith(".cc") and isinstance(values, list):
                # A page cannot name a file of code that the command line did not.
                bad = [value for value in values if value not in known and value not in own]
                if bad:
                    raise BentpipeError(f"{bad[0]!r} is not a congestion control\n  known: {', '.join([*known, *own])}")
                vary[key] = [own.get(value, value) for value in values]
        return {"vary": vary} if vary else {}

    def _pick(self) -> None:
        self.picked = int(self.third.value or 0)
        if self.found is not None:
            self.show(self.found)

    def cells(self, found: dict[str, Any]) -> list[dict[str, Any]]:
        """The points that are shown: those of the first metric, and of the level of the third key that is picked."""
        name = found["metrics"][0]["name"]
        points = [point for point in found["points"] if point["metric"] == name]
        levels = _levels(points, 2)
        if not levels:
            return points
        picked = levels[min(self.picked, len(levels) - 1)]
        return [point for point in points if setting(point["at"][2]) == picked]

    def show(self, found: dict[str, Any] | None) -> None:
        """Show the map, and a picker for a third key."""
        if found is not None:
            levels = _levels(found["points"], 2)
            self.third.set_visibility(bool(levels))
            if levels and list(self.third.options.values()) != levels:  # type: ignore[union-attr]
                self.third.set_options(dict(enumerate(levels)), value=self.picked)
        super().show(found)

    def drawing(self, found: dict[str, Any]) -> dict[str, Any]:
        """A cell for each point: value and half-width. The best has a thick frame, and ties a dashed one.

        Unfinished cells are hatched.
        """
        points, metric = self.cells(found), found["metrics"][0]
        keys, columns, rows = found["keys"], _levels(points, 0), _levels(points, 1) or [""]
        values = [_middle(point) for point in points]
        divisor, unit = scale(values, metric["unit"])
        best, ties = (found[each].get(metric["name"], ()) for each in ("best", "ties"))
        data = []
        for point, value in zip(points, values, strict=True):
            at = [columns.index(setting(point["at"][0])), rows.index(setting(point["at"][1])) if len(keys) > 1 else 0]
            is_open = point["replications"] < point["wanted"] and found["missing"]
            look: dict[str, Any] = {"decal": HATCHES} if is_open else {}
            if value is not None and point["of"] in (*best, *ties):
                look |= {
                    "borderColor": BEST,
                    "borderWidth": 4,
                    "borderType": "solid" if point["of"] in best else "dashed",
                }
            # The map has no colour for a cell without a value.
            empty = {"visualMap": False, "itemStyle": {**look, "color": "transparent"}} if value is None else {}
            shown = round((value or 0) / divisor, 6)
            data.append({"value": [*at, shown], "text": _text(point, divisor), "itemStyle": look, **empty})
        known = [value / divisor for value in values if value is not None]
        least, most = min(known, default=0), max(known, default=1)
        places = _places(most - least, most)
        axis = {"type": "category", "splitArea": {"show": True}}
        return {
            "animation": False,
            "aria": {"enabled": True},
            "title": {"text": f"{metric['title']} ({unit})", "textStyle": {"fontSize": 13}},
            "grid": {
                "left": 8,
                "right": 72 + 8 * len(f"{most:.{places}f}"),
                "top": 36,
                "bottom": 34,
                "containLabel": True,
            },
            "tooltip": {"trigger": "item", ":formatter": CELL},
            "xAxis": {
                **axis,
                "data": columns,
                "name": short_key(keys[0], keys),
                "nameLocation": "middle",
                "nameGap": 26,
            },
            "yAxis": {**axis, "data": rows, "name": short_key(keys[1], keys) if len(keys) > 1 else ""},
            # By default the last dimension decides, which need not be the value.
            "visualMap": {
                "min": least,
                "max": most,
                "precision": places,
                "dimension": 2,
                "calculable": True,
                "right": 0,
                "top": "middle",
                "inRange": {"color": MAP},
            },
            "series": [
                {"type": "heatmap", "data": data, "label": {"show": True, "lineHeight": 15, ":formatter": CELL}}
            ],
        }

    def handle_click(self, index: int) -> None:
        """Run the point of a cell, and show it."""
        if self.found is None:
            return
        point = self.cells(self.found)[index]
        sets = dict(zip(self.found["keys"], point["at"], strict=True))
        self.session.start_run(sets)


def _levels(points: list[dict[str, Any]], axis: int) -> list[str]:
    """The values of a key, each once; none if there is no such key."""
    return [*dict.fromkeys(setting(point["at"][axis]) for point in points if len(point["at"]) > axis)]


def _middle(point: dict[str, Any]) -> float | None:
    value = point.get("mean", point.get("median"))
    return None if value is None else float(value)


def _places(span: float, most: float) -> int:
    """Decimal places that tell the ends of a scale apart."""
    size = span or abs(most) or 1
    return min(9, max(0, 1 - math.floor(math.log10(size))))


def _text(point: dict[str, Any], divisor: float) -> str:
    """Value and half-width of a cell, and how many runs it has if they are not all."""
    value, low, high = _middle(point), point["low"], point["high"]
    count = f"\n{point['replications']} of {point['wanted']}" if point["replications"] < point["wanted"] else ""
    if value is None:
        return count.strip() or "-"
    half = "" if low is None or high is None else f" ± {_half((high - low) / 2 / divisor, value / divisor)}"
    return f"{value / divisor:.4g}{half}{count}"


def _half(half: float, value: float) -> str:
    """A half-width. Below the last digit of its value, it is a bound."""
    least = 10.0 ** (math.floor(math.log10(abs(value))) - 3) if value else 0.0
    return f"< {least:g}" if 0 < half < least else f"{half:.2g}"
