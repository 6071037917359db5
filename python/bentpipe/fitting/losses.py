"""Fits models of loss to lost and answered probes: independent, in bursts, or at slot boundaries.

The probability of a sequence is a product of matrices, one per series of equal outcomes (Gilbert 1960, Elliott 1963).
The power of a 2 x 2 matrix has a closed form, so a series costs as much as one probe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.fitting.measured import Array, Probes
    from bentpipe.fitting.slots import Slots

    Outcomes = NDArray[np.bool_]

REPLICATIONS = 100
"""Replications of the parametric bootstrap."""
NEAR_S = 0.5
"""Distance from a boundary within which losses are compared with the rest."""
BOUNDARY_P = 0.01
SMALLEST = 1e-7
INTERVAL = (0.025, 0.975)
Z = 1.96
"""Standard errors from the estimate to an end of the interval."""
WELL: Any = {"gtol": 1e-3, "maxiter": 100}
QUICK: Any = {"gtol": 0.05, "maxiter": 15}
"""Ends of the search. Replicas need no more digits than their spread has."""
LOSSES_MIN = 5
"""Least number of losses for models with states."""


@dataclass(frozen=True)
class Value:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Losses:
    """The model of loss with the least BIC.

    Attributes
    ----------
    kind : str
        `none`, `independent`, `bursts`, `gilbert-elliott` or `boundaries`.
    ratio : Value
        Share of lost probes.
    numbers : dict
        Parameters by name: durations in seconds, and rates.
    gain : float
        BIC (Bayesian information criterion) of independent losses minus BIC of this model.
    spacing_s : float
        Time between probes. Shorter bursts cannot be seen.
    """

    kind: str
    ratio: Value
    numbers: dict[str, Value]
    gain: float
    spacing_s: float

    def within(self, z: float) -> Losses:
        """Return the model with another loss ratio: `z` standard errors from the estimate."""
        value, end = self.ratio.value, self.ratio.high if z > 0 else self.ratio.low
        if not value:
            return self
        factor = 1 + abs(z) / Z * (end / value - 1)
        powers = {"mean_good": -1, "rate_near": 1, "rate_else": 1}
        numbers = {
            name: replace(each, value=each.value * factor ** powers.get(name, 0)) for name, each in self.numbers.items()
        }
        return replace(self, ratio=replace(self.ratio, value=value * factor), numbers=numbers)

    @property
    def mean_burst_s(self) -> float | None:
        found = self.numbers.get("mean_bad")
        return None if found is None else found.value


@dataclass(frozen=True)
class _Chain:
    """Chance per probe of a change to the bad state and back, and the loss rates of both states."""

    worse: float
    better: float
    rate_good: float
    rate_bad: float

    @property
    def share_bad(self) -> float:
        return self.worse / (self.worse + self.better)


def fit(probes: Probes, slots: Slots, seed: int = 1) -> Losses:
    """Fit all models, and take the one with the least BIC."""
    lost, count = probes.is_lost, len(probes.send_s)
    spacing_s = probes.spacing_s
    total = int(lost.sum())
    ratio = total / count
    random = np.random.default_rng(seed)
    plain = Losses("independent" if total else "none", binomial(total, count), {}, 0.0, spacing_s)
    if total < LOSSES_MIN:
        return plain
    penalty = math.log(count)
    alone = penalty - 2 * _likelihood_alone(total, count)
    lengths, firsts = find_runs(lost)
    chains = {"bursts": _markov(lost)}
    scores = {"independent": alone, "bursts": 2 * penalty - 2 * likelihood(chains["bursts"], lengths, firsts)}
    three, scored_three = _best(lengths, firsts, chains["bursts"], ratio, is_free=False)
    four, scored_four = _best(lengths, firsts, three, ratio, is_free=True)
    three_bic, four_bic = 3 * penalty - 2 * scored_three, 4 * penalty - 2 * scored_four
    chains["gilbert-elliott"] = three if three_bic <= four_bic else four
    scores["gilbert-elliott"] = min(three_bic, four_bic)
    near = _near(probes, slots)
    if near is not None and _is_more_often(lost, near):
        inside, outside = int(lost[near].sum()), int(lost[~near].sum())
        fits = _likelihood_alone(inside, int(near.sum())) + _likelihood_alone(outside, int((~near).sum()))
        scores["boundaries"] = 2 * penalty - 2 * fits
    kind = min(scores, key=lambda name: scores[name])
    gain = alone - scores[kind]
    if kind == "boundaries" and near is not None:
        numbers = {
            "rate_near": binomial(int(lost[near].sum()), int(near.sum())),
            "rate_else": binomial(int(lost[~near].sum()), int((~near).sum())),
        }
        return Losses(kind, plain.ratio, numbers, gain, spacing_s)
    chain = chains.get(kind)
    # Without memory from probe to probe, the states last shorter than the spacing.
    if chain is None or chain.worse + chain.better >= 1:
        return plain
    numbers, found = _intervals(chain, kind, count, spacing_s, ratio, random)
    return Losses(kind, found, numbers, gain, spacing_s)


def by_direction(probes: Probes, slots: Slots) -> dict[str, Losses]:
    """Fit the losses of each direction; empty unless the direction of each loss is known.

    A probe crosses the direction from the terminal first. If it is lost there, it does not reach the other direction.
    """
    if probes.lost_forward is None or probes.lost_reverse is None:
        return {}
    if (probes.is_lost & ~probes.lost_forward & ~probes.lost_reverse).any():
        return {}
    reverse = replace(probes, rtt_s=np.where(probes.lost_reverse, np.nan, 0.0))
    return {"forward": fit(probes.cut(~probes.lost_reverse), slots), "reverse": fit(reverse, slots)}


def binomial(hits: int, count: int) -> Value:
    """Return a share with its exact interval (Clopper and Pearson 1934)."""
    from scipy.stats import beta

    low = float(beta.ppf(INTERVAL[0], hits, count - hits + 1)) if hits else 0.0
    high = float(beta.ppf(INTERVAL[1], hits + 1, count - hits)) if hits < count else 1.0
    return Value(hits / count, low, high)


def find_runs(lost: Outcomes) -> tuple[Array, Outcomes]:
    """Return the length and the outcome of each series of equal outcomes."""
    edges = np.flatnonzero(np.diff(lost)) + 1
    starts = np.concatenate([[0], edges])
    lengths = np.diff(np.concatenate([starts, [len(lost)]]))
    return lengths.astype(np.float64), lost[starts]


def likelihood(chain: _Chain, lengths: Array, outcomes: Outcomes) -> float:
    """Return the logarithm of the probability of these series."""
    moves = np.array([[1 - chain.worse, chain.worse], [chain.better, 1 - chain.better]])
    rates = np.array([chain.rate_good, chain.rate_bad])
    total, powers = 0.0, np.empty((len(lengths), 2, 2))
    for outcome in (False, True):
        # A step takes the chance of the outcome, then moves.
        step = (rates if outcome else 1 - rates)[:, None] * moves
        chosen = outcomes == outcome
        powers[chosen], scale = _power(step, lengths[chosen])
        total += scale
    at_first = np.array([1 - chain.share_bad, chain.share_bad])
    product, scale = _product(powers)
    chance = float((at_first @ product).sum())
    return total + scale + math.log(chance) if chance > 0 else -math.inf


def _power(step: Array, lengths: Array) -> tuple[Array, float]:
    """Return powers of a matrix divided by those of its larger eigenvalue, and the logarithm of all these divisors."""
    (a, b), (c, d) = step
    root = math.sqrt((a - d) ** 2 + 4 * b * c)
    large, small = (a + d + root) / 2, (a + d - root) / 2
    if large <= 0:
        return np.zeros((len(lengths), 2, 2)), 0.0
    unit = np.eye(2)
    root = max(root, 1e-300)
    falls = np.power(small / large, lengths)[:, None, None]
    powers = ((step - small * unit) - falls * (step - large * unit)) / root
    return powers, float(lengths.sum()) * math.log(large)


def _product(matrices: Array) -> tuple[Array, float]:
    """Multiply matrices in pairs, in their order. Return the product over its scale, and the scale's logarithm."""
    scale = 0.0
    level = 0
    while len(matrices) > 1:
        level += 1
        last = matrices[-1:] if len(matrices) % 2 else None
        matrices = matrices[0 : len(matrices) - len(matrices) % 2 : 2] @ matrices[1::2]
        # Eight powers together are far from underflow. To scale takes longer than to multiply.
        if level % 3 == 0:
            sizes = np.maximum(matrices.max(axis=(1, 2)), 1e-300)
            matrices = matrices / sizes[:, None, None]
            scale += float(np.log(sizes).sum())
        if last is not None:
            matrices = np.concatenate([matrices, last])
    return matrices[0], scale


def _likelihood_alone(hits: int, count: int) -> float:
    if not 0 < hits < count:
        return 0.0
    return hits * math.log(hits / count) + (count - hits) * math.log(1 - hits / count)


def _markov(lost: Outcomes) -> _Chain:
    """Return the chain in which the outcome is the state: its estimates are counts of changes."""
    before, after = lost[:-1], lost[1:]
    worse = int((~before & after).sum()) / max(int((~before).sum()), 1)
    better = int((before & ~after).sum()) / max(int(before.sum()), 1)
    worse, better = (min(max(each, SMALLEST), 1 - SMALLEST) for each in (worse, better))
    return _Chain(worse, better, 0.0, 1.0)


def _best(
    lengths: Array, outcomes: Outcomes, near: _Chain, ratio: float, *, is_free: bool, starts: int = 3
) -> tuple[_Chain, float]:
    """Return the chain of the largest likelihood, and its logarithm; `is_free` frees the rate of the good state."""
    from scipy.optimize import minimize

    low, high = _logit(SMALLEST), _logit(1 - SMALLEST)

    def worst(point: Array) -> float:
        found = likelihood(_make_chain(np.clip(point, low, high)), lengths, outcomes)
        return -found if math.isfinite(found) else 1e12

    best, scored = near, -math.inf
    for rate_bad, longer in ((0.5, 3.0), (0.95, 1.0), (0.2, 10.0))[:starts]:
        rate_bad = near.rate_bad if starts == 1 else rate_bad
        longer = 1.0 if starts == 1 else longer
        first = [near.worse / longer, min(near.better / longer, 0.5), rate_bad]
        first += [near.rate_good or ratio / 10] if is_free else []
        given = np.clip([_logit(each) for each in first], low, high)
        found = minimize(worst, given, method="BFGS", options=QUICK if starts == 1 else WELL)
        if -found.fun > scored:
            best, scored = _make_chain(np.clip(found.x, low, high)), float(-found.fun)
    return best, scored


def _make_chain(point: Array) -> _Chain:
    worse, better, bad, *good = (1 / (1 + math.exp(-each)) for each in point)
    return _Chain(worse, better, good[0] if good else 0.0, bad)


def _logit(share: float) -> float:
    share = min(max(share, SMALLEST), 1 - SMALLEST)
    return math.log(share / (1 - share))


def _near(probes: Probes, slots: Slots) -> Outcomes | None:
    """Return the probes close to a boundary of slots; None without a period."""
    if slots.period_s is None or slots.phase_s is None:
        return None
    offset = (probes.send_s - slots.phase_s + slots.period_s / 2) % slots.period_s - slots.period_s / 2
    near: Outcomes = np.abs(offset) <= NEAR_S
    return near if near.any() and not near.all() else None


def _is_more_often(lost: Outcomes, near: Outcomes) -> bool:
    from scipy.stats import fisher_exact

    table = [
        [int((lost & near).sum()), int((~lost & near).sum())],
        [int((lost & ~near).sum()), int((~lost & ~near).sum())],
    ]
    return float(fisher_exact(np.array(table), alternative="greater")[1]) < BOUNDARY_P


def _numbers(chain: _Chain, spacing_s: float) -> dict[str, float]:
    """Return the parameters in time, for states that change by the clock."""
    memory = math.log(max(1 - chain.worse - chain.better, SMALLEST))
    return {
        "mean_good": -spacing_s / (chain.share_bad * memory),
        "mean_bad": -spacing_s / ((1 - chain.share_bad) * memory),
        "rate_good": chain.rate_good,
        "rate_bad": chain.rate_bad,
    }


def _intervals(
    chain: _Chain, kind: str, count: int, spacing_s: float, ratio: float, random: np.random.Generator
) -> tuple[dict[str, Value], Value]:
    """Return the parameters and the loss ratio, with intervals by a parametric bootstrap."""
    drawn = [_again(chain, kind, _simulate_outcomes(chain, count, random)) for _ in range(REPLICATIONS)]
    found = _numbers(chain, spacing_s)
    replicas: list[dict[str, Any]] = [_numbers(each, spacing_s) for each, _ in drawn if each is not None]
    values = {name: _value(value, [each[name] for each in replicas]) for name, value in found.items()}
    return values, _value(ratio, [share for _, share in drawn])


def _value(value: float, replicas: list[float]) -> Value:
    if not replicas:
        return Value(value, value, value)
    low, high = (float(each) for each in np.quantile(replicas, INTERVAL))
    return Value(value, min(low, value), max(high, value))


def _again(chain: _Chain, kind: str, lost: Outcomes) -> tuple[_Chain | None, float]:
    """Fit the same model to a replica; None if it has too few losses."""
    share = float(lost.mean())
    if lost.sum() < LOSSES_MIN:
        return None, share
    if kind == "bursts":
        return _markov(lost), share
    refit = partial(_best, is_free=chain.rate_good > 0, starts=1)
    return refit(*find_runs(lost), chain, share)[0], share


def _simulate_outcomes(chain: _Chain, count: int, random: np.random.Generator) -> Outcomes:
    """Draw outcomes: times in both states in turn, then losses at their rates."""
    is_bad = bool(random.random() < chain.share_bad)
    pairs = int(2 * count * chain.worse * chain.better / (chain.worse + chain.better)) + 16
    states = np.zeros(0, dtype=np.bool_)
    while len(states) < count:
        stays = random.geometric((chain.better, chain.worse) if is_bad else (chain.worse, chain.better), (pairs, 2))
        turns = np.tile([is_bad, not is_bad], pairs)
        # A stay may be longer than all probes together.
        states = np.concatenate([states, np.repeat(turns, np.minimum(stays.ravel(), count))])[:count]
    rates = np.where(states, chain.rate_bad, chain.rate_good)
    lost: Outcomes = random.random(count) < rates
    return lost
