"""Several congestion controls in one run: the flows that take part, equal conditions, and the statements on shares."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, Interrupted, ScenarioError
from bentpipe.experiment.mix import mix
from bentpipe.experiment.results.mix import Mix
from bentpipe.experiment.results.plan import Plan
from bentpipe.statistics.judgement import Judgement
from tests.drawn import names_of


def cli(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def plan(*senders, scenario="geo", cases=None):
    return Plan.from_request(bp.load(scenario), list(senders), cases or {})


def transports(scenario):
    """Return the transport of each flow by name: of the scenario, and its own."""
    content = scenario.to_dict()
    return {name: {**content["tcp"], **flow.get("tcp", {})} for name, flow in content["flow"].items()}


def by_hand(**goodput):
    """Make a mix from the goodput of each case in each replication, in the mix and among its own kind."""
    rows, count = [], len(next(iter(goodput.values()))[0])
    total = np.sum([here for here, _ in goodput.values()], axis=0)
    for name, (here, own) in goodput.items():
        for k in range(count):
            rows.append(
                {"of": name, "replication": k, "seed": k + 1, "flows": 1, "goodput_bps": float(here[k])}
                | {"share": float(here[k] / total[k]), "own_bps": float(own[k])}
                | {"retransmitted_pct": 0.0, "timeouts": 0.0, "rtt_p50_s": 0.1}
            )
    totals = {"replication": range(count), "seed": range(1, count + 1), "goodput_bps": total.astype(float)}
    return Mix(bp.load("geo"), plan(*goodput), pl.DataFrame(rows), pl.DataFrame(totals), Judgement(), "1")


def test_each_flow_is_there_once_for_each_sender_on_the_same_path():
    mixed = plan("cubic", "vegas", scenario="s1").mix_cases([0, 1])
    flows, tcp = mixed.to_dict()["flow"], transports(mixed)
    assert len(flows) == 20
    for n in range(1, 11):
        one, other = flows[f"f{n}.1"], flows[f"f{n}.2"]
        assert (tcp[f"f{n}.1"]["cc"]["kind"], tcp[f"f{n}.2"]["cc"]["kind"]) == ("cubic", "vegas")
        assert {**one, "tcp": None} == {**other, "tcp": None}
        assert one["route"][0] == f"s{n}"


def test_each_sender_brings_its_own_recovery_unless_the_scenario_names_one():
    own = transports(plan("tahoe", "cubic").mix_cases([0, 1]))
    assert [own[name]["recovery"]["kind"] for name in sorted(own)] == ["fast-retransmit", "rack"]
    scenario = bp.load("geo", {"tcp.recovery": "sack"})
    named = transports(Plan.from_request(scenario, ["tahoe", "cubic"], {}).mix_cases([0, 1]))
    assert [named[name]["recovery"]["kind"] for name in sorted(named)] == ["sack", "sack"]


def test_what_a_flow_has_of_its_own_it_keeps():
    sets = {"flow.transfer.tcp.smss": "1000 B", "flow.transfer.tcp.rto.min": "300 ms", "tcp.rto.initial": "3 s"}
    mixed = Plan.from_request(bp.load("geo", sets), ["hybla", "cubic"], {}).mix_cases([0, 1])
    for tcp in transports(mixed).values():
        assert (tcp["smss"], tcp["rto"]["min"], tcp["rto"]["initial"]) == ("1000 B", "300 ms", "3 s")


def test_senders_change_places_from_replication_to_replication(small):
    mixed = mix(small, ["cubic", "vegas", "reno"], replications=4)
    kinds = [[mixed.list_cases(k)[f"bulk.{slot}"] for slot in (1, 2, 3)] for k in range(4)]
    assert kinds == [
        ["cubic", "vegas", "reno"],
        ["vegas", "reno", "cubic"],
        ["reno", "cubic", "vegas"],
        ["cubic", "vegas", "reno"],
    ]
    for k in (0, 1):
        result = mixed.run(k)
        flows = {row["flow"]: row["cc"] for row in result.flows.iter_rows(named=True)}
        assert flows == mixed.list_cases(k)
        assert result.seed == mixed.seeds[k]


def test_the_tables_are_those_of_the_runs(small):
    mixed = mix(small, ["cubic", "vegas"], replications=2)
    flows = mixed.run(1).flows
    goodput = {cc: flows.filter(pl.col("cc") == cc)["goodput_bps"].sum() for cc in ("cubic", "vegas")}
    for name in ("cubic", "vegas"):
        assert mixed.values(name, "goodput")[1] == pytest.approx(goodput[name])
        assert mixed.values(name, "share")[1] == pytest.approx(goodput[name] / sum(goodput.values()))
    jain = sum(goodput.values()) ** 2 / (2 * sum(value**2 for value in goodput.values()))
    assert mixed.totals["jain_senders"][1] == pytest.approx(jain)
    assert mixed.totals["goodput_bps"][1] == pytest.approx(sum(goodput.values()))
    own = bp.run(mixed.plan.mix_cases([1, 1]), seed=mixed.seeds[1])
    assert set(own.flows["cc"]) == {"vegas"}
    assert mixed.values("vegas", "own")[1] == pytest.approx(own.flows["goodput_bps"].sum() / 2)


def test_senders_of_one_kind_share_evenly():
    mixed = mix(
        bp.load("s1", {"duration": "40 s"}), ["a", "b"], cases={"a": {"tcp.give_up": "1 h"}, "b": {}}, replications=6
    )
    assert mixed.estimate("a", "share").mean == pytest.approx(0.5, abs=0.05)
    assert "no difference from a fair 50 % can be shown" in mixed.statements[0]


def test_a_flow_with_its_own_sender_stays_and_does_not_count(small):
    scenario = bp.load(small, {"flow.file.tcp.cc": "tahoe"})
    mixed = mix(scenario, ["cubic", "vegas"], replications=1)
    assert set(mixed.list_cases()) == {"bulk.1", "bulk.2"}
    flows = mixed.run().flows
    assert sorted(flows["flow"]) == ["bulk.1", "bulk.2", "file"]
    assert mixed.totals["goodput_bps"][0] == pytest.approx(flows.filter(pl.col("flow") != "file")["goodput_bps"].sum())


def test_names_of_copies_do_not_meet_other_flows(small, tmp_path):
    path = tmp_path / "names.toml"
    path.write_text(small.read_text().replace("[flow.file]", '[flow."bulk.1"]'))
    mixed = mix(path, ["cubic", "vegas"], replications=1)
    assert sorted(mixed.list_cases()) == ["bulk.1'", "bulk.1.1", "bulk.1.2", "bulk.2"]


def test_who_starves_whom_is_said():
    strong, weak = np.array([90.0, 91, 92, 90, 91, 92]), np.array([10.0, 11, 9, 10, 11, 9])
    # Shares of 0.9, 0.8922 and 0.9109, each twice: s = 0.008414. They are the third and fourth of Holm's
    # six tests, with a quarter of the error: t(5, 0.99375) = 3.8100.
    half = np.array([50.0, 50.5, 50.2, 50.1, 50.3, 50.4])
    starved = by_hand(cubic=(strong, half), vegas=(weak, half)).statements
    assert starved == [
        "cubic gets 90.1 % (±1.3 %) of the goodput, more than a fair 50 %; "
        "that is 1.81 times (1.8 to 1.83) its goodput when all flows are cubic",
        "vegas is starved by cubic: 9.9 % (±1.3 %) of the goodput where 50 % is fair; "
        "that is 0.199 times (0.182 to 0.215) its goodput when all flows are vegas",
        "fair within 10 %: no; vegas loses 80.1 % (77.7 to 82.3 %) of its goodput among its own kind",
    ]


def test_who_gets_little_among_its_own_kind_is_not_starved():
    strong, weak = np.array([90.0, 91, 92, 90, 91, 92]), np.array([10.0, 11, 9, 10, 11, 9])
    statement = by_hand(cubic=(strong, strong), tcpmin=(weak, weak + 0.1 * np.array([1, -1, 1, -1, 1, -1]))).statements[
        1
    ]
    assert "starved" not in statement
    assert "less than a fair 50 %, but not less than when all flows are" in statement


def test_shares_stay_in_their_range_in_table_text_and_figure():
    one = np.array([95.0, 20.0, 60.0])
    mixed = by_hand(cubic=(one, one), reno=(100 - one, one))
    table = mixed.table.filter(pl.col("metric") == "share")
    # s = 37.53 %, t(2, 0.975) = 4.3027: 58.3 % ± 93 %.
    assert table["low"].to_list() == [0, 0]
    assert table["high"].to_list() == [1, 1]
    assert "58 % (0 to 100 %)" in mixed.statements[0]
    for axes in mixed.plot("share").axes:
        ends = [segment[:, 0] for lines in axes.collections for segment in lines.get_segments()]
        assert np.min(ends) >= 0
        assert np.max(ends) <= 100.0001
    assert (mixed.table["low"].drop_nulls() >= 0).all()


def test_ratios_to_the_own_kind_have_intervals_also_with_few_replications():
    one, own = np.array([50.0, 55, 60]), np.array([40.0, 41, 42])
    found = by_hand(cubic=(one, own), reno=(one, own)).estimate_own_ratio("cubic")
    # Delta method: the relative differences have s = 0.0665, and t(2, 0.975) = 4.3027.
    apart = one / 55 - own / 41
    width = np.exp(4.302653 * np.std(apart, ddof=1) / 3**0.5)
    assert found[:4] == pytest.approx((3, 55 / 41, 55 / 41 / width, 55 / 41 * width), rel=1e-6)


def test_nothing_delivered_is_said():
    mixed = mix(
        bp.load("geo", {"link.sat.forward.error": '{ kind = "packet", rate = 1 }'}), "reno,sack", replications=2
    )
    assert mixed.statements == ["nothing was delivered in any run"]
    assert mixed.table.filter(pl.col("metric") == "share")["mean"].null_count() == 2


@pytest.mark.parametrize(
    ("senders", "sets", "cases", "said"),
    [
        (["reno"], {}, {}, "needs two congestion controls or more"),
        (["reno", "reno"], {}, {}, "reno is given twice"),
        ([], {}, {}, "or more, got none"),
        (["reno", "cubik"], {}, {}, "did you mean 'cubic'"),
        (["reno", "slow"], {}, {"slow": {"link.sat.delay": "1 s"}}, "case slow changes [link]"),
        (["reno", "file"], {}, {"file": {"flow.transfer.app": "{kind='file', size='1 MB'}"}}, "changes [flow]"),
        (["reno", "sack"], {"flow.transfer.tcp.cc": "reno"}, {}, "expected flow.transfer.tcp.cc"),
        (["a", "b"], {}, {"a": {}, "b": {}}, "every flow would have the same transport"),
    ],
)
def test_what_makes_no_mix_is_refused(senders, sets, cases, said):
    with pytest.raises(ScenarioError, match=said.replace("[", r"\[").replace("]", r"\]")):
        mix(bp.load("geo", sets), senders, cases=cases)


def test_interrupted_mixes_keep_what_is_whole(small):
    def interrupt(progress):
        if progress.share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as interrupted:
        mix(small, ["cubic", "vegas"], replications=400, jobs=1, progress=interrupt)
    kept = interrupted.value.result
    assert kept is None or 0 < kept.totals.height < 400


def test_a_mix_can_be_kept_and_read_back(small, tmp_path, begun):
    whole = mix(small, ["cubic", "vegas"], replications=3, store=tmp_path / "store")
    count = len(begun)
    assert count == 9
    whole.save(tmp_path / "saved")
    for place in ("store", "saved"):
        read = bp.Mix.load(tmp_path / place)
        assert read.to_dict() == whole.to_dict()
        assert read.make_scenario(1).digest == whole.make_scenario(1).digest
    # Runs in the store are not repeated.
    more = mix(small, ["cubic", "vegas"], replications=4, store=tmp_path / "store")
    assert len(begun) == count + 3
    assert more.runs.equals(mix(small, ["cubic", "vegas"], replications=4).runs)
    with pytest.raises(BentpipeError, match="has the runs of a mix"):
        bp.Sweep.load(tmp_path / "store")


def test_a_mix_goes_on_until_the_shares_are_known(small):
    found = mix(small, ["cubic", "vegas"], replications=4, until={"metric": "share", "half_width": "1 %"})
    widths = [found.estimate(name, "share") for name in found.names]
    assert len(found.seeds) > 4
    assert len(found.seeds) == 100 or all(each.half_width <= 0.01 * each.mean for each in widths)


def test_the_command_line_says_the_same(small, tmp_path):
    done = cli("mix", small, "--cc", "cubic,vegas", "--replications", 2, "--json")
    assert json.loads(done.stdout) == bp.mix(small, ["cubic", "vegas"], replications=2).to_dict()
    shown = cli(
        "mix",
        small,
        "--cc",
        "cubic, vegas",
        "--replications",
        2,
        "--plot",
        tmp_path / "m.svg",
        "--save",
        tmp_path / "m",
    )
    assert shown.exit_code == 0
    for text in ("share", "Jain's index", "2 flows of each case", "of the goodput"):
        assert text in shown.stdout
    assert (tmp_path / "m.svg").stat().st_size > 10_000
    assert {path.name for path in (tmp_path / "m").iterdir()} >= {"runs.parquet", "totals.parquet", "table.parquet"}


def test_the_command_line_takes_cases_into_a_mix(small):
    options = ["--case", "paced: tcp.pacing=window", "--cc", "paced,reno", "--replications", 1]
    done = cli("mix", small, *options)
    assert done.exit_code == 0
    assert "paced gets" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["mix", "--cc", "cubic"], "needs two congestion controls or more"),
        (["mix"], "needs two congestion controls or more"),
        (["mix", "--cc", "cubic,cubic"], "cubic is given twice"),
        (["mix", "--cc", "cubic,reno", "--metric", "queue_p95"], "is not a quantity of a case in a mix"),
        (["mix", "--cc", "cubic,reno", "--chart", "shares", "--plot", "x.png"], "did you mean 'share'"),
        (["mix", "--cc", "cubic,reno", "--chart", "share"], "expected --plot FILE"),
        (["compare", "--cc", "cubic,reno", "--chart", "share", "--plot", "x.png"], "known: intervals, ratio, cwnd"),
    ],
)
def test_mistakes_on_the_command_line(small, options, said):
    command, *rest = options
    done = cli(command, small, *rest)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize("chart", ["all", "share", "goodput", "cwnd"])
def test_charts_show_the_senders(small, chart):
    figure = mix(small, ["cubic", "vegas"], replications=2).plot(chart)
    texts = [text.get_text() for axes in figure.axes for text in axes.get_yticklabels()]
    texts += [name for axes in figure.axes for name in names_of(axes)]
    assert {"cubic", "vegas"} <= set(texts)
    assert len(figure.axes) == (3 if chart == "all" else 1)


def test_no_such_chart_or_quantity(small):
    mixed = mix(small, ["cubic", "vegas"], replications=1)
    with pytest.raises(BentpipeError, match="known: all, share, goodput, cwnd"):
        mixed.plot("pie")
    with pytest.raises(BentpipeError, match="did you mean 'share'"):
        mixed.values("cubic", "shares")
    with pytest.raises(BentpipeError, match="a name of this mix"):
        mixed.values("reno", "share")


def test_windows_of_a_comparison(small, tmp_path):
    figure = bp.compare(small, ["cubic", "vegas", "reno", "sack", "tahoe"], replications=2).plot("cwnd")
    assert [sorted(names_of(axes)) for axes in figure.axes] == [["cubic", "reno", "sack", "vegas"], ["tahoe"]]
    # One scale: a window in the second panel is not larger than it looks beside the first.
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    done = cli(
        "compare", small, "--cc", "reno,sack", "--replications", 2, "--chart", "cwnd", "--plot", tmp_path / "w.png"
    )
    assert done.exit_code == 0
    assert (tmp_path / "w.png").exists()


def test_labels_of_a_small_figure_are_whole():
    mixed = bp.mix("geo", ["cubic", "reno"], replications=2, progress=False)
    figure = mixed.plot(size=(3.5, 2.6))
    figure.draw_without_rendering()
    for axes in figure.axes:
        extent = axes.yaxis.label.get_window_extent()
        assert figure.bbox.y0 <= extent.y0 <= extent.y1 <= figure.bbox.y1
