"""Random numbers of netem, as shares, bursts and quantiles of a scenario."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

TAIL = 4.0
"""Largest value in the tables of tc, in units of the jitter."""
_SHARES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)


class Bursts(NamedTuple):
    """Losses in two states, as in the error model `gilbert-elliott` with lengths in packets.

    Attributes
    ----------
    mean_good, mean_bad : float
        Mean number of packets in each state.
    rate_good, rate_bad : float
        Share of the packets that are lost in each state.
    """

    mean_good: float
    mean_bad: float
    rate_good: float
    rate_bad: float

    @property
    def share(self) -> float:
        """Share of all packets that are lost."""
        whole = self.mean_good + self.mean_bad
        return (self.mean_good * self.rate_good + self.mean_bad * self.rate_bad) / whole


def compute_correlated(share: float, correlation: float) -> tuple[float, float]:
    """Return the share of events, and the share of events after an event, for netem's correlated random numbers.

    Each number is `(1 - correlation) * U + correlation * the number before`, with U uniform from 0 to 1. An event is a
    number below `share`. Correlated numbers are rarely small, so the share of events is below `share`.
    """
    if not correlation or not share or share >= 1:
        return share, share
    if correlation >= 1:
        # All numbers are the first, which is 0.
        return 1.0, 1.0
    fresh = 1 - correlation
    points = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 6000)])
    below = points.copy()
    # The stationary distribution: P(X < x) is the mean of P(X < (x - fresh * u) / correlation) over u.
    for _ in range(200):
        area = np.concatenate([[0.0], np.cumsum(np.diff(points) * (below[1:] + below[:-1]) / 2)])

        def integrate(until: np.ndarray, area: np.ndarray = area) -> np.ndarray:
            return np.asarray(np.interp(np.clip(until, 0, 1), points, area) + np.maximum(until - 1, 0))

        new = correlation / fresh * (integrate(points / correlation) - integrate((points - fresh) / correlation))
        if np.max(np.abs(new - below)) < 1e-13:
            break
        below = new
    area = np.concatenate([[0.0], np.cumsum(np.diff(points) * (below[1:] + below[:-1]) / 2)])
    found = float(np.interp(share, points, below))
    # P(X < s and X' < s), where X' is below s with probability (s - correlation * X) / fresh, at most 1.
    grid = np.linspace(0, share, 4001)
    density = np.diff(np.interp(grid, points, below))
    middle = (grid[1:] + grid[:-1]) / 2
    both = float(np.sum(density * np.clip((share - correlation * middle) / fresh, 0, 1)))
    return found, min(1.0, both / found) if found > 0 else 0.0


def make_bursts(kind: str, numbers: tuple[float, ...]) -> Bursts | None:
    """Return the losses of netem in two states; None if nothing is lost.

    `random` without a correlation, `state` with two states, and `gemodel` are exact. For the others, only the share of
    lost packets and the mean length of a burst are those of netem.
    """
    if kind == "gemodel":
        p, r, bad, good = numbers
        return _two_states(p, r, good, bad)
    if kind == "state":
        p13, p31, p32, p23, p14 = numbers
        if not p13:
            return Bursts(1e9, 1.0, p14 / (1 + p14), p14 / (1 + p14)) if p14 else None
        # In a burst, the chain goes between its lost and its received packets, and leaves it from the lost ones.
        inside = 1 + p32 / p23 if p32 and p23 else 1.0
        mean_bad = inside / p31 if p31 else 1e9
        return Bursts((1 + p14) / p13, mean_bad, p14 / (1 + p14), 1 / inside)
    share, correlation = numbers
    found, follow = compute_correlated(share, correlation)
    if not found:
        return None
    if follow <= found or found >= 1:
        return Bursts(1.0, 1.0, found, found)
    mean_bad = 1 / (1 - follow)
    return Bursts(mean_bad * (1 - found) / found, mean_bad, 0.0, 1.0)


def _two_states(p: float, r: float, good: float, bad: float) -> Bursts | None:
    if not p:
        return Bursts(1.0, 1.0, good, good) if good else None
    return Bursts(1 / p, 1 / r if r else 1e9, good, bad)


def compute_quantiles(distribution: str) -> list[tuple[float, float]]:
    """Return the quantiles of a distribution table of tc: shares, and values in units of the jitter."""
    ends = [(0.0, _value(distribution, 1e-9)), (1.0, TAIL)]
    inner = [(share, _value(distribution, share)) for share in _SHARES]
    return [ends[0], *inner, ends[1]]


def _value(distribution: str, share: float) -> float:
    normal = NormalDist().inv_cdf(share)
    # The generator of tc's table: exponent 3, less its mean, times 4/3.
    pareto = (float((1 - share) ** (-1 / 3)) - 1.5) * 4 / 3
    value = {"normal": normal, "pareto": pareto, "paretonormal": normal / 4 + pareto * 3 / 4}[distribution]
    return max(-TAIL, min(TAIL, value))
