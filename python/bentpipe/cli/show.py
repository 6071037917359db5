"""`bentpipe show`."""

from __future__ import annotations

import click

from bentpipe.cli import complete
from bentpipe.cli.help import Command, argument


@click.command("show", cls=Command, examples=("show geo", "show geo > mine.toml"))
@argument(
    "name",
    metavar="NAME",
    shell_complete=complete.complete_bundled,
    help="Name of a bundled scenario (see: list scenarios).",
)
def command(name: str) -> None:
    """Print the text of a bundled scenario."""
    from bentpipe.scenario.scenario import shipped_text

    print(shipped_text(name), end="")
