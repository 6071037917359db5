"""The check of a fit: a simulation of the same path seldom differs by chance, and another path does."""

from collections import Counter

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.fitting import checking, losses
from tests import measurements


@pytest.mark.parametrize(("probes", "simulated"), [(6000, 6000), (6000, 2000), (200, 200)])
def test_the_losses_of_one_path_seldom_differ_by_chance(probes, simulated):
    rng = np.random.default_rng(3)

    def differing(ratio, other):
        pairs = rng.binomial([probes, simulated], [ratio, other], (1000, 2))
        found = [
            checking.loss(losses.binomial(int(ours), probes), probes, theirs / simulated, simulated)
            for ours, theirs in pairs
        ]
        return np.mean([each.verdict == "differs" for each in found])

    # 5 % is the level, and three standard errors of 1000 repetitions.
    for ratio in (0.005, 0.05, 0.2):
        assert differing(ratio, ratio) <= 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5
    assert differing(0.05, 0.2) > 0.9


def test_the_round_trips_of_one_path_seldom_differ_by_chance():
    rng = np.random.default_rng(4)
    verdicts = Counter()
    for _ in range(200):
        one, other = (0.05 + rng.exponential(0.03, 150) for _ in range(2))
        verdicts.update((each.quantity, each.verdict) for each in checking.round_trips(one, other))
    for quantity in ("rtt p5", "rtt p50", "rtt p95", "rtt W1"):
        assert verdicts[quantity, "differs"] <= 200 * (0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5)
    assert verdicts["rtt p95", "undecided"] > 10
    later = {each.verdict for each in checking.round_trips(one, one + 0.06)}
    assert later == {"differs"}


def test_a_ratio_within_the_interval_keeps_the_model():
    ratio = losses.Value(0.01, 0.005, 0.02)
    numbers = {"mean_good": losses.Value(9, 5, 20), "rate_bad": losses.Value(0.6, 0.4, 0.8)}
    found = losses.Losses("gilbert-elliott", ratio, numbers, 9.0, 0.01)
    assert found.within(0).ratio.value == 0.01
    assert found.within(losses.Z).ratio.value == pytest.approx(0.02)
    assert found.within(-losses.Z).ratio.value == pytest.approx(0.005)
    # Twice the losses are twice the bursts.
    assert found.within(losses.Z).numbers["mean_good"].value == pytest.approx(4.5)
    assert found.within(losses.Z).numbers["rate_bad"].value == 0.6


def test_a_goodput_is_compared_over_the_interval_of_the_measured_losses(tmp_path):
    """Five of 6000 probes are lost; the true ratio is half of that, inside the interval."""
    (tmp_path / "ping.txt").write_text(measurements.ping(6000, set(range(600, 6000, 1200)), interval=0.01))
    made = bp.loads(
        """
        duration = "30 s"
        link.path = { from = "a", to = "b", delay = "25 ms", rate = "20 Mbit/s",
            error = { kind = "packet", rate = 4e-4 } }
        flow.f = { from = "a", to = "b" }
        """
    )
    result = bp.run(made, series=["goodput_bps", "cwnd_bytes", "srtt_s"])
    bps = result.series("goodput_bps")["goodput_bps"].to_numpy().reshape(-1, 5).mean(axis=1)
    ends = 0.5 * np.arange(1, 61)
    windows, trips = (
        np.interp(ends, each["time_s"].to_numpy(), each[name].to_numpy())
        for name, each in ((name, result.series(name)) for name in ("cwnd_bytes", "srtt_s"))
    )
    rows = [
        f"{1734546600 + end:.3f},0.5,{bps_ / 16:.0f},{window:.0f},{1e6 * trip:.0f}"
        for end, bps_, window, trip in zip(ends, bps, windows, trips, strict=True)
    ]
    (tmp_path / "load.csv").write_text("\n".join(["t_s,interval_s,bytes,snd_cwnd_bytes,srtt_us", *rows]))
    found = bp.fit([tmp_path / "ping.txt", tmp_path / "load.csv"], held_out=False)
    (compared,) = (each for each in found.check if each.quantity == "goodput forward")
    assert abs(compared.simulated - compared.measured) > checking.GOODPUT_MARGIN * compared.measured
    assert compared.verdict == "undecided"
