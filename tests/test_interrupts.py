"""Ctrl-C, also during congestion controls in Python that do not return: users need not wait for them."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import bentpipe as bp
from bentpipe.errors import Interrupted
from bentpipe.experiment.execution.execution import AHEAD, Execution

# These tests wait for other processes, or have many runs.
pytestmark = pytest.mark.timeout(600)

PATIENCE_S = 120
"""Longest wait for an event, in seconds. No test depends on its duration."""
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
    "mix": ["mix", "hop.toml", "--cc", "reno,hangs.py:Hangs", "--replications", "2"],
    "sweep": ["sweep", "hop.toml", "--vary", "tcp.cc=reno,hangs.py:Hangs", "--replications", "2"],
    "run": ["run", "hop.toml", "--cc", "hangs.py:Hangs"],
}


@pytest.fixture
def hanging(tmp_path):
    """Start a command whose congestion control hangs in a hook, and return its process once it hangs."""
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
    # Simultaneous signals are one. The second is sent until the process reacts.
    end_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < end_s:
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "interrupted after " in errors
    assert "a congestion control in Python does not return; it ends with the process" in errors
    assert "Traceback" not in errors
    if command == "sweep":
        assert (tmp_path / "hop.sweep" / "index.sqlite").exists()


class Dying:
    """An object that raises Ctrl-C where Python ignores exceptions, as in callbacks of its garbage collector."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def sweep(path, progress):
    # The points are counted before the first run.
    vary, progress_of = {"seed": list(range(20))}, lambda each: each.running and progress()
    return bp.sweep(path, vary, replications=1, jobs=1, progress=progress_of)


def compare(path, progress):
    return bp.compare(path, ["reno", "sack"], replications=20, jobs=1, progress=lambda _: progress())


def mix(path, progress):
    return bp.mix(path, ["reno", "sack"], replications=20, jobs=1, progress=lambda _: progress())


@pytest.fixture
def hop(tmp_path):
    (tmp_path / "hop.toml").write_text(HOP)
    return tmp_path / "hop.toml"


@pytest.mark.parametrize("command", [sweep, compare, mix])
def test_a_ctrl_c_that_python_ignores_is_heard(command, hop, monkeypatch):
    ignored, looks = [], []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)

    def interrupt():
        looks.append(signal.getsignal(signal.SIGINT))
        if len(looks) == 1:
            Dying()

    with pytest.raises(Interrupted, match=r"^interrupted after \d+ of (20|40|60) ") as interrupted:
        command(hop, interrupt)
    assert len(looks) == 1
    assert ignored == []
    assert sys.unraisablehook == ignored.append
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if command is sweep:
        assert interrupted.value.result.runs.height <= AHEAD


@pytest.mark.parametrize("command", [sweep, compare, mix])
def test_a_ctrl_c_while_finished_runs_are_collected_loses_no_report(command, hop, monkeypatch):
    keep = Execution._keep

    def collect(self, finished):
        if interrupts:
            signal.raise_signal(signal.SIGINT)
        return keep(self, finished)

    interrupts = []

    def interrupt():
        interrupts.append(signal.SIGINT)
        raise KeyboardInterrupt

    monkeypatch.setattr(Execution, "_keep", collect)
    with pytest.raises(Interrupted, match=r"^interrupted after \d+ of (20|40|60) "):
        command(hop, interrupt)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("command", [sweep, compare, mix])
def test_what_else_python_ignores_is_reported_as_ever(command, hop, monkeypatch):
    ignored, looks = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: ignored.append(what.exc_type))

    class Fails:
        def __del__(self):
            raise ZeroDivisionError

    command(hop, lambda: (looks.append(1), Fails()))
    assert ignored == [ZeroDivisionError] * len(looks) != []


@pytest.mark.parametrize("command", [sweep, compare, mix])
def test_another_handler_of_ctrl_c_stays(command, hop, monkeypatch):
    heard = []

    def handler(number, _):
        heard.append(number)

    before = signal.signal(signal.SIGINT, handler)
    try:
        command(hop, lambda: heard or Dying())
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


@pytest.mark.parametrize("command", [sweep, compare, mix])
def test_outside_of_the_main_thread_nothing_is_done_about_ctrl_c(command, hop):
    looks = []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(command, hop, lambda: looks.append(signal.getsignal(signal.SIGINT))).result()
    assert set(looks) == {signal.default_int_handler}


def test_an_interrupt_within_an_exec_keeps_the_exit_status(tmp_path):
    """CPython ends by a signal after an interrupt in `exec`, even if it was caught, such as while SciPy is loaded."""
    begin = "import sys\nfrom bentpipe import __main__ as main\n"
    caught = "try:\n    exec('raise KeyboardInterrupt')\nexcept KeyboardInterrupt:\n    pass\n"
    codes = []
    for end in ("", "main._end_interrupted()\n"):
        (tmp_path / "ended.py").write_text(f"{begin}{caught}{end}sys.exit(main.INTERRUPTED)")
        codes.append(subprocess.run([sys.executable, "-m", "ended"], cwd=tmp_path, check=False).returncode)
    assert codes[0] in (-signal.SIGINT, 130)
    assert codes[1] == 130
