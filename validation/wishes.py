"""Makes the page "Wishes", what papers leave to others: inputs of Enhanced HSWA, and copies of reported segments.

.venv/bin/python validation/wishes.py          # some minutes on two cores
.venv/bin/python validation/wishes.py --text   # the page only, from the numbers that are kept
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import bentpipe as bp
from bentpipe.statistics.estimates import estimate

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "validation"
KEPT = PAGES / "wishes.json"
PACKS = ROOT / "python" / "bentpipe" / "papers" / "packs"
CONFIDENCE = 0.95

CONNECTIONS = [1, 3, 5, 10, 15]
ERRORS = [0.0, 1e-3, 1e-2]
SEEDS = range(1, 6)
RATE_BPS = 100e6
INPUTS: dict[str, dict[str, Any]] = {
    "none": {},
    "number": {"connections": 0},
    "queue": {"queue_target": "100 ms"},
    "losses": {"measures_errors": True},
    "all three": {"connections": 0, "queue_target": "100 ms", "measures_errors": True},
}
"""By name of an arm, what is set; `connections` becomes the number that share the link."""
MEASURES = {
    "goodput": "Goodput of all, % of the link",
    "utilisation": "Utilisation of the downlink, %",
    "jain": "Jain's index of fairness",
    "queue": "Mean wait in the queue in front of the first link, ms",
    "again": "Sent again, % of what was sent",
}

COPIES = [1, 2, 3]
RATES = [0.1, 0.3, 0.5, 0.7]
COPY_SEEDS = range(1, 11)


def hswa_run(arm: str, connections: int, rate: float, seed: int) -> dict[str, float]:
    """One run on the paper's bent pipe."""
    sets: dict[str, Any] = {
        "flow.transfer.count": connections,
        "flow.transfer.start": {"uniform": ["0 s", "1 s"]},
        "link.downlink.forward.error.rate": rate,
        "duration": "60 s",
    }
    given = dict(INPUTS[arm])
    if "connections" in given:
        given["connections"] = connections
    sets["tcp.cc"] = {"kind": "enhanced-hswa", "error_rate": rate, **given}
    run = bp.run(bp.load(PACKS / "hswa" / "scenarios" / "bent-pipe.toml").with_sets(sets), seed=seed)
    summary, flows = run.rows("summary")[0], run.rows("flows")
    links = {row["link"]: row for row in run.rows("links")}
    sent = sum(row["sent_bytes"] for row in flows)
    return {
        "goodput": 100 * summary["goodput_bps"] / RATE_BPS,
        "utilisation": 100 * links["downlink.forward"]["utilisation"],
        "jain": summary["jain"],
        "queue": 1e3 * links["lan1.forward"]["queue_mean_s"],
        "again": 100 * sum(row["retransmitted_bytes"] for row in flows) / sent,
    }


def been_run(copies: int, rate: float, seed: int) -> dict[str, float]:
    """One run on BEEN's path, with packets of one size."""
    sets = {
        "tcp.packet_size": "fixed",
        "tcp.smss": "460 B",
        "tcp.report_copies": copies,
        "link.up.forward.error": {"kind": "packet", "rate": rate},
        "duration": "100 s",
    }
    run = bp.run(bp.load(PACKS / "been" / "scenarios" / "iridium-been.toml").with_sets(sets), seed=seed)
    (flow,) = run.rows("flows")
    return {
        "goodput": flow["goodput_bps"] / 1e3,
        "efficiency": flow["information_efficiency"],
        "per_packet": flow["sent_packets"] / max(1.0, flow["delivered_bytes"] / 460),
        "timeouts": flow["timeouts"],
    }


def measured() -> dict[str, list[dict[str, Any]]]:
    """Rows with mean and interval of each measure."""
    kept: dict[str, list[dict[str, Any]]] = {"hswa": [], "been": []}
    plans = [
        ("hswa", hswa_run, SEEDS, [(arm, n, rate) for arm in INPUTS for n in CONNECTIONS for rate in ERRORS]),
        ("been", been_run, COPY_SEEDS, [(copies, rate) for copies in COPIES for rate in RATES]),
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, act, seeds, points in plans:
            for point in points:
                found = list(pool.map(lambda seed, act=act, point=point: act(*point, seed), seeds))
                row: dict[str, Any] = {"point": point}
                for measure in found[0]:
                    known = estimate(np.array([each[measure] for each in found]), CONFIDENCE)
                    row[measure] = [known.mean, known.low, known.high]
                kept[name].append(row)
                print(name, *point, f"{row['goodput'][0]:.4g}", flush=True)
    return kept


def cell(value: list[float], digits: int) -> str:
    """Mean, and half of its interval."""
    mean, low, high = value
    return f"{mean:.{digits}f} ±{(high - low) / 2:.{digits}f}"


def of(rows: list[dict[str, Any]], *point: Any) -> dict[str, Any]:
    """The row of a point."""
    return next(row for row in rows if list(row["point"]) == list(point))


def hswa_tables(rows: list[dict[str, Any]]) -> str:
    """A table for each measure: a row for each arm and rate, a column for each number of connections."""
    parts = []
    for measure, title in MEASURES.items():
        lines = [f"### {title}", "", "| inputs | errors | " + " | ".join(map(str, CONNECTIONS)) + " |"]
        lines.append("|---|---" + "|---:" * len(CONNECTIONS) + "|")
        for rate in ERRORS:
            for arm in INPUTS:
                cells = [cell(of(rows, arm, n, rate)[measure], 3 if measure == "jain" else 1) for n in CONNECTIONS]
                lines.append(f"| {arm} | {rate:g} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def been_table(rows: list[dict[str, Any]]) -> str:
    """A row for each rate and number of copies."""
    head = "| errors | copies | all damaged, p^n | goodput, kbit/s | information efficiency | packets sent for one |"
    lines = [head, "|---|---|---:|---:|---:|---:|"]
    for rate in RATES:
        for copies in COPIES:
            row = of(rows, copies, rate)
            cells = [cell(row["goodput"], 1), cell(row["efficiency"], 3), cell(row["per_packet"], 2)]
            lines.append(f"| {rate:g} | {copies} | {rate**copies:.3g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def figure(kept: dict[str, list[dict[str, Any]]]) -> None:
    """Goodput and fairness by inputs, and what copies cost."""
    from bentpipe.plot.style import COLOURS, style

    with style():
        import matplotlib.pyplot as plt

        made, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
        for number, arm in enumerate(INPUTS):
            for place, measure in zip(axes, ("goodput", "queue"), strict=False):
                rows = [of(kept["hswa"], arm, n, 1e-3) for n in CONNECTIONS]
                y = [row[measure][0] for row in rows]
                colour = COLOURS[number % len(COLOURS)]
                place.plot(CONNECTIONS, y, "o-", color=colour, markersize=3, label=arm)
                low, high = [row[measure][1] for row in rows], [row[measure][2] for row in rows]
                place.fill_between(CONNECTIONS, low, high, color=colour, alpha=0.2, linewidth=0)
        for number, copies in enumerate(COPIES):
            rows = [of(kept["been"], copies, rate) for rate in RATES]
            x, y = [row["efficiency"][0] for row in rows], [row["goodput"][0] for row in rows]
            axes[2].plot(x, y, "o-", color=COLOURS[number], markersize=3, label=f"{copies}")
        for rate in RATES:
            row = of(kept["been"], 1, rate)
            at = (row["efficiency"][0], row["goodput"][0])
            axes[2].annotate(f"{rate:g}", at, fontsize=7, xytext=(4, -8), textcoords="offset points")
        axes[0].set_ylabel("goodput of all (% of the link)")
        axes[0].set_ylim(bottom=0)
        axes[1].set_ylabel("mean wait in the queue (ms)")
        for place, title in zip(axes, ("inputs", "inputs", "copies"), strict=True):
            place.grid(alpha=0.3)
            place.legend(fontsize=7, title=title, title_fontsize=7)
        for place in axes[:2]:
            place.set_xlabel("connections, one error in a thousand")
        axes[2].set_xlabel("information efficiency (errors at the points)")
        axes[2].set_ylabel("goodput (kbit/s)")
        made.savefig(PAGES / "wishes.png", dpi=150)
        plt.close(made)


TEXT = """<!-- Generated by validation/wishes.py. -->
# Wishes: further inputs of a window, and copies of reported segments

What two of the papers leave to others, tried. Means with 95 % intervals.

![Goodput and queue by inputs, goodput and efficiency by copies](wishes.png)

## Enhanced HSWA with further inputs

The conclusion of the paper on HSWA ([its claims](../papers/hswa.md)) says that more parameters can be added to what
sets the window, for results with many connections. It names none. Three that a sender, or who sets it up, can know are
settings of [`enhanced-hswa`](../senders/enhanced-hswa.md), off by default:

- `connections`: how many share the link, as an oracle knows. Each grows by that part of the increment.
- `queue_target`: a queueing delay, the round trip over the least one. The closer to it, the less is added; a loss
  behind a longer queue halves the window, as one of congestion. Here 100 ms.
- `measures_errors`: the error rate is that of the connection's own losses, instead of the oracle's.

On the paper's geostationary bent pipe, 100 Mbit/s, a round trip of 510 ms, windows and queues of one bandwidth-delay
product; errors per packet; 5 replications of 60 s, starts within a second.

{hswa_verdict}

{hswa}

## Copies of what was reported

REFWA Plus cites go-back-N with multicopy retransmission: what is sent again is sent several times at once. On
[BEEN's](../functions/been.md) path each report of a damaged packet may bring `tcp.report_copies` copies. They are sent
once more when all of them were reported: with an error rate of p none of n arrives with the probability p^n. Packets of
500 B on the uplink of 1.5 Mbit/s, windows of 20 packets, errors per packet; 10 replications of 100 s.

{been}

{been_verdict}
"""
HSWA_VERDICT = """**What helps is the queue.** With ten or fifteen connections and one error in a thousand it halves
the wait, and shares are more equal (Jain's index with fifteen 0.82 instead of 0.59), for a few per cent of goodput.
With three and five it costs more goodput than it is worth. Without errors it costs none: what it costs are errors
behind a queue, which halve the window too. **What does not help:** the number of connections changes nothing beyond
the intervals, so that how fast each window grows is not what decides. Nor does the measured loss rate: the increment
follows its logarithm, and the oracle can be spared. **No input raises the goodput of many connections.** Up to one
error in a thousand ten and fifteen fill the link without any, and at one in a hundred, where they do not, each of the
three leaves them with what they had, or less; all together with less. That the mean of each connection falls with
their number is the link's rate, shared."""
BEEN_VERDICT = """A copy saves a report and a retransmission each time that the first dies: the window moves on
sooner. Two copies give 2 % more goodput at one error in ten, 9 % at three and at five in ten. A third adds little,
and takes some away at seven in ten, where it fills nine tenths of the uplink. A packet that arrives costs
1 + np/(1-p^n) sendings, as the last column shows. BEEN's information efficiency does not see that cost: it is the
share of packets that arrive, needed or not."""


def main() -> None:
    """Measure what is not only text, and write the page."""
    if "--text" not in sys.argv:
        KEPT.write_text(json.dumps(measured(), indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    figure(kept)
    text = TEXT.format(
        hswa=hswa_tables(kept["hswa"]),
        been=been_table(kept["been"]),
        hswa_verdict=HSWA_VERDICT,
        been_verdict=BEEN_VERDICT,
    )
    (PAGES / "wishes.md").write_text(text)


if __name__ == "__main__":
    main()
