"""`bentpipe emulate`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import argument
from bentpipe.cli.printing import Title, check_places
from bentpipe.cli.real_time import RealTimeCommand, give
from bentpipe.errors import BentpipeError
from bentpipe.scenario import overrides

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.scenario.scenario import Scenario

OPEN_DURATION = "24 h"
"""Duration of a run that a program or its user ends."""
LINK_DURATION = "60 s"
"""Duration of a run over a path of options, without a program."""
AFTER = "bentpipe.after"
"""Key of the words after `--`."""


class Emulate(RealTimeCommand):
    """The command, which keeps the words after `--` apart: without FILE, the first of them is no file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = args.index("--") if "--" in args else len(args)
        ctx.meta[AFTER] = args[place + 1 :]
        return super().parse_args(ctx, args[:place])


@click.command(
    "emulate",
    cls=Emulate,
    examples=(
        "emulate geo --serve bulk",
        "emulate geo --serve http -- curl -s http://server:8000/",
        "emulate geo --serve echo --shell",
        "emulate --rate 20Mbit/s --delay 270ms --loss 1% --serve bulk",
    ),
)
@argument(
    "file",
    required=False,
    metavar="[FILE]",
    shell_complete=complete.scenarios,
    help="Scenario file, else name of a bundled scenario (see: list scenarios), or - for standard input. None with"
    " --rate, --delay, --loss or --from-tc.",
)
@argument(
    "command",
    nargs=-1,
    metavar="[-- CMD...]",
    help="Program to run, with its arguments. Default with --serve bulk: a built-in receiver.",
)
@click.option("--rate", metavar="RATE", help="Path without a file: its rate, 20Mbit/s. Default: 1 Gbit/s.")
@click.option("--up-rate", metavar="RATE", help="Path without a file: rate from client to server. Default: as --rate.")
@click.option("--delay", metavar="TIME", help="Path without a file: one-way delay, 270ms. Default: none.")
@click.option("--loss", metavar="SHARE", help="Path without a file: lost share in each direction, 1%. Default: none.")
@click.option("--queue", metavar="LIMIT", help="Path without a file: queues, '64 kB', '100 packets'. Default: 1 bdp.")
@click.option("--from-tc", metavar="LINES", help="Path from lines of tc, or a script with them: see init --from-tc.")
@click.option("--serve", metavar="CMD", help="Program at the other host, or a built-in one: bulk, echo, http.")
@click.option(
    "--at",
    "places",
    multiple=True,
    metavar="HOST|NODE=CMD",
    help="Host of CMD. Default: the destination of the flow. With =CMD: a program at another node, which becomes a"
    " host. Repeatable.",
)
@click.option("--flow", metavar="NAME", help="Flow to replace by real packets. Default: the first.")
@click.option("--shell", is_flag=True, help="Run your shell instead of CMD.")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with status 123 if the run is not trustworthy, and 125 if it could not start; refuse to run without all"
    " walls.",
)
@click.option(
    "--attempts",
    type=click.IntRange(1, 100),
    default=1,
    metavar="N",
    help="Run CMD again while the run is not trustworthy, N times at most. Default: 1.",
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
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    command: tuple[str, ...],
    rate: str | None,
    up_rate: str | None,
    delay: str | None,
    loss: str | None,
    queue: str | None,
    from_tc: str | None,
    serve: str | None,
    places: tuple[str, ...],
    flow: str | None,
    shell: bool,
    strict: bool,
    attempts: int,
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

    The options --rate, --delay and --loss make a path without FILE, from "server" to "client". CMD runs at the client.
    """
    check_places(save, plot, pcap)
    from bentpipe.emulation.emulate import emulate

    command = (*command, *ctx.meta[AFTER])
    if shell and command:
        raise BentpipeError("--shell and CMD exclude each other\n  expected one of them")
    at, programs = _split_places(places)
    link = {"rate": rate, "up_rate": up_rate, "delay": delay, "loss": loss, "queue": queue}
    is_open = shell or (file is None and bool(command))
    scenario = _find_scenario(file, link, from_tc, overrides.pairs(sets, seed), is_open=is_open)
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
        programs=programs,
        flow=flow,
        pcap=pcap,
        cc=cc,
        backend=backend,
        offload=offload,
        initial_window=initial_window,
        shared_memory=shared_memory,
        strict=strict,
        attempts=attempts,
        quiet=json,
    )
    give(found, save=save, plot=plot, json=json, quiet=quiet, strict=strict, has_program=bool(command))


def _split_places(places: tuple[str, ...]) -> tuple[str | None, dict[str, str]]:
    """Split `--at` into the host of the program, and programs at other nodes."""
    hosts = [place for place in places if "=" not in place]
    if len(hosts) > 1:
        raise BentpipeError(f"--at {' --at '.join(hosts)}\n  expected one host of CMD; other nodes as NODE=CMD")
    programs: dict[str, str] = {}
    for place in places:
        node, sign, command = place.partition("=")
        if sign and (not command.strip() or node in programs):
            raise BentpipeError(f"--at {place}\n  expected one program for each node: NODE='CMD ARG'")
        if sign:
            programs[node] = command
    return (hosts[0] if hosts else None), programs


def _find_scenario(
    file: str | None, link: dict[str, str | None], lines: str | None, given: list[tuple[str, Any]], *, is_open: bool
) -> Scenario:
    """Load the file, or make a path from options. An open run ends with its program."""
    from bentpipe.scenario.one_link import make_one_link
    from bentpipe.scenario.scenario import load

    options = [f"--{name.replace('_', '-')}" for name, value in link.items() if value is not None]
    if lines is not None and options:
        raise BentpipeError(f"--from-tc and {options[0]} exclude each other\n  expected one of them")
    options += ["--from-tc"] if lines is not None else []
    if file is None and not options:
        raise BentpipeError(
            "no path to emulate\n  expected a scenario file or the name of a bundled one, or a path by options:"
            " --rate 20Mbit/s --delay 270ms"
        )
    if file is not None and options:
        raise BentpipeError(
            f"{options[0]} makes a path without a file, and {file!r} is one\n"
            f"  expected -- before a program: {options[0]} ... -- {file}; or FILE with --set KEY=VALUE"
        )
    if is_open and not any(key == "duration" for key, _ in given):
        given = [*given, ("duration", OPEN_DURATION)]
    if file is not None:
        return load(file, given)
    if lines is not None:
        from bentpipe.tc.scenario import from_tc

        made = from_tc(lines)
        for note in made.notes:
            print(f"note: {note}", file=sys.stderr)
        return made.scenario.with_sets(given)
    return make_one_link(link, LINK_DURATION, given)
