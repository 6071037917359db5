"""`bentpipe speak`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli import options
from bentpipe.cli.help import argument
from bentpipe.cli.printing import Title, check_places
from bentpipe.cli.real_time import RealTimeCommand, give

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    "speak",
    cls=RealTimeCommand,
    examples=(
        "speak geo --cc bbr3",
        "speak geo --send video.mp4 -- python3 client.py",
        "speak geo --take got.mp4 --connect -- python3 server.py",
        "speak geo --quic --cc bbr3",
    ),
)
@options.file
@argument(
    "command",
    nargs=-1,
    metavar="[-- CMD...]",
    help="Program to run. Default without --send, --take and --echo: a built-in receiver.",
)
@click.option("--send", type=options.PLACE, metavar="FILE", help="Send this file, then close.")
@click.option("--take", type=options.PLACE, metavar="FILE", help="Write received data to this file.")
@click.option("--echo", is_flag=True, help="Send received data back.")
@click.option("--connect", is_flag=True, help="Connect to CMD when it listens. Default: wait for its connection.")
@click.option(
    "--port", type=int, default=5001, show_default=True, metavar="N", help="Port to listen on, or to connect to."
)
@click.option("--quic", is_flag=True, help="Speak QUIC with TLS 1.3 over UDP, with the settings of [quic].")
@options.one_cc("Congestion control of bentpipe's end (see: list cc). For TCP also FILE.py:CLASS.")
@click.option("--at", metavar="HOST", help="Host of CMD. Default: the destination of the flow.")
@click.option("--flow", metavar="NAME", help="Flow to replace by real packets. Default: the first.")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with status 123 if the run is not trustworthy, and 125 if it could not start; refuse to run without all"
    " walls.",
)
@options.pcap
@click.option(
    "--qlog",
    type=options.PLACE,
    metavar="FOLDER",
    help="Write a qlog file for each connection of bentpipe's ends, with --quic.",
)
@options.sets
@options.seed
@options.save
@options.plot
@options.json
@options.quiet
def command(
    file: str,
    command: tuple[str, ...],
    send: Path | None,
    take: Path | None,
    echo: bool,
    connect: bool,
    port: int,
    quic: bool,
    cc: str | None,
    at: str | None,
    flow: str | None,
    strict: bool,
    pcap: str | None,
    qlog: Path | None,
    sets: tuple[str, ...],
    seed: int | None,
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Speak bentpipe's own TCP with real programs.

    One end of a flow is a Linux host, where CMD runs. The other end is the simulator's TCP, with the settings of the
    table [tcp], over the simulated path in real time. By default it sends endless data on each connection. With --quic,
    the other end is the simulator's QUIC.
    """
    check_places(save, plot, pcap)
    from bentpipe.emulation.speak import speak
    from bentpipe.scenario import overrides
    from bentpipe.scenario.scenario import load

    scenario = load(file, overrides.pairs(sets, seed))
    if plot is not None:
        from bentpipe.plot import choose_panels

        scenario = scenario.with_series(choose_panels(scenario))
    Title(scenario, is_shown=not (json or quiet)).show()
    found = speak(
        scenario,
        command,
        send=send,
        take=take,
        echo=echo,
        connect=connect,
        port=port,
        quic=quic,
        cc=cc,
        at=at,
        flow=flow,
        pcap=pcap,
        qlog=qlog,
        strict=strict,
        quiet=json,
    )
    give(found, save=save, plot=plot, json=json, quiet=quiet, strict=strict, has_program=bool(command))
