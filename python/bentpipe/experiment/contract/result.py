"""What the results of all experiments have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.formatting import interval, scale

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.experiment.contract.reporter import Report, Reporter
    from bentpipe.statistics.estimates import Estimate, Interval


class Result(ABC):
    """What an experiment gave: tables of runs and of what follows from them, sentences, figures, and its own file."""

    runs: pl.DataFrame
    """A row per run."""
    notes: Sequence[str]
    """Notes and hints for the reader of the tables, one line each."""

    @property
    @abstractmethod
    def hosts(self) -> str:
        """Hosts of the flows and their congestion controls: `Linux 6, cubic`; see `tcp.like`."""

    @property
    @abstractmethod
    def table(self) -> pl.DataFrame:
        """What was found, with intervals."""

    @property
    @abstractmethod
    def differences(self) -> pl.DataFrame:
        """Differences between what was compared, with intervals."""

    @property
    @abstractmethod
    def statements(self) -> list[str]:
        """What can be said with confidence, in plain words."""

    @abstractmethod
    def plot(self, *args: Any, **kwargs: Any) -> Figure:
        """A matplotlib figure."""

    @abstractmethod
    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write it into a folder, from which `load` reads it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, fit for JSON."""

    def report(self, folder: str | os.PathLike[str]) -> Report:
        """Write a page that opens anywhere, with its figures and tables as files, into a folder.

        Raises
        ------
        BentpipeError
            The folder cannot be written, or there is something else in it.
        """
        files.refuse_unless_free(folder)
        return self._reporter().write(Path(folder))

    @abstractmethod
    def _reporter(self) -> Reporter:
        """What writes the page of this kind of result."""

    def shown(self) -> tuple[list[str], list[list[str]], int]:
        """What a notebook shows: heads, rows, and how many columns are text."""
        table = self.table
        return table.columns, [[str(cell) for cell in row] for row in table.iter_rows()], 0

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        return notebook.page(f"hosts: {self.hosts}", [self.shown()], [*self.statements, *self.notes], self.plot)


def column_shown(head: str, unit: str, found: Sequence[Estimate | Interval]) -> list[str]:
    """A column of values with their intervals, all in one unit, which stands in its head."""
    # scipy, which this loads, is not needed for a single run.
    from bentpipe.statistics.samples import AtLeast

    divisor, text = scale([each.value for each in found], unit)
    cells = [
        interval(
            *(None if end is None else end / divisor for end in (each.value, each.low, each.high)),
            is_bound=isinstance(each, AtLeast),
        )
        for each in found
    ]
    return [f"{head} ({text})" if text else head, *cells]
