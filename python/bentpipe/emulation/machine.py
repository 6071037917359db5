"""What the machine did while a run went on, by its own counters."""

from __future__ import annotations

import os
import time
from typing import Any

STEAL = 7
"""The eighth column of a processor in /proc/stat (proc(5)); two more count what is in the first two already."""


def counters() -> dict[str, Any]:
    """The counters now; what this system does not have is missing or empty."""
    slept_s = 0.0
    if hasattr(time, "CLOCK_BOOTTIME"):
        slept_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return {"stat": _read("/proc/stat"), "schedstat": _read("/proc/self/schedstat"), "slept_s": slept_s}


def between(before: dict[str, Any], after: dict[str, Any]) -> dict[str, float]:
    """What happened from one look to the next, as fields of `Trust`."""
    (stolen, total), (stolen_after, total_after) = (_processors(each["stat"]) for each in (before, after))
    return {
        "stolen_share": (stolen_after - stolen) / max(total_after - total, 1),
        "waited_s": _waited_s(after["schedstat"]) - _waited_s(before["schedstat"]),
        "slept_s": after["slept_s"] - before["slept_s"],
    }


def _processors(stat: str) -> tuple[int, int]:
    """Time of all processors that another machine had, and all time; in ticks."""
    columns = [int(column) for column in stat.partition("\n")[0].split()[1 : STEAL + 2]]
    return (columns[STEAL] if len(columns) > STEAL else 0, sum(columns))


def _waited_s(schedstat: str) -> float:
    """How long this process could run and did not: the second column, nanoseconds."""
    columns = schedstat.split()
    return int(columns[1]) * 1e-9 if len(columns) > 1 else 0.0


def _read(file: str) -> str:
    try:
        with os.fdopen(os.open(file, os.O_RDONLY), encoding="ascii") as content:
            return content.read()
    except OSError:
        return ""
