"""Runs a scenario at every point of a grid."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bentpipe.errors import ScenarioError
from bentpipe.experiment.design.grid import Grid, arguments, with_axes
from bentpipe.experiment.execution.execution import carry_out
from bentpipe.progress import Progress, choose_watch
from bentpipe.scenario.scenario import make_scenario
from bentpipe.statistics.judgement import Judgement

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.progress import Wish
    from bentpipe.scenario.names import MetricName
    from bentpipe.scenario.scenario import AnyScenario
    from bentpipe.statistics.judgement import Correction, Sides, Statistic


def sweep(
    scenario: AnyScenario,
    vary: Mapping[str, Any] | None = None,
    *,
    together: Sequence[Mapping[str, Any]] | None = None,
    replications: int | None = None,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metric: MetricName | str | Sequence[MetricName | str] | None = None,
    tables: Sequence[str] | None = None,
    confidence: float = Judgement.confidence,
    statistic: Statistic = Judgement.statistic,
    correction: Correction = Judgement.correction,
    sides: Sides = Judgement.sides,
    margin: str | float | None = Judgement.margin,
    against: str | None = None,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    store: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Wish = None,
) -> Sweep:
    """Run a scenario at every point of a grid, and keep the results of each run.

    The table `[sweep]` of the scenario has the defaults of the arguments. Replication k of each point uses the seed of
    the scenario + k, so all points meet the same channels. Over a `[sky]`, replication k has day k of the sky;
    `sky.day = 0` gives all replications the same day. A run that is already in the store is not repeated.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        See `run`.
    vary : mapping, optional
        Values by dotted key: a list, or a range such as
        `{"from": 1e-5, "to": 1e-1, "count": 9, "scale": "log"}`. Every value is combined with every value of the other
        keys.
    together : sequence of mappings, optional
        Keys whose values change together: the first value of each key, then the second value of each key, and so on.
    replications : int, optional
        Runs of each point, each with its own seed. With `until`, the minimum.
    replications_max : int, optional
        Maximum of runs of a point.
    until : mapping, optional
        `{"metric": "goodput", "half_width": "2 %"}`: add replications of a point until the half width of the 95 %
        interval is below 2 % of the mean. Replications grow in fixed steps, so the result does not depend on timing.
    metric : str or sequence of str, optional
        Reported metrics: of the whole run (`bentpipe list metrics`), or of one flow or link, such as `fct:web` and
        `queue_p95:sat.forward`.
    tables : sequence of str, optional
        Additional tables to keep of each run: `flows`, `subflows`, `links`, `drops`, `completions`, `transfers`,
        `datagrams`, `probes`, `quic`, `media`, `terminals`, `modcods`.
    confidence, statistic, correction, sides, margin : optional
        The judgement, as in `compare`.
    against : str, optional
        The baseline: one of the varied congestion controls or cases. The default is the best case.
    cases : mapping, optional
        Conditions, each a name with its overrides, as in `compare`:
        `{"clear": {}, "rain": {"link.sat.error.rate": 1e-4}}`. They are one more axis of the grid, named `case`. If
        congestion controls vary, they are compared within each case. Otherwise, the cases are compared with each other.
    store : path, optional
        A folder that keeps all runs; created if it does not exist. Without it, only the result exists.
    seed : int, optional
        Seed of replication 0. The default is the scenario's seed.
    jobs : int, optional
        Number of runs at the same time. The default is all cores.
    on : str, optional
        `local:4` or `dask://HOST:PORT`: execute the runs in processes of `dask.distributed`. The results are the same.
    progress : callable or bool, optional
        A callable that receives a `Progress` several times a second; `Progress.result()` covers the runs that have
        ended. True or False shows or hides a bar, as in `run`.

    Returns
    -------
    Sweep

    Raises
    ------
    ScenarioError
        A point of the grid is invalid, or there are no points. Nothing ran.
    BentpipeError
        An unknown statistic or correction, or a confidence out of bounds. Also raised if the store or the cluster
        cannot be used; finished runs are kept.
    Interrupted
        Ctrl-C was pressed; `result` and the store have the finished runs.
    """
    judgement = Judgement(statistic, confidence, correction, sides=sides, margin=margin)
    asked = arguments(
        vary,
        together,
        replications=replications,
        replications_max=replications_max,
        until=until,
        metric=metric,
        tables=tables,
        against=against,
        cases=cases,
    )
    own = [] if seed is None else [("seed", seed)]
    whole = with_axes(lambda sets: make_scenario(scenario, [*sets, *own]), asked)
    with choose_watch(progress) as watch:
        state = Progress()
        grid = Grid(whole, partial(watch or (lambda _: None), state), judgement)
        # Shown while the points are checked.
        state.total = len(grid) * grid.replications
        if not grid.keys:
            raise ScenarioError(
                "the sweep has no key to vary\n  expected keys with values in [sweep.vary], or {vary}",
                vary={"tcp.cc": ["newreno", "sack"]},
            )
        return carry_out(grid, store=store, jobs=jobs, on=on, progress=watch)
