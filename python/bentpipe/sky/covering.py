"""Counts the satellites in view and measures delays, all over the Earth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe import arguments
from bentpipe.catalog import unknown
from bentpipe.errors import SkyError
from bentpipe.formatting import quantity
from bentpipe.sky.looks import Look, chosen, quantity_row, spread
from bentpipe.sky.scenes import STRETCH, Scene, Span, array, do_work, frame

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.progress import Wish
    from bentpipe.scenario.names import ConstellationName
    from bentpipe.sky.scenes import Degrees, Instant, PlaceLike, Time

CHARTS = {
    "mean": "satellites in view on average",
    "min": "satellites in view at least",
    "covered": "share of time with a satellite in view",
    "delay": "one-way delay",
}
"""Quantities of a map of coverage."""


def check_chart(chart: str) -> str:
    """Checks the quantity of a map."""
    if chart not in CHARTS:
        raise SkyError(unknown(chart, "a map of coverage", CHARTS))
    return chart


@dataclass(frozen=True, repr=False)
class Coverage(Look):
    """Coverage of the cells of the Earth's surface.

    Attributes
    ----------
    scene : Scene
    span : Span
    cell_deg : float
        Size of a cell.
    cells : polars.DataFrame
        A row per cell, from the south-west, row by row: `latitude_deg` and `longitude_deg` of its middle, `covered`
        (share of the instants at which a satellite is in view), `mean` and `min` (number of satellites in view).
        `delay_s` is the mean one-way delay over the instants with a path.
    covered : float
        Share of the Earth's surface that is covered, on average over time.
    to : str or None
        Place at the other end of the delays. None: delays are to the nearest satellite.
    """

    verb = "coverage"
    charts = tuple(CHARTS)

    scene: Scene
    span: Span
    cell_deg: float
    cells: pl.DataFrame
    covered: float
    to: str | None = None
    asked: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def bands(self, height_deg: float = 10.0) -> pl.DataFrame:
        """Rows by latitude, from the north: `south_deg`, `north_deg`, `covered`, `mean`, `min` and `delay_s`."""
        import polars as pl

        arguments.number("height_deg", height_deg, 0.01, 180, error=SkyError)
        north = ((90 - pl.col("latitude_deg")) / height_deg).floor()
        # Cells of a band have nearly the same area.
        area = pl.col("latitude_deg").radians().cos()
        grouped = (
            self.cells.with_columns(band=north, area=area)
            .group_by("band")
            .agg(
                covered=(pl.col("covered") * pl.col("area")).sum() / pl.col("area").sum(),
                mean=(pl.col("mean") * pl.col("area")).sum() / pl.col("area").sum(),
                min=pl.col("min").min(),
                delay_s=(pl.col("delay_s") * pl.col("area")).sum()
                / pl.col("area").filter(pl.col("delay_s").is_not_null()).sum(),
            )
        )
        edge = 90 - pl.col("band") * height_deg
        return grouped.sort("band").select(
            (edge - height_deg).alias("south_deg"),
            edge.alias("north_deg"),
            "covered",
            "mean",
            "min",
            pl.col("delay_s").fill_nan(None),
        )

    def _draw(self, chart: str) -> Figure:
        """Draw a map of `mean`, `min`, `covered` or `delay`."""
        from bentpipe.plot.skies import coverage_figure

        if chart != "delay":
            return coverage_figure(self, chart, CHARTS[chart])
        if self.cells["delay_s"].is_null().all():
            raise SkyError(
                f"there is no path from any cell to {self._end}\n"
                "  expected another place or constellation, or lower elevation_min"
            )
        return coverage_figure(self, "delay_s", f"{CHARTS[chart]} to {self._end}")

    @classmethod
    def _ends(cls, look: Mapping[str, Any]) -> list[Any]:
        return [look["to"]] if "to" in look else []

    @property
    def _end(self) -> str:
        return self.to or "the nearest satellite"

    @property
    def _head(self) -> str:
        return f"Coverage by {self.scene.over}"

    def _content(self) -> dict[str, Any]:
        content = {"covered": self.covered, "bands": self.bands().to_dicts()}
        return {**content, "cells": self.cells.to_dict(as_series=False)}

    def _quantities(self) -> Iterator[dict[str, Any]]:
        yield quantity_row(self.scene.over, "covered", "1", self.covered)
        yield quantity_row(self.scene.over, "in_view", "1", spread(self.cells["mean"]))
        yield quantity_row(self.scene.over, "delay", "s", spread(self.cells["delay_s"]))

    def _make_tables(self) -> list[tuple[Any, Any, int]]:
        from bentpipe.plot import notebook

        return [notebook.take_rows(self.bands())]

    def _facts(self) -> dict[str, Any]:
        return {**self.scene.to_dict(), **vars(self.span), "cell_deg": self.cell_deg, "to": self.to}

    @property
    def statements(self) -> list[str]:
        """The share of the Earth with a satellite in view, and the delays."""
        said = [f"{100 * self.covered:.3g} % of the Earth has a satellite in view, on average over time"]
        delays = spread(self.cells["delay_s"])
        if delays["min"] is None:
            return [*said, f"There is no path to {self._end}"]
        low, high = (quantity(delays[name], "s") for name in ("min", "max"))
        return [*said, f"The one-way delay to {self._end} is {low} to {high}"]

    def __repr__(self) -> str:
        return f"<Coverage of {self.scene.over}, {self.covered:.1%} of the Earth>"


def coverage(
    *,
    over: ConstellationName | str | os.PathLike[str],
    start: Instant | None = None,
    at: Time = 0.0,
    duration: Time = 600.0,
    step: Time = 60.0,
    elevation_min: Degrees | None = None,
    range_max_km: float | None = None,
    motion: str | None = None,
    mean_motion: float | None = None,
    odd_planes: float | None = None,
    to: PlaceLike | None = None,
    between_satellites: str | None = None,
    gateway: Sequence[PlaceLike] = (),
    relay: str = "fibre",
    stretch: float = STRETCH,
    cell: float = 3.0,
    bad: str = "refuse",
    elements_age_max: Time | None = None,
    progress: Wish = None,
) -> Coverage:
    """Count the satellites in view of each cell of the Earth's surface, and measure delays.

    Parameters
    ----------
    over, start, at, duration, step, elevation_min, range_max_km, motion, mean_motion, odd_planes, bad
        As in `path`.
    elements_age_max, progress
        As in `path`.
    to : str or tuple
        Place where paths end. Each cell then has the delay of the shortest path to it. Without it, each cell has the
        delay to the nearest satellite in view.
    between_satellites, gateway, relay, stretch
        As in `path`, for paths to this place.
    cell : float
        Size of the cells in latitude and longitude, degrees. Satellites are counted at the middle of each cell.

    Returns
    -------
    Coverage
    """
    given = chosen(coverage, locals())
    has_end = to is not None
    arguments.only_with("between_satellites", between_satellites, None, "to", has_end, error=SkyError)
    arguments.only_with("gateway", gateway, (), "to", has_end or not gateway, error=SkyError)
    span = Span.from_times(at, duration, step)
    scene = Scene.from_places(
        over,
        () if to is None else (to,),
        start=start,
        elevation_min=elevation_min,
        range_max_km=range_max_km,
        motion=motion,
        mean_motion=mean_motion,
        odd_planes=odd_planes,
        between_satellites=between_satellites,
        gateway=gateway,
        relay=relay,
        stretch=stretch,
        bad=bad,
        span=span,
        elements_age_max=elements_age_max,
    )
    return find_coverage(scene, span, cell, progress, place=0 if has_end else None, asked=given)


def find_coverage(
    scene: Scene,
    span: Span,
    cell: float,
    progress: Wish,
    *,
    place: int | None = None,
    asked: Mapping[str, Any] | None = None,
) -> Coverage:
    """Find the coverage by the satellites of a scene. Delays are to the place with the number `place`."""
    doing = f"coverage by {scene.over}"
    core = scene.core
    found, covered = do_work(doing, lambda reached: core.coverage(cell, span.times, place, reached), progress)
    cells = frame({name: array(values) for name, values in found.items()})
    return Coverage(scene, span, cell, cells, covered, None if place is None else scene.places[place].name, asked)
