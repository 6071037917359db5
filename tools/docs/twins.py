"""Makes the second part of the page "Agreement with Linux": the kernel and the simulator on the same transfers."""

from __future__ import annotations

from typing import Any

from bentpipe.emulation.quantities import BY_NAME
from bentpipe.formatting import write_fixed
from validation.twins import BULK, REPLICATIONS, RUNS, SHORT, SHORT_MARGIN, Bulk, load

QUANTITIES = {
    "goodput_bps": ("goodput, Mbit/s", 1e-6, 2),
    "cwnd_mean_bytes": ("mean window, kB", 1e-3, 0),
    "cwnd_first_loss_bytes": ("window before first loss, kB", 1e-3, 0),
    "srtt_p50_s": ("median round trip, ms", 1e3, 1),
    "srtt_p95_s": ("95 % round trip, ms", 1e3, 1),
    "drops": ("lost", 1, 0),
    "retransmissions": ("retransmissions", 1, 0),
}

REASONS = {
    "reno, 50 ms, 0.0%": "The kernel's window is read every 20 ms, in which slow start goes on: its peak is missed.",
    "bbr, 50 ms": "The kernel's window is read every 20 ms, in which start-up goes on: its peak is missed.",
    "bbr, GEO, 0.0%": (
        "The kernel probes the round trip twice in these 30 s, a simulated sender once or twice, as chance has it that"
        " a lower one is seen: with two probes it has 14.9 Mbit/s as well, with one 15.7."
    ),
}
"""Reasons for differences, by the beginnings of the names of rows."""


def number(value: float, digits: int) -> str:
    return write_fixed(value, digits)


def bulk_row(row: Bulk, found: dict[str, Any]) -> str:
    quantities = {each["quantity"]: each for each in found["quantities"]}
    cells = []
    for name, (_, factor, digits) in QUANTITIES.items():
        each = quantities[name]
        simulated, emulated = (number(each[key] * factor, digits) for key in ("simulated", "emulated"))
        edges = (each["difference_low"], each["difference_high"])
        interval = f" ({' to '.join(number(edge * factor, digits) for edge in edges)})" if None not in edges else ""
        cells.append(f"{simulated} / {emulated}{interval}")
    words = "; ".join(
        f"{word}{': ' if word != 'agrees' else ''}{', '.join(names)}" for word, names in outcomes(found).items()
    )
    if found["more_runs"]:
        words += f" ({found['more_runs']} more)"
    about = f"{row.cc}, {row.path}, {row.loss:.1%}"
    return f"| {about} | {found['trusted']} | {' | '.join(cells)} | {words} |"


def counters(bulk: list[Bulk], rows: dict[str, Any]) -> list[str]:
    """A table of the counters of both sides; no lines without rows that have them."""
    counted = [each for each in BY_NAME.values() if each.counters]
    lines = []
    for row in bulk:
        found = {each["quantity"]: each for each in rows[row.key]["quantities"]}
        if all(each.name in found for each in counted):
            cells = (found[each.name] for each in counted)
            sides = (f"{number(cell['simulated'], 1)} / {number(cell['emulated'], 1)}" for cell in cells)
            lines.append(f"| {row.cc}, {row.path}, {row.loss:.1%} | {' | '.join(sides)} |")
    if not lines:
        return []
    return [
        "Counters of the simulated sender / of the kernel in the same runs:",
        "",
        f"| case | {' | '.join(each.words for each in counted)} |",
        f"|---|{'---:|' * len(counted)}",
        *lines,
        "",
    ]


def outcomes(found: dict[str, Any]) -> dict[str, list[str]]:
    """Quantities by verdict; only `agrees` if all of them agree."""
    words = {
        word: [BY_NAME[each["quantity"]].words for each in found["quantities"] if each["verdict"] == word]
        for word in ("differs", "cannot tell")
    }
    return {word: names for word, names in words.items() if names} or {"agrees": []}


def section() -> str:
    """The second half of the page "Agreement with Linux"."""
    rows = load()
    bulk = [row for row in BULK if rows.get(row.key, {}).get("trusted")]
    short = [row for row in SHORT if rows.get(row.key, {}).get("trusted")]
    missing = [row.key for row in [*BULK, *SHORT] if not rows.get(row.key, {}).get("trusted")]
    release = next((rows[row.key]["kernel"]["release"] for row in bulk), "none")
    series = release.split("-")[0].rpartition(".")[0]
    heads = [head for head, _, _ in QUANTITIES.values()]
    lines = [
        "## Twins: the kernel beside the simulator",
        "",
        f"The TCP of Linux {series} did these transfers in real time over [the simulated path](../guides/emulate.md).",
        "With the preset `linux-6` the simulator did the same transfers. To measure both again on your kernel, run",
        "`python -m validation.twins`. It takes about 100 minutes and needs a quiet machine.",
        "[How far can I trust the simulator?](../guides/twin.md) explains the comparison.",
        "",
        "### Bulk transfers",
        "",
        "20 Mbit/s, tail drop: 10 s over 50 ms with a queue of 83 packets, 30 s over GEO: 600 ms, 1000 packets.",
        "Packets are lost at random. Each cell is simulated / emulated: the mean over the simulator's seeds, at least",
        f"{REPLICATIONS}, and the mean over the trustworthy runs of the kernel, which meet the same losses.",
        "The 95 % interval of the difference is in parentheses.",
        "",
        "A row agrees if every interval is within the margin of its quantity: 10 % of the simulated value, 15 % for",
        "windows, at least 1 ms or 3 packets. A row differs if an interval is not, and excludes zero. A row cannot",
        f"tell if the runs are too few for either. Such a row has up to {RUNS} runs. The number of further runs that",
        "would decide it follows in parentheses.",
        "",
        f"| case | runs | {' | '.join(heads)} | verdict |",
        f"|---|---:|{'---|' * len(heads)}---|",
        *(bulk_row(row, rows[row.key]) for row in bulk),
        "",
        *counters(bulk, rows),
    ]
    for row in bulk:
        found = rows[row.key]
        if "differs" in outcomes(found):
            reason = next((text for key, text in REASONS.items() if row.key.startswith(key)), "")
            said = " ".join(found["notes"])
            lines += [f"**{row.key}.** {reason} {said}".replace("  ", " "), ""]
    lines += [
        "### Initial windows and buffers over GEO",
        "",
        "The time from a sender's SYN to the last acknowledgement. The path has 1536 kbit/s and a round trip of",
        "530 ms, the congestion control is Reno. Transfers of 100 kB have the initial windows of",
        "[GEO-15 to GEO-19](../papers/geo.md#geo-15) and a receive window of 64 kB. Transfers of 500 kB have other",
        f"receive windows. The margin is {SHORT_MARGIN:.0%}.",
        "",
        "| transfer | simulated, s | emulated, s | verdict |",
        "|---|---:|---:|---|",
        *(
            f"| {row.key} | {rows[row.key]['simulated_s']:.3f} | {rows[row.key]['emulated_s']:.3f} |"
            f" {rows[row.key]['verdict'].rstrip('.').lower()} |"
            for row in short
        ),
        "",
    ]
    if missing:
        lines += [f"Not measured, for want of an emulated run that could be trusted: {'; '.join(missing)}.", ""]
    return "\n".join(lines)
