"""The simulator beside the kernel: verdicts by numbers made by hand, and one real run."""

import json
import math
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.emulation import verdict
from bentpipe.errors import EmulationError

PATH = {"from": "a", "to": "b", "rate": "20 Mbit/s", "delay": "25 ms", "queue": "83 packets"}


def scenario(duration="3 s", **flow):
    flows = {"bulk": {"from": "a", "to": "b", "app": "greedy", **flow}}
    return bp.Scenario({"title": "a short transfer", "duration": duration, "link": {"path": PATH}, "flow": flows})


@pytest.mark.parametrize(
    ("quantity", "simulated", "emulated", "word"),
    [
        # The limits of goodput are 2 % and 5 %.
        ("goodput_bps", [100, 100], [101.9], "agrees"),
        ("goodput_bps", [100, 100], [103, 104], "nearly agrees"),
        ("goodput_bps", [100, 100], [94], "differs"),
        # 5.5 ms and 10.5 % are beyond 1 ms and 3 %; of 2 ms, 1 ms is within the limit.
        ("srtt_p50_s", [0.05, 0.05], [0.0555], "differs"),
        ("srtt_p50_s", [0.002, 0.002], [0.0029], "agrees"),
        # Three packets are nothing, whatever share they are.
        ("drops", [5, 5], [8], "agrees"),
        ("drops", [0, 0], [7], "differs"),
        ("drops", [100, 100], [129], "nearly agrees"),
    ],
)
def test_limits_of_a_quantity_are_those_of_the_guide(quantity, simulated, emulated, word):
    assert verdict.judged(quantity, simulated, emulated).verdict == word


def test_what_lies_within_the_interval_of_prediction_agrees():
    # Mean 100 and standard deviation 10 of 5 values; the quantile of Student's t with 4 degrees of freedom is 2.776.
    simulated = [100 - math.sqrt(200), 100, 100, 100, 100 + math.sqrt(200)]
    half = 2.776 * 10 * math.sqrt(1 / 1 + 1 / 5)
    found = verdict.judged("goodput_bps", simulated, [100 + 0.99 * half])
    assert found.verdict == "agrees"
    assert found.high == pytest.approx(100 + half, rel=1e-3)
    assert verdict.judged("goodput_bps", simulated, [100 + 1.01 * half]).verdict == "differs"


def test_the_whole_names_what_differs():
    agrees = verdict.judged("goodput_bps", [100, 100], [100])
    nearly = verdict.judged("drops", [100, 100], [120])
    differs = verdict.judged("srtt_p95_s", [0.1, 0.1], [0.15])
    assert verdict.whole([agrees]) == "Agrees."
    assert verdict.whole([agrees, nearly]) == "Agrees, nearly in lost data packets (+20%)."
    assert verdict.whole([agrees, nearly, differs]) == "Differs in 95 % round trip (+50%)."
    assert verdict.whole([]) == "No verdict: no emulated run was trustworthy."


def test_means_and_quantiles_are_over_time():
    windows = pl.DataFrame({"time_s": [0.0, 1.0, 4.0], "cwnd_bytes": [10.0, 20.0, 5.0]})
    trips = pl.DataFrame({"time_s": [1.0, 2.0, 9.0], "srtt_s": [0.5, 0.1, 0.9]})
    losses = pl.DataFrame({"time_s": [3.6]})
    found = verdict.measured(windows, trips, losses, start_s=1.0, end_s=10.0)
    # 20 for 3 s and 5 for 6 s; 0.5 and 0.9 for 1 s each and 0.1 for 7 s, of 9 s.
    assert found["cwnd_mean_bytes"] == pytest.approx((20 * 3 + 5 * 6) / 9)
    assert (found["srtt_p50_s"], found["srtt_p95_s"]) == (0.1, 0.9)
    assert (found["cwnd_first_loss_bytes"], found["drops"]) == (20, 1)


@pytest.mark.parametrize(
    ("simulated", "emulated", "words"),
    [
        ([], [], "No data was lost on either side."),
        ([1.0, 2.0], [1.05, 2.15], "All losses come at the same time, within two round trips."),
        ([1.0, 2.0], [1.0, 2.3], "The losses part at number 2: at 2.000 s simulated, at 2.300 s emulated."),
        ([1.0], [1.0, 4.5], "The losses part at number 2: emulated only, at 4.500 s."),
    ],
)
def test_the_first_loss_of_one_side_alone_is_named(simulated, emulated, words):
    assert verdict.divergence(simulated, emulated, 0.1) == words


def test_captures_part_at_the_packet_that_was_made_different(tmp_path):
    """A queue of fewer packets drops one that the other takes; all packets before it are the same."""
    from bentpipe.emulation.packets import divergence, sent

    captured, losses = {}, {}
    for packets in (83, 60):
        content = scenario().to_dict()
        content["link"]["path"]["queue"] = f"{packets} packets"
        content["record"] = {"series": ["losses"]}
        result = bp.run(content, pcap=tmp_path / f"{packets}.pcapng")
        captured[packets] = sent(tmp_path / f"{packets}-a.pcapng", flow=0)
        assert sent(tmp_path / f"{packets}-a.pcapng", flow=1) == []
        losses[packets] = result.series("losses").row(0, named=True)
        assert sum(each.size for each in captured[packets] if not each.is_again) >= result.flows["acked_bytes"][0]
        assert (
            sum(bool(each.fate.startswith("lost")) for each in captured[packets]) == result.links["dropped_packets"][0]
        )
    first = losses[60]
    assert first["time_s"] < losses[83]["time_s"]
    where = next(n for n, each in enumerate(captured[60], 1) if each.offset == first["offset_bytes"])
    end = int(first["offset_bytes"] + first["data_bytes"])
    said = divergence(captured[83], captured[60])
    assert said.startswith(f"The packets part at number {where} of those with data: simulated bytes ")
    assert f"bytes {int(first['offset_bytes'])} to {end} at " in said
    assert "which arrived; emulated" in said
    assert said.endswith("lost: queue-overflow at path.forward.")
    assert divergence(captured[60], captured[60]) == (
        f"The first {len(captured[60])} packets with data are the same on both sides, and have the same fate."
    )


@pytest.mark.parametrize(
    ("simulated", "emulated", "words"),
    [
        ((0, False), None, "No data was sent on one side at least."),
        (
            (2896, False),
            (0, True),
            "The packets part at number 3 of those with data: simulated bytes 2896 to 4344 at 1.5000 s, which arrived;"
            " emulated bytes 0 to 1448 again at 1.5000 s, which arrived.",
        ),
    ],
)
def test_the_packet_at_which_two_senders_part_is_named(simulated, emulated, words):
    from bentpipe.emulation.packets import Sent, divergence

    before = [Sent(0.0, 0, 1448, False, ""), Sent(0.1, 1448, 1448, False, "")]
    one, other = (
        [] if last is None else [*before, Sent(1.5, last[0], 1448, last[1], "")] for last in (simulated, emulated)
    )
    assert divergence(one, other) == words


def test_a_real_transfer_is_judged_saved_and_drawn(tmp_path):
    try:
        bp.emulate(scenario(), ["true"])
    except EmulationError as error:
        pytest.skip(str(error))
    (tmp_path / "path.toml").write_text(scenario().resolved())
    command = [sys.executable, "-m", "bentpipe", "twin", "path.toml", "--cc", "cubic", "--replications", "3"]
    command += ["--emulations", "1", "--json", "--save", "out", "--plot", "windows.svg"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if "not a congestion control" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert json.loads((tmp_path / "out" / "provenance.json").read_text())["verdict"] == found["verdict"]
    assert (tmp_path / "windows.svg").stat().st_size > 1000
    assert found["kernel"]["cc"] == "cubic"
    timestamps = Path("/proc/sys/net/ipv4/tcp_timestamps").read_text().strip()
    assert found["kernel"]["tcp_timestamps"] == timestamps
    assert [run["side"] for run in found["runs"]] == ["simulated"] * 3 + ["emulated"]
    if not found["trust"][0]["is_trustworthy"]:
        pytest.skip(found["verdict"])
    goodput = next(each for each in found["quantities"] if each["quantity"] == "goodput_bps")
    # A segment of 1500 B holds 1448 B of data.
    assert 15e6 < goodput["emulated"] < 20e6 * 1448 / 1500
    assert goodput["verdict"] in ("agrees", "nearly agrees")


@pytest.mark.parametrize(
    ("flow", "more", "words"),
    [
        ({"app": {"kind": "cbr", "rate": "1 Mbit/s", "size": "1000 B"}}, {}, "no bulk flow"),
        ({}, {"flow": "web"}, "'web' is not a flow"),
        ({}, {"replications": 1}, "too few runs"),
    ],
)
def test_what_has_no_twin_is_said(flow, more, words):
    with pytest.raises(EmulationError, match=words):
        bp.twin(scenario(**flow), **more)


def test_a_run_shorter_than_its_round_trip_is_refused():
    try:
        bp.emulate(scenario(), ["true"])
    except EmulationError as error:
        pytest.skip(str(error))
    with pytest.raises(EmulationError, match="before the first data are acknowledged"):
        bp.twin(scenario(duration="60 ms"), emulations=1)


def test_the_simulated_sender_has_what_was_read_from_the_kernel():
    from bentpipe.emulation.twin import _like

    kernel = {
        "tcp_timestamps": "0",
        "tcp_dsack": "1",
        "tcp_rmem": "4096\t131072\t6291456",
        "tcp_wmem": "4096 16384 4194304",
    }
    tcp = _like(scenario(tcp={"cc": "vegas"}), "bulk", "cubic", kernel).to_dict()["tcp"]
    assert (tcp["like"], tcp["timestamps"], tcp["dsack"]) == ("linux-6", False, True)
    assert tcp["cc"]["kind"] == "cubic"
    # Half of 6291456 B is for the window.
    assert (tcp["receive_buffer"], tcp["send_buffer"]) == ("3145728 B", "4194304 B")
    assert tcp["recovery"]["kind"] == "rack"
