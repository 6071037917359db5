"""Sections of the page "Over the sky": REFWA Plus over Teledesic, pings after a boundary, and the cost."""

from __future__ import annotations

import textwrap
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import plot
from bentpipe.formatting import write_fixed
from bentpipe.plot.style import COLOURS, sheet, style
from bentpipe.statistics.estimates import estimate
from validation.skies_more import (
    CITIES_AROUND,
    CONFIDENCE,
    DIRECTIONS,
    DURATION_S,
    ERRORS,
    HUB,
    PAUSE_MS,
    SENDERS,
    STARTS,
    TIMES,
)

if TYPE_CHECKING:
    from pathlib import Path


def cost_table(kept: dict[str, Any]) -> str:
    """A row per number of satellites, a column per number of pairs."""
    found = {(row["satellites"], row["pairs"]): row["step_ms"] for row in kept["rows"]}
    pairs = sorted({at[1] for at in found})
    lines = [
        "| satellites | " + " | ".join(f"{count:,} pair{'s' * (count > 1)}" for count in pairs) + " |",
        "|---:" * (len(pairs) + 1) + "|",
    ]
    for satellites in sorted({at[0] for at in found}):
        cells = " | ".join(f"{found[satellites, count]:.3g}" for count in pairs)
        lines.append(f"| {satellites:,} | {cells} |")
    return "\n".join(lines)


def cost_figure(kept: dict[str, Any], file: Path) -> None:
    """Two panels: by satellites, and by pairs."""
    with style():
        made = sheet(7.2, 3.0)
        left, right = made.subplots(1, 2, sharey=True)
        panels = [
            (left, "satellites", "pairs", (1, 190, 4950, 19900)),
            (right, "pairs", "satellites", (64, 1156, 5184, 10000)),
        ]
        for axes, across, apart, values in panels:
            for value, colour in zip(values, COLOURS, strict=False):
                rows = sorted((row[across], row["step_ms"]) for row in kept["rows"] if row[apart] == value)
                name = f"{value:,} {apart if value > 1 else apart[:-1]}"
                axes.plot(*zip(*rows, strict=True), "o-", color=colour, markersize=3, label=name)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel(across)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=7)
        left.set_ylabel("CPU time of a step (ms)")
        plot.save(made, file, dpi=150)


def cost_text(kept: dict[str, Any]) -> str:
    """The section of the page."""
    read = ", ".join(
        f"{row['seconds']:.2f} s with {row['pairs']} pair{'s' * (row['pairs'] > 1)}" for row in kept["reading"]
    )
    intro = wrapped(
        f"""CPU time of a step (ms). A step moves all satellites (SGP4), measures all links, and finds the paths of all
        pairs of 2 to 200 cities. The shells are like Kuiper's first at 630 km, with as many planes as satellites in
        each. Steps are 0.1 s apart; a release build, one core, the least of {TIMES} measurements."""
    )
    return f"""{intro}

![CPU time of a step by satellites and by pairs](sky-cost.png)

{cost_table(kept)}

With few pairs, most of the time goes into the satellites and grows with their number. With many pairs, most of it goes
into trees of shortest paths, one from each city. The time then grows with the cities, the root of the number of pairs.

Kuiper's first shell, 100 cities, all pairs, 2,000 steps: {kept["long_s"]:.1f} s and {kept["long_mb"]:.0f} MB.

Reading a scenario of a minute over Starlink's first shell, with links and changes written out, takes
{read}."""


PINGS_MS = [25.9, 85.0, 73.0, 39.0, 32.7, 31.2, 28.1, 27.2]

REPLIES = [0.99, 0.79, 0.14, 1.24, 1.55, 1.25, 1.09, 1.05]


def transient_text(kept: dict[str, Any]) -> str:
    """The end of the section on what was measured on Starlink."""
    lines = [
        "| sent or arrived after it (ms) | measured: median RTT (ms) | replies | simulated: RTT (ms) | replies |",
        "|---|---:|---:|---:|---:|",
    ]
    for row, ping, replies in zip(kept["rows"], PINGS_MS, REPLIES, strict=True):
        low = round(1e3 * row["offset_s"])
        lines.append(
            f"| {low} to {low + 50} | {ping:.1f} | {100 * replies:.0f} % | {row['median_ms']:.1f} "
            f"| {100 * row['replies']:.0f} % |"
        )
    table = "\n".join(lines)
    intro = wrapped(
        f"""At a boundary, packets are held for about {PAUSE_MS} ms and are not lost. The measured values are pings
        every 10 ms from Victoria, five traces of 2024; replies are relative to the usual number. Simulated pings use
        `selection = "starlink"` with `break_before_make = "{PAUSE_MS} ms"`, `waiting = "kept"` and
        `in_flight = "delivered"`. A delay of 8 ms each way represents the parts besides geometry. Of {kept["sent"]:,}
        simulated pings, {kept["lost"]} were lost."""
    )
    end = wrapped(
        """The simulation has the pause and the held packets. The measured pause is longer on both sides: Starlink
        holds pings of the last 50 ms before a boundary, while the simulator delivers packets that have left the
        ground. Measured round trips fall over a quarter of a second, because waiting packets leave one after the
        other. In the simulation all of them leave at the same time."""
    )
    return f"{intro}\n\n{table}\n\n{end}"


def within(values: Any) -> str:
    """A mean with its interval."""
    made = estimate(np.array(values), CONFIDENCE)
    return f"{write_fixed(made.mean, 3)} ± {made.half_width:.3f}"


def refwa_table(rows: list[dict[str, Any]]) -> str:
    """A row per direction, errors and sender: the sky at rest, then moving."""
    found = {(row["direction"], row["error"], row["sender"], row["sky"]): row for row in rows}
    lines = [
        "| flows | errors | sender | F, sky still | F, moving | utilisation, still | moving |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for direction, told in DIRECTIONS.items():
        for error in ERRORS:
            for case, sender in SENDERS.items():
                cells = [
                    within(found[direction, error, case, sky][what])
                    for what in ("fairness", "utilisation")
                    for sky in ("still", "moving")
                ]
                lines.append(f"| {told} | {error:g} | {sender} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def differences(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The statements of the claim as differences above 0, paired by start, with the verdict on each."""
    found = {(row["direction"], row["error"], row["sender"], row["sky"]): row for row in rows}

    def of(what: str, direction: str, case: str, sky: str) -> Any:
        return np.array(found[direction, 0.0, case, sky][what])

    listed = []
    for direction, told in DIRECTIONS.items():
        rest, moving = (of("fairness", direction, "newreno", sky) for sky in ("still", "moving"))
        plain, plus = (of("fairness", direction, case, "moving") for case in ("refwa", "refwa-plus"))
        used, usual = (of("utilisation", direction, case, "moving") for case in ("refwa-plus", "newreno"))
        statements = [
            ("NewReno is unfair where round trips differ: 0.9 less F, sky still", 0.9 - rest),
            ("handovers make it more so: F, sky still, less F, moving", rest - moving),
            ("REFWA cures it: its F less NewReno's, moving", plain - moving),
            ("REFWA Plus cures it: its F less NewReno's, moving", plus - moving),
            ("and it is fair: F of REFWA Plus, moving, less 0.9", plus - 0.9),
            ("at no cost: utilisation of REFWA Plus less NewReno's plus 0.05, moving", used - usual + 0.05),
        ]
        for what, by in statements:
            made = estimate(by, CONFIDENCE)
            low, high = made.mean - made.half_width, made.mean + made.half_width
            verdict = "holds" if low > 0 else "does not hold" if high < 0 else "undecided"
            listed.append({"told": told, "what": what, "by": within(by), "verdict": verdict})
    return listed


def verdicts(rows: list[dict[str, Any]]) -> str:
    """The statements of REF-30 with their verdicts."""
    lines = ["| flows | statement | by | verdict |", "|---|---|---:|---|"]
    lines += [f"| {each['told']} | {each['what']} | {each['by']} | {each['verdict']} |" for each in differences(rows)]
    return "\n".join(lines)


def refwa_text(rows: list[dict[str, Any]], caused: list[dict[str, Any]]) -> str:
    """The section of the page."""
    handovers = mean(row["handovers"] for row in rows if row["sky"] == "moving")
    before, after = (mean(row[f"{name}_utilisation"] for row in caused) for name in ("before", "whole"))
    flood = mean(row["whole_overflows"] for row in caused)
    until = sorted(row["until_s"] for row in caused)
    most = {sky: mean(row[f"{sky}_most"][1] for row in caused) for sky in ("still", "moving")}
    far = sum(row["still_most"][0] != CITIES_AROUND[0] for row in caused)
    none = not any(row["before_overflows"] for row in caused)
    share = {sky: f"{100 * part:.0f} %" for sky, part in most.items()}
    what = wrapped(
        f"""REF-30 of [REFWA Plus](../papers/refwa.md): TCP shares a satellite link very unfairly when round trips
        differ, and more so with frequent handovers; REFWA cures it. Here round trips and handovers are those of
        Teledesic, which the paper names for its 20 ms. Ten flows connect {HUB} and ten cities from {CITIES_AROUND[0]}
        to {CITIES_AROUND[-1]} (20 to 200 ms) for {DURATION_S // 60} minutes, from {len(STARTS)} times of a day. Each
        place has the satellite that stays in view longest. A run has {handovers:.0f} handovers, which lose the packets
        on the old link. All flows share the link of 10 Mbit/s between {HUB} and its
        satellite. TCP and queues are those of the paper's pack; hosts take up to 0.85 ms per packet. The still sky
        is the same sky, stopped at the start. F is the paper's fairness index, 1 if all flows have the same
        goodput."""
    )
    verdict = wrapped(
        f"""**Verdict: in part.** Different round trips make TCP unfair. Handovers of a real sky make it much
        fairer, not less fair. Under a still sky, the largest NewReno flow takes {share["still"]} of the link. In
        {far} of {len(caused)} runs this is not the nearest flow, but one synchronised with the queue. With round
        trips that drift and jump, the largest flow takes {share["moving"]}. REFWA and REFWA Plus remove the rest of
        the unfairness if the feedback comes from a node that all segments of a connection pass, such as the
        gateway."""
    )
    why = wrapped(
        f"""The paper puts the feedback on the satellites. There its effect ends with the first handover of the shared
        link: the next satellite has not seen the SYNs, does not know the window scale, and leaves windows unchanged.
        Under REFWA the flows are then plain TCP. Under REFWA Plus they are worse: without a feedback that falls, each
        overflow is treated as a link error, and the whole window is retransmitted. Until that handover ({until[0]:.0f}
        to {until[-1]:.0f} s after the start) there is {"no" if none else "hardly an"} overflow and a utilisation of
        {before:.2f}. At the end it is {after:.2f}, and the queue has dropped {flood:,.0f} packets. Two
        changes would help: satellites that pass on the state of connections, or windows without scaling. The paper
        simulates neither handovers nor window scaling."""
    )
    return f"""{what}

{refwa_table(rows)}

Each statement of the claim without errors, as a difference that must be above 0, paired by start:

{verdicts(rows)}

{verdict}

{why}"""


def wrapped(text: str) -> str:
    """A paragraph in lines."""
    return textwrap.fill(" ".join(text.split()), 116, break_long_words=False, break_on_hyphens=False)
