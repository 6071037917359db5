"""Connections of the kernel's TCP at the hosts of an emulation, as time series."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.emulation.quantities import count_kernel
from bentpipe.experiment.single.tables import GivenTables
from bentpipe.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bentpipe.experiment.single.run_result import RunResult

ENDS = ["host", "port", "peer", "peer_port"]
"""Columns that name one end of a connection."""
SCHEMA: dict[str, Any] = {
    "time_s": pl.Float64,
    "flow": pl.String,
    "host": pl.String,
    "port": pl.Int64,
    "peer": pl.String,
    "peer_port": pl.Int64,
    "cc": pl.String,
    "cwnd_bytes": pl.Float64,
    "ssthresh_bytes": pl.Float64,
    "srtt_s": pl.Float64,
    "flight_size_bytes": pl.Float64,
    "pacing_rate_bps": pl.Float64,
    "acked_bytes": pl.Int64,
    "retransmissions": pl.Int64,
    "sent_bytes": pl.Int64,
    "retransmitted_bytes": pl.Int64,
    "min_rtt_s": pl.Float64,
    "busy_s": pl.Float64,
    "rwnd_limited_s": pl.Float64,
    "send_buffer_limited_s": pl.Float64,
}
MULTIPATH: dict[str, Any] = {
    "time_s": pl.Float64,
    "host": pl.String,
    "peer": pl.String,
    "subflows": pl.Int64,
    "acked_bytes": pl.Int64,
    "received_bytes": pl.Int64,
    "reinjected_bytes": pl.Int64,
}
SERIES = ("cwnd_bytes", "ssthresh_bytes", "srtt_s", "flight_size_bytes", "pacing_rate_bps")
"""Columns that are series of a run, too."""
OWN, KERNEL = " (bentpipe)", " (kernel)"
"""Ends of congestion controls in the table of flows: of bentpipe's TCP, as in the samples, and of the kernel's."""
UNCERTAIN = ("spurious_retransmissions",)
"""Counts of a twin that are not a row's: middleboxes that duplicate packets cause D-SACKs, too."""


def samples(columns: dict[str, list[Any]]) -> pl.DataFrame:
    """Converts the samples of the engine to a table."""
    return pl.DataFrame(columns, schema=SCHEMA)


def multipath(columns: dict[str, list[Any]]) -> pl.DataFrame:
    """Converts the samples of connections over several paths to a table."""
    return pl.DataFrame(columns, schema=MULTIPATH)


def connections(found: pl.DataFrame) -> pl.DataFrame:
    """Return the last sample of each end of each connection, in order of the connections' starts."""
    return found.group_by(ENDS, maintain_order=True).last().select(*SCHEMA)


def kernel(found: pl.DataFrame, release: str) -> tuple[str, list[str]]:
    """List the hosts with the kernel's TCP and their congestion controls, in the form of `Scenario.hosts`."""
    senders = found["cc"].unique(maintain_order=True).to_list()
    return f"Linux {release} (kernel)", [cc for cc in senders if not cc.endswith(OWN)]


def own(scenario: Scenario, senders: Iterable[str], *, is_quic: bool = False) -> tuple[str, list[str]]:
    """List the host with bentpipe's TCP or QUIC, in the form of `Scenario.hosts`. The preset of TCP is from `[tcp]`."""
    if is_quic:
        return "QUIC" + OWN, list(dict.fromkeys(senders))
    link = {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms"}
    plain = {"duration": "1 s", "link": {"path": link}, "flow": {"f": {"from": "a", "to": "b"}}}
    ((preset, _),) = Scenario({**plain, "tcp": {"like": scenario.to_dict()["tcp"]["like"]}}).hosts
    return preset + OWN, list(dict.fromkeys(senders))


def select_flow(found: pl.DataFrame, flow: str) -> pl.DataFrame:
    """Select the connection of a flow that sent the most data, and return its samples at the sending end."""
    between = found.filter(pl.col("flow") == flow)
    if between.is_empty():
        return between
    most = connections(between).sort("acked_bytes", descending=True, maintain_order=True).head(1)
    return between.join(most.select(ENDS), on=ENDS, how="semi", maintain_order="left")


def with_kernel(
    result: RunResult,
    found: pl.DataFrame,
    counters: Mapping[str, Mapping[str, int]],
    kernel: Mapping[str, str],
    spoken: Sequence[Mapping[str, Any]],
) -> RunResult:
    """Fill a run with the reports of the kernel and of bentpipe's TCP about its real flows: rows, and series."""
    counts = {host: collect_counts(host, counters, kernel, spoken) for host in counters}
    flows = with_rows(result.flows, found, result.scenario, counts)
    recorded = GivenTables(with_series(result.recorded, found, result.scenario))
    return replace(result, tables=GivenTables({**result.tables, "flows": flows}), recorded=recorded)


def with_rows(
    flows: pl.DataFrame, found: pl.DataFrame, scenario: Scenario, counts: Mapping[str, Mapping[str, float]]
) -> pl.DataFrame:
    """Fill the rows of flows of real packets from the reports of their TCP connections.

    Parameters
    ----------
    flows : polars.DataFrame
        Table of the run, without values of a transport in these rows.
    found : polars.DataFrame
        Samples.
    scenario : Scenario
    counts : mapping
        Counts of TCP events at each host, by columns of `flows`. They belong to a flow only if no other flow has the
        same hosts. Columns that both hosts report are then filled.

    Returns
    -------
    polars.DataFrame
        Rows of flows without TCP connections stay unchanged, because their transport is unknown.
    """
    ports = {name: (flow["from"], flow["to"]) for name, flow in find_ports(scenario).items()}
    rows = []
    for name, ends in ports.items():
        between = connections(found.filter(pl.col("flow") == name))
        if between.is_empty():
            continue
        most = between.sort("acked_bytes", descending=True, maintain_order=True).row(0, named=True)
        about = {
            "flow": name,
            "cc": most["cc"] if most["cc"].endswith(OWN) else most["cc"] + KERNEL,
            "acked_bytes": between["acked_bytes"].sum(),
            "retransmissions": between["retransmissions"].sum(),
            "cwnd_end_bytes": most["cwnd_bytes"],
            "ssthresh_end_bytes": most["ssthresh_bytes"],
        }
        # Kernels before Linux 4.19 do not count bytes. The row's own `sent_bytes` are those of packets on the path.
        if between["sent_bytes"].null_count() == 0:
            sent, again = int(between["sent_bytes"].sum()), int(between["retransmitted_bytes"].sum())
            about["retransmitted_bytes"] = again
            if sent:
                about["tcp_efficiency_pct"] = 100 * (sent - again) / sent
        if not any({*ends} & {*others} for other, others in ports.items() if other != name):
            known = [counts[end] for end in ends]
            about |= {column: int(sum(each[column] for each in known)) for column in set.intersection(*map(set, known))}
        rows.append(about)
    if not rows:
        return flows
    schema = {name: kind for name, kind in flows.schema.items() if any(name in row for row in rows)}
    return flows.update(pl.DataFrame(rows, schema=schema), on="flow", how="left")


def collect_counts(
    host: str, counters: Mapping[str, Mapping[str, int]], kernel: Mapping[str, str], spoken: Iterable[Mapping[str, Any]]
) -> dict[str, float]:
    """Count the TCP events at a host, by columns of `flows`, from the kernel and from bentpipe's TCP at this host."""
    here = counters[host]
    # The samples end up to 20 ms before a connection. The counter does not.
    found = {"retransmissions": float(here.get("RetransSegs", 0)), **count_kernel(here, here, kernel)}
    found = {name: count for name, count in found.items() if name not in UNCERTAIN}
    own = [row for row in spoken if row["host"] == host]
    if not own:
        return found
    return {name: count + sum(row[name] for row in own) for name, count in found.items() if name in own[0]}


def find_ports(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """Flows whose packets come from outside, by name."""
    flows = scenario.to_dict()["flow"]
    kinds = dict(zip(scenario.flow_names, scenario.flow_kinds, strict=True))
    return {name: flow for name, flow in flows.items() if kinds[name] == "port"}


def with_series(
    recorded: Mapping[str, pl.DataFrame], found: pl.DataFrame, scenario: Scenario
) -> dict[str, pl.DataFrame]:
    """Joins the series of a run and of the kernel.

    A flow of real packets gets the connection that sent the most data.
    """
    tables = dict(recorded)
    if found.is_empty():
        return tables
    for flow in find_ports(scenario):
        rows = select_flow(found, flow)
        for name in SERIES:
            # A round trip of 0 was not measured yet.
            kept = rows.filter(pl.col(name).is_not_null() & (pl.col(name) > 0))
            if kept.is_empty():
                continue
            # One row for each change, as in a run.
            kept = kept.filter(pl.col(name).ne_missing(pl.col(name).shift()))
            kept = kept.select("time_s", pl.lit(flow).alias("flow"), name)
            tables[name] = (
                pl.concat([tables[name], kept]).sort("time_s", maintain_order=True) if name in tables else kept
            )
    return tables
