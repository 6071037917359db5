"""Ends of emulations, and refusals: Ctrl-C, readers that want no more, limits of the system."""

import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

import bentpipe as bp
from bentpipe import files
from bentpipe.cli import real_time
from bentpipe.errors import BentpipeError, EmulationError

# They wait for other processes, or are many runs.
pytestmark = pytest.mark.timeout(600)

PATH = {"from": "a", "to": "b", "rate": "20 Mbit/s", "delay": "5 ms", "queue": "83 packets"}
SCENARIO = {"duration": "30 s", "link": {"path": PATH}, "flow": {"real": {"from": "a", "to": "b", "app": "port"}}}
BENTPIPE = [sys.executable, "-m", "bentpipe"]
TRIES = int(os.environ.get("BENTPIPE_KILLS", "20" if os.environ.get("BENTPIPE_ALL") else "3"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "path.toml").write_text(bp.Scenario(SCENARIO).resolve())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_a_terminal(line, act):
    """Status and output of a command at a terminal; `act` gets its other end and the output so far."""
    pid, end = pty.fork()
    if pid == 0:
        os.execv(line[0], line)
    printed, until = b"", time.monotonic() + 60
    while time.monotonic() < until:
        if select.select([end], [], [], 0.05)[0]:
            try:
                data = os.read(end, 1 << 16)
            except OSError:
                break
            if not data:
                break
            printed += data
        act(end, printed)
    os.close(end)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), printed.decode()


@pytest.mark.usefixtures("namespaces")
def test_a_program_that_the_duration_ends_has_its_own_status_and_a_line(place):
    def run(code):
        line = [*BENTPIPE, "emulate", "path.toml", "--set", "duration=2 s", "--serve", "echo", "-q"]
        line += ["--", sys.executable, "-c", code]
        return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)

    cut = run("import time; time.sleep(60)")
    assert (cut.returncode, cut.stdout) == (124, "")
    assert cut.stderr.startswith("the duration of 2 s ended the program, status 124")
    # A program that ends in time keeps its status.
    ended = run("raise SystemExit(7)")
    assert (ended.returncode, "124" in ended.stderr) == (7, False)


@pytest.mark.parametrize("is_quiet", [True, False])
def test_strict_gives_its_reason_also_if_nothing_else_is_printed(is_quiet, monkeypatch, capsys):
    monkeypatch.setattr(real_time, "_render_emulation", lambda _: ["Not trustworthy: a reason."])
    trust = SimpleNamespace(is_trustworthy=False, sentence="Not trustworthy: a reason.")
    found = SimpleNamespace(trust=trust, stopped="ended", status=0, to_dict=dict)
    with pytest.raises(click.exceptions.Exit) as ended:
        real_time.give(found, save=None, plot=None, json=False, quiet=is_quiet, strict=True)
    printed = capsys.readouterr()
    assert ended.value.exit_code == real_time.UNTRUSTWORTHY
    assert "Not trustworthy: a reason." in (printed.err if is_quiet else printed.out)


@pytest.mark.usefixtures("namespaces")
def test_ctrl_c_at_a_terminal_ends_in_tables_without_a_traceback(place):
    pressed = []

    def act(end, printed):
        if b"READY" in printed and not pressed:
            pressed.append(time.monotonic())
        if len(pressed) == 1 and time.monotonic() > pressed[0] + 1:
            pressed.append(os.write(end, b"\x03"))

    # As in the guide, with a shell around the client.
    fetch = f"echo READY; exec {sys.executable} -m bentpipe.emulation.programs fetch"
    status, text = in_a_terminal([*BENTPIPE, "emulate", "path.toml", "--serve", "bulk", "--", "sh", "-c", fetch], act)
    assert status == 130
    assert "Traceback" not in text
    assert "received " in text
    assert "Outside the scenario" in text


HEARS = """
import signal, sys, time
def end(*_):
    print("HEARD", flush=True)
    sys.exit()
signal.signal(signal.SIGINT, end)
print("READY", flush=True)
time.sleep(60)
"""


@pytest.mark.usefixtures("namespaces")
def test_ctrl_c_at_a_terminal_reaches_a_program_in_its_own_session(place):
    pressed = []

    def act(end, printed):
        if b"READY" in printed and not pressed:
            pressed.append(os.write(end, b"\x03"))

    status, text = in_a_terminal([*BENTPIPE, "emulate", "path.toml", "-q", "--", sys.executable, "-c", HEARS], act)
    assert (status, "HEARD" in text) == (130, True)


TYPES = """
import fcntl, os, termios
assert os.isatty(0)
try:
    fcntl.ioctl(0, termios.TIOCSTI, b"x")
except OSError as error:
    print("REFUSED", error.errno)
"""
# The terminal of `--shell` is that of the program: there only the filter refuses it.
WAYS = [("seccomp", False), ("landlock", False), ("landlock", True)]


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(("without", "is_shell"), WAYS)
def test_a_program_cannot_type_into_the_terminal_of_the_caller(without, is_shell, place):
    code = "import sys\nfrom bentpipe.emulation.emulate import carry_out\ncarry_out('path.toml', sys.argv[3:], "
    code += "without=[sys.argv[1]], shell=bool(int(sys.argv[2])))"
    line = [sys.executable, "-c", code, without, str(int(is_shell)), sys.executable, "-c", TYPES]
    status, text = in_a_terminal(line, lambda *_: None)
    assert (status, text.strip()) == (0, "REFUSED 1")


@pytest.mark.usefixtures("namespaces")
def test_a_shell_has_the_terminal_and_gives_it_back(place):
    # A program without job control: only the emulator moves the terminal.
    (place / "shell").write_text(
        f"#!{sys.executable}\nimport os, signal\nassert os.tcgetpgrp(0) == os.getpgrp() == os.getpid()\n"
        "print('MINE', flush=True)\nos.kill(0, signal.SIGKILL)\n"
    )
    (place / "shell").chmod(0o755)
    (place / "both.sh").write_text(
        f"SHELL={place}/shell {' '.join(BENTPIPE)} emulate path.toml -q --shell\n"
        "echo ENDED $?\nread line\necho got $line\n"
    )
    typed = []

    def act(end, printed):
        if b"ENDED" in printed and not typed:
            typed.append(os.write(end, b"words\n"))

    status, text = in_a_terminal(["/bin/sh", "both.sh"], act)
    assert status == 0
    for word in ("MINE", "ENDED 137", "got words"):
        assert word in text, text


def has_begun(command):
    """Whether our code is loaded: a traceback of Python's own start cannot be caught."""
    return command.poll() is not None or "_core.abi3" in Path(f"/proc/{command.pid}/maps").read_text()


INTERRUPTS_CHILDREN = """
import os, signal
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))
"""


@pytest.mark.usefixtures("namespaces")
def test_a_process_that_is_interrupted_at_its_birth_does_not_run_the_handler_of_its_parent(place):
    (place / "sitecustomize.py").write_text(INTERRUPTS_CHILDREN)
    run = subprocess.run(
        [*BENTPIPE, "emulate", "path.toml", "-q", "--serve", "bulk"],
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
    )
    assert (run.returncode, "Traceback" in run.stderr) == (0, False), run.stderr


@pytest.mark.usefixtures("namespaces")
def test_ctrl_c_at_any_instant_prints_no_traceback(place):
    dice = random.Random(3)
    line = [*BENTPIPE, "emulate", "path.toml", "-q", "--serve", "bulk"]
    for _ in range(TRIES):
        command = subprocess.Popen(line, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not has_begun(command):
            time.sleep(0.01)
        time.sleep(dice.uniform(0, 1.3))
        os.killpg(command.pid, signal.SIGINT)
        printed, said = command.communicate(timeout=30)
        for text in (printed.decode(), said.decode()):
            assert "Traceback" not in text, text
            assert "KeyboardInterrupt" not in text, text
        assert command.returncode == 130, (printed, said)


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("kill", [os.kill, os.killpg])
@pytest.mark.parametrize("duration", ["30 s", "1 s"])
def test_ctrl_c_ends_twin_without_a_verdict_on_either_side(place, kill, duration):
    """The signal comes during the emulated run, or, after a short one, during the many simulated runs."""
    line = [*BENTPIPE, "twin", "path.toml", "--set", f"duration={duration}", "--emulations", "1", "-n", "5000"]
    command = subprocess.Popen(line, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if duration == "30 s":
        while command.poll() is None and not Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text():
            time.sleep(0.01)
        time.sleep(1)
    else:
        assert command.stderr.readline().startswith("received ")
    kill(command.pid, signal.SIGINT)
    printed, said = command.communicate(timeout=60)
    assert command.returncode == 130, (printed, said)
    assert "Linux" not in printed
    assert re.search(r"^interrupted after \d+ of 5,001 runs; all are discarded, so there is no verdict$", said, re.M)


@pytest.mark.usefixtures("namespaces")
def test_a_reader_that_wants_no_more_of_a_client_is_no_traceback(place):
    line = f"{' '.join(BENTPIPE)} emulate path.toml --set duration='1 s' --serve bulk | head -1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        ("a 'b", 'serve="a \'b": no closing quotation\n  expected a command as in a shell'),
        ("a \\", "serve='a \\\\': no escaped character"),
        ("", "serve is empty\n  expected a command, or one of bulk, echo, http"),
    ],
)
def test_a_server_that_no_shell_could_read_is_refused(serve, words):
    with pytest.raises(EmulationError) as refused:
        bp.emulate(SCENARIO, ["true"], serve=serve)
    assert str(refused.value).startswith(words)


@pytest.mark.usefixtures("namespaces")
def test_what_cannot_be_a_program_is_named(tmp_path):
    (tmp_path / "text").write_text("no program")
    (tmp_path / "binary").write_bytes(b"\x7fELF nothing")
    (tmp_path / "binary").chmod(0o755)
    for command, words in (
        ([str(tmp_path / "text")], "text: permission denied\n  expected a program to run at b"),
        ([str(tmp_path / "binary")], "binary: exec format error\n  expected a program to run at b"),
        (["true", "x\0y"], "true: embedded null byte\n  expected a program to run at b"),
        ([str(tmp_path)], ": permission denied\n  expected a program to run at b"),
    ):
        with pytest.raises(EmulationError) as refused:
            bp.emulate(SCENARIO, command)
        assert words in str(refused.value)


@pytest.mark.usefixtures("namespaces")
def test_a_limit_of_namespaces_is_named(place):
    if shutil.which("unshare") is None:
        pytest.skip("unshare is missing")
    for kind, words in (("net", "network"), ("uts", "host name"), ("pid", "process")):
        within = f"echo 0 > /proc/sys/user/max_{kind}_namespaces && exec {' '.join(BENTPIPE)} emulate path.toml -- true"
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "sh", "-c", within], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, done.stderr
        assert (
            f"\n  {words} namespaces are switched off here: sudo sysctl -w user.max_{kind}_namespaces=" in done.stderr
        )


def test_captures_are_named_with_a_placeholder_in_braces_only(place):
    assert files.captures("HOSTILE.pcapng") == "HOSTILE-{host}.pcapng"
    (place / "HOSTING").mkdir()
    assert files.find_capture("HOSTING/geo.pcap", "a/b").as_posix() == "HOSTING/geo-a_b.pcap"
    assert files.find_capture("{host}-of-geo", "a").as_posix() == "a-of-geo.pcapng"
    for wrong, words in (
        ("", "pcap='' is not a file name"),
        ("/", "pcap='/' is not a file name"),
        (".", "pcap='.' is not a file name"),
        ("..", "pcap='..' is not a file name"),
        ("new/", "pcap='new/' is not a file name"),
        ("HOSTING", "pcap='HOSTING' is a folder\n  expected a file in it, such as HOSTING/out.pcapng"),
        ("s.toml", "pcap='s.toml' has no ending of a capture\n"),
        ("nodir/x", "pcap='nodir/x': there is no folder nodir\n"),
        ("{host}/x", "pcap='{host}/x' has {host} in the name of a folder"),
        ("x" * 300, "cannot be written: file name too long"),
    ):
        with pytest.raises(BentpipeError) as refused:
            files.captures(wrong)
        assert words in str(refused.value)
    done = subprocess.run([*BENTPIPE, "run", "geo", "--pcap", ""], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"error: --pcap '' is not a file name")


def test_captures_of_a_run_that_cannot_be_written_are_named(place):
    (place / "geo-b.pcapng").mkdir()
    sender = {**SCENARIO, "duration": "0.1 s", "flow": {"f": {"from": "a", "to": "b"}}}
    with pytest.raises(BentpipeError, match=r"^geo-b\.pcapng cannot be written: is a directory"):
        bp.run(sender, pcap="geo.pcapng")
    bp.run(sender, pcap="HOSTILE.pcapng")
    assert sorted(path.name for path in place.glob("HOSTILE*")) == ["HOSTILE-a.pcapng", "HOSTILE-b.pcapng"]


@pytest.mark.usefixtures("namespaces")
def test_a_run_names_the_hosts_that_ran_and_the_end_of_its_program(place):
    def cli(*words):
        done = subprocess.run([*BENTPIPE, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        hosts = re.findall(r"^hosts: .*", done.stdout, re.M)
        return hosts, re.findall(r"^Ended at .*", done.stdout, re.M)[0]

    kernel = f"hosts: Linux {os.uname().release} (kernel)"
    hosts, ended = cli("emulate", "path.toml", "--", "true")
    assert hosts == [kernel]
    assert ended.endswith("(the program ended)")
    hosts, ended = cli("emulate", "path.toml", "--serve", "bulk", "--cc", "reno", "--set", "duration=1 s")
    assert hosts == [f"{kernel}, reno"]
    assert ended.endswith("(duration)")
    likes = {"linux-6": "Linux 6", "rfc": "RFC defaults"}
    for like, name in likes.items():
        sets = ["--set", f"tcp.like={like}", "--set", "duration=1 s"]
        hosts, _ = cli("speak", "path.toml", "--cc", "hybla", *sets, "--save", like)
        assert len(hosts) == 1
        assert hosts[0].startswith(kernel)
        assert hosts[0].endswith(f"; {name} (bentpipe), hybla")
        assert f"hosts: {bp.Emulation.load(like).hosts}" == hosts[0]
        assert hosts[0].removeprefix("hosts: ") in bp.report(like).page.read_text()
