"""`bentpipe compare`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import check_places
from bentpipe.cli.progress import load
from bentpipe.cli.together import carry_out, refuse_unused
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.options import CHARTS, check_chart, check_options
from bentpipe.experiment.common.senders import used_cc_keys
from bentpipe.scenario import overrides

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.statistics.judgement import Judgement


@click.command(
    "compare",
    cls=Command,
    examples=(
        "compare geo --cc cubic,bbr3 --metric rtt --replications 20",
        "compare geo --cc all --against cubic --plot all.png",
        "compare geo --case 'hystart:' --case 'plain: tcp.slow_start=standard'",
    ),
)
@options.file
@options.cc("Congestion controls to compare, or all (see: list cc). Your own: FILE.py:CLASS.")
@options.case("A case: a name and overrides. Repeatable. Without --cc and --case: the cases in the file.")
@options.replications(10, "Runs per case, each with another seed.")
@options.until
@options.replications_max
@options.metric
@options.judgement(*options.JUDGEMENT)
@click.option(
    "--all", "show_all", is_flag=True, help="Also show the loss reactions: needless and missed window reductions."
)
@click.option("--ratio", is_flag=True, help="Also show ratios to --against NAME, paired by seed.")
@options.sets
@options.seed
@options.execution
@options.save
@options.plot
@options.chart(*CHARTS)
@options.figure
@options.json
@options.quiet
def command(
    file: str,
    cc: str | None,
    cases: tuple[str, ...],
    replications: int,
    until: str | None,
    replications_max: int | None,
    metric: str,
    judgement: Judgement,
    show_all: bool,
    ratio: bool,
    sets: tuple[str, ...],
    seed: int | None,
    where: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    chart: str | None,
    json: bool,
    quiet: bool,
    look: dict[str, Any],
) -> None:
    """Compare congestion controls or cases.

    Runs the scenario several times with each case, with the same seeds for all. Prints means with confidence intervals,
    and states which differences the data supports.
    """
    check_places(save, plot)
    check_options(metric=metric, replications=replications)
    check_chart(chart, CHARTS, "a comparison", is_drawn=plot is not None)
    if (ratio or chart == "ratio") and judgement.against is None:
        raise BentpipeError("--ratio needs a baseline\n  expected --against NAME")
    from bentpipe.own.loading import name_senders

    if cc is not None:
        # Check first: loading the statistics takes longer than finding an error.
        name_senders(cc)
    settings, enough = overrides.cases(cases), overrides.until(until)
    scenario = load(file, sets, seed, tables=["case"], is_quiet=quiet)
    refuse_unused(scenario, sets, settings, used_cc_keys(scenario) if cc is not None else ())

    def work(progress: Any) -> Any:
        from bentpipe.experiment.compare import compare

        return compare(
            scenario,
            cc,
            cases=settings,
            replications=replications,
            replications_max=replications_max,
            until=enough,
            metric=metric,
            progress=progress,
            **asdict(judgement),
            **where,
        )

    def render_comparison(result: Any) -> Any:
        from bentpipe.cli import render

        ratios = render.ratios(result) if ratio else ()
        return (*render.comparison(result, show_all), *ratios, *render.notes(result))

    def draw_chart(result: Any) -> Any:
        return result.plot(chart, **look)

    carry_out(scenario, work, render_comparison, draw_chart, save=save, plot=plot, json=json, quiet=quiet)
