"""Compare: each replication as a dot, with mean and interval, for several congestion controls or cases."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from bentpipe.catalog import names
from bentpipe.errors import BentpipeError
from bentpipe.formatting import scale
from bentpipe.studio.page.experiment import Experiment

SOFT = "#8a94a0"

INTERVAL = """(params, api) => {
  const row = api.value(0), low = api.coord([api.value(1), row]), high = api.coord([api.value(2), row]);
  const mean = api.coord([api.value(3), row]);
  return { type: 'group', children: [
    { type: 'line', shape: { x1: low[0], y1: low[1], x2: high[0], y2: high[1] },
      style: { stroke: '#0072b2', lineWidth: 5, lineCap: 'round' } },
    { type: 'circle', shape: { cx: mean[0], cy: mean[1], r: 5 }, style: { fill: '#d55e00' } },
  ] };
}"""
"""Draws an interval: ECharts has no mark for it."""


class Compare(Experiment):
    """The panel of comparisons."""

    kind = "compare"

    def settings(self) -> None:
        """Congestion controls; none means the cases of the scenario."""
        known = [*names("cc"), *self.session.studio.senders]
        self.names = ui.select(
            known, multiple=True, label="Congestion controls", value=["cubic", "bbr3"], with_input=True
        )
        self.names.props("dense outlined options-dense use-chips").classes("page-wide").mark("senders")

    def options(self) -> dict[str, Any]:
        """The congestion controls; custom ones as they were named on the command line."""
        named = [str(name) for name in self.names.value or ()]
        scenario = self.session.scenario
        if not named and (scenario is None or not scenario.cases):
            raise BentpipeError(
                "a comparison needs two cases or more\n  expected congestion controls, or a scenario with [case.NAME]"
            )
        own = dict(zip(self.session.studio.senders, self.session.studio.own, strict=True))
        return {"cc": [own.get(name, name) for name in named]} if named else {}

    def drawing(self, found: dict[str, Any]) -> dict[str, Any]:
        """Dots, intervals and means, one row for each case, the best at the top."""
        metric, cases = found["metric"], found["cases"][::-1]
        divisor, unit = scale([value for case in cases for value in case["values"]], metric["unit"])
        means = [_middle(case) for case in cases]
        dots = [
            [value / divisor, row] for row, case in enumerate(cases) for value in case["values"] if value is not None
        ]
        intervals = [
            [
                row,
                (case["low"] if case["low"] is not None else mean) / divisor,
                (case["high"] if case["high"] is not None else mean) / divisor,
                mean / divisor,
            ]
            for row, (case, mean) in enumerate(zip(cases, means, strict=True))
            if mean is not None
        ]
        return {
            "animation": False,
            "aria": {"enabled": True},
            "grid": {"left": 8, "right": 24, "top": 16, "bottom": 40, "containLabel": True},
            "tooltip": {"trigger": "item"},
            "xAxis": {
                "type": "value",
                "scale": True,
                "name": f"{metric['title']} ({unit})",
                "nameLocation": "middle",
                "nameGap": 26,
            },
            "yAxis": {"type": "category", "data": [_label(case, found["wanted"]) for case in cases]},
            "series": [
                {
                    "type": "scatter",
                    "name": "replication",
                    "data": dots,
                    "symbolSize": 7,
                    # Below the interval, which would cover them.
                    "symbolOffset": [0, 14],
                    "itemStyle": {"color": SOFT, "opacity": 0.7},
                },
                {
                    "type": "custom",
                    "name": "mean and 95 % interval",
                    "data": intervals,
                    ":renderItem": INTERVAL,
                    "encode": {"x": [1, 2, 3], "y": 0},
                },
            ],
        }


def _middle(case: dict[str, Any]) -> float | None:
    value = case.get("mean", case.get("median"))
    return None if value is None else float(value)


def _label(case: dict[str, Any], wanted: int) -> str:
    count = case["replications"]
    return str(case["of"]) if count == wanted else f"{case['of']} ({count} of {wanted})"
