"""The sky of a scenario: constellations, places and the paths of its flows, as a run uses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import arguments
from bentpipe.catalog import unknown
from bentpipe.errors import SkyError
from bentpipe.formatting import count
from bentpipe.sky.covering import find_coverage
from bentpipe.sky.moment import make_map
from bentpipe.sky.passing import find_passes
from bentpipe.sky.paths import ENDS, changes_frame, instants_frame
from bentpipe.sky.scenes import Place, Scene, Span, array, do_work, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from bentpipe.progress import Wish
    from bentpipe.sky.covering import Coverage
    from bentpipe.sky.moment import Map
    from bentpipe.sky.passing import Passes
    from bentpipe.sky.scenes import Time

    Values = NDArray[np.float64]

POSITIONS_MAX = 20_000_000
"""Positions of satellites and places in one answer: half a gigabyte."""
LOOK_S = 900.0
"""Between keyframes by default: circular orbits between them err by less than a kilometre along the great circle."""


@dataclass(frozen=True, repr=False)
class Keyframes:
    """Positions over time, in km, in coordinates that turn with the Earth.

    Attributes
    ----------
    time_s : array
        Seconds since the start of the run.
    satellites_km : array
        Positions by instant and satellite: x towards 0° north and east, y towards 90° east, z towards the north pole.
        NaN for a satellite without a position.
    places_km : array
        Positions by instant and place, in the same coordinates.
    """

    time_s: Values
    satellites_km: Values
    places_km: Values

    def __repr__(self) -> str:
        instants, satellites, _ = self.satellites_km.shape
        return f"<Keyframes of {count(satellites, 'satellite')} at {count(instants, 'instant')}>"


@dataclass(frozen=True, repr=False)
class SkyConstellation:
    """One constellation of a scenario's sky.

    Attributes
    ----------
    name : str
    scene : Scene
        Satellites, places and gateways, as in looks at the sky. Time 0 is the start of the run.
    duration_s : float
        Length of the run.
    """

    name: str
    scene: Scene
    duration_s: float

    @property
    def satellites(self) -> tuple[str, ...]:
        """Names of the satellites."""
        return self.scene.satellites

    def keyframes(
        self, start_s: Time = 0.0, end_s: Time | None = None, step_s: Time = LOOK_S, *, progress: Wish = None
    ) -> Keyframes:
        """Positions of satellites and places in a window, both ends included.

        Raises
        ------
        SkyError
            The window is empty, or has too many positions for one answer.
        """
        import numpy as np

        span = self._span(start_s, end_s, step_s)
        begin_s, until_s, _ = span.times
        # The last instant belongs to the window: positions between instants are interpolated.
        instants = int((until_s - begin_s) / span.step_s - 1e-9) + 2
        nodes = len(self.satellites) + len(self.scene.places)
        if instants * nodes > POSITIONS_MAX:
            raise SkyError(
                f"{instants:,} instants of {nodes:,} satellites and places\n"
                f"  expected at most {POSITIONS_MAX:,} positions: a shorter window, or a longer step_s"
            )
        times = (begin_s, begin_s + (instants - 0.5) * span.step_s, span.step_s)
        doing = f"positions of {self.name}"
        found = do_work(doing, lambda reached: self.scene.core.positions(times, reached), progress)
        positions = array(found).reshape(instants, nodes, 3)
        time_s = begin_s + span.step_s * np.arange(instants, dtype=np.float64)
        return Keyframes(time_s, positions[:, : len(self.satellites)], positions[:, len(self.satellites) :])

    def map(self, at_s: Time = 0.0) -> Map:
        """Satellites and the links between them at an instant, and the number of satellites that each place sees."""
        return make_map(self.scene, Span.from_times(at_s, 1.0, 1.0).begin_s, has_path=False)

    def passes(
        self,
        place: str,
        start_s: Time = 0.0,
        end_s: Time | None = None,
        step_s: Time = 10.0,
        *,
        progress: Wish = None,
    ) -> Passes:
        """The satellites that pass over one of the places."""
        return find_passes(self.scene, self._span(start_s, end_s, step_s), self._place(place), progress)

    def coverage(
        self,
        start_s: Time = 0.0,
        end_s: Time | None = None,
        step_s: Time = 60.0,
        *,
        to: str | None = None,
        cell: float = 3.0,
        progress: Wish = None,
    ) -> Coverage:
        """Count the satellites in view and measure delays, all over the Earth.

        Delays are those of the shortest paths to one of the places; without a place, those to the nearest satellite.
        """
        place = None if to is None else self._place(to)
        return find_coverage(self.scene, self._span(start_s, end_s, step_s), cell, progress, place=place)

    def _place(self, name: str) -> int:
        """The number of a place."""
        names = [each.name for each in self.scene.places]
        if name not in names:
            raise SkyError(unknown(name, "a place of this sky", names))
        return names.index(name)

    def _span(self, start_s: Time, end_s: Time | None, step_s: Time) -> Span:
        """Checks a window of the run, or beyond it. A step is at most as long as the window."""
        end_s = self.duration_s if end_s is None else end_s
        whole = Span.from_times(start_s, 1.0, 1.0)
        length_s = Span.from_times(end_s, 1.0, 1.0).begin_s - whole.begin_s
        if not length_s > 0:
            raise SkyError(f"start_s = {start_s}, end_s = {end_s}: expected an end after the start")
        step = seconds("step_s", step_s)
        return Span.from_times(whole.begin_s, length_s, min(step, length_s))

    def __repr__(self) -> str:
        return f"<SkyConstellation {self.name}: {count(len(self.satellites), 'satellite')}>"


@dataclass(frozen=True, repr=False)
class ScenarioSky:
    """The sky of a scenario during a run. Times are seconds since the start of the run.

    Attributes
    ----------
    epoch : str
        Start of the run, UTC.
    duration_s : float
        Length of the run.
    constellations : tuple of SkyConstellation
        In the order in which flows use them.
    places : polars.DataFrame
        A row per place: `place`, `latitude_deg`, `longitude_deg` and `height_km` at the start, `is_gateway`, `moves`.
    flows : dict
        For each flow over the sky, its two places, in the order of the columns `from` and `to` of `paths`.
    paths : polars.DataFrame
        A row per pair of places and path, with `from`, `to` and `constellation`. The path is in use from `time_s` to
        `end_s`. `delay_s` is its one-way delay at `time_s`, and `hops` its number of links. `path` has all nodes, with
        ` > ` between them. `from_satellite` and `to_satellite` serve the two places. `from_handover` and `to_handover`
        are true if this satellite differs from the one before. Without a path, `delay_s`, `hops`, the satellites and
        `path` are null.
    delays : polars.DataFrame
        A row per pair and instant at which the scenario computes paths (every `sky.step`): `from`, `to`,
        `constellation`, `time_s`, `delay_s`, `hops`, and the elevation and satellite of each end.
    """

    epoch: str
    duration_s: float
    constellations: tuple[SkyConstellation, ...]
    places: pl.DataFrame
    flows: Mapping[str, tuple[str, str]]
    paths: pl.DataFrame
    delays: pl.DataFrame

    @classmethod
    def from_core(cls, found: Mapping[str, Any]) -> ScenarioSky:
        """Make the sky of the core's answer."""
        import polars as pl

        duration_s: float = found["duration_s"]
        constellations = tuple(_constellation(each, duration_s) for each in found["constellations"])
        flows: dict[str, tuple[str, str]] = {}
        paths, delays = [], []
        for number, pair in enumerate(found["pairs"]):
            start, end = ends = tuple(pair["ends"])
            flows |= {flow: (start, end) for flow, _ in pair["flows"]}
            uses = _uses(pair["uses"], duration_s)
            tables = [each["paths"][number] for each in found["constellations"]]
            paths.append(_paths(ends, uses, constellations, tables))
            delays.append(_delays(ends, uses, constellations, tables))
        return cls(
            epoch=constellations[0].scene.epoch,
            duration_s=duration_s,
            constellations=constellations,
            places=_places(found["constellations"]),
            flows=flows,
            paths=pl.concat(paths),
            delays=pl.concat(delays),
        )

    def __getitem__(self, name: str) -> SkyConstellation:
        """A constellation by its name."""
        for each in self.constellations:
            if each.name == name:
                return each
        raise SkyError(unknown(name, "a constellation of this sky", [each.name for each in self.constellations]))

    def path(self, flow: str) -> pl.DataFrame:
        """The rows of `paths` of a flow."""
        return self._select_flow(flow, self.paths)

    def find_path(self, flow: str, time_s: float) -> dict[str, Any]:
        """The path of a flow at an instant of the run: a row of `paths` as a dict, and `nodes`, its nodes in order."""
        import polars as pl

        arguments.number("time_s", time_s, 0, self.duration_s, error=SkyError)
        row = self.path(flow).filter(pl.col("time_s") <= time_s).row(-1, named=True)
        return {**row, "nodes": [] if row["path"] is None else row["path"].split(" > ")}

    @property
    def handovers(self) -> pl.DataFrame:
        """A row per place and change of its satellite: `time_s`, `place`, `constellation`, `before`, `satellite`."""
        import polars as pl

        pair = ["from", "to"]
        found = []
        for end in ENDS:
            before = pl.col(f"{end}_satellite").shift(1).over(pair).alias("before")
            columns = ("time_s", pl.col(end).alias("place"), "constellation", "before", f"{end}_satellite")
            rows = self.paths.with_columns(before).filter(pl.col(f"{end}_handover")).select(columns)
            found.append(rows.rename({f"{end}_satellite": "satellite"}))
        # Several pairs may have a place in common.
        return pl.concat(found).unique(maintain_order=True).sort("time_s", "place", maintain_order=True)

    def _select_flow(self, flow: str, table: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        if flow not in self.flows:
            raise SkyError(unknown(flow, "a flow over this sky", self.flows))
        start, end = self.flows[flow]
        return table.filter((pl.col("from") == start) & (pl.col("to") == end))

    def to_dict(self) -> dict[str, Any]:
        """Converts it to plain data for JSON, without positions."""
        return {
            "epoch": self.epoch,
            "duration_s": self.duration_s,
            "constellations": [each.scene.to_dict() for each in self.constellations],
            "places": self.places.to_dicts(),
            "flows": {flow: list(ends) for flow, ends in self.flows.items()},
            "paths": self.paths.to_dicts(),
            "handovers": self.handovers.to_dicts(),
        }

    def __repr__(self) -> str:
        over = ", ".join(f"{each.name} ({count(len(each.satellites), 'satellite')})" for each in self.constellations)
        return f"<ScenarioSky of {over} over {count(len(self.places), 'place')}, {self.duration_s:g} s>"


def _constellation(found: Mapping[str, Any], duration_s: float) -> SkyConstellation:
    core = found["sky"]
    places = tuple(Place(*about[:4]) for about in found["places"])
    relays = tuple(place for place, (*_, is_gateway, _) in zip(places, found["places"], strict=True) if is_gateway)
    names = tuple(core.names)
    scene = Scene(core, found["name"], core.epoch, places, relays, names, (), ())
    return SkyConstellation(found["name"], scene, duration_s)


def _places(constellations: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Makes a row per place; `is_gateway` if it is a gateway of any constellation."""
    import polars as pl

    columns = ["place", "latitude_deg", "longitude_deg", "height_km", "is_gateway", "moves"]
    rows = [about for each in constellations for about in each["places"]]
    gateway = pl.col("is_gateway").any().over("place")
    frame = pl.DataFrame(rows, schema=columns, orient="row").with_columns(gateway)
    return frame.unique("place", keep="first", maintain_order=True)


def _uses(written: Sequence[tuple[float, int]], duration_s: float) -> list[tuple[float, float, int]]:
    """Begin, end and constellation of each stretch of time of a pair."""
    ends = [*(at_s for at_s, _ in written[1:]), duration_s]
    return [(at_s, end_s, number) for (at_s, number), end_s in zip(written, ends, strict=True) if at_s < end_s]


def _paths(
    ends: tuple[str, ...],
    uses: Sequence[tuple[float, float, int]],
    constellations: Sequence[SkyConstellation],
    tables: Sequence[dict[str, Any]],
) -> pl.DataFrame:
    import polars as pl

    time, end, parts = pl.col("time_s"), pl.col("end_s"), []
    for begin_s, end_s, number in uses:
        of = constellations[number]
        changes = changes_frame(of.scene, Span(0.0, of.duration_s, 1.0), tables[number])
        changes = changes.with_columns(end_s=time + pl.col("duration_s"), constellation=pl.lit(of.name))
        part = changes.filter((time < end_s) & (end > begin_s))
        # `delays` has the delays between the begins of paths.
        parts.append(part.with_columns(time.clip(lower_bound=begin_s), end.clip(upper_bound=end_s)))
    return (
        pl.concat(parts)
        .with_columns(*_ends(ends), *(_handover(end) for end in ENDS))
        .select(
            "from",
            "to",
            "constellation",
            "time_s",
            "end_s",
            "delay_s",
            "hops",
            *_satellites("satellite"),
            *_satellites("handover"),
            "path",
        )
    )


def _satellites(what: str) -> list[str]:
    return [f"{end}_{what}" for end in ENDS]


def _handover(end: str) -> pl.Expr:
    """Handover from one satellite to another. The first satellite after a time without a path is no handover."""
    import polars as pl

    satellite = pl.col(f"{end}_satellite")
    before = satellite.shift(1)
    return (
        (satellite.is_not_null() & before.is_not_null() & (satellite != before))
        .fill_null(False)
        .alias(f"{end}_handover")
    )


def _delays(
    ends: tuple[str, ...],
    uses: Sequence[tuple[float, float, int]],
    constellations: Sequence[SkyConstellation],
    tables: Sequence[dict[str, Any]],
) -> pl.DataFrame:
    import polars as pl

    parts = []
    for begin_s, end_s, number in uses:
        of = constellations[number]
        instants = instants_frame(of.scene, tables[number]).with_columns(constellation=pl.lit(of.name))
        parts.append(instants.filter((pl.col("time_s") >= begin_s) & (pl.col("time_s") < end_s)))
    table = pl.concat(parts).with_columns(*_ends(ends))
    return table.select("from", "to", "constellation", pl.exclude("from", "to", "constellation"))


def _ends(ends: tuple[str, ...]) -> list[pl.Expr]:
    import polars as pl

    return [pl.lit(name).alias(end) for name, end in zip(ends, ENDS, strict=True)]
