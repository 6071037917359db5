"""Conditions of a search: overrides of the scenario, shares of time, and draws of traces."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import files
from bentpipe.errors import BentpipeError
from bentpipe.scenario.overrides import parse_text

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
    """For each draw, the overrides that select its traces; empty without draws."""

    def draw(self, block: int) -> Sets:
        """Return the overrides of a block. Blocks take the draws in turn."""
        return self.draws[block % len(self.draws)] if self.draws else []

    def scenario(self, core: _core.Scenario, sets: Sets, block: int = 0) -> _core.Scenario:
        """Return the scenario with these settings in a block."""
        return core.under(self.name, [*sets, *self.draw(block)])


def conditions(scenario: Scenario, written: Sequence[Mapping[str, Any]]) -> list[Condition]:
    """Check the conditions of a scenario and find the files of their draws.

    Raises
    ------
    BentpipeError
        The weights of some conditions leave no time for conditions without a weight, or draws do not fit the scenario.
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
    found = _inside(Path(folder), pattern)
    if not found:
        raise BentpipeError(
            f"tune.condition.{condition['name']}: draws = {pattern!r}: {folder} has no such file\n"
            "  expected files that bentpipe fit wrote"
        )
    traces = list(_traces(parse_text(*scenario.written)))
    return tuple(_replace_traces(path, folder, traces, pattern) for path in found)


def _inside(folder: Path, pattern: str) -> list[Path]:
    """List the files of a pattern, in order. They are below the folder of the scenario, as all its files."""
    try:
        if ".." in Path(pattern).parts:
            raise ValueError
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    except (ValueError, NotImplementedError):
        raise BentpipeError(
            f"draws = {pattern!r}: the pattern leaves the folder of the scenario\n"
            "  expected a pattern such as path.data/draws/*.csv"
        ) from None


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


def _replace_traces(path: Path, folder: str, traces: Sequence[tuple[str, str]], pattern: str) -> Sets:
    """Return the overrides that replace each trace by the column of its name in a draw."""
    name = str(path.relative_to(folder))
    try:
        with path.open(newline="", encoding="utf-8") as file:
            columns = set(next(csv.reader(file), []))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = files.reason(error) if isinstance(error, OSError) else "it is not CSV in UTF-8"
        raise BentpipeError(
            f"draws = {pattern!r}: {name} cannot be read: {why}\n  expected files that bentpipe fit wrote"
        ) from None
    sets = [(f"{key}.file", name) for key, column in traces if column in columns]
    if not sets:
        known = ", ".join(f"{key} (column {column})" for key, column in traces) or "none"
        raise BentpipeError(
            f"draws = {pattern!r}: {name} has no column of a trace in the scenario\n  expected one of: {known}"
        )
    return sets
