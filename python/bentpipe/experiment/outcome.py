"""What the results of all experiments have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.experiment.report import Report


class Result(ABC):
    """What an experiment gave: tables of runs and of what follows from them, sentences, figures, and its own file."""

    runs: pl.DataFrame
    """A row per run."""

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
        from bentpipe.experiment.report import report_of

        return report_of(self, folder)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(said)}</p>" for said in self.statements) + self.table._repr_html_()
