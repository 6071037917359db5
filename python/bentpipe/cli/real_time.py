"""Prints and saves emulated runs for all commands that make them."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bentpipe.cli.help import Command
from bentpipe.cli.misuse import misuse
from bentpipe.cli.printing import print_error, print_result
from bentpipe.errors import BentpipeError
from bentpipe.heads import head

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType
    from rich.table import Table

    from bentpipe.emulation.emulate import Emulation

UNTRUSTWORTHY = 123
"""Exit code of `--strict` for a run that is not trustworthy. Usual programs do not have it, nor the next two."""
CUT = 124
"""Exit code of a program that the duration of the scenario ended, as of `timeout`."""
FAILED = 125
"""Exit code of `--strict` if the program could not be run, as of `timeout` and `env`. Without it, errors have 2."""
OWN = {"acked_bytes": "B", "received_bytes": "B", "retransmissions": "1", "timeouts": "1"}
"""Printed columns of connections of bentpipe's TCP, with their units."""
OWN_QUIC = {"acked_bytes": "B", "received_bytes": "B", "retransmissions": "1", "handshake_s": "s", "done_s": "s"}
"""Printed columns of connections of bentpipe's QUIC, with their units."""


class RealTimeCommand(Command):
    """A command that runs a program. With `--strict`, its own errors have a status apart from that of the program."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> click.Context:
        is_strict = "--strict" in args[: args.index("--") if "--" in args else len(args)]
        try:
            return super().make_context(info_name, args, *more, **extra)
        except click.UsageError as error:
            if not is_strict:
                raise
            print_error(misuse(error))
            raise click.exceptions.Exit(FAILED) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BentpipeError as error:
            if not ctx.params["strict"]:
                raise
            print_error(error)
            raise click.exceptions.Exit(FAILED) from None


def give(
    found: Emulation,
    *,
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    strict: bool,
    has_program: bool = False,
) -> NoReturn:
    """Save and print a run, and exit with the status of its program, of a cut program, or of an untrustworthy run.

    `has_program` states that the user named the program, and that it should end by itself.
    """
    if save is not None:
        found.save(save)
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(found.plot(), plot)
    print_result(found.to_dict, lambda: _render_emulation(found), json=json, quiet=quiet)
    is_cut = has_program and found.stopped == "over"
    if is_cut:
        seconds = found.result.scenario.duration_s
        print(
            f"the duration of {seconds:.10g} s ended the program, status {CUT}; longer: --set duration='...'",
            file=sys.stderr,
        )
    if strict and not found.trust.is_trustworthy:
        if json or quiet:
            print(f"{found.trust.sentence}; status {UNTRUSTWORTHY} by --strict", file=sys.stderr)
        raise click.exceptions.Exit(UNTRUSTWORTHY)
    if is_cut:
        raise click.exceptions.Exit(CUT)
    failed = {node: each for node, each in found.programs.items() if each}
    for node, each in failed.items():
        print(f"the program at {node} ended with status {each}", file=sys.stderr)
    if failed and not found.status:
        each = next(iter(failed.values()))
        raise click.exceptions.Exit(128 - each if each < 0 else each)
    status = -signal.SIGINT if found.stopped == "interrupted" else found.status or 0
    # As in shells: 128 plus the number of the signal.
    raise click.exceptions.Exit(128 - status if status < 0 else status)


def _render_emulation(found: Emulation) -> Iterator[RenderableType]:
    from rich.table import Table

    from bentpipe.cli import render_run

    yield from render_run.run(found.result, has_limits=True)
    by_tcp = [row for row in found.spoken if "handshake_s" not in row]
    by_quic = [row for row in found.spoken if "handshake_s" in row]
    for transport, rows, shown in (("TCP", by_tcp, OWN), ("QUIC", by_quic, OWN_QUIC)):
        if rows:
            yield _own(transport, rows, shown)
    table = Table(title="Outside the scenario", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    for row in found.trust.rows():
        table.add_row(*row)
    yield table
    yield found.trust.sentence


def _own(transport: str, rows: list[dict[str, Any]], shown: dict[str, str]) -> Table:
    from bentpipe.cli.tables import Shown, make_rows

    names = [f"{row['host']} {row['port']} to {row['peer']} {row['peer_port']}" for row in rows]
    columns = [
        Shown(head(name, is_soft=True), [row[name] for row in rows], unit, "data" if unit == "B" else "")
        for name, unit in shown.items()
    ]
    states = [row.get("failure") or ("reset" if row["aborted"] else row["state"]) for row in rows]
    texts = [(head("cc"), [row["cc"] for row in rows]), ("state", states)]
    return make_rows(f"Connections of bentpipe's own {transport}", "ports", names, texts, columns)
