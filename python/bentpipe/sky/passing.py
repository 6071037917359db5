"""The satellites that pass over a place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bentpipe.errors import SkyError
from bentpipe.formatting import quantity
from bentpipe.sky.looks import Look, chosen, quantity_row, spread
from bentpipe.sky.scenes import Scene, Span, array, do_work, frame, name_nodes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.progress import Wish
    from bentpipe.scenario.names import ConstellationName
    from bentpipe.sky.scenes import Degrees, Instant, PlaceLike, Time


@dataclass(frozen=True, repr=False)
class Passes(Look):
    """The passes of satellites over a place, in order of their rise.

    Attributes
    ----------
    scene : Scene
    span : Span
    passes : polars.DataFrame
        A row per pass: `satellite`, `rise_s`, `set_s`, `highest_s` (seconds after the epoch, to 1 ms), `elevation_deg`
        at the highest point, `range_min_km`, `range_max_km`. A pass that begins before the span, or ends after it, is
        cut.
    """

    verb = "passes"
    positional = ("place",)
    charts = ("passes",)

    scene: Scene
    span: Span
    passes: pl.DataFrame
    asked: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def summary(self) -> dict[str, Any]:
        """Number and length of passes, satellites in view, and the time without one."""
        import polars as pl

        begin_s, end_s, _ = self.span.times
        in_view_s = (self.passes["set_s"] - self.passes["rise_s"]).sum()
        until = pl.concat([pl.Series([begin_s]), self.passes["set_s"].cum_max()])
        gaps = (pl.concat([self.passes["rise_s"], pl.Series([end_s])]) - until).clip(lower_bound=0)
        return {
            "passes": len(self.passes),
            "duration_mean_s": in_view_s / len(self.passes) if len(self.passes) else None,
            "in_view_mean": in_view_s / self.span.duration_s,
            "covered": 1 - gaps.sum() / self.span.duration_s,
            "gap_max_s": max(gaps.to_list(), default=0.0),
        }

    def _draw(self, chart: str) -> Figure:
        """Draw the elevation of each pass, and how many satellites are in view."""
        from bentpipe.plot.skies import passes_figure

        if len(self.passes) == 0:
            raise SkyError(
                f"no satellite passes over {self.scene.places[0].name}\n"
                "  expected another place or other satellites, or a lower elevation_min"
            )
        return passes_figure(self)

    @property
    def _head(self) -> str:
        return f"{self.scene.over} over {self.scene.places[0].name}"

    def _content(self) -> dict[str, Any]:
        return {"summary": self.summary, "passes": self.passes.to_dicts()}

    def _quantities(self) -> Iterator[dict[str, Any]]:
        of, found = self.scene.places[0].name, self.summary
        lasting = (self.passes["set_s"] - self.passes["rise_s"]) if len(self.passes) else None
        yield quantity_row(of, "passes", "1", found["passes"])
        yield quantity_row(of, "duration", "s", None if lasting is None else spread(lasting))
        yield quantity_row(of, "elevation", "deg", spread(self.passes["elevation_deg"]))
        yield quantity_row(of, "in_view_mean", "1", found["in_view_mean"])
        yield quantity_row(of, "covered", "1", found["covered"])
        yield quantity_row(of, "gap_max", "s", found["gap_max_s"])

    def _make_tables(self) -> list[tuple[Any, Any, int]]:
        from bentpipe.plot import notebook

        return [notebook.take_rows(self.passes)]

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

    def __repr__(self) -> str:
        return f"<Passes of {self.scene.over} over {self.scene.places[0].name}, {len(self.passes)}>"


def passes(
    place: PlaceLike,
    *,
    over: ConstellationName | str | os.PathLike[str],
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
        See `path`.
    over, start, at, duration, elevation_min, range_max_km, motion, mean_motion, odd_planes, bad
        See `path`.
    elements_age_max, progress
        See `path`.
    step : float or str
        Interval of the search. Passes shorter than this may be missed. Rise and set of the others are exact.

    Returns
    -------
    Passes
    """
    given = chosen(passes, locals())
    span = Span.from_times(at, duration, step)
    scene = Scene.from_places(
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
    return find_passes(scene, span, 0, progress, given)


def find_passes(scene: Scene, span: Span, place: int, progress: Wish, asked: Mapping[str, Any] | None = None) -> Passes:
    """Find the passes over a place of a scene. In the result, it is the first place."""
    doing = f"passes over {scene.places[place].name}"
    found = do_work(doing, lambda reached: scene.core.passes(span.times, reached, place), progress)
    others = (each for number, each in enumerate(scene.places) if number != place)
    scene = replace(scene, places=(scene.places[place], *others))
    columns = {name: array(values) for name, values in found.items()}
    return Passes(
        scene, span, frame({**columns, "satellite": name_nodes(columns["satellite"], scene.satellites)}), asked
    )
