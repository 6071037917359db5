"""Explains the state of a flow at an instant in a few sentences, for readers who move through a run.

`explanation` lists everything that happened in a window. Here the happenings before an instant are ranked and joined:
losses and reductions in a row are one sentence. The last sentence is the state at the instant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import arguments, formatting
from bentpipe.experiment.why.causes import CAUSES
from bentpipe.experiment.why.explanation import LIMITS, Explanation, check, join_parts, why

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.experiment.why.explanation import Happening

MOST = 4
"""Sentences, the state at the instant included."""
WEIGHTS = {
    "outage": 9,
    "handover": 8,
    "timeout": 7,
    "reduction": 6,
    "no-reduction": 6,
    "ecn-reduction": 6,
    "undo": 5,
    "loss": 4,
    "wait": 3,
    "slow-start-end": 3,
    "change": 2,
    "recovery": 1,
    "connection": 1,
    "transfer": 0,
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
        self._arrays: dict[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._routes: dict[str, list[str]] = {}

    def explanation(self, flow: str) -> Explanation:
        """The explanation of a flow over the whole run."""
        if flow not in self._explanations:
            end_s = self.result.simulated_s
            self._explanations[flow] = why(self.result, flow, start=0.0, end=end_s, changes_most=STEPS_MOST)
        return self._explanations[flow]

    def sentences(self, flow: str, at_s: float) -> list[str]:
        """See `RunResult.sentences`."""
        check(self.result.scenario, flow, at=arguments.number("at", at_s))
        row = self.result.flows.row(by_predicate=pl.col("flow") == flow, named=True)
        since_s = at_s - max(RECENT_S, 8 * (row["rtt_p50_s"] or 0.0))
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
            elif kind == "change":
                group = group[-CHANGES_MOST:]
                text = "; ".join(dict.fromkeys(each.text for each in group))
            else:
                group = group[-1:]
                text = group[0].text
            told.append((group[0].time_s, WEIGHTS[kind], text))
        return told

    def _lost(self, flow: str, start_s: float, end_s: float) -> str:
        rows = self.result.series("losses", flow).filter(pl.col("time_s").is_between(start_s, end_s))
        groups = rows.group_by("where", "cause", maintain_order=True).len()
        places = [f"{count:,} at {where} ({CAUSES.get(cause, cause)})" for where, cause, count in groups.iter_rows()]
        last_s = float(rows["time_s"][-1])
        until = f" until {last_s:.2f} s" if last_s - start_s >= 0.01 else ""
        return f"packets lost{until}: {join_parts(places)}"

    def _present(self, flow: str, at_s: float) -> str:
        window, rtt_s = self.value("cwnd_bytes", flow, at_s), self.value("srtt_s", flow, at_s)
        said = []
        if window is not None:
            said.append(f"window {formatting.quantity(window, 'B')}")
        if rtt_s is not None:
            said.append(f"smoothed round trip {formatting.quantity(rtt_s, 's')}")
        limit = self.value("limited_by", flow, at_s)
        if limit:
            said.append(f"the limit is {LIMITS[int(limit)]}")
        waiting = {link: self.value("queue_bytes", link, at_s) or 0.0 for link in self._route(flow)}
        fullest = max(waiting, key=lambda link: waiting[link], default=None)
        if fullest is not None:
            queued = f"{formatting.quantity(waiting[fullest], 'B')} wait at {fullest}"
            said.append(queued if waiting[fullest] else "all queues of its route are empty")
        state = "; ".join(said) or "nothing was recorded of this flow"
        return f"Now, at {at_s:.2f} s: {state}."

    def value(self, name: str, of: str, at_s: float) -> float | None:
        """The value of a level at an instant, as `RunResult.find_values` gives it; None before its first row."""
        if name not in self.result.recorded:
            return None
        if (name, of) not in self._arrays:
            table = self.result.recorded[name]
            entity = "flow" if "flow" in table.columns else "link"
            rows = table.filter(pl.col(entity) == of)
            self._arrays[name, of] = (rows["time_s"].to_numpy(), rows[name].to_numpy())
        times, values = self._arrays[name, of]
        index = int(np.searchsorted(times, at_s, side="right")) - 1
        return float(values[index]) if index >= 0 else None

    def _route(self, flow: str) -> list[str]:
        """The links that the flow takes at any time, forward and back."""
        if not self._routes:
            for each in self.result.scenario.network()["flows"]:
                self._routes[each["flow"]] = list(dict.fromkeys(_links(each)))
        return self._routes[flow]


def _links(flow: dict[str, Any]) -> list[str]:
    routes = [flow["route"], flow["reverse_route"]]
    routes += [each["route"] for key in ("routes_later", "reverse_routes_later") for each in flow[key]]
    return [link for route in routes for link in route or []]


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
