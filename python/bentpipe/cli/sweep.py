"""`bentpipe sweep`."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import check_places, print_result
from bentpipe.cli.progress import Bar, load
from bentpipe.errors import Interrupted, ScenarioError
from bentpipe.experiment.common.options import SWEEP_CHARTS, sweep_charted
from bentpipe.scenario import overrides

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bentpipe.errors import Problem
    from bentpipe.statistics.judgement import Judgement


@click.command(
    "sweep",
    cls=Command,
    examples=(
        "sweep geo --vary tcp.cc=cubic,bbr3 --vary link.sat.delay=20ms,260ms",
        "sweep geo --vary 'link.sat.forward.rate=1 Mbit/s..20 Mbit/s:5:log'",
        "sweep geo --case clear: --case 'rain: link.sat.forward.rate=5 Mbit/s'",
        "sweep geo --vary tcp.cc=cubic,hybla --until goodput=2% --plot geo.png",
    ),
)
@options.file
@click.option(
    "--vary",
    metavar="KEY=VALUES",
    multiple=True,
    shell_complete=complete.settings,
    help="A key and its values, a list or a range: tcp.cc=reno,sack or link.up.error.rate=1e-5..1e-1:9:log. Repeatable."
    " 'KEY=VALUES; KEY=VALUES' change together. Your own congestion control: FILE.py:CLASS. Overrides [sweep] in the"
    " file.",
)
@options.case("A condition by name, as one more axis: 'rain: link.sat.error.rate=1e-4'. Repeatable.")
@options.replications(None, "Runs per point, each with another seed. Default: the number in the file, else 10.")
@options.until
@options.replications_max
@click.option(
    "-m",
    "--metric",
    metavar="A,B",
    shell_complete=complete.metrics,
    help="Metrics to show: goodput, tcp_efficiency, fct:web, queue_p95:sat.forward (see: list metrics).",
)
@click.option(
    "--tables",
    metavar="A,B",
    help="More tables of each run to keep: flows, subflows, links, drops, completions, transfers, datagrams, probes, "
    "quic, media, terminals, modcods.",
)
@options.judgement(*options.JUDGEMENT)
@click.option("--ratio", is_flag=True, help="Also show ratios to --against NAME, paired by seed.")
@click.option("--plan", is_flag=True, help="Check all points, print runs and the largest point, and stop.")
@options.sets
@options.seed
@options.execution
@options.plot
@options.chart(*SWEEP_CHARTS, default="lines")
@options.figure
@options.json
@options.quiet
def command(
    file: str,
    vary: tuple[str, ...],
    cases: tuple[str, ...],
    replications: int | None,
    until: str | None,
    replications_max: int | None,
    metric: str | None,
    tables: str | None,
    judgement: Judgement,
    ratio: bool,
    plan: bool,
    sets: tuple[str, ...],
    seed: int | None,
    where: dict[str, Any],
    plot: Path | None,
    chart: str,
    json: bool,
    quiet: bool,
    look: dict[str, Any],
) -> None:
    """Run a grid of scenarios, and resume it.

    Runs each point of the grid several times, and keeps every run in a store (default: NAME.sweep). Repeat the command
    to continue an interrupted sweep.
    """
    check_places(plot=plot)
    sweep_charted(chart)
    from bentpipe.experiment.design.grid import Grid, arguments, make_plan, varied_keys, with_axes
    from bentpipe.scenario.scenario import STDIN, split_names

    place = where["store"] or Path(f"{'stdin' if file == STDIN else Path(file).stem}.sweep")
    values, together = overrides.read_varied(vary)
    # Check first: the other imports take longer than finding an error.
    asked = arguments(
        values,
        together,
        cases=overrides.cases(cases),
        replications=replications,
        replications_max=replications_max,
        until=overrides.until(until),
        metric=metric,
        tables=None if tables is None else split_names(tables),
        against=judgement.against,
    )
    tables_read = ["case", "sweep"]
    given = overrides.pairs(sets, tables=tables_read)
    overrides.refuse_replaced(given, [key for key, _ in asked], "another option")
    with _as_typed():
        scenario = with_axes(lambda more: load(file, sets, seed, more=more, tables=tables_read, is_quiet=quiet), asked)
        overrides.refuse_replaced(given, varied_keys(scenario), "the sweep")
    if plan:
        with _as_typed():
            found = make_plan(Grid(scenario, judgement=judgement))
        print_result(found.to_dict, lambda: (found.sentence,), json=json, quiet=quiet)
        return
    from bentpipe.cli import render
    from bentpipe.experiment.sweep import sweep

    try:
        with _as_typed(), Bar(is_quiet=quiet, is_summed_up=True) as bar:
            result = sweep(
                scenario,
                progress=bar,
                **{name: value for name, value in asdict(judgement).items() if name != "against"},
                **{**where, "store": place},
            )
    except Interrupted as interrupt:
        part = interrupt.result
        shown = lambda: (*render.sweep(part, place), *render.notes(part))  # noqa: E731
        print_result(part.to_dict, shown, json=json, quiet=quiet)
        raise
    print_result(
        result.to_dict,
        lambda: (*render.sweep(result, place), *(render.ratios(result) if ratio else ()), *render.notes(result)),
        json=json,
        quiet=quiet,
    )
    # Last: if there is nothing to draw, the results are already printed and saved.
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(result.plot(chart, **look), plot)


@contextmanager
def _as_typed() -> Iterator[None]:
    """Places of errors by the options of this command, which become keys of the table `[sweep]`."""
    try:
        yield
    except ScenarioError as error:
        raise error.change_problems(_spell_problem) from None


def _spell_problem(problem: Problem) -> Problem:
    return replace(
        problem,
        message=re.sub(r"^sweep\.together\[\d+\]: ", "", problem.message),
        place=re.sub(r"^--set sweep\.(together|vary\.)", "--vary ", problem.place).strip(),
    )
