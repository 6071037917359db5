"""Answers of `mix` from ten replications, beside the answer of 200 replications, for ten pairs.

    python -m validation.fairness           # minutes
    python -m tools.docs fairness           # after that: the page

The numbers go into `validation/data/fairness.json`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import bentpipe as bp
from bentpipe.statistics.fairness import Fairness, judge_fairness
from validation import kept

PAIRS = (
    *("cubic,reno", "cubic,bbr3", "cubic,vegas", "cubic,hybla", "cubic,copa"),
    *("reno,westwood", "bbr1,cubic", "bbr3,bbr1", "illinois,reno", "htcp,cubic"),
)
ALL, EACH = 200, 10
"""Replications in all, and in each mix."""
SCENARIO = """
title = "Two flows share 20 Mbit/s over a low orbit"
duration = "30 s"

[link.sat]
from = "gateway"
to = "terminal"
rate = "20 Mbit/s"
delay = "20 ms"
queue = "1 bdp"
error = {{ kind = "packet", rate = {loss} }}

[flow.f]
from = "gateway"
to = "terminal"
"""
LOSSES = {"cubic,hybla": 1e-4, "reno,westwood": 1e-4}
"""Error rates of packets on the link; 1e-5 for the other pairs."""
MARGIN, CONFIDENCE = 0.1, 0.95


def measure(pair: str) -> dict[str, Any]:
    """Judge a pair from all replications, and from each part of them."""
    scenario = bp.loads(SCENARIO.format(loss=LOSSES.get(pair, 1e-5)))
    mixed = bp.mix(scenario, pair, replications=ALL, progress=False)
    values = {name: (mixed.values(name, "goodput"), mixed.values(name, "own")) for name in mixed.names}
    parts = [
        judge_fairness({name: (one[at], own[at]) for name, (one, own) in values.items()}, MARGIN, CONFIDENCE)
        for at in (np.arange(first, first + EACH) for first in range(0, ALL, EACH))
    ]
    whole = judge_fairness(values, MARGIN, CONFIDENCE)
    return {
        "answer": describe(whole),
        "harms": {name: list(ends) for name, ends in whole.harms.items()},
        "parts": dict(Counter(map(describe, parts))),
        "more": [each.more for each in parts if each.is_fair is None],
    }


def describe(found: Fairness) -> str:
    """The answer in a word."""
    return {True: "fair", False: "not fair", None: "cannot tell"}[found.is_fair]


def main() -> None:
    """Measure all pairs, and keep the numbers."""
    found: dict[str, Any] = {}
    for pair in PAIRS:
        found[pair] = measure(pair)
        kept.save("fairness", found)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()
