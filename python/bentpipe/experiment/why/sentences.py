"""Explains the state of a flow at an instant in a few sentences, for readers who move through a run.

`explanation` lists everything that happened in a window. Here the happenings before an instant are ranked and joined:
losses and reductions in a row are one sentence. The last sentence is the state at the instant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from bentpipe import arguments, formatting
from bentpipe.experiment.common.curves import ROUTE_QUEUE
from bentpipe.experiment.common.paths import list_subflows
from bentpipe.experiment.why.causes import CAUSES
from bentpipe.experiment.why.explanation import LIMITS, SERIES, Explanation, check, why
from bentpipe.experiment.why.gaps import describe_gaps, join_parts
from bentpipe.experiment.why.happenings import median_rtt_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.experiment.why.explanation import Happening
    from bentpipe.statistics.curve import Curve

MOST = 4
"""Sentences, the state at the instant included."""
WEIGHTS = {
    "outage": 9,
    "handover": 8,
    "timeout": 7,
    "reduction": 6,
    "no-reduction": 6,
    "ecn-reduction": 6,
    "fall": 6,
    "undo": 5,
    "state": 5,
    "loss": 4,
    "wait": 3,
    "slow-start-end": 3,
    "change": 2,
    "recovery": 1,
    "connection": 1,
    "transfer": 0,
    "subflow": 8,
    "reinjection": 5,
}
"""Kinds of happenings in the sentences. If there are too many, the largest weights stay."""
CHANGES_MOST = 3
"""Changes of the path that one sentence joins."""
STEPS_MOST = 500
"""Sudden changes of one key of a link in a run that have their own moments."""
RECENT_S = 2.0
"""How far back a happening explains the present, at least; otherwise eight round trips."""


class Teller:
    """Explanations of the flows of a run, and series as arrays: together they explain many instants quickly."""

    def __init__(self, result: RunResult) -> None:
        self.result = result
        self._explanations: dict[str, Explanation] = {}
        self._curves: dict[tuple[str, str], Curve] = {}

    def explanation(self, flow: str) -> Explanation:
        """The explanation of a flow over the whole run."""
        if flow not in self._explanations:
            end_s = self.result.simulated_s
            self._explanations[flow] = why(self.result, flow, start=0.0, end=end_s, changes_most=STEPS_MOST)
        return self._explanations[flow]

    def sentences(self, flow: str, at_s: float) -> list[str]:
        """See `RunResult.sentences`."""
        check(self.result.scenario, flow, at=arguments.number("at", at_s))
        since_s = at_s - max(RECENT_S, 8 * median_rtt_s(self.result, flow))
        before = [each for each in self.explanation(flow).happenings if each.time_s <= at_s and _is_told(each)]
        recent = _fold_happenings([each for each in before if _end(each) >= since_s] or before[-1:])
        stories = sorted(self._stories(flow, recent, at_s), key=lambda story: (story[1], story[0]))[-(MOST - 1) :]
        told = [f"{time_s:.2f} s: {text}." for time_s, _, text in sorted(stories)]
        return [*told, self._present(flow, at_s)]

    def _stories(self, flow: str, recent: Sequence[Happening], at_s: float) -> list[tuple[float, int, str]]:
        """Time, weight and text of each story. Several of one kind are one."""
        kinds: dict[str, list[Happening]] = {}
        for each in recent:
            kinds.setdefault(each.kind, []).append(each)
        told = []
        for kind, group in kinds.items():
            if kind == "loss":
                text = self._lost(flow, group[0].time_s, at_s)
            elif kind == "reduction":
                text = _describe_reductions(group)
            elif kind == "state":
                # A state that lowered the window is the most important one.
                group = [each for each in group if each.numbers][-1:] or group[-1:]
                text = group[0].text
            elif kind == "change":
                group = group[-CHANGES_MOST:]
                text = "; ".join(dict.fromkeys(each.text for each in group))
            else:
                group = group[-1:]
                text = group[0].text
            told.append((group[0].time_s, WEIGHTS[kind], text))
        return told

    def _lost(self, flow: str, start_s: float, end_s: float) -> str:
        ways = [flow, *list_subflows(self.result.scenario, flow)]
        rows = self.result.series("losses").filter(
            pl.col("flow").is_in(ways), pl.col("time_s").is_between(start_s, end_s)
        )
        groups = rows.group_by("where", "cause", maintain_order=True).len()
        places = [f"{count:,} at {where} ({CAUSES.get(cause, cause)})" for where, cause, count in groups.iter_rows()]
        last_s = float(rows["time_s"][-1])
        until = f" until {last_s:.2f} s" if last_s - start_s >= 0.01 else ""
        return f"packets lost{until}: {join_parts(places)}"

    def _present(self, flow: str, at_s: float) -> str:
        window, rtt_s = self.value("cwnd_bytes", flow, at_s), self.value("srtt_s", flow, at_s)
        life = self.result.find_life(flow)
        if life is None or at_s < life[0]:
            return f"Now, at {at_s:.2f} s: {flow} has not started."
        if at_s > life[1]:
            return f"Now, at {at_s:.2f} s: {flow} has ended, at {life[1]:.2f} s."
        said = []
        if window is not None:
            said.append(f"window {formatting.quantity(window, 'B')}")
        if rtt_s is not None:
            said.append(f"smoothed round trip {formatting.quantity(rtt_s, 's')}")
        limit = self.value("limited_by", flow, at_s)
        if limit:
            said.append(f"the limit is {LIMITS[int(limit)]}")
        queued = self.value(ROUTE_QUEUE, flow, at_s)
        if queued:
            said.append(f"{formatting.quantity(queued, 'B')} wait at {self._fullest(flow, at_s)}")
        elif queued is not None:
            said.append("all queues of its route are empty")
        state = "; ".join(said) or "nothing was recorded of this flow"
        return f"Now, at {at_s:.2f} s: {state}.{describe_gaps(self.result, SERIES, at_s)}"

    def value(self, name: str, of: str, at_s: float) -> float | None:
        """The value of a recorded series at an instant, as `RunResult.find_values` gives it; None if it is unknown."""
        if name not in self.result.recorded and (name != ROUTE_QUEUE or "queue_bytes" not in self.result.recorded):
            return None
        if (name, of) not in self._curves:
            self._curves[name, of] = self.result.curve(name, of)
        return self._curves[name, of].find_value(at_s)

    def _fullest(self, flow: str, at_s: float) -> str:
        """The link with the fullest queue on the route at an instant."""
        ways = list_subflows(self.result.scenario, flow) or [flow]
        routes = (self.result.find_routes(way) for way in ways)
        links = [link for route in routes for link in [each for begin_s, each in route if begin_s <= at_s][-1]]
        return max(links, key=lambda link: self.value("queue_bytes", link, at_s) or 0.0)


def _is_told(happening: Happening) -> bool:
    """Whether it has a moment: many changes of one key over the run are no such thing."""
    return happening.kind in WEIGHTS and "changes" not in happening.numbers


def _fold_happenings(happenings: Sequence[Happening]) -> list[Happening]:
    """A reduction and the timeout or recovery at the same instant are one."""
    timeouts = {each.time_s: each for each in happenings if each.kind == "timeout"}
    reductions = {each.time_s: each for each in happenings if each.kind == "reduction" and each.time_s in timeouts}
    found = []
    for each in happenings:
        if each.kind == "timeout" and each.time_s in reductions:
            _, _, window = reductions[each.time_s].text.partition("; ")
            found.append(replace(each, text=f"{each.text}; {window}"))
        elif not (each.kind == "reduction" and each.time_s in reductions) and not _is_recovery(each, happenings):
            found.append(each)
    return found


def _is_recovery(happening: Happening, others: Sequence[Happening]) -> bool:
    """Whether it is a recovery with a reduction, which has more information."""
    return happening.kind == "recovery" and any(
        each.kind == "reduction" and each.time_s == happening.time_s for each in others
    )


def _end(happening: Happening) -> float:
    numbers = happening.numbers
    return max(happening.time_s + numbers.get("duration_s", 0.0), numbers.get("until_s", 0.0))


def _describe_reductions(group: Sequence[Happening]) -> str:
    """A row of reductions: how many, and the window before the first and after the last."""
    if len(group) == 1:
        return group[0].text
    known = [each.numbers for each in group if each.numbers]
    times = f"the window is reduced {len(group)} times until {group[-1].time_s:.2f} s"
    if not known:
        return times
    old, new = known[0]["cwnd_before_bytes"], known[-1]["cwnd_after_bytes"]
    return f"{times}, from {formatting.quantity(old, 'B')} to {formatting.quantity(new, 'B')}"
