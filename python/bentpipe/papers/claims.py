"""What the papers claim, as data: `paper.toml` and `claims.toml` of each paper's folder."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.papers.verdicts import KINDS, REPRODUCED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent
PACKS = FOLDER / "packs"

RUNS = "runs"
BASES = (RUNS, "arithmetic", "definition")
"""What can decide a claim."""


@dataclass(frozen=True)
class Reading:
    """One way to understand what a paper leaves open: a name, and what the measure is told."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Criterion:
    """What makes a claim pass: its measured value lies in this band."""

    low: float
    high: float
    is_open: bool
    """Whether the ends themselves do not pass: what has no effect at all is not "above 0"."""
    text: str

    def has(self, value: float) -> bool:
        """Whether a value lies in the band."""
        return self.low < value < self.high if self.is_open else self.low <= value <= self.high


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a paper."""

    id: str
    statement: str
    """In our words."""
    where: str
    """Section, figure, table or equation."""
    how: str
    """How it is measured."""
    unit: str
    printed: float | str | None
    """As the paper prints it; a text where it is more than one number."""
    value: float | None
    """The printed number that is compared, if there is one."""
    measure: str | None
    """A function of the paper's `measures.py`; none where a feature is needed that is not there yet."""
    criterion: Criterion | None
    readings: tuple[Reading, ...]
    """The paper's own words first."""
    possible: str | None
    """A function of `measures.py` that says which values arithmetic allows."""
    needs: tuple[str, ...]
    """What must be in `bentpipe list`, as topic:name."""
    why: dict[str, str] = field(default_factory=dict)
    """What was tried and why the verdict is what it is, by the kind of verdict that the text was written for."""
    by: str = RUNS
    """What decides it: runs, or `arithmetic` or a `definition`, which holds whatever is simulated."""
    one_run: bool = False
    """Whether the paper shows a single run: then it is reported, too, where single runs of ours lie."""
    part: str = ""
    """Name of this part of a claim; empty for a whole claim."""
    parts: tuple[Claim, ...] = ()
    """Parts that are judged apart. The claim is reproduced where all hold in the same reading."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, drawn again."""

    name: str
    title: str
    draw: str
    """A function of the paper's `figures.py`."""
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Paper:
    """A paper of the pack."""

    name: str
    title: str
    authors: str
    published: str
    proposed: str
    """What it proposed, in our words."""
    assumed: tuple[str, ...]
    """What we assumed where it says nothing."""
    readings: tuple[Reading, ...]
    """Those that claims share, in the order of how far they are from the paper's words."""
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]

    @property
    def folder(self) -> Path:
        return PACKS / self.name


def names() -> list[str]:
    """Of all papers."""
    return sorted(path.parent.name for path in PACKS.glob("*/paper.toml"))


def title(name: str) -> str:
    """Of a paper, without its claims, which take longer to read."""
    return str(_read(name, "paper.toml")["title"])


@cache
def paper(name: str) -> Paper:
    """One paper with its claims.

    Raises
    ------
    BentpipeError
        There is no such paper.
    """
    if name not in names():
        raise BentpipeError("error: " + unknown(name, "a paper of the pack", names()))
    about, claims = _read(name, "paper.toml"), _read(name, "claims.toml")
    readings = [_reading(entry) for entry in about.get("readings", [])]
    return Paper(
        name=name,
        title=about["title"],
        authors=about["authors"],
        published=about["published"],
        proposed=_line(about["proposed"]),
        assumed=tuple(map(_line, about["assumed"])),
        readings=tuple(readings),
        claims=tuple(_claim(id_, entry, readings) for id_, entry in claims.items()),
        figures=tuple(map(_figure, about.get("figures", []))),
    )


def _read(name: str, file: str) -> dict[str, Any]:
    return dict(tomllib.loads((PACKS / name / file).read_text(encoding="utf-8")))


def _figure(entry: dict[str, Any]) -> Figure:
    if not re.fullmatch(r"[a-z0-9-]+", entry["name"]):
        raise ValueError(f"{entry['name']!r} is no name for a file everywhere")
    return Figure(entry["name"], entry["title"], entry["draw"], tuple(entry.get("needs", ())))


_KEYS = {
    "statement",
    "where",
    "how",
    "printed",
    "value",
    "unit",
    "measure",
    "with",
    "readings",
    "shared_readings",
    "passes",
    "possible",
    "needs",
    "why",
    "by",
    "one_run",
    "parts",
}
_OF_PARTS = {"name", "statement", *_KEYS} - {"where", "parts"}


def _line(text: str) -> str:
    """A text that was broken into lines for the eye."""
    return " ".join(text.split())


def _reading(entry: dict[str, Any]) -> Reading:
    return Reading(entry["name"], {key: value for key, value in entry.items() if key != "name"})


def _readings(id_: str, entry: dict[str, Any], shared: list[Reading]) -> list[Reading]:
    """Of a claim: a name stands for the shared reading; `shared_readings` is true, or the name of the first of them."""
    names = [each.name for each in shared]
    first = entry.get("shared_readings")
    asked = [first] if isinstance(first, str) else []
    asked += [each for each in entry.get("readings", ()) if isinstance(each, str)]
    if lost := set(asked) - set(names):
        raise ValueError(f"{id_} has unknown shared readings: {', '.join(sorted(lost))}")
    if "readings" in entry:
        return [shared[names.index(each)] if isinstance(each, str) else _reading(each) for each in entry["readings"]]
    if first:
        return shared[names.index(first) if isinstance(first, str) else 0 :]
    return [Reading("as printed")]


def _claim(id_: str, entry: dict[str, Any], readings: list[Reading], part: str = "") -> Claim:
    if not entry.keys() <= _KEYS:
        raise ValueError(f"{id_} has unknown keys: {', '.join(sorted(entry.keys() - _KEYS))}")
    printed = entry.get("printed")
    value = entry.get("value", printed if isinstance(printed, (int, float)) else None)
    arguments = entry.get("with", {})
    chosen = _readings(id_, entry, readings)
    claim = Claim(
        id=id_,
        statement=_line(entry["statement"]),
        where=_line(entry["where"]),
        how=_line(entry["how"]),
        unit=entry.get("unit", ""),
        printed=printed,
        value=value,
        measure=entry.get("measure"),
        criterion=_criterion(id_, entry["passes"], value) if "passes" in entry else None,
        readings=tuple(Reading(each.name, {**arguments, **each.arguments}) for each in chosen),
        possible=entry.get("possible"),
        needs=tuple(entry.get("needs", ())),
        why=_why(id_, entry.get("why", {})),
        by=entry.get("by", RUNS),
        one_run=entry.get("one_run", False),
        part=part,
        parts=tuple(_part(id_, entry, each, readings) for each in entry.get("parts", ())),
    )
    if claim.by not in BASES:
        raise ValueError(f"{id_} is decided by {claim.by!r}, which is none of {', '.join(BASES)}")
    if claim.possible is not None and claim.value is None:
        raise ValueError(f"{id_} says what is possible, but not which value is claimed")
    if not all(need.partition(":")[2] for need in claim.needs):
        raise ValueError(f"{id_} needs what is not written as topic:name")
    if not claim.needs and not claim.parts and (claim.measure is None or claim.criterion is None):
        raise ValueError(f"{id_} needs nothing, so it must have a measure and say what passes")
    return claim


def _part(id_: str, whole: dict[str, Any], entry: dict[str, Any], readings: list[Reading]) -> Claim:
    """A part of a claim: what it does not say is as in the claim."""
    if not entry.keys() <= _OF_PARTS:
        raise ValueError(f"{id_} has a part with unknown keys: {', '.join(sorted(entry.keys() - _OF_PARTS))}")
    taken = {key: value for key, value in whole.items() if key not in ("parts", "why")}
    if entry.keys() & {"printed", "value"}:
        # They belong together: a part that prints another number does not compare the claim's.
        taken = {key: value for key, value in taken.items() if key not in ("printed", "value", "possible")}
    if "needs" in entry:
        # What is measured for the other parts says nothing about a feature that is to come.
        taken.pop("measure", None)
    own = {key: value for key, value in entry.items() if key != "name"}
    return _claim(id_, taken | own, readings, entry["name"])


def _why(id_: str, text: str | dict[str, str]) -> dict[str, str]:
    """By kind of verdict. A plain text says why something does not hold, so it is not shown where all does."""
    if isinstance(text, str):
        return {kind: _line(text) for kind in KINDS if kind != REPRODUCED} if text else {}
    if not text.keys() <= set(KINDS):
        raise ValueError(f"{id_} says why for unknown verdicts: {', '.join(sorted(text.keys() - set(KINDS)))}")
    return {kind: _line(each) for kind, each in text.items()}


def _criterion(id_: str, passes: dict[str, Any], value: float | None) -> Criterion:
    ((kind, limit),) = passes.items()
    inf = float("inf")
    if kind == "within" and value is not None:
        is_share = str(limit).endswith("%")
        margin = abs(value) * float(str(limit).removesuffix("%")) / 100 if is_share else float(limit)
        return Criterion(value - margin, value + margin, False, f"{value:g} ± {limit}")
    if kind == "between" and limit[0] <= limit[1]:
        return Criterion(float(limit[0]), float(limit[1]), False, f"{limit[0]:g} to {limit[1]:g}")
    if kind == "above":
        return Criterion(float(limit), inf, True, f"above {limit:g}")
    if kind == "below":
        return Criterion(-inf, float(limit), True, f"below {limit:g}")
    raise ValueError(f"{id_} passes = {passes} is no band")
