"""Writes a path over time as CZML, which Cesium shows on a globe: satellites, places and the links in use.

CZML is JSON: a list of packets. The first one describes the document and its clock (see the CZML Guide of the
czml-writer project).
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.errors import SkyError
from bentpipe.sky.scenes import array, do_work

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from bentpipe.progress import Wish
    from bentpipe.sky.paths import SkyPath

SAMPLE_S = 60.0
"""Time between two positions of a satellite. Cesium interpolates between them."""
DEGREE = 5
"""Degree of that interpolation: within some metres of low orbits."""
NUMBERS_MAX = 20_000_000
"""Numbers in a file, about 200 MB."""
SATELLITE = [160, 160, 160, 255]
USED = [255, 196, 0, 255]
PLACE = [0, 200, 255, 255]
"""Colours: red, green, blue, opacity."""


def write_czml(found: SkyPath, file: str | os.PathLike[str], *, used_only: bool = False, progress: Wish = None) -> None:
    """Write a path over time as a CZML file.

    Parameters
    ----------
    found : SkyPath
        Path of `bentpipe.sky.path`.
    file : path
        Place of the file, such as `path.czml`.
    used_only : bool
        Whether only satellites that the path uses are in the file.
    progress : callable or bool, optional
        Progress, as for `bentpipe.sky.path`.

    Raises
    ------
    SkyError
        The file would be too large.
    """
    text = json.dumps(make_czml(found, used_only=used_only, progress=progress), separators=(",", ":"))
    files.replace_text(file, text)


def make_czml(found: SkyPath, *, used_only: bool = False, progress: Wish = None) -> list[dict[str, Any]]:
    """Make the packets of a path over time. Parameters and errors are those of `write_czml`."""
    scene, span = found.scene, found.span
    begin_s, end_s = span.begin_s, span.begin_s + span.duration_s
    whole = f"{scene.instant(begin_s)}/{scene.instant(end_s)}"
    hops = _find_hops(found, end_s)
    used = {name for pair in hops for name in pair}
    names = [name for name in scene.satellites if not used_only or name in used]
    # Enough samples for the interpolation, also of a short look.
    step_s = min(SAMPLE_S, span.duration_s / DEGREE)
    count = int(span.duration_s / step_s + 1e-9) + 1
    if 4 * count * len(names) > NUMBERS_MAX:
        raise SkyError(
            f"{len(names)} satellites for {span.duration_s:g} s are too many for a CZML file\n"
            "  expected a shorter duration, or only the satellites in use"
        )
    # The end of a span is not part of it.
    times = (begin_s, begin_s + (count - 0.5) * step_s, step_s)
    nodes = len(scene.satellites) + len(scene.places)
    at = do_work("positions", lambda reached: scene.core.positions(times, reached), progress)
    positions = array(at).reshape(-1, nodes, 3) * 1000.0
    number = {name: index for index, name in enumerate(scene.satellites)}
    clock: dict[str, Any] = {"interval": whole, "currentTime": scene.instant(begin_s), "multiplier": 30}
    clock |= {"range": "LOOP_STOP", "step": "SYSTEM_CLOCK_MULTIPLIER"}
    title = f"{found.scene.places[0].name} to {found.scene.places[1].name} over {found.scene.over}"
    packets: list[dict[str, Any]]
    packets = [{"id": "document", "name": title, "version": "1.0", "clock": clock}]
    for name in names:
        samples = positions[:, number[name], :]
        flat = [round(value, 1) for index, row in enumerate(samples) for value in (index * step_s, *row.tolist())]
        position: dict[str, Any] = {"epoch": scene.instant(begin_s), "cartesian": flat, "referenceFrame": "FIXED"}
        position |= {"interpolationAlgorithm": "LAGRANGE", "interpolationDegree": DEGREE}
        point: dict[str, Any] = {"pixelSize": 6 if name in used else 3}
        point["color"] = {"rgba": USED if name in used else SATELLITE}
        packets.append({"id": name, "name": name, "availability": whole, "position": position, "point": point})
    for place in scene.places:
        degrees = [place.longitude_deg, place.latitude_deg, place.height_km * 1000.0]
        label = {"text": place.name, "horizontalOrigin": "LEFT", "pixelOffset": {"cartesian2": [8, 0]}}
        packets.append(
            {
                "id": place.name,
                "name": place.name,
                "position": {"cartographicDegrees": degrees},
                "point": {"pixelSize": 8, "color": {"rgba": PLACE}},
                "label": label,
            }
        )
    packets += [_link(found, pair, spans, whole, begin_s, end_s) for pair, spans in hops.items()]
    return packets


def _find_hops(found: SkyPath, end_s: float) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Find the links that paths use, each with the spans of its use."""
    hops: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in found.changes.iter_rows(named=True):
        if row["path"] is None:
            continue
        nodes: Sequence[str] = row["path"].split(" > ")
        until_s = min(row["time_s"] + row["duration_s"], end_s)
        for one, other in pairwise(nodes):
            spans = hops.setdefault((one, other), [])
            if spans and abs(spans[-1][1] - row["time_s"]) < 1e-6:
                # The next path uses the link, too.
                spans[-1] = (spans[-1][0], until_s)
            else:
                spans.append((row["time_s"], until_s))
    return hops


def _link(
    found: SkyPath,
    pair: tuple[str, str],
    spans: list[tuple[float, float]],
    whole: str,
    begin_s: float,
    end_s: float,
) -> dict[str, Any]:
    """Make the packet of a link, which is shown while a path uses it."""
    show: list[dict[str, Any]] = []
    last_s = begin_s
    for start_s, until_s in spans:
        if start_s > last_s:
            show.append({"interval": _interval(found, last_s, start_s), "boolean": False})
        show.append({"interval": _interval(found, start_s, until_s), "boolean": True})
        last_s = until_s
    if last_s < end_s:
        show.append({"interval": _interval(found, last_s, end_s), "boolean": False})
    line = {
        "positions": {"references": [f"{_escape(name)}#position" for name in pair]},
        "width": 2,
        "arcType": "NONE",
        "material": {"solidColor": {"color": {"rgba": USED}}},
        "show": show,
    }
    name = " to ".join(pair)
    return {"id": f"link {name}", "name": name, "availability": whole, "polyline": line}


def _interval(found: SkyPath, start_s: float, end_s: float) -> str:
    return f"{found.scene.instant(start_s)}/{found.scene.instant(end_s)}"


def _escape(name: str) -> str:
    """Escape the signs of a reference in the name of an object."""
    return name.replace("\\", "\\\\").replace("#", "\\#").replace(".", "\\.")
