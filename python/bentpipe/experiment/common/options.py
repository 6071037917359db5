"""Checks the options of a comparison.

Needs no statistics, so mistakes are reported immediately and before any output.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from bentpipe import arguments
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError, ScenarioError, Word
from bentpipe.metric import check_entity, find_metric, matching
from bentpipe.scenario.scenario import split_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bentpipe.scenario.scenario import Scenario

P = ParamSpec("P")
R = TypeVar("R")

RUN_CHARTS = ("series", "waterfall")
CHARTS = ("intervals", "ratio", "cwnd")
"""Charts of a comparison."""
SWEEP_CHARTS = ("lines", "map")
MIX_CHARTS = ("all", "share", "goodput", "cwnd", "intervals")
MIXES_CHARTS = ("harm",)
"""Charts of mixes at several points."""
REPLICATIONS_MAX = 10_000
"""Most replications. More would not make intervals much narrower, and are probably a typing mistake."""


def check_options(*, metric: str | Iterable[str], replications: int = 1, jobs: int | None = None) -> None:
    """Check that these options are valid."""
    asked = split_names(metric)
    if not asked:
        raise BentpipeError("no metric to compare\n  expected one or more of: bentpipe list metrics")
    for name in asked:
        find_metric(name)
    if not 1 <= arguments.whole("replications", replications, -sys.maxsize, 2**127) <= REPLICATIONS_MAX:
        raise BentpipeError(f"{replications} replications\n  expected 1 to {REPLICATIONS_MAX}")
    if jobs is not None and arguments.number("jobs", jobs) < 1:
        raise BentpipeError(f"{jobs} jobs\n  expected at least 1")


def checked_most(replications: int, replications_max: int | None, *, has_until: bool) -> None:
    """Check that a maximum of replications has an effect.

    Raises
    ------
    BentpipeError
        No precision is requested, or `replications` is larger.
    """
    if replications_max is None:
        return
    arguments.only_with("replications_max", replications_max, None, "until", has_until)
    arguments.whole("replications_max", replications_max, replications, REPLICATIONS_MAX)


def check_metrics(names: Iterable[str], scenario: Scenario, arms: Iterable[Scenario] = ()) -> None:
    """Check that the flows and links of the metrics exist in the scenario or in at least one compared case.

    Raises
    ------
    BentpipeError
        A flow or link does not exist anywhere, or a completion time is requested for a flow that never ends.
    """
    wanted = [metric for metric in map(find_metric, names) if metric.of]
    if not wanted:
        return
    scenarios = [scenario, *scenario.cases.values(), *arms]
    known = {
        "flow": [*dict.fromkeys(name for each in scenarios for name in each.flow_names)],
        "subflow": [*dict.fromkeys(name for each in scenarios for name in each.subflow_names)],
        "link": [*dict.fromkeys(name for each in scenarios for name in each.link_names)],
    }
    for metric in wanted:
        check_entity(metric, known)
        if metric.is_completion and not any(_has_end(each, metric.of) for each in scenarios):
            raise BentpipeError(
                f"{metric.name}: the flow {metric.of} has no end\n"
                "  expected a flow with a file or a count; fct is for flows with several transfers"
            )


def _has_end(scenario: Scenario, of: str) -> bool:
    flows = scenario.to_dict()["flow"].items()
    # A flow may be a copy of an entry with `count`.
    apps = [flow["app"] for entry, flow in flows if matching(of, [entry]) or matching(entry, [of])]
    return any(app["kind"] == "file" or app.get("count") is not None for app in apps)


def find_case(against: str, names: Sequence[str]) -> str:
    """Return the compared case that `against` names, as it is written.

    Raises
    ------
    ScenarioError
        No compared case has this name.
    """
    arguments.text("against", against)
    # A custom class may be named by its file, as in the call.
    name = against.rpartition(":")[2] if against.endswith(tuple(f".py:{name}" for name in names)) else against
    if name not in names:
        raise ScenarioError("{against}: " + unknown(against, "a case of this comparison", names), against=None)
    return name


def check_chart(chart: str | None, known: Sequence[str], whose: str, *, is_drawn: bool) -> None:
    """Check that the chart is one of the charts of `whose`, and that a file for it is given."""
    if chart is not None and chart not in known:
        raise BentpipeError(unknown(chart, f"a chart of {whose}", known))
    if chart is not None and not is_drawn:
        raise BentpipeError(
            "{chart} needs a file for the figure\n  expected {plot}, too", chart=chart, plot=Word("FILE")
        )


def sweep_charted(chart: str) -> None:
    """Check that a sweep has this chart."""
    if chart not in SWEEP_CHARTS:
        raise BentpipeError(unknown(chart, "a chart of a sweep", SWEEP_CHARTS))
