"""Figures of the sky: maps of the Earth, and paths or passes over time."""

from __future__ import annotations

from functools import cache
from importlib.resources import files as resources
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting
from bentpipe.plot.style import COLOURS, WIDE, blank, label, plain, sheet, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bentpipe.sky.budgets import Budget
    from bentpipe.sky.covering import Coverage
    from bentpipe.sky.matrix import SkyPaths
    from bentpipe.sky.moment import Map
    from bentpipe.sky.passing import Passes
    from bentpipe.sky.paths import SkyPath

    Lines = list[NDArray[np.float64]]

LAND, SEA, SHORE = "#e8e6df", "#f7fafc", "0.55"
MANY = 2000
"""Least number of satellites for which each is only a dot and links are faint."""
PATHS_MAX = 300
"""Maximum number of paths with a line each. A figure of more paths shows their median and range."""
BINS = 200
NAMED_MAX = 8
"""Maximum number of satellites whose names are on a map."""
EDGE = 130
"""Longitude in degrees beyond which a name on the outer side would leave the map."""
CROWD = 60
"""Maximum number of passes that a reader can distinguish."""
TICKS_MAX = 45
"""Maximum number of places that are all named beside a heat map. Of more places, some are named."""


def map_figure(found: Map) -> Figure:
    """Draw satellites, links and the path at an instant."""
    with style():
        figure, axes = _world()
        at = {name: (east, north) for name, north, east, _ in found.satellites.iter_rows()}
        known = found.satellites.drop_nulls()
        is_crowded = len(known) > MANY
        links = [(at[a], at[b]) for a, b in found.links.iter_rows()]
        _draw(axes, links, color="0.6", linewidth=0.25 if is_crowded or len(links) > MANY else 0.5, zorder=2)
        size = 0.8 if is_crowded else 3 if len(known) > 200 else 7 if len(known) > 20 else 16
        axes.scatter(known["longitude_deg"], known["latitude_deg"], s=size, color=COLOURS[0], linewidths=0, zorder=3)
        nodes = [(east, north) for _, north, east, _ in found.path.iter_rows()]
        _draw(axes, list(pairwise(nodes)), color=COLOURS[1], linewidth=1.4, zorder=4)
        if len(nodes) > 2:
            east, north = zip(*nodes[1:-1], strict=True)
            axes.scatter(east, north, s=9, color=COLOURS[1], linewidths=0, zorder=5)
        if len(known) <= NAMED_MAX:
            for name, *spot, _ in known.iter_rows():
                _name(axes, name, *spot, is_left=spot[1] > EDGE, color=COLOURS[0], lift=4)
        places = sorted(found.scene.places, key=lambda place: place.longitude_deg)
        for place in places:
            mark: Any = "^" if place in found.scene.gateways else "s"
            at_east = place.longitude_deg
            axes.scatter(at_east, place.latitude_deg, marker=mark, s=16, color="#000000", zorder=6)
            # Names point away from each other.
            is_left = at_east > EDGE or (place is places[0] and len(places) > 1 and at_east > -EDGE)
            _name(axes, place.name, place.latitude_deg, at_east, is_left=is_left, color="#000000")
        figure.suptitle(
            plain(f"{found.scene.over}, {found.scene.instant(found.at_s)}{_describe_map(found)}"), x=0.02, ha="left"
        )
        return figure


def _name(axes: Axes, name: str, north: float, east: float, *, is_left: bool, color: str, lift: float = -9) -> None:
    axes.annotate(
        plain(name),
        (east, north),
        (-4 if is_left else 4, lift),
        textcoords="offset points",
        ha="right" if is_left else "left",
        fontsize=7,
        color=color,
        zorder=7,
        bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.8},
    )


def _describe_map(found: Map) -> str:
    if found.delay_s is not None:
        delay = formatting.quantity(found.delay_s, "s")
        return f"\n{_ends(found.scene)}: {delay} one way, {formatting.count(len(found.path) - 1, 'hop')}"
    return f"\n{_ends(found.scene)}: no path" if found.has_path else ""


def coverage_figure(found: Coverage, column: str, meaning: str) -> Figure:
    """Draw a map of a column of the cells: satellites in view, or delays."""
    from matplotlib import colormaps
    from matplotlib.colors import BoundaryNorm, Normalize

    with style():
        figure, axes = _world(is_filled=False, height=3.5)
        rows = found.cells["latitude_deg"].n_unique()
        factor, unit = {"covered": (100, "%"), "delay_s": (1e3, "ms")}.get(column, (1, ""))
        values = factor * found.cells[column].to_numpy().astype(np.float64).reshape(rows, -1)
        least, top = float(np.nanmin(values)), float(np.nanmax(values))
        norm: Any = Normalize(0, 100 if column == "covered" else max(top, 1.0))
        # Cells without a path have no delay.
        colours: Any = colormaps["viridis"].with_extremes(bad="0.85")
        if column == "min":
            norm = BoundaryNorm(np.arange(-0.5, top + 1), 256)
        elif column == "delay_s":
            norm = Normalize(least, top)
        extent = (-180, 180, -90, 90)
        image = axes.imshow(
            values,
            origin="lower",
            extent=extent,
            aspect="auto",
            norm=norm,
            cmap=colours,
            interpolation="none",
        )
        for ring in coastlines():
            axes.plot(ring[:, 0], ring[:, 1], color="white", linewidth=0.5)
        axes.set_aspect("equal")
        bar = figure.colorbar(image, ax=axes, location="right", fraction=0.025, pad=0.02)
        bar.outline.set_visible(False)
        if column == "min":
            bar.set_ticks(range(0, int(top) + 1, 1 + int(top) // 10))
        bar.set_label(label(meaning, unit))
        figure.suptitle(plain(f"{found.scene.over}: {meaning}{_above(found.scene)}"), x=0.02, ha="left")
        return figure


def path_figure(found: SkyPath) -> Figure:
    """Draw delay, hops and elevations of a path over time."""
    from matplotlib.ticker import MaxNLocator

    with style():
        figure, (delay, hops, height) = blank(3, 4.2)
        times = found.instants["time_s"].to_numpy() - found.span.begin_s
        divisor, unit = formatting.scale([times[-1]], "s") if times[-1] < 600 else (60, "min")
        if times[-1] >= 5 * 3600:
            divisor, unit = 3600, "h"
        times = times / divisor
        is_crowded = len(found.changes) > PATHS_MAX
        if found.disjoint is not None:
            for (number,), rows in found.disjoint.group_by("number", maintain_order=True):
                colour = COLOURS[1 + int(number) % (len(COLOURS) - 1)]
                own = _lone(rows["delay_s"]) * 1e3
                delay.plot(times, own, color=colour, linewidth=0.8, label=f"disjoint {number}")
        _curve(delay, times, _lone(found.instants["delay_s"]) * 1e3, COLOURS[0], is_crowded=is_crowded)
        glass = found.summary["fibre_delay_s"] * 1e3
        delay.axhline(glass, color="0.4", linestyle=":")
        delay.annotate(
            "fibre along the great circle",
            (1, glass),
            (-2, 2),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            fontsize=6,
            color="0.4",
        )
        delay.set_ylabel("one-way delay (ms)")
        if found.disjoint is not None:
            delay.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
        _curve(hops, times, _lone(found.instants["hops"]), COLOURS[0], is_crowded=is_crowded, drawstyle="steps-post")
        hops.set_ylabel("hops")
        hops.set_ylim(0, 1.2 * float(np.nanmax(_lone(found.instants["hops"]), initial=1)))
        hops.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        for end, place, colour in zip(("from", "to"), found.scene.places, COLOURS, strict=False):
            angles = _lone(found.instants[f"{end}_elevation_deg"])
            _curve(height, times, angles, colour, is_crowded=is_crowded, label=plain(place.name))
            if is_crowded:
                continue
            at = found.changes.filter(f"{end}_handover")["time_s"].to_numpy()
            level = 0.0 if end == "from" else 0.04
            height.plot(
                (at - found.span.begin_s) / divisor,
                np.full(len(at), level),
                "|",
                color=colour,
                markersize=4,
                transform=height.get_xaxis_transform(),
                clip_on=False,
            )
        height.set_ylim(0, 90)
        height.set_yticks([0, 30, 60, 90])
        height.set_ylabel("elevation (°)")
        has_ticks = not is_crowded and found.summary["from_handovers"] + found.summary["to_handovers"] > 0
        height.set_xlabel(label("time", unit) + ("; ticks: handovers" if has_ticks else ""))
        height.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        for axes in (delay, hops, height):
            axes.grid(axis="y")
            axes.set_xlim(times[0], times[-1] if len(times) > 1 else times[0] + 1)
        figure.suptitle(plain(f"{_ends(found.scene)} over {found.scene.over}"), x=0.02, ha="left")
        return figure


def matrix_figure(found: SkyPaths, column: str, meaning: str, unit: str) -> Figure:
    """Draw a heat map of all pairs, with places from west to east. Pairs without a path are blank."""
    from matplotlib import colormaps

    with style():
        places = sorted(found.places, key=lambda place: place.longitude_deg)
        rank = {place.name: number for number, place in enumerate(places)}
        table = found.pairs
        values = _lone(table["delay_max_s"] / table["delay_min_s"] if column == "spread" else table[column])
        divisor = 0.01 if unit == "%" else 1.0
        if unit == "s":
            divisor, unit = formatting.scale([float(np.nanmax(values))], "s")
        grid = np.full((len(places), len(places)), np.nan)
        for start, end, value in zip(table["from"], table["to"], values / divisor, strict=True):
            grid[rank[start], rank[end]] = grid[rank[end], rank[start]] = value
        # A square that fits the names, and the bar beside it.
        side = min(max(3.0, 0.13 * len(places)), 5.2)
        figure = sheet(side + 2.0, side + 1.2)
        axes = figure.subplots()
        colours = colormaps["viridis"].with_extremes(bad="white")
        image = axes.imshow(np.ma.masked_invalid(grid), cmap=colours, interpolation="none", aspect="equal")
        every = -(-len(places) // TICKS_MAX)
        ticks = range(0, len(places), every)
        names = [plain(places[number].name) for number in ticks]
        size = 6 if len(places) <= TICKS_MAX // 2 else 5
        axes.set_xticks(ticks, names, rotation=90, fontsize=size)
        axes.set_yticks(ticks, names, fontsize=size)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03)
        bar.outline.set_visible(False)
        bar.set_label(label(meaning, unit))
        title = f"{found.scene.over}: {meaning}, {formatting.quantity(found.span.duration_s, 's')}"
        figure.suptitle(plain(f"{title}, places from west to east"), x=0.02, ha="left")
        return figure


def passes_figure(found: Passes) -> Figure:
    """Draw the times and elevations of passes, and the number of satellites in view."""
    from matplotlib.ticker import MaxNLocator

    with style():
        figure, (height, count) = blank(2, 3.4)
        begin, end, _ = found.span.times
        divisor, unit = (60, "min") if found.span.duration_s < 5 * 3600 else (3600, "h")
        rise, down, top = (
            (found.passes[name].to_numpy() - begin) / divisor for name in ("rise_s", "set_s", "highest_s")
        )
        peak = found.passes["elevation_deg"].to_numpy()
        least = found.scene.elevation_deg or 0.0
        height.hlines(peak, rise, down, color=COLOURS[0], linewidth=0.6, alpha=1 if len(peak) <= CROWD else 0.3)
        height.plot(top, peak, "o", color=COLOURS[0], markersize=2 if len(peak) <= CROWD else 1, markeredgewidth=0)
        height.axhline(least, color="0.4", linestyle=":")
        height.set_ylim(0, 90)
        height.set_yticks([0, 30, 60, 90])
        height.set_ylabel("highest elevation (°)")
        # Satellites in view at the end of the span do not set then.
        down = down[down < (end - begin) / divisor]
        times = np.concatenate((rise, down))
        order = np.argsort(times, kind="stable")
        steps = np.concatenate((np.ones(len(rise)), -np.ones(len(down))))[order]
        in_view = np.concatenate(([0.0], np.cumsum(steps)))
        times = np.concatenate(([0.0], times[order], [(end - begin) / divisor]))
        count.step(times, np.append(in_view, in_view[-1]), where="post", color=COLOURS[1])
        count.set_ylabel("satellites in view")
        count.set_ylim(0, None)
        count.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        count.set_xlabel(label("time", unit))
        count.set_xlim(0, (end - begin) / divisor)
        for axes in (height, count):
            axes.grid(axis="y")
        figure.suptitle(plain(f"{found.scene.over} over {found.scene.places[0].name}"), x=0.02, ha="left")
        return figure


def budget_figure(found: Budget) -> Figure:
    """Draw fade and Es/N0 by percentage of the year, a line for each elevation; thresholds of DVB-S2."""
    with style():
        figure, (fade, signal) = blank(2, 4.6)
        for number, (angle, rows) in enumerate(found.availability.group_by("elevation_deg", maintain_order=True)):
            colour = COLOURS[number % len(COLOURS)]
            fade.plot(rows["percent"], rows["fade_db"], color=colour, label=f"{angle[0]:g}°")
            signal.plot(rows["percent"], rows["es_n0_db"], color=colour)
        fade.set_ylabel("fade exceeded (dB)")
        fade.legend(title="elevation")
        fade.grid()
        fade.set_ylim(bottom=0)
        signal.set_ylabel("Es/N0 not reached (dB)")
        signal.set_xscale("log")
        percents = found.availability["percent"].to_numpy()
        signal.set_xlim(float(percents.min()), float(percents.max()))
        signal.set_xticks([0.001, 0.01, 0.1, 1, 5], ["0.001", "0.01", "0.1", "1", "5"])
        signal.set_xlabel("time (% of the year)")
        # Below the most robust modulation and coding there is no data.
        low, high = signal.get_ylim()
        low = max(low, float(found.modcods["es_n0_db"].to_numpy().min()) - 3)
        high = max(high, low + 6)
        signal.set_ylim(low, high)
        named = -1e9
        for modcod, threshold in found.modcods.select("modcod", "es_n0_db").unique(maintain_order=True).iter_rows():
            if not low <= threshold <= high:
                continue
            signal.axhline(threshold, color="0.85", linewidth=0.5, zorder=0)
            if threshold - named > (high - low) / 18:
                signal.annotate(
                    modcod, (5, threshold), xytext=(3, 0), textcoords="offset points", va="center", fontsize=6
                )
                named = threshold
        figure.suptitle(plain(f"{found.scene.over} over {found.scene.places[0].name}"), x=0.02, ha="left")
        return figure


@cache
def coastlines() -> Lines:
    """Read rings of degrees east and north."""
    text = (resources("bentpipe.plot") / "coastlines.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [
        np.array([corner.split(",") for corner in line.split()], dtype=float).cumsum(axis=0) / 100 for line in lines
    ]


def _world(*, is_filled: bool = True, height: float = 3.9) -> tuple[Figure, Axes]:
    """Draw a map of the Earth, degrees east and north at the same scale."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    figure = sheet(WIDE, height)
    axes = figure.subplots()
    if is_filled:
        # Together, so that a lake in a ring is not filled as land.
        land = Path.make_compound_path(*(Path(ring) for ring in coastlines()))
        axes.set_facecolor(SEA)
        axes.add_patch(PathPatch(land, facecolor=LAND, edgecolor=SHORE, linewidth=0.4, zorder=1))
    axes.set_xlim(-180, 180)
    axes.set_ylim(-90, 90)
    axes.set_aspect("equal")
    axes.set_xticks(range(-180, 181, 60), ["180°", "120°W", "60°W", "0°", "60°E", "120°E", "180°"])
    axes.set_yticks(range(-90, 91, 30), ["90°S", "60°S", "30°S", "0°", "30°N", "60°N", "90°N"])
    axes.grid(color="0.8", zorder=0)
    return figure, axes


def _draw(axes: Axes, pairs: list[tuple[Any, Any]], **look: Any) -> None:
    """Draw great circles between points, broken where they leave the map."""
    from matplotlib.collections import LineCollection

    lines = [piece for a, b in pairs for piece in _great_circle(a, b)]
    axes.add_collection(LineCollection(lines, **look))


def _great_circle(a: tuple[float, float], b: tuple[float, float]) -> Lines:
    """Compute points along a great circle, some degrees apart; in pieces if it crosses the edge of the map."""
    ends = [_unit(*a), _unit(*b)]
    angle = float(np.arccos(np.clip(ends[0] @ ends[1], -1, 1)))
    if not 1e-9 < angle < np.pi - 1e-9:
        return []
    share = np.linspace(0, 1, max(2, int(np.degrees(angle) / 2) + 1))[:, None]
    points = (np.sin((1 - share) * angle) * ends[0] + np.sin(share * angle) * ends[1]) / np.sin(angle)
    east = np.degrees(np.arctan2(points[:, 1], points[:, 0]))
    north = np.degrees(np.arcsin(np.clip(points[:, 2], -1, 1)))
    pieces = []
    start = 0
    unrolled = np.degrees(np.unwrap(np.radians(east)))
    turns = np.round((unrolled - east) / 360)
    for cut in [*(np.flatnonzero(np.diff(turns)) + 1), len(east)]:
        # One more point on either side, beyond the edge, so that the line reaches it.
        first, last = max(start - 1, 0), min(cut + 1, len(east))
        pieces.append(np.column_stack((unrolled[first:last] - 360 * turns[start], north[first:last])))
        start = cut
    return pieces


def _unit(east: float, north: float) -> NDArray[np.float64]:
    east, north = np.radians(east), np.radians(north)
    return np.array([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])


def _curve(axes: Axes, times: Any, values: Any, colour: str, *, is_crowded: bool, **look: Any) -> None:
    """Draw values over time; if they are crowded, their median and range."""
    if not is_crowded:
        axes.plot(times, values, color=colour, **look)
        return
    parts = [part for part in np.array_split(np.arange(len(times)), BINS) if np.isfinite(values[part]).any()]
    middle = [times[part].mean() for part in parts]
    low, median, high = ([measure(values[part]) for part in parts] for measure in (np.nanmin, np.nanmedian, np.nanmax))
    axes.fill_between(middle, low, high, color=colour, alpha=0.3, linewidth=0)
    axes.plot(middle, median, color=colour, label=look.get("label"))


def _lone(column: Any) -> NDArray[np.float64]:
    """Convert to numbers, with NaN for None."""
    return column.cast(float).fill_null(float("nan")).to_numpy()  # type: ignore[no-any-return]


def _ends(scene: Any) -> str:
    return " to ".join(place.name for place in scene.places[:2])


def _above(scene: Any) -> str:
    if scene.elevation_deg is None:
        return f", up to {scene.range_max_km:g} km away"
    return f", {scene.elevation_deg:g}° or more above the horizon"
