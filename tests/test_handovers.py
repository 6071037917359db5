"""The page about handovers says what the simulator does, and what it does follows from the delays of the links."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SPEC = importlib.util.spec_from_file_location("handovers", ROOT / "validation" / "handovers.py")


@pytest.fixture(scope="module")
def handovers():
    module = importlib.util.module_from_spec(SPEC)
    sys.modules["handovers"] = module
    SPEC.loader.exec_module(module)
    return module


def test_the_page_has_the_table_that_the_script_makes(handovers):
    outcomes = {name: handovers.run(case) for name, case in handovers.CASES.items()}
    assert handovers.table(outcomes) in handovers.PAGE.read_text(encoding="utf-8")
    assert handovers.FIGURE.exists()
    for outcome in outcomes.values():
        assert len(outcome.arrived) + len(outcome.lost) == 250


def test_what_a_handover_cuts_off_is_what_was_in_flight(handovers):
    """41.8 ms of packets 2 ms apart are 20; the ten on the first link go on where a node sends them another way."""
    lost = {name: len(handovers.run(case).lost) for name, case in handovers.CASES.items()}
    assert lost["at once"] == lost["downlink only, source route"] == 20
    assert lost["make before break, 60 ms"] == 0
    assert lost["downlink only, hop by hop"] == lost["at once, in flight delivered"] == 10
    assert lost["break before make, 80 ms, lost"] == 20 + 40
