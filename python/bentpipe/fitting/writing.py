"""Writes the fitted path as a scenario with a comment per number, and its traces as CSV."""

from __future__ import annotations

import glob
import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.fitting.losses import NEAR_S
from bentpipe.fitting.numbers import LOST, SEARCHED, Number
from bentpipe.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.fitting.draws import Trace
    from bentpipe.fitting.losses import Losses
    from bentpipe.fitting.measured import Probes
    from bentpipe.fitting.slots import Slots

DURATION_MAX_S = 120.0
SMALLEST_LOSS = 1e-5
"""Loss ratios below this are left out."""
WIDTH = 118
FULL = 1500
"""Bytes of a full packet."""
LEAST = 10
"""Least number of full packets of an assumed queue: a transfer over a queue of two loses half of the rate."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of the text of a scenario."""

    numbers: Mapping[str, Number]
    losses: Losses | None
    losses_by: Mapping[str, Losses]
    """Losses by direction; empty if the record does not have the direction of each."""
    shares: Mapping[str, float]
    """Share of the round trip's losses, by direction."""
    slots: Slots
    trace: Trace
    rows: tuple[str, float, float | None] | None = None
    """In place of the trace: key `slots` of the forward direction, least delay (s), and the rate if slots differ."""

    def losing(self, direction: str, ratio: float) -> Parts:
        """Return the parts with only independent losses in one direction."""
        kept = {
            name: each
            for name, each in self.numbers.items()
            if not name.startswith(("tcp loss", "retransmitted", "lost"))
        }
        name = SEARCHED.format(direction)
        kept[name] = Number(name, ratio, "1")
        return replace(self, numbers=kept, losses=None, losses_by={})

    def within(self, z: float) -> Parts:
        """Return the parts with losses that are `z` standard errors from their estimates."""
        losses = self.losses and self.losses.within(z)
        return replace(self, losses=losses, losses_by={name: each.within(z) for name, each in self.losses_by.items()})

    def shows_losses(self, direction: str) -> bool:
        """Whether probes or retransmissions show the losses of a direction."""
        names = (f"retransmitted {direction}", LOST.format(direction))
        return self.losses is not None or any(name in self.numbers for name in names)


def is_constant(values: Any) -> bool:
    """Whether a delay does not change."""
    return bool(np.ptp(values) < 1e-9)


def make_files(trace: Trace) -> dict[str, str]:
    """Return the content of the traces by name: delays and rates, if they change."""
    ways = {"fwd_ms": trace.forward_s, "rev_ms": trace.reverse_s}
    delays = {name: 1e3 * way for name, way in ways.items() if not is_constant(way)}
    found = {"delay.csv": trace.csv(delays)} if delays else {}
    if trace.rate_bps is not None:
        changes = np.concatenate([[True], np.diff(trace.rate_bps) != 0])
        rows = [
            f"{at:.6f},{rate / 1e6:.6f}"
            for at, rate in zip(trace.time_s[changes], trace.rate_bps[changes], strict=True)
        ]
        found["rate.csv"] = "\n".join(["time_s,rate_mbps", *rows]) + "\n"
    return found


def draw_file(trace: Trace) -> str:
    """Return a drawn trace as one file, with the columns of all traces of the scenario."""
    columns = {"fwd_ms": 1e3 * trace.forward_s, "rev_ms": 1e3 * trace.reverse_s}
    if trace.rate_bps is not None:
        columns["rate_mbps"] = trace.rate_bps / 1e6
    return trace.csv(columns)


def write_scenario(parts: Parts, folder: str, head: Sequence[str], flows: str, title: str, duration_s: float) -> str:
    """Write the scenario. `folder` has the traces, `flows` is TOML text."""
    lines = [f"# {_plain(line)}" for line in head]
    lines += ["", f"title = {_text(_plain(title))}", f'duration = "{duration_s:g} s"', ""]
    lines += ["[link.path]", 'from = "server"', 'to = "terminal"', ""]
    for direction in ("forward", "reverse"):
        lines += [f"[link.path.{direction}]"]
        for said, value in _direction(parts, direction, folder):
            lines += [f"# {each}" for each in _wrap_text(said)] + [value]
        lines.append("")
    return "\n".join([*lines, flows])


def _direction(parts: Parts, direction: str, folder: str) -> list[tuple[str, str]]:
    """Return the comment and the text of each key of a direction."""
    numbers, trace = parts.numbers, parts.trace
    found = []
    delays = trace.forward_s if direction == "forward" else trace.reverse_s
    base, column = numbers["base"], "fwd_ms" if direction == "forward" else "rev_ms"
    said = f"Round trip: base {base.text}, {base.how}; {numbers['period'].how}."
    if direction == "forward" and parts.rows is not None:
        # Replications draw other slots.
        found.append((said, f'delay = "{1e3 * parts.rows[1]:.6g} ms"'))
        found.append(("Measured slots, from which each run draws its own: base, waits, loss and rate.", parts.rows[0]))
    elif is_constant(delays):
        said = said if direction == "forward" else "Half of the least round trip; the other half is forward."
        found.append((said, f'delay = "{1e3 * float(delays[0]):.6g} ms"'))
    else:
        found.append((said, f'delay = {{ file = {_text(f"{folder}/delay.csv")}, column = "{column}" }}'))
    rate = numbers[f"rate {direction}"]
    word = {"assumed": "ASSUMED: ", "lower bound": "LOWER BOUND: ", "fitted": f"{rate.text}; "}[rate.kind]
    value = f'rate = "{_rate(rate.value or 0.0)}"'
    if direction == "forward" and parts.rows is not None and parts.rows[2] is not None:
        value = f'rate = "{_rate(parts.rows[2])}"'
    elif direction == "forward" and trace.rate_bps is not None:
        value = f'rate = {{ file = {_text(f"{folder}/rate.csv")}, column = "rate_mbps" }}'
    found.append((f"{word}{rate.how.removeprefix('lower bound: ')}.", value))
    queue = numbers.get(f"queue {direction}")
    if queue is None or not queue.value:
        # A bdp of the scenario has the largest delay of the trace, which is its slowest ping.
        base_s = base.value or 0.0
        bdp, least = math.ceil((rate.value or 0.0) * base_s / 8), LEAST * FULL
        said = (
            f"ASSUMED: no full queue was measured. One bandwidth-delay product with the base of {1e3 * base_s:.4g} ms."
        )
        if bdp < least:
            said = f"ASSUMED: no full queue was measured. {LEAST} full packets, as an initial window has."
        size = max(bdp, least)
        found.append((said, f'queue = "{size} B"'))
    else:
        word = "LOWER BOUND: " if queue.kind == "lower bound" else f"{queue.text}; "
        found.append((f"{word}{queue.how.removeprefix('lower bound: ')}.", f'queue = "{math.ceil(queue.value)} B"'))
    # The losses of slots are in their rows.
    has_own = direction == "forward" and parts.rows is not None and ", loss = " in parts.rows[0]
    error = None if has_own else _error(parts, direction)
    return [*found, error] if error else found


def _error(parts: Parts, direction: str) -> tuple[str, str] | None:
    """Return the comment and the text of the error model of a direction."""
    losses, share, ending = parts.losses, parts.shares[direction], ""
    if direction in parts.losses_by:
        losses, share, ending = parts.losses_by[direction], 1.0, f" {direction}"
    if losses is None:
        return _find_transfer_losses(parts, direction)
    if losses.kind == "none" or losses.ratio.value < SMALLEST_LOSS or share == 0:
        return None
    found = parts.numbers[f"loss{ending}"]
    said = f"Loss of {found.text}: {found.how}."
    if share < 1:
        said += f" {100 * share:.0f} % of the round trip's losses are in this direction."
    numbers = {name: value.value for name, value in losses.numbers.items()}
    if losses.kind == "independent":
        return said, f'error = {{ kind = "packet", rate = {_number(_part(losses.ratio.value, share))} }}'
    if losses.kind == "boundaries":
        period = parts.slots.period_s or 0.0
        near, rest = (_number(_part(numbers[name], share)) for name in ("rate_near", "rate_else"))
        points = f'["0 s", {near}], ["{NEAR_S:g} s", {rest}], ["{period - NEAR_S:g} s", {near}]'
        return said, f'error = {{ kind = "profile", points = [{points}], every = "{period:g} s" }}'
    # Two directions that are bad half as often are together as bad as measured.
    good = numbers["mean_good"] / share
    values = [f'mean_good = "{_number(good)} s"', f'mean_bad = "{_number(numbers["mean_bad"])} s"']
    values += [f"rate_good = {_number(_part(numbers['rate_good'], share))}"] if numbers["rate_good"] > 0 else []
    values += [f"rate_bad = {_number(numbers['rate_bad'])}"]
    for name in ("mean_good", "mean_bad", "rate_good", "rate_bad"):
        if f"{name}{ending}" in parts.numbers:
            said += f" {name} {parts.numbers[f'{name}{ending}'].text}."
    return said, f'error = {{ kind = "gilbert-elliott", {", ".join(values)} }}'


def _find_transfer_losses(parts: Parts, direction: str) -> tuple[str, str] | None:
    """Return the losses between both ends, those that TCP repaired, or those that give it its goodput."""
    found, more = parts.numbers.get(LOST.format(direction)), ""
    if found is None:
        found, more = parts.numbers.get(f"retransmitted {direction}"), " Spurious retransmissions count, too."
    if found is None:
        found, more = parts.numbers.get(SEARCHED.format(direction)), ""
    if found is None or found.value is None or found.value < SMALLEST_LOSS:
        return None
    said = f"Loss of {found.text}: {found.how}.{more}"
    return said, f'error = {{ kind = "packet", rate = {_number(found.value)} }}'


def find_shares(probes: Probes | None, loaded: Sequence[str], numbers: Mapping[str, Number]) -> dict[str, float]:
    """Return the share of the round trip's losses of each direction.

    With time stamps of both ends, the probes show the direction. Otherwise losses are divided like the retransmissions
    of transfers in both directions. Without these, all losses are in the loaded direction. If no direction or both were
    loaded, each has half.
    """
    forward = 0.5
    again = [number.value for way in ("forward", "reverse") if (number := numbers.get(f"retransmitted {way}"))]
    if len(set(loaded)) == 1:
        forward = float("forward" in loaded)
    elif len(again) == 2 and all(again):
        forward = (again[0] or 0.0) / sum(each or 0.0 for each in again)
    if probes is not None and probes.lost_forward is not None and probes.lost_reverse is not None:
        known = int(probes.lost_forward.sum()), int(probes.lost_reverse.sum())
        forward = known[0] / sum(known) if sum(known) else forward
    return {"forward": forward, "reverse": 1 - forward}


def _part(rate: float, share: float) -> float:
    """Return the rate of one direction, if the rates of both make the rate of the round trip."""
    return float(1 - (1 - rate) ** share)


def _number(value: float) -> str:
    return f"{value:.6g}"


def _rate(value_bps: float) -> str:
    """Return a rate of whole bits in a second, at least one."""
    return f"{_number(max(round(value_bps), 1) / 1e6)} Mbit/s"


def _plain(text: str) -> str:
    return visible(" ".join(text.split()))


def _text(text: str) -> str:
    """Return a text of TOML."""
    return json.dumps(text, ensure_ascii=False)


def _wrap_text(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(_plain(text), WIDTH)


def make_head(sources: Sequence[str], version: str, said: Sequence[str]) -> list[str]:
    """Return the first comment: files, check, held-out half."""
    return [
        *_wrap_text(f"Fitted by bentpipe {version} from {' and '.join(sources)}."),
        *(line for each in said for line in _wrap_text(each)),
    ]


def search(folder: str, period_s: float | None, *, is_drawn: bool) -> str:
    """Return the table `[tune]`, whose conditions are the draws of the traces."""
    lines = ["", "# The search of bentpipe tune.", "[tune]", 'objective = { "goodput:transfer" = 1 }']
    lines += [] if period_s is None else [f'period = "{period_s:g} s"  # of the steps of the base']
    if is_drawn:
        lines += ["", "[tune.condition.drawn]", f"draws = {_text(glob.escape(folder) + '/draws/*.csv')}"]
    return "\n".join([*lines, ""])


def transfer(direction: str, cc: str | None = None, streams: int = 1) -> str:
    """Return a flow, or several alike, that load a direction."""
    ends = ('"server"', '"terminal"') if direction == "forward" else ('"terminal"', '"server"')
    # In the table of all flows, so that other congestion controls can be compared.
    sender = f'\n[tcp]\ncc = "{cc}"\n' if cc else ""
    count = f"count = {streams}\n" if streams > 1 else ""
    return f'[flow.transfer]\nfrom = {ends[0]}\nto = {ends[1]}\napp = "greedy"\n{count}{sender}'
