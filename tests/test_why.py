"""Loss differentiation of senders, and explanations of a time of a run."""

import json
import re

import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError
from bentpipe.experiment.why import explanation
from bentpipe.experiment.why.explanation import SERIES

PATH = {
    "duration": "40 s",
    "tcp": {"like": "rfc", "cc": "newreno", "receive_buffer": "2 MB"},
    "link": {"sat": {"from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "50 ms", "queue": "40 packets"}},
    "flow": {"f": {"from": "a", "to": "b"}},
}


def path(tcp=None, **link):
    sat = PATH["link"]["sat"] | link
    return PATH | {"link": {"sat": sat}, "tcp": PATH["tcp"] | (tcp or {})}


ERRORS = {"error": {"kind": "packet", "rate": 0.01}, "queue": "unlimited"}


def test_losses_in_a_queue_reduce_rightly():
    row = bp.run(path()).flows.row(0, named=True)
    assert row["congestion_losses"] > 0
    assert row["reductions"] > 0
    assert row["link_losses"] == row["error_reductions"] == row["errors_taken_for_congestion"] == 0
    assert row["error_recovery_s"] == row["error_timeout_s"] == 0


def test_errors_of_a_link_are_taken_for_congestion_unless_the_sender_is_told_otherwise():
    row = bp.run(path(**ERRORS)).flows.row(0, named=True)
    assert row["congestion_losses"] == 0
    assert row["error_reductions"] > 0
    assert row["reductions"] == row["error_reductions"] + row["spurious_reductions"]
    assert 0 < row["errors_taken_for_congestion"] <= row["link_losses"]
    assert row["error_recovery_s"] == pytest.approx(row["recovery_s"], abs=1e-9)
    blind = bp.run(path({"verdict": "always-link-error"}, **ERRORS)).flows.row(0, named=True)
    assert blind["error_reductions"] < row["error_reductions"]
    assert blind["congestion_taken_for_errors"] == 0


def test_congestion_that_is_taken_for_errors_is_counted():
    row = bp.run(path({"verdict": "always-link-error"})).flows.row(0, named=True)
    assert 0 < row["congestion_taken_for_errors"] <= row["congestion_losses"]


def test_the_losses_of_a_flow_are_those_of_the_series():
    result = bp.run(path(error={"kind": "packet", "rate": 0.003}), series="losses")
    row, data = result.flows.row(0, named=True), result.series("losses").filter(pl.col("data_bytes") > 0)
    assert row["congestion_losses"] == data.filter(pl.col("cause") == "queue-overflow").height > 0
    assert row["link_losses"] == data.filter(pl.col("cause") == "bit-error").height > 0


def test_metrics_count_what_was_needless_and_what_was_missed():
    needless = bp.sweep(path(**ERRORS), {"tcp.cc": ["newreno"]}, replications=2).runs
    assert (needless["needless_reductions"] > 0).all()
    assert (needless["missed_losses"] == 0).all()


def test_a_story_names_link_cause_and_what_the_sender_did():
    scenario = path(error={"kind": "arrivals", "list": [2000]}, queue="unlimited")
    result = bp.run(scenario, series="losses")
    lost_s = result.series("losses")["time_s"][0]
    told = result.why("f", at=lost_s)
    text = str(told)
    assert "bits in error on sat.forward" in text
    assert "recovery begins" in text
    assert f"its packet was lost at b: bits in error on sat.forward, at {lost_s:.4f} s" in text
    assert "the sender treats the loss as congestion" in text
    assert "lost 0 packets to congestion and 1 on links" in told.summary
    assert [each.time_s for each in told.happenings] == sorted(each.time_s for each in told.happenings)


def test_a_story_of_an_outage_and_of_an_application_with_nothing_to_send():
    quiet = path(outage={"spans": [["5 s", "8 s"]], "queue": "flush"})
    told = bp.run(quiet).why("f", start=4, end=12)
    assert "sat is down for 3.00 s" in str(told)
    assert "the retransmission timer expires for the data at" in str(told)
    # The timer expires because the ACKs were lost when the outage began. Its retransmission is lost, too.
    first = next(at for at, each in enumerate(told.happenings) if each.kind == "timeout")
    assert "no packet of it was lost, but 9 packets without data, such as ACKs, since" in told.happenings[first].text
    lost = told.select_kinds("loss")
    assert lost[0].text == "lost: 19 packets with data at sat.forward: it was down, until 5.0501 s"
    assert lost[0].numbers["packets"] == 19
    assert lost[0].numbers["until_s"] == pytest.approx(5.0501, abs=1e-4)
    assert told.select_kinds("outage")[0].numbers == {"duration_s": 3.0}
    assert told.happenings[first].time_s == next(each.time_s for each in lost if each.time_s > 5.5)
    following = [(each.time_s, each.text) for each in told.happenings[first + 1 :]]
    assert (told.happenings[first].time_s, lost[-1].text) in following
    bulk = {"kind": "bulk", "size": "20 kB", "pause": "3 s"}
    idle = PATH | {"flow": {"f": {"from": "a", "to": "b", "app": bulk}}}
    assert "the application had nothing to send for" in str(bp.run(idle).why("f", start=0, end=10))


def test_a_story_of_a_path_that_changes():
    steps = {"points": [["0 s", "50 ms"], ["4 s", "70 ms"]], "every": "8 s"}
    errors = {"kind": "profile", "points": [["0 s", 0.0], ["5 s", 0.1], ["5.2 s", 0.0]]}
    told = bp.run(path(delay=steps, forward={"error": errors})).why("f", start=3, end=9)
    changes = told.select_kinds("change")
    assert [each.numbers for each in changes[:2]] == [{"before": 0.05, "after": 0.07}, {"before": 0.0, "after": 0.1}]
    assert [(each.time_s, each.text) for each in changes] == [
        (4.0, "the delay of sat changes from 50 ms to 70 ms"),
        (5.0, "the error rate of sat.forward changes from 0.0 to 0.1"),
        (5.2, "the error rate of sat.forward changes from 0.1 to 0.0"),
        (8.0, "the delay of sat changes from 70 ms to 50 ms"),
    ]
    many = {"points": [[f"{at / 10} s", f"{50 + at % 2} ms"] for at in range(100)]}
    told = bp.run(path(delay=many)).why("f", start=3, end=5)
    assert "the delay of sat changes 21 times, until 5.0000 s" in str(told)


def test_each_happening_has_a_kind_and_its_numbers():
    link = {"queue": "20 packets", "outage": {"spans": [["5 s", "6 s"]]}}
    told = bp.run(path(**link)).why("f", start=0, end=20)
    assert {each.kind for each in told.happenings} >= {"connection", "loss", "recovery", "reduction", "outage"}
    assert {each.kind for each in told.happenings} <= set(explanation.KINDS)
    for each in told.happenings:
        assert all(isinstance(number, (int, float)) for number in each.numbers.values()), each
    reduced = told.select_kinds("reduction")[0]
    assert reduced.numbers["cwnd_after_bytes"] < reduced.numbers["cwnd_before_bytes"]
    begun = told.select_kinds("recovery")[0]
    assert f"the data at {begun.numbers['offset_bytes']} " in f"{begun.text} ".replace(",", " ,")
    assert begun.numbers["lost_s"] < begun.time_s
    written = json.loads(json.dumps(told.to_dict()))
    assert written["happenings"][0] == told.happenings[0].to_dict()
    assert set(written["happenings"][0]) == {"time_s", "kind", "text", "numbers"}
    assert "<td>loss</td>" in told._repr_html_()
    with pytest.raises(BentpipeError, match="known: "):
        told.select_kinds("losses")


def test_every_event_that_is_told_has_a_kind_that_is_listed():
    assert {kind for kind, _ in explanation.EVENTS.values()} <= set(explanation.KINDS)


def test_retransmissions_stand_with_the_loss_that_they_are_for():
    told = bp.run(path(error={"kind": "arrivals", "list": [2000, 6000]}, queue="unlimited")).why("f", start=0, end=40)
    begun = [each.time_s for each in told.select_kinds("recovery")]
    again = [each.time_s for each in told.select_kinds("retransmission") if each.numbers["segments"] == 1]
    assert len(begun) == 2
    assert set(begun) <= set(again)


def test_a_story_names_proxies_on_the_way_of_the_flow_and_no_others():
    link = {"rate": "4 Mbit/s", "delay": "50 ms", "queue": "40 packets"}
    ends = {"near": ("a", "b"), "sat": ("b", "c"), "aside": ("b", "d"), "apart": ("d", "c")}
    links = {name: {"from": first, "to": last} | link for name, (first, last) in ends.items()}
    links["near"] = links["near"] | {"rate": "100 Mbit/s"}
    flows = {
        "f": {"from": "a", "to": "c"},
        "g": {"from": "b", "to": "c", "route": ["b", "d", "c"], "reverse_route": ["c", "d", "b"]},
    }
    node = {name: {"middlebox": [{"kind": "split", "buffer": "100 kB"}]} for name in "bd"}
    told = str(bp.run(PATH | {"link": links, "flow": flows, "node": node}).why("f", start=2, end=12))
    assert "(the buffer of split at b was full)" in told
    assert "split at b repairs the losses behind it. It was limited by the receiver's window" in told


def test_lines_fit_the_terminal():
    asked = ["why", "tests/small.toml", "--flow", "bulk", "--from", "5s", "--to", "15s"]
    said = CliRunner().invoke(app, asked, env={"COLUMNS": "60"})
    assert said.exit_code == 0, said.output
    assert max(len(line) for line in said.output.splitlines()) <= 60


def test_a_saved_result_is_explained_without_being_run_again(tmp_path, monkeypatch):
    result = bp.run(path(**ERRORS), series=SERIES)
    result.save(tmp_path / "kept")
    monkeypatch.setattr(bp.RunResult, "rerun", None)
    kept = bp.RunResult.load(tmp_path / "kept")
    assert kept.why("f", start=5, end=9) == result.why("f", start=5, end=9)


def test_the_command_tells_the_same(tmp_path):
    said = CliRunner().invoke(
        app, ["why", "tests/small.toml", "--flow", "bulk", "--from", "5s", "--to", "15s", "--json"]
    )
    assert said.exit_code == 0, said.output
    told = json.loads(said.output)
    parts = told.pop("time_spent")
    assert told == bp.run("tests/small.toml").why("bulk", start=5, end=15).to_dict()
    assert told["happenings"]
    assert parts == bp.run("tests/small.toml").time_spent(5, 15, "bulk").to_dict()["parts"]
    shown = CliRunner().invoke(app, ["why", "tests/small.toml", "--flow", "bulk", "--from", "5s", "--to", "15s"])
    assert "The time of bulk:" in shown.output
    refused = CliRunner().invoke(app, ["why", "tests/small.toml", "--at", "5s"])
    assert refused.exit_code == 2


OWN = """
import bentpipe


class Steady(bentpipe.CongestionControl):
    def on_congestion(self, why, path):
        self.cwnd = %s * path.smss
"""


def test_a_time_of_datagrams_is_told(tmp_path):
    call = {"from": "a", "to": "b", "app": {"kind": "cbr", "rate": "64 kbit/s", "size": "160 B"}}
    result = bp.run(path(**ERRORS) | {"flow": {"call": call}})
    told = result.why("call", start=0, end=40)
    assert "wait for no window" in told.summary
    assert "limited by" not in told.summary
    lost = result.drops.filter(flow="call")["packets"].sum()
    assert f"lost 0 packets to congestion and {lost} on links" in told.summary
    assert lost > 0


def test_own_senders_are_explained_from_a_file_and_from_a_saved_result(tmp_path):
    (tmp_path / "own.py").write_text(OWN % 20)
    (tmp_path / "other.py").write_text(OWN % 30)
    own = f"{tmp_path}/own.py:Steady"
    result = bp.run("tests/small.toml", cc=own)
    result.save(tmp_path / "kept")
    told = str(result.why("bulk", start=5, end=15))
    asked = ["--flow", "bulk", "--from", "5s", "--to", "15s", "--cc", own]
    for file in ("tests/small.toml", f"{tmp_path}/kept"):
        said = CliRunner().invoke(app, ["why", file, *asked, "--json"])
        assert said.exit_code == 0, said.output
        written = json.loads(said.output)
        assert written.pop("time_spent") == result.time_spent(5, 15, "bulk").to_dict()["parts"]
        assert written == result.why("bulk", start=5, end=15).to_dict()
    kept = bp.RunResult.load(tmp_path / "kept", classes=[own])
    assert str(kept.why("bulk", start=5, end=15)) == told
    for cc, words in (
        (None, "or loaded with --cc FILE.py:Steady"),
        ("bbr3", "expected a scenario, or the class that"),
        (f"{tmp_path}/other.py:Steady", "is not the class of the result"),
    ):
        said = CliRunner().invoke(app, ["why", f"{tmp_path}/kept", *asked[:-2], *(() if cc is None else ("--cc", cc))])
        assert said.exit_code == 2
        assert re.search(words, said.output), said.output


@pytest.mark.parametrize("asked", [{"at": 3, "start": 2}, {"start": 3}, {"at": 99}, {"start": 3, "end": 3}])
def test_a_window_that_is_none_is_refused(asked):
    with pytest.raises(BentpipeError, match="expected"):
        bp.run(PATH).why("f", **asked)


def test_arq_loses_less_and_costs_time():
    plain, arq = (bp.run(path(**ERRORS, **more)) for more in ({}, {"arq": {"retransmissions": 2}}))
    assert arq.flows["link_losses"][0] < plain.flows["link_losses"][0] / 50
    assert arq.flows["goodput_bps"][0] > plain.flows["goodput_bps"][0]
    forward = arq.links.row(by_predicate=pl.col("link") == "sat.forward", named=True)
    assert forward["resent_packets"] == pytest.approx(0.0101 * forward["carried_packets"], rel=0.15)
    assert arq.flows["rtt_p99_s"][0] > arq.flows["rtt_min_s"][0] + 0.1


def test_acm_follows_a_fade():
    fade = {"points": [["0 s", "12 dB"], ["10 s", "3 dB"], ["30 s", "12 dB"]]}
    coding = {"kind": "dvb-s2", "es_n0": fade, "acm": {"feedback_delay": "100 ms"}}
    result = bp.run(path(coding=coding, rate="1 Mbit/s", queue="unlimited"), series="carried_bps")
    carried = result.series("carried_bps", link="sat.forward").filter(pl.col("time_s").is_between(11.05, 15.01))
    # At 3 dB, with a margin of 1 dB: QPSK 1/2, of 0.988858 bits in a symbol.
    assert carried["carried_bps"].mean() == pytest.approx(0.988858e6, rel=0.02)
