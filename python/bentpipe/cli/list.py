"""`bentpipe list`."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from itertools import groupby
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bentpipe import _core, listing
from bentpipe.catalog import choices, dictionary, unknown
from bentpipe.cli import complete, options
from bentpipe.cli.help import Command, Formatter, argument
from bentpipe.cli.printing import is_coloured, print_json
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


MEANT = {
    **dict.fromkeys(("sender", "senders", "congestion-control", "congestion-controls", "algorithms"), "cc"),
    **dict.fromkeys(("aqm", "queueing", "qdisc"), "queue"),
    **dict.fromkeys(("loss", "losses", "channel", "channels"), "error"),
    **dict.fromkeys(("pep", "peps", "proxy", "proxies", "function", "functions", "node", "nodes"), "middlebox"),
    **dict.fromkeys(("traffic", "applications"), "app"),
    **dict.fromkeys(("host", "hosts", "preset", "presets", "stack", "stacks"), "like"),
    **dict.fromkeys(("cities", "city", "ground-stations"), "places"),
    **dict.fromkeys(("kind", "kinds", "measurement", "measurements"), "readers"),
    "drops": "causes",
    "files": "scenarios",
}
"""Other words for topics."""
MOST = 36
"""Names of a topic in the list of all topics."""
KEPT = "of a table that is then kept"
ONE_ONLY = "of one flow or link only"
"""Headings of groups of metrics."""
READERS = {
    "ping": "Output of ping, best with -D.",
    "fping": "Output of fping -D.",
    "irtt": "JSON of irtt client -o: delays and losses of each direction.",
    "flent": "Data files of Flent.",
    "iperf3": "JSON of iperf3 -J: intervals of TCP or UDP.",
    "ss": "Repeated output of ss -tin.",
    "dish": "History of a Starlink dish, as CSV.",
    "csv": "CSV whose columns end in their units.",
    "pcap": "Captures, pcap or pcapng: echoes, TCP and numbered datagrams.",
}
"""Measurements that `fit` reads, without the libraries of their readers."""
INSTALLED = "of installed packages"
"""Heading of names that packages add."""


class Entry(NamedTuple):
    """A name that a scenario or an option can have, with its meaning."""

    name: str
    summary: str
    unit: str = ""
    table: str = ""
    package: str = ""


@click.command("list", cls=Command, examples=("list", "list cc", "list columns --json"))
@argument(
    "topic",
    required=False,
    metavar="[TOPIC]",
    shell_complete=complete.topics,
    help="Topic: cc, queue, error, scenarios, metrics, series, columns. Default: all topics, each with some names.",
)
@options.json
def command(topic: str | None, json: bool) -> None:
    """List names with their meanings.

    Topics are congestion controls, queues, scenarios, papers, metrics, time series, columns of the tables and more.
    """
    known = topics()
    topic = topic and _find_topic(topic, known)
    if topic is not None and topic not in known:
        raise BentpipeError(unknown(topic, "a topic", known))
    if topic is None:
        names = {
            each: [*dict.fromkeys(entry.table if each == "columns" else entry.name for entry in make())]
            for each, make in known.items()
        }
        if json:
            print_json([{"name": each, "entries": entries} for each, entries in names.items()])
        else:
            _print([Entry(each, _shorten_names(each, entries)) for each, entries in names.items()])
    elif json:
        print_json([{key: value for key, value in each._asdict().items() if value} for each in known[topic]()])
    else:
        _print(known[topic]())


def _find_topic(word: str, known: Iterable[str]) -> str:
    """Returns the topic with this name, singular, plural or synonym; otherwise the word itself."""
    plain = word.lower().replace("_", "-").replace(" ", "-")
    near = (
        plain,
        plain.replace("-", "_"),
        f"{plain}s",
        f"{plain}es",
        plain.removesuffix("s"),
        plain.removesuffix("es"),
    )
    return next((each for each in near if each in known), MEANT.get(plain, word))


def topics() -> dict[str, Callable[[], list[Entry]]]:
    """Maps each topic to the function that makes its list."""

    def chosen(topic: str) -> Callable[[], list[Entry]]:
        return lambda: _with_plugins(topic, [Entry(entry["name"], entry["summary"]) for entry in found[topic]])

    found = choices()
    return {topic: chosen(topic) for topic in found} | {
        "readers": _readers,
        "metrics": _metrics,
        "scenarios": _scenarios,
        "papers": _papers,
        "constellations": _constellations,
        "places": _places,
        "modcod": _modcods,
        "series": _series,
        "columns": lambda: [
            each._replace(table=table, summary=each.summary + _as_metric(table, each))
            for table in dictionary()
            if table not in ("series", "causes", "states")
            for each in _list_definitions(table)
        ],
        "causes": lambda: _list_definitions("causes"),
        "states": lambda: _list_definitions("states"),
    }


def _with_plugins(topic: str, entries: list[Entry]) -> list[Entry]:
    """Adds the names of installed packages. A bundled name is never that of a package."""
    from bentpipe.own.plugins import TOPICS, list_plugins

    known = {each.name for each in entries}
    added = list_plugins(TOPICS[topic]) if topic in TOPICS else {}
    more = [Entry(name, package, table=INSTALLED, package=package) for name, package in added.items()]
    return [*entries, *(each for each in more if each.name not in known)]


def _readers() -> list[Entry]:
    return _with_plugins("readers", [Entry(kind, summary) for kind, summary in READERS.items()])


def _list_definitions(table: str) -> list[Entry]:
    return [Entry(entry["name"], entry["meaning"], entry.get("unit", "")) for entry in dictionary()[table]]


def _as_metric(table: str, entry: Entry) -> str:
    """Returns the metric of a column, if it has one."""
    from bentpipe.metric import NOT_METRICS, find_name, list_metrics, list_single_metrics

    name = find_name(table, entry.name)
    is_metric = (
        entry.unit and entry.name not in NOT_METRICS.get(table, ()) and name in list_metrics() | list_single_metrics()
    )
    return f" Metric: `{name}`." if is_metric else ""


def _metrics() -> list[Entry]:
    return [
        Entry(
            f"{row['name']}:NAME" if row["is_of_one"] else row["name"],
            _with_objects(row),
            row["unit"],
            ONE_ONLY if row["is_of_one"] else KEPT if row["table"] else "",
        )
        for row in listing.metric_rows()
    ]


def _with_objects(row: dict[str, Any]) -> str:
    """The meaning of a metric, and how to name that of one flow or link."""
    objects = row["of"].upper().replace(" OR ", "|")
    return f"{row['meaning']}. Of one: {row['name']}:{objects}" if objects and not row["is_of_one"] else row["meaning"]


def _scenarios() -> list[Entry]:
    return [Entry(row["name"], row["meaning"]) for row in listing.scenario_rows()]


def _series() -> list[Entry]:
    return [Entry(row["name"], row["meaning"], row["unit"]) for row in listing.series_rows()]


def _papers() -> list[Entry]:
    from bentpipe.papers.claims import names, title

    return [Entry(name, title(name)) for name in names()]


def _constellations() -> list[Entry]:
    from bentpipe.sky import constellations

    return [Entry(each["name"], f"{each['about']}. {each['source']}.") for each in constellations()]


def _places() -> list[Entry]:
    from bentpipe.sky import cities
    from bentpipe.sky.scenes import coordinates

    return [Entry(each["name"], coordinates(each["latitude_deg"], each["longitude_deg"])) for each in cities()]


def _modcods() -> list[Entry]:
    found = json.loads(_core.schema())["$defs"]["Modcod"]["oneOf"]
    return [Entry(each["const"], each["description"]) for each in found]


def _print(entries: list[Entry]) -> None:
    """Prints names with their meanings, grouped by table."""
    # Not by Rich: its import takes longer than all of this.
    formatter = Formatter(width=get_terminal_size().columns)
    for table, group in groupby(entries, key=lambda entry: entry.table):
        with formatter.section(table) if table else nullcontext():
            formatter.write_dl([(entry.name, _meaning(entry)) for entry in group])
    click.echo(formatter.getvalue(), file=sys.stdout, nl=False, color=is_coloured(sys.stdout))


def _shorten_names(topic: str, names: list[str]) -> str:
    """Cuts a long list of names; the list of the topic has all."""
    shown = ", ".join(names[:MOST])
    return shown if len(names) <= MOST else f"{shown}, and {len(names) - MOST} more: bentpipe list {topic}"


def _meaning(entry: Entry) -> str:
    # A ratio, a count and a text have no unit.
    return entry.summary if entry.unit in ("", "1") else f"{entry.summary} [{entry.unit}]"
