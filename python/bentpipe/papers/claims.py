"""Reads papers and their claims from folders with `paper.toml` and `claims.toml`."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.catalog import unknown
from bentpipe.errors import PaperError
from bentpipe.papers.settings import Setting, read_declared, settings
from bentpipe.papers.verdicts import KINDS, REPRODUCED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from importlib.metadata import EntryPoint

    from bentpipe.papers.settings import Values

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent
PACKS = FOLDER / "packs"
GROUP = "bentpipe.papers"
"""Group of entry points for papers of installed packages: a name, and the package that is the paper's folder."""

RUNS = "runs"
BASES = (RUNS, "arithmetic", "definition")
"""Bases of a verdict."""
MECHANISM, CONDITION = "mechanism", "condition"
ATTACKS = (MECHANISM, CONDITION)
"""Kinds of attacks: the claim without the mechanism that it names, or without the condition under which it holds."""


@dataclass(frozen=True)
class Reading:
    """One interpretation of a paper, with a name and arguments of measures."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    world: Values = field(default_factory=dict)
    """Declared values of settings, beside those that its runs show: see `settings`."""


@dataclass(frozen=True)
class Criterion:
    """Band of a claim. The claim passes if the measured value is in the band."""

    low: float
    high: float
    is_open: bool
    """Whether the ends do not pass. A change without any effect is not "above 0"."""
    text: str

    def has(self, value: float) -> bool:
        """Whether a value lies in the band."""
        return self.low < value < self.high if self.is_open else self.low <= value <= self.high


@dataclass(frozen=True)
class Without:
    """The change that removes a claim's mechanism, or a condition of it. The claim must then fail."""

    what: str = ""
    """The mechanism or condition, as a noun: "delayed ACKs"."""
    kind: str = MECHANISM
    """One of `ATTACKS`. Without the condition, such as errors, the claim has nothing to explain."""
    keys: dict[str, Any] = field(default_factory=dict)
    """Overrides, by dotted key, of every scenario of the measure, and of the axes of its sweeps."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Arguments of the measure. They replace those of the reading."""
    case: str | None = None
    """Case of every scenario that the measure runs."""
    why: str = ""
    """Reason why the claim holds nevertheless, or why there is nothing to remove."""

    @property
    def changes(self) -> bool:
        """Whether there is a mechanism or a condition to remove."""
        return bool(self.keys or self.arguments or self.case)


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a paper."""

    id: str
    statement: str
    """The statement in plain words, not a quotation."""
    where: str
    """Section, figure, table or equation."""
    how: str
    """Method of measurement, in words."""
    unit: str
    printed: float | str | None
    """Printed value; a text if it is not a single number."""
    value: float | None
    """Printed number for the comparison, if there is one."""
    measure: str | None
    """Function of the paper's `measures.py`; None if bentpipe lacks a necessary feature."""
    criterion: Criterion | None
    readings: tuple[Reading, ...]
    """Readings; the literal one is the first."""
    possible: str | None
    """Function of `measures.py` that returns the values that arithmetic allows."""
    needs: tuple[str, ...]
    """Necessary entries of `bentpipe list`, as topic:name."""
    why: dict[str, str] = field(default_factory=dict)
    """Reasons of the verdict, by kind of verdict."""
    by: str = RUNS
    """Basis of the verdict: `runs`, or `arithmetic` or `definition`, which hold for any simulation."""
    one_run: bool = False
    """Whether the paper shows a single run. If so, the page also has the range of single runs."""
    without: Without | None = None
    """Change that removes the mechanism or a condition, or the reason why there is none."""
    part: str = ""
    """Name of this part of a claim; empty for a whole claim."""
    parts: tuple[Claim, ...] = ()
    """Parts with separate verdicts. The claim is reproduced if all parts hold in the same reading."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, drawn from measurements."""

    name: str
    title: str
    draw: str
    """Function of the paper's `figures.py`."""
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Paper:
    """A paper with its claims and figures, read from its folder."""

    name: str
    """Name of its folder, or of its entry point."""
    folder: Path
    called: str
    """Name on the command line; for other folders than bundled ones, the given path."""
    title: str
    authors: str
    published: str
    proposed: str
    """Proposal of the paper, in plain words."""
    assumed: tuple[str, ...]
    """Assumptions for details that the paper does not state."""
    readings: tuple[Reading, ...]
    """Readings that claims share, in the order of their distance from the paper's words."""
    settings: tuple[Setting, ...]
    """Choices that the paper leaves open. A world has one value of each."""
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]

    @property
    def files(self) -> list[Path]:
        """Data, scenarios and code of the paper, in an order that is the same on all systems."""
        kinds = ("*.toml", "scenarios/*.toml", "*.py")
        found = [path for kind in kinds for path in sorted(self.folder.glob(kind))]
        return [path for path in found if path.name != "__init__.py"]


def names() -> list[str]:
    """Names of all known papers: bundled ones, and those of installed packages."""
    return sorted({*list_bundled(), *_find_installed()})


@cache
def list_bundled() -> tuple[str, ...]:
    """Names of the bundled papers."""
    return tuple(sorted(path.parent.name for path in PACKS.glob("*/paper.toml")))


def title(name: str) -> str:
    """Title of a paper. Does not read its claims, which takes longer."""
    return _about(_folder(name))["title"]  # type: ignore[no-any-return]


def paper(which: str | os.PathLike[str]) -> Paper:
    """A paper with its claims.

    Parameters
    ----------
    which : str or path
        A name (see `bentpipe list papers`), or a folder with `paper.toml`, `claims.toml` and `measures.py`.

    Raises
    ------
    PaperError
        The paper is unknown, or its folder has an error.
    """
    if isinstance(which, str) and which in list_bundled():
        return _load_bundled(which)
    if isinstance(which, str) and which in _find_installed():
        return _read(which, _folder(which), which)
    folder = Path(which)
    if not folder.exists() and isinstance(which, str) and re.fullmatch(r"\w[\w-]*", which):
        raise PaperError(f"{unknown(which, 'a paper', names())}\n  for your own paper, give its folder: ./{which}")
    if not (folder / "paper.toml").is_file():
        what = "has no paper.toml" if folder.is_dir() else "is not a folder"
        raise PaperError(f"{folder} {what}\n  expected the folder of a paper, with paper.toml and claims.toml")
    return _read(check_name(folder), folder, os.fspath(which))


def check_name(folder: Path) -> str:
    """Return the name of a paper's folder, which is also the name of its pages.

    Raises
    ------
    PaperError
        The name is not valid for pages.
    """
    name = folder.resolve().name
    if not re.fullmatch(r"\w[\w. -]*", name) or name in ("index", "runs"):
        raise PaperError(
            f"a paper cannot be called {name!r}, the name of its pages\n"
            "  expected a folder's name of letters, digits and hyphens, other than 'index' and 'runs'"
        )
    return name


def _find_installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=GROUP)}


def _folder(name: str) -> Path:
    """Folder of a known paper."""
    if name in list_bundled():
        return PACKS / name
    package = _find_installed()[name].value
    try:
        spec = find_spec(package)
    except Exception as error:
        raise PaperError(f"the package {package} of the paper {name!r} cannot be found: {error}") from error
    for place in (spec and spec.submodule_search_locations) or ():
        if (Path(place) / "paper.toml").is_file():
            return Path(place)
    raise PaperError(f"{package}, installed as the paper {name!r}, is not a package with a paper.toml")


@cache
def _load_bundled(name: str) -> Paper:
    return _read(name, PACKS / name, name)


_ABOUT = {
    "title": str,
    "authors": str,
    "published": str,
    "proposed": str,
    "assumed": list,
    "readings": list,
    "settings": dict,
    "figures": list,
}


def _about(folder: Path) -> dict[str, Any]:
    about = _toml(folder / "paper.toml")
    try:
        _check("it", about, _ABOUT, ["title"])
    except ValueError as error:
        raise PaperError(f"{folder / 'paper.toml'}: {error}") from None
    return about


def _read(name: str, folder: Path, called: str) -> Paper:
    about, claims = _about(folder), _toml(folder / "claims.toml")
    try:
        known = settings(about.get("settings", {}))
        readings = [_reading(entry, known) for entry in about.get("readings", [])]
        figures = tuple(map(_figure, about.get("figures", [])))
    except ValueError as error:
        raise PaperError(f"{folder / 'paper.toml'}: {error}") from None
    try:
        if not claims:
            raise ValueError("it has no claims\n  expected at least one: a table such as [MINE-01]")
        judged = tuple(_claim(id_, entry, readings, known) for id_, entry in claims.items())
    except ValueError as error:
        raise PaperError(f"{folder / 'claims.toml'}: {error}") from None
    return Paper(
        name=name,
        folder=folder,
        called=called,
        title=_line(about["title"]),
        authors=about.get("authors", ""),
        published=about.get("published", ""),
        proposed=_line(about.get("proposed", "")),
        assumed=tuple(_line(str(each)) for each in about.get("assumed", [])),
        readings=tuple(readings),
        settings=known,
        claims=judged,
        figures=figures,
    )


def _toml(path: Path) -> dict[str, Any]:
    try:
        return dict(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise PaperError(f"{path.parent} has no {path.name}") from None
    except (OSError, ValueError) as error:
        raise PaperError(f"{path} cannot be read: {error}") from None


_WORDS = {str: "a text", dict: "a table", list: "a list", bool: "true or false", float: "a number"}


def _check(what: str, entry: object, kinds: Mapping[str, type | tuple[type, ...]], needed: Iterable[str] = ()) -> None:
    """Reject unknown keys, missing keys and values of a wrong type."""
    if not isinstance(entry, dict):
        raise ValueError(f"{what} = {entry!r} is not a table")
    if others := sorted(entry.keys() - kinds.keys()):
        raise ValueError(f"{what} has unknown keys: {', '.join(others)}\n  known: {', '.join(sorted(kinds))}")
    if missing := [key for key in needed if key not in entry]:
        raise ValueError(f"{what} has no {missing[0]}")
    for key, value in entry.items():
        kind = kinds[key]
        allowed = kind if isinstance(kind, tuple) else (kind,)
        # TOML distinguishes integers from other numbers, users do not.
        given = float if type(value) is int else type(value)
        if value is not None and given not in allowed:
            expected = " or ".join(_WORDS[each] for each in allowed)
            raise ValueError(f"{what} has {key} = {value!r}\n  expected {expected}")


def _figure(entry: Any) -> Figure:
    _check("a figure", entry, {"name": str, "title": str, "draw": str, "needs": list}, ("name", "title", "draw"))
    if not re.fullmatch(r"[a-z0-9-]+", entry["name"]):
        raise ValueError(f"a figure has the name {entry['name']!r}\n  expected lower-case letters, digits and hyphens")
    return Figure(entry["name"], entry["title"], entry["draw"], tuple(entry.get("needs", ())))


_KEYS: dict[str, type | tuple[type, ...]] = {
    "statement": str,
    "where": str,
    "how": str,
    "printed": (float, str),
    "value": float,
    "unit": str,
    "measure": str,
    "with": dict,
    "readings": list,
    "shared_readings": (bool, str),
    "world": dict,
    "passes": dict,
    "possible": str,
    "needs": list,
    "why": (str, dict),
    "by": str,
    "one_run": bool,
    "without": (dict, str),
    "parts": list,
}
_OF_PARTS = {"name": str, **{key: kind for key, kind in _KEYS.items() if key not in ("where", "parts")}}


def _line(text: str) -> str:
    """The text in one line."""
    return " ".join(text.split())


def _reading(entry: Any, known: Sequence[Setting]) -> Reading:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ValueError(f"{entry!r} is not a reading\n  expected a table with a name, and arguments of measures")
    arguments = {key: value for key, value in entry.items() if key not in ("name", "world")}
    world = read_declared(f"the reading {entry['name']!r}", entry.get("world", {}), known)
    return Reading(entry["name"], arguments, world)


def _readings(id_: str, entry: dict[str, Any], shared: list[Reading], known: Sequence[Setting]) -> list[Reading]:
    """Readings of a claim. A name selects a shared reading; `shared_readings` is true or the name of the first one."""
    names = [each.name for each in shared]
    first = entry.get("shared_readings")
    asked = [first] if isinstance(first, str) else []
    asked += [each for each in entry.get("readings", ()) if isinstance(each, str)]
    if lost := set(asked) - set(names):
        raise ValueError(f"{id_} has unknown shared readings: {', '.join(sorted(lost))}")
    if "readings" in entry:
        return [
            shared[names.index(each)] if isinstance(each, str) else _reading(each, known) for each in entry["readings"]
        ]
    if first:
        return shared[names.index(first) if isinstance(first, str) else 0 :]
    return [Reading("as printed")]


def _claim(
    id_: str, entry: dict[str, Any], readings: list[Reading], known: Sequence[Setting] = (), part: str = ""
) -> Claim:
    if not re.fullmatch(r"\w[\w-]*", id_):
        raise ValueError(
            f"{id_!r} is not a valid name for a claim\n  expected letters, digits and hyphens, such as MINE-01"
        )
    _check(id_, entry, _KEYS, ("statement", "where", "how"))
    printed = entry.get("printed")
    value = entry.get("value", printed if isinstance(printed, (int, float)) else None)
    arguments = entry.get("with", {})
    chosen = _readings(id_, entry, readings, known)
    world = read_declared(id_, entry.get("world", {}), known)
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
        readings=tuple(Reading(each.name, {**arguments, **each.arguments}, {**world, **each.world}) for each in chosen),
        possible=entry.get("possible"),
        needs=tuple(entry.get("needs", ())),
        why=_why(id_, entry.get("why", {})),
        by=entry.get("by", RUNS),
        one_run=entry.get("one_run", False),
        without=_without(id_, entry["without"]) if "without" in entry else None,
        part=part,
        parts=tuple(_part(id_, entry, each, readings, known) for each in entry.get("parts", ())),
    )
    if claim.by not in BASES:
        raise ValueError(f"{id_} has by = {claim.by!r}\n  expected {', '.join(BASES)}")
    if claim.possible is not None and claim.value is None:
        raise ValueError(f"{id_} has possible, but no value")
    if not all(isinstance(need, str) and need.partition(":")[2] for need in claim.needs):
        raise ValueError(f"{id_} has needs = {list(claim.needs)}\n  expected features as topic:name, such as cc:cubic")
    if not claim.needs and not claim.parts and (claim.measure is None or claim.criterion is None):
        lacking = "measure: a function of measures.py" if claim.measure is None else "passes: the band of its value"
        raise ValueError(f"{id_} has no {lacking}")
    return claim


def _part(
    id_: str, whole: dict[str, Any], entry: dict[str, Any], readings: list[Reading], known: Sequence[Setting]
) -> Claim:
    """A part of a claim. It inherits missing keys from the claim."""
    _check(f"{id_}, a part of it,", entry, _OF_PARTS, ["name"])
    taken = {key: value for key, value in whole.items() if key not in ("parts", "why")}
    if entry.keys() & {"printed", "value"}:
        # They belong together: a part with another printed number does not use the claim's number.
        taken = {key: value for key, value in taken.items() if key not in ("printed", "value", "possible")}
    if "needs" in entry:
        # The measure of the other parts does not apply to a missing feature.
        taken.pop("measure", None)
    own = {key: value for key, value in entry.items() if key != "name"}
    return _claim(id_, taken | own, readings, known, entry["name"])


def _without(id_: str, entry: str | dict[str, Any]) -> Without:
    """Read `without`. A plain text is the reason why there is nothing to remove."""
    if isinstance(entry, str):
        entry = {"why": entry}
    what = f"{id_}, its without,"
    _check(what, entry, {**dict.fromkeys(ATTACKS, str), "keys": dict, "with": dict, "case": str, "why": str})
    named = [kind for kind in ATTACKS if kind in entry]
    kind = next(iter(named), MECHANISM)
    found = Without(
        what=_line(entry.get(kind, "")),
        kind=kind,
        keys=dict(entry.get("keys", {})),
        arguments=dict(entry.get("with", {})),
        case=entry.get("case"),
        why=_line(entry.get("why", "")),
    )
    if len(named) > 1 or (found.changes and not found.what):
        raise ValueError(
            f"{what} has {'both' if named else 'no'} mechanism {'and' if named else 'or'} condition\n"
            "  expected one of them, as a noun: the mechanism that the claim names as the cause, or a condition that "
            "it needs, such as errors"
        )
    if not found.changes and (found.what or not found.why):
        raise ValueError(
            f"{what} removes nothing\n  expected keys, with (arguments of the measure), a case, or a text with the "
            "reason why there is nothing to remove"
        )
    if nested := next((key for key, value in found.keys.items() if isinstance(value, dict) and "." not in key), None):
        raise ValueError(
            f'{what} has the table {nested} in keys\n  expected dotted keys in quotes: "{nested}.KEY" = VALUE'
        )
    return found


def _why(id_: str, text: str | dict[str, str]) -> dict[str, str]:
    """Reasons by kind of verdict. A plain text is for all kinds except `reproduced`."""
    if isinstance(text, str):
        return {kind: _line(text) for kind in KINDS if kind != REPRODUCED} if text else {}
    if not text.keys() <= set(KINDS):
        raise ValueError(f"{id_} has why for unknown verdicts: {', '.join(sorted(text.keys() - set(KINDS)))}")
    return {kind: _line(each) for kind, each in text.items()}


def _criterion(id_: str, passes: dict[str, Any], value: float | None) -> Criterion:
    inf = float("inf")
    try:
        ((kind, limit),) = passes.items()
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
    except (ValueError, TypeError, IndexError):
        pass
    raise ValueError(
        f"{id_} has passes = {passes}, which is not a band\n"
        "  expected above, below, between = [LOW, HIGH], or within a number or share of the printed value"
    )
