"""Makes the section "Cost against size" of the page "Performance"; the rest of the page is written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.sizes import SERIES
from bentpipe import plot
from bentpipe.plot.style import COLOURS, sheet, style
from tools.docs.regions import put
from validation import kept

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validation" / "performance.md"


def figure(file: Path) -> None:
    """Draw the time for a hop over the size, a line for each series."""
    rows = kept.load("sizes")
    with style():
        made = sheet(6.4, 3.6)
        axes = made.subplots()
        for name, label, colour in zip(SERIES, ("flows", "links", "packets in flight"), COLOURS, strict=False):
            of = [row for row in rows if row["series"] == name]
            axes.plot([row["size"] for row in of], [row["ns"] for row in of], "o-", color=colour, label=label)
        axes.set_xscale("log")
        axes.set_xlabel("how many")
        axes.set_ylabel("processor time for a hop (ns)")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
        plot.save(made, file, dpi=150)


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


def pages() -> dict[str, str]:
    """The page with its section, by path below `docs`."""
    section = TEXT.format(table=table(kept.load("sizes")), verdict=VERDICT)
    return {"validation/performance.md": put(PAGE.read_text(encoding="utf-8"), "sizes", section)}


def pictures() -> dict[str, Callable[[Path], None]]:
    """The function that draws the figure, by path below `docs`."""
    return {"validation/sizes.png": figure}


TEXT = """## Cost against size

The cost of a hop as a network grows, in processor time of one core. A hop is a packet that crosses a link, with its
part of the work of TCP at the endpoints. `python -m bench.sizes` measures it again.

![Processor time for a hop against the number of flows, of links, and of packets in flight](sizes.png)

* **Flows** share three satellites. Each has sixteen segments in flight, so that nothing waits or gets lost.
* **Links** form a ring with 10,000 flows of two segments, each over four hops. From 10,000 links on, each flow begins
  on a separate link.
* **Packets in flight** belong to one flow that fills a path half a second long.

{table}

{verdict}

Memory is the peak of the whole process, with its scenario: reading a file of 100,000 links takes most of it.
"""
VERDICT = """The number of packets in flight does not matter: a link is a ring, and its head is one entry of the
schedule. Links and flows matter, for two reasons. The memory that a hop touches no longer fits into the caches: a
flow takes 16 kB here, with its two endpoints, its two links, and their part of the scenario. And the schedule is a
tree of all sources, in which each event climbs a branch. Endpoints without disturbance run ahead of it, so ten flows
cost little. Measured on a quiet machine; the numbers vary by a twentieth from run to run."""
