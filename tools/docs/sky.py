"""Makes the page "Over the sky"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import plot
from bentpipe.plot.style import COLOURS, sheet, style
from tools.docs import sky_more as more
from validation import kept
from validation.skies import BIT_ERRORS, DAY, PASSES, RATES, SIZES, SKIES, STARTS, SYSTEMS, TICKS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def passes_table(rows: list[dict[str, Any]]) -> str:
    """The formula's time and that of the orbit, side by side."""
    found = {(row["error"], row["tick"], row["path"]): row for row in rows}
    lines = [
        "| bit errors | tick | formula: time (s) | timeouts | orbit: time (s), least to largest | done | timeouts |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for error in BIT_ERRORS:
        for tick in TICKS:
            one, other = found[error, tick, "formula"], found[error, tick, "orbit"]
            times = [time for time in other["times"] if time is not None]
            spread = f"{min(times):.0f} to {max(times):.0f}" if times else "never"
            alone = f"{one['times'][0]:.0f}" if one["times"][0] is not None else one["outcomes"][0]
            lines.append(
                f"| {error:g} | {tick} | {alone} | {one['timeouts']:.0f} | {spread} "
                f"| {len(times)} of {len(other['times'])} | {other['timeouts']:.0f} |"
            )
    return "\n".join(lines)


def future_table(rows: list[dict[str, Any]]) -> str:
    """A row per weather, traffic and tick."""
    lines = [
        "| sky | traffic | tick | goodput (Mbit/s) | timeouts | reductions for errors |",
        "|---|---|---|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['rain']} | {row['background']} | {row['tick']} | {row['mean']:.3f} ± {row['half']:.3f} "
            f"| {row['timeouts']:.0f} | {row['for_errors']:.0f} |"
        )
    return "\n".join(lines)


def future_said(rows: list[dict[str, Any]]) -> str:
    """Effects of the tick and of rain."""
    alone = {
        name: [row["mean"] for row in rows if (row["rain"], row["background"]) == (name, "alone")]
        for name in ("clear", "rain")
    }
    fall = {name: f"{100 * (1 - means[-1] / means[0]):.0f} %" for name, means in alone.items()}
    by_rain = f"{100 * (1 - alone['rain'][0] / alone['clear'][0]):.0f} %"
    return more.wrapped(
        f"""From 1 to 500 ms, the tick lowers goodput by {fall["clear"]} under a clear sky and by {fall["rain"]} in
        rain, less than the intervals from one time of the day to another. Errors at low elevations take a third of the
        rate. Rain takes {by_rain} of the rest, because it weakens the signal and raises the noise of the receiver;
        other traffic takes its share. Coarse ticks have fewer timeouts, as over the passes above."""
    )


# In ms: the least, median and 95 % round trip, then the median and 95 % step from one slot of 15 s to the next. Pings
# of 2023 from the data of the MMSys 2024 paper on live streaming over Starlink (J. Zhao and J. Pan), our quantiles.
MEASURED = {
    "Victoria to Seattle, bent pipe": (16.7, 42.8, 86.6, 9.6, 43.3),
    "Seychelles to Lagos, links between satellites": (59.1, 109.0, 208.0, 15.0, 117.0),
}


def measured_table(rows: list[dict[str, Any]]) -> str:
    """Round trips: measured, with random satellites, and with the best satellite."""
    lines = [
        "| path | | RTT min | median | 95 % | step median | step 95 % |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    names = {"starlink": "geometry, random every 15 s", "any": "geometry, always the best"}
    for path, values in MEASURED.items():
        lines.append(f"| {path} | measured | " + " | ".join(f"{value:.1f}" for value in values) + " |")
        for row in rows:
            if row["path"] == path:
                cells = " | ".join(f"{value:.1f}" for value in row["values"])
                lines.append(f"| | {names[row['selection']]} | {cells} |")
    return "\n".join(lines)


def been_table(rows: list[dict[str, Any]]) -> str:
    """Goodputs on the path of fixed delays and over Iridium."""
    found = {(row["system"], row["size"], row["rate"], row["path"]): row for row in rows}
    lines = [
        "| packet | errors per byte | path | " + " | ".join(SYSTEMS) + " | order |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for rate in RATES:
        for size in SIZES:
            for path, name in (("fixed", "fixed delays"), ("iridium", "Iridium")):
                cells = [found[system, size, rate, path] for system in SYSTEMS]
                order = sorted(zip(SYSTEMS, cells, strict=True), key=lambda pair: -pair[1]["mean"])
                text = " | ".join(f"{cell['mean']:.1f} ± {cell['half']:.1f}" for cell in cells)
                ranked = " > ".join(system for system, _ in order)
                lines.append(f"| {size} | {rate:g} | {name} | {text} | {ranked} |")
    return "\n".join(lines)


def changed(rows: list[dict[str, Any]]) -> str:
    """The settings whose best system is another one over Iridium."""
    best = {}
    for row in rows:
        at = (row["size"], row["rate"], row["path"])
        if at not in best or row["mean"] > best[at]["mean"]:
            best[at] = row
    others = [
        f"{size} at {rate:g} ({best[size, rate, 'fixed']['system']} to {best[size, rate, 'iridium']['system']})"
        for rate in RATES
        for size in SIZES
        if best[size, rate, "fixed"]["system"] != best[size, rate, "iridium"]["system"]
    ]
    of = len(SIZES) * len(RATES)
    if not others:
        return f"The best of the three by its mean is the same one in all {of} settings."
    return f"The best of the three by its mean changes in {len(others)} of {of} settings: {', '.join(others)}."


def day_table(rows: list[dict[str, Any]]) -> str:
    """A row per sky and sender."""
    lines = [
        "| sky | congestion control | goodput (Mbit/s) | median RTT (ms) | satellite changes | packets lost by them |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in sorted(rows, key=lambda row: (list(SKIES).index(row["sky"]), -row["mean"])):
        lines.append(
            f"| {row['sky']} | {row['sender']} | {row['mean']:.2f} ± {row['half']:.2f} | {row['rtt_ms']:.0f} "
            f"| {row['handovers']:.1f} | {row['lost']:.0f} |"
        )
    return "\n".join(lines)


def figure(rows: list[dict[str, Any]], file: Path) -> None:
    """Draw goodputs with intervals and median round trips, a column per sky."""
    with style():
        made = sheet(7.2, 4.6)
        panels = made.subplots(2, len(SKIES), sharey=True, sharex="row")
        for (goodput, rtt), sky in zip(panels.T, SKIES, strict=True):
            of = [row for row in rows if row["sky"] == sky]
            names = [row["sender"].replace(", ", ",\n") for row in of]
            means, halves, trips = ([row[key] for row in of] for key in ("mean", "half", "rtt_ms"))
            goodput.barh(names, means, xerr=halves, color=COLOURS[0], capsize=2)
            goodput.set_title(sky, fontsize=9)
            goodput.set_xlabel("goodput (Mbit/s)")
            rtt.barh(names, trips, color=COLOURS[1])
            rtt.set_xlabel("median RTT (ms)")
        panels[0, 0].invert_yaxis()
        plot.save(made, file, dpi=150)


def page(found: dict[str, Any]) -> str:
    """The page."""
    been, day = found["been"]["rows"], found["day"]["rows"]
    return f"""<!-- Generated by `python -m tools.docs sky`. -->
# Over the sky

Results over a moving constellation beside those over a path of fixed delays, and beside measurements. Measured by
`python -m validation.skies`. Values are means of runs at different times of a day, with 95 % intervals.

## BEEN, SaTPEP and NewReno over Iridium

The experiments of the BEEN paper (goodput at the receiver, kbit/s, 200 s) on two paths: the fixed delays of the paper's
pack, and Iridium between San Francisco and New York at {len(STARTS)} times of a day. Over Iridium, delays vary,
handovers lose the packets on the old link, and each first satellite has its own list of errors. As in the paper, errors
hit only data on the uplink.

{been_table(been)}

{changed(been)} Satellites are chosen as in ns-2, which the paper used. The path between the coasts then takes
21 to 133 ms, with a median of 37 ms; the fixed path always takes 48.4 ms. Most settings gain a little in the mean.
Their intervals over the times of the day are wide. The paper's order of the systems does not change.

## Timers over a turning Earth

In the timer study, one satellite after the other passes overhead while the Earth does not turn. This table repeats its
transfer of 250 MB over that formula, and over the 72 satellites of m-star at {len(PASSES)} times of a day. The place is
at 40 degrees north, the minimum elevation is 20 degrees, and a handover delivers the packets in flight.

{passes_table(found["passes"]["rows"])}

The next table covers the future work of the study in one experiment. An endless transfer from London to Moscow runs
over m-star with links between satellites, for half an hour from the same times. Bit errors are those of an uncoded QPSK
link at 20 GHz, by distance, air and rain (the rain rate exceeded in 1 % of the year). The transfer runs alone, or
beside other traffic that uses half of the rate.

{future_table(found["future"]["rows"])}

{future_said(found["future"]["rows"])}

## REFWA Plus over Teledesic

{more.refwa_text(found["refwa"]["rows"], found["cause"]["rows"])}

## London to Singapore

A transfer of a minute, started at {len(DAY)} times of a day, with `linux-6` hosts, 20 Mbit/s up at London and
100 Mbit/s down at Singapore. The skies are

- a geostationary satellite at 57 degrees east,
- Starlink's first shell with links between satellites,
- OneWeb with bent pipes and with gateways at Madrid, Athens, Mumbai and Kuala Lumpur, joined by fibre.

The split proxy is at London.

![Goodput of each sender under each sky](sky.png)

{day_table(day)}

Changes are counted in the scenario: instants in a minute at which an endpoint or a gateway leaves a satellite. The
round trip of a split connection is that of its first part. Without errors on the links, nearly all congestion controls
fill 20 Mbit/s. They differ in the length of their queue and, over changing satellites, in their response to a loss of
40 to 280 packets together.

## Comparison with measurements of Starlink

Round trips (ms) of pings in 2023, and those of the geometry over Starlink's first generation for an hour. Steps are
changes of the median from one slot of 15 s to the next. The scenarios have `over = "starlink"`, `selection = {{ user =
"starlink" }}` or `"any"`, and the far end as gateway, which uses any satellite in view. `bentpipe run starlink-isl` is
the second path.

{measured_table(found["measured"]["rows"])}

With links between satellites, the random choice of `selection = "starlink"` has the measured shape: the least, median
and largest round trips, and the size of the steps at the boundaries. Shortest paths do not have this shape, because
Starlink does not choose satellites for the length of the path. On the bent pipe the geometry takes a few milliseconds,
and its steps are small. Most of the measured time there has other causes: frames of the radio link, scheduling, queues,
and the path on the ground. Give such a path a measured delay.

{more.transient_text(found["transient"])}

## Cost of computing paths

{more.cost_text(found["cost"])}
"""


def pages() -> dict[str, str]:
    """The page by its path below `docs`."""
    return {"validation/sky.md": page(kept.load("sky"))}


def pictures() -> dict[str, Callable[[Path], None]]:
    """The functions that draw the figures, by path below `docs`."""
    return {
        "validation/sky.png": lambda file: figure(kept.load("sky")["day"]["rows"], file),
        "validation/sky-cost.png": lambda file: more.cost_figure(kept.load("sky")["cost"], file),
    }
