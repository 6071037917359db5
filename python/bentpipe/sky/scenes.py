"""The scene of all looks at the sky: a constellation, places, and a span of time."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, arguments, files, forks
from bentpipe.catalog import unknown
from bentpipe.errors import Interrupted, SkyError, Word
from bentpipe.progress import Progress, choose_watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from bentpipe.progress import Wish

Degrees = float | str
"""Degrees, or a text such as `25 deg`."""
Time = float | str
"""Seconds, or a quantity such as `10 min`."""
Instant = str | date
"""UTC: ISO 8601, or a `datetime`, which is UTC unless it has a time zone."""

EARTH_KM = 6371.009
"""Mean radius, for distances along the ground."""
LIGHT_KM_S = 299_792.458
GLASS = 1.468
"""Refractive index of silica fibre at 1550 nm."""
STRETCH = 1.5
STRETCH_MAX = 10
SEED_MAX = 2**64 - 1
"""Length of fibres between gateways, relative to the great circle."""
HEIGHT_MAX_KM = 100.0
"""Places are no higher."""
MOTIONS = {
    "j2": "they drift by the secular terms of J2",
    "kepler": "not at all",
    "sgp4": "by SGP4 without drag",
}
"""Models of the motion of shells."""
BETWEEN = {
    "none": "none",
    "grid": "to the neighbours in the plane and in the next planes",
    "grid-and-seam": "to these, and across the seam of a star",
}
"""Links between satellites."""
BAD = {"refuse": "the file is refused, with the line", "skip": "they are left out"}
"""Treatment of unusable records in a file."""
RELAYS = {"fibre": "by fibre", "ground": "down to a gateway and up again to any satellite in view"}
"""Way of packets from gateway to gateway."""
LOOKS_MAX = 10_000_000
"""Instants of a look."""
FAR_S = 1e9
"""So far from the epoch no orbit is known."""

_NUMBER = r"([-+]?\d+(?:\.\d+)?)\s*°?\s*"
_COORDINATES = re.compile(rf"{_NUMBER}([NS]?)[\s,]+{_NUMBER}([EW]?)(?:[\s,]+([-+]?\d+(?:\.\d+)?)\s*(km|m)?)?", re.I)
_WALKER = re.compile(r"(delta|star):(\d+(?:\.\d+)?):(\d{1,6})/(\d{1,6})/(\d{1,6}):(\d+(?:\.\d+)?)", re.I)
_DEGREES = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*(?:deg|°)?")
_COUNTS = re.compile(rb"[ \t]*(\d+)[ \t]+(\d+)[ \t]*\r?\n")
_SECOND_LINE = re.compile(rb"^2 [ \d]", re.MULTILINE)
_SLOT = re.compile(rf"geo[:\s]+{_NUMBER}([EW]?)", re.I)


@dataclass(frozen=True)
class Place:
    """A point on Earth or above it."""

    name: str
    latitude_deg: float
    longitude_deg: float
    height_km: float = 0.0


PlaceLike = str | tuple[float, float] | tuple[float, float, float] | Place
"""A city of the list, a `Place`, or degrees north and east and km above the ellipsoid, as text or tuple."""


@dataclass(frozen=True)
class Scene:
    """A constellation with places, seen over a span of time.

    Attributes
    ----------
    over : str
        The constellation: its name, its file of elements, or the longitude of a geostationary slot.
    epoch : str
        The instant of time 0, UTC.
    places : tuple of Place
    gateways : tuple of Place
        Places that forward packets.
    satellites : tuple of str
        Names of the satellites.
    skipped : tuple of (int, str)
        Line and fault of each record of the file that was left out.
    notes : tuple of str
        One line for each reason why records or satellites of the file were left out, and one if elements are old.
    """

    core: _core.Sky
    over: str
    epoch: str
    places: tuple[Place, ...]
    gateways: tuple[Place, ...]
    satellites: tuple[str, ...]
    skipped: tuple[tuple[int, str], ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def from_places(
        cls,
        over: str | os.PathLike[str],
        places: Sequence[PlaceLike],
        *,
        start: Instant | None,
        elevation_min: Degrees | None,
        bad: str,
        range_max_km: float | None = None,
        motion: str | None = None,
        mean_motion: float | None = None,
        odd_planes: float | None = None,
        between_satellites: str | None = None,
        gateway: Sequence[PlaceLike] = (),
        stretch: float = STRETCH,
        relay: str = "fibre",
        span: Span | None = None,
        elements_age_max: Time | None = None,
    ) -> Scene:
        """Find the constellation and the places.

        Satellites of a file that are not in orbit during the whole span are left out.
        """
        forks.refuse()
        for name, word, known in (
            ("motion", motion, MOTIONS),
            ("between_satellites", between_satellites, BETWEEN),
            ("bad", bad, BAD),
            ("relay", relay, RELAYS),
        ):
            if word is not None and word not in known:
                raise SkyError(unknown(word, f"a value of {name}", known))
        if elevation_min is not None and range_max_km is not None:
            raise SkyError("range_max_km and elevation_min exclude each other\n  expected one of them")
        if not 1 <= arguments.number("stretch", stretch, error=SkyError) <= STRETCH_MAX:
            raise SkyError(f"stretch = {stretch:g} is out of range\n  expected 1 to {STRETCH_MAX}")
        arguments.only_with("stretch", stretch, STRETCH, "gateway", bool(gateway), error=SkyError)
        for name, number in (("range_max_km", range_max_km), ("mean_motion", mean_motion), ("odd_planes", odd_planes)):
            if number is not None:
                arguments.number(name, number, error=SkyError)
        found = [place(each) for each in places]
        relays = [place(each) for each in gateway]
        for each in relays:
            if relays.count(each) > 1:
                raise SkyError(f"gateway {each.name!r} is named twice\n  expected different names")
        if relay == "ground" and not relays:
            raise SkyError(
                "relay = ground is for gateways, and there are none\n  expected {gateway}", gateway=Word("PLACE")
            )
        # A gateway may be an end, too: then it is one place.
        given = [(p.name, p.latitude_deg, p.longitude_deg, p.height_km, p in relays) for p in found]
        given += [(p.name, p.latitude_deg, p.longitude_deg, p.height_km, True) for p in relays if p not in found]
        elements = Elements(bad, elements_age_max, (0.0, 0.0) if span is None else span.times[:2])
        core = _constellation(over, start, (motion, mean_motion, odd_planes), elements).with_places(
            given,
            (None if elevation_min is None else degrees("elevation_min", elevation_min), range_max_km),
            between_satellites,
            stretch if relay == "fibre" else None,
        )
        return cls(
            core=core,
            over=str(over),
            epoch=core.epoch,
            places=(*found, *(each for each in relays if each not in found)),
            gateways=tuple(relays),
            satellites=tuple(core.names),
            skipped=tuple(core.skipped),
            notes=tuple(core.notes),
        )

    def failing(self, names: Sequence[str]) -> Scene:
        """Copy of the scene without these satellites, gateways and links (`A~B`)."""
        nodes, links = [], []
        for name in names:
            ends = [self._number(each.strip(), name) for each in name.split("~")]
            if len(ends) > 2 or len(set(ends)) < len(ends):
                raise SkyError(f"failure {name}: expected one name, or the two that a link joins: A~B")
            if len(ends) == 1:
                nodes.append(ends[0])
            else:
                links.append((ends[0], ends[1]))
        return replace(self, core=self.core.without(nodes, links)) if names else self

    def _number(self, name: str, given: str) -> int:
        """Index of a satellite or place. The name of a satellite may omit that of the constellation."""
        known = [*self.satellites, *(place.name for place in self.places)]
        for each in (name, f"{self.over}-{name}"):
            if each in known:
                return known.index(each)
        near = get_close_matches(f"{self.over}-{name}", known, 3) or get_close_matches(name, known, 3)
        meant = f"did you mean {', '.join(near)}?" if near else f"expected a name such as {known[0]}, or a link: A~B"
        raise SkyError(f"failure {given}: {name!r} is not a satellite or place of this look\n  {meant}")

    @property
    def elevation_deg(self) -> float | None:
        """Least elevation of usable satellites, degrees; None if the range decides."""
        return self.core.elevation_deg

    @property
    def range_max_km(self) -> float | None:
        """Largest range of usable satellites, km; None if the elevation decides."""
        return self.core.range_max_km

    @property
    def reach(self) -> str:
        """Limit of usable satellites, in words."""
        if self.elevation_deg is not None:
            return f"from {self.elevation_deg:g}° on"
        return f"up to {self.range_max_km:g} km"

    @property
    def is_linked(self) -> bool:
        """Whether satellites forward packets to each other."""
        return self.core.is_linked

    def instant(self, seconds: float) -> str:
        """Formats the UTC time of an instant after the epoch, such as `2026-06-14T12:00:00.000Z`."""
        return self.core.instant(seconds)

    def name(self, node: int) -> str:
        """Name of a satellite or place."""
        count = len(self.satellites)
        return self.satellites[node] if node < count else self.places[node - count].name

    def to_dict(self) -> dict[str, Any]:
        """Converts its parameters to plain data for JSON."""
        return {
            "over": self.over,
            "epoch": self.epoch,
            "satellites": len(self.satellites),
            "satellites_are_linked": self.is_linked,
            "elevation_min_deg": self.elevation_deg,
            "range_max_km": self.range_max_km,
            "skipped_records": [{"line": line, "fault": fault} for line, fault in self.skipped],
            "elements": {**self.core.counts, "age_max_s": self.core.elements_age_s} if self.core.counts else None,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Elements:
    """Treatment of a file of elements: of invalid records, the largest age, and the begin and end of the look."""

    bad: str
    age_max: Time | None
    span: tuple[float, float]

    @property
    def are_limited(self) -> bool:
        """Whether any limit differs from its default."""
        return self.bad != "refuse" or self.age_max is not None

    @property
    def age_text(self) -> str | None:
        """The largest age with its unit."""
        return self.age_max if self.age_max is None or isinstance(self.age_max, str) else f"{self.age_max:.0f} s"


@dataclass(frozen=True)
class Span:
    """Instants of a look, in seconds after the epoch."""

    begin_s: float
    duration_s: float
    step_s: float

    @classmethod
    def from_times(cls, at: Time, duration: Time, step: Time) -> Span:
        """Check and convert times."""
        found = cls(seconds("at", at), seconds("duration", duration), seconds("step", step))
        for name, value in (("duration", found.duration_s), ("step", found.step_s)):
            if value <= 0:
                raise SkyError(f"{name} = {value:g} s: expected a time above 0")
        if abs(found.begin_s) > FAR_S:
            raise SkyError(f"at = {found.begin_s:g} s: expected a time within 30 years of the epoch")
        if found.step_s > found.duration_s:
            raise SkyError(
                f"step = {found.step_s:g} s is longer than duration = {found.duration_s:g} s\n"
                "  expected a shorter step, or a longer duration"
            )
        if found.duration_s / found.step_s > LOOKS_MAX:
            looks = f"duration = {found.duration_s:g} s in steps of {found.step_s:g} s"
            raise SkyError(f"{looks}: expected at most {LOOKS_MAX:,} steps")
        return found

    @property
    def times(self) -> tuple[float, float, float]:
        """Begin, end and step."""
        return self.begin_s, self.begin_s + self.duration_s, self.step_s


def constellations() -> list[dict[str, str]]:
    """List the named constellations.

    Returns
    -------
    list of dict
        `name`, `about` and `source`: origin of the figures, and assumptions.
    """
    return [{"name": name, "about": about, "source": source} for name, about, source in _core.constellations()]


def cities() -> list[dict[str, Any]]:
    """List the named places.

    Returns
    -------
    list of dict
        `name`, `latitude_deg` and `longitude_deg`.
    """
    return [{"name": name, "latitude_deg": north, "longitude_deg": east} for name, north, east in _core.cities()]


def place(given: PlaceLike) -> Place:
    """Reads a place.

    >>> place("51.5N, 0.12W")
    Place(name='51.50N 0.12W', latitude_deg=51.5, longitude_deg=-0.12, height_km=0.0)
    """
    if isinstance(given, Place):
        return given
    if not isinstance(given, (str, list, tuple)):
        raise SkyError(f"place {given!r}\n  expected a city (bentpipe list places), or degrees north and east")
    if isinstance(given, str):
        found = _COORDINATES.fullmatch(given.strip())
        if found is None:
            latitude_deg, longitude_deg = _core.city(given)
            name = next(name for name, *at in _core.cities() if at == [latitude_deg, longitude_deg])
            return Place(name, latitude_deg, longitude_deg)
        north, south, east, west, height, unit = found.groups()
        if unit is not None and unit.lower() == "m":
            raise SkyError(
                f"place {given!r}: heights are in km\n  expected {float(height) / 1000:g} km in place of {height} m"
            )
        numbers = (_read_angle(north, south, "S"), _read_angle(east, west, "W"), float(height or 0))
    elif 2 <= len(given) <= 3:
        north_deg, east_deg, *rest = (
            arguments.number(f"place {given!r}: each of them", each, error=SkyError) for each in given
        )
        numbers = (north_deg, east_deg, rest[0] if rest else 0.0)
    else:
        raise SkyError(f"place {given!r}: expected degrees north and east, and km above the ellipsoid if not 0")
    north_deg, east_deg, height_km = numbers
    if abs(north_deg) > 90 or abs(east_deg) > 360:
        raise SkyError(f"place {given!r}: expected degrees north (-90 to 90), then degrees east (-360 to 360)")
    return Place(coordinates(north_deg, east_deg), north_deg, east_deg, check_height(f"place {given!r}", height_km))


def check_height(what: str, height_km: float) -> float:
    if not -0.5 <= height_km <= HEIGHT_MAX_KM:
        raise SkyError(
            f"{what}: {height_km:g} km above the ellipsoid\n  expected -0.5 to {HEIGHT_MAX_KM:g}; heights are in km"
        )
    return height_km


def degrees(name: str, angle: Degrees) -> float:
    """An angle in degrees: a number, or a text such as `25 deg`.

    >>> degrees("elevation_min", "8.2 deg")
    8.2
    """
    if isinstance(angle, str):
        found = _DEGREES.fullmatch(angle.strip())
        if found is None:
            raise SkyError(f'{name} = {angle}: expected degrees, such as 25 or "25 deg"')
        return float(found[1])
    return arguments.number(name, angle, of="degrees", error=SkyError)


def coordinates(north_deg: float, east_deg: float) -> str:
    """Formats coordinates for people.

    >>> coordinates(-33.87, 151.2)
    '33.87S 151.20E'
    """
    return f"{abs(north_deg):.2f}{'S' if north_deg < 0 else 'N'} {abs(east_deg):.2f}{'W' if east_deg < 0 else 'E'}"


def _read_angle(number: str, side: str, negative: str) -> float:
    return -float(number) if side.upper() == negative else float(number)


def seconds(name: str, time: Time) -> float:
    """A time in seconds."""
    if isinstance(time, str):
        found = _core.quantity(time)
        # 0 needs no unit.
        if found is None or (found[1] != "s" and found != (0.0, "1")):
            raise SkyError(f'{name} = {time}: expected a time, such as "90 s", "10 min" or "24 h"')
        time = found[0]
    return arguments.number(name, time, of="seconds", error=SkyError)


def _constellation(
    over: str | os.PathLike[str],
    instant: Instant | None,
    orbits: tuple[str | None, float | None, float | None],
    elements: Elements,
) -> _core.Sky:
    names = [name for name, *_ in _core.constellations()]
    epoch = instant.isoformat() if isinstance(instant, date) else instant
    if epoch is not None and not isinstance(epoch, str):
        raise SkyError(f"start = {epoch!r}\n  expected an instant of UTC, such as 2026-06-14T12:30:00")
    if not isinstance(over, (str, os.PathLike)):
        raise SkyError(
            f"over = {over!r}\n  expected a constellation (bentpipe list constellations), or a file of elements"
        )
    try:
        _core.Sky.slot(0.0, epoch)
    except SkyError as error:
        raise SkyError(f"start {epoch}: {error}\n  expected UTC, such as 2026-06-14T12:30:00") from None
    walker = _WALKER.fullmatch(over) if isinstance(over, str) else None
    if over not in names and walker is None and orbits != (None, None, None):
        raise SkyError(
            f"{over} has satellites with their own orbits\n"
            "  expected no motion, mean_motion or odd_planes, which are for constellations by name and Walker's numbers"
        )
    if isinstance(over, str):
        slot = _SLOT.fullmatch(over.strip())
        if elements.are_limited and (over in names or slot is not None or walker is not None):
            raise SkyError(
                f"{over} is not a file\n  expected no elements_age_max and bad, which are for files of element sets"
            )
        if over in names:
            return _core.Sky.preset(over, epoch, orbits)
        if slot is not None:
            return _core.Sky.slot(_read_angle(slot[1], slot[2], "W"), epoch)
        if walker is not None:
            pattern, inclination, *numbers, altitude = walker.groups()
            total, planes, phasing = (int(each) for each in numbers)
            is_star = pattern.lower() == "star"
            of = (total, planes, phasing)
            return _core.Sky.walker(over, is_star, float(inclination), of, float(altitude), epoch, orbits)
        if over.lower().startswith(("delta:", "star:")):
            raise SkyError(
                f"{over}: expected inclination, Walker's T/P/F and height in km, such as delta:53:1584/72/39:550"
            )
    path = Path(over)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if path.suffix or len(path.parts) > 1:
            raise SkyError(
                f"{over} is not a constellation or a file of element sets\n"
                "  expected a name of bentpipe list constellations, or the path of a file"
            ) from None
        if "," in str(over):
            raise SkyError(
                f"{over} has several constellations\n  expected one; a scenario takes several: over = [...] in [sky]"
            ) from None
        known = [*names, "geo:LONGITUDE", "delta:53:1584/72/39:550"]
        raise SkyError(unknown(str(over), "a constellation or a file of element sets", known)) from None
    except OSError as error:
        expected = "expected two-line elements, or OMM in JSON, CSV, XML or KVN"
        raise SkyError(f"{over} cannot be read: {files.reason(error)}\n  {expected}") from None
    content = _check_counts(over, content)
    try:
        return _core.Sky.elements(content, elements.bad == "skip", epoch, elements.span, elements.age_text)
    except SkyError as error:
        raise SkyError(_explain_error(over, str(error), elements), bad="skip", elements_age_max="200 d") from None


def _check_counts(over: str | os.PathLike[str], content: bytes) -> bytes:
    """Check the first line of a file of Hypatia, its numbers of orbits and of satellites in each, and leave it out.

    An empty line takes its place, so that errors name the right lines.
    """
    found = _COUNTS.match(content)
    if found is None:
        return content
    orbits, each = int(found[1]), int(found[2])
    sets = len(_SECOND_LINE.findall(content, found.end()))
    if sets != orbits * each:
        raise SkyError(
            f"{over} has {sets} element sets, and its first line {orbits} orbits of {each} satellites\n"
            f"  expected {orbits * each} element sets, or no such line"
        )
    return b"\n" + content[found.end() :]


def _explain_error(over: str | os.PathLike[str], error: str, elements: Elements) -> str:
    """The error of a file of elements with its name and the options that help."""
    is_record = error.startswith("line ")
    hints = [f"{over}{',' if is_record else ':'} {error}"]
    if is_record and elements.bad != "skip":
        hints.append("{bad} leaves bad records out")
    if "elements_age_max" in error:
        hints.append("{elements_age_max} allows more")
    return "\n  ".join(hints)


def do_work(doing: str, work: Callable[[Callable[[float], None]], Any], progress: Wish) -> Any:
    """Do work of the core that reports its finished share and that Ctrl-C can interrupt."""
    state = Progress(total=1, doing=doing)

    def report_share(share: float) -> None:
        state.under_way = share
        if watch is not None:
            watch(state)

    try:
        with choose_watch(progress) as watch:
            return work(report_share)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted after {100 * state.under_way:.0f} %; there is no result") from None


def array(values: tuple[str, bytes]) -> Any:
    """Convert an array of the core to NumPy."""
    import numpy as np

    return np.frombuffer(values[1], dtype=values[0])


def frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Make a table in which missing numbers are null."""
    import polars as pl

    return pl.DataFrame(dict(columns)).with_columns(pl.col(pl.Float64).fill_nan(None))


def name_nodes(nodes: Any, names: Sequence[str]) -> pl.Series:
    """Converts numbers of satellites to names; -1 to null."""
    import numpy as np
    import polars as pl

    known = pl.Series([*names, None], dtype=pl.String)
    return known.gather(np.where(nodes < 0, len(names), nodes))


def ground_km(a: Place, b: Place) -> float:
    """Distance along the great circle."""
    north_a, north_b = math.radians(a.latitude_deg), math.radians(b.latitude_deg)
    east = math.radians(b.longitude_deg - a.longitude_deg)
    chord = math.sin((north_b - north_a) / 2) ** 2 + math.cos(north_a) * math.cos(north_b) * math.sin(east / 2) ** 2
    return 2 * EARTH_KM * math.asin(min(math.sqrt(chord), 1.0))
