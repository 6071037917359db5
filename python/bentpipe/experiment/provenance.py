"""Where a figure or table is from: scenario, seeds, version, and the command that makes it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bentpipe.experiment.commands import WRITTEN, given_in_python, has_file, sweep_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.experiment.sweep import Sweep

RESOLVED = "resolved.toml"


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
    """Such as `bentpipe 0.1.0, results 2`."""
    senders: str
    """Of congestion controls of one's own, such as `Steady: mine.py:Steady, code 0123456789abcdef`; may be empty.

    The code is another one when the class has changed.
    """
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
        each = (self.title, self.source, self.seeds, self.replications, self.version, self.senders)
        return [fact for fact in each if fact]

    def __str__(self) -> str:
        """In one paragraph, for a file's own description."""
        again = f" Made again by: {self.command}" if self.command else ""
        return f"{'; '.join(self.facts)}.{again}{f' ({self.note})' if self.note else ''}"

    def to_dict(self) -> dict[str, str]:
        """Plain data, without the scenario."""
        return {
            name: getattr(self, name)
            for name in ("title", "source", "seeds", "replications", "version", "senders", "command", "note")
        }


def of_sweep(sweep: Sweep) -> Provenance:
    """Of all that is made of a sweep."""
    facts = sweep.facts
    text, form = facts["written"]
    # Beside the page: a file may change, and there may have been none.
    file = f"{WRITTEN}.{form}"
    versions = facts["versions"] or [facts["version"]]
    no_command = given_in_python(facts)
    notes = [
        "" if has_file(facts) else f"{file} is beside the report",
        f"no command makes it again: {', '.join(no_command)} was given in Python" if no_command else "",
    ]
    return Provenance(
        title=sweep.title,
        source=facts["source"] if has_file(facts) else "",
        seeds=_seeds(sweep),
        replications=_replications(sweep.points["replications"].to_list()),
        version=f"bentpipe {', '.join(versions)}, results {facts['results']}",
        senders="; ".join(
            f"{name}: {sender['class'] or 'a class'}, code {sender['code']}"
            for name, sender in facts["senders"].items()
        ),
        command=sweep_command(facts),
        scenario=facts["scenario"],
        files={file: text, RESOLVED: facts["scenario"]},
        note="; ".join(filter(None, notes)),
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
