"""`bentpipe why`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import print_result
from bentpipe.cli.progress import load
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from bentpipe.experiment.result import RunResult
    from bentpipe.experiment.why import Explanation


@click.command(
    "why",
    cls=Command,
    examples=(
        "why starlink --flow download --at 72s",
        "why geo --from 5s --to 8s --json",
        "why geo --cc myidea.py:MyIdea --at 20s",
    ),
)
@options.file
@click.option("--flow", metavar="NAME", help="The flow; not needed where there is only one.")
@click.option("--at", "at", metavar="TIME", help="An instant: 72s. Covers four round trips around it.")
@click.option("--from", "start", metavar="TIME", help="Start of a window of time, with --to.")
@click.option("--to", "end", metavar="TIME", help="End of the window.")
@options.cc(
    "Congestion control of each flow that names none itself; of a saved result, the class that it had: FILE.py:CLASS.",
    metavar="NAME",
)
@options.sets
@options.seed
@options.json
@options.quiet
def command(
    file: str,
    flow: str | None,
    at: str | None,
    start: str | None,
    end: str | None,
    cc: str | None,
    sets: tuple[str, ...],
    seed: int | None,
    json: bool,
    quiet: bool,
) -> None:
    """Explain what happened to a flow.

    Runs the scenario, or takes a saved result, and lists in order what happened at that time: handovers, losses with
    their causes, what the sender made of them, and when nothing was to be sent.
    """
    times = {"at": at, "from": start, "to": end}
    at_s, start_s, end_s = (_seconds(name, text) for name, text in times.items())
    result = _result(file, cc, sets, seed, quiet)
    names = result.scenario.flow_names
    if flow is None and len(names) > 1:
        raise BentpipeError(f"which flow?\n  expected --flow with one of {', '.join(names[:8])}")
    told = result.why(flow or names[0], at=at_s, start=start_s, end=end_s)
    print_result(told.to_dict, lambda: _parts(told), json=json, quiet=quiet)


def _result(file: str, cc: str | None, sets: tuple[str, ...], seed: int | None, quiet: bool) -> RunResult:
    if Path(file).is_dir():
        from bentpipe.experiment.result import RunResult
        from bentpipe.own import loading

        if sets or seed is not None:
            raise BentpipeError("--set and --seed change a run\n  expected a scenario, not a saved result")
        classes = [] if cc is None else loading.parts(cc)
        if not all(map(loading.is_own, classes)):
            raise BentpipeError(
                f"--cc {cc} changes a run\n  expected a scenario, or the class that the saved result had: FILE.py:CLASS"
            )
        return RunResult.load(file, classes)
    from bentpipe.experiment.run import run
    from bentpipe.experiment.why import SERIES

    return run(load(file, sets, seed, is_quiet=quiet), cc=cc, series=SERIES)


def _seconds(name: str, text: str | None) -> float | None:
    from bentpipe import _core

    if text is None:
        return None
    found = _core.quantity(text)
    if found is None or found[1] != "s":
        raise BentpipeError(f'--{name} {text}\n  expected a time, like "72 s" or "1.5min"')
    return found[0]


def _parts(told: Explanation) -> Iterator[RenderableType]:
    """Times in a column of their own, so that what is longer than a line goes on beside them."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for time_s, what in told.happenings:
        table.add_row(f"{time_s:.4f} s", Text(what))
    if told.happenings:
        yield table
    yield Text(told.summary)
