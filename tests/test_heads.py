"""One word for one thing: heads of tables in terminals, notebooks and reports."""

import re

import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.catalog import dictionary
from bentpipe.cli import real_time, render_run
from bentpipe.cli.app import app
from bentpipe.experiment.single import readable
from bentpipe.heads import _HEADS, SOFT, head

SHOWN = {
    "flows": {*render_run._FLOW_COLUMNS, *render_run._VERDICTS, *readable.SHOWN_FLOWS},
    "links": {*readable.SHOWN_LINKS},
    "terminals": {*readable.SHOWN_TERMINALS},
    "drops": {*readable.SHOWN_DROPS},
    "datagrams": {name for name, _ in (*render_run._DATAGRAM_COLUMNS, *render_run._FILE_COLUMNS)},
    "subflows": {name for name, _ in render_run._SUBFLOW_COLUMNS},
    "completions": {name for name, _ in render_run._COMPLETION_COLUMNS},
}


@pytest.mark.parametrize("table", SHOWN)
def test_shown_columns_have_heads_that_differ(table):
    known = {entry["name"] for entry in dictionary()[table]}
    assert SHOWN[table] <= known
    heads = [head(name) for name in sorted(SHOWN[table])]
    assert len(heads) == len(set(heads))


def test_every_head_is_used():
    used = {*real_time.OWN, *real_time.OWN_QUIC, *(name for names in SHOWN.values() for name in names)}
    links = {"utilisation", "queue_max_bytes"}
    assert set(_HEADS) == used | links | {"case", "congestion control"}


def test_terminal_notebook_and_report_have_the_same_heads(tmp_path):
    result = bp.run("geo", {"duration": "5 s"})
    printed = CliRunner().invoke(app, ["run", "geo", "--set", "duration=5 s"]).stdout
    html = result._repr_html_()
    page = result.report(tmp_path / "report").page.read_text()
    for name in readable.SHOWN_FLOWS + readable.SHOWN_LINKS:
        text = head(name)
        assert text in html
        assert text in page
        if name not in ("queue_p50_s", "completion_s"):
            first, _, rest = head(name, is_soft=True).partition(SOFT)
            assert first in printed
            assert rest in printed
    for old in ("sender", "resent", "unheeded"):
        assert not re.search(rf"\b{old}\b", printed)
        assert f">{old}<" not in html


def test_a_comparison_and_a_mix_name_their_first_column_alike():
    few = {"replications": 2}
    scenario = bp.load("geo", {"duration": "5 s"})
    compared, mixed = bp.compare(scenario, ["cubic", "reno"], **few), bp.mix(scenario, ["cubic", "reno"], **few)
    assert [each.make_notebook_table()[0][0] for each in (compared, mixed)] == ["cc", "cc"]
    cases = bp.compare(scenario, cases={"a": {}, "b": {"link.sat.delay": "200 ms"}}, **few)
    assert cases.make_notebook_table()[0][0] == "case"
    for verb in ("compare", "mix"):
        done = CliRunner().invoke(app, [verb, "geo", "--set", "duration=5 s", "--cc", "cubic,reno", "-n", "2"])
        assert re.search(r"^cc +", done.stdout, re.MULTILINE)


def test_many_flows_are_grouped_by_entry_of_the_file(tmp_path):
    path = tmp_path / "mixed.toml"
    path.write_text(
        """
duration = "20 s"
[link.sat]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "50 ms"
[flow.web]
count = 20
from = "a"
to = "b"
app = "page"
[flow.backup]
from = "a"
to = "b"
"""
    )
    done = CliRunner().invoke(app, ["run", str(path)])
    flows = done.stdout[done.stdout.index("Flows") : done.stdout.index("Links")]
    # Pages and the backup have the same congestion control, and nothing else in common.
    assert "web x 20" in flows
    assert "backup x 1" in flows
    assert "cubic x" not in done.stdout
    # Pages pause: their goodputs say nothing about fairness.
    assert "fairness" not in done.stdout


def test_a_table_prints_its_means_and_intervals(monkeypatch):
    found = bp.compare("geo", ["cubic", "reno"], replications=2, metric=["goodput", "rtt"])
    assert found.table.columns[:6] == ["of", "metric", "unit", "mean", "low", "high"]
    for width in (80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        for table in (found.table, found.differences, bp.run("geo").table):
            lines = str(table).splitlines()
            assert {"metric", "unit", "mean", "low", "high"} <= set(re.split(r"[│┆ ]+", lines[2]))
            # Every other column is printed or named.
            more = lines[-1].removeprefix("more columns: ").split(", ") if "more columns" in lines[-1] else []
            assert [*filter(None, re.split(r"[│┆ ]+", lines[2])), *more] == table.columns
    assert all(name in found.table._repr_html_() for name in found.table.columns)
    # It is a frame as any other.
    assert isinstance(found.table, pl.DataFrame)
    assert found.table.filter(pl.col("metric") == "rtt").height == 2
