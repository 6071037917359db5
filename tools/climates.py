"""Makes the climates of the cities and the maps of the world from ITU-R's digital maps.

    python tools/climates.py      # needs the package `itur`, which has the maps; nothing else here does

Rain is that of P.837-7 and P.839-4, and the ground that of P.1511-2. Air is that of P.1510-1 and P.836-6. The wet term
of the refractivity is that of P.453-14 (median), water vapour in the column over the ground that of P.836-6, and water
in clouds, reduced to 0 °C, that of P.840-8.

It writes the climates of the cities (`climates.csv`), the maps at their own grid (`maps.bin`), and the values that
`itur` finds at points all over the world, which a test compares with ours (`itu_points.csv`).
"""

from __future__ import annotations

import argparse
import csv
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import itur
import numpy as np
from itur.utils import dataset_dir

ORBIT = Path(__file__).resolve().parent.parent / "crates" / "orbit"
CITIES = ORBIT / "src" / "sky" / "cities.csv"
CLIMATES = ORBIT / "src" / "budget" / "climates.csv"
MAPS = ORBIT / "src" / "budget" / "maps.bin"
POINTS = ORBIT / "tests" / "data" / "itu_points.csv"
CLOUDY = [1, 2, 3, 5, 10, 20, 30, 50]
"""Per cent of the year in which the water vapour and the water in clouds are exceeded."""
TILE = 64
"""Rows and columns of a tile. `maps.rs` reads the same."""


def main() -> None:
    """Write the three files."""
    argparse.ArgumentParser(description="Make the climates of the cities and the maps of the world.").parse_args()
    write_climates()
    write_maps()
    write_points()


def write_climates() -> None:
    """Write the climates, a line for each city in the order of the list."""
    with CITIES.open(encoding="utf-8") as lines:
        cities = [row for row in csv.reader(line for line in lines if not line.startswith("#")) if row]
    if cities[0][1] == "latitude_deg":
        cities = cities[1:]
    names = [row[0] for row in cities]
    latitudes, longitudes = ([float(row[at]) for row in cities] for at in (1, 2))
    heights_km = itur.models.itu1511.topographic_altitude(latitudes, longitudes).value.clip(0)
    vapour = itur.models.itu836.total_water_vapour_content
    columns = [
        itur.models.itu1511.topographic_altitude(latitudes, longitudes),
        itur.models.itu839.rain_height(latitudes, longitudes),
        itur.models.itu837.rainfall_rate(latitudes, longitudes, 0.01),
        itur.models.itu1510.surface_mean_temperature(latitudes, longitudes),
        itur.models.itu836.surface_water_vapour_density(latitudes, longitudes, 50),
        itur.models.itu453.map_wet_term_radio_refractivity(latitudes, longitudes, 50),
        *(vapour(latitudes, longitudes, percent, heights_km) for percent in CLOUDY),
        *(itur.models.itu840.columnar_content_reduced_liquid(latitudes, longitudes, percent) for percent in CLOUDY),
    ]
    values = [column.value for column in columns]
    with CLIMATES.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        columns_of_air = ["altitude_km", "rain_height_km", "rain_001_mm_h", "temperature_k", "vapour_g_m3", "wet_n"]
        columns_of_water = [f"{water}_{percent}_kg_m2" for water in ("vapour", "cloud") for percent in CLOUDY]
        writer.writerow(["name", *columns_of_air, *columns_of_water])
        for name, *row in zip(names, *values, strict=True):
            height, rain_height, *air = row[:6]
            heights = [f"{max(height, 0):.3f}", f"{rain_height:.3f}"]
            vapour, clouds = row[6 : 6 + len(CLOUDY)], row[6 + len(CLOUDY) :]
            waters = [*(f"{x:.2f}" for x in vapour), *(f"{x:.4f}" for x in clouds)]
            writer.writerow([name, *heights, *(f"{x:.2f}" for x in air), *waters])


def write_maps() -> None:
    """Write the maps in the order of `Map` in `maps.rs`, all from north to south.

    A value is a whole number of its map's step. Rain, heights, temperature and refractivity are whole as published.
    The others are rounded to the step. Each map has the lengths of its tiles (32 bits each, lowest byte first), then
    its tiles, each compressed on its own.
    """
    maps: list[tuple[Any, float]] = [
        (grid("837/v7_r001"), 1e-3),
        (grid("839/v4_esa0height"), 1e-3),
        (grid("1510/v1_t_annual"), 1e-3),
        (grid("453/v13_nwet_annual_50"), 1e-3),
        # From m to km.
        (grid("1511/v2_topo") / 1e3, 1e-3),
        (ground_of_vapour(), 1e-6),
        (grid("836/v6_rho_50"), 1e-6),
        *((grid(f"836/v6_v_{percent}"), 2e-7) for percent in CLOUDY),
        *((grid(f"836/v6_vsch_{percent}"), 1e-6) for percent in CLOUDY),
        *((grid(f"840/v7_lred_{percent}"), 1e-6) for percent in CLOUDY),
    ]
    MAPS.write_bytes(b"".join(pack_values(np.rint(values / step).astype(np.int64)) for values, step in maps))


def grid(name: str) -> Any:
    """Return a map of the package, with the gaps in the row next to the North Pole filled from both sides."""
    values = np.load(f"{dataset_dir}{name}.npz")["arr_0"]
    is_south_first = name.split("/")[0] in {"837", "1510", "453"}
    values = np.flipud(values) if is_south_first else values
    gaps = np.argwhere(np.isnan(values))
    for row, column in gaps:
        values[row, column] = (values[row - 1, column] + values[row + 1, column]) / 2
    return values


def ground_of_vapour() -> Any:
    """Return the height of the ground in km at the points of the grid of P.836-6, from its own map of heights."""
    degrees = 1.125
    latitudes, longitudes = 90 - degrees * np.arange(161), degrees * (np.arange(321) % 320)
    heights = itur.models.itu836._ITU836_6().topo_alt
    return heights(*np.meshgrid(latitudes, longitudes, indexing="ij"))


def pack_values(values: Any) -> bytes:
    """Return the tiles of a map, row by row, after their lengths."""
    rows, columns = values.shape
    corners = [(row, column) for row in range(0, rows, TILE) for column in range(0, columns, TILE)]
    tiles = [compressed(values[row : row + TILE, column : column + TILE]) for row, column in corners]
    return struct.pack(f"<{len(tiles)}I", *map(len, tiles)) + b"".join(tiles)


def compressed(tile: Any) -> bytes:
    """Return a tile as what its values differ from their neighbours' guess, byte by byte, deflated.

    The guess is the median of west, north, and west + north - northwest (as in JPEG-LS). At the edges it is the only
    neighbour, at the corner 0. Differences have their sign in the lowest bit.
    """
    west, north, corner = np.zeros_like(tile), np.zeros_like(tile), np.zeros_like(tile)
    west[:, 1:], north[1:], corner[1:, 1:] = tile[:, :-1], tile[:-1], tile[:-1, :-1]
    guess = np.median([west, north, west + north - corner], axis=0).astype(np.int64)
    guess[0], guess[:, 0] = west[0], north[:, 0]
    off = (tile - guess).ravel()
    signed = np.where(off < 0, -2 * off - 1, 2 * off).astype("<u4")
    planes = signed.view(np.uint8).reshape(-1, 4).T.tobytes()
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(planes) + deflate.flush()


def write_points(number: int = 200) -> None:
    """Write what the package finds at points that are spread evenly over the sphere."""
    dice = random.Random(837)
    latitudes = np.array([round(float(np.degrees(np.arcsin(dice.uniform(-1, 1)))), 4) for _ in range(number)])
    longitudes = np.array([round(dice.uniform(-180, 180), 4) for _ in range(number)])
    columns = reference(latitudes, longitudes)
    with POINTS.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["latitude_deg", "longitude_deg", *columns])
        for row in zip(latitudes, longitudes, *columns.values(), strict=True):
            writer.writerow(f"{value:.9g}" for value in row)


def reference(latitudes: Any, longitudes: Any) -> dict[str, Any]:
    """Return the values of the maps at places, on the ground, as the package finds them."""
    models = itur.models
    height = models.itu1511.topographic_altitude(latitudes, longitudes).value.clip(0)
    at = (latitudes, longitudes)
    return {
        "altitude_km": height,
        "rain_height_km": models.itu839.rain_height(*at).value,
        "rain_001_mm_h": models.itu837.rainfall_rate(*at, 0.01).value,
        "temperature_k": models.itu1510.surface_mean_temperature(*at).value,
        "vapour_g_m3": models.itu836.surface_water_vapour_density(*at, 50, height).value,
        "wet_n": models.itu453.map_wet_term_radio_refractivity(*at, 50).value,
        **{f"vapour_{p}_kg_m2": models.itu836.total_water_vapour_content(*at, p, height).value for p in CLOUDY},
        **{f"cloud_{p}_kg_m2": models.itu840.columnar_content_reduced_liquid(*at, p).value for p in CLOUDY},
    }


if __name__ == "__main__":
    main()
