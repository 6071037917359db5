"""The compiled module is what its stubs say."""

import subprocess
import sys

import bentpipe as bp
from bentpipe import _core


def test_stubs_match_the_binary(tmp_path):
    # The types of NumPy say nothing about the stubs, and take most of the time.
    alone = tmp_path / "mypy.ini"
    alone.write_text("[mypy]\nfollow_imports = skip\nfollow_imports_for_stubs = True\n")
    command = [sys.executable, "-m", "mypy.stubtest", "bentpipe._core", "--concise", "--mypy-config-file", alone]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_public_names_exist_and_are_the_only_ones():
    assert all(hasattr(bp, name) for name in bp.__all__)
    assert dir(bp) == sorted(bp.__all__)


def test_build_info():
    assert _core.build_info()["profile"] in ("release", "debug")
    assert _core.build_info()["version"] == bp.__version__
