"""Figures of single runs: time series, a panel each, and the delay of datagrams."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.catalog import unit as unit_of
from bentpipe.errors import BentpipeError
from bentpipe.plot.delays import DELAY, EXPLAINED, ROW, draw_delays, draw_playouts, list_delays, sends_datagrams
from bentpipe.plot.ends import explain_lines, measure_moves
from bentpipe.plot.kinds import LINES_MAX, Line, choose_lines
from bentpipe.plot.marks import mark
from bentpipe.plot.style import COLOURS, WIDTH, draw_rate, label, look, plain, sheet, style, write_note

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.scenario.scenario import Scenario
    from bentpipe.statistics.curve import Columns

ROUTE_QUEUE = "route_queue_bytes"
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
TITLES = {**PANELS, DELAY: "Delay of packets", **GRANTS, **INSIDES, ROUTE_QUEUE: "Queue of route"}

PANEL_IN = 1.1
"""Height of a panel in inches, without its title and gaps."""
LABEL_LETTERS = 21
"""Letters of a label beside a panel."""
LINKS_MAX = 3
"""Maximum number of links in a panel. The note below the figure has the count of all."""
MODCODS_MAX = 6
"""Maximum number of names at the axis of MODCODs."""


def run_figure(result: RunResult) -> Figure:
    """Draw the recorded time series of `TITLES`, one panel each.

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
    """Return the recorded series that `run_figure` draws, without constant MODCODs and grants that are always zero.

    If routes change, the fullest queue on the route of each flow is drawn, because links come and go.
    """
    found = [name for name in TITLES if name in result.recorded and result.recorded[name].height]
    if VALUES in found:
        values = result.recorded[VALUES]["name"].unique(maintain_order=True)
        found = [*(name for name in found if name != VALUES), *(f"{VALUES}:{value}" for value in values)]
    if any(len(result.find_routes(flow)) > 1 for flow in result.scenario.flow_names):
        found = [ROUTE_QUEUE if name == "queue_bytes" else name for name in found]
    return [name for name in found if name not in GRANTS or _says_something(result, name)]


def _table(result: RunResult, name: str) -> pl.DataFrame:
    """Return the rows of a panel, with its values in the column `name`."""
    series, _, value = name.partition(":")
    table = result.recorded[series]
    return table.filter(table["name"] == value).rename({series: name}) if value else table


def _is_of_links(result: RunResult, name: str) -> bool:
    return name != ROUTE_QUEUE and "link" in _table(result, name).columns


def _title(name: str) -> str:
    return TITLES.get(name) or name.partition(":")[2]


def _unit(name: str) -> str:
    if name == ROUTE_QUEUE:
        return "B"
    return unit_of("series", name.partition(":")[0])


def _says_something(result: RunResult, name: str) -> bool:
    return bool(_list_shown(result, name)) if name == "modcod" else bool((_table(result, name)[name] != 0).any())


def choose_panels(scenario: Scenario) -> list[str]:
    """Return the series that a figure of the scenario needs.

    Series of datagrams and media are included if it has them.
    """
    delay = [DELAY] if sends_datagrams(scenario) else []
    # The queue is the backlog, without the rest of a packet in service.
    return [*PANELS, *delay, *(("granted_bps", "requested_bps", "modcod") if scenario.has_media else ())]


def _run_figure(result: RunResult, names: list[str]) -> Figure:
    delays = list_delays(result)
    figure, panels, below = _make_panels(len(names), len(delays))
    alike: dict[tuple[str, ...], list[Axes]] = {}
    # A link has the same colour in every panel, as a flow has.
    colours: dict[str, int] = {}
    widths: dict[str, float] = {}
    for axes, name in zip(panels, names, strict=True):
        shown = _list_shown(result, name)
        widths[name] = _draw(axes, result, name, shown, colours)
        alike.setdefault(tuple(shown), []).append(axes)
    figure.suptitle(plain(textwrap.fill(result.scenario.title, 56)), x=0.02, ha="left")
    said = [*_averaging(widths), *_cut(result, names), *_gaps(result, names)]
    said += filter(None, [mark(panels, result.scenario, result.simulated_s).removeprefix("; ")])
    panels[-1].set_xlabel("Time (s)")
    panels[-1].set_xlim(0, result.simulated_s or None)
    for several in alike.values():
        # The same colours are explained once, where names are nearest to their lines.
        explain_lines(min(several, key=lambda axes: measure_moves(axes, PANEL_IN)), PANEL_IN)
    if below is not None:
        draw_delays(below, delays)
        said.append(EXPLAINED)
    if said:
        write_note(below or panels[-1], "; ".join(said))
    return figure


def _make_panels(series: int, delays: int) -> tuple[Figure, list[Axes], Axes | None]:
    """Make panels that share the axis of time, and below them one for delays, if there are any."""
    heights = [1.45] * series + [0.75 + ROW * delays] * (delays > 0)
    figure = sheet(WIDTH, 0.5 + sum(heights))
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    panels: list[Axes] = []
    for at in range(series):
        panels.append(figure.add_subplot(grid[at], sharex=panels[0] if panels else None))
        if at < series - 1:
            panels[at].tick_params(labelbottom=False)
    return figure, panels, figure.add_subplot(grid[series]) if delays else None


def _averaging(widths: dict[str, float]) -> list[str]:
    """Name the width of the columns."""
    found = sorted({width for width in widths.values() if width})
    said = " or ".join(f"{width:g} s" for width in found)
    return [f"lines are means over {said}, bands least to greatest"] if found else []


def _gaps(result: RunResult, names: list[str]) -> list[str]:
    """Name the series that end before the run, because their rows did not fit."""
    ends = {name: result.recorded_until(name) for name in names}
    found = [f"{_title(name)} until {end:.4g} s" for name, end in ends.items() if end < result.simulated_s]
    return [f"recorded only: {', '.join(found)}"] if found else []


def _cut(result: RunResult, names: list[str]) -> list[str]:
    """Count the links that a panel has no room for, once for the same links."""
    found: dict[tuple[str, ...], str] = {}
    for name in names:
        links = _list_wanted(result, name)
        if _is_of_links(result, name) and len(links) > LINKS_MAX:
            shown = f"{LINKS_MAX}" if name == "modcod" else f"the {LINKS_MAX} largest on average"
            count = _table(result, name)["link"].n_unique()
            found.setdefault(tuple(links), f"{_title(name)}: {shown} of {count} links")
    return list(found.values())


def _list_shown(result: RunResult, name: str) -> list[str]:
    """Return the flows, or the links, that a panel shows."""
    found = _list_wanted(result, name)
    return found[:LINKS_MAX] if _is_of_links(result, name) else found


def _list_wanted(result: RunResult, name: str) -> list[str]:
    """Return the flows, or the links that matter, the largest mean first."""
    import polars as pl

    if name == ROUTE_QUEUE:
        return list(result.scenario.flow_names)
    table = _table(result, name)
    if name == "modcod":
        return result.find_adapted_links()
    if name == "granted_bps" and "requested_bps" in result.recorded and _says_something(result, "requested_bps"):
        # Grants are seen beside the requests for them.
        name, table = "requested_bps", result.recorded["requested_bps"]
    if "link" in table.columns:
        # Most links of a network have empty queues. The links with large queues matter. The largest mean comes first,
        # because many links may reach the same limit.
        most = "greatest" if "greatest" in table.columns else name
        largest = (
            table.group_by("link")
            .agg(largest=pl.col(most).max(), mean=pl.col(name).mean())
            .sort("mean", "link", descending=[True, False])
        )
        matters = largest["largest"] >= 0.1 * (largest["largest"].max() or 0)  # type: ignore[operator]
        return largest.filter(matters)["link"].to_list()
    known = set(table["flow"].unique())
    return [flow for flow in result.scenario.flow_names if flow in known]


def _name_modcods(axes: Axes, result: RunResult, shown: list[str]) -> None:
    """Write names of MODCODs at the axis, evenly chosen if there are many."""
    import polars as pl

    medium = result.terminals.filter(pl.col("link") == shown[0])["medium"].item()
    rows = result.modcods.filter(pl.col("medium") == medium).sort("waveform")
    numbers, names = rows["waveform"].to_list(), rows["modcod"].to_list()
    step = math.ceil(len(numbers) / MODCODS_MAX)
    axes.set_yticks(numbers[::step], names[::step])
    axes.set_ylim(numbers[0] - 1, numbers[-1] + 1)


def _draw(axes: Axes, result: RunResult, name: str, shown: list[str], colours: dict[str, int]) -> float:
    """Draw a panel; return the width of its columns, s: 0 if each row is drawn."""
    import numpy as np

    from bentpipe.plot import traces

    if _is_of_links(result, name):
        lines = [Line(each, colours.setdefault(each, len(colours)), [each]) for each in shown]
    else:
        lines = choose_lines(result, shown)
    drawn = [_make_columns(result, name, line.members) for line in lines] if result.simulated_s else []
    largest_value = max(
        (float(np.nanmax(each.greatest)) for each in drawn if np.isfinite(each.greatest).any()), default=0.0
    )
    divisor, unit = formatting.scale([largest_value], _unit(name))
    is_many = len(lines) > LINES_MAX
    for at, (line, columns) in enumerate(zip(lines, drawn, strict=False)):
        count = len(line.members)
        # Many lines look alike, so they are one cloud, and their mean is the line.
        traces.draw(
            axes,
            columns,
            divisor,
            has_band=not is_many,
            **(look(line.place) if not is_many else {"color": "0.7", "linestyle": "-"}),
            linewidth=0.4 if is_many else 0.9,
            label=(f"each of {len(lines)}" if at == 0 else None)
            if is_many
            else plain(line.name if count == 1 else f"{line.name} (mean of {count})"),
        )
    if is_many and drawn:
        mean = _make_columns(result, name, shown)
        traces.draw(axes, mean, divisor, color=COLOURS[0], linewidth=1.2, label="mean of those active")
    if name == "goodput_bps":
        draw_rate(axes, [result.scenario], divisor, "y")
        traces.cap(axes, drawn, divisor, _find_rate(result, shown))
    if name == DELAY:
        draw_playouts(axes, result, shown, divisor)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(textwrap.fill(label(_title(name), unit), LABEL_LETTERS))
    if name == "modcod":
        _name_modcods(axes, result, shown)
    if name == "cc_state":
        table = _table(result, name)
        names = dict(table.select(name, "name").unique().sort(name).iter_rows())
        axes.set_yticks(list(names), list(names.values()))
    axes.grid()
    return max((each.width_s for each in drawn), default=0.0)


def _make_columns(result: RunResult, name: str, members: list[str]) -> Columns:
    """Return the values of a flow or link, or the mean over the flows that are active."""
    from bentpipe.plot import traces

    curves = [result.curve(name, each) for each in members]
    if len(curves) == 1:
        return curves[0].cut(0.0, result.simulated_s, traces.COLUMNS)
    return traces.average_curves(curves, result.simulated_s)


def _find_rate(result: RunResult, flows: list[str]) -> float | None:
    """Return the largest rate of a slowest link on the routes of flows, bit/s; None if links in a medium decide."""
    in_media = set(result.terminals["link"])
    links = {each["link"]: max(each["rate_bps"]["values"]) for each in result.scenario.network()["links"]}
    found = []
    for flow in flows:
        for _, route in result.find_routes(flow):
            found += [min(links[link] for link in route)] if route and not in_media & set(route) else []
    return max(found, default=None)


def windows(result: RunResult) -> Columns:
    """Return the congestion window over time: of the only flow, or the mean of the active flows."""
    return _make_columns(
        result, "cwnd_bytes", result.series("cwnd_bytes")["flow"].unique(maintain_order=True).to_list()
    )
