"""Delays of datagrams, such as those of calls: over time, and a row of quantiles for each flow or kind of flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe import _core, formatting
from bentpipe.plot.kinds import LINES_MAX, choose_lines, group_flows
from bentpipe.plot.style import draw_limit, look, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.scenario.scenario import Scenario

DELAY = "delay_s"
"""Series of the delay of datagrams."""
SENDERS = ("datagrams", "probe")
"""Kinds of flows that send datagrams."""
ROW = 0.2
"""Height of a row in inches."""
EXPLAINED = "dot: median, bar: to 95 %, line: least to 99 %"
"""How to read a row."""


def sends_datagrams(scenario: Scenario) -> bool:
    """Whether a flow sends datagrams, so that the series `DELAY` has rows."""
    return not {*SENDERS}.isdisjoint(scenario.flow_kinds)


def draw_playouts(axes: Axes, result: RunResult, flows: Sequence[str], divisor: float) -> None:
    """Draw a line at the largest delay of media packets that are played: `playout` above the first packet's delay."""
    content = result.scenario.to_dict()["flow"]
    found: dict[float, list[str]] = {}
    for flow in flows:
        playout = _core.quantity(content[flow]["app"].get("playout", ""))
        first_s = result.series(DELAY, flow=flow)[DELAY].first()
        if playout is not None and isinstance(first_s, float):
            found.setdefault(first_s + playout[0], []).append(flow)
    for delay_s, members in found.items():
        name = members[0] if len(members) == 1 else f"{len(members)} flows"
        draw_limit(axes, delay_s / divisor, plain(f"playout of {name}: {formatting.quantity(delay_s, 's')}"))


@dataclass(frozen=True)
class Delay:
    """Quantiles of the one-way delays of a flow, in seconds."""

    name: str
    place: int
    least_s: float
    median_s: float
    p95_s: float
    p99_s: float


def list_delays(result: RunResult) -> list[Delay]:
    """List the delays of flows of datagrams, if packets arrived; at most `LINES_MAX` rows, the longest delays.

    For a kind of several flows, or a flow with several receivers, the receiver with the longest delays counts.
    """
    table = result.datagrams
    known = table.filter(table["delay_p99_s"].is_not_null())
    flows = known["flow"].unique(maintain_order=True).to_list()
    lines = choose_lines(result, flows)
    lines = lines if len(lines) <= LINES_MAX else group_flows(result, flows)
    found = []
    for line in lines:
        rows = known.filter(known["flow"].is_in(line.members)).sort("delay_p99_s", "delay_mean_s", descending=True)
        name = line.name if rows.height == 1 else f"{line.name}\n(longest of {rows.height})"
        values = rows.select("delay_min_s", "delay_p50_s", "delay_p95_s", "delay_p99_s").row(0)
        found.append(Delay(name, line.place, *values))
    if len(found) <= LINES_MAX:
        return found
    return sorted(found, key=lambda each: each.p99_s, reverse=True)[:LINES_MAX]


def draw_delays(axes: Axes, delays: Sequence[Delay]) -> None:
    """Draw quantiles of delays into a panel. The axis begins at zero, so that propagation and waiting are in scale."""
    divisor, unit = formatting.scale([each.p99_s for each in delays], "s")
    for row, each in enumerate(delays):
        colour = look(each.place)["color"]
        ends = [each.least_s / divisor, each.p99_s / divisor]
        axes.plot(ends, [row, row], "|-", color=colour, linewidth=0.8, markersize=5)
        bar = [each.median_s / divisor, each.p95_s / divisor]
        axes.plot(bar, [row, row], "-", color=colour, linewidth=3, solid_capstyle="butt")
        axes.plot(bar[0], row, "o", color=colour, markersize=4.5)
    axes.set_yticks(range(len(delays)), [plain(each.name) for each in delays])
    axes.set_ylim(len(delays) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_axisbelow(True)
    axes.grid(axis="x")
    axes.set_xlabel(f"Delay of packets ({unit})")
