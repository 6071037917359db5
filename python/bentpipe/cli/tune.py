"""`bentpipe tune`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import check_places, print_result
from bentpipe.cli.progress import Bar, load
from bentpipe.errors import BentpipeError, Interrupted
from bentpipe.scenario import overrides

if TYPE_CHECKING:
    from collections.abc import Sequence

CHARTS = ("worth", "front", "map")


@click.command(
    "tune",
    cls=Command,
    examples=(
        "tune geo-home --plan",
        "tune geo-home --apply geo-home.tuned",
        "tune geo --for goodput --over tcp.cc=cubic,bbr1,hybla --budget 10min",
        "tune geo-home --guard 'goodput:film=-5 %' --robust worst",
    ),
)
@options.file
@click.option(
    "--for",
    "objective",
    metavar="METRIC",
    shell_complete=complete.metrics,
    help="Metric to improve: fct:pages, goodput. Several with weights: 'fct:pages=2,goodput:film=1'."
    " Default: [tune] in the file.",
)
@click.option(
    "--guard",
    metavar="'METRIC >= BOUND'",
    multiple=True,
    help="Metric that must hold in every condition: 'goodput:film >= -15 %', relative to the default. Repeatable.",
)
@click.option(
    "--over",
    metavar="KEY=VALUES",
    multiple=True,
    shell_complete=complete.settings,
    help="A key and the values to try, besides [tune.vary] in the file: tcp.cc=cubic,bbr1. Repeatable."
    " Default: a stock space.",
)
@click.option("--budget", metavar="N|TIME", help="Runs of the search, or a time for them: 2000, 10min.")
@click.option("--robust", metavar="mean|worst|q90", help="Score over all conditions. Default: mean.")
@click.option(
    "--space", metavar="linux|all", help="Try only what a stock system has, or also research. Default: linux."
)
@click.option("--margin", metavar="SHARE", help="Smallest improvement that matters: 2%. Default: 1 %.")
@options.sets
@options.seed
@options.execution
@click.option("--plan", is_flag=True, help="Print space, conditions, runs and expected minutes, and stop.")
@click.option("--apply", "applied", type=options.PLACE, metavar="FOLDER", help="Write the files to apply the settings.")
@options.plot
@options.chart(*CHARTS, default="worth")
@options.figure
@options.json
@options.quiet
def command(
    file: str,
    objective: str | None,
    guard: tuple[str, ...],
    over: tuple[str, ...],
    budget: str | None,
    robust: str | None,
    space: str | None,
    margin: str | None,
    sets: tuple[str, ...],
    seed: int | None,
    where: dict[str, Any],
    plan: bool,
    applied: Path | None,
    plot: Path | None,
    chart: str,
    json: bool,
    quiet: bool,
    look: dict[str, Any],
) -> None:
    """Find better settings for a path.

    Tries many settings of a scenario, confirms the best one on other seeds, and prints what each change is worth. Keeps
    every run in a store (default: NAME.tune). Repeat the command to continue an interrupted search.
    """
    check_places(save=applied, plot=plot)
    if chart not in CHARTS:
        raise BentpipeError(f"--chart {chart}\n  expected one of {', '.join(CHARTS)}")
    from bentpipe.scenario.scenario import STDIN
    from bentpipe.tuning.planning import make_plan
    from bentpipe.tuning.tune import arguments, tune

    vary, together = overrides.read_varied(over, "--over")
    if together:
        raise BentpipeError(f"--over {over[0]}: keys go together\n  expected one key with its values")
    asked = arguments(vary, _goals(objective), list(guard), None, robust, margin, space)
    given = overrides.pairs(sets, tables=["tune"])
    overrides.refuse_replaced(given, [key for key, _ in asked], "another option")
    scenario = load(file, sets, seed, more=asked, tables=["tune"], is_quiet=quiet)
    from bentpipe.cli import render_tune as render

    if plan:
        found = make_plan(scenario, list(guard), budget, where["jobs"])
        print_result(found.to_dict, lambda: render.plan(found), json=json, quiet=quiet)
        return
    place = where["store"] or Path(f"{'stdin' if file == STDIN else Path(file).stem}.tune")
    try:
        with Bar(is_quiet=quiet, is_summed_up=True) as bar:
            result = tune(scenario, guard=list(guard) or None, budget=budget, progress=bar, **{**where, "store": place})
    except Interrupted as interrupt:
        part = interrupt.result
        if part is not None:
            print_result(part.to_dict, lambda: render.tuning(part), json=json, quiet=quiet)
        unwritten = "" if applied is None else f"; {applied} was not written"
        raise Interrupted(f"{interrupt}; the runs are kept in {place}{unwritten}") from None
    written = result.apply(applied) if applied is not None and result.recommended else None
    if applied is not None and written is None and not quiet:
        print(f"{applied} was not written: no setting is recommended", file=sys.stderr)
    more = {} if written is None else {"apply": written.to_dict()}
    print_result(lambda: {**result.to_dict(), **more}, lambda: render.tuning(result, written), json=json, quiet=quiet)
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(result.plot(chart, **look), plot)


def _goals(text: str | None) -> str | dict[str, Any] | None:
    """Read `METRIC`, or `METRIC=WEIGHT,METRIC=WEIGHT`."""
    if text is None or ("=" not in text and "," not in text):
        return text
    parts: Sequence[str] = [part.strip() for part in text.split(",") if part.strip()]
    found = {}
    for part in parts:
        name, _, weight = part.partition("=")
        try:
            found[name.strip()] = float(weight or 1)
        except ValueError:
            raise BentpipeError(f"--for {text}\n  expected weights, such as fct:pages=2,goodput:film=1") from None
    return found
