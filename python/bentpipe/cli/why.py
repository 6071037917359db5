"""`bentpipe why`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import print_result
from bentpipe.cli.progress import Bar, load
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.experiment.why.explanation import Explanation
    from bentpipe.experiment.why.spent import Breakdown
    from bentpipe.experiment.why.time_spent import TimeSpent


@click.command(
    "why",
    cls=Command,
    aliases={"classes": "--cc"},
    examples=(
        "why web-on-geo",
        "why leo --at 15s",
        "why geo --from 5s --to 8s --json",
        "why geo --cc myidea.py:MyIdea --at 20s",
    ),
)
@options.file
@click.option("--flow", metavar="NAME", help="Flow to explain. Required with a time if there are several.")
@click.option(
    "--at", "at", metavar="TIME", help="Instant: 72s. Covers four round trips, and at least 0.5 s, before and after it."
)
@click.option("--from", "start", metavar="TIME", help="Start of a time window; needs --to.")
@click.option("--to", "end", metavar="TIME", help="End of the time window; needs --from.")
@click.option("--no-try", is_flag=True, help="Do not try remedies; each takes a run. Not with a time.")
@options.cc(
    "Congestion control of each flow without its own. For a saved result: its class, FILE.py:CLASS.",
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
    no_try: bool,
    cc: str | None,
    sets: tuple[str, ...],
    seed: int | None,
    json: bool,
    quiet: bool,
) -> None:
    """Explain where time went, or one instant.

    Runs the scenario, or reads a saved result. Without a time, it shows the parts of the time of each kind of flow, the
    flows that filled the queues, and changes that help. It tries each change in one run, then pairs of the best; the
    command below a change compares it. Pages are judged by time, calls by MOS, files by completion, films by stalls.
    With a time, it lists the events of a flow in order: handovers, losses with their causes, the sender's reactions,
    and times without data to send. Then it divides the time of the window: link in use, path not filled, recovery,
    silence, limits of the sender and of the receiver.
    """
    times = {"at": at, "from": start, "to": end}
    at_s, start_s, end_s = (_seconds(name, text) for name, text in times.items())
    has_time = any(text is not None for text in times.values())
    if has_time and no_try:
        raise BentpipeError(
            "--no-try and a time exclude each other: remedies are for the whole run\n"
            "  expected --no-try without --at, --from and --to"
        )
    asked: dict[str, Any] = {"flow": flow, "at": at_s, "start": start_s, "end": end_s}
    result = _result(file, cc, sets, seed, quiet, asked)
    if not has_time:
        with Bar(is_quiet=quiet or json) as bar:
            found = result.why(flow, tries=not no_try, progress=bar)
        return print_result(found.to_dict, lambda: (_hosts(result), *_breakdown(found)), json=json, quiet=quiet)
    from bentpipe.experiment.why.explanation import why
    from bentpipe.experiment.why.time_spent import time_spent

    flow = flow or result.scenario.flow_names[0]
    told = why(result, flow, at=at_s, start=start_s, end=end_s)
    spent = time_spent(result, told.start_s, told.end_s, flow)
    return print_result(
        lambda: {**told.to_dict(), "time_spent": spent.to_dict()["parts"]},
        lambda: (_hosts(result), *_parts(told, spent)),
        json=json,
        quiet=quiet,
    )


def _result(
    file: str, cc: str | None, sets: tuple[str, ...], seed: int | None, quiet: bool, asked: dict[str, Any]
) -> RunResult:
    """Load or run the run to explain, after a check of flows and times."""
    from bentpipe.experiment.why import explanation as why
    from bentpipe.experiment.why import spent, time_spent

    if Path(file).is_dir():
        from bentpipe.experiment.single.run_result import RunResult
        from bentpipe.own import loading

        if sets or seed is not None:
            raise BentpipeError("--set and --seed change a run\n  expected a scenario, not a saved result")
        classes = [] if cc is None else loading.parts(cc)
        if not all(map(loading.is_own, classes)):
            raise BentpipeError(
                f"--cc {cc} changes a run\n  expected a scenario, or the class that the saved result had: FILE.py:CLASS"
            )
        saved = RunResult.load(file, classes)
        why.check(saved.scenario, **asked)
        return saved
    from bentpipe.experiment.single.run import run

    scenario = load(file, sets, seed, is_quiet=quiet)
    why.check(scenario, **asked)
    has_time = any(asked[name] is not None for name in ("at", "start", "end"))
    with Bar(is_quiet=quiet) as bar:
        of_window = {*why.SERIES, *time_spent.SERIES}
        return run(scenario, cc=cc, series=sorted(of_window) if has_time else spent.SERIES, progress=bar)


def _seconds(name: str, text: str | None) -> float | None:
    from bentpipe import _core

    if text is None:
        return None
    found = _core.quantity(text)
    if found is None or found[1] != "s":
        shown = text or "''"
        raise BentpipeError(f'--{name} {shown} is not a time\n  expected a time, like "72 s" or "1.5min"')
    return found[0]


def _hosts(result: RunResult) -> RenderableType:
    from bentpipe.cli.render import hosts

    return hosts(result)


def _parts(told: Explanation, spent: TimeSpent) -> Iterator[RenderableType]:
    """Renders events, the summary and the parts of the time. Long text wraps beside the column of times."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for happening in told.happenings:
        table.add_row(f"{happening.time_s:.4f} s", Text(happening.text))
    if told.happenings:
        yield table
    yield Text(told.summary)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for time, share, what in spent.shown_parts:
        grid.add_row(time, share, Text(what))
    yield ""
    yield Text(f"The time of {spent.flow}:")
    yield grid


def _breakdown(found: Breakdown) -> Iterator[RenderableType]:
    """Renders each kind of flow with its parts, then the tried changes."""
    from rich.table import Table
    from rich.text import Text

    from bentpipe import formatting
    from bentpipe.experiment.why.remedies import select_remedies

    for each in found.flows:
        yield Text(each.head)
        table = Table.grid(padding=(0, 2))
        table.add_column(justify="right", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(overflow="fold")
        for time_s, share, what in each.shown_parts:
            table.add_row(formatting.quantity(time_s, "s"), formatting.percent(share), Text(what))
        yield table
        yield ""
    helpful, others = select_remedies(found.remedies)
    if helpful:
        flows = len({remedy.flow for remedy in helpful})
        turns = ", in turn for each kind of flow" if flows > 1 else ""
        yield Text(f"Remedies, by their effect in one run with this seed{turns}:")
    elif found.remedies:
        yield Text("No tried change helps by more than 2 %.")
    for number, remedy in enumerate(helpful, 1):
        yield Text(f"{number}. {remedy.name}. {remedy.effect}.")
        yield remedy.command
    yield from map(Text, others)
    for note in found.notes:
        yield Text(f"note: {note}")
