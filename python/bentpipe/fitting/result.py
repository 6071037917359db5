"""The result of `fit`: numbers of a path, its check, and the scenario."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import arguments, files, formatting
from bentpipe.catalog import unknown
from bentpipe.contract.result import Result
from bentpipe.contract.tabled import OfTables
from bentpipe.errors import FitError
from bentpipe.experiment.common.hosts import name_hosts
from bentpipe.fitting import draws, rows, simulating, writing
from bentpipe.reports.provenance import Provenance
from bentpipe.scenario.scenario import Scenario
from bentpipe.statistics.estimates import Interval
from bentpipe.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.fitting.checking import Checked, HeldOut
    from bentpipe.fitting.losses import Losses
    from bentpipe.fitting.measured import Array, Load, Probes, Record
    from bentpipe.fitting.numbers import Number
    from bentpipe.fitting.slots import Slots
    from bentpipe.statistics.estimates import Estimate

FORM = "bentpipe fit"
DRAWS = 20
DRAWS_MAX = 1000
TITLE_MAX = 60


@dataclass(frozen=True, repr=False, eq=False)
class Fit(Result):
    """A path that was fitted to measurements.

    Attributes
    ----------
    numbers : tuple of Number
        Each number of the path with its interval, its method, its file, and whether it is fitted, a lower bound or
        assumed.
    check : tuple of Checked
        Each quantity of the measurement beside its simulation; empty without the check.
    held_out : HeldOut or None
        Quantiles of the second half, compared with draws from the first half; None if not requested, or if the
        measurement is short.
    notes : tuple of str
        Remarks on the files, and on parts that were left out.
    records : tuple of Record
        Content of each file in numbers: kind, samples, span and remarks.
    probes : Probes or None
        All probes; None without any.
    loads, below : tuple of Load
        All transfers; those that stayed below the rate.
    losses : Losses or None
        Losses of the round trip; None if no record of probes shows them.
    losses_by : dict
        Losses by direction, if a record has the direction of each loss.
    """

    charts = ("all", "delay", "quantiles")
    names = ("path",)

    sources: tuple[str, ...]
    numbers: tuple[Number, ...]
    check: tuple[Checked, ...]
    held_out: HeldOut | None
    notes: tuple[str, ...]
    records: tuple[Record, ...] = field(repr=False)
    probes: Probes | None = field(repr=False)
    loads: tuple[Load, ...] = field(repr=False)
    below: tuple[Load, ...] = field(repr=False)
    slots: Slots = field(repr=False)
    losses: Losses | None = field(repr=False)
    losses_by: Mapping[str, Losses] = field(repr=False)
    sending_s: draws.Sending = field(repr=False)
    rates_bps: Array | None = field(repr=False)
    trace: draws.Trace = field(repr=False)
    simulated_s: Array = field(repr=False)
    """Simulated round trips; empty without the check."""
    asked: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def scenario(self) -> Scenario:
        """The fitted scenario as `save` writes it, but with the traces inside it as points."""
        with simulating.place_traces(writing.make_files(self.trace)) as folder:
            written = Scenario(self.text(simulating.FOLDER), source="path.toml", folder=folder)
            # The temporary folder ends here, and later runs read the text again.
            return Scenario(written.resolve(), source="path.toml")

    @property
    def by_name(self) -> dict[str, Number]:
        """The numbers by name."""
        return {each.name: each for each in self.numbers}

    @property
    def verdict(self) -> str:
        """The verdict of the check: `agrees`, `differs` or `undecided` with the quantities, or `not checked`.

        The held-out half is the first quantity, because a simulation of the same data hardly differs from the data.
        """
        if not self.check:
            return "not checked"
        changed = ["held-out half"] if self.held_out is not None and self.held_out.has_changed else []
        for verdict, first in (("differs", changed), ("undecided", [])):
            if found := [*first, *(each.quantity for each in self.check if each.verdict == verdict)]:
                return f"{verdict}: {', '.join(found)}"
        return "agrees"

    @property
    def hosts(self) -> str:
        return name_hosts([self.scenario.hosts])

    @property
    def runs(self) -> pl.DataFrame:  # type: ignore[override]
        """The compared quantities: `quantity`, `unit`, `measured`, `simulated`, `verdict`."""
        schema = {"quantity": pl.String, "unit": pl.String, "measured": pl.Float64, "simulated": pl.Float64}
        return pl.DataFrame([each.to_dict() for each in self.check], schema={**schema, "verdict": pl.String})

    @property
    def table(self) -> pl.DataFrame:
        """A row per number."""
        schema = {"name": pl.String, "value": pl.Float64, "unit": pl.String, "low": pl.Float64, "high": pl.Float64}
        texts = dict.fromkeys(("how", "source", "kind"), pl.String)
        return pl.DataFrame([each.to_dict() for each in self.numbers], schema={**schema, **texts})

    @property
    def differences(self) -> pl.DataFrame:
        """A row per compared quantity with `difference`, simulated minus measured."""
        return self.runs.with_columns(difference=pl.col("simulated") - pl.col("measured"))

    @property
    def statements(self) -> list[str]:
        """The check and the held-out half in words."""
        said = []
        for each in self.check:
            theirs, ours = (formatting.quantity(value, each.unit) for value in (each.simulated, each.measured))
            beside = f"W1 {theirs}" if each.quantity == "rtt W1" else f"simulated {theirs}, measured {ours}"
            beside = f"rows {ours}, total of the file {theirs}" if each.is_total else beside
            said.append(f"{each.quantity} {each.verdict}: {beside}")
        return [*said, *([self.held_out.statement] if self.held_out else [])]

    def draw(self, count: int = DRAWS, *, duration: float | None = None, seed: int = 1) -> list[pl.DataFrame]:
        """Draw traces: whole slots of the measurement, with replacement.

        Parameters
        ----------
        count : int
            Number of traces.
        duration : float, optional
            Length in seconds. Default: that of the scenario.
        seed : int
            Seed of the draws. A trace depends on its seed and its number only.

        Returns
        -------
        list of polars.DataFrame
            Columns `time_s`, `fwd_ms`, `rev_ms`, and `rate_mbps` if the rate changes from slot to slot.
        """
        return [pl.read_csv(text.encode()) for text in self._write_draws(count, duration, seed)]

    def _write_draws(self, count: int, duration: float | None, seed: int) -> list[str]:
        arguments.number("count", count, 1, DRAWS_MAX)
        if self.probes is None:
            raise FitError(
                "no probes were measured, so there are no draws\n  expected a ping or irtt beside the transfer"
            )
        length = self.duration_s if duration is None else arguments.number("duration", duration, 1.0)
        return [
            writing.draw_file(
                draws.draw(
                    self.probes,
                    self.slots,
                    length,
                    np.random.default_rng([seed, number]),
                    self.sending_s,
                    self.rates_bps,
                )
            )
            for number in range(int(count))
        ]

    @property
    def duration_s(self) -> float:
        """Duration of the scenario in seconds."""
        longest = self.trace.time_s[-1] if self.probes else self.loads[0].interval_s.sum()
        return float(np.floor(np.clip(longest, 1.0, writing.DURATION_MAX_S)))

    def text(self, folder: str, *, slots: bool = False) -> str:
        """Return the scenario as TOML, with traces as files of a folder, or with the measured slots inside."""
        loaded = self.loads[0] if self.loads else None
        # Without a measured transfer, the terminal downloads.
        flows = simulating.make_transfer(loaded) if loaded else writing.transfer("forward")
        checked = [f"Check: {self.verdict}.", *(f"{each}." for each in self.statements)]
        head = writing.make_head([self._about(each) for each in self.sources], __version__, checked)
        title = f"Path of {', '.join(self.sources)}"
        title = title if len(title) <= TITLE_MAX else f"{title[:TITLE_MAX]}..."
        return writing.write_scenario(self.parts(slots=slots), folder, head, flows, title, self.duration_s)

    def parts(self, *, slots: bool = False) -> writing.Parts:
        """Return the parts of the text of the scenario: the trace, or the measured slots in its place."""
        shares = writing.find_shares(self.probes, [each.direction for each in self.loads], self.by_name)
        found = None
        if slots:
            if self.probes is None:
                raise FitError("no probes were measured, so there are no slots\n  expected a ping beside the transfer")
            found = rows.write_slots(self.probes, self.slots, self.sending_s, self.rates_bps, shares["forward"])
        return writing.Parts(self.by_name, self.losses, self.losses_by, shares, self.slots, self.trace, found)

    def _about(self, source: str) -> str:
        """Describe a file: its probes or its intervals."""
        if self.probes is not None and source in self.probes.source.split(", "):
            return f"{source} (probes)"
        count = sum(len(load.bytes) for load in self.loads if load.source == source)
        return f"{source} ({formatting.count(count, 'interval')})"

    def save(self, folder: str | os.PathLike[str], *, draws: int = DRAWS, slots: bool = False) -> None:
        """Write the scenario: `path.toml`, and its traces in `path.data`. It replaces an older fit that was not edited.

        Parameters
        ----------
        folder : path
            Name of the scenario; it ends in `.toml`.
        draws : int
            Number of drawn traces in `path.data/draws`; 0 for none.
        slots : bool
            Whether the scenario has the measured slots in place of the trace. Each run then draws its slots by its
            seed, and no drawn traces are written. The period of the slots must be known or found.

        Raises
        ------
        FitError
            The place has files that are not from a fit, or the path has no slots of a known length.
        """
        place = check_place(folder)
        data = place.with_suffix(".data")
        content = {} if slots else writing.make_files(self.trace)
        # A scenario without traces has no place for a draw.
        drawn = self._write_draws(draws, None, 1) if draws and content else []

        def fill(inside: Path) -> None:
            for name, text in content.items():
                (inside / name).write_text(text, encoding="utf-8")
            if drawn:
                (inside / "draws").mkdir()
            for number, text in enumerate(drawn, 1):
                (inside / "draws" / f"draw-{number:03}.csv").write_text(text, encoding="utf-8")

        text = self.text(data.name, slots=slots) + writing.search(data.name, self.slots.period_s, is_drawn=bool(drawn))
        digests = {"scenario_digest": _digest(text.encode())}
        if place.exists():
            # If this process ends between the two files, the next fit may replace the older scenario, too.
            digests["replaced_digest"] = _digest(place.read_bytes())
        files.put_folder(data, FORM, fill, provenance={**self._provenance(), **digests})
        files.replace_text(place, text)

    def command(self) -> str:
        """Return the shell command that repeats the fit."""
        options = [part for name, value in self.asked.get("options", ()) for part in (f"--{name}", value)]
        return shlex.join(["bentpipe", "fit", *self.asked.get("data", self.sources), *filter(None, options)])

    def _estimate(self, of: str, metric: str) -> Interval:
        known = self.by_name
        if metric not in known:
            raise FitError(unknown(metric, "a number of the path", known))
        found = known[metric]
        return Interval(1, found.value, found.low, found.high, None)

    def _with_unit(self, found: Estimate | Interval, metric: str) -> Estimate | Interval:
        return found._replace(unit=self.by_name[metric].unit)

    def _figure(self, chart: str, metric: str | None) -> Figure:
        if metric is not None:
            raise FitError("{metric} has no figure\n  expected plot() without a metric", metric=metric)
        from bentpipe.plot.fits import fit_figure

        return fit_figure(self, chart)

    def _provenance(self) -> dict[str, Any]:
        return {"title": self.scenario.title, "version": __version__, "hosts": self.hosts, "command": self.command()}

    def _content(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "files": [asdict(each) for each in self.records],
            "numbers": [each.to_dict() for each in self.numbers],
            "check": [each.to_dict() for each in self.check],
            "held_out": self.held_out.to_dict() if self.held_out else None,
            "scenario": self.text(simulating.FOLDER),
        }

    def _reporter(self) -> Reporter:
        made = Provenance(
            self.scenario.title,
            ", ".join(self.sources),
            "seed 1",
            "",
            f"bentpipe {__version__}",
            "",
            self.command(),
            self.text(simulating.FOLDER),
        )
        return OfTables(self, made, {"check": ("Check", self.runs)})

    def make_notebook_table(self) -> tuple[list[str], list[list[str]], int]:
        """Make a row per number, for people. Return heads, rows, and the number of text columns."""
        rows = [[each.name, each.text if each.value is not None else "-", each.kind, each.how] for each in self.numbers]
        return ["", "value", "", "how"], rows, 4

    def __repr__(self) -> str:
        return f"<Fit {self.scenario.title!r}: {self.verdict}>"


def check_place(path: str | os.PathLike[str]) -> Path:
    """Check the place of a scenario before any work, and return it. An edited scenario is never replaced."""
    place = arguments.path("folder", path, FitError)
    if place.suffix != ".toml":
        raise FitError(f"{place} is not the name of a scenario\n  expected a name that ends in .toml")
    data = place.with_suffix(".data")
    files.refuse_unless_free(data)
    files.refuse_unless_writable(place)
    if place.exists():
        if files.find_form(data) != FORM:
            raise FitError(f"{place} exists and was not written by fit\n  choose another name")
        with files.reading(place):
            written = files.provenance(data, FORM)
            known = (written.get("scenario_digest"), written.get("replaced_digest"))
            is_edited = _digest(place.read_bytes()) not in known
        if is_edited:
            raise FitError(f"{place} was edited since fit wrote it\n  choose another name, or delete the file")
    return place


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
