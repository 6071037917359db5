"""`bentpipe compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import check_places
from bentpipe.cli.together import carry_out
from bentpipe.experiment.options import CHARTS, charted, checked
from bentpipe.scenario import overrides

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    "compare",
    cls=Command,
    examples=(
        "compare geo --cc cubic,bbr3 --metric rtt --replications 20",
        "compare geo --cc all --against cubic --plot all.png",
        "compare geo --case 'standard:' --case 'hystart: tcp.slow_start=hystart'",
    ),
)
@options.file
@options.cc("Congestion controls, or all; see: list cc. One of your own: FILE.py:CLASS.")
@options.case
@options.replications(10, "Runs of each one, each with its own seed.")
@options.metric
@options.statistic
@options.confidence
@options.correction
@options.against
@options.sets
@options.seed
@options.jobs
@options.save
@options.plot
@options.chart(*CHARTS)
@options.json
@options.quiet
def command(
    file: str,
    cc: str | None,
    cases: tuple[str, ...],
    replications: int,
    metric: str,
    statistic: str,
    confidence: float,
    correction: str,
    against: str | None,
    sets: tuple[str, ...],
    seed: int | None,
    jobs: int | None,
    save: Path | None,
    plot: Path | None,
    chart: str | None,
    json: bool,
    quiet: bool,
) -> None:
    """Compare congestion controls, or cases.

    Runs the scenario many times with each, all with the same seeds, and reports means with confidence intervals and
    what can be said about the differences.
    """
    check_places(save, plot)
    checked(metric=metric, replications=replications, confidence=confidence, statistic=statistic, correction=correction)
    charted(chart, is_mix=False, is_drawn=plot is not None)
    from bentpipe.cc.loading import named
    from bentpipe.scenario.scenario import load

    if cc is not None:
        # Before statistics are loaded, which takes longer than to find what is wrong.
        named(cc)
    settings = overrides.cases(cases)
    scenario = load(file, overrides.pairs(sets, seed))

    def work(progress: Any) -> Any:
        from bentpipe.experiment.compare import compare

        return compare(
            scenario,
            cc,
            cases=settings,
            replications=replications,
            metric=metric,
            confidence=confidence,
            statistic=statistic,
            correction=correction,
            against=against,
            jobs=jobs,
            progress=progress,
        )

    def shown(result: Any) -> Any:
        from bentpipe.cli import render

        return render.comparison(result)

    def drawn(result: Any) -> Any:
        return result.plot(None if chart == "intervals" else chart)

    carry_out(scenario, work, shown, drawn, save=save, plot=plot, json=json, quiet=quiet)
