"""The page that compares shared access with SNS3 is true."""

import json
from pathlib import Path

import pytest

import bentpipe as bp

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "validation" / "sns3.md").read_text(encoding="utf-8")
SCENARIO = ROOT / "validation" / "sns3.toml"


def test_the_page_has_the_scenario_that_is_run():
    assert SCENARIO.read_text(encoding="utf-8").strip() in PAGE


def test_a_grant_takes_as_long_as_with_the_times_of_sns3():
    """T / 2 = 50 ms, u + v = 8 superframes of 100 ms, 280 ms of propagation, and a burst of 1616 symbols."""
    delay = bp.run(SCENARIO).datagrams["delay_p50_s"][0]
    assert delay == pytest.approx(0.28 + 0.05 + 0.8 + 1616e-6, abs=0.02)


def test_what_the_page_says_is_missing_is_missing():
    """A key for it would be in the schema. The row then has to go."""
    schema = json.loads((ROOT / "schema" / "scenario.schema.json").read_text(encoding="utf-8"))

    def keys(node):
        if isinstance(node, dict):
            yield from node.get("properties", {})
            for value in node.values():
                yield from keys(value)
        elif isinstance(node, list):
            for value in node:
                yield from keys(value)

    known = set(keys(schema))
    assert {"carriers", "plan_over", "random", "hold", "bursts"} <= known
    absent = {
        "capture",
        "marsala",
        "e_ssa",
        "guard_time",
        "beam_hopping",
        "beams",
        "s2x",
        "power_control",
        "clock_drift",
        "mesh",
    }
    assert not absent & known
