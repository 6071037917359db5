"""`bentpipe reproduce`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import Command, argument
from bentpipe.cli.printing import print_result
from bentpipe.cli.progress import Bar
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    "reproduce",
    cls=Command,
    aliases={"only": "--claim", "folder": "--out"},
    examples=(
        "reproduce hswa",
        "reproduce hswa --claim HSWA-13",
        "reproduce --full --out reproduction",
        "reproduce hswa --falsify",
        "reproduce --new mypaper",
    ),
)
@argument(
    "papers",
    nargs=-1,
    metavar="[PAPER]...",
    shell_complete=complete.papers,
    help="Names of papers (see: list papers), or folders with your papers. Default: all papers with a name.",
)
@click.option(
    "--new",
    type=options.PLACE,
    metavar="FOLDER",
    help="Write the folder of a new paper to start from; no claim is measured.",
)
@click.option(
    "--full/--quick",
    "full",
    default=False,
    help="Full: enough replications for the tolerances, in half an hour. Quick (default): few, in minutes.",
)
@click.option(
    "--claim",
    "claims",
    metavar="ID",
    multiple=True,
    help="Only this claim, at length, without figures: HSWA-13. Repeatable.",
)
@click.option(
    "--falsify",
    is_flag=True,
    help="Measure claims that hold a second time, without their mechanism or condition; list claims that still hold.",
)
@click.option(
    "-o",
    "--out",
    type=options.PLACE,
    default="reproduction",
    show_default=True,
    metavar="FOLDER",
    help="Folder for tables, figures, pages and runs; repeat the command to resume.",
)
@options.jobs
@options.json
@options.quiet
def command(
    papers: tuple[str, ...],
    new: Path | None,
    full: bool,
    claims: tuple[str, ...],
    falsify: bool,
    out: Path,
    jobs: int | None,
    json: bool,
    quiet: bool,
) -> None:
    """Measure what published papers claim.

    Runs the experiments of each paper. Reports for each claim the printed value, the measured value with its interval,
    and the verdict. Redraws the figures. If a measure fails, the other claims are measured, and the exit status is 1.
    """
    if new is not None:
        if papers or claims or falsify:
            raise BentpipeError(
                "--new and PAPER exclude each other: --new only writes the folder of a new paper\n"
                "  expected one of them"
            )
        from bentpipe.papers import scaffold

        click.echo(f"wrote {', '.join(map(str, scaffold(new)))}")
        return
    from bentpipe.cli import render
    from bentpipe.papers.reproduce import reproduce

    with Bar(is_quiet=quiet) as bar:
        result = reproduce(papers, only=claims, full=full, falsify=falsify, folder=out, jobs=jobs, progress=bar)
    place = None if claims else out
    print_result(result.to_dict, lambda: render.reproduction(result, place), json=json, quiet=quiet)
    if result.errors:
        raise click.exceptions.Exit(1)
