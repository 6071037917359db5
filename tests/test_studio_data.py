"""Data of the view over a run: all answers agree with the result."""

import hashlib
import json
import random
import struct
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe import formatting
from bentpipe.errors import BentpipeError
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.studio import assets
from bentpipe.studio.data import RunData
from bentpipe.studio.series import MODES, VIEW

PATH = Path(__file__).parent / "studio.toml"
FOLDER = Path(assets.__file__).parent


@pytest.fixture(scope="module")
def result():
    return bp.run(PATH, series=(*VIEW, *MODES))


@pytest.fixture(scope="module")
def data(result):
    return RunData(result)


def unpacked(content):
    """Begins and values of the columns of a series."""
    count, has_extremes, _width, _end = struct.unpack_from("<IIdd", content)
    assert len(content) == 24 + 8 * count + 4 * count * (3 if has_extremes else 1)
    return np.frombuffer(content, "<f8", count, 24), np.frombuffer(content, "<f4", count, 24 + 8 * count)


def test_values_sentences_and_series_agree_at_100_moments(result, data):
    moments = random.Random(38)
    for _ in range(100):
        t = moments.uniform(0.5, result.simulated_s)
        exact = data.find_values(t)
        assert exact == result.find_values(t)
        state = data.why("first", t)["sentences"][-1]
        assert state == result.sentences("first", at=t)[-1]
        assert f"window {formatting.quantity(exact['cwnd_bytes']['first'], 'B')}" in state
        if "first" in exact["srtt_s"]:
            assert f"smoothed round trip {formatting.quantity(exact['srtt_s']['first'], 's')}" in state
        for name in ("cwnd_bytes", "srtt_s", "queue_bytes"):
            of = "sat.forward" if name == "queue_bytes" else "first"
            times, values = unpacked(data.series(name, of, max(0.0, t - 0.2), min(t + 0.2, result.simulated_s), 2000))
            if of in exact[name]:
                assert values[np.searchsorted(times, t, side="right") - 1] == np.float32(exact[name][of])


def test_the_facts_of_a_run(result, data):
    meta = data.meta()
    json.dumps(meta, allow_nan=False)
    assert (meta["flows"], meta["seed"], meta["duration_s"]) == (["first", "second"], 1, 12.0)
    assert meta["digest"] == result.scenario.digest
    kinds = {each["kind"] for each in meta["happenings"]}
    assert {"outage", "change", "loss", "timeout"} <= kinds
    # The path is of all flows, and told once.
    assert [(each["time_s"], each["flow"]) for each in meta["happenings"] if each["kind"] == "outage"] == [(3.0, "")]
    assert {each["name"] for each in meta["series"]} >= {"cwnd_bytes", "goodput_bps", "losses:outage"}


def test_losses_by_cause_are_all_of_the_table(result, data):
    lost = result.drops.filter(pl.col("flow") == "first")
    for cause, packets in lost.group_by("cause").agg(pl.col("packets").sum()).iter_rows():
        _, counts = unpacked(data.series(f"losses:{cause}", "first", columns=50))
        assert counts.sum() == packets


def test_packets_of_a_span_are_those_of_the_events(result, data):
    found = data.packets("first", 2.9, 3.6)
    events = result.rerun(series="events").events.filter(
        pl.col("time_s").is_between(2.9, 3.6) & (pl.col("flow") == "first")
    )
    for kind, name in (("sent", "sent"), ("retransmitted", "retransmission"), ("acked", "acked")):
        assert len(found[kind]) == events.filter(pl.col("event") == name).height
    assert {cause for *_, cause in found["lost"]} == {"outage"}
    assert all(end - first == 1460 for _, first, end in found["sent"])
    assert found["is_whole"]
    # Hosts as in the RFCs of this scenario have no SACK.
    assert found["sacked"] == []


@pytest.mark.parametrize(("sets", "has_dsack"), [({}, False), ({"tcp.cc": "reno", "seed": 4}, True)])
def test_sack_blocks_are_above_the_ack_and_below_what_was_sent(sets, has_dsack):
    data = RunData(bp.run(bp.load(PATH, {"tcp.like": "linux-6", **sets}), series=VIEW))
    found = data.packets("second", 2.0, 8.0)
    assert found["sacked"]
    duplicates = []
    for time_s, first, end in found["sacked"]:
        missing = max(offset for at_s, offset, _ in found["acked"] if at_s <= time_s)
        sent = max(last for at_s, _, last in found["sent"] if at_s < time_s)
        assert first < end <= sent
        if end <= missing:
            duplicates.append((time_s, first, end))
        else:
            assert missing < first
    # A D-SACK block is below the ACK (RFC 2883 §4): it reports a needless retransmission.
    assert bool(duplicates) == has_dsack
    for time_s, first, end in duplicates:
        assert any(at_s < time_s and start <= first < end <= last for at_s, start, last in found["retransmitted"])
    # A later span has the same blocks, from the same capture or from a longer one.
    later = data.packets("second", 7.0, 11.0)["sacked"]
    assert [row for row in later if row[0] <= 8.0] == [row for row in found["sacked"] if row[0] >= 7.0]


def test_a_saved_run_without_series_is_run_again(result, tmp_path):
    bp.run(PATH).save(tmp_path / "plain")
    (tmp_path / "plain" / "studio.json").write_text(
        json.dumps({"text": "# as it was written", "command": "bentpipe run x"})
    )
    data = RunData(tmp_path / "plain")
    assert data.find_values(5.0)["cwnd_bytes"] == result.find_values(5.0)["cwnd_bytes"]
    assert data.meta()["text"] == "# as it was written"
    assert data.meta()["command"] == "bentpipe run x"
    assert data.meta()["run"] == "plain"


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda data: data.series("cwnd", "first"), "did you mean 'cwnd_bytes'"),
        (lambda data: data.series("cwnd_bytes", "fist"), "did you mean 'first'"),
        (lambda data: data.series("cwnd_bytes", "first", 5, 5), "expected a window in 0 to 12 s"),
        (lambda data: data.series("cwnd_bytes", "first", columns=0), "expected 1 to"),
        (lambda data: data.packets("first", 0, 99), "expected a window in 0 to 12 s"),
        (lambda data: data.find_values(99), "expected 0 to 12"),
        (lambda data: data.why("fist", 3), "did you mean 'first'"),
        (lambda data: data.why("first", -1), "expected a time from 0 to 12 s"),
    ],
)
def test_what_a_run_does_not_have_is_refused(data, ask, said):
    with pytest.raises(BentpipeError, match=said):
        ask(data)


def test_a_moment_is_told_in_four_sentences_at_most(result):
    for t in np.linspace(0, result.simulated_s, 121):
        told = result.sentences("first", at=float(t))
        assert 1 <= len(told) <= 4
        assert told[-1].startswith("Now, at ")
        assert all(float(sentence.split(" s: ")[0]) <= t + 0.005 for sentence in told[:-1])


def test_losses_in_a_row_and_what_a_timeout_does_are_one_story_each(result):
    told = result.sentences("first", at=3.5)
    assert "3.00 s: sat is down for 400 ms." in told
    timeout = next(sentence for sentence in told if "timer expires" in sentence)
    assert "; the congestion window falls from 48.2 kB to 1.46 kB" in timeout
    lost = next(sentence for sentence in told if "packets lost" in sentence)
    assert lost.endswith(
        "at b (bits in error), 3 at sat.forward (its queue was full) and 1 at sat.forward (it was down)."
    )


def test_vendored_files_are_those_in_the_list():
    vendor = FOLDER / "vendor"
    listed = json.loads((vendor / "vendored.json").read_text(encoding="utf-8"))
    files = {name: digest for each in listed for name, digest in each["files"].items()}
    there = {str(path.relative_to(vendor)) for path in vendor.rglob("*") if path.is_file()}
    assert there == {*files, "vendored.json", ".gitattributes"}
    for name, digest in files.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest, name
    for each in listed:
        assert each["licence"]
        assert f"{each['name']}/LICENSE" in each["files"]


def test_every_script_is_there_and_listed():
    listed = {*assets.SCRIPTS, *assets.STYLES}
    assert {f"static/{path.name}" for path in (FOLDER / "static").iterdir()} <= listed | {
        *assets.SKY_SCRIPTS,
        "static/connection.js",
        "static/page.js",
        "static/page.css",
    }
    for name in listed:
        assert assets.text(name)


def test_a_result_that_was_loaded_explains_the_same(result, tmp_path):
    result.save(tmp_path / "run")
    assert RunResult.load(tmp_path / "run").sentences("second", at=7.0) == result.sentences("second", at=7.0)


def test_rates_and_delays_that_change_are_series():
    changing = {
        "link.sat.rate": {"points": [["0 s", "2 Mbit/s"], ["1 s", "1 Mbit/s"]], "every": "4 s"},
        "link.sat.delay": {"points": [["0 s", "50 ms"], ["6 s", "80 ms"]], "interpolate": "linear"},
    }
    data = RunData(bp.run(bp.load(PATH, changing), series=VIEW))
    assert {"link_rate_bps", "link_delay_s"} <= {each["name"] for each in data.meta()["series"]}
    times, rates = unpacked(data.series("link_rate_bps", "sat.forward"))
    assert times.tolist() == [0, 1, 4, 5, 8, 9, 12]
    assert rates.tolist() == [2e6, 1e6, 2e6, 1e6, 2e6, 1e6, 2e6]
    times, delays = unpacked(data.series("link_delay_s", "sat.forward"))
    assert np.interp(3.0, times, delays) == pytest.approx(0.065)
    with pytest.raises(BentpipeError, match=r"did you mean 'sat\.forward'"):
        data.series("link_rate_bps", "sat.foward")  # spelling is part of the test


def test_arrays_are_kept_up_to_a_size(result, monkeypatch):
    data = RunData(result)
    names = [(each["name"], result.scenario.flow_names[0]) for each in data.described if each["of"] == "flow"]
    for name, of in names:
        data.series(name, of)
    assert data.kept_bytes == sum(24 * data.rows(name, of) for name, of in names)
    monkeypatch.setattr("bentpipe.studio.data.ARRAYS_BYTES_MOST", 1)
    data.series("cwnd_bytes", result.scenario.flow_names[0])
    data.series("srtt_s", result.scenario.flow_names[0])
    data.series("goodput_bps", result.scenario.flow_names[-1])
    assert data.kept_bytes == 24 * data.rows("goodput_bps", result.scenario.flow_names[-1])


def test_flows_with_a_round_trip_come_first():
    ends = {"from": "a", "to": "b"}
    call = {"kind": "cbr", "rate": "64 kbit/s", "size": "160 B"}
    content = {
        "duration": "1 s",
        "link": {"l": {**ends, "rate": "1 Mbit/s", "delay": "1 ms"}},
        "flow": {"a": {**ends, "app": call}, "b": ends},
    }
    assert RunData(bp.run(content, series=VIEW)).meta()["flows"] == ["b", "a"]


def test_links_in_a_medium_show_grants_and_names_of_modcods(tmp_path):
    path = tmp_path / "asks.toml"
    path.write_text(ASKS)
    data = RunData(bp.run(bp.load(path)))
    meta = data.meta()
    assert meta["terminals"] == {"user.reverse": "up"}
    found = {each["name"]: each for each in meta["series"]}
    assert {"granted_bps", "requested_bps"} <= found.keys()
    assert found["modcod"]["names"] == {"up": {"7": "QPSK 5/6"}}
    assert data.rows("granted_bps", "user.reverse") > 0
    assert data.find_values(4.0)["modcod"] == {"user.reverse": 7.0}


def test_a_network_without_a_medium_records_no_grants(result):
    data = RunData(result)
    assert data.meta()["terminals"] == {}
    assert not {"granted_bps", "modcod"} & {each["name"] for each in data.described}


ASKS = """
duration = "5 s"
[medium.up]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 2
controller = "gateway"
random = { carriers = 1 }
[link.user]
from = "gateway"
to = "terminal"
delay = "250 ms"
forward.rate = "10 Mbit/s"
[link.user.reverse]
medium = "up"
es_n0 = "9 dB"
access = { volume_based = true }
[flow.down]
from = "gateway"
to = "terminal"
"""
