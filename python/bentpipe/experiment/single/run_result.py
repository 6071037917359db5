"""Result of a run: tables, time series, and all data needed to run it again."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from bentpipe import _core, arguments, files, formatting
from bentpipe.contract.result import Result
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common import options
from bentpipe.experiment.common.commands import has_file, refuse_without_command, run_command
from bentpipe.experiment.common.hosts import name_hosts
from bentpipe.experiment.common.options import RUN_CHARTS
from bentpipe.experiment.common.pages import name_pages
from bentpipe.experiment.common.provenance import collect_facts
from bentpipe.experiment.single.quic import describe_connections
from bentpipe.experiment.single.readable import SHOWN_FLOWS, SHOWN_LINKS, SHOWN_TERMINALS, readable
from bentpipe.experiment.single.recorded import Recorded
from bentpipe.experiment.single.simulate import simulate
from bentpipe.experiment.single.tables import (
    TABLES,
    TABLES_BY_COLUMN,
    TABLES_BY_ROW,
    GivenTables,
    LazyTables,
    SavedTables,
    TableAttribute,
    without_transport,
)
from bentpipe.metric import COLUMNS, METRICS, find_metric
from bentpipe.own import loading
from bentpipe.own.hooks import Absent
from bentpipe.scenario.scenario import Scenario
from bentpipe.statistics.judgement import DEFAULT
from bentpipe.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.experiment.common.curves import Curves
    from bentpipe.experiment.single.tables import Tables
    from bentpipe.experiment.why.explanation import Explanation
    from bentpipe.experiment.why.sentences import Teller
    from bentpipe.experiment.why.spent import Breakdown
    from bentpipe.experiment.why.time_spent import TimeSpent
    from bentpipe.own.loading import Function, Sender
    from bentpipe.plot.style import Labels, Size
    from bentpipe.progress import Wish
    from bentpipe.scenario.names import MetricName
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.studio.share import Explored

FORM = "bentpipe run"
SHORT_PACKETS = 500_000
"""Packets of a run that a notebook may run again for its figure: about half a second."""


@dataclass(frozen=True, repr=False, eq=False)
class RunResult(Recorded, Result):
    """The result of one run.

    Column names end in their units; `bentpipe.catalog.dictionary()` explains each column. A value that does not exist,
    such as the completion time of an unfinished transfer, is null.

    The result is one replication with the name `run`: `table` and `estimate` give the metrics without intervals, and
    `differences` has no rows.

    Attributes
    ----------
    flows, links, drops : polars.DataFrame
        Tables with a row per flow, a row per link and direction, and a row per place, flow and cause of loss.
    completions, transfers : polars.DataFrame
        Flows with several transfers: one row per flow and class of sizes, and one per transfer, up to a limit.
    datagrams, probes : polars.DataFrame
        Flows of datagrams: one row each. Flows of probes: one row per probe.
    subflows : polars.DataFrame
        Flows over several paths: one row per subflow, with the columns of `flows` and more.
    quic : polars.DataFrame
        Flows over QUIC: one row each.
    media, terminals, modcods : polars.DataFrame
        Shared access: one row per medium, one per link in a medium, and one per medium and modulation and code.
    summary : polars.DataFrame
        One row: the run as a whole.
    events : polars.DataFrame
        Columns `time_s`, `flow`, `event`, `value`; empty unless the series `events` was recorded.
    scenario : Scenario
        The scenario that ran. Running it again gives the same tables.
    seed : int
        Seed of all random streams of the run.
    version : str
        Version of bentpipe.
    results : int
        Number of results of the simulator; it grows when results change, see `docs/concepts/results.md`.
    notes : tuple of str
        Notes for the reader of the tables.
    outside : sequence of tuple
        Hosts whose packets came from outside the simulation, each with its congestion controls.
    coverage : mapping of str to mapping
        Recorded series that lack rows. `column_s`: width of the columns of a series that was thinned, or None.
        `end_s`: instant of the first missing row, or None. Other series have all their rows.
    """

    scenario: Scenario
    tables: LazyTables
    recorded: LazyTables
    notes: tuple[str, ...]
    version: str
    outside: Sequence[tuple[str, Sequence[str]]] = ()
    coverage: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    results: int = _core.RESULTS

    flows = TableAttribute()
    subflows = TableAttribute()
    links = TableAttribute()
    drops = TableAttribute()
    completions = TableAttribute()
    transfers = TableAttribute()
    datagrams = TableAttribute()
    probes = TableAttribute()
    quic = TableAttribute()
    media = TableAttribute()
    terminals = TableAttribute()
    modcods = TableAttribute()
    summary = TableAttribute()
    events = TableAttribute()

    charts = RUN_CHARTS
    names = ("run",)

    @classmethod
    def from_tables(cls, scenario: Scenario, tables: Tables) -> RunResult:
        """Make a result from the tables of the core.

        In rows of real packets, columns of a simulated transport are null.
        """
        given: dict[str, Any] = {name: tables[name] for name in TABLES}  # type: ignore[literal-required]
        if "port" in scenario.flow_kinds:
            given["flows"] = without_transport(given["flows"], scenario.flow_kinds)
        return cls(
            scenario=scenario,
            tables=GivenTables(given),
            recorded=GivenTables(tables["series"]),
            # Hints on the scenario are not part of the core's tables.
            notes=tuple(dict.fromkeys([*tables["notes"], *scenario.notes, *describe_connections(tables["quic"])])),
            version=__version__,
            coverage=tables.get("coverage", {}),
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str], classes: Iterable[Sender | Function] = ()) -> RunResult:
        """Open a saved result. Tables and series are read on first use.

        Parameters
        ----------
        folder : path
        classes : iterable of classes or str, optional
            Custom classes of the run, or `FILE.py:CLASS`. They are only needed to run its scenario again.

        Raises
        ------
        BentpipeError
            The folder is not the result of a run, or was made with other classes.
        """
        folder = arguments.path("folder", folder)
        with files.reading(folder):
            provenance = files.provenance(folder, FORM)
            # It is read later; the working directory may change.
            folder = Path(folder).absolute()
            text = (folder / "scenario.toml").read_text(encoding="utf-8")
            senders = loading.present(text, classes)
            scenario = Scenario(text, source=str(folder / "scenario.toml"), senders=senders)
            # Digests of other versions differ. Digests of missing classes differ, too.
            is_comparable = provenance["version"] == __version__ and not senders
            if is_comparable and (scenario.digest, scenario.seed) != (provenance["digest"], provenance["seed"]):
                raise ValueError("scenario.toml is not the scenario that was run")
            return cls(
                scenario=scenario,
                tables=SavedTables(folder, {name: name for name in TABLES}),
                recorded=SavedTables(folder, {name: f"series-{name}" for name in provenance["series"]}),
                notes=tuple(provenance["notes"]),
                version=provenance["version"],
                outside=provenance.get("outside", ()),
                coverage=provenance.get("coverage", {}),
                # Runs that were saved by the first version lack it.
                results=provenance.get("results", 11),
            )

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write Parquet tables, `scenario.toml` and `provenance.json` into a folder.

        The folder appears complete or not at all. It replaces an earlier result. Equal results are equal files, byte
        for byte.

        Raises
        ------
        BentpipeError
            The folder contains other files.
        """
        files.write(folder, FORM, **self.collect_content())

    def collect_content(self) -> dict[str, Any]:
        """Return the content of the folder that `save` writes: `tables`, `scenario` and `provenance`."""
        outside: dict[str, Any] = {"outside": self.outside} if self.outside else {}
        if self.coverage:
            outside["coverage"] = self.coverage
        # Where its classes were: a packed result has their sources.
        if places := {name: place for name, cls in self.scenario.senders.items() if (place := loading.where(cls))}:
            outside["classes"] = places
        return {
            "tables": dict(self.tables) | {f"series-{name}": table for name, table in self.recorded.items()},
            "scenario": self.scenario.resolve(),
            "provenance": {**self._provenance(), "series": sorted(self.recorded), "notes": self.notes, **outside},
        }

    @cached_property
    def _outcome(self) -> dict[str, float]:
        """The metrics of the run by their columns in `runs`; NaN where missing."""
        from bentpipe.experiment.single import measure

        content: Any = {name: self.tables.columns(name) for name in TABLES if name != "events"}
        return {COLUMNS[name]: value for name, value in measure.outcome(content).items()}

    @cached_property
    def runs(self) -> pl.DataFrame:  # type: ignore[override]
        """Table with one row: `replication` (0), `seed`, and the columns of the metrics as in `Comparison.runs`."""
        import polars as pl

        values = {name: pl.Series([value], dtype=pl.Float64).fill_nan(None) for name, value in self._outcome.items()}
        place = {"replication": [0], "seed": pl.Series([self.seed], dtype=pl.UInt64)}
        return pl.DataFrame({**place, **values})

    @property
    def table(self) -> pl.DataFrame:
        """Table with a row per metric: `of` (always `run`), `metric`, `unit`, `mean` ...; `low` and `high` are null."""
        from bentpipe.contract import frames

        return frames.table(self._table_rows(), DEFAULT)

    def _table_rows(self) -> list[dict[str, Any]]:
        from bentpipe.contract.rows import table_row
        from bentpipe.experiment.single import measure

        values = {"replication": 0.0, **self._outcome}
        return [table_row(*self.names, each, measure.find_sample(each, values), DEFAULT) for each in METRICS.values()]

    @property
    def differences(self) -> pl.DataFrame:
        """Table without rows, as a single run has no comparison; the columns are as in `Comparison.differences`."""
        from bentpipe.contract import frames

        return frames.differences((), DEFAULT)

    def _difference_rows(self) -> list[dict[str, Any]]:
        return []

    @property
    def statements(self) -> list[str]:
        """Notes for the reader. The first note: a single run has no intervals."""
        return ["one run has no intervals: another seed may give other values", *self.notes]

    def estimate(self, of: MetricName | str, metric: MetricName | str | None = None) -> Estimate:
        """Return a metric of the run with its unit. One run has no interval."""
        return super().estimate(of, metric)  # type: ignore[return-value]

    def _estimate(self, of: str, metric: str) -> Estimate | Interval:
        import polars as pl

        from bentpipe.experiment.single import measure

        options.check_metrics([metric], self.scenario)
        what = find_metric(metric)
        replication = pl.lit(0, dtype=pl.Int64).alias("replication")
        kept = {name: self.tables[name].with_columns(replication) for name in what.tables}
        runs = measure.with_metrics(self.runs, kept, [what], ["replication"])
        return measure.find_sample(what, runs.row(0, named=True)).estimate(DEFAULT, what)

    @overload
    def why(self, flow: str | None = None, *, tries: bool = True, progress: Wish = None) -> Breakdown: ...
    @overload
    def why(self, flow: str, *, at: float) -> Explanation: ...
    @overload
    def why(self, flow: str, *, start: float, end: float) -> Explanation: ...
    def why(
        self,
        flow: str | None = None,
        *,
        at: float | None = None,
        start: float | None = None,
        end: float | None = None,
        tries: bool = True,
        progress: Wish = None,
    ) -> Explanation | Breakdown:
        """Explain the time of transfers and datagrams, or the events of a flow at a time.

        Parameters
        ----------
        flow : str, optional
            With a time, the flow to explain. Without a time, the only entry of the scenario in the answer; the default
            is all entries.
        at : float, optional
            Simulated seconds. The window begins four round trips before this time and ends four after it; each side is
            at least 0.5 s.
        start, end : float, optional
            The window, instead of `at`.
        tries : bool
            Try remedies for the largest parts of the time, each in one more run with the same seed. Only without a
            time.
        progress : callable or bool, optional
            Progress of the runs, as in `run`.

        Returns
        -------
        Breakdown or Explanation
            Without a time, a `Breakdown`: the parts of the mean time of each kind of flow, the flows that filled the
            queues, and remedies by their effect. With a time, an `Explanation`: happenings in order, each with its kind
            and numbers, and a summary in a sentence. A breakdown needs the series `critical_path`, an explanation needs
            `losses`, `decisions`, `limited_by` and `cwnd_bytes`. If they were not recorded, the scenario runs again
            with the same seed.

        Raises
        ------
        BentpipeError
            The flow is unknown, the time is outside the run, or the run cannot be repeated. A saved run without these
            series cannot be repeated if `load` did not get its custom classes.
        """
        from bentpipe.experiment.why.spent import answer

        return answer(self, flow, at=at, start=start, end=end, tries=tries, progress=progress)

    def time_spent(
        self, start_s: float | None = None, end_s: float | None = None, flow: str | None = None
    ) -> TimeSpent:
        """Divide the time of a flow in a window, by default its whole life, into parts that add up to it.

        The part of a window before the start of the flow, or after its end, does not count.

        A scenario of one flow needs no `flow`. Without the series `limited_by` and `carried_bps`, it runs again.
        """
        from bentpipe.experiment.why.time_spent import time_spent

        return time_spent(self, start_s, end_s, flow)

    def sentences(self, flow: str, *, at: float) -> list[str]:
        """Describe the state of a flow at an instant and the events that led to it, in at most four sentences.

        Parameters
        ----------
        flow : str
        at : float
            Simulated seconds.

        Returns
        -------
        list of str
            Sentences in order of time. Consecutive losses share a sentence, and so do consecutive reductions. The last
            sentence is the state.

        Raises
        ------
        BentpipeError
            As in `why`.
        """
        return self._teller.sentences(flow, at)

    @cached_property
    def _curves(self) -> Curves:
        from bentpipe.experiment.common.curves import Curves

        return Curves(self)

    @cached_property
    def _teller(self) -> Teller:
        from bentpipe.experiment.why.sentences import Teller

        return Teller(self)

    def explore(self, height: int = 720) -> Explored:
        """Show the run in a notebook: curves, happenings and reasons at an instant that the reader moves.

        The view is one page, which works without a network and without Python. If the run lacks the series of the view,
        it is simulated again with these series.

        Parameters
        ----------
        height : int
            Pixels.

        Returns
        -------
        Explored
            A notebook shows it; `html` is the page, and `save` writes it.
        """
        # By name: the studio is built on results, and only this call needs it.
        explored: Explored = import_module("bentpipe.studio.share").explore_result(self, height)
        return explored

    def rerun(
        self, scenario: Scenario | None = None, *, series: str | Iterable[str] = (), progress: Wish = None
    ) -> RunResult:
        """Run the scenario again, or another scenario, without captures.

        Parameters
        ----------
        scenario : Scenario, optional
            Another scenario, such as this scenario with other settings.
        series : str or iterable of str, optional
            Additional time series to record.
        progress : callable or bool, optional
            Progress of the run, as in `run`.

        Returns
        -------
        RunResult
        """
        return simulate((scenario or self.scenario).with_series(series), RunResult.from_tables, progress=progress)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return one of the tables as plain data: a dict for each row, None where a value is missing."""
        return self.tables.rows(table)

    def plot(
        self,
        chart: str | None = None,
        *,
        metric: MetricName | str | None = None,
        start: float = 0.0,
        end: float | None = None,
        size: Size | None = None,
        title: str | None = None,
        labels: Labels | None = None,
        axes: Axes | None = None,
    ) -> Figure:
        """Draw goodput, congestion windows and queues over time, or the objects of a page.

        If the series that it needs were not recorded, the scenario runs again to record them, and a warning is logged.

        Parameters
        ----------
        chart : str, optional
            `series`, the default, has a panel for each recorded series. `waterfall` shows when each object of a page
            was requested and received, for the page that took longest.
        metric : str, optional
            Always refused: one run has no intervals to draw.
        start, end : float, optional
            The part of the run to show, simulated seconds. The default is the whole run. A waterfall shows a page that
            begins in this part.
        size, title, labels, axes : optional
            Arguments as in `Comparison.plot`. The label `y` needs a figure of one series.

        Returns
        -------
        matplotlib.figure.Figure
            `savefig` writes it to a file.

        Raises
        ------
        BentpipeError
            Unknown chart or part; or no series was recorded, and the run cannot be repeated.
        """
        end = self.simulated_s if end is None else end
        if not 0 <= arguments.number("start", start) < arguments.number("end", end):
            raise BentpipeError(f"from {start} s to {end} s\n  expected an end after the start")
        if chart == "waterfall" and metric is None:
            from bentpipe.plot import dress_figure, waterfall_figure
            from bentpipe.plot.style import use_place

            with use_place(axes):
                return dress_figure(waterfall_figure(self._recording("objects"), start, end), size, title, labels)
        figure = super().plot(chart, metric=metric, size=size, title=title, labels=labels, axes=axes)
        # The panels share the axis of time. Below them may be delays.
        figure.axes[0].set_xlim(start, end)
        return figure

    def _recording(self, *names: str, is_logged: bool = True) -> RunResult:
        missing = [name for name in names if name not in self.recorded]
        if not missing or not self._is_repeatable:
            return self
        if is_logged:
            logging.getLogger("bentpipe").warning(
                f"{', '.join(missing)} {'was' if len(missing) == 1 else 'were'} not recorded: running again with "
                f"series={missing}"
            )
        return self.rerun(series=names, progress=None if is_logged else False)

    def _figure(self, chart: str, metric: str | None, *, is_logged: bool = True) -> Figure:
        from bentpipe.plot import choose_panels, choose_series, run_figure

        if metric is not None:
            raise BentpipeError(
                f"plot(metric={metric!r}): one run has no intervals to draw\n"
                f"  expected plot() of its series, or a comparison"
            )
        names = () if choose_series(self) else choose_panels(self.scenario)
        return run_figure(self._recording(*names, is_logged=is_logged))

    @property
    def _is_repeatable(self) -> bool:
        """Whether another run of the scenario gives the same packets: its packets, classes and end are known."""
        is_from_outside = any("packets came from" in note or "came from outside" in note for note in self.notes)
        has_classes = not any(issubclass(cls, Absent) for cls in self.scenario.senders.values())
        return has_classes and not is_from_outside and self.stop != "interrupted"

    def command(self) -> str:
        scenario, facts = self.scenario, collect_facts(self.scenario)
        if scenario.case:
            raise BentpipeError(
                f"no command runs only case {scenario.case} of a scenario\n"
                "  expected bentpipe compare, which runs all cases"
            )
        refuse_without_command(facts, has_file=has_file(facts))
        # `--series` below names all of them.
        facts["sets"] = tuple(each for each in facts["sets"] if each[0] != "record.series")
        series = scenario.to_dict()["record"]["series"]
        return run_command(facts, {}, self.seed) + (f" --series {','.join(series)}" if series else "")

    def _content(self) -> dict[str, Any]:
        return {
            "summary": self.rows("summary")[0],
            **{name: self.rows(name) for name in TABLES_BY_ROW},
            **{name: self.tables.values_by_column(name) for name in TABLES_BY_COLUMN},
            "series": {name: self.recorded.values_by_column(name) for name in self.recorded},
        }

    @property
    def hosts(self) -> str:
        return name_hosts([self.scenario.hosts, self.outside])

    @property
    def pages(self) -> str:
        return name_pages(self.scenario.to_dict()["flow"])

    @property
    def seed(self) -> int:
        return self.scenario.seed

    @property
    def stop(self) -> str:
        """Reason for the end: `time-limit`, `completed`, `interrupted`, or `ended` (a real program has ended)."""
        return str(self.rows("summary")[0]["stop"])

    @property
    def simulated_s(self) -> float:
        """Simulated seconds at the end."""
        return float(self.rows("summary")[0]["simulated_s"])

    def _reporter(self) -> Reporter:
        from bentpipe.experiment.single.reporting import OfRun

        return OfRun(self)

    def _provenance(self) -> dict[str, Any]:
        return {
            "title": self.scenario.title,
            "seed": self.seed,
            "version": self.version,
            "results": self.results,
            "hosts": self.hosts,
            "pages": self.pages,
            "digest": self.scenario.digest,
            # An interrupted run is a part of a run.
            "stop": self.stop,
        }

    def __repr__(self) -> str:
        goodput = self.summary["goodput_bps"][0] or 0.0
        return (
            f"<RunResult {self.scenario.title!r}, seed {self.seed}: {formatting.count(self.flows.height, 'flow')}, "
            f"{goodput / 1e6:.3g} Mbit/s, {self.stop} at {self.simulated_s:g} s>"
        )

    def make_notebook_table(self) -> tuple[list[str], list[list[str]], int]:
        heads, rows, texts = readable(self.flows, "flows", SHOWN_FLOWS)
        return heads, [list(row) for row in rows], texts

    def _repr_html_(self) -> str:
        from bentpipe.plot import choose_series, notebook

        draw = partial(self._figure, "series", None, is_logged=False)
        # Without series, a figure needs another run.
        is_short = self._is_repeatable and self.summary["sent_packets"][0] <= SHORT_PACKETS
        goodput = formatting.quantity(self.summary["goodput_bps"][0], "bit/s")
        ended = f"{self.stop} at {self.simulated_s:.10g} s, {goodput}"
        head = f"{self.scenario.title}, seed {self.seed}, {self.describe_setup()}: {ended}"
        tables = [readable(self.flows, "flows", SHOWN_FLOWS), readable(self.links, "links", SHOWN_LINKS)]
        if not self.terminals.is_empty():
            tables.append(readable(self.terminals, "terminals", SHOWN_TERMINALS))
        return notebook.page(head, tables, self.statements, *([draw] if choose_series(self) or is_short else []))
