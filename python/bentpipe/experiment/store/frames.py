"""Tables of a store, made of its runs and sorted."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.experiment.single.tables import columns_frame
from bentpipe.metric import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.experiment.single.tables import Columns

RUNS = "runs"
"""Name of the table with a row per run. The others are tables of runs."""


def _run_schema() -> dict[str, type[pl.DataType]]:
    numbers = dict.fromkeys(COLUMNS.values(), pl.Float64)
    return {"run": pl.String, "seed": pl.UInt64, **numbers, "version": pl.String}


def merge_tables(
    parameters: Mapping[str, Mapping[str, Any]], records: Mapping[str, Mapping[str, Any]]
) -> dict[str, pl.DataFrame]:
    """Make the tables to be written.

    Parameters
    ----------
    parameters : mapping
        Values by key of the scenario, for each run by its name.
    records : mapping
        Record of each run by its name.
    """
    schema = _run_schema()
    rows = [(id_, each["seed"], *_values(each), each["version"]) for id_, each in records.items()]
    runs = pl.DataFrame(rows, schema=schema, orient="row")
    keys = sorted({key for own in parameters.values() for key in own} - schema.keys())
    runs = runs.with_columns(column(key, [own.get(key) for own in parameters.values()]) for key in keys)
    # Sorted only by written columns, so that the order is the same for rows from anywhere.
    runs = runs.select("run", *keys, *list(schema)[1:]).sort(*keys, "seed", "run")
    found = {RUNS: runs}
    place = runs.select("run").with_row_index("place")
    for table in sorted({table for each in records.values() for table in each["tables"]}):
        own = {id_: each["tables"][table] for id_, each in records.items() if table in each["tables"]}
        whole = _stack_columns(own).join(place, on="run", how="inner", maintain_order="left")
        found[table] = whole.sort("place", maintain_order=True).drop("place")
    return found


def _values(record: Mapping[str, Any]) -> list[float | None]:
    """Return the metrics of a run. Metrics that were added since the run are missing."""
    return [record["values"].get(metric) for metric in COLUMNS]


def column(key: str, values: list[Any]) -> pl.Series:
    """Make a column of a key: numbers if all values are numbers, otherwise text as written."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return pl.Series(key, values, dtype=pl.Float64)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(key, texts, dtype=pl.String)


def _stack_columns(tables: Mapping[str, Columns]) -> pl.DataFrame:
    """Join the same table of many runs. Columns are joined first, because making a data frame is slow."""
    whole: dict[str, Any] = {}
    heights = []
    for name, first in next(iter(tables.values())).items():
        parts = [columns[name] for columns in tables.values()]
        if isinstance(first, list):
            heights = [len(part) for part in parts]
            whole[name] = list(chain.from_iterable(parts))
        else:
            whole[name] = (first[0], b"".join(part[1] for part in parts if isinstance(part, tuple)))
    runs = list(chain.from_iterable([id_] * height for id_, height in zip(tables, heights, strict=True)))
    return columns_frame({"run": runs, **whole})
