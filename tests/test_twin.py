"""The simulator beside the kernel: verdicts by numbers made by hand, and one real run."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.emulation import quantities, verdict
from bentpipe.errors import EmulationError
from validation import twins

# They wait for other processes, or are many runs.
pytestmark = pytest.mark.timeout(600)

PATH = {"from": "a", "to": "b", "rate": "20 Mbit/s", "delay": "25 ms", "queue": "83 packets"}


def scenario(duration="3 s", **flow):
    flows = {"bulk": {"from": "a", "to": "b", "app": "greedy", **flow}}
    return bp.Scenario({"title": "a short transfer", "duration": duration, "link": {"path": PATH}, "flow": flows})


@pytest.mark.parametrize(
    ("quantity", "simulated", "emulated", "word"),
    [
        # The margin of goodput is 10 % of the simulated mean; the mean and every run are inside.
        ("goodput_bps", [100] * 30, [101, 102, 103, 104], "agrees"),
        # A difference that is certain and smaller than the margin does not matter.
        ("goodput_bps", [100] * 30, [105, 105, 105], "agrees"),
        ("goodput_bps", [100] * 30, [88, 87, 88, 87], "differs"),
        # The mean differs by 8 %, but two such runs could have come from senders that differ by 40 %.
        ("goodput_bps", [100] * 30, [106, 110], "cannot tell"),
        # Runs that scatter around the same mean show nothing.
        ("goodput_bps", [60, 100, 140] * 10, [60, 140, 100], "cannot tell"),
        # A single run has no spread, and shows nothing.
        ("goodput_bps", [100] * 30, [100], "cannot tell"),
        ("goodput_bps", [100] * 30, [10], "cannot tell"),
        # A millisecond does not matter, regardless of its share.
        ("srtt_p50_s", [0.002] * 30, [0.0028, 0.0028, 0.0028], "agrees"),
        ("srtt_p50_s", [0.05] * 30, [0.0571, 0.0572, 0.0571], "differs"),
        # Three packets do not matter; more do, and few runs of few packets are not enough.
        ("drops", [5] * 30, [6, 6, 6, 6], "agrees"),
        ("drops", [0] * 30, [0, 0], "agrees"),
        ("drops", [0] * 30, [9, 9, 9, 9], "differs"),
        ("drops", [7, 10, 13] * 10, [10, 10], "cannot tell"),
        ("drops", [10] * 30, [10, 10], "agrees"),
    ],
)
def test_a_quantity_agrees_only_if_a_difference_that_matters_is_excluded(quantity, simulated, emulated, word):
    assert verdict.judge_means(quantity, simulated, emulated).verdict == word


@pytest.mark.parametrize(
    ("simulated", "emulated", "word"),
    [
        # Two runs are enough: no shuffle of 30 and 2 runs has so large a difference.
        ([50 + n for n in range(30)], [1, 2], "differs"),
        ([4] * 30, [4, 4], "agrees"),
        ([3, 4, 5] * 10, [4, 5, 4], "agrees"),
        ([0] * 30, [0, 0, 0], "agrees"),
        ([4] * 30, [40], "cannot tell"),
        # Three more do not matter, even in each run.
        ([4] * 30, [7, 7, 7], "cannot tell"),
        # Simulated runs may all be equal. Independent events scatter more: the standard error is 2.3.
        ([4] * 30, [10, 10], "cannot tell"),
        ([4] * 30, [13, 13], "differs"),
        # One run of 32 has the events, which may be of either side.
        ([0] * 30, [0, 60], "cannot tell"),
        # Too few simulated runs: of the 21 shuffles of 5 and 2 runs, 1 is the measured one.
        ([50, 60, 70, 80, 90], [1, 2], "cannot tell"),
    ],
)
def test_counts_of_events_differ_only_if_chance_is_excluded(simulated, emulated, word):
    found = verdict.judge_means("undos", simulated, emulated)
    assert found.verdict == word
    assert found.more_runs is None or word == "cannot tell"


def test_a_permutation_test_counts_the_shuffles():
    # No other of the 10 choices of 2 runs from 5 differs as much: 5 and 1.67.
    assert verdict.Chance.from_runs([1, 2, 2], [5, 5]).p == pytest.approx(1 / 10)
    # 5 and 2.67: three choices are equal, and 1.5 is further from 5.
    assert verdict.Chance.from_runs([1, 2, 5], [5, 5]).p == pytest.approx(4 / 10)
    # Large counts are added up in coarser units.
    assert verdict.Chance.from_runs([1e6, 2e6, 5e6], [5e6, 5e6]).p == pytest.approx(4 / 10)


def test_a_permutation_test_is_that_of_scipy():
    from scipy import stats

    draw = np.random.default_rng(3)
    for _ in range(5):
        simulated, emulated = draw.poisson(6, 9), draw.poisson(9, 3)
        expected = stats.permutation_test(
            (emulated, simulated), lambda one, other: abs(np.mean(one) - np.mean(other)), alternative="greater"
        )
        assert verdict.Chance.from_runs(simulated, emulated).p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("emulations", [2, 3])
def test_few_runs_of_equal_hosts_raise_no_false_alarm(emulations):
    """Both sides draw from the same distributions: Poisson counts, clusters of events, rare clusters.

    Seeds of a scenario without random losses are all equal, and the kernel's runs scatter as Poisson counts.
    """
    draw = np.random.default_rng(7)
    kinds = {
        "timeouts": lambda runs: draw.poisson(4, runs),
        "fast_retransmits": lambda runs: draw.poisson(60, runs),
        "undos": lambda runs: draw.negative_binomial(0.5, 0.05, runs),
        "reorderings": lambda runs: draw.poisson(80, runs) * (draw.random(runs) < 0.3),
        "tail_loss_probes": lambda runs: draw.poisson(8, runs) if runs < 30 else np.full(runs, 8),
    }
    alarms, comparisons = 0, 200
    for _ in range(comparisons):
        columns = {name: [*kind(30), *kind(emulations)] for name, kind in kinds.items()}
        sides = ["simulated"] * 30 + ["emulated"] * emulations
        rows = [
            {"side": side, "seed": seed, "is_trustworthy": True, **{name: float(columns[name][seed]) for name in kinds}}
            for seed, side in enumerate(sides)
        ]
        alarms += any(each.verdict == "differs" for each in verdict.judge_runs(rows, {}))
    # 5 % at most; 4 standard errors more are 22.
    assert alarms <= 22


def test_counters_of_both_hosts_are_summed():
    sender = {"TCPTimeouts": 4, "TCPLossUndo": 3, "TCPPartialUndo": 1, "TCPSACKReorder": 60, "TCPTSReorder": 2}
    receiver = {"TCPDSACKOldSent": 5, "TCPDSACKOfoSent": 1, "TCPTimeouts": 9}
    found = quantities.count_kernel(sender, receiver, {"tcp_dsack": "1"})
    expected = {"timeouts": 4, "undos": 4, "timeout_undos": 3, "reorderings": 62, "spurious_retransmissions": 6}
    assert {name: count for name, count in found.items() if count} == expected
    assert "spurious_retransmissions" not in quantities.count_kernel(sender, receiver, {"tcp_dsack": "0"})


def test_a_counter_that_one_run_lacks_is_not_judged():
    rows = [
        {"side": side, "seed": seed, "is_trustworthy": True, "goodput_bps": 1e6, "timeouts": 0.0, "undos": undos}
        for side, seed, undos in [("simulated", 1, 1.0), ("simulated", 2, 1.0), ("emulated", 1, None)]
    ]
    assert [each.quantity for each in verdict.judge_runs(rows, {})] == ["goodput_bps", "timeouts"]


def test_a_difference_of_a_counter_is_said_with_both_counts():
    found = verdict.judge_means("undos", [50 + n for n in range(30)], [1, 2])
    assert verdict.whole([found]) == "Differs in spurious reductions (1.5 in the kernel, 64.5 simulated)."


def test_counters_of_a_host_count_from_the_start_of_the_run():
    try:
        found = bp.emulate(scenario(), ["true"])
    except EmulationError as error:
        pytest.skip(str(error))
    assert set(found.counters) == {"a", "b"}
    for counters in found.counters.values():
        assert counters["ActiveOpens"] == counters["RetransSegs"] == 0
        asked = {counter for each in quantities.QUANTITIES for counter in each.counters}
        assert asked <= set(counters), "this kernel lacks counters"


def test_the_interval_of_the_difference_covers_both_sides():
    """Compares with a calculation by hand.

    The variances are 100 and 4. The quantile of Student's t with 2 degrees of freedom is 4.303.
    """
    simulated = [100 - math.sqrt(200), 100, 100, 100, 100 + math.sqrt(200)]
    found = verdict.judge_means("goodput_bps", simulated, [108, 110, 112])
    half = 4.303 * math.sqrt(100 / 5 + 4 / 3)
    assert (found.difference_low, found.difference_high) == pytest.approx((10 - half, 10 + half), rel=1e-3)
    assert (found.difference, found.margin) == pytest.approx((10, 10))


def test_runs_of_the_same_seed_are_compared_in_pairs_where_that_tells_more():
    simulated = [50, 80, 120, 150, 100, 90] * 5
    emulated = [here + shift for here, shift in zip(simulated, [1, 2, 1, 2, 1, 2], strict=False)]
    alone = verdict.judge_means("goodput_bps", simulated, emulated)
    assert (alone.verdict, alone.is_paired) == ("cannot tell", False)
    paired = verdict.judge_means("goodput_bps", simulated, emulated, pairs=list(zip(simulated, emulated, strict=False)))
    assert (paired.verdict, paired.is_paired) == ("agrees", True)
    assert paired.difference == pytest.approx(1.5)
    # Standard error of 1, 2, 1, 2, 1, 2; t with 5 degrees of freedom.
    assert paired.difference_high == pytest.approx(1.5 + 2.571 * math.sqrt(0.3 / 6), rel=1e-3)
    # Three runs do not show how they are correlated.
    few = list(zip(simulated, emulated[:3], strict=False))
    assert not verdict.judge_means("goodput_bps", simulated, emulated[:3], pairs=few).is_paired


@pytest.mark.parametrize("shift", [0, 30])
def test_as_many_more_runs_as_are_named_decide(shift):
    """Runs that spread as the first ones did: with one less the verdict is still open."""
    simulated = [100] * 30
    first = [80 + shift, 120 + shift]
    found = verdict.judge_means("goodput_bps", simulated, first)
    assert found.verdict == "cannot tell"
    assert found.more_runs is not None

    def more(number):
        # The same mean and variance as of the first two.
        runs = 2 + number
        step = math.sqrt(800 * (runs - 1) / runs)
        emulated = [100 + shift + step * (1 if at % 2 else -1) for at in range(runs)]
        if runs % 2:
            emulated[-1] = 100 + shift
            scale = math.sqrt(runs / (runs - 1))
            emulated = [100 + shift + (value - 100 - shift) * scale for value in emulated]
        return verdict.judge_means("goodput_bps", simulated, emulated).verdict

    assert more(found.more_runs) == ("differs" if shift else "agrees")
    assert more(found.more_runs - 1) == "cannot tell"


def test_a_difference_that_one_of_seven_quantities_has_by_chance_is_none():
    """Just beyond zero by its own interval: by that of all quantities together it is not."""
    simulated, emulated = [100.0] * 30, [100 + 15 * (1 + spread) for spread in (-0.5, 0, 0.5)]
    found = verdict.judge_means("goodput_bps", simulated, emulated)
    # 15 above, with a standard error of 4.33: beyond 95 % if t were 3.46; it is 4.30. Now with less spread.
    assert found.difference_low is not None
    assert found.difference_low < 0
    closer = verdict.judge_means("goodput_bps", simulated, [100 + 15 * (1 + spread) for spread in (-0.3, 0, 0.3)])
    assert closer.difference_low is not None
    assert closer.difference_low > 0
    assert closer.verdict == "cannot tell"


def test_a_margin_of_ones_own_decides_otherwise():
    simulated, emulated = [100] * 30, [104, 105, 104, 105]
    assert verdict.judge_means("goodput_bps", simulated, emulated).verdict == "agrees"
    found = verdict.judge_means("goodput_bps", simulated, emulated, margin=0.02)
    assert (found.verdict, found.margin) == ("differs", 2)
    assert verdict.margins("5 %") == dict.fromkeys(quantities.BY_NAME, 0.05)
    assert verdict.margins({"lost": "20%", "goodput_bps": "10 %"}) == {"drops": 0.2, "goodput_bps": 0.1}
    with pytest.raises(EmulationError, match="'speed' is not a quantity of twin\n  known: share, reinjected, probes, "):
        verdict.margins({"speed": "10 %"})
    with pytest.raises(EmulationError, match=r"^margin: 0 % is not a share"):
        bp.twin("geo", margin="0 %")


def test_the_whole_names_what_differs_and_how_many_runs_would_tell():
    agrees = verdict.judge_means("goodput_bps", [100] * 30, [100, 100])
    unclear = verdict.judge_means("drops", [80, 100, 120] * 10, [80, 120, 110])
    differs = verdict.judge_means("srtt_p95_s", [0.1] * 30, [0.15, 0.15, 0.15])
    assert verdict.whole([agrees]) == "Agrees."
    assert verdict.more_runs([agrees]) == 0
    said = verdict.whole([agrees, unclear])
    assert said.startswith("Cannot tell lost data packets (+3%, 95 % interval -")
    assert said.endswith(f"{unclear.more_runs} more emulated runs would settle it, with this spread and difference.")
    assert verdict.more_runs([agrees, unclear, differs]) == unclear.more_runs
    assert verdict.whole([agrees, unclear, differs]).startswith(
        "Differs in 95 % round trip (+50%, 95 % interval +50% to +50%). Cannot tell lost data packets ("
    )
    single = verdict.judge_means("goodput_bps", [100] * 30, [100])
    assert verdict.whole([single]).endswith("At least 1 more emulated run: a single one has no spread.")
    # Means that differ by the margin itself: no number of runs shows on which side of it.
    assert verdict.whole([]) == "No verdict: no emulated run was trustworthy."


def test_means_and_quantiles_are_over_time():
    windows = pl.DataFrame({"time_s": [0.0, 1.0, 4.0], "cwnd_bytes": [10.0, 20.0, 5.0]})
    trips = pl.DataFrame({"time_s": [1.0, 2.0, 9.0], "srtt_s": [0.5, 0.1, 0.9]})
    losses = pl.DataFrame({"time_s": [3.6]})
    found = verdict.measure_run(windows, trips, losses, start_s=1.0, end_s=10.0)
    # 20 for 3 s and 5 for 6 s; 0.5 and 0.9 for 1 s each and 0.1 for 7 s, of 9 s.
    assert found["cwnd_mean_bytes"] == pytest.approx((20 * 3 + 5 * 6) / 9)
    assert (found["srtt_p50_s"], found["srtt_p95_s"]) == (0.1, 0.9)
    assert (found["cwnd_first_loss_bytes"], found["drops"]) == (20, 1)


@pytest.mark.parametrize(
    ("simulated", "emulated", "words"),
    [
        ([], [], "No data was lost on either side."),
        ([1.0, 2.0], [1.05, 2.15], "All losses agree in time, within two round trips."),
        ([1.0, 2.0], [1.0, 2.3], "The losses differ from number 2 on: at 2.000 s simulated, at 2.300 s emulated."),
        ([1.0], [1.0, 4.5], "The losses differ from number 2 on: emulated only, at 4.500 s."),
    ],
)
def test_the_first_loss_of_one_side_alone_is_named(simulated, emulated, words):
    assert verdict.divergence(simulated, emulated, 0.1) == words


def test_captures_part_at_the_packet_that_was_made_different(tmp_path):
    """A shorter queue drops a packet that the other takes; all packets before it are equal."""
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
    assert said.startswith(f"The packets with data differ from number {where} on: simulated bytes ")
    assert f"bytes {int(first['offset_bytes'])} to {end} at " in said
    assert "which arrived; emulated" in said
    assert said.endswith("lost: queue-overflow at path.forward.")
    assert divergence(captured[60], captured[60]) == (
        f"The first {len(captured[60])} packets with data are the same on both sides, and have the same fate."
    )


@pytest.mark.parametrize(
    ("simulated", "emulated", "words"),
    [
        ((0, False), None, "At least one side sent no data."),
        (
            (2896, False),
            (0, True),
            "The packets with data differ from number 3 on: simulated bytes 2896 to 4344 at 1.5000 s, which arrived;"
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
    (tmp_path / "path.toml").write_text(scenario().resolve())
    command = [sys.executable, "-m", "bentpipe", "twin", "path.toml", "--cc", "cubic", "--replications", "3"]
    command += ["--emulations", "2", "--margin", "goodput=20%", "--json", "--save", "out", "--plot", "windows.svg"]
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
    assert [run["side"] for run in found["runs"]] == ["simulated"] * 3 + ["emulated"] * 2
    counted = {each.name for each in quantities.QUANTITIES if each.counters}
    assert all(run[name] is not None for run in found["runs"] for name in counted)
    if not all(trust["is_trustworthy"] for trust in found["trust"]):
        pytest.skip(found["verdict"])
    assert {each["quantity"] for each in found["quantities"]} == {each.name for each in quantities.QUANTITIES}
    goodput = next(each for each in found["quantities"] if each["quantity"] == "goodput_bps")
    # A segment of 1500 B holds 1448 B of data.
    assert 15e6 < goodput["emulated"] < 20e6 * 1448 / 1500
    assert goodput["margin"] == pytest.approx(0.2 * goodput["simulated"])
    assert goodput["verdict"] == "agrees"


@pytest.mark.parametrize(
    ("flow", "more", "words"),
    [
        ({"app": {"kind": "cbr", "rate": "1 Mbit/s", "size": "1000 B"}}, {}, "no bulk flow"),
        ({}, {"flow": "web"}, "'web' is not a flow"),
        ({}, {"replications": 1}, "replications = 1\n  expected a whole number from 2 to"),
        ({}, {"emulations": 0}, "emulations = 0\n  expected a whole number from 1 to"),
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
    with pytest.raises(EmulationError, match="before the first data were acknowledged"):
        bp.twin(scenario(duration="60 ms"), emulations=1)


def test_the_simulated_sender_has_what_was_read_from_the_kernel():
    from bentpipe.emulation.like_kernel import spell_simulation

    kernel = {
        "tcp_timestamps": "0",
        "tcp_dsack": "1",
        "tcp_rmem": "4096\t131072\t6291456",
        "tcp_wmem": "4096 16384 4194304",
    }
    tcp = spell_simulation(scenario(tcp={"cc": "vegas"}), "bulk", "cubic", kernel).to_dict()["tcp"]
    assert (tcp["like"], tcp["timestamps"], tcp["dsack"]) == ("linux-6", False, True)
    assert tcp["cc"]["kind"] == "cubic"
    assert (tcp["receive_buffer"], tcp["send_buffer"]) == ("auto", "4194304 B")
    assert tcp["auto_buffer"]["growth"] == "linux"
    assert (
        spell_simulation(scenario(tcp={"buffers": "raised"}), "bulk", "cubic", kernel).hosts[0][0]
        == "Linux 6 (raised buffers)"
    )
    # BBR of the kernel hands down as much data as offload takes.
    bbr = spell_simulation(scenario(), "bulk", "bbr1", kernel).to_dict()["tcp"]
    assert bbr["cc"]["quantum"] == "offload"
    assert [tcp["auto_buffer"][key] for key in ("start", "limit")] == ["131072 B", "6291456 B"]
    assert tcp["recovery"]["kind"] == "rack"


@pytest.mark.parametrize("cc", ["bbr1", "bbr"])
def test_the_kernels_bbr_is_found_by_either_name(cc):
    try:
        found = bp.twin(scenario(duration="1 s"), cc=cc, replications=2, emulations=1)
    except EmulationError as error:
        pytest.skip(str(error))
    assert found.kernel["cc"] == "bbr"
    assert found.scenario.to_dict()["tcp"]["cc"]["kind"] == "bbr1"


def test_a_congestion_control_that_the_kernel_lacks_is_refused_with_those_that_it_has():
    try:
        bp.emulate(scenario(), ["true"])
    except EmulationError as error:
        pytest.skip(str(error))
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    with pytest.raises(EmulationError, match=f'"leocc" is not .*\n  expected one of {", ".join(known)}'):
        bp.twin(scenario(), cc="leocc", emulations=1)


def test_kept_runs_may_have_counters_or_not():
    """Rows measured before and after counters were read, in one file; the page shows counters of complete rows."""
    from tools.docs.twins import counters

    old = {"side": "simulated", "seed": 1, "goodput_bps": 1e6}
    new = {**old, "side": "emulated", "timeouts": 2.0}
    found = twins.unpacked(twins.packed({"kernel": {}, "notes": [], "runs": [old, new]}))
    assert found["runs"] == [{**old, "timeouts": None}, new]
    counted = [each.name for each in quantities.QUANTITIES if each.counters]
    row = twins.BULK[0]
    rows = {row.key: {"quantities": [{"quantity": name, "simulated": 1, "emulated": 2} for name in counted]}}
    assert len(counters([row], rows)[4].split("1.0 / 2.0")) == 1 + len(counted)
    del rows[row.key]["quantities"][0]
    assert counters([row], rows) == []


@pytest.mark.parametrize(
    ("trusted", "tried", "more", "runs"),
    [
        (0, 0, 0, 3),
        (2, 3, 40, 1),
        (0, 9, 0, 0),
        (3, 3, 0, 0),
        # Up to 8 runs a guess is worth little; then only what may be done is begun.
        (3, 3, 500, 1),
        (8, 8, 5, 3),
        (8, 9, 2, 2),
        (8, 8, 17, 0),
        (8, 8, None, 0),
        (24, 24, 1, 0),
    ],
)
def test_rows_get_runs_until_they_are_decided_or_cannot_be(trusted, tried, more, runs):
    emulated = [{"side": "emulated"}] * tried
    assert twins.wanted({"runs": emulated, "trusted": trusted, "more_runs": more} if tried else {}, 24) == runs


def test_rows_without_runs_come_first_then_what_is_decided_soonest():
    begun = {"runs": [{"side": "emulated"}] * 3, "trusted": 3}
    rows = {row.key: {**begun, "more_runs": 0} for row in twins.BULK}
    assert twins.next_bulk(rows, 24) is None
    # Two runs of 30 s take longer than five of 10 s.
    rows[twins.BULK[-1].key] = {**begun, "more_runs": 2}
    rows[twins.BULK[1].key] = {**begun, "more_runs": 5}
    assert twins.next_bulk(rows, 24) == (twins.BULK[1], 1)
    del rows[twins.BULK[-2].key]
    assert twins.next_bulk(rows, 24) == (twins.BULK[-2], 3)
