"""The path between two places over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.catalog import unknown
from bentpipe.errors import SkyError
from bentpipe.sky.scenes import FIBRE, GLASS, LIGHT_KM_S, Scene, Span, array, frame, ground_km, named, save, worked

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.plot.style import Labels, Size
    from bentpipe.sky.scenes import PlaceLike, Time, Watch

RULES = {
    "best": "whichever makes the path best",
    "highest": "always the highest above the horizon",
    "nearest": "always the nearest",
    "longest": "until it sets, then the one that stays in view longest",
    "periodic": "at checks about every 10 s, the highest if the one in use has set (ns-2)",
    "starlink": "by lot every 15 s, as Starlink was measured",
}
"""How an end chooses its satellite."""
BY = {"delay": "the shortest delay", "hops": "the fewest hops, and of these the shortest delay"}
"""Which path is best."""


@dataclass(frozen=True)
class SkyPath:
    """The path from one place to another, at every instant.

    Attributes
    ----------
    scene : Scene
        Constellation and places; the first two are the ends.
    span : Span
    table : polars.DataFrame
        A row per instant: `time_s` after the epoch, one-way propagation `delay_s`, `hops`, and for each end
        `from_elevation_deg`, `from_satellite`, `to_elevation_deg`, `to_satellite`. Without a path, they are null.
    changes : polars.DataFrame
        A row per path: `time_s` at which it begins (to a hundredth of a step), `duration_s`, `delay_s` at its begin,
        `hops`, `from_satellite`, `to_satellite`, whether an end has another satellite than on the path before
        (`from_handover`, `to_handover`), and `path`, all nodes with ` > ` between them.
    """

    scene: Scene
    span: Span
    select: str
    by: str
    keep: bool
    table: pl.DataFrame
    changes: pl.DataFrame

    @property
    def ground_km(self) -> float:
        """Distance of the two places along the great circle."""
        return ground_km(*self.scene.places[:2])

    @property
    def summary(self) -> dict[str, Any]:
        """Extremes and counts; None where there never is a path."""
        known = self.table.drop_nulls("delay_s")
        found: dict[str, Any] = {
            "ground_km": self.ground_km,
            "vacuum_delay_s": self.ground_km / LIGHT_KM_S,
            "fibre_delay_s": self.ground_km / LIGHT_KM_S * GLASS,
            "connected": len(known) / len(self.table),
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
        return found

    def plot(self, *, size: Size | None = None, title: str | None = None, labels: Labels | None = None) -> Figure:
        """A matplotlib figure: delay, hops and elevation over time; ticks at handovers.

        Raises
        ------
        SkyError
            There never is a path.
        """
        from bentpipe.plot.skies import path_figure
        from bentpipe.plot.style import dressed

        if not self.summary["connected"]:
            ends = " to ".join(place.name for place in self.scene.places[:2])
            raise SkyError(f"there is no path from {ends}\n  nothing can be drawn")
        return dressed(path_figure(self), size, title, labels)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `table` and `changes` as Parquet files into a folder."""
        save(folder, "sky path", {"table": self.table, "changes": self.changes}, self._facts())

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, fit for JSON; the columns of `table` as lists."""
        return {
            **self._facts(),
            "summary": self.summary,
            "changes": self.changes.to_dicts(),
            "table": self.table.to_dict(as_series=False),
        }

    def _facts(self) -> dict[str, Any]:
        start, end = self.scene.places[:2]
        return {
            **self.scene.to_dict(),
            "from": vars(start),
            "to": vars(end),
            "gateways": [each.name for each in self.scene.gateways],
            "select": self.select,
            "by": self.by,
            "keep": self.keep,
            **vars(self.span),
        }

    def __repr__(self) -> str:
        ends = " to ".join(place.name for place in self.scene.places[:2])
        return f"<SkyPath {ends} over {self.scene.over}, {len(self.table)} instants, {len(self.changes)} paths>"


def path(
    start: PlaceLike,
    end: PlaceLike,
    *,
    over: str | os.PathLike[str],
    epoch: str | None = None,
    at: Time = 0.0,
    duration: Time = 600.0,
    step: Time = 1.0,
    elevation: float | None = None,
    select: str = "best",
    by: str = "delay",
    keep: bool = False,
    gateways: Sequence[PlaceLike] = (),
    fibre: float = FIBRE,
    seed: int = 1,
    skip_bad: bool = False,
    progress: Watch | None = None,
) -> SkyPath:
    """The path between two places over time.

    Parameters
    ----------
    start, end : str or tuple
        A city, or degrees north and east: `51.5N 0.12W`, `(51.5, -0.12)`; a third number is km above the ellipsoid.
    over : str or path
        A constellation (see `constellations`), a file of element sets (TLE or OMM), or `geo:19.2E` for one slot.
    epoch : str, optional
        When time is 0, ISO 8601, UTC. By default 2000-01-01; for element sets the median of their epochs.
    at, duration, step : float or str
        Begin after the epoch, length and step: seconds, or a text with a unit.
    elevation : float, optional
        Degrees above the horizon from which satellites are used. By default, what the constellation's source says; 25
        for element sets.
    select : str
        How an end chooses its satellite: `best`, `highest`, `nearest`, `longest`, `periodic` or `starlink`.
    by : str
        Which path is best: that of the shortest `delay`, or of the fewest `hops`.
    keep : bool
        Keep a path until it breaks; by default, take a better one as soon as there is one.
    gateways : sequence of str or tuple
        Ground stations that forward packets. Fibres lead between all of them.
    fibre : float
        Length of these fibres against the great circle.
    seed : int
        For the draws of `periodic` and `starlink`.
    skip_bad : bool
        Leave bad records of a file out.
    progress : callable, optional
        Called now and then with a `Progress`.

    Returns
    -------
    SkyPath

    Raises
    ------
    SkyError
        An unknown place or constellation, or a value that makes no sense.
    Interrupted
        Ctrl-C.
    """
    for name, value, known in (("select", select, RULES), ("by", by, BY)):
        if value not in known:
            raise SkyError(unknown(value, f"a value of {name}", known))
    scene = Scene.of(
        over, (start, end), epoch=epoch, elevation=elevation, skip_bad=skip_bad, gateways=gateways, fibre=fibre
    )
    if scene.places[0] == scene.places[1]:
        raise SkyError(f"from {scene.places[0].name} to itself: expected two places")
    span = Span.of(at, duration, step)
    ends = " to ".join(place.name for place in scene.places[:2])
    found = worked(
        ends, lambda reached: scene.core.path(span.times, (select, seed, by == "hops", keep), reached), progress
    )
    return SkyPath(scene, span, select, by, keep, _table(scene, found), _changes(scene, span, found))


def _table(scene: Scene, found: dict[str, Any]) -> pl.DataFrame:
    columns = {name: array(found[name]) for name in ("time_s", "delay_s", "hops")}
    for end in ("from", "to"):
        columns[f"{end}_elevation_deg"] = array(found[f"{end}_elevation_deg"])
        columns[f"{end}_satellite"] = named(array(found[f"{end}_satellite"]), scene.satellites)
    table = frame(columns)
    return table.with_columns(table["hops"].replace(0, None))


def _changes(scene: Scene, span: Span, found: dict[str, Any]) -> pl.DataFrame:
    time_s, nodes, count = array(found["changes"]["time_s"]), found["nodes"], len(scene.satellites)
    columns: dict[str, Any] = {
        "time_s": time_s,
        "duration_s": np.diff(time_s, append=span.times[1]),
        "delay_s": array(found["changes"]["delay_s"]),
        "hops": [len(each) - 1 if each else None for each in nodes],
    }
    for end, place in (("from", 1), ("to", -2)):
        beside = np.array([each[place] if each and each[place] < count else -1 for each in nodes], dtype=np.int64)
        columns[f"{end}_satellite"] = named(beside, scene.satellites)
        # From one satellite to another; one that comes after a time without a path is found, not handed over to.
        handed = (beside[1:] != beside[:-1]) & (beside[1:] >= 0) & (beside[:-1] >= 0)
        columns[f"{end}_handover"] = np.concatenate(([False], handed))
    columns["path"] = [" > ".join(map(scene.name, each)) if each else None for each in nodes]
    return frame(columns)
