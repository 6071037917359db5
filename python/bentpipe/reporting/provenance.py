"""Where a figure or table is from: scenario, seeds, version, and the command that makes it again."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.errors import ScenarioError
from bentpipe.sweeps.grid import parsed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bentpipe.sweeps.result import Sweep

SCENARIO = "scenario.toml"
"""The resolved scenario, beside the page."""
UNNAMED = "scenario"
"""What the source of a scenario is called that was not read from a file."""

_OPTIONS = {
    "sweep.replications": "--replications",
    "sweep.replications_max": "--replications-max",
    "sweep.metrics": "--metric",
    "sweep.tables": "--tables",
    "seed": "--seed",
}


@dataclass(frozen=True)
class Provenance:
    """What must be known to make a result again."""

    title: str
    source: str
    """File or name of the scenario; empty if it had none."""
    seeds: str
    """Such as `seeds 1 to 20`."""
    replications: str
    """Such as `20 replications of each point`."""
    version: str
    """Such as `bentpipe 0.1.0`."""
    command: str
    """For a shell; empty if there is none, and `note` says why."""
    scenario: str = ""
    """The resolved scenario."""
    note: str = ""

    @property
    def facts(self) -> list[str]:
        """All but the command and the scenario, each in a few words."""
        return [fact for fact in (self.title, self.source, self.seeds, self.replications, self.version) if fact]

    def __str__(self) -> str:
        """In one paragraph, for a file's own description."""
        again = f" Made again by: {self.command}" if self.command else ""
        return f"{'; '.join(self.facts)}.{again}{f' ({self.note})' if self.note else ''}"

    def to_dict(self) -> dict[str, str]:
        """Plain data, without the scenario."""
        return {
            name: getattr(self, name)
            for name in ("title", "source", "seeds", "replications", "version", "command", "note")
        }


def of_sweep(sweep: Sweep) -> Provenance:
    """Of all that is made of a sweep."""
    facts = sweep.facts
    source = "" if facts["source"] == UNNAMED else facts["source"]
    command, note = _command(sweep, source)
    versions = facts["versions"] or [facts["version"]]
    return Provenance(
        title=sweep.title,
        source=source,
        seeds=_seeds(sweep),
        replications=_replications(sweep.points["replications"].to_list()),
        version=f"bentpipe {', '.join(versions)}",
        command=command,
        scenario=facts["scenario"],
        note=note,
    )


def _seeds(sweep: Sweep) -> str:
    if "seed" in sweep.keys:
        seeds = sweep.runs["seed"]
        first, last = (min(seeds), max(seeds)) if len(seeds) else (sweep.facts["seed"], sweep.facts["seed"])
    else:
        first = sweep.facts["seed"]
        last = (first + max(sweep.points["replications"].to_list()) - 1) % 2**64
    return f"seed {first}" if first == last else f"seeds {first} to {last}"


def _replications(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    if most == 1:
        return "one run of each point"
    return f"{fewest if fewest == most else f'{fewest} to {most}'} replications of each point"


def _command(sweep: Sweep, source: str) -> tuple[str, str]:
    """The command that makes the sweep and its report again, and what its reader must know."""
    if source:
        arguments, note = _arguments(sweep.facts["sets"]), ""
        file = f"./{source}" if source.startswith("-") else source
    else:
        # The scenario as it was resolved has all but the sweep itself; its axes are in the points.
        if "case" in sweep.keys:
            return "", "the scenario was in no file, and its cases are not in the store"
        own = [pair for pair in sweep.facts["sets"] if pair[0].startswith("sweep.") and not _is_grid(pair[0])]
        have = {key for key, _ in own}
        counts = set(sweep.points["replications"].to_list())
        if "sweep.replications" not in have and len(counts) == 1:
            own.append(["sweep.replications", str(*counts)])
        if "sweep.metrics" not in have:
            own.append(["sweep.metrics", json.dumps(sweep.metrics)])
        arguments = [*_axes(sweep), *_arguments(own)]
        file, note = SCENARIO, f"{SCENARIO} is beside this report; the scenario itself was in no file"
    store = f"{Path(file).stem}.sweep"
    return f"{shlex.join(['bentpipe', 'sweep', file, *arguments])} && {shlex.join(['bentpipe', 'report', store])}", note


def _is_grid(key: str) -> bool:
    return key.startswith(("sweep.vary", "sweep.together"))


def _arguments(sets: Iterable[Sequence[str]]) -> list[str]:
    """Values put over a scenario, as one would type them."""
    options: dict[str, list[str]] = {}
    plain: list[str] = []
    for key, text in sets:
        found = _option(key, text)
        if found is None:
            plain += ["--set", f"{key}={text}"]
        else:
            # As in the scenario, the last one counts.
            options[key] = found
    return [*plain, *(part for option in options.values() for part in option)]


def _option(key: str, text: str) -> list[str] | None:
    """The option that is meant for this key, if one says just this."""
    value = _toml(text)
    if key.startswith("sweep.vary."):
        return _vary([{key.removeprefix("sweep.vary."): value}])
    if key == "sweep.together" and isinstance(value, list):
        return _vary(value)
    if key == "sweep.until" and isinstance(value, dict) and set(value) == {"metric", "half_width"}:
        return ["--until", f"{value['metric']}={value['half_width']}"]
    if key in _OPTIONS:
        return [_OPTIONS[key], ",".join(value) if isinstance(value, list) else str(value)]
    return None


def _axes(sweep: Sweep) -> list[str]:
    """The grid of a sweep, from its points."""
    columns = {key: [_whole(value) for value in sweep.points[key]] for key in sweep.keys}
    distinct = {key: list(dict.fromkeys(values)) for key, values in columns.items()}
    size = 1
    for values in distinct.values():
        size *= len(values)
    # Keys that go together are not told from the points; all of them together are the points, whatever they are.
    groups = [{key: values} for key, values in distinct.items()] if size == sweep.points.height else [columns]
    found = _vary(groups)
    return found if found is not None else []


def _vary(groups: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """`--vary` for each group of keys; None if it cannot say this."""
    arguments = []
    for group in groups:
        if not isinstance(group, dict):
            return None
        text = "; ".join(f"{key}={_values(values)}" for key, values in group.items())
        try:
            vary, together = parsed([text])
        except ScenarioError:
            return None
        if {**vary, **(together[0] if together else {})} != group:
            return None
        arguments += ["--vary", text]
    return arguments


def _values(values: Any) -> str:
    """Values of a key as after `--vary KEY=`."""
    if isinstance(values, dict):
        text = f"{_token(values.get('from'))}..{_token(values.get('to'))}:{values.get('count')}"
        return text + (":log" if values.get("scale") == "log" else "")
    if isinstance(values, list):
        text = ",".join(map(_token, values))
        # Texts with commas need brackets and quotes.
        return (
            text if parsed([f"key={text or '-'}"])[0].get("key") == values else f"[{', '.join(map(_literal, values))}]"
        )
    return str(values)


def _token(value: Any) -> str:
    return value if isinstance(value, str) else _literal(value)


def _literal(value: Any) -> str:
    """As in a file."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, float):
        return repr(value).replace("e-0", "e-")
    return json.dumps(value, ensure_ascii=False)


def _whole(value: Any) -> Any:
    """Whole numbers without a point, as some keys want them; tables and lists as what they are."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _toml(text: str) -> Any:
    """The value of a text, which may also be just text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
