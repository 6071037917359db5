"""Entries of papers in the index: counts, rows and the section of the common page.

A folder keeps the entries of papers reproduced earlier, so that a second paper joins the first one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.formatting import MISSING
from bentpipe.papers import summary, verdicts
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bentpipe.papers.reproduce import Reproduced

NAME = "claims.json"
PAGE = "index.html"


@dataclass(frozen=True)
class Entry:
    """A paper in the index."""

    name: str
    title: str
    called: str
    """Name or path of the paper on the command line."""
    is_full: bool
    is_attacked: bool
    version: str
    claims: int
    counts: dict[str, int]
    """Claims of each kind of verdict."""
    readings: tuple[int, int]
    """Readings that hold and readings tried, summed over the claims that hold only under a reading."""
    world: int | None
    """Claims that hold together in one world; None for a paper without settings."""
    world_values: dict[str, str]
    some: int
    """Claims that hold in some reading."""
    rows: list[dict[str, Any]] = field(compare=False)
    """Rows of `claims.csv`."""
    html: str = field(default="", compare=False)
    """Section of the common page, if the paper was reproduced earlier."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without the rows."""
        return {
            "paper": self.name,
            "title": self.title,
            "called": self.called,
            "scale": "full" if self.is_full else "quick",
            "falsified": self.is_attacked,
            "version": self.version,
            "claims": self.claims,
            "one_world": {"held": self.world, "settings": self.world_values},
            "some_reading": {"held": self.some},
            "verdicts": self.counts,
            "under_a_reading": dict(zip(("held", "tried"), self.readings, strict=True)),
        }

    @property
    def in_one_world(self) -> str:
        """Claims that hold together in one world, as a cell of a table."""
        return MISSING if self.world is None else str(self.world)

    def count(self, kind: str) -> str:
        """Number of claims with a verdict, with the number of readings if they hold only under a reading."""
        held, tried = self.readings
        of = f" ({held} of {tried} readings)" if kind == verdicts.UNDER_READING and tried else ""
        return f"{self.counts.get(kind, 0)}{of}"


def entry(each: Reproduced, is_full: bool, rows: list[dict[str, Any]]) -> Entry:
    """The entry of a newly reproduced paper."""
    return Entry(
        name=each.paper.name,
        title=each.paper.title,
        called=each.paper.called,
        is_full=is_full,
        is_attacked=each.is_attacked,
        version=__version__,
        claims=len(each.verdicts),
        counts=each.counts,
        readings=each.readings,
        world=None if each.world is None else len(each.world.claims),
        world_values={} if each.world is None else each.world.values,
        some=sum(verdict.kind in summary.HOLD for verdict in each.verdicts),
        rows=rows,
    )


def kinds(found: Iterable[Entry]) -> list[str]:
    """Verdicts that occur."""
    occurring = {kind for each in found for kind in each.counts}
    return [kind for kind in verdicts.KINDS if kind in occurring]


def document(found: Sequence[Entry]) -> dict[str, Any]:
    """Return all entries as plain data for JSON."""
    scales = {each.to_dict()["scale"] for each in found}
    return {
        "version": __version__,
        "scale": scales.pop() if len(scales) == 1 else "mixed",
        "papers": [each.to_dict() for each in found],
        "claims": [row for each in found for row in each.rows],
    }


def join_entries(place: Path, found: Sequence[Entry]) -> list[Entry]:
    """Join these entries and the earlier entries of the folder, in the order of their first reproduction."""
    fresh = {each.name: each for each in found}
    before = _before(place)
    names = dict.fromkeys([*(each.name for each in before), *fresh])
    kept = {each.name: each for each in before}
    return [fresh.get(name) or kept[name] for name in names]


def anchor(name: str) -> str:
    """Returns the anchor of a paper's section on the common page."""
    return f"paper-{name}"


def _before(place: Path) -> list[Entry]:
    """Reads the entries of a folder; none if its files are missing, damaged or of a version without entries."""
    try:
        known = json.loads((place / NAME).read_text(encoding="utf-8"))
        page = (place / PAGE).read_text(encoding="utf-8")
        return [_entry(each, known["claims"], page) for each in known["papers"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _entry(each: dict[str, Any], rows: list[dict[str, Any]], page: str) -> Entry:
    name = each["paper"]
    section = re.search(rf'<section id="{re.escape(anchor(name))}">.*?</section>', page, re.DOTALL)
    if section is None:
        raise ValueError(f"{PAGE} has no section of {name}")
    return Entry(
        name=name,
        title=each["title"],
        called=each["called"],
        is_full=each["scale"] == "full",
        is_attacked=each["falsified"],
        version=each["version"],
        claims=each["claims"],
        counts=dict(each["verdicts"]),
        readings=(each["under_a_reading"]["held"], each["under_a_reading"]["tried"]),
        world=each["one_world"]["held"],
        world_values=dict(each["one_world"]["settings"]),
        some=each["some_reading"]["held"],
        rows=[row for row in rows if row["paper"] == name],
        html=section.group(),
    )
