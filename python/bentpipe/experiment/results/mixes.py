"""A mix at each point of a grid: the harm of each case, and the conditions under which the cases are fair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import files, formatting
from bentpipe.contract import frames
from bentpipe.contract.result import Result
from bentpipe.contract.rows import estimate_row
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.commands import spell_command
from bentpipe.experiment.common.options import MIXES_CHARTS
from bentpipe.experiment.results import hints
from bentpipe.experiment.results.contrasts import labels
from bentpipe.experiment.results.mix import VERB, Mix, complete
from bentpipe.experiment.results.plan import Plan
from bentpipe.experiment.results.sweep import Sweep
from bentpipe.own.loading import absent
from bentpipe.scenario.scenario import Scenario
from bentpipe.statistics.comparing import ONE_RUN
from bentpipe.statistics.estimates import Interval
from bentpipe.statistics.samples import Counts

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.statistics.estimates import Estimate
    from bentpipe.statistics.fairness import Fairness
    from bentpipe.statistics.judgement import Judgement

ENDS = ("value", "low", "high")
HARM = "harm"
"""Name of the metric in tables, with the case: `harm:cubic`."""


@dataclass(frozen=True, repr=False, eq=False)
class Mixes(Result):
    """A mix at each point of a grid.

    Attributes
    ----------
    scenario : Scenario
        The given scenario; each point has its own.
    points : polars.DataFrame
        One row per point, with a column per varied key.
    mixes : sequence of Mix
        The mix at each point.
    sweep : Sweep
        All runs of all mixes.
    """

    scenario: Scenario
    points: pl.DataFrame
    mixes: Sequence[Mix]
    sweep: Sweep

    charts = MIXES_CHARTS

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Mixes:
        """Load saved mixes, or the last mixes of a store.

        Custom congestion controls are named, but cannot run again.

        Raises
        ------
        BentpipeError
            The folder has no mixes of several points.
        """
        sweep = Sweep.load(folder, verb=VERB)
        with files.reading(folder):
            facts = sweep.facts
            if "parts" not in facts:
                raise BentpipeError(f"{folder} has the mix of a single point\n  expected Mix.load")
            parts = []
            for part in facts["parts"]:
                scenario = _read_scenario(part["scenario"], facts["source"])
                parts.append((scenario, Plan.from_facts(part["plan"], scenario.folder)))
            found = cls.from_sweep(sweep, _read_scenario(facts["scenario"], facts["source"]), parts)
            if found is None:
                raise BentpipeError(
                    f"{folder} lacks a finished replication of each point\n  run the same command again to continue"
                )
            return found

    @classmethod
    def from_sweep(cls, sweep: Sweep, scenario: Scenario, parts: Sequence[tuple[Scenario, Plan]]) -> Mixes | None:
        """Make the result from replications whose runs have all ended; None if a point has no complete replication."""
        size = sweep.points.height // len(parts)
        mixes = []
        for number, (at, plan) in enumerate(parts):
            part = find_part(sweep, number * size, size)
            if not complete(part, plan):
                return None
            mixes.append(Mix.from_sweep(part, at, plan))
        points = sweep.points[::size].select(sweep.keys[:-1])
        return cls(scenario, points, mixes, sweep)

    @property
    def keys(self) -> list[str]:
        """The varied keys."""
        return self.points.columns

    @cached_property
    def names(self) -> list[str]:  # type: ignore[override]
        """Names of the points: `delay 20 ms, stagger 10 s`."""
        return labels(self.points, self.keys)

    @property
    def cases(self) -> tuple[str, ...]:
        """Congestion controls or cases that share each run."""
        return self.mixes[0].names

    @property
    def judgement(self) -> Judgement:
        """Decides which differences are shown."""
        return self.mixes[0].judgement

    def mix(self, of: str) -> Mix:
        """Return the mix at one of `names`, with its shares and statements."""
        return self.mixes[self.names.index(self._check_name(of))]

    @cached_property
    def fairness(self) -> dict[str, Fairness]:
        """The answer at each point, by name. With the requested confidence, all answers are right together."""
        return {name: mix.judge_harm(len(self.mixes)) for name, mix in zip(self.names, self.mixes, strict=True)}

    @property
    def runs(self) -> pl.DataFrame:  # type: ignore[override]
        """Table `Mix.runs` of all points, with a column per key."""
        return pl.concat(
            [
                mix.runs.select(*(pl.lit(row[key]).alias(key) for key in self.keys), pl.all())
                for row, mix in zip(self.points.iter_rows(named=True), self.mixes, strict=True)
            ],
            how="vertical_relaxed",
        )

    @property
    def table(self) -> pl.DataFrame:
        """Table with a row per point and metric: `goodput` of all flows, and `harm:NAME` of each case."""
        rows = [
            {"of": name, **self._row(number), "metric": metric, "unit": unit, **self._cells(name, metric)}
            for number, name in enumerate(self.names)
            for metric, unit in (("goodput", "bit/s"), *((f"{HARM}:{case}", "1") for case in self.cases))
        ]
        return frames.table(rows, self.judgement, self._key_types())

    def _row(self, number: int) -> dict[str, Any]:
        return self.points.row(number, named=True)

    def _key_types(self) -> dict[str, Any]:
        return {key: self.points.schema[key] for key in self.keys}

    def _cells(self, of: str, metric: str) -> dict[str, Any]:
        found = self._estimate(of, metric)
        return estimate_row(found, Counts(found.replications, found.replications), self.judgement)

    def _estimate(self, of: str, metric: str) -> Estimate | Interval:
        mix = self.mix(of)
        what, _, case = metric.partition(":")
        if what == HARM and case in self.cases:
            value, low, high = self.fairness[of].harms.get(case, (None, None, None))
            return Interval(len(mix.seeds), value, low, high, None)
        if metric == "goodput":
            return mix.total("goodput_bps")
        if case in self.cases:
            return mix.estimate(case, what)
        raise BentpipeError(
            f"{metric!r} is not a metric of mixes\n"
            f"  expected goodput, or METRIC:CASE such as {HARM}:{self.cases[0]} or share:{self.cases[0]}"
        )

    @property
    def differences(self) -> pl.DataFrame:
        """Table without rows: the mix at each point has its own differences, see `mix`."""
        return frames.differences((), self.judgement)

    @property
    def statements(self) -> list[str]:
        """Conclusions in plain words: the number of fair points, the largest harm, the missing replications."""
        found = self.fairness
        within = f"fair within {100 * self.mixes[0].fairness.margin:.3g} %"
        by_answer = {
            answer: [name for name, each in found.items() if each.answer == answer]
            for answer in ("yes", "no", "cannot tell")
        }
        counts = [f"{answer} at {len(names)}" for answer, names in by_answer.items() if names]
        said = [ONE_RUN] if max(len(mix.seeds) for mix in self.mixes) == 1 else []
        said.append(f"{within}, {formatting.count(len(found), 'point')}: {', '.join(counts)}")
        harmed = {name: each for name, each in found.items() if each.most is not None}
        if not harmed:
            return [*said, "nothing was delivered in any run"]
        worst = max(harmed, key=lambda name: max(value for value, _, _ in harmed[name].harms.values()))
        said.append(f"largest harm, at {worst}: {harmed[worst].amount}")
        more = [each.more for each in found.values() if each.more]
        if more:
            decided = formatting.count(len(more), "open point")
            said.append(f"about {formatting.count(max(more), 'more replication')} would decide {decided}")
        return said

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        """Notes on the scenarios of the points, and hints on the coverage and power of the replications."""
        facts = self.sweep.facts
        tests = len(self.mixes) * len(self.cases)
        values = lambda metric: (mix.values(case, metric) for mix in self.mixes for case in self.cases)  # noqa: E731
        return [
            *facts.get("notes", []),
            *hints.hint_files(self.scenario),
            *hints.hint_until(facts, values, "case"),
            *hints.hint_replications(facts, len(self.mixes[0].seeds), tests, self.judgement.confidence),
        ]

    def _figure(self, chart: str, metric: str | None) -> Figure:
        from bentpipe.plot import harm_figure

        if metric is not None:
            raise BentpipeError(f"{chart} draws no metric of choice\n  expected mix(OF).plot(metric={metric!r})")
        return harm_figure(self)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write all data that `load` needs, with `table` and `differences` as Parquet.

        Otherwise like `RunResult.save`.
        """
        self.sweep.write(folder, {"table": self.table, "differences": self.differences})

    def _reporter(self) -> Reporter:
        from bentpipe.experiment.results.mixed import OfMixes

        return OfMixes(self)

    @property
    def hosts(self) -> str:
        return self.sweep.hosts

    @property
    def pages(self) -> str:
        return self.sweep.pages

    def command(self) -> str:
        return spell_command(self.sweep.facts)

    def list_answers(self) -> Iterator[tuple[dict[str, Any], str, str, Fairness]]:
        """List the points: values of the keys, the most harmed case, its harm in per cent, and the answer."""
        for number, found in enumerate(self.fairness.values()):
            yield self._row(number), found.most or formatting.MISSING, found.shown, found

    def make_notebook_table(self) -> tuple[list[str], list[list[str]], int]:
        """Make a row per point: the case that loses most, its harm and the answer."""
        margin = f"{100 * self.mixes[0].fairness.margin:.3g} %"
        head = [*(formatting.short_key(key, self.keys) for key in self.keys), "loses most", "harm (%)"]
        rows = [
            [*map(formatting.setting, values.values()), case, harm, found.answer]
            for values, case, harm, found in self.list_answers()
        ]
        return [*head, f"fair within {margin}"], rows, len(self.keys) + 1

    def __repr__(self) -> str:
        return f"<Mixes {self.scenario.title!r}, {len(self.mixes)} points: {'; '.join(self.statements)}>"

    def _content(self) -> Mapping[str, Any]:
        return {
            "answers": [
                {
                    "of": name,
                    **self._row(number),
                    "is_fair": each.is_fair,
                    "more": each.more,
                    "harms": {case: dict(zip(ENDS, harm, strict=True)) for case, harm in each.harms.items()},
                }
                for number, (name, each) in enumerate(self.fairness.items())
            ],
            "runs": self.runs.to_dicts(),
        }

    def _provenance(self) -> dict[str, Any]:
        return {
            "title": self.scenario.title,
            "names": list(self.cases),
            "keys": self.keys,
            "seed": self.scenario.seed,
            "replications": max(len(mix.seeds) for mix in self.mixes),
            **self.judgement.to_dict(),
            "version": self.sweep.facts["version"],
            "hosts": self.hosts,
            "pages": self.pages,
            "digest": self.scenario.digest,
        }


def _read_scenario(text: str, source: str) -> Scenario:
    return Scenario(text, source=source, senders=absent(text))


def find_part(sweep: Sweep, first: int, count: int) -> Sweep:
    """Return a part of a sweep: these points, numbered from 0, with their runs."""

    def part(frame: pl.DataFrame) -> pl.DataFrame:
        chosen = frame.filter(pl.col("point").is_between(first, first + count - 1))
        return chosen.with_columns(pl.col("point") - first)

    tables = {name: part(table) for name, table in sweep.tables.items()}
    return replace(sweep, points=part(sweep.points), runs=part(sweep.runs), tables=tables)
