"""`bentpipe fit`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import Command, argument
from bentpipe.cli.printing import check_places, print_parts, print_result
from bentpipe.cli.progress import Bar
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

KINDS = ("ping", "fping", "irtt", "flent", "iperf3", "ss", "dish", "csv", "pcap")
NETWORKS = ("starlink", "none")
CHARTS = ("all", "delay", "quantiles")
COMPARED, REPLICATIONS = "cubic,bbr3,reno", 3
"""Congestion controls that follow a measurement, and the number of runs of each."""
DIFFERS = 3
"""Exit code of `--strict` if the simulation differs from the measurement."""


@click.command(
    "fit",
    cls=Command,
    examples=(
        "fit ping.txt iperf.json -o path.toml",
        "fit ping.csv.xz --network starlink --plot fit.png",
        "fit server.pcap terminal.pcap -o path.toml",
        "fit --measure example.org",
        "fit lags.csv --columns lag=rtt:ms --columns when=send:s",
    ),
)
@argument("data", nargs=-1, metavar="[DATA...]", help="Records of one path, plain or compressed (gz, xz).")
@click.option(
    "--measure",
    metavar="HOST",
    help="Measure the path to HOST first, with ping, and iperf3 if HOST serves it. Then compare three congestion"
    " controls.",
)
@click.option("--seconds", type=int, default=60, show_default=True, metavar="N", help="Time for --measure.")
@click.option("-o", "--save", type=options.PLACE, metavar="FILE", help="Write the scenario: path.toml and path.data.")
@click.option(
    "--kind",
    metavar="|".join(KINDS),
    shell_complete=complete.complete_names(KINDS),
    help="Kind of all files. Default: by content.",
)
@click.option(
    "--columns",
    multiple=True,
    metavar="NAME=UNIT",
    help="Unit of a CSV column, or meaning and unit: rtt=ms, lag=rtt:ms. Repeatable.",
)
@click.option(
    "--stamps",
    type=click.Choice(("arrival", "send")),
    default="arrival",
    show_default=True,
    help="Meaning of the times of round trips in CSV files.",
)
@click.option("--interval", metavar="TIME", help="Time between pings without time stamps: 10ms.")
@click.option(
    "--direction",
    type=click.Choice(("forward", "reverse")),
    default="forward",
    show_default=True,
    help="Direction of transfers in files without one; forward is towards the terminal.",
)
@click.option(
    "--clocks",
    type=click.Choice(("apart", "same")),
    default="apart",
    show_default=True,
    help="Clocks of captures of both ends; apart: a constant difference is removed.",
)
@click.option(
    "--network",
    type=click.Choice(NETWORKS),
    help="starlink: expect slots of 15 s. none: search no slots. Default: search periods from 5 to 60 s.",
)
@click.option("--period", metavar="TIME", help="Known length of slots: 15s.")
@click.option(
    "--draws", type=click.IntRange(0, 1000), default=20, show_default=True, metavar="N", help="Traces to draw."
)
@click.option(
    "--slots", is_flag=True, help="Write measured slots, from which each run draws, in place of the measured trace."
)
@click.option(
    "--held-out",
    type=click.Choice(("half", "none")),
    default="half",
    show_default=True,
    help="Compare the second half with draws from the first.",
)
@click.option("--check/--no-check", default=True, show_default=True, help="Simulate the measurement on the scenario.")
@click.option("--strict", is_flag=True, help=f"Exit with {DIFFERS} if the simulation differs from the measurement.")
@click.option("--partial", is_flag=True, help="Read truncated compressed files and captures as far as possible.")
@options.plot
@options.chart(*CHARTS)
@options.figure
@options.json
@options.quiet
def command(
    data: tuple[str, ...],
    measure: str | None,
    seconds: int,
    save: Path | None,
    columns: tuple[str, ...],
    draws: int,
    slots: bool,
    held_out: str,
    strict: bool,
    plot: Path | None,
    chart: str | None,
    json: bool,
    quiet: bool,
    look: dict[str, Any],
    **given: Any,
) -> None:
    """Fit a path to measurements.

    Reads pings and transfers of one path. Finds base delay, slots, losses, rate and queue, and writes them as a
    scenario with a comment per number. Then simulates the same measurement and reports where it differs.
    """
    check_places(plot=plot)
    from bentpipe.fitting.fit import fit
    from bentpipe.fitting.result import check_place

    if bool(data) == (measure is not None):
        raise BentpipeError("fit takes records or measures them\n  expected DATA..., or --measure HOST")
    if measure is not None and save is None:
        save = Path(f"{measure.replace(':', '-').replace('%', '-')}.toml")
    if save is not None:
        check_place(save)
    if measure is not None and save is not None:
        from bentpipe.fitting.measuring import measure as measure_path

        files = measure_path(measure, save.with_suffix(".measured"), seconds, partial(click.echo, err=True))
        data = tuple(map(str, files))
    with Bar(is_quiet=quiet) as bar:
        found = fit(data, columns=_columns(columns), held_out=held_out == "half", progress=bar, **given)
        if save is not None:
            found.save(save, draws=draws, slots=slots)
    print_result(found.to_dict, lambda: _render_fit(found, save), json=json, quiet=quiet)
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(found.plot(chart, **look), plot)
    if measure is not None and save is not None and not (json or quiet):
        _compare(save)
    if strict and found.verdict.startswith("differs"):
        raise click.exceptions.Exit(DIFFERS)


def _compare(path: Path) -> None:
    """Compare three congestion controls on the path, and print the statements."""
    from bentpipe.cli import render
    from bentpipe.experiment.compare import compare

    found = compare(str(path), COMPARED, replications=REPLICATIONS)
    print_parts([f"\nbentpipe compare {path} --cc {COMPARED} -n {REPLICATIONS}", *render.comparison(found, False)])


def _columns(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if wrong := next((each for each, (name, _, unit) in zip(given, pairs, strict=True) if not (name and unit)), None):
        raise BentpipeError(f"--columns {wrong}\n  expected NAME=UNIT or NAME=MEANING:UNIT, such as lag=rtt:ms")
    return {name: unit for name, _, unit in pairs}


def _render_fit(found: Any, save: Path | None) -> Iterator[RenderableType | str]:
    """Render the numbers with their methods, the check, and the notes."""
    from rich.text import Text

    width = max(len(each.name) for each in found.numbers)
    for each in found.numbers:
        if each.value is None:
            yield Text(f"{each.name:<{width}}  {each.how}")
            continue
        kind = "" if each.kind == "fitted" else f" [{each.kind}]"
        yield Text(f"{each.name:<{width}}  {each.text}{kind}; {each.how}")
    yield Text("")
    yield Text(f"Check: {found.verdict}")
    for said in found.statements:
        yield Text(f"  {said}")
    if found.notes:
        yield Text("")
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")
    if save is not None:
        yield Text("")
        yield f"bentpipe run {save}"
        yield f"bentpipe tune {save}"
