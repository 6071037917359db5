"""What all tests share."""

from pathlib import Path

import pytest

from bentpipe.experiment import task, workers


@pytest.fixture
def small():
    """Path of a scenario with two flows that takes milliseconds to run."""
    return Path(__file__).parent / "small.toml"


@pytest.fixture
def begun(monkeypatch):
    """The seeds of runs that are begun from here on."""
    seeds = []

    def execute(scenario, seed, *rest):
        seeds.append(seed)
        return task.execute(scenario, seed, *rest)

    monkeypatch.setattr(workers, "execute", execute)
    return seeds
