"""A wide table, as papers have: a row for each setting and metric, a column for each case, and the best in bold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import formatting
from bentpipe.experiment.results.contrasts import find_sender_key
from bentpipe.metric import find_metric
from bentpipe.plot.style import label
from bentpipe.reports.tables import ROWS_MAX, Table
from bentpipe.statistics.samples import AtLeast

if TYPE_CHECKING:
    from bentpipe.experiment.results.swept import OfSweep
    from bentpipe.statistics.estimates import Estimate, Interval

NAME = "wide"


def make_wide(of: OfSweep) -> list[Table]:
    """Make the table; no table with fewer than two congestion controls or cases.

    The best case at a setting and all cases that are not shown to be worse are bold. With one replication, nothing is
    bold, because nothing can be shown.
    """
    sweep = of.sweep
    sender = find_sender_key(sweep.points, sweep.keys)
    if sender is None:
        return []
    keys = [key for key in sweep.keys if key != sender]
    names = list(dict.fromkeys(map(str, sweep.points[sender])))
    if len(names) < 2:
        return []
    settings = list(dict.fromkeys(tuple(row[key] for key in keys) for row in sweep.points.iter_rows(named=True)))
    rows: list[list[str]] = []
    data: list[dict[str, Any]] = []
    best: set[tuple[int, int]] = set()
    for name in sweep.metrics:
        metric, found = find_metric(name), of.estimates[name]
        if all(each.value is None for each in found):
            continue
        divisor, unit = formatting.scale([each.value for each in found], metric.unit)
        points = {
            (tuple(row[key] for key in keys), str(row[sender])): found[row["point"]]
            for row in sweep.points.iter_rows(named=True)
        }
        good = _find_good(of, name)
        for at in settings:
            for place, each in enumerate(names):
                if each in good.get(at, ()):
                    best.add((len(rows), 1 + len(keys) + place))
            cells = [_write_cell(points.get((at, each)), divisor) for each in names]
            rows.append([label(metric.title, unit), *map(formatting.setting, at), *cells])
            values = {each: getattr(points.get((at, each)), "value", None) for each in names}
            data.append({"metric": name, **dict(zip(keys, at, strict=True)), **values})
    head = ["", *(formatting.short_key(key, sweep.keys) for key in keys), *names]
    frame = pl.DataFrame(data, infer_schema_length=None)
    return [Table(NAME, frame, head, rows[:ROWS_MAX], 1 + len(keys), len(rows), frozenset(best))]


def _find_good(of: OfSweep, name: str) -> dict[tuple[Any, ...], set[str]]:
    """Find the cases at each setting that are best, or not shown to be worse."""
    if max(of.sweep.points["replications"].to_list()) < 2:
        return {}
    return {tuple(each.settings.values()): {each.best, *each.equals} for each in of.sweep.choices(name)}


def _write_cell(found: Estimate | Interval | None, divisor: float) -> str:
    if found is None or found.value is None:
        return formatting.MISSING
    ends = (None if end is None else end / divisor for end in (found.low, found.high))
    text = formatting.interval(found.value / divisor, *ends, is_bound=isinstance(found, AtLeast))
    return text.replace(" (±", " ±").removesuffix(")") if " (±" in text else text
