"""Inverts a simulation: finds the loss ratio with which a simulated transfer has the measured goodput."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.fitting.losses import Value

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST, MOST = 1e-5, 0.2
"""Loss ratios between which is searched. Less is no loss, and with more a transfer stalls."""
HALVINGS = 7
SEEDS = (1, 2)
"""Runs of each ratio."""
NEAR = 4.0
"""Factor around the result within which the runs give its interval."""
NORMAL = 1.96


@dataclass(frozen=True)
class Found:
    """Result of the search.

    Attributes
    ----------
    ratio : Value or None
        Loss ratio with its interval; None if no ratio in the searched range gives the goodput.
    without_bps : float
        Simulated goodput without losses.
    runs : int
        Number of simulated transfers.
    """

    ratio: Value | None
    without_bps: float
    runs: int


def loss(goodput: Callable[[float, int], float], measured_bps: float) -> Found:
    """Search the loss ratio by bisection of its logarithm. `goodput` simulates a transfer with a loss ratio and a seed.

    The interval assumes that the goodput of the measured transfer spreads like that of a simulated transfer.
    """
    without_bps = goodput(0.0, SEEDS[0])
    if without_bps <= measured_bps:
        return Found(None, without_bps, 1)
    low, high = math.log(LEAST), math.log(MOST)
    points: list[tuple[float, float]] = []
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        seen = [goodput(math.exp(middle), seed) for seed in SEEDS]
        points += [(middle, math.log(max(each, 1.0))) for each in seen]
        if sum(seen) / len(seen) > measured_bps:
            low = middle
        else:
            high = middle
    runs = 1 + len(points)
    middle = (low + high) / 2
    if math.exp(low) <= LEAST or math.exp(high) >= MOST:
        return Found(None, without_bps, runs)
    ratios, rates = np.array([each for each in points if abs(each[0] - middle) <= math.log(NEAR)]).T
    slope, start = np.polyfit(ratios, rates, 1)
    if slope >= 0:
        return Found(None, without_bps, runs)
    spread = float(np.std(rates - slope * ratios - start, ddof=2))
    best = float(np.clip((math.log(measured_bps) - start) / slope, ratios.min(), ratios.max()))
    width = NORMAL * spread / abs(slope)
    return Found(Value(*(math.exp(best + each) for each in (0.0, -width, width))), without_bps, runs)
