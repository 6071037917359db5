"""`bentpipe pack`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command, argument
from bentpipe.cli.printing import print_result

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bentpipe.packing.pack import Packed


@click.command(
    "pack",
    cls=Command,
    aliases={"file": "--out"},
    examples=("pack geo.sweep", "pack geo.sweep --out for-the-paper.zip"),
)
@argument(
    "source",
    type=options.PLACE,
    metavar="FOLDER",
    help="Store of a sweep, comparison or mix, or folder of a saved result.",
)
@click.option(
    "-o",
    "--out",
    type=options.PLACE,
    metavar="FILE",
    help="File to write. Default: FOLDER.pack.zip, beside the folder.",
)
@click.option(
    "--class",
    "classes",
    metavar="FILE.py:CLASS",
    multiple=True,
    help="A custom class whose file is no longer at its former place. Repeatable.",
)
@options.json
@options.quiet
def command(source: Path, out: Path | None, classes: tuple[str, ...], json: bool, quiet: bool) -> None:
    """Pack a result, for others to repeat.

    The packed file has the tables, the scenario, all files that the scenario names, the sources of your classes, the
    command and the versions. Prints a list of its content.
    """
    from bentpipe.packing.pack import pack

    packed = pack(source, out, classes=classes)
    print_result(packed.to_dict, lambda: _render(packed), json=json, quiet=quiet)


def _render(packed: Packed) -> Iterator[str]:
    for name, size in packed.files.items():
        yield f"{size:>12,} B  {name}"
    yield ""
    yield str(packed)
    if packed.classes:
        yield f"Others see your code: {', '.join(packed.classes)}."
    yield f"To repeat it: bentpipe repeat {packed.path}"
