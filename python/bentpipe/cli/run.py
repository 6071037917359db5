"""`bentpipe run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import Title, check_places, print_result
from bentpipe.cli.progress import Bar, load
from bentpipe.errors import BentpipeError, Interrupted
from bentpipe.experiment.common.options import RUN_CHARTS, check_chart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType

    from bentpipe.experiment.single.run_result import RunResult


@click.command(
    "run",
    cls=Command,
    examples=(
        "run geo",
        "run geo --cc cubic --set duration='60 s' --plot cubic.png",
        "run leo --series cwnd_bytes,srtt_s --save leo-run",
        "run geo --pcap geo.pcapng",
        "run geo --test rrul --flent geo.flent.gz",
        "run web-on-geo --plot page.png --chart waterfall",
    ),
)
@options.file
@options.cc("Congestion control of each flow without its own (see: list cc).", metavar="NAME")
@options.sets
@options.seed
@click.option(
    "--series",
    default="",
    metavar="A,B",
    shell_complete=complete.series,
    help="More time series to record (see: list series).",
)
@click.option(
    "--test",
    metavar="NAME",
    help="Replace the flows by a test of Flent: rrul, rtt_fair, tcp_4up, tcp_8down.",
)
@click.option(
    "--flent", type=options.PLACE, metavar="FILE", help="Write a data file of Flent: run.flent.gz. Needs --test."
)
@click.option("--all", "show_all", is_flag=True, help="Show all tables, with every flow, link and cause of loss.")
@options.save
@options.pcap
@options.qlog
@options.plot
@options.chart(*RUN_CHARTS)
@options.figure
@options.json
@options.quiet
def command(
    file: str,
    cc: str | None,
    sets: tuple[str, ...],
    seed: int | None,
    series: str,
    test: str | None,
    flent: Path | None,
    show_all: bool,
    save: Path | None,
    pcap: str | None,
    qlog: Path | None,
    plot: Path | None,
    chart: str | None,
    json: bool,
    quiet: bool,
    look: dict[str, Any],
) -> None:
    """Simulate a scenario once.

    Prints tables of the flows, the links and the causes of lost packets, one sentence, and a next command. With --all,
    it also prints the times and limits of each sender, and its reactions to losses.
    """
    check_places(save, plot, pcap)
    check_chart(chart, RUN_CHARTS, "a run", is_drawn=plot is not None)
    from bentpipe.scenario.scenario import split_names

    scenario = load(file, sets, seed, is_quiet=quiet)
    if cc is not None:
        from bentpipe.experiment.common.senders import used_cc_keys
        from bentpipe.experiment.single.run import with_sender
        from bentpipe.scenario import overrides

        overrides.refuse_replaced(overrides.pairs(sets), used_cc_keys(scenario), "--cc")
        scenario = with_sender(scenario, cc)
    if flent is not None and test is None:
        raise BentpipeError("--flent needs a test\n  expected --test rrul")
    if flent is not None:
        from bentpipe.files import refuse_unless_writable

        refuse_unless_writable(flent)
    if test is not None:
        from bentpipe.scenario.named_tests import with_test

        scenario = with_test(scenario, test)
    wanted = split_names(series) + ([] if flent is None else ["goodput_bps"])
    if plot is not None:
        from bentpipe.plot import choose_panels

        wanted += ["objects"] if chart == "waterfall" else choose_panels(scenario)
    scenario = scenario.with_series(wanted)

    from bentpipe.experiment.single.run import run

    titled = Title(scenario, is_shown=not (json or quiet))
    try:
        with Bar(titled.show, is_quiet=quiet) as bar:
            result = run(scenario, pcap=pcap, qlog=qlog, progress=bar)
    except Interrupted as interrupt:
        if save is not None:
            interrupt.result.save(save)
            raise Interrupted(f"{interrupt}; the run so far is saved in {save}") from None
        raise
    if save is not None:
        result.save(save)
    if flent is not None and test is not None:
        from bentpipe.experiment.single.flent import write_flent

        write_flent(result, flent, test)
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(result.plot(chart, **look), plot)
    titled.show()
    has_command = test is None
    print_result(result.to_dict, lambda: _render(result, show_all, has_command), json=json, quiet=quiet)


def _render(result: RunResult, show_all: bool, has_command: bool) -> Iterator[RenderableType]:
    from bentpipe.cli import render_run
    from bentpipe.cli.conclusion import conclude

    yield from render_run.run(result, show_all)
    yield ""
    # No other command has the flows of a test.
    from rich.text import Text

    sentence, *command = conclude(result)
    yield Text(sentence)
    # A command is never broken: it is copied.
    yield from command if has_command else ()
