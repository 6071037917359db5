"""Result folders: Parquet tables, the scenario, and where they came from. Written whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import polars as pl

PROVENANCE = "provenance.json"


def write(
    folder: str | os.PathLike[str],
    form: str,
    *,
    tables: Mapping[str, pl.DataFrame],
    scenario: str,
    provenance: Mapping[str, Any],
) -> None:
    """Write a result folder: whole, or not at all."""

    def fill(place: Path) -> None:
        for name, table in tables.items():
            table.write_parquet(place / f"{name}.parquet")
        (place / "scenario.toml").write_text(scenario, encoding="utf-8")

    put(folder, form, fill, provenance=provenance)


def put(
    folder: str | os.PathLike[str], form: str, fill: Callable[[Path], object], *, provenance: Mapping[str, Any]
) -> None:
    """Let a result folder be filled under a temporary name beside it, then put it in place of an older result."""
    place = Path(folder).absolute()
    refuse_unless_free(place)
    fresh = place.with_name(f".{place.name}.{os.getpid()}.new")
    old = place.with_name(f".{place.name}.{os.getpid()}.old")
    try:
        fresh.mkdir(parents=True)
        fill(fresh)
        text = json.dumps({"form": form, **provenance}, indent=2, ensure_ascii=False) + "\n"
        (fresh / PROVENANCE).write_text(text, encoding="utf-8")
        if place.exists():
            place.rename(old)
        fresh.rename(place)
    except OSError as error:
        if old.exists() and not place.exists():
            old.rename(place)
        raise BentpipeError(f"error: {place} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if place.exists():
            shutil.rmtree(old, ignore_errors=True)


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """What goes wrong when a place is written, said in one way."""
    try:
        yield
    except OSError as error:
        raise BentpipeError(f"error: {place} cannot be written: {error.strerror}") from error


def replace(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file: the old one stays until the new one is whole."""
    place = Path(path)
    fresh = place.with_name(f".{place.name}.{os.getpid()}.new")
    with writing(place):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(place)
        finally:
            fresh.unlink(missing_ok=True)


def refuse_unless_free(folder: str | os.PathLike[str]) -> None:
    """Raise unless the place is empty or holds an older result, which may be replaced."""
    place = Path(folder)
    is_free = not os.path.lexists(place) or (place.is_dir() and not any(place.iterdir()))
    if not is_free and _form(place) is None:
        raise BentpipeError(f"error: {place} exists and is not a bentpipe result\n  choose another folder to save in")
    _refuse_unless_makeable(place)


def refuse_unless_writable_folder(folder: str | os.PathLike[str]) -> None:
    """Raise unless files can be written into this folder, which may have to be made first."""
    place = Path(folder)
    if not os.path.lexists(place):
        _refuse_unless_makeable(place)
    elif not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise BentpipeError(f"error: {place} cannot be written: {_why_not(place)}\n  choose another folder")


def _refuse_unless_makeable(place: Path) -> None:
    parent = next(folder for folder in place.absolute().parents if os.path.lexists(folder))
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise BentpipeError(f"error: {place} cannot be written: {_why_not(parent)}\n  choose another folder to save in")


def refuse_unless_writable(path: str | os.PathLike[str]) -> None:
    """Raise unless a file can be written there: its folder exists, and the file may be made or replaced."""
    place = Path(path)
    wrong = None
    if place.is_dir():
        wrong = f"{place} is a folder"
    elif not place.parent.is_dir() or not os.access(place.parent, os.W_OK):
        wrong = _why_not(place.parent)
    elif place.exists() and not os.access(place, os.W_OK):
        wrong = f"{place} is write-protected"
    if wrong is not None:
        raise BentpipeError(f"error: {place} cannot be written: {wrong}\n  choose another place, or make the folder")


def _why_not(folder: Path) -> str:
    if not os.path.lexists(folder):
        return f"there is no folder {folder}"
    return f"{folder} is write-protected" if folder.is_dir() else f"{folder} is no folder"


def provenance(folder: str | os.PathLike[str], form: str) -> dict[str, Any]:
    """The provenance of a result folder of this form."""
    if _form(Path(folder)) != form:
        raise BentpipeError(f"error: {Path(folder)} is not the result of a {form}")
    return dict(json.loads((Path(folder) / PROVENANCE).read_text(encoding="utf-8")))


def table(folder: str | os.PathLike[str], name: str) -> pl.DataFrame:
    """One table of a result folder."""
    import polars as pl

    return pl.read_parquet(Path(folder) / f"{name}.parquet")


def _form(place: Path) -> str | None:
    try:
        content = json.loads((place / PROVENANCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    form = content.get("form") if isinstance(content, dict) else None
    return form if isinstance(form, str) and form.startswith("bentpipe ") else None
