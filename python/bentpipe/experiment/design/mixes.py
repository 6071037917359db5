"""Runs of a mix at each point of a grid."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from bentpipe import _core, arguments
from bentpipe.catalog import cc_keys
from bentpipe.errors import ScenarioError
from bentpipe.experiment.common.commands import vary_key
from bentpipe.experiment.design.design import Design, Point
from bentpipe.experiment.design.grid import arguments as sweep_arguments
from bentpipe.experiment.design.grid import with_axes
from bentpipe.experiment.results.mix import VERB
from bentpipe.experiment.results.mixes import Mixes, find_part
from bentpipe.own.loading import unite_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bentpipe.experiment.design.mixed import Mixed
    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.scenario.scenario import Scenario

STAGGER = "stagger"
"""Varied key that is not a key of the scenario: time between the starts of the copies of a flow."""


def list_points(scenario: Scenario, vary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the values by key of each point of a grid of mixes.

    Raises
    ------
    ScenarioError
        A key cannot vary, or there is none.
    """
    expected = "keys with their values: {'link.sat.delay': ['20 ms', '260 ms']}"
    axes = dict(arguments.mapping("vary", vary, expected))
    staggers = axes.pop(STAGGER, [0.0])
    if not isinstance(staggers, (list, tuple)) or not staggers:
        raise ScenarioError(
            f"stagger = {staggers!r} is not a list of times\n  expected {{vary}}", vary={STAGGER: ["0s"]}
        )
    for key in axes:
        if key in ("seed", "case", *cc_keys()):
            raise ScenarioError(f"{key} cannot vary: all points have the same cases and seeds\n  expected {expected}")
    found = _expand_axes(scenario, axes) if axes else []
    if STAGGER in vary:
        found.append((STAGGER, list(staggers)))
    if not found:
        raise ScenarioError("there is no key to vary\n  expected {vary}", vary={STAGGER: ["0s", "10s"]})
    # In the given order.
    found.sort(key=lambda axis: list(vary).index(axis[0]))
    keys = [key for key, _ in found]
    return [dict(zip(keys, row, strict=True)) for row in product(*(values for _, values in found))]


@contextmanager
def locate_errors(values: Mapping[str, Any]) -> Iterator[None]:
    """Add the point to errors."""
    try:
        yield
    except ScenarioError as error:
        where = ", ".join(f"{key}={value}" for key, value in values.items())
        raise error.change_problems(where=f"at the point {where}") from None


def _expand_axes(scenario: Scenario, axes: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return the values of each key. Ranges have their numbers."""
    whole = with_axes(scenario.with_sets, sweep_arguments(axes))
    text = whole._core.sweep()
    assert text, "keys vary"
    written = {key: values for each in json.loads(text)["axes"] for key, values in _split_axis(each)}
    return [(key, written[key]) for key in axes]


def _split_axis(axis: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for at, key in enumerate(axis["keys"]):
        yield key, [row[at] for row in axis["values"]]


class MixedGrid(Design["Mixes"]):
    """Runs of a mix at each point of a grid: those of each mix, one after the other."""

    verb = VERB

    def __init__(
        self,
        scenario: Scenario,
        vary: Mapping[str, Any],
        cases: Mapping[str, Mapping[str, Any]],
        parts: Sequence[tuple[dict[str, Any], Mixed]],
    ) -> None:
        self.scenario, self.vary, self.cases = scenario, vary, cases
        self.values, self.parts = [values for values, _ in parts], [part for _, part in parts]
        first = self.parts[0]
        self.senders = unite_classes(*(part.senders for part in self.parts))
        self.keys = [*self.values[0], *first.keys]
        self.seed, self.judgement, self.metrics, self.tables = first.seed, first.judgement, first.metrics, first.tables
        self.replications, self.replications_max, self.until = first.replications, first.replications_max, first.until
        self.of_part = len(first.points)
        self.points = [
            replace(point, index=number * self.of_part + point.index, values={**values, **point.values})
            for number, (values, part) in enumerate(parts)
            for point in part.points
        ]

    def _local(self, point: Point) -> tuple[Mixed, Point]:
        """Return the mix of a point, and the point as the mix numbers it."""
        number, index = divmod(point.index, self.of_part)
        return self.parts[number], self.parts[number].points[index]

    def core(self, point: Point, replication: int = 0) -> _core.Scenario:
        part, local = self._local(point)
        return part.core(local, replication)

    def result(self, sweep: Sweep) -> Mixes | None:
        return Mixes.from_sweep(sweep, self.scenario, [(part.scenario, part.plan) for part in self.parts])

    def again(self, point: Point, replication: int) -> dict[str, Any] | None:
        """Return None: a mix is no scenario with overrides."""
        return None

    def name_point(self, point: Point) -> str:
        part, local = self._local(point)
        values = self.values[point.index // self.of_part]
        return f"{part.name_point(local)} at {', '.join(f'{key}={value}' for key, value in values.items())}"

    def find_replications(self, point: Point) -> tuple[int, int]:
        part, local = self._local(point)
        return part.find_replications(local)

    def counts(self) -> list[int]:
        return [count for part in self.parts for count in part.counts()]

    def grow_counts(self, counts: Sequence[int], so_far: Callable[[], Sweep]) -> list[int]:
        if self.until is None:
            return list(counts)
        sweep, grown = so_far(), []
        for number, part in enumerate(self.parts):
            first = number * self.of_part
            own = find_part(sweep, first, self.of_part)
            grown += part.grow_counts(counts[first : first + self.of_part], lambda own=own: own)  # type: ignore[misc]
        return grown

    def facts(self) -> dict[str, Any]:
        first = self.parts[0]
        return {
            "sets": [*self.scenario.sets, (vary_key(), json.dumps(first.plan.names)), *self.sets()],
            "cases": json.loads(json.dumps(self.cases, default=str)),
            "asked": first.asked,
            "fair": first.fair,
            "vary": dict(self.vary),
            "parts": [{"scenario": part.scenario.resolve(), "plan": part.plan.facts()} for part in self.parts],
        }
