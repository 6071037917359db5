"""Makes the page "Over the sky": what the geometry changes in experiments that had stand-ins for it.

    .venv/bin/python validation/skies.py [been] [cause] [cost] [day] [future] [measured] [passes] [refwa] [transient]

Half an hour on two cores with a release build (`make release`). The figures go into `docs/validation`; without a
name, all parts.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import bentpipe as bp
from bentpipe.statistics.estimates import estimate

sys.path.insert(0, str(Path(__file__).resolve().parent))
import skies_more as more

CONFIDENCE = 0.95
ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "validation"
KEPT = PAGES / "sky.json"
PACK = ROOT / "python" / "bentpipe" / "papers" / "packs" / "been" / "scenarios"

# BEEN over Iridium.

SYSTEMS = {"NewReno": "iridium-path", "SaTPEP": "iridium-satpep", "BEEN": "iridium-been"}
SIZES = ["1500 B", "500 B", "200 B", "100 B", "50 B"]
RATES = [1e-2, 1e-3, 1e-4]
# Two hours and a bit apart: other satellites in other places.
STARTS = [f"2000-01-01T{at // 60:02}:{at % 60:02}:00Z" for at in range(0, 1440, 144)]
COASTS = {"gateway": (37.77, -122.42), "gateway2": (40.71, -74.01)}
IRIDIUM = {
    "over": "iridium",
    "selection": "periodic",
    "on_board": "processing",
    "place": {name: {"latitude": at[0], "longitude": at[1]} for name, at in COASTS.items()},
    "user": {"rate": "1.5 Mbit/s", "queue": "49 packets"},
    "inter_satellite": {"rate": "25 Mbit/s", "queue": "49 packets"},
}


def stand_in(system: str) -> dict[str, Any]:
    """The scenario of the paper's pack, on its path of fixed delays."""
    return bp.load(PACK / f"{SYSTEMS[system]}.toml").to_dict()


def over_iridium(system: str, start: str) -> dict[str, Any]:
    """The same where Iridium is between the gateways, without errors yet."""
    scenario = stand_in(system)
    for name in ("up", "isl1", "isl2", "isl3", "down"):
        del scenario["link"][name]
    for flow in scenario["flow"].values():
        del flow["route"], flow["reverse_route"]
    first = scenario.get("node", {}).pop("sat1", {})
    scenario["sky"] = IRIDIUM | {"start": start, "middlebox": first.get("middlebox", [])}
    return bp.Scenario(scenario).to_dict()


def with_errors(scenario: dict[str, Any], rate: float) -> dict[str, Any]:
    """Errors on what the first gateway sends up, as in the paper; on no acknowledgement."""
    links = {name: dict(link) for name, link in scenario["link"].items()}
    for name, link in links.items():
        if name == "up" or name.startswith("gateway~"):
            link["forward"] = dict(link.get("forward", {})) | {"error": {"kind": "byte", "rate": rate}}
    return scenario | {"link": links}


def goodput_kbps(scenario: dict[str, Any], size: str, seed: int) -> float:
    """What the receiver gets, kbit/s."""
    run = bp.run(sized(scenario, size), seed=seed)
    return float(run.flows["delivered_bytes"].sum()) * 8e-3 / run.simulated_s


def been() -> dict[str, Any]:
    """Goodputs of the three systems, at each size and rate, on the stand-in and over the sky."""
    skies = {(system, start): over_iridium(system, start) for system in SYSTEMS for start in STARTS}
    work = [
        (system, size, rate, path)
        for system in SYSTEMS
        for size in SIZES
        for rate in RATES
        for path in ("fixed", "iridium")
    ]

    def one(what: tuple[str, str, float, str]) -> dict[str, Any]:
        system, size, rate, path = what
        found = []
        for seed, start in enumerate(STARTS, 1):
            scenario = stand_in(system) if path == "fixed" else skies[system, start]
            found.append(goodput_kbps(with_errors(scenario, rate), size, seed))
        made = estimate(np.array(found), CONFIDENCE)
        return {
            "system": system,
            "size": size,
            "rate": rate,
            "path": path,
            "mean": made.mean,
            "half": made.half_width,
        }

    with ThreadPoolExecutor(2) as pool:
        return {"rows": list(pool.map(one, work))}


def sized(scenario: dict[str, Any], size: str) -> dict[str, Any]:
    """With segments of this size."""
    return scenario | {"tcp": scenario["tcp"] | {"smss": size}}


# A day from London to Singapore.

SENDERS = ["cubic", "bbr1", "bbr3", "leocc", "satcp", "sack"]
SKIES: dict[str, dict[str, Any]] = {
    "geostationary": {"over": {"geo": 57.0}},
    "satellites linked": {"over": "starlink-shell-1"},
    "bent pipes": {"over": "oneweb", "gateway": ["Madrid", "Athens", "Mumbai", "Kuala Lumpur"]},
}
PROXY = {"London": [{"kind": "split"}]}
DAY = [f"2000-01-01T{hour:02}:00:00Z" for hour in range(0, 24, 3)]


def transfer(sky: dict[str, Any], start: str, cc: str, *, is_split: bool) -> dict[str, Any]:
    """A minute of a transfer behind London, with a split proxy there or without."""
    return {
        "duration": "60 s",
        "tcp": {"like": "linux-6", "cc": cc},
        "node": {"London": {"middlebox": PROXY["London"] if is_split else []}},
        "sky": sky | {"start": start},
        "link": {"lan": {"from": "server", "to": "London", "rate": "1 Gbit/s", "delay": "1 ms"}},
        "flow": {"transfer": {"from": "server", "to": "Singapore"}},
    }


def day() -> dict[str, Any]:
    """Goodput, round trips, handovers and what they cost, for each sender under each sky."""
    work = [(sky, cc, False) for sky in SKIES for cc in SENDERS] + [(sky, "sack", True) for sky in SKIES]

    def one(what: tuple[str, str, bool]) -> dict[str, Any]:
        sky, cc, is_split = what
        goodputs, delays, lost, handovers = [], [], [], []
        for seed, start in enumerate(DAY, 1):
            scenario = bp.Scenario(transfer(SKIES[sky], start, cc, is_split=is_split))
            run = bp.run(scenario, seed=seed)
            goodputs.append(run.flows["delivered_bytes"].sum() * 8e-6 / run.simulated_s)
            delays.append(float(run.flows["rtt_p50_s"][0] or 0.0) * 1e3)
            causes = run.drops.filter(run.drops["cause"] == "handover")
            lost.append(float(causes["packets"].sum()))
            handovers.append(float(sum("down" in at for at in scenario.to_dict().get("at", []))))
        named = cc + (", split proxy" if is_split else "")
        made = estimate(np.array(goodputs), CONFIDENCE)
        return {
            "sky": sky,
            "sender": named,
            "mean": made.mean,
            "half": made.half_width,
            "rtt_ms": mean(delays),
            "handovers": mean(handovers),
            "lost": mean(lost),
        }

    with ThreadPoolExecutor(2) as pool:
        return {"rows": list(pool.map(one, work))}


# The timer study over a turning Earth.

TICKS = ["1 ms", "50 ms", "100 ms", "250 ms", "500 ms"]
BIT_ERRORS = [0.0, 2e-8, 2e-5]
PASSES = [f"2000-01-01T{hour:02}:00:00Z" for hour in range(0, 24, 4)]


def timed(tick: str, error: float, start: str | None) -> dict[str, Any]:
    """`leo-pass` as it is, or where its satellites are those of m-star over a place at 40 degrees north that turns."""
    scenario = bp.load("leo-pass").to_dict()
    scenario["tcp"]["rto"] |= {"granularity": tick, "min": tick}
    errors = {"error": {"kind": "bit", "rate": error}}
    if start is None:
        for direction in ("forward", "reverse"):
            scenario["link"]["pass"][direction] = scenario["link"]["pass"].get(direction, {}) | errors
        return scenario
    del scenario["link"]["pass"]
    for flow in scenario["flow"].values():
        del flow["route"], flow["reverse_route"]
    # One of the two slant ranges is the bottleneck and has the errors of its direction.
    scenario["sky"] = {
        "over": "m-star",
        "start": start,
        "between_satellites": "none",
        "selection": "longest",
        "in_flight": "delivered",
        "waiting": "rerouted",
        "user": {
            "queue": "unlimited",
            "forward": {"rate": "2.048 Mbit/s"} | errors,
            "reverse": {"rate": "1 Gbit/s"},
        },
        "place": {
            "server": {"latitude": 40.0, "longitude": 0.0},
            "client": {"latitude": 40.0, "longitude": 0.001},
        },
    }
    return scenario


def passes() -> dict[str, Any]:
    """The time of the file, or what was delivered of it, by tick and error, over the formula and over the orbit."""
    rows = []
    for error in BIT_ERRORS:
        for tick in TICKS:
            for path, starts in (("formula", [None]), ("orbit", PASSES)):
                found = [bp.run(timed(tick, error, start), seed=3).flows for start in starts]
                times = [float(flows["completion_s"][0] or np.nan) for flows in found]
                rows.append(
                    {
                        "error": error,
                        "tick": tick,
                        "path": path,
                        "times": [None if np.isnan(time) else time for time in times],
                        "outcomes": [flows["outcome"][0] for flows in found],
                        "timeouts": mean(float(flows["timeouts"][0]) for flows in found),
                    }
                )
    return {"rows": rows}


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


# What the timer study leaves to others: errors that follow from elevation and weather, other traffic, a constellation.

RAINS: dict[str, Any] = {"clear": "none", "rain": {"kind": "exceeded", "percent": 1}}
BACKGROUND = {"alone": "0 bit/s", "beside 1 Mbit/s": "1 Mbit/s"}
RADIO = {"frequency_ghz": 20.0, "eirp_dbw": 40.0, "g_over_t_db_k": -8.0, "modem": "uncoded"}


def weathered(tick: str, rain: str, background: str, start: str) -> dict[str, Any]:
    """Half an hour of the study's transfer from London to Moscow, over m-star with links between satellites."""
    scenario = bp.load("leo-pass").to_dict()
    scenario["duration"] = "1800 s"
    scenario["tcp"]["rto"] |= {"granularity": tick, "min": tick}
    scenario["tcp"]["give_up"] = "never"
    scenario["link"] = {}
    ends = {"from": "London", "to": "Moscow"}
    scenario["flow"] = {"ftp": ends | {"app": "greedy"}}
    if BACKGROUND[background] != "0 bit/s":
        scenario["flow"]["others"] = ends | {"app": {"kind": "cbr", "rate": BACKGROUND[background], "size": "500 B"}}
    scenario["sky"] = {
        "over": "m-star",
        "start": start,
        "selection": "longest",
        "in_flight": "delivered",
        "waiting": "rerouted",
        "rain": RAINS[rain],
        "user": {"queue": "unlimited", "rate": "2.048 Mbit/s", "up": RADIO, "down": RADIO},
    }
    return scenario


def future() -> dict[str, Any]:
    """Goodput by tick, weather and other traffic."""
    rows = []
    for rain in RAINS:
        for background in BACKGROUND:
            for tick in TICKS:
                work = [bp.run(weathered(tick, rain, background, start), seed=3).flows for start in PASSES]
                made = estimate(np.array([float(flows["goodput_bps"][0]) / 1e6 for flows in work]), CONFIDENCE)
                rows.append(
                    {
                        "rain": rain,
                        "background": background,
                        "tick": tick,
                        "mean": made.mean,
                        "half": made.half_width,
                        "timeouts": mean(float(flows["timeouts"][0]) for flows in work),
                        "for_errors": mean(float(flows["error_reductions"][0]) for flows in work),
                    }
                )
    return {"rows": rows}


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


# Beside what was measured on Starlink.

# Round trips: least, median, 95 %; steps from one slot of 15 s to the next: median, 95 %; ms. Pings of 2023 from the
# data of the MMSys 2024 paper on live streaming over Starlink (J. Zhao and J. Pan), our quantiles.
MEASURED = {
    "Victoria to Seattle, bent pipe": (16.7, 42.8, 86.6, 9.6, 43.3),
    "Seychelles to Lagos, links between satellites": (59.1, 109.0, 208.0, 15.0, 117.0),
}
ENDS = {
    "Victoria to Seattle, bent pipe": ("Victoria BC", "Seattle"),
    "Seychelles to Lagos, links between satellites": ("Victoria", "Lagos"),
}
SLOT_S, PHASE_S = 15, 12


def measured() -> dict[str, Any]:
    """The same quantities of the geometry alone, of pings in scenarios: the best satellite, and lots every 15 s."""
    rows = []
    for name, (user, gateway) in ENDS.items():
        for selection in ("starlink", "any"):
            scenario = {
                "duration": "3601 s",
                "sky": {"over": "starlink", "gateway": [gateway], "selection": {"user": selection}},
                "flow": {"ping": {"from": user, "to": gateway, "app": "port"}},
            }
            sent, back = more.pinged(scenario, 0.5, 3600).T
            rtt = 1e3 * (back - sent)
            slot = (sent - PHASE_S) // SLOT_S
            steps = np.abs(np.diff([np.median(rtt[slot == each]) for each in np.unique(slot)]))
            values = [*np.percentile(rtt, [0, 50, 95]), *np.percentile(steps, [50, 95])]
            rows.append({"path": name, "selection": selection, "values": [float(value) for value in values]})
    return {"rows": rows}


def measured_table(rows: list[dict[str, Any]]) -> str:
    """Measured, by lots, and by the best satellite."""
    lines = [
        "| path | | RTT min | median | 95 % | step median | step 95 % |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    names = {"starlink": "geometry, by lot every 15 s", "any": "geometry, always the best"}
    for path, values in MEASURED.items():
        lines.append(f"| {path} | measured | " + " | ".join(f"{value:.1f}" for value in values) + " |")
        for row in rows:
            if row["path"] == path:
                cells = " | ".join(f"{value:.1f}" for value in row["values"])
                lines.append(f"| | {names[row['selection']]} | {cells} |")
    return "\n".join(lines)


# The page.


def been_table(rows: list[dict[str, Any]]) -> str:
    """Goodputs side by side: the stand-in, and Iridium."""
    found = {(row["system"], row["size"], row["rate"], row["path"]): row for row in rows}
    lines = [
        "| packet | errors per byte | path | " + " | ".join(SYSTEMS) + " | order |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for rate in RATES:
        for size in SIZES:
            for path, name in (("fixed", "stand-in"), ("iridium", "Iridium")):
                cells = [found[system, size, rate, path] for system in SYSTEMS]
                order = sorted(zip(SYSTEMS, cells, strict=True), key=lambda pair: -pair[1]["mean"])
                text = " | ".join(f"{cell['mean']:.1f} ± {cell['half']:.1f}" for cell in cells)
                ranked = " > ".join(system for system, _ in order)
                lines.append(f"| {size} | {rate:g} | {name} | {text} | {ranked} |")
    return "\n".join(lines)


def changed(rows: list[dict[str, Any]]) -> str:
    """Where the best of the three is another one over Iridium."""
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
        "| sky | sender | goodput (Mbit/s) | median RTT (ms) | changes of a place's satellite | packets lost by them |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in sorted(rows, key=lambda row: (list(SKIES).index(row["sky"]), -row["mean"])):
        lines.append(
            f"| {row['sky']} | {row['sender']} | {row['mean']:.2f} ± {row['half']:.2f} | {row['rtt_ms']:.0f} "
            f"| {row['handovers']:.1f} | {row['lost']:.0f} |"
        )
    return "\n".join(lines)


def figure(rows: list[dict[str, Any]]) -> None:
    """Goodputs with intervals and median round trips, a column per sky."""
    from bentpipe.plot.style import COLOURS, style

    with style():
        import matplotlib.pyplot as plt

        made, panels = plt.subplots(2, len(SKIES), figsize=(7.2, 4.6), sharey=True, sharex="row", layout="constrained")
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
        made.savefig(PAGES / "sky.png", dpi=150)
        plt.close(made)


def page(kept: dict[str, Any]) -> str:
    """The page."""
    been, day = kept["been"]["rows"], kept["day"]["rows"]
    return f"""# Over the sky

What changes where a path of fixed delays, or no path at all, is replaced by a constellation that moves. Made by
`.venv/bin/python validation/skies.py`; do not edit. Means of runs at different times of a day, with 95 % intervals.

## BEEN, SaTPEP and NewReno over Iridium

The experiments of the BEEN paper (goodput at the receiver, kbit/s, 200 s) on the pack's path of fixed delays and over
Iridium between San Francisco and New York at {len(STARTS)} times of a day, with all that a moving constellation
brings: other delays, satellites that change (what is on the old link is lost), other first satellites, each with a list
of errors of its own. Errors hit data on the uplink alone, as there.

{been_table(been)}

{changed(been)} Satellites are chosen as ns-2, which the paper used, does it. The way between the coasts then takes
21 to 133 ms, 37 ms in the median, where the stand-in always takes 48.4 ms: most settings gain a little in the mean, and
their intervals, from one time of the day to another, are wide. The order of the paper stays.

## Timers over a turning Earth

The timer study has one satellite after the other overhead while the Earth rests. Here its file of 250 MB goes over that
formula, and over the 72 satellites of m-star above 20 degrees at 40 degrees north at {len(PASSES)} times of a day; what
is in flight at a handover is delivered.

{passes_table(kept["passes"]["rows"])}

What the study leaves to others, in one experiment: the same transfer without end from London to Moscow over m-star
with links between satellites, half an hour from the same times; bit errors as an uncoded QPSK link at 20 GHz has them
by distance, air and rain (what is exceeded in 1 % of the year), alone and beside other traffic on half of the rate.

{future_table(kept["future"]["rows"])}

The tick hardly matters here: from 1 to 500 ms goodput falls by 2 % under a clear sky and by 7 % in rain, within the
intervals from one time of the day to another. Errors at low elevations take a third of the rate, and rain takes two
thirds; other traffic takes its share of what is left. Coarse ticks have fewer timeouts, as over the passes above.

## REFWA Plus over Teledesic

{more.refwa_text(kept["refwa"]["rows"], kept["cause"]["rows"])}

## London to Singapore

A transfer of a minute, begun at {len(DAY)} times of a day, 20 Mbit/s up at London and 100 Mbit/s down at Singapore,
`linux-6` hosts: over a geostationary satellite at 57 degrees east, over Starlink's first shell with links between
satellites, and over OneWeb with bent pipes and gateways at Madrid, Athens, Mumbai and Kuala Lumpur that are joined by
fibre. The split proxy stands at London.

![Goodput of each sender under each sky](sky.png)

{day_table(day)}

Changes are counted in the scenario: instants in a minute at which an end or a gateway leaves a satellite. The round
trip of a split connection is that of its first part. Without errors on the links nearly all senders fill 20 Mbit/s:
what tells them apart is the queue that they keep, and over satellites that change, what they make of a few hundred
packets lost at once.

## Beside what was measured on Starlink

Round trips (ms) of pings in 2023, and those of the geometry alone over Starlink's first generation, an hour; steps are
those of the median from one slot of 15 s to the next. The scenarios have `over = "starlink"`, `selection = {{ user =
"starlink" }}` or `"any"`, and the far end as gateway, which uses any satellite in view. `bentpipe run starlink-isl` is
the second path.

{measured_table(kept["measured"]["rows"])}

With links between satellites the lots of `selection = "starlink"` have the measured shape: least, median and largest
round trips and the size of steps at the boundaries. Shortest paths do not: Starlink's choice is not made for the path.
On the bent pipe the geometry is a few milliseconds, and its steps are small; what is measured there is mostly not
geometry (frames of the radio link, scheduling, queues, the way on the ground). Give such a path a measured delay.

{more.transient_text(kept["transient"])}

## What it costs

{more.cost_text(kept["cost"])}
"""


PARTS = {
    "been": been,
    "day": day,
    "measured": measured,
    "passes": passes,
    "future": future,
    "refwa": more.refwa,
    "cause": more.cause,
    "cost": more.cost,
    "transient": more.transient,
}


def main() -> None:
    """Measure what is asked for, and write the page."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in sys.argv[1:] or list(PARTS):
        kept[name] = PARTS[name]()
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    if set(PARTS) <= set(kept):
        figure(kept["day"]["rows"])
        more.cost_figure(kept["cost"], PAGES / "sky-cost.png")
        (PAGES / "sky.md").write_text(page(kept))


if __name__ == "__main__":
    main()
