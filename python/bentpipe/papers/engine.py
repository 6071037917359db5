"""Runs sweeps of a lab with the experiment's engine, in a store that stays open.

This module decides no verdict: the number of results covers the output of runs.
"""

from __future__ import annotations

import json
import math
from contextlib import closing
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.errors import BentpipeError
from bentpipe.experiment.design.grid import Grid, arguments
from bentpipe.experiment.execution.execution import Execution
from bentpipe.experiment.execution.workers import Threads, cores
from bentpipe.experiment.store.frames import column
from bentpipe.experiment.store.memory import Memory
from bentpipe.experiment.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path
    from typing import TypeAlias

    from bentpipe.scenario.scenario import Scenario

    Axis: TypeAlias = tuple[list[str], list[list[Any]]]
    """Keys that vary together, and a row of their values for each place on the axis."""


def open_store(folder: Path | None) -> Store:
    """Open the store in a folder, or in memory without a folder."""
    return Memory() if folder is None else Store(folder)


def swept(
    scenario: Scenario,
    store: Store,
    *,
    replications: int | None,
    tables: list[str],
    jobs: int | None,
    held: Collection[str] = (),
    ran: Callable[[dict[str, Any]], None] | None = None,
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Run a sweep. Returns a row per run, and the tables of the runs.

    Axes of `held` keys, or of parts of them, do not vary: the runs of the scenario serve for all their values.
    `ran` gets the resolved scenario of each point.

    Raises
    ------
    BentpipeError
        A run failed, or a held key is a part of an axis.
    """
    axes = Grid(scenario).axes if held else []
    is_flat = [_is_held(keys, held) for keys, _ in axes]
    asked = arguments(replications=replications, tables=tables or None)
    if any(is_flat):
        left = [axis for axis, is_held in zip(axes, is_flat, strict=True) if not is_held]
        vary = {keys[0]: [row[0] for row in values] for keys, values in left if len(keys) == 1}
        together = [
            {key: [row[at] for row in values] for at, key in enumerate(keys)} for keys, values in left if len(keys) > 1
        ]
        asked += [("sweep.vary", vary), ("sweep.together", together)]
    grid = Grid(scenario.with_sets(asked))
    with closing(Threads(jobs or cores())) as workers:
        found = Execution(grid, jobs=workers.count).run(store, workers)
    if found.failures:
        raise BentpipeError(f"a run failed: {found.failures[0]['message']}")
    if ran is not None:
        for point in grid.points:
            ran(json.loads(grid.core(point).to_json()))
    frames = {name: found.read_table(name) for name in tables}
    if any(is_flat):
        frames = {name: _copy_rows(frame, axes, is_flat) for name, frame in frames.items()}
    runs = _copy_rows(found.runs, axes, is_flat) if any(is_flat) else found.runs
    return runs.drop("point"), frames


def _is_held(keys: list[str], held: Collection[str]) -> bool:
    """Whether an axis does not vary, because all its keys are held or parts of held keys."""
    parts = [key for key in keys for other in held if other.startswith(f"{key}.")]
    covered = [key for key in keys if any(key == other or key.startswith(f"{other}.") for other in held)]
    if parts or 0 < len(covered) < len(keys):
        key, what = (parts[0], "one of its parts") if parts else (" and ".join(keys), covered[0])
        raise BentpipeError(f"{key} varies, and {what} is held\n  expected all keys of this axis in without")
    return bool(covered)


def _copy_rows(frame: pl.DataFrame, axes: list[Axis], is_flat: list[bool]) -> pl.DataFrame:
    """Copies the rows for each combination of values of the axes that do not vary, as points of the whole grid."""
    sizes = [len(values) for _, values in axes]
    strides = [math.prod(sizes[at + 1 :]) for at in range(len(axes))]
    # Points are numbered in the order of the grid, the last axis first.
    place, rest = pl.lit(0, dtype=pl.Int64), pl.col("point")
    for size, stride, is_held in reversed(list(zip(sizes, strides, is_flat, strict=True))):
        if not is_held:
            place, rest = place + rest % size * stride, rest // size
    frame = frame.with_columns(place.alias("point"))
    held = [(axis, stride) for axis, stride, is_held in zip(axes, strides, is_flat, strict=True) if is_held]
    parts = []
    for at in product(*(range(len(values)) for (_, values), _ in held)):
        columns = []
        for ((keys, rows), _), k in zip(held, at, strict=True):
            for place_in_row, key in enumerate(keys):
                values = column(key, [row[place_in_row] for row in rows])
                columns.append(pl.lit(values[k], dtype=values.dtype).alias(key))
        offset = sum(k * stride for k, (_, stride) in zip(at, held, strict=True))
        # Each copy of a run has a separate name, so that tables can be joined by it.
        name = pl.col("run") + f"~{'.'.join(map(str, at))}"
        parts.append(frame.with_columns(*columns, name, pl.col("point") + offset))
    order = ["point", *(key for keys, _ in axes for key in keys)]
    return pl.concat(parts).sort("point", maintain_order=True).select(*order, pl.exclude(*order))
