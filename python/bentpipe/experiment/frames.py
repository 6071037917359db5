"""The tables of a store: what the Parquet files have and what is in the index alone, put together and sorted."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.errors import BentpipeError
from bentpipe.experiment.result import columns_frame
from bentpipe.metrics import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bentpipe.experiment.tables import Columns

RUNS = "runs"
"""The table with a row per run; the others are tables of runs."""


def _run_schema() -> dict[str, type[pl.DataType]]:
    numbers = dict.fromkeys(COLUMNS.values(), pl.Float64)
    return {"run": pl.String, "seed": pl.UInt64, **numbers, "version": pl.String}


def merged(
    parameters: Mapping[str, Mapping[str, Any]],
    fresh: Mapping[str, Mapping[str, Any]],
    written: Iterable[str],
    read: Callable[[str], pl.DataFrame],
) -> dict[str, pl.DataFrame]:
    """The tables as they are to be written.

    Parameters
    ----------
    parameters : mapping
        Of each run that the tables are to have, by its name: by key of the scenario, the value.
    fresh : mapping
        Of these, what runs gave that the written tables do not have, or have in an older form.
    written : iterable of str
        Names of tables that were written.
    read : callable
        Gives one of these.
    """
    schema = _run_schema()
    runs = _fresh_runs(fresh)
    if RUNS in written:
        kept = read(RUNS)
        absent = [name for name in schema if name not in kept.columns]
        if absent:
            raise BentpipeError(
                f"error: the runs of this store have no {absent[0]}: another state of bentpipe made them\n"
                "  choose another folder, or use the bentpipe that made it"
            )
        runs = pl.concat([_without(kept, fresh).select(list(schema)), runs])
    runs = runs.filter(pl.col("run").is_in(list(parameters)))
    ids = runs["run"].to_list()
    keys = sorted({key for own in parameters.values() for key in own} - schema.keys())
    runs = runs.with_columns(column(key, [parameters[id_].get(key) for id_ in ids]) for key in keys)
    # By what is written only, so that the order is the same wherever the rows came from.
    runs = runs.select("run", *keys, *list(schema)[1:]).sort(*keys, "seed", "run")
    found = {RUNS: runs}
    place = runs.select("run").with_row_index("place")
    given = {table for record in fresh.values() for table in record["tables"]}
    for table in sorted((given | set(written)) - {RUNS}):
        own = {id_: record["tables"][table] for id_, record in fresh.items() if table in record["tables"]}
        # What was written of a run stays unless the run gave this table again.
        parts = [_without(read(table), own)] if table in written else []
        parts += _stacked(own)
        whole = pl.concat(parts).join(place, on="run", how="inner", maintain_order="left")
        found[table] = whole.sort("place", maintain_order=True).drop("place")
    return found


def column(key: str, values: list[Any]) -> pl.Series:
    """The values of a key: numbers where all of them are numbers, otherwise text as written."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return pl.Series(key, values, dtype=pl.Float64)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(key, texts, dtype=pl.String)


def parameters_of(runs: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """By name of each run in the table of runs, the values of its keys."""
    keys = [name for name in runs.columns if name not in _run_schema()]
    return {row["run"]: {key: row[key] for key in keys if row[key] is not None} for row in runs.iter_rows(named=True)}


def _without(frame: pl.DataFrame, fresh: Iterable[str]) -> pl.DataFrame:
    return frame.filter(~pl.col("run").is_in(list(fresh)))


def _fresh_runs(fresh: Mapping[str, Any]) -> pl.DataFrame:
    rows = [(id_, record["seed"], *record["values"].values(), record["version"]) for id_, record in fresh.items()]
    return pl.DataFrame(rows, schema=_run_schema(), orient="row")


def _stacked(tables: Mapping[str, Columns]) -> list[pl.DataFrame]:
    """The same table of many runs as one, or none. Columns are joined first: making a data frame is slow."""
    if not tables:
        return []
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
    return [columns_frame({"run": runs, **whole})]
