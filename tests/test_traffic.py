"""Flows with many transfers, and datagrams: their tables, output and comparison."""

import polars as pl
import pytest

import bentpipe as bp
from bentpipe import catalog
from bentpipe.experiment.single.run_result import RunResult

SMALL = {
    "title": "small web",
    "duration": "20 s",
    "link": {
        "l": {"from": "a", "to": "b", "rate": "5 Mbit/s", "delay": "20 ms", "error": {"kind": "packet", "rate": 0.01}}
    },
    "flow": {
        "files": {"from": "a", "to": "b", "app": {"kind": "arrivals", "size": "20 kB", "interval": "100 ms"}},
        "pages": {"from": "b", "to": "a", "app": {"kind": "page", "model": "3gpp2", "reading": "1 s"}},
        "tv": {"from": "a", "to": "b", "app": {"kind": "cbr", "rate": "500 kbit/s"}},
    },
}


@pytest.fixture(scope="module")
def result():
    return bp.run(SMALL)


def test_tables_have_the_columns_of_the_dictionary(result):
    for name in ("completions", "transfers", "datagrams"):
        assert getattr(result, name).columns == [column["name"] for column in catalog.dictionary()[name]]
    assert result.completions.filter(pl.col("sizes") == "all")["flow"].to_list() == ["files", "pages"]
    assert result.datagrams["flow"].to_list() == ["tv"]
    assert result.transfers["duration_s"].min() > 0


def test_transfers_agree_with_their_statistics(result):
    each = result.transfers.filter(pl.col("flow") == "files")
    row = result.completions.filter(pl.col("flow") == "files", pl.col("sizes") == "all").row(0, named=True)
    assert row["transfers"] == each.height
    assert row["duration_mean_s"] == pytest.approx(each["duration_s"].mean())
    assert row["duration_p95_s"] == pytest.approx(each["duration_s"].quantile(0.95, "higher"), rel=0.04)
    assert row["slowdown_mean"] == pytest.approx(each["slowdown"].mean())
    assert result.summary["transfers"][0] == result.transfers.height


def test_they_are_saved_and_read(result, tmp_path):
    result.save(tmp_path / "r")
    again = RunResult.load(tmp_path / "r")
    for name in ("completions", "transfers", "datagrams"):
        assert getattr(again, name).equals(getattr(result, name))
    assert result.to_dict()["transfers"]["flow"][0] in ("files", "pages")


PING = {
    "title": "ping",
    "duration": "10.7 s",
    "link": {
        "l": {
            "from": "a",
            "to": "b",
            "rate": "1 Mbit/s",
            "delay": "20 ms",
            "outage": {"spans": [["5 s", "6 s"]], "queue": "flush"},
        }
    },
    "flow": {"ping": {"from": "a", "to": "b", "app": {"kind": "probe", "interval": "500 ms", "size": "97 B"}}},
}


def test_each_probe_has_a_row_with_its_round_trip_or_the_cause_of_its_loss(tmp_path):
    result = bp.run(PING)
    assert result.probes.columns == [column["name"] for column in catalog.dictionary()["probes"]]
    assert result.probes["sent_s"].to_list() == [k / 2 for k in range(22)]
    lost = result.probes.filter(pl.col("outcome") == "lost")
    assert lost["rtt_s"].null_count() == lost.height == 2
    assert set(lost["cause"]) == {"outage"}
    # 125 B take 1 ms each way.
    assert result.probes["rtt_s"].drop_nulls().to_list() == pytest.approx([0.042] * 20)
    assert result.flows["rtt_mean_s"][0] == pytest.approx(0.042)
    assert result.estimate("run", "loss").mean == pytest.approx(100 * 2 / 22)
    result.save(tmp_path / "r")
    assert RunResult.load(tmp_path / "r").probes.equals(result.probes)


def test_a_folder_of_a_version_without_probes_has_none(tmp_path):
    bp.run(PING).save(tmp_path / "r")
    (tmp_path / "r" / "probes.parquet").unlink()
    loaded = RunResult.load(tmp_path / "r")
    assert loaded.probes.columns == [column["name"] for column in catalog.dictionary()["probes"]]
    assert loaded.probes.is_empty()
    assert loaded.tables.scan("probes").collect().is_empty()


def test_probes_leave_at_the_instants_of_a_measurement(tmp_path):
    (tmp_path / "ping.csv").write_text("sent_s,rtt_ms\n1700000000.25,30\n1700000000.5,31\n1700000001.125,29\n")
    (tmp_path / "path.toml").write_text(
        """
        duration = "5 s"
        [link.l]
        from = "a"
        to = "b"
        rate = "1 Mbit/s"
        delay = "20 ms"
        [flow.ping]
        from = "a"
        to = "b"
        app = { kind = "probe", times = { file = "ping.csv", column = "sent_s" } }
        """
    )
    assert bp.run(tmp_path / "path.toml").probes["sent_s"].to_list() == [0.0, 0.25, 0.875]


def test_without_them_the_tables_are_empty(small):
    result = bp.run(small)
    assert result.probes.is_empty()
    assert result.completions.is_empty()
    assert result.transfers.is_empty()
    assert result.datagrams.is_empty()
    assert result.summary["transfer_mean_s"][0] is None


def test_times_of_transfers_are_compared():
    comparison = bp.compare(SMALL, ["tahoe", "sack"], replications=4, metric="fct")
    assert "fct" in comparison.statements[-1]
    for metric in ("fct", "fct_p95", "slowdown", "unfinished"):
        found = comparison.estimate("sack", metric)
        assert found.replications == 4
        assert found.mean >= 0


@pytest.mark.parametrize("command", ["run", "compare"])
def test_what_is_printed_fits_the_terminal(command, capsys):
    from rich.console import Console

    from bentpipe.cli import render, render_run

    console = Console(width=80, highlight=False)
    shown = bp.run(SMALL) if command == "run" else bp.compare(SMALL, ["reno", "sack"], replications=3)
    for each in render_run.run(shown) if command == "run" else render.comparison(shown):
        console.print(each)
    out = capsys.readouterr().out
    assert "Transfers" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    if command == "run":
        assert "Datagrams" in out
        assert "files" in out
