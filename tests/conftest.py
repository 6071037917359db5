"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture
def small():
    """Path of a scenario with two flows that takes milliseconds to run."""
    return Path(__file__).parent / "small.toml"
