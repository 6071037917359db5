"""Tries changes against the largest parts of the time, each in one run, with the command that compares it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe import formatting
from bentpipe.errors import BentpipeError, Interrupted
from bentpipe.experiment.common.commands import file_word, given_in_python, has_file, own, spelled_arguments
from bentpipe.experiment.why.explanation import listed
from bentpipe.experiment.why.spent import kind_of
from bentpipe.scenario.entries import entries_of
from bentpipe.scenario.overrides import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.experiment.why.spent import FlowTime, TimePart
    from bentpipe.progress import Wish
    from bentpipe.scenario.scenario import Scenario

LEAST_SHARE = 0.1
"""Least share of the time for a part to get a remedy."""
MOST = 6
"""Maximum number of remedies that are tried, those for the largest parts first. Each is one run."""
NAMED = 0.1
"""Least change, as a share, for another kind of flow to be named."""
HELPS = 0.02
"""Least change of the metric, as a share, for a remedy to help."""
DATAGRAMS = ("cbr", "poisson", "on-off", "probe", "port")
"""Applications without a congestion control."""
FAIR = ("fq-codel", "fq", "drr", "priority")
"""Queues that separate flows."""


@dataclass(frozen=True)
class Remedy:
    """A change of the scenario that was tried in one run.

    Attributes
    ----------
    name : str
    sets : dict
        Overrides by dotted key.
    flow : str
        The entry that it should help.
    metric : str
        Metric of its effect.
    before, after : float or None
        The metric without and with the remedy; None without a value.
    gain : float
        Improvement, as a share of `before`; below zero if it is worse.
    command : str
        Command that compares it over ten seeds; a line of Python if the scenario is not from a file.
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
    command: str
    unit: str = field(default="s")
    harms: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def effect(self) -> str:
        """Describe its effect in one run."""
        if self.before is None or self.after is None:
            return f"{self.metric}: no value"
        also = f"; also {listed(list(self.also))}" if self.also else ""
        harms = f"; at the expense of {listed(list(self.harms))}" if self.harms else ""
        return f"{self.metric}: {_change(self.before, self.after, self.unit)}{also}{harms}"

    @property
    def helps(self) -> bool:
        """Whether the metric improved by more than 2 %."""
        return self.gain > HELPS

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        numbers = {"before": self.before, "after": self.after, "gain": self.gain, "helps": self.helps}
        names = {"name": self.name, "flow": self.flow, "metric": self.metric, "sets": dict(self.sets)}
        return {**names, **numbers, "also": list(self.also), "harms": list(self.harms), "command": self.command}

    def __str__(self) -> str:
        return f"{'try' if self.helps else 'no help'}: {self.name}, {self.effect}\n  {self.command}"


@dataclass(frozen=True)
class _Idea:
    """A change, and the share of the time that it should reduce."""

    name: str
    sets: Mapping[str, str]
    flow: str
    noun: str
    weight: float


def tried(
    result: RunResult, flows: Sequence[FlowTime], every: Sequence[FlowTime], progress: Wish = None
) -> list[Remedy]:
    """Try changes with the seed of the result, and sort them by their effect.

    Parameters
    ----------
    result : RunResult
    flows : sequence of FlowTime
        The kinds of flows that the changes should help.
    every : sequence of FlowTime
        All kinds of flows of the run. Their gains and costs are named.
    progress : callable or bool, optional

    Raises
    ------
    Interrupted
        Ctrl-C was pressed. There is no result.
    """
    plain = result.scenario.with_sets([("record.series", [])])
    ideas = sorted(_ideas(plain, flows), key=lambda idea: -idea.weight)
    found: dict[tuple[tuple[str, str], ...], Remedy] = {}
    for idea in ideas:
        key = tuple(sorted(idea.sets.items()))
        if key in found or len(found) >= MOST:
            continue
        remedy = _try(result, plain, idea, every, progress)
        if remedy is not None:
            found[key] = remedy
    return sorted(found.values(), key=lambda remedy: -remedy.gain)


def _try(result: RunResult, plain: Scenario, idea: _Idea, every: Sequence[FlowTime], progress: Wish) -> Remedy | None:
    """Try one change; return None if the scenario refuses it."""
    metric, _, unit = _metric(idea.flow, idea.noun)
    try:
        after = result.again(plain.with_sets(idea.sets), progress=progress)
        before_value, after_value, gain = _judged(result, after, idea.flow, idea.noun)
        others = [each for each in every if each.flow != idea.flow]
        also, harms = (_named(result, after, others, sign) for sign in (1, -1))
    except Interrupted:
        raise
    except BentpipeError:
        return None
    command = _command(result.scenario, idea, metric)
    sets = dict(idea.sets)
    return Remedy(idea.name, sets, idea.flow, metric, before_value, after_value, gain, command, unit, harms, also)


def _judged(before: RunResult, after: RunResult, flow: str, noun: str) -> tuple[float | None, float | None, float]:
    """Return the metric of a kind of flow without and with a remedy, and its improvement as a share."""
    metric, is_more_better, _ = _metric(flow, noun)
    old, new = (getattr(each.estimate(metric), "mean", None) for each in (before, after))
    if old is None or new is None:
        # Without a value, nothing has completed.
        return old, new, float(new is not None) - float(old is not None)
    ratio = new / old if old else 1.0
    return old, new, ratio - 1 if is_more_better else 1 - ratio


def _named(before: RunResult, after: RunResult, flows: Sequence[FlowTime], sign: int) -> tuple[str, ...]:
    """Name the gains (1) or the costs (-1) of other kinds of flows, without small ones."""
    found = []
    for flow in flows:
        metric, _, unit = _metric(flow.flow, flow.noun)
        old, new, gain = _judged(before, after, flow.flow, flow.noun)
        if sign * gain >= NAMED and old is not None and new is not None:
            found.append(f"{flow.flow} ({metric.partition(':')[0]} {_change(old, new, unit)})")
    return tuple(found)


def _change(old: float, new: float, unit: str) -> str:
    return f"{formatting.quantity(old, unit)} to {formatting.quantity(new, unit)}"


def _metric(flow: str, noun: str) -> tuple[str, bool, str]:
    """Return the metric of a kind of flow, whether more of it is better, and its unit."""
    if noun == "packet":
        return f"delay_mean:{flow}", False, "s"
    if noun == "file":
        return f"completion_rx:{flow}", False, "s"
    if noun:
        return f"fct:{flow}", False, "s"
    # As the breakdown prints it: not over the time before the first packet.
    return f"goodput_active:{flow}", True, "bit/s"


def _command(scenario: Scenario, idea: _Idea, metric: str) -> str:
    """Write the command that compares the change with the unchanged scenario."""
    facts: dict[str, Any] = {"source": scenario.source, "sets": scenario.sets, "senders": own(scenario.senders)}
    facts["sets"] = [pair for pair in facts["sets"] if pair[0] != "record.series"]
    settings = "; ".join(f"{key}={value}" for key, value in idea.sets.items())
    if not has_file(facts) or given_in_python(facts) or scenario.case:
        given: dict[str, dict[str, str]] = {"as it is": {}, idea.name: dict(idea.sets)}
        return f'bentpipe.compare(scenario, cases={given!r}, metric="{metric}")'
    cases = ["--case", "as it is:", "--case", f"{idea.name}: {settings}"]
    options = [*spelled_arguments(facts), *cases, "--metric", metric]
    return shlex.join(["bentpipe", "compare", file_word(scenario.source), *options])


def _ideas(scenario: Scenario, flows: Sequence[FlowTime]) -> Iterator[_Idea]:
    content = scenario.to_dict()
    written = _written_flows(scenario)
    # The first entry of a kind represents all. If the file has the entry, its settings go there.
    kinds = {kind: content["flow"][name] for name, kind in reversed(entries_of(content["flow"]).items())}
    keys = {kind: f"flow.{kind}.tcp" if kind in written else "tcp" for kind in kinds}
    for flow in flows:
        for part in flow.parts:
            if part.share < LEAST_SHARE:
                continue
            for order, (name, sets) in enumerate(_against(_Network(content, kinds, keys), flow, part)):
                # The first change against a part comes first. Of two flows, the flow with the larger part comes first.
                yield _Idea(name, sets, flow.flow, flow.noun, part.share - 0.001 * order)


def _written_flows(scenario: Scenario) -> set[str]:
    """Return the entries in the text of the scenario."""
    return set(parsed(*scenario.written).get("flow", {}))


@dataclass(frozen=True)
class _Network:
    """Facts of a scenario."""

    content: Mapping[str, Any]
    kinds: Mapping[str, Mapping[str, Any]]
    """A flow of each kind, by kind."""
    keys: Mapping[str, str]
    """Places of the settings of its transport, by kind."""

    def cc(self, kind: str) -> str | None:
        """Return the congestion control of a kind; None for datagrams."""
        if kind_of(self.kinds[kind]) in DATAGRAMS:
            return None
        has = self.transport(kind, "cc")
        return str(has.get("kind") if isinstance(has, dict) else has)

    def transport(self, kind: str, key: str) -> Any:
        """Return a setting of the transport of a kind."""
        return self.kinds[kind].get("tcp", {}).get(key, self.content.get("tcp", {}).get(key))


def _larger(network: _Network, flow: FlowTime, tcp: str, which: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Raise the limits of a stock host that tunes its buffers, or remove the limit of another buffer."""
    if network.transport(flow.flow, f"{which}_buffer") == "auto" and network.transport(flow.flow, "buffers") == "stock":
        yield "buffers of 64 MiB", {f"{tcp}.buffers": "raised"}
    else:
        yield f"a {which} buffer without limit", {f"{tcp}.{which}_buffer": "unlimited"}


def _against(network: _Network, flow: FlowTime, part: TimePart) -> Iterator[tuple[str, dict[str, str]]]:
    """List changes that may make a part smaller, as name and settings."""
    tcp = network.keys[flow.flow]
    if part.part == "queue":
        yield from _against_queue(network, flow, part)
    elif part.part in ("slow-start", "exchange"):
        if part.part == "slow-start":
            yield "a window of 40 segments at first", {f"{tcp}.initial_window": "40 segments"}
        yield from _proxies(network, flow)
        if part.part == "exchange":
            yield "TCP Fast Open", {f"{tcp}.fast_open": "on"}
    elif part.part == "receive-window":
        yield from _larger(network, flow, tcp, "receive")
    elif part.part == "send-buffer":
        yield from _larger(network, flow, tcp, "send")
    elif part.part == "delayed-ack":
        yield "an ACK for each segment", {f"{tcp}.ack.every": "1"}
    elif part.part in ("window", "repair", "timeout", "pacing"):
        yield from _other_senders(network, flow.flow)
        yield from _proxies(network, flow)
    elif part.part == "transmission":
        yield from _other_senders(network, flow.flow)


def _against_queue(network: _Network, flow: FlowTime, part: TimePart) -> Iterator[tuple[str, dict[str, str]]]:
    name, _, side = part.where.rpartition(".")
    link = network.content["link"].get(name, {})
    queue = link.get(side, {}).get("queue", link.get("queue"))
    kind = queue.get("kind") if isinstance(queue, dict) else queue
    filler = next(iter(part.by), flow.flow)
    is_of_others = filler != flow.flow or flow.noun not in ("", "file")
    if kind not in FAIR and is_of_others:
        yield f"fq-codel on {part.where}", {f"link.{part.where}.queue": "fq-codel"}
    if kind not in (*FAIR, "codel", "pie"):
        yield f"CoDel on {part.where}", {f"link.{part.where}.queue": "codel"}
    if filler in network.kinds:
        yield from _other_senders(network, filler)


def _other_senders(network: _Network, kind: str) -> Iterator[tuple[str, dict[str, str]]]:
    has = network.cc(kind)
    for cc in ("bbr3", "cubic"):
        if has not in (None, cc):
            yield f"{cc} for {kind}", {f"{network.keys[kind]}.cc": cc}


def _proxies(network: _Network, flow: FlowTime) -> Iterator[tuple[str, dict[str, str]]]:
    """List proxies at the end of the longest link that is nearer to the source of the data."""
    content = network.content
    ends = {content["flow"][name][key] for name in flow.names for key in ("from", "to")}
    links = content["link"].values()
    longest = max(links, key=lambda link: _delay_s(link), default=None)
    if longest is None or flow.noun == "packet":
        return
    for key in ("from", "to"):
        node = longest[key]
        if node in ends or "{n}" in node or content.get("node", {}).get(node, {}).get("middlebox"):
            continue
        yield f"a proxy at {node}", {f"node.{node}.middlebox": '[{ kind = "split" }]'}
        return


def _delay_s(link: Mapping[str, Any]) -> float:
    from bentpipe import _core

    delay = link.get("delay", link.get("forward", {}).get("delay"))
    found = _core.quantity(delay) if isinstance(delay, str) else None
    return found[0] if found else 0.0
