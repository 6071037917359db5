"""`bentpipe mix`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bentpipe.catalog import cc_keys
from bentpipe.cli import complete, options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import check_places
from bentpipe.cli.progress import load
from bentpipe.cli.together import carry_out, refuse_unused
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.options import MIX_CHARTS, MIXES_CHARTS, check_chart, check_options
from bentpipe.scenario import overrides
from bentpipe.statistics.judgement import FAIR_USUAL

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.statistics.judgement import Judgement


@click.command(
    "mix",
    cls=Command,
    examples=(
        "mix geo --cc cubic,bbr3,vegas",
        "mix geo --cc cubic,reno --plot shares.png --chart share",
        "mix geo --cc paced,cubic --case 'paced: tcp.pacing=window'",
        "mix geo --cc cubic,bbr3 --vary link.sat.delay=20ms,260ms",
    ),
)
@options.file
@options.cc("Congestion controls (see: list cc) or names of cases. Default: all cases.")
@options.case("A case for --cc: a name and overrides of tcp. Repeatable.")
@options.replications(10, "Runs of the mix, and of each case alone (all flows of that case).")
@options.until
@options.replications_max
@click.option(
    "-m",
    "--metric",
    metavar="A,B",
    shell_complete=complete.metrics,
    help="More metrics of each case, over its flows: tcp_efficiency, fct:web (see: list metrics).",
)
@options.judgement("confidence", "correction", "margin")
@click.option(
    "--fair",
    default=FAIR_USUAL,
    show_default=True,
    metavar="SHARE",
    help="Largest loss of goodput beside the other cases that is fair, as a share.",
)
@click.option(
    "--stagger",
    default="0s",
    metavar="TIME",
    help="Time between the starts of the copies of a flow: 10s. The cases change places. Default: all start together.",
)
@click.option(
    "--vary",
    metavar="KEY=VALUES",
    multiple=True,
    shell_complete=complete.settings,
    help="Answer at each point of a grid: a key and its values, as in sweep. stagger=0s,10s varies the starts."
    " Repeatable.",
)
@options.sets
@options.seed
@options.execution
@options.save
@options.plot
@options.chart(*MIX_CHARTS, *MIXES_CHARTS)
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
    metric: str | None,
    judgement: Judgement,
    fair: str,
    stagger: str,
    vary: tuple[str, ...],
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
    """Let congestion controls share a path.

    Runs every flow of the scenario once with each congestion control, all at the same time. Reports the share of each,
    the starved cases, and the goodput of each case alone. --vary decides whether the cases are fair at each point
    of a grid.
    """
    check_places(save, plot)
    check_options(metric="goodput", replications=replications)
    axes = _read_axes(vary)
    charts = MIXES_CHARTS if axes else MIX_CHARTS
    check_chart(chart, charts, "a mix of several points" if axes else "a mix", is_drawn=plot is not None)
    from bentpipe.scenario.scenario import split_names

    settings, enough = overrides.cases(cases), overrides.until(until)
    scenario = load(file, sets, seed, tables=["case"], is_quiet=quiet)
    named = {**scenario.cases, **settings}
    members = cc or ",".join(named)
    if not cc or not any(name in named for name in split_names(cc)):
        refuse_unused(scenario, sets, settings, cc_keys() if cc is not None else ())

    asked: dict[str, Any] = {
        "cases": settings,
        "replications": replications,
        "replications_max": replications_max,
        "until": enough,
        "metric": metric or (),
        "confidence": judgement.confidence,
        "correction": judgement.correction,
        "margin": judgement.margin,
        "fair": fair,
        **where,
    }

    def work(progress: Any) -> Any:
        from bentpipe.experiment.mix import mix, mixes

        if axes:
            return mixes(scenario, members, axes, progress=progress, **asked)
        return mix(scenario, members, stagger=stagger, progress=progress, **asked)

    def render_mix(result: Any) -> Any:
        from bentpipe.cli import render

        shown = render.mixes if axes else render.mix
        return (*shown(result), *render.notes(result))

    carry_out(
        scenario,
        work,
        render_mix,
        lambda result: result.plot(chart, **look),
        save=save,
        plot=plot,
        json=json,
        quiet=quiet,
    )


def _read_axes(vary: tuple[str, ...]) -> dict[str, Any]:
    """Read the varied keys. Keys of a mix do not change together."""
    axes, together = overrides.read_varied(vary)
    if together:
        raise BentpipeError("--vary of mix has one key each\n  expected --vary KEY=VALUES for each key")
    return axes
