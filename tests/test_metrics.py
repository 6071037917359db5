"""Every column is a metric, of a run or of one flow or link; also ratios, custom figures and numbers of NumPy."""

import math

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.catalog import dictionary
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.metric import _DECLARED, METRICS, NOT_METRICS, find_metric, list_metrics, list_single_metrics, matching
from bentpipe.statistics.estimates import ratio_of_pairs
from bentpipe.statistics.samples import AtLeast

OPTIONS = {"duration": "20 s", "flow.file.count": 3}
ASKED = ["tcp_efficiency", "goodput:bulk", "queue_p95:down.forward", "completion:file", "lost:bulk", "overhead"]


@pytest.fixture(scope="module")
def scenario(request):
    return bp.load(request.path.with_name("small.toml"), OPTIONS)


@pytest.fixture(scope="module")
def comparison(scenario):
    return bp.compare(scenario, ["reno", "cubic"], replications=3, metric=ASKED, against="reno")


def cli(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


# Names


@pytest.mark.parametrize("table", ["flows", "links", "terminals", "completions", "datagrams", "summary"])
def test_every_numeric_column_is_a_metric_or_says_by_what_name_it_is_one(table):
    columns = {entry["name"] for entry in dictionary()[table] if entry["unit"]}
    declared = [name for where, *_, names in _DECLARED if where == table for name in names.split()]
    others = NOT_METRICS.get(table, ())
    assert sorted([*declared, *others]) == sorted(columns)


def test_no_two_metrics_have_a_column_in_common():
    columns = [metric.column for metric in list_metrics().values()]
    assert len(set(columns)) == len(columns)


def test_a_name_means_a_flow_those_of_an_entry_or_both_directions_of_a_link():
    assert matching("web", ["web", "web1"]) == ["web"]
    assert matching("web", ["web1", "web12", "webcam", "aweb1"]) == ["web1", "web12"]
    assert matching("u{n}x", ["u1x", "u2x", "ux"]) == ["u1x", "u2x"]
    assert matching("sat", ["sat.forward", "sat.reverse", "sat2.forward"]) == ["sat.forward", "sat.reverse"]
    assert matching("u", ["u1.forward", "u2.reverse"]) == ["u1.forward", "u2.reverse"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gooodput", "did you mean 'goodput'"),
        ("tcp_eff", "did you mean 'tcp_efficiency'"),
        ("gooodput:bulk", "did you mean 'goodput'"),
        ("goodput:bulky", "did you mean 'bulk'? known: bulk, file1, file2, file3"),
        ("queue_p95:down.forwards", "did you mean 'down.forward'"),
        ("queue_p95:bulk", "is not a link of this scenario"),
        ("fct:", "expected fct:NAME"),
        ("completion:bulk", "has no end"),
        ("completion_rx", "needs the name of a"),
        ("jain:bulk", "is not a metric of a flow or link"),
    ],
)
def test_an_unknown_metric_flow_or_link_is_refused_with_the_nearest_name(scenario, name, said):
    for wrong in (
        lambda: bp.compare(scenario, ["reno", "cubic"], metric=name, replications=2),
        lambda: bp.sweep(scenario, {"tcp.cc": ["reno", "cubic"]}, metric=[name], replications=2),
        lambda: bp.run(scenario).estimate(name),
    ):
        with pytest.raises(BentpipeError) as error:
            wrong()
        assert said in str(error.value)


# Values


def test_metrics_of_flows_and_links_are_what_the_tables_have(scenario, comparison):
    run = bp.run(scenario, cc="cubic", seed=comparison.seeds[1])
    flows, links = run.flows, run.links
    sent, again = flows["sent_bytes"].sum(), flows["retransmitted_bytes"].sum()
    delivered = flows["delivered_bytes"].sum()
    files = flows.filter(pl.col("flow").str.starts_with("file"))
    drops = run.drops.filter(pl.col("flow") == "bulk")
    expected = {
        "tcp_efficiency": 100 * (sent - again) / sent,
        "goodput:bulk": flows.filter(pl.col("flow") == "bulk")["goodput_bps"].item(),
        "queue_p95:down.forward": links.filter(pl.col("link") == "down.forward")["queue_p95_s"].item(),
        "completion:file": files["completion_s"].mean(),
        "lost:bulk": drops["packets"].sum(),
    }
    for name, value in expected.items():
        assert comparison.values("cubic", name)[1] == pytest.approx(value), name
        assert run.estimate(name).value == pytest.approx(value), name
    # Headers are 40 B of a packet of 1500 B, or of a packet without data.
    wire = sent + 40 * flows["sent_packets"].sum()
    assert comparison.values("cubic", "overhead")[1] == pytest.approx(100 * (1 - delivered / wire), abs=0.1)


def test_errors_per_packet_are_those_of_the_link(scenario):
    made = scenario.replace("link.down.error", {"kind": "packet", "rate": 0.05})
    found = bp.compare(
        made, ["reno", "bbr3"], replications=5, metric="errors_per_packet:down.forward,errors_per_bit:down"
    )
    assert found.estimate("bbr3", "errors_per_packet:down.forward").value == pytest.approx(0.05, rel=0.2)
    link = bp.run(made, cc="bbr3", seed=found.seeds[0]).links
    down = link.filter(pl.col("link").str.starts_with("down"))
    bits = 8 * down["carried_bytes"].sum()
    assert found.values("bbr3", "errors_per_bit:down")[0] == pytest.approx(down["corrupted_packets"].sum() / bits)


def test_a_flow_that_lost_nothing_has_no_loss_of_another_one(scenario):
    # The files begin too late to lose packets. The other flow loses some.
    late = scenario.with_sets({"duration": "10 s", "flow.file.start": "9.99 s"})
    assert bp.run(late).estimate("lost:file").value == 0


def test_a_metric_that_was_not_asked_for_says_how_to_get_it(comparison, scenario):
    # The run has the table of flows.
    assert comparison.estimate("reno", "rtt_p95:bulk").value > 0
    with pytest.raises(BentpipeError, match="which these runs did not keep") as error:
        comparison.estimate("reno", "jitter:bulk")
    assert "metric='jitter:bulk'" in str(error.value)


def test_sweeps_stores_reports_and_until_take_metrics_of_one_flow(scenario, tmp_path):
    asked = {
        "metric": ["goodput:bulk", "queue_p95:down.forward"],
        "until": {"metric": "goodput:bulk", "half_width": "30 %"},
        "against": "reno",
    }
    found = bp.sweep(scenario, {"tcp.cc": ["reno", "cubic"]}, replications=2, store=tmp_path / "s", **asked)
    again = bp.Sweep.load(tmp_path / "s")
    assert again.table.equals(found.table)
    assert "goodput:bulk" in found.table["metric"].to_list()
    assert found.estimate("reno", "goodput:bulk").value == pytest.approx(found.values("goodput:bulk")[0].mean())
    report = again.report(tmp_path / "r")
    assert (tmp_path / "r" / "figures" / "goodput-bulk.png").is_file()
    assert all(":" not in path.name for path in [*report.figures, *report.tables])
    found.save(tmp_path / "saved")
    assert bp.Sweep.load(tmp_path / "saved").ratios.equals(found.ratios)


def test_a_mix_has_metrics_of_each_senders_flows(scenario):
    found = bp.mix(scenario, ["reno", "cubic"], replications=2, metric=["tcp_efficiency", "goodput:bulk"])
    run, senders = found.run(0), found.list_cases(0)
    mine = run.flows.filter(pl.col("flow").is_in([flow for flow, name in senders.items() if name == "reno"]))
    sent, again = mine["sent_bytes"].sum(), mine["retransmitted_bytes"].sum()
    assert found.values("reno", "tcp_efficiency")[0] == pytest.approx(100 * (sent - again) / sent)
    bulk = mine.filter(pl.col("flow").str.starts_with("bulk"))["goodput_bps"].sum()
    assert found.values("reno", "goodput:bulk")[0] == pytest.approx(bulk)
    assert set(found.table["metric"]) >= {"tcp_efficiency", "goodput:bulk"}
    with pytest.raises(BentpipeError, match="not a quantity of a case in a mix"):
        found.values("reno", "queue_p95")


# Incomplete work


def test_a_flow_that_does_not_complete_has_a_bound_and_is_counted(scenario):
    late = scenario.with_sets({"duration": "3 s", "flow.file.count": 2})
    found = bp.compare(late, ["reno", "cubic"], replications=2, metric="completion:file")
    each = found.estimate("reno", "completion:file")
    start = bp.run(late, cc="reno", seed=found.seeds[0]).flows.filter(pl.col("flow") != "bulk")["start_s"]
    assert isinstance(each, AtLeast)
    assert (each.censored, each.low) == (2, None)
    assert found.sample("reno", "completion:file").bounds[0] == pytest.approx(3 - start.mean())


def test_unfinished_transfers_of_a_flow_are_counted_as_censored():
    load = bp.load("load", {"duration": "3 s"})
    name = load.flow_names[0]
    found = bp.compare(load, ["reno", "cubic"], replications=2, metric=f"fct:{name}")
    runs = [bp.run(load, cc="reno", seed=seed).completions for seed in found.seeds]
    held = [run.filter((pl.col("flow") == name) & (pl.col("sizes") == "all")) for run in runs]
    unfinished = sum(int(each["unfinished"].sum() + each["failed"].sum()) for each in held)
    assert unfinished > 0
    assert found.estimate("reno", f"fct:{name}").censored == unfinished
    assert "transfers" in found.note_unfinished(f"fct:{name}")


# Ratios


def test_ratios_of_pairs_by_hand():
    found = ratio_of_pairs(np.array([2.0, 8.0]), np.array([1.0, 2.0]), 0.95)
    assert found.value == pytest.approx(math.sqrt(2 * 4))
    # Student's t with one degree of freedom at 97.5 % is 12.706; ln 2 and ln 4 are ln 2 apart.
    margin = 12.706205 * math.log(2) / 2
    assert found.low == pytest.approx(found.value * math.exp(-margin))
    assert found.high == pytest.approx(found.value * math.exp(margin))
    inverse = ratio_of_pairs(np.array([1.0, 2.0]), np.array([2.0, 8.0]), 0.95)
    assert (inverse.value, inverse.low) == pytest.approx((1 / found.value, 1 / found.high))


def test_a_ratio_is_to_the_baseline_and_refused_where_values_are_not_above_zero(comparison):
    values = comparison.values("cubic", "goodput") / comparison.values("reno", "goodput")
    assert comparison.ratio("cubic", metric="goodput").value == pytest.approx(np.exp(np.log(values).mean()))
    row = comparison.ratios.filter(pl.col("metric") == "goodput").row(0, named=True)
    assert (row["of"], row["other"], row["note"]) == ("cubic", "reno", None)
    zero = comparison.ratios.filter(pl.col("metric") == "lost:bulk")["note"].item()
    assert zero is None
    with pytest.raises(BentpipeError, match="in 3 of 3 replications"):
        bp.compare("geo", ["reno", "cubic"], replications=3, against="cubic").ratio("reno", metric="timeouts")
    with pytest.raises(BentpipeError, match="expected against=NAME"):
        _ = bp.compare("geo", ["reno", "cubic"], replications=1).ratios


def test_a_ratio_of_survivors_is_refused(scenario):
    late = scenario.with_sets({"duration": "3 s"})
    found = bp.compare(late, ["reno", "cubic"], replications=2, metric="completion:file", against="reno")
    with pytest.raises(BentpipeError, match="would favour failures"):
        found.ratio("cubic")
    assert "completed 0 of 2" in found.ratios.filter(pl.col("metric") == "completion:file")["note"].item()


def test_the_command_line_shows_ratios_and_refuses_them_without_a_baseline(tmp_path):
    args = ["compare", "geo", "--cc", "reno,cubic", "-n", 2, "--set", "duration=20 s"]
    shown = cli(*args, "--against", "reno", "--ratio", "--plot", tmp_path / "x.png", "--chart", "ratio")
    assert shown.exit_code == 0
    assert "Ratios to reno" in shown.output
    assert "--ratio needs a baseline" in cli(*args, "--ratio").output


# Lists


def test_lists_name_metrics_and_the_metric_of_a_column():
    listed = cli("list", "metrics").output
    assert all(name in listed for name in [*METRICS, "tcp_efficiency", "errors_per_bit", "queue_p95", "completion_rx"])
    assert "Metric: `queue_p95`" in " ".join(cli("list", "columns").output.split())


# Figures


def test_figures_have_a_size_a_title_and_labels_of_ones_own(scenario, comparison, tmp_path):
    look = {"size": (8, 5), "title": "Mine, $5", "labels": {"x": "Across"}}
    run = bp.run(scenario, series="goodput_bps")
    mixed = bp.mix(scenario, ["reno", "cubic"], replications=1)
    sweep = bp.sweep(scenario, {"link.down.error.rate": [0, 0.01]}, replications=1)
    figures = [run.plot(**look), comparison.plot(**look), comparison.plot("ratio", metric="goodput", **look)]
    figures += [mixed.plot("share", **look), sweep.plot(**look)]
    for figure in figures:
        assert tuple(figure.get_size_inches()) == (8, 5)
        assert figure.get_suptitle() == r"Mine, \$5"
        assert "Across" in {figure.get_supxlabel(), *(axes.get_xlabel() for axes in figure.axes)}
    assert run.plot(labels={"y": "Up"}).axes[0].get_ylabel() == "Up"
    several = bp.run(scenario, series="goodput_bps,cwnd_bytes")
    with pytest.raises(BentpipeError, match="different labels"):
        several.plot(labels={"y": "Up"})
    with pytest.raises(BentpipeError, match="expected labels of x and y"):
        run.plot(labels={"z": "Up"})
    with pytest.raises(BentpipeError, match="expected two numbers above 0"):
        run.plot(size=(0, 5))
    for wrong in ((7, None), 7, "7x", (1, 2, 3)):
        with pytest.raises(BentpipeError, match="expected two numbers: width and height"):
            run.plot(size=wrong)


def test_the_command_line_draws_figures_of_that_size(tmp_path):
    from PIL import Image

    place = tmp_path / "x.png"
    args = ["run", "geo", "--set", "duration=5 s", "-q"]
    assert cli(*args, "--plot", place, "--size", "2x3", "--title", "T").exit_code == 0
    with Image.open(place) as image:
        assert image.size == (600, 900)
    assert "--size needs a figure" in cli(*args, "--size", "2x3").output
    assert "such as 8x5" in cli(*args, "--plot", place, "--size", "2").output


def test_the_rate_of_the_bottleneck_stands_in_figures_of_goodput(scenario, comparison):
    assert scenario.bottleneck() == ("down.forward", 1e6)
    texts = [text.get_text() for text in bp.run(scenario, series="goodput_bps").plot().axes[0].texts]
    # The other text is the value of a peak that is cut.
    assert texts.pop(0) == "down.forward: 1.00 Mbit/s"
    assert [float(text.strip("\u25b2 ")) > 1.3 for text in texts] == [True]
    texts = ["down.forward: 1.00 Mbit/s"]
    assert [text.get_text() for text in comparison.plot(metric="goodput").axes[0].texts] == texts
    assert not comparison.plot(metric="overhead").axes[0].texts
    # Requests and answers have different bottlenecks.
    assert bp.load("web-on-geo").bottleneck() is None


def test_notebooks_show_values_with_units_and_intervals(scenario, comparison):
    page = comparison._repr_html_()
    assert "goodput (Mbit/s)" in page or "goodput (kbit/s)" in page
    assert "±" in page
    assert "tcp_efficiency (%)" in page
    assert "shape:" not in page
    assert "share" in bp.mix(scenario, ["reno", "cubic"], replications=2)._repr_html_()


# NumPy


def test_numbers_of_numpy_are_numbers_wherever_they_go(scenario):
    rates = np.logspace(-4, -2, 3)
    key = "link.down.error.rate"
    found = bp.sweep(
        scenario,
        {key: rates},
        replications=np.int64(2),
        replications_max=np.int32(2),
        until={"metric": "goodput", "half_width": np.float64(0.5)},
    )
    assert found.points[key].to_list() == pytest.approx(rates.tolist())
    together = bp.sweep(scenario, together=[{key: rates, "seed": np.array([1, 11, 21])}], replications=np.int64(1))
    assert together.points["seed"].to_list() == [1, 11, 21]
    compared = bp.compare(
        scenario.with_sets({key: rates[0]}),
        cases={"a": {key: rates[1]}, "b": {key: np.float32(0.25)}},
        replications=np.int64(2),
        confidence=np.float64(0.9),
        jobs=np.int64(1),
    )
    assert compared.to_dict()["provenance"]["confidence"] == 0.9
    assert bp.run(scenario.replace("seed", np.int64(7)), seed=np.int64(5)).seed == 5
    mixed = bp.mix(scenario, ["reno", "cubic"], replications=np.int64(2), confidence=np.float64(0.9))
    assert mixed.to_dict()["provenance"]["replications"] == 2
    recorded = bp.run(scenario, series="goodput_bps")
    assert recorded.find_values(np.float64(3))
    assert recorded.plot(start=np.float64(1), end=np.float64(3), size=np.array([3, 2]))
    content = scenario.to_dict() | {"seed": np.int64(9)}
    assert bp.run(content).seed == 9


def test_what_is_no_number_is_still_refused(scenario):
    with pytest.raises(ScenarioError):
        bp.sweep(scenario, {"link.down.error.rate": np.array([0.1, np.nan])}, replications=1)


def test_all_metrics_of_a_flow_or_link_have_a_value_where_there_is_one():
    web = bp.run(bp.load("web-on-geo", {"duration": "20 s"}))
    of = {"flow": "pages", "link": "sat.forward", "flow or link": "pages"}
    from bentpipe.metric import ENTITIES

    without = {"completion", "completion_rx", "completion_acked"}
    for name, metric in list_single_metrics().items():
        # The web goes over one path.
        if name in without or metric.source.table == "subflows":
            continue
        entity = "television" if metric.source.table == "datagrams" else of[ENTITIES[metric.source.table]]
        web.estimate(f"{name}:{entity}")
    for name in list_metrics():
        web.estimate(name)
    assert find_metric("fct:pages").column == "fct_s:pages"
