"""Completes words in a shell: names of scenarios, congestion controls, metrics, series and keys."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from click import Context, Parameter

    from bentpipe.scenario.scenario import Scenario

    Completer = Callable[[Context, Parameter, str], list[CompletionItem]]


def scenarios(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes bundled scenarios and files."""
    from bentpipe.scenario.scenario import list_bundled

    return _items(list_bundled(), incomplete) + files(incomplete, (".toml", ".json"))


def complete_bundled(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes bundled scenarios."""
    from bentpipe.scenario.scenario import list_bundled

    return _items(list_bundled(), incomplete)


def files(incomplete: str, suffixes: tuple[str, ...] = ()) -> list[CompletionItem]:
    """Completes files with this ending, and folders."""
    folder, name = os.path.split(incomplete)
    found = []
    for path in sorted(Path(folder or ".").glob("*")):
        if not path.name.startswith(name) or (path.name.startswith(".") and not name):
            continue
        if path.is_dir() or (suffixes and path.name.endswith(suffixes)):
            # Not a Path, which would drop a typed `./`.
            found.append(CompletionItem(os.path.join(folder, path.name) + "/" * path.is_dir()))  # noqa: PTH118
    return found


def senders(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes congestion controls, several separated by commas."""
    from bentpipe.catalog import choices
    from bentpipe.own.plugins import TOPICS, list_plugins

    bundled = {choice["name"]: choice["summary"] for choice in choices()["cc"]}
    return _complete_list({**list_plugins(TOPICS["cc"]), **bundled}, incomplete)


def series(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes time series, several separated by commas."""
    from bentpipe.listing import series_rows

    return _complete_list({row["name"]: row["meaning"] for row in series_rows()}, incomplete)


def metrics(ctx: Context, _: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes metrics, several separated by commas; after `NAME:`, flows or links of the scenario."""
    return _complete_list(_metrics(ctx, incomplete.rpartition(",")[2]), incomplete)


def until(ctx: Context, _: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes a metric, before its share."""
    return _items({f"{name}=": meaning for name, meaning in _metrics(ctx, incomplete).items()}, incomplete)


def _metrics(ctx: Context, begin: str) -> dict[str, str]:
    from bentpipe.metric import list_metrics, list_names, list_single_metrics

    base, colon, _ = begin.partition(":")
    if not colon:
        return {metric.name: metric.meaning for metric in list_metrics().values()}
    metric = list_single_metrics().get(base)
    scenario = _scenario(ctx)
    if metric is None or metric.source is None or scenario is None:
        return {}
    known = {"flow": scenario.flow_names, "subflow": scenario.subflow_names, "link": scenario.link_names}
    return {f"{base}:{name}": metric.meaning for name in list_names(metric, known)}


def papers(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes papers and custom folders."""
    from bentpipe.papers.claims import names

    return _items(dict.fromkeys(names(), ""), incomplete) + files(incomplete)


def topics(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes topics of `list`."""
    from bentpipe.cli.list import topics

    return _items(dict.fromkeys(topics(), ""), incomplete)


def constellations(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
    """Constellations by name, and files of element sets."""
    from bentpipe.sky import constellations

    known = {each["name"]: each["about"] for each in constellations()}
    return _items(known, incomplete) + files(incomplete, (".tle", ".txt", ".json", ".xml", ".csv"))


def places(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
    """Cities."""
    from bentpipe.sky import cities

    return _items(dict.fromkeys([each["name"] for each in cities()], ""), incomplete)


def selections(_: Context, __: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes rules for the choice of a satellite."""
    from bentpipe.sky.paths import SELECTIONS

    return _items(SELECTIONS, incomplete)


def complete_names(names: Iterable[str]) -> Completer:
    """One of these names."""
    return lambda _, __, incomplete: _items(dict.fromkeys(names, ""), incomplete)


def settings(ctx: Context, _: Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys with an effect, with names of links, flows and nodes; after `KEY=`, values that are names."""
    from bentpipe.catalog import schema
    from bentpipe.scenario import overrides

    *before, last = incomplete.split(";")
    prefix = "".join(f"{part};" for part in before) + last[: len(last) - len(last.lstrip())]
    key, equals, value = last.strip().partition("=")
    scenario = _scenario(ctx)
    # Only the beginning of the key is compared: a schema has no end, a name has one.
    known = overrides.keys(schema(), {} if scenario is None else overrides.content(scenario), key)
    if not equals:
        unread = overrides.unread(_TABLES.get(ctx.info_name or "", ()))
        acts = (name for name in known if not name.startswith(unread) and not (scenario and scenario.find_acting(name)))
        return [CompletionItem(f"{prefix}{name}=", help=known[name].meaning) for name in acts]
    if key not in known:
        return []
    return [
        CompletionItem(f"{prefix}{key}={item.value}", help=item.help)
        for item in _complete_list(known[key].values, value)
    ]


_TABLES = {"compare": ["case"], "mix": ["case"], "sweep": ["case", "sweep"], "check": ["case", "sweep"]}
"""The tables besides a run that commands read."""


def _scenario(ctx: Context) -> Scenario | None:
    from bentpipe.scenario.scenario import STDIN, load

    # While the value of an option is missing, Click leaves arguments where it found them.
    file = ctx.params.get("file") or next(iter(ctx.args), None)
    try:
        return load(file) if file and file != STDIN else None
    except BentpipeError:
        return None


def _items(known: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=text or None) for name, text in known.items() if name.startswith(incomplete)]


def _complete_list(known: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    """Completes the last of several names separated by commas, without repetition."""
    before, comma, last = incomplete.rpartition(",")
    left = {name: text for name, text in known.items() if name not in before.split(",")}
    return [CompletionItem(f"{before}{comma}{item.value}", help=item.help) for item in _items(left, last)]
