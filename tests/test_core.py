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


def test_rows_with_the_same_text_share_it():
    """A million rows name few flows, links and causes: a text for each would take most of the memory of a result."""
    link = {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "5 ms"}
    flow = {"from": "a", "to": "b", "app": {"kind": "probe", "interval": "1 ms"}}
    run = _core.Run(bp.Scenario({"duration": "1 s", "link": {"l": link}, "flow": {"f": flow}})._core)
    while not run.is_done:
        run.advance(1_000_000)
    probes = run.finish()["probes"]
    assert len(probes["outcome"]) >= 1000
    for name in ("flow", "outcome", "cause"):
        assert len({id(text) for text in probes[name]}) == len(set(probes[name]))
