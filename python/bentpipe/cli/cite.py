"""`bentpipe cite`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command, argument
from bentpipe.cli.printing import print_result

if TYPE_CHECKING:
    from pathlib import Path


@click.command("cite", cls=Command, examples=("cite geo.sweep", "cite geo.sweep.pack.zip"))
@argument(
    "source",
    type=options.PLACE,
    metavar="RESULT",
    help="Store of a sweep, comparison or mix, folder of a saved result, or file of `bentpipe pack`.",
)
@options.json
@options.quiet
def command(source: Path, json: bool, quiet: bool) -> None:
    """Write the sentence that cites a result.

    The sentence has versions, hosts, replications, seeds, a digest of the scenario and the command. The entry for
    BibTeX follows.
    """
    from bentpipe.packing.cite import cite

    citation = cite(source)
    print_result(citation.to_dict, lambda: [str(citation)], json=json, quiet=quiet)
