"""`bentpipe drill`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import print_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from bentpipe.emulation.drill import Difference, Drilled

DIFFERS = 1
"""Exit status if a script does not hold."""


@click.command("drill", cls=Command, examples=("drill", "drill rfc5681 rfc8985 --json"))
@click.argument(
    "scripts",
    nargs=-1,
    metavar="[SCRIPT]...",
    help="Names such as rfc5681, or files of your own. By default, all that come with bentpipe.",
)
@options.json
@options.quiet
def command(scripts: tuple[str, ...], json: bool, quiet: bool) -> None:
    """Run conformance scripts on bentpipe's TCP.

    A script says what an application and a peer do, and what the connection must send, at which instant. Each runs
    twice: with segments as values, and with each segment made into a packet and read again. The exit status is 1 if one
    does not hold.
    """
    from bentpipe.emulation.drill import drill, shipped

    found = [drill(script) for script in scripts or shipped()]
    print_result(lambda: [each.to_dict() for each in found], lambda: _shown(found), json=json, quiet=quiet)
    if not all(each.holds for each in found):
        raise click.exceptions.Exit(DIFFERS)


def _shown(found: list[Drilled]) -> Iterator[RenderableType]:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("script")
    table.add_column("cases", justify="right")
    table.add_column("core")
    table.add_column("codec")
    for each in found:
        table.add_row(each.script, str(each.cases), _verdict(each.core), _verdict(each.codec))
    yield table
    for each in found:
        for way, differences in (("core", each.core), ("codec", each.codec)):
            for difference in differences:
                yield f"\n{each.script}:{difference.line}: {way}: {difference.what}"
                yield f"  {difference.text}\n  in {difference.title}"


def _verdict(differences: tuple[Difference, ...]) -> str:
    if not differences:
        return "holds as written"
    return f"differs in {len(differences)}, first in line {differences[0].line}"
