"""`bentpipe list`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from itertools import groupby
from shutil import get_terminal_size
from typing import TYPE_CHECKING, NamedTuple

import click

from bentpipe.catalog import choices, dictionary, unknown
from bentpipe.cli import complete, options
from bentpipe.cli.help import Command, Formatter
from bentpipe.cli.printing import is_coloured, print_json
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable


class Entry(NamedTuple):
    """What can be named."""

    name: str
    summary: str
    unit: str = ""
    table: str = ""


@click.command("list", cls=Command, examples=("list", "list cc", "list columns --json"))
@click.argument(
    "topic",
    required=False,
    metavar="[TOPIC]",
    shell_complete=complete.topics,
    help="Such as cc, queue, error, scenarios, metrics, series, columns. By default, the names of all topics.",
)
@options.json
def command(topic: str | None, json: bool) -> None:
    """List what can be named, with its meaning.

    Congestion controls, queues, scenarios, papers, metrics, time series, columns of the tables and more.
    """
    known = topics()
    if topic is not None and topic not in known:
        raise BentpipeError(unknown(topic, "a topic", known))
    if topic is None:
        names = {each: [*dict.fromkeys(entry.table or entry.name for entry in make())] for each, make in known.items()}
        if json:
            print_json([{"name": each, "entries": entries} for each, entries in names.items()])
        else:
            _print([Entry(each, ", ".join(entries)) for each, entries in names.items()])
    elif json:
        print_json([{key: value for key, value in each._asdict().items() if value} for each in known[topic]()])
    else:
        _print(known[topic]())


def topics() -> dict[str, Callable[[], list[Entry]]]:
    """By topic, what makes its list."""

    def chosen(topic: str) -> Callable[[], list[Entry]]:
        return lambda: [Entry(entry["name"], entry["summary"]) for entry in found[topic]]

    found = choices()
    return {topic: chosen(topic) for topic in found} | {
        "metrics": _metrics,
        "scenarios": _scenarios,
        "papers": _papers,
        "series": lambda: [*_defined("series"), Entry("events", "What happened to each flow, when.")],
        "columns": lambda: [
            each._replace(table=table)
            for table in dictionary()
            if table not in ("series", "causes")
            for each in _defined(table)
        ],
        "causes": lambda: _defined("causes"),
    }


def _defined(table: str) -> list[Entry]:
    return [Entry(entry["name"], entry["meaning"], entry.get("unit", "")) for entry in dictionary()[table]]


def _metrics() -> list[Entry]:
    from bentpipe.metrics import METRICS

    return [Entry(metric.name, metric.meaning, metric.unit) for metric in METRICS.values()]


def _scenarios() -> list[Entry]:
    from bentpipe.scenario.scenario import shipped

    return [Entry(name, title) for name, title in shipped().items()]


def _papers() -> list[Entry]:
    from bentpipe.papers.claims import names, title

    return [Entry(name, title(name)) for name in names()]


def _print(entries: list[Entry]) -> None:
    """Names with what they are; those of a table under its name."""
    # Not by Rich, whose tables take longer to import than all of this takes.
    formatter = Formatter(width=get_terminal_size().columns)
    for table, group in groupby(entries, key=lambda entry: entry.table):
        with formatter.section(table) if table else nullcontext():
            formatter.write_dl([(entry.name, _meaning(entry)) for entry in group])
    click.echo(formatter.getvalue(), file=sys.stdout, nl=False, color=is_coloured(sys.stdout))


def _meaning(entry: Entry) -> str:
    # A ratio, a count and a text have no unit.
    return entry.summary if entry.unit in ("", "1") else f"{entry.summary} [{entry.unit}]"
