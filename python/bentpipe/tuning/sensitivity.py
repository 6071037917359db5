"""Influence of each key on the score in the first rung: main effect of each key, and interactions of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.tuning.space import Point, Space

LEAST_POINTS = 30
"""Fewest points that show the influence of keys."""
RIDGE = 1e-3
"""Penalty of the fit of a sample, relative to the number of points."""


class Shares(NamedTuple):
    """Shares of the variance of the score."""

    main: dict[str, float]
    """Share of each key alone, by key."""
    rest: float
    """Share of interactions."""
    strongest: tuple[str, str] | None
    """The two keys with the largest interaction."""


def shares(space: Space, first: Sequence[tuple[Point, float]]) -> Shares | None:
    """Return the shares of variance; None if there are too few points or all are equal."""
    known = [(point, score) for point, score in first if np.isfinite(score)]
    scores = np.array([score for _, score in known])
    if len(known) < LEAST_POINTS or float(scores.var()) <= 0:
        return None
    positions = np.array([space.find_positions(point) for point, _ in known])
    fitted = {at: _fit_scores(positions[:, [at]], scores) for at in range(positions.shape[1])}
    variance = float(scores.var())
    main = {axis.key: float(fitted[at].var()) / variance for at, axis in enumerate(space.axes)}
    pairs = {
        (one, two): float(_fit_scores(positions[:, [one, two]], scores).var() - fitted[one].var() - fitted[two].var())
        for one in range(len(space.axes))
        for two in range(one + 1, len(space.axes))
    }
    best = max(pairs, key=lambda pair: pairs[pair], default=None)
    strongest = None if best is None else (space.axes[best[0]].key, space.axes[best[1]].key)
    return Shares(main, max(0.0, 1 - sum(main.values())), strongest)


def _fit_scores(columns: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the score that the levels of some keys predict: a ridge fit of indicators, in a full grid the averages."""
    _, levels = np.unique(columns, axis=0, return_inverse=True)
    table = np.eye(int(levels.max()) + 1)[np.ravel(levels)]
    centred = scores - scores.mean()
    penalty = RIDGE * len(scores) / table.shape[1] * np.eye(table.shape[1])
    weights = np.linalg.solve(table.T @ table + penalty, table.T @ centred)
    return np.asarray(table @ weights)
