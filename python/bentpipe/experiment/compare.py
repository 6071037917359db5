"""The same scenario with many senders, over the same replications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.experiment import options
from bentpipe.experiment.arms import Compared, senders_of
from bentpipe.experiment.execution import carry_out
from bentpipe.scenario.scenario import names_of, scenario_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe.experiment.comparison import Comparison
    from bentpipe.experiment.options import Correction, Statistic
    from bentpipe.own.loading import Sender
    from bentpipe.progress import Progress
    from bentpipe.scenario.scenario import AnyScenario


def compare(
    scenario: AnyScenario,
    cc: Sender | Sequence[Sender] | None = None,
    *,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    replications: int = 10,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metric: str | Sequence[str] = "goodput",
    confidence: float = 0.95,
    statistic: Statistic = "mean",
    correction: Correction = "holm",
    against: str | None = None,
    tables: Sequence[str] = (),
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Comparison:
    """Run a scenario with several senders and say what differs: congestion controls, or cases with other settings.

    Replication k uses the seed of the scenario + k for every sender, so that all meet the same channel and their
    differences can be taken in pairs (common random numbers).

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        As in `run`. Without `cc` and `cases`, the cases that it has itself (`[case.NAME]`) are compared.
    cc : str, class, or sequence of these, optional
        Names of congestion controls, or `all`; see `bentpipe list cc`. One of your own is a class that extends
        `CongestionControl`, or `FILE.py:CLASS`. Each takes the place of `[tcp] cc`; a flow that
        names its own congestion control keeps it.
    cases : mapping, optional
        By name, the values that a case puts over the scenario's, by dotted key:
        `{"halving": {}, "prr": {"tcp.reduction": "prr"}}`.
    replications : int
        Runs per sender, at most 10000; with one there are no intervals.
    replications_max, until, tables, store, on : optional
        As in `sweep`: go on until the intervals are narrow enough; keep tables of each run; keep what was run, and go
        on from there; run elsewhere.
    metric : str or sequence of str
        What the statements are about: `goodput`, `utilisation`, `jain`, `completion`, `resent`, `timeouts`, `lost`,
        `rtt`, and `fct`, `fct_p95`, `slowdown`, `unfinished` of flows that make several transfers. The tables have
        all of these. Others (`bentpipe list metrics`), and metrics of one flow or link such as `fct:web` and
        `queue_p95:sat.forward`, are in the tables where they are named here; of several the first is what the
        statements are about.
    confidence : float
        Of each interval, and of all the statements together; between 0 and 1.
    statistic : str
        `mean`, with Student's intervals, or `median`, with bootstrap intervals and the sign test, for values that are
        far from normal. Medians need at least six replications at 95 %.
    correction : str
        For several pairs of senders: `holm` bounds the chance of any false statement, `bh` (Benjamini-Hochberg) the
        share of false ones, `none` neither.
    against : str, optional
        One of the senders or cases: every other one is compared with it, and with nothing else. If not given, the best
        is, and the differences are those of all pairs.
    jobs : int, optional
        Runs at the same time; all cores if not given. The results do not depend on it.
    progress : callable, optional
        Called several times a second with a `Progress`; its `result()` is the result of the runs that have ended.

    Returns
    -------
    Comparison

    Raises
    ------
    ScenarioError
        An unknown sender or one that is named twice, no flow that would take it, or `against` none of them.
    BentpipeError
        An unknown metric, statistic or correction, or a number out of bounds.
    SenderError
        A congestion control in Python failed. There is no result.
    Interrupted
        Ctrl-C; `result` compares the replications that all senders had finished, or is None.
    """
    scenario = scenario_of(scenario)
    asked = names_of(metric) or ["goodput"]
    options.checked(
        metric=asked,
        replications=replications,
        jobs=jobs,
        confidence=confidence,
        statistic=statistic,
        correction=correction,
    )
    senders = senders_of(scenario, cc, cases)
    if against is not None:
        against = options.one_of(against, list(senders))
    design = Compared(
        scenario,
        "case" if cc is None else "tcp.cc",
        senders,
        replications=replications,
        replications_max=replications_max,
        until=until,
        metrics=asked,
        tables=tables,
    )
    judged = [*asked, *([design.until.metric] if design.until else [])]
    options.checked_of(judged, scenario, senders.values())
    design.against = against
    design.said = {"metric": asked[0], "confidence": confidence, "statistic": statistic, "correction": correction}
    design.cases = cases or {}
    return carry_out(design, store=store, jobs=jobs, on=on, progress=progress)
