"""Numbers of a path, each with its interval, its method and its file."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting
from bentpipe.fitting.losses import binomial

if TYPE_CHECKING:
    from bentpipe.fitting.capacity import Capacity
    from bentpipe.fitting.inverse import Found
    from bentpipe.fitting.losses import Losses
    from bentpipe.fitting.measured import Load, Probes
    from bentpipe.fitting.slots import Levels, Slots

ASSUMED_BPS = 100e6
"""Rate of a direction whose load was not measured, if the other is unknown, too."""
REVERSE = 0.1
"""Assumed share of the forward rate."""
SEARCHED = "tcp loss {0}"
"""Name of the loss ratio that was found by simulation."""
LOST = "lost {0}"
"""Name of the loss ratio between captures of both ends."""
BY_MODEL = {"mean_good": "s", "mean_bad": "s"}


@dataclass(frozen=True)
class Number:
    """One number of the path.

    Attributes
    ----------
    name, unit : str
    value : float or None
        Value; None if it is unknown.
    low, high : float or None
        Ends of its 95 % interval, or of its range over slots; None without one.
    how : str
        Method in words.
    source : str
        Name of the file.
    kind : str
        `fitted`, `lower bound` or `assumed`.
    """

    name: str
    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    how: str = ""
    source: str = ""
    kind: str = "fitted"

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain data."""
        return asdict(self)

    @property
    def text(self) -> str:
        """The value with its interval: `131 Mbit/s (84 to 196 Mbit/s)`."""
        value = formatting.quantity(self.value, self.unit)
        value = f"at least {value}" if self.kind == "lower bound" else value
        if self.low is None or self.high is None or self.kind == "lower bound":
            return value
        low, high = (formatting.quantity(end, self.unit) for end in (self.low, self.high))
        return f"{value} ({low} to {high})"


def list_delay(probes: Probes, slots: Slots, levels: Levels) -> list[Number]:
    """List the numbers of delay."""
    source = probes.source
    known = levels.bases_s[np.isfinite(levels.bases_s)]
    low, high = (float(known.min()), float(known.max())) if len(known) > 1 else (None, None)
    how = "5 % quantile of the round trips" + ("" if low is None else "; range over slots")
    found = [Number("base", levels.base_s, "s", low, high, how, source)]
    found.append(Number("period", slots.period_s, "s", how=slots.how, source=source))
    if slots.phase_s is not None:
        found.append(Number("phase", slots.phase_s, "s", how="first boundary after a full minute", source=source))
    for name, value, how in (
        ("step", levels.step_s, "median change of the base between slots"),
        ("transient", levels.transient_s, "median of the first 0.3 s of a slot, less that of the slot"),
        ("pause", levels.pause_s, "median over boundaries of the longest time between answers"),
    ):
        if value is not None:
            found.append(Number(name, value, "s", how=how, source=source))
    return found


def list_losses(losses: Losses, source: str, direction: str = "", *, is_total: bool = False) -> list[Number]:
    """List the numbers of losses of the round trip, or of a direction. A total has only the loss ratio."""
    how = {
        "none": "no probe was lost",
        "independent": "independent losses",
        "bursts": f"bursts, BIC {losses.gain:.0f} below independent losses",
        "gilbert-elliott": f"Gilbert-Elliott, BIC {losses.gain:.0f} below independent losses",
        "boundaries": f"more often at boundaries of slots, BIC {losses.gain:.0f} below independent losses",
    }[losses.kind]
    # Times have rounding errors: 9.9999 ms are 10.0 ms.
    how += f"; bursts below {formatting.quantity(float(f'{losses.spacing_s:.3g}'), 's')} cannot be seen"
    ratio = losses.ratio
    ending = f" {direction}" if direction else ""
    if is_total:
        return [Number("loss", ratio.value, "1", ratio.low, ratio.high, "both directions together", source)]
    found = [Number(f"loss{ending}", ratio.value, "1", ratio.low, ratio.high, how, source)]
    for name, value in losses.numbers.items():
        # Rates that the model fixes are no estimates.
        if (name == "rate_good" and value.value == 0) or (losses.kind == "bursts" and name == "rate_bad"):
            continue
        unit = BY_MODEL.get(name, "1")
        found.append(Number(f"{name}{ending}", value.value, unit, value.low, value.high, losses.kind, source))
    return found


def list_capacity(direction: str, capacity: Capacity, source: str) -> list[Number]:
    """List the numbers of a transfer."""
    rate, kind = capacity.rate_bps, "lower bound" if capacity.is_bound else "fitted"
    high = rate.high if math.isfinite(rate.high) else None
    found = [Number(f"rate {direction}", rate.value, "bit/s", rate.low, high, capacity.how, source, kind)]
    queue = capacity.queue_bytes
    if queue is not None:
        name, how = f"queue {direction}", capacity.queue_how
        is_bound = not math.isfinite(queue.high)
        high, kind = (None, "lower bound") if is_bound else (queue.high, "fitted")
        found.append(Number(name, queue.value, "B", queue.low, high, how, source, kind))
    if capacity.loss is not None:
        loss = capacity.loss
        how = "retransmissions of TCP, without a full queue"
        found.append(Number(f"retransmitted {direction}", loss.value, "1", loss.low, loss.high, how, source))
    return found


def list_ends(load: Load) -> list[Number]:
    """List the losses and delays of both directions, from captures of both ends."""
    if load.ways is None or load.packets is None or load.lost is None or load.dropped is None:
        return []
    back = "reverse" if load.direction == "forward" else "forward"
    sent, dropped = int(load.packets.sum()), int(load.dropped.sum())
    lost = int(load.lost.sum()) - dropped
    how = f"{lost:,} of {sent:,} segments left and did not arrive"
    how += f"; {dropped:,} more did not while the queue was nearly full" if dropped else ""
    answers = load.ways[1]
    how_back = f"{answers.lost:,} of {len(answers.sent_s):,} acknowledgements left and did not arrive"
    found = []
    for way, ratio, said in (
        (load.direction, binomial(lost, sent), how),
        (back, binomial(answers.lost, len(answers.sent_s)), how_back),
    ):
        found.append(Number(LOST.format(way), ratio.value, "1", ratio.low, ratio.high, said, load.source))
    for way, each, what in ((load.direction, load.ways[0], "segments"), (back, answers, "acknowledgements")):
        known = each.delay_s[np.isfinite(each.delay_s)]
        low, high = (float(np.quantile(known, share)) for share in (0.05, 0.95))
        said = f"least one-way delay of {what}; range from the 5 % to the 95 % quantile, with the queue"
        found.append(Number(f"delay {way}", each.least_s, "s", low, high, said, load.source))
    return found


def make_loss_ratio(direction: str, found: Found, source: str, *, is_used: bool) -> Number:
    """Return the loss ratio with which a simulated transfer has the measured goodput."""
    name = SEARCHED.format(direction)
    if found.ratio is None:
        without = formatting.quantity(found.without_bps, "bit/s")
        return Number(name, None, "1", how=f"no loss ratio gives its goodput: without losses {without}", source=source)
    how = f"gives the goodput of the transfer in {found.runs} simulated ones"
    how += "" if is_used else "; beside the losses that were measured"
    return Number(name, found.ratio.value, "1", found.ratio.low, found.ratio.high, how, source)


def assume_rate(direction: str, of_other: float | None) -> Number:
    """Return the rate of a direction whose load was not measured."""
    share = REVERSE if direction == "reverse" else 1 / REVERSE
    value = ASSUMED_BPS * (REVERSE if direction == "reverse" else 1) if of_other is None else of_other * share
    how = "no load was measured" + ("" if of_other is None else f"; {share:g} times the other direction")
    return Number(f"rate {direction}", value, "bit/s", how=how, kind="assumed")
