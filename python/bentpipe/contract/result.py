"""Contract that the results of all experiments share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bentpipe import arguments, files
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.formatting import MISSING, interval, scale, text_table
from bentpipe.metric import list_metrics, list_single_metrics

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Report, Reporter, Style
    from bentpipe.plot.style import Labels, Size
    from bentpipe.scenario.names import MetricName
    from bentpipe.statistics.estimates import Estimate, Interval


class Result(ABC):
    """Result of an experiment: tables of runs and of estimates, sentences, figures, and a folder to keep it."""

    charts: ClassVar[tuple[str, ...]] = ()
    """Names of the figures that `plot` draws. The first is the default."""
    names: Sequence[str]
    """The names in the column `of` of tables: congestion controls, cases, or points of a grid."""
    runs: pl.DataFrame
    """Table with a row per run."""
    notes: Sequence[str]
    """Notes and hints for the reader of the tables, one line each."""

    @property
    @abstractmethod
    def hosts(self) -> str:
        """Hosts of the flows and their congestion controls: `Linux 6, cubic`; see `tcp.like`."""

    @property
    def pages(self) -> str:
        """Sizes of the web pages of flows: `2.47 MB in 77 requests, medians of web-2025`. Empty without pages."""
        return ""

    def describe_setup(self) -> str:
        """Name the hosts and the pages in one line."""
        return f"hosts: {self.hosts}" + (f"; pages: {self.pages}" if self.pages else "")

    @property
    @abstractmethod
    def table(self) -> pl.DataFrame:
        """Table with a row for each of `names` and each metric, with intervals."""

    @property
    @abstractmethod
    def differences(self) -> pl.DataFrame:
        """Differences between the compared cases, with intervals; without rows if nothing was compared."""

    @property
    @abstractmethod
    def statements(self) -> list[str]:
        """Conclusions that hold with confidence, in plain words."""

    def estimate(self, of: MetricName | str, metric: MetricName | str | None = None) -> Estimate | Interval:
        """Estimate a metric of one of `names`, with its interval.

        Parameters
        ----------
        of : str
            One of `names`. It may be left out if there is only one: `estimate("goodput")`.
        metric : str, optional
            See `bentpipe list metrics`; `fct:web` for a flow.

        Raises
        ------
        BentpipeError
            Unknown name, metric, flow or link.
        """
        if metric is not None:
            return self._with_unit(self._estimate(self._check_name(of), metric), metric)
        if len(self.names) == 1:
            return self._with_unit(self._estimate(self.names[0], of), of)
        raise BentpipeError(
            f"estimate({of!r}) needs a name\n  expected estimate(OF, METRIC), of one of: {self._known_names}"
        )

    def plot(
        self,
        chart: str | None = None,
        *,
        metric: MetricName | str | None = None,
        size: Size | None = None,
        title: str | None = None,
        labels: Labels | None = None,
        axes: Axes | None = None,
    ) -> Figure:
        """Draw a matplotlib figure.

        Parameters
        ----------
        chart : str, optional
            One of `charts`. The default is the first.
        metric : str, optional
            Metric of the figure. The default is the metric of the statements.
        size, title, labels : optional
            Width and height in inches, a title instead of the scenario's title, and labels of the axes:
            `{"x": ..., "y": ...}`.
        axes : matplotlib.axes.Axes, optional
            Axes of another figure. The drawing replaces these axes, with one panel or several, and has their size. It
            is returned as a part of that figure (`SubFigure`).

        Raises
        ------
        BentpipeError
            Unknown chart or metric, or no data to draw.
        """
        from bentpipe.plot.style import check_size, dress_figure, use_place

        for name, given in (("metric", metric), ("title", title)):
            if given is not None:
                arguments.text(name, given)
        if size is not None:
            check_size(size)
        if metric is not None and metric in self.charts and metric not in list_metrics():
            raise BentpipeError(f"{metric} is a chart, no metric\n  expected plot({metric!r})")
        if axes is not None and size is not None:
            raise BentpipeError("axes have their size from their figure\n  leave {size} out", size=None)
        name = self._chart(chart)
        with use_place(axes):
            return dress_figure(self._figure(name, metric), size, title, labels)

    @abstractmethod
    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the result into a folder. `load` reads it."""

    def report(self, folder: str | os.PathLike[str], *, style: Style | None = None) -> Report:
        """Write a page that opens in any browser into a folder, with its figures and tables as files.

        Parameters
        ----------
        folder : path
        style : str, optional
            Width of all figures: `column` (3.3 inches) or `page` (7 inches). Letters have the same size in both.

        Raises
        ------
        BentpipeError
            The folder cannot be written, or contains other files.
        """
        files.refuse_unless_free(folder)
        return self._reporter().write(Path(folder), style)

    @abstractmethod
    def command(self) -> str:
        """Return the shell command that repeats the result.

        Raises
        ------
        BentpipeError
            No command repeats it; the text gives the reason.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return all content as plain data, fit for JSON.

        The keys are `provenance`, `statements`, `notes`, `table`, `differences` and more.
        """
        return {
            "provenance": dict(self._provenance()),
            "statements": self.statements,
            "notes": list(self.notes),
            "table": self._table_rows(),
            "differences": self._difference_rows(),
            **self._content(),
        }

    def _table_rows(self) -> list[dict[str, Any]]:
        return self.table.to_dicts()

    def _difference_rows(self) -> list[dict[str, Any]]:
        return self.differences.to_dicts()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give `table` to other libraries (Arrow PyCapsule interface): `pyarrow.table(result)`, `polars.DataFrame`.

        DuckDB reads it by name: `duckdb.sql("from result")`.
        """
        return self.table.__arrow_c_stream__(requested_schema)

    def make_notebook_table(self) -> tuple[list[str], list[list[str]], int]:
        """Make the table of a notebook or of `print`: heads, rows, and the number of columns of text."""
        table = self.table
        texts = next((at for at, kind in enumerate(table.dtypes) if kind.is_numeric()), table.width)
        return table.columns, [[_write_cell(cell) for cell in row] for row in table.iter_rows()], texts

    def __str__(self) -> str:
        """Write hosts, table, statements and notes, as `print` shows them."""
        table = text_table(*self.make_notebook_table())
        setup = [self.describe_setup()] if self.hosts else []
        return "\n".join([*setup, table, *self.statements, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        return notebook.page(
            self.describe_setup(), [self.make_notebook_table()], [*self.statements, *self.notes], self.plot
        )

    # Each kind of result implements these.

    @abstractmethod
    def _estimate(self, of: str, metric: str) -> Estimate | Interval:
        """Estimate a metric of a known name."""

    @abstractmethod
    def _figure(self, chart: str, metric: str | None) -> Figure:
        """Draw one of `charts`."""

    @abstractmethod
    def _reporter(self) -> Reporter:
        """Make the writer of the page."""

    @abstractmethod
    def _provenance(self) -> Mapping[str, Any]:
        """Collect the provenance."""

    def _content(self) -> Mapping[str, Any]:
        """Collect further keys of `to_dict`."""
        return {}

    def _with_unit(self, found: Estimate | Interval, metric: str) -> Estimate | Interval:
        """Add the unit of a metric, or of its row in `table`, to an estimate."""
        metrics = {**list_metrics(), **list_single_metrics()}
        name = metric.partition(":")[0]
        if name in metrics:
            return found._replace(unit=metrics[name].unit)
        units = self.table.filter(metric=metric)["unit"]
        return found._replace(unit=units[0]) if len(units) else found

    def _check_name(self, of: str) -> str:
        """Check that a name is one of `names`."""
        if arguments.text("of", of) not in self.names:
            raise BentpipeError(unknown(of, f"a name of this {self._kind}", self.names))
        return of

    def _chart(self, chart: str | None) -> str:
        """Check that a chart is one of `charts`."""
        if chart is None:
            return self.charts[0]
        if arguments.text("chart", chart) in self.charts:
            return chart
        if chart.partition(":")[0] in {**list_metrics(), **list_single_metrics()}:
            raise BentpipeError(f"plot({chart!r}): {chart} is a metric\n  expected plot(metric={chart!r})")
        raise BentpipeError(unknown(chart, f"a chart of a {self._kind}", self.charts))

    @property
    def _kind(self) -> str:
        return type(self).__name__.lower().removesuffix("result")

    @property
    def _known_names(self) -> str:
        return ", ".join(self.names)


def column_shown(head: str, unit: str, found: Sequence[Estimate | Interval]) -> list[str]:
    """Make a column of values with their intervals, all in one unit. Its head names the unit."""
    # A single run does not need scipy, which this module imports.
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


def _write_cell(cell: Any) -> str:
    return MISSING if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
