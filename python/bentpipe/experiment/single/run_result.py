"""What a run gave: tables, time series, and all that is needed to run it again."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from bentpipe import arguments, files, formatting
from bentpipe.catalog import dictionary, unknown
from bentpipe.contract.result import Result
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common import options
from bentpipe.experiment.common.commands import has_file, refuse_without_command, run_command
from bentpipe.experiment.common.hosts import hosts_of
from bentpipe.experiment.common.options import RUN_CHARTS
from bentpipe.experiment.common.provenance import facts_of
from bentpipe.experiment.single.readable import SHOWN_FLOWS, SHOWN_LINKS, readable
from bentpipe.experiment.single.simulate import simulate
from bentpipe.experiment.single.tables import GivenTables, LazyTables, SavedTables, columns_of
from bentpipe.metric import COLUMNS, METRICS, named
from bentpipe.own import loading
from bentpipe.own.hooks import Absent
from bentpipe.scenario.scenario import Scenario
from bentpipe.statistics.judgement import DEFAULT, Judgement
from bentpipe.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.experiment.single.tables import Tables
    from bentpipe.experiment.why.explanation import Explanation
    from bentpipe.experiment.why.sentences import Teller
    from bentpipe.experiment.why.spent import Breakdown
    from bentpipe.experiment.why.time_spent import TimeSpent
    from bentpipe.metric import Metric
    from bentpipe.own.loading import Function, Sender
    from bentpipe.plot.style import Labels, Size
    from bentpipe.progress import Wish
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.statistics.quality import Stalls
    from bentpipe.statistics.samples import Sample
    from bentpipe.statistics.steady import Steady
    from bentpipe.studio.share import Explored

FORM = "bentpipe run"
TABLES = ("flows", "links", "drops", "completions", "transfers", "datagrams", "summary", "events")


class _Table:
    """One of the tables of a result, as its attribute."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: RunResult | None, owner: type) -> pl.DataFrame:
        if result is None:
            raise AttributeError(self._name)
        return result.tables[self._name]


@dataclass(frozen=True, repr=False, eq=False)
class RunResult(Result):
    """The result of one run.

    Column names carry their units; `bentpipe.catalog.dictionary()` says what each column means. A value that does
    not exist, such as the completion time of an unfinished transfer, is null.

    The result is one replication with the name `run`: `table` and `estimate` give the metrics without intervals, and
    `differences` has no rows.

    Attributes
    ----------
    flows, links, drops : polars.DataFrame
        One row per flow; per link and direction; per place, flow and cause of loss.
    completions, transfers, datagrams : polars.DataFrame
        Of flows that make several transfers: one row per flow and class of sizes, and one per transfer, up to a limit.
        Of flows of datagrams: one row each.
    summary : polars.DataFrame
        One row: the run as a whole.
    events : polars.DataFrame
        Columns `time_s`, `flow`, `event`, `value`; empty unless the series `events` was recorded.
    scenario : Scenario
        What was run; running it again gives the same tables.
    seed : int
        Seed of all random streams of the run.
    version : str
        Of bentpipe.
    notes : tuple of str
        What the reader of the tables should know.
    """

    scenario: Scenario
    tables: LazyTables
    recorded: Mapping[str, pl.DataFrame]
    notes: tuple[str, ...]
    version: str

    flows = _Table()
    links = _Table()
    drops = _Table()
    completions = _Table()
    transfers = _Table()
    datagrams = _Table()
    summary = _Table()
    events = _Table()

    charts = RUN_CHARTS
    names = ("run",)

    @classmethod
    def from_tables(cls, scenario: Scenario, tables: Tables) -> RunResult:
        """From what the core's run returns."""
        return cls(
            scenario=scenario,
            tables=GivenTables({name: tables[name] for name in TABLES}),  # type: ignore[literal-required]
            recorded=GivenTables(tables["series"]),
            # Hints on the scenario are no part of the core's tables.
            notes=tuple(dict.fromkeys([*tables["notes"], *scenario.notes])),
            version=__version__,
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str], classes: Iterable[Sender | Function] = ()) -> RunResult:
        """Open what `save` wrote. Tables and series are read when they are first asked for.

        Parameters
        ----------
        folder : path
        classes : iterable of classes or str, optional
            Your classes that the run had, or `FILE.py:CLASS`: only needed to run its scenario again.

        Raises
        ------
        BentpipeError
            The folder is not the result of a run, or was made with other classes.
        """
        with files.reading(folder):
            provenance = files.provenance(folder, FORM)
            # Read later, wherever the process is then.
            folder = Path(folder).absolute()
            text = (folder / "scenario.toml").read_text(encoding="utf-8")
            senders = loading.present(text, classes)
            scenario = Scenario(text, source=str(folder / "scenario.toml"), senders=senders)
            # Digests of other versions differ, and those of classes that are not given.
            is_comparable = provenance["version"] == __version__ and not senders
            if is_comparable and (scenario.digest, scenario.seed) != (provenance["digest"], provenance["seed"]):
                raise ValueError("scenario.toml is not the scenario that was run")
            return cls(
                scenario=scenario,
                tables=SavedTables(folder, {name: name for name in TABLES}),
                recorded=SavedTables(folder, {name: f"series-{name}" for name in provenance["series"]}),
                notes=tuple(provenance["notes"]),
                version=provenance["version"],
            )

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write Parquet tables, `scenario.toml` and `provenance.json` into a folder.

        The folder appears complete or not at all; a result that was there before is replaced. Equal results are
        equal files, byte for byte.

        Raises
        ------
        BentpipeError
            There is something else in that place.
        """
        files.write(folder, FORM, **self.written())

    def written(self) -> dict[str, Any]:
        """Content of the folder that `save` writes: `tables`, `scenario` and `provenance`."""
        return {
            "tables": dict(self.tables) | {f"series-{name}": table for name, table in self.recorded.items()},
            "scenario": self.scenario.resolved(),
            "provenance": {**self._provenance(), "series": sorted(self.recorded), "notes": self.notes},
        }

    @cached_property
    def runs(self) -> pl.DataFrame:  # type: ignore[override]
        """One row: `replication` (0), `seed`, and the columns of the metrics as in `Comparison.runs`."""
        import polars as pl

        from bentpipe.experiment.single import measure

        content: Any = {name: columns_of(self.tables[name]) for name in TABLES if name != "events"}
        found = measure.outcome(content)
        values = {COLUMNS[name]: pl.Series([value], dtype=pl.Float64).fill_nan(None) for name, value in found.items()}
        place = {"replication": [0], "seed": pl.Series([self.seed], dtype=pl.UInt64)}
        return pl.DataFrame({**place, **values})

    @property
    def table(self) -> pl.DataFrame:
        """A row per metric: `of` (run), `metric`, `unit`, `mean` and others; `low` and `high` are null."""
        from bentpipe.contract import frames

        rows = (
            frames.table_row(*self.names, each, self._sample(each, self.runs), DEFAULT) for each in METRICS.values()
        )
        return frames.table(rows, DEFAULT)

    @property
    def differences(self) -> pl.DataFrame:
        """No rows, as there is nothing to compare with; the columns are those of `Comparison.differences`."""
        from bentpipe.contract import frames

        return frames.differences((), DEFAULT)

    @property
    def statements(self) -> list[str]:
        """What the reader should know: that one run has no intervals, and the notes."""
        return ["one run: no intervals, and another seed may give other values", *self.notes]

    def _estimate(self, of: str, metric: str) -> Estimate | Interval:
        import polars as pl

        from bentpipe.experiment.single import measure

        options.checked_of([metric], self.scenario)
        what = named(metric)
        replication = pl.lit(0, dtype=pl.Int64).alias("replication")
        kept = {name: self.tables[name].with_columns(replication) for name in what.tables}
        runs = measure.with_metrics(self.runs, kept, [what], ["replication"])
        return self._sample(what, runs).estimate(DEFAULT)

    def _sample(self, metric: Metric, runs: pl.DataFrame) -> Sample:
        """A metric as the sample of one replication."""
        import numpy as np

        from bentpipe.statistics.samples import Sample

        columns = ("replication", *metric.columns)
        return Sample.named(metric, {name: np.array(runs[name].to_list(), dtype=np.float64) for name in columns})

    def series(self, name: str, flow: str | None = None, link: str | None = None) -> pl.DataFrame:
        """One recorded time series.

        Parameters
        ----------
        name : str
            Such as `cwnd_bytes`; see `bentpipe list series`.
        flow, link : str, optional
            Only the rows of this flow, or of this link and direction.

        Returns
        -------
        polars.DataFrame
            Columns `time_s` (simulated seconds), `flow` or `link`, and the series by its own name, in order of time.
            `decisions` have the columns of `events`, `losses` and `critical_path` those of
            `bentpipe.catalog.dictionary()`.

        Raises
        ------
        BentpipeError
            The series was not recorded, or there is no such flow or link; the text lists those that there are.
        """
        import polars as pl

        if name not in self.recorded:
            raise BentpipeError(unknown(name, "a series that was recorded", self.recorded))
        table = self.recorded[name]
        asked = {"flow": (flow, self.scenario.flow_names), "link": (link, self.scenario.link_names)}
        for entity, (wanted, known) in asked.items():
            if wanted is None:
                continue
            # Losses are of a flow and of a place, which may be a link.
            column = "where" if entity == "link" and "where" in table.columns else entity
            if column not in table.columns:
                raise BentpipeError(f"{name} is not a series of {entity}s")
            if wanted not in known:
                raise BentpipeError(unknown(wanted, f"a {entity} of this scenario", known))
            table = table.filter(pl.col(column) == wanted)
        return table

    def stalls(self, flow: str, rate_bps: float, buffer_s: float = 2.0) -> Stalls:
        """Play a video from what a flow delivered, from the series `goodput_bps` (`statistics.quality.stalls`)."""
        from bentpipe.statistics.quality import stalls

        table = self.series("goodput_bps", flow=flow)
        return stalls(table["time_s"].to_list(), table["goodput_bps"].to_list(), rate_bps, buffer_s)

    def at(self, time_s: float) -> dict[str, dict[str, float]]:
        """The values of all recorded series at an instant.

        Parameters
        ----------
        time_s : float
            Simulated seconds.

        Returns
        -------
        dict
            Series to a dict of flow or link to value; without those that have none yet. A value holds until the next
            row. A rate that is sampled is the one of the interval that the instant is in. `losses` and `decisions`,
            which are lists of what happened, are not among them.

        Raises
        ------
        BentpipeError
            The run has no such instant.
        """
        import polars as pl

        if not 0 <= arguments.number("time_s", time_s) <= self.simulated_s:
            raise BentpipeError(f"at {time_s} s\n  expected 0 to {self.simulated_s} s, which the run has")
        values: dict[str, dict[str, float]] = {}
        for entry in dictionary()["series"]:
            name, entity = entry["name"], entry["entity"]
            if name not in self.recorded:
                continue
            rows, time = self._scan(name), pl.col("time_s")
            if entry["sampled"] and entry["unit"] == "bit/s":
                # A row is about the interval before it.
                found = rows.filter(time >= time_s - 1e-9 * (1 + time_s)).group_by(entity, maintain_order=True).first()
            else:
                found = rows.filter(time <= time_s).group_by(entity, maintain_order=True).last()
            values[name] = dict(found.select(entity, name).collect().iter_rows())
        return values

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
            With a time, the flow. Without one, the entry to which the answer is limited; by default it is of all.
        at : float, optional
            Simulated seconds; the window is four round trips around it, a second at least.
        start, end : float, optional
            The window itself, instead of `at`.
        tries : bool
            Without a time: try remedies for the largest parts, each in one more run with the same seed.
        progress : callable or bool, optional
            Progress of the runs, as for `run`.

        Returns
        -------
        Breakdown or Explanation
            Without a time, for each kind of flow the parts of its mean time, who filled the queues, and remedies by how
            much they helped. With one, happenings in order, each with its kind and numbers, and a sentence about all.
            Where the series that this needs were not recorded, the scenario is run again with the same seed:
            `critical_path` without a time, else `losses`, `decisions`, `limited_by` and `cwnd_bytes`.

        Raises
        ------
        BentpipeError
            There is no such flow, or no such time in the run; or it was saved without these series and with a class of
            your own, which `load` was not given.
        """
        from bentpipe.experiment.why.spent import answer

        return answer(self, flow, at=at, start=start, end=end, tries=tries, progress=progress)

    def time_spent(
        self, start_s: float | None = None, end_s: float | None = None, flow: str | None = None
    ) -> TimeSpent:
        """Divide the time of a flow in a window, by default the whole run, into parts that add up to it.

        A scenario of one flow needs no name. Without the series `limited_by` and `carried_bps` it is run again.
        """
        from bentpipe.experiment.why.time_spent import time_spent

        return time_spent(self, start_s, end_s, flow)

    def sentences(self, flow: str, *, at: float) -> list[str]:
        """Tell in four sentences at most what led to the state of a flow at an instant, and the state.

        Parameters
        ----------
        flow : str
        at : float
            Simulated seconds.

        Returns
        -------
        list of str
            Sentences in order of time, with losses or reductions in a row as one. The last one is the state.

        Raises
        ------
        BentpipeError
            As `why`.
        """
        return self._teller.sentences(flow, at)

    @cached_property
    def _teller(self) -> Teller:
        from bentpipe.experiment.why.sentences import Teller

        return Teller(self)

    def explore(self, height: int = 720) -> Explored:
        """Show the run in a notebook: curves, happenings and reasons, moved by one handle.

        The view is one page, and works without a network and without Python. A run without the series of the view is
        done again with them.

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
        explored: Explored = import_module("bentpipe.studio.share").explored(self, height)
        return explored

    def _scan(self, name: str) -> pl.LazyFrame:
        return self.recorded.scan(name) if isinstance(self.recorded, LazyTables) else self.recorded[name].lazy()

    def again(
        self, scenario: Scenario | None = None, *, series: str | Iterable[str] = (), progress: Wish = None
    ) -> RunResult:
        """Run the scenario once more, or another one, without captures.

        Parameters
        ----------
        scenario : Scenario, optional
            Another scenario instead, such as this one with other settings.
        series : str or iterable of str, optional
            Time series to record besides.
        progress : callable or bool, optional
            Progress of the run, as for `run`.

        Returns
        -------
        RunResult
        """
        return simulate((scenario or self.scenario).with_series(series), RunResult.from_tables, progress=progress)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """One of the tables as plain data: a dict for each row, None where a value is missing."""
        return self.tables.rows(table)

    @options.formerly(start_s="start", end_s="end")
    def plot(
        self,
        chart: str | None = None,
        *,
        metric: str | None = None,
        start: float = 0.0,
        end: float | None = None,
        size: Size | None = None,
        title: str | None = None,
        labels: Labels | None = None,
    ) -> Figure:
        """Draw goodput, congestion windows and queues over time, a panel for each series that was recorded.

        Where none of them was, the scenario is run once more to record all, and a warning is logged.

        Parameters
        ----------
        chart : str, optional
            `series`, the only one.
        metric : str, optional
            Refused: one run has no intervals.
        start, end : float, optional
            The part of the run to show, simulated seconds; the whole without them.
        size, title, labels : optional
            As in `Comparison.plot`; the label `y` is for a figure of one series.

        Returns
        -------
        matplotlib.figure.Figure
            `savefig` writes it to a file.

        Raises
        ------
        BentpipeError
            There is no such chart or part; or no series was recorded, and the run cannot be done again.
        """
        end = self.simulated_s if end is None else end
        if not 0 <= arguments.number("start", start) < arguments.number("end", end):
            raise BentpipeError(f"from {start} s to {end} s\n  expected an end after the start")
        figure = super().plot(chart, metric=metric, size=size, title=title, labels=labels)
        figure.axes[-1].set_xlim(start, end)
        return figure

    def _figure(self, chart: str, metric: str | None) -> Figure:
        from bentpipe.plot import PANELS, run_figure

        if metric is not None:
            raise BentpipeError(
                f"plot(metric={metric!r}): one run has no intervals to draw\n"
                f"  expected plot() of its series, or a comparison"
            )
        if not any(name in self.recorded for name in PANELS) and self._is_repeatable:
            logging.getLogger("bentpipe").warning(
                f"nothing to draw was recorded: running again with {', '.join(PANELS)}"
            )
            return run_figure(self.again(series=PANELS))
        return run_figure(self)

    @property
    def _is_repeatable(self) -> bool:
        """Whether another run of the scenario is the same one: its packets, classes and end are known."""
        is_from_outside = any("packets came from" in note or "came from outside" in note for note in self.notes)
        has_classes = not any(issubclass(cls, Absent) for cls in self.scenario.senders.values())
        return has_classes and not is_from_outside and self.stop != "interrupted"

    def steady(
        self,
        name: str,
        *,
        flow: str | None = None,
        link: str | None = None,
        after: str | float = "mser",
        confidence: float = Judgement.confidence,
    ) -> Steady:
        """Mean of a recorded series after the warm-up, with an interval, from this one run.

        A flow counts from its start to its completion. Series that have a row per change are averaged over intervals of
        `record.interval`. The interval is by batch means: it is about one run that goes on for ever, not about seeds.

        Parameters
        ----------
        name : str
            Such as `goodput_bps`.
        flow, link : str, optional
            Of which one; may be left out if there is only one.
        after : "mser" or float
            The warm-up ends where MSER-5 says, or after so many seconds from the start of the run.
        confidence : float

        Returns
        -------
        Steady
            Its `mean` is None where the series does not settle; its `note` says why, or what else to know.

        Raises
        ------
        BentpipeError
            As `series`; several flows or links and none is named; `after` or `confidence` makes no sense.
        """
        from bentpipe.experiment.single.settled import settled

        return settled(self, name, flow, link, after, confidence)

    def command(self) -> str:
        scenario, facts = self.scenario, facts_of(self.scenario)
        if scenario.case:
            raise BentpipeError(f"no command runs case {scenario.case} of a scenario alone\n  compare runs all cases")
        refuse_without_command(facts, has_file=has_file(facts))
        series = scenario.to_dict()["record"]["series"]
        return run_command(facts, {}, self.seed) + (f" --series {','.join(series)}" if series else "")

    def _content(self) -> dict[str, Any]:
        return {
            "summary": self.summary.to_dicts()[0],
            "flows": self.flows.to_dicts(),
            "links": self.links.to_dicts(),
            "drops": self.drops.to_dicts(),
            "completions": self.completions.to_dicts(),
            "transfers": self.transfers.to_dict(as_series=False),
            "datagrams": self.datagrams.to_dicts(),
            "events": self.events.to_dict(as_series=False),
            "series": {name: table.to_dict(as_series=False) for name, table in self.recorded.items()},
        }

    @property
    def hosts(self) -> str:
        return hosts_of([self.scenario.hosts])

    @property
    def seed(self) -> int:
        return self.scenario.seed

    @property
    def stop(self) -> str:
        """Why the run ended: `time-limit`, `completed` or `interrupted`."""
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
            "hosts": self.hosts,
            "digest": self.scenario.digest,
            # A run that was interrupted is a part of one.
            "stop": self.stop,
        }

    def __repr__(self) -> str:
        goodput = self.summary["goodput_bps"][0] or 0.0
        return (
            f"<RunResult {self.scenario.title!r}, seed {self.seed}: {formatting.count(self.flows.height, 'flow')}, "
            f"{goodput / 1e6:.3g} Mbit/s, {self.stop} at {self.simulated_s:g} s>"
        )

    def _repr_html_(self) -> str:
        from bentpipe.plot import PANELS, notebook

        goodput = formatting.quantity(self.summary["goodput_bps"][0], "bit/s")
        ended = f"{self.stop} at {self.simulated_s:.10g} s, {goodput}"
        head = f"{self.scenario.title}, seed {self.seed}, hosts: {self.hosts}: {ended}"
        tables = [readable(self.flows, "flows", SHOWN_FLOWS), readable(self.links, "links", SHOWN_LINKS)]
        # To see a table, no other run is made.
        draw = [self.plot] if any(name in self.recorded for name in PANELS) else []
        return notebook.page(head, tables, self.statements, *draw)
