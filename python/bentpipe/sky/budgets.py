"""The budget of a radio link, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.errors import SkyError
from bentpipe.sky.scenes import Scene, save

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.plot.style import Labels, Size
    from bentpipe.sky.scenes import PlaceLike

ELEVATIONS = (10.0, 25.0, 40.0, 60.0, 90.0)
"""Shown where a satellite is used there."""


@dataclass(frozen=True)
class Budget:
    """A link budget at some elevations, in dry air and in rain.

    Attributes
    ----------
    scene : Scene
    radio : dict
        What it was asked of: carrier, powers, symbol rate, climate.
    table : polars.DataFrame
        A row per elevation, weather and line: `elevation_deg`, `percent` (of the year in which the rain is exceeded;
        null: dry), `line`, `value`, `unit`. What the way takes is negative.
    bears : polars.DataFrame
        A row per elevation and weather: `elevation_deg`, `percent`, `range_km`, `es_n0_db`, `qpsk_bit_error_rate`
        without coding, `modcod` of DVB-S2 without implementation loss (null: none), `rate_bps` with it.
    """

    scene: Scene
    radio: dict[str, Any]
    table: pl.DataFrame
    bears: pl.DataFrame

    @property
    def summary(self) -> dict[str, Any]:
        """The least and the largest Es/N0, dry and in rain, and what DVB-S2 carries then."""
        import polars as pl

        dry = self.bears["percent"].is_null()
        found: dict[str, Any] = {"altitude_km": self.scene.core.altitude_km}
        for name, rows in (("dry", self.bears.filter(dry)), ("rain", self.bears.filter(~dry))):
            ends = rows.select(
                least=pl.col("es_n0_db").min(), largest=pl.col("es_n0_db").max(), rate=pl.col("rate_bps").min()
            ).row(0, named=True)
            found |= {f"es_n0_min_db_{name}": ends["least"], f"es_n0_max_db_{name}": ends["largest"]}
            found[f"rate_min_bps_{name}"] = ends["rate"]
        return found

    def plot(self, *, size: Size | None = None, title: str | None = None, labels: Labels | None = None) -> Figure:
        """A matplotlib figure: Es/N0 by elevation, dry and in rain."""
        from bentpipe.plot.skies import budget_figure
        from bentpipe.plot.style import dressed

        return dressed(budget_figure(self), size, title, labels)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `table` and `bears` as Parquet files into a folder."""
        save(folder, "sky budget", {"table": self.table, "bears": self.bears}, self._facts())

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, fit for JSON."""
        tables = {"table": self.table.to_dicts(), "bears": self.bears.to_dicts()}
        return {**self._facts(), "summary": self.summary, **tables}

    def _facts(self) -> dict[str, Any]:
        return {**self.scene.to_dict(), "place": vars(self.scene.places[0]), "radio": self.radio}

    def __repr__(self) -> str:
        return f"<Budget of {self.scene.over} over {self.scene.places[0].name}>"


def budget(
    place: PlaceLike,
    *,
    over: str | os.PathLike[str],
    frequency: float,
    eirp: float,
    g_over_t: float,
    symbol_rate: float = 10e6,
    losses: float = 0.0,
    percent: float | Sequence[float] = 0.1,
    clouds: bool = False,
    scintillation: bool = False,
    antenna: float = 0.6,
    climate: str | None = None,
    epoch: str | None = None,
    elevation: float | None = None,
    skip_bad: bool = False,
) -> Budget:
    """The budget of a radio link between a place and satellites, line by line.

    Free space over the slant range to the satellites' median height, gases (ITU-R P.676-12) and rain (P.618-13) over
    the place; clouds and scintillation if asked for.

    Parameters
    ----------
    place : str or tuple
        As in `path`.
    over, epoch, elevation, skip_bad
        As in `path`.
    frequency : float
        Carrier, 1 to 350 GHz.
    eirp : float
        Effective isotropic radiated power of the sender, dBW.
    g_over_t : float
        Gain of the receiver over its noise temperature, dB/K.
    symbol_rate : float
        Symbols in a second.
    losses : float
        Everything else, dB: pointing, polarisation, feeders.
    percent : float or list of float
        Of an average year in which the rain is exceeded, 0.001 to 5.
    clouds : bool
        Rain comes with the clouds (P.840-8) that are exceeded as often, or in 1 % of the year.
    scintillation : bool
        Rain comes with scintillation (P.618-13) that is exceeded as often; its line is what it adds.
    antenna : float
        Diameter of the antenna on the ground, which averages scintillation, m.
    climate : str, optional
        The city whose air and rain the place has; the place itself if it is a city.

    Returns
    -------
    Budget

    Raises
    ------
    SkyError
        A value outside its range; a place without a climate.
    """
    import polars as pl

    scene = Scene.of(over, (place,), epoch=epoch, elevation=elevation, skip_bad=skip_bad)
    name = climate or scene.places[0].name
    radio = (float(frequency), float(eirp), float(g_over_t), float(losses), float(symbol_rate))
    least = scene.elevation_deg or 0.0
    angles = [least, *(each for each in ELEVATIONS if each > least + 1)]
    shares: list[float | None] = [None, *([percent] if isinstance(percent, (int, float)) else percent)]
    extra = (clouds, antenna if scintillation else None)
    lines, bears = [], []
    for angle in angles:
        for share in shares:
            try:
                found, range_km, errors, best = scene.core.budget(name, radio, angle, share, extra)
            except SkyError as error:
                if climate is None and str(error).startswith("city"):
                    raise SkyError(
                        f"no climate is known for {name}\n  name a city that is like it: --climate CITY, climate="
                    ) from None
                raise
            at = {"elevation_deg": angle, "percent": share}
            lines += [{**at, "line": what, "value": value, "unit": unit} for what, value, unit in found]
            bears.append(
                {
                    **at,
                    "range_km": range_km,
                    "es_n0_db": found[-1][1],
                    "qpsk_bit_error_rate": errors,
                    "modcod": best and best[0],
                    "rate_bps": best[1] * symbol_rate if best else 0.0,
                }
            )
    asked = dict(zip(("frequency_ghz", "eirp_dbw", "g_over_t_db_k", "losses_db", "symbols_per_s"), radio, strict=True))
    reals = {"percent": pl.Float64, "modcod": pl.String}
    asked_for = {"climate": name, "clouds": clouds, "scintillation": scintillation, "antenna_m": antenna}
    return Budget(
        scene,
        {**asked, **asked_for},
        pl.DataFrame(lines, schema_overrides={"percent": pl.Float64}),
        pl.DataFrame(bears, schema_overrides=reals),
    )
