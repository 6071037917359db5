"""The question of `bentpipe` without a command, at a terminal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bentpipe.cli.printing import print_parts, style_text

if TYPE_CHECKING:
    from collections.abc import Sequence

ANSWERS = {
    "1": "Explain why a link is slow",
    "2": "Find a congestion control for a path",
    "3": "Show an example",
}
TOUR = "bentpipe-tour.html"
STEPS = (
    ("run", "geo", "--set", "duration=20 s"),
    ("run", "geo", "--set", "duration=20 s", "--set", "link.sat.forward.error={kind='packet', rate='0.1 %'}"),
)
"""Commands of the tour, before the view."""


def ask(app: click.Command) -> None:
    """Ask the question, and run what answers it. Each command is printed, so that it can be repeated."""
    click.echo("bentpipe, a laboratory for transport protocols over satellite networks. Choose an answer:\n")
    for key, text in ANSWERS.items():
        click.echo(f"  {style_text(key, fg='cyan')}  {text}")
    click.echo("\nAll commands: bentpipe --help")
    answer = click.prompt("Answer", type=click.Choice(list(ANSWERS)), default="3", show_choices=False)
    {"1": _explain, "2": _compare, "3": _tour}[answer](app)


def _do(app: click.Command, words: Sequence[str]) -> None:
    """Print a command and run it. Its errors end the program, as on its own."""
    click.echo(style_text(f"\n$ {shlex.join(['bentpipe', *words])}", bold=True))
    app.main([*words], standalone_mode=False)


def _explain(app: click.Command) -> None:
    host = click.prompt(
        "A host at the other end, to measure (Enter: an example)", default="", show_default=False
    ).strip()
    if not host:
        _do(app, ["why", "geo"])
        click.echo("\nYour own link: bentpipe fit --measure HOST, or records of ping and iperf3: bentpipe fit --help")
        return
    path = find_free(f"{host.replace(':', '-').replace('%', '-')}.toml")
    _do(app, ["fit", "--measure", host, "--save", path])
    _do(app, ["why", path])


def _compare(app: click.Command) -> None:
    _do(app, ["compare", "geo", "--cc", "cubic,bbr3,reno", "--replications", "5"])
    click.echo("\nYour own path: bentpipe init mine, then bentpipe compare mine.toml --cc cubic,bbr3,reno")


def _tour(app: click.Command) -> None:
    click.echo("\nOne file over a GEO satellite, and the same with one lost packet in a thousand:")
    for words in STEPS:
        _do(app, words)
    from bentpipe.experiment.single.run import run
    from bentpipe.scenario.scenario import load

    path = find_free(TOUR)
    click.echo("\nThe view of a download over Starlink ...")
    run(load("starlink", {"duration": "20 s"})).explore().save(path)
    print_parts([f"Wrote {path}. Open it in a browser: curves, packets and reasons, moved by one handle."])
    click.echo("Next: bentpipe init mine")


def find_free(name: str) -> str:
    """Return the name, with a number if a file has it: no file is overwritten.

    >>> find_free("not-there.toml")
    'not-there.toml'
    """
    place, number = Path(name), 1
    while place.exists():
        number += 1
        place = Path(name).with_name(f"{Path(name).stem}-{number}{Path(name).suffix}")
    return str(place)
