"""Figures of single runs: time series, a panel each."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.catalog import unit as unit_of
from bentpipe.errors import BentpipeError
from bentpipe.plot.marks import mark
from bentpipe.plot.style import COLOURS, DASHES, blank, draw_rate, label, legend_above, plain, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.plot.traces import Line
    from bentpipe.scenario.scenario import Scenario

PANELS = {"goodput_bps": "Goodput", "cwnd_bytes": "Congestion window", "queue_bytes": "Queue"}
"""Series that `run_figure` draws if they were recorded, in this order, with their titles."""
GRANTS = {"granted_bps": "Granted", "requested_bps": "Requested", "backlog_bytes": "Backlog", "modcod": "MODCOD"}
"""Series of links in a medium that `run_figure` draws after `PANELS`."""
INSIDES = {
    "cc_state": "State",
    "cc_pacing_gain": "Pacing gain",
    "cc_cwnd_gain": "Window gain",
    "cc_bandwidth_bps": "Bandwidth",
    "cc_min_rtt_s": "Least RTT",
    "cc_inflight_longterm_bytes": "Long-term",
    "cc_inflight_shortterm_bytes": "Short-term",
    "cc_bw_shortterm_bps": "Short-term",
    "cc_extra_acked_bytes": "ACK bursts",
    "cc_full_bw_reached": "Pipe found full",
    "cc_values": "Value",
}
"""Series of values inside a congestion control, which a figure has if they were recorded."""
VALUES = "cc_values"
"""Series with a panel for each name in it, such as `cc_values:round_count`."""
TITLES = {**PANELS, **GRANTS, **INSIDES}

LABEL_LETTERS = 48
"""Maximum number of letters in a line below the axis of time."""
LEGEND_MAX = 8
LINKS_MAX = 3
"""Maximum number of links in a panel. The text below the axis of time has the count of all."""
MODCODS_MAX = 6
"""Maximum number of names at the axis of MODCODs."""


def run_figure(result: RunResult) -> Figure:
    """Draw the recorded time series of `PANELS` and `GRANTS`, one panel each.

    Raises
    ------
    BentpipeError
        None of them was recorded.
    """
    names = choose_series(result)
    if not names:
        raise BentpipeError("the run has no time series to draw\n  expected at least one of " + ", ".join(PANELS))
    with style():
        return _run_figure(result, names)


def choose_series(result: RunResult) -> list[str]:
    """Return the recorded series that `run_figure` draws: of grants those above zero, and MODCODs that change."""
    found = [name for name in TITLES if name in result.recorded and result.recorded[name].height]
    if VALUES in found:
        values = result.recorded[VALUES]["name"].unique(maintain_order=True)
        found = [*(name for name in found if name != VALUES), *(f"{VALUES}:{value}" for value in values)]
    return [name for name in found if name not in GRANTS or _says_something(result, name)]


def _table(result: RunResult, name: str) -> pl.DataFrame:
    """Return the rows of a panel, with its values in the column `name`."""
    series, _, value = name.partition(":")
    table = result.recorded[series]
    return table.filter(table["name"] == value).rename({series: name}) if value else table


def _title(name: str) -> str:
    return TITLES.get(name) or name.partition(":")[2]


def _unit(name: str) -> str:
    return unit_of("series", name.partition(":")[0])


def _says_something(result: RunResult, name: str) -> bool:
    return bool(_list_shown(result, name)) if name == "modcod" else bool((_table(result, name)[name] != 0).any())


def choose_panels(scenario: Scenario) -> list[str]:
    """Return the series that a figure of the scenario needs: those of grants only if it has a medium."""
    # The queue is the backlog, without the rest of a packet in service.
    return [*PANELS, *(("granted_bps", "requested_bps", "modcod") if scenario.has_media else ())]


def _run_figure(result: RunResult, names: list[str]) -> Figure:
    figure, panels = blank(len(names), height=0.5 + 1.45 * len(names))
    explained: list[list[str]] = []
    # A link has the same colour in every panel, as a flow has.
    colours: dict[str, int] = {}
    for axes, name in zip(panels, names, strict=True):
        shown = _list_shown(result, name)
        # The same colours are explained once.
        _draw(axes, result, name, shown, colours, has_legend=shown not in explained)
        explained.append(shown)
    figure.suptitle(plain(textwrap.fill(result.scenario.title, 56)), x=0.02, ha="left")
    said = "Time (s)" + _averaging(result, names) + _cut(result, names)
    said += mark(panels, result.scenario, result.simulated_s)
    panels[-1].set_xlabel(textwrap.fill(said, LABEL_LETTERS))
    panels[-1].set_xlim(0, result.simulated_s or None)
    return figure


def _averaging(result: RunResult, names: list[str]) -> str:
    intervals = _intervals(result)
    is_averaged = any(_is_rate(name) and _table(result, name).height > intervals for name in names)
    return f"; rates are means over {formatting.quantity(result.simulated_s / intervals, 's')}" if is_averaged else ""


def _cut(result: RunResult, names: list[str]) -> str:
    """Count the links that a panel has no room for, once for the same links."""
    found: dict[tuple[str, ...], str] = {}
    for name in names:
        links = _list_wanted(result, name)
        if "link" in _table(result, name).columns and len(links) > LINKS_MAX:
            shown = f"{LINKS_MAX}" if name == "modcod" else f"the {LINKS_MAX} largest on average"
            count = _table(result, name)["link"].n_unique()
            found.setdefault(tuple(links), f"; {_title(name)}: {shown} of {count} links")
    return "".join(found.values())


def _intervals(result: RunResult) -> int:
    """Count the intervals over which rates are averaged.

    Each is at least a round trip, in which data comes in bursts.
    """
    from bentpipe.plot.traces import RATES

    longest: float = result.flows["rtt_p50_s"].max() or 0.0  # type: ignore[assignment]
    return max(1, min(RATES, int(result.simulated_s / longest) if longest else RATES))


def _list_shown(result: RunResult, name: str) -> list[str]:
    """Return the flows, or the links, that a panel shows."""
    found = _list_wanted(result, name)
    return found[:LINKS_MAX] if "link" in _table(result, name).columns else found


def _list_wanted(result: RunResult, name: str) -> list[str]:
    """Return the flows, or the links that matter, the largest mean first."""
    import polars as pl

    table = _table(result, name)
    if name == "modcod":
        return _list_adapted(result)
    if name == "granted_bps" and "requested_bps" in result.recorded and _says_something(result, "requested_bps"):
        # Grants are seen beside the requests for them.
        name, table = "requested_bps", result.recorded["requested_bps"]
    if "link" in table.columns:
        # Most links of a network have empty queues. The links with large queues matter. The largest mean comes first,
        # because many links may reach the same limit.
        largest = (
            table.group_by("link")
            .agg(largest=pl.col(name).max(), mean=pl.col(name).mean())
            .sort("mean", "link", descending=[True, False])
        )
        matters = largest["largest"] >= 0.1 * (largest["largest"].max() or 0)  # type: ignore[operator]
        return largest.filter(matters)["link"].to_list()
    known = set(table["flow"].unique())
    return [flow for flow in result.scenario.flow_names if flow in known]


def _list_adapted(result: RunResult) -> list[str]:
    """Return links with several MODCODs, of one medium: numbers of two media have different names."""
    import polars as pl

    used = result.recorded["modcod"].group_by("link").agg(used=pl.col("modcod").n_unique()).filter(pl.col("used") > 1)
    found = used.join(result.terminals.select("link", "medium"), on="link").sort(
        "used", "link", descending=[True, False]
    )
    return found.filter(found["medium"].is_in(found["medium"].head(1).to_list()))["link"].to_list()


def _name_modcods(axes: Axes, result: RunResult, shown: list[str]) -> None:
    """Write names of MODCODs at the axis, evenly chosen if there are many."""
    import polars as pl

    medium = result.terminals.filter(pl.col("link") == shown[0])["medium"].item()
    rows = result.modcods.filter(pl.col("medium") == medium).sort("waveform")
    numbers, names = rows["waveform"].to_list(), rows["modcod"].to_list()
    step = math.ceil(len(numbers) / MODCODS_MAX)
    axes.set_yticks(numbers[::step], names[::step])
    axes.set_ylim(numbers[0] - 1, numbers[-1] + 1)


def _draw(
    axes: Axes, result: RunResult, name: str, shown: list[str], colours: dict[str, int], *, has_legend: bool
) -> None:
    import numpy as np

    from bentpipe.plot import traces

    table = _table(result, name)
    entity = "link" if "link" in table.columns else "flow"
    if entity == "flow":
        places = [result.scenario.flow_names.index(each) for each in shown]
    else:
        places = [colours.setdefault(each, len(colours)) for each in shown]
    ends = _spans(result, shown) if entity == "flow" else [(0.0, math.inf)] * len(shown)
    drawn = [
        _line(table.filter(table[entity] == each), name, min(end_s, result.simulated_s), result)
        for each, (_, end_s) in zip(shown, ends, strict=True)
    ]
    largest_value = max((float(np.nanmax(values)) for _, values in drawn if np.isfinite(values).any()), default=0.0)
    divisor, unit = formatting.scale([largest_value], _unit(name))
    is_many = len(shown) > LEGEND_MAX
    for place, each, (times, values) in zip(places, shown, drawn, strict=True):
        # Many lines look alike, so they are one cloud, and their mean is the line.
        colour = COLOURS[place % len(COLOURS)] if not is_many else "0.7"
        axes.plot(
            times,
            values / divisor,
            color=colour,
            linestyle=DASHES[place // len(COLOURS) % len(DASHES)] if not is_many else "-",
            linewidth=0.4 if is_many else 0.9,
            drawstyle="steps-post" if _holds(name) else "steps-pre" if _is_rate(name) else "default",
            label=(f"each of {len(shown)}" if each == shown[0] else None) if is_many else each,
            rasterized=len(times) > 20_000,
        )
    if is_many:
        times, values = traces.mean(drawn, _spans(result, shown), result.simulated_s, holds=_holds(name))
        axes.plot(times, values / divisor, color=COLOURS[0], linewidth=1.2, label="mean of those active")
    if name == "goodput_bps":
        draw_rate(axes, [result.scenario], divisor, "y")
    axes.set_ylim(bottom=0)
    axes.set_ylabel(label(_title(name), unit))
    if name == "modcod":
        _name_modcods(axes, result, shown)
    if name == "cc_state":
        names = dict(table.select(name, "name").unique().sort(name).iter_rows())
        axes.set_yticks(list(names), list(names.values()))
    axes.grid()
    if has_legend:
        legend_above(axes)


def windows(result: RunResult) -> Line:
    """Return the congestion window over time: of the only flow, or the mean of the active flows."""
    from bentpipe.plot import traces

    table = result.series("cwnd_bytes")
    flows = table["flow"].unique(maintain_order=True).to_list()
    found = [traces.line(table.filter(table["flow"] == flow), "cwnd_bytes") for flow in flows]
    if len(found) == 1:
        return found[0]
    return traces.mean(found, _spans(result, flows), result.simulated_s, holds=True)


def _line(rows: pl.DataFrame, name: str, end_s: float, result: RunResult) -> Line:
    from bentpipe.plot import traces

    if _is_rate(name):
        return traces.rates(rows, name, result.simulated_s, _intervals(result))
    return traces.held(rows, name, end_s) if _holds(name) else traces.line(rows, name)


def _holds(name: str) -> bool:
    """Whether its value holds between two rows."""
    return name in ("cwnd_bytes", "modcod") or name.partition(":")[0] in INSIDES


def _is_rate(name: str) -> bool:
    return _unit(name) == "bit/s" and not _holds(name)


def _spans(result: RunResult, flows: Sequence[str]) -> list[tuple[float, float]]:
    """Return the active time of each flow. A flow that has not started has none."""
    rows = {row["flow"]: row for row in result.flows.iter_rows(named=True)}
    starts = {flow: math.inf if (at := rows[flow]["start_s"]) is None else at for flow in flows}
    return [(starts[flow], starts[flow] + (rows[flow]["completion_s"] or math.inf)) for flow in flows]
