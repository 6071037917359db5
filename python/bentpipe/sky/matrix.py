"""The paths between all pairs of many places over time."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from bentpipe import arguments, files
from bentpipe.catalog import unknown
from bentpipe.errors import SkyError
from bentpipe.formatting import count, quantity
from bentpipe.sky.looks import Look, chosen, quantity_row
from bentpipe.sky.paths import check_choice
from bentpipe.sky.scenes import SEED_MAX, STRETCH, Place, Scene, Span, array, do_work, frame, ground_km, place

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.progress import Wish
    from bentpipe.scenario.names import ConstellationName
    from bentpipe.sky.scenes import Degrees, Instant, PlaceLike, Time

CHARTS = {
    "delay": ("delay_median_s", "median one-way delay", "s"),
    "spread": ("spread", "largest over least delay", ""),
    "connected": ("connected", "share of the time with a path", "%"),
    "changes": ("changes", "changes of the path", ""),
    "hops": ("hops_max", "most hops", ""),
}
"""Charts of the heat map: column, meaning and unit."""
NEVER_SHOWN = 3
"""Most pairs without a path that are named."""
QUANTITIES = (
    ("hops_min", "hops_min", "1"),
    ("hops_max", "hops_max", "1"),
    ("connected", "connected", "1"),
    ("changes", "changes", "1"),
    ("ground", "ground_km", "km"),
)
"""Quantities of `SkyPaths.table` besides the delay: metric, column of `pairs`, and unit."""


@dataclass(frozen=True, repr=False)
class SkyPaths(Look):
    """The paths between all pairs of places over time.

    Attributes
    ----------
    scene : Scene
        Constellation, places and gateways.
    span : Span
    places : tuple of Place
        The ends of all pairs.
    pairs : polars.DataFrame
        A row per pair: `from`, `to`, the share of the instants with a path (`connected`), the one-way propagation
        (`delay_min_s`, `delay_median_s`, `delay_p95_s`, `delay_max_s`), `hops_min` and `hops_max`. `changes` counts
        the instants with another path than at the instant before. `ground_km` is the distance along the great circle.
        Without a path, delays and hops are null.
    """

    verb = "matrix"
    positional = ("places",)
    charts = tuple(CHARTS)
    read: ClassVar = {"places": lambda rows: tuple(Place(**row) for row in rows), "failure": tuple}

    scene: Scene
    span: Span
    places: tuple[Place, ...]
    selection: str
    metric: str
    change: str
    pairs: pl.DataFrame
    failure: tuple[str, ...] = ()
    delays: Delays | None = field(default=None, repr=False, compare=False)
    asked: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def summary(self) -> dict[str, Any]:
        """Summary of all pairs: pairs without a path, pairs with a path all the time, delays, hops and changes."""
        reached = self.pairs.filter(self.pairs["connected"] > 0)
        return {
            "pairs": len(self.pairs),
            "always_connected": int((self.pairs["connected"] == 1).sum()),
            "never_connected": len(self.pairs) - len(reached),
            "connected": self.pairs["connected"].mean(),
            "delay_min_s": reached["delay_min_s"].min(),
            "delay_median_s": reached["delay_median_s"].median(),
            "delay_max_s": reached["delay_max_s"].max(),
            "hops_max": reached["hops_max"].max(),
            "changes": int(self.pairs["changes"].sum()),
        }

    def series(self, origin: str, destination: str) -> pl.DataFrame:
        """The one-way delay of a pair at every instant: `time_s` after the epoch and `delay_s`, to a nanosecond.

        Raises
        ------
        SkyError
            A place is unknown, or both are the same.
        """
        import numpy as np
        import polars as pl

        names = [place.name for place in self.places]
        for name in (origin, destination):
            if name not in names:
                raise SkyError(unknown(name, "one of the places", names))
        is_pair = [pl.col(a).eq(origin) & pl.col(b).eq(destination) for a, b in (("from", "to"), ("to", "from"))]
        rows = self.pairs.with_row_index().filter(is_pair[0] | is_pair[1])["index"]
        if len(rows) == 0:
            raise SkyError(f"{origin} is both ends\n  expected two different places")
        if self.delays is None:
            raise SkyError("delays at every instant were not kept\n  expected {series}", series=True)
        delays = array(self.delays.delay_s(rows[0]))
        return frame({"time_s": self.span.begin_s + self.span.step_s * np.arange(len(delays)), "delay_s": delays})

    def _draw(self, chart: str) -> Figure:
        """Draw a heat map of all pairs, places from west to east."""
        from bentpipe.plot.skies import matrix_figure

        column, meaning, unit = CHARTS[chart]
        if not (self.pairs["connected"] > 0).any():
            raise SkyError(
                "there is no path between any two places\n  expected other places or satellites, or lower elevation_min"
            )
        return matrix_figure(self, column, meaning, unit)

    def _all_series(self) -> pl.DataFrame:
        """A row per pair and instant."""
        import polars as pl

        names = pl.Enum([place.name for place in self.places])
        pairs = list(self.pairs.select("from", "to").iter_rows())
        return pl.concat(
            self.series(*pair).select(
                pl.lit(pair[0], dtype=names).alias("from"), pl.lit(pair[1], dtype=names).alias("to"), pl.all()
            )
            for pair in pairs
        )

    @property
    def _head(self) -> str:
        return f"All pairs of {count(len(self.places), 'place')} over {self.scene.over}"

    def _content(self) -> dict[str, Any]:
        return {"summary": self.summary, "pairs": self.pairs.to_dicts()}

    def _quantities(self) -> Iterator[dict[str, Any]]:
        for row in self.pairs.iter_rows(named=True):
            of = f"{row['from']} to {row['to']}"
            yield quantity_row(
                of, "delay", "s", {name: row[f"delay_{name}_s"] for name in ("min", "median", "p95", "max")}
            )
            for metric, name, unit in QUANTITIES:
                yield quantity_row(of, metric, unit, row[name])

    def _make_tables(self) -> list[tuple[Any, Any, int]]:
        from bentpipe.plot import notebook

        return [notebook.take_rows(self.pairs)]

    @classmethod
    def _ends(cls, look: Mapping[str, Any]) -> list[Any]:
        return list(look["places"])

    def _further(self) -> dict[str, pl.DataFrame]:
        return {} if self.delays is None else {"series": self._all_series()}

    def _with_further(self, folder: str | os.PathLike[str]) -> SkyPaths:
        if not (Path(folder) / "series.parquet").exists():
            return self
        return replace(self, delays=_Kept(files.table(folder, "series"), self.pairs))

    def _facts(self) -> dict[str, Any]:
        return {
            **self.scene.to_dict(),
            "places": [vars(place) for place in self.places],
            "gateways": [each.name for each in self.scene.gateways],
            "selection": self.selection,
            "metric": self.metric,
            "change": self.change,
            "failure": list(self.failure),
            **vars(self.span),
        }

    @property
    def statements(self) -> list[str]:
        """Numbers of pairs with and without a path, the delays, and a command that explains missing paths."""
        found = self.summary
        said = f"{count(found['pairs'], 'pair')}: {found['always_connected']:,} with a path all the time"
        said += f", {found['never_connected']:,} never"
        more = self._name_unconnected()
        if found["never_connected"] == found["pairs"]:
            return [said, *more]
        low, middle, high = (quantity(found[f"delay_{name}_s"], "s") for name in ("min", "median", "max"))
        hops, changes = count(found["hops_max"], "hop"), count(found["changes"], "change")
        return [f"{said}; {low} to {high} one way, median {middle}, {hops} at most, {changes}", *more]

    def _name_unconnected(self) -> list[str]:
        """Name the pairs without a path at any time, and the command that prints the reason."""
        never = self.pairs.filter(self.pairs["connected"] == 0).select("from", "to").rows()
        if not never:
            return []
        named = ", ".join(f"{origin} to {destination}" for origin, destination in never[:NEVER_SHOWN])
        rest = f" and {len(never) - NEVER_SHOWN:,} more" if len(never) > NEVER_SHOWN else ""
        reason = shlex.join(["bentpipe", "sky", "path", *never[0], "--over", str(self.scene.over)])
        return [f"no path at any time: {named}{rest}; `{reason}` prints the reason"]

    def __repr__(self) -> str:
        return f"<SkyPaths of {len(self.places)} places over {self.scene.over}, {len(self.pairs)} pairs>"


class Delays(Protocol):
    """The delay of each pair at every instant."""

    def delay_s(self, pair: int) -> tuple[str, bytes]: ...


class _Kept:
    """Delays that were saved."""

    def __init__(self, table: pl.DataFrame, pairs: pl.DataFrame) -> None:
        self._table = table
        self._pairs = pairs

    def delay_s(self, pair: int) -> tuple[str, bytes]:
        import polars as pl

        row = self._pairs.row(pair, named=True)
        names = self._table.select("from", "to").cast(pl.String)
        found = self._table.filter((names["from"] == row["from"]) & (names["to"] == row["to"]))["delay_s"]
        return "float64", found.to_numpy().tobytes()


def check_chart(chart: str) -> str:
    """Check the name of a chart."""
    if chart not in CHARTS:
        raise SkyError(unknown(chart, "a chart", CHARTS))
    return chart


def paths(
    places: Sequence[PlaceLike],
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
    elements_age_max: Time | None = None,
    selection: str = "any",
    metric: str = "delay",
    change: str = "better",
    gateway: Sequence[PlaceLike] = (),
    relay: str = "fibre",
    stretch: float = STRETCH,
    failure: Sequence[str] = (),
    seed: int = 1,
    series: bool = True,
    progress: Wish = None,
) -> SkyPaths:
    """Compute the paths between all pairs of places over time.

    Parameters
    ----------
    places : sequence of str or tuple
        Two or more places, see `path`. `bp.sky.places("cities.csv")` reads them from a file.
    over, start, at, duration, step, elevation_min, range_max_km, motion, mean_motion, odd_planes
        See `path`.
    between_satellites, bad, elements_age_max, selection, metric, change, gateway, relay, stretch, failure, seed
        See `path`.
    progress
        See `path`.
    series : bool
        Whether to keep the delay of each pair at every instant for `SkyPaths.series`. Each delay takes 4 bytes.

    Returns
    -------
    SkyPaths

    Raises
    ------
    SkyError
        There are fewer than two places, a place is named twice, or a value is invalid.
    Interrupted
        Ctrl-C was pressed.
    """
    given = chosen(paths, locals())
    check_choice(selection, metric, change)
    arguments.whole("seed", seed, 0, SEED_MAX, error=SkyError)
    ends = [place(each) for each in places]
    names = [each.name for each in ends]
    if len(ends) < 2:
        raise SkyError(f"{count(len(ends), 'place')}: expected two or more")
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise SkyError(f"{twice[0]} is named twice\n  expected places with different names")
    span = Span.from_times(at, duration, step)
    scene = Scene.from_places(
        over,
        ends,
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
    pairs = list(combinations(range(len(ends)), 2))
    choice = (selection, seed, metric == "hops", change == "broken")
    doing = count(len(pairs), "pair")
    found = do_work(doing, lambda reached: scene.core.matrix(pairs, span.times, choice, series, reached), progress)
    table = _table(ends, pairs, {name: array(values) for name, values in found.columns().items()})
    more = (tuple(failure), found if series else None, given)
    return SkyPaths(scene, span, tuple(ends), selection, metric, change, table, *more)


def _table(ends: list[Place], pairs: list[tuple[int, int]], columns: dict[str, Any]) -> pl.DataFrame:
    import polars as pl

    names = pl.Series([each.name for each in ends], dtype=pl.String)
    kilometres = [ground_km(ends[a], ends[b]) for a, b in pairs]
    table = frame({**columns, "ground_km": kilometres}).with_columns(pl.col("hops_min", "hops_max").replace(0, None))
    return table.with_columns(names.gather(table["from"]).alias("from"), names.gather(table["to"]).alias("to"))
