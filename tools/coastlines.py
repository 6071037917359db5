"""Make the coastlines of maps from Natural Earth's countries.

    python tools/coastlines.py ne_110m_admin_0_countries.shp

Natural Earth (https://www.naturalearthdata.com) is in the public domain. Sides that two countries share are borders;
the others, chained to rings, are coasts. Coordinates are rounded to a hundredth of a degree.
"""

import argparse
import struct
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

PLACE = Path(__file__).resolve().parent.parent / "python" / "bentpipe" / "plot" / "coastlines.txt"
HEAD = """\
# Coastlines: the outlines of Natural Earth's countries at 1:110 million without their borders.
# Natural Earth (naturalearthdata.com), public domain. Made by tools/coastlines.py.
# A line is a ring: degrees east and north of its corners, in hundredths, each corner less the one before.
"""

Point = tuple[int, int]
Side = tuple[Point, Point]


def polygons(path: Path) -> list[list[Point]]:
    """The rings of a shapefile of polygons, in hundredths of a degree."""
    data, at, rings = path.read_bytes(), 100, []
    while at < len(data):
        # Number and length (in 16 bits, big-endian), then the shape: kind, box, counts, first points, points.
        length = 2 * struct.unpack_from(">i", data, at + 4)[0]
        kind, parts, points = struct.unpack_from("<i32x2i", data, at + 8)
        if kind != 5:
            sys.exit(f"{path}: expected polygons, found shapes of kind {kind}")
        starts = [*struct.unpack_from(f"<{parts}i", data, at + 52), points]
        numbers = struct.unpack_from(f"<{2 * points}d", data, at + 52 + 4 * parts)
        corners = [(round(100 * x), round(100 * y)) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        rings += [corners[a:b] for a, b in pairwise(starts)]
        at += 8 + length
    return rings


def coasts(rings: list[list[Point]]) -> list[list[Point]]:
    """The sides that only one ring has, chained."""
    sides: list[Side] = [(a, b) for ring in rings for a, b in pairwise(ring) if a != b]
    uses = Counter(frozenset(side) for side in sides)
    after: dict[Point, list[Point]] = {}
    ends = Counter()
    for a, b in sides:
        if uses[frozenset((a, b))] == 1:
            after.setdefault(a, []).append(b)
            ends[b] += 1
    # Where rounding has torn a ring, it is followed from the tear on.
    starts = sorted(after, key=lambda point: ends[point] >= len(after[point]))
    found = []
    while after:
        ring = [next(point for point in starts if point in after)]
        while ring[-1] in after:
            left = after[ring[-1]]
            ring.append(left.pop(0))
            if not left:
                del after[ring[-2]]
        found.append(ring)
    return found


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description="Make the coastlines of maps from a shapefile.")
    parser.add_argument("shapefile", type=Path)
    rings = coasts(polygons(parser.parse_args().shapefile))
    lines = []
    for ring in sorted(rings, key=len, reverse=True):
        steps = [ring[0], *((b[0] - a[0], b[1] - a[1]) for a, b in pairwise(ring))]
        lines.append(" ".join(f"{x},{y}" for x, y in steps))
    PLACE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    is_open = sum(ring[0] != ring[-1] for ring in rings)
    print(f"{PLACE.name}: {len(rings)} rings, {is_open} of them open, {PLACE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
