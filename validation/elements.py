"""Element sets away from their epochs: which satellites are left out, and how far the others are off.

Writes `docs/validation/elements.md`.

    .venv/bin/python validation/elements.py FOLDER    # measures with the catalogues in FOLDER, a minute
    .venv/bin/python validation/elements.py           # only writes the page again

FOLDER has catalogues of several dates as two-line elements, plain or compressed by xz: `active-2026-06-14.tle`,
`geo-2026-05-30.tle`, `oneweb-2026-05-30.tle`, `starlink-2025-05-29.tle` and `starlink-2025-09-20.tle`. They do not come
with bentpipe.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import bentpipe as bp

PAGES = Path(__file__).resolve().parent.parent / "docs" / "validation"
KEPT = PAGES / "elements.json"
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
PAGE = """# Element sets away from their epochs

Elements of a catalogue describe an orbit near their epoch. This page shows which satellites are left out when SGP4
propagates them further, and how far the others are from where they are. Made by
`.venv/bin/python validation/elements.py FOLDER`; do not edit.

## Which satellites are left out?

The catalogue of all active satellites of 2026-06-14, for a look of two hours. A satellite is left out if SGP4 reports
an error at any time of the look, or if its position is too low or too high. Too low is below the ground, or more than
50 km below the perigee of the elements. Too high is more than 50 km above their apogee. For periods above 225 minutes
the limit is 1 % of the semi-major axis. By default, `elements_age_max` refuses the last two rows.

{catalogue}

At the epoch of the catalogue nothing is left out. Later, SGP4 predicts decays of satellites whose engines in fact keep
them in their orbits, or positions far from the orbits of satellites that rise or descend.

The catalogue of Starlink of 2025-09-20, with the heights of the lowest and the highest satellite, and the satellites in
view of London above 25°:

{starlink}

## How far are the others off?

Positions of the same satellites by old elements and by those of the later date, at the epoch of the later ones:

{errors}

After one day, half of Starlink's satellites at 520 to 585 km are off by 3.7 km or more (3,389 satellites, elements of
2025-09-20 and 2025-09-21). With the 114 days above this grows as 3.7 km d^1.5 for d days. After 200 days a satellite
may be anywhere on its orbit. OneWeb is higher and has less drag. Geostationary satellites change their orbits on
purpose every week or two. For other orbits and ages no two catalogues were available.

A sky in which satellites are off by 100 km has the same statistics: as many satellites in view, as long passes. Another
satellite is over a place at a given second: a satellite at 550 km moves 100 km in 13 s.
"""


def find(folder: Path, name: str, into: Path) -> Path:
    """A catalogue, decompressed."""
    if (folder / name).exists():
        return folder / name
    (into / name).write_bytes(lzma.decompress((folder / f"{name}.xz").read_bytes()))
    return into / name


def left_out(file: Path, epoch: str) -> dict[str, Any]:
    """Numbers of satellites and of those left out during two hours; heights and number in view of the others."""
    scene = bp.sky.passes(
        "London", over=file, epoch=epoch, duration="2 h", step="5 min", elevation=25, elements_age_max=ANY_AGE
    )
    heights = bp.sky.map(over=file, epoch=epoch, elements_age_max=ANY_AGE).satellites["height_km"]
    return {
        **scene.scene.to_dict()["elements"],
        "least_km": heights.min(),
        "most_km": heights.max(),
        "in_view": scene.summary["in_view_mean"],
    }


def places(file: Path, epoch: str) -> dict[str, Any]:
    """Position in km, in the frame that turns with the Earth, and height of each satellite by name."""
    table = bp.sky.map(over=file, epoch=epoch, elements_age_max=ANY_AGE).satellites.drop_nulls()
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


def table(head: str, rows: list[str]) -> str:
    """A table of Markdown."""
    names = head.split(" | ")
    return "\n".join([f"| {head} |", "|---|" + "---:|" * (len(names) - 1), *rows])


def page(kept: dict[str, Any]) -> str:
    """The page from the measured numbers."""
    catalogue = [
        f"| {row['after']} | {row['satellites']:,} | {row['records'] - row['satellites']:,} | {row['sgp4_errors']:,}"
        f" | {row['too_low']:,} | {row['too_high']:,} | {row['aged']:,} |"
        for row in kept["catalogue"]
    ]
    starlink = [
        f"| {row['after']} | {row['satellites']:,} | {row['sgp4_errors']:,} | {row['too_low']:,} | {row['too_high']:,}"
        f" | {row['least_km']:,.0f} | {row['most_km']:,.0f} | {row['in_view']:.1f} |"
        for row in kept["starlink"]
    ]
    errors = [
        f"| {row['of']} | {row['days']} | {row['satellites']:,} | {row['p10_km']:,.0f} | {row['median_km']:,.0f}"
        f" | {row['p90_km']:,.0f} |"
        for row in kept["errors"]
    ]
    causes = "SGP4 error | too low | too high"
    return PAGE.format(
        catalogue=table(f"after | satellites | left out | {causes} | elements of 7 days or more", catalogue),
        starlink=table(f"after | satellites | {causes} | least height (km) | largest (km) | in view", starlink),
        errors=table("satellites | days | number | p10 (km) | median (km) | p90 (km)", errors),
    )


def main() -> None:
    """Measure if a folder is given, and write the page."""
    if len(sys.argv) > 1:
        KEPT.write_text(json.dumps(measured(Path(sys.argv[1])), indent=1) + "\n")
    (PAGES / "elements.md").write_text(page(json.loads(KEPT.read_text())))


if __name__ == "__main__":
    main()
