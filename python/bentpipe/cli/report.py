"""`bentpipe report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command, argument
from bentpipe.cli.printing import print_result

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    "report",
    cls=Command,
    aliases={"folder": "--out"},
    examples=("report geo.sweep", "report geo.sweep --against cubic --style column --out page"),
)
@argument(
    "source",
    type=options.PLACE,
    metavar="FOLDER",
    help="Store of a sweep, search, comparison or mix, or folder of a saved result.",
)
@click.option(
    "-o", "--out", type=options.PLACE, metavar="FOLDER", help="Folder to write to. Default: `report` in FOLDER."
)
@options.against
@click.option(
    "--style",
    type=click.Choice(("column", "page")),
    help="Width of all figures, for a paper: 3.3 or 7 inches. Default: as each needs.",
)
@options.json
@options.quiet
def command(source: Path, out: Path | None, against: str | None, style: Any, json: bool, quiet: bool) -> None:
    """Render results as an HTML report.

    Writes one self-contained page, its figures (SVG, PNG, PDF) and its tables (CSV, LaTeX).
    """
    if not source.is_dir():
        from bentpipe.files import is_no_result

        raise is_no_result(source)
    from bentpipe.cli import render
    from bentpipe.experiment.report import find_place, report
    from bentpipe.experiment.results.sweep import Sweep

    if against is None and Sweep.find_verb(source) == "tune":
        from bentpipe.tuning.result import Tuning

        found = Tuning.load(source)
        written = found._reporter().write(find_place(source, out), style)
    else:
        written = report(source, out, against=against, style=style)
    print_result(written.to_dict, lambda: render.report(written), json=json, quiet=quiet)
