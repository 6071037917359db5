"""Quality for users: the rating of a call, and the stalls of a video."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["BEST", "LOSS_ROBUSTNESS", "PACKETISATION_S", "Stalls", "mos", "r_factor", "stalls"]


def __dir__() -> list[str]:
    return list(__all__)


PACKETISATION_S = 0.02
"""Duration of speech in one packet, in seconds (G.711, 20 ms)."""
BEST = 93.2
"""R of a call without delay and loss, with all other defaults (ITU-T G.107, table 3)."""
LOSS_ROBUSTNESS = 25.1
"""Bpl of G.711 with packet loss concealment (ITU-T G.113, appendix I). Its Ie is 0."""


def r_factor(delay_s: ArrayLike, loss_pct: ArrayLike) -> NDArray[np.float64]:
    """Rate a call by the E-model of ITU-T G.107, with delay and random loss only.

    All other inputs have the default of the recommendation: no echo, no advantage factor. The codec is G.711 with loss
    concealment.

    Parameters
    ----------
    delay_s : array_like
        Delay from mouth to ear.
    loss_pct : array_like
        Lost packets, %.

    Returns
    -------
    numpy.ndarray
        R = 93.2 - Idd - Ie,eff, at least 0. From 90 on all users are very satisfied; below 50 nearly all users are
        dissatisfied.
    """
    delay, loss = np.asarray(delay_s, dtype=float), np.asarray(loss_pct, dtype=float)
    # X is negative below 100 ms, where the impairment is zero.
    x = np.log2(np.maximum(delay / 0.1, 1.0))
    by_delay = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    by_loss = 95 * loss / (loss + LOSS_ROBUSTNESS)
    found: NDArray[np.float64] = np.maximum(BEST - by_delay - by_loss, 0.0)
    return found


def mos(r: ArrayLike) -> NDArray[np.float64]:
    """Convert R to the mean opinion score of listeners (ITU-T G.107, annex B): 1 bad to 4.5 best."""
    within: NDArray[np.float64] = np.clip(np.asarray(r, dtype=float), 0.0, 100.0)
    # The polynomial is a little below 1 where R is below 6.5.
    found: NDArray[np.float64] = np.maximum(1 + 0.035 * within + within * (within - 60) * (100 - within) * 7e-6, 1.0)
    return found


@dataclass(frozen=True)
class Stalls:
    """Playback of a video."""

    start_s: float
    """Time from the first sample to the start of playback, in seconds; NaN if playback did not start."""
    count: int
    """Number of stalls."""
    stalled_s: float
    """Total duration of all stalls, in seconds."""


def stalls(times_s: Sequence[float], goodput_bps: Sequence[float], rate_bps: float, buffer_s: float = 2.0) -> Stalls:
    """Find the stalls of a video that plays from the data that a flow delivered.

    Playback starts when the buffer holds `buffer_s` of video. It stalls when the buffer is empty, and continues when
    the buffer holds `buffer_s` again. Times are exact to one sample: choose a `record.interval` much shorter than
    `buffer_s`.

    Parameters
    ----------
    times_s, goodput_bps : sequence of float
        The columns of `RunResult.series("goodput_bps", flow=...)`: ends of intervals, and the goodput in each.
    rate_bps : float
        Rate of the video.
    buffer_s : float
        Seconds of video in the buffer when playback starts.

    Returns
    -------
    Stalls
        Start, number and length of stalls, to the last sample.

    Raises
    ------
    BentpipeError
        The rate or the buffer is not above 0.
    """
    if not (rate_bps > 0 and buffer_s > 0):
        raise BentpipeError(f"a video of {rate_bps} bit/s with a buffer of {buffer_s} s\n  expected both above 0")
    buffered, before, start, count, stalled = 0.0, 0.0, np.nan, 0, 0.0
    is_playing = False
    for now, goodput in zip(times_s, goodput_bps, strict=True):
        length, before = now - before, now
        buffered += goodput * length / rate_bps
        if is_playing:
            buffered -= length
            if buffered < 0:
                count, stalled, buffered, is_playing = count + 1, stalled - buffered, 0.0, False
        elif not np.isnan(start):
            stalled += length
        if not is_playing and buffered >= buffer_s:
            start, is_playing = (now if np.isnan(start) else start), True
    return Stalls(float(start), count, float(stalled))
