"""What may be asked of a comparison. Needs no statistics, so that mistakes are said at once and before any output."""

from __future__ import annotations

import sys
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from bentpipe import arguments
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError, ScenarioError, Word
from bentpipe.metric import check_of, matching, named
from bentpipe.scenario.scenario import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bentpipe.scenario.scenario import Scenario

P = ParamSpec("P")
R = TypeVar("R")

RUN_CHARTS = ("series",)
CHARTS = ("intervals", "ratio", "cwnd")
"""Of a comparison."""
SWEEP_CHARTS = ("lines", "map")
MIX_CHARTS = ("all", "share", "goodput", "cwnd", "intervals")
REPLICATIONS_MAX = 10_000
"""More would not make intervals narrower in a way that matters, and is certainly a slip of the finger."""


def formerly(**now: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse former names of parameters, with the name that each has now."""

    def renamed(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for former in sorted(now.keys() & kwargs.keys()):
                name = function.__name__
                expected = now[former] if "=" in now[former] else f"{now[former]}=..."
                raise BentpipeError(
                    f"{name}({former}=...): the parameter {former} has another name now\n  expected {expected}"
                )
            return function(*args, **kwargs)

        return called

    return renamed


def checked(*, metric: str | Iterable[str], replications: int = 1, jobs: int | None = None) -> None:
    """Whether all of this makes sense."""
    asked = names_of(metric)
    if not asked:
        raise BentpipeError("no metric to compare\n  expected one or more of: bentpipe list metrics")
    for name in asked:
        named(name)
    if not 1 <= arguments.whole("replications", replications, -sys.maxsize, 2**127) <= REPLICATIONS_MAX:
        raise BentpipeError(f"{replications} replications\n  expected 1 to {REPLICATIONS_MAX}")
    if jobs is not None and arguments.number("jobs", jobs) < 1:
        raise BentpipeError(f"{jobs} jobs\n  expected at least 1")


def checked_most(replications: int, replications_max: int | None, *, has_until: bool) -> None:
    """Whether a largest number of replications has an effect.

    Raises
    ------
    BentpipeError
        There is no precision to reach, or more replications are made anyway.
    """
    if replications_max is None:
        return
    arguments.only_with("replications_max", replications_max, None, "until", has_until)
    arguments.whole("replications_max", replications_max, replications, REPLICATIONS_MAX)


def checked_of(names: Iterable[str], scenario: Scenario, arms: Iterable[Scenario] = ()) -> None:
    """Whether the scenario, one of its cases or one of the arms has the flows and links that the metrics are of.

    Raises
    ------
    BentpipeError
        None has one of them, or a completion time is asked of a flow that has no end.
    """
    wanted = [metric for metric in map(named, names) if metric.of]
    if not wanted:
        return
    scenarios = [scenario, *scenario.cases.values(), *arms]
    flows = [*dict.fromkeys(name for each in scenarios for name in each.flow_names)]
    links = [*dict.fromkeys(name for each in scenarios for name in each.link_names)]
    for metric in wanted:
        check_of(metric, flows, links)
        if metric.is_completion and not any(_has_end(each, metric.of) for each in scenarios):
            raise BentpipeError(
                f"{metric.name}: the flow {metric.of} has no end\n"
                "  expected a flow with a file or a count; fct is for flows with several transfers"
            )


def _has_end(scenario: Scenario, of: str) -> bool:
    flows = scenario.to_dict()["flow"].items()
    # A flow may be one of an entry with `count`.
    apps = [flow["app"] for entry, flow in flows if matching(of, [entry]) or matching(entry, [of])]
    return any(app["kind"] == "file" or app.get("count") is not None for app in apps)


def one_of(against: str, names: Sequence[str]) -> str:
    """What `against` names: one of the senders or cases that are compared, as it is written.

    Raises
    ------
    ScenarioError
        It is none of them.
    """
    arguments.text("against", against)
    # One of your own may be named by its file, as where it was asked for.
    name = against.rpartition(":")[2] if against.endswith(tuple(f".py:{name}" for name in names)) else against
    if name not in names:
        raise ScenarioError("{against}: " + unknown(against, "a case of this comparison", names), against=None)
    return name


def charted(chart: str | None, *, is_mix: bool, is_drawn: bool) -> None:
    """Whether there is such a chart, and a place for it."""
    known = MIX_CHARTS if is_mix else CHARTS
    if chart is not None and chart not in known:
        what = "a chart of a mix" if is_mix else "a chart of a comparison"
        raise BentpipeError(unknown(chart, what, known))
    if chart is not None and not is_drawn:
        raise BentpipeError(
            "{chart} needs a file for the figure\n  expected {plot}, too", chart=chart, plot=Word("FILE")
        )


def sweep_charted(chart: str) -> None:
    """Whether there is such a chart of a sweep."""
    if chart not in SWEEP_CHARTS:
        raise BentpipeError(unknown(chart, "a chart of a sweep", SWEEP_CHARTS))
