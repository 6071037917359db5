"""The file of a packed result: a ZIP file with a list of its content. All content is checked before it is used."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe import arguments, files
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

FORM = "bentpipe pack"
LIST = "pack.json"
"""The file inside that describes all others."""
FILES_MAX = 10_000
SIZE_MAX = 4 * 1024**3
"""Largest size of all files together, in bytes: a small ZIP file can unpack to more than a disk holds."""
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The date of each file inside, so that equal results are equal files."""
RESULT = "result"
"""Folder inside with the tables."""
SCENARIO = "scenario"
"""Folder inside with the scenario and the files that it names."""
CLASSES = "classes"
"""Folder inside with a folder for each custom class."""
FACTS: dict[str, type] = {
    "verb": str,
    "title": str,
    "command": list,
    "classes": dict,
    "packages": dict,
    "citation": str,
    "bentpipe": str,
    "results": int,
    "files": dict,
}
"""Facts of each packed result, with their types."""


class Archive(NamedTuple):
    """A packed result, read and checked."""

    path: Path
    facts: dict[str, Any]
    """`verb`, `title`, `command`, `classes`, `plugins`, versions, and `files` with the SHA-256 of each."""
    content: dict[str, bytes]

    def extract(self, folder: Path) -> None:
        """Write the files into a folder. It is an error if a file exists there with other content.

        Raises
        ------
        BentpipeError
            The folder has another file of such a name, or it cannot be written.
        """
        with files.writing(folder):
            for name, data in self.content.items():
                place = folder / name
                place.parent.mkdir(parents=True, exist_ok=True)
                if place.exists() and place.read_bytes() != data:
                    raise BentpipeError(
                        f"{place} exists and is not the file of {self.path}\n  expected an empty folder, or the folder"
                        " of an earlier repetition"
                    )
                place.write_bytes(data)


def write_archive(path: Path, facts: Mapping[str, Any], content: Mapping[str, bytes]) -> None:
    """Write a packed result: whole, or not at all. Equal content gives equal bytes.

    Raises
    ------
    BentpipeError
        The file cannot be written.
    """
    listed = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(content.items())}
    text = json.dumps({"form": FORM, **facts, "files": listed}, indent=2, ensure_ascii=False) + "\n"
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in [(LIST, text.encode()), *sorted(content.items())]:
            entry = zipfile.ZipInfo(name, LONG_AGO)
            # The same bytes on each system: otherwise the system that wrote it would be in them.
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            file.writestr(entry, data, zipfile.ZIP_DEFLATED)
    with files.writing(path):
        files.replace(path, whole.getvalue())


def read_archive(path: str | os.PathLike[str]) -> Archive:
    """Read a packed result, and check each file inside against the list.

    Raises
    ------
    BentpipeError
        The file is missing, damaged or not a packed result, or it names places outside its own folder.
    """
    place = arguments.path("path", path)
    with files.reading(place):
        try:
            with zipfile.ZipFile(place) as file:
                entries = file.infolist()
                _check_entries(place, entries)
                content = {entry.filename: _read_entry(file, entry) for entry in entries}
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise BentpipeError(
                f"{place} is not a packed result: {error}\n  expected a file of bentpipe pack"
            ) from error
        facts: dict[str, Any] = json.loads(content.pop(LIST, b"null")) or {}
        if facts.get("form") != FORM:
            raise BentpipeError(f"{place} is not a packed result\n  expected a file of bentpipe pack")
        _check_facts(place, facts, content)
        found = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
        if wrong := sorted(name for name in {*found, *facts["files"]} if found.get(name) != facts["files"].get(name)):
            raise BentpipeError(
                f"{place} is damaged: {', '.join(wrong[:3])} differs from the list inside\n  expected another copy"
            )
    return Archive(place, facts, content)


def _check_entries(place: Path, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > FILES_MAX or sum(entry.file_size for entry in entries) > SIZE_MAX:
        raise BentpipeError(
            f"{place} unpacks to {len(entries)} files of {sum(entry.file_size for entry in entries) / 1e9:.3g} GB\n"
            f"  expected at most {FILES_MAX} files, and {SIZE_MAX / 1e9:.3g} GB"
        )
    names = [entry.filename for entry in entries]
    for name in names:
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or name.startswith("/") or name.endswith("/") or "\\" in name or ":" in parts[0]:
            raise BentpipeError(f"{place} names {name!r}, a place outside its folder\n  do not use this file")
        # In the folder where the command runs, Python would import a file in place of a module of this name.
        if name != LIST and parts[0] not in (RESULT, SCENARIO, CLASSES):
            raise BentpipeError(
                f"{place} has {name!r}, which no packed result has\n"
                f"  expected {RESULT}, {SCENARIO} and {CLASSES} only; do not use this file"
            )
    if len(set(names)) != len(names):
        raise BentpipeError(f"{place} has two files of one name\n  do not use this file")


def _check_facts(place: Path, facts: dict[str, Any], content: dict[str, bytes]) -> None:
    """Check that all facts are there, and that only code runs that a reader of the file has seen."""
    wrong = [name for name, kind in FACTS.items() if not isinstance(facts.get(name), kind)]
    words = [*facts.get("command", ()), *facts.get("classes", {}).values(), *facts.get("packages", {}).values()]
    if wrong or not all(isinstance(word, str) for word in words):
        raise BentpipeError(f"{place} is damaged: {', '.join(wrong) or 'command'} in {LIST}\n  expected another copy")
    for cls in facts["classes"].values():
        file, colon, _ = cls.rpartition(":")
        if not colon or not file.startswith(f"{CLASSES}/") or file not in content:
            raise BentpipeError(f"{place} names code that is not inside: {cls}\n  do not use this file")


def _read_entry(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with file.open(entry) as content:
        # One byte more than announced: the announcement may be false.
        data = content.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise zipfile.BadZipFile(f"{entry.filename} has not its announced size")
    return data
