"""The satellites that pass over a place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bentpipe.errors import SkyError
from bentpipe.formatting import quantity
from bentpipe.sky.scenes import Scene, Span, array, frame, named, save, worked

if TYPE_CHECKING:
    import os

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.plot.style import Labels, Size
    from bentpipe.progress import Wish
    from bentpipe.sky.scenes import Degrees, Instant, PlaceLike, Time


@dataclass(frozen=True)
class Passes:
    """The passes over a place, by rise.

    Attributes
    ----------
    scene : Scene
    span : Span
    table : polars.DataFrame
        A row per pass: `satellite`, `rise_s`, `set_s` and `highest_s` after the epoch (to 1 ms), `elevation_deg` at the
        highest point, `range_min_km` and `range_max_km`. A pass that begins before the span or ends after it is cut.
    """

    scene: Scene
    span: Span
    table: pl.DataFrame

    @property
    def summary(self) -> dict[str, Any]:
        """How many pass, how long, how many are in view, and how long there is none."""
        import polars as pl

        begin_s, end_s, _ = self.span.times
        in_view_s = (self.table["set_s"] - self.table["rise_s"]).sum()
        until = pl.concat([pl.Series([begin_s]), self.table["set_s"].cum_max()])
        gaps = (pl.concat([self.table["rise_s"], pl.Series([end_s])]) - until).clip(lower_bound=0)
        return {
            "passes": len(self.table),
            "duration_mean_s": in_view_s / len(self.table) if len(self.table) else None,
            "in_view_mean": in_view_s / self.span.duration_s,
            "covered": 1 - gaps.sum() / self.span.duration_s,
            "gap_max_s": max(gaps.to_list(), default=0.0),
        }

    def plot(self, *, size: Size | None = None, title: str | None = None, labels: Labels | None = None) -> Figure:
        """A matplotlib figure: the elevation of each pass, and how many satellites are in view.

        Raises
        ------
        SkyError
            No satellite passes.
        """
        from bentpipe.plot.skies import passes_figure
        from bentpipe.plot.style import dressed

        if len(self.table) == 0:
            raise SkyError(f"no satellite passes over {self.scene.places[0].name}\n  nothing can be drawn")
        return dressed(passes_figure(self), size, title, labels)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `table` as a Parquet file into a folder."""
        save(folder, "sky passes", {"table": self.table}, self._facts())

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, fit for JSON."""
        return {**self._facts(), "summary": self.summary, "table": self.table.to_dicts()}

    def _facts(self) -> dict[str, Any]:
        return {**self.scene.to_dict(), "place": vars(self.scene.places[0]), **vars(self.span)}

    @property
    def statements(self) -> list[str]:
        """The number of passes, of satellites in view, and the longest time without any."""
        found = self.summary
        if not found["passes"]:
            return ["no satellite is in view"]
        gap = quantity(found["gap_max_s"], "s")
        return [
            f"{found['passes']:,} {'pass' if found['passes'] == 1 else 'passes'} of"
            f" {quantity(found['duration_mean_s'], 's')} on average, {found['in_view_mean']:.1f} in view on average, "
            + (f"at most {gap} without a satellite" if found["gap_max_s"] > 0 else "never without a satellite")
        ]

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        head = f"{self.scene.over} over {self.scene.places[0].name}"
        return notebook.page(head, [notebook.rows_of(self.table)], self.statements, self.plot)

    def __repr__(self) -> str:
        return f"<Passes of {self.scene.over} over {self.scene.places[0].name}, {len(self.table)}>"


def passes(
    place: PlaceLike,
    *,
    over: str | os.PathLike[str],
    start: Instant | None = None,
    at: Time = 0.0,
    duration: Time = 3600.0,
    step: Time = 10.0,
    elevation_min: Degrees | None = None,
    range_max_km: float | None = None,
    motion: str | None = None,
    mean_motion: float | None = None,
    odd_planes: float | None = None,
    bad: str = "refuse",
    elements_age_max: Time | None = None,
    progress: Wish = None,
) -> Passes:
    """The satellites that pass over a place.

    Parameters
    ----------
    place : str or tuple
        As in `path`.
    over, start, at, duration, elevation_min, range_max_km, motion, mean_motion, odd_planes, bad
        As in `path`.
    elements_age_max, progress
        As in `path`.
    step : float or str
        How often the place looks; rise and set are then sought. A pass that is shorter may be missed.

    Returns
    -------
    Passes
    """
    span = Span.of(at, duration, step)
    scene = Scene.of(
        over,
        (place,),
        start=start,
        elevation_min=elevation_min,
        range_max_km=range_max_km,
        motion=motion,
        mean_motion=mean_motion,
        odd_planes=odd_planes,
        bad=bad,
        span=span,
        elements_age_max=elements_age_max,
    )
    return passes_in(scene, span, 0, progress)


def passes_in(scene: Scene, span: Span, place: int, progress: Wish) -> Passes:
    """The passes over a place of a scene, which is the first place of the result."""
    doing = f"passes over {scene.places[place].name}"
    found = worked(doing, lambda reached: scene.core.passes(span.times, reached, place), progress)
    others = (each for number, each in enumerate(scene.places) if number != place)
    scene = replace(scene, places=(scene.places[place], *others))
    columns = {name: array(values) for name, values in found.items()}
    return Passes(scene, span, frame({**columns, "satellite": named(columns["satellite"], scene.satellites)}))
