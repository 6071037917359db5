"""Stub runners for tests of searches: outcomes of settings without any simulation."""

import numpy as np

from bentpipe.scenario.scenario import loads
from bentpipe.tuning.tune import arguments
from bentpipe.tuning.work import Work

SCENARIO = """
title = "stub"
duration = "9 s"
link.l = { from = "a", to = "b", rate = "1 Mbit/s", delay = "9 ms" }
flow.f = { from = "a", to = "b", app = "greedy" }
[tune]
objective = { "goodput:f" = 1 }
"""
VARY = {
    "tcp.cc": ["cubic", "reno", "hybla", "vegas"],
    "tcp.initial_window": ["10 segments", "20 segments", "40 segments"],
    "link.l.queue": ["10 packets", "20 packets", "40 packets"],
}


def work(vary=VARY, guard=None, more="", **settings):
    """Make the work of a search over the stub scenario."""
    wanted = {"objective": None, "conditions": None, "robust": None, "margin": None, "space": None, **settings}
    return Work(loads(SCENARIO.replace("[tune]", f"{more}[tune]"), arguments(vary, guard=guard, **wanted)), guard)


class Stub:
    """Outcomes from a function of a point, a condition and a seed: a metric each, in the order of the goal."""

    def __init__(self, work, outcome):
        self.work, self.outcome = work, outcome
        self.seeds = {"search": set(), "confirm": set()}
        self.count = 0
        self.asked = []

    def __call__(self, phase, wanted):
        first = self.work.seeds[phase]
        found = []
        for point, blocks in wanted:
            seeds = [first + block for block in blocks]
            self.seeds[phase] |= set(seeds)
            self.asked += [(phase, point.digest, seed) for seed in seeds]
            rows = [
                [self.outcome(dict(point.changes), condition.name, seed) for seed in seeds]
                for condition in self.work.conditions
            ]
            self.count += len(seeds) * len(self.work.conditions)
            found.append(np.array(rows, dtype=float).reshape(len(rows), len(seeds), -1))
        return found


def noise(*parts):
    """Return a standard normal number that depends on these parts only."""
    text = "|".join(map(str, parts)).encode()
    seed = int.from_bytes(__import__("hashlib").blake2b(text, digest_size=8).digest(), "big")
    return float(np.random.default_rng(seed).standard_normal())
