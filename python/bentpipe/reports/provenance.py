"""Where a figure or table is from: scenario, seeds, version, and the command that makes it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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
