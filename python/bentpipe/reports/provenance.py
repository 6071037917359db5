"""Provenance of figures and tables: scenario, seeds, version, and the command that repeats them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Provenance:
    """Facts that are needed to repeat a result."""

    title: str
    source: str
    """File or name of the scenario; empty without one."""
    seeds: str
    """Seeds in words: `seeds 1 to 20`."""
    replications: str
    """Replications in words: `20 replications of each point`."""
    version: str
    """Version in words: `bentpipe 0.1.0, results 2`."""
    senders: str
    """Custom congestion controls, such as `Steady: mine.py:Steady, code 0123456789abcdef`; may be empty.

    The digits after `code` change if the class changes.
    """
    command: str
    """Command for a shell; empty if no command repeats the result."""
    scenario: str = ""
    """Resolved scenario, as TOML."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files to write beside a page, by name."""
    note: str = ""

    @property
    def facts(self) -> list[str]:
        """Facts in a few words each, without the command and the scenario."""
        each = (self.title, self.source, self.seeds, self.replications, self.version, self.senders)
        return [fact for fact in each if fact]

    @property
    def labelled(self) -> dict[str, str]:
        """The facts by their labels."""
        each = {
            "Title": self.title,
            "Scenario": self.source,
            "Runs": ", ".join(filter(None, (self.replications, self.seeds))),
            "Version": self.version,
            "Custom congestion controls": self.senders,
        }
        return {label: fact for label, fact in each.items() if fact}

    def __str__(self) -> str:
        """Formats everything as one paragraph, for the description inside a file."""
        again = f" Made again by: {self.command}" if self.command else ""
        return f"{'; '.join(self.facts)}.{again}{f' ({self.note})' if self.note else ''}"

    def to_dict(self) -> dict[str, str]:
        """Converts it to plain data, without the scenario."""
        return {
            name: getattr(self, name)
            for name in ("title", "source", "seeds", "replications", "version", "senders", "command", "note")
        }
