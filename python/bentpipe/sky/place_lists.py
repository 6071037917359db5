"""Lists of places in files."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe import files
from bentpipe.errors import SkyError
from bentpipe.sky.scenes import Place, check_height

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

_STATION = re.compile(r"\s*\d+,[^,]*[^,\d.+-][^,]*,\s*[-+]?[\d.]+,\s*[-+]?[\d.]+,")
"""Begin of a line of Hypatia: a number, a name, and two coordinates."""


def places(file: str | os.PathLike[str]) -> list[Place]:
    """Read places from a CSV file.

    Parameters
    ----------
    file : str or path
        A CSV file with the columns `name`, `latitude` and `longitude` (degrees), and optionally `height_km`. Or a list
        of ground stations of Hypatia, without a header: number, name, latitude, longitude, elevation in metres, and
        optionally the position in metres.

    Returns
    -------
    list of Place

    Raises
    ------
    SkyError
        The file cannot be read, has other columns, or has a row without a place.
    """
    try:
        with Path(file).open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
            lines.seek(0)
            if _STATION.match(first):
                return [_read_station(f"{file}, line {number}", row) for number, row in enumerate(csv.reader(lines), 1)]
            rows = csv.DictReader(lines)
            columns = tuple(rows.fieldnames or ())
            needed, known = ("name", "latitude", "longitude"), ("name", "latitude", "longitude", "height_km")
            if any(name not in columns for name in needed) or any(name not in known for name in columns):
                raise SkyError(
                    f"{file} has {'the columns ' + ', '.join(columns) if columns else 'no columns'}\n"
                    "  expected name, latitude and longitude (degrees), and height_km (in km) or none"
                )
            return [_read_listed(f"{file}, line {rows.line_num}", row) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = files.reason(error) if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SkyError(f"{file} cannot be read: {why}\n  expected a CSV file of places") from None


def _read_station(at: str, row: Sequence[str]) -> Place:
    """Read a ground station of Hypatia, whose elevation is in metres."""
    expected = "expected number,name,latitude,longitude,elevation in metres, as in ground_stations.txt of Hypatia"
    if len(row) not in (5, 8):
        raise SkyError(f"{at}: {len(row)} values\n  {expected}")
    try:
        height_km = float(row[4]) / 1000
    except ValueError:
        raise SkyError(f"{at}: {row[4]!r} is not an elevation\n  {expected}") from None
    columns = ("name", "latitude", "longitude", "height_km")
    return _read_listed(at, dict(zip(columns, (*row[1:4], str(height_km)), strict=True)))


def _read_listed(at: str, row: dict[str, str | None]) -> Place:
    name = (row["name"] or "").strip()
    try:
        north_deg, east_deg = float(row["latitude"] or ""), float(row["longitude"] or "")
        height_km = float(row.get("height_km") or 0)
    except ValueError:
        raise SkyError(
            f"{at}: the coordinates are missing\n  expected name,latitude,longitude, such as Fucino,41.98,13.60"
        ) from None
    if not name:
        raise SkyError(f"{at}: the place has no name\n  expected name,latitude,longitude, such as Fucino,41.98,13.60")
    # This form rejects NaN, too.
    if not (abs(north_deg) <= 90 and abs(east_deg) <= 360):
        raise SkyError(f"{at}: expected degrees north (-90 to 90), then degrees east (-360 to 360)")
    return Place(name, north_deg, east_deg, check_height(f"{at}, {name}", height_km))
