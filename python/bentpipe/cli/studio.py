"""`bentpipe studio`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import Command, argument
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from bentpipe.studio.state import Studio


@click.command(
    "studio",
    cls=Command,
    examples=(
        "studio",
        "studio mine.toml",
        "studio ship --port 8000 --no-browser",
        "studio mine.toml --own mine.py:MyCc",
        "studio lesson geo-slow-start",
    ),
)
@argument(
    "file",
    required=False,
    metavar="[FILE]",
    shell_complete=complete.scenarios,
    help="Scenario that is shown first: a file, or the name of a bundled scenario (see: list scenarios).",
)
@argument(
    "name",
    required=False,
    metavar="[NAME]",
    help="With `lesson` in place of FILE: the lesson, such as geo-slow-start.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the scenarios; all files that the page reads and writes are in it. By default, that of FILE, or the"
    " current one.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port; by default a free one.")
@click.option("--ipv6", is_flag=True, help="Listen on ::1 instead of 127.0.0.1.")
@click.option("--own", multiple=True, metavar="FILE.py:CLASS", help="Custom class that scenarios may name. Repeatable.")
@options.jobs
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
def command(
    file: str | None,
    name: str | None,
    folder: Path | None,
    port: int,
    ipv6: bool,
    own: tuple[str, ...],
    jobs: int | None,
    no_browser: bool,
) -> None:
    """Open scenarios and runs in a browser.

    A page of this machine: the scenario on the left, curves in the middle, the sky and the reasons on the right, and
    one handle for the time of all. It ends with Ctrl-C.
    """
    if find_spec("nicegui") is None:
        raise BentpipeError(
            "the studio needs nicegui, which is not installed\n  expected the extra: pip install 'bentpipe[studio]'"
        )
    from bentpipe.studio.serve import bind, serve

    with bind(port, is_ipv6=ipv6) as listening:
        studio = _open_studio(file, name, folder, own, jobs)
        serve(
            studio,
            listening,
            lambda url: click.echo(f"The studio is open at {url}\nCtrl-C ends it."),
            has_browser=not no_browser,
        )


def _open_studio(
    file: str | None, name: str | None, folder: Path | None, own: tuple[str, ...], jobs: int | None
) -> Studio:
    """Make the studio of a folder, with the scenario or lesson that its page shows first."""
    from bentpipe.studio import lessons
    from bentpipe.studio.folders import Folder
    from bentpipe.studio.jobs import Jobs
    from bentpipe.studio.state import Studio

    place = Path(file) if file is not None and Path(file).exists() else None
    of_folder = Folder(folder or (place.parent if place is not None else "."))
    if place is None and file == "lesson":
        lesson = lessons.lesson(name or "")
        own = (*own, lesson.own) if lesson.own else own
        return Studio(of_folder, Jobs(jobs), lesson.scenario, own, lesson)
    if name is not None:
        raise BentpipeError(
            f"{name} follows {file}\n  expected one scenario, or: bentpipe studio lesson {lessons.names()[0]}"
        )
    first = file or "geo"
    if place is not None:
        resolved = place.resolve()
        if not resolved.is_relative_to(of_folder.path):
            raise BentpipeError(f"{file} is not in {of_folder.path}\n  expected a file of --folder")
        first = resolved.relative_to(of_folder.path).as_posix()
    of_folder.open(first)
    return Studio(of_folder, Jobs(jobs), first, own)
