"""Runs the same scenario with several cases, over the same replications."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bentpipe import arguments
from bentpipe.catalog import cc_keys
from bentpipe.errors import ScenarioError
from bentpipe.experiment.common import options
from bentpipe.experiment.common.senders import name_senders
from bentpipe.experiment.design.arms import Compared
from bentpipe.experiment.execution.execution import carry_out
from bentpipe.metric import find_metric
from bentpipe.progress import choose_watch
from bentpipe.scenario.scenario import make_scenario, split_names
from bentpipe.statistics.judgement import Judgement

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from bentpipe.experiment.results.comparison import Comparison
    from bentpipe.own.loading import Sender
    from bentpipe.progress import Wish
    from bentpipe.scenario.names import MetricName
    from bentpipe.scenario.scenario import AnyScenario
    from bentpipe.statistics.judgement import Correction, Sides, Statistic


def compare(
    scenario: AnyScenario,
    cc: Sender | Sequence[Sender] | None = None,
    *,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    replications: int = 10,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metric: MetricName | str | Sequence[MetricName | str] = "goodput",
    confidence: float = Judgement.confidence,
    statistic: Statistic = Judgement.statistic,
    correction: Correction = Judgement.correction,
    against: str | None = None,
    sides: Sides = Judgement.sides,
    margin: str | float | None = Judgement.margin,
    tables: Sequence[str] = (),
    store: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Wish = None,
) -> Comparison:
    """Run a scenario with several congestion controls, or cases with other settings, and compare the results.

    Replication k uses the seed of the scenario + k for every case. So all cases meet the same channel, and differences
    are paired (common random numbers). Over a `[sky]`, replication k has day k of the sky: another start, other
    tie-breakers and other rain, the same for every case. `sky.day = 0` gives all replications the same day.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        As in `run`. Without `cc` and `cases`, the scenario's own cases (`[case.NAME]`) are compared.
    cc : str, class, or sequence of these, optional
        Names of congestion controls, or `all` (`bentpipe list cc`). A custom congestion control is a class that extends
        `CongestionControl`, or `FILE.py:CLASS`. Each replaces `cc` of `[tcp]`, and of `[quic]` for
        flows over QUIC. A flow that names its own congestion control keeps it.
    cases : mapping, optional
        Overrides of each case, by its name and by dotted key:
        `{"halving": {}, "prr": {"tcp.reduction": "prr"}}`.
    replications : int
        Runs per case, at most 10000. One replication gives no intervals.
    replications_max, until, tables, store, on : optional
        See `sweep`: the maximum of replications, the rule that adds them, the tables to keep of each run, the folder
        that keeps all runs, and the machines that execute them.
    metric : str or sequence of str
        Metrics of the statements: `goodput`, `utilisation`, `jain`, `completion`, `retransmitted`, `timeouts`, `lost`,
        `rtt`, and `fct`, `fct_p95`, `slowdown`, `unfinished` of flows with several transfers. The tables have all of
        these. Other metrics (`bentpipe list metrics`), and metrics of one flow or link such as `fct:web` and
        `queue_p95:sat.forward`, are in the tables if they are named here. The statements are about the first metric.
    confidence : float
        Confidence level of each interval, and of all statements together; between 0 and 1.
    statistic : str
        `mean`, with Student's intervals, or `median`, with bootstrap intervals and the sign test. Use medians for
        values far from normal. They need at least six replications at 95 %.
    correction : str
        Correction for comparing several pairs of cases. `holm` bounds the probability of any false statement, `bh`
        (Benjamini-Hochberg) bounds the share of false statements, and `none` bounds neither.
    against : str, optional
        The baseline: every other case is compared only with it. By default, the baseline of the statements is the best
        case, and the differences are of all pairs.
    sides : str
        `two` tests for a difference in either direction. `better` and `worse` test whether each case is better or worse
        than `against`. `not-worse` tests whether each case is worse by less than `margin`.
    margin : str or float, optional
        The smallest difference that matters: a share of the other case's value (`2 %`), or an amount in the unit of the
        metric (`20 ms`). An amount applies only to metrics of its unit. If the whole interval of a difference is within
        the margin, the statement is "no difference that matters". One-sided tests ask whether a difference exceeds the
        margin. With None, every difference matters.
    seed : int, optional
        Seed of replication 0. The default is the scenario's seed.
    jobs : int, optional
        Number of runs at the same time. The default is all cores. The results do not depend on it.
    progress : callable or bool, optional
        A callable that receives a `Progress` several times a second; `Progress.result()` covers the runs that have
        ended. True or False shows or hides a bar, as in `run`.

    Returns
    -------
    Comparison

    Raises
    ------
    ScenarioError
        A congestion control is unknown or named twice, no flow could use it, or `against` is not a compared case.
    BentpipeError
        An unknown metric, statistic or correction, or a number out of bounds.
    SenderError
        A congestion control in Python failed. There is no result.
    Interrupted
        Ctrl-C was pressed; `result` compares the replications that all cases had finished, or is None.
    """
    scenario = make_scenario(scenario, () if seed is None else {"seed": seed})
    asked = split_names(metric)
    options.check_options(metric=asked, replications=replications, jobs=jobs)
    judgement = Judgement(statistic, confidence, correction, against, sides, margin)
    judgement.check([*map(find_metric, asked)])
    options.checked_most(replications, replications_max, has_until=until is not None)
    arguments.mapping("cases", {} if cases is None else cases, "cases with their settings: {'NAME': {KEY: VALUE}}")
    senders = name_senders(scenario, cc, cases)
    if against is not None:
        judgement = replace(judgement, against=options.find_case(against, list(senders)))
    design = Compared(
        scenario,
        "case" if cc is None else cc_keys()[0],
        senders,
        replications=replications,
        replications_max=replications_max,
        until=until,
        metrics=asked,
        tables=tables,
        judgement=judgement,
    )
    options.check_metrics([*asked, *([design.until.metric] if design.until else [])], scenario, senders.values())
    if len(senders) < 2:
        what = "cases" if cc is None else "congestion controls"
        given = ", ".join(senders) or "none"
        expected = f"expected one more, or run for the results of {given}" if senders else "expected two names"
        raise ScenarioError(f"a comparison needs two {what} or more, got {given}\n  {expected}")
    design.cases = cases or {}
    with choose_watch(progress) as watch:
        return carry_out(design, store=store, jobs=jobs, on=on, progress=watch)
