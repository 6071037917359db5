"""The tables of all results. Each kind of table has one schema. The module `rows` makes the rows."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bentpipe.statistics.judgement import Judgement

    Rows = Iterable[Mapping[str, Any]]
    Keys = Mapping[str, Any]
    """Types of values by varied key."""

REAL = pl.Float64
WHOLE = pl.Int64


class Table(pl.DataFrame):
    """A data frame that prints as many whole columns as fit the terminal, from the first on, and always the interval.

    Polars alone would print eight columns, and leave out those in the middle.
    """

    def __str__(self) -> str:
        width = shutil.get_terminal_size((100, 24)).columns
        least = self.columns.index("high") + 1 if "high" in self.columns else 1
        with pl.Config(tbl_cols=-1, tbl_width_chars=-1, tbl_hide_column_data_types=True):
            for count in range(self.width, least - 1, -1):
                text = pl.DataFrame.__str__(self.select(self.columns[:count]))
                if max(map(len, text.splitlines())) <= width:
                    break
        rest = self.columns[count:]
        return text + (f"\nmore columns: {', '.join(rest)}" if rest else "")

    def __repr__(self) -> str:
        return self.__str__()

    def _repr_html_(self, **settings: bool) -> str:
        with pl.Config(tbl_cols=-1):
            return super()._repr_html_(**settings)


def table(rows: Rows, judgement: Judgement, keys: Keys | None = None) -> pl.DataFrame:
    """Make a `Result.table` from rows of `rows.table_row` with added values of the keys."""
    schema = {
        "of": pl.String,
        **(keys or {}),
        "metric": pl.String,
        "unit": pl.String,
        judgement.statistic: REAL,
        "low": REAL,
        "high": REAL,
        "replications": WHOLE,
        "completed": WHOLE,
        "due": WHOLE,
        "is_bound": pl.Boolean,
    }
    return Table(list(rows), schema=schema)


def differences(rows: Rows, judgement: Judgement, keys: Keys | None = None) -> pl.DataFrame:
    """Make a `Result.differences` from rows of `rows.difference_row` with added values of the keys."""
    middle = judgement.statistic
    schema = {
        "metric": pl.String,
        "unit": pl.String,
        "of": pl.String,
        "other": pl.String,
        **(keys or {}),
        "replications": WHOLE,
        **dict.fromkeys((middle, "low", "high", f"{middle}_pct", "low_pct", "high_pct", "effect"), REAL),
        "magnitude": pl.String,
        "p": REAL,
        "p_adjusted": REAL,
        "is_shown": pl.Boolean,
        **dict.fromkeys(("of_completed", "other_completed", "more_often", "less_often"), WHOLE),
        "p_completed": REAL,
        "is_completed_shown": pl.Boolean,
    }
    return Table(list(rows), schema=schema)
