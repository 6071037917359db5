"""One run of a sweep, on any machine: takes a scenario and a seed, and returns the bytes to keep."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe import _core
from bentpipe.errors import BentpipeError, SenderError
from bentpipe.experiment.single import measure
from bentpipe.experiment.single.simulate import advance
from bentpipe.experiment.single.threads import raised_by_sender
from bentpipe.metric import COLUMNS
from bentpipe.own import travel
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe.experiment.single.tables import Columns
    from bentpipe.own.travel import Plain


def name(digest: str, seed: int) -> str:
    """Return the name of a run. Equal names have equal results."""
    return f"r{_core.RESULTS}-{digest}-{seed}"


class Task(NamedTuple):
    """A run to execute."""

    id: str
    seed: int
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """A run that failed, because of a bug in bentpipe or too little memory."""

    message: str


def execute(
    scenario: _core.Scenario,
    seed: int,
    tables: Sequence[str],
    is_stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[float], object] | None = None,
) -> bytes | Failure | None:
    """Run a scenario and pack its kept data; return None if stopped before the end."""
    try:
        simulation = _core.Run(scenario, seed)
        if not advance(simulation, progress, is_stopped):
            return None
        found = simulation.finish()
    except SenderError:
        # Its author must fix it. Then it is another congestion control, whose runs have other names.
        raise
    except (BentpipeError, MemoryError) as error:
        return Failure(str(error) or "not enough memory")
    values = measure.outcome(found)
    kept = {table: _pack_columns(found[table]) for table in tables}  # type: ignore[literal-required]
    record = {
        "seed": seed,
        "version": __version__,
        # JSON has no NaN.
        "values": {metric: None if math.isnan(values[metric]) else values[metric] for metric in COLUMNS},
        "tables": kept,
    }
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode()


def build() -> str:
    """Return facts that must be the same on all machines of a sweep."""
    return f"{__version__}, results {_core.RESULTS}"


def execute_text(
    text: str, seed: int, tables: Sequence[str], version: str, senders: Sequence[Plain] = ()
) -> bytes | Failure | None:
    """Execute a task on another machine. The scenario arrives as JSON, its classes in the form of `travel.sent`.

    `version` is the value of `build` on the machine that began the sweep.
    """
    if version != build():
        raise BentpipeError(
            f"a worker has bentpipe {build()}, but the sweep has {version}\n  expected the same version everywhere"
        )
    try:
        return execute(_scenario(text, tuple(senders)), seed, tables)
    except KeyboardInterrupt as interrupt:
        # Workers receive no signals.
        raise raised_by_sender(interrupt) from None


@lru_cache(64)
def _scenario(text: str, senders: tuple[Plain, ...]) -> _core.Scenario:
    return _core.Scenario.from_json(text, "scenario", [], None, travel.receive_classes(senders))


def unpack_record(record: bytes) -> dict[str, Any]:
    """Unpack a record of `execute`. Tables are columns of lists or (dtype, bytes)."""
    content: dict[str, Any] = json.loads(record)
    for columns in content["tables"].values():
        for column, values in columns.items():
            if isinstance(values, dict):
                columns[column] = (values["dtype"], base64.b64decode(values["bytes"]))
    return content


def unite_records(older: bytes | None, newer: bytes) -> bytes:
    """Add the tables of an older record of the same run to a record."""
    if older is None:
        return newer
    content = json.loads(newer)
    content["tables"] = {**json.loads(older)["tables"], **content["tables"]}
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def _pack_columns(columns: Columns) -> dict[str, Any]:
    return {
        column: values
        if isinstance(values, list)
        else {"dtype": values[0], "bytes": base64.b64encode(values[1]).decode()}
        for column, values in columns.items()
    }
