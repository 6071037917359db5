"""Measures for the claims: functions that take a `Lab` and the arguments of a reading, and return a `Finding`."""

from __future__ import annotations

from bentpipe.papers import Finding, Lab, Possible

RATE_BPS = 10e6
RTT_S = 0.52
FILE_BYTES = 1_000_000


def reno_over_sack(lab: Lab, *, error: str, rate: float) -> Finding:
    """Completion time with Reno over that with SACK: a ratio for each replication, their mean and its interval."""
    runs = lab.sweep(
        "path",
        {"link.sat.forward.error": {"kind": error, "rate": rate}},
        vary={"tcp.cc": ["reno", "sack"]},
        replications=lab.choose(quick=10, full=40),
        tables=["flows"],
    )
    wide = runs.tables["flows"].pivot("tcp.cc", index="replication", values="completion_s")
    return Finding.mean((wide["reno"] / wide["sack"]).to_list())


def completion(lab: Lab) -> Finding:
    """Completion time without errors. It is exact: nothing is random."""
    return Finding.exact(lab.run("path").flows["completion_s"].item())


def completion_bounds(lab: Lab) -> Possible:
    """Possible times with any simulator: at least all bytes at the link's rate, and half a round trip."""
    least_s = RTT_S / 2 + 8 * FILE_BYTES / RATE_BPS
    return Possible(least_s, float("inf"), f"1 MB at 10 Mbit/s and half a round trip take {least_s:.2f} s")
