"""The path between two places over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from bentpipe import arguments
from bentpipe.catalog import unknown
from bentpipe.errors import SkyError
from bentpipe.formatting import count, quantity
from bentpipe.sky.looks import Look, chosen, quantity_row
from bentpipe.sky.scenes import (
    GLASS,
    LIGHT_KM_S,
    SEED_MAX,
    STRETCH,
    Scene,
    Span,
    array,
    do_work,
    frame,
    ground_km,
    name_nodes,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.progress import Wish
    from bentpipe.scenario.names import ConstellationName
    from bentpipe.sky.scenes import Degrees, Instant, PlaceLike, Time

SELECTIONS = {
    "any": "the satellite of the best path",
    "highest": "the highest above the horizon",
    "nearest": "the nearest",
    "longest": "the same until it sets, then the satellite that stays in view longest",
    "periodic": "at checks about every 10 s, the highest if the one in use has set (ns-2)",
    "starlink": "random every 15 s, as measured for Starlink",
}
"""Rules for the choice of a satellite at an end."""
METRICS = {"delay": "the shortest delay", "hops": "the fewest hops, and of these the shortest delay"}
"""Which path is best."""
CHANGES = {"better": "as soon as another one is better", "broken": "when the one in use is broken"}
"""When another path is taken."""
ENDS = ("from", "to")
APART = {"satellites": "no satellite and no gateway", "links": "no link"}
"""Parts that disjoint paths do not share."""
DISJOINT_MAX = 16
"""Disjoint paths at most."""
QUANTITIES = (
    ("delay", "delay_s", "s"),
    ("hops", "hops", "1"),
    ("connected", "connected", "1"),
    ("paths", "paths", "1"),
    ("from_handovers", "from_handovers", "1"),
    ("to_handovers", "to_handovers", "1"),
    ("from_elevation", "from_elevation_deg", "deg"),
    ("to_elevation", "to_elevation_deg", "deg"),
    ("ground", "ground_km", "km"),
)
"""Quantities of `SkyPath.table`: metric, its name in `summary`, and unit."""


@dataclass(frozen=True)
class Gap:
    """A reason for the times without a path: their `share` of the span, the reason (`why`) and a remedy (`help`)."""

    share: float
    why: str
    help: str


@dataclass(frozen=True, repr=False)
class SkyPath(Look):
    """The path from one place to another, at every instant.

    Attributes
    ----------
    scene : Scene
        Constellation and places; the first two are the ends.
    span : Span
    instants : polars.DataFrame
        A row per instant: `time_s` after the epoch, one-way propagation `delay_s`, `hops`, and for each end
        `from_elevation_deg`, `from_satellite`, `to_elevation_deg`, `to_satellite`. Without a path, they are null.
    changes : polars.DataFrame
        A row per path: its begin `time_s` (to a hundredth of a step), `duration_s`, `delay_s` at its begin, `hops`,
        `from_satellite`, `to_satellite`, `from_handover`, `to_handover`, and `path` (all nodes, with ` > ` between
        them). `from_handover` and `to_handover` are true if that end has another satellite than on the path before.
    disjoint : polars.DataFrame or None
        A row per instant and disjoint path, if requested: `time_s`, `number` (1 is the shortest at that instant),
        `delay_s`, `hops` and `path`. If fewer paths exist at an instant, the values of the others are null.
    gaps : tuple of Gap
        The reasons for times without a path, the most frequent first.
    asked : mapping
        Arguments of the call that differ from their defaults.
    """

    verb = "path"
    positional = ("origin", "destination")
    charts = ("path",)
    read: ClassVar = {"gaps": lambda rows: tuple(Gap(**row) for row in rows), "failure": tuple}

    scene: Scene
    span: Span
    selection: str
    metric: str
    change: str
    instants: pl.DataFrame
    changes: pl.DataFrame
    disjoint: pl.DataFrame | None = None
    apart: str = "satellites"
    failure: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    asked: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def ground_km(self) -> float:
        """Distance between the two places along the great circle, km."""
        return ground_km(*self.scene.places[:2])

    @property
    def summary(self) -> dict[str, Any]:
        """Extremes and counts over all instants; None for values of a path if there never is one."""
        known = self.instants.drop_nulls("delay_s")
        found: dict[str, Any] = {
            "ground_km": self.ground_km,
            "vacuum_delay_s": self.ground_km / LIGHT_KM_S,
            "fibre_delay_s": self.ground_km / LIGHT_KM_S * GLASS,
            "connected": len(known) / len(self.instants),
            "gaps": [vars(gap) for gap in self.gaps],
            "paths": self.changes["path"].is_not_null().sum(),
            "from_handovers": self.changes["from_handover"].sum(),
            "to_handovers": self.changes["to_handover"].sum(),
        }
        for name in ("delay_s", "hops", "from_elevation_deg", "to_elevation_deg"):
            column = known[name]
            found[name] = {
                "min": column.min(),
                "median": column.median(),
                "p95": column.quantile(0.95, "linear"),
                "max": column.max(),
            }
        if self.disjoint is not None:
            found["disjoint"] = [
                {
                    "number": number,
                    "connected": rows["delay_s"].is_not_null().mean(),
                    "changes": _count_changes(rows["path"]),
                    **{f"delay_{name}_s": getattr(rows["delay_s"], name)() for name in ("min", "median", "max")},
                    **{f"hops_{name}": getattr(rows["hops"], name)() for name in ("min", "max")},
                }
                for (number,), rows in self.disjoint.group_by("number", maintain_order=True)
            ]
        return found

    def write_czml(self, file: str | os.PathLike[str], *, used_only: bool = False) -> None:
        """Write satellites, places and the links in use over time as CZML, which Cesium shows on a globe.

        Parameters
        ----------
        file : path
            Place of the file, such as `path.czml`.
        used_only : bool
            Whether only satellites that the path uses are in the file.

        Raises
        ------
        SkyError
            The file would be too large.
        """
        from bentpipe.sky.czml import write_czml

        write_czml(self, file, used_only=used_only)

    def _draw(self, chart: str) -> Figure:
        """Draw delay, hops and elevation over time; ticks at handovers."""
        from bentpipe.plot.skies import path_figure

        if not self.summary["connected"]:
            ends = " to ".join(place.name for place in self.scene.places[:2])
            raise SkyError(
                f"there is no path from {ends}\n  expected other satellites or gateways, or a lower elevation_min"
            )
        return path_figure(self)

    @property
    def _head(self) -> str:
        return f"{' to '.join(place.name for place in self.scene.places[:2])} over {self.scene.over}"

    def _content(self) -> dict[str, Any]:
        return {
            "summary": self.summary,
            "changes": self.changes.to_dicts(),
            "instants": self.instants.to_dict(as_series=False),
            **({} if self.disjoint is None else {"disjoint": self.disjoint.to_dict(as_series=False)}),
        }

    def _quantities(self) -> Iterator[dict[str, Any]]:
        of, found = " to ".join(place.name for place in self.scene.places[:2]), self.summary
        for metric, name, unit in QUANTITIES:
            yield quantity_row(of, metric, unit, found[name])

    def _make_tables(self) -> list[tuple[Any, Any, int]]:
        from bentpipe.plot import notebook

        return [
            notebook.take_rows(
                self.changes.select("time_s", "duration_s", "delay_s", "hops", "from_satellite", "to_satellite")
            )
        ]

    def _facts(self) -> dict[str, Any]:
        start, end = self.scene.places[:2]
        return {
            **self.scene.to_dict(),
            "from": vars(start),
            "to": vars(end),
            "gateways": [each.name for each in self.scene.gateways],
            "selection": self.selection,
            "metric": self.metric,
            "change": self.change,
            "failure": list(self.failure),
            **({} if self.disjoint is None else {"apart": self.apart}),
            **vars(self.span),
        }

    @property
    def statements(self) -> list[str]:
        """Length of the path, its changes, and the share of the time with a path."""
        start, end = (place.name for place in self.scene.places[:2])
        found = self.summary
        light, glass = (quantity(found[f"{name}_delay_s"], "s") for name in ("vacuum", "fibre"))
        said = [f"{self.ground_km:,.0f} km along the great circle: {light} by light in vacuum, {glass} in fibre"]
        if not found["connected"]:
            return [*said, "there is no path"]
        delays = (quantity(found["delay_s"][name], "s") for name in ("min", "median", "max"))
        said.append("one-way delay: least {}, median {}, largest {}".format(*delays))
        hand = [
            f"{count(found[f'{side}_handovers'], 'handover')} at {name}"
            for side, name in zip(ENDS, (start, end), strict=True)
        ]
        share = "all the time" if found["connected"] == 1 else f"{100 * found['connected']:.3g} % of the time"
        return [*said, f"{count(found['paths'], 'path')}, {hand[0]}, {hand[1]}; a path {share}"]

    def __repr__(self) -> str:
        ends = " to ".join(place.name for place in self.scene.places[:2])
        return f"<SkyPath {ends} over {self.scene.over}, {len(self.instants)} instants, {len(self.changes)} paths>"


def path(
    origin: PlaceLike,
    destination: PlaceLike,
    *,
    over: ConstellationName | str | os.PathLike[str],
    start: Instant | None = None,
    at: Time = 0.0,
    duration: Time = 600.0,
    step: Time = 1.0,
    elevation_min: Degrees | None = None,
    range_max_km: float | None = None,
    motion: str | None = None,
    mean_motion: float | None = None,
    odd_planes: float | None = None,
    between_satellites: str | None = None,
    bad: str = "refuse",
    selection: str = "any",
    metric: str = "delay",
    change: str = "better",
    gateway: Sequence[PlaceLike] = (),
    relay: str = "fibre",
    stretch: float = STRETCH,
    disjoint: int | None = None,
    apart: str = "satellites",
    failure: Sequence[str] = (),
    seed: int = 1,
    elements_age_max: Time | None = None,
    progress: Wish = None,
) -> SkyPath:
    """Compute the path between two places over time.

    Arguments with the name of a key of `[sky]` have the same meaning.

    Parameters
    ----------
    origin, destination : str or tuple
        A city, or a latitude and longitude in degrees: `51.5N 0.12W`, or `(51.5, -0.12)` with north and east positive.
        A third number is the height above the ellipsoid, km.
    over : str or path
        A constellation (see `constellations`), a file of element sets (TLE or OMM), or `geo:19.2E` for one slot.
    start : str or datetime, optional
        The instant of time 0, UTC, in ISO 8601. By default 2000-01-01. For element sets, it is the median of the epochs
        of the newest set of each object.
    at, duration, step : float or str
        Begin of the span after `start`, length of the span, and step between instants: seconds, or a text with a unit.
    elevation_min : float or str, optional
        Lowest elevation of usable satellites, degrees. Default: the elevation in the source of the constellation; 25
        for element sets, 5 for a slot.
    range_max_km : float, optional
        Largest distance of usable satellites, km, in place of `elevation_min`.
    motion : str, optional
        Motion of the satellites of shells: `j2`, `kepler` or `sgp4`. Default: the motion of the constellation.
    mean_motion : float, optional
        Revolutions per day of a constellation of one shell, in place of its height.
    odd_planes : float, optional
        Phase of every other plane of a constellation of one shell, degrees, in place of its phasing.
    between_satellites : str, optional
        Links between satellites: `none`, `grid` or `grid-and-seam`. Default: the links of the constellation.
    bad : str
        Treatment of invalid records in a file: `refuse` the file, or `skip` the records.
    selection : str
        Rule for the satellite of each end: `any`, `highest`, `nearest`, `longest`, `periodic` or `starlink`.
        It chooses among the satellites that reach the other end. Gateways use any satellite in view.
    metric : str
        Criterion for the best path: shortest `delay` or fewest `hops`.
    change : str
        Condition for a change of the path: another path is `better`, or the path in use is `broken`.
    gateway : sequence of str or tuple
        Places where the path may leave the satellites. Satellites with links between them still use these links. Other
        satellites are bent pipes: they send all packets down to a gateway. An end that is a gateway uses any satellite
        in view.
    relay : str
        Route of packets from gateway to gateway. `fibre`: by fibres between all gateways. `ground`: without fibres, up
        again to any satellite in view.
    stretch : float
        Length of these fibres, relative to the great circle.
    disjoint : int, optional
        Number of disjoint paths over satellites to find in addition. The sum of their delays is the least possible.
    apart : str
        Parts that disjoint paths do not share: `satellites` (and gateways) or `links`.
    failure : sequence of str
        Satellites and gateways that have failed, by name, and failed links, as `A~B`.
    seed : int
        Seed of the random choices of `periodic` and `starlink`.
    elements_age_max : float or str
        Largest age of elements of a file, in seconds or as a text such as `200 d`. Elements farther than this from any
        instant of the span are refused. By default 90 days.
    progress : callable or bool, optional
        A callable that receives a `Progress` several times a second, or whether to show a bar, as in `bentpipe.run`.

    Returns
    -------
    SkyPath

    Raises
    ------
    SkyError
        A place or constellation is unknown, or a value is invalid.
    Interrupted
        Ctrl-C was pressed.
    """
    given = chosen(path, locals())
    check_choice(selection, metric, change)
    if apart not in APART:
        raise SkyError(unknown(apart, "a value of apart", APART))
    if disjoint is not None and not (isinstance(disjoint, int) and 1 <= disjoint <= DISJOINT_MAX):
        raise SkyError(f"disjoint = {disjoint!r}: expected 1 to {DISJOINT_MAX} paths")
    arguments.only_with("apart", apart, "satellites", "disjoint", disjoint is not None, error=SkyError)
    arguments.whole("seed", seed, 0, SEED_MAX, error=SkyError)
    if disjoint is not None and selection != "any":
        raise SkyError(
            f"disjoint paths need several satellites at each end\n  expected selection = any, not {selection}"
        )
    span = Span.from_times(at, duration, step)
    scene = Scene.from_places(
        over,
        (origin, destination),
        start=start,
        elevation_min=elevation_min,
        range_max_km=range_max_km,
        motion=motion,
        mean_motion=mean_motion,
        odd_planes=odd_planes,
        between_satellites=between_satellites,
        bad=bad,
        gateway=gateway,
        relay=relay,
        stretch=stretch,
        span=span,
        elements_age_max=elements_age_max,
    ).failing(failure)
    if disjoint is not None and not scene.is_linked and scene.gateways:
        raise SkyError("disjoint paths use links between satellites, without gateways\n  expected no gateway")
    if scene.places[0] == scene.places[1]:
        raise SkyError(f"{scene.places[0].name} is both ends\n  expected two different places")
    ends = " to ".join(place.name for place in scene.places[:2])
    by_hops, until_broken = metric == "hops", change == "broken"
    found = do_work(
        ends, lambda reached: scene.core.path(span.times, (selection, seed, by_hops, until_broken), reached), progress
    )
    several = None
    if disjoint is not None:
        doing = f"{disjoint} disjoint paths"
        paths = do_work(
            doing,
            lambda reached: scene.core.disjoint(
                span.times, (by_hops, until_broken), disjoint, apart == "links", reached
            ),
            progress,
        )
        several = _disjoint(scene, array(found["time_s"]), paths)
    table, changes = instants_frame(scene, found), changes_frame(scene, span, found)
    gaps = tuple(Gap(*gap) for gap in found["gaps"])
    more = (several, apart, tuple(failure), gaps, given)
    return SkyPath(scene, span, selection, metric, change, table, changes, *more)


def check_choice(selection: str, metric: str, change: str) -> None:
    """Refuse unknown words for the choice of a path.

    Raises
    ------
    SkyError
        The word is unknown. The text lists the known words.
    """
    chosen = (("selection", selection, SELECTIONS), ("metric", metric, METRICS), ("change", change, CHANGES))
    for name, value, known in chosen:
        if value not in known:
            raise SkyError(unknown(value, f"a value of {name}", known))


def _disjoint(scene: Scene, time_s: Any, found: list[dict[str, Any]]) -> pl.DataFrame:
    """A row per instant and path."""
    import numpy as np
    import polars as pl

    tables = []
    for number, each in enumerate(found, 1):
        paths = pl.Series([_join_names(scene, nodes) for nodes in each["nodes"]], dtype=pl.String)
        now = np.searchsorted(array(each["change_s"]), time_s, side="right") - 1
        table = frame({"time_s": time_s, "delay_s": array(each["delay_s"]), "hops": array(each["hops"])})
        numbers = pl.lit(number, dtype=pl.Int64).alias("number")
        table = table.with_columns(numbers, table["hops"].replace(0, None), paths.gather(now).alias("path"))
        tables.append(table.select("time_s", "number", "delay_s", "hops", "path"))
    return pl.concat(tables)


def _count_changes(column: pl.Series) -> int:
    """Counts the changes of a value."""
    return int(column.ne_missing(column.shift(1))[1:].sum())


def _join_names(scene: Scene, nodes: Sequence[int]) -> str | None:
    return " > ".join(map(scene.name, nodes)) if nodes else None


def instants_frame(scene: Scene, found: dict[str, Any]) -> pl.DataFrame:
    """Make a row per instant: delay, hops, and the satellite of each end."""
    columns = {name: array(found[name]) for name in ("time_s", "delay_s", "hops")}
    for end in ("from", "to"):
        columns[f"{end}_elevation_deg"] = array(found[f"{end}_elevation_deg"])
        columns[f"{end}_satellite"] = name_nodes(array(found[f"{end}_satellite"]), scene.satellites)
    table = frame(columns)
    return table.with_columns(table["hops"].replace(0, None))


def changes_frame(scene: Scene, span: Span, found: dict[str, Any]) -> pl.DataFrame:
    """Make a row per path, from one change of the path to the next."""
    import numpy as np

    time_s, nodes, count = array(found["changes"]["time_s"]), found["nodes"], len(scene.satellites)
    columns: dict[str, Any] = {
        "time_s": time_s,
        "duration_s": np.diff(time_s, append=span.times[1]),
        "delay_s": array(found["changes"]["delay_s"]),
        "hops": [len(each) - 1 if each else None for each in nodes],
    }
    for end, place in (("from", 1), ("to", -2)):
        beside = np.array([each[place] if each and each[place] < count else -1 for each in nodes], dtype=np.int64)
        columns[f"{end}_satellite"] = name_nodes(beside, scene.satellites)
        # A handover is from one satellite to another. The first satellite after a gap is not a handover.
        handed = (beside[1:] != beside[:-1]) & (beside[1:] >= 0) & (beside[:-1] >= 0)
        columns[f"{end}_handover"] = np.concatenate(([False], handed))
    columns["path"] = [_join_names(scene, each) for each in nodes]
    return frame(columns)
