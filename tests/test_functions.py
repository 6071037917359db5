"""The pages of the middleboxes: each middlebox has one, with the measured values."""

import pytest

import bentpipe as bp
from validation import functions, kept

NAMES = [entry["name"] for entry in bp.choices()["middlebox"]]


def test_each_function_is_measured_and_no_other():
    """One's own is what whoever runs the scenario gives."""
    assert [name for name in NAMES if name not in functions.PLACES] == ["own"]
    assert functions.PLACES.keys() == kept.load("functions").keys()


@pytest.mark.parametrize("name", functions.PLACES)
def test_a_function_stands_where_its_page_says(name):
    place = functions.PLACES[name]
    boxes = {f"node.{node}.middlebox": boxes for node, boxes in functions.of_path(place.nodes, "LEO").items()}
    path = functions.of_path(place.path, "LEO")
    scenario = bp.loads(functions.SCENARIO, {**path, **boxes, "duration": "3 s"})
    assert bp.run(scenario).flows["goodput_bps"][0] > 0
