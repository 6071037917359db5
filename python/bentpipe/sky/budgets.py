"""The budget of a radio link, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.errors import SkyError
from bentpipe.formatting import quantity
from bentpipe.sky.scenes import Scene, save
from bentpipe.sky.scenes import place as find_place

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

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
        without coding, `modcod` of DVB-S2 without implementation loss (null: none), `margin_db` over its threshold,
        `packet_loss` by a waterfall curve through the threshold's 1e-7, `rate_bps` with it.
    fades : polars.DataFrame
        A row per elevation, weather and duration: `elevation_deg`, `percent`, `duration_s`, `fades_per_year` that are
        deeper than the rain's attenuation and last longer, `time_share` of the rain's time that they make
        (P.1623-1, for satellites that stand still; 10 to 50 GHz, 5 to 60 degrees).
    """

    scene: Scene
    radio: dict[str, Any]
    table: pl.DataFrame
    bears: pl.DataFrame
    fades: pl.DataFrame

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
        """Write `table`, `bears` and `fades` as Parquet files into a folder."""
        tables = {"table": self.table, "bears": self.bears, "fades": self.fades}
        save(folder, "sky budget", tables, self._facts())

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, fit for JSON."""
        tables = {name: getattr(self, name).to_dicts() for name in ("table", "bears", "fades")}
        return {**self._facts(), "summary": self.summary, **tables}

    def _facts(self) -> dict[str, Any]:
        return {**self.scene.to_dict(), "place": vars(self.scene.places[0]), "radio": self.radio}

    @property
    def statements(self) -> list[str]:
        """What the link is like where it is worst, dry and in rain."""
        found, said = self.summary, []
        for name in ("dry", "rain"):
            if found[f"es_n0_min_db_{name}"] is not None:
                least, largest = (found[f"es_n0_{end}_db_{name}"] for end in ("min", "max"))
                rate = quantity(found[f"rate_min_bps_{name}"], "bit/s")
                said.append(f"{name}: Es/N0 from {least:.1f} to {largest:.1f} dB, DVB-S2 carries at least {rate}")
        return said

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        head = f"Link budget at {self.scene.places[0].name} by {self.scene.over}"
        return notebook.page(head, [notebook.rows_of(self.bears)], self.statements, self.plot)

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
    interference: float | None = None,
    down: Mapping[str, float] | None = None,
    to: PlaceLike | None = None,
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
    interference : float, optional
        Carrier over interference in the bandwidth of the symbols, dB.
    down : dict, optional
        The way down of a bent pipe, whose satellite passes the noise of the way up on: `frequency`, `eirp` and
        `g_over_t`, and if you want `losses` and `interference`, as above. The rest is then the way up.
    to : str or tuple, optional
        Where the way down ends, a city; there it is dry, and the satellite stands as high. Without it, at `place`.
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
    radio = _radio(frequency=frequency, eirp=eirp, g_over_t=g_over_t, losses=losses, interference=interference)
    back = None if down is None else _way_down(down)
    if to is not None and back is None:
        raise SkyError("to is where the way down ends: it needs down, --down-frequency, --down-eirp and --down-gt")
    far = name if to is None else find_place(to).name
    least = scene.elevation_deg or 0.0
    angles = [least, *(each for each in ELEVATIONS if each > least + 1)]
    shares: list[float | None] = [None, *([percent] if isinstance(percent, (int, float)) else percent)]
    extra = (clouds, antenna if scintillation else None)
    lines, bears, fades = [], [], []
    for angle in angles:
        for share in shares:
            ways = [(name, radio, angle, share)]
            if back is not None:
                ways.append((far, back, angle, share if to is None else None))
            try:
                found, range_km, errors, best, lasting = scene.core.budget(ways, float(symbol_rate), extra)
            except SkyError as error:
                if str(error).startswith("city"):
                    whose = name if name in str(error) else far
                    hint = "name a city that is like it: --climate CITY, climate="
                    if whose != name:
                        hint = "expected a city: --to CITY, to="
                    raise SkyError(f"no climate is known for {whose}\n  {hint}") from None
                raise
            at = {"elevation_deg": angle, "percent": share}
            lines += [{**at, "line": what, "value": value, "unit": unit} for what, value, unit in found]
            es_n0 = found[-1][1]
            modcod, threshold, bits, loss = best or (None, None, 0.0, None)
            bears.append(
                {
                    **at,
                    "range_km": range_km,
                    "es_n0_db": es_n0,
                    "qpsk_bit_error_rate": errors,
                    "modcod": modcod,
                    "margin_db": None if threshold is None else es_n0 - threshold,
                    "packet_loss": loss,
                    "rate_bps": bits * symbol_rate,
                }
            )
            fades += [
                {**at, "duration_s": duration, "fades_per_year": number, "time_share": time}
                for duration, number, time in lasting
            ]
    columns = ("frequency_ghz", "eirp_dbw", "g_over_t_db_k", "losses_db", "c_over_i_db")
    asked: dict[str, Any] = dict(zip(columns, radio, strict=True)) | {"symbols_per_s": float(symbol_rate)}
    if back is not None:
        asked |= {f"down_{column}": value for column, value in zip(columns, back, strict=True)} | {"to": far}
    asked |= {"climate": name, "clouds": clouds, "scintillation": scintillation, "antenna_m": antenna}
    reals = {"percent": pl.Float64, "modcod": pl.String, "margin_db": pl.Float64, "packet_loss": pl.Float64}
    of_fades = dict.fromkeys(("elevation_deg", "percent", "duration_s", "fades_per_year", "time_share"), pl.Float64)
    return Budget(
        scene,
        asked,
        pl.DataFrame(lines, schema_overrides={"percent": pl.Float64}),
        pl.DataFrame(bears, schema_overrides=reals),
        pl.DataFrame(fades, schema=of_fades),
    )


Radio = tuple[float, float, float, float, float | None]


def _radio(
    *, frequency: float, eirp: float, g_over_t: float, losses: float = 0.0, interference: float | None = None
) -> Radio:
    over = None if interference is None else float(interference)
    return float(frequency), float(eirp), float(g_over_t), float(losses), over


def _way_down(down: Mapping[str, float]) -> Radio:
    needed, known = ("frequency", "eirp", "g_over_t"), ("frequency", "eirp", "g_over_t", "losses", "interference")
    if missing := [key for key in needed if key not in down]:
        raise SkyError(
            f"the way down lacks {', '.join(missing)}\n  expected all of --down-frequency, --down-eirp and --down-gt"
        )
    if strange := [key for key in down if key not in known]:
        raise SkyError(f"the way down has no {', '.join(strange)}\n  expected some of {', '.join(known)}")
    return _radio(**down)
