"""Runs, and their saved results."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe import catalog, files, plot
from bentpipe.errors import BentpipeError, Interrupted, ScenarioError
from bentpipe.experiment.single import simulate
from bentpipe.experiment.single.tables import TABLES
from bentpipe.plot import traces
from bentpipe.statistics.curve import Curve
from tests.drawn import names_of, note_of

SERIES = ["cwnd_bytes", "queue_bytes"]


@pytest.fixture
def result(small):
    return bp.run(bp.load(small), series=SERIES)


def test_tables_have_the_columns_of_the_dictionary(result):
    for name in ("flows", "links", "drops", "summary"):
        assert getattr(result, name).columns == [column["name"] for column in catalog.dictionary()[name]]
    assert result.events.columns == ["time_s", "flow", "event", "value"]
    assert result.flows["flow"].to_list() == result.scenario.flow_names
    assert result.links["link"].to_list() == result.scenario.link_names
    assert result.summary.height == 1


def test_packets_add_up(result):
    row = result.summary.row(0, named=True)
    assert row["sent_packets"] == row["delivered_packets"] + row["lost_packets"] + row["in_flight_packets"]
    assert row["lost_packets"] == result.drops["packets"].sum()


def test_what_does_not_exist_is_null(result):
    completion = dict(result.flows.select("flow", "completion_s").iter_rows())
    assert completion["bulk"] is None
    assert completion["file"] > 0
    assert not any(result.flows[name].is_nan().any() for name in result.flows.columns if "_s" in name)


def test_the_seed_decides(small):
    scenario = bp.load(small)
    assert_equal(bp.run(scenario), bp.run(scenario))
    assert_equal(bp.run(scenario, seed=9), bp.run(scenario.with_seed(9)))
    assert bp.run(scenario, seed=9).seed == 9
    assert not bp.run(scenario, seed=9).flows.equals(bp.run(scenario).flows)


def test_the_number_of_events_at_once_does_not_matter(small, monkeypatch):
    scenario = bp.load(small, {"duration": "5 s"})
    whole = bp.run(scenario, series=SERIES)
    monkeypatch.setattr(simulate, "EVENTS_AT_ONCE", 997)
    assert_equal(bp.run(scenario, series=SERIES), whole)


def test_recording_does_not_change_the_run(result, small):
    assert bp.run(bp.load(small)).flows.equals(result.flows)


def test_progress_goes_from_nothing_to_all(small):
    shares = []
    bp.run(bp.load(small), progress=lambda progress: shares.append(progress.share))
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_series(result):
    cwnd = result.series("cwnd_bytes")
    assert cwnd.columns == ["time_s", "flow", "cwnd_bytes"]
    assert result.series("cwnd_bytes", flow="bulk")["flow"].unique().to_list() == ["bulk"]
    assert result.series("queue_bytes", link="down.forward").columns == [
        *("time_s", "link", "queue_bytes", "least", "greatest")
    ]
    assert result.series("cwnd_bytes", flow="bulk")["time_s"].is_sorted()


def test_a_series_that_was_not_recorded_needs_another_run(small, caplog, tmp_path):
    caplog.set_level("WARNING", logger="bentpipe")
    bare = bp.run(bp.load(small))
    rows = bare.series("cwnd_bytes")
    assert "running again with series=['cwnd_bytes']" in caplog.text
    assert rows.equals(bp.run(bp.load(small), series="cwnd_bytes").series("cwnd_bytes"))
    assert set(bare.find_values(3.0)) == {"goodput_bps", "cwnd_bytes", "queue_bytes"}
    # A notebook shows a figure.
    assert "<img" in bare._repr_html_()
    # Packets of others do not come again.
    bare.save(tmp_path / "kept")
    kept = bp.RunResult.load(tmp_path / "kept")
    assert kept.series("cwnd_bytes").equals(rows)


def test_what_is_no_series_is_said(result, small):
    with pytest.raises(BentpipeError, match="did you mean 'srtt_s'"):
        result.series("srtt")
    with pytest.raises(BentpipeError, match="did you mean 'bulk'"):
        result.series("cwnd_bytes", flow="bulb")
    with pytest.raises(BentpipeError, match="not a series of links"):
        result.series("cwnd_bytes", link="down.forward")
    with pytest.raises(ScenarioError):
        bp.run(bp.load(small), series=["nonsense"])


def test_a_saved_result_is_the_same_when_loaded(result, tmp_path):
    result.save(tmp_path / "a")
    loaded = bp.RunResult.load(tmp_path / "a")
    assert_equal(loaded, result)
    assert loaded.scenario == result.scenario
    assert loaded.seed == result.seed
    assert loaded.version == result.version == bp.__version__
    assert loaded.notes == result.notes
    assert loaded.to_dict() == result.to_dict()


def test_equal_results_are_equal_files(result, small, tmp_path):
    result.save(tmp_path / "a")
    bp.run(bp.load(small), series=SERIES).save(tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert "scenario.toml" in contents(tmp_path / "a")


def test_a_result_may_replace_a_result_and_nothing_else(result, tmp_path):
    result.save(tmp_path / "a")
    (tmp_path / "a" / "more.txt").touch()
    result.save(tmp_path / "a")
    assert "more.txt" not in contents(tmp_path / "a")
    (tmp_path / "empty").mkdir()
    result.save(tmp_path / "empty")

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "provenance.json").write_text("[]")
    for name in ("mine", "file", "foreign"):
        with pytest.raises(BentpipeError, match="not a bentpipe result"):
            result.save(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "empty", "file", "foreign", "mine"]


def test_what_cannot_be_written_leaves_nothing(result, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BentpipeError, match="cannot be written"):
        result.save(tmp_path / "file" / "result")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_loading_something_else_is_refused(tmp_path):
    with pytest.raises(BentpipeError, match="not the result of"):
        bp.RunResult.load(tmp_path)


def test_an_interrupted_run_says_how_far_it_came(small, monkeypatch):
    monkeypatch.setattr(simulate, "EVENTS_AT_ONCE", 500)

    def interrupt(progress):
        if progress.share > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"^interrupted at .* s of 20 s$") as interrupted:
        bp.run(bp.load(small), progress=interrupt)
    result = interrupted.value.result
    assert result.stop == "interrupted"
    assert 4 < result.simulated_s < 20


def test_the_result_can_be_shown(result):
    assert "Two senders" in repr(result)
    assert "<table" in result._repr_html_()
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("count", [3, 5])
def test_a_figure_says_how_many_links_it_leaves_out(count):
    ends = {"from": "a", "to": "b{n}", "count": count}
    link = {**ends, "rate": "2 Mbit/s", "delay": "10 ms"}
    result = bp.run({"duration": "2 s", "link": {"l": link}, "flow": {"f": ends}}, series="queue_bytes")
    said = note_of(plot.run_figure(result))
    assert said == ("Queue: the 3 largest on average of 10 links" if count == 5 else "")


def test_a_figure_shows_the_link_with_the_longest_queue_among_equal_peaks():
    link = {"from": "a", "to": "b{n}", "count": 5, "rate": "2 Mbit/s", "delay": "10 ms", "queue": "5 packets"}
    flows = {f"f{n}": {"from": "a", "to": f"b{n}", "app": {"kind": "file", "size": "500 kB"}} for n in range(1, 5)}
    flows["f5"] = {"from": "a", "to": "b5"}
    result = bp.run({"duration": "5 s", "link": {"l": link}, "flow": flows}, series="queue_bytes")
    peaks = result.series("queue_bytes").group_by("link").agg(pl.col("queue_bytes").max())
    assert (peaks["queue_bytes"] == peaks["queue_bytes"].max()).sum() >= 5
    first = plot.run_figure(result).axes[-1].get_legend_handles_labels()[1][0]
    assert first == "l5.forward"


def test_figures_have_units_and_leave_pyplot_alone(result, tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    figure = plot.run_figure(result)
    assert [axes.get_ylabel().split() for axes in figure.axes] == [["Congestion", "window", "(kB)"], ["Queue", "(kB)"]]
    for ending in plot.ENDINGS:
        for name in ("a", "b"):
            plot.save(plot.run_figure(result), tmp_path / f"{name}{ending}")
        assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()
    assert dict(mpl.rcParams) == before
    with pytest.raises(BentpipeError, match="no ending of a figure"):
        plot.save(figure, tmp_path / "a.bmp")


def test_the_mean_of_many_lines_is_over_those_that_are_active():
    one = Curve.from_rows("level", np.array([0.0, 5.0]), np.array([2.0, 4.0]), [(0.0, 10.0)])
    other = Curve.from_rows("level", np.array([0.0]), np.array([8.0]), [(0.0, 7.0)])
    never = Curve.from_rows("level", np.zeros(0), np.zeros(0), [])
    mean = traces.average_curves([one, other, never], 10.0)
    assert (mean.begins[0], mean.end_s) == (0.0, 10.0)
    assert [mean.find_value(t) for t in (1.0, 6.0, 8.0)] == [5.0, 6.0, 4.0]


def test_many_flows_are_a_cloud_and_a_mean(small):
    content = bp.load(small).to_dict()
    content["flow"] = {f"f{n}": content["flow"]["bulk"] for n in range(9)}
    top, _ = plot.run_figure(bp.run(content, series=["goodput_bps", "cwnd_bytes"])).axes
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["each of 9", "mean of those active"]


def test_a_flow_that_has_not_started_is_no_part_of_the_mean(small):
    content = bp.load(small).to_dict()
    content["flow"] = {f"f{n}": content["flow"]["bulk"] for n in range(9)}
    content["flow"]["f8"] = {**content["flow"]["f8"], "start": "1000 s"}
    assert plot.run_figure(bp.run(content, series=["goodput_bps"])).axes


KINDS = {
    "duration": "4 s",
    "link": {"l": {"from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "100 ms"}},
    "flow": {
        "call": {"from": "a", "to": "b", "count": 6, "app": {"kind": "cbr", "rate": "64 kbit/s", "size": "160 B"}},
        "bulk": {"from": "a", "to": "b"},
        "web": {"from": "b", "to": "a", "count": 3, "app": {"kind": "page"}},
    },
}


def test_many_flows_of_several_kinds_have_a_line_for_each_kind():
    result = bp.run(KINDS, series=["goodput_bps", "cwnd_bytes"])
    top, windows, _ = plot.run_figure(result).axes
    means = {name: f"{name} (mean of {count})" for name, count in {"call": 6, "web": 3}.items()}
    assert {*names_of(top), *names_of(windows)} == {"bulk", *means.values()}
    drawn = {line.get_label(): line for line in top.lines}
    curves = [result.curve("goodput_bps", f"call{n}") for n in range(1, 7)]
    for at_s in (1.05, 3.05):
        times, values = drawn[means["call"]].get_data()
        value = values[np.searchsorted(times, at_s, side="right") - 1]
        assert value * 1e6 == pytest.approx(np.mean([each.find_value(at_s) for each in curves]), rel=0.2)
    # Only flows with a window, in the colours of the panel above.
    below = {line.get_label(): line.get_color() for line in windows.lines if not line.get_label().startswith("_")}
    assert below == {name: drawn[name].get_color() for name in ("bulk", means["web"])}


def test_a_figure_has_the_delays_of_datagrams_below_the_series():
    result = bp.run(KINDS, series=["goodput_bps", "cwnd_bytes"])
    figure = result.plot(start=1, end=2)
    *series, below = figure.axes
    assert [axes.get_xlim() for axes in series] == [(1, 2), (1, 2)]
    assert below.get_xlabel().startswith("Delay of packets (ms)")
    assert [text.get_text() for text in below.get_yticklabels()] == ["call\n(longest of 6)"]
    worst = max(result.datagrams.to_dicts(), key=lambda row: (row["delay_p99_s"], row["delay_mean_s"]))
    line, bar, dot = (1e-3 * each.get_xdata() for each in below.lines)
    assert list(line) == pytest.approx([worst["delay_min_s"], worst["delay_p99_s"]])
    assert list(bar) == pytest.approx([worst["delay_p50_s"], worst["delay_p95_s"]])
    assert dot == pytest.approx(worst["delay_p50_s"])
    # Propagation is 100 ms, so no packet is faster.
    assert min(line) > 0.1


def test_each_of_a_few_calls_has_its_delay_in_the_colour_of_its_goodput():
    call = {key: value for key, value in KINDS["flow"]["call"].items() if key != "count"}
    flows = {"call": call, "echo": call}
    top, below = plot.run_figure(bp.run({**KINDS, "flow": flows}, series="goodput_bps")).axes
    assert [text.get_text() for text in below.get_yticklabels()] == ["call", "echo"]
    assert [line.get_color() for line in below.lines[::3]] == [line.get_color() for line in top.lines]


def test_a_run_without_series_has_no_figure(small):
    with pytest.raises(BentpipeError, match="the run has no time series to draw"):
        plot.run_figure(bp.run(bp.load(small)))


def test_a_run_without_series_is_repeated_for_its_figure(small, caplog, tmp_path):
    # Commands of other tests may have changed the level.
    caplog.set_level("WARNING", logger="bentpipe")
    plain = bp.run(small, seed=7)
    again = [axes.lines[0].get_xydata().tolist() for axes in plain.plot().axes]
    assert "running again" in caplog.text
    recorded = bp.run(small, seed=7, series=plot.PANELS)
    caplog.clear()
    assert again == [axes.lines[0].get_xydata().tolist() for axes in recorded.plot().axes]
    assert not caplog.text
    plain.save(tmp_path / "saved")
    assert len(bp.RunResult.load(tmp_path / "saved").plot().axes) == len(plot.PANELS)


def assert_equal(one, other):
    for name in TABLES:
        assert getattr(one, name).equals(getattr(other, name)), name
    assert one.recorded.keys() == other.recorded.keys()
    assert all(isinstance(table, pl.DataFrame) for table in one.recorded.values())
    assert all(table.equals(other.recorded[name]) for name, table in one.recorded.items())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_column_without_its_unit_is_refused_with_its_name():
    assert catalog.unit("flows", "goodput_bps") == "bit/s"
    with pytest.raises(KeyError, match="did you mean 'goodput_bps'"):
        catalog.unit("flows", "goodput")


def test_losses_are_recorded_one_by_one_and_decisions_are_events_without_those_of_each_packet():
    scenario = bp.load("geo", {"duration": "20 s"})
    result = bp.run(scenario, series="events, decisions, losses")
    losses = result.series("losses")
    assert losses.columns == [column["name"] for column in catalog.dictionary()["losses"]]
    counted = losses.group_by("where", "flow", "cause").agg(packets=pl.len(), bytes=pl.col("bytes").sum())
    keys = ["where", "flow", "cause"]
    assert counted.cast({"packets": pl.Int64}).sort(keys).equals(result.drops.sort(keys))
    assert losses.height > 0
    assert result.series("losses", link="sat.forward").height == losses.filter(where="sat.forward").height
    assert result.series("decisions").equals(result.events.filter(~pl.col("event").is_in(["sent", "acked"])))


def test_a_series_that_is_cut_cuts_no_other_and_is_reported():
    series = "events, decisions, cwnd_bytes"
    scenario = bp.load("geo", {"duration": "20 s"})
    whole = bp.run(scenario, series=series)
    most = max(table.height for table in whole.recorded.values())
    cut = bp.run(scenario.replace("record.rows_max", most), series=series)
    assert cut.events.height == most < whole.events.height
    assert all(cut.recorded[name].equals(whole.recorded[name]) for name in whole.recorded)
    assert [note.split(" ends at ")[0] for note in cut.notes] == ["events"]


def test_values_at_an_instant_are_those_of_the_series(result, tmp_path):
    result.save(tmp_path / "saved")
    for each in (result, bp.RunResult.load(tmp_path / "saved")):
        values = each.find_values(5.05)
        assert set(values) == set(SERIES)
        for flow, value in values["cwnd_bytes"].items():
            rows = each.series("cwnd_bytes", flow=flow).filter(pl.col("time_s") <= 5.05)
            assert value == rows["cwnd_bytes"][-1]
        assert values["queue_bytes"].keys() == set(each.scenario.link_names)
        with pytest.raises(BentpipeError, match="expected 0 to"):
            each.find_values(1000)


def test_a_rate_at_an_instant_is_that_of_the_interval_around_it(small):
    result = bp.run(small, series="carried_bps")
    rows = result.series("carried_bps", link="up.forward")
    assert (
        result.find_values(1.05)["carried_bps"]["up.forward"] == rows.filter(pl.col("time_s") > 1.05)["carried_bps"][0]
    )


def test_a_saved_result_reads_a_table_when_it_is_asked_for(result, tmp_path, monkeypatch):
    result.save(tmp_path / "saved")
    read = []
    table = files.table
    monkeypatch.setattr(files, "table", lambda folder, name: read.append(name) or table(folder, name))
    loaded = bp.RunResult.load(tmp_path / "saved")
    assert not read
    assert loaded.series("cwnd_bytes").equals(result.series("cwnd_bytes"))
    assert loaded.flows.equals(result.flows)
    assert read == ["series-cwnd_bytes", "flows"]


def test_a_result_draws_itself_and_a_part_of_itself(result):
    assert result.plot().axes[-1].get_xlim() == (0, result.simulated_s)
    assert result.plot(start=2, end=5).axes[-1].get_xlim() == (2, 5)
    with pytest.raises(BentpipeError, match="expected an end after the start"):
        result.plot(start=5, end=2)


def test_a_notebook_shows_numbers_with_prefixes(result):
    page = result._repr_html_()
    assert "goodput (" in page
    assert "bit/s)" in page
    assert "goodput_bps" not in page


def test_a_run_keeps_the_contract_of_results_as_one_replication(result, small, tmp_path):
    seed = result.seed
    compared = bp.compare(small, ["newreno", "reno"], replications=1)
    own = bp.run(small, cc="newreno", seed=seed)
    # The same numbers as in a comparison of one replication, before and after loading.
    own.save(tmp_path / "run")
    for run in (own, bp.RunResult.load(tmp_path / "run")):
        assert run.runs.equals(compared.runs.filter(pl.col("of") == "newreno").drop("of"))
        assert run.table.drop("of").equals(compared.table.filter(pl.col("of") == "newreno").drop("of"))
        assert run.differences.schema == compared.differences.schema
        assert run.differences.height == 0
        found = run.estimate("goodput")
        assert (found.replications, found.value, found.low) == (1, run.summary["goodput_bps"][0], None)
        assert "no intervals" in run.statements[0]
        assert run.to_dict()["table"] == run.table.to_dicts()


def test_a_run_has_a_report_with_its_tables_figure_and_command(result, small, tmp_path):
    there = result.report(tmp_path / "page")
    written = {path.stem for path in there.tables if path.suffix == ".csv"}
    assert written == {"metrics", "flows", "links", "drops"}
    assert [path.name for path in there.figures] == ["series.svg", "series.png", "series.pdf"]
    assert there.statements == result.statements
    page = there.page.read_text(encoding="utf-8")
    assert f"seed {result.seed}" in page
    assert "bentpipe run" in page
    result.save(tmp_path / "run")
    again = bp.report(tmp_path / "run")
    assert again.page.parent == tmp_path / "run" / "report"
    assert (again.folder / "tables" / "flows.csv").read_bytes() == (there.folder / "tables" / "flows.csv").read_bytes()
    plain = bp.run(bp.load(small)).report(tmp_path / "plain")
    # Without series, the run is repeated for its figure.
    assert [path.name for path in plain.figures] == [path.name for path in there.figures]


def test_run_takes_overrides_and_shows_a_bar_on_request(capsys, monkeypatch):
    sets = {"duration": "3 s", "tcp.cc": "cubic"}
    found = bp.run("geo", sets, progress=True)
    assert found.scenario == bp.load("geo", sets)
    assert capsys.readouterr().err == "", "no terminal"
    # Rich then treats any output as a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    bp.run("geo", sets, progress=True)
    assert "simulated 3 s" in capsys.readouterr().err
    assert bp.run(bp.load("geo"), sets, progress=False).scenario == found.scenario
    assert capsys.readouterr().err == ""


def test_a_run_without_series_is_run_again_for_its_figure(monkeypatch):
    from bentpipe.experiment.single import run_result

    found = bp.run("geo", {"duration": "3 s"})
    assert len(found.plot(title="again").axes) == 3
    assert not found.recorded
    # A page in a notebook waits for the figure of a short run only, and packets of real programs cannot be repeated.
    assert "<img" in found._repr_html_()
    monkeypatch.setattr(run_result, "SHORT_PACKETS", 100)
    assert "<img" not in found._repr_html_()
    with pytest.raises(BentpipeError, match="the run has no time series to draw"):
        replace(found, notes=("real packets came from programs",)).plot()


def test_a_series_is_no_chart():
    with pytest.raises(BentpipeError, match="'queue_bytes' is not a chart of a run\\n  known: series"):
        bp.run("geo", {"duration": "3 s"}, series="queue_bytes").plot("queue_bytes")


def test_figures_of_runs_mark_handovers_and_outages(small):
    scenario = bp.load("leo", {"duration": "20 s", "link.sat.forward.outage": {"spans": [["4 s", "5 s"]]}})
    figure = bp.run(scenario, series=["goodput_bps", "cwnd_bytes"]).plot()
    for axes in figure.axes:
        (marks,) = [line for line in axes.lines if line.get_marker() == "|"]
        assert list(marks.get_xdata()) == [15.0]
        (outage,) = axes.patches
        assert (outage.get_x(), outage.get_x() + outage.get_width()) == (4.0, 5.0)
    label = note_of(figure)
    assert label.endswith("ticks: handovers; grey: outages")
    assert "ticks" not in note_of(bp.run(small, series="cwnd_bytes").plot())


def test_windows_hold_to_the_end_of_the_run():
    result = bp.run("slow-start", series="cwnd_bytes")
    (line,) = [line for line in result.plot().axes[0].lines if line.get_label() == "transfer"]
    assert result.series("cwnd_bytes")["time_s"].max() < 8
    assert line.get_xdata()[-1] == result.simulated_s
    assert line.get_ydata()[-1] == line.get_ydata()[-2]


def test_a_flow_has_one_colour_in_all_panels():
    figure = bp.run("web-on-geo", series=["goodput_bps", "cwnd_bytes"]).plot()
    colours, *others = [
        {line.get_label(): line.get_color() for line in axes.lines if not line.get_label().startswith("_")}
        for axes in figure.axes[:2]
    ]
    assert len(set(colours.values())) == len(colours) > 1
    for other in others:
        assert other.items() <= colours.items()
    explained = [bool(names_of(axes)) for axes in figure.axes[:2]]
    # The same colours are explained once.
    assert sum(explained) == (1 if set(others[0]) == set(colours) else 2)


def test_long_names_do_not_leave_the_figure():
    figure = bp.run("london-singapore", series="queue_bytes").plot()
    figure.draw_without_rendering()
    legend = figure.axes[0].get_legend().get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.x1
