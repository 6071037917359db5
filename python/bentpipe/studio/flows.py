"""A series of all flows in one picture: quantiles over time, and a row of colours for each flow."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.catalog import dictionary, unknown
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.curves import Curves
from bentpipe.statistics.curve import choose_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.experiment.single.run_result import RunResult

    Values = NDArray[np.float64]

ROWS_MOST = 400
"""Rows of colours. With more flows, a row is the mean of several."""
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles over the flows that are active."""
ORDERS = ("scenario", "largest", "worst", "longest")
"""Orders of flows: by the sum, by the mean while they are active, and by the time that they are active."""


def gather_flows(
    result: RunResult, name: str, start_s: float, end_s: float, columns: int, order: str = ORDERS[0]
) -> dict[str, Any]:
    """A rate or level of all flows in the columns of a plot, with their quantiles, as plain data.

    Parameters
    ----------
    result : RunResult
    name : str
        Series of flows. Of a rate, the worst flows have the least values, of a level the greatest.
    start_s, end_s : float
    columns : int
        Maximum number of columns.
    order : str
        One of `ORDERS`.

    Raises
    ------
    BentpipeError
        There is no such series or order.
    """
    kinds = {each["name"]: each["kind"] for each in dictionary()["series"] if each["entity"] == "flow"}
    known = [each for each, kind in kinds.items() if kind in ("rate", "level") and each in result.recorded]
    for given, what, expected in ((name, "a series of flows", known), (order, "an order of flows", ORDERS)):
        if given not in expected:
            raise BentpipeError(unknown(given, what, expected))
    width_s = choose_width(end_s - start_s, columns)
    flows = result.scenario.flow_names
    places = {flow: place for place, flow in enumerate(flows)}
    found: dict[int, Values] = {}
    begins: Values = np.zeros(0)
    for flow, curve in Curves(result).make_all(name):
        if flow in places:
            means = curve.average(start_s, end_s, width_s)
            found[places[flow]], begins = means.values, means.begins
    values = np.full((len(flows), len(begins)), np.nan)
    for place, row in found.items():
        values[place] = row
    places_in_order = _order_flows(values, order, is_more_better=kinds[name] == "rate")
    each_row = -(-len(flows) // ROWS_MOST)
    groups = [places_in_order[first : first + each_row] for first in range(0, len(flows), each_row)]
    rows = np.array([_mean(values[group]) for group in groups])
    active = values[:, ~np.isnan(values).all(axis=0)]
    quantiles = np.full((len(SHARES), len(begins)), np.nan)
    if active.size:
        quantiles[:, ~np.isnan(values).all(axis=0)] = np.nanquantile(active, SHARES, axis=0)
    return {
        "flows": [flows[place] for place in places_in_order],
        "each": each_row,
        "begins": begins.tolist(),
        "width_s": width_s,
        "quantiles": _pack(quantiles),
        "rows": _pack(rows),
    }


def _order_flows(values: Values, order: str, *, is_more_better: bool) -> list[int]:
    count = (~np.isnan(values)).sum(axis=1)
    total = np.nansum(values, axis=1)
    means = np.divide(total, count, out=np.full(len(total), np.inf if is_more_better else -np.inf), where=count > 0)
    keys = {"largest": -total, "worst": means if is_more_better else -means, "longest": -count}
    return np.argsort(keys[order], kind="stable").tolist() if order in keys else list(range(len(values)))


def _mean(values: Values) -> Values:
    """The mean of the known values of each column."""
    count = (~np.isnan(values)).sum(axis=0)
    mean: Values = np.divide(np.nansum(values, axis=0), count, out=np.full(values.shape[1], np.nan), where=count > 0)
    return mean


def _pack(values: Values) -> str:
    """Rows one after the other as little-endian float32, in base64."""
    return base64.b64encode(values.astype("<f4").tobytes()).decode()
