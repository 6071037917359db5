"""The result of a search, as plain data. It can be saved, and read again without the runs."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from bentpipe import _core, files
from bentpipe.catalog import unknown
from bentpipe.contract import frames
from bentpipe.contract.result import Result, column_shown
from bentpipe.contract.rows import difference_row, table_row
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.commands import own, tune_command
from bentpipe.experiment.common.hosts import name_hosts
from bentpipe.experiment.common.pages import name_pages
from bentpipe.experiment.store.store import Store
from bentpipe.formatting import choice
from bentpipe.metric import find_resolution, find_span
from bentpipe.scenario.editing import steps
from bentpipe.scenario.overrides import parse_text
from bentpipe.scenario.scenario import Scenario, list_notes
from bentpipe.statistics.comparing import differences
from bentpipe.statistics.judgement import Judgement
from bentpipe.statistics.samples import Sample
from bentpipe.trials.linux import lack
from bentpipe.trials.paths import NetworkPaths
from bentpipe.tuning.confirming import BETTER, LOOKS
from bentpipe.tuning.sentences import convert_score, statements
from bentpipe.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.tuning.applying import Applied
    from bentpipe.tuning.blocks import Outcomes
    from bentpipe.tuning.confirming import Confirmed, Effect
    from bentpipe.tuning.racing import Rung, Searched
    from bentpipe.tuning.sensitivity import Shares
    from bentpipe.tuning.space import Point
    from bentpipe.tuning.work import Work

CHARTS = ("worth", "front", "map")
DEFAULT_NAME = "default"
"""Name of the scenario as it is written, in tables."""


class Tuning(Result):
    """The result of a search.

    Attributes
    ----------
    content : dict
        Everything, as plain data fit for JSON.
    """

    charts = CHARTS

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = dict(content)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Tuning:
        """Read a saved search, or the last search of a store.

        Raises
        ------
        BentpipeError
            The folder is not a store, or its last experiment is not a search.
        """
        with files.reading(folder), Store(folder, is_read_only=True) as store:
            facts = store.find_experiment() or {}
        if "tuning" not in facts:
            raise BentpipeError(
                f"{folder} has no finished search\n  expected the store of bentpipe tune; the same command continues it"
            )
        return cls(facts["tuning"])

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """`default`, and after a confirmation `best`: the recommended setting, or else the best that was found."""
        return tuple(self.content["confirmed"])

    @property
    def metrics(self) -> list[str]:
        """Metrics of the objective and of the guards."""
        return [each["name"] for each in self.content["measures"]]

    @cached_property
    def runs(self) -> pl.DataFrame:  # type: ignore[override]
        """The confirming runs: a row for each of `names`, condition and replication, with a column per metric."""
        first = self.content["seeds"]["confirm"]
        rows = [
            {"of": of, "condition": condition["name"], "replication": block, "seed": (first + block) % 2**64, **values}
            for of, found in self.content["confirmed"].items()
            for condition, blocks in zip(self.content["conditions"], found, strict=True)
            for block, row in enumerate(blocks)
            for values in [dict(zip(self.metrics, row, strict=True))]
        ]
        texts = dict.fromkeys(("of", "condition"), pl.String)
        numbers = {"replication": pl.Int64, "seed": pl.UInt64, **dict.fromkeys(self.metrics, pl.Float64)}
        return pl.DataFrame(rows, schema={**texts, **numbers})

    @property
    def judgement(self) -> Judgement:
        """Judgement of `table` and `differences`: means, compared with the default."""
        return Judgement(against=DEFAULT_NAME, margin=f"{100 * self.content['margin']:g} %")

    @property
    def hosts(self) -> str:
        return name_hosts([self.default.hosts])

    @property
    def pages(self) -> str:
        return name_pages(self.default.to_dict()["flow"])

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        """Notes on the scenario."""
        return list_notes([self.default])

    @property
    def table(self) -> pl.DataFrame:
        """A row for each of `names` and each metric, with the mean over the confirming runs and its interval.

        Conditions are averaged, weighted by their shares of time.
        """
        return frames.table(
            (
                table_row(of, _Measured(each["name"], each["unit"]), self._sample(of, each["name"]), self.judgement)
                for of in self.names
                for each in self.content["measures"]
            ),
            self.judgement,
        )

    @property
    def differences(self) -> pl.DataFrame:
        """Paired differences, `best` minus `default`, in each metric; without rows if no setting was confirmed.

        The columns are those of `Comparison.differences`. Sentences give the change of the geometric mean, which may
        differ a little.
        """
        rows = []
        for each in self.content["measures"]:
            for of in self.names[1:]:
                pair = (self._sample(of, each["name"]), self._sample(DEFAULT_NAME, each["name"]))
                (found,) = differences([pair], self.judgement)
                rows.append(difference_row(_Measured(each["name"], each["unit"]), of, DEFAULT_NAME, found))
        return frames.differences(rows, self.judgement)

    def _sample(self, of: str, metric: str) -> Sample:
        """Take a metric of one name in each replication, the conditions joined by their shares."""
        shares = [each["share"] for each in self.content["conditions"]]
        at = self.metrics.index(metric)
        found = np.array(
            [[np.nan if row[at] is None else row[at] for row in blocks] for blocks in self.content["confirmed"][of]]
        )
        return Sample.from_values(np.average(found, axis=0, weights=shares))

    def _estimate(self, of: str, metric: str) -> Estimate | Interval:
        if metric not in self.metrics:
            raise BentpipeError(unknown(metric, "a metric of this search", self.metrics))
        return self._sample(of, metric).estimate(self.judgement)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the result into a folder. `load` reads it. The runs of the search stay in their store.

        Raises
        ------
        BentpipeError
            The folder cannot be written, or contains other files.
        """
        files.refuse_unless_free(folder)
        with Store(folder) as store:
            store.begin({"tuning": self.content})

    def command(self) -> str:
        return tune_command(self.content)

    @property
    def verdict(self) -> str:
        """One of `better`, `as good`, `nothing better can be shown`, `guard` and `interrupted`."""
        return str(self.content["verdict"])

    @property
    def recommended(self) -> dict[str, Any]:
        """The recommended changes by key; empty if the default should stay."""
        return dict(self.content["recommended"]["set"])

    @property
    def title(self) -> str:
        """Title of the scenario, or the name of its file."""
        return str(self.content["title"] or Path(self.content["source"]).stem)

    @property
    def statements(self) -> list[str]:
        """The verdict and its limits, in sentences."""
        return statements(self.content)

    @property
    def effects(self) -> pl.DataFrame:
        """Worth of each recommended change: a row per change and metric, for the change made alone and taken back."""
        rows = [
            {"key": each["key"], "setting": choice(each["value"]), "metric": metric, "how": how, **effect}
            for each in self.content["effects"]
            for how in ("alone", "back")
            for metric, effect in each[how].items()
        ]
        names = dict.fromkeys(("key", "setting", "metric", "how"), pl.String)
        return pl.DataFrame(rows, schema={**names, **dict.fromkeys(("value", "low", "high", "p"), pl.Float64)})

    @property
    def settings(self) -> pl.DataFrame:
        """Settings of the last rung, the best first, with the change of the objective on the seeds of the search.

        If the objective is one metric, the change is the relative change of this metric. For several metrics, it is
        their joint score, which is better if below zero.
        """
        return _points(self.content, self.content["last"])

    @property
    def front(self) -> pl.DataFrame:
        """Confirmed compromises between the metrics of a front; without rows if the objective is not a front."""
        return _points(self.content, self.content["front"])

    @property
    def scenario(self) -> Scenario:
        """The scenario with the recommended settings."""
        return self._scenario(self.content["recommended"]["sets"])

    @property
    def default(self) -> Scenario:
        """The scenario as it was."""
        return self._scenario([])

    def _scenario(self, sets: Sequence[Sequence[str]]) -> Scenario:
        text, form = self.content["written"]
        whole = [(key, value) for key, value in (*self.content["sets"], *sets)]
        return Scenario(text, form=form, source=self.content["source"], sets=whole, folder=self.content["folder"])

    def apply(self, folder: str | os.PathLike[str]) -> Applied:
        """Write the files for an engineer who applies the settings. Nothing is executed.

        The files are `tuned.toml`, `apply.sh`, `undo.sh` and `NOTES.md`.

        Raises
        ------
        BentpipeError
            There is nothing to apply, or the folder cannot be written.
        """
        from bentpipe.tuning.applying import apply

        return apply(self, Path(folder))

    def _figure(self, chart: str, metric: str | None) -> Figure:
        from bentpipe.plot.tunings import tuning_figure

        if metric is not None:
            raise BentpipeError("a figure of a search shows its objective\n  expected plot(chart) without a metric")
        return tuning_figure(self, chart)

    def _reporter(self) -> Reporter:
        from bentpipe.tuning.page import TuningReporter

        return TuningReporter(self)

    def _provenance(self) -> dict[str, Any]:
        engine = self.content["engine"]
        return {
            "title": self.title,
            "names": list(self.names),
            "seed": self.content["seeds"]["search"],
            **self.judgement.to_dict(),
            "version": engine["version"],
            "results": engine["results"],
            "hosts": self.hosts,
            "pages": self.pages,
            "digest": self.content["scenario_digest"],
        }

    def _content(self) -> Mapping[str, Any]:
        return self.content

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        # Without a recommended change there is no worth to draw.
        draw = self.plot if self.content["effects"] else lambda: self.plot("map")
        return notebook.page(self.describe_setup(), [self.make_notebook_table()], [*self.statements, *self.notes], draw)

    def make_notebook_table(self) -> tuple[list[str], list[list[str]], int]:
        """Make a row per name, and a column per metric."""
        columns = [["setting", *self.names]]
        for each in self.content["measures"]:
            found = [self._estimate(of, each["name"]) for of in self.names]
            columns.append(column_shown(each["name"], each["unit"], found))
        head, *rows = map(list, zip(*columns, strict=True))
        return head, rows, 1

    def __repr__(self) -> str:
        return f"<Tuning {self.title!r}: {self.verdict}>"


class _Measured(NamedTuple):
    """A metric of a search, as tables name it."""

    name: str
    unit: str

    @property
    def span(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return find_span(self.name.partition(":")[0], self.unit)

    @property
    def resolution(self) -> float:
        """Half of the width of a bin as a share of the value, for quantiles of histograms; otherwise 0."""
        return find_resolution(self.name.partition(":")[0])


def _points(content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    keys = list(dict.fromkeys(key for row in rows for key in row["set"]))
    found = [
        {
            **{key: choice(row["set"][key]) if key in row["set"] else None for key in keys},
            "change": convert_score(content, {"value": row["change"], "low": None, "high": None})["value"],
        }
        for row in rows
    ]
    return pl.DataFrame(found, schema={**dict.fromkeys(keys, pl.String), "change": pl.Float64})


def collect_content(
    work: Work, found: Searched, confirmed: Confirmed, outcomes: Outcomes, shares: Shares | None
) -> dict[str, Any]:
    """Collect everything that a reader of the result needs, as plain data."""
    scenario, point = work.scenario, confirmed.point
    is_better = confirmed.verdict == BETTER
    recommended = point if is_better else work.space.default
    names = [each.name for each in work.conditions]
    written = {
        "title": scenario.title,
        "source": scenario.source,
        "verdict": confirmed.verdict,
        "objective": [
            {
                "metric": each.name,
                "title": each.title,
                "unit": each.unit,
                "weight": weight,
                "more_is_better": each.is_more_better,
            }
            for each, weight in work.goal.objective
        ],
        "front_of": [each.name for each, _ in work.goal.objective] if work.goal.is_front else [],
        "measures": [{"name": each.name, "unit": each.unit} for each in work.goal.measures],
        "confirmed": _collect_confirmed(confirmed),
        "guard_asked": list(work.asked_guard),
        "budget": work.asked_budget,
        "robust": work.goal.robust,
        "margin": work.goal.margin,
        "space": work.written["space"],
        "axes": [
            {
                "key": axis.key,
                "what": axis.what,
                "default": "none" if axis.default is None else choice(axis.default),
                "values": list(axis.values),
                "reason": axis.reason,
                "default_lacks": "" if (lacks := lack(axis.key, axis.default)) is None else lacks.why,
            }
            for axis in work.space.axes
        ],
        "conditions": [{"name": each.name, "share": each.share, "draws": len(each.draws)} for each in work.conditions],
        "points": work.space.size,
        "not_tried": _not_tried(work, found),
        "recommended": {
            "set": dict(recommended.changes),
            "sets": recommended.sets,
            "digest": recommended.digest,
        },
        "tried": {"set": dict(point.changes), "sets": point.sets, "digest": point.digest},
        "effect": {
            name: {
                **effect.to_dict(),
                "by_condition": dict(zip(names, _plain(confirmed.by_condition[name]), strict=True)),
            }
            for name, effect in confirmed.effects.items()
        },
        "score": None if confirmed.score is None else confirmed.score.to_dict(),
        "smallest": confirmed.smallest,
        "blocks": confirmed.blocks,
        "worth_blocks": min(confirmed.blocks, LOOKS[0]),
        "is_random": confirmed.is_random,
        "guards": [
            {
                "guard": each.guard,
                "condition": names[each.condition],
                "slack": _number(each.mean),
                "low": _number(each.low),
                "holds": each.is_shown,
            }
            for each in confirmed.guards
        ],
        "effects": [
            {
                "key": each.key,
                "value": each.value,
                "alone": _effects(each.alone),
                "back": _effects(each.back),
                "for_guard": each.is_for_guard,
            }
            for each in confirmed.worth
        ],
        "best": None if not found.ranking else _row(found.ranking[0], found),
        "last": [_row(each, found) for each in found.ranking],
        "path": [{"key": key, "score": effect.to_dict()} for key, effect in confirmed.path],
        "front": [
            {**_row(each, found), "effect": _effects(effects), "is_shown": is_shown}
            for each, effects, is_shown in confirmed.front
        ],
        "research": None
        if confirmed.research is None
        else {
            "set": dict(confirmed.research[0].changes),
            "lacking": confirmed.research[0].lacking,
            "effect": confirmed.research[1].to_dict(),
        },
        "rungs": [_rung(each) for each in found.rungs],
        "same": _same(found.classes),
        "influence": None
        if shares is None
        else {"main": shares.main, "rest": shares.rest, "strongest": shares.strongest},
        "runs": {**outcomes.runs, "all": sum(outcomes.runs.values())},
        "seeds": work.seeds,
        "engine": {"version": __version__, "results": _core.RESULTS},
        "scenario_digest": scenario.digest,
        "written": scenario.written,
        "sets": scenario.sets,
        "folder": scenario.folder,
        "senders": own(scenario.senders),
    }
    return dict(json.loads(json.dumps(written, default=lambda value: value.tolist())))


def _collect_confirmed(confirmed: Confirmed) -> dict[str, list[Any]]:
    """Collect the metrics of the runs that confirm, by name: condition, block, metric."""
    if confirmed.values is None:
        return {DEFAULT_NAME: []}
    names = (DEFAULT_NAME, "best") if confirmed.point.changes else (DEFAULT_NAME,)
    return {
        name: [[[_number(value) for value in row] for row in blocks] for blocks in values.tolist()]
        for name, values in zip(names, confirmed.values, strict=False)
    }


def _row(point: Point, found: Searched) -> dict[str, Any]:
    return _describe_score(point, found.totals[point.digest])


def _describe_score(point: Point, score: float) -> dict[str, Any]:
    return {"set": dict(point.changes), "digest": point.digest, "change": _number(float(np.expm1(score)))}


def _rung(rung: Rung) -> dict[str, Any]:
    settings = [
        {"set": dict(point.changes), "change": _number(float(np.expm1(score))), "kept": is_kept}
        for point, score, is_kept in rung.settings
    ]
    return {
        **{name: getattr(rung, name) for name in ("name", "blocks", "points", "kept", "runs")},
        "settings": settings,
    }


def _not_tried(work: Work, found: Searched) -> list[dict[str, str]]:
    """List what the search did not try, with the reasons."""
    rows = [{"what": key, "why": why} for key, why in (*work.absent.items(), *work.space.dropped.items())]
    tried = len({point.digest for rung in found.rungs for point, _, _ in rung.settings})
    if work.space.is_large or any(rung.name.startswith("neighbours") for rung in found.rungs):
        why = f"{tried:,} of {work.space.size:,} ran: a sample, and the neighbours of its best settings"
        rows.append({"what": "combinations", "why": why})
    return rows


def _effects(effects: Mapping[str, Effect]) -> dict[str, Any]:
    return {name: effect.to_dict() for name, effect in effects.items()}


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _plain(values: Sequence[float]) -> list[float | None]:
    return [_number(value) for value in values]


def _same(classes: Sequence[Sequence[Point]]) -> list[dict[str, Any]]:
    """List changes that made no difference to any run: the changes of a point, without those of its representative."""
    found = {}
    for first, *others in classes:
        for other in others:
            more = [(key, value) for key, value in other.changes if (key, value) not in first.changes]
            if len(more) == 1:
                key, value = more[0]
                under = {key: value for key, value in first.changes if key != more[0][0]}
                found[json.dumps([key, value, under])] = {"key": key, "value": value, "under": under}
    return list(found.values())


def find_default(scenario: Scenario, key: str) -> Any:
    """Return the value of a key in the unchanged scenario, if possible as written in the file; None without one."""
    path = steps(key)
    written: Any = parse_text(*scenario.written)
    for step in path:
        written = written.get(step) if isinstance(written, dict) else None
    if written is not None and not any(key.startswith(other) for other, _ in scenario.sets):
        return written
    if path[0] == "sky":
        return _default_of_sky(scenario, path)
    content = scenario.to_dict()
    if path[0] == "link" and path[1] not in content["link"]:
        # All links of a group have the value of the first.
        path[1] += "1"
    for part in (path, [*path[:2], *path[3:]] if path[0] == "link" else path[2:]):
        node: Any = content
        for step in part:
            node = node.get(step) if isinstance(node, dict) else None
        if node is not None:
            return {"kind": node["kind"]} if isinstance(node, dict) and "kind" in node else node
    return None


def _default_of_sky(scenario: Scenario, path: Sequence[str]) -> Any:
    """Return the value of a key in the first link of its hop; None if no link has one."""
    network, key = NetworkPaths(scenario), ".".join(path)
    for name in network.links:
        hop = network.key(name)
        if key.startswith(f"{hop}."):
            node: Any = network.direction(name)
            for step in path[len(steps(hop)) :]:
                node = node.get(step) if isinstance(node, dict) else None
            return {"kind": node["kind"]} if isinstance(node, dict) and "kind" in node else node
    return None
