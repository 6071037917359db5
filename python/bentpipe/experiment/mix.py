"""Different senders in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import arguments
from bentpipe.experiment.common import options
from bentpipe.experiment.design.mixed import Mixed
from bentpipe.experiment.execution.execution import carry_out
from bentpipe.experiment.results.plan import Plan
from bentpipe.experiment.results.quantities import quantity
from bentpipe.metric import Metric
from bentpipe.own.loading import parts
from bentpipe.progress import watched
from bentpipe.scenario.scenario import names_of, scenario_of
from bentpipe.statistics.judgement import Judgement

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from bentpipe.experiment.results.mix import Mix
    from bentpipe.own.loading import Sender
    from bentpipe.progress import Wish
    from bentpipe.scenario.scenario import AnyScenario
    from bentpipe.statistics.judgement import Correction


@options.formerly(senders="cc", metrics="metric")
def mix(
    scenario: AnyScenario,
    cc: Sender | Iterable[Sender],
    *,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    replications: int = 10,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metric: str | Sequence[str] = (),
    confidence: float = Judgement.confidence,
    correction: Correction = Judgement.correction,
    store: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Wish = None,
) -> Mix:
    """Put different congestion controls into one run and compare their shares.

    Every flow of the scenario is there once for each sender, on the same path, with the same application and start: no
    sender has the shorter path or the larger file. Flows whose transport is the same for all senders, such as those
    that name their own congestion control, stay as they are and do not count.

    Replication k uses the seed of the scenario + k, and the senders change places by k, for who is first is chance.
    Over a `[sky]`, replication k has day k of it, as in `compare`.
    The same is run with all flows of one kind, kind by kind, for the goodput of each among its own kind.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        See `run`.
    cc : str, class, or iterable of these
        At least two congestion controls, as in `compare`, each with the loss recovery that belongs to it, or names of
        cases; `all` stands for every congestion control.
    cases : mapping, optional
        Cases as in `compare`, besides those of the scenario. They may change the transport only.
    replications : int
        At most 10000; with one there are no intervals.
    replications_max, store, on : optional
        See `sweep`: the most with `until`, keep all runs and continue from there, run elsewhere.
    until : mapping, optional
        `{"metric": "share", "half_width": "5 %"}`: go on until one of `QUANTITIES`, or a metric, is known
        so well for every sender.
    metric : str or sequence of str, optional
        Further metrics of flows in the tables, besides `QUANTITIES` (`bentpipe list metrics`), over all
        its flows (`tcp_efficiency`) or its copies of one (`fct:web`).
    confidence, correction : optional
        See `compare`; over all tests of all congestion controls.
    seed : int, optional
        Seed of replication 0, instead of the scenario's own.
    jobs : int, optional
        Runs at the same time; all cores if not given. The results do not depend on it.
    progress : callable or bool, optional
        Called several times a second with a `Progress`; its `result()` is the result of the runs that have ended. Or
        whether there is a bar, as for `run`.

    Returns
    -------
    Mix

    Raises
    ------
    ScenarioError
        An unknown sender, fewer than two, a case that changes more than the transport, or no flow that would take part.
    BentpipeError
        A number out of bounds.
    Interrupted
        Ctrl-C; `result` has the replications that were finished, or is None.
    """
    scenario = scenario_of(scenario, () if seed is None else {"seed": seed})
    options.checked(metric="goodput", replications=replications, jobs=jobs)
    judgement = Judgement(confidence=confidence, correction=correction)
    options.checked_most(replications, replications_max, has_until=until is not None)
    arguments.mapping("cases", {} if cases is None else cases, "cases with their settings: {'NAME': {KEY: VALUE}}")
    plan = Plan.of(scenario.replace("record.series", []), parts(cc), cases or {})
    asked = names_of(metric)
    options.checked_of([name for name in asked if isinstance(quantity(name), Metric)], scenario)
    design = Mixed(scenario, plan, replications, replications_max, until, judgement, asked)
    design.cases = cases or {}
    with watched(progress) as watch:
        return carry_out(design, store=store, jobs=jobs, on=on, progress=watch)
