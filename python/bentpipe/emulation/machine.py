"""Reads the load of the machine during a run from the kernel's counters."""

from __future__ import annotations

import os
import time
from typing import Any

STEAL = 7
"""The eighth column of a processor in /proc/stat (proc(5)); two more count what is in the first two already."""

GROUPS = "/sys/fs/cgroup"


def counters() -> dict[str, Any]:
    """Reads the counters. Those that this system lacks are missing or empty."""
    slept_s = 0.0
    if hasattr(time, "CLOCK_BOOTTIME"):
        slept_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return {
        "stat": _read("/proc/stat"),
        "schedstat": _read("/proc/self/schedstat"),
        "slept_s": slept_s,
        "throttled_s": sum(throttled_s(_read(file)) for file in limits(_read("/proc/self/cgroup"))),
    }


def limits(groups: str) -> list[str]:
    """Finds the files with the effects of processor limits, for the groups of /proc/self/cgroup and their parents."""
    found = []
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        # The second version has one tree of groups, the first one a tree for each controller (cgroups(7)).
        if controllers and "cpu" not in controllers.split(","):
            continue
        place = f"{GROUPS}/{controllers}" if controllers else GROUPS
        # Each limit counts for itself; a container may see only the outermost of its groups.
        parts = [part for part in path.split("/") if part]
        found += ["/".join([place, *parts[:count], "cpu.stat"]) for count in range(len(parts), -1, -1)]
    return found


def throttled_s(stat: str) -> float:
    """Time in which a limit stopped a group of processes, from nanoseconds (version 1) or microseconds (version 2)."""
    counts = dict(line.split(" ", 1) for line in stat.splitlines() if " " in line)
    return int(counts.get("throttled_usec", 0)) * 1e-6 + int(counts.get("throttled_time", 0)) * 1e-9


def between(before: dict[str, Any], after: dict[str, Any]) -> dict[str, float]:
    """Computes the fields of `Trust` from two readings."""
    (stolen, total), (stolen_after, total_after) = (_processors(each["stat"]) for each in (before, after))
    return {
        "stolen_share": (stolen_after - stolen) / max(total_after - total, 1),
        "waited_s": _waited_s(after["schedstat"]) - _waited_s(before["schedstat"]),
        "slept_s": after["slept_s"] - before["slept_s"],
        "throttled_s": after["throttled_s"] - before["throttled_s"],
    }


def _processors(stat: str) -> tuple[int, int]:
    """Time of all processors that another machine had, and all time; in ticks."""
    columns = [int(column) for column in stat.partition("\n")[0].split()[1 : STEAL + 2]]
    return (columns[STEAL] if len(columns) > STEAL else 0, sum(columns))


def _waited_s(schedstat: str) -> float:
    """Reads the time in which this process could run and did not: the second column, in nanoseconds."""
    columns = schedstat.split()
    return int(columns[1]) * 1e-9 if len(columns) > 1 else 0.0


def _read(file: str) -> str:
    try:
        with os.fdopen(os.open(file, os.O_RDONLY), encoding="ascii") as content:
            return content.read()
    except OSError:
        return ""
