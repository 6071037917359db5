"""The list of long tests names tests that there are."""

import re
from pathlib import Path

import pytest

NAMES = re.findall(r"(?m)^\d+ s  tests/(.+?)::(\w+)", Path(__file__).with_name("long.txt").read_text())


@pytest.mark.parametrize(("file", "test"), sorted(set(NAMES)))
def test_each_long_test_exists(file, test):
    """A test that gets another name gets it in `long.txt`, too: otherwise it would run each time."""
    assert re.search(rf"(?m)^def {test}\(", Path(__file__).with_name(file).read_text())
