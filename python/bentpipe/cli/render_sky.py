"""Renders the results of `bentpipe sky` as tables for 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from bentpipe import formatting
from bentpipe.cli.tables import Shown, hidden, make_rows, make_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from rich.console import RenderableType

    from bentpipe.sky.budgets import Budget
    from bentpipe.sky.covering import Coverage
    from bentpipe.sky.matrix import SkyPaths
    from bentpipe.sky.moment import Map
    from bentpipe.sky.passing import Passes
    from bentpipe.sky.paths import SkyPath
    from bentpipe.sky.scenes import Scene, Span

ROWS_MAX = 12
"""Rows of a table without --all."""


RARE = 1e-15
"""Rates below this are shown as `<1e-15`."""


def path(found: SkyPath, *, every: bool) -> Iterator[RenderableType | str]:
    """Renders the path and its changes."""
    summary, scene = found.summary, found.scene
    start, end = (place.name for place in scene.places[:2])
    title = f"{start} to {end} over {scene.over}"
    ground, *_, paths = found.statements
    yield _head(title, scene, found.span, ground)
    if not summary["connected"]:
        yield Text("There is no path.")
        yield from _gaps(found)
        return
    rows = {
        "one-way delay (ms)": [1e3 * value for value in summary["delay_s"].values()],
        "hops": list(summary["hops"].values()),
        f"elevation at {start} (°)": list(summary["from_elevation_deg"].values()),
        f"elevation at {end} (°)": list(summary["to_elevation_deg"].values()),
    }
    table = make_table("", "", [])
    for name in ("min", "median", "p95", "max"):
        table.add_column(f"\n{name}", justify="right", no_wrap=True)
    for name, values in rows.items():
        digits = 0 if name == "hops" else 2 if "delay" in name else 1
        table.add_row(name, *(formatting.MISSING if value is None else f"{value:.{digits}f}" for value in values))
    yield table
    yield Text(f"\n{paths}")
    yield from _gaps(found)
    shown = found.changes if every else found.changes.head(ROWS_MAX)
    yield _changes(found, shown, start, end)
    yield from hidden(len(found.changes) - len(shown), "more paths")
    if found.disjoint is not None:
        yield from _disjoint(summary["disjoint"], found.apart)


def _disjoint(rows: list[dict[str, Any]], apart: str) -> Iterator[RenderableType | str]:
    """Renders disjoint paths."""
    shown = [row for row in rows if row["connected"]]
    columns = [
        Shown("least delay", [row["delay_min_s"] for row in shown], "s"),
        Shown("median", [row["delay_median_s"] for row in shown], "s"),
        Shown("most", [row["delay_max_s"] for row in shown], "s"),
        Shown("most hops", [row["hops_max"] for row in shown], "1"),
        Shown("changes", [row["changes"] for row in shown], "1"),
        Shown("of the time", [100 * row["connected"] for row in shown], "%"),
    ]
    yield make_rows(f"Paths that share no {apart}", "path", [f"{row['number']}" for row in shown], [], columns)
    if len(shown) < len(rows):
        yield Text(f"There never are {len(rows)}: lower --elevation-min, or fewer of them.")


def _changes(found: SkyPath, shown: pl.DataFrame, start: str, end: str) -> RenderableType:
    begin_s = found.span.begin_s
    texts = [
        (f"satellite at {name}", [_short(found.scene, each) for each in shown[f"{side}_satellite"]])
        for side, name in (("from", start), ("to", end))
    ]
    columns = [
        Shown("for", shown["duration_s"].to_list(), "s"),
        Shown("delay", shown["delay_s"].to_list(), "s"),
        Shown("hops", shown["hops"].to_list(), "1"),
    ]
    return make_rows("Paths", "from (s)", [f"{time - begin_s:.1f}" for time in shown["time_s"]], texts, columns)


def _hint(found: SkyPath | SkyPaths) -> str:
    if found.scene.is_linked:
        option = "--elevation-min" if found.scene.elevation_deg is not None else "--range-max-km"
        return f" Satellites are used {found.scene.reach}: {option}"
    alone = f" The satellites of {found.scene.over} have no links: both ends must see the same one"
    return alone + (" or a gateway must." if found.scene.gateways else ", or --gateway must forward.")


def _gaps(found: SkyPath) -> Iterator[Text]:
    """Renders the reasons for times without a path, with remedies."""
    for gap in found.gaps:
        yield Text(f"{100 * gap.share:.3g} % of the time without: {gap.why}; remedy: {gap.help}")


def matrix(found: SkyPaths, *, every: bool) -> Iterator[RenderableType | str]:
    """Renders statistics of all pairs, the longest delay first."""
    import polars as pl

    summary = found.summary
    places = formatting.count(len(found.places), "place")
    yield _head(f"All pairs of {places} over {found.scene.over}", found.scene, found.span)
    if summary["never_connected"] == summary["pairs"]:
        yield Text(f"{found.statements[0]}.{_hint(found)}")
        return
    yield from map(Text, found.statements)
    table = found.pairs.sort(pl.col("delay_median_s"), descending=True, nulls_last=True, maintain_order=True)
    shown = table if every else table.head(ROWS_MAX)
    delays = [
        Shown(title, shown[f"delay_{name}_s"].to_list(), "s", "delay")
        for title, name in (("least", "min"), ("median", "median"), ("95 %", "p95"), ("most", "max"))
    ]
    columns = [
        *delays,
        Shown("most hops", shown["hops_max"].to_list(), "1"),
        Shown("changes", shown["changes"].to_list(), "1"),
    ]
    if summary["always_connected"] < summary["pairs"]:
        columns.append(Shown("of the time", [100 * share for share in shown["connected"]], "%"))
    yield make_rows(
        "One-way delay, the longest first", "from", shown["from"].to_list(), [("to", shown["to"].to_list())], columns
    )
    yield from hidden(len(table) - len(shown), "more pairs")


def passes(found: Passes, *, every: bool) -> Iterator[RenderableType | str]:
    """Renders the passes in order of their rise."""
    scene = found.scene
    yield _head(f"{scene.over} over {scene.places[0].name}", scene, found.span)
    if len(found.passes) == 0:
        yield Text("No satellite is in view.")
        return
    yield from map(Text, found.statements)
    shown = found.passes if every else found.passes.head(ROWS_MAX)
    texts = [("satellite", [_short(scene, each) for each in shown["satellite"]])]
    columns = [
        Shown("for", (shown["set_s"] - shown["rise_s"]).to_list(), "s"),
        Shown("elevation", shown["elevation_deg"].to_list(), "°"),
        Shown("least range", shown["range_min_km"].to_list(), "km"),
        Shown("largest range", shown["range_max_km"].to_list(), "km"),
    ]
    rise = [_clock(scene, time) for time in shown["rise_s"]]
    yield make_rows("Passes", "rise (UTC)", rise, texts, columns)
    yield from hidden(len(found.passes) - len(shown), "more passes")


def coverage(found: Coverage) -> Iterator[RenderableType | str]:
    """Renders satellites in view and delays by latitude."""
    yield _head(f"Coverage by {found.scene.over}", found.scene, found.span)
    yield from map(Text, found.statements)
    bands = found.bands()
    names = [
        f"{_latitude(south)} to {_latitude(north)}"
        for south, north in bands.select("south_deg", "north_deg").iter_rows()
    ]
    columns = [
        Shown("in view", bands["mean"].to_list(), "1"),
        Shown("at least", bands["min"].to_list(), "1"),
        Shown("of the time", [100 * value for value in bands["covered"]], "%"),
        Shown("delay", bands["delay_s"].to_list(), "s"),
    ]
    yield make_rows("By latitude", "latitude", names, [], columns)


def budget(found: Budget) -> Iterator[RenderableType | str]:
    """Renders a table for each weather: lines as rows, elevations as columns."""
    radio = found.radio
    down = ""
    if "to" in radio:
        is_same = radio["to"] == found.scene.places[0].name
        down = f"\ndown at {radio['down_frequency_ghz']:g} GHz to {radio['to']}{'' if is_same else ', where it is dry'}"
    yield _head(
        f"Link budget at {found.scene.places[0].name} by {found.scene.over}",
        found.scene,
        None,
        f"{radio['frequency_ghz']:g} GHz, {radio['symbols_per_s'] / 1e6:g} Mbaud, satellites at "
        f"{found.scene.core.altitude_km:,.0f} km, air and rain of {radio['climate']} ({radio['recommendation']}), "
        f"{_name_polarisation(radio['polarisation'])}{down}",
    )
    for share in found.bears["percent"].unique(maintain_order=True).to_list():
        at = found.bears.filter(found.bears["percent"].eq_missing(share))
        title = "Dry" if share is None else f"In rain that is exceeded in {share:g} % of the year"
        table = make_table(title, "", [])
        for angle in at["elevation_deg"]:
            table.add_column(f"{angle:g}°", justify="right", no_wrap=True)
        rows = found.lines.filter(found.lines["percent"].eq_missing(share))
        for name in rows["line"].unique(maintain_order=True):
            of = rows.filter(rows["line"] == name)
            table.add_row(Text(f"{name} ({of['unit'][0]})"), *(f"{value + 0.0:.1f}" for value in of["value"].round(1)))
        table.add_row(Text("distance (km)"), *(f"{value:,.0f}" for value in at["range_km"]))
        errors = (_rare(value) for value in at["qpsk_bit_error_rate"])
        table.add_row(Text("QPSK bit errors, uncoded"), *errors)
        table.add_row(Text("DVB-S2 (ideal)"), *(name or "none" for name in at["modcod"]))
        margins = (formatting.MISSING if value is None else f"{value:.1f}" for value in at["margin_db"])
        table.add_row(Text("its margin (dB)"), *margins)
        losses = (_rare(value) for value in at["packet_loss"])
        table.add_row(Text("its packet losses, waterfall"), *losses)
        table.add_row(Text("its rate (Mbit/s)"), *(f"{value / 1e6:.1f}" for value in at["rate_bps"]))
        lasting = found.fades.filter(found.fades["percent"].eq_missing(share))
        for duration in lasting["duration_s"].unique(maintain_order=True):
            of = lasting.filter(lasting["duration_s"] == duration)
            numbers = dict(of.select("elevation_deg", "fades_per_year").iter_rows())
            shown = (_few(numbers.get(angle)) for angle in at["elevation_deg"])
            table.add_row(Text(f"yearly fades over {_lasting(duration)}"), *shown)
        yield table
    yield _availability(found)


def _availability(found: Budget) -> RenderableType:
    """The share of the year for which each modulation and code holds."""
    table = make_table("Per cent of the year for which DVB-S2 (ideal) holds", "", ["Es/N0 (dB)", "Mbit/s"])
    angles = found.modcods["elevation_deg"].unique(maintain_order=True).to_list()
    for angle in angles:
        table.add_column(f"{angle:g}°", justify="right", no_wrap=True)
    for (modcod,), rows in found.modcods.group_by("modcod", maintain_order=True):
        if (rows["holds_percent"] == 0).all():
            continue
        texts = (f"{rows['es_n0_db'][0]:.1f}", f"{rows['rate_bps'][0] / 1e6:.1f}")
        table.add_row(str(modcod), *texts, *(_holding(value) for value in rows["holds_percent"]))
    return table


def _holding(percent: float | None) -> str:
    """A share of the year. P.618 covers 95 to 99.999 %."""
    if percent is None:
        return "< 95"
    if percent == 0:
        return "never"
    return f"{percent:.3f}" if percent < 99.999 else "≥ 99.999"


def _lasting(seconds: float) -> str:
    """Whole hours, minutes or seconds."""
    unit, name = next((unit, name) for unit, name in ((3600, "h"), (60, "min"), (1, "s")) if seconds >= unit)
    return f"{seconds / unit:g} {name}"


def _name_polarisation(polarisation: str | float) -> str:
    """The polarisation in words."""
    try:
        return f"polarisation of {float(polarisation):g}°"
    except ValueError:
        return f"{polarisation} polarisation"


def _few(number: float | None) -> str:
    """Formats an average count, with a fraction if it is small."""
    if number is None:
        return formatting.MISSING
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _rare(value: float | None) -> str:
    if value is None:
        return formatting.MISSING
    return f"{value:.1e}" if value > RARE else f"<{RARE:.0e}"


def moment(found: Map) -> Iterator[RenderableType | str]:
    """Renders a map of one moment: the positions of the nodes of the path."""
    scene = found.scene
    yield _head(
        scene.over, scene, None, f"{found.scene.instant(found.at_s)}, {formatting.count(len(found.links), 'link')}"
    )
    for name, seen in found.in_view.items():
        yield Text(f"{name} sees {formatting.count(seen, 'satellite')}")
    if not found.has_path:
        return
    start, end = (place.name for place in scene.places[:2])
    if found.delay_s is None:
        yield Text(f"There is no path from {start} to {end}.")
        return
    texts = [
        ("latitude", [formatting.MISSING if each is None else f"{each:.2f}°" for each in found.path["latitude_deg"]]),
        ("longitude", [formatting.MISSING if each is None else f"{each:.2f}°" for each in found.path["longitude_deg"]]),
    ]
    height = [Shown("height", found.path["height_km"].to_list(), "km")]
    delay = formatting.quantity(found.delay_s, "s")
    yield Text(f"{start} to {end}: {delay} one way, {formatting.count(len(found.path) - 1, 'hop')}")
    yield make_rows("Path", "node", [_short(scene, each) or "" for each in found.path["node"]], texts, height)


def _head(title: str, scene: Scene, span: Span | None, more: str = "") -> Text:
    text = Text(title, style="bold")
    facts = [
        formatting.count(len(scene.satellites), "satellite"),
        "linked to each other" if scene.is_linked else "not linked to each other",
    ]
    facts.append(f"used {scene.reach}")
    text.append(f"\n{', '.join(facts)}", style="not bold")
    if span is not None:
        duration, step = _time(span.duration_s), _time(span.step_s)
        text.append(f"\n{scene.instant(span.begin_s)} for {duration}, every {step}", style="not bold")
    if more:
        text.append(f"\n{more}", style="not bold")
    for note in scene.notes:
        text.append(f"\nnote: {note}", style="not bold yellow")
    return text


def _short(scene: Scene, satellite: str | None) -> str:
    """A satellite without the name of its constellation: plane and place."""
    return formatting.MISSING if satellite is None else satellite.removeprefix(f"{scene.over}-")


def _clock(scene: Scene, time_s: float) -> str:
    return scene.instant(time_s)[5:19].replace("T", " ")


def _time(seconds: float) -> str:
    divisor, unit = next(
        (each for each in ((3600, "h"), (60, "min")) if seconds >= each[0] and seconds % each[0] == 0), (1, "s")
    )
    return f"{seconds / divisor:g} {unit}"


def _latitude(degrees: float) -> str:
    return "0°" if degrees == 0 else f"{abs(degrees):g}°{'N' if degrees > 0 else 'S'}"
