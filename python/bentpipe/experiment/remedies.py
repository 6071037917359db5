"""What to try against the largest parts of the time, each tried once, and the command that compares it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe import formatting
from bentpipe.errors import BentpipeError, Interrupted
from bentpipe.experiment.commands import given_in_python, has_file, own, spelled_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.experiment.result import RunResult
    from bentpipe.experiment.spent import FlowTime, TimePart
    from bentpipe.progress import Wish
    from bentpipe.scenario.scenario import Scenario

LEAST_SHARE = 0.1
"""Of the time, for a part to be worth a remedy."""
MOST = 6
"""Remedies that are tried, those of the largest parts first: each is one run."""
HELPS = 0.02
"""Change of the metric, as a share, from which on a remedy is said to help."""
FAIR = ("fq-codel", "fq", "drr", "priority")
"""Queues that keep flows apart."""


@dataclass(frozen=True)
class Remedy:
    """A change of the scenario that was tried in one run.

    Attributes
    ----------
    name : str
    sets : dict
        Values by dotted key.
    flow : str
        The entry for which it was tried.
    metric : str
        What it was judged by.
    before, after : float or None
        The metric without and with it; none if there was nothing to measure.
    gain : float
        How much better, as a share of `before`; below zero if it is worse.
    command : str
        Compares it over ten seeds. Of a scenario that is not from a file, lines of Python.
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

    @property
    def effect(self) -> str:
        """What it did, in one run."""
        if self.before is None or self.after is None:
            return f"{self.metric}: nothing to measure"
        before, after = (formatting.quantity(each, self.unit) for each in (self.before, self.after))
        return f"{self.metric}: {before} to {after}"

    @property
    def helps(self) -> bool:
        """Whether it was better by more than 2 %."""
        return self.gain > HELPS

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        numbers = {"before": self.before, "after": self.after, "gain": self.gain, "helps": self.helps}
        names = {"name": self.name, "flow": self.flow, "metric": self.metric, "sets": dict(self.sets)}
        return {**names, **numbers, "command": self.command}

    def __str__(self) -> str:
        return f"{'try' if self.helps else 'no help'}: {self.name}, {self.effect}\n  {self.command}"


@dataclass(frozen=True)
class _Idea:
    """A change, and the share of the time that it is against."""

    name: str
    sets: Mapping[str, str]
    flow: str
    noun: str
    weight: float


def tried(result: RunResult, flows: Sequence[FlowTime], progress: Wish = None) -> list[Remedy]:
    """What may help, tried with the seed of the result; what helps most comes first.

    Raises
    ------
    Interrupted
        Ctrl-C: it has no result.
    """
    plain = result.scenario.with_sets([("record.series", [])])
    ideas = sorted(_ideas(plain, flows), key=lambda idea: -idea.weight)
    found: dict[tuple[tuple[str, str], ...], Remedy] = {}
    for idea in ideas:
        key = tuple(sorted(idea.sets.items()))
        if key in found or len(found) >= MOST:
            continue
        remedy = _try(result, plain, idea, progress)
        if remedy is not None:
            found[key] = remedy
    return sorted(found.values(), key=lambda remedy: -remedy.gain)


def _try(result: RunResult, plain: Scenario, idea: _Idea, progress: Wish) -> Remedy | None:
    """None if the scenario cannot be changed so."""
    from bentpipe.experiment.run import run

    metric, is_more_better, unit = _metric(idea)
    try:
        after = run(plain.with_sets(idea.sets), progress=progress)
        values = [_value(each, metric) for each in (result, after)]
    except Interrupted:
        raise
    except BentpipeError:
        return None
    gain = 0.0
    if None not in values and values[0]:
        ratio = values[1] / values[0]  # type: ignore[operator]
        gain = ratio - 1 if is_more_better else 1 - ratio
    elif values[0] is None and values[1] is not None:
        # It could not be measured before, as nothing came to its end.
        gain = 1.0
    elif values[1] is None:
        gain = -1.0
    command = _command(result.scenario, idea, metric)
    return Remedy(idea.name, dict(idea.sets), idea.flow, metric, values[0], values[1], gain, command, unit)


def _value(result: RunResult, metric: str) -> float | None:
    value: float | None = getattr(result.estimate(metric), "mean", None)
    return value


def _metric(idea: _Idea) -> tuple[str, bool, str]:
    """What a kind of flow is judged by, whether more of it is better, and its unit."""
    if idea.noun == "packet":
        return f"delay_mean:{idea.flow}", False, "s"
    if idea.noun == "file":
        return f"completion:{idea.flow}", False, "s"
    if idea.noun:
        return f"fct:{idea.flow}", False, "s"
    return f"goodput:{idea.flow}", True, "bit/s"


def _command(scenario: Scenario, idea: _Idea, metric: str) -> str:
    """What compares it with the scenario as it is."""
    facts: dict[str, Any] = {"source": scenario.source, "sets": scenario.sets, "senders": own(scenario.senders)}
    facts["sets"] = [pair for pair in facts["sets"] if pair[0] != "record.series"]
    settings = "; ".join(f"{key}={value}" for key, value in idea.sets.items())
    if not has_file(facts) or given_in_python(facts) or scenario.case:
        given: dict[str, dict[str, str]] = {"as it is": {}, idea.name: dict(idea.sets)}
        return f'bentpipe.compare(scenario, cases={given!r}, metric="{metric}")'
    cases = ["--case", "as it is:", "--case", f"{idea.name}: {settings}"]
    options = [*spelled_arguments(facts), *cases, "--metric", metric]
    source = scenario.source
    return shlex.join(["bentpipe", "compare", f"./{source}" if source.startswith("-") else source, *options])


def _ideas(scenario: Scenario, flows: Sequence[FlowTime]) -> Iterator[_Idea]:
    content = scenario.to_dict()
    for flow in flows:
        for part in flow.parts:
            if part.share < LEAST_SHARE:
                continue
            for order, (name, sets) in enumerate(_against(content, flow, part)):
                # What is named first for a part is tried first, and of two flows that whose part is larger.
                yield _Idea(name, sets, flow.flow, flow.noun, part.share - 0.001 * order)


def _against(content: Mapping[str, Any], flow: FlowTime, part: TimePart) -> Iterator[tuple[str, dict[str, str]]]:
    """What may make a part smaller, as name and settings."""
    tcp = f"flow.{flow.flow}.tcp"
    if part.part == "queue":
        yield from _against_queue(content, flow, part)
    elif part.part in ("slow-start", "exchange"):
        if part.part == "slow-start":
            yield "a window of 40 segments at first", {f"{tcp}.initial_window": "40 segments"}
        yield from _proxies(content, flow)
        if part.part == "exchange":
            yield "TCP Fast Open", {f"{tcp}.fast_open": "on"}
    elif part.part == "receive-window":
        yield "a receive buffer without limit", {f"{tcp}.receive_buffer": "unlimited"}
    elif part.part == "send-buffer":
        yield "a send buffer without limit", {f"{tcp}.send_buffer": "unlimited"}
    elif part.part == "delayed-ack":
        yield "an ACK for each segment", {f"{tcp}.ack.every": "1"}
    elif part.part in ("window", "repair", "timeout", "pacing"):
        yield from _other_senders(content, flow.flow)
        yield from _proxies(content, flow)
    elif part.part == "transmission":
        yield from _other_senders(content, flow.flow)


def _against_queue(content: Mapping[str, Any], flow: FlowTime, part: TimePart) -> Iterator[tuple[str, dict[str, str]]]:
    name, _, side = part.where.rpartition(".")
    link = content["link"].get(name, {})
    queue = link.get(side, {}).get("queue", link.get("queue"))
    kind = queue.get("kind") if isinstance(queue, dict) else queue
    filler = next(iter(part.by), flow.flow)
    is_of_others = filler != flow.flow or flow.noun not in ("", "file")
    if kind not in FAIR and is_of_others:
        yield f"fq-codel on {part.where}", {f"link.{part.where}.queue": "fq-codel"}
    if kind not in (*FAIR, "codel", "pie"):
        yield f"CoDel on {part.where}", {f"link.{part.where}.queue": "codel"}
    if filler in content["flow"] and "cc" in content["flow"][filler].get("tcp", content["tcp"]):
        yield from _other_senders(content, filler)


def _other_senders(content: Mapping[str, Any], flow: str) -> Iterator[tuple[str, dict[str, str]]]:
    has = content["flow"][flow].get("tcp", {}).get("cc", content["tcp"].get("cc"))
    name = has.get("kind") if isinstance(has, dict) else has
    for cc in ("bbr3", "cubic"):
        if name != cc:
            yield f"{cc} for {flow}", {f"flow.{flow}.tcp.cc": cc}


def _proxies(content: Mapping[str, Any], flow: FlowTime) -> Iterator[tuple[str, dict[str, str]]]:
    """A proxy at the end of the longest link that is nearer to where the data come from."""
    ends = {content["flow"][flow.flow][key] for key in ("from", "to")}
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
