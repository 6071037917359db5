"""Runs of a store from another version of the simulator. They are listed and kept in a separate folder, never used."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_FACTS = "aside.json"


def describe_others(form: int | None, versions: Mapping[str, str]) -> dict[str, Any] | None:
    """Describe the runs of a store from another version of the simulator: `results`, `runs`, `versions`.

    Parameters
    ----------
    form : int or None
        Number of results in the index of the store (`_core.RESULTS` of its bentpipe), if the index has one.
    versions : mapping
        Version of bentpipe for each run, by the name of the run.
    """
    numbers = {_read_results(id_) for id_ in versions} if form is None else {form}
    others = numbers - {_core.RESULTS}
    if not others:
        return None
    return {"results": min(others), "runs": len(versions), "versions": sorted(set(versions.values()))}


def _read_results(name: str) -> int:
    """Return the number of results in the name of a run, as in `tasks.name`; 0 without one."""
    found = re.match(r"r(\d+)-", name)
    return int(found[1]) if found else 0


def put_aside(folder: Path, others: Mapping[str, Any], paths: Iterable[Path]) -> None:
    """Move the files of these runs into a separate folder.

    It is a store that their version of bentpipe can continue.
    """
    left = [path for path in paths if path.exists()]
    place, k = folder / f"results-{others['results']}", 2
    # After a crash, the other files follow the first ones.
    while any((place / path.name).exists() for path in left):
        place, k = folder / f"results-{others['results']}-{k}", k + 1
    place.mkdir(exist_ok=True)
    if not (place / _FACTS).exists():
        (place / _FACTS).write_text(json.dumps(others), encoding="utf-8")
    for path in left:
        path.replace(place / path.name)


def list_aside(folder: Path) -> list[dict[str, Any]]:
    """List the sets of runs put aside: `results`, `runs`, `versions`, and `folder` (name of a folder in the store)."""
    places = sorted(folder.glob(f"results-*/{_FACTS}"))
    return [{**json.loads(place.read_text(encoding="utf-8")), "folder": place.parent.name} for place in places]


def describe_runs(others: Mapping[str, Any]) -> str:
    """Describe runs that were put aside: `1,200 runs of results 1 (bentpipe 0.1.0)`."""
    count = f"{others['runs']:,} run{'' if others['runs'] == 1 else 's'}"
    return f"{count} of results {others['results']} (bentpipe {', '.join(others['versions']) or 'unknown'})"


def refusal(folder: Path, others: Mapping[str, Any]) -> BentpipeError:
    """Return the error for a use that would treat these runs as runs of this version."""
    return BentpipeError(
        f"{folder} has {describe_runs(others)}, and this bentpipe gives results {_core.RESULTS}\n"
        "  repeat the sweep to run it with this bentpipe and keep the old runs beside, or use the old version"
    )
