"""`bentpipe.twin`: simulates a flow, emulates it with the kernel's TCP, and finds the differences."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import arguments, files, formatting
from bentpipe.catalog import unknown
from bentpipe.contract import frames
from bentpipe.contract.result import Result
from bentpipe.contract.tabled import OfTables
from bentpipe.emulation import packets, verdict
from bentpipe.emulation.asked import collect_asked, command_or_none, real_time_command
from bentpipe.emulation.connections import select_flow
from bentpipe.emulation.emulate import carry_out, whole
from bentpipe.emulation.like_kernel import SERIES, name_simulated_cc, spell_simulation
from bentpipe.emulation.ports import list_paths
from bentpipe.emulation.programs import find_program
from bentpipe.emulation.quantities import BY_NAME, Quantity, count_kernel, count_simulation
from bentpipe.emulation.trust import Trust
from bentpipe.errors import EmulationError, Interrupted
from bentpipe.experiment.common.hosts import name_hosts
from bentpipe.experiment.common.options import REPLICATIONS_MAX
from bentpipe.experiment.common.pages import name_pages
from bentpipe.experiment.common.provenance import describe_run
from bentpipe.experiment.single.run import run
from bentpipe.progress import Progress, choose_watch
from bentpipe.scenario.scenario import Scenario, make_scenario
from bentpipe.statistics.estimates import estimate
from bentpipe.statistics.judgement import DEFAULT
from bentpipe.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.emulation.emulate import Emulation
    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.progress import Wish
    from bentpipe.scenario.scenario import AnyScenario
    from bentpipe.statistics.estimates import Estimate

FORM = "bentpipe twin"
BULK = ("greedy", "bulk", "port")
SPARE_S = 5.0
"""Time that an emulated run has beyond the transfer: programs start."""
TRIES = 3
HEADERS = 128
"""Bytes that the headers of a packet have at most."""
LIMITED_SHARE = 0.01
PATHS = ("opener_share", "reinjected_bytes")
SIDES = ("simulated", "emulated")
"""Values of the column `side` in `Twin.runs`."""


@dataclass(frozen=True, repr=False, eq=False)
class Twin(Result):
    """Result of `bentpipe.twin`: one flow, simulated and emulated.

    Attributes
    ----------
    scenario : Scenario
        Simulated scenario, with the settings of the emulated kernel.
    runs : polars.DataFrame
        One row per run: `side` (`simulated`, `emulated`), `seed`, `is_trustworthy`, and the quantities. Columns of the
        congestion window have its mean over time, and its maximum before the sender can know of the first loss. Columns
        of the smoothed round trip have its median and 95 % quantile over time. The others are goodput, lost data
        packets, retransmissions, and counts of the sender: lost and spurious retransmissions, fast recoveries,
        timeouts, undone reductions, reorderings, tail loss probes.
    kernel : dict
        Release and settings of the kernel, as they were read.
    trust : tuple of Trust
        Verdict on each emulated run.
    notes : tuple of str
        Notes on the first packet that differs between a pair of runs, from the captures of both senders. Also notes on
        differences between their losses, and on possible reasons.
    windows : mapping
        The congestion window of one run of each side, under `simulated` and `emulated`; `time_s` counts from the first
        data.
    margins : mapping
        Margins that were given for some quantities, in place of the defaults.
    asked : mapping
        Origin of the scenario (`facts`), and the options of the command line that repeat the call (`options`).
    """

    charts = ("windows",)
    names = ("simulated", "real")

    scenario: Scenario
    runs: pl.DataFrame
    kernel: dict[str, str]
    trust: tuple[Trust, ...]
    notes: tuple[str, ...]
    windows: Mapping[str, pl.DataFrame] = field(repr=False)
    margins: Mapping[str, float] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def hosts(self) -> str:
        return name_hosts([self.scenario.hosts])

    @property
    def pages(self) -> str:
        return name_pages(self.scenario.to_dict()["flow"])

    @property
    def table(self) -> pl.DataFrame:
        """A row per side and quantity. The sides are `simulated` and `real`; only trustworthy emulated runs count."""
        rows = [self._row(of, metric) for of in self.names for metric in self._metrics]
        return frames.table(rows, DEFAULT)

    @property
    def differences(self) -> pl.DataFrame:
        """A row per quantity, `real` minus `simulated`. `is_shown` is true if the verdict is `differs`.

        The interval is at 95 %, as in `quantities`. The columns of tests are null, because there is no test.
        """
        rows = [each.row(self._runs("real").height) for each in self.quantities]
        return frames.differences(rows, DEFAULT)

    @property
    def statements(self) -> list[str]:
        """The verdict."""
        return [self.verdict]

    @cached_property
    def quantities(self) -> list[verdict.Judged]:
        """Each quantity on both sides, with its verdict; empty if no emulated run was trustworthy."""
        return verdict.judge_runs(self.runs.to_dicts(), self.margins)

    @property
    def verdict(self) -> str:
        """A sentence: both sides agree, differ in some quantities, or the runs cannot tell.

        Without runs, the reason.
        """
        return verdict.whole(self.quantities)

    @property
    def more_runs(self) -> int | None:
        """Further emulated runs that would decide all quantities; 0 if all are decided, None if above 1000."""
        return verdict.more_runs(self.quantities)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the runs and both windows as Parquet, the scenario, and all of `to_dict` into a folder."""
        tables = {"runs": self.runs, **{f"window-{side}": table for side, table in self.windows.items()}}
        facts = {**self._provenance(), "notes": self.notes, "asked": self.asked, **self._content()}
        files.write(folder, FORM, tables=tables, scenario=self.scenario.resolve(), provenance=facts)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Twin:
        """Open what `save` wrote.

        Raises
        ------
        BentpipeError
            The folder is not the result of a twin, or is damaged.
        """
        facts = files.provenance(folder, FORM)
        with files.reading(folder):
            text = (Path(folder) / "scenario.toml").read_text(encoding="utf-8")
            return cls(
                scenario=Scenario(text, source=str(Path(folder) / "scenario.toml")),
                runs=files.table(folder, "runs"),
                kernel=facts["kernel"],
                trust=tuple(Trust.from_dict(each) for each in facts["trust"]),
                notes=tuple(facts["notes"]),
                windows={side: files.table(folder, f"window-{side}") for side in SIDES},
                margins=facts["margins"],
                asked=facts["asked"],
            )

    def command(self) -> str:
        """Write the shell command that repeats the comparison. Real time gives other numbers.

        Raises
        ------
        BentpipeError
            The scenario was given in Python.
        """
        return real_time_command("twin", self.asked)

    def _estimate(self, of: str, metric: str) -> Estimate:
        if metric not in self._metrics:
            raise EmulationError(unknown(metric, "a quantity of twin", self._metrics))
        return estimate(self._runs(of)[self._metrics[metric].name].to_numpy(), DEFAULT.confidence)

    @property
    def _metrics(self) -> dict[str, Quantity]:
        """Quantities that all runs have, by their short names."""
        kept = (each for each in BY_NAME.values() if each.name in self.runs.columns)
        return {each.short: each for each in kept if not self.runs[each.name].has_nulls()}

    def _runs(self, of: str) -> pl.DataFrame:
        """Trustworthy runs of a side."""
        return self.runs.filter(pl.col("side") == dict(zip(self.names, SIDES, strict=True))[of], "is_trustworthy")

    def _row(self, of: str, metric: str) -> dict[str, Any]:
        """Make a row of `table`."""
        found, unit = self._estimate(of, metric), self._metrics[metric].unit or "1"
        about = {"of": of, "metric": metric, "unit": unit, "replications": found.replications}
        return {**about, "mean": found.mean, "low": found.low, "high": found.high, "is_bound": False}

    def _provenance(self) -> dict[str, Any]:
        return {"title": self.scenario.title, "version": __version__, "hosts": self.hosts, "kernel": self.kernel}

    def _content(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "more_runs": self.more_runs,
            "quantities": [each.to_dict() for each in self.quantities],
            "kernel": self.kernel,
            "margins": dict(self.margins),
            "trust": [each.to_dict() for each in self.trust],
            "runs": self.runs.to_dicts(),
        }

    def _reporter(self) -> Reporter:
        made = replace(describe_run(self.scenario, __version__), command=command_or_none(self), replications="")
        quantities = pl.DataFrame([each.to_dict() for each in self.quantities])
        return OfTables(self, made, {"quantities": ("Verdicts", quantities), "runs": ("Runs", self.runs)})

    def __repr__(self) -> str:
        return f"<Twin {self.scenario.title!r} with {self.kernel['cc']}: {self.verdict}>"

    def make_notebook_table(self) -> tuple[list[str], list[list[str]], int]:
        """Make a row per quantity, for people. Return heads, rows, and the number of text columns."""
        rows = []
        for each in self.quantities:
            edges = (each.difference_low, each.difference_high)
            values = (each.simulated, each.emulated, each.difference, *edges, each.margin)
            cells, unit = formatting.column(values, BY_NAME[each.quantity].unit)
            rows.append([f"{each.name} ({unit})" if unit else each.name, *cells, each.verdict])
        return ["", "simulated", "emulated", "difference", "from", "to", "margin", "verdict"], rows, 1

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        head = f"Linux {self.kernel['release']} with {self.kernel['cc']}, and its simulation"
        return notebook.page(head, [self.make_notebook_table()], [self.verdict, *self.notes], self.plot)

    def _figure(self, chart: str, metric: str | None) -> Figure:
        """Draw the window of one run of each side over time."""
        if metric is not None:
            raise EmulationError(
                "{metric} has no figure: a twin draws congestion windows\n  expected plot() without a metric",
                metric=metric,
            )
        from bentpipe.plot import COLOURS
        from bentpipe.plot.style import blank, plain, style

        with style():
            figure, (axes,) = blank(1, height=2.2)
            for colour, (side, window) in zip(COLOURS, self.windows.items(), strict=False):
                kilobytes = window["cwnd_bytes"] / 1e3
                axes.plot(window["time_s"], kilobytes, color=colour, linewidth=0.9, drawstyle="steps-post", label=side)
            axes.set_xlabel("Time since the first data (s)")
            axes.set_ylabel("Congestion window (kB)")
            axes.set_ylim(bottom=0)
            axes.legend()
            figure.suptitle(plain(self.scenario.title), x=0.02, ha="left")
        return figure


def twin(
    scenario: AnyScenario,
    *,
    flow: str | None = None,
    cc: str | None = None,
    replications: int = 30,
    emulations: int = 3,
    margin: str | Mapping[str, str] | None = None,
    seed: int | None = None,
    progress: Wish = None,
) -> Twin:
    """Compare a simulated bulk transfer with the kernel's TCP over the same path.

    Simulated senders get the preset `linux-6` with the congestion control and the settings of the kernel. Other flows
    are simulated on both sides: with that preset in the simulation, and with the settings of the file in the emulation.
    Each emulated run takes the scenario's duration. An untrustworthy run is repeated, at most three times.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        See `bentpipe.run`.
    flow : str, optional
        Flow to emulate. Default: the first bulk flow, or the first with a port. It starts at 0 s and sends until the
        end.
    cc : str, optional
        Congestion control, by its name in the kernel or in bentpipe (`bbr`, `bbr1`). By default, the machine's setting
        applies.
    replications, emulations : int
        Number of simulated runs (at least 2) and of emulated runs (at least 1). The first run has the scenario's seed,
        the next ones follow. There are at least as many simulated runs as emulated runs, so each emulated run has a
        simulated run of the same seed.
    margin : str or mapping, optional
        The smallest difference that matters, as a share of the simulated value: `5 %` for all quantities, or a share by
        quantity (`goodput`, `cwnd`, `first-loss`, `srtt`, `srtt-p95`, `lost`, `retransmissions`, or a counter such as
        `timeouts`). The default is 10 %, and 15 % for windows. The 1 % of other verbs would be too small, because a few
        runs in real time cannot show it. A difference of a millisecond, or of three in a count, never matters.
    seed : int, optional
        Seed of the first run of each side. The default is the scenario's seed.
    progress : callable or bool, optional
        A callable that receives a `Progress` before each run; `Progress.doing` names the run. Or whether to show a bar,
        as in `bentpipe.run`.

    Raises
    ------
    EmulationError
        As in `emulate`. Also: there is no bulk flow, the simulator has no such congestion control, or a margin is
        invalid.
    Interrupted
        Ctrl-C was pressed. There is no result: a verdict needs the runs of both sides.
    """
    margins = verdict.margins(margin)
    scenario = make_scenario(scenario)
    options = {"flow": flow, "cc": cc, "margin": margin, "seed": seed}
    asked = collect_asked(scenario, {**options, "replications": replications, "emulations": emulations})
    if seed is not None:
        scenario = scenario.with_seed(seed)
    content = scenario.to_dict()
    name = _bulk(content["flow"]) if flow is None else flow
    if name not in content["flow"]:
        raise EmulationError(unknown(name, "a flow", content["flow"]))
    arguments.whole("replications", replications, 2, REPLICATIONS_MAX, error=EmulationError)
    arguments.whole("emulations", emulations, 1, REPLICATIONS_MAX, error=EmulationError)
    replications = max(replications, emulations)
    how_far = Progress(total=emulations + replications)
    with tempfile.TemporaryDirectory() as folder, choose_watch(progress) as watch:

        def say(what: str) -> None:
            how_far.done += bool(how_far.doing)
            how_far.doing = what
            if watch is not None:
                watch(how_far)

        try:
            found = _twin(scenario, name, cc, replications, emulations, margins, say, Path(folder))
        except KeyboardInterrupt:
            done = f"{how_far.done:,} of {how_far.total:,} runs"
            raise Interrupted(f"interrupted after {done}; all are discarded, so there is no verdict") from None
        return replace(found, asked=asked)


def _twin(
    scenario: Scenario,
    name: str,
    cc: str | None,
    replications: int,
    emulations: int,
    margins: Mapping[str, float],
    say: Callable[[str], object],
    folder: Path,
) -> Twin:
    """Runs both sides, with captures in a folder."""
    emulated = []
    for number in range(emulations):
        say(f"emulated run {number + 1} of {emulations}, {scenario.duration_s:g} s each")
        emulated.append(
            _emulate_until_trusted(scenario, name, cc, scenario.seed + number, folder / f"emulated-{number}.pcapng")
        )
    kernel = emulated[0].kernel
    like = spell_simulation(scenario, name, name_simulated_cc(kernel["cc"]), kernel)
    simulated = []
    # With the seed of the simulated run beside it, and if possible trustworthy.
    shown = next((number for number, side in enumerate(emulated) if side.is_trustworthy), 0)
    shown_beside, capture = min(shown, replications - 1), folder / "simulated.pcapng"
    for number in range(replications):
        say(f"simulated run {number + 1} of {replications}")
        pcap = capture if number == shown_beside else None
        simulated.append(describe_simulation(run(like, seed=scenario.seed + number, pcap=pcap, progress=False), name))
    rows = [side.row() for side in (*simulated, *emulated)]
    runs = pl.DataFrame(rows)
    beside, flows = simulated[shown_beside], like.to_dict()["flow"]
    parts = [verdict.divergence(beside.losses_s, emulated[shown].losses_s, beside.values["srtt_p50_s"])]
    # Subflows have separate sequence numbers.
    if "subflow" not in flows[name]:
        here, there = (
            files.find_capture(each, flows[name]["from"]) for each in (capture, folder / f"emulated-{shown}.pcapng")
        )
        apart = packets.divergence(packets.sent(here, list(flows).index(name)), packets.sent(there))
        parts.insert(0, apart)
    return Twin(
        scenario=like,
        runs=runs,
        kernel=kernel,
        trust=tuple(side.trust for side in emulated if side.trust is not None),
        notes=(*parts, *dict.fromkeys(note for side in (beside, *emulated) for note in side.notes)),
        windows={"simulated": beside.window, "emulated": emulated[shown].window},
        margins=margins,
    )


@dataclass(frozen=True)
class _Side:
    """One run of one side."""

    side: str
    seed: int
    values: dict[str, float]
    window: pl.DataFrame
    losses_s: list[float]
    kernel: dict[str, str] = field(default_factory=dict)
    trust: Trust | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_trustworthy(self) -> bool:
        return self.trust is None or self.trust.is_trustworthy

    def row(self) -> dict[str, Any]:
        about = {"side": self.side, "seed": self.seed, "is_trustworthy": self.is_trustworthy}
        return {**about, **self.values}


def _bulk(flows: dict[str, Any]) -> str:
    found = next((name for name, flow in flows.items() if flow["app"]["kind"] in BULK), None)
    if found is None:
        raise EmulationError(
            "the scenario has no bulk flow\n"
            "  expected a flow with app = 'greedy' or 'port', or the name of another flow"
        )
    return found


def _emulate_until_trusted(scenario: Scenario, name: str, cc: str | None, seed: int, pcap: Path) -> _Side:
    """Repeat a run until it is trustworthy, a few times: a machine is seldom busy all the time."""
    for _ in range(TRIES):
        found = _emulate_side(scenario, name, cc, seed, pcap)
        if found.is_trustworthy:
            break
    return found


def _emulate_side(scenario: Scenario, name: str, cc: str | None, seed: int, pcap: Path) -> _Side:
    content = scenario.to_dict()
    # The programs of the transfer end by themselves.
    content["duration"] = f"{scenario.duration_s + SPARE_S} s"
    content["record"] = {**content["record"], "series": ["losses"]}
    longer = scenario.with_content(content)
    fetch = [*find_program("fetch"), str(scenario.duration_s)]
    # The line about speed is for people; only headers of packets are compared.
    more: dict[str, Any] = {"pcap": pcap, "pcap_bytes": HEADERS, "quiet": True}
    found = whole(carry_out(longer, fetch, serve=find_program("bulk"), flow=name, seed=seed, cc=cc, **more))
    flow = content["flow"][name]
    lanes = _list_lanes(scenario, name)
    # Windows and round trips are those of the subflow that opens the connection.
    sender = select_flow(found.samples, lanes[0]).filter(pl.col("srtt_s") > 0)
    if sender.is_empty():
        raise EmulationError(
            "the kernel reported no data of the transfer\n  expected a kernel with sock_diag (tcp_diag)"
        )
    start_s = sender["time_s"][0]
    # The same span as of the simulated run: from its first round trip, which the handshake gives.
    sender = sender.filter(pl.col("time_s") <= start_s + scenario.duration_s - sender["srtt_s"][0])
    if sender.height < 2:
        raise EmulationError(
            "the run ended before the first data were acknowledged\n  expected a duration of several round trips"
        )
    last = sender.row(-1, named=True)
    losses = _losses(found.result, lanes).filter(pl.col("time_s") <= last["time_s"])
    whole_flow = _sum_paths(found, flow["from"], lanes, last["time_s"]) if len(lanes) > 1 else last
    values = {
        "goodput_bps": 8 * whole_flow["acked_bytes"] / (last["time_s"] - start_s),
        **verdict.measure_run(sender, sender, losses, start_s=start_s, end_s=last["time_s"]),
        "retransmissions": float(whole_flow["retransmissions"]),
        **{name: whole_flow[name] for name in PATHS if name in whole_flow},
        **count_kernel(found.counters[flow["from"]], found.counters[flow["to"]], found.kernel),
    }
    kernel = {**found.kernel, "cc": last["cc"]}
    return _Side(
        "emulated",
        seed,
        values,
        sender.select(pl.col("time_s") - start_s, "cwnd_bytes"),
        (losses["time_s"] - start_s).to_list(),
        kernel,
        found.trust,
        _reasons(found, last, last["time_s"] - start_s),
    )


def _list_lanes(scenario: Scenario, name: str) -> list[str]:
    """List the flow, or its subflows in order of their start."""
    return [path.flow for path in list_paths(scenario, name)] or [name]


def _sum_paths(found: Emulation, sender: str, lanes: Sequence[str], end_s: float) -> dict[str, float]:
    """Sum the kernel's reports on the paths of the connection that sent most, until an instant."""
    whole_connection = found.multipath.filter(pl.col("host") == sender, pl.col("time_s") <= end_s)
    if whole_connection.is_empty() or whole_connection["acked_bytes"].has_nulls():
        raise EmulationError(
            "the kernel reported no data of the connection over several paths\n"
            "  expected Linux 6.5 or later with sock_diag (mptcp_diag)"
        )
    last = whole_connection.sort("acked_bytes").row(-1, named=True)
    ends = [
        select_flow(found.samples, lane).filter(pl.col("host") == sender, pl.col("time_s") <= end_s) for lane in lanes
    ]
    acked, again = (
        [0 if end.is_empty() else int(end[column][-1]) for end in ends] for column in ("acked_bytes", "retransmissions")
    )
    return {
        "acked_bytes": last["acked_bytes"],
        "retransmissions": sum(again),
        "opener_share": acked[0] / max(sum(acked), 1),
        "reinjected_bytes": float(last["reinjected_bytes"]),
    }


def describe_simulation(result: RunResult, name: str) -> _Side:
    """Measure the simulated side of a flow."""
    lanes = _list_lanes(result.scenario, name)
    windows, trips = (result.series(series, flow=lanes[0]) for series in SERIES[:2])
    losses, end_s = _losses(result, lanes), result.simulated_s
    # The handshake gives the first round trip; then come data.
    start_s = trips["time_s"][0]
    row = result.flows.row(by_predicate=pl.col("flow") == name, named=True)
    values = {
        "goodput_bps": 8 * row["acked_bytes"] / (end_s - start_s),
        **verdict.measure_run(windows, trips, losses, start_s=start_s, end_s=end_s),
        "retransmissions": float(row["retransmissions"]),
        **count_simulation(row),
    }
    if len(lanes) > 1:
        acked = {each["flow"]: each["acked_bytes"] for each in result.rows("subflows")}
        share = acked[lanes[0]] / max(sum(acked[lane] for lane in lanes), 1)
        values |= {"opener_share": share, "reinjected_bytes": float(row["reinjected_bytes"])}
    window = windows.select(pl.col("time_s") - start_s, "cwnd_bytes")
    notes = _limits(row, end_s - start_s, "the simulated sender")
    return _Side("simulated", result.seed, values, window, (losses["time_s"] - start_s).to_list(), notes=notes)


def _losses(result: RunResult, lanes: Sequence[str]) -> pl.DataFrame:
    return result.series("losses").filter(pl.col("flow").is_in(lanes), pl.col("data_bytes") > 0)


def _limits(about: dict[str, Any], took_s: float, who: str) -> tuple[str, ...]:
    """Limits that kept the sender from using its window."""
    whats = {"rwnd_limited_s": "the receiver's window", "send_buffer_limited_s": "the send buffer"}
    shares = {what: (about[column] or 0.0) / took_s for column, what in whats.items()}
    return tuple(
        f"{what} kept {who} from sending for {share:.0%} of the time"
        for what, share in shares.items()
        if share > LIMITED_SHARE
    )


def _reasons(found: Emulation, last: dict[str, Any], took_s: float) -> tuple[str, ...]:
    """Features of this run that the simulator lacks."""
    notes = list(_limits(last, took_s, "the kernel"))
    if not found.kernel["release"].startswith("6."):
        notes.append(f"the kernel is {found.kernel['release']}; the preset is one of Linux 6")
    for sysctl, usual in (("tcp_sack", "1"), ("tcp_recovery", "1")):
        if found.kernel.get(sysctl, usual) != usual:
            notes.append(f"{sysctl} = {found.kernel[sysctl]}, which the preset does not have")
    if not found.trust.is_trustworthy or "gap" in found.trust.sentence:
        notes.append(found.trust.sentence)
    return tuple(notes)
