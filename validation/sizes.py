"""What a hop of a packet costs against the size of a network: flows, links, packets in flight.

Writes `docs/validation/sizes.md` with a table and a figure.

    python validation/sizes.py           # measures, 5 to 10 minutes
    python validation/sizes.py --text    # only writes the page again

Each point runs in a process of its own, so that its memory is its own; processor time is what counts, the least of
three runs. It needs a release build (`make release`).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import bentpipe as bp
from bentpipe import _core

PAGES = Path(__file__).resolve().parent.parent / "docs" / "validation"
KEPT = PAGES / "sizes.json"
SIZES = [10, 100, 1_000, 10_000, 100_000]
RUNS = 3

TCP = """[tcp]
like = "rfc"
cc = "newreno"
cwnd_validation = "off"
give_up = "never"
processing = "0 s"
"""


def flows(count: int) -> str:
    """A dumbbell of three satellites; each flow has 16 segments on its way, so that none waits for another."""
    seconds = max(2.0, 2_500 / count)
    shared = f'rate = "{2 * count} Mbit/s"\ndelay = "20 ms"\nqueue = "{2 * count + 200} packets"\n'
    own = f'count = {count}\nrate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = "100 packets"\n'
    return (
        f'duration = "{seconds} s"\n{TCP}receive_buffer = "16 segments"\n'
        f'[link.up]\nfrom = "s{{n}}"\nto = "sat1"\n{own}[link.down]\nfrom = "sat3"\nto = "r{{n}}"\n{own}'
        f'[link.isl1]\nfrom = "sat1"\nto = "sat2"\n{shared}[link.isl2]\nfrom = "sat2"\nto = "sat3"\n{shared}'
        f'[flow.f]\ncount = {count}\nfrom = "s{{n}}"\nto = "r{{n}}"\nstart = {{ uniform = ["0 s", "0.5 s"] }}\n'
    )


def links(count: int) -> str:
    """A ring of so many routers; 10,000 flows of two segments, from each router or the first 10,000, over four hops."""
    sources = min(count, 10_000)
    text = [f'duration = "2 s"\n{TCP}receive_buffer = "2 segments"\n']
    for at in range(count):
        text.append(
            f'[link.l{at}]\nfrom = "r{at}"\nto = "r{(at + 1) % count}"\nrate = "10 Gbit/s"\ndelay = "10 ms"\n'
            'queue = "10000 packets"\n'
        )
    for at in range(sources):
        route = [f'"r{(at + hops) % count}"' for hops in range(5)]
        text.append(
            f"[flow.f{at}-]\nfrom = {route[0]}\nto = {route[4]}\ncount = {10_000 // sources}\n"
            f"route = [{', '.join(route)}]\nreverse_route = [{', '.join(reversed(route))}]\n"
            'start = { uniform = ["0 s", "0.1 s"] }\n'
        )
    return "".join(text)


def window(count: int) -> str:
    """One flow that fills a path of so many packets, half a second long."""
    rate_bps = count * 1500 * 8 / 0.5
    return (
        f'duration = "{max(5.0, 2e6 / (3 * count)):.3f} s"\n{TCP}smss = "1460 B"\nreceive_buffer = "{count} segments"\n'
        f'initial_window = "{count} segments"\nhandshake = false\n'
        f'[link.l]\nfrom = "a"\nto = "b"\nrate = "{rate_bps:.0f} bit/s"\ndelay = "250 ms"\nqueue = "{count} packets"\n'
        '[flow.f]\nfrom = "a"\nto = "b"\n'
    )


SERIES = {"flows": flows, "links": links, "window": window}


def point(name: str, size: int) -> dict[str, Any]:
    """One run, in this process."""
    begin_s = time.process_time()
    scenario = bp.loads(SERIES[name](size))
    read_s = time.process_time() - begin_s
    begin_s = time.process_time()
    simulation = _core.Run(scenario._core)
    built_s = time.process_time() - begin_s
    begin_s = time.process_time()
    while not simulation.is_done:
        simulation.advance(1_000_000)
    taken_s = time.process_time() - begin_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    hops = bp.run(scenario).rows("summary")[0]["packet_hops"]
    return {"read_s": read_s, "built_s": built_s, "ns": taken_s / hops * 1e9, "hops": hops, "peak_mb": peak_mb}


def measured() -> list[dict[str, Any]]:
    """A row for each series and size, of the least of some runs."""
    rows = []
    for name in SERIES:
        for size in SIZES:
            command = [sys.executable, __file__, name, str(size)]
            found = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                for _ in range(RUNS)
            ]
            rows.append({"series": name, "size": size, **min(found, key=lambda row: row["ns"])})
            print(rows[-1])
    return rows


def figure(rows: list[dict[str, Any]]) -> None:
    """Time for a hop over the size, a line for each series."""
    from bentpipe.plot.style import COLOURS, style

    with style():
        import matplotlib.pyplot as plt

        made, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        for name, label, colour in zip(SERIES, ("flows", "links", "packets in flight"), COLOURS, strict=False):
            of = [row for row in rows if row["series"] == name]
            axes.plot([row["size"] for row in of], [row["ns"] for row in of], "o-", color=colour, label=label)
        axes.set_xscale("log")
        axes.set_xlabel("how many")
        axes.set_ylabel("processor time for a hop (ns)")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
        made.savefig(PAGES / "sizes.png", dpi=150)
        plt.close(made)


def table(rows: list[dict[str, Any]]) -> str:
    """A row for each size of each series."""
    lines = [
        "| what grows | how many | hops | ns for a hop | of the smallest | to read, s | to build, s | memory, MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        least = next(each["ns"] for each in rows if each["series"] == row["series"])
        lines.append(
            f"| {row['series']} | {row['size']:,} | {row['hops'] / 1e6:.1f} M | {row['ns']:.0f} "
            f"| {row['ns'] / least:.1f} | {row['read_s']:.2f} | {row['built_s']:.2f} | {row['peak_mb']:,.0f} |"
        )
    return "\n".join(lines)


TEXT = """<!-- Generated by validation/sizes.py. -->
# Speed: cost against size

What a hop of a packet costs as a network grows, in processor time of one core; a hop is a packet that crosses a link,
and its part of what TCP does at the ends.

![Processor time for a hop against the number of flows, of links, and of packets in flight](sizes.png)

* **Flows** share three satellites, and have sixteen segments each on the way, so that nothing waits or gets lost.
* **Links** are a ring; over it go 10,000 flows of two segments, each over four hops. From 10,000 links on each flow
  begins on a link of its own.
* **Packets in flight** are one flow's, which fills a path half a second long.

{table}

{verdict}

Memory is the peak of the whole process, with its scenario: reading a file of 100,000 links takes most of it.
"""
VERDICT = """How many packets are in flight does not matter: a link is a ring, and its head one entry of the
schedule. Links and flows do matter, for two reasons. What a hop touches no longer fits into the caches: a flow
takes 16 kB here, with its two ends, two links of its own, and what the scenario keeps of them. And the schedule is
a tree of all sources, of which each event climbs a branch; ends that nothing disturbs run ahead of it, which is why
ten flows cost so little. Measured on a quiet machine; the numbers vary by a twentieth from run to run."""


def main() -> None:
    """Measure what is not only text, and write the page."""
    if len(sys.argv) == 3:
        print(json.dumps(point(sys.argv[1], int(sys.argv[2]))))
        return
    if "--text" not in sys.argv:
        KEPT.write_text(json.dumps(measured(), indent=1) + "\n")
    rows = json.loads(KEPT.read_text())
    figure(rows)
    (PAGES / "sizes.md").write_text(TEXT.format(table=table(rows), verdict=VERDICT))


if __name__ == "__main__":
    main()
