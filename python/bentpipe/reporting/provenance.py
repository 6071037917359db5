"""Where a figure or table is from: scenario, seeds, version, and the command that makes it again."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass, field
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

WRITTEN = "scenario"
"""The scenario as it was written, beside the page: a file may change, and there may have been none."""
RESOLVED = "resolved.toml"
UNNAMED = "scenario"
"""What the source of a scenario is called that was not read from a file."""

_OPTIONS = {
    "sweep.replications": "--replications",
    "sweep.replications_max": "--replications-max",
    "sweep.metrics": "--metric",
    "sweep.tables": "--tables",
    "sweep.against": "--against",
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
    """For a shell; empty if there is none."""
    scenario: str = ""
    """The resolved scenario."""
    files: Mapping[str, str] = field(default_factory=dict)
    """To be put beside a page, by name."""
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
    text, form = facts["written"]
    file = f"{WRITTEN}.{form}"
    has_file = facts["source"] != UNNAMED
    versions = facts["versions"] or [facts["version"]]
    return Provenance(
        title=sweep.title,
        source=facts["source"] if has_file else "",
        seeds=_seeds(sweep),
        replications=_replications(sweep.points["replications"].to_list()),
        version=f"bentpipe {', '.join(versions)}",
        command=_command(facts["source"] if has_file else file, facts["sets"], facts.get("report_against")),
        scenario=facts["scenario"],
        files={file: text, RESOLVED: facts["scenario"]},
        note="" if has_file else f"{file} is beside the report",
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


def _command(source: str, sets: Iterable[Sequence[str]], against: str | None) -> str:
    """The command that makes the sweep and its report again."""
    file = f"./{source}" if source.startswith("-") else source
    store = f"{Path(file).stem}.sweep"
    report = ["bentpipe", "report", store, *(["--against", against] if against else [])]
    return f"{shlex.join(['bentpipe', 'sweep', file, *_arguments(sets)])} && {shlex.join(report)}"


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


def _toml(text: str) -> Any:
    """The value of a text, which may also be just text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
