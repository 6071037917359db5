"""Measures the effect of the geometry in experiments that had fixed paths instead.

    python -m validation.skies [been] [cause] [cost] [day] [future] [measured] [passes] [refwa] [transient]
    python -m tools.docs sky --pictures      # after that: the page and its figures

Half an hour on two cores with a release build (`make release`); without a name, all parts. The numbers go into
`validation/data/sky.json`.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import bentpipe as bp
from bentpipe.statistics.estimates import estimate
from validation import kept
from validation import skies_more as more

CONFIDENCE = 0.95
ROOT = Path(__file__).resolve().parent.parent
PACK = ROOT / "python" / "bentpipe" / "papers" / "packs" / "been" / "scenarios"

# BEEN over Iridium.

SYSTEMS = {"NewReno": "iridium-path", "SaTPEP": "iridium-satpep", "BEEN": "iridium-been"}
SIZES = ["1500 B", "500 B", "200 B", "100 B", "50 B"]
RATES = [1e-2, 1e-3, 1e-4]
# Starts more than two hours apart have other satellites in other places.
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
    """The same scenario with Iridium between the gateways, without errors yet."""
    scenario = stand_in(system)
    for name in ("up", "isl1", "isl2", "isl3", "down"):
        del scenario["link"][name]
    for flow in scenario["flow"].values():
        del flow["route"], flow["reverse_route"]
    first = scenario.get("node", {}).pop("sat1", {})
    scenario["sky"] = IRIDIUM | {"start": start, "middlebox": first.get("middlebox", [])}
    return bp.Scenario(scenario).to_dict()


def with_errors(scenario: dict[str, Any], rate: float) -> dict[str, Any]:
    """Errors on the uplink of the first gateway, as in the paper, but not on acknowledgements."""
    links = {name: dict(link) for name, link in scenario["link"].items()}
    for name, link in links.items():
        if name == "up" or name.startswith("gateway~"):
            link["forward"] = dict(link.get("forward", {})) | {"error": {"kind": "byte", "rate": rate}}
    return scenario | {"link": links}


def goodput_kbps(scenario: dict[str, Any], size: str, seed: int) -> float:
    """Goodput at the receiver, kbit/s."""
    run = bp.run(sized(scenario, size), seed=seed)
    return float(run.flows["delivered_bytes"].sum()) * 8e-3 / run.simulated_s


def been() -> dict[str, Any]:
    """Goodputs of the three systems, at each size and rate, on the fixed path and over the sky."""
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
    """Overrides for segments of this size."""
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
    """A minute of a transfer behind London, with or without a split proxy there."""
    return {
        "duration": "60 s",
        "tcp": {"like": "linux-6", "cc": cc},
        "node": {"London": {"middlebox": PROXY["London"] if is_split else []}},
        "sky": sky | {"start": start},
        "link": {"lan": {"from": "server", "to": "London", "rate": "1 Gbit/s", "delay": "1 ms"}},
        "flow": {"transfer": {"from": "server", "to": "Singapore"}},
    }


def day() -> dict[str, Any]:
    """Goodput, round trips, handovers and their cost, for each congestion control under each sky."""
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
    """Time of the file, or its delivered part, by tick and error, over the formula and over the orbit."""
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


# Future work of the timer study: errors by elevation and weather, other traffic, a constellation.

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


# Comparison with measurements on Starlink.

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
    """Measure the requested parts."""
    asked = sys.argv[1:]
    if unknown := [name for name in asked if name not in PARTS]:
        raise SystemExit(f"error: no such part: {', '.join(unknown)}\n  known: {', '.join(PARTS)}")
    found = kept.load("sky")
    for name in asked or PARTS:
        found[name] = PARTS[name]()
        kept.save("sky", found)


if __name__ == "__main__":
    kept.begin(__doc__, "NAME")
    main()
