"""What a sweep gave: a row per run, intervals per point, and what can be said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import human
from bentpipe.metrics import METRICS, named
from bentpipe.statistics.comparing import differences, sentence, statement
from bentpipe.statistics.estimates import estimate
from bentpipe.sweeps import tasks
from bentpipe.sweeps.frames import column
from bentpipe.sweeps.store import FAILURES, Store

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bentpipe.statistics.comparing import Difference
    from bentpipe.statistics.estimates import Estimate

    Values = NDArray[np.float64]

CONFIDENCE = 0.95
SENDERS = ("tcp.cc", "case")
"""Keys whose values are compared with each other where they vary; the other keys are the conditions."""


@dataclass(frozen=True)
class Contrast:
    """A sender against another one, at each combination of the other keys that both have."""

    metric: str
    sender: str
    other: str
    settings: dict[str, dict[str, Any]]
    """By name of the condition, the values of its keys."""
    differences: dict[str, Difference]
    """By name of the condition; its name is empty if no other key varies."""

    def __str__(self) -> str:
        """What can be said."""
        if not self.differences:
            return f"{self.sender} and {self.other} have no setting of the other keys in common"
        if list(self.differences) == [""]:
            return statement(self.sender, self.other, self.differences[""], METRICS[self.metric])
        return sentence(self.sender, self.other, self.differences, METRICS[self.metric])


@dataclass(frozen=True, repr=False, eq=False)
class Sweep:
    """The result of a sweep: all runs of its grid that are in the store.

    Attributes
    ----------
    title : str
        Of the scenario.
    keys : list of str
        Keys of the scenario that vary.
    metrics : list of str
        What is reported.
    points : polars.DataFrame
        One row per point of the grid: `point` (its number), a column per key, `replications` (wanted).
    runs : polars.DataFrame
        One row per run: `point`, a column per key, `replication`, `seed`, `run` (its name), a column per metric.
    failures : list of dict
        Runs that failed: `id`, `parameters`, `message`, `replay` (a scenario file that shows it again).
    facts : dict
        Where the sweep is from: `source`, `sets`, `scenario` (resolved), `seed`, `version`, `versions` (that made the
        runs), `results` (their number, see `docs/concepts/results.md`), `senders` (by name, of each congestion control
        of one's own its `class`, as `FILE.py:CLASS`, and a hash of its `code`), `aside` (runs in the store that another
        simulator gave, and that are not used: `results`, `runs`, `versions`, `folder`).
    """

    title: str
    keys: list[str]
    metrics: list[str]
    points: pl.DataFrame
    runs: pl.DataFrame
    failures: list[dict[str, str]]
    facts: dict[str, Any]
    _tables: dict[str, pl.DataFrame]
    _contrasts: dict[str, list[Contrast]] = field(default_factory=dict, init=False)
    """By metric, those that were asked for: in a large grid they take seconds."""

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Sweep:
        """The sweep that was last begun in a store; the store is only read.

        Raises
        ------
        BentpipeError
            It is not a store, of another version, or damaged.
        """
        with Store(folder, is_read_only=True) as store:
            return cls.of(store)

    @classmethod
    def of(cls, store: Store, facts: Mapping[str, Any] | None = None) -> Sweep:
        """A sweep in an open store, which `facts` describe as `Store.begun` has them: the one that was last begun."""
        facts = facts or store.begun()
        if facts is None:
            raise store.has_no_sweep()
        keys, written = facts["keys"], facts["points"]
        points = pl.DataFrame({"point": range(len(written))}, schema={"point": pl.Int64}).with_columns(
            *(column(key, [row[0][at] for row in written]) for at, key in enumerate(keys)),
            pl.Series("replications", [row[3] for row in written], dtype=pl.Int64),
        )
        # Two points may have runs in common, such as seeds 1 and 2 with two replications.
        wanted = [
            (tasks.name(digest, (first + k) % 2**64), index, k)
            for index, (_, digest, first, count) in enumerate(written)
            for k in range(count)
        ]
        names = {id_ for id_, *_ in wanted}
        place = pl.DataFrame(
            wanted,
            schema={"run": pl.String, "point": pl.Int64, "replication": pl.Int64},
            orient="row",
        )
        frames = store.frames(facts["tables"], names)
        metrics = [metric.column for metric in METRICS.values()]
        # A seed that is varied is where a point begins; each run shows its own.
        of_points = [key for key in keys if key != "seed"]
        runs = (
            place.join(frames["runs"].select("run", "seed", *metrics), on="run", how="inner", maintain_order="left")
            .join(points.select("point", *of_points), on="point", maintain_order="left")
            .select("point", *of_points, "replication", "seed", "run", *metrics)
        )
        tables = {
            name: runs.select("point", *of_points, "replication", "run").join(
                frame, on="run", maintain_order="left_right"
            )
            for name, frame in frames.items()
            if name != "runs"
        }
        failures = [
            {**failure, "replay": str(store.folder / FAILURES / f"{failure['id']}.json")}
            for failure in store.failures()
            if failure["id"] in names
        ]
        own = {name: fact for name, fact in facts.items() if name != "points"}
        of_runs = frames["runs"].join(place.select("run").unique(), on="run", how="semi")["version"]
        own["versions"] = of_runs.unique().sort().to_list()
        return cls(facts["title"], keys, facts["metrics"], points, runs, failures, own, tables)

    def table(self, name: str) -> pl.DataFrame:
        """A table of all runs that was kept (`flows`, `links`, ...): its columns, the point's in front.

        Raises
        ------
        KeyError
            The sweep did not ask for it.
        """
        return self._tables[name]

    @property
    def missing(self) -> int:
        """Runs that are wanted and not there: not done yet, or failed."""
        return int(self.points["replications"].sum()) - self.runs.height

    @property
    def summary(self) -> pl.DataFrame:
        """A row per point: the keys, `replications` (with a value), of each reported metric mean, `_low` and `_high`.

        `_low` to `_high` is Student's 95 % interval; null with a single replication.
        """
        found = {METRICS[name].column: self.estimates(name) for name in self.metrics}
        first = next(iter(found.values()))
        return self.points.with_columns(
            pl.Series("replications", [each.replications for each in first], dtype=pl.Int64),
            *(
                pl.Series(f"{column}{end}", [getattr(each, of) for each in estimates], dtype=pl.Float64)
                for column, estimates in found.items()
                for end, of in (("", "value"), ("_low", "low"), ("_high", "high"))
            ),
        )

    def estimates(self, metric: str) -> list[Estimate]:
        """The mean of a metric at each point of the grid, with Student's 95 % interval."""
        values = self.values(metric)
        return [estimate(values[point], CONFIDENCE) for point in self.points["point"]]

    def values(self, metric: str) -> dict[int, Values]:
        """By point, a metric in each replication that is wanted; NaN where a run is missing or has no value."""
        rows = self.runs.select("point", "replication", METRICS[metric].column).iter_rows()
        found = {
            point: np.full(count, np.nan) for point, count in self.points.select("point", "replications").iter_rows()
        }
        for point, replication, value in rows:
            found[point][replication] = np.nan if value is None else value
        return found

    def statements(self, metric: str | None = None) -> list[str]:
        """What can be said with confidence about a metric (the first that is reported), in plain words.

        Where senders (`tcp.cc`) or cases vary, the best is compared with each other one at each combination of the
        other keys, in pairs of equal seeds and corrected for all of these (Holm). Otherwise the best and the worst
        point are named.
        """
        what = named(metric or self.metrics[0])
        if self.runs[what.column].is_null().all():
            return [f"there is no {what.name} in any of the runs"]
        sender = self._sender
        count = max(self.points["replications"].to_list())
        said = ["one replication: no intervals, and any difference may be chance"] if count == 1 else []
        said += self._extremes(what.name) if sender is None else self._against(what.name)
        return said + self._unknown(what.name)

    def plot(self, metric: str | None = None) -> Figure:
        """A matplotlib figure: mean and 95 % interval over the key that varies most, a line per combination."""
        from bentpipe.plot import sweep_figure

        return sweep_figure(self, metric or self.metrics[0])

    def to_dict(self) -> dict[str, Any]:
        """All of it but the kept tables as plain data, fit for JSON."""
        return {
            "title": self.title,
            **{key: self.facts[key] for key in ("source", "sets", "seed", "version", "results", "senders", "aside")},
            "keys": self.keys,
            "metrics": self.metrics,
            "statements": self.statements(),
            "summary": self.summary.to_dicts(),
            "runs": self.runs.to_dicts(),
            "missing": self.missing,
            "failures": self.failures,
        }

    def __repr__(self) -> str:
        return f"<Sweep {self.title!r}: {self.points.height} points, {self.runs.height} runs of {', '.join(self.keys)}>"

    def _repr_html_(self) -> str:
        return "".join(f"<p>{statement}</p>" for statement in self.statements()) + self.summary._repr_html_()

    def contrasts(self, metric: str) -> list[Contrast]:
        """The best sender (or case) against each other one; empty where none vary, or only one has the metric.

        All differences are corrected together (Holm).
        """
        if metric not in self._contrasts:
            self._contrasts[metric] = self._compared(metric)
        return self._contrasts[metric]

    def _compared(self, metric: str) -> list[Contrast]:
        sender = self._sender
        if sender is None:
            return []
        count = self.points[sender].n_unique()
        # What goes with the sender is part of it, not a condition under which it is compared.
        others = [key for key in self.keys if key != sender and self.points.select(sender, key).n_unique() > count]
        samples: dict[str, dict[str, Values]] = {}
        settings: dict[str, dict[str, Any]] = {}
        of_points = self.values(metric)
        for row, condition in zip(self.points.iter_rows(named=True), _conditions(self.points, others), strict=True):
            settings[condition] = {key: row[key] for key in others}
            samples.setdefault(row[sender], {})[condition] = of_points[row["point"]]
        means = {
            name: np.nanmean(np.concatenate(list(found.values())))
            for name, found in samples.items()
            if any(np.isfinite(values).any() for values in found.values())
        }
        best, *rest = sorted(means, key=lambda name: means[name], reverse=METRICS[metric].is_more_better) or [""]
        pairs = [(other, at) for other in rest for at in samples[best] if at in samples[other]]
        found = differences(
            [_paired(samples[best][at], samples[other][at]) for other, at in pairs], confidence=CONFIDENCE
        )
        by_other: dict[str, dict[str, Difference]] = {other: {} for other in rest}
        for (other, at), difference in zip(pairs, found, strict=True):
            by_other[other][at] = difference
        return [
            Contrast(metric, best, other, {at: settings[at] for at in by_condition}, by_condition)
            for other, by_condition in by_other.items()
        ]

    def _unknown(self, metric: str) -> list[str]:
        """Where it was to be known better than it is."""
        until = self.facts.get("until")
        if until is None or until["metric"] != metric:
            return []
        found = self.estimates(metric)
        wide = sum(each.mean is not None and not is_known(each, until["half_width"]) for each in found)
        if not wide:
            return []
        most = max(each.replications for each in found)
        return [
            f"the interval of {metric} is still wider than ± {100 * until['half_width']:g} % at {wide} of"
            f" {len(found)} points, after at most {most} runs of each"
        ]

    @property
    def _sender(self) -> str | None:
        return next((key for key in SENDERS if key in self.keys and self.points[key].n_unique() > 1), None)

    def _against(self, metric: str) -> list[str]:
        contrasts = self.contrasts(metric)
        if not contrasts:
            column = METRICS[metric].column
            places = self.runs.filter(pl.col(column).is_not_null())["point"].unique()
            names = self.points.filter(pl.col("point").is_in(places.implode()))[self._sender or ""]
            return [f"only {names[0]} has a {metric}: there is nothing to compare it with"]
        return [str(contrast) for contrast in contrasts]

    def _extremes(self, metric: str) -> list[str]:
        column, unit = METRICS[metric].column, METRICS[metric].unit
        summary = self.summary.filter(pl.col(column).is_not_null()).sort(column, maintain_order=True)
        divisor, text = human.scale(summary[column].to_list(), unit)
        said = []
        ends = {" is lowest": 0, " is highest": -1} if summary.height > 1 else {"": 0}
        for word, end in ends.items():
            row = summary.row(end, named=True)
            half = (
                None if row[f"{column}_low"] is None else (row[f"{column}_high"] - row[f"{column}_low"]) / 2 / divisor
            )
            mean, margin = human.mean_and_margin(row[column] / divisor, half)
            where = ", ".join(f"{human.short_key(key, self.keys)} {human.setting(row[key])}" for key in self.keys)
            amount = f"{mean} {text}".rstrip() if margin is None else f"{mean} ± {margin} {text}".rstrip()
            said.append(f"{metric}{word} at {where}: {amount}")
        return said


def is_known(found: Estimate, share: float) -> bool:
    """Whether the interval of a mean is within ± this share of it."""
    return found.mean is not None and found.half_width is not None and found.half_width <= share * abs(found.mean)


def _conditions(points: pl.DataFrame, keys: list[str]) -> list[str]:
    """Of each point the values of these keys as a name, which no other values have."""
    rows = [tuple(row[key] for key in keys) for row in points.iter_rows(named=True)]
    names: list[str] = []
    # Numbers as people write them have six digits; where that makes two of them one, all.
    for text in (human.setting, str):
        names = [
            ", ".join(
                text(value) if len(keys) == 1 else f"{human.short_key(key, keys)} {text(value)}"
                for key, value in zip(keys, row, strict=True)
            )
            for row in rows
        ]
        if len(set(names)) == len(set(rows)):
            break
    return names


def _paired(one: Values, other: Values) -> tuple[Values, Values]:
    """The replications that both have."""
    count = min(len(one), len(other))
    return one[:count], other[:count]
