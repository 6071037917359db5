"""Computes the budget of a radio link: line by line, and over the year."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bentpipe import _core, arguments
from bentpipe.errors import SkyError
from bentpipe.formatting import quantity
from bentpipe.sky.looks import Look, chosen, quantity_row, spread
from bentpipe.sky.scenes import Scene
from bentpipe.sky.scenes import place as find_place

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.scenario.names import ConstellationName
    from bentpipe.sky.scenes import Degrees, Instant, Place, PlaceLike, Time

ELEVATIONS = (10.0, 25.0, 40.0, 60.0)
"""Shown between the lowest and the highest that occur."""
POLARISATIONS = {"horizontal": 0.0, "vertical": 90.0, "circular": 45.0}
"""Tilt to the horizontal, degrees."""
NEAR_ZENITH = 85.0
"""Satellites above this elevation pass the zenith at some other time."""
ANTENNA_M = 0.6
"""Diameter of the antenna of a user, if none is given."""
NUMBER_MAX = 1e12
RECOMMENDATIONS = ("P.618-14", "P.618-13")
PERCENTS = tuple(float(f"{5 ** (k / 24) * 0.001 ** (1 - k / 24):.4g}") for k in range(25))
"""Percentages of the year for which P.618 has the attenuation by rain: 0.001 to 5."""


@dataclass(frozen=True, repr=False)
class Budget(Look):
    """A link budget at some elevations, in dry air and in rain.

    Attributes
    ----------
    scene : Scene
    radio : dict
        Arguments: carrier, powers, symbol rate, climate.
    lines : polars.DataFrame
        A row per elevation, weather and line: `elevation_deg`, `percent` (share of the year in which this rain is
        exceeded; null for dry air), `line`, `value`, `unit`. Losses are negative.
    bears : polars.DataFrame
        Performance: a row per elevation and weather, with `elevation_deg`, `percent`, `range_km`, `es_n0_db` and
        `qpsk_bit_error_rate` (without coding). `modcod` is the best one of DVB-S2, without implementation loss; null if
        none works. `margin_db` is the margin over its threshold, and `rate_bps` its rate. `packet_loss` is from a
        waterfall curve with a loss of 1e-7 at the threshold.
    fades : polars.DataFrame
        A row per elevation, weather and duration: `elevation_deg`, `percent`, `duration_s`, `fades_per_year`,
        `time_share`. `fades_per_year` counts the fades that are deeper than the attenuation of the rain and last longer
        than `duration_s`. `time_share` is their part of the time with this attenuation. The method (P.1623-1) is for
        geostationary satellites, 10 to 50 GHz and elevations of 5 to 60 degrees.
    availability : polars.DataFrame
        A row per elevation and percentage of the year, 0.001 to 5: `elevation_deg`, `percent`, `fade_db`, `es_n0_db`,
        `modcod`. Es/N0 is below `es_n0_db` in this percentage of the year; `fade_db` is its distance to Es/N0 in a
        clear sky.
    modcods : polars.DataFrame
        A row per elevation and modulation and code of DVB-S2: `elevation_deg`, `modcod`, `es_n0_db` (required),
        `rate_bps`, and `holds_percent`, the percentage of the year in which it works. P.618 covers 95 to 99.999 %.
        `holds_percent` is 0 if even a clear sky is not enough, and null if it works in a clear sky, but in less than
        95 % of the year.
    """

    verb = "budget"
    positional = ("place",)
    charts = ("budget",)

    scene: Scene
    radio: dict[str, Any]
    lines: pl.DataFrame
    bears: pl.DataFrame
    fades: pl.DataFrame
    availability: pl.DataFrame
    modcods: pl.DataFrame
    asked: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def summary(self) -> dict[str, Any]:
        """Least and largest Es/N0, dry and in rain, and the rate of DVB-S2 at each."""
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

    def _draw(self, chart: str) -> Figure:
        """Draw fade and Es/N0 by percentage of the year, with the thresholds of DVB-S2."""
        from bentpipe.plot.skies import budget_figure

        return budget_figure(self)

    @property
    def _head(self) -> str:
        return f"Link budget at {self.scene.places[0].name} by {self.scene.over}"

    def _content(self) -> dict[str, Any]:
        return {"summary": self.summary, **{name: getattr(self, name).to_dicts() for name in TABLES}}

    def _quantities(self) -> Iterator[dict[str, Any]]:
        of, dry = self.scene.places[0].name, self.bears["percent"].is_null()
        for name, rows in (("dry", self.bears.filter(dry)), ("rain", self.bears.filter(~dry))):
            yield quantity_row(of, f"es_n0_{name}", "dB", spread(rows["es_n0_db"]))
            yield quantity_row(of, f"rate_{name}", "bit/s", spread(rows["rate_bps"]))

    def _make_tables(self) -> list[tuple[Any, Any, int]]:
        from bentpipe.plot import notebook

        return [notebook.take_rows(self.bears)]

    def _facts(self) -> dict[str, Any]:
        return {**self.scene.to_dict(), "place": vars(self.scene.places[0]), "radio": self.radio}

    @property
    def statements(self) -> list[str]:
        """The link at its worst elevation, in dry air and in rain, in sentences."""
        found, said = self.summary, []
        for name in ("dry", "rain"):
            if found[f"es_n0_min_db_{name}"] is not None:
                least, largest = (found[f"es_n0_{end}_db_{name}"] for end in ("min", "max"))
                rate = quantity(found[f"rate_min_bps_{name}"], "bit/s")
                said.append(f"{name}: Es/N0 from {least:.1f} to {largest:.1f} dB, DVB-S2 carries at least {rate}")
        return said

    def __repr__(self) -> str:
        return f"<Budget of {self.scene.over} over {self.scene.places[0].name}>"


TABLES = ("lines", "bears", "fades", "availability", "modcods")


def budget(
    place: PlaceLike,
    *,
    over: ConstellationName | str | os.PathLike[str],
    frequency: float,
    eirp: float,
    g_over_t: float,
    symbol_rate: float = 10e6,
    losses: float = 0.0,
    interference: float | None = None,
    noise: float = 200.0,
    up: bool = False,
    polarisation: str | float = "circular",
    down: Mapping[str, float] | None = None,
    to: PlaceLike | None = None,
    percent: float | Sequence[float] = 0.1,
    clouds: bool = False,
    scintillation: bool = False,
    antenna: float = ANTENNA_M,
    recommendation: str = "P.618-14",
    climate: str | None = None,
    start: Instant | None = None,
    elevation_min: Degrees | None = None,
    bad: str = "refuse",
    elements_age_max: Time | None = None,
) -> Budget:
    """Compute the budget of a radio link between a place and satellites, line by line and over the year.

    The budget covers the elevations that occur at the place within a day. Losses are free space over the slant range to
    the satellites' median height, gases (ITU-R P.676-12), rain (P.618), and on request clouds and scintillation. In
    rain, the noise of a receiver on the ground rises, because the sky is warmer (P.618-14 §3).

    Parameters
    ----------
    place : str or tuple
        See `path`.
    over, start, elevation_min, bad, elements_age_max
        See `path`.
    frequency : float
        Carrier frequency, 1 to 350 GHz.
    eirp : float
        Effective isotropic radiated power of the sender, dBW.
    g_over_t : float
        Gain of the receiver's antenna over the noise temperature of the receiver under a clear sky, dB/K.
    symbol_rate : float
        Symbols per second.
    losses : float
        All other losses, dB: pointing, polarisation, feeders.
    interference : float, optional
        Ratio of carrier to interference in the bandwidth of the symbols, dB. Default: no interference.
    noise : float
        Noise temperature of the receiver on the ground under a clear sky, K.
    up : bool
        Whether this is an uplink. The receiver is then on the satellite and sees the warm Earth in any weather. With
        `down`, the link is always an uplink.
    polarisation : str or float
        `horizontal`, `vertical`, `circular`, or for a linear polarisation its tilt to the horizontal, degrees.
    down : dict, optional
        The downlink of a bent pipe: `frequency`, `eirp` and `g_over_t`, optionally `losses` and `interference`. The
        satellite passes the noise of the uplink on. All other arguments then describe the uplink, except `noise`.
    to : str or tuple, optional
        City at the end of the downlink. Its sky is dry, and the satellite has the same elevation there. Default:
        `place`.
    percent : float or list of float
        Percentage of an average year in which the rain is exceeded, 0.001 to 5.
    clouds : bool
        Whether clouds come with the rain (P.840-8). `recommendation` decides how dense they are.
    scintillation : bool
        Whether scintillation comes with the rain, exceeded in the same percentage of the year. Its line in `lines` is
        the loss that it adds to the others.
    antenna : float
        Diameter of the antenna on the ground, m. A large antenna averages scintillation.
    recommendation : str
        Gases and clouds in rain are those exceeded in the same percentage of the year as the rain. By `P.618-14`, this
        percentage is at least 5 %, by `P.618-13` at least 1 %.
    climate : str, optional
        A city whose air and rain are used for the place. By default, it is the city at the place. Places without a city
        have the values of ITU-R's maps.

    Returns
    -------
    Budget

    Raises
    ------
    SkyError
        A value is outside its range, or `climate` is not a known city.
    """
    import polars as pl

    options = chosen(globals()["budget"], locals())
    scene = Scene.from_places(
        over,
        (place,),
        start=start,
        elevation_min=elevation_min,
        bad=bad,
        elements_age_max=elements_age_max,
    )
    near: Any = _locate(scene.places[0]) if climate is None else (climate, None)
    _check_numbers(eirp=eirp, g_over_t=g_over_t, losses=losses, interference=interference, symbol_rate=symbol_rate)
    _check_numbers(frequency=frequency, noise=noise)
    arguments.number("antenna", antenna, 0.01, 100, error=SkyError)
    arguments.only_with("antenna", antenna, ANTENNA_M, "scintillation", scintillation, error=SkyError)
    given: Any = {"frequency": frequency, "eirp": eirp, "g_over_t": g_over_t, "losses": losses}
    kelvin = None if up or down is not None else noise
    radio = _radio(**given, interference=interference, noise=kelvin)
    back = None if down is None else _way_down(down, noise)
    if to is not None and back is None:
        raise SkyError("{to} is the end of the downlink\n  expected {down}, too", to=None, down=None)
    far = near if to is None else _locate(find_place(to))
    angles = _elevations(scene)
    shares: list[float | None] = [None, *([percent] if isinstance(percent, (int, float)) else percent)]
    air = (clouds, antenna if scintillation else None, _tilt(polarisation), _is_newer(recommendation))
    altitude = scene.core.altitude_km

    def at_angle(angle: float, share: float | None) -> Any:
        ways = [(near, radio, angle, share)]
        if back is not None:
            ways.append((far, back, angle, share if to is None else None))
        try:
            return scene.core.budget(ways, float(symbol_rate), altitude, air)
        except SkyError as error:
            if climate is not None and str(error).startswith("place"):
                raise SkyError(f"{{climate}}: {error}", climate=None) from None
            raise

    lines, bears, fades, available, held = [], [], [], [], []
    for angle in angles:
        clear = at_angle(angle, None)[0][-1][1]
        curve = [(each, at_angle(angle, each)) for each in PERCENTS]
        available += [
            {
                "elevation_deg": angle,
                "percent": each,
                "fade_db": clear - found[0][-1][1],
                "es_n0_db": found[0][-1][1],
                "modcod": found[3][0] if found[3] else None,
            }
            for each, found in curve
        ]
        signals = [(each, found[0][-1][1]) for each, found in curve]
        held += [
            {
                "elevation_deg": angle,
                "modcod": modcod,
                "es_n0_db": threshold,
                "rate_bps": bits * symbol_rate,
                "holds_percent": _holds(threshold, clear, signals),
            }
            for modcod, threshold, bits in _core.modcods()
        ]
        for share in shares:
            found, range_km, errors, best, lasting = at_angle(angle, share)
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
    columns = ("frequency_ghz", "eirp_dbw", "g_over_t_db_k", "losses_db", "c_over_i_db", "noise_k")
    asked: dict[str, Any] = dict(zip(columns, radio, strict=True)) | {"symbols_per_s": float(symbol_rate)}
    if back is not None:
        asked |= {f"down_{column}": value for column, value in zip(columns, back, strict=True)} | {"to": far[0]}
    asked |= {"climate": near[0], "clouds": clouds, "scintillation": scintillation, "antenna_m": antenna}
    asked |= {"polarisation": polarisation, "recommendation": recommendation}
    reals = {"percent": pl.Float64, "modcod": pl.String, "margin_db": pl.Float64, "packet_loss": pl.Float64}
    of_fades = dict.fromkeys(("elevation_deg", "percent", "duration_s", "fades_per_year", "time_share"), pl.Float64)
    return Budget(
        scene,
        asked,
        pl.DataFrame(lines, schema_overrides={"percent": pl.Float64}),
        pl.DataFrame(bears, schema_overrides=reals),
        pl.DataFrame(fades, schema=of_fades),
        pl.DataFrame(available, schema_overrides={"modcod": pl.String}),
        pl.DataFrame(held, schema_overrides={"holds_percent": pl.Float64}),
        options,
    )


def _elevations(scene: Scene) -> list[float]:
    """Elevations in degrees: lowest, highest and some between them; one if the satellite hardly moves."""
    least = scene.elevation_deg or 0.0
    occur = scene.core.elevations()
    if occur is None:
        raise SkyError(
            f"{scene.places[0].name} sees no satellite of {scene.over} above {least:g}° within a day\n"
            "  expected another place or other satellites, or a lower {elevation_min}",
            elevation_min=None,
        )
    low, high = occur
    if high - low < 1:
        return [round((low + high) / 2, 1)]
    low = least if low - least < 1 else float(math.floor(low))
    # Samples are some time apart: a satellite near the zenith passes it between them.
    high = 90.0 if high > NEAR_ZENITH else float(math.ceil(high))
    return [low, *(each for each in ELEVATIONS if low + 1 < each < high - 1), high]


def _locate(place: Place) -> tuple[str, tuple[float, float, float]]:
    """Name of a place, degrees north, degrees east and height in km."""
    return place.name, (place.latitude_deg, place.longitude_deg, place.height_km)


def _tilt(polarisation: str | float) -> float:
    """Degrees."""
    words = ", ".join(POLARISATIONS)
    expected = f"expected {words}, or the tilt to the horizontal, 0 to 90 degrees"
    if isinstance(polarisation, str) and polarisation in POLARISATIONS:
        return POLARISATIONS[polarisation]
    try:
        tilt = float(polarisation)
    except ValueError:
        raise SkyError(f"polarisation {polarisation!r} is not known\n  {expected}") from None
    if not 0 <= tilt <= 90:
        raise SkyError(f"polarisation {tilt:g} is out of range\n  {expected}")
    return tilt


def _is_newer(recommendation: str) -> bool:
    if recommendation not in RECOMMENDATIONS:
        raise SkyError(f"recommendation {recommendation!r} is not known\n  expected {' or '.join(RECOMMENDATIONS)}")
    return recommendation == RECOMMENDATIONS[0]


def _holds(threshold: float, clear: float, signals: Sequence[tuple[float, float]]) -> float | None:
    """Percentage of the year with at least this Es/N0, from Es/N0 in clear sky and at rising percentages."""
    if clear < threshold:
        return 0.0
    if signals[0][1] >= threshold:
        return 100 - signals[0][0]
    for (rare, low), (usual, high) in pairwise(signals):
        if low < threshold <= high:
            share = (threshold - low) / (high - low)
            return 100 - math.exp(math.log(rare) + share * math.log(usual / rare))
    return None


Radio = tuple[float, float, float, float, float | None, float | None]


def _radio(
    *,
    frequency: float,
    eirp: float,
    g_over_t: float,
    losses: float = 0.0,
    interference: float | None = None,
    noise: float | None,
) -> Radio:
    over, kelvin = (None if each is None else float(each) for each in (interference, noise))
    return float(frequency), float(eirp), float(g_over_t), float(losses), over, kelvin


def _way_down(down: Mapping[str, float], noise: float) -> Radio:
    needed, known = ("frequency", "eirp", "g_over_t"), ("frequency", "eirp", "g_over_t", "losses", "interference")
    if missing := [key for key in needed if key not in down]:
        raise SkyError(f"{{down}}: {', '.join(missing)} is missing\n  expected {', '.join(needed)}", down=None)
    if strange := [key for key in down if key not in known]:
        raise SkyError(f"{', '.join(strange)} is not a value of the downlink\n  expected some of {', '.join(known)}")
    _check_numbers(**{f"down {key}": value for key, value in down.items()})
    return _radio(**down, noise=noise)


def _check_numbers(**given: float | None) -> None:
    """Reject arguments that are not numbers. The core checks their ranges."""
    for name, value in given.items():
        if value is not None:
            arguments.number(name, value, -NUMBER_MAX, NUMBER_MAX, error=SkyError)
