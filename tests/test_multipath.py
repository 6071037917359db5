"""Flows over several paths, and tables with missing whole numbers."""

from __future__ import annotations

import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError

SHORT = {"duration": "12 s", "at": []}


@pytest.fixture(scope="module")
def result():
    return bp.run("ship-two-antennas", sets=SHORT, series=["events", "cwnd_bytes", "held_bytes", "goodput_bps"])


def test_subflows_have_rows_with_the_columns_of_flows(result):
    table = result.subflows
    assert table["flow"].to_list() == ["download.leo", "download.vsat"]
    assert table["subflow_of"].to_list() == ["download"] * 2
    assert table["delivered_share"].sum() == pytest.approx(1)
    assert set(result.flows.columns) < set(table.columns)
    assert result.flows["transport"].to_list() == ["multipath"]
    assert result.flows["hol_held_s"][0] > 0
    # Columns of the data in order are not those of a path.
    assert table["data_duplicate_bytes"].null_count() == 2
    assert table.schema["timeouts"] == pl.Int64


def test_series_and_events_name_subflows(result):
    assert result.series("cwnd_bytes", flow="download.leo").height > 10
    assert result.series("held_bytes", flow="download")["held_bytes"].max() > 0
    assert set(result.events["flow"]) == {"download", "download.leo", "download.vsat"}
    joined = result.events.filter(pl.col("event") == "subflow_joined")
    assert joined["flow"].to_list() == ["download.vsat"]


def test_subflows_are_shown_with_all():
    sets = ["--set", "duration=6 s", "--set", "at=[]"]
    shown = CliRunner().invoke(app, ["run", "ship-two-antennas", *sets, "--all"]).stdout
    heads = shown.partition("Subflows")[2].partition("download.leo")[0]
    assert all(word in heads for word in ("share", "goodput", "RTT p50", "joins", "failures"))
    assert all(path in shown for path in ("download.leo", "download.vsat"))


def test_columns_of_subflows_are_metrics():
    names = ["delivered_share:download.leo", "joins:download.vsat", "failures:download.vsat"]
    scenario = bp.load("ship-two-antennas", sets=SHORT)
    runs = bp.compare(scenario, ["cubic", "hybla"], metric=names, replications=1).runs
    alone = bp.run(scenario, seed=runs["seed"][0])
    rows = {row["flow"]: row for row in alone.rows("subflows")}
    leo, vsat = rows["download.leo"], rows["download.vsat"]
    expected = [leo["delivered_share"], vsat["joins"], vsat["failures"]]
    assert [runs[name][0] for name in names] == pytest.approx(expected)
    with pytest.raises(BentpipeError, match="joins needs the name of a subflow"):
        bp.compare(scenario, ["cubic", "hybla"], metric="joins")


def test_why_names_the_path():
    result = bp.run("ship-two-antennas", sets={"duration": "40 s"})
    told = result.why("download", at=30.3)
    kinds = {each.kind for each in told.happenings}
    assert {"handover", "subflow"} <= kinds
    assert any(each.text.startswith("leo: the path does not deliver") for each in told.happenings)
    alone = result.why("download.vsat", at=30.3)
    assert alone.flow == "download.vsat"


def test_counts_of_tcp_are_missing_over_quic(tmp_path):
    text = """
duration = "5 s"
[link.l]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
[flow.tcp]
from = "a"
to = "b"
app = { kind = "file", size = "100 kB" }
[flow.quic]
from = "a"
to = "b"
app = { kind = "file", size = "100 kB" }
quic = {}
"""
    result = bp.run(bp.loads(text))
    rows = {row["flow"]: row for row in result.rows("flows")}
    assert (rows["tcp"]["timeouts"], rows["quic"]["timeouts"]) == (0, None)
    assert (rows["tcp"]["transport"], rows["quic"]["transport"]) == ("tcp", "quic")
    assert result.flows.schema["timeouts"] == pl.Int64
    result.save(tmp_path / "saved")
    assert bp.RunResult.load(tmp_path / "saved").flows.equals(result.flows)
