"""The printed tables, and the arithmetic of slow start to compare them with."""

from __future__ import annotations

import math

INITIAL_WINDOWS = (1, 2, 4, 6, 8)
BUFFERS_KB = (32, 64, 96, 128, 160)
SIZES = ("1 kB", "10 kB", "100 kB")

# Seconds, in the order of `INITIAL_WINDOWS`.
TABLES_1_TO_3 = {
    "1 kB": (0.061, 0.045, 0.038, 0.029, 0.021),
    "10 kB": (0.551, 0.420, 0.327, 0.289, 0.245),
    "100 kB": (4.73, 3.87, 3.19, 2.79, 2.71),
}
# Seconds, in the order of `BUFFERS_KB`. Table VI prints milliseconds, but its numbers are seconds.
TABLES_4_TO_6 = {
    "1 kB": (0.067, 0.054, 0.043, 0.039, 0.032),
    "10 kB": (0.378, 0.330, 0.287, 0.245, 0.231),
    "100 kB": (4.21, 3.19, 2.87, 2.11, 1.98),
}
IMPLIED_INITIAL_WINDOW = 4
"""Initial window of tables IV to VI. It is not stated: tables V and VI agree with II and III at this window."""

SEGMENT_BYTES = 1000
SEGMENT_S = (SEGMENT_BYTES + 40) * 8 / 10e6
"""Transmission time of a segment with its headers at 10 Mbit/s."""

ONE_WAY_MIN_S = 0.2387
"""Delay up to a geostationary satellite and down again, with the satellite in the zenith of both stations."""


def segments(size: str) -> int:
    """Segments of a file whose size is given in kB or MB, decimal."""
    number, unit = size.split()
    return math.ceil(float(number) * {"kB": 1e3, "MB": 1e6}[unit] / SEGMENT_BYTES)


def rounds(size: str, initial_window: int, ssthresh: float = math.inf) -> int:
    """Round trips until the last segment of a file is acknowledged, an ACK for each segment and no loss.

    The window doubles up to `ssthresh` (segments) and then grows by one.
    """
    left, window, count = segments(size), initial_window, 0
    while left > 0:
        left -= window
        window = window + 1 if window >= ssthresh else int(min(2 * window, ssthresh))
        count += 1
    return count


def floor_s(size: str, initial_window: int) -> float:
    """Least time to the last byte received over a geostationary satellite, handshake not counted.

    All round trips but the last take both directions, the last one only the forward direction.
    """
    return (2 * rounds(size, initial_window) - 1) * ONE_WAY_MIN_S + SEGMENT_S


def rows_possible(size: str, initial_window: int = IMPLIED_INITIAL_WINDOW) -> int:
    """Rows of a buffer table that are not below the least time that geostationary propagation allows."""
    return sum(time_s >= floor_s(size, initial_window) for time_s in TABLES_4_TO_6[size])
