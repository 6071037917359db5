"""Measures the cost of a hop against the size of a network: flows, links, packets in flight.

    python -m bench.sizes                             # 5 to 10 minutes
    python -m tools.docs performance --pictures       # after that: the section of the page "Performance"

The numbers go into `validation/data/sizes.json`. Each point runs in a separate process, so that its memory is its own.
Processor time counts, the least of three runs. It needs a release build (`make release`).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import bentpipe as bp
from bentpipe import _core
from validation import kept

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
    """A ring of `count` routers; 10,000 flows of two segments, from each router or the first 10,000, over four hops."""
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
    """One flow that fills a path of `count` packets, half a second long."""
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
            command = [sys.executable, "-m", "bench.sizes", name, str(size)]
            found = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                for _ in range(RUNS)
            ]
            rows.append({"series": name, "size": size, **min(found, key=lambda row: row["ns"])})
            print(rows[-1])
    return rows


def main() -> None:
    """Measure a point if one is named, otherwise all of them."""
    if len(sys.argv) == 3:
        print(json.dumps(point(sys.argv[1], int(sys.argv[2]))))
    else:
        kept.save("sizes", measured())


if __name__ == "__main__":
    kept.begin(__doc__, "ARGUMENT")
    main()
