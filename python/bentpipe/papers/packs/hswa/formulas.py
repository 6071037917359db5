"""Computes the paper's equations and bounds on its printed numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.papers import Finding, Possible

if TYPE_CHECKING:
    from bentpipe.papers import Lab

RATE_BPS = 100e6
PACKET_BYTES = 1040
LANS_RTT_S = 0.01
"""Round trip over the wired links of both terminals."""

RATES = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
HSWA_BPS = dict(zip(RATES, (96.98e6, 96e6, 96e6, 96e6, 89e6, 67e6, 0.0, 0.0), strict=True))
"""Throughputs by error rate, as the text beside Figure 6 prints them."""
ENHANCED_BPS = dict(zip(RATES[:-1], (96e6, 96e6, 96e6, 96e6, 96e6, 96e6, 85e6), strict=True))
"""Printed throughputs of Enhanced HSWA by error rate. The paper prints none for 1e-1."""

UNITS_BITS = {"bit": 1, "byte": 8, "packet": 8 * PACKET_BYTES}

SPEED_OF_LIGHT_M_PER_S = 299_792_458
EARTH_RADIUS_M = 6_378_137
GEO_ALTITUDE_M = 35_786_000


def passed_share(rate: float, error: str) -> float:
    """Share of full packets that the channel leaves whole, with an error rate per bit, byte or packet."""
    return float((1 - rate) ** (8 * PACKET_BYTES / UNITS_BITS[error]))


def step(rate: float) -> float:
    """S of eq. 3.1, in segments: growth of the window in an undisturbed round trip at this error rate."""
    return -10 * math.log2(rate)


def increments(delay: float, s: float, *, third_case_from: float = 2.0) -> list[float]:
    """Increments in segments of all cases of eq. 3.1 whose condition holds, far below the largest window.

    `delay` is TD as a multiple of BaseTD. `third_case_from` is the start of the third case: the equation prints 1, the
    text 2.
    """
    found = []
    if delay == 1:
        found.append(s)
    if 1 < delay < 2:
        found.append(s * (2 - delay))
    if delay >= third_case_from:
        found.append(0.0)
    return found


def distance_from_line(lab: Lab, *, third_case_from: float) -> Finding:
    """Largest distance, as a share of S, of any case that holds from the line from S at BaseTD to 0 at 2 BaseTD."""
    distances = []
    for delay in np.linspace(1, 2, 101):
        holding = increments(float(delay), 1.0, third_case_from=third_case_from)
        # Without a case that holds, the increment is undefined.
        distances.append(max((abs(found - (2 - delay)) for found in holding), default=math.inf))
    worst = float(max(distances))
    place = float(np.linspace(1, 2, 101)[distances.index(worst)])
    holding = increments(place, 1.0, third_case_from=third_case_from)
    return Finding.exact(worst, f"at TD = {place:g} BaseTD the cases give {holding} S, the line {2 - place:g} S")


def least_step_down(lab: Lab) -> Finding:
    """Least fall of the increment of eq. 3.1 in segments, over tenths of BaseTD and over decades of the error rate."""
    delays = [1 + tenth / 10 for tenth in range(11)]
    table = np.array([[increments(delay, step(rate))[0] for delay in delays] for rate in RATES])
    over_delay = -np.diff(table, axis=1).max()
    # At 2 BaseTD all are zero.
    over_rate = -np.diff(table[:, :-1], axis=0).max()
    note = f"at least {over_delay:.2f} over a tenth of BaseTD, {over_rate:.2f} over a decade"
    return Finding.exact(min(over_delay, over_rate), note)


def average_gain(lab: Lab, *, first_rate: float, last_rate: float) -> Finding:
    """Mean of the printed throughputs of Enhanced HSWA over that of HSWA, less 1, in per cent.

    The paper prints nothing for Enhanced HSWA at 1e-1. A mean over this rate is between the means with nothing and with
    all that the channel passes, with errors per packet.
    """
    if last_rate < RATES[-1]:
        gain, note = _gain(first_rate, last_rate, 0.0)
        return Finding.exact(gain, note)
    most_bps = RATE_BPS * passed_share(RATES[-1], "packet")
    low, high = (_gain(first_rate, last_rate, bps)[0] for bps in (0.0, most_bps))
    chosen = [rate for rate in RATES if first_rate <= rate]
    needed = (1.56 * sum(HSWA_BPS[rate] for rate in chosen) - sum(ENHANCED_BPS.get(rate, 0.0) for rate in chosen)) / 1e6
    note = (
        f"{low:.1f} % to {high:.1f} % with 0 to {most_bps / 1e6:.0f} Mbit/s at 1e-1, where nothing is printed; "
        f"56 % takes {needed:.0f} Mbit/s there"
    )
    return Finding((low + high) / 2, low, high, 1, note)


def average_gain_possible(lab: Lab, *, first_rate: float, last_rate: float) -> Possible:
    """Possible values of `average_gain`, for any throughput at 1e-1 from nothing to a full link."""
    ends = [_gain(first_rate, last_rate, bps) for bps in (0.0, RATE_BPS)]
    if last_rate < RATES[-1]:
        # All are printed.
        return Possible(ends[0][0], ends[0][0], ends[0][1])
    why = f"the printed throughputs give {ends[0][0]:.1f} % to {ends[1][0]:.1f} %, for any value at 1e-1"
    return Possible(ends[0][0], ends[1][0], why)


def _gain(first_rate: float, last_rate: float, enhanced_at_1e1_bps: float) -> tuple[float, str]:
    chosen = [rate for rate in RATES if first_rate <= rate <= last_rate]
    enhanced = ENHANCED_BPS | {1e-1: enhanced_at_1e1_bps}
    means = [sum(printed[rate] for rate in chosen) / len(chosen) / 1e6 for printed in (enhanced, HSWA_BPS)]
    gain = 100 * (means[0] / means[1] - 1)
    return gain, f"{means[0]:.2f} Mbit/s / {means[1]:.2f} Mbit/s - 1 = {gain:.1f} %"


def packets_needed(rate: float) -> float:
    """Packets per round trip with which HSWA has its printed throughput at a packet error rate.

    With a step per ACK the window W is full again a round trip after each halving. This costs half a round trip in the
    1 / (p W) round trips between losses. The share of the throughput at 1e-8 is 1 / (1 + p W / 2).
    """
    return 2 * (HSWA_BPS[RATES[0]] / HSWA_BPS[rate] - 1) / rate


def increment_without_loss(lab: Lab, *, rate: float) -> Finding:
    """Growth of the window by eq. 3.1 at TD = BaseTD, in segments, without losses."""
    return Finding.exact(step(rate), f"S = -10 log2 {rate:g} = {step(rate):.1f} segments")


def increment_possible(lab: Lab, **_: Any) -> Possible:
    """Range of `increment_without_loss` over the paper's error rates."""
    low, high = step(RATES[-1]), step(RATES[0])
    why = (
        f"eq. 3.1 adds {low:.0f} (at 1e-1) to {high:.0f} segments (at 1e-8) while TD = BaseTD, without any loss; only "
        "reductions wait for one"
    )
    return Possible(low, high, why)


def round_trip(lab: Lab, *, legs: int) -> Finding:
    """Propagation round trip over legs from the ground to an altitude of 36 000 km, satellite overhead, in seconds."""
    seconds = 2 * legs * 36_000e3 / SPEED_OF_LIGHT_M_PER_S
    return Finding.exact(seconds, f"2 x {legs} x 36 000 km / (299 792 km/s) = {seconds:.4f} s")


def round_trip_possible(lab: Lab, *, legs: int) -> Possible:
    """Range of `round_trip` from the satellite overhead to the satellite at the horizon."""
    slant_m = math.sqrt((EARTH_RADIUS_M + GEO_ALTITUDE_M) ** 2 - EARTH_RADIUS_M**2)
    low, high = (2 * legs * way_m / SPEED_OF_LIGHT_M_PER_S for way_m in (GEO_ALTITUDE_M, slant_m))
    why = (
        f"the way to the satellite is 35 786 km (overhead) to {slant_m / 1000:.0f} km (horizon): a round trip of "
        f"{low:.3f} s to {high:.3f} s"
    )
    return Possible(low, high, why)
