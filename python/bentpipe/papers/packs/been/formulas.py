"""Computes the paper's equations 1 to 5 and 7: packet sizes, efficiencies, the estimate of the error rate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER_BYTES = 40
PACKET_MIN_BYTES = 80
PACKET_MAX_BYTES = 1540
PAYLOADS_BYTES = (1500, 500, 200, 100, 50)
"""The sizes of the paper, without the header."""
RATES = (1e-2, 1e-3, 1e-4)
"""The error rates of the paper."""
RECORDS = 10
"""Packets in a window of the estimator."""
WEIGHT = 0.2
"""Weight of a new estimate in the moving average (beta)."""


def units(length_bytes: float, unit: str) -> float:
    """Length of a packet in the unit of an error rate: bits, bytes, or packets."""
    return {"bit": 8 * length_bytes, "byte": length_bytes, "packet": 1.0}[unit]


def survival(length_bytes: float, rate: float, unit: str) -> float:
    """Probability that a packet crosses a link with independent errors."""
    return float((1 - rate) ** units(length_bytes, unit))


def header_efficiency(length_bytes: float) -> float:
    """e_h of equation 7: the payload's share of a packet."""
    return 1 - HEADER_BYTES / length_bytes


def optimum_bytes(rate: float, unit: str = "bit") -> float:
    """Equation 1 with n = 1: sqrt(S_h / BER), header and result in the unit that the rate counts."""
    per_byte = units(1, unit)
    return math.sqrt(per_byte * HEADER_BYTES / rate) / per_byte


def probabilistic_optimum_bytes(rate: float, unit: str = "bit") -> float:
    """The maximum of (1 - S_h / S) (1 - BER)^S: S = S_h / 2 + sqrt(S_h^2 / 4 - S_h / ln(1 - BER)) (Carek 2005)."""
    per_byte = units(1, unit)
    header = per_byte * HEADER_BYTES
    return (header / 2 + math.sqrt(header**2 / 4 - header / math.log1p(-rate))) / per_byte


def clamp(optimum: float, largest_bytes: int = PACKET_MAX_BYTES) -> int:
    """The rule of section 4.2: whole bytes, between the smallest and the largest packet."""
    return min(max(math.floor(optimum), PACKET_MIN_BYTES), largest_bytes)


def estimates(lost: NDArray[np.bool_], length_bytes: int) -> NDArray[np.float64]:
    """Equation 4 for each whole window of `RECORDS` packets of one length: an error rate per byte."""
    windows = lost[: len(lost) // RECORDS * RECORDS].reshape(-1, RECORDS)
    share = windows.mean(axis=1)
    # With equal lengths, M / N is the share that is lost and m / M is one over the length; for m = 0 that is 0.
    estimate: NDArray[np.float64] = 1 - (1 - share) ** (1 / length_bytes)
    return estimate


def smooth(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equation 5, begun with the first sample."""
    average = np.empty_like(samples)
    current = samples[0]
    for place, sample in enumerate(samples):
        current = (1 - WEIGHT) * current + WEIGHT * sample
        average[place] = current
    return average
