"""Gives the view over one run what it draws: facts, thinned series, values at an instant, reasons.

`RunResult` gives a Python user the same answers. This module only thins, selects and bounds them.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import _core
from bentpipe.catalog import dictionary, unknown
from bentpipe.errors import BentpipeError
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.experiment.why.sentences import Teller
from bentpipe.studio import profiles, series, thinning
from bentpipe.studio.packets import Packets

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

MARKS = ("handover", "outage", "change", "loss", "timeout", "reduction", "no-reduction", "ecn-reduction", "undo")
"""Kinds of happenings that the strip marks."""
FLOWS_MOST = 32
"""Flows whose happenings are among the facts of a run. """
HAPPENINGS_MOST = 3000
"""Happenings of a flow; further ones are counted in a note."""
HAPPENINGS_BEFORE = 20
"""Happenings before an instant that come with its sentences."""
LOSSES = "losses:"
"""Begin of the names of series that count the losses of one cause."""
VALUES = "cc_values"
"""Series with a curve for each name in it, such as `cc_values:round_count`."""
ARRAYS_BYTES_MOST = 64_000_000
"""Memory of the series of flows and links that are kept as arrays; the last one is kept at any size."""
COLUMNS_MOST = 10_000
"""Columns of a plot."""
OWN = "studio.json"
"""File beside a result: the text that the run was made from."""


class RunData:
    """One run for the view. Several threads may ask at once: a page loads its curves together.

    Parameters
    ----------
    run : path or RunResult
        A folder that `RunResult.save` wrote, or a result.
    name : str, optional
        The name of the run; by default that of the folder.
    """

    def __init__(self, run: str | os.PathLike[str] | RunResult, name: str = "") -> None:
        self.own: dict[str, Any] = {}
        self._columns: dict[tuple[str, str], tuple[Values, Values]] = {}
        self._keeping = Lock()
        self._finding = Lock()
        if isinstance(run, RunResult):
            self.name = name or "run"
        else:
            folder = Path(run)
            self.name = name or folder.name
            if (folder / OWN).is_file():
                self.own = json.loads((folder / OWN).read_text(encoding="utf-8"))
            run = RunResult.load(folder)
        # Not `in run.recorded`, which reads the whole series.
        missing = [each for each in series.list_view_series(run.scenario) if each not in set(run.recorded)]
        self.result = run.rerun(series=missing) if missing else run

    @cached_property
    def _teller(self) -> Teller:
        return Teller(self.result)

    @cached_property
    def _packets(self) -> Packets:
        return Packets(self.result)

    @cached_property
    def _network(self) -> dict[str, Any]:
        return self.result.scenario.network()

    @cached_property
    def described(self) -> list[dict[str, Any]]:
        """Name, entity, unit, meaning and style of each series that there is."""
        # Numbers of MODCODs have names, which differ between media.
        names: dict[str, dict[str, str]] = {}
        for row in self.result.modcods.iter_rows(named=True):
            names.setdefault(row["medium"], {})[str(row["waveform"])] = row["modcod"]
        found = [
            {
                "name": each["name"],
                "of": each["entity"],
                "unit": each["unit"],
                "meaning": each["meaning"],
                "style": "rate" if each["sampled"] and each["unit"] == "bit/s" else "level",
                **({"names": names} if each["name"] == "modcod" else {}),
            }
            for each in dictionary()["series"]
            if each["name"] in self.result.recorded and each["name"] != VALUES
        ]
        if VALUES in self.result.recorded:
            found += [
                {"name": f"{VALUES}:{name}", "of": "flow", "unit": "1", "meaning": name, "style": "level"}
                for name in self.result.recorded[VALUES]["name"].unique(maintain_order=True)
            ]
        found += profiles.describe_series(self._network)
        causes = set(self.result.recorded["losses"]["cause"].unique())
        return found + [
            {"name": f"{LOSSES}{each['name']}", "of": "flow", "unit": "1", "meaning": each["meaning"], "style": "event"}
            for each in dictionary()["causes"]
            if each["name"] in causes
        ]

    def meta(self) -> dict[str, Any]:
        """The facts and the happenings of the run as plain data."""
        result = self.result
        scenario = result.scenario
        happenings, notes = self._happenings()
        trips = dict(result.flows.select("flow", "rtt_p50_s").iter_rows())
        return {
            "run": self.name,
            "title": scenario.title or self.name,
            "seed": result.seed,
            "version": result.version,
            "results": _core.RESULTS,
            "digest": scenario.digest,
            "command": self._command(),
            "text": self.own.get("text", scenario.written[0]),
            "duration_s": result.simulated_s,
            "stop": result.stop,
            "hosts": result.hosts,
            "pages": result.pages,
            # Those with a round trip come first: datagrams have no window, and nothing to ask about.
            "flows": sorted(scenario.flow_names, key=lambda flow: trips[flow] is None),
            "links": scenario.link_names,
            "rtt_s": trips,
            "busiest": self.busy_links[0] if self.busy_links else None,
            "terminals": self.terminals,
            "series": self.described,
            "happenings": happenings,
            "statements": result.statements,
            "notes": [*result.notes, *notes],
            "has_sky": scenario.has_sky or bool(self.own.get("has_sky")),
            "epoch": None,
        }

    def series(self, name: str, of: str, start: float = 0.0, end: float | None = None, columns: int = 1000) -> bytes:
        """A series of a flow or link, thinned to columns of a plot; see `thinning.pack_points`.

        Raises
        ------
        BentpipeError
            There is no such series, flow, link or window.
        """
        end = self.result.simulated_s if end is None else end
        self._check_window(start, end)
        if not 1 <= columns <= COLUMNS_MOST:
            raise BentpipeError(f"columns = {columns}\n  expected 1 to {COLUMNS_MOST}")
        style = next((each["style"] for each in self.described if each["name"] == name), None)
        if style is None:
            raise BentpipeError(unknown(name, "a series of this run", [each["name"] for each in self.described]))
        times, values = self._array(name, of)
        if style == "event":
            return thinning.pack_points(*thinning.counts(times, start, end, columns))
        thin = thinning.rates if style == "rate" else thinning.levels
        return thinning.pack_points(*thin(times, values, start, end, columns))

    def rows(self, name: str, of: str) -> int:
        """Number of rows that a series of a flow or link has."""
        return len(self._array(name, of)[0])

    def find_values(self, t: float) -> dict[str, dict[str, float]]:
        """The exact values at an instant: `RunResult.find_values`."""
        return self.result.find_values(t)

    def why(self, flow: str, t: float) -> dict[str, Any]:
        """Sentences about an instant, and the last happenings of the flow before it."""
        sentences = self._teller.sentences(flow, t)
        before = [each for each in self._marks(flow) if each["time_s"] <= t]
        return {"flow": flow, "t": t, "sentences": sentences, "happenings": before[-HAPPENINGS_BEFORE:]}

    def sentences(self, flow: str, t: float) -> list[str]:
        """The sentences alone: `RunResult.sentences`."""
        return self._teller.sentences(flow, t)

    def find_time_spent(self, flow: str, start: float | None = None, end: float | None = None) -> dict[str, Any]:
        """The parts of the time of a flow: `RunResult.time_spent`."""
        return self.result.time_spent(start, end, flow).to_dict()

    def packets(self, flow: str, start: float, end: float, until: float = 0.0) -> dict[str, Any]:
        """Segments, ACKs, losses and retransmissions of a short span; see `packets.Packets`.

        With several spans, `until` is the end of the last one.
        """
        self._check_window(start, end)
        # One after the other: a first span may run the scenario again, and the spans share a capture.
        with self._finding:
            return self._packets.between(flow, start, end, until)

    def _check_window(self, start: float, end: float) -> None:
        latest = self.result.simulated_s
        if not 0 <= start < end <= latest * (1 + 1e-9):
            raise BentpipeError(f"from {start:g} s to {end:g} s\n  expected a window in 0 to {latest:g} s")

    def _array(self, name: str, of: str) -> tuple[Values, Values]:
        with self._keeping:
            if (name, of) not in self._columns:
                self._columns[name, of] = self._read(name, of)
                # The oldest one makes room: a long run has gigabytes.
                while len(self._columns) > 1 and self.kept_bytes > ARRAYS_BYTES_MOST:
                    del self._columns[next(iter(self._columns))]
            return self._columns[name, of]

    @property
    def kept_bytes(self) -> int:
        """Memory of the arrays that are kept."""
        return sum(times.nbytes + values.nbytes for times, values in self._columns.values())

    def _read(self, name: str, of: str) -> tuple[Values, Values]:
        if name.startswith(LOSSES):
            rows = self.result.series("losses", flow=of).filter(pl.col("cause") == name.removeprefix(LOSSES))
            times = rows["time_s"].to_numpy()
            return times, np.ones(len(times))
        if name in profiles.SERIES:
            return profiles.steps(self._network, name, of, self.result.simulated_s)
        if name.startswith(f"{VALUES}:"):
            rows = self.result.series(VALUES, flow=of).filter(name=name.removeprefix(f"{VALUES}:"))
            return rows["time_s"].to_numpy(), rows[VALUES].to_numpy()
        entity = next(each["of"] for each in self.described if each["name"] == name)
        rows = self.result.series(name, **{entity: of})
        return rows["time_s"].to_numpy(), rows[name].cast(pl.Float64).to_numpy()

    @cached_property
    def busy_links(self) -> list[str]:
        """All links, those with the longest queues on average first."""
        queues = (
            self.result.recorded["queue_bytes"].group_by("link", maintain_order=True).agg(pl.col("queue_bytes").mean())
        )
        means = dict(queues.iter_rows())
        return sorted(self.result.scenario.link_names, key=lambda link: -(means.get(link) or 0.0))

    @cached_property
    def terminals(self) -> dict[str, str]:
        """Links in a medium with its name, those with the longest waits for grants first."""
        waits = self.result.terminals.sort("grant_wait_mean_s", descending=True, nulls_last=True, maintain_order=True)
        return dict(waits.select("link", "medium").iter_rows())

    def _command(self) -> str | None:
        if "command" in self.own:
            return str(self.own["command"])
        try:
            return self.result.command()
        except BentpipeError:
            return None

    def _marks(self, flow: str) -> list[dict[str, Any]]:
        found = self._teller.explanation(flow).select_kinds(*MARKS)
        return [{**each.to_dict(), "flow": flow} for each in found]

    def _happenings(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Happenings of the first flows in order of time, and notes. Those of the path are there once."""
        flows, seen, found = self.result.scenario.flow_names[:FLOWS_MOST], set(), []
        notes = []
        for flow in flows:
            marks = self._marks(flow)
            if len(marks) > HAPPENINGS_MOST:
                notes.append(f"{flow}: the strip marks {HAPPENINGS_MOST} of {len(marks)} happenings")
            for each in marks[:HAPPENINGS_MOST]:
                if each["kind"] in ("handover", "outage", "change"):
                    if (each["time_s"], each["text"]) in seen:
                        continue
                    seen.add((each["time_s"], each["text"]))
                    each["flow"] = ""
                found.append(each)
        return sorted(found, key=lambda each: float(each["time_s"])), notes
