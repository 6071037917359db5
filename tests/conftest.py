"""What all tests share."""

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

if importlib.util.find_spec("bentpipe") is None or importlib.util.find_spec("bentpipe._core") is None:
    # Until the engine is merged, see fake_core.py.
    sys.path[:0] = [str(HERE.parent / "python"), str(HERE)]
    import types

    errors = importlib.util.spec_from_file_location("bentpipe.errors", HERE.parent / "python/bentpipe/errors.py")
    stub = types.ModuleType("bentpipe")
    stub.__path__ = [str(HERE.parent / "python/bentpipe")]
    sys.modules["bentpipe"] = stub
    import fake_core

    sys.modules["bentpipe._core"] = fake_core
    del sys.modules["bentpipe"]
    import bentpipe

    bentpipe._core = fake_core


@pytest.fixture
def small():
    """Path of a scenario with two flows that takes milliseconds to run."""
    return HERE / "small.toml"
