"""Lists the names of scenarios, metrics and series: as tables in Python, and as text on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.catalog import dictionary
from bentpipe.metric import ENTITIES, METRICS, list_single_metrics, list_table_metrics
from bentpipe.scenario.scenario import list_bundled

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.metric import Metric


def scenarios() -> pl.DataFrame:
    """List the bundled scenarios.

    Returns
    -------
    polars.DataFrame
        A row per scenario: `name`, which `run` and `load` take, and `meaning`, its title.

    Examples
    --------
    >>> import bentpipe as bp
    >>> "geo" in bp.scenarios()["name"]
    True
    """
    return _table(scenario_rows())


def metrics() -> pl.DataFrame:
    """List the metrics that `compare`, `mix`, `sweep` and `estimate` take as `metric=`.

    Returns
    -------
    polars.DataFrame
        A row per metric: `name`, `unit`, `meaning`, `better` (`more`, `less`, or empty), `of`, `is_of_one`, `table`.
        The unit `1` is a count or ratio. `of` is the kind of object in `NAME:OBJECT`, such as a flow; `is_of_one` is
        true if the metric needs an object. `table` is the table of each run that the metric needs; it may be empty.

    Examples
    --------
    >>> import bentpipe as bp
    >>> bp.metrics().filter(name="goodput")["unit"].item()
    'bit/s'
    """
    return _table(metric_rows())


def series() -> pl.DataFrame:
    """List the time series that a run can record, for `run(..., series=...)`.

    Returns
    -------
    polars.DataFrame
        A row per series: `name`, `unit`, `meaning`, `of` (`flow` or `link`), and `is_sampled`: true for a row per
        `record.interval`, false for a row per change.

    Examples
    --------
    >>> import bentpipe as bp
    >>> bp.series().filter(name="cwnd_bytes")["of"].item()
    'flow'
    """
    return _table(series_rows())


def scenario_rows() -> list[dict[str, Any]]:
    """Return the rows of `scenarios`."""
    return [{"name": name, "meaning": title} for name, title in list_bundled().items()]


def metric_rows() -> list[dict[str, Any]]:
    """Return the rows of `metrics`."""
    whole = METRICS | list_table_metrics()
    only = {name: each for name, each in list_single_metrics().items() if name not in whole}
    return [_metric_row(each, is_of_one=each.name in only) for each in (*whole.values(), *only.values())]


def _metric_row(metric: Metric, *, is_of_one: bool) -> dict[str, Any]:
    single = list_single_metrics().get(metric.name)
    entity = "" if single is None or single.source is None else ENTITIES[single.source.table]
    better = ("less", "more")[metric.is_more_better] if metric.is_judged else ""
    table = "" if metric.source is None else metric.source.table
    about = {"name": metric.name, "unit": metric.unit, "meaning": metric.meaning}
    return {**about, "better": better, "of": entity, "is_of_one": is_of_one, "table": table}


def series_rows() -> list[dict[str, Any]]:
    """Return the rows of `series`."""
    recorded: list[dict[str, Any]] = [
        {
            "name": each["name"],
            "unit": each["unit"],
            "meaning": each["meaning"],
            "of": each["entity"],
            "is_sampled": each["sampled"],
        }
        for each in dictionary()["series"]
    ]
    events = {"name": "events", "unit": "", "meaning": "Events of each flow, with their times.", "of": "flow"}
    return [*recorded, {**events, "is_sampled": False}]


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    # Imported here: the command line lists without tables.
    import polars as pl

    return pl.DataFrame(rows)
