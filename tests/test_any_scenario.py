"""Scenarios with any keys: each ends with a result or with messages that have a place, within its budget.

`BENTPIPE_INPUTS` is the number of scenarios (default 300). `BENTPIPE_INPUTS_SEED` draws others (default 1).
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.errors import ScenarioError
from tests import any_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

INPUTS = int(os.environ.get("BENTPIPE_INPUTS", "300"))
SEED = int(os.environ.get("BENTPIPE_INPUTS_SEED", "1"))
PARTS = min(8, max(2, INPUTS // 100))
"""Tests that share the scenarios, so that several processes run them."""
ROUNDS = 20
"""Repairs of a scenario before it is given up."""
HANG_S = 600
"""Wait for a run. A scenario within the budget of the generator takes milliseconds."""
CPU_S, CPU_S_OF_EVENT = 10.0, 1e-6
"""Largest CPU time of a run, and for each event of its estimate."""
MEMORY_MAX = 2 << 30
"""Largest memory of the process, besides the estimate."""

pytestmark = pytest.mark.timeout(24 * 3600)

LESS_OR_EQUAL = (
    *(("retransmissions", "sent_packets"), ("arrived_packets", "sent_packets"), ("retransmitted_bytes", "sent_bytes")),
    *(("spurious_retransmissions", "retransmissions"), ("acked_bytes", "sent_bytes")),
)
"""Columns of flows without middleboxes, in this order at most. Proxies and copies count at other places."""


def find_numbers(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from find_numbers(inner, f"{place}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from find_numbers(inner, place)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield place, value


def find_broken(scenario: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """Return what cannot be true of a result."""
    found = [f"{place} is {number}" for place, number in find_numbers(result) if not math.isfinite(number)]
    found += [f"{place} is {number}" for place, number in find_numbers(result) if number < 0]
    found += [f"{row['link']} carries {row['utilisation']}" for row in result["links"] if row["utilisation"] > 1 + 1e-7]
    total = result["summary"]
    ends = total["delivered_packets"] + total["lost_packets"] + total["in_flight_packets"]
    if total["sent_packets"] != ends:
        found.append(f"{total['sent_packets']} packets were sent, and {ends} ended or are under way")
    if not any("middlebox" in node for node in scenario.get("node", {}).values()):
        for row in result["flows"]:
            for less, more in LESS_OR_EQUAL:
                if None not in (row[less], row[more]) and row[less] > row[more]:
                    found.append(f"{row['flow']}: {less} {row[less]} > {more} {row[more]}")
    return found


def try_scenarios(connection: Connection) -> None:
    """Run each scenario that comes, and answer with its refusals and faults."""
    peak = 0
    while True:
        scenario, is_repeated = connection.recv()
        before = time.process_time()
        answer: dict[str, Any] = {"keys": [], "wrong": []}
        try:
            read = bp.Scenario(scenario)
            events, memory = read._core.cost
            result = bp.run(read).to_dict()
            cpu_s = time.process_time() - before
            # The system knows the highest peak so far only.
            peak, before_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, peak
            answer["wrong"] += find_broken(scenario, result)
            if cpu_s > CPU_S + CPU_S_OF_EVENT * events:
                answer["wrong"].append(f"{cpu_s:.1f} s of CPU for {events:.1e} events")
            if before_peak < peak > MEMORY_MAX + memory:
                answer["wrong"].append(f"{peak:.1e} B for an estimate of {memory:.1e} B")
            if is_repeated and bp.run(read).to_dict() != result:
                answer["wrong"].append("another result at the second time")
        except ScenarioError as error:
            answer["keys"] = [problem.key for problem in error.problems]
            if not all(problem.key and any_scenario.find_place(scenario, problem.key) for problem in error.problems):
                answer["wrong"].append(f"no place: {error}")
        except BaseException as error:
            answer["wrong"].append(f"{type(error).__name__}: {error}")
        connection.send(answer)


class Child:
    """A process that runs scenarios, and may die of one."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=try_scenarios, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def run(self, scenario: dict[str, Any], is_repeated: bool) -> dict[str, Any]:
        self._connection.send((scenario, is_repeated))
        try:
            if self._connection.poll(HANG_S):
                answer: dict[str, Any] = self._connection.recv()
                return answer
            what = f"no end within {HANG_S} s"
        except EOFError:
            self._process.join()
            what = f"the process ended with status {self._process.exitcode}"
        self.close()
        self.__init__()  # type: ignore[misc]
        return {"keys": [], "wrong": [what]}

    def close(self) -> None:
        self._process.kill()
        self._process.join()


@pytest.mark.parametrize("part", range(PARTS))
def test_any_scenario_has_a_result_or_a_message_with_a_place(part: int) -> None:
    child, found, run = Child(), [], 0
    for number in range(part, INPUTS, PARTS):
        random = Random(f"{SEED} {number}")
        scenario = any_scenario.make_scenario(random)
        for _ in range(ROUNDS):
            answer = child.run(scenario, random.random() < 0.2)
            found += [(number, wrong, json.dumps(scenario)) for wrong in answer["wrong"]]
            run += not (answer["keys"] or answer["wrong"])
            # Each of them: a message names one fault.
            if sum(any_scenario.repair(scenario, key) for key in answer["keys"]) == 0:
                break
    child.close()
    for number, wrong, text in found:
        print(f"{number}: {wrong}\n{text}")
    assert not found, f"{len(found)} of {INPUTS // PARTS} scenarios, the first: {found[0][:2]}"
    # The keys in the messages repair most scenarios.
    assert run > 0.5 * INPUTS / PARTS
