"""`bentpipe check`."""

from __future__ import annotations

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import print_json
from bentpipe.cli.progress import load
from bentpipe.errors import ScenarioError


@click.command(
    "check", cls=Command, examples=("check geo", "check geo --set tcp.like=linux-6", "check --quiet mine.toml")
)
@options.file
@options.sets
@options.json
@options.quiet
def command(file: str, sets: tuple[str, ...], json: bool, quiet: bool) -> None:
    """Check a scenario and fill in its defaults.

    Prints the whole scenario, with the source of each default, and notes as comments. If the scenario is not valid,
    prints all problems. With --json, prints `scenario` (null if it is not valid) and `problems`, each with its
    severity, place and remedy.
    """
    try:
        scenario = load(file, sets, tables=["case", "sweep"], is_quiet=quiet)
    except ScenarioError as error:
        if json:
            print_json({"scenario": None, "problems": [problem.to_dict() for problem in error.problems]})
        raise
    if json:
        problems = [problem.to_dict() for problem in scenario.warnings]
        print_json({"scenario": scenario.to_dict(), "problems": problems})
    elif not quiet:
        for note in scenario.notes:
            print(f"# note: {note}")
        print(scenario.resolve(), end="")
