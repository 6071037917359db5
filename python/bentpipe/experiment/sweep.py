"""A scenario at every point of a grid."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bentpipe.errors import ScenarioError
from bentpipe.experiment.common import options
from bentpipe.experiment.design.grid import Grid, arguments, with_axes
from bentpipe.experiment.execution.execution import carry_out
from bentpipe.progress import Progress, watched
from bentpipe.scenario.scenario import scenario_of
from bentpipe.statistics.judgement import Judgement

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.progress import Wish
    from bentpipe.scenario.scenario import AnyScenario
    from bentpipe.statistics.judgement import Correction, Sides, Statistic


@options.formerly(metrics="metric")
def sweep(
    scenario: AnyScenario,
    vary: Mapping[str, Any] | None = None,
    *,
    together: Sequence[Mapping[str, Any]] | None = None,
    replications: int | None = None,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metric: str | Sequence[str] | None = None,
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
    """Run a scenario at every point of a grid, and keep what each run gave.

    The table `[sweep]` of the scenario is the default of the arguments. Replication k of each point has the
    scenario's seed + k, so that all points meet the same channels, and day k of a `[sky]` (`sky.day = 0`: all the same
    day). A run that is in the store already is not done again.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        See `run`.
    vary : mapping, optional
        By dotted key, the values that it takes: a list, or a range such as
        `{"from": 1e-5, "to": 1e-1, "count": 9, "scale": "log"}`. Every value is combined with every value of the
        others.
    together : sequence of mappings, optional
        Keys whose values go together, first with first, second with second.
    replications : int, optional
        Runs of each point, each with its own seed; with `until` the fewest.
    replications_max : int, optional
        Runs of a point at most.
    until : mapping, optional
        `{"metric": "goodput", "half_width": "2 %"}`: go on with a point until the 95 % interval of the mean is below
        ± 2 % of it. The number of replications grows in fixed steps, so the result does not depend on timing.
    metric : str or sequence of str, optional
        Metrics that are reported: those of the whole run (`bentpipe list metrics`), or of one flow or link, such as
        `fct:web` and `queue_p95:sat.forward`.
    tables : sequence of str, optional
        Tables of each run that are kept besides: `flows`, `links`, `drops`, `completions`, `transfers`, `datagrams`.
    confidence, statistic, correction, sides, margin : optional
        The judgement, as in `compare`.
    against : str, optional
        One of the congestion controls or cases that vary: every other one is compared with it; the best if not given.
    cases : mapping, optional
        Conditions: by name, the values that each puts over the scenario's, as in `compare`, such as
        `{"clear": {}, "rain": {"link.sat.error.rate": 1e-4}}`. They are one more axis, `case`, whose levels have these
        names in tables, sentences and figures. Where congestion controls vary, these are compared in each case;
        otherwise, the cases are compared with each other.
    store : path, optional
        A folder; made if it is not there. Without it, nothing is kept but the result.
    seed : int, optional
        Seed of replication 0, instead of the scenario's own.
    jobs : int, optional
        Runs at the same time; all cores if not given.
    on : str, optional
        `local:4` or `dask://HOST:PORT`: do the runs in processes of `dask.distributed`. The results are the same.
    progress : callable or bool, optional
        Called several times a second with a `Progress`; its `result()` is the result of the runs that have ended. Or
        whether there is a bar, as for `run`.

    Returns
    -------
    Sweep

    Raises
    ------
    ScenarioError
        A point of the grid makes no sense, or there are none. Nothing was run.
    BentpipeError
        An unknown statistic or correction, a confidence out of bounds. Or the store or the cluster cannot be used;
        finished runs are kept.
    Interrupted
        Ctrl-C; `result` has what was finished, and so has the store.
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
    whole = with_axes(lambda sets: scenario_of(scenario, [*sets, *own]), asked)
    with watched(progress) as watch:
        grid = Grid(whole, partial(watch or (lambda _: None), Progress()), judgement)
        if not grid.keys:
            raise ScenarioError(
                "the sweep has no key to vary\n  expected keys with values in [sweep.vary], or {vary}",
                vary={"tcp.cc": ["newreno", "sack"]},
            )
        return carry_out(grid, store=store, jobs=jobs, on=on, progress=watch)
