"""Provenance of a figure or table: scenario, seeds, version, and the command that repeats it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Provenance:
    """Facts needed to repeat a result."""

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
    """Custom congestion controls: `Steady: mine.py:Steady, code 0123456789abcdef`; may be empty.

    The code changes with the class.
    """
    command: str
    """Shell command; may be empty."""
    scenario: str = ""
    """The resolved scenario."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Contents of files beside a page, by name."""
    note: str = ""

    @property
    def facts(self) -> list[str]:
        """Return all facts except the command and the scenario, each in a few words."""
        each = (self.title, self.source, self.seeds, self.replications, self.version, self.senders)
        return [fact for fact in each if fact]

    def __str__(self) -> str:
        """Write one paragraph, for a file's description."""
        again = f" Made again by: {self.command}" if self.command else ""
        return f"{'; '.join(self.facts)}.{again}{f' ({self.note})' if self.note else ''}"

    def to_dict(self) -> dict[str, str]:
        """Return plain data, without the scenario."""
        return {
            name: getattr(self, name)
            for name in ("title", "source", "seeds", "replications", "version", "senders", "command", "note")
        }
