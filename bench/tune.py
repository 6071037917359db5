"""Measures the search of `bentpipe tune`: false claims under a true null, and regret against full enumeration.

    python -m bench.tune null 500
    python -m bench.tune regret geo-home 20 --blocks 24
    python -m bench.tune cluster tcp://127.0.0.1:8786

`null`: searches over settings that are all equal, without simulation. A verdict `better` is false.

`regret`: the space is a scenario with `[tune]`, or one of `SPACES`. Every setting runs in each block. Then each search
gets blocks drawn from these, so it costs no more runs. The truth of a setting is its mean over all blocks. The guards
of the best setting are shown to hold.

`cluster`: a search by the workers of a Dask scheduler has the result of a search in local processes.
"""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from dataclasses import replace

import numpy as np

from bentpipe.experiment.execution.workers import workers
from bentpipe.experiment.store.store import Store
from bentpipe.scenario.scenario import make_scenario
from bentpipe.tuning.blocks import Executed
from bentpipe.tuning.confirming import BETTER
from bentpipe.tuning.guarding import held
from bentpipe.tuning.tune import tune
from bentpipe.tuning.work import Work
from tests.tuned import Stub, noise, work

SPREAD = 0.05
CC = ["cubic", "bbr1", "hybla", "westwood-plus", "illinois"]
SPACES = {
    "home-worst": ("geo-home", {"tune.robust": "worst"}),
    # Losses in bursts, rare and often: a sender that takes them for congestion is slow.
    "bursts": (
        "bursts",
        {
            "duration": "60 s",
            "tcp": {"like": "linux-6"},
            "tune.objective": {"goodput": 1},
            "tune.vary.tcp.cc": CC,
            "tune.vary.tcp.initial_window": ["10 segments", "40 segments"],
            "tune.vary.link.sat.queue": ["0.25 bdp", "1 bdp", "2 bdp"],
            "tune.condition.often.link.sat.forward.error.mean_good": "1 s",
        },
    ),
    # Transfers of 2 MB and 20 MB beside a long one, in one queue.
    "broadband": (
        "geo-broadband",
        {
            "duration": "60 s",
            "tune.objective": {"completion:page": 1, "completion:update": 1},
            "tune.vary.tcp.cc": CC,
            "tune.vary.tcp.initial_window": ["10 segments", "20 segments", "40 segments"],
            "tune.vary.link.sat.forward.queue": [
                "0.25 bdp",
                "1 bdp",
                {"kind": "fq-codel", "target": "30 ms", "interval": "600 ms", "ecn": False},
            ],
            "tune.condition.rain.link.sat.forward.rate": "20 Mbit/s",
        },
    ),
}
"""Spaces to enumerate, besides scenarios with `[tune]`: a scenario, and values over its own."""


def null(searches: int) -> None:
    """Count false claims."""
    each, false = work(), 0
    for search in range(searches):

        def equal(changes, condition, seed, search=search):
            return float(np.exp(SPREAD * noise(search, changes, seed) + noise(search, seed)))

        false += each.search(Stub(each, equal)).verdict == BETTER
    print(f"null: {false} of {searches} searches claim better ({100 * false / searches:.1f} %)")


def regret(name: str, searches: int, blocks: int, store: str, *, has_guards: bool) -> None:
    """Compare searches with the best of all settings."""
    base, sets = SPACES.get(name, (name, {}))
    found = Work(make_scenario(base, sets))
    if not has_guards:
        found.goal = replace(found.goal, guards=())
    points = found.space.whole()
    with closing(workers(None, None)) as place, Store(store) as opened:
        runner = Executed(found.scenario, found.conditions, found.goal, opened, place)
        values = runner("search", [(point, range(blocks)) for point in points])
    of = dict(zip((point.digest for point in points), values, strict=True))
    default = of[found.space.default.digest]
    total = {digest: found.goal.total(each, default, found.shares) for digest, each in of.items()}
    holds = {digest: all(each.is_shown for each in held(found.goal, each, default)) for digest, each in of.items()}
    best = min(total[digest] for digest in total if holds[digest])
    regrets, runs, exact = [], [], 0
    for search in range(searches):

        def drawn(phase, wanted, search=search):
            # Blocks of the search differ, as its seeds do: equal ones would look like certainty.
            rng = np.random.default_rng([search, phase == "confirm"])
            draw = rng.integers(0, blocks, 1000) if phase == "confirm" else np.resize(rng.permutation(blocks), 1000)
            return [of[point.digest][:, draw[list(of_point)]] for point, of_point in wanted]

        result = found.search(drawn)
        chosen = result.content["recommended"]["digest"]
        regrets.append(float(np.expm1(max(0.0, total[chosen] - best))))
        exact += total[chosen] <= best
        runs.append(result.content["runs"]["all"])
    whole = len(points) * len(found.conditions) * 20
    near = [sum(each <= limit for each in regrets) / searches for limit in (0.01, 0.02)]
    print(
        f"regret of {name}: mean {100 * np.mean(regrets):.2f} %, at most 1 %: {near[0]:.2f}, at most 2 %: {near[1]:.2f}"
    )
    print(f"exactly the best: {exact / searches:.2f}; {np.mean(runs):.0f} runs, all settings on 20 seeds: {whole}")


def cluster(address: str) -> None:
    """Compare a search on a cluster with a local one, byte by byte."""
    local, there = (tune("geo-home", on=on).to_dict() for on in (None, address))
    same = json.dumps(local) == json.dumps(there)
    print(f"cluster: {there['runs']['all']} runs, {there['verdict']}; equal to the local search: {same}")


def main() -> None:
    """Run the measurement that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    of_null = kinds.add_parser("null")
    of_null.add_argument("searches", type=int)
    of_regret = kinds.add_parser("regret")
    of_regret.add_argument("scenario")
    of_regret.add_argument("searches", type=int)
    of_regret.add_argument("--blocks", type=int, default=24)
    of_regret.add_argument("--without-guards", action="store_true")
    of_regret.add_argument("--store", default="regret.sweep")
    of_cluster = kinds.add_parser("cluster")
    of_cluster.add_argument("address")
    asked = parser.parse_args()
    if asked.kind == "null":
        null(asked.searches)
    elif asked.kind == "cluster":
        cluster(asked.address)
    else:
        regret(asked.scenario, asked.searches, asked.blocks, asked.store, has_guards=not asked.without_guards)


if __name__ == "__main__":
    main()
