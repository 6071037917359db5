"""Memory of a connection: pairs of episodes, as the kernel ran them."""

import os

import pytest

from validation import kept, memory

PAIRS = kept.load("memory")["pairs"]
SAMPLE = [
    "late-many, late-many",
    "loss-one, timeout-real",
    "timeout-real, loss-tail",
    "timeout-spurious, idle-long",
    "idle-short, loss-several",
    "mark-one, window-long",
    "route-shorter, late-few",
    "window-long, route-longer",
]
CHOSEN = list(PAIRS) if os.environ.get("BENTPIPE_ALL") else SAMPLE
AGAIN = "run python -m validation.memory"
LEARNS_NOTHING = 'recovery = { kind = "rack", undo_shows_reordering = false }'
"""The host does not learn of reordering from a recovery that it undoes."""


def script(pair: str, change: str = "") -> str:
    first, second = pair.split(", ")
    return memory.script(first, second, change)


def test_all_pairs_were_run_and_each_difference_has_a_cause() -> None:
    assert list(PAIRS) == [", ".join(pair) for pair in memory.chosen(())], AGAIN
    assert {memory.EPISODES[name].kind for pair in PAIRS for name in pair.split(", ")} == set(memory.KINDS)
    for pair, result in PAIRS.items():
        assert result["verdict"] == "holds" or result["cause"] in memory.CAUSES, pair


@pytest.mark.parametrize("pair", CHOSEN)
def test_the_core_does_what_it_did_when_the_kernel_ran_the_pair(pair: str) -> None:
    text = script(pair)
    assert memory.facts(text) == PAIRS[pair]["facts"], AGAIN
    assert memory.digest(text) == PAIRS[pair]["digest"], AGAIN


def test_the_pairs_find_a_host_that_learns_nothing_from_an_undo() -> None:
    pair = "late-many, late-many"
    assert PAIRS[pair]["verdict"] == "holds"
    assert memory.digest(script(pair, LEARNS_NOTHING)) != PAIRS[pair]["digest"]
    # Without late packets it makes no difference.
    assert script("loss-one, timeout-real", LEARNS_NOTHING) == script("loss-one, timeout-real")


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("namespaces")
def test_the_kernel_holds_pairs_and_contradicts_a_host_that_learns_nothing() -> None:
    holding = [pair for pair in CHOSEN if PAIRS[pair]["verdict"] == "holds"]
    found = memory.compare({pair: script(pair) for pair in holding})
    # A busy machine is late: most, not all.
    assert sum(result["verdict"] == "holds" for result in found.values()) > len(found) / 2, found
    pair = "late-many, late-many"
    found = memory.compare({pair: script(pair, LEARNS_NOTHING)}, rounds=1)
    assert found[pair]["verdict"] == "differs"
