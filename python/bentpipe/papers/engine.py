"""What a lab takes from the experiment's engine, in one place: a store that stays open, and a sweep in it.

It decides no verdict: what runs give is covered by the number of results.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from bentpipe.errors import BentpipeError
from bentpipe.experiment.execution import Execution
from bentpipe.experiment.grid import Grid, arguments
from bentpipe.experiment.memory import Memory
from bentpipe.experiment.store import Store
from bentpipe.experiment.workers import Threads, cores

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from bentpipe.scenario.scenario import Scenario


def opened(folder: Path | None) -> Store:
    """The store in a folder, or one that is nowhere."""
    return Memory() if folder is None else Store(folder)


def swept(
    scenario: Scenario, store: Store, *, replications: int | None, tables: list[str], jobs: int | None
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """A row per run, and the tables that are kept of each.

    Raises
    ------
    BentpipeError
        A run failed.
    """
    asked = arguments(replications=replications, tables=tables or None)
    with closing(Threads(jobs or cores())) as workers:
        found = Execution(Grid(scenario.with_sets(asked))).run(store, workers)
    if found.failures:
        raise BentpipeError(f"a run failed: {found.failures[0]['message']}")
    return found.runs.drop("point"), {table: found.kept(table) for table in tables}
