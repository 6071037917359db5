"""Data of one run for the view: facts, thinned series, values at an instant, reasons.

`RunResult` gives a Python user the same answers. This module only thins, selects and bounds them.
"""

from __future__ import annotations

import json
import struct
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import _core
from bentpipe.catalog import dictionary, unknown
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.curves import ROUTE_QUEUE, VALUES, about_route_queue
from bentpipe.experiment.common.paths import list_subflows
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.experiment.why.explanation import LIMITS
from bentpipe.experiment.why.sentences import Teller
from bentpipe.scenario.differences import find_differences
from bentpipe.statistics.curve import Curve
from bentpipe.studio import profiles, series
from bentpipe.studio.flows import gather_flows
from bentpipe.studio.packets import Packets

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from bentpipe.scenario.differences import Difference
    from bentpipe.statistics.curve import Columns

MARKS = (
    "handover",
    "outage",
    "change",
    "loss",
    "timeout",
    "reduction",
    "no-reduction",
    "ecn-reduction",
    "undo",
    "fall",
)
"""Kinds of happenings that the strip marks."""
FLOWS_MOST = 32
"""Flows whose happenings are among the facts of a run. """
HAPPENINGS_MOST = 3000
"""Happenings of a flow; further ones are counted in a note."""
ACCESS = {f"{part}_mean_s": part for part in ("asking", "behind", "turn", "sending", "air")}
"""Columns of the parts of the delay in a medium."""
HAPPENINGS_BEFORE = 20
"""Happenings before an instant that come with its sentences."""
LOSSES = "losses:"
"""Begin of the names of series that count the losses of one cause."""
ARRAYS_BYTES_MOST = 64_000_000
"""Memory of the curves that are kept; the last one is kept at any size."""
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
        self._kept: dict[tuple[str, str], Curve] = {}
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
        """Name, entity, unit, meaning and kind of each available series."""
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
                "kind": each["kind"],
                **({"names": names} if each["name"] == "modcod" else {}),
                **({"states": self._states(each["name"])} if each["name"] in ("cc_state", "limited_by") else {}),
            }
            for each in (*dictionary()["series"], about_route_queue())
            if each["name"] in {*self.result.recorded, ROUTE_QUEUE} and each["name"] != VALUES
        ]
        if VALUES in self.result.recorded:
            found += [
                {"name": f"{VALUES}:{name}", "of": "flow", "unit": "1", "meaning": name, "kind": "level"}
                for name in self.result.recorded[VALUES]["name"].unique(maintain_order=True)
            ]
        found += profiles.describe_series(self._network)
        causes = set(self.result.recorded["losses"]["cause"].unique())
        return found + [
            {"name": f"{LOSSES}{each['name']}", "of": "flow", "unit": "1", "meaning": each["meaning"], "kind": "count"}
            for each in dictionary()["causes"]
            if each["name"] in causes
        ]

    def _states(self, series: str) -> dict[str, str]:
        """Names of the numbers of a series."""
        if series == "limited_by":
            return {str(number): name for number, name in enumerate(LIMITS)}
        rows = self.result.recorded[series].select(series, "name").unique().sort(series)
        return {str(int(number)): name for number, name in rows.iter_rows()}

    def meta(self) -> dict[str, Any]:
        """The facts and the happenings of the run as plain data."""
        result = self.result
        scenario = result.scenario
        happenings, notes = self._happenings()
        trips = {row["flow"]: row["rtt_p50_s"] for row in (*result.rows("flows"), *result.rows("subflows"))}
        paths = {flow: list_subflows(scenario, flow) for flow in scenario.flow_names}
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
            # The subflows of a flow come after it.
            "flows": [
                name
                for flow in sorted(scenario.flow_names, key=lambda flow: trips[flow] is None and not paths[flow])
                for name in (flow, *paths[flow])
            ],
            "paths": {flow: names for flow, names in paths.items() if names},
            "links": scenario.link_names,
            "rtt_s": trips,
            "completion_s": dict(result.flows.select("flow", "completion_s").drop_nulls().iter_rows()),
            "busiest": self.busy_links[0] if self.busy_links else None,
            "terminals": self.terminals,
            "access": self._list_access(),
            "adapted": result.find_adapted_links(),
            "senders": dict(result.flows.select("flow", "cc").drop_nulls().iter_rows()),
            "series": self.described,
            "happenings": happenings,
            "statements": result.statements,
            "notes": [*result.notes, *notes],
            "has_sky": scenario.has_sky or bool(self.own.get("has_sky")),
            "epoch": None,
        }

    def series(self, name: str, of: str, start: float = 0.0, end: float | None = None, columns: int = 1000) -> bytes:
        """A series of a flow or link in the columns of a plot, by `Curve.cut`; see `pack_columns`.

        Raises
        ------
        BentpipeError
            There is no such series, flow, link or window.
        """
        end = self.result.simulated_s if end is None else end
        self._check_window(start, end)
        if not 1 <= columns <= COLUMNS_MOST:
            raise BentpipeError(f"columns = {columns}\n  expected 1 to {COLUMNS_MOST}")
        return pack_columns(self.curve(name, of).cut(start, end, columns))

    def rows(self, name: str, of: str) -> int:
        """Number of periods that a series of a flow or link has."""
        return len(self.curve(name, of).begins)

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

    def flows(self, name: str, start: float, end: float, columns: int, order: str) -> dict[str, Any]:
        """A series of all flows; see `gather_flows`."""
        self._check_window(start, end)
        return gather_flows(self.result, name, start, end, columns, order)

    def find_differences(self, others: Iterable[RunData]) -> list[list[Difference]]:
        """Settings in which each of the other runs differs from this one."""
        return [find_differences(self.result.scenario, each.result.scenario) for each in others]

    def curve(self, name: str, of: str) -> Curve:
        """A series of a flow or link as a curve.

        Raises
        ------
        BentpipeError
            There is no such series, flow or link.
        """
        known = [each["name"] for each in self.described]
        if name not in known:
            raise BentpipeError(unknown(name, "a series of this run", known))
        with self._keeping:
            if (name, of) not in self._kept:
                self._kept[name, of] = self._read(name, of)
                # The oldest one makes room: a long run has gigabytes.
                while len(self._kept) > 1 and self.kept_bytes > ARRAYS_BYTES_MOST:
                    del self._kept[next(iter(self._kept))]
            return self._kept[name, of]

    @property
    def kept_bytes(self) -> int:
        """Memory of the curves that are kept."""
        return sum(each.begins.nbytes * 3 for each in self._kept.values())

    def _read(self, name: str, of: str) -> Curve:
        if name.startswith(LOSSES):
            # Those of a flow over several paths are those of its subflows.
            scenario = self.result.scenario
            known = [*scenario.flow_names, *scenario.subflow_names]
            if of not in known:
                raise BentpipeError(unknown(of, "a flow of this scenario", known))
            rows = self.result.series("losses").filter(
                pl.col("flow").is_in([of, *list_subflows(scenario, of)]), pl.col("cause") == name.removeprefix(LOSSES)
            )
            return Curve.from_events(rows["time_s"].to_numpy())
        if name in profiles.SERIES:
            end_s = self.result.simulated_s
            return Curve.from_rows("level", *profiles.steps(self._network, name, of, end_s), [(0.0, end_s)])
        if name == profiles.ROUTE_RATE:
            return profiles.find_route_rate(self._network, self.result, of)
        return self.result.curve(name, of)

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

    def _list_access(self) -> dict[str, dict[str, float]]:
        """By link in a medium that carried packets, the mean parts of their delay, s."""
        rows = self.result.terminals.select("link", *ACCESS).drop_nulls().iter_rows()
        return {link: dict(zip(ACCESS.values(), parts, strict=True)) for link, *parts in rows}

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
        scenario = self.result.scenario
        flows, seen, found = [*scenario.flow_names, *scenario.subflow_names][:FLOWS_MOST], set(), []
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


def pack_columns(columns: Columns) -> bytes:
    """Pack columns as little-endian bytes for the scripts.

    The order is: number of columns and a flag for extremes (uint32), width and end (float64), the begins (float64), the
    values (float32), and with the flag the least and greatest values (float32). NaN is an unknown value.
    """
    with np.errstate(invalid="ignore"):
        has_extremes = bool(np.any((columns.least != columns.greatest) & ~np.isnan(columns.values)))
    arrays = (columns.values, columns.least, columns.greatest) if has_extremes else (columns.values,)
    head = struct.pack("<IIdd", len(columns.begins), has_extremes, columns.width_s, columns.end_s)
    return head + columns.begins.astype("<f8").tobytes() + b"".join(each.astype("<f4").tobytes() for each in arrays)
