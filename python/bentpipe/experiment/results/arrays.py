"""Sweeps as arrays of xarray."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting
from bentpipe.errors import BentpipeError
from bentpipe.metric import find_metric

if TYPE_CHECKING:
    import xarray

    from bentpipe.experiment.results.sweep import Sweep

POINT, REPLICATION = "point", "replication"


def make_dataset(sweep: Sweep) -> xarray.Dataset:
    """Make the dataset of a sweep; see `Sweep.to_xarray`."""
    try:
        xr = import_module("xarray")
    except ImportError:
        raise BentpipeError("xarray is not installed\n  pip install 'bentpipe[xarray]'") from None
    keys = {key: [_plain(value) for value in sweep.points[key]] for key in sweep.keys}
    levels, along = _find_dimensions(keys, sweep.points.height)
    count = max(sweep.points["replications"].to_list())
    shape = (*map(len, levels.values()), count)
    places = {dimension: {value: at for at, value in enumerate(values)} for dimension, values in levels.items()}
    whole = {**keys, POINT: list(range(sweep.points.height))}
    at = [tuple(places[each][whole[each][point]] for each in levels) for point in range(sweep.points.height)]
    variables = {}
    for name in sweep.metrics:
        metric = find_metric(name)
        values = np.full(shape, np.nan)
        for point, found in sweep.values(name).items():
            values[at[point]][: len(found)] = found
        of_metric = {"unit": metric.unit, "meaning": metric.meaning}
        variables[name] = ((*levels, REPLICATION), values, of_metric)
    coordinates: dict[str, Any] = {**levels, REPLICATION: range(count)}
    for key, dimension in along.items():
        first = {whole[dimension][point]: keys[key][point] for point in reversed(range(sweep.points.height))}
        coordinates[key] = (dimension, [first[value] for value in levels[dimension]])
    dataset: xarray.Dataset = xr.Dataset(variables, coordinates, _describe(sweep))
    return dataset


def _describe(sweep: Sweep) -> dict[str, Any]:
    """Return the provenance as attributes that each file format can hold: numbers, and other values as JSON."""
    facts = sweep._provenance()
    # A scenario in Python has no command.
    with suppress(BentpipeError):
        facts["command"] = sweep.command()
    return {name: fact if isinstance(fact, (str, int, float)) else json.dumps(fact) for name, fact in facts.items()}


def _find_dimensions(keys: dict[str, list[Any]], points: int) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Find the dimensions of the grid with their values, and the dimension of each other key.

    A key that varies together with another one is a coordinate along it. If the points are no grid of the keys, all
    keys are coordinates along `point`.
    """
    levels: dict[str, list[Any]] = {}
    along: dict[str, str] = {}
    for key, values in keys.items():
        other = next((each for each in levels if _is_function(keys[each], values)), None)
        if other is None:
            levels[key] = list(dict.fromkeys(values))
        else:
            along[key] = other
    if np.prod([len(values) for values in levels.values()]) == points:
        return levels, along
    return {POINT: list(range(points))}, dict.fromkeys(keys, POINT)


def _is_function(of: list[Any], values: list[Any]) -> bool:
    """Whether a list that varies is determined by another list."""
    return len(set(values)) > 1 and len(set(zip(of, values, strict=True))) == len(set(of))


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) else formatting.setting(value)
