"""Tries changes that could shorten the largest parts of the time, each in one run.

Each result has a command that compares the change over several seeds.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from itertools import combinations, zip_longest
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import formatting
from bentpipe.entries import find_entries
from bentpipe.errors import BentpipeError, Interrupted
from bentpipe.experiment.common.commands import file_word, given_in_python, has_file, own, spelled_arguments
from bentpipe.experiment.why.gaps import join_parts
from bentpipe.statistics.quality import stalls
from bentpipe.trials.aims import FILM_BUFFER_S, Aim, find_aim
from bentpipe.trials.changes import Change, Changes, Slow
from bentpipe.trials.measures import measure, times

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.experiment.why.spent import FlowTime
    from bentpipe.progress import Wish
    from bentpipe.scenario.scenario import Scenario

LEAST_SHARE = 0.1
"""Least share of the time for a part to get a remedy."""
AFTER_LOSSES = ("repair", "timeout", "window", "slow-start")
"""Parts of the time that losses make larger."""
LEAST_LOSS = 0.01
"""Least share of lost datagrams for a remedy against losses."""
MOST = 40
"""Maximum number of single changes that are tried, those for the largest parts first. Each is one run."""
PAIR_HELPS = 0.01
"""Least gain of a pair over the better of its two changes, as a share of the metric."""
IN_PAIRS = 4
"""Number of keys whose best values are tried in pairs, for each kind of flow."""
PAIRS_MOST = 60
"""Maximum number of pairs that are tried."""
SHOWN = 5
"""Maximum number of remedies in a list on the screen."""
NAMED = 0.1
"""Least change, as a share, for another kind of flow to be named."""
HELPS = 0.02
"""Least change of the metric, as a share, for a remedy to help."""


@dataclass(frozen=True)
class Remedy:
    """A change of the scenario, or a pair of changes, that was tried in one run.

    Attributes
    ----------
    name : str
    sets : dict
        Overrides by dotted key.
    flow : str
        The entry of the scenario that the change should help.
    metric : str
        Metric of the effect: `fct` for transfers, including unfinished transfers, `mos` for calls, `completion_rx` for
        files, `stalled` (seconds) for films, `goodput_active` for endless flows, `delay_mean` for other datagrams.
    before, after : float or None
        The metric without and with the remedy; None without a value.
    gain : float
        Improvement, as a share of `before`; for a film, as a share of the run. Negative if the metric got worse.
    lost : tuple of int
        Packets of the flow that were lost without and with the remedy.
    command : str
        Command that compares the change over ten seeds. If the scenario is not from a file, a line of Python.
    beside : str
        Losses, the delay of calls, and unfinished transfers, without and with the remedy, in words.
    harms, also : tuple of str
        Other kinds of flows that get worse, or better, by more than 10 %, with their metrics.
    """

    name: str
    sets: Mapping[str, str]
    flow: str
    metric: str
    before: float | None
    after: float | None
    gain: float
    lost: tuple[int, int]
    command: str
    unit: str = field(default="s")
    beside: str = ""
    harms: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def effect(self) -> str:
        """Describe the effects of the remedy in one run, on all kinds of flows."""
        also = f"; also {join_parts(list(self.also))}" if self.also else ""
        harms = f"; at the expense of {join_parts(list(self.harms))}" if self.harms else ""
        return f"{self.own_effect}{also}{harms}"

    @property
    def own_effect(self) -> str:
        """Describe the effect of the remedy in one run, on `flow`."""
        beside = f", {self.beside}" if self.beside else ""
        if self.before is None or self.after is None:
            return f"{self.metric}: no value{beside}"
        return f"{self.metric}: {_change(self.before, self.after, self.unit)}{beside}"

    @property
    def helps(self) -> bool:
        """Whether the metric improved by more than 2 %."""
        return self.gain > HELPS

    @property
    def is_worse(self) -> bool:
        """Whether the metric got worse by more than 2 %."""
        return self.gain < -HELPS

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        verdict = "helps" if self.helps else "worse" if self.is_worse else "no difference"
        numbers = {"before": self.before, "after": self.after, "gain": self.gain, "helps": self.helps}
        names = {"name": self.name, "flow": self.flow, "metric": self.metric, "sets": dict(self.sets)}
        words = {"verdict": verdict, "beside": self.beside, "also": list(self.also), "harms": list(self.harms)}
        return {**names, **numbers, "lost": list(self.lost), **words, "command": self.command}

    def __str__(self) -> str:
        verdict = "try" if self.helps else "worse" if self.is_worse else "no help"
        return f"{verdict}: {self.name}, {self.effect}\n  {self.command}"


def select_remedies(remedies: Sequence[Remedy]) -> tuple[list[Remedy], list[str]]:
    """Return the remedies to show, and lines about the others.

    If several values were tried for the same keys and flow, only the best is shown. The best remedies of all kinds of
    flows come first: gains of calls (in MOS) and of pages (in seconds) cannot be ordered together.
    """
    seen: set[tuple[str, ...]] = set()
    first = []
    for remedy in (remedy for remedy in remedies if remedy.helps):
        # A pair with a change that already was best alone adds its other change.
        key = (remedy.flow, *sorted(remedy.sets))
        if key not in seen:
            seen.add(key)
            first.append(remedy)
    by_flow: dict[str, list[Remedy]] = {}
    for remedy in first:
        by_flow.setdefault(remedy.flow, []).append(remedy)
    first = [each for row in zip_longest(*by_flow.values()) for each in row if each is not None]
    first, others = first[:SHOWN], [remedy.name for remedy in first[SHOWN:]]
    lines = [f"Helps less: {_some(others)}."] if others else []
    worse = [
        f"{each.name} ({each.own_effect})" for each in sorted(remedies, key=lambda each: each.gain) if each.is_worse
    ]
    if worse:
        lines.append(f"Makes it worse: {_some(worse, '; ')}.")
    same = [each.name for each in remedies if not each.helps and not each.is_worse]
    if same:
        lines.append(f"Did not help: {_some(same)}.")
    return first, lines


def _some(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - SHOWN
    return between.join(names[:SHOWN]) + (f"{between}and {formatting.count(more, 'other')}" if more > 0 else "")


class Judge:
    """Judges a run by the metrics that matter to each kind of flow."""

    def __init__(self, scenario: Scenario, names: Mapping[str, Sequence[str]]) -> None:
        """Prepare it for kinds of flows with the names of their flows."""
        flows = scenario.to_dict()["flow"]
        self.names = names
        self.aims = {kind: find_aim(kind, flows[of[0]]) for kind, of in names.items()}

    @property
    def series(self) -> list[str]:
        """Series that the judgement needs."""
        return ["goodput_bps"] if any(aim.what == "film" for aim in self.aims.values()) else []

    def judge_result(self, result: RunResult) -> dict[str, Judged]:
        """Return the judgement of each kind of flow."""
        return {kind: self._judge_kind(result, kind, aim) for kind, aim in self.aims.items()}

    def _judge_kind(self, result: RunResult, kind: str, aim: Aim) -> Judged:
        names = self.names[kind]
        drops = result.drops.filter(pl.col("flow").is_in(names))
        lost = int(drops["packets"].sum()) if drops.height else 0
        rows = result.datagrams.filter(pl.col("flow").is_in(names))
        if rows.height:
            sent = int(rows["sent_packets"].sum())
            share = int(rows["lost_packets"].sum()) / sent if sent else 0.0
            delay = rows["delay_mean_s"].mean()
            value = self._find_stall(result, names, aim) if aim.what == "film" else _estimate(result, aim.metric)
            return Judged(value, lost, share, delay)  # type: ignore[arg-type]
        unfinished = 0
        if aim.metric.startswith("fct:"):
            ends = result.completions.filter(pl.col("flow").is_in(names) & (pl.col("sizes") == "all"))
            unfinished = sum(int(ends[each].fill_null(0).sum()) for each in ("unfinished", "failed"))
            value = _time(result, aim.metric)
        elif aim.what == "file":
            value = _completion(result, names)
        else:
            value = _estimate(result, aim.metric)
        return Judged(value, lost, None, None, unfinished)

    def _find_stall(self, result: RunResult, names: Sequence[str], aim: Aim) -> float | None:
        """Return the seconds in which a film did not play, from its first data on: mean of the flows."""
        found = []
        for name in names:
            series = result.series("goodput_bps", name)
            started = series.filter(pl.col("goodput_bps") > 0)["time_s"]
            if started.is_empty():
                continue
            times_s, rates = series["time_s"].to_list(), series["goodput_bps"].to_list()
            played = stalls(times_s, rates, aim.rate_bps, FILM_BUFFER_S)
            found.append(played.stalled_s if played.start_s == played.start_s else result.simulated_s)
        return sum(found) / len(found) if found else None

    def gain(self, kind: str, before: Judged, after: Judged, simulated_s: float) -> float:
        """Return the improvement of a kind of flow: a share of `before`, or for a film, a share of the run."""
        aim, old, new = self.aims[kind], before.value, after.value
        if old is None or new is None:
            # Without a value, nothing has completed.
            return float(new is not None) - float(old is not None)
        if aim.what == "film":
            return (old - new) / simulated_s
        ratio = new / old if old else 1.0
        gain = ratio - 1 if aim.is_more_better else 1 - ratio
        if aim.what == "packet":
            # A packet that is lost has no delay: more losses are never an improvement.
            more = (after.loss or 0.0) - (before.loss or 0.0)
            gain = min(gain, -more) if more > LEAST_LOSS else gain
        return gain

    def metric(self, kind: str) -> tuple[str, str]:
        """Return the name and unit of the metric of a kind of flow."""
        aim = self.aims[kind]
        return (f"stalled:{kind}", "s") if aim.what == "film" else (aim.metric, aim.unit)


@dataclass(frozen=True)
class Judged:
    """The outcome of a kind of flow in one run."""

    value: float | None
    lost: int
    loss: float | None
    """Share of lost datagrams; None for TCP."""
    delay_s: float | None
    """Mean one-way delay of datagrams."""
    unfinished: int = 0

    def beside(self, after: Judged, aim: Aim) -> str:
        """Describe losses, delay and unfinished transfers, without and with a remedy."""
        said = []
        if self.loss is not None and after.loss is not None and (self.loss or after.loss):
            said.append(f"lost {_percent(self.loss)} to {_percent(after.loss)}")
        elif self.loss is None and (self.lost or after.lost):
            said.append(f"lost {self.lost:,} to {after.lost:,} packets")
        if aim.what == "call" and self.delay_s is not None and after.delay_s is not None:
            said.append(f"delay {_change(self.delay_s, after.delay_s, 's')}")
        if self.unfinished or after.unfinished:
            said.append(f"unfinished {self.unfinished:,} to {after.unfinished:,}")
        return ", ".join(said)


@dataclass(frozen=True)
class _Trial:
    """A run with changes."""

    changes: tuple[Change, ...]
    judged: Mapping[str, Judged]
    gains: Mapping[str, float]


def try_remedies(
    result: RunResult, flows: Sequence[FlowTime], every: Sequence[FlowTime], progress: Wish = None
) -> list[Remedy]:
    """Try changes with the seed of the result, then pairs of the best changes, and sort all by their effect.

    Parameters
    ----------
    result : RunResult
    flows : sequence of FlowTime
        The kinds of flows that the changes should help.
    every : sequence of FlowTime
        All kinds of flows of the run. The remedies name their gains and costs.
    progress : callable or bool, optional

    Raises
    ------
    Interrupted
        Ctrl-C was pressed. There is no result.
    """
    if not flows:
        return []
    plain = result.scenario.with_sets([("record.series", [])])
    bench = _Bench(result, plain, Judge(plain, {each.flow: each.names for each in every}), progress)
    helped: dict[Change, set[str]] = {}
    for change, kind in _ideas(plain, flows, bench):
        if change in helped or len(helped) < MOST:
            helped.setdefault(change, set()).add(kind)
    singles = [trial for change in helped if (trial := bench.trial((change,))) is not None]
    kinds = [each.flow for each in flows]
    found = [(trial, helped[trial.changes[0]]) for trial in singles]
    found += [(trial, set(kinds)) for trial in _pairs(bench, singles, kinds)]
    remedies = [bench.remedy(trial, of, every) for trial, of in found]
    return sorted(remedies, key=lambda remedy: -remedy.gain)


def _pairs(bench: _Bench, singles: Sequence[_Trial], kinds: Sequence[str]) -> list[_Trial]:
    """Try pairs of changes, and keep those that beat both of their changes.

    For each kind of flow, they are the best values of a few keys. A queue discipline and an access are a pair, too: if
    a flow waits for both, neither helps alone. Of the best pair, all other values are tried.
    """
    alone = {trial.changes[0]: trial for trial in singles}
    pairs: dict[frozenset[Change], _Trial | None] = {}

    def attempt(first: Change, second: Change) -> None:
        key = frozenset((first, second))
        if first.axis != second.axis and key not in pairs and len(pairs) < PAIRS_MOST:
            pairs[key] = bench.trial((first, second))

    for kind in kinds:
        best: dict[str, Change] = {}
        for trial in sorted(singles, key=lambda trial: -trial.gains[kind]):
            best.setdefault(trial.changes[0].axis, trial.changes[0])
        for first, second in combinations(list(best.values())[:IN_PAIRS], 2):
            attempt(first, second)
        shares = [change for change in best.values() if change.subject in ("access", "medium")]
        for discipline in [change for change in alone if change.subject == "discipline"]:
            for share in shares:
                attempt(discipline, share)
        found = [trial for trial in pairs.values() if trial is not None]
        if not found:
            continue
        first, second = max(found, key=lambda pair: pair.gains[kind]).changes
        for fixed, other in ((first, second), (second, first)):
            for change in alone:
                if change.axis == other.axis:
                    attempt(fixed, change)

    def is_worth(pair: _Trial, kind: str) -> bool:
        return pair.gains[kind] > HELPS and pair.gains[kind] > PAIR_HELPS + max(
            0.0, *(alone[each].gains[kind] for each in pair.changes)
        )

    return [pair for pair in pairs.values() if pair is not None and any(is_worth(pair, kind) for kind in kinds)]


class _Bench:
    """Runs changes, and compares each with the unchanged run."""

    def __init__(self, result: RunResult, plain: Scenario, judge: Judge, progress: Wish) -> None:
        self.result, self.plain, self.judge, self.progress = result, plain, judge, progress
        has_all = all(name in result.recorded for name in judge.series)
        whole = result if has_all else result.rerun(plain, series=judge.series, progress=progress)
        self.before = judge.judge_result(whole)
        self._digest = plain._core.digest

    def trial(self, changes: tuple[Change, ...]) -> _Trial | None:
        """Run changes; return None if the scenario refuses them or is the same with them."""
        sets = [pair for change in changes for pair in change.sets]
        try:
            scenario = self.plain.with_sets(sets)
            if scenario._core.digest == self._digest:
                return None
            result = self.result.rerun(scenario, series=self.judge.series, progress=self.progress)
        except Interrupted:
            raise
        except BentpipeError:
            return None
        judged = self.judge.judge_result(result)
        simulated_s = self.result.simulated_s
        gains = {kind: self.judge.gain(kind, self.before[kind], judged[kind], simulated_s) for kind in judged}
        return _Trial(changes, judged, gains)

    def remedy(self, trial: _Trial, kinds: Iterable[str], every: Sequence[FlowTime]) -> Remedy:
        """Describe a trial by the kind of flow that gains most of those that it should help."""
        kind = max(sorted(kinds), key=lambda kind: trial.gains[kind])
        metric, unit = self.judge.metric(kind)
        before, after = self.before[kind], trial.judged[kind]
        others = [each.flow for each in every if each.flow != kind]
        sets = dict(pair for change in trial.changes for pair in change.sets)
        name = " and ".join(change.name for change in trial.changes)
        return Remedy(
            name,
            sets,
            kind,
            metric,
            before.value,
            after.value,
            trial.gains[kind],
            (before.lost, after.lost),
            _command(self.result.scenario, name, sets, self.judge.aims[kind].metric),
            unit,
            before.beside(after, self.judge.aims[kind]),
            self._name_effects(trial, others, -1),
            self._name_effects(trial, others, 1),
        )

    def _name_effects(self, trial: _Trial, kinds: Sequence[str], sign: int) -> tuple[str, ...]:
        """Name the gains (1) or the costs (-1) of other kinds of flows, without small ones."""
        found = []
        for kind in kinds:
            old, new = self.before[kind], trial.judged[kind]
            if sign * trial.gains[kind] >= NAMED and old.value is not None and new.value is not None:
                metric, unit = self.judge.metric(kind)
                beside = old.beside(new, self.judge.aims[kind]) if self.judge.aims[kind].what == "call" else ""
                more = f", {beside}" if beside else ""
                found.append(f"{kind} ({metric.partition(':')[0]} {_change(old.value, new.value, unit)}{more})")
        return tuple(found)


def _ideas(scenario: Scenario, flows: Sequence[FlowTime], bench: _Bench) -> Iterator[tuple[Change, str]]:
    """List changes against the large parts of each kind of flow, those of the largest parts first."""
    changes = Changes(scenario, find_entries(scenario.to_dict()["flow"]))
    slow: list[tuple[float, Slow]] = []
    for flow in flows:
        for part in flow.parts:
            if part.share >= LEAST_SHARE:
                where = part.where or _lossy(bench.result, flow.names)
                slow.append((part.share, Slow(flow.flow, part.part, where, next(iter(part.by), ""))))
        loss = bench.before[flow.flow].loss or 0.0
        if loss >= LEAST_LOSS:
            slow.append((loss, Slow(flow.flow, "lost", _lossy(bench.result, flow.names))))
        # A loss costs more than its repair: windows are smaller after it, and a transfer that waits for a timer at the
        # end of the run has no parts.
        after_losses = {part.part: part.share for part in flow.parts if part.part in AFTER_LOSSES}
        if bench.before[flow.flow].lost and sum(after_losses.values()) >= LEAST_SHARE:
            repairs = sum(after_losses.get(part, 0.0) for part in ("repair", "timeout"))
            slow.append((repairs, Slow(flow.flow, "lost", _lossy(bench.result, flow.names))))
    for _, each in sorted(slow, key=lambda pair: -pair[0]):
        for change in changes.against(each):
            yield change, each.kind


def _lossy(result: RunResult, names: Sequence[str]) -> str:
    """Return the link or node that lost most packets of these flows; empty without losses."""
    rows = result.drops.filter(pl.col("flow").is_in(names))
    if rows.is_empty():
        return ""
    places = rows.group_by("where", maintain_order=True).agg(pl.col("packets").sum())
    return str(places.sort("packets", descending=True, maintain_order=True)["where"][0])


def _estimate(result: RunResult, metric: str) -> float | None:
    return getattr(result.estimate(metric), "mean", None)


def _time(result: RunResult, metric: str) -> float | None:
    """Return the mean time of transfers, unfinished ones included, as a search counts them."""
    names = ("completions", "transfers", "flows", "summary")
    try:
        found = times({name: getattr(result, name).with_columns(run=pl.lit(0)) for name in names}, measure(metric))
    except BentpipeError:
        # The record of transfers is not complete.
        return _estimate(result, metric)
    return None if found.is_empty() else found["value"][0]


def _completion(result: RunResult, names: Sequence[str]) -> float:
    """Return the mean time until all data of files have arrived; of an unfinished file, its time so far."""
    rows = result.flows.filter(pl.col("flow").is_in(names))
    so_far = result.simulated_s - pl.col("start_s").fill_null(result.simulated_s)
    return float(rows.select(pl.col("completion_rx_s").fill_null(so_far).mean()).item() or 0.0)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _change(old: float, new: float, unit: str) -> str:
    if unit == "1":
        return f"{old:.2f} to {new:.2f}"
    return f"{formatting.quantity(old, unit)} to {formatting.quantity(new, unit)}"


def _command(scenario: Scenario, name: str, sets: Mapping[str, str], metric: str) -> str:
    """Write the command that compares the change with the unchanged scenario."""
    facts: dict[str, Any] = {"source": scenario.source, "sets": scenario.sets, "senders": own(scenario.senders)}
    facts["sets"] = [pair for pair in facts["sets"] if pair[0] != "record.series"]
    settings = "; ".join(f"{key}={value}" for key, value in sets.items())
    if not has_file(facts) or given_in_python(facts) or scenario.case:
        given: dict[str, dict[str, str]] = {"as it is": {}, name: dict(sets)}
        return f'bentpipe.compare(scenario, cases={given!r}, metric="{metric}")'
    cases = ["--case", "as it is:", "--case", f"{name}: {settings}"]
    options = [*spelled_arguments(facts), *cases, "--metric", metric]
    return shlex.join(["bentpipe", "compare", file_word(scenario.source), *options])
