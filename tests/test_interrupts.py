"""Ctrl-C, and congestion controls in Python that do not return: nobody has to wait for them."""

import os
import signal
import subprocess
import sys
import time

import pytest

PATIENCE_S = 120
"""How long to wait for what must happen. No test depends on how long it takes."""
HOP = """
    duration = "5 s"
    link.sat = { from = "gw", to = "term", rate = "2 Mbit/s", delay = "20 ms" }
    flow.d = { from = "gw", to = "term" }
"""
HANGS = """
import time
from pathlib import Path

import bentpipe as bp


class Hangs(bp.CongestionControl):
    def on_ack(self, ack, path):
        Path("hanging").touch()
        while True:
            BODY
"""
COMMANDS = {
    "compare": ["compare", "hop.toml", "--cc", "reno,hangs.py:Hangs", "--replications", "2", "--jobs", "1"],
    "mix": ["compare", "hop.toml", "--mix", "reno,hangs.py:Hangs", "--replications", "2"],
    "sweep": ["sweep", "hop.toml", "--vary", "tcp.cc=reno,hangs.py:Hangs", "--replications", "2"],
    "run": ["run", "hop.toml", "--cc", "hangs.py:Hangs"],
}


@pytest.fixture
def hanging(tmp_path):
    """Begins a command in whose hook a sender hangs, and gives its process once it hangs."""
    processes = []

    def begin(command, body):
        (tmp_path / "hop.toml").write_text(HOP)
        (tmp_path / "hangs.py").write_text(HANGS.replace("BODY", body))
        process = subprocess.Popen(
            [sys.executable, "-m", "bentpipe", *COMMANDS[command]],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "100"},
        )
        processes.append(process)
        wait_until((tmp_path / "hanging").exists, process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def wait_until(is_so, process):
    end_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end_s
        time.sleep(0.001)


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_stops_a_sender_that_hangs_and_says_where_it_was(hanging, command):
    process = hanging(command, "pass")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    last = errors.splitlines()[-1]
    assert last.startswith("interrupted a")
    assert ", in Hangs.on_ack, flow d" in last


@pytest.mark.parametrize("command", ["compare", "mix", "sweep"])
def test_a_second_ctrl_c_ends_what_cannot_be_interrupted(hanging, command, tmp_path):
    process = hanging(
        command, "try:\n                time.sleep(1000)\n            except BaseException:\n                pass"
    )
    process.send_signal(signal.SIGINT)
    # Signals that come at once are one: the second is sent until it was heard.
    end_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < end_s:
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "interrupted after " in errors
    assert "a congestion control in Python does not return, and ends with the process" in errors
    assert "Traceback" not in errors
    if command == "sweep":
        assert (tmp_path / "hop.sweep" / "index.sqlite").exists()
