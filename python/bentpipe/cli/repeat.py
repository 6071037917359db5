"""`bentpipe repeat`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command, argument
from bentpipe.cli.printing import print_result

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bentpipe.packing.archive import Archive


@click.command(
    "repeat",
    cls=Command,
    examples=("repeat geo.sweep.pack.zip --look", "repeat geo.sweep.pack.zip --out repeated"),
)
@argument("source", type=options.PLACE, metavar="FILE", help="File of `bentpipe pack`.")
@click.option("--look", is_flag=True, help="Show what is inside, with the code, and run nothing.")
@click.option("--trust", is_flag=True, help="Run the Python code in the file without asking.")
@click.option(
    "-o",
    "--out",
    type=options.PLACE,
    metavar="FOLDER",
    help="Folder for the files and runs, which is kept; repeat the command to resume. Default: a temporary folder.",
)
@options.json
@options.quiet
def command(source: Path, look: bool, trust: bool, out: Path | None, json: bool, quiet: bool) -> None:
    """Repeat a packed result, and compare tables.

    Reports for each table that it is equal to the byte, or its differences. The exit status is 1 if values differ.
    Python code in the file runs only if you agree.
    """
    from bentpipe.packing.archive import read_archive

    archive = read_archive(source)
    if look:
        print_result(lambda: {**archive.facts, "code": _code(archive)}, lambda: _show(archive), json=json, quiet=quiet)
        return
    if archive.facts["classes"] and not trust and sys.stdin.isatty() and not (json or quiet):
        print_result(dict, lambda: _show(archive), json=False, quiet=False)
        trust = click.confirm("Run this Python code with your rights", default=False)
        if not trust:
            return
    from bentpipe.packing.repeat import repeat

    repeated = repeat(source, out, trust=trust, progress=not (json or quiet))
    print_result(repeated.to_dict, lambda: str(repeated).splitlines(), json=json, quiet=quiet)
    if not repeated.is_equal:
        raise click.exceptions.Exit(1)


def _code(archive: Archive) -> dict[str, str]:
    return {
        name: data.decode("utf-8", "replace") for name, data in archive.content.items() if name.startswith("classes/")
    }


def _show(archive: Archive) -> Iterator[str]:
    facts = archive.facts
    yield facts["citation"]
    yield ""
    for name, data in archive.content.items():
        yield f"{len(data):>12,} B  {name}"
    for name, text in _code(archive).items():
        yield f"\n--- {name}"
        yield text
