"""Rapid start over TCP and QUIC: growth, and the window after the first loss."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.errors import ScenarioError

QUIC = {"flow.transfer.quic.cc": "cubic"}
SERIES = {"record.series": ["cwnd_bytes", "flight_size_bytes", "events", "losses"]}


def run(key: str, value: Any, sets: dict[str, Any]) -> bp.RunResult:
    return bp.run(bp.load("geo", {"duration": "12 s", "tcp.cc": "cubic", **SERIES, **sets, key: value}))


def windows(result: bp.RunResult) -> pl.DataFrame:
    return result.series("cwnd_bytes", flow="transfer")


@pytest.mark.parametrize(("key", "sets"), [("tcp.slow_start", {}), ("flow.transfer.quic.slow_start", QUIC)])
def test_the_window_triples_and_converges_on_the_path(key: str, sets: dict[str, Any]) -> None:
    found = {}
    for value in ("standard", "rapid"):
        result = run(key, value, sets)
        cwnd = windows(result)
        first = cwnd["cwnd_bytes"][0]
        # The times at which it is nine times and twenty-seven times the first window.
        times = [cwnd.filter(pl.col("cwnd_bytes") >= factor * first)["time_s"][0] for factor in (9, 27)]
        peak = cwnd["cwnd_bytes"].max()
        settled = cwnd.filter(pl.col("time_s") > cwnd.filter(pl.col("cwnd_bytes") == peak)["time_s"].max() + 1.5)
        flight = result.series("flight_size_bytes", flow="transfer")["flight_size_bytes"].max()
        found[value] = (times, peak, settled["cwnd_bytes"][0], flight)
    # A round trip takes 540 ms.
    (early, _), rapid_peak, rapid_settled, _ = found["rapid"]
    (late, _), standard_peak, standard_settled, standard_flight = found["standard"]
    assert early < late - 0.3
    assert rapid_peak > standard_peak
    # Path and queue hold 2.7 MB. CUBIC leaves 0.7 of them, and not of the window that was too large.
    assert rapid_settled == pytest.approx(0.7 * 2.7e6, rel=0.15)
    # TCP reduces what is in flight, which its receive window keeps below the window; QUIC reduces the window.
    reduced = min(standard_peak, standard_flight) if key.startswith("tcp") else standard_peak
    assert standard_settled == pytest.approx(0.7 * reduced, rel=0.15)


def test_the_first_window_is_paced_over_a_round_trip() -> None:
    spans = {}
    for value in ("standard", "rapid"):
        result = run("tcp.slow_start", value, {"tcp.pacing": "window"})
        sent = result.events.filter((pl.col("event") == "sent") & (pl.col("value") < 14480))["time_s"]
        spans[value] = float(sent[9] - sent[0])
    # Nine of ten gaps; two segments may leave back to back.
    assert spans["rapid"] == pytest.approx(2 * spans["standard"], rel=0.05)
    assert 0.4 < spans["rapid"] < 0.54


def test_recoveries_that_do_not_find_each_loss_are_refused() -> None:
    with pytest.raises(ScenarioError, match="counts each lost segment"):
        bp.load("geo", {"tcp.slow_start": "rapid", "tcp.recovery": "sack"})
