"""Makes the bundled table of measured slots from traces of pings.

    python -m tools.slots FOLDER            # rewrites the table

FOLDER has the traces of `validation/starlink.py` and `mmsys24-ping-bentpipe-victoria-seattle.csv.xz`. A row is a slot
of 15 s: its base, its waits, its share of slow waits, its losses. Pings measure both directions together. Waits of one
direction are estimated: their sum over both, by the process of the simulator, has the measured quantiles.
"""

from __future__ import annotations

import argparse
import lzma
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from validation.starlink import FITTED, GRID_S, PHASE_S, SLOT_S, TRACES, inside, trace

TABLE = Path(__file__).resolve().parent.parent / "crates" / "model" / "src" / "spec" / "slots" / "starlink-2024.csv"
LOSSES = "mmsys24-ping-bentpipe-victoria-seattle.csv.xz"
SHARES = np.array([0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1])
"""Shares of the time of the waits of a row (`SHARES` in `crates/model/src/spec/slots.rs`)."""
COMMON = 0.1
"""Share of the variance of ordinary waits that follows the process behind slow ones, as in the simulator."""
HOLD_S, CORRELATION_S = 0.02, 0.25
"""Defaults of the keys `hold` and `correlation`."""
ANSWER_S = 0.0125
"""Time from the way up to the way down of a ping: half of the median round trip."""
LAG_STEPS = (3, 8)
"""Lags of the correlation that decides the share of slow waits: 40 and 106 ms."""
SLOW = (0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08)
LOSS_MEAN = 0.00185
"""Mean loss of one direction. 0.04 % of packets were lost up and 0.33 % down in a trace of one-way delays, and TCP
retransmitted 0.18 to 0.34 %. Pings lose 2.5 %, so they give the shares of the slots only."""
ROUNDS = 6
STEP = 0.5
"""More rounds, or a larger step, make steps of the quantiles: waits of one direction are not unique."""

Reals = NDArray[np.float64]


def correlation(values: Reals, lags: tuple[int, ...] = LAG_STEPS) -> Reals:
    """Return the autocorrelation of values at some lags."""
    rest = values - values.mean()
    found: Reals = np.array([(rest[:-lag] * rest[lag:]).mean() for lag in lags]) / (rest * rest).mean()
    return found


def shares(slow: float, random: np.random.Generator, slots: int) -> tuple[Reals, Reals]:
    """Return the shares of both directions at the times of pings, by the process of the simulator."""
    from scipy.signal import lfilter
    from scipy.stats import norm

    count = round(SLOT_S / HOLD_S) + 2
    keep = np.exp(-HOLD_S / CORRELATION_S)
    fresh = random.standard_normal((slots, count + 100))
    common = lfilter([np.sqrt(1 - keep**2)], [1, -keep], fresh, axis=1)[:, 100:]
    high, own = norm.cdf(common), random.standard_normal((slots, count))
    ordinary = (1 - slow) * norm.cdf(np.sqrt(1 - COMMON) * own + np.sqrt(COMMON) * common)
    both = np.where(high > 1 - slow, high, ordinary)
    times = np.arange(0, SLOT_S - 0.1, GRID_S)
    up, down = ((times + late) / HOLD_S for late in (0.0, ANSWER_S))
    return both[:, up.astype(int)], both[:, down.astype(int)]


def one_way(quantiles: Reals, drawn: tuple[Reals, Reals]) -> Reals:
    """Return the waits of one direction whose sum over both has these quantiles."""
    waits = quantiles / 2
    for _ in range(ROUNDS):
        both = round_trips(waits, drawn)
        error = quantiles - np.quantile(both, SHARES)
        waits = np.maximum.accumulate(np.maximum(waits + STEP * error / 2, 0))
    above: Reals = waits - waits[0]
    return above


def round_trips(waits: Reals, drawn: tuple[Reals, Reals]) -> Reals:
    """Return the waits of both directions together."""
    both: Reals = np.interp(drawn[0], SHARES, waits) + np.interp(drawn[1], SHARES, waits)
    return both


def rows(traces: list[tuple[Reals, Reals]], losses: Reals, random: np.random.Generator) -> Reals:
    """Return a row for each slot: base, waits, share of slow waits, loss."""
    processes = {slow: shares(slow, random, 12) for slow in SLOW}
    found = []
    for values in (each for one in traces for each in inside(*one)):
        quantiles = np.quantile(values, SHARES)
        measured = correlation(values)
        best = (np.inf, 0.0, np.zeros(len(SHARES)))
        for slow, drawn in processes.items():
            waits = one_way(quantiles - quantiles[0], drawn)
            made = np.mean([correlation(slot) for slot in round_trips(waits, drawn)], axis=0)
            best = min(best, (float(np.abs(made - measured).sum()), slow, waits), key=lambda each: each[0])
        found.append([quantiles[0] / 2, *best[2], best[1]])
    table = np.array(found)
    table[:, 0] -= table[:, 0].min()
    # A slot has the losses of the slots of the other trace with the same rank of the wait.
    ranks = np.argsort(np.argsort(table[:, 1 + 4])) / len(table)
    return np.column_stack([table, np.interp(ranks, np.linspace(0, 1, len(losses)), losses)])


def slot_losses(path: Path) -> Reals:
    """Return the loss of one direction by rank of the wait: tenths of the slots."""
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()[1:]
    table = np.array([[float(cell) for cell in line.split(",")] for line in lines])
    is_lost = table[:, 2] < 0
    slots = np.floor((table[:, 0] - PHASE_S) / SLOT_S)
    found = []
    for slot in np.unique(slots):
        here = slots == slot
        if here.sum() >= 50:
            rtt = table[here & ~is_lost, 2]
            found.append((np.median(rtt) - rtt.min(), is_lost[here].mean()))
    by_wait = np.array(sorted(found))[:, 1]
    tenths = np.array([part.mean() for part in np.array_split(by_wait, 10)])
    found_losses: Reals = tenths / tenths.mean() * LOSS_MEAN
    return found_losses


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description="Make the bundled table of measured slots from traces of pings.")
    parser.add_argument("folder", type=Path, nargs="?", default=TRACES, help="folder of the traces")
    folder = parser.parse_args().folder
    paths = [folder / f"leolive-ping10ms-bentpipe-victoria-{name}.csv.xz" for name in sorted(FITTED)]
    table = rows([trace(path) for path in paths], slot_losses(folder / LOSSES), np.random.default_rng(1))
    head = [
        "# Measured slots of 15 s: pings from Victoria to Seattle over Starlink, December 2024 (Z. Zhao and J. Pan,",
        "# LEO live streaming), and losses of 2023 (J. Zhao and J. Pan, MMSys 2024). Made by `python -m tools.slots`.",
        "# Delays in ms of one direction: base, waits that are not exceeded in a share of the time. Then the share of",
        "# slow waits, and the loss.",
        "base," + ",".join(f"p{100 * share:g}" for share in SHARES) + ",slow,loss",
    ]
    lines = [",".join([*(f"{cell:.2f}" for cell in row[:-1]), f"{row[-1]:.5f}"]) for row in table.tolist()]
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    print(f"{len(table)} slots in {TABLE.name}")


if __name__ == "__main__":
    main()
