"""The store of a sweep: a folder of Parquet files, and an index of what is in it and who is working on the rest.

What a run gave is committed to the index as soon as it is there, which survives `kill -9`. From time to time, and at the
end, all of it is written into the Parquet files, sorted, each under a temporary name that is then renamed: the same runs
are the same bytes, whatever the order in which they were done. Several processes may use a store at once; each holds
a lock on a file of its own for as long as it lives, so that the work of one that died is known to be free.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import sqlite3
import uuid
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.errors import BentpipeError
from bentpipe.metrics import METRICS
from bentpipe.result import columns_frame
from bentpipe.store import refuse_unless_writable_folder
from bentpipe.sweeps import tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bentpipe._tables import Columns

INDEX = "index.sqlite"
RUNS = "runs"
OWNERS = "working"
FAILURES = "failures"
WAITING_MAX = 2000
"""Runs in the index alone before the Parquet files are written again; or as many as these have, which is more later."""
BUSY_S = 60
"""How long to wait for another process that is writing."""

_SCHEMA = """
create table if not exists facts (name text primary key, value text not null);
create table if not exists runs (
    id text primary key,
    parameters text not null,  -- of all sweeps that have it, as JSON
    tables text not null,      -- that are kept of it, as JSON
    record blob                -- null once it is in the Parquet files
);
create table if not exists failures (id text primary key, parameters text not null, message text not null);
create table if not exists claims (id text primary key, owner text not null);
create table if not exists files (name text primary key, sha256 text not null, next text);
"""


class Store:
    """An open store.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    is_read_only : bool
        Only look: nothing is written, and runs that are only in the index are read from there.

    Raises
    ------
    BentpipeError
        It is not a store, of another version, damaged, or cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], *, is_read_only: bool = False) -> None:
        self.folder = Path(folder)
        self._is_read_only = is_read_only
        self._total = self._waiting = 0
        self._owner = uuid.uuid4().hex
        if is_read_only:
            if not (self.folder / INDEX).is_file():
                raise BentpipeError(
                    f"error: {self.folder} is not the store of a sweep\n  expected what `bentpipe sweep` wrote"
                )
            self._index = self._opened("?mode=ro" if os.access(self.folder, os.W_OK) else "?immutable=1")
            with self._guarded():
                self._check_form()
            return
        refuse_unless_writable_folder(self.folder)
        if self.folder.exists() and any(self.folder.iterdir()) and not (self.folder / INDEX).exists():
            if not (self.folder / f"{RUNS}.parquet").is_file():
                raise BentpipeError(
                    f"error: {self.folder} is not empty and not the store of a sweep\n  choose another folder"
                )
        with self._guarded():
            for place in (self.folder, self.folder / OWNERS):
                place.mkdir(parents=True, exist_ok=True)
            # Held until the process ends, whatever ends it.
            self._lock = (self.folder / OWNERS / self._owner).open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self._index = self._opened("?mode=rwc")
            self._index.execute("pragma journal_mode = wal")
            self._index.execute("pragma synchronous = normal")
            self._index.executescript(_SCHEMA)
            with self._transaction():
                self._check_form()
                self._index.execute("insert or ignore into facts values ('form', ?)", (str(tasks.FORM),))
                self._recover()
        self._check_files()
        with self._guarded():
            self._count()

    def close(self) -> None:
        """Give back what was claimed. The store can be opened again."""
        if not self._is_read_only:
            with self._guarded(), self._transaction():
                self._index.execute("delete from claims where owner = ?", (self._owner,))
            (self.folder / OWNERS / self._owner).unlink(missing_ok=True)
            self._lock.close()
        self._index.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def missing(self, wanted: Mapping[str, Mapping[str, Any]], tables: Sequence[str]) -> list[str]:
        """Which of the runs are not there, in their order. `wanted` has the parameters of each, by name of the run.

        Runs that are there for another sweep get these parameters, too.
        """
        with self._guarded(), self._transaction():
            known = {
                id_: (parameters, kept)
                for id_, parameters, kept in self._index.execute("select id, parameters, tables from runs")
            }
            for id_, parameters in wanted.items():
                if id_ in known:
                    merged = {**json.loads(known[id_][0]), **parameters}
                    text = _text(merged)
                    if text != known[id_][0]:
                        self._index.execute("update runs set parameters = ? where id = ?", (text, id_))
                        self._index.execute("insert or replace into facts values ('stale', 'true')")
        need = set(tables)
        return [id_ for id_ in wanted if id_ not in known or not need <= set(json.loads(known[id_][1]))]

    def claim(self, ids: Iterable[str], count: int, tables: Sequence[str]) -> tuple[list[str], list[str]]:
        """Up to so many of these runs that no other living process works on, which are this one's now.

        Besides, those of the runs that were looked at which have been done by another process in the meantime.
        """
        need = set(tables)
        mine: list[str] = []
        there: list[str] = []
        with self._guarded(), self._transaction():
            self._free_the_dead()
            taken = {id_ for (id_,) in self._index.execute("select id from claims")}
            for id_ in ids:
                if len(mine) == count:
                    break
                row = self._index.execute("select tables from runs where id = ?", (id_,)).fetchone()
                if row is not None and need <= set(json.loads(row[0])):
                    there.append(id_)
                elif id_ not in taken:
                    mine.append(id_)
            self._index.executemany("insert into claims values (?, ?)", [(id_, self._owner) for id_ in mine])
        return mine, there

    def keep(
        self,
        done: Sequence[tuple[str, Mapping[str, Any], Sequence[str], bytes]],
        failed: Sequence[tuple[str, Mapping[str, Any], str]] = (),
    ) -> None:
        """Commit runs that are done (name, parameters, tables, record) or failed (name, parameters, message)."""
        if not done and not failed:
            return
        with self._guarded(), self._transaction():
            for id_, parameters, tables, record in done:
                self._index.execute(
                    "insert into runs values (?, ?, ?, ?) on conflict (id) do update set tables = excluded.tables,"
                    " record = excluded.record",
                    (id_, _text(parameters), json.dumps(sorted(tables)), record),
                )
                self._index.execute("delete from failures where id = ?", (id_,))
            for id_, parameters, message in failed:
                self._index.execute(
                    "insert or replace into failures values (?, ?, ?)", (id_, _text(parameters), message)
                )
            ids = [(each[0],) for each in (*done, *failed)]
            self._index.executemany("delete from claims where id = ?", ids)
        self._waiting += len(done)
        self._total += len(done)

    def keep_replay(self, id_: str, text: str) -> None:
        """Write a scenario that shows a failure again."""
        place = self.folder / FAILURES / f"{id_}.json"
        with self._guarded():
            place.parent.mkdir(exist_ok=True)
            place.write_text(text, encoding="utf-8")

    def failures(self) -> list[dict[str, str]]:
        """Runs that failed: `id`, `parameters`, `message`."""
        with self._guarded():
            rows = self._index.execute("select id, parameters, message from failures order by id").fetchall()
        return [dict(zip(("id", "parameters", "message"), row, strict=True)) for row in rows]

    def is_due(self) -> bool:
        """Whether so many runs are in the index alone that the Parquet files should be written."""
        return self._waiting >= max(WAITING_MAX, self._total - self._waiting)

    def write(self) -> None:
        """Bring the Parquet files up to date. Each is complete at every moment, before and after."""
        with self._guarded(), self._alone():
            self._count()
            if self._waiting == 0 and self.noted("stale") is None:
                return
            content = {name: _parquet(frame) for name, frame in self._frames().items()}
            hashes = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
            # First what the files will be, then the files, then that they are: a crash in between is seen and mended.
            with self._transaction():
                self._index.executemany(
                    "insert into files values (?, '', ?) on conflict (name) do update set next = excluded.next",
                    list(hashes.items()),
                )
            ids = pl.read_parquet(content[RUNS], columns=["run"])["run"].to_list()
            for name, data in content.items():
                self._replace(name, data)
            with self._transaction():
                self._index.execute("update files set sha256 = next, next = null where next is not null")
                self._index.executemany("update runs set record = null where id = ?", [(id_,) for id_ in ids])
                self._index.execute("delete from facts where name = 'stale'")
            self._count()

    def _count(self) -> None:
        count = "select count(*), count(record) from runs"
        self._total, self._waiting = self._index.execute(count).fetchone()

    def frames(self, tables: Sequence[str] = ()) -> dict[str, pl.DataFrame]:
        """The table `runs` and others, as the Parquet files have them, with what is in the index alone."""
        with self._guarded():
            return self._frames(tables)

    def note(self, name: str, content: Any) -> None:
        """Remember a fact about the store, such as what sweep was last begun."""
        with self._guarded(), self._transaction():
            self._index.execute("insert or replace into facts values (?, ?)", (name, json.dumps(content)))

    def noted(self, name: str) -> Any:
        """A fact, or None."""
        with self._guarded():
            row = self._index.execute("select value from facts where name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def has_no_sweep(self) -> BentpipeError:
        """For a store in which nothing was begun."""
        return BentpipeError(f"error: no sweep was begun in {self.folder}\n  expected what `bentpipe sweep` wrote")

    def _opened(self, mode: str) -> sqlite3.Connection:
        place = (self.folder / INDEX).absolute()
        # Transactions are begun by hand: see `_transaction`.
        return sqlite3.connect(f"{place.as_uri()}{mode}", uri=True, timeout=BUSY_S, isolation_level=None)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._index.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._index.execute("rollback")
            raise
        self._index.execute("commit")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other process writes the Parquet files."""
        with (self.folder / OWNERS / "writing").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """What can go wrong with a disk, said in one way."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._said(str(error)) from error
        except OSError as error:
            raise self._said(error.strerror or str(error)) from error

    def _said(self, why: str) -> BentpipeError:
        if "malformed" in why or "not a database" in why:
            return BentpipeError(
                f"error: {self.folder / INDEX} is damaged: {why}\n"
                "  delete it and start again: it is made anew from the Parquet files"
            )
        if "disk is full" in why or "No space left" in why:
            return BentpipeError(
                f"error: {self.folder} cannot be written: no space left on device\n"
                "  every run that was finished is kept; make room and start again"
            )
        return BentpipeError(f"error: the store {self.folder} cannot be used: {why}\n  nothing in it was changed")

    def _check_form(self) -> None:
        form = self.noted("form")
        if form is not None and form != tasks.FORM:
            raise BentpipeError(
                f"error: {self.folder} is a store of version {form} of the results, and this bentpipe makes version {tasks.FORM}\n"
                "  choose another folder, or use the bentpipe that made it"
            )

    def _recover(self) -> None:
        """Take over what is there without the index."""
        (known,) = self._index.execute("select count(*) from runs").fetchone()
        if known or not (self.folder / f"{RUNS}.parquet").exists():
            return
        frame = self._read(RUNS)
        if "run" not in frame.columns:
            raise BentpipeError(
                f"error: {self.folder / RUNS}.parquet is not the table of a sweep\n  choose another folder"
            )
        foreign = [id_ for id_ in frame["run"] if not id_.startswith(f"r{tasks.FORM}-")]
        if foreign:
            raise BentpipeError(
                f"error: {self.folder} has runs of another version of the results, such as {foreign[0]}\n"
                "  choose another folder, or use the bentpipe that made it"
            )
        parameters = [column for column in frame.columns if column not in _FIXED]
        for row in frame.iter_rows(named=True):
            own = {name: row[name] for name in parameters if row[name] is not None}
            self._index.execute("insert into runs values (?, ?, '[]', null)", (row["run"], _text(own)))
        for path in sorted(self.folder.glob("*.parquet")):
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            self._index.execute("insert or replace into files values (?, ?, null)", (path.stem, sha256))

    def _check_files(self) -> None:
        """Whether the Parquet files are what was written; one that was taken away is done again."""
        with self._guarded(), self._alone(), self._transaction():
            rows = self._index.execute("select name, sha256, next from files").fetchall()
            for name, sha256, following in rows:
                path = self.folder / f"{name}.parquet"
                if not path.exists():
                    if sha256:
                        self._index.execute("delete from runs where record is null")
                    self._index.execute("delete from files where name = ?", (name,))
                    continue
                found = hashlib.sha256(path.read_bytes()).hexdigest()
                if found not in (sha256, following):
                    raise BentpipeError(
                        f"error: {path} is damaged: it is not what was written\n"
                        "  put a copy back, or delete it: then its runs are done again, and all else is kept"
                    )
                self._index.execute("update files set sha256 = ?, next = null where name = ?", (found, name))

    def _free_the_dead(self) -> None:
        for (owner,) in self._index.execute("select distinct owner from claims").fetchall():
            if owner != self._owner and not self._is_alive(owner):
                self._index.execute("delete from claims where owner = ?", (owner,))
                (self.folder / OWNERS / owner).unlink(missing_ok=True)

    def _is_alive(self, owner: str) -> bool:
        try:
            with (self.folder / OWNERS / owner).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        return False

    def _replace(self, name: str, data: bytes) -> None:
        place = self.folder / f"{name}.parquet"
        fresh = self.folder / f".{name}.{self._owner}.new"
        try:
            with fresh.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(place)
        finally:
            fresh.unlink(missing_ok=True)

    def _read(self, name: str) -> pl.DataFrame:
        path = self.folder / f"{name}.parquet"
        try:
            return pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise BentpipeError(
                f"error: {path} is damaged: {str(error).splitlines()[0]}\n"
                "  put a copy back, or delete it: then its runs are done again, and all else is kept"
            ) from error

    def _frames(self, names: Sequence[str] | None = None) -> dict[str, pl.DataFrame]:
        """The tables as they are to be written: what is in the files and what is in the index, sorted."""
        rows = self._index.execute("select id, parameters, record from runs").fetchall()
        fresh = {id_: tasks.unpacked(record) for id_, _, record in rows if record is not None}
        parameters = {id_: json.loads(text) for id_, text, _ in rows}
        keys = sorted({key for own in parameters.values() for key in own})
        written = {path.stem for path in self.folder.glob("*.parquet")}
        found: dict[str, pl.DataFrame] = {}
        runs = self._runs(fresh) if RUNS not in written else pl.concat([self._old(RUNS, fresh), self._runs(fresh)])
        # What somebody deleted from the index is gone.
        runs = runs.filter(pl.col("run").is_in(list(parameters)))
        order = sorted(
            zip(runs["run"].to_list(), runs["seed"].to_list(), range(runs.height), strict=True),
            key=lambda row: ([_rank(parameters[row[0]].get(key)) for key in keys], row[1], row[0]),
        )
        runs = runs[[place for _, _, place in order]] if order else runs
        ids = runs["run"].to_list()
        columns = [column(key, [parameters[id_].get(key) for id_ in ids]) for key in keys]
        found[RUNS] = runs.select(
            pl.col("run"), *columns, pl.col("seed"), *(metric.column for metric in METRICS.values()), pl.col("version")
        )
        place = pl.DataFrame({"run": ids, "place": range(len(ids))}, schema={"run": pl.String, "place": pl.Int64})
        tables = {table for record in fresh.values() for table in record["tables"]} | written - {RUNS}
        for table in sorted(tables if names is None else tables & set(names)):
            parts = [self._old(table, fresh)] if table in written else []
            parts += _stacked(
                {id_: record["tables"][table] for id_, record in fresh.items() if table in record["tables"]}
            )
            whole = pl.concat(parts).join(place, on="run", how="inner", maintain_order="left")
            found[table] = whole.sort("place", maintain_order=True).drop("place")
        return found

    def _old(self, name: str, fresh: Mapping[str, Any]) -> pl.DataFrame:
        frame = self._read(name).filter(~pl.col("run").is_in(list(fresh)))
        return frame.select(list(_RUN_SCHEMA)) if name == RUNS else frame

    def _runs(self, fresh: Mapping[str, Any]) -> pl.DataFrame:
        rows = [(id_, record["seed"], *record["values"].values(), record["version"]) for id_, record in fresh.items()]
        return pl.DataFrame(rows, schema=_RUN_SCHEMA, orient="row")


class Memory(Store):
    """A store for as long as it is open: nothing is written."""

    def __init__(self) -> None:
        self.folder = Path(":memory:")
        self._is_read_only = False
        self._total = self._waiting = 0
        self._owner = "this"
        self._index = sqlite3.connect(":memory:", isolation_level=None)
        self._index.executescript(_SCHEMA)

    def close(self) -> None:
        """Forget everything."""
        self._index.close()

    def is_due(self) -> bool:
        """Never."""
        return False

    def write(self) -> None:
        """There is nowhere to write to."""

    def keep_replay(self, id_: str, text: str) -> None:
        """There is nowhere to keep it."""


_RUN_SCHEMA = {
    "run": pl.String,
    "seed": pl.UInt64,
    **{metric.column: pl.Float64 for metric in METRICS.values()},
    "version": pl.String,
}
_FIXED = set(_RUN_SCHEMA)


def _text(parameters: Mapping[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True, ensure_ascii=False)


def _rank(value: Any) -> tuple[int, Any]:
    """Sorts what may be missing, a number or a text."""
    if value is None:
        return (0, 0)
    if isinstance(value, (int, float)):
        return (1, value)
    return (2, value if isinstance(value, str) else json.dumps(value))


def column(key: str, values: list[Any]) -> pl.Series:
    """The values of a key: numbers or truths where all of them are, otherwise text as written."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return pl.Series(key, values, dtype=pl.Float64)
    if all(isinstance(value, bool) for value in known):
        return pl.Series(key, values, dtype=pl.Boolean)
    return pl.Series(
        key,
        [value if value is None or isinstance(value, str) else json.dumps(value) for value in values],
        dtype=pl.String,
    )


def _stacked(tables: Mapping[str, Columns]) -> list[pl.DataFrame]:
    """The same table of many runs as one, or none: columns are joined before they become a data frame, which is slow."""
    if not tables:
        return []
    whole: dict[str, Any] = {}
    heights = []
    for name, first in next(iter(tables.values())).items():
        parts = [columns[name] for columns in tables.values()]
        if isinstance(first, list):
            heights = [len(part) for part in parts]
            whole[name] = list(chain.from_iterable(parts))
        else:
            whole[name] = (first[0], b"".join(part[1] for part in parts if isinstance(part, tuple)))
    runs = list(chain.from_iterable([id_] * height for id_, height in zip(tables, heights, strict=True)))
    return [columns_frame({"run": runs, **whole})]


def _parquet(frame: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()
