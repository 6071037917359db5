"""The one folder of a studio: names that stay inside it, scenario files, and the runs below `.studio`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe import files
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.scenario.scenario import SIZE_MAX, list_bundled, shipped_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

RUN = re.compile(r"[0-9a-f]{12}")
RUNS_MAX = 20
RUNS_BYTES_MAX = 5 * 2**30
ABOUT = "studio.json"
"""Beside the tables of a run: the scenario as it was written, and whether the run is pinned."""
STORE = "index.sqlite"
"""In the store of a sweep."""
SUFFIXES = (".toml", ".json")
NO_MEASUREMENT = (".toml", ".py", ".ipynb", ".md", ".html", ".pdf", ".png", ".svg", ".parquet", ".sqlite")
"""Ends of names of other files."""
KNOWN = (files.PROVENANCE, ABOUT)
UNSAVED_MAX = 100
"""Unsaved texts that are kept."""
DEPTH_MAX = 3
WALKED_MAX = 20_000
"""Entries of the folder that are looked at."""
LISTED_MAX = 500
"""Entries of a list; a folder with more is no place for scenarios."""


class Opened(NamedTuple):
    """A scenario file as it was read."""

    name: str
    text: str
    """Its lines end in `\\n`, as in an editor; `save` writes the ends that the file has."""
    mark: str
    """Mark of the content on disk; empty if there is no file."""

    @property
    def is_bundled(self) -> bool:
        """Whether it is a bundled scenario, which is saved under another name."""
        return not self.mark


class Folder:
    """The folder of a studio. Nothing outside it is read or written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with files.reading(path):
            if not Path(path).is_dir():
                raise BentpipeError(f"{path} is not a folder\n  expected an existing folder of scenarios")
            self.path = Path(path).resolve(strict=True)
        self.runs_path = self.path / ".studio" / "runs"
        self.results_path = self.path / ".studio" / "results"
        self.measured_path = self.path / ".studio" / "measured"
        self.unsaved_path = self.path / ".studio" / "unsaved"

    def inside(self, name: str) -> Path:
        """The file or folder of a name, if it is inside.

        Raises
        ------
        BentpipeError
            The name leads out of the folder, directly or by a symbolic link, or is not a valid name.
        """
        try:
            place = (self.path / name).resolve()
            is_inside = place.is_relative_to(self.path)
        except (OSError, ValueError, RuntimeError):
            is_inside = False
        if not name or "\0" in name or not is_inside:
            raise BentpipeError(f"{name[:200]!r} is outside the folder of the studio\n  expected a name in {self.path}")
        return place

    def show_error(self, error: object) -> str:
        """The text of an error, with names as the folder has them."""
        return str(error).replace(f"{self.path}{os.sep}", "")

    def scenarios(self) -> list[str]:
        """Names of scenario files in the folder and its subfolders, to a depth of three."""
        found = [path for path in self._walk() if path.suffix in SUFFIXES and path.name not in KNOWN]
        return sorted(self._name(path) for path in found)[:LISTED_MAX]

    def stores(self) -> list[tuple[str, str]]:
        """Name and title of each result in the folder: saved runs, comparisons, stores; the newest first."""
        found = {path.parent for path in self._walk() if path.name in (files.PROVENANCE, STORE)}
        found |= {path.parent for name in (files.PROVENANCE, STORE) for path in self.results_path.glob(f"*/{name}")}
        places = sorted(found - {self.path}, key=_age, reverse=True)
        names = [self._name(place) for place in places if place.resolve().is_relative_to(self.path)]
        return [(name, self._title(name)) for name in names if self.form(name)][:LISTED_MAX]

    def _walk(self) -> Iterator[Path]:
        """Files near the top of the folder, without hidden ones; a home folder may have a million."""
        folders, left = [(self.path, 0)], WALKED_MAX
        for folder, depth in folders:
            with contextlib.suppress(OSError):
                for path in sorted(folder.iterdir()):
                    left -= 1
                    if left < 0:
                        return
                    if path.name.startswith("."):
                        continue
                    if path.is_dir() and not path.is_symlink():
                        folders += [(path, depth + 1)] if depth + 1 < DEPTH_MAX else []
                    else:
                        yield path

    def _name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _title(self, name: str) -> str:
        try:
            facts = json.loads((self.inside(name) / files.PROVENANCE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return "store of a sweep or a search"
        what = facts.get("verb") or str(facts.get("form", "")).removeprefix("bentpipe ")
        return f"{what}, {facts.get('title', '')}"

    def form(self, name: str) -> str | None:
        """The form of a result: `bentpipe run`, `bentpipe sweep` and others; None for other folders."""
        place = self.inside(name)
        if (place / STORE).is_file():
            return "bentpipe sweep"
        return files.find_form(place)

    def take(self, name: str) -> str:
        """Copy a saved run to the runs of the studio; returns its name."""
        place = self.inside(name)
        run, new = self.new_run()
        with files.writing(new):
            shutil.copytree(place, new, symlinks=True)
        return run

    def new_result(self) -> Path:
        """The folder of a comparison or sweep that starts now. The oldest folders are removed."""
        places = sorted(self.results_path.glob("*"), key=_age, reverse=True)
        for place in places[RUNS_MAX - 1 :]:
            shutil.rmtree(place, ignore_errors=True)
        return self.results_path / secrets.token_hex(6)

    def list_measurements(self) -> list[str]:
        """Names of files that may be measurements: all but scenarios, programs, pages and pictures."""
        found = (path for path in self._walk() if path.suffix not in NO_MEASUREMENT and path.name not in KNOWN)
        return sorted(map(self._name, found))[:LISTED_MAX]

    def new_measurement(self) -> Path:
        """Make the folder of the files of a measurement that a page sends now. The oldest ones go."""
        places = sorted(self.measured_path.glob("*"), key=_age, reverse=True)
        for place in places[RUNS_MAX - 1 :]:
            shutil.rmtree(place, ignore_errors=True)
        place = self.measured_path / secrets.token_hex(6)
        with files.writing(place):
            place.mkdir(parents=True)
        return place

    def reports(self) -> list[str]:
        """Names of the pages that `bentpipe report` has written: in the folder of a result, or in a separate folder."""
        places = {*self.path.glob("*.report/index.html"), *self.path.glob("*/report/index.html")}
        places |= set(self.results_path.glob("*/report/index.html"))
        return [self._name(path) for path in sorted(places) if path.resolve().is_relative_to(self.path)][:LISTED_MAX]

    def report(self, name: str) -> Path:
        """The page of a report, which is sent piece by piece.

        Raises
        ------
        BentpipeError
            `reports` does not list the name, or the file cannot be read.
        """
        if name not in self.reports():
            raise BentpipeError(unknown(name, "a report of the folder", self.reports()))
        place = self.inside(name)
        with files.reading(name), place.open("rb"):
            return place

    def open(self, name: str) -> Opened:
        """Read a scenario file of the folder, or a bundled scenario.

        Raises
        ------
        BentpipeError
            The name is unknown, or the file is too large, not in UTF-8, or cannot be read.
        """
        place = self.inside(name)
        with files.reading(name):
            if name in list_bundled() and (place.is_dir() or not place.exists()):
                return Opened(name, shipped_text(name), "")
            if not place.is_file():
                raise BentpipeError(f"there is no file {name}\n  expected a scenario in {self.path}, or a bundled one")
            if place.stat().st_size > SIZE_MAX:
                raise BentpipeError(f"{name} is larger than {SIZE_MAX // 2**20} MiB\n  expected a scenario file")
            content = place.read_bytes()
        try:
            return Opened(name, content.decode("utf-8").replace("\r\n", "\n"), _mark(content))
        except UnicodeDecodeError as error:
            raise BentpipeError(files.not_text(name, error)) from error

    def save(self, name: str, text: str, mark: str) -> str:
        """Write a scenario file, unless another page or program has changed it since it was read; returns its mark.

        A file that was removed is written again.

        Raises
        ------
        ChangedError
            The content of the file has changed since.
        BentpipeError
            The file cannot be written, or the name does not end as that of a scenario.
        """
        place = self.inside(name)
        if place.suffix not in SUFFIXES or place.is_relative_to(self.path / ".studio"):
            raise BentpipeError(f"{name!r} does not name a scenario\n  expected a name that ends in .toml")
        content = text.encode()
        with files.writing(name):
            there = place.read_bytes() if place.is_file() else b""
            if b"\r\n" in there:
                content = content.replace(b"\n", b"\r\n")
            if there and _mark(there) not in (mark, _mark(content)):
                raise ChangedError(name)
            files.replace(place, content, secrets.token_hex(4))
        return _mark(content)

    def keep_unsaved(self, name: str, text: str) -> None:
        """Keep the unsaved text of a scenario. The oldest texts are removed."""
        place = self._place_unsaved(name)
        with files.writing(self.unsaved_path):
            self.unsaved_path.mkdir(parents=True, exist_ok=True)
            files.replace_text(place, text)
        for old in sorted(self.unsaved_path.iterdir(), key=_age, reverse=True)[UNSAVED_MAX:]:
            old.unlink(missing_ok=True)

    def read_unsaved(self, name: str) -> str | None:
        """Return the kept text of a scenario; None without one."""
        try:
            return self._place_unsaved(name).read_bytes()[:SIZE_MAX].decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def drop_unsaved(self, name: str) -> None:
        """Keep the unsaved text of a scenario no longer."""
        with files.writing(self.unsaved_path):
            self._place_unsaved(name).unlink(missing_ok=True)

    def _place_unsaved(self, name: str) -> Path:
        """The place of the unsaved text of a scenario. Names have folders and any letters."""
        return self.unsaved_path / f"{_mark(name.encode())[:24]}.txt"

    def new_run(self) -> tuple[str, Path]:
        """A name for a run that starts now, and its folder, which does not exist yet."""
        with files.writing(self.runs_path):
            self.runs_path.mkdir(parents=True, exist_ok=True)
        run = secrets.token_hex(6)
        return run, self.runs_path / run

    def run(self, run: str) -> Path:
        """The folder of a run.

        Raises
        ------
        BentpipeError
            The name is not the name of a run, or there is no such run.
        """
        if not RUN.fullmatch(run):
            raise BentpipeError(f"{run[:40]!r} does not name a run\n  expected 12 hexadecimal digits")
        place = self.runs_path / run
        if place.is_symlink() or not (place / files.PROVENANCE).is_file():
            raise BentpipeError(f"there is no run {run}\n  it was removed, or has not ended yet")
        return place

    def runs(self) -> list[str]:
        """Names of the runs, the newest first."""
        if not self.runs_path.is_dir():
            return []
        places = [place for place in self.runs_path.iterdir() if RUN.fullmatch(place.name) and not place.is_symlink()]
        ages = {place.name: _age(place / files.PROVENANCE) for place in places}
        return sorted((name for name, age in ages.items() if age), key=lambda name: ages[name], reverse=True)

    def about(self, run: str) -> dict[str, Any]:
        """The facts that the studio keeps beside a run: `scenario`, `text`, `sets`, `is_pinned` and others, or none."""
        try:
            content = json.loads((self.run(run) / ABOUT).read_text(encoding="utf-8"))
        except (OSError, ValueError, BentpipeError):
            return {}
        return content if isinstance(content, dict) else {}

    def pin(self, run: str, is_pinned: bool) -> None:
        """Pin a run, so that it is kept, or unpin it."""
        content = {**self.about(run), "is_pinned": is_pinned}
        files.replace_text(self.run(run) / ABOUT, json.dumps(content))

    def prune(self, shown: Collection[str] = (), kept: int = RUNS_MAX, kept_bytes: int = RUNS_BYTES_MAX) -> list[str]:
        """Remove the oldest runs until few and small enough are left; returns their names.

        Runs that are pinned or shown stay.
        """
        removed, count, total = [], 0, 0
        for run in self.runs():
            size = sum(path.stat().st_size for path in (self.runs_path / run).rglob("*") if path.is_file())
            count, total = count + 1, total + size
            is_kept = count == 1 or run in shown or self.about(run).get("is_pinned")
            if (count > kept or total > kept_bytes) and not is_kept:
                shutil.rmtree(self.runs_path / run, ignore_errors=True)
                removed.append(run)
                count, total = count - 1, total - size
        return removed


class ChangedError(BentpipeError):
    """The content of a file has changed since it was read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} was changed elsewhere since it was opened here\n  choose which of the two to keep")


def write_about(place: Path, **content: Any) -> None:
    """Write what the studio keeps beside a run."""
    content = {"created_s": time.time(), "is_pinned": False, **content}
    files.replace_text(place / ABOUT, json.dumps(content))


def _age(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _mark(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
