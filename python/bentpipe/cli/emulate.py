"""`bentpipe emulate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command, argument
from bentpipe.cli.printing import Title, check_places
from bentpipe.cli.real_time import give
from bentpipe.errors import BentpipeError
from bentpipe.scenario import overrides

if TYPE_CHECKING:
    from pathlib import Path

SHELL_DURATION = "24 h"


@click.command(
    "emulate",
    cls=Command,
    examples=(
        "emulate geo --serve bulk",
        "emulate geo --serve http -- curl -s http://server:8000/",
        "emulate geo --serve echo --shell",
    ),
)
@options.file
@argument(
    "command",
    nargs=-1,
    metavar="[-- CMD...]",
    help="Program to run, with its arguments. Default with --serve bulk: a built-in receiver.",
)
@click.option("--serve", metavar="CMD", help="Program at the other host, or a built-in one: bulk, echo, http.")
@click.option("--at", metavar="HOST", help="Host of CMD. Default: the destination of the flow.")
@click.option("--flow", metavar="NAME", help="Flow to replace by real packets. Default: the first.")
@click.option("--shell", is_flag=True, help="Run your shell instead of CMD.")
@click.option(
    "--strict", is_flag=True, help="Exit with status 3 if the run is not trustworthy; refuse to run without all walls."
)
@options.pcap
@options.one_cc("Congestion control: the kernel's or bentpipe's name.")
@click.option(
    "--backend", default="auto", metavar="NAME", help="Devices of the hosts: auto, tun, packet. Default: auto."
)
@click.option(
    "--offload", default="auto", metavar="WORD", help="Segmentation offload of the hosts: auto, on, off. Default: auto."
)
@click.option(
    "--initial-window",
    type=int,
    metavar="N",
    help="Initial window of the kernel's connections in segments. Default: 10, as the kernel.",
)
@click.option("--shared-memory", is_flag=True, help="Share memory and queues with the machine, as for X11 programs.")
@options.sets
@options.seed
@options.save
@options.plot
@options.json
@options.quiet
def command(
    file: str,
    command: tuple[str, ...],
    serve: str | None,
    at: str | None,
    flow: str | None,
    shell: bool,
    strict: bool,
    pcap: str | None,
    cc: str | None,
    backend: str,
    offload: str,
    initial_window: int | None,
    shared_memory: bool,
    sets: tuple[str, ...],
    seed: int | None,
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Run real programs over a scenario's path.

    Both ends of a flow become Linux hosts in private namespaces, without root if the system allows it. Their packets
    pass the simulated path in real time. Programs can read and write your files, but change nothing else outside.
    """
    check_places(save, plot, pcap)
    from bentpipe.emulation.emulate import emulate
    from bentpipe.scenario.scenario import load

    if shell and command:
        raise BentpipeError("--shell and CMD exclude each other\n  expected one of them")
    given = overrides.pairs(sets, seed)
    # A shell ends when its user ends it.
    if shell and not any(key == "duration" for key, _ in given):
        given = [*given, ("duration", SHELL_DURATION)]
    scenario = load(file, given)
    if plot is not None:
        from bentpipe.plot import choose_panels

        scenario = scenario.with_series(choose_panels(scenario))
    titled = Title(scenario, is_shown=not (json or quiet))
    titled.show()
    found = emulate(
        scenario,
        command,
        serve=serve,
        shell=shell,
        at=at,
        flow=flow,
        pcap=pcap,
        cc=cc,
        backend=backend,
        offload=offload,
        initial_window=initial_window,
        shared_memory=shared_memory,
        strict=strict,
        quiet=json,
    )
    give(found, save=save, plot=plot, json=json, quiet=quiet, strict=strict, has_program=bool(command))
