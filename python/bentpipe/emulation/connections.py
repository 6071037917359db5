"""Connections of the kernel's TCP at the hosts of an emulation, as time series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ENDS = ["host", "port", "peer", "peer_port"]
"""Columns that name one end of a connection."""
SCHEMA: dict[str, Any] = {
    "time_s": pl.Float64,
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
    "min_rtt_s": pl.Float64,
    "busy_s": pl.Float64,
    "rwnd_limited_s": pl.Float64,
    "send_buffer_limited_s": pl.Float64,
}
SERIES = ("cwnd_bytes", "ssthresh_bytes", "srtt_s", "flight_size_bytes", "pacing_rate_bps")
"""Columns that are series of a run, too."""
OWN = " (bentpipe)"
"""End of the congestion controls of bentpipe's TCP in the samples."""


def samples(columns: dict[str, list[Any]]) -> pl.DataFrame:
    """Converts the samples of the engine to a table."""
    return pl.DataFrame(columns, schema=SCHEMA)


def connections(found: pl.DataFrame) -> pl.DataFrame:
    """Last sample of each end of a connection, in order of its start."""
    return found.group_by(ENDS, maintain_order=True).last().select(*SCHEMA)


def kernel(found: pl.DataFrame, release: str) -> tuple[str, list[str]]:
    """The hosts with the kernel's TCP, as in `Scenario.hosts`, with the congestion controls of their connections."""
    senders = found["cc"].unique(maintain_order=True).to_list()
    return f"Linux {release} (kernel)", [cc for cc in senders if not cc.endswith(OWN)]


def own(scenario: Scenario, senders: Iterable[str]) -> tuple[str, list[str]]:
    """The host with bentpipe's TCP, as in `Scenario.hosts`: its preset is that of `[tcp]`."""
    link = {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms"}
    plain = {"duration": "1 s", "link": {"path": link}, "flow": {"f": {"from": "a", "to": "b"}}}
    ((preset, _),) = Scenario({**plain, "tcp": {"like": scenario.to_dict()["tcp"]["like"]}}).hosts
    return preset + OWN, list(dict.fromkeys(senders))


def select_flow(found: pl.DataFrame, ends: tuple[str, str]) -> pl.DataFrame:
    """The samples of the connection between two hosts that sent most, at the end that sent."""
    between = found.filter(pl.col("host").is_in(ends), pl.col("peer").is_in(ends))
    if between.is_empty():
        return between
    most = connections(between).sort("acked_bytes", descending=True, maintain_order=True).head(1)
    return between.join(most.select(ENDS), on=ENDS, how="semi", maintain_order="left")


def with_series(
    recorded: Mapping[str, pl.DataFrame], found: pl.DataFrame, scenario: Scenario
) -> dict[str, pl.DataFrame]:
    """Joins the series of a run with those of the kernel: a flow with a port gets the connection that sent most."""
    tables = dict(recorded)
    if found.is_empty():
        return tables
    for flow, about in scenario.to_dict()["flow"].items():
        app = about["app"]
        if (app["kind"] if isinstance(app, dict) else app) != "port":
            continue
        rows = select_flow(found, (about["from"], about["to"]))
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
