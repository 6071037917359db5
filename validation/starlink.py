"""Compares bundled scenarios of Starlink with traces of pings.

    python -m validation.starlink [FOLDER]
    python -m tools.docs starlink           # after that: the page

FOLDER has the traces, `leolive-ping10ms-bentpipe-victoria-*.csv.xz`. Traces 2 and 3 make the bundled table of slots
(`tools/slots.py`); all others are held out. Some minutes. The numbers go into `validation/data/starlink.json`, and the
figure into `docs/validation`.
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
from bentpipe.statistics.estimates import estimate
from validation import kept

ROOT = Path(__file__).resolve().parent.parent
FIGURE = ROOT / "docs" / "validation" / "starlink.png"
SHIPPED = ROOT / "python" / "bentpipe" / "scenario" / "shipped"
TRACES = ROOT.parent / "shared" / "data" / "starlink"
FITTED = {"2", "3"}
"""Traces whose slots are in the bundled table."""
SUMMARY = TRACES.parent / "tables" / "rtt_summary.csv"
"""Numbers of all traces, also of those that are not in the folder."""
SUMMARISED = {
    "p5": "rtt_p5",
    "p50": "rtt_p50",
    "p95": "rtt_p95",
    "p99": "rtt_p99",
    "p99_9": "rtt_p99.9",
    "step_p50": "slot_median_step_ms_p50",
    "base_step_p50": "slot_floor_step_ms_p50",
    "inside": "within_slot_spread_p95_p5_ms_p50",
}
"""Columns of the summary by name here."""
HELD_OUT = ("1", "4", "5")
RETRANSMITTED = 0.0018
"""Share of the packets of a CUBIC download over the bent pipe in 2023 that were retransmitted (MMSys 2024)."""
SEGMENT = 1388
"""Data of a segment of the measured transfers, bytes."""
SCENARIOS = {
    "starlink": "`starlink`, drawn slots",
    "victoria-seattle": "`victoria-seattle`, orbits",
}
SLOT_S, PHASE_S = 15, 12
RUN_S = 3600
PING_S = 0.0133
"""Interval of most pings of the traces."""
SEEDS = (1, 2, 3)
AFTER_S = [-0.1, -0.05, 0.0, 0.05, 0.1, 0.15, 0.2]
BIN_S = 0.05
GRID_S = 0.0133
LAGS = {"13 ms": 1, "40 ms": 3, "0.1 s": 8, "0.3 s": 23, "1 s": 75}
"""Lags of the autocorrelation in a slot, in steps of the grid."""
HALF = 38
"""Steps of the grid in half a second."""

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


def inside(ends: Reals, rtt: Reals) -> list[Reals]:
    """Round trips of each slot in ms on a regular grid of send times, without the handovers at its boundaries."""
    sent = ends - rtt / 1e3
    slots, since = np.floor((sent - PHASE_S) / SLOT_S), (sent - PHASE_S) % SLOT_S
    found = []
    for slot in np.unique(slots):
        here = (slots == slot) & (since > 0.5) & (since < SLOT_S - 0.1)
        if here.sum() >= 500:
            order = np.argsort(sent[here])
            times, values = sent[here][order], rtt[here][order]
            grid = np.arange(times[0], times[-1], GRID_S)
            found.append(values[np.minimum(np.searchsorted(times, grid), len(values) - 1)])
    return found


def correlations(slots: list[Reals]) -> list[float]:
    """Autocorrelation of the deviation from the mean of the slot, over all slots."""
    rests = [values - values.mean() for values in slots]
    variance = np.mean([(rest * rest).mean() for rest in rests])
    return [float(np.mean([(rest[:-lag] * rest[lag:]).mean() for rest in rests]) / variance) for lag in LAGS.values()]


def inside_figures(slots: list[Reals]) -> dict[str, Any]:
    """Steps from slot to slot, and the spread and the correlation of round trips in a slot."""
    base, median, high = np.array([np.percentile(values, [5, 50, 95]) for values in slots]).T
    halves = [np.median(values[: len(values) // HALF * HALF].reshape(-1, HALF), axis=1).std() for values in slots]
    steps, base_steps = np.abs(np.diff(median)), np.abs(np.diff(base))
    return {
        "step_p50": float(np.percentile(steps, 50)),
        "step_p95": float(np.percentile(steps, 95)),
        "base_step_p50": float(np.percentile(base_steps, 50)),
        "inside": float(np.median(high - base)),
        "spread": np.percentile(high - base, [5, 50, 95]).tolist(),
        "rise": np.percentile(median - base, [5, 50, 95]).tolist(),
        "half_s": float(np.median(halves)),
        "correlation": correlations(slots),
    }


def figures(ends: Reals, rtt: Reals) -> dict[str, Any]:
    """Quantiles, steps from slot to slot, round trips inside a slot, and pings around a boundary."""
    slots = np.floor((ends - PHASE_S) / SLOT_S)
    starts = ends - rtt / 1e3
    usual = len(ends) / (ends[-1] - ends[0]) * BIN_S * len(np.unique(slots))
    after, replies = [], []
    for low in AFTER_S:
        by_sending = (offset(starts) >= low) & (offset(starts) < low + BIN_S)
        by_arrival = (offset(ends) >= low) & (offset(ends) < low + BIN_S)
        after.append(float(np.median(rtt[by_sending])))
        replies.append(float(by_arrival.sum() / usual))
    names = ("min", "p5", "p50", "p95", "p99", "p99_9")
    found: dict[str, Any] = dict(zip(names, map(float, np.percentile(rtt, [0, 5, 50, 95, 99, 99.9])), strict=True))
    return found | inside_figures(inside(ends, rtt)) | {"after": after, "replies": replies}


def held_out(traces: dict[str, Any]) -> dict[str, Any]:
    """Means of the traces that are not in the table; those without a file have the numbers of the summary only."""
    import csv

    with SUMMARY.open(encoding="utf-8", newline="") as file:
        rows = {row["trace"].rpartition("-")[2]: row for row in csv.DictReader(file) if "victoria-" in row["trace"]}
    known = {
        name: traces.get(name) or {key: float(rows[name][column]) for key, column in SUMMARISED.items()}
        for name in HELD_OUT
    }
    whole = [each for each in known.values() if "correlation" in each]
    found: dict[str, Any] = {key: float(np.mean([each[key] for each in known.values()])) for key in SUMMARISED}
    for key in ("spread", "rise", "correlation", "half_s"):
        found[key] = np.mean([each[key] for each in whole], axis=0).tolist()
    return found | {"loss": 1 - (1 - RETRANSMITTED) ** 2}


LAGOS = "mmsys24-ping-isl-seychelles-lagos"
"""Trace over links between satellites, in the summary."""
LAGOS_S = 7200
LAGOS_COLUMNS = {
    "p0": "rtt_p0",
    "p5": "rtt_p5",
    "p50": "rtt_p50",
    "p95": "rtt_p95",
    "p99": "rtt_p99",
    "step_p50": "slot_median_step_ms_p50",
    "base_step_p50": "slot_floor_step_ms_p50",
    "inside": "within_slot_spread_p95_p5_ms_p50",
}


def between_satellites() -> dict[str, Any]:
    """Figures of pings every 200 ms over `starlink-isl`, and of those that were measured."""
    import csv

    with SUMMARY.open(encoding="utf-8", newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["trace"].endswith(LAGOS))
    measured = {key: float(row[column]) for key, column in LAGOS_COLUMNS.items()} | {"loss": float(row["loss_ratio"])}
    pings = {"kind": "probe", "interval": "200 ms"}
    result = bp.run(bp.load("starlink-isl", {"duration": f"{LAGOS_S} s", "flow.ping.app": pings}))
    sent, rtt = result.probes["sent_s"].to_numpy(), 1e3 * result.probes["rtt_s"].to_numpy()
    slots, since = np.floor((sent - PHASE_S) / SLOT_S), (sent - PHASE_S) % SLOT_S
    whole = [rtt[(slots == slot) & (since > 0.5) & np.isfinite(rtt)] for slot in np.unique(slots)[1:-1]]
    base, median, high = np.array([np.percentile(values, [5, 50, 95]) for values in whole]).T
    made = {f"p{share}": float(np.nanpercentile(rtt, share)) for share in (0, 5, 50, 95, 99)} | {
        "step_p50": float(np.median(np.abs(np.diff(median)))),
        "base_step_p50": float(np.median(np.abs(np.diff(base)))),
        "inside": float(np.median(high - base)),
        "loss": float(np.mean(result.probes["outcome"].to_numpy() == "lost")),
    }
    row = result.rows("summary")[0]
    ends = {key: row[f"{key}_packets"] for key in ("on_links", "queued", "stranded")}
    return {"measured": measured, "made": made, "slowest": float(np.nanmax(rtt)), "pings": len(rtt), "end": ends}


FAR_MS = 13
"""Delay from the PoP to the server, one way: with it, round trips are those of the measured transfers."""
TRANSFER_SEEDS = range(1, 11)
TOGETHER = 2
"""Retransmissions in intervals of 0.1 s that are at most this far apart belong to one loss."""
MODELS = {"bursts": "default", "each packet": "0 s"}
"""Values of `burst` by name: bursts of losses, and losses of each packet by itself."""


def transfers(folder: Path) -> dict[str, Any]:
    """Figures of a download and an upload with CUBIC as measured, and over `starlink` with the server as far away."""
    found: dict[str, Any] = {"down": {"measured": measured_transfer(folder, "down")}}
    found["up"] = {"measured": measured_transfer(folder, "up")}
    for way, ends in {"down": ("server", "user"), "up": ("user", "server")}.items():
        asked = {"duration": f"{found[way]['measured']['duration_s']:.0f} s", "link.internet.delay": f"{FAR_MS} ms"}
        asked |= dict(zip(("flow.download.from", "flow.download.to"), ends, strict=True))
        for model, burst in MODELS.items():
            more = {} if burst == "default" else {"link.access.slots.burst": burst}
            runs = [bp.run(bp.load("starlink", asked | more), seed=seed).rows("flows")[0] for seed in TRANSFER_SEEDS]
            rows = {
                "goodput": [row["goodput_bps"] / 1e6 for row in runs],
                "share": [100 * row["retransmissions"] / row["sent_packets"] for row in runs],
                "losses_s": [row["reductions"] / found[way]["measured"]["duration_s"] for row in runs],
                "each": [row["retransmissions"] / row["reductions"] for row in runs],
                "rtt": [1e3 * row["rtt_p50_s"] for row in runs],
            }
            found[way][model] = {key: estimate(np.array(values), 0.95)[1:3] for key, values in rows.items()}
    return found


def measured_transfer(folder: Path, way: str) -> dict[str, float]:
    """The same figures of a measured transfer, as far as its file has them."""
    import csv

    path = folder / f"mmsys24-tcp-{way}-bentpipe-victoria.csv.xz"
    rows = list(csv.DictReader(lzma.decompress(path.read_bytes()).decode().splitlines()))
    duration_s = sum(float(row["interval_s"]) for row in rows)
    sent = sum(int(row["bytes"]) for row in rows)
    found = {"duration_s": round(duration_s), "goodput": 8e-6 * sent / duration_s}
    if "retransmits" not in rows[0]:
        return found | {"share": 100 * RETRANSMITTED}
    again = np.array([int(row["retransmits"]) for row in rows])
    losses = 1 + int((np.diff(np.flatnonzero(again)) > TOGETHER).sum())
    return found | {
        "share": float(100 * again.sum() * SEGMENT / sent),
        "losses_s": losses / duration_s,
        "each": float(again.sum() / losses),
        "rtt": float(np.median([int(row["srtt_us"]) / 1e3 for row in rows])),
    }


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
    found = {"traces": traces, "pooled": pooled, "held out": held_out(traces), "scenarios": made}
    found["between satellites"] = between_satellites()
    found["transfers"] = transfers(folder)
    kept.save("starlink", found)
    draw(found, samples)


if __name__ == "__main__":
    kept.begin(__doc__, "FOLDER")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TRACES)
