"""Measures the search of `bentpipe tune`: false claims under a true null, and regret against full enumeration.

    python -m bench.tune null 500
    python -m bench.tune regret geo-home 20 --blocks 24

`null`: searches over settings that are all equal, without simulation. A verdict `better` is false.

`regret`: every setting of a scenario runs in each block. Then each search gets blocks drawn from these, so it costs no
more runs. The truth of a setting is its mean over all blocks. The guards of the best setting are shown to hold.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace

import numpy as np

from bentpipe.experiment.execution.workers import workers
from bentpipe.experiment.store.store import Store
from bentpipe.scenario.scenario import scenario_of
from bentpipe.tuning.blocks import Executed
from bentpipe.tuning.confirming import BETTER
from bentpipe.tuning.guarding import held
from bentpipe.tuning.work import Work
from tests.tuned import Stub, noise, work

SPREAD = 0.05


def null(searches: int) -> None:
    """Count false claims."""
    each, false = work(), 0
    for search in range(searches):

        def equal(changes, condition, seed, search=search):
            return float(np.exp(SPREAD * noise(search, changes, seed) + noise(search, seed)))

        false += each.searched(Stub(each, equal)).verdict == BETTER
    print(f"null: {false} of {searches} searches claim better ({100 * false / searches:.1f} %)")


def regret(name: str, searches: int, blocks: int, store: str, *, has_guards: bool) -> None:
    """Compare searches with the best of all settings."""
    found = Work(scenario_of(name))
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
            draw = np.random.default_rng([search, phase == "confirm"]).integers(0, blocks, 1000)
            return [of[point.digest][:, draw[list(of_point)]] for point, of_point in wanted]

        result = found.searched(drawn)
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
    asked = parser.parse_args()
    if asked.kind == "null":
        null(asked.searches)
    else:
        regret(asked.scenario, asked.searches, asked.blocks, asked.store, has_guards=not asked.without_guards)


if __name__ == "__main__":
    main()
