"""Sweeps: a grid of experiments, with a row per run, intervals per point, and statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import files, formatting
from bentpipe.contract import frames
from bentpipe.contract.result import Result, column_shown
from bentpipe.contract.rows import table_row
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common import options
from bentpipe.experiment.common.commands import spell_command
from bentpipe.experiment.common.options import SWEEP_CHARTS
from bentpipe.experiment.results import hints
from bentpipe.experiment.results.contrasts import (
    Compared,
    Contrast,
    count_preferred,
    find_sender_key,
    labels,
    name_best,
    pair_samples,
    ranking,
)
from bentpipe.experiment.results.ratios import baseline, ratio_row
from bentpipe.experiment.results.settings import list_scenarios
from bentpipe.experiment.single import task
from bentpipe.experiment.single.measure import with_metrics
from bentpipe.experiment.store.frames import column
from bentpipe.experiment.store.store import FAILURES, Store
from bentpipe.metric import COLUMNS, find_metric, named_point
from bentpipe.statistics.comparing import ONE_RUN
from bentpipe.statistics.judgement import Judgement
from bentpipe.statistics.samples import NAMED_MAX, Counts, Sample, not_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bentpipe.contract.reporter import Reporter
    from bentpipe.experiment.results.contrasts import Choice, Ranked
    from bentpipe.plot.style import Labels, Size
    from bentpipe.scenario.scenario import Scenario
    from bentpipe.statistics.estimates import Estimate, Interval

    Values = NDArray[np.float64]

FORM = "bentpipe experiment"
SHOWN_MAX = 60
"""Maximum number of points in a table of a notebook."""
SHARED = 6
"""Number of values in `facts` of a point whose replications share a scenario.

Other points also have a digest per run.
"""


@dataclass(frozen=True, repr=False, eq=False)
class Sweep(Result):
    """The result of a sweep: all runs of its grid that are in the store.

    Attributes
    ----------
    title : str
        Title of the scenario.
    keys : list of str
        Varied keys of the scenario.
    metrics : list of str
        Reported metrics.
    points : polars.DataFrame
        One row per point of the grid: `point` (its number), a column per key, `replications` (requested).
    runs : polars.DataFrame
        One row per run: `point`, a column per key, `replication`, `seed`, `run` (its name), a column per metric.
    failures : list of dict
        Runs that failed: `id`, `parameters`, `message`, `replay` (a scenario file that repeats the failure).
    facts : dict
        Provenance of the sweep: `source`, `sets`, `scenario` (resolved), `seed`, `version`, `versions` (of bentpipe
        that made the runs), `results` (the number of results, see `docs/concepts/results.md`). `senders` has custom
        congestion controls by name: `class`, as `FILE.py:CLASS`, and a hash of the `code`. `aside` has runs in the
        store from another version of the simulator, which are not used: `results`, `runs`, `versions`, `folder`.
    tables : dict of polars.DataFrame
        Kept tables of each run, see `read_table`.
    """

    title: str
    keys: list[str]
    metrics: list[str]
    points: pl.DataFrame
    runs: pl.DataFrame
    failures: list[dict[str, str]]
    facts: dict[str, Any]
    tables: dict[str, pl.DataFrame]

    charts = SWEEP_CHARTS
    _contrasts: dict[str, list[Contrast]] = field(default_factory=dict, init=False)
    """Requested contrasts by metric. In a large grid they take seconds."""
    _samples: dict[str, dict[int, Sample]] = field(default_factory=dict, init=False)
    _rankings: dict[str, list[Ranked]] = field(default_factory=dict, init=False)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], against: str | None = None, verb: str | None = None) -> Sweep:
        """Load a saved sweep, or the last sweep of a store, which is not changed.

        Parameters
        ----------
        folder : path
        against : str, optional
            The baseline: a congestion control or case. It replaces the baseline of the sweep.
        verb : str, optional
            The function that made the store: `sweep`, `compare` or `mix`. By default, the store must be of a grid.

        Raises
        ------
        BentpipeError
            The folder is not a store, or the store is damaged or from another version.
        ScenarioError
            `against` is not a congestion control or case of the sweep.
        """
        with files.reading(folder):
            if (Path(folder) / files.PROVENANCE).is_file():
                found = cls._load_folder(folder)
            else:
                with Store(folder, is_read_only=True) as store:
                    found = cls.from_store(store)
        known = ("sweep", "compare") if verb is None else (verb,)
        if found.facts["verb"] not in known:
            raise BentpipeError(
                f"{folder} has the runs of a {found.facts['verb']}\n  expected the runs of a {' or '.join(known)}"
            )
        if against is not None:
            sender = find_sender_key(found.points, found.keys)
            names = [] if sender is None else found.points[sender].unique(maintain_order=True).to_list()
            found.facts["against"] = found.facts["report_against"] = options.find_case(against, names)
        return found

    @staticmethod
    def find_verb(folder: str | os.PathLike[str]) -> str | None:
        """Return the function that made the runs in a folder; None if the folder has no runs."""
        try:
            if (Path(folder) / files.PROVENANCE).is_file():
                facts: dict[str, Any] | None = files.provenance(folder, FORM)
            else:
                with Store(folder, is_read_only=True) as store:
                    facts = store.find_experiment()
        except (BentpipeError, OSError):
            return None
        return None if facts is None or "verb" not in facts else str(facts["verb"])

    @classmethod
    def from_store(cls, store: Store, facts: Mapping[str, Any] | None = None) -> Sweep:
        """Read a sweep from an open store. `facts`, from `Store.find_experiment`, selects it; default: the last one."""
        facts = facts or store.find_experiment()
        if facts is None:
            raise store.has_no_sweep()
        keys, written = facts["keys"], facts["points"]
        points = _points(facts)
        # Two points may have runs in common, such as seeds 1 and 2 with two replications.
        wanted = [
            (task.name(of_runs[0][number] if of_runs else digest, (first + k) % 2**64), index, k)
            for index, (_, digest, first, count, start, step, *of_runs) in enumerate(written)
            for number, k in enumerate(range(start, start + count * step, step))
        ]
        names = {id_ for id_, *_ in wanted}
        place = pl.DataFrame(
            wanted,
            schema={"run": pl.String, "point": pl.Int64, "replication": pl.Int64},
            orient="row",
        )
        frames = store.frames(facts["tables"], names)
        metrics = list(COLUMNS.values())
        # If the seed is varied, its value is the first seed of a point. Each run shows its own seed.
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
        runs = with_metrics(runs, tables, map(find_metric, facts["metrics"]))
        failures = [
            {**failure, "replay": str(store.folder / FAILURES / f"{failure['id']}.json")}
            for failure in store.failures()
            if failure["id"] in names
        ]
        own = dict(facts)
        versions = frames["runs"].join(place.select("run").unique(), on="run", how="semi")["version"]
        own["versions"] = versions.unique().sort().to_list()
        return cls(facts["title"], keys, facts["metrics"], points, runs, failures, own, tables)

    @classmethod
    def _load_folder(cls, folder: str | os.PathLike[str]) -> Sweep:
        """Load a saved sweep."""
        facts = files.provenance(folder, FORM)
        tables = {name: files.table(folder, name) for name in facts["tables"]}
        runs, failures = files.table(folder, "runs"), facts.pop("failures")
        return cls(facts["title"], facts["keys"], facts["metrics"], _points(facts), runs, failures, facts, tables)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the runs, the kept tables, `table` and `differences`; otherwise like `RunResult.save`."""
        self.write(folder, {"table": self.table, "differences": self.differences})

    def write(self, folder: str | os.PathLike[str], beside: Mapping[str, pl.DataFrame]) -> None:
        """Write the runs with other tables, for readers without bentpipe."""
        files.write(
            folder,
            FORM,
            tables={"runs": self.runs, **self.tables, **beside},
            scenario=self.facts["scenario"],
            provenance={**self.facts, "failures": self.failures},
        )

    def read_table(self, name: str) -> pl.DataFrame:
        """Return a kept table of all runs (`flows`, `links`, ...): the columns of the point, then those of the table.

        Raises
        ------
        KeyError
            The sweep did not keep it.
        """
        return self.tables[name]

    @property
    def missing(self) -> int:
        """Number of requested runs that are not done yet, or failed."""
        return int(self.points["replications"].sum()) - self.runs.height

    @property
    def judgement(self) -> Judgement:
        """Decides which differences are shown."""
        return Judgement.from_facts(self.facts)

    @property
    def against(self) -> str | None:
        """The baseline that every other case is compared with; None for the best case."""
        return self.judgement.against

    @property
    def names(self) -> list[str]:  # type: ignore[override]
        """Names of the points of the grid: `sack, rate 1e-3`."""
        return labels(self.points, self.keys)

    @property
    def table(self) -> pl.DataFrame:
        """Table with a row per point and metric.

        The columns are `of` (the point), a column per key, `metric`, `unit`, `replications`, `mean`, ...

        The further columns are as in `Comparison.table`. `replications` counts the replications with a value.
        """
        rows = (
            {
                **table_row(name, find_metric(metric), self.samples(metric)[row["point"]], self.judgement),
                **self._find_values(row),
            }
            for name, row in self._named_points()
            for metric in self.metrics
        )
        return frames.table(rows, self.judgement, self._key_types(self.keys))

    def estimates(self, metric: str) -> list[Estimate | Interval]:
        """Estimate the mean or median of a metric at each point of the grid, with its interval.

        The estimate is a bound (`AtLeast`) if not every run completed.
        """
        samples, what = self.samples(metric), find_metric(metric)
        return [
            self._with_unit(samples[point].estimate(self.judgement, what), metric) for point in self.points["point"]
        ]

    def counts(self, metric: str) -> list[Counts]:
        """Count completed and due work at each point."""
        samples = self.samples(metric)
        return [samples[point].counts for point in self.points["point"]]

    def samples(self, metric: str) -> dict[int, Sample]:
        """Return a metric in each requested replication by point, with its counts of completed work."""
        if metric not in self._samples:
            wanted = self.points.select("point", "replications").iter_rows()
            what = find_metric(metric)
            runs = with_metrics(self.runs, self.tables, [what])
            columns = ("replication", *what.columns)
            found = {point: {name: np.full(count, np.nan) for name in columns} for point, count in wanted}
            for point, replication, *values in runs.select("point", *columns).iter_rows():
                for name, value in zip(columns, (replication, *values), strict=True):
                    found[point][name][replication] = np.nan if value is None else value
            self._samples[metric] = {point: Sample.from_columns(metric, each) for point, each in found.items()}
        return self._samples[metric]

    def values(self, metric: str) -> dict[int, Values]:
        """Return a metric in each requested replication by point; NaN where a run is missing or has no value."""
        return {point: sample.values for point, sample in self.samples(metric).items()}

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        """Notes on the scenarios of the points, and hints on the coverage and power of the replications."""
        facts, replications = self.facts, max(self.points["replications"].to_list())
        contrasts = self.contrasts(self.metrics[0]) if replications > 1 else []
        # Without congestion controls or cases, each point is compared with the best point.
        tests = sum(len(each.differences) for each in contrasts) or self.points.height - 1
        margins = self.judgement.notes([*map(find_metric, self.metrics)])
        wide = hints.hint_until(facts, lambda metric: self.values(metric).values(), "point")
        return [*facts.get("notes", []), *margins, *wide, *hints.hint_replications(facts, replications, tests)]

    @property
    def has_days(self) -> bool:
        """Whether each replication of at least one point has another day of the sky."""
        points = self.facts.get("points", ())
        # Older stores lack this fact. In them, only days made different scenarios of replications.
        return bool(self.facts.get("has_days", any(len(point) > SHARED for point in points)))

    @property
    def differences(self) -> pl.DataFrame:
        """Table with a row for each pair of `make_statements`, each metric, and each setting of the other keys.

        The columns are as in `Comparison.differences`, with one more per key that differs between settings. If neither
        congestion controls nor cases vary, there are no rows.
        """
        contrasts = [each for name in self.metrics for each in self.contrasts(name)]
        keys = dict.fromkeys(key for each in contrasts for settings in each.settings.values() for key in settings)
        rows = (row for each in contrasts for row in each.rows())
        return frames.differences(rows, self.judgement, self._key_types(keys))

    @property
    def statements(self) -> list[str]:
        """Conclusions about the first reported metric that hold with confidence, in plain words."""
        return self.make_statements(self.metrics[0])

    def _estimate(self, of: str, metric: str) -> Estimate | Interval:
        return self.estimates(metric)[self.names.index(of)]

    def make_statements(self, metric: str) -> list[str]:
        """Conclusions about a metric that hold with confidence, in plain words.

        If congestion controls (`tcp.cc`) or cases vary, the best, or `against`, is compared with each other case at
        each combination of the other keys. The comparisons use pairs of equal seeds and are corrected together. The
        last sentences name the best and the worst point of the grid.
        """
        what = find_metric(metric)
        order = self.ranking(what.name)
        if not order:
            return [f"there is no {what.name} in any of the runs"]
        count = max(self.points["replications"].to_list())
        said = [ONE_RUN] if count == 1 else []
        if find_sender_key(self.points, self.keys) is not None:
            said += self._contrast_metric(what.name)
        # With one setting, the comparisons with the best already give this.
        is_said = self.against is None and len(self._compare_metric(what.name).settings) == 1
        return said + ([] if is_said else self.best(what.name))

    def best(self, metric: str) -> list[str]:
        """Name the best point, the points not shown to be worse, the worst point, and the best cases by settings."""
        order = self.ranking(metric)
        choices = self.choices(metric)
        said = list(name_best(order, self.points, self.keys, find_metric(metric))) if order else []
        is_known = max(self.points["replications"].to_list()) > 1
        return said + ([count_preferred(choices, find_metric(metric))] if len(choices) > 1 and is_known else [])

    def ranking(self, metric: str) -> list[Ranked]:
        """List all points that have the metric, best first: ordered by completed share, then by mean."""
        if metric not in self._rankings:
            self._rankings[metric] = ranking(self.samples(metric), find_metric(metric), self.judgement)
        return self._rankings[metric]

    def choices(self, metric: str) -> list[Choice]:
        """Find the best case at each setting of the other keys, and the cases that are not shown to be worse."""
        compared = self._compare_metric(metric)
        return compared.choices() if compared.sender is not None else []

    def note_unfinished(self, metric: str) -> str | None:
        """Name the points with incomplete work, as a note; None if all completed."""
        names = {row["point"]: named_point(row, self.keys) for row in self.points.iter_rows(named=True)}
        there = [(names[point], sample.counts) for point, sample in self.samples(metric).items() if sample.is_there]
        held = [(name, counts) for name, counts in there if not counts.is_whole]
        if len(held) > NAMED_MAX:
            held = [
                (
                    f"{len(held)} of {len(there)} points",
                    Counts(*map(sum, zip(*(each for _, each in held), strict=True))),
                )
            ]
        return not_whole(find_metric(metric), dict(held))

    @property
    def ratios(self) -> pl.DataFrame:
        """Ratios to `against` of each reported metric, at each setting of the other keys, in pairs of equal seeds.

        Columns `metric`, `of`, `other`, a column per key, `replications`, `ratio`, `low`, `high` and `note`, as in
        `Comparison.ratios`.

        Raises
        ------
        BentpipeError
            There is no `against`.
        """
        other, rows = baseline(self.against), []
        for what in map(find_metric, self.metrics):
            compared = self._compare_metric(what.name)
            for at, settings in compared.settings.items():
                samples = {name: found[at] for name, found in compared.samples.items() if at in found}
                for sender in samples if other in samples else ():
                    if sender != other:
                        pair = dict(zip((sender, other), pair_samples(samples[sender], samples[other]), strict=True))
                        rows.append({**ratio_row(what, pair, sender, other, self.judgement.confidence), **settings})
        frame = pl.DataFrame(rows, infer_schema_length=None)
        first = ["metric", "of", "other"]
        last = ["replications", "ratio", "low", "high", "note"]
        return frame.select(*first, *(name for name in frame.columns if name not in first + last), *last)

    def to_xarray(self) -> xarray.Dataset:
        """Return all runs as an xarray dataset, with a dimension for each varied key and one for `replication`.

        Variables are the reported metrics, with the attributes `unit` and `meaning`. If several keys vary together, the
        first one is a dimension, and the others are coordinates along it. Missing runs and values are NaN. The
        attributes of the dataset are the provenance.

        Raises
        ------
        BentpipeError
            xarray is not installed.
        """
        from bentpipe.experiment.results.arrays import make_dataset

        return make_dataset(self)

    def plot(
        self,
        chart: str | None = None,
        *,
        metric: str | None = None,
        size: Size | None = None,
        title: str | None = None,
        labels: Labels | None = None,
        axes: Axes | None = None,
    ) -> Figure:
        """Draw a matplotlib figure.

        Parameters
        ----------
        chart : str, optional
            `lines` shows the mean or median with its interval over the key with most values: a line per combination
            of the other keys.
            `map` shows the mean or median over two keys, with a panel per congestion control or case and combination of
            the other keys. With one other key, the congestion controls or cases are the second axis.
        metric : str, optional
            Metric of the figure. The default is the first reported metric.
        size, title, labels, axes : optional
            Arguments as in `Comparison.plot`.

        Raises
        ------
        BentpipeError
            Unknown metric or chart, or no run has the metric. For a map: fewer than two keys vary.
        """
        return super().plot(chart, metric=metric, size=size, title=title, labels=labels, axes=axes)

    def _figure(self, chart: str, metric: str | None) -> Figure:
        from bentpipe.plot import draw_map, sweep_figure

        what = find_metric(metric or self.metrics[0])
        if chart == "lines":
            return sweep_figure(self, what.name)
        drawn = draw_map(self, what, self.estimates(what.name), has_cases=True)
        if drawn is None:
            raise BentpipeError(
                "a map needs two varied keys\n  expected {chart}",
                chart="lines",
            )
        return drawn.figure

    def list_scenarios(self, key: str) -> dict[Any, list[Scenario]]:
        """List the scenarios at each value of a key; empty if they are too many, or not known."""
        return list_scenarios(self, key)

    def _reporter(self) -> Reporter:
        from bentpipe.experiment.results.swept import OfSweep

        return OfSweep(self)

    @property
    def hosts(self) -> str:
        return str(self.facts["hosts"])

    @property
    def pages(self) -> str:
        return str(self.facts["pages"])

    def command(self) -> str:
        return spell_command(self.facts)

    def _provenance(self) -> dict[str, Any]:
        facts = ("source", "sets", "seed", "version", "results", "hosts", "pages", "senders", "aside")
        of = {"keys": self.keys, "metrics": self.metrics, **self.judgement.to_dict()}
        return {"title": self.title, **{key: self.facts[key] for key in facts}, **of}

    def _content(self) -> dict[str, Any]:
        return {
            "best": {name: self.best(name) for name in self.metrics},
            "ranking": {name: self._ranking_rows(name) for name in self.metrics},
            **({} if self.against is None else {"ratios": self.ratios.to_dicts()}),
            "runs": self.runs.to_dicts(),
            "missing": self.missing,
            "failures": self.failures,
        }

    def make_notebook_table(self) -> tuple[list[str], list[list[str]], int]:
        """Make a row per point, up to a limit, and a column per key and per reported metric."""
        columns = [
            [formatting.short_key(key, self.keys), *map(formatting.setting, self.points[key])] for key in self.keys
        ]
        columns += [column_shown(name, find_metric(name).unit, self.estimates(name)) for name in self.metrics]
        head, *rows = map(list, zip(*columns, strict=True))
        return head, rows[:SHOWN_MAX], len(self.keys)

    def __repr__(self) -> str:
        return f"<Sweep {self.title!r}: {self.points.height} points, {self.runs.height} runs of {', '.join(self.keys)}>"

    def contrasts(self, metric: str) -> list[Contrast]:
        """Compare the best case with each other case, or each other case with `against`.

        Empty if no cases vary, or only one case has the metric. All differences are corrected together.
        """
        if metric not in self._contrasts:
            compared = self._compare_metric(metric)
            self._contrasts[metric] = compared.contrasts() if compared.sender is not None else []
        return self._contrasts[metric]

    def _compare_metric(self, metric: str) -> Compared:
        return Compared(self.points, self.keys, self.samples(metric), find_metric(metric), self.judgement)

    def _ranking_rows(self, metric: str) -> list[dict[str, Any]]:
        rows = {row["point"]: {"of": name, **self._find_values(row)} for name, row in self._named_points()}
        order = self.ranking(metric)
        return [{"rank": at, **rows[each.point], **each.to_dict(self.judgement)} for at, each in enumerate(order, 1)]

    def _named_points(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return zip(self.names, self.points.iter_rows(named=True), strict=True)

    def _find_values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the keys at a point."""
        return {key: row[key] for key in self.keys}

    def _key_types(self, keys: Iterable[str]) -> dict[str, Any]:
        return {key: self.points.schema[key] for key in keys}

    def _contrast_metric(self, metric: str) -> list[str]:
        contrasts = self.contrasts(metric)
        if contrasts:
            return [str(contrast) for contrast in contrasts]
        samples = self._compare_metric(metric).samples
        names = [name for name, found in samples.items() if any(each.is_there for each in found.values())]
        if self.against is not None and self.against not in names:
            return [f"{self.against} has no {metric}: it cannot be a baseline"]
        return [f"only {names[0]} has a {metric}: a comparison needs two"]


def _points(facts: Mapping[str, Any]) -> pl.DataFrame:
    """Make a row per point: its number, the values of the keys, the number of requested runs."""
    written = facts["points"]
    return pl.DataFrame({"point": range(len(written))}, schema={"point": pl.Int64}).with_columns(
        *(column(key, [row[0][at] for row in written]) for at, key in enumerate(facts["keys"])),
        pl.Series("replications", [row[3] for row in written], dtype=pl.Int64),
    )
