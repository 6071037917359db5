"""The check of a fit: a simulation of the same path seldom differs by chance, and another path does."""

from collections import Counter

import numpy as np
import pytest

from bentpipe.fitting import checking, losses


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
