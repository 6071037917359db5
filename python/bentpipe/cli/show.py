"""`bentpipe show`."""

from __future__ import annotations

import click

from bentpipe.cli import complete
from bentpipe.cli.help import Command, argument
from bentpipe.errors import BentpipeError


@click.command("show", cls=Command, examples=("show geo", "show geo > mine.toml", "show geo --tc > path.sh"))
@argument(
    "name",
    metavar="NAME",
    shell_complete=complete.scenarios,
    help="Name of a bundled scenario (see: list scenarios); with --tc also a scenario file.",
)
@click.option("--tc", is_flag=True, help="Print the path of the first flow as lines of Linux' tc.")
@click.option("--flow", metavar="NAME", help="With --tc: the flow whose path is printed.")
def command(name: str, tc: bool, flow: str | None) -> None:
    """Print the text of a bundled scenario.

    With --tc, print a path as a shell script for netem and tbf. Comments name what Linux cannot express.
    """
    if flow is not None and not tc:
        raise BentpipeError("--flow has no effect without --tc\n  expected both or none of them")
    if tc:
        from bentpipe.tc.writing import to_tc

        print(to_tc(name, flow).text, end="")
        return
    from bentpipe.scenario.scenario import shipped_text

    print(shipped_text(name), end="")
