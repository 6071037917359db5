"""`bentpipe.fit`: from measurements to a scenario."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import _core, arguments
from bentpipe.errors import FitError
from bentpipe.fitting import (
    capacity,
    checking,
    draws,
    inverse,
    losses,
    numbers,
    pairs,
    readers,
    simulating,
    slots,
    writing,
)
from bentpipe.fitting.faults import Faults, show_value
from bentpipe.fitting.jitter import find as find_jitter
from bentpipe.fitting.measured import PROBES_MIN, Measured, Probes, oppose
from bentpipe.fitting.readers.opening import Asked
from bentpipe.fitting.readers.summaries import PING
from bentpipe.fitting.result import Fit
from bentpipe.progress import Progress, choose_watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bentpipe.fitting.capacity import Capacity
    from bentpipe.fitting.measured import Load
    from bentpipe.fitting.numbers import Number
    from bentpipe.progress import Wish

NETWORKS = ("starlink", "none")
CLOCKS = ("apart", "same")
APART = 0.2
"""Relative difference of the medians of two records of the same time that cannot be of one path."""
NEAR_MIN = 0.5
"""Share of the base below which the round trips of a transfer cannot be of the same path."""
QUIET_S = 60.0
"""Shortest record without load that is enough for delays."""
PROBES_OF_LOAD = "{0}: probes during a transfer may have its queue in their round trips"
WITH_QUEUE = "{0}: probes during a transfer have its queue in their round trips (correlation {1:.2f})"
WITHOUT_QUEUE = (
    "{0}: probes during a transfer do not follow its round trips (correlation {1:.2f}): "
    "a network may queue ping and TCP apart, as Starlink does"
)
BOTH_WAYS = (
    "{0}: in {2:.0f} % of the transfer {1}, data also went the other way; "
    "measure one direction at a time for rate and queue"
)
TOGETHER = 0.3
"""Least rank correlation of round trips of probes and of a transfer that meet the same queue."""
INTERVALS_MIN = 20
"""Least number of intervals of a transfer with probes for a correlation."""


def fit(
    data: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    stamps: str = "arrival",
    interval: str | float | None = None,
    direction: str = "forward",
    clocks: str = "apart",
    network: str | None = None,
    period: str | float | None = None,
    held_out: bool = True,
    check: bool = True,
    partial: bool = False,
    progress: Wish = None,
) -> Fit:
    """Fit a path to measurements.

    Parameters
    ----------
    data : path or paths
        Files with records of one path: ping (best with `-D`), irtt, Flent, iperf3 (`-J`), repeated `ss -tin`, CSV,
        histories of a Starlink dish, and captures of the sender or of both ends (pcap, pcapng). Files may be compressed
        by gz or xz.
    kind : str, optional
        Kind of the files: `ping`, `irtt`, `flent`, `iperf3`, `ss`, `dish`, `csv` or `pcap`. By default, the content of
        each file decides.
    columns : mapping, optional
        Unit of a CSV column whose name has no unit, `{"rtt": "ms"}`, or its meaning and unit, `{"lag": "rtt:ms"}`.
    stamps : str
        Meaning of the time of a round trip in CSV files: `arrival` of the answer, as in `ping -D`, or `send`.
    interval : str or float, optional
        Time between pings without time stamps, in seconds or with a unit.
    direction : str
        Direction of transfers in files without a direction: `forward` (towards the terminal) or `reverse`.
    clocks : str
        Clocks of captures of both ends: `apart` (a constant difference is removed) or `same`.
    network : str, optional
        Slots of the network: `starlink` expects slots of 15 s, `none` searches no slots. By default, periods from 5 to
        60 s are searched.
    period : str or float, optional
        Known length of slots, in seconds or with a unit.
    held_out : bool
        Whether the second half is compared with draws from the first.
    check : bool
        Whether the measurement is simulated on the fitted scenario.
    partial : bool
        Whether the readable part of a truncated compressed file or capture is enough.
    progress : callable or bool, optional
        Whether to show a bar, or a callable, as in `bentpipe.run`.

    Returns
    -------
    Fit

    Raises
    ------
    FitError
        A file or an argument is invalid. The text lists all problems of all files.
    """
    paths = _paths(data)
    asked = _make_asked(columns, stamps, interval, direction, partial, is_paired=len(paths) > 1)
    if clocks not in CLOCKS:
        raise FitError(f"clocks = {clocks!r}\n  expected apart or same")
    if network is not None and network not in NETWORKS:
        raise FitError(f"network = {network!r}\n  expected starlink or none")
    period_s = _seconds("period", period)
    if period_s is not None and period_s < 4 * slots.BIN_S:
        raise FitError(f"period = {period!r}\n  expected at least {4 * slots.BIN_S:g} s")
    if not paths:
        raise FitError("no measurement\n  expected one file or more")
    state = Progress(total=len(paths) + 4)
    with choose_watch(progress) as watch:

        def say(what: str) -> None:
            state.done += bool(state.doing)
            state.doing = what
            if watch is not None:
                watch(state)

        measured = _read(paths, kind, asked, clocks, say)
        found = _fit_numbers(measured, network, period_s, say)
        if held_out and found.probes is not None:
            say("the held-out half")
            found = replace(found, held_out=checking.held_out(found.probes, found.slots))
        found = _invert_goodput(found, say, is_asked=check)
        if check:
            found = _check_fit(found, say)
            found = replace(found, check=(*found.check, *checking.twice(measured.seconds)))
        options = {
            "kind": kind,
            "columns": [f"{name}={value}" for name, value in asked.columns.items()],
            "stamps": None if stamps == "arrival" else stamps,
            "interval": interval,
            "direction": None if direction == "forward" else direction,
            "clocks": None if clocks == "apart" else clocks,
            "network": network,
            "period": period,
            "held-out": None if held_out else "none",
        }
        facts = {
            "data": [os.fspath(path) for path in paths],
            "options": _list_options(options, check=check, partial=partial),
        }
        return replace(found, asked=facts)


def _paths(data: Any) -> list[Path]:
    """Return the files, each once."""
    many = [data] if isinstance(data, (str, bytes, os.PathLike)) or not hasattr(data, "__iter__") else list(data)
    found = [arguments.path("data", each, FitError) for each in many]
    if twice := next(
        (each for at, each in enumerate(found) if each.absolute() in map(Path.absolute, found[:at])), None
    ):
        raise FitError(f"{twice} is given twice\n  expected each file once")
    return found


def _make_asked(
    columns: Mapping[str, str] | None,
    stamps: str,
    interval: str | float | None,
    direction: str,
    is_partial: bool,
    *,
    is_paired: bool,
) -> Asked:
    given = {} if columns is None else dict(arguments.mapping("columns", columns, "a dict of texts by column"))
    if stamps not in ("arrival", "send"):
        raise FitError(f"stamps = {stamps!r}\n  expected arrival or send")
    if direction not in ("forward", "reverse"):
        raise FitError(f"direction = {direction!r}\n  expected forward (towards the terminal) or reverse")
    for name, value in given.items():
        arguments.text(f"columns[{name!r}]", value)
    return Asked(given, stamps, _seconds("interval", interval), direction, is_partial, is_paired)


def _seconds(name: str, given: str | float | None) -> float | None:
    """Return a duration above 0 in seconds."""
    if given is None:
        return None
    if isinstance(given, str):
        found = _core.quantity(given)
        if found is None or found[1] != "s":
            raise FitError(f"{name} = {given!r}\n  expected a duration, such as '15 s'")
        given = found[0]
    return arguments.number(name, given, 1e-6, 1e6, of="seconds")


def _list_options(options: Mapping[str, Any], *, check: bool, partial: bool) -> list[tuple[str, str]]:
    """List the options of the command line that repeat the call; a flag has an empty value."""
    found = []
    for name, value in options.items():
        values = value if isinstance(value, list) else [value] if value is not None else []
        found += [(name, str(each)) for each in values]
    return [*found, *([] if check else [("no-check", "")]), *([("partial", "")] if partial else [])]


def _read(paths: Sequence[Any], kind: str | None, asked: Asked, clocks: str, say: Callable[[str], object]) -> Measured:
    """Read all files; raise one error with all their faults."""
    faults, measured = Faults(), Measured(direction=asked.direction)
    for path in paths:
        say(f"reading {Path(path).name}")
        one = readers.read(path, kind, asked, faults)
        measured.records.append(one.describe(Path(path).name))
        measured.add(one)
    for name in asked.columns:
        if name not in asked.seen and (asked.seen or not faults.count):
            known = show_value(", ".join(sorted(asked.seen)))
            faults.wrong("columns", f"no file has a column {show_value(name)}", f"known: {known}")
    faults.refuse()
    joined = pairs.join(measured, clocks)
    measured.loads = oppose(measured.loads)
    for fault in measured.lacking:
        if fault[0] not in joined:
            faults.wrong(*fault)
    faults.refuse()
    if not measured.probes and not any(load.srtt_s is not None for load in measured.loads):
        raise FitError(
            f"no file has round trips\n  expected a ping, irtt or a capture of the sender beside the transfer: {PING}"
        )
    return measured


def _fit_numbers(measured: Measured, network: str | None, period_s: float | None, say: Callable[[str], object]) -> Fit:
    """Estimate everything, without the check."""
    notes = list(measured.notes)
    say("slots and losses")
    probes = _join_probes(measured.probes, notes)
    sources = [each.source for each in measured.probes] + [each.source for each in measured.loads]
    found_losses, by_direction = None, dict[str, losses.Losses]()
    jitter = None
    if probes is not None:
        jitter = find_jitter(probes, measured.loads)
        probes = _without_load(probes, measured.loads, notes)
        cut = slots.find(probes, network, period_s)
        levels = slots.measure(probes, cut)
        listed = numbers.list_delay(probes, cut, levels)
        base_s = levels.base_s
        if probes.has_losses:
            found_losses, by_direction = losses.fit(probes, cut), losses.by_direction(probes, cut)
            listed += numbers.list_losses(found_losses, probes.source, is_total=bool(by_direction))
            for way, each in by_direction.items():
                listed += numbers.list_losses(each, probes.source, way)
    else:
        load = next(each for each in measured.loads if each.srtt_s is not None)
        base_s, cut, listed = _fit_load(load)
    notes += [
        f"{load.source}: the least round trip is below half of the base; expected records of one path"
        for load in measured.loads
        if load.least_s < NEAR_MIN * base_s
    ]
    say("capacity")
    capacities: dict[str, Capacity] = {}
    below: dict[str, Load] = {}
    for load in measured.loads:
        if load.srtt_s is not None and not load.is_alone.all():
            notes.append(BOTH_WAYS.format(load.source, load.way, 100 * np.mean(~load.is_alone)))
        estimate = capacity.estimate(load, base_s, cut if probes is not None else None, jitter)
        if load.direction not in capacities or capacity.is_better(estimate, capacities[load.direction]):
            capacities[load.direction] = estimate
            below = {way: each for way, each in below.items() if way != load.direction}
            below |= {load.direction: load} if estimate.is_below else {}
            listed = [each for each in listed if not each.name.endswith(f" {load.direction}")]
            listed += numbers.list_capacity(load.direction, estimate, load.source)
        listed += numbers.list_ends(load)
    listed += _assume_rates(capacities)
    forward = capacities.get("forward")
    rates = forward.slots if forward is not None else None
    rated = {each.name: each.value for each in listed}
    forward_s, reverse_s = (8 * draws.PROBE_BYTES / (rated[f"rate {way}"] or 1.0) for way in ("forward", "reverse"))
    if probes is None:
        trace = draws.Trace(np.zeros(1), *(np.array([each]) for each in _find_ways(measured.loads, base_s)))
    else:
        trace = draws.replay(probes, cut, (forward_s, reverse_s), rates)
    return Fit(
        sources=tuple(dict.fromkeys(sources)),
        numbers=tuple(listed),
        check=(),
        held_out=None,
        notes=tuple(notes),
        records=tuple(measured.records),
        probes=probes,
        loads=tuple(measured.loads),
        below=tuple(below.values()),
        slots=cut,
        losses=found_losses,
        losses_by=by_direction,
        sending_s=(forward_s, reverse_s),
        rates_bps=rates,
        trace=trace,
        simulated_s=np.zeros(0),
    )


def _find_ways(loads: Sequence[Load], base_s: float) -> tuple[float, float]:
    """Return both one-way delays without probes: those of captures of both ends, else half of the round trip."""
    for load in loads:
        if load.ways is not None:
            ways = load.ways[0].least_s, load.ways[1].least_s
            return ways if load.direction == "forward" else ways[::-1]
    return base_s / 2, base_s / 2


def _assume_rates(capacities: Mapping[str, Capacity]) -> list[Number]:
    found = []
    for direction, other in (("forward", "reverse"), ("reverse", "forward")):
        if direction in capacities:
            continue
        known = capacities.get(other)
        value = known.rate_bps.value if known else None
        found.append(numbers.assume_rate(direction, value))
    return found


def _fit_load(load: Load) -> tuple[float, slots.Slots, list[Number]]:
    """Return base delay, slots and numbers of a transfer without probes."""
    base_s = load.least_s
    how = "no probes were measured"
    ends = np.array([load.begin_s[0], load.begin_s[-1] + load.interval_s[-1]])
    listed = [
        numbers.Number(
            "base",
            base_s,
            "s",
            how=f"least {'' if load.trip_s else 'smoothed '}round trip of the transfer",
            source=load.source,
        ),
        numbers.Number("period", None, "s", how=how, source=load.source),
    ]
    return base_s, slots.Slots(ends, None, None, 0.0, 0.0, how), listed


def _join_probes(records: Sequence[Probes], notes: list[str]) -> Probes | None:
    """Join the records of probes, in the order of time."""
    if not records:
        return None
    ordered = sorted(records, key=lambda each: float(each.send_s[0]))
    if len(ordered) > 1 and not all(each.is_absolute for each in ordered):
        longest = max(records, key=lambda each: each.duration_s)
        notes.append(f"{longest.source}: the only record of probes that is used; the others have no common clock")
        return longest
    for before, after in pairwise(ordered):
        _refuse_if_apart(before, after)
    ordered = [each for each in ordered if not _is_covered(each, ordered, notes)]
    if len(ordered) == 1:
        return ordered[0]
    has_ways = all(each.forward_s is not None for each in ordered)
    names = ["send_s", "rtt_s", *(["forward_s", "reverse_s"] if has_ways else [])]
    values = {name: np.concatenate([getattr(each, name) for each in ordered]) for name in names}
    order = np.lexsort((values["rtt_s"], values["send_s"]))
    # Copies of a record have the same times and round trips.
    changes = [np.nan_to_num(np.diff(values[name][order]), nan=0.0) != 0 for name in ("send_s", "rtt_s")]
    order = order[np.concatenate([[True], changes[0] | changes[1]])]
    source = ", ".join(each.source for each in ordered)
    sorted_values: dict[str, Any] = {name: value[order] for name, value in values.items()}
    return Probes(source=source, has_losses=all(each.has_losses for each in ordered), **sorted_values)


def _is_covered(record: Probes, every: Sequence[Probes], notes: list[str]) -> bool:
    """Whether another record of the same time shows losses, and this one does not."""
    begin, end = record.send_s[0], record.send_s[-1]
    shown_by = [each for each in every if each.has_losses and each.send_s[0] < end and each.send_s[-1] > begin]
    if record.has_losses or not shown_by:
        return False
    notes.append(f"{record.source}: left out beside a record of the same time that shows losses")
    return True


def _refuse_if_apart(one: Probes, other: Probes) -> None:
    """Refuse two records of the same time whose medians are far apart."""
    if other.send_s[0] >= one.send_s[-1]:
        return
    medians = [1e3 * float(np.nanmedian(each.rtt_s)) for each in (one, other)]
    if max(medians) > (1 + APART) * min(medians):
        raise FitError(
            f"{one.source} and {other.source} overlap in time: medians {medians[0]:.1f} and {medians[1]:.1f} ms\n"
            "  expected records of one path; fit different paths one by one"
        )


def _without_load(probes: Probes, loads: Sequence[Load], notes: list[str]) -> Probes:
    """Leave out probes during a transfer, whose queue they have seen, if enough are left."""
    during = np.zeros(len(probes.send_s), dtype=np.bool_)
    for load in loads:
        end = load.begin_s[-1] + load.interval_s[-1]
        if (load.begin_s[0] >= probes.send_s[0] or end <= probes.send_s[-1]) and probes.is_absolute:
            during |= (probes.send_s >= load.begin_s[0]) & (probes.send_s <= end + 1.0)
    if not during.any():
        return probes
    quiet = probes.cut(~during)
    answered = quiet.rtt_s[~quiet.is_lost]
    if len(answered) >= PROBES_MIN and len(quiet.send_s) * probes.spacing_s >= QUIET_S:
        notes.append(f"{probes.source}: {during.sum():,} probes during a transfer were left out")
        return quiet
    notes.append(_tell_queue(probes, loads))
    return probes


def _tell_queue(probes: Probes, loads: Sequence[Load]) -> str:
    """Return a note on the queue of a transfer in the round trips of probes, by their correlation if there is one."""
    answered = ~probes.is_lost
    times, rtt_s = probes.send_s[answered], probes.rtt_s[answered]
    pairs: list[tuple[float, float]] = []
    for load in loads:
        if load.srtt_s is None:
            continue
        ends = load.begin_s + load.interval_s
        lows, highs = np.searchsorted(times, load.begin_s), np.searchsorted(times, ends)
        for low, high, srtt_s in zip(lows, highs, load.srtt_s, strict=True):
            if high > low and np.isfinite(srtt_s):
                pairs.append((float(np.median(rtt_s[low:high])), float(srtt_s)))
    if len(pairs) < INTERVALS_MIN:
        return PROBES_OF_LOAD.format(probes.source)
    from scipy.stats import spearmanr

    of_probes, of_transfer = np.array(pairs).T
    correlation = float(spearmanr(of_probes, of_transfer).statistic)
    if np.isnan(correlation):
        return PROBES_OF_LOAD.format(probes.source)
    return (WITH_QUEUE if correlation >= TOGETHER else WITHOUT_QUEUE).format(probes.source, correlation)


def _invert_goodput(found: Fit, say: Callable[[str], object], *, is_asked: bool) -> Fit:
    """Add the loss ratio that gives each transfer below the rate its goodput.

    The scenario needs it if neither probes nor retransmissions show the losses. Otherwise it is beside them, if asked.
    """
    content, parts = writing.make_files(found.trace), found.parts()
    for load in found.below:
        is_needed = not parts.shows_losses(load.direction)
        if load.transport != "tcp" or not (is_needed or is_asked):
            continue
        say(f"the losses of {load.source}")
        length = min(float(load.interval_s.sum()), simulating.SEARCH_MAX_S)
        measured_bps = _goodput(load, length)

        def goodput(ratio: float, seed: int, load: Load = load, length: float = length) -> float:
            flow, losing = simulating.make_transfer(load), parts.losing(load.direction, ratio)
            text = writing.write_scenario(losing, simulating.FOLDER, [], flow, "Search", length)
            return simulating.goodput(text, content, seed)

        searched = inverse.loss(goodput, measured_bps)
        number = numbers.make_loss_ratio(load.direction, searched, load.source, is_used=is_needed)
        found = replace(found, numbers=(*found.numbers, number))
    return found


def _check_fit(found: Fit, say: Callable[[str], object]) -> Fit:
    """Simulate the measurement, and compare."""
    content = writing.make_files(found.trace)
    compared: list[checking.Checked] = []
    simulated_s = np.zeros(0)
    parts = found.parts()
    if found.probes is not None:
        say("the check of the probes")
        times = simulating.instants(found.probes, _begin(found))
        flow, more = simulating.probing(times)
        length = float(times[-1]) + simulating.SPARE_S
        text = writing.write_scenario(parts, simulating.FOLDER, [], flow, "Check", length)
        simulated_s, count = simulating.probes(text, {**content, **more})
        inside = found.probes.send_s >= _begin(found)
        compared += checking.round_trips(found.probes.rtt_s[inside & ~found.probes.is_lost], simulated_s)
        if found.losses is not None:
            ratio = 1 - len(simulated_s) / max(count, 1)
            compared.append(checking.loss(found.losses.ratio, len(found.probes.send_s), ratio, count))
    for load in found.loads:
        # A goodput that has given the losses checks nothing.
        is_used = load in found.below and not parts.shows_losses(load.direction)
        if load.transport == "tcp" and not is_used:
            say(f"the check of {load.source}")
            length = min(float(load.interval_s.sum()), simulating.TRANSFER_MAX_S)
            flow = simulating.make_transfer(load)
            theirs = _goodputs(parts, flow, length, content)
            compared.append(checking.goodput(load.direction, _goodput(load, length), theirs))
    return replace(found, check=tuple(compared), simulated_s=simulated_s)


def _goodput(load: Load, length: float) -> float:
    """Return the goodput of a transfer in its first seconds; of rows of writes, that of the whole transfer."""
    if load.received is not None:
        return 8 * load.received[0] / load.received[1]
    within = np.cumsum(load.interval_s) <= length + 1e-6
    return float(8 * load.bytes[within].sum() / load.interval_s[within].sum())


def _goodputs(parts: writing.Parts, flow: str, length: float, content: Mapping[str, str]) -> list[float]:
    """Simulate a transfer with several seeds and loss ratios of the measured interval; once if nothing is random."""
    found: list[float] = []
    for seed, error in zip(simulating.SEEDS, simulating.ERRORS, strict=True):
        text = writing.write_scenario(parts.within(error), simulating.FOLDER, [], flow, "Check", length)
        found.append(simulating.goodput(text, content, seed))
        if "error = " not in text:
            break
    return found


def _begin(found: Fit) -> float:
    """Return the time of the first probe of the trace."""
    assert found.probes is not None, "asked with probes only"
    answered = found.probes.send_s[~found.probes.is_lost]
    edges = found.slots.edges_s
    begin = float(edges[1]) if found.slots.period_s and len(edges) > 2 else float(found.probes.send_s[0])
    return float(answered[answered >= begin][0])
