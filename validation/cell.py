"""Compares a cell in low orbit with traces of pings over Starlink.

    python -m validation.cell [FOLDER]

FOLDER has the traces, `leolive-ping10ms-bentpipe-victoria-*.csv.xz`. Each ping of a trace is sent at its instant
through `cell.toml`, with and without its `turn`. Spread and correlation are medians over the slots of 15 s. The first
second of each slot and the last are left out. The keys of `cell.toml` were chosen by the first 260 s of
trace 1, so the other traces are held out. A minute. The numbers are in `docs/concepts/shared-access.md`, by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tomllib

import bentpipe as bp
from validation import kept, starlink

SCENARIO = Path(__file__).with_suffix(".toml")
NAMES = ("1", "2", "3")
AFTER_S, BEFORE_S = 1.0, 1.0
ENOUGH = 500
"""Least number of pings in a slot."""
LAGS = (1, 2, 8)
"""Lags of the correlation, in pings: neighbours are 13 ms apart on average."""

FRAME_S = 1 / 750
PERIOD_MAX = 80
PARTS = 12
OUTLIER_MS = 15.0
USERS = range(51, 61)
"""Periods that are found often, in frames."""

CELLS: dict[str, dict[str, object]] = {
    "turn = 5": {},
    "turn = 1, 12 slots": {"medium.up.turn": 1, "medium.up.slots": 12},
}
"""Overrides of the scenario by name."""


def sent(ends: starlink.Reals, rtt_ms: starlink.Reals) -> tuple[starlink.Reals, starlink.Reals]:
    """Instants of a trace since a full minute, rising, and its round trips in ms."""
    starts = ends - rtt_ms / 1e3
    order = np.argsort(starts, kind="stable")
    starts = starts[order] - 60 * np.floor(starts.min() / 60)
    return starts, rtt_ms[order]


def through(times: starlink.Reals, overrides: dict[str, object]) -> starlink.Reals:
    """Round trips in ms of pings that are sent at these instants."""
    scenario = tomllib.loads(SCENARIO.read_text(encoding="utf-8"))
    scenario["duration"] = f"{times[-1] + 2:.3f} s"
    # Two pings at one instant of a file are a microsecond apart.
    apart = np.maximum.accumulate(times - 1e-6 * np.arange(len(times))) + 1e-6 * np.arange(len(times))
    scenario["flow"]["ping"]["app"] = {"kind": "probe", "times": [f"{at:.6f} s" for at in apart]}
    result = bp.run(bp.load(scenario, overrides))
    rtt_ms: starlink.Reals = 1e3 * result.probes["rtt_s"].to_numpy()
    return rtt_ms


def figures(times: starlink.Reals, rtt_ms: starlink.Reals) -> dict[str, float]:
    """Quantiles above the 5 % quantile, in ms, and correlations, in slots: medians over the slots."""
    phases = times - starlink.PHASE_S
    slots, since = np.floor(phases / starlink.SLOT_S), phases % starlink.SLOT_S
    usual = (since > AFTER_S) & (since < starlink.SLOT_S - BEFORE_S) & np.isfinite(rtt_ms)
    rows = []
    for slot in np.unique(slots):
        inside = rtt_ms[usual & (slots == slot)]
        if len(inside) >= ENOUGH:
            low, *others = np.percentile(inside, [5, 50, 95])
            rest = inside - inside.mean()
            after = [(rest[:-lag] * rest[lag:]).mean() / rest.var() for lag in LAGS]
            rows.append([each - low for each in others] + after)
    names = ("p50", "p95", *(f"after {lag}" for lag in LAGS))
    return dict(zip(names, np.median(rows, axis=0).tolist(), strict=True))


def periods(times: starlink.Reals, rtt_ms: starlink.Reals) -> list[int]:
    """The period of each slot in frames: the mean round trip of each twelfth of it explains most of the variance."""
    slots, since = np.floor((times - starlink.PHASE_S) / starlink.SLOT_S), (times - starlink.PHASE_S) % starlink.SLOT_S
    usual = (since > AFTER_S) & (since < starlink.SLOT_S - BEFORE_S) & np.isfinite(rtt_ms)
    found = []
    for slot in np.unique(slots):
        here = usual & (slots == slot)
        if here.sum() < ENOUGH:
            continue
        rest = np.clip(rtt_ms[here] - np.median(rtt_ms[here]), -OUTLIER_MS, OUTLIER_MS)
        rest -= rest.mean()
        explained = {}
        for frames in range(2, PERIOD_MAX + 1):
            parts = (times[here] / (frames * FRAME_S) % 1 * PARTS).astype(int)
            counts, sums = np.bincount(parts, minlength=PARTS), np.bincount(parts, rest, minlength=PARTS)
            explained[frames] = float((sums**2 / np.maximum(counts, 1)).sum())
        found.append(max(explained, key=lambda frames: explained[frames]))
    return found


def main() -> None:
    """Print a row for each trace, and for each cell with its pings."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else starlink.TRACES
    print("| | p50 - p5, ms | p95 - p5, ms | " + " | ".join(f"lag {lag}" for lag in LAGS) + " |")
    print("|---|" + "---:|" * (2 + len(LAGS)))
    repeats = []
    for name in NAMES:
        times, rtt_ms = sent(*starlink.trace(folder / f"leolive-ping10ms-bentpipe-victoria-{name}.csv.xz"))
        shuffled = np.random.default_rng(1).permutation(rtt_ms)
        found, chance = periods(times, rtt_ms), periods(times, shuffled)
        count, by_chance = (sum(frames in USERS for frames in each) for each in (found, chance))
        repeats.append(
            f"Trace {name}: {count} of {len(found)} slots repeat after 51 to 60 frames, {by_chance} if shuffled"
        )
        rows = {f"trace {name}": figures(times, rtt_ms)}
        rows |= {f"its pings, {cell}": figures(times, through(times, sets)) for cell, sets in CELLS.items()}
        for title, row in rows.items():
            print(
                f"| {title} | "
                + " | ".join(f"{value:.{1 if key[0] == 'p' else 2}f}" for key, value in row.items())
                + " |"
            )
    print("", *repeats, sep="\n")


if __name__ == "__main__":
    kept.begin(__doc__, "FOLDER")
    main()
