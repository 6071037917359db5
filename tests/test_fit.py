"""Fits of paths with known parameters: slots, losses, rate, queue, the scenario, and its check."""

import dataclasses
import json
import math
import random
import shlex

import numpy as np
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, FitError
from bentpipe.fitting import capacity, checking, draws, inverse, losses, slots
from bentpipe.fitting.measured import Load, Probes
from bentpipe.tuning.work import Work
from tests import measurements


def probes(rtt_s, lost=None, spacing=0.01, begin=0.0):
    rtt_s = np.array(rtt_s, dtype=float)
    if lost is not None:
        rtt_s[np.array(lost)] = np.nan
    return Probes(begin + spacing * np.arange(len(rtt_s)), rtt_s, "made")


def stepped(period, phase, duration=420.0, spacing=0.02, seed=1, begin=1.7e9):
    """Round trips of slots: a level drawn per slot, and a gamma distribution above it."""
    draw = np.random.default_rng(seed)
    times = begin + np.arange(0, duration, spacing)
    places = np.floor((times - phase) / period).astype(int)
    levels = draw.uniform(0.025, 0.045, places.max() - places.min() + 2)[places - places.min()]
    made = Probes(times, levels + draw.gamma(2.0, 0.002, len(times)), "made")
    return made, levels


@pytest.mark.parametrize(("period", "phase"), [(15.0, 12.0), (15.0, 3.5), (10.0, 7.0), (23.5, 11.0)])
def test_a_period_is_found_with_its_phase_among_all_from_5_to_60_s(period, phase):
    made, levels = stepped(period, phase)
    found = slots.find(made)
    assert found.period_s == period
    assert (found.phase_s - phase) % period == pytest.approx(0, abs=0.5)
    assert found.statistic > found.threshold == pytest.approx(4.35, abs=0.01)
    bases = slots.measure(made, found).bases_s
    truth = levels[np.searchsorted(made.send_s, (found.edges_s[:-1] + found.edges_s[1:]) / 2)]
    assert bases == pytest.approx(truth, abs=0.0015)


def test_losses_are_those_of_the_record_that_shows_them(tmp_path):
    (tmp_path / "ping.txt").write_text(measurements.ping())
    begin = 1734546419
    rows = [f"{begin + at / 10},{50 + at % 7}" for at in range(150)]
    (tmp_path / "dish.csv").write_text("\n".join(["t_utc_s,pop_ping_latency_ms", *rows]))
    found = bp.fit([tmp_path / "dish.csv", tmp_path / "ping.txt"], check=False)
    assert found.by_name["loss"].value == pytest.approx(3 / 200)
    assert "dish.csv: left out beside a record of the same time that shows losses" in found.notes
    rows = [f"{begin + 600 + at / 10},{50 + at % 7}" for at in range(150)]
    later = "\n".join(["t_utc_s,pop_ping_latency_ms", *rows])
    (tmp_path / "dish.csv").write_text(later)
    assert len(bp.fit([tmp_path / "dish.csv", tmp_path / "ping.txt"], check=False).probes.send_s) == 350


def test_a_known_network_needs_less_evidence():
    found = slots.find(stepped(15.0, 12.0, duration=200)[0], network="starlink")
    assert (found.period_s, found.phase_s) == (15.0, 12.0)
    assert found.threshold == pytest.approx(2.93, abs=0.01)


def test_a_short_measurement_is_not_searched_unless_the_period_is_given():
    made = stepped(15.0, 12.0, duration=200)[0]
    assert "too short" in slots.find(made).how
    assert slots.find(made, period_s=15.0).phase_s == 12.0


@pytest.mark.parametrize("spacing", [0.7, 2.0, 4.0])
def test_empty_bins_between_probes_are_no_period(spacing):
    for seed in range(5):
        draw = np.random.default_rng(seed)
        trips = 0.05 + draw.gamma(2.0, 0.004, int(900 / spacing))
        assert slots.find(probes(trips, spacing=spacing)).period_s is None
    assert slots.find(stepped(15.0, 12.0, duration=1800, spacing=2.0)[0]).period_s == 15.0


def test_rounded_round_trips_are_no_steps():
    trips = np.round(0.600 + np.random.default_rng(1).exponential(0.004, 6000), 3)
    levels = np.where(np.random.default_rng(2).random(800) < 0.2, 0.601, 0.600)
    assert slots._change_points(np.log(levels)) == []
    assert slots._change_points(np.log(np.append(levels, levels + 0.002))) == [800]
    assert slots.find(probes(trips, spacing=0.05)).has_steps is False


def test_steps_at_irregular_times_are_change_points():
    draw = np.random.default_rng(4)
    levels = np.repeat([0.05, 0.07, 0.055], [9000, 14_000, 12_000])
    found = slots.find(probes(levels + draw.gamma(2.0, 0.001, len(levels))))
    assert found.period_s is None
    assert found.edges_s == pytest.approx([0, 90, 230, 349.99], abs=0.5)


def test_white_noise_has_no_slots():
    draw = np.random.default_rng(5)
    found = [slots.find(probes(0.05 + draw.gamma(2.0, 0.002, 40_000))) for _ in range(5)]
    assert [each.period_s for each in found] == [None] * 5
    assert sum(each.has_steps for each in found) <= 1


def slow_likelihood(chain, lost):
    """The chance of a sequence, probe by probe."""
    state = np.array([1 - chain.share_bad, chain.share_bad])
    moves = np.array([[1 - chain.worse, chain.worse], [chain.better, 1 - chain.better]])
    rates = np.array([chain.rate_good, chain.rate_bad])
    total = 0.0
    for each in lost:
        state = (state * (rates if each else 1 - rates)) @ moves
        total += math.log(state.sum())
        state /= state.sum()
    return total


@pytest.mark.parametrize(
    "numbers", [(0.01, 0.2, 0.0, 0.5), (0.3, 0.1, 0.02, 0.9), (0.5, 0.5, 0.1, 0.1), (0.8, 0.9, 0.0, 0.7)]
)
def test_closed_powers_have_the_likelihood_of_the_recursion(numbers):
    chain = losses._Chain(*numbers)
    lost = np.random.default_rng(2).random(500) < 0.1
    assert losses.likelihood(chain, *losses.find_runs(lost)) == pytest.approx(slow_likelihood(chain, lost), rel=1e-9)


def test_bursts_are_found_and_their_intervals_hold_the_truth():
    holds = {"mean_good": 0, "mean_bad": 0, "rate_bad": 0, "ratio": 0}
    for seed in range(6):
        lost = measurements.bursts(40_000, 10.0, 0.1, 0.5, seed)
        found = losses.fit(probes(np.full(40_000, 0.05), lost), no_slots())
        assert found.kind == "gilbert-elliott"
        truth = {"mean_good": 10.0, "mean_bad": 0.1, "rate_bad": 0.5, "ratio": 0.5 * 0.1 / 10.1}
        for name, value in truth.items():
            ends = found.ratio if name == "ratio" else found.numbers[name]
            holds[name] += ends.low <= value <= ends.high
    assert min(holds.values()) >= 4


def no_slots():
    return slots.Slots(np.array([0.0, 1e9]), None, None, 0.0, 0.0, "")


@pytest.mark.parametrize("seed", range(4))
def test_independent_losses_stay_independent(seed):
    lost = np.random.default_rng(seed).random(40_000) < 0.01
    found = losses.fit(probes(np.full(40_000, 0.05), lost), no_slots())
    assert found.kind == "independent"
    assert found.ratio.low <= 0.01 <= found.ratio.high


def test_losses_at_boundaries_are_told_from_bursts():
    made = stepped(15.0, 12.0)[0]
    near = np.abs((made.send_s - 12 + 7.5) % 15 - 7.5) <= 0.5
    lost = np.random.default_rng(1).random(len(near)) < np.where(near, 0.2, 0.001)
    made.rtt_s[lost] = np.nan
    found = losses.fit(made, slots.find(made))
    assert found.kind == "boundaries"
    assert found.numbers["rate_near"].value == pytest.approx(0.2, rel=0.2)


def load(windows, rates, srtt_s, step=1.0):
    rates = np.array(rates, dtype=float)
    given = (step * np.arange(len(rates)), np.full(len(rates), step), rates * step / 8, "made")
    return Load(*given, srtt_s=np.array(srtt_s), cwnd_bytes=np.array(windows, dtype=float), mss=1448)


def test_a_full_queue_gives_the_rate_and_the_queue():
    # The window grows while the rate stays: 10 Mbit/s, 50 ms, and a queue of 60 kB.
    windows = np.tile(np.linspace(70_000, 120_000, 10), 4)
    srtt_s = windows * 1500 / 1448 * 8 / 10e6
    found = capacity.estimate(load(windows, np.full(40, 10e6 * 1448 / 1500), srtt_s), 0.050, None)
    assert not found.is_bound
    assert found.rate_bps.value == pytest.approx(10e6, rel=1e-3)
    assert found.queue_bytes.value == pytest.approx(120_000 * 1500 / 1448 - 10e6 * 0.05 / 8, rel=0.05)


def test_goodput_that_grows_with_the_window_is_a_lower_bound():
    windows = np.tile(np.linspace(20_000, 60_000, 10), 4)
    found = capacity.estimate(load(windows, windows * 8 / 0.06, np.full(40, 0.06)), 0.050, None)
    assert found.is_bound
    assert found.elasticity == pytest.approx(1.0, abs=0.01)
    assert "measure with iperf3 -u" in found.how


def test_draws_keep_whole_slots():
    made = stepped(15.0, 12.0)[0]
    found = slots.find(made)
    drawn = draws.draw(made, found, 60.0, np.random.default_rng(1))
    assert drawn.time_s[0] == 0
    assert np.all(np.diff(drawn.time_s) > 0)
    assert 59 < drawn.time_s[-1] <= 60
    whole = np.round(made.rtt_s, 9)
    for at in range(4):
        inside = np.round(drawn.rtt_s[(drawn.time_s > 15 * at + 1) & (drawn.time_s < 15 * at + 14)], 9)
        start = np.flatnonzero(whole == inside[0])[0]
        assert np.array_equal(whole[start : start + len(inside)], inside)


def test_the_distance_of_samples_is_the_area_between_them():
    assert checking.distance(np.array([1.0, 2.0]), np.array([1.5, 2.5])) == pytest.approx(0.5)
    assert checking.distance(np.array([1.0]), np.array([1.0, 2.0])) == pytest.approx(0.5)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    (folder / "ping.txt").write_text(measurements.ping(1500, {3, 700, 701}))
    (folder / "iperf3.json").write_text(measurements.iperf3(seconds=40, step=1.0))
    return folder, bp.fit([folder / "ping.txt", folder / "iperf3.json"])


def test_the_written_scenario_runs_and_has_a_comment_per_number(fitted):
    folder, found = fitted
    found.save(folder / "path.toml", draws=3)
    text = (folder / "path.toml").read_text()
    scenario = bp.load(folder / "path.toml")
    assert scenario.digest == found.scenario.digest
    assert bp.run(found.scenario, sets={"duration": "2 s"}).flows["goodput_bps"][0] > 0
    assert bp.run(scenario, sets={"duration": "5 s"}).flows["goodput_bps"][0] > 0
    # Other congestion controls can be compared, although iperf3 names one.
    short = bp.load(folder / "path.toml", {"duration": "2 s"})
    assert bp.compare(short, ["cubic", "bbr3"], replications=2, jobs=1).names == ("cubic", "bbr3")
    assert "base 50.0 ms" in text
    assert "ASSUMED" in text
    drawn = sorted((folder / "path.data" / "draws").iterdir())
    assert [path.name for path in drawn] == ["draw-001.csv", "draw-002.csv", "draw-003.csv"]
    assert drawn[0].read_text().splitlines()[0] == "time_s,fwd_ms,rev_ms"
    # A draw takes the place of the measured trace.
    sets = {"link.path.forward.delay.file": "path.data/draws/draw-002.csv"}
    assert bp.load(folder / "path.toml", sets).digest != scenario.digest


def test_the_period_and_the_base_reach_the_search(tmp_path):
    """One slow ping makes no queue, and the period of the slots is known to the search."""
    draw = random.Random(1)
    steps = [draw.uniform(20, 40) for _ in range(30)]
    lines = ["t_s,rtt_ms"]
    for number in range(18_000):
        at = 0.02 * number
        lines.append(f"{at:.3f},{steps[int(at / 15)] + draw.expovariate(1):.2f}")
    lines[9000] = f"{0.02 * 8999:.3f},317"
    (tmp_path / "ping.csv").write_text("\n".join(lines))
    found = bp.fit(tmp_path / "ping.csv", check=False, held_out=False)
    assert found.slots.period_s == pytest.approx(15)
    found.save(tmp_path / "path.toml", draws=2)
    scenario = bp.load(tmp_path / "path.toml")
    work = Work(scenario.with_sets([("tune.space", "all")]))
    assert "leocc" in next(axis for axis in work.space.axes if axis.key == "tcp.cc").values
    base_s, rate = found.by_name["base"].value, found.by_name["rate forward"].value
    queue = float(scenario.to_dict()["link"]["path"]["forward"]["queue"].split()[0])
    assert queue == pytest.approx(max(base_s * rate / 8, 1500), abs=1)


def test_a_search_of_the_written_scenario_has_its_draws(fitted):
    folder, found = fitted
    found.save(folder / "tuned.toml", draws=3)
    work = Work(bp.load(folder / "tuned.toml"))
    assert [(each.name, len(each.draws)) for each in work.conditions] == [("as written", 0), ("drawn", 3)]
    assert [each.name for each in work.goal.measures] == ["goodput:transfer"]
    assert work.space.is_large
    found.save(folder / "tuned.toml", draws=0)
    assert [each.name for each in Work(bp.load(folder / "tuned.toml")).conditions] == ["as written"]


def test_an_older_fit_is_replaced_and_another_file_is_not(fitted):
    folder, found = fitted
    found.save(folder / "twice.toml", draws=0)
    found.save(folder / "twice.toml", draws=1)
    assert (folder / "twice.data" / "draws").is_dir()
    (folder / "mine.toml").write_text("title = 'mine'")
    with pytest.raises(FitError, match="was not written by fit"):
        found.save(folder / "mine.toml")
    assert (folder / "mine.toml").read_text() == "title = 'mine'"
    written = (folder / "twice.toml").read_text()
    (folder / "twice.toml").write_text(written.replace("delay", "delay "))
    with pytest.raises(FitError, match="was edited since fit wrote it"):
        found.save(folder / "twice.toml")
    assert "delay " in (folder / "twice.toml").read_text()
    (folder / "twice.toml").write_text(written)
    found.save(folder / "twice.toml", draws=0)
    assert not (folder / "twice.data" / "draws").exists()


def test_the_check_simulates_the_same_probes(fitted):
    _, found = fitted
    verdicts = {each.quantity: each for each in found.check}
    assert verdicts["rtt p50"].verdict == "agrees"
    assert verdicts["rtt W1"].simulated < 1e-4
    assert {"loss", "goodput forward"} <= set(verdicts)


def test_the_result_follows_the_contract(fitted, tmp_path):
    _, found = fitted
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.estimate("base").value == pytest.approx(0.050)
    assert set(found.table["kind"]) <= {"fitted", "lower bound", "assumed"}
    assert found.command().startswith("bentpipe fit ")
    assert found.plot("quantiles").axes
    assert found.report(tmp_path / "report").page.is_file()
    assert "<table" in found._repr_html_()
    assert len(found.draw(2, duration=20)) == 2
    with pytest.raises(BentpipeError, match="known: "):
        found.estimate("bas")


def test_losses_of_a_known_direction_stay_there(tmp_path):
    (tmp_path / "irtt.json").write_text(measurements.irtt(1000))
    text = bp.fit(tmp_path / "irtt.json", check=False).text("path.data")
    forward, reverse = text.split("[link.path.reverse]")
    assert "error = {" in forward
    assert "error = {" not in reverse


def test_slots_of_a_path_are_drawn_by_each_run(tmp_path):
    """Slots keep their base, waits and losses, and each seed draws others."""
    made, _ = stepped(15.0, 12.0, duration=600)
    rows = zip(made.send_s, 1e3 * made.rtt_s, strict=True)
    (tmp_path / "ping.csv").write_text("t_send_s,rtt_ms\n" + "".join(f"{at:.3f},{rtt:.3f}\n" for at, rtt in rows))
    found = bp.fit(tmp_path / "ping.csv", check=False)
    found.save(tmp_path / "path.toml", slots=True)
    link = bp.load(tmp_path / "path.toml").to_dict()["link"]["path"]["forward"]
    slots = link["slots"]
    assert slots["every"] == "15 s"
    assert 36 <= len(slots["rows"]) <= 40
    assert "delay.csv" not in (tmp_path / "path.toml").read_text()
    scenario = bp.load(
        tmp_path / "path.toml", {"duration": "600 s", "flow.transfer.app": {"kind": "probe", "interval": "20 ms"}}
    )
    rtts = [bp.run(scenario, seed=seed).probes["rtt_s"] for seed in (1, 2)]
    assert rtts[0].to_list() != rtts[1].to_list()
    for share in (0.05, 0.5, 0.95):
        measured = float(np.nanquantile(made.rtt_s, share))
        assert np.mean([rtt.quantile(share) for rtt in rtts]) == pytest.approx(measured, rel=0.15)


def test_slots_need_a_period(tmp_path):
    (tmp_path / "ping.txt").write_text(measurements.ping())
    found = bp.fit(tmp_path / "ping.txt", check=False)
    with pytest.raises(FitError, match="no slots of a known length"):
        found.save(tmp_path / "path.toml", slots=True)
    assert not (tmp_path / "path.toml").exists()


def test_files_of_one_time_and_two_paths_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text(measurements.ping())
    (tmp_path / "b.txt").write_text(measurements.ping(rtt=90.0))
    with pytest.raises(FitError, match=r"overlap in time: medians 53\.0 and 93\.0 ms"):
        bp.fit([tmp_path / "a.txt", tmp_path / "b.txt"])


def test_probes_beside_a_transfer_meet_its_queue_or_not(tmp_path):
    """Starlink queues ping apart, so the note follows from the data."""
    queue_ms = 40 * (1 + np.sin(np.arange(330) / 5))
    begin = 1_734_546_000
    lines = [f"{begin + at},1,2500000,400000,{1e3 * (50 + queue):.0f}" for at, queue in enumerate(queue_ms)]
    (tmp_path / "load.csv").write_text("t_s,interval_s,bytes,snd_cwnd_bytes,srtt_us\n" + "\n".join(lines) + "\n")

    def note(share):
        rows = [f"{begin + at / 10},{50 + share * queue_ms[at // 10] + at % 7:.3f}" for at in range(3300)]
        (tmp_path / "ping.csv").write_text("t_send_s,rtt_ms\n" + "\n".join(rows) + "\n")
        found = bp.fit([tmp_path / "ping.csv", tmp_path / "load.csv"], check=False, held_out=False)
        return next(note for note in found.notes if "probes during a transfer" in note)

    assert "have its queue in their round trips (correlation 1.00)" in note(1)
    assert "do not follow its round trips" in note(0)


def test_rates_that_change_from_slot_to_slot_are_a_trace(tmp_path):
    """A ping during the whole transfer: slots have their rates, and draws keep both together."""
    made, _ = stepped(15.0, 12.0, duration=330)
    rows = zip(made.send_s, 1e3 * made.rtt_s, strict=True)
    (tmp_path / "ping.csv").write_text("t_send_s,rtt_ms\n" + "".join(f"{at:.3f},{rtt:.3f}\n" for at, rtt in rows))
    begins = made.send_s[0] + np.arange(330)
    slot = np.floor((begins - 12.0) / 15.0).astype(int)
    rates = np.where(slot % 2, 40e6, 20e6)
    windows = np.tile(np.linspace(200_000, 400_000, 15), 22)
    lines = [
        f"{at:.3f},1,{rate / 8:.0f},{window:.0f},{1e6 * (0.06 + window / 1e7):.0f}"
        for at, rate, window in zip(begins, rates, windows, strict=True)
    ]
    (tmp_path / "load.csv").write_text("t_s,interval_s,bytes,snd_cwnd_bytes,srtt_us\n" + "\n".join(lines) + "\n")
    found = bp.fit([tmp_path / "ping.csv", tmp_path / "load.csv"], check=False)
    # The round trips of both are made apart from each other.
    assert any("do not follow its round trips" in note for note in found.notes)
    found.save(tmp_path / "path.toml", draws=2)
    rate = bp.load(tmp_path / "path.toml").to_dict()["link"]["path"]["forward"]["rate"]
    overhead = 1500 / 1448
    sizes = {"bit/s": 1e-6, "kbit/s": 1e-3, "Mbit/s": 1.0}
    written = [value.split() for _, value in rate["points"]]
    assert {round(float(value) * sizes[unit] / overhead) for value, unit in written} == {20, 40}
    drawn = found.draw(1, duration=120)[0]
    assert set((drawn["rate_mbps"] / overhead).round()) == {20, 40}
    content = (tmp_path / "path.data" / "draws" / "draw-001.csv").read_text()
    assert content.startswith("time_s,fwd_ms,rev_ms,rate_mbps\n")
    sets = {f"link.path.forward.{key}.file": "path.data/draws/draw-001.csv" for key in ("delay", "rate")}
    assert bp.load(tmp_path / "path.toml", sets).link_names


def test_a_delay_is_not_held_over_a_gap(tmp_path):
    """The last answer before a long outage is often late. Its delay must not stay for the whole outage."""
    rtt_s = np.full(4000, 0.050)
    rtt_s[999] = 0.400
    lost = np.zeros(4000, dtype=bool)
    lost[1000:2500] = True
    made = probes(rtt_s, lost)
    found = draws.replay(made, slots.find(made), (0.0, 0.0))
    during = found.rtt_s[np.searchsorted(found.time_s, 15.0) - 1]
    assert during == pytest.approx(0.050)


@pytest.mark.parametrize(
    ("simulated", "verdict"),
    [
        ([10.5], "agrees"),
        ([12.0], "differs"),
        ([8.0, 9.0, 12.0, 14.0, 16.0], "undecided"),
        # Outside all runs, but no farther than one more run may be.
        ([10.5, 12.0, 14.0, 16.0, 13.0], "undecided"),
        ([13.0, 13.5, 14.0, 14.5, 15.0], "differs"),
    ],
)
def test_a_transfer_among_runs_that_differ_a_lot_is_not_judged(simulated, verdict):
    assert checking.goodput("forward", 10.0, simulated).verdict == verdict


def test_the_command_prints_json_and_strict_fails_if_the_simulation_differs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ping.txt").write_text(measurements.ping())
    # 9 Mbit/s with a window that allows 90.
    (tmp_path / "iperf3.json").write_text(measurements.iperf3(cwnd=1_000_000))
    asked = ["fit", "ping.txt", "iperf3.json", "--json", "--strict"]
    monkeypatch.setattr(checking, "GOODPUT_MARGIN", 1e-6)
    done = CliRunner().invoke(app, asked)
    assert json.loads(done.output)["verdict"].startswith("differs")
    assert done.exit_code == 3
    assert CliRunner().invoke(app, asked[:-1]).exit_code == 0
    assert not list(tmp_path.glob("*.toml"))


def test_the_command_of_a_result_repeats_it(tmp_path):
    path = tmp_path / "lags.csv"
    path.write_text(measurements.csv().replace("rtt_ms", "lag"))
    found = bp.fit(path, columns={"lag": "rtt:ms"}, stamps="send", network="none", held_out=False, check=False)
    done = CliRunner().invoke(app, [*shlex.split(found.command())[1:], "--json"])
    assert json.loads(done.output)["numbers"] == found.to_dict()["numbers"]


@pytest.mark.parametrize("name", ['x"y', "a[b]c", "two  spaces", "new\nline", "back\\slash"])
def test_any_name_of_a_file_gives_a_scenario_with_its_draws(fitted, tmp_path, name):
    _, found = fitted
    place = tmp_path / f"{name}.toml"
    found.save(place, draws=2)
    scenario = bp.load(place)
    assert scenario.title == found.scenario.title
    assert len(Work(scenario).conditions[-1].draws) == 2


def test_each_direction_of_irtt_has_its_own_losses(tmp_path):
    """Bursts upwards, independent losses downwards. A probe that is lost upwards is no trial of the way down."""
    count = 40_000
    up = np.array(measurements.bursts(count, 5.0, 0.2, 0.9, seed=3))
    down = (np.random.default_rng(4).random(count) < 0.01) & ~up
    content = json.loads(measurements.irtt(count, lost=set()))
    for at in np.flatnonzero(up | down):
        trip = content["round_trips"][at]
        trip["lost"] = "true_up" if up[at] else "true_down"
        del trip["delay"]
    (tmp_path / "irtt.json").write_text(json.dumps(content))
    found = bp.fit(tmp_path / "irtt.json", check=False, held_out=False)
    numbers = found.by_name
    assert found.losses_by["forward"].kind == "independent"
    assert found.losses_by["reverse"].kind == "gilbert-elliott"
    assert numbers["loss forward"].low <= 0.01 <= numbers["loss forward"].high
    assert numbers["mean_bad reverse"].low <= 0.2 <= numbers["mean_bad reverse"].high
    assert numbers["loss"].value == pytest.approx((up | down).mean())
    forward, reverse = found.text("path.data").split("[link.path.reverse]")
    assert f'error = {{ kind = "packet", rate = {numbers["loss forward"].value:.6g} }}' in forward
    assert 'error = { kind = "gilbert-elliott"' in reverse
    # A loss without a known direction, in a short record: only the round trip has a model.
    content["round_trips"] = content["round_trips"][:2000]
    assert up[:2000].any()
    content["round_trips"][int(np.flatnonzero(up)[0])]["lost"] = "true"
    (tmp_path / "irtt.json").write_text(json.dumps(content))
    assert bp.fit(tmp_path / "irtt.json", check=False, held_out=False).losses_by == {}


@pytest.mark.parametrize("ratio", [1e-4, 2e-3, 0.05])
def test_the_inverse_of_a_goodput_is_its_loss_ratio(ratio):
    """The square-root law (Mathis 1997) has a closed inverse."""

    def goodput(given, seed):
        return 200e6 if given == 0 else min(200e6, 1.22 * 8 * 1448 / (0.05 * given**0.5))

    found = inverse.loss(goodput, goodput(ratio, 1))
    assert found.ratio.value == pytest.approx(ratio, rel=0.02)
    assert found.runs <= 20
    assert inverse.loss(goodput, 200e6).ratio is None
    assert inverse.loss(goodput, 1.0).ratio is None


def test_the_interval_of_the_inverse_holds_the_truth():
    """Both the measured transfer and the simulated ones spread by 10 %."""
    inside = 0
    for case in range(100):
        draw = np.random.default_rng(case)

        def goodput(given, seed, draw=draw):
            return 1e9 if given == 0 else 1e6 * (1e-3 / given) ** 0.6 * math.exp(draw.normal(0, 0.1))

        found = inverse.loss(goodput, goodput(1e-3, 0)).ratio
        inside += found.low <= 1e-3 <= found.high
    assert inside >= 85


def test_a_transfer_whose_losses_are_unknown_gets_them_from_its_goodput(tmp_path):
    """A simulated transfer with a known loss ratio, as a table without retransmissions."""
    truth = """
duration = "60 s"
[link.path]
from = "server"
to = "terminal"
delay = "25 ms"
[link.path.forward]
rate = "100 Mbit/s"
error = { kind = "packet", rate = 0.003 }
[link.path.reverse]
rate = "10 Mbit/s"
[flow.transfer]
from = "server"
to = "terminal"
app = "greedy"
[record]
series = ["goodput_bps"]
interval = "1 s"
"""
    run = bp.run(bp.loads(truth), seed=2)
    rates = run.series("goodput_bps")["goodput_bps"].to_numpy()
    # Other traffic has a queue, so that the window is seen to decide the goodput.
    trips = np.where(np.arange(len(rates)) == 0, 0.05, 0.06)
    rows = [
        f"{at},1,{rate / 8:.0f},{rate * trip / 8:.0f},{1e6 * trip:.0f}"
        for at, (rate, trip) in enumerate(zip(rates, trips, strict=True))
        if rate > 0
    ]
    (tmp_path / "load.csv").write_text("t_s,interval_s,bytes,snd_cwnd_bytes,srtt_us\n" + "\n".join(rows))
    found = bp.fit(tmp_path / "load.csv")
    number = found.by_name["tcp loss forward"]
    assert number.value == pytest.approx(0.003, rel=0.5)
    assert f'error = {{ kind = "packet", rate = {number.value:.6g} }}' in found.text("path.data")
    # The goodput has given the losses, so it is not checked.
    assert [each.quantity for each in found.check] == []


def test_a_queue_that_lost_no_segment_is_a_lower_bound(tmp_path):
    windows = np.linspace(80_000, 100_000, 40)
    made = load(windows, np.full(40, 10e6), 0.05 + np.linspace(0.01, 0.03, 40))
    found = capacity.estimate(dataclasses.replace(made, retransmits=np.zeros(40)), 0.050, None)
    assert math.isinf(found.queue_bytes.high)
    assert found.queue_how.startswith("lower bound")
    lossy = np.zeros(40)
    lossy[30] = 1
    assert math.isfinite(capacity.estimate(dataclasses.replace(made, retransmits=lossy), 0.050, None).queue_bytes.high)


def test_round_trips_of_segments_give_the_queue_beside_a_rare_delay():
    """20 Mbit/s and 125 kB behind 50 ms. In a recovery, the window is larger than the path and its queue."""
    windows = np.concatenate([np.full(100, 400_000.0), np.tile(np.linspace(180_000, 255_000, 10), 30)])
    waits_s = np.minimum((windows - 125_000) * 8 / 20e6, 0.05)
    longest_s = 0.05 + waits_s + 1500 * 8 / 20e6
    longest_s[200] += 0.04
    made = load(windows, np.full(400, 20e6 * 1448 / 1500), 0.05 + waits_s, step=0.1)
    made = dataclasses.replace(made, longest_s=longest_s, trip_s=0.05, retransmits=np.ones(400))
    found = capacity.estimate(made, 0.050, None)
    assert found.queue_bytes.value == pytest.approx(125_000, rel=0.02)
    assert found.queue_bytes.low <= 125_000 <= found.queue_bytes.high
    silent = capacity.estimate(dataclasses.replace(made, retransmits=np.zeros(400)), 0.050, None)
    assert math.isinf(silent.queue_bytes.high)


def test_the_held_out_half_tells_the_data_from_the_draws():
    """The second half is 30 % slower: the draws have the first half, and the miss is that of the data."""
    made, _ = stepped(15.0, 12.0, duration=840)
    slower = np.where(made.send_s > made.send_s[0] + 420, 1.3, 1.0)
    changed = dataclasses.replace(made, rtt_s=made.rtt_s * slower)
    held = checking.held_out(changed, slots.find(made))
    at = held.share.index(0.95)
    half = changed.rtt_s[changed.send_s <= changed.send_s[0] + 420]
    assert held.first[at] == pytest.approx(np.quantile(half, 0.95), rel=0.01)
    assert held.drawn[at] == pytest.approx(held.first[at], rel=0.03)
    assert held.measured[at] > 1.2 * held.first[at]
    assert held.slots == 28
    assert "more than by chance" in held.statement
    same = checking.held_out(made, slots.find(made))
    assert "by chance" in same.statement
    assert same.inside > held.inside


def test_the_band_holds_the_second_half_of_a_path_that_does_not_change():
    """Levels of slots are independent. Draws around the first half alone hold 79 % of these quantiles."""
    inside = []
    for seed in range(20):
        made, _ = stepped(15.0, 12.0, duration=750, spacing=0.5, seed=seed)
        held = checking.held_out(made, slots.find(made, period_s=15.0))
        inside.append(held.inside / len(held.share))
    assert np.mean(inside) > 0.88


def test_draws_of_a_path_without_a_period_leave_out_no_part():
    """A late burst in the last seconds of the record is in the draws."""
    rtt_s = np.full(10_000, 0.050)
    rtt_s[9600:] = 0.200
    made = probes(rtt_s)
    drawn = [draws.draw(made, no_slots(), 300.0, np.random.default_rng(seed)) for seed in range(5)]
    assert any((each.rtt_s > 0.15).any() for each in drawn)


def test_a_file_counts_once(tmp_path):
    path = tmp_path / "ping.txt"
    path.write_text(measurements.ping())
    with pytest.raises(FitError, match=r"ping.txt is given twice\n  expected each file once"):
        bp.fit([path, str(path)])
    (tmp_path / "copy.txt").write_text(measurements.ping())
    one, two = bp.fit(path, check=False), bp.fit([path, tmp_path / "copy.txt"], check=False)
    assert [each.value for each in two.numbers] == [each.value for each in one.numbers]


@pytest.mark.parametrize("given", [None, 5, b"ping.txt", [None], ["a\0b"]])
def test_a_name_of_another_type_is_an_error_of_the_library(tmp_path, given):
    with pytest.raises(FitError, match=r"data = .*\n  expected a (text or a pathlib.Path|name without zero bytes)"):
        bp.fit(given)
    (tmp_path / "ping.txt").write_text(measurements.ping())
    found = bp.fit(tmp_path / "ping.txt", check=False)
    with pytest.raises(BentpipeError, match=r"expected a text or a pathlib\.Path"):
        found.save(5)


def test_a_column_that_no_file_has_is_named_beside_other_faults(tmp_path):
    (tmp_path / "a.csv").write_text(measurements.csv().replace("rtt_ms", "rtt"))
    with pytest.raises(FitError) as refused:
        bp.fit(tmp_path / "a.csv", columns={"rt": "ms"})
    assert "a.csv:1: column rtt has no unit" in str(refused.value)
    assert "columns: no file has a column rt\n  known: rtt, t_s" in str(refused.value)
