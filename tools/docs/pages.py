"""Makes the pages of the site that follow from the program itself, while mkdocs builds the site.

Columns, causes, metrics and names come from the exports of the core (`bentpipe.catalog`), the command line from the
Click application, the gallery from the bundled scenarios. mkdocs calls `on_files` (see `hooks` in
mkdocs.yml); everything else is free of mkdocs.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files as resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

import bentpipe as bp
from bentpipe.catalog import choices, dictionary
from bentpipe.cli.app import app
from bentpipe.contract import frames
from bentpipe.contract.result import Result
from bentpipe.metric import METRICS, Metric, list_single_metrics, list_table_metrics
from bentpipe.statistics.judgement import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
TABLES = {
    "flows": "A row per flow.",
    "subflows": "A row per subflow of flows over several paths.",
    "links": "A row per link and direction.",
    "drops": "A row per place, flow and cause of loss.",
    "completions": "A row per flow that makes several transfers, and class of sizes.",
    "transfers": "A row per transfer that is complete.",
    "datagrams": "A row per flow of datagrams.",
    "probes": "A row per probe.",
    "quic": "A row per flow over QUIC.",
    "media": "A row per medium.",
    "terminals": "A row per link in a medium.",
    "modcods": "A row per link in a medium, and waveform that it used.",
    "losses": "A row per packet that is lost; the series `losses`.",
    "objects": "A row per object of a page; the series `objects`.",
    "critical_path": "A row per flow and part of its time; the series `critical_path`.",
    "path_parts": "The parts of the time in the table `critical_path`.",
    "summary": "One row: the run.",
    "series": "Time series. Each is recorded if `--series` or `[record]` names it; `entity` is its object.",
    "states": "States of congestion controls. The first has the number 0 in the series `cc_state`.",
    "events": "Events of a connection. Each is a row of the series `events`.",
}
PYTHON = {
    "Experiments": ["run", "compare", "mix", "mixes", "sweep", "report", "reproduce"],
    "Sharing": ["pack", "repeat", "cite"],
    "Scenarios": ["load", "loads", "check", "Scenario", "schema"],
    "Lists of names": ["scenarios", "metrics", "series", "choices", "catalog"],
    "Results": [
        "RunResult",
        "Comparison",
        "Mix",
        "Mixes",
        "Sweep",
        "Reproduction",
        "Twin",
        "Emulation",
        "Packed",
        "Repeated",
        "Citation",
    ],
    "Real programs": ["emulate", "speak", "twin", "pcap"],
    "Your own code": ["CongestionControl", "Cubic", "Reno", "Bbr", "Middlebox", "Scheduler", "Network", "testing"],
    "The sky": ["sky"],
    "Statistics and figures": ["statistics", "plot"],
    "Errors": ["errors"],
}


def pages() -> dict[str, str]:
    """Path below `docs` to Markdown, of every page but the gallery's."""
    return {
        "reference/columns.md": columns(),
        "reference/results.md": results(),
        "reference/causes.md": causes(),
        "reference/metrics.md": metrics(),
        "reference/names.md": names(),
        "reference/command-line.md": command_line(),
        "reference/python.md": python(),
    }


def _table(heads: str, rows: list[list[str]]) -> str:
    lines = [heads.split(), ["---"] * len(heads.split()), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def columns() -> str:
    """The dictionary of columns: every table, every column, its unit and meaning."""
    text = (
        "# Columns\n\nEvery column of every table that a run gives, as the program defines it. The unit `1` is a count"
        " or a ratio; an empty unit is text. [Results](../concepts/results.md) relates the tables.\n"
    )
    for table, about in TABLES.items():
        rows = dictionary()[table]
        is_series = "entity" in rows[0]
        cells = [
            [f"`{row['name']}`", *([row["entity"]] if is_series else []), row.get("unit", ""), row["meaning"]]
            for row in rows
        ]
        text += f"\n## {table}\n\n{about}\n\n"
        text += _table("column entity unit meaning" if is_series else "column unit meaning", cells)
    return text


def result_classes() -> list[type]:
    """The classes of results that users meet."""
    found = [
        value for place in (bp, bp.sky) for name in place.__all__ if isinstance(value := getattr(place, name), type)
    ]
    return [each for each in dict.fromkeys(found) if issubclass(each, Result)]


def members() -> dict[str, str]:
    """The members that all results have, each with the first sentence about it."""
    found = {name: doc for name, doc in _fields(Result) if not name.startswith("_")}
    for name, value in vars(Result).items():
        if not name.startswith("_") and name not in found and (callable(value) or isinstance(value, property)):
            found[name] = inspect.getdoc(value) or ""
    return {name: re.split(r"(?<=\.)\s|: a row|\n", doc)[0] for name, doc in found.items()}


def _fields(cls: type) -> list[tuple[str, str]]:
    """The fields of a class, with the texts below them."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body
    return [
        (field.target.id, text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    ]


def results() -> str:
    """The members of every result, and the additions of each class."""
    classes = result_classes()
    rows = []
    for name, doc in members().items():
        value = inspect.getattr_static(Result, name, None)
        shown = f"{name}{_parameters(value)}" if callable(value) else name
        rows.append([f"`{shown}`", doc, *(_added(each, name) for each in classes)])
    heads = " ".join(["member", "meaning", *(each.__name__ for each in classes)])
    return (
        "# Results\n\nEvery result has the same members, with the same parameters. A row is a member; a column"
        " has the additions of a class.\n\n" + _table(heads, rows) + "\n`Class.load(folder)` opens what `save` wrote."
        " `to_dict` has the keys `provenance`, `statements`, `notes`, `table` and `differences`, then more;"
        " `--json` of a command prints the same.\n\n## Columns\n\n" + _frames()
    )


def _parameters(function: object) -> str:
    """The names of the parameters of a method."""
    names = [*inspect.signature(function).parameters.values()][1:]
    return "(" + ", ".join(f"{each.name}=" if each.default is not each.empty else each.name for each in names) + ")"


def _added(cls: type, name: str) -> str:
    """The charts of a class, more parameters, or just that the member is there."""
    if name == "charts":
        if isinstance(inspect.getattr_static(cls, name), property):
            return "the figures of the papers"
        return ", ".join(f"`{chart}`" for chart in cls.charts)
    own, common = inspect.getattr_static(cls, name, None), inspect.getattr_static(Result, name, None)
    if not callable(own) or not callable(common):
        return "yes"
    more = inspect.signature(own).parameters.keys() - inspect.signature(common).parameters.keys()
    return ", ".join(f"`{each}=`" for each in inspect.signature(own).parameters if each in more) or "yes"


def _frames() -> str:
    """The columns of the tables that all results have."""
    found = {"table": frames.table((), DEFAULT), "differences": frames.differences((), DEFAULT)}
    heads = "column type"
    return "\n".join(
        f"`{name}`; with medians, `mean` is `median`. Further columns are the keys that vary in a sweep.\n\n"
        + _table(heads, [[f"`{column}`", str(kind).lower()] for column, kind in frame.schema.items()])
        for name, frame in found.items()
    )


def causes() -> str:
    """The closed list of causes of loss."""
    return (
        "# Causes of loss\n\nEach packet that a run loses has exactly one of these causes, and a place (a link or"
        " node). The list is closed: a run in which a packet is missing without a cause fails. `bentpipe run` and"
        " the table [`drops`](columns.md#drops) count packets per place, flow and cause.\n\n"
        + _table("cause meaning", [[f"`{row['name']}`", row["meaning"]] for row in dictionary()["causes"]])
    )


def metrics() -> str:
    """Page of the metrics that compare, mix and sweep can judge."""
    heads = "metric column unit better meaning"

    def rows(found: Mapping[str, Metric]) -> list[list[str]]:
        better = {each.name: "more" if each.is_more_better else "less" for each in found.values()}
        return [
            [f"`{name}`", f"`{each.column}`", each.unit, better[name] if each.is_judged else "", each.meaning]
            for name, each in found.items()
        ]

    return (
        "# Metrics\n\nA metric is one number per run. Name it in `--metric`, in `metrics` under `[sweep]`, or as"
        " `metric=` in Python. The column is its name in tables of runs; better is the better direction, if"
        " there is one.\n\n"
        + _table(heads, rows(METRICS))
        + "\n## From the tables of a run\n\nThese need a table of each run, which is then kept. In a store without it"
        " the runs are done again.\n\n"
        + _table(heads, rows(list_table_metrics()))
        + "\n## Of one flow or link\n\n`NAME:FLOW` or `NAME:LINK`, such as `goodput:web`, `fct_p95:pages` and"
        " `queue_p95:sat.forward`. An entry with `count` stands for all its flows, a link without its direction"
        " for both. `mix` has those of flows for each sender, over its flows. A completion time of a flow that did not"
        " complete is a bound; times of transfers are of those that finished, with how many did not:"
        " [Statistics](../concepts/statistics.md#incomplete-transfers).\n\n"
        + _table(heads, rows(list_single_metrics()))
    )


def names() -> str:
    """Everything that a scenario can refer to by name."""
    text = (
        "# Names\n\nEverything that a scenario can name, by key. `bentpipe list` prints the same, and"
        " `bentpipe list KEY` one of them with its meanings."
        " [The scenario file](scenario.md) has the settings of each.\n"
    )
    for topic, entries in choices().items():
        text += f"\n## {topic}\n\n" + _table("name meaning", [[f"`{e['name']}`", e["summary"]] for e in entries])
    return text


def _walk(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """Walks a command and its subcommands, in the order of the help."""
    settings = {**command.context_settings, "terminal_width": 78}
    context = command.context_class(command, info_name=name, parent=parent, **settings)
    yield context
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None, inner
            yield from _walk(found, inner, context)


@cache
def commands() -> dict[str, str]:
    """The help of the program and of every command, by its words."""
    # Without colours: the page must not depend on where it is built.
    return {context.command_path: click.unstyle(context.get_help()).strip("\n") for context in _walk(app, "bentpipe")}


def command_line() -> str:
    """The help of each command."""
    text = (
        "# Command line\n\nThe help of every command, as the program prints it. Exit codes:\n\n- 0: done\n- 2: an error"
        " in the command, the scenario or a run, which the message names\n- 130: interrupted by Ctrl-C\n"
    )
    for words, shown in commands().items():
        depth = words.count(" ")
        text += (f"\n{'#' * (depth + 1)} {words}\n" if depth else "") + f"\n```text\n{shown}\n```\n"
    return text


def python() -> str:
    """The public names, in sections; mkdocstrings puts each docstring in its place."""
    text = (
        "# Python\n\n`import bentpipe as bp`. Tables are polars data frames; units are in the names of their columns.\n"
    )
    known = {name for names in PYTHON.values() for name in names}
    rest = [name for name in bp.__all__ if name not in known and not name.startswith("__")]
    for title, listed in {**PYTHON, "More": rest}.items():
        if listed:
            text += f"\n## {title}\n" + "".join(f"\n::: bentpipe.{name}\n" for name in listed if name in bp.__all__)
    return text


def shipped() -> list[str]:
    """The names of the bundled scenarios."""
    folder = resources("bentpipe.scenario") / "shipped"
    return sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml"))


def gallery_page(name: str) -> str:
    """The page of a bundled scenario: the text and commands of its file, its picture, and the file."""
    scenario = (resources("bentpipe.scenario") / "shipped" / f"{name}.toml").read_text()
    lines = scenario.splitlines()
    head = [line[1:] for line in lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))]]
    about = "\n".join(line[1:] for line in head if not line.startswith("   bentpipe ")).strip()
    listed = "\n".join(line.strip() for line in head if line.startswith("   bentpipe "))
    return (
        f"# {name}\n\n**{bp.load(name).title}**\n\n{about}\n\n![Goodput, window and queue over time]({name}.png)\n\n"
        f"*`bentpipe run {name} --plot {name}.png`*\n\n## Commands\n\n```\n{listed}\n```\n\n"
        f"## The file\n\n```toml\n{scenario}```\n"
    )


def gallery_index() -> str:
    """The cards of all bundled scenarios."""
    cells = [
        f'<a class="card" href="{name}/"><img src="{name}-card.png" alt="Goodput over time" loading="lazy">'
        f"<b>{name}</b> {bp.load(name).title}</a>"
        for name in shipped()
    ]
    return (
        "# Gallery\n\nThe bundled scenarios. Use a name in place of a file: `bentpipe run geo`. Each page has the"
        " commands, a figure and the file to start from. The cards show the goodput of each flow, averaged over at"
        " least five round trips. Data that waited for a repair counts when it crossed the link.\n\n"
        '<div class="gallery">\n' + "\n".join(cells) + "\n</div>\n"
    )


def empty_pictures(name: str) -> dict[str, bytes]:
    """Empty figures of a bundled scenario, for a draft of the site."""
    return {f"{name}.png": b"", f"{name}-card.png": b""}


@cache
def pictures(name: str) -> dict[str, bytes]:
    """The figures of a bundled scenario by file name: that of `bentpipe run --plot`, and that of its card."""
    with tempfile.TemporaryDirectory() as folder:
        # matplotlib is not safe in threads, so each scenario is drawn in a separate process.
        command = [sys.executable, "-m", "tools.docs.cards", name, folder]
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return {path.name: path.read_bytes() for path in Path(folder).glob("*.png")}


def on_config(config):
    """Called by mkdocs: lists the pages of the gallery in the navigation."""
    for item in config.nav:
        if "Gallery" in item:
            item["Gallery"] = ["gallery/index.md", *(f"gallery/{name}.md" for name in shipped())]
    return config


def on_files(files, config):
    """Called by mkdocs: adds the pages to those of the folder."""
    from mkdocs.structure.files import File

    made: dict[str, str | bytes] = {**pages(), "gallery/index.md": gallery_index()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        draw = empty_pictures if config.extra["draft"] else pictures
        for name, drawn in zip(shipped(), pool.map(draw, shipped()), strict=True):
            made[f"gallery/{name}.md"] = gallery_page(name)
            made |= {f"gallery/{file}": content for file, content in drawn.items()}
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files
