"""Reads forwarding states of Hypatia: the paths that Hypatia has computed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe import files
from bentpipe.errors import SkyError
from bentpipe.sky.place_lists import places

if TYPE_CHECKING:
    import os

    import polars as pl

_FILE = re.compile(r"fstate_(\d+)\.txt")
"""Name of a file, with the time in nanoseconds when its lines begin to hold."""


def forwarding(folder: str | os.PathLike[str], source: str, target: str) -> pl.DataFrame:
    """Read the path between two ground stations from forwarding states of Hypatia.

    Parameters
    ----------
    folder : str or path
        A folder `dynamic_state_...` of a satellite network, with files `fstate_TIME.txt`. Each line of a file has a
        node, a destination, the next hop, and two interfaces. A file has only the lines that differ from the files
        before it. The folder above must have `ground_stations.txt` and `tles.txt`. The first line of `tles.txt` has the
        number of orbits and the number of satellites in each.
    source, target : str
        Names of two ground stations.

    Returns
    -------
    polars.DataFrame
        A row for each path: `time_s` (the begin of its use) and `nodes`, from source to target. Nodes are numbers:
        first the satellites from 0 on, then the ground stations. `nodes` is null if no path leads to the target.

    Raises
    ------
    SkyError
        A file cannot be read or has lines of another form, or a ground station is unknown.
    """
    import polars as pl

    states = Path(folder)
    satellites = _count_satellites(states.parent / "tles.txt")
    names = [place.name for place in places(states.parent / "ground_stations.txt")]
    first, last = (satellites + _find(names, name) for name in (source, target))
    hops: dict[int, int] = {}
    rows: list[tuple[float, list[int] | None]] = []
    for time_ns, file in _list_states(states):
        _read_state(file, last, hops)
        nodes = _follow(first, last, hops)
        if not rows or rows[-1][1] != nodes:
            rows.append((time_ns / 1e9, nodes))
    return pl.DataFrame(rows, schema={"time_s": pl.Float64, "nodes": pl.List(pl.Int64)}, orient="row")


def _count_satellites(file: Path) -> int:
    """Read the number of satellites from the first line of `tles.txt`."""
    words = _read(file).partition("\n")[0].split()
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        raise SkyError(f"{file}, line 1: expected the numbers of orbits and of satellites in each, such as 34 34")
    return int(words[0]) * int(words[1])


def _find(names: list[str], name: str) -> int:
    """Return the place of a ground station in the list."""
    if name not in names:
        raise SkyError(f"{name} is not a ground station of the network\n  expected one of {', '.join(names[:8])}")
    return names.index(name)


def _list_states(folder: Path) -> list[tuple[int, Path]]:
    """List the files of a folder by their times."""
    try:
        found = [(int(match[1]), file) for file in folder.iterdir() if (match := _FILE.fullmatch(file.name))]
    except OSError as error:
        raise SkyError(f"{folder} cannot be read: {files.reason(error)}\n  expected a folder of Hypatia") from None
    if not found:
        raise SkyError(f"{folder} has no forwarding states\n  expected files such as fstate_0.txt")
    return sorted(found)


def _read_state(file: Path, target: int, hops: dict[int, int]) -> None:
    """Change the next hops towards a node by the lines of a file."""
    for number, line in enumerate(_read(file).splitlines(), 1):
        try:
            node, to, hop, _, _ = map(int, line.split(","))
        except ValueError:
            raise SkyError(
                f"{file}, line {number}: {line[:60]!r} is not a forwarding state\n"
                "  expected node,destination,next hop,interface,interface of the next hop"
            ) from None
        if to == target:
            hops[node] = hop


def _follow(source: int, target: int, hops: dict[int, int]) -> list[int] | None:
    """Follow the next hops. A packet that is dropped (-1) or goes in circles has no path."""
    nodes = [source]
    while nodes[-1] != target:
        following = hops.get(nodes[-1], -1)
        if following < 0 or following in nodes:
            return None
        nodes.append(following)
    return nodes


def _read(file: Path) -> str:
    """Read a text file."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = files.reason(error) if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SkyError(f"{file} cannot be read: {why}\n  expected a file of Hypatia") from None
