"""Whether emulated and simulated runs agree, by quantity and in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Limits:
    """How far the mean of emulated runs may be from that of simulated ones: shares, and a least one in its unit."""

    agrees: float
    differs: float
    least: float = 0.0


LIMITS = {
    "goodput_bps": Limits(0.02, 0.05),
    "cwnd_mean_bytes": Limits(0.05, 0.15),
    "cwnd_first_loss_bytes": Limits(0.05, 0.15),
    "srtt_p50_s": Limits(0.03, 0.10, least=0.001),
    "srtt_p95_s": Limits(0.03, 0.10, least=0.001),
    "drops": Limits(0.10, 0.30, least=3),
    "retransmissions": Limits(0.10, 0.30, least=3),
}
"""By quantity."""
NAMES = {
    "goodput_bps": "goodput",
    "cwnd_mean_bytes": "mean window",
    "cwnd_first_loss_bytes": "largest window before the first loss",
    "srtt_p50_s": "median round trip",
    "srtt_p95_s": "95 % round trip",
    "drops": "lost data packets",
    "retransmissions": "retransmissions",
}
UNITS = {
    "goodput_bps": "bit/s",
    "cwnd_mean_bytes": "B",
    "cwnd_first_loss_bytes": "B",
    "srtt_p50_s": "s",
    "srtt_p95_s": "s",
}


@dataclass(frozen=True)
class Judged:
    """One quantity on both sides.

    Attributes
    ----------
    quantity : str
    simulated, emulated : float
        Means over the runs.
    low, high : float
        Where the mean of so many emulated runs lies with a probability of 95 % if they are like the simulated ones.
    verdict : str
        `agrees`, `nearly agrees` or `differs`.
    """

    quantity: str
    simulated: float
    low: float
    high: float
    emulated: float
    verdict: str

    @property
    def name(self) -> str:
        """The quantity in words."""
        return NAMES[self.quantity]

    @property
    def sentence(self) -> str:
        """What differs, and by how much."""
        if not self.simulated:
            return self.name
        return f"{self.name} ({(self.emulated / self.simulated - 1):+.0%})"

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


def judged(quantity: str, simulated: Sequence[float], emulated: Sequence[float]) -> Judged:
    """Compare the means: within the limits or the interval of prediction they agree, beyond both limits they differ."""
    from scipy import stats

    count, mean = len(simulated), math.fsum(simulated) / len(simulated)
    found, half = math.fsum(emulated) / len(emulated), 0.0
    if count > 1:
        variance = math.fsum((value - mean) ** 2 for value in simulated) / (count - 1)
        quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1))
        half = quantile * math.sqrt(variance * (1 / len(emulated) + 1 / count))
    limits, off = LIMITS[quantity], abs(found - mean)
    if off <= max(limits.agrees * abs(mean), limits.least, half):
        verdict = "agrees"
    else:
        verdict = "differs" if off > max(limits.differs * abs(mean), 2 * limits.least) else "nearly agrees"
    return Judged(quantity, mean, mean - half, mean + half, found, verdict)


def whole(quantities: Sequence[Judged]) -> str:
    """The verdict on all quantities; without any, there is none."""
    if not quantities:
        return "No verdict: no emulated run was trustworthy."
    differ = [each.sentence for each in quantities if each.verdict == "differs"]
    if differ:
        return f"Differs in {', '.join(differ)}."
    nearly = [each.sentence for each in quantities if each.verdict != "agrees"]
    return "Agrees." if not nearly else f"Agrees, nearly in {', '.join(nearly)}."


def measured(
    windows: pl.DataFrame, trips: pl.DataFrame, losses: pl.DataFrame, *, start_s: float, end_s: float
) -> dict[str, float]:
    """Means and quantiles over time of one run, and its largest window before the sender can know of the first loss."""
    window = _levels(windows, "cwnd_bytes", start_s, end_s)
    trip = _levels(trips, "srtt_s", start_s, end_s)
    knows_s = end_s
    if losses.height:
        first_s = float(losses["time_s"][0])
        known = trips.filter(pl.col("time_s") <= first_s)["srtt_s"]
        knows_s = first_s + (float(known[-1]) if len(known) else 0.0)
    before = windows.filter(pl.col("time_s").is_between(start_s, knows_s))["cwnd_bytes"]
    return {
        "cwnd_mean_bytes": _mean(window),
        "cwnd_first_loss_bytes": float(before.max() or 0.0),  # type: ignore[arg-type]
        "srtt_p50_s": _quantile(trip, 0.5),
        "srtt_p95_s": _quantile(trip, 0.95),
        "drops": float(losses.height),
    }


def _levels(series: pl.DataFrame, name: str, start_s: float, end_s: float) -> list[tuple[float, float]]:
    """Each value with how long it held."""
    times = [max(time, start_s) for time in series["time_s"].to_list()] + [end_s]
    values = series[name].to_list()
    return [
        (value, min(until, end_s) - since)
        for value, since, until in zip(values, times, times[1:], strict=False)
        if min(until, end_s) > since
    ]


def _mean(levels: Sequence[tuple[float, float]]) -> float:
    held = math.fsum(time for _, time in levels)
    return math.fsum(value * time for value, time in levels) / held if held else 0.0


def _quantile(levels: Sequence[tuple[float, float]], share: float) -> float:
    left = share * math.fsum(time for _, time in levels)
    for value, time in sorted(levels):
        left -= time
        if left <= 0:
            return value
    return 0.0


def divergence(simulated: Sequence[float], emulated: Sequence[float], round_trip_s: float) -> str:
    """The first loss that one side has and the other has not within two round trips; times since the first data."""
    for number, (one, other) in enumerate(zip(simulated, emulated, strict=False), 1):
        if abs(one - other) > 2 * round_trip_s:
            return f"The losses part at number {number}: at {one:.3f} s simulated, at {other:.3f} s emulated."
    if len(simulated) != len(emulated):
        side, longer = ("simulated", simulated) if len(simulated) > len(emulated) else ("emulated", emulated)
        number = min(len(simulated), len(emulated))
        return f"The losses part at number {number + 1}: {side} only, at {longer[number]:.3f} s."
    return (
        "All losses come at the same time, within two round trips." if simulated else "No data was lost on either side."
    )
