"""Runs several congestion controls in one run, on one path or at each point of a grid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bentpipe import _core, arguments
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common import options
from bentpipe.experiment.design.mixed import Mixed
from bentpipe.experiment.design.mixes import STAGGER, MixedGrid, list_points, locate_errors
from bentpipe.experiment.execution.execution import carry_out
from bentpipe.experiment.results.plan import Plan
from bentpipe.experiment.results.quantities import quantity
from bentpipe.metric import Metric
from bentpipe.own.loading import parts
from bentpipe.progress import choose_watch
from bentpipe.scenario.scenario import make_scenario, split_names
from bentpipe.statistics.judgement import FAIR_USUAL, MARGIN_USUAL, Judgement

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from bentpipe.experiment.results.mix import Mix
    from bentpipe.experiment.results.mixes import Mixes
    from bentpipe.own.loading import Sender
    from bentpipe.progress import Wish
    from bentpipe.scenario.names import MetricName
    from bentpipe.scenario.scenario import AnyScenario, Scenario
    from bentpipe.statistics.judgement import Correction


def mix(
    scenario: AnyScenario,
    cc: Sender | Iterable[Sender],
    *,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    replications: int = 10,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metric: MetricName | str | Sequence[MetricName | str] = (),
    confidence: float = Judgement.confidence,
    correction: Correction = Judgement.correction,
    margin: str | float | None = MARGIN_USUAL,
    fair: str = FAIR_USUAL,
    stagger: str | float = 0.0,
    store: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Wish = None,
) -> Mix:
    """Put different congestion controls into one run and compare their shares.

    The mix has a copy of each flow for each case, on the same path, with the same application and start. So no case has
    a shorter path or a larger file. A flow with the same transport in all cases, such as a flow that names its own
    congestion control, is not copied. Such flows run, but do not count in the shares.

    Replication k uses the seed of the scenario + k. The order of the cases changes from replication to replication,
    because the first case could have an advantage. Over a `[sky]`, replication k has day k of the sky, as in `compare`.
    For each case, one more run has all flows with this case: it gives the goodput of the case among its own kind.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        See `run`.
    cc : str, class, or iterable of these
        At least two congestion controls, as in `compare`, each with its own loss recovery, or names of cases. `all`
        stands for every congestion control.
    cases : mapping, optional
        Cases as in `compare`, in addition to the cases of the scenario. They may change only the transport.
    replications : int
        At most 10000. One replication gives no intervals.
    replications_max, store, on : optional
        See `sweep`: the maximum of replications with `until`, the folder that keeps all runs, and the machines that
        execute them.
    until : mapping, optional
        `{"metric": "share", "half_width": "5 %"}`: add replications until the interval of this quantity is narrow
        enough for every case. `metric` is one of `QUANTITIES` or a metric of flows.
    metric : str or sequence of str, optional
        Metrics of flows for the tables, in addition to `QUANTITIES`; see `bentpipe list metrics`. `tcp_efficiency`
        covers all flows of a case, `fct:web` only its copies of the flow `web`.
    confidence, correction : optional
        See `compare`. The correction covers all tests of all congestion controls.
    margin : str, optional
        The smallest difference that matters, such as `2 %`. For shares, it is a part of the fair share; for goodputs,
        a part of the goodput among its own kind.
    fair : str, optional
        The largest harm that is fair, as a share of the goodput among its own kind: `10 %`. See `Mix.fairness`.
    stagger : str or float, optional
        Time between the starts of the copies of a flow, in seconds or with a unit: `10 s`. Over the replications, each
        case is in turn the first, the second and so on.
    seed : int, optional
        Seed of replication 0. The default is the scenario's seed.
    jobs : int, optional
        Number of runs at the same time. The default is all cores. The results do not depend on it.
    progress : callable or bool, optional
        A callable that receives a `Progress` several times a second; `Progress.result()` covers the runs that have
        ended. True or False shows or hides a bar, as in `run`.

    Returns
    -------
    Mix

    Raises
    ------
    ScenarioError
        An unknown case, fewer than two cases, a case that changes more than the transport, or no flow that could take
        part.
    BentpipeError
        A number out of bounds.
    Interrupted
        Ctrl-C was pressed; `result` has the finished replications, or is None.
    """
    scenario = make_scenario(scenario, () if seed is None else {"seed": seed})
    options.check_options(metric="goodput", replications=replications, jobs=jobs)
    judgement = _judge(confidence, correction, margin, fair)
    options.checked_most(replications, replications_max, has_until=until is not None)
    asked = _split_metrics(metric, scenario)
    plan = _plan(scenario, cc, cases, stagger)
    design = Mixed(scenario, plan, replications, replications_max, until, judgement, asked, fair)
    design.cases = cases or {}
    with choose_watch(progress) as watch:
        return carry_out(design, store=store, jobs=jobs, on=on, progress=watch)


def mixes(
    scenario: AnyScenario,
    cc: Sender | Iterable[Sender],
    vary: Mapping[str, Any],
    *,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    replications: int = 10,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metric: MetricName | str | Sequence[MetricName | str] = (),
    confidence: float = Judgement.confidence,
    correction: Correction = Judgement.correction,
    margin: str | float | None = MARGIN_USUAL,
    fair: str = FAIR_USUAL,
    store: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Wish = None,
) -> Mixes:
    """Mix congestion controls at each point of a grid, to find the conditions under which they share fairly.

    Each point is a `mix`. With probability `confidence`, the answers of all points are right together.

    Parameters
    ----------
    scenario, cc : optional
        See `mix`.
    vary : mapping
        Values by dotted key, as in `sweep`. The key `stagger` has times between the starts of the copies of a flow:
        `{"link.sat.delay": ["20 ms", "260 ms"], "stagger": ["0 s", "10 s"]}`. Every value is combined with every value
        of the other keys.
    cases, replications, replications_max, until, metric, confidence, correction, margin, fair : optional
        See `mix`.
    store, seed, jobs, on, progress : optional
        See `mix`.

    Returns
    -------
    Mixes

    Raises
    ------
    ScenarioError
        A point is invalid, there are no points, or a key cannot vary. Nothing ran.
    BentpipeError
        A number out of bounds.
    Interrupted
        Ctrl-C was pressed; `result` has the finished replications, or is None.
    """
    scenario = make_scenario(scenario, () if seed is None else {"seed": seed})
    options.check_options(metric="goodput", replications=replications, jobs=jobs)
    judgement = _judge(confidence, correction, margin, fair)
    options.checked_most(replications, replications_max, has_until=until is not None)
    cases = cases or {}
    members = parts(cc)
    asked = _split_metrics(metric, scenario)
    points = []
    for values in list_points(scenario, vary):
        with locate_errors(values):
            at = scenario.with_sets({key: value for key, value in values.items() if key != STAGGER})
            plan = _plan(at, members, cases, values.get(STAGGER, 0.0))
            points.append((values, Mixed(at, plan, replications, replications_max, until, judgement, asked, fair)))
    design = MixedGrid(scenario, vary, cases, points)
    with choose_watch(progress) as watch:
        return carry_out(design, store=store, jobs=jobs, on=on, progress=watch)


def _judge(confidence: float, correction: Correction, margin: str | float | None, fair: str) -> Judgement:
    if margin is not None:
        arguments.margin("margin", margin)
    arguments.margin("fair", fair)
    return Judgement(confidence=confidence, correction=correction, margin=margin)


def _split_metrics(metric: str | Sequence[str], scenario: Scenario) -> list[str]:
    asked = split_names(metric)
    options.check_metrics([name for name in asked if isinstance(quantity(name), Metric)], scenario)
    return asked


def _plan(
    scenario: Scenario,
    cc: Sender | Iterable[Sender],
    cases: Mapping[str, Mapping[str, Any]] | None,
    stagger: str | float,
) -> Plan:
    arguments.mapping("cases", {} if cases is None else cases, "cases with their settings: {'NAME': {KEY: VALUE}}")
    return Plan.from_request(scenario.replace("record.series", []), parts(cc), cases or {}, _read_time(stagger))


def _read_time(given: str | float) -> float:
    """Read the time between starts, seconds."""
    found = _core.quantity(given) if isinstance(given, str) else (given, "s")
    if found is None or found[1] != "s" or isinstance(given, bool) or not 0 <= found[0] < math.inf:
        raise BentpipeError(
            f"{{stagger}}: {given!r} is not a time\n  expected a number with s, ms or min, such as 10s", stagger=None
        )
    return float(found[0])
