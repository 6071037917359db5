"""Curves of a run: its series with their kinds, and the spans in which they are known.

A curve ends where its values are no longer known. For a flow, this is the acknowledgement of its last byte; for a link,
its removal. If the rows of a series did not fit the record, its curves end at the first missing row.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.catalog import dictionary, unknown
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.paths import list_subflows
from bentpipe.statistics.curve import Curve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.experiment.single.run_result import RunResult

    Span = tuple[float, float]

VALUES = "cc_values"
"""Series with a curve for each name in it, such as `cc_values:round_count`."""
ROUTE_QUEUE = "route_queue_bytes"
"""The fullest queue on the route of a flow at each instant, made from `queue_bytes`."""
TWO_WAY = ("page", "request-response")
"""Applications whose answers are the data, which takes the reverse route."""


def about_route_queue() -> dict[str, Any]:
    """Return the description of the series `ROUTE_QUEUE`, in the form of the dictionary of series."""
    meaning = "Waiting bytes in the fullest queue on the route of the flow's data, at each instant."
    return {"name": ROUTE_QUEUE, "entity": "flow", "unit": "B", "kind": "level", "sampled": True, "meaning": meaning}


class Curves:
    """The curves of a result. It finds the lives of flows and the absences of links only once."""

    def __init__(self, result: RunResult) -> None:
        self._result = result

    def make(self, name: str, of: str) -> Curve:
        """Return the curve of a series for a flow, or for a link and direction.

        Parameters
        ----------
        name : str
            A recorded series, such as `cwnd_bytes`, `cc_values:round_count`, or `route_queue_bytes`.
        of : str
            The flow or link.

        Raises
        ------
        BentpipeError
            The series was not recorded, or the flow or link is unknown.
        """
        if name == ROUTE_QUEUE:
            return self._route_queue(of)
        series, _, part = name.partition(":")
        entry = next((each for each in dictionary()["series"] if each["name"] == series), None)
        if entry is None:
            raise BentpipeError(unknown(name, "a series", [each["name"] for each in dictionary()["series"]]))
        rows = self._result.series(series, **{entry["entity"]: of})
        if part:
            rows = rows.filter(name=part)
        return self._from_rows(entry, rows, of)

    def make_all(self, name: str) -> Iterator[tuple[str, Curve]]:
        """Make the curves of a series for all flows that have one, in no order; the table is read once."""
        entry = next(each for each in dictionary()["series"] if each["name"] == name)
        parts = self._result.series(name).partition_by(entry["entity"], as_dict=True)
        for (of,), rows in parts.items():
            yield of, self._from_rows(entry, rows, of)

    def _from_rows(self, entry: Mapping[str, Any], rows: pl.DataFrame, of: str) -> Curve:
        series = entry["name"]
        extremes = None
        if "least" in rows.columns:
            extremes = (rows["least"].to_numpy(), rows["greatest"].to_numpy())
        times, values = rows["time_s"].to_numpy(), rows[series].cast(pl.Float64).to_numpy()
        return Curve.from_rows(entry["kind"], times, values, self.find_spans(series, of), extremes)

    def find_spans(self, series: str, of: str) -> list[Span]:
        """Return the spans in which a series of a flow or link is known, in order of time."""
        end_s = self._result.recorded_until(series)
        if of in self._lives:
            start_s, end_s = self._starts[of] or 0.0, min(end_s, self._lives[of])
            return [(start_s, end_s)] if start_s < end_s else []
        spans, since_s = [], 0.0
        for begin_s, until_s in self._absences.get(of, ()):
            if begin_s > since_s:
                spans.append((since_s, min(begin_s, end_s)))
            since_s = end_s if until_s is None else until_s
        if since_s < end_s:
            spans.append((since_s, end_s))
        return [span for span in spans if span[0] < span[1]]

    def find_routes(self, flow: str) -> list[tuple[float, list[str]]]:
        """Return the routes of the data of a flow, each with its begin, s."""
        kinds = dict(zip(self._result.scenario.flow_names, self._result.scenario.flow_kinds, strict=True))
        of = flow if flow in kinds else flow.rpartition(".")[0]
        side = "reverse_route" if kinds[of] in TWO_WAY else "route"
        ways = [*self._network["flows"], *self._network["subflows"]]
        found = next(each for each in ways if each["flow"] == flow)
        later = [(each["time_s"], each["route"] or []) for each in found[f"{side}s_later"]]
        return [(0.0, found[side] or []), *later]

    def find_life(self, flow: str) -> Span | None:
        """Return the begin and end of a flow, s; None for a flow that has not started."""
        start_s = self._starts[flow]
        return None if start_s is None else (start_s, self._lives[flow])

    @cached_property
    def _network(self) -> dict[str, Any]:
        return self._result.scenario.network()

    @cached_property
    def _absences(self) -> dict[str, Sequence[tuple[float, float | None]]]:
        return {link["link"]: link["away_s"] for link in self._network["links"]}

    @cached_property
    def _starts(self) -> dict[str, float | None]:
        return {flow: start_s for flow, start_s, *_ in self._rows()}

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Name, start, completion and outcome of each flow, and of each subflow, which ends with its flow."""
        columns = ("flow", "start_s", "completion_s", "outcome")
        yield from self._result.flows.select(columns).iter_rows()
        ends = dict(self._result.flows.select("flow", pl.col("start_s") + pl.col("completion_s")).iter_rows())
        for flow, start_s, outcome, of in self._result.subflows.select(
            "flow", "start_s", "outcome", "subflow_of"
        ).iter_rows():
            end_s = ends[of]
            yield flow, start_s, None if None in (end_s, start_s) else end_s - start_s, outcome

    @cached_property
    def _lives(self) -> dict[str, float]:
        """End of each flow: its completion, the end of its connection, or that of the run."""
        result = self._result
        ends = {}
        for flow, start_s, completion_s, outcome in self._rows():
            end_s = result.simulated_s
            if completion_s is not None:
                end_s = start_s + completion_s
            elif outcome == "aborted":
                end_s = self._aborts.get(flow, end_s)
            ends[flow] = end_s if start_s is not None else 0.0
        return ends

    @cached_property
    def _aborts(self) -> dict[str, float]:
        """Instant at which each flow gave up, if its decisions were recorded."""
        recorded = self._result.recorded
        rows = recorded.get("decisions", self._result.events)
        ends = rows.filter(pl.col("event").is_in(["aborted", "peer_lost"]))
        return dict(ends.group_by("flow").agg(pl.col("time_s").max()).iter_rows())

    def _route_queue(self, flow: str) -> Curve:
        lanes = list_subflows(self._result.scenario, flow)
        if lanes:
            return _fullest([self._route_queue(lane) for lane in lanes])
        routes = self.find_routes(flow)
        ends = [*(begin_s for begin_s, _ in routes[1:]), self._result.simulated_s]
        life = self.find_life(flow)
        end_s = life[1] if life else 0.0
        parts = []
        queues: dict[str, Curve] = {}
        for (begin_s, links), until_s in zip(routes, ends, strict=True):
            for link in links:
                if link not in queues:
                    queues[link] = self.make("queue_bytes", link)
            span = (max(begin_s, life[0]) if life else begin_s, min(until_s, end_s))
            if span[0] < span[1]:
                parts.append(_fullest([queues[link].within(span) for link in links]))
        parts = [part for part in parts if len(part.begins)]
        names = ("begins", "ends", "values", "least", "greatest")
        joined = [np.concatenate([getattr(part, name) for part in parts]) if parts else np.zeros(0) for name in names]
        return Curve("level", *joined)


def _fullest(curves: Sequence[Curve]) -> Curve:
    """Return the largest value of several curves at each instant at which any of them is known."""
    curves = [curve for curve in curves if len(curve.begins)]
    if len(curves) < 2:
        return curves[0] if curves else Curve("level", *(np.zeros(0) for _ in range(5)))
    edges = np.unique(np.concatenate([each for curve in curves for each in (curve.begins, curve.ends)]))
    found = [np.full(len(edges) - 1, -np.inf) for _ in range(3)]
    for curve in curves:
        place = np.maximum(np.searchsorted(curve.begins, edges[:-1], side="right") - 1, 0)
        there = (curve.begins[place] <= edges[:-1]) & (curve.ends[place] >= edges[1:])
        for array, source in zip(found, (curve.values, curve.least, curve.greatest), strict=True):
            array[there] = np.maximum(array[there], source[place[there]])
    there = np.isfinite(found[0])
    return Curve("level", edges[:-1][there], edges[1:][there], *(array[there] for array in found))
