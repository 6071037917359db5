"""What a run gave: tables, time series, and all that is needed to run it again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import files, formatting
from bentpipe.catalog import dictionary, unknown
from bentpipe.cc import loading
from bentpipe.errors import BentpipeError
from bentpipe.scenario.scenario import Scenario
from bentpipe.version import __version__

if TYPE_CHECKING:
    import os

    from bentpipe.experiment.tables import Columns, Tables
    from bentpipe.statistics.steady import Steady

FORM = "bentpipe run"
LEVELS_MAX = 1_000_000
"""Intervals over which `steady` averages a series that has a row per change."""
TABLES = ("flows", "links", "drops", "completions", "transfers", "datagrams", "summary", "events")


@dataclass(frozen=True, repr=False, eq=False)
class RunResult:
    """The result of one run.

    Column names carry their units; `bentpipe.catalog.dictionary()` says what each column means. A value that does
    not exist, such as the completion time of an unfinished transfer, is null.

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
    version : str
        Of bentpipe.
    notes : tuple of str
        What the reader of the tables should know.
    """

    scenario: Scenario
    flows: pl.DataFrame
    links: pl.DataFrame
    drops: pl.DataFrame
    completions: pl.DataFrame
    transfers: pl.DataFrame
    datagrams: pl.DataFrame
    summary: pl.DataFrame
    events: pl.DataFrame
    recorded: dict[str, pl.DataFrame]
    notes: tuple[str, ...]
    version: str

    @classmethod
    def from_tables(cls, scenario: Scenario, tables: Tables) -> RunResult:
        """From what the core's run returns."""
        return cls(
            scenario=scenario,
            flows=columns_frame(tables["flows"]),
            links=columns_frame(tables["links"]),
            drops=columns_frame(tables["drops"]),
            completions=columns_frame(tables["completions"]),
            transfers=columns_frame(tables["transfers"]),
            datagrams=columns_frame(tables["datagrams"]),
            summary=columns_frame(tables["summary"]),
            events=columns_frame(tables["events"]),
            recorded={name: columns_frame(columns) for name, columns in tables["series"].items()},
            notes=tuple(tables["notes"]),
            version=__version__,
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> RunResult:
        """Read what `save` wrote.

        Raises
        ------
        BentpipeError
            The folder is not the result of a run.
        """
        provenance = files.provenance(folder, FORM)
        text = (Path(folder) / "scenario.toml").read_text(encoding="utf-8")
        return cls(
            scenario=Scenario(text, source=str(Path(folder) / "scenario.toml"), senders=loading.absent(text)),
            **{name: files.table(folder, name) for name in TABLES},
            recorded={name: files.table(folder, f"series-{name}") for name in provenance["series"]},
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
        files.write(
            folder,
            FORM,
            tables={name: getattr(self, name) for name in TABLES}
            | {f"series-{name}": table for name, table in self.recorded.items()},
            scenario=self.scenario.resolved(),
            provenance={**self._provenance(), "series": sorted(self.recorded), "notes": self.notes},
        )

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

        Raises
        ------
        BentpipeError
            The series was not recorded, or there is no such flow or link; the text lists those that there are.
        """
        if name not in self.recorded:
            raise BentpipeError("error: " + unknown(name, "a series that was recorded", self.recorded))
        table = self.recorded[name]
        asked = {"flow": (flow, self.scenario.flow_names), "link": (link, self.scenario.link_names)}
        for entity, (wanted, known) in asked.items():
            if wanted is None:
                continue
            if entity not in table.columns:
                raise BentpipeError(f"error: {name} is not a series of {entity}s")
            if wanted not in known:
                raise BentpipeError("error: " + unknown(wanted, f"a {entity} of this scenario", known))
            table = table.filter(pl.col(entity) == wanted)
        return table

    def steady(
        self,
        name: str,
        *,
        flow: str | None = None,
        link: str | None = None,
        after: str | float = "mser",
        confidence: float = 0.95,
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
        # scipy is not needed for anything else here.
        from bentpipe.statistics import steady

        entry = next((entry for entry in dictionary()["series"] if entry["name"] == name), None)
        if entry is None or name not in self.recorded:
            raise BentpipeError("error: " + unknown(name, "a series that was recorded", self.recorded))
        if isinstance(after, str) and after != "mser":
            raise BentpipeError(f"error: after = {after!r}\n  expected 'mser' or a number of seconds")
        if not isinstance(after, str) and not 0 <= after < np.inf:
            raise BentpipeError(f"error: after = {after}\n  expected 'mser' or a number of seconds, at least 0")
        if not 0 < confidence < 1:
            raise BentpipeError(
                f"error: a confidence of {confidence}\n  expected more than 0 and less than 1, like 0.95"
            )
        entity = entry["entity"]
        table = self.series(name, flow, link)
        present = table[entity].unique(maintain_order=True).to_list()
        if len(present) > 1:
            raise BentpipeError(f"error: {name} of which {entity}?\n  expected one of {', '.join(sorted(present))}")
        times, values = table["time_s"].to_numpy(), table[name].to_numpy()
        interval_s = _seconds(self.scenario.to_dict()["record"]["interval"])
        start_s, end_s = 0.0, self.simulated_s
        if entity == "flow" and present:
            row = self.flows.row(by_predicate=pl.col("flow") == present[0], named=True)
            start_s = row["start_s"] or 0.0
            end_s = min(end_s, start_s + (row["completion_s"] or np.inf))
        if not entry["sampled"]:
            interval_s = max(interval_s, end_s / LEVELS_MAX)
            times, values = steady.levels(times, values, interval_s, end_s)
        # A row is about the interval before it.
        within = (times > start_s + (1 - 1e-9) * interval_s) & (times <= end_s + 1e-9)
        asked = None if isinstance(after, str) else after
        return steady.steady(times[within], values[within], after=asked, confidence=confidence)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, fit for JSON: tables as lists of rows, series as dicts of lists."""
        return {
            **self._provenance(),
            "notes": list(self.notes),
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
    def seed(self) -> int:
        return self.scenario.seed

    @property
    def stop(self) -> str:
        """Why the run ended: `time-limit`, `completed` or `interrupted`."""
        return str(self.summary["stop"][0])

    @property
    def simulated_s(self) -> float:
        """Simulated seconds at the end."""
        return float(self.summary["simulated_s"][0])

    def _provenance(self) -> dict[str, Any]:
        return {
            "title": self.scenario.title,
            "seed": self.seed,
            "version": self.version,
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
        return "".join(table._repr_html_() for table in (self.summary, self.flows, self.links))


def _seconds(text: str) -> float:
    """A time as the resolved scenario has it.

    >>> _seconds("250 ms")
    0.25
    """
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}[unit]


def columns_frame(columns: Columns) -> pl.DataFrame:
    """A table as the core hands it over, as a data frame."""
    return pl.DataFrame([_column(name, values) for name, values in columns.items()])


def _column(name: str, values: list[str] | tuple[str, bytes]) -> pl.Series:
    if isinstance(values, list):
        return pl.Series(name, values, dtype=pl.String)
    dtype, content = values
    series = pl.Series(name, np.frombuffer(content, dtype=dtype))
    return series.fill_nan(None) if series.dtype.is_float() else series
