"""The grid of a sweep: its points, each with its scenario, and what arguments add to the table `[sweep]`."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from bentpipe.errors import ScenarioError
from bentpipe.experiment import options
from bentpipe.metrics import SENDERS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe import _core
    from bentpipe.scenario.scenario import Scenario

KEPT_SCENARIOS = 1024
"""Of points, ready to be run again with another seed. A scenario takes some tens of kilobytes."""


@dataclass(frozen=True)
class Until:
    """When a point has been run often enough."""

    metric: str
    half_width: float
    """Of the mean's 95 % interval at most, as a share of the mean."""


@dataclass(frozen=True)
class Point:
    """A point of the grid."""

    index: int
    positions: tuple[int, ...]
    """On each axis."""
    values: dict[str, Any]
    """By key of the scenario, as written."""
    digest: str
    """Hash of all that decides its results, but the seed."""


class Grid:
    """What a sweep runs.

    Attributes
    ----------
    scenario : Scenario
        With its table `[sweep]`.
    senders : dict
        By name, the congestion controls of one's own that it may name.
    keys : list of str
        The keys that vary, in the order of the axes; without any there is one point.
    seed : int
        Replication k of each point has this seed + k.
    replications, replications_max : int
        Runs of each point; at most, where `until` decides.
    until : Until or None
    metrics : list of str
        What is reported.
    tables : list of str
        Tables of each run that are kept.
    against : str or None
        The congestion control or case that every other one is compared with.

    Raises
    ------
    ScenarioError
        There is no such metric, or none; a key that varies has no influence on a run; points share runs; `against` is
        none of those that vary.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        # Time series would only cost memory here.
        self._core = scenario.replace("record.series", [])._core
        text = self._core.sweep()
        written = json.loads(text) if text else {"axes": []}
        self.axes: list[tuple[list[str], list[list[Any]]]] = [
            (axis["keys"], axis["values"]) for axis in written["axes"]
        ]
        self.keys = [key for keys, _ in self.axes for key in keys]
        self.seed = scenario.seed
        self.senders = scenario.senders
        self.replications: int = written["replications"]
        self.replications_max: int = written["replications_max"]
        self.until = Until(**written["until"]) if written["until"] else None
        self.metrics: list[str] = written["metrics"]
        self.tables: list[str] = written["tables"]
        if self.until is not None and self.until.half_width <= 0:
            raise ScenarioError(
                "error: a half width of 0: no interval becomes that narrow\n  expected a share above 0, such as 2 %"
            )
        if not self.metrics:
            raise ScenarioError(
                "error: no metrics: nothing would be reported\n  expected at least one, such as goodput"
            )
        for key in self.keys:
            if key == "sweep" or key.startswith(("sweep.", "case.")):
                raise ScenarioError(
                    f"error: {key} cannot vary: it is no part of a run\n"
                    "  expected keys of the scenario, or case with the names of its cases"
                )
        for metric in [*self.metrics, *([self.until.metric] if self.until else [])]:
            options.checked(metric=metric)
        self.against = self._against(written["against"])
        self._cached = lru_cache(KEPT_SCENARIOS)(self._core.point)

    def _against(self, asked: str | None) -> str | None:
        if asked is None:
            return None
        varied = {key: [row[keys.index(key)] for row in values] for keys, values in self.axes for key in keys}
        key = next((key for key in SENDERS if key in varied), None)
        if key is None:
            raise ScenarioError(
                f"error: nothing to compare with {asked}: neither congestion controls nor cases vary\n"
                "  expected --vary tcp.cc=A,B or case=A,B"
            )
        return options.one_of(asked, list(map(str, varied[key])))

    def __len__(self) -> int:
        """Number of points."""
        size = 1
        for _, values in self.axes:
            size *= len(values)
        return size

    def points(self, tell: Callable[[], object] = lambda: None) -> list[Point]:
        """Every point, checked: what is wrong with one is said before anything is run.

        Raises
        ------
        ScenarioError
            All problems of the first point that makes no sense.
        """
        found: list[Point] = []
        for index, positions in enumerate(product(*(range(len(values)) for _, values in self.axes))):
            found.append(Point(index, positions, self._values(positions), self._point(positions).digest))
            if index % 256 == 0:
                tell()
        if "seed" in self.keys:
            self._refuse_common_runs(found)
        return found

    def _refuse_common_runs(self, points: Sequence[Point]) -> None:
        """Refuse points whose runs are the same: their means would not be independent, and would not look it."""
        most = self.replications if self.until is None else self.replications_max
        seeds: dict[str, list[int]] = {}
        for point in points:
            seeds.setdefault(point.digest, []).append(self.first_seed(point))
        for first in map(sorted, seeds.values()):
            near = next((pair for pair in pairwise(first) if pair[1] - pair[0] < most), None)
            if near is not None:
                raise ScenarioError(
                    f"error: the points of seed {near[0]} and {near[1]} share runs: {most} replications have the seeds "
                    f"{near[0]} to {near[0] + most - 1}\n"
                    f"  expected seeds that are {most} or more apart, one replication, or no seed that varies"
                )

    def core(self, point: Point) -> _core.Scenario:
        """The scenario of a point, for the core."""
        return self._cached(point.positions)

    def first_seed(self, point: Point) -> int:
        """Of a point's first replication. A seed that is varied itself is where a point begins."""
        return self.core(point).seed if "seed" in self.keys else self.seed

    def seeds(self, point: Point, replications: range) -> list[int]:
        """Of these replications of a point."""
        first = self.first_seed(point)
        return [(first + k) % 2**64 for k in replications]

    def _values(self, positions: Sequence[int]) -> dict[str, Any]:
        rows = [values[at] for (_, values), at in zip(self.axes, positions, strict=True)]
        return dict(zip(self.keys, (value for row in rows for value in row), strict=True))

    def _point(self, positions: tuple[int, ...]) -> _core.Scenario:
        try:
            return self._cached(positions)
        except ScenarioError as error:
            where = ", ".join(f"{key}={value}" for key, value in self._values(positions).items())
            raise ScenarioError(f"{error}\n  at the point {where}") from None


def arguments(
    vary: Mapping[str, Any] | None = None,
    together: Sequence[Mapping[str, Any]] | None = None,
    *,
    replications: int | None = None,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metrics: Sequence[str] | None = None,
    tables: Sequence[str] | None = None,
    against: str | None = None,
) -> list[tuple[str, Any]]:
    """What these say, as values over the table `[sweep]` of a scenario.

    Raises
    ------
    ScenarioError
        One key is a part of another: the values of one would undo those of the other.
    """
    keys = [key for group in (vary or {}, *(together or ())) for key in group]
    for key in keys:
        whole = next((other for other in keys if key.startswith(f"{other}.")), None)
        if whole is not None:
            raise ScenarioError(f"error: {key} is a part of {whole}, and both vary\n  expected one of them")
    sets: list[tuple[str, Any]] = [(f"sweep.vary.{key}", values) for key, values in (vary or {}).items()]
    plain = {
        "together": list(together) if together else None,
        "replications": replications,
        "replications_max": replications_max,
        "until": until,
        "metrics": metrics,
        "tables": tables,
        "against": against,
    }
    return sets + [(f"sweep.{key}", value) for key, value in plain.items() if value is not None]


def parsed(texts: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """`KEY=VALUES` each, or `KEY=VALUES; KEY=VALUES` for keys that go together: what varies, and what goes together.

    VALUES is a list with commas (`newreno,sack`), a range with its number of values (`1e-5..1e-1:9:log`,
    `1 Mbit/s..9 Mbit/s:5`), or a list or range as in a file.

    >>> parsed(["tcp.cc=newreno,sack", "tcp.smss=536 B,1460 B; link.l.error.rate=0,1e-3"])
    ({'tcp.cc': ['newreno', 'sack']}, [{'tcp.smss': ['536 B', '1460 B'], 'link.l.error.rate': [0, 0.001]}])
    """
    vary: dict[str, Any] = {}
    together = []
    for text in texts:
        group: dict[str, Any] = {}
        for part in _split(text, ";"):
            key, equals, values = part.partition("=")
            if not equals or not key.strip() or not values.strip() or key.strip() in group or key.strip() in vary:
                raise ScenarioError(
                    f"error: --vary {text}\n  expected each key once, with its values: tcp.cc=newreno,sack,"
                    " or link.up.error.rate=1e-5..1e-1:9:log"
                )
            group[key.strip()] = _values(key.strip(), values.strip())
        if not group:
            raise ScenarioError(
                f"error: --vary {text!r} says nothing\n  expected a key with values: tcp.cc=newreno,sack"
            )
        if len(group) == 1:
            vary |= group
        else:
            together.append(group)
    return vary, together


_RANGE = re.compile(r"(?P<from>[^,]+?)\.\.(?P<to>[^,:]+?):(?P<count>\d+)(?P<log>:log)?")
_NEARLY = re.compile(r"[-+.]?\d[^,\"']*\.\.\s*[-+.]?\d[^,]*")
"""Two numbers with two points between them: meant as a range, whatever follows."""


def _values(key: str, text: str) -> Any:
    found = _RANGE.fullmatch(text)
    if not found and _NEARLY.fullmatch(text):
        raise ScenarioError(
            f"error: --vary {key}={text} is no range\n"
            "  expected FROM..TO:COUNT, or FROM..TO:COUNT:log, like 1e-5..1e-1:9:log"
        )
    if found:
        ends = {"from": _value(found["from"]), "to": _value(found["to"]), "count": int(found["count"])}
        return ends | ({"scale": "log"} if found["log"] else {})
    whole = _value(text)
    if isinstance(whole, list) or (isinstance(whole, dict) and {"from", "to"} <= whole.keys()):
        return whole
    return [_value(part) for part in _split(text, ",")]


def _value(text: str) -> Any:
    """As TOML, or else the text itself."""
    try:
        content = tomllib.loads(f"value = {text.strip()}\n")
    except tomllib.TOMLDecodeError:
        return text.strip()
    value = content.get("value")
    return value if len(content) == 1 and isinstance(value, (bool, int, float, str, list, dict)) else text.strip()


def _split(text: str, separator: str) -> list[str]:
    """Parts between separators that stand in no brackets and no quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "[{") - (letter in "]}")
        if letter == separator and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in map(str.strip, parts) if part]
