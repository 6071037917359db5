"""Conditions of a search: parts of a scenario over the rest, shares of time, and draws of traces."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.errors import BentpipeError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from bentpipe import _core
    from bentpipe.scenario.scenario import Scenario

Sets = list[tuple[str, str]]


@dataclass(frozen=True)
class Condition:
    """A condition: its name in the scenario, its share of time, and overrides for each draw."""

    name: str
    share: float
    draws: tuple[Sets, ...] = field(default=(), hash=False)
    """Overrides that put the traces of a draw in place; empty without draws."""

    def draw(self, block: int) -> Sets:
        """Return the overrides of a block. Each block has the next draw."""
        return self.draws[block % len(self.draws)] if self.draws else []

    def scenario(self, core: _core.Scenario, sets: Sets, block: int = 0) -> _core.Scenario:
        """Return the scenario with these settings in a block."""
        return core.under(self.name, [*sets, *self.draw(block)])


def conditions(scenario: Scenario, written: Sequence[Mapping[str, Any]]) -> list[Condition]:
    """Check the conditions of a scenario and find the files of their draws.

    Raises
    ------
    BentpipeError
        Only some conditions have a weight and they leave no time for the others, or draws do not fit the scenario.
    """
    shares = _shares(written)
    return [
        Condition(each["name"], float(share), _draws(scenario, each))
        for each, share in zip(written, shares, strict=True)
    ]


def _shares(written: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    weights = [each["weight"] for each in written]
    if all(weight is None for weight in weights):
        return np.full(len(weights), 1 / len(weights))
    rest = 1 - sum(weight for weight in weights if weight is not None)
    others = weights.count(None)
    if others and rest <= 0:
        raise BentpipeError(
            f"the weights of the conditions are 1 or more, and {written[weights.index(None)]['name']} has no weight\n"
            "  expected weights below 1 together"
        )
    found = np.array([rest / others if weight is None else weight for weight in weights])
    return np.asarray(found / found.sum())


def _draws(scenario: Scenario, condition: Mapping[str, Any]) -> tuple[Sets, ...]:
    pattern, folder = condition["draws"], scenario.folder
    if pattern is None:
        return ()
    if folder is None:
        raise BentpipeError(f"draws = {pattern!r} of a scenario without a folder\n  expected a scenario from a file")
    files = sorted(Path(folder).glob(pattern))
    if not files:
        raise BentpipeError(f"draws = {pattern!r}: {folder} has no such file\n  expected files that bentpipe fit wrote")
    text, form = scenario.written
    traces = list(_traces(json.loads(text) if form == "json" else tomllib.loads(text)))
    return tuple(_placed(path, folder, traces, pattern) for path in files)


def _traces(content: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """List the keys of traces in the links of a scenario, with their columns."""
    for name, value in content.items():
        key = f"{path}.{name}" if path else name
        if key.partition(".")[0] != "link" or not isinstance(value, dict):
            continue
        if "file" in value and "column" in value:
            yield key, value["column"]
        else:
            yield from _traces(value, key)


def _placed(path: Path, folder: str, traces: Sequence[tuple[str, str]], pattern: str) -> Sets:
    """Return the overrides that replace each trace by the column of its name in a draw."""
    with path.open(newline="", encoding="utf-8") as file:
        columns = set(next(csv.reader(file), []))
    name = str(path.relative_to(folder))
    sets = [(f"{key}.file", name) for key, column in traces if column in columns]
    if not sets:
        known = ", ".join(f"{key} (column {column})" for key, column in traces) or "none"
        raise BentpipeError(
            f"draws = {pattern!r}: {name} has no column of a trace in the scenario\n  expected one of: {known}"
        )
    return sets
