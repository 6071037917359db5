"""Satellites, links and a path at one instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.errors import SkyError
from bentpipe.formatting import count, quantity
from bentpipe.sky.looks import Look, chosen, quantity_row
from bentpipe.sky.scenes import STRETCH, Scene, Span, array, frame, name_nodes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.scenario.names import ConstellationName
    from bentpipe.sky.scenes import Degrees, Instant, PlaceLike, Time


@dataclass(frozen=True, repr=False)
class Map(Look):
    """A constellation at one instant.

    Attributes
    ----------
    scene : Scene
    at_s : float
        The instant, seconds after the epoch.
    satellites : polars.DataFrame
        A row per satellite: `satellite`, `latitude_deg`, `longitude_deg` and `height_km`. A satellite without a
        position has null.
    links : polars.DataFrame
        A row per usable link between satellites: `from` and `to`.
    path : polars.DataFrame
        The nodes of the shortest path between the two places, in order: `node`, `latitude_deg`, `longitude_deg` and
        `height_km`; empty without a path.
    delay_s : float or None
        One-way propagation delay of the path.
    in_view : dict
        Number of satellites in view, by place.
    """

    verb = "map"
    charts = ("map",)

    scene: Scene
    at_s: float
    has_path: bool
    satellites: pl.DataFrame
    links: pl.DataFrame
    path: pl.DataFrame
    delay_s: float | None
    in_view: dict[str, int]
    asked: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def _draw(self, chart: str) -> Figure:
        """Draw a map with satellites, links and the path."""
        from bentpipe.plot.skies import map_figure

        return map_figure(self)

    @property
    def _head(self) -> str:
        return f"{self.scene.over}, {self.scene.instant(self.at_s)}, {count(len(self.links), 'link')}"

    def _content(self) -> dict[str, Any]:
        positions = {"positions": self.satellites.to_dict(as_series=False)}
        return {"path": self.path.to_dicts(), **positions, "links": self.links.to_dict(as_series=False)}

    def _quantities(self) -> Iterator[dict[str, Any]]:
        for name, seen in self.in_view.items():
            yield quantity_row(name, "in_view", "1", seen)
        if self.has_path:
            of = " to ".join(place.name for place in self.scene.places[:2])
            yield quantity_row(of, "delay", "s", self.delay_s)
        yield quantity_row(self.scene.over, "links", "1", len(self.links))

    def _make_tables(self) -> list[tuple[Any, Any, int]]:
        from bentpipe.plot import notebook

        return [notebook.take_rows(self.path)] if len(self.path) else []

    @classmethod
    def _ends(cls, look: Mapping[str, Any]) -> list[Any]:
        return list(look.get("ends", ()))

    @classmethod
    def _span(cls, content: Mapping[str, Any]) -> Span:
        return Span.from_times(content["at_s"], 1.0, 1.0)

    def _facts(self) -> dict[str, Any]:
        return {
            **self.scene.to_dict(),
            "at_s": self.at_s,
            "time": self.scene.instant(self.at_s),
            "places": [vars(place) for place in self.scene.places],
            "in_view": self.in_view,
            "delay_s": self.delay_s,
        }

    @property
    def statements(self) -> list[str]:
        """The number of satellites that each place sees, and the length of the path."""
        said = [f"{name} sees {count(seen, 'satellite')}" for name, seen in self.in_view.items()]
        if not self.has_path:
            return said
        start, end = (place.name for place in self.scene.places[:2])
        if self.delay_s is None:
            return [*said, f"there is no path from {start} to {end}"]
        hops = count(len(self.path) - 1, "hop")
        return [*said, f"{start} to {end}: {quantity(self.delay_s, 's')} one way, {hops}"]

    def __repr__(self) -> str:
        return f"<Map of {self.scene.over} at {self.scene.instant(self.at_s)}>"


def map(
    *,
    over: ConstellationName | str | os.PathLike[str],
    ends: tuple[PlaceLike, PlaceLike] | None = None,
    start: Instant | None = None,
    at: Time = 0.0,
    elevation_min: Degrees | None = None,
    range_max_km: float | None = None,
    motion: str | None = None,
    mean_motion: float | None = None,
    odd_planes: float | None = None,
    between_satellites: str | None = None,
    bad: str = "refuse",
    elements_age_max: Time | None = None,
    gateway: Sequence[PlaceLike] = (),
    relay: str = "fibre",
    stretch: float = STRETCH,
) -> Map:
    """Compute satellites, links and the path of the shortest delay between two places, at one instant.

    Parameters
    ----------
    ends : (str or tuple, str or tuple), optional
        The two ends of the path, each a place as in `path`. Default: no path.
    over, start, elevation_min, range_max_km, motion, mean_motion, odd_planes, between_satellites, bad, elements_age_max
        As in `path`.
    gateway, relay, stretch
        As in `path`.
    at : float or str
        The instant after `start`.

    Returns
    -------
    Map
    """
    given = chosen(globals()["map"], locals())
    places = () if ends is None else tuple(ends)
    if len(places) not in (0, 2):
        raise SkyError(f"ends has {len(places)} places\n  expected two")
    span = Span.from_times(at, 1.0, 1.0)
    scene = Scene.from_places(
        over,
        places,
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
    )
    if places and scene.places[0] == scene.places[1]:
        raise SkyError(f"{scene.places[0].name} is both ends\n  expected two different places")
    return make_map(scene, span.begin_s, has_path=bool(places), asked=given)


def make_map(scene: Scene, at_s: float, *, has_path: bool, asked: Mapping[str, Any] | None = None) -> Map:
    """Map of a scene at an instant, with the path between its first two places if `has_path`."""
    found = scene.core.moment(at_s, has_path)
    position = {name: array(found[name]) for name in ("latitude_deg", "longitude_deg", "height_km")}
    links = {end: name_nodes(array(found[f"link_{end}"]), scene.satellites) for end in ("from", "to")}
    return Map(
        scene=scene,
        at_s=at_s,
        has_path=has_path,
        satellites=frame({"satellite": list(scene.satellites), **position}),
        links=frame(links),
        path=_path(scene, found["nodes"], position),
        delay_s=found["delay_s"] if found["nodes"] else None,
        in_view={place.name: len(seen) for place, seen in zip(scene.places, found["seen"], strict=True)},
        asked=asked,
    )


def _path(scene: Scene, nodes: list[int], position: dict[str, Any]) -> pl.DataFrame:
    import polars as pl

    count = len(scene.satellites)
    rows: list[tuple[Any, ...]] = []
    for node in nodes:
        if node < count:
            rows.append((scene.name(node), *(float(values[node]) for values in position.values())))
        else:
            place = scene.places[node - count]
            rows.append((place.name, place.latitude_deg, place.longitude_deg, place.height_km))
    schema = {"node": pl.String, **dict.fromkeys(position, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")
