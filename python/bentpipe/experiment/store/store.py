"""Store of an experiment: an index with all data, and exported tables for readers without bentpipe.

Each run is committed to the index, an SQLite file, as soon as it ends. From then on it survives `kill -9`. At the end,
the tables are exported as sorted Parquet files, each written under a temporary name and then renamed. The same runs
give the same bytes, in any order of execution. Several processes may use a store at the same time. Each holds a lock
on its own file while it lives. If a process dies, other processes can take over its runs.

All runs of a store have the same number of results (`_core.RESULTS`). The module `aside` handles other runs.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import tempfile
import uuid
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from filelock import FileLock, Timeout

from bentpipe import _core, arguments, files
from bentpipe.errors import BentpipeError
from bentpipe.experiment.single import task
from bentpipe.experiment.store import aside
from bentpipe.experiment.store.frames import RUNS, merge_tables
from bentpipe.files import is_no_result, refuse_unless_writable_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

INDEX = "index.sqlite"
OWNERS = "working"
FAILURES = "failures"
BUSY_S = 60
"""Longest wait for another process that is writing, in seconds."""
SOON_S = 0.5
"""Wait in seconds before the other process is named."""
ROOM_BYTES = 64 << 10
"""Room that an index needs to be opened: 32 kB of shared memory, and its journal."""
LAYOUT = 2
"""Layout of the index. Another number means another state of bentpipe."""

_WRITING = "writing"
SCHEMA = f"""
pragma user_version = {LAYOUT};
create table if not exists facts (name text primary key, value text not null);
create table if not exists runs (
    id text primary key,
    parameters text not null,  -- of all experiments that have it, as JSON
    tables text not null,      -- that are kept of it, as JSON
    record blob not null,      -- what it gave
    checksum integer not null  -- of the record
);
create table if not exists failures (id text primary key, parameters text not null, message text not null);
create table if not exists claims (id text primary key, owner text not null);
"""


class Claimed(NamedTuple):
    """Outcome of a claim of runs."""

    mine: list[str]
    """Runs for this process."""
    done: list[str]
    """Runs that another process has done in the meantime."""
    failed: list[str]
    """Runs that failed in another process in the meantime."""


class Store:
    """An open store.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    is_read_only : bool
        Write nothing. Runs that are only in the index are read from the index.

    Raises
    ------
    BentpipeError
        It is not a store, or the store is damaged, from another version, or cannot be written.
    """

    lasts = True
    """Whether kept runs exist after the experiment."""
    _index: sqlite3.Connection

    def __init__(self, folder: str | os.PathLike[str], *, is_read_only: bool = False) -> None:
        self.folder = arguments.path("store", folder)
        self._is_read_only = is_read_only
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex}"
        try:
            if is_read_only:
                self._open_to_read()
            else:
                self._open_to_write()
        except BaseException:
            self._leave()
            raise

    def _open_to_read(self) -> None:
        if not (self.folder / INDEX).is_file():
            raise self._has_tables_only() if self._parquet_files() else is_no_result(self.folder)
        with self._guard_disk():
            try:
                self._connect(self.folder / INDEX, "ro")
            except sqlite3.OperationalError:
                # If the folder is read-only, an index with a journal cannot be opened.
                self._index.close()
                self._connect_to_copy()
            others = self._describe_others()
            if others is not None:
                raise aside.refusal(self.folder, others)

    def _open_to_write(self) -> None:
        refuse_unless_writable_folder(self.folder)
        # A process that was killed early may have left only this.
        is_new = not self.folder.exists() or {path.name for path in self.folder.iterdir()} <= {OWNERS}
        if not is_new and not (self.folder / INDEX).exists() and not aside.list_aside(self.folder):
            raise self._has_tables_only() if self._path(RUNS).is_file() else self._is_foreign()
        with self._guard_disk():
            (self.folder / OWNERS).mkdir(parents=True, exist_ok=True)
            with self._alone():
                self._begin_to_live()
                self._connect(self.folder / INDEX, "rwc")
                others = self._describe_others()
                if others is not None:
                    self._put_aside(others)
                    self._connect(self.folder / INDEX, "rwc")
                self._index.execute("pragma journal_mode = wal")
                # A commit survives the end of the process, as documented. A power cut may lose the last commits, but
                # damages nothing.
                self._index.execute("pragma synchronous = normal")
                # In one step: a full disk leaves an index without tables, which the next start fills.
                with self._transaction():
                    for statement in SCHEMA.split(";"):
                        self._index.execute(statement)
                    self._index.execute("insert or ignore into facts values ('form', ?)", (str(_core.RESULTS),))

    def close(self) -> None:
        """Release the claims. The store can be opened again."""
        try:
            if not self._is_read_only:
                with self._guard_disk(), self._transaction():
                    self._index.execute("delete from claims where owner = ?", (self._owner,))
        finally:
            self._leave()

    def _leave(self) -> None:
        if hasattr(self, "_index"):
            self._index.close()
        if hasattr(self, "_lock"):
            self._lock.release()
            (self.folder / OWNERS / self._owner).unlink(missing_ok=True)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def missing(self, wanted: Mapping[str, Mapping[str, Any]], tables: Sequence[str]) -> list[str]:
        """List the missing runs in their order. `wanted` has the parameters of each run by name.

        If a run exists already, from another sweep, its parameters become these. A failed run counts as missing, so it
        is tried again.
        """
        need = set(tables)
        with self._guard_disk(), self._transaction():
            known = {
                id_: (text, need <= set(json.loads(kept)))
                for id_, text, kept in self._index.execute("select id, parameters, tables from runs")
                if id_ in wanted
            }
            for id_, (text, _) in known.items():
                both = _text({**json.loads(text), **wanted[id_]})
                if both != text:
                    self._index.execute("update runs set parameters = ? where id = ?", (both, id_))
                    self._make_stale()
            missing = [id_ for id_ in wanted if id_ not in known or not known[id_][1]]
            self._index.executemany("delete from failures where id = ?", [(id_,) for id_ in missing])
        return missing

    def claim(self, ids: Iterable[str], count: int, tables: Sequence[str]) -> Claimed:
        """Claim up to `count` of these runs for this process. Runs claimed by other living processes are skipped."""
        need = set(tables)
        claimed = Claimed([], [], [])
        rest = iter(ids)
        with self._guard_disk(), self.together():
            self._free_the_dead()
            taken = {id_ for (id_,) in self._index.execute("select id from claims")}
            failed = {id_ for (id_,) in self._index.execute("select id from failures")}
            while some := list(islice(rest, count - len(claimed.mine))):
                # As JSON: the number of parameters of a statement is limited, and many workers get many runs.
                query = "select id, tables from runs where id in (select value from json_each(?))"
                known = dict(self._index.execute(query, (json.dumps(some),)))
                for id_ in some:
                    if id_ in known and need <= set(json.loads(known[id_])):
                        claimed.done.append(id_)
                    elif id_ in failed:
                        claimed.failed.append(id_)
                    elif id_ not in taken:
                        claimed.mine.append(id_)
            self._index.executemany("insert into claims values (?, ?)", [(id_, self._owner) for id_ in claimed.mine])
        return claimed

    def keep(
        self,
        done: Sequence[tuple[str, Mapping[str, Any], Sequence[str], bytes]],
        failed: Sequence[tuple[str, Mapping[str, Any], str]] = (),
    ) -> None:
        """Commit finished runs (name, parameters, tables, record) and failed runs (name, parameters, message).

        Tables that were kept of the same run before stay, because runs with equal names have equal results.
        """
        if not done and not failed:
            return
        with self._guard_disk(), self.together():
            query = "select id, tables, record from runs where id in (select value from json_each(?))"
            ids_done = json.dumps([id_ for id_, *_ in done])
            older = {id_: (json.loads(kept), record) for id_, kept, record in self._index.execute(query, (ids_done,))}
            rows = []
            for id_, parameters, own, record in done:
                others, before = older.get(id_, ((), None))
                kept = json.dumps(sorted({*own, *others}))
                whole = task.unite_records(before, record)
                rows.append((id_, _text(parameters), kept, whole, crc32(whole)))
            self._index.executemany(
                "insert into runs values (?, ?, ?, ?, ?) on conflict (id) do update set tables = excluded.tables,"
                " record = excluded.record, checksum = excluded.checksum",
                rows,
            )
            self._make_stale()
            self._index.executemany(
                "insert or replace into failures values (?, ?, ?)",
                [(id_, _text(parameters), message) for id_, parameters, message in failed],
            )
            ids = [(each[0],) for each in (*done, *failed)]
            self._index.executemany("delete from claims where id = ?", ids)

    def keep_replay(self, id_: str, text: str) -> None:
        """Write a scenario that repeats a failure."""
        place = self.folder / FAILURES / f"{id_}.json"
        with self._guard_disk():
            place.parent.mkdir(exist_ok=True)
            place.write_text(text, encoding="utf-8")

    def failures(self) -> list[dict[str, str]]:
        """List the failed runs: `id`, `parameters`, `message`."""
        with self._guard_disk():
            rows = self._index.execute("select id, parameters, message from failures order by id").fetchall()
        return [dict(zip(("id", "parameters", "message"), row, strict=True)) for row in rows]

    def write(self) -> None:
        """Export the tables as Parquet. Each table is complete at every moment."""
        with self._guard_disk(), self._alone():
            stale = self._find_note("stale")
            if stale is None and all(self._path(name).exists() for name in (RUNS, *self._kept_tables())):
                return
            # Other processes continue meanwhile. Their later runs do not count as exported.
            frames = self._frames()
            for name, frame in frames.items():
                self._export(name, frame)
            with self._transaction():
                self._index.execute("delete from facts where name = 'stale' and value = ?", (json.dumps(stale),))

    def _export(self, name: str, frame: pl.DataFrame) -> None:
        # Files of a process that dies have its mark.
        files.replace(self._path(name), files.parquet(frame), mark=self._owner)

    def _kept_tables(self) -> set[str]:
        """Return the names of kept tables of any run."""
        rows = self._index.execute("select distinct tables from runs")
        return {name for (kept,) in rows for name in json.loads(kept)}

    def _make_stale(self) -> None:
        """Mark the tables as not exported. Each mark is different, so that none is missed."""
        self._index.execute("insert or replace into facts values ('stale', ?)", (json.dumps(uuid.uuid4().hex),))

    def frames(self, tables: Sequence[str], ids: Iterable[str]) -> dict[str, pl.DataFrame]:
        """Make the table of runs, and other tables, of these runs."""
        with self._guard_disk():
            return self._frames(tables, ids)

    def begin(self, sweep: Mapping[str, Any]) -> None:
        """Remember the last experiment."""
        with self._guard_disk(), self._transaction():
            self._index.execute("insert or replace into facts values ('begun', ?)", (json.dumps(sweep),))

    def find_experiment(self) -> dict[str, Any] | None:
        """Return the last experiment of the store, or None."""
        with self._guard_disk():
            found = self._find_note("begun")
        return None if found is None else dict(found)

    def note(self, name: str, value: Any) -> None:
        """Keep a fact of an experiment."""
        with self._guard_disk(), self._transaction():
            self._index.execute("insert or replace into facts values (?, ?)", (f"of {name}", json.dumps(value)))

    def find_note(self, name: str) -> Any:
        """Return a fact that `note` kept, or None."""
        with self._guard_disk():
            return self._find_note(f"of {name}")

    def aside(self) -> list[dict[str, Any]]:
        """List the runs of other versions, which `aside` keeps: `results`, `runs`, `versions`, `folder`."""
        with self._guard_disk():
            return aside.list_aside(self.folder)

    def _find_note(self, name: str) -> Any:
        """Return a fact, or None."""
        row = self._index.execute("select value from facts where name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def _has_tables_only(self) -> BentpipeError:
        return BentpipeError(
            f"{self.folder} has exported tables, but no {INDEX}, the index of the store\n"
            "  put the index back, choose another folder, or read the Parquet files"
        )

    def has_no_sweep(self) -> BentpipeError:
        """Return the error for a store without an experiment."""
        return BentpipeError(f"{self.folder} has no sweep\n  expected a folder that bentpipe sweep wrote")

    @contextmanager
    def together(self) -> Iterator[None]:
        """Commit all changes within the context together, or none of them. This is also faster than single commits."""
        if self._index.in_transaction:
            yield
            return
        with self._on_disk(), self._transaction():
            yield

    def _connect(self, place: Path, mode: str) -> None:
        # `_transaction` begins transactions.
        uri = f"{place.absolute().as_uri()}?mode={mode}"
        self._index = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None)
        tables = self._tables()
        if tables and "facts" not in tables:
            raise self._is_foreign()
        (layout,) = self._index.execute("pragma user_version").fetchone()
        if tables and layout != LAYOUT and self._find_note("form") == _core.RESULTS:
            raise BentpipeError(
                f"{self.folder} has layout {layout} of another bentpipe, and this one writes layout {LAYOUT}\n"
                "  choose another folder, or use that version"
            )

    def _connect_to_copy(self) -> None:
        with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
            for suffix in ("", "-wal"):
                place = self.folder / f"{INDEX}{suffix}"
                if place.exists():
                    shutil.copyfile(place, Path(folder) / place.name)
            with closing(sqlite3.connect(Path(folder) / INDEX)) as copy:
                self._index = sqlite3.connect(":memory:", isolation_level=None)
                copy.backup(self._index)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._begin()
        try:
            yield
            self._index.execute("commit")
        except BaseException:
            # A full disk has already ended it.
            if self._index.in_transaction:
                self._index.execute("rollback")
            raise

    def _begin(self) -> None:
        """Begin a transaction, once no other process writes."""
        try:
            self._index.execute(f"pragma busy_timeout = {SOON_S * 1000:.0f}")
            self._index.execute("begin immediate")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
        finally:
            self._index.execute(f"pragma busy_timeout = {BUSY_S * 1000}")
        self._say_for_whom(f", for at most {BUSY_S} s")
        self._index.execute("begin immediate")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Exclude other processes that write the Parquet files."""
        lock = FileLock(self.folder / OWNERS / _WRITING)
        try:
            lock.acquire(timeout=SOON_S)
        except Timeout:
            self._say_for_whom()
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _say_for_whom(self, how_long: str = "") -> None:
        logging.getLogger("bentpipe").warning(f"waiting for {self._others()} to write to {self.folder}{how_long} ...")

    def _others(self) -> str:
        """Name other processes that use the store."""
        names = [path.name for path in (self.folder / OWNERS).iterdir() if path.name not in (_WRITING, self._owner)]
        numbers = sorted({name.partition("-")[0] for name in names if "-" in name and self._is_alive(name)})
        if not numbers:
            return "another program"
        return f"process{'' if len(numbers) == 1 else 'es'} {', '.join(numbers)}"

    @contextmanager
    def _guard_disk(self) -> Iterator[None]:
        """Report failures of the disk and damaged content in one form."""
        with self._on_disk():
            try:
                yield
            except BentpipeError:
                raise
            except files.MALFORMED as error:
                raise self._make_error(f"malformed content, {type(error).__name__}: {error}") from error

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        """Report failures of the disk in one form."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._make_error(str(error)) from error
        except OSError as error:
            raise self._make_error(error.strerror or str(error)) from error

    def _is_foreign(self) -> BentpipeError:
        return BentpipeError(f"{self.folder} is not empty and not the store of a sweep\n  choose another folder")

    def _make_error(self, why: str) -> BentpipeError:
        if "no such table" in why:
            return self.has_no_sweep()
        if "malformed" in why or "not a database" in why:
            return BentpipeError(
                f"{self.folder / INDEX} is damaged: {why}\n"
                "  put a copy back, or choose another folder; the Parquet files have the last export"
            )
        # SQLite gives this error, too, if there is no room for its shared memory.
        is_full = "disk I/O error" in why and shutil.disk_usage(self.folder).free < ROOM_BYTES
        if is_full or "disk is full" in why or "No space left" in why:
            return BentpipeError(
                f"{self.folder} cannot be written: no space left on device\n"
                "  make room and start again; all kept runs are safe"
            )
        if "locked" in why:
            why = f"{self._others()} was writing to it for {BUSY_S} s"
        return BentpipeError(
            f"the store {self.folder} cannot be used: {why}\n"
            "  try again, or choose another folder; the store is unchanged"
        )

    def _tables(self) -> set[str]:
        return {name for (name,) in self._index.execute("select name from sqlite_master")}

    def _describe_others(self) -> dict[str, Any] | None:
        """Describe the runs here, if they are from another version of the simulator."""
        # Without runs there are none of another version: a full disk may have cut the index of an older bentpipe.
        if "runs" not in self._tables():
            return None
        form = self._find_note("form")
        if form == _core.RESULTS:
            return None
        rows = self._index.execute("select id, record from runs where record is not null")
        versions = {id_: json.loads(record)["version"] for id_, record in rows}
        return aside.describe_others(form, versions)

    def _put_aside(self, others: Mapping[str, Any]) -> None:
        if any(path.name not in (_WRITING, self._owner) for path in (self.folder / OWNERS).iterdir()):
            raise BentpipeError(
                f"{self.folder} has {aside.describe_runs(others)}, and another process adds runs\n"
                "  wait until it ends, or choose another folder"
            )
        # The journal's content goes into the index. A new journal is empty.
        self._index.execute("pragma journal_mode = delete")
        is_empty = not self._tables()
        self._index.close()
        if is_empty:
            (self.folder / INDEX).unlink()
        # The index last: until it has moved, a process after a crash continues with it.
        aside.put_aside(self.folder, others, [*self._parquet_files(), self.folder / FAILURES, self.folder / INDEX])

    def _begin_to_live(self) -> None:
        """Hold a lock that ends with the process in any case, and clear up after processes that died."""
        for path in (self.folder / OWNERS).iterdir():
            if path.name != _WRITING and not self._is_alive(path.name):
                path.unlink(missing_ok=True)
                for left in self.folder.glob(f".*.{path.name}.new"):
                    left.unlink(missing_ok=True)
        self._lock = FileLock(self.folder / OWNERS / self._owner)
        self._lock.acquire()

    def _free_the_dead(self) -> None:
        for (owner,) in self._index.execute("select distinct owner from claims").fetchall():
            if owner != self._owner and not self._is_alive(owner):
                self._index.execute("delete from claims where owner = ?", (owner,))

    def _is_alive(self, owner: str) -> bool:
        place = self.folder / OWNERS / owner
        if not place.exists():
            return False
        try:
            with FileLock(place, blocking=False):
                return False
        except Timeout:
            return True

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def _parquet_files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("*.parquet") if not path.name.startswith("."))

    def _frames(self, tables: Sequence[str] | None = None, ids: Iterable[str] | None = None) -> dict[str, pl.DataFrame]:
        """Make all tables of all runs, or some of them."""
        import polars as pl

        query, chosen = "select id, parameters, record, checksum from runs", ""
        if ids is not None:
            query, chosen = f"{query} where id in (select value from json_each(?))", json.dumps(list(ids))
        parameters: dict[str, dict[str, Any]] = {}
        records: dict[str, dict[str, Any]] = {}
        for id_, text, record, checksum in self._index.execute(query, (chosen,) if chosen else ()):
            if crc32(record) != checksum:
                raise self._make_error(f"malformed record of the run {id_}")
            parameters[id_], records[id_] = json.loads(text), task.unpack_record(record)
            if tables is not None:
                known = records[id_]["tables"]
                records[id_]["tables"] = {name: known[name] for name in tables if name in known}
        try:
            return merge_tables(parameters, records)
        except pl.exceptions.PolarsError as error:
            raise self._make_error(f"malformed record of a run, {error}") from error


def _text(parameters: Mapping[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True, ensure_ascii=False)
