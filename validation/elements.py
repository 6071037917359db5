"""Measures element sets away from their epochs: satellites that are left out, and position errors of the others.

    python -m validation.elements FOLDER    # with the catalogues in FOLDER, a minute
    python -m tools.docs elements           # after that: the page

FOLDER has catalogues of several dates as two-line elements, plain or compressed by xz: `active-2026-06-14.tle`,
`geo-2026-05-30.tle`, `oneweb-2026-05-30.tle`, `starlink-2025-05-29.tle` and `starlink-2025-09-20.tle`. They do not come
with bentpipe.
"""

from __future__ import annotations

import lzma
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import bentpipe as bp
from validation import kept

ANY_AGE = "40000 d"
CATALOGUE, CATALOGUE_TIMES = (
    "active-2026-06-14.tle",
    {
        "2026-06-13T18:00": "its epoch",
        "2026-06-20T18:00": "7 days",
        "2026-07-13T18:00": "30 days",
        "2026-09-12T18:00": "91 days",
        "2030-06-13T18:00": "4 years",
    },
)
STARLINK, STARLINK_TIMES = (
    "starlink-2025-09-20.tle",
    {
        "2025-09-20T00:00": "its epoch",
        "2025-09-27T00:00": "7 days",
        "2025-10-04T00:00": "14 days",
        "2025-10-20T00:00": "30 days",
        "2025-12-20T00:00": "91 days",
        "2030-09-20T00:00": "5 years",
        "1995-09-20T00:00": "-30 years",
    },
)
# Old elements, new elements, the instant, the days between them, heights in km, name of the group.
PAIRS = (
    ("starlink-2025-05-29.tle", "starlink-2025-09-20.tle", "2025-09-20T00:00", 114, (300, 600), "Starlink"),
    ("starlink-2025-09-20.tle", "active-2026-06-14.tle", "2026-06-13T18:00", 267, (300, 600), "Starlink"),
    ("oneweb-2026-05-30.tle", "active-2026-06-14.tle", "2026-06-13T18:00", 14, (1150, 1300), "OneWeb"),
    ("geo-2026-05-30.tle", "active-2026-06-14.tle", "2026-06-13T18:00", 14, (33_000, 39_000), "geosynchronous"),
)


def find(folder: Path, name: str, into: Path) -> Path:
    """A catalogue, decompressed."""
    if (folder / name).exists():
        return folder / name
    (into / name).write_bytes(lzma.decompress((folder / f"{name}.xz").read_bytes()))
    return into / name


def left_out(file: Path, epoch: str) -> dict[str, Any]:
    """Numbers of satellites and of those left out during two hours; heights and number in view of the others."""
    scene = bp.sky.passes(
        "London", over=file, start=epoch, duration="2 h", step="5 min", elevation_min=25, elements_age_max=ANY_AGE
    )
    heights = bp.sky.map(over=file, start=epoch, elements_age_max=ANY_AGE).satellites["height_km"]
    return {
        **scene.scene.to_dict()["elements"],
        "least_km": heights.min(),
        "most_km": heights.max(),
        "in_view": scene.summary["in_view_mean"],
    }


def places(file: Path, epoch: str) -> dict[str, Any]:
    """Position in km, in the frame that turns with the Earth, and height of each satellite by name."""
    table = bp.sky.map(over=file, start=epoch, elements_age_max=ANY_AGE).satellites.drop_nulls()
    north, east = (np.radians(table[f"{name}_deg"].to_numpy()) for name in ("latitude", "longitude"))
    height = table["height_km"].to_numpy()
    radius, flattening = 6378.137, 6.69437999014e-3
    normal = radius / np.sqrt(1 - flattening * np.sin(north) ** 2)
    across = (normal + height) * np.cos(north)
    up = (normal * (1 - flattening) + height) * np.sin(north)
    found = np.column_stack([across * np.cos(east), across * np.sin(east), up])
    names = table["satellite"].to_list()
    return {name: (at, km) for name, at, km in zip(names, found, height, strict=True)}


def off(old: Path, new: Path, epoch: str, heights: tuple[int, int]) -> dict[str, float]:
    """Distances between satellites of two catalogues."""
    before, after = places(old, epoch), places(new, epoch)
    within = [name for name in after if name in before and heights[0] <= after[name][1] < heights[1]]
    km = [float(np.linalg.norm(before[name][0] - after[name][0])) for name in within]
    p10, median, p90 = np.percentile(km, [10, 50, 90])
    return {"satellites": len(km), "p10_km": p10, "median_km": median, "p90_km": p90}


def measured(folder: Path) -> dict[str, Any]:
    """All tables."""
    with tempfile.TemporaryDirectory() as into:

        def file(name: str) -> Path:
            return find(folder, name, Path(into))

        return {
            "catalogue": [{"after": after, **left_out(file(CATALOGUE), at)} for at, after in CATALOGUE_TIMES.items()],
            "starlink": [{"after": after, **left_out(file(STARLINK), at)} for at, after in STARLINK_TIMES.items()],
            "errors": [
                {"of": what, "days": days, **off(file(old), file(new), at, heights)}
                for old, new, at, days, heights, what in PAIRS
            ],
        }


def main() -> None:
    """Measure and keep the numbers."""
    if len(sys.argv) != 2:
        raise SystemExit("error: expected the folder with the catalogues: python -m validation.elements FOLDER")
    kept.save("elements", measured(Path(sys.argv[1])))


if __name__ == "__main__":
    kept.begin(__doc__, "FILE")
    main()
