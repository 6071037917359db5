"""The runs that measures and figures are made of, in the worlds of the readings.

Utilisation and the fairness index F are as in `paper.toml`; senders are cases of the scenarios.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.papers import Finding, Runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from bentpipe.papers import Lab

CAPACITY_BPS = 10e6
FLOWS = 10
SHARE_BPS = CAPACITY_BPS / FLOWS
DURATION_S = 120
ROUND_TRIP_S = 0.16
HEADER_BYTES = 40
PATH_BYTES = 200_000
"""10 Mbit/s times 160 ms, over 8."""
BUFFER_BYTES = {"path": PATH_BYTES, "link": 25_000}
SMSS_BYTES = {"payload": 1024, "with header": 984}

SENDERS = ("reno", "newreno", "westwood-nr", "refwa", "refwa-plus", "refwa-plus-westwood")
"""The cases of the paper, and the case of its conclusion."""
RATE = "link.isl1.forward.error.rate"
QUEUED = {
    "bottleneck": ("up", "isl1", "isl2", "down"),
    "rtts": ("isl1", "isl2", *(f"{way}{rtt}" for rtt in (80, 120, 160, 200, 240) for way in ("up", "down"))),
}
"""Links of each scenario."""


# The worlds of the readings.


def figure(lab: Lab) -> pl.DataFrame:
    """All runs of Figure 3, in the assumed world: see `runs`."""
    return describe_runs(lab.sweep("bottleneck", replications=replications(lab)), {}).runs


def replications(lab: Lab) -> int:
    """Number of runs for each point of a curve."""
    return int(lab.choose(4, 20))


def runs(
    lab: Lab,
    rates: Sequence[float],
    senders: Sequence[str],
    world: Mapping[str, str] = {},
    scheme: Mapping[str, Any] = {},
) -> pl.DataFrame:
    """One row per run at these loss rates: `sender`, `rate`, `replication`, `utilisation_share`, `jain` and others.

    `world` and `scheme` are settings of a reading. The store finds runs by their settings, so cases that neither of
    them changes do not run again.
    """
    sets = scheme_sets(**scheme)
    return pl.concat([sweep(lab, senders, rate, world, sets=sets).runs for rate in rates])


def scheme_sets(
    *,
    resend: str = "bulk",
    tolerance: float = 0.0,
    trigger: str = "both",
    paced: bool = True,
    hold: bool = True,
    counted: str = "half",
    estimate: str = "each ACK",
) -> dict[str, Any]:
    """The overrides of a reading for REFWA Plus, REFWA (`counted`: share of the buffer) and WestwoodNR's estimate.

    `resend`: "bulk" retransmits all, "missing" only missing data, which needs SACK instead of NewReno.
    """
    feedback = {"tolerance": tolerance, "trigger": trigger, "bulk_paced": paced, "rto_hold": hold}
    usual = {"tolerance": 0.0, "trigger": "both", "bulk_paced": True, "rto_hold": True}
    own = {key: value for key, value in feedback.items() if value != usual[key]}
    sets: dict[str, Any] = {}
    for case in ("refwa-plus", "refwa-plus-westwood"):
        if own:
            sets[f"case.{case}.tcp.feedback"] = {"kind": "refwa-plus", **own}
        if resend != "bulk":
            assert resend == "missing", resend
            sets[f"case.{case}.tcp.recovery"] = {"kind": "sack"}
    if counted != "half":
        satellite = {"middlebox": [{"kind": "refwa", "buffer": counted}]}
        cases = ("refwa", "refwa-plus", "refwa-plus-westwood")
        sets |= {f"case.{case}.node.sat{n}": satellite for case in cases for n in (1, 2, 3)}
    if estimate != "each ACK":
        assert estimate == "each round trip", estimate
        sets["case.westwood-nr.tcp.cc"] = {"kind": "westwood-plus"}
    return sets


def sweep(
    lab: Lab,
    senders: Sequence[str],
    rate: float,
    world: Mapping[str, str] = {},
    *,
    file: str = "bottleneck",
    sets: Mapping[str, Any] | None = None,
    vary: Mapping[str, Iterable[Any]] | None = None,
    count: int | None = None,
    tables: Sequence[str] = (),
) -> Runs:
    """Runs at one loss rate in one world, with the columns of `runs`; the tables have `sender` too."""
    cases = [sender + ("-today" if world.get("stack") == "today" else "") for sender in senders]
    found = lab.sweep(
        file,
        {**world_sets(file, rate, **world), **(sets or {})},
        vary={"case": cases, RATE: [rate], **(vary or {})},
        replications=count or replications(lab),
        tables=tables,
    )
    return describe_runs(found, world)


def world_sets(
    file: str,
    rate: float,
    *,
    buffer: str = "path",
    packet: str = "payload",
    start: str = "spread",
    lossy: str = "isl1",
    stack: str = "ns-2",
    processing: str = "random",
) -> dict[str, Any]:
    """The overrides of a reading for a scenario, by dotted key. `stack` chooses the case."""
    assert stack in ("ns-2", "today"), stack
    sets: dict[str, Any] = {}
    if packet != "payload":
        sets["tcp.smss"] = f"{SMSS_BYTES[packet]} B"
    if buffer != "path" or packet != "payload":
        # One less than fits, which is being sent: ns-2 counts it.
        waiting = BUFFER_BYTES[buffer] // (SMSS_BYTES[packet] + HEADER_BYTES) - 1
        sets |= {f"link.{link}.queue": f"{waiting} packets" for link in QUEUED[file]}
    if start != "spread":
        assert start == "at once", start
        sets["flow.f.start"] = "0 s"
    if lossy != "isl1":
        assert lossy == "every link", lossy
        sets |= {f"link.{link}.error": {"kind": "packet", "rate": rate} for link in QUEUED[file]}
    if processing != "random":
        assert processing == "none", processing
        sets["tcp.processing"] = "0 s"
    return sets


def only(count: int) -> dict[str, Any]:
    """Keys for this number of flows and of their links, since a scenario cannot have unused links."""
    return {"flow.f.count": count, "link.up.count": count, "link.down.count": count}


PACKETS_PER_ERROR = 5000


def one_hit(waiting: str = "187 packets") -> dict[str, Any]:
    """Nine flows, and the flow `hit` that loses one packet in 5000 on its own uplink. `waiting`: its queues."""
    error = {"kind": "arrivals", "list": [PACKETS_PER_ERROR - 1], "every": PACKETS_PER_ERROR}
    link = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": waiting}
    return {
        **only(FLOWS - 1),
        "link.hit-up": {"from": "hit", "to": "sat1", "forward": {"error": error}, **link},
        "link.hit-down": {"from": "sat3", "to": "client", **link},
        "flow.hit": {"from": "hit", "to": "client", "app": "greedy", "start": {"uniform": ["0 s", "1 s"]}},
    }


def as_case(lab: Lab, case: str) -> dict[str, Any]:
    """The overrides that give a single run the settings of a case."""
    tables = lab.load("bottleneck").cases[case].to_dict()
    nodes = {f"node.{name}": node for name, node in tables.get("node", {}).items()}
    return {f"tcp.{key}": value for key, value in tables["tcp"].items()} | nodes


def describe_runs(found: Runs, world: Mapping[str, str]) -> Runs:
    sender = pl.col("case").str.strip_suffix("-today").alias("sender")
    # Goodput counts payload. The factor adds the headers, so that a full link has 1 (specification of metrics).
    per_payload = wire_per_payload(world) / CAPACITY_BPS
    table = found.runs.rename({RATE: "rate"}).with_columns(
        sender, utilisation_share=pl.col("goodput_bps") * per_payload
    )
    tables = {name: rows.rename({RATE: "rate"}).with_columns(sender) for name, rows in found.tables.items()}
    return Runs(table, tables)


def wire_per_payload(world: Mapping[str, str]) -> float:
    smss = SMSS_BYTES[world.get("packet", "payload")]
    return (smss + HEADER_BYTES) / smss


def values(table: pl.DataFrame, column: str, *, sender: str, rate: float) -> NDArray[np.float64]:
    """A column of `runs` at one point, one value per replication, in their order; NaN where missing."""
    rows = table.filter((pl.col("sender") == sender) & (pl.col("rate") == rate)).sort("replication")
    return np.array(rows[column].cast(pl.Float64).fill_null(np.nan))


def extreme(samples: Mapping[str, NDArray[np.float64]], *, largest: bool, digits: int = 3) -> Finding:
    """The largest or smallest mean of several cases or points, with its interval. The note has all means."""
    # A single run has no interval and would count as exact.
    means = {name: float(np.nanmean(sample)) for name, sample in samples.items() if np.isfinite(sample).sum() > 1}
    if not means:
        return Finding(None, note="fewer than two runs have such a value")
    chosen = (max if largest else min)(means, key=lambda name: means[name])
    return Finding.mean(samples[chosen], note=_list_means(means, digits))


def _list_means(means: Mapping[str, float], digits: int) -> str:
    """Means by name. Names such as "reno at 0.01" and "reno at 0.1" share "reno at"."""
    groups: dict[str, list[str]] = {}
    for name, mean in means.items():
        head, at, point = name.rpartition(" at ")
        groups.setdefault(head + at, []).append(f"{point} {mean:.{digits}f}")
    return "; ".join(head + ", ".join(points) for head, points in groups.items())
