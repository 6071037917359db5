"""The pages of the functions of the network: there is one for each, and they say what was measured."""

import importlib.util
import sys
from pathlib import Path

import pytest

import bentpipe as bp

SPEC = importlib.util.spec_from_file_location(
    "functions", Path(__file__).resolve().parent.parent / "validation" / "functions.py"
)
functions = importlib.util.module_from_spec(SPEC)
sys.modules["functions"] = functions
SPEC.loader.exec_module(functions)

NAMES = [entry["name"] for entry in functions.entries()]


def test_each_function_is_measured_and_no_other():
    """One's own is what whoever runs the scenario gives."""
    assert [name for name in NAMES if name not in functions.PLACES] == ["own"]
    assert functions.PLACES.keys() == functions.kept().keys()


def test_the_pages_are_those_of_the_core_and_of_the_numbers():
    pages = functions.pages(functions.kept())
    assert {
        name for name, text in pages.items() if (functions.PAGES / name).read_text(encoding="utf-8") != text
    } == set()


@pytest.mark.parametrize("name", functions.PLACES)
def test_a_function_stands_where_its_page_says(name):
    place = functions.PLACES[name]
    boxes = {f"node.{node}.middlebox": boxes for node, boxes in functions.of_path(place.nodes, "LEO").items()}
    path = functions.of_path(place.path, "LEO")
    scenario = bp.loads(functions.SCENARIO, {**path, **boxes, "duration": "3 s"})
    assert bp.run(scenario).flows["goodput_bps"][0] > 0
