"""Tables from the core, also as data frames.

NumPy and Polars are imported when a table is needed. `bentpipe run` prints its output without them, in half the time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from bentpipe import files
from bentpipe.catalog import OF_OBJECTS, dictionary, unknown
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import polars as pl

Columns = dict[str, list[str] | tuple[str, bytes]]
"""Text, or (NumPy dtype, bytes); NaN or `MISSING` is a missing value."""
MISSING = -(2**63)
"""Missing whole number."""
OF_PACKETS = (
    *("flow", "outcome", "start_s", "throughput_bps", "goodput_bps", "goodput_active_bps", "delivered_bytes"),
    *("sent_bytes", "sent_packets", "arrived_packets", "information_efficiency", "rtt_to"),
)
"""Columns of `flows` that packets from outside show. The simulator does not see the transport behind these packets."""
LATER = ("subflows", "probes", "quic", "media", "terminals", "modcods")
"""Tables that folders saved by older versions do not have."""


TABLES = (*OF_OBJECTS, "summary", "events")
TABLES_BY_ROW = (
    *("flows", "subflows", "links", "drops", "completions", "datagrams", "quic"),
    *("media", "terminals", "modcods"),
)
TABLES_BY_COLUMN = ("transfers", "probes", "events")
"""Tables in JSON: lists of rows, and of columns where rows are many."""


class Tables(TypedDict):
    """The result of a run, from the core."""

    flows: Columns
    subflows: Columns
    links: Columns
    drops: Columns
    completions: Columns
    transfers: Columns
    datagrams: Columns
    probes: Columns
    quic: Columns
    media: Columns
    terminals: Columns
    modcods: Columns
    summary: Columns
    series: dict[str, Columns]
    events: Columns
    coverage: dict[str, dict[str, float | None]]
    notes: list[str]


class LazyTables(Mapping[str, "pl.DataFrame"]):
    """Tables by name, each made on first use.

    A table replaces its source in one step, because several threads of the studio may ask for it.
    """

    def __init__(self, sources: Mapping[str, Columns | str | pl.DataFrame]) -> None:
        self._held: dict[str, Columns | str | pl.DataFrame] = dict(sources)

    def __getitem__(self, name: str) -> pl.DataFrame:
        held = self._held[name]
        if isinstance(held, (dict, str)):
            held = self._held[name] = self._make(name, held)
        return held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    @abstractmethod
    def _make(self, name: str, source: Any) -> pl.DataFrame: ...

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return a table as plain data.

        Raises
        ------
        BentpipeError
            Unknown table.
        """
        self._refuse_unknown(name)
        return self[name].to_dicts()

    def values_by_column(self, name: str) -> dict[str, list[Any]]:
        """Return the columns of a table as plain data."""
        return self[name].to_dict(as_series=False)

    def columns(self, name: str) -> Columns:
        """Return a table in the form of the core."""
        return make_columns(self[name])

    def _refuse_unknown(self, name: str) -> None:
        # A look-up in the mapping itself would make the table.
        if name not in self._held:
            raise BentpipeError(unknown(name, "a table of this result", self))

    def scan(self, name: str) -> pl.LazyFrame:
        """Return a lazy table: only the requested rows and columns are made."""
        return self[name].lazy()


class GivenTables(LazyTables):
    """Tables from the core.

    The core's columns are dropped once a table is made, because they can take several times its memory.
    """

    def _make(self, name: str, source: Columns) -> pl.DataFrame:
        return columns_frame(source)

    def rows(self, name: str) -> list[dict[str, Any]]:
        self._refuse_unknown(name)
        held = self._held[name]
        if not isinstance(held, dict):
            return super().rows(name)
        return [dict(zip(held, row, strict=True)) for row in zip(*map(_plain, held.values()), strict=True)]

    def values_by_column(self, name: str) -> dict[str, list[Any]]:
        held = self._held[name]
        if not isinstance(held, dict):
            return super().values_by_column(name)
        return {column: list(_plain(values)) for column, values in held.items()}

    def columns(self, name: str) -> Columns:
        held = self._held[name]
        return held if isinstance(held, dict) else super().columns(name)


class SavedTables(LazyTables):
    """Tables of a folder, each read on first use, because the events of an hour may take gigabytes."""

    def __init__(self, folder: Path, files_of: dict[str, str]) -> None:
        super().__init__(files_of)
        self._folder, self._files = folder, files_of

    def _is_older(self, name: str) -> bool:
        """Return whether the version that saved the folder had no such table."""
        return name in LATER and not (self._folder / f"{self._files[name]}.parquet").exists()

    def _make(self, name: str, source: str) -> pl.DataFrame:
        if self._is_older(name):
            return _empty(name)
        table = files.table(self._folder, source)
        # The dictionary has the kinds of `events`, not the columns.
        columns = dictionary().get(name) if name != "events" else None
        if columns and columns[0]["name"] not in table.columns:
            place = self._folder / f"{source}.parquet"
            raise files.make_damaged_error(place, f"it has no column {columns[0]['name']}")
        return table

    def scan(self, name: str) -> pl.LazyFrame:
        import polars as pl

        if self._is_older(name):
            return super().scan(name)
        return pl.scan_parquet(self._folder / f"{self._files[name]}.parquet")


class TableAttribute:
    """A table of a result, as its attribute."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: Any, owner: type) -> pl.DataFrame:
        if result is None:
            raise AttributeError(self._name)
        table: pl.DataFrame = result.tables[self._name]
        return table


def _empty(name: str) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        schema={column["name"]: pl.Float64 if column["unit"] else pl.String for column in dictionary()[name]}
    )


def columns_frame(columns: Columns) -> pl.DataFrame:
    """Convert a table of the core to a data frame."""
    import polars as pl

    return pl.DataFrame([_column(name, values) for name, values in columns.items()])


def without_transport(columns: Columns, kinds: Sequence[str]) -> pl.DataFrame:
    """Convert the table `flows`.

    In rows of ports, columns of a transport are null. `kinds` has the application of each row.
    """
    import polars as pl

    table = columns_frame(columns)
    is_port = pl.Series([kind == "port" for kind in kinds], dtype=pl.Boolean)
    hidden = [name for name in table.columns if name not in OF_PACKETS]
    return table.with_columns(pl.when(~is_port).then(pl.col(name)).alias(name) for name in hidden)


def make_columns(table: pl.DataFrame) -> Columns:
    """Convert a data frame to the form of a table of the core."""
    import numpy as np
    import polars as pl

    return {
        column.name: column.to_list()
        if column.dtype == pl.String
        else ("<f8", column.cast(pl.Float64).fill_null(np.nan).to_numpy().tobytes())
        for column in table
    }


def _column(name: str, values: list[str] | tuple[str, bytes]) -> pl.Series:
    import numpy as np
    import polars as pl

    if isinstance(values, list):
        return pl.Series(name, values, dtype=pl.String)
    dtype, content = values
    series = pl.Series(name, np.frombuffer(content, dtype=dtype))
    if series.dtype.is_float():
        return series.fill_nan(None)
    return series.set(series == MISSING, None) if _may_miss(content) else series


def _may_miss(content: bytes) -> bool:
    """Return whether whole numbers may be missing; a search in bytes is much faster than one in numbers."""
    return MISSING.to_bytes(8, "little", signed=True) in content


def _plain(values: list[str] | tuple[str, bytes]) -> Sequence[Any]:
    """Return a column of the core as plain values; None where a value is missing."""
    if isinstance(values, list):
        return values
    dtype, content = values
    if dtype == "<i8":
        whole = memoryview(content).cast("q")
        return [None if value == MISSING else value for value in whole] if _may_miss(content) else whole
    return [None if value != value else value for value in memoryview(content).cast("d")]
