"""Satellites, links and a path at one instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.errors import SkyError
from bentpipe.formatting import count, quantity
from bentpipe.sky.scenes import STRETCH, Scene, Span, array, frame, named, save

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.plot.style import Labels, Size
    from bentpipe.sky.scenes import Degrees, Instant, PlaceLike, Time


@dataclass(frozen=True)
class Map:
    """A constellation at one instant.

    Attributes
    ----------
    scene : Scene
    at_s : float
        The instant, seconds after the epoch.
    satellites : polars.DataFrame
        `satellite`, `latitude_deg`, `longitude_deg` and `height_km`; null where it has no position.
    links : polars.DataFrame
        `from` and `to`: the links between satellites that can be used.
    path : polars.DataFrame
        The nodes of the shortest path between the two places, in order: `node`, `latitude_deg`, `longitude_deg` and
        `height_km`; empty if there is none.
    delay_s : float or None
        One-way propagation delay of the path.
    in_view : dict
        By place, how many satellites it sees.
    """

    scene: Scene
    at_s: float
    has_path: bool
    satellites: pl.DataFrame
    links: pl.DataFrame
    path: pl.DataFrame
    delay_s: float | None
    in_view: dict[str, int]

    def plot(self, *, size: Size | None = None, title: str | None = None, labels: Labels | None = None) -> Figure:
        """A matplotlib figure: a map with satellites, links and the path."""
        from bentpipe.plot.skies import map_figure
        from bentpipe.plot.style import dressed

        return dressed(map_figure(self), size, title, labels)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `satellites`, `links` and `path` as Parquet files into a folder."""
        tables = {"satellites": self.satellites, "links": self.links, "path": self.path}
        save(folder, "sky map", tables, self._facts())

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, fit for JSON; the columns of `positions` and `links` as lists."""
        return {
            **self._facts(),
            "path": self.path.to_dicts(),
            "positions": self.satellites.to_dict(as_series=False),
            "links": self.links.to_dict(as_series=False),
        }

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

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        tables = [notebook.rows_of(self.path)] if len(self.path) else []
        head = f"{self.scene.over}, {self.scene.instant(self.at_s)}, {count(len(self.links), 'link')}"
        return notebook.page(head, tables, self.statements, self.plot)

    def __repr__(self) -> str:
        return f"<Map of {self.scene.over} at {self.scene.instant(self.at_s)}>"


def map(
    *,
    over: str | os.PathLike[str],
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
    """Satellites, links and, between two places, the path of the shortest delay at one instant.

    Parameters
    ----------
    ends : (str or tuple, str or tuple), optional
        The two places of a path that is drawn, as in `path`.
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
    places = () if ends is None else tuple(ends)
    if len(places) not in (0, 2):
        raise SkyError(f"ends has {len(places)} places\n  expected two")
    span = Span.of(at, 1.0, 1.0)
    scene = Scene.of(
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
        raise SkyError(f"from {scene.places[0].name} to itself: expected two places")
    return map_of(scene, span.begin_s, has_path=bool(places))


def map_of(scene: Scene, at_s: float, *, has_path: bool) -> Map:
    """Map of a scene at an instant, with the path between its first two places if `has_path`."""
    found = scene.core.moment(at_s, has_path)
    position = {name: array(found[name]) for name in ("latitude_deg", "longitude_deg", "height_km")}
    links = {end: named(array(found[f"link_{end}"]), scene.satellites) for end in ("from", "to")}
    return Map(
        scene=scene,
        at_s=at_s,
        has_path=has_path,
        satellites=frame({"satellite": list(scene.satellites), **position}),
        links=frame(links),
        path=_path(scene, found["nodes"], position),
        delay_s=found["delay_s"] if found["nodes"] else None,
        in_view={place.name: len(seen) for place, seen in zip(scene.places, found["seen"], strict=True)},
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
