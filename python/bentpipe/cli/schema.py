"""`bentpipe schema`."""

from __future__ import annotations

import click

from bentpipe.cli.help import Command
from bentpipe.cli.printing import print_json


@click.command("schema", cls=Command, examples=("schema > scenario.schema.json",))
def command() -> None:
    """Print the JSON Schema of scenario files.

    Editors complete and check a scenario whose first line is: #:schema ./scenario.schema.json
    """
    from bentpipe.catalog import schema

    print_json(schema())
