"""Tune: the settings of each rung of a search as dots while it runs, then the verdict and the worth of each change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nicegui import ui

from bentpipe.errors import BentpipeError
from bentpipe.studio.page.experiment import Experiment, add_table, metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

SOFT, KEPT, BEST = "#8a94a0", "#0072b2", "#d55e00"
LOW, HIGH = -100.0, 200.0
"""Changes in percent at the ends of the chart, unless the best one is higher. Dots beyond are triangles at its edge."""
TURN = 0.618034
"""Step between neighbouring dots across a rung, in its widths: dots of similar height lie apart."""
WIDTH = 0.7
LABEL = """(params) => params.data.text"""


class Tune(Experiment):
    """The panel of searches."""

    kind = "tune"

    def settings(self) -> None:
        """Objective, guard, budget and space. Keys and conditions are in the text."""
        known = {"": "as in [tune]", **metrics()}
        self.objective = ui.select(known, value="", label="Objective", with_input=True)
        self.objective.props("dense outlined options-dense").classes("page-medium").mark("objective")
        self.of = ui.input("Flow or link", placeholder="pages").props("dense outlined").classes("page-narrow")
        self.of.mark("objective-of")
        self.guard = ui.input("Guard", placeholder="goodput:film >= -15 %").props("dense outlined")
        self.guard.classes("page-medium").mark("guard")
        self.budget = ui.input("Budget", placeholder="2000 or 10min").props("dense outlined")
        self.budget.classes("page-narrow").mark("budget")
        self.space = ui.select(["linux", "all"], value="linux", label="Space").props("dense outlined options-dense")
        self.space.classes("page-narrow").mark("space")

    def sampling(self) -> None:
        """Add no field: rungs decide the replications."""

    def collect_arguments(self) -> dict[str, Any]:
        """Return no argument: rungs decide the replications."""
        return {}

    def options(self) -> dict[str, Any]:
        """Arguments of the search; an empty field is that of the scenario."""
        scenario = self.session.scenario
        objective, of = str(self.objective.value or ""), str(self.of.value or "").strip()
        if of and not objective:
            raise BentpipeError("the flow or link has no metric\n  expected an objective, such as fct")
        has_own = scenario is not None and "objective" in scenario.written[0]
        if not objective and not has_own:
            raise BentpipeError("the search has no objective\n  expected a metric, or objective in [tune] of the text")
        return {
            **({"objective": f"{objective}:{of}" if of else objective} if objective else {}),
            **({"guard": [str(self.guard.value)]} if self.guard.value else {}),
            **({"budget": str(self.budget.value).strip()} if self.budget.value else {}),
            **({"space": self.space.value} if self.space.value != "linux" else {}),
        }

    def drawing(self, found: dict[str, Any]) -> dict[str, Any]:
        """A dot for each setting of each rung: kept ones are blue, and the best one of the last rung is orange."""
        rungs = found["rungs"]
        names, high = _labels(rungs), _highest(found)
        shown: dict[str, list[dict[str, Any]]] = {"not kept": [], "kept": [], "best so far": []}
        for at, rung in enumerate(rungs):
            for place, setting in enumerate(rung["settings"]):
                if setting["change"] is None:
                    continue
                across = at + WIDTH * ((place * TURN) % 1 - 0.5)
                is_best = at == len(rungs) - 1 and setting["name"] == found["best"]
                kind = "best so far" if is_best else "kept" if setting["kept"] else "not kept"
                change = 100 * setting["change"]
                text = f"{setting['name']}: {change:+.1f} %"
                edge = {} if LOW <= change <= high else {"symbol": "triangle", "symbolRotate": 0 if change > 0 else 180}
                shown[kind].append({"value": [round(across, 3), min(max(change, LOW), high)], "text": text, **edge})
        looks = {"not kept": (SOFT, 5), "kept": (KEPT, 7), "best so far": (BEST, 12)}
        return {
            "animation": False,
            "aria": {"enabled": True},
            "title": {"text": f"{found['objective']} (%)", "left": 0, "top": 0, "textStyle": {"fontSize": 13}},
            "legend": {"top": 26, "left": 0},
            "grid": {"left": 8, "right": 16, "top": 60, "bottom": 44, "containLabel": True},
            "tooltip": {"trigger": "item", "confine": True, ":formatter": LABEL},
            "xAxis": {
                "type": "value",
                "min": -0.5,
                "max": max(len(rungs), 4) - 0.5,
                "interval": 0.5,
                "splitLine": {"show": False},
                "axisTick": {"show": False},
                "axisLine": {"onZero": False},
                "axisLabel": {"lineHeight": 15, ":formatter": f"(value) => ({json.dumps(names)}[value] ?? '')"},
                "name": "settings × seeds of each rung",
                "nameLocation": "middle",
                "nameGap": 46,
            },
            "yAxis": {"type": "value", "scale": True, "axisLine": {"onZero": False}},
            "series": [
                {
                    "type": "scatter",
                    "name": name,
                    "data": data,
                    "symbolSize": looks[name][1],
                    "itemStyle": {"color": looks[name][0], "opacity": 0.8},
                    **({"markLine": DEFAULT} if name == "kept" else {}),
                }
                for name, data in shown.items()
            ],
        }

    def show(self, found: dict[str, Any] | None) -> None:
        """Show the rungs, and at the end the worth of each change."""
        if found is not None and not found["rungs"]:
            # The first rung goes on.
            self.found = found
            return
        super().show(found)
        if found is None:
            return
        with self.statements:
            if found["worth"]:
                add_table(("change", "alone", "taken back"), found["worth"], "worth")
            rows = [
                (rung["name"] or "search", *(f"{rung[name]:,}" for name in ("blocks", "points", "kept", "runs")))
                for rung in found["rungs"]
            ]
            add_table(("rung", "seeds", "settings", "kept", "new runs"), rows, "rungs")


DEFAULT = {
    "silent": True,
    "symbol": "none",
    "data": [{"yAxis": 0}],
    "lineStyle": {"color": SOFT, "type": "dashed"},
    "label": {"formatter": "default", "position": "insideEndTop", "color": SOFT},
}
"""The line of the default setting."""


def _highest(found: dict[str, Any]) -> float:
    """The highest change in the chart: that of the best setting is inside."""
    best = [
        each["change"] for rung in found["rungs"][-1:] for each in rung["settings"] if each["name"] == found["best"]
    ]
    return max([HIGH, *(100 * float(change) for change in best if change is not None)])


def _labels(rungs: Sequence[dict[str, Any]]) -> list[str]:
    """Name each rung by its counts, and the first of each climb also by its name."""
    names = [rung["name"] for rung in rungs]
    is_first = [not at or names[at] != names[at - 1] for at in range(len(names))]
    return [
        f"{rung['points']}×{rung['blocks']}\n{(rung['name'] or 'search') if first else ''}"
        for rung, first in zip(rungs, is_first, strict=True)
    ]
