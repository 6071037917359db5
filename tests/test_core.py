"""The compiled module is what its stubs say."""

import subprocess
import sys

import bentpipe as bp
from bentpipe import _core


def test_stubs_match_the_binary():
    command = [sys.executable, "-m", "mypy.stubtest", "bentpipe._core", "--concise"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_public_names_exist_and_are_the_only_ones():
    assert all(hasattr(bp, name) for name in bp.__all__)
    assert dir(bp) == sorted(bp.__all__)


def test_build_info():
    assert _core.build_info()["profile"] in ("release", "debug")
    assert _core.build_info()["version"] == bp.__version__
