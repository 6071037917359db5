"""Makes the climates of the cities from ITU-R's maps of the world.

    python tools/climates.py      # needs the package `itur`, which has the maps; nothing else here does

Rain is that of P.837-7 and P.839-4, and the ground that of P.1511. Air is that of P.1510-1 and P.836-6 (mean of the
year). The wet term of the refractivity is that of P.453-14 (median), water vapour in the column over the ground that of
P.836-6, and water in clouds, reduced to 0 °C, that of P.840-8.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import itur

ORBIT = Path(__file__).resolve().parent.parent / "crates" / "orbit" / "src"
CITIES = ORBIT / "sky" / "cities.csv"
CLIMATES = ORBIT / "budget" / "climates.csv"
CLOUDY = [1, 2, 3, 5, 10, 20, 30, 50]
"""Per cent of the year in which the water vapour and the water in clouds are exceeded."""


def main() -> None:
    """Write the table, a line for each city in the order of the list."""
    argparse.ArgumentParser(description="Make the climates of the cities from the maps of ITU-R.").parse_args()
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


if __name__ == "__main__":
    main()
