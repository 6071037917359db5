"""Compares bundled scenarios of Starlink with traces of pings.

    python -m validation.starlink [FOLDER]
    python -m tools.docs starlink           # after that: the page

FOLDER has the traces, `leolive-ping10ms-bentpipe-victoria-*.csv.xz`. The first two were used to fit the scenarios;
all others are held out. Some minutes. The numbers go into `validation/data/starlink.json`,
and the figure into `docs/validation`.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tomllib
from numpy.typing import NDArray

import bentpipe as bp
from validation import kept

ROOT = Path(__file__).resolve().parent.parent
FIGURE = ROOT / "docs" / "validation" / "starlink.png"
SHIPPED = ROOT / "python" / "bentpipe" / "scenario" / "shipped"
TRACES = ROOT.parent / "shared" / "data" / "starlink"
FITTED = {"1", "2"}
"""Traces to which the scenarios were fitted."""
SCENARIOS = {
    "starlink": "`starlink`, drawn paths",
    "victoria-seattle": "`victoria-seattle`, orbits",
}
SLOT_S, PHASE_S = 15, 12
RUN_S = 3600
PING_S = 0.0133
"""Interval of most pings of the traces."""
SEEDS = (1, 2, 3)
AFTER_S = [-0.1, -0.05, 0.0, 0.05, 0.1, 0.15, 0.2]
BIN_S = 0.05

Reals = NDArray[np.float64]


def trace(path: Path) -> tuple[Reals, Reals]:
    """Arrival times of replies, s, and round trips, ms."""
    rows = lzma.decompress(path.read_bytes()).decode().splitlines()[1:]
    table = np.array([[float(cell) for cell in row.split(",")[:2]] for row in rows])
    table = table[table[:, 1] > 0]
    return table[:, 0], table[:, 1]


def pinged(name: str, seed: int) -> tuple[Reals, Reals, float]:
    """Arrivals and round trips of pings through an idle scenario, and the share of lost pings."""
    scenario = tomllib.loads((SHIPPED / f"{name}.toml").read_text(encoding="utf-8"))
    scenario["duration"] = f"{RUN_S} s"
    scenario["seed"] = seed
    if "sky" in scenario:
        scenario["sky"]["seed"] = seed
    (flow,) = scenario["flow"].values()
    scenario["flow"] = {"ping": {"from": flow["to"], "to": flow["from"], "app": "port"}}

    def through(way: int, times: Reals) -> Reals:
        """Arrival times of packets sent at these times in one direction."""
        net = bp.Network(scenario)
        port = net.ports("ping")[way]
        for number, at in enumerate(times.tolist()):
            net.inject(at, port, number.to_bytes(4, "big"))
        net.run_until(RUN_S)
        arrived = np.full(len(times), np.nan)
        for packet in net.drain():
            arrived[int.from_bytes(packet.data, "big")] = packet.at_s
        return arrived

    # The two directions share no packets, so each is a separate run.
    sent = np.arange(0, RUN_S - 1, PING_S)
    there = through(0, sent)
    kept = np.flatnonzero(there < RUN_S - 0.5)
    kept = kept[np.argsort(there[kept], kind="stable")]
    back = through(1, there[kept])
    good = ~np.isnan(back)
    order = np.argsort(back[good], kind="stable")
    ends, starts = back[good][order], sent[kept[good]][order]
    return ends, 1e3 * (ends - starts), 1 - len(ends) / len(sent)


def offset(times: Reals) -> Reals:
    """Seconds after the nearest boundary of slots."""
    return (times - PHASE_S + SLOT_S / 2) % SLOT_S - SLOT_S / 2


def figures(ends: Reals, rtt: Reals) -> dict[str, Any]:
    """Quantiles, steps from slot to slot, spread inside a slot, and pings around a boundary."""
    slots = np.floor((ends - PHASE_S) / SLOT_S)
    since = (ends - PHASE_S) % SLOT_S
    medians, spreads = [], []
    for slot in np.unique(slots):
        inside = rtt[(slots == slot) & (since > 1) & (since < SLOT_S - 0.5)]
        if len(inside) >= 500:
            medians.append(np.median(inside))
            spreads.append(np.percentile(inside, 95) - np.percentile(inside, 5))
    steps = np.abs(np.diff(medians))
    starts = ends - rtt / 1e3
    usual = len(ends) / (ends[-1] - ends[0]) * BIN_S * len(np.unique(slots))
    after, replies = [], []
    for low in AFTER_S:
        by_sending = (offset(starts) >= low) & (offset(starts) < low + BIN_S)
        by_arrival = (offset(ends) >= low) & (offset(ends) < low + BIN_S)
        after.append(float(np.median(rtt[by_sending])))
        replies.append(float(by_arrival.sum() / usual))
    names = ("min", "p5", "p50", "p95", "p99")
    found: dict[str, Any] = dict(zip(names, map(float, np.percentile(rtt, [0, 5, 50, 95, 99])), strict=True))
    found |= {"step_p50": float(np.percentile(steps, 50)), "step_p95": float(np.percentile(steps, 95))}
    return found | {"inside": float(np.median(spreads)), "after": after, "replies": replies}


def draw(found: dict[str, Any], samples: dict[str, tuple[Reals, Reals]]) -> None:
    """Distributions, two minutes of each, and medians after a boundary."""
    from matplotlib import pyplot

    from bentpipe.plot.style import COLOURS, style

    with style():
        figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
        quantiles = np.linspace(0, 100, 400)
        for number, (name, (ends, rtt)) in enumerate(samples.items()):
            is_trace = name.startswith("trace")
            colour = "0.6" if is_trace else COLOURS[number % len(COLOURS)]
            line = {"color": colour, "linewidth": 0.8 if is_trace else 1.5, "zorder": 1 if is_trace else 2}
            axes[0].plot(np.percentile(rtt, quantiles), quantiles, label=name, **line)
            of = found["traces"].get(name.removeprefix("trace ")) or found["scenarios"][name]
            axes[2].plot([1e3 * (low + BIN_S / 2) for low in AFTER_S], of["after"], "o-", markersize=3, **line)
            first = ends[0] + (-offset(ends[:1])[0]) + SLOT_S
            window = (ends > first) & (ends < first + 120)
            if name in ("trace 3", *SCENARIOS):
                shift = {"trace 3": 0}.get(name, 70 * (1 + list(SCENARIOS).index(name) if name in SCENARIOS else 0))
                axes[1].plot(ends[window] - first, rtt[window] + shift, ".", markersize=0.6, color=colour)
                axes[1].annotate(name if not shift else f"{name} (+{shift} ms)", (1, shift + 60), fontsize=7)
        axes[0].set(xlabel="round trip (ms)", ylabel="pings that are faster (%)", xlim=(0, 110), ylim=(0, 100))
        axes[0].legend(fontsize=7)
        axes[1].set(xlabel="time from a boundary (s)", ylabel="round trip (ms)", xlim=(0, 120), ylim=(0, 220))
        axes[1].set_xticks(range(0, 121, 15))
        axes[2].set(xlabel="sent after a boundary (ms)", ylabel="median round trip (ms)", ylim=(0, None))
        figure.savefig(FIGURE, dpi=150)


def main(folder: Path) -> None:
    """Compare, keep the numbers and draw the figure."""
    samples: dict[str, tuple[Reals, Reals]] = {}
    traces: dict[str, Any] = {}
    for path in sorted(folder.glob("leolive-ping10ms-bentpipe-victoria-*.csv.xz")):
        name = path.name.split("-")[-1].partition(".")[0]
        samples[f"trace {name}"] = trace(path)
        traces[name] = figures(*samples[f"trace {name}"])
    if not traces:
        raise SystemExit(
            f"error: no traces in {folder}\n  expected leolive-ping10ms-bentpipe-victoria-1.csv.xz and others"
        )
    # One after the other, each from the beginning of a slot.
    period, ends, rtts = 10_000 * SLOT_S, [], []
    for number, (times, rtt) in enumerate(samples.values()):
        ends.append(times - (times[0] - times[0] % (4 * SLOT_S)) + number * period)
        rtts.append(rtt)
    pooled = figures(np.concatenate(ends), np.concatenate(rtts))
    pooled["replies"] = np.mean([of["replies"] for of in traces.values()], axis=0).tolist()
    made: dict[str, Any] = {}
    for name in SCENARIOS:
        runs = [pinged(name, seed) for seed in SEEDS]
        ends_of = np.concatenate([run[0] + number * period for number, run in enumerate(runs)])
        samples[name] = runs[0][:2]
        made[name] = figures(ends_of, np.concatenate([run[1] for run in runs]))
        made[name]["replies"] = np.mean([figures(*run[:2])["replies"] for run in runs], axis=0).tolist()
        made[name]["loss"] = float(np.mean([run[2] for run in runs]))
    found = {"traces": traces, "pooled": pooled, "scenarios": made}
    kept.save("starlink", found)
    draw(found, samples)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TRACES)
