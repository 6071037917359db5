"""The processes of an emulation. This module runs in a separate process with one thread and few imports.

The caller starts the front. The front leaves the namespaces of the machine and starts the engine, which is the first
process of a process namespace. The engine makes the hosts, starts the programs and drives the network. Each process
ends with its parent, and all children of programs end with the engine.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import signal
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.emulation import machine, signals
from bentpipe.emulation.reaper import Reaper
from bentpipe.emulation.wakes import Wakes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from bentpipe.errors import EmulationError

FAILED = 125
"""Exit status of the emulator's own failures; a program's own status is passed on."""
LISTENS_WITHIN_S = 5.0
GRACE_S = 2.0
"""Time for programs to end after SIGTERM, seconds."""
INTERRUPT_S = 0.5
"""Time for a program to end after SIGINT, before SIGTERM, seconds."""
SLICE_S = 0.1
"""Interval between checks for signals, seconds."""

PROGRAMS = "bentpipe.emulation.programs"
"""The module of built-in programs."""

SYSCTLS = (
    *("tcp_timestamps", "tcp_window_scaling", "tcp_dsack", "tcp_slow_start_after_idle", "tcp_sack", "tcp_recovery"),
    *("tcp_ecn", "tcp_no_metrics_save", "tcp_rmem", "tcp_wmem"),
)
COUNTERS = ("snmp", "netstat")
"""Files in /proc/net with a line of names and a line of values for each protocol."""


class StopError(Exception):
    """A signal asks for the end."""


def main() -> None:
    """Start the engine, wait for it, and exit with its status."""
    # A terminal sends Ctrl-C to all processes, and the engine acts on it. The caller has held it back until here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    report = int(sys.argv[2])
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        job = marshal.load(file)
    if not _core.end_with_parent(job["parent"]):
        os._exit(FAILED)
    try:
        has_priority = _core.isolate()
    except Exception as error:
        _write(report, {"error": _text(error)})
        os._exit(FAILED)
    # A job in the background has no terminal to give.
    job["has_terminal"] = job.get("is_shell", False) and _is_in_foreground()
    # Its other end is closed when this process ends, at any instant.
    alive, held = os.pipe()
    engine = os.fork()
    if engine:
        signal.signal(signal.SIGTERM, partial(_pass_on, engine))
        status = os.waitpid(engine, 0)[1]
        if job["has_terminal"]:
            _give_terminal(os.getpgrp())
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    os.close(held)
    _core.end_with_parent()
    if select.select([alive], [], [], 0)[0]:
        os._exit(FAILED)
    try:
        signal.signal(signal.SIGINT, _stop)
        signal.signal(signal.SIGTERM, _stop)
        content: dict[str, Any]
        if "scripts" in job:
            content = {"drilled": _core.kernel_drill([(text, files) for text, files in job["scripts"]])}
        else:
            content = {"has_priority": has_priority, **_engine(job)}
        # The work is done: a signal must not cut the report in two.
        _hear_nothing()
    except StopError:
        content = {"error": ""}
    except (OSError, subprocess.SubprocessError) as error:
        content = {"error": str(error)}
    except Exception as error:
        content = {"error": _text(error)}
    _write(report, content)
    os._exit(0)


def _pass_on(engine: int, number: int, frame: FrameType | None) -> None:
    # It may have ended in this moment.
    with contextlib.suppress(ProcessLookupError):
        os.kill(engine, number)


def _is_in_foreground() -> bool:
    """Whether the standard input is the terminal of this group of processes."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _give_terminal(group: int) -> None:
    """Give the terminal, and its Ctrl-C, to a group of processes."""
    # Otherwise the kernel stops a process in the background that does it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    with contextlib.suppress(OSError):
        os.tcsetpgrp(0, group)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTTOU})


def _text(error: Exception) -> str:
    """Returns the text of an error for users; raises any other error again."""
    # Loaded only on errors: earlier imports would slow the start of each run.
    from bentpipe.errors import BentpipeError

    if isinstance(error, BentpipeError):
        return str(error)
    raise error


def _failure(text: str) -> EmulationError:
    from bentpipe.errors import EmulationError

    return EmulationError(text)


def _write(report: int, content: dict[str, Any]) -> None:
    with os.fdopen(report, "wb") as file:
        marshal.dump(content, file)


def _stop(number: int, frame: FrameType | None) -> None:
    # Once: the clean-up must not be interrupted.
    _hear_nothing()
    raise StopError


def _hear_nothing() -> None:
    # Not SIG_IGN: Python reports an error if a signal is pending, as the caller's SIGTERM after a terminal's SIGINT.
    signal.signal(signal.SIGINT, _no_more)
    signal.signal(signal.SIGTERM, _no_more)


def _no_more(number: int, frame: FrameType | None) -> None:
    """Ignores further signals during the end."""


def _engine(job: dict[str, Any]) -> dict[str, Any]:
    scenario = _core.Scenario.from_json(job["scenario"], job["source"], [], job["folder"], _classes(job["classes"]))
    devices = (job["backend"], job["offload"])
    paths = job["paths"]
    flows = [flow for flow, _ in paths]
    emulation = _core.Emulation(scenario, job["pcap"], job["cc"], *devices, job["initial_window"], flows)
    hosts = emulation.hosts
    if paths:
        emulation.join_paths(hosts.index(job["at"]), [is_backup for _, is_backup in paths[1:]])
    programs: list[subprocess.Popen[bytes]] = []
    asked: list[bool] = []
    reports: list[tuple[str, int]] = []

    def start(host: str, command: Sequence[str], *, has_terminal: bool = False, **more: Any) -> subprocess.Popen[bytes]:
        place = hosts.index(host)
        peers = " ".join(name for name in hosts if name != host)
        environment = {**os.environ, "BENTPIPE_HOST": host, "BENTPIPE_PEER": peers, "BENTPIPE_SEED": str(scenario.seed)}
        # Built-in programs then open sockets of Multipath TCP.
        environment |= {"BENTPIPE_PATHS": str(len(paths))} if paths else {}

        why, said = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

        def enter() -> None:
            if has_terminal:
                # As shells do for a job: its group is not the caller's, whom a signal to its group must not reach.
                os.setpgid(0, 0)
                _give_terminal(os.getpid())
            # Built-in programs ignore it until they have their handlers.
            is_own = command[1:3] == ["-m", PROGRAMS]
            signal.signal(signal.SIGINT, signal.SIG_IGN if is_own else signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signals.release()
            try:
                if emulation.enter_as_program(place, reaper.walls) != reaper.walls:
                    raise _failure(
                        f"the program at {host} lacks a wall\n  end other programs in namespaces, or run it again"
                    )
            except Exception as error:
                os.write(said, (str(error) or repr(error)).encode())
                raise

        try:
            # In a separate session, a program cannot type into the caller's terminal.
            with signals.hold_back(), reaper.children():
                program = subprocess.Popen(
                    list(command), preexec_fn=enter, env=environment, start_new_session=not has_terminal, **more
                )
                programs.append(program)
        except subprocess.SubprocessError:
            # Python passes only the class of errors in `enter`.
            raise _failure(os.read(why, 1 << 12).decode()) from None
        except (OSError, ValueError) as error:
            text = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
            text = "no such program" if isinstance(error, FileNotFoundError) else text
            raise _failure(f"{command[0]}: {text}\n  expected a program to run at {host}") from None
        finally:
            os.close(why)
            os.close(said)
        return program

    def start_quic(host: str, command: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
        # A file in memory: a pipe would be full before it is read.
        report = os.memfd_create("report")
        # The end that the caller asked for comes first.
        reports.insert(0 if host == job["own"]["host"] else len(reports), (host, report))
        return start(host, [*command, str(report)], pass_fds=(report,), **more)

    def speak() -> None:
        own = job["own"]
        if own["quic"]:
            end = start_quic(own["host"], own["quic"], stdin=subprocess.DEVNULL, stdout=sys.stderr)
            if not own["connects"]:
                _await_server(emulation, hosts.index(own["host"]), end, own["quic"][:4])
            return
        peer = hosts.index(job["at"]) if own["connects"] else None
        emulation.speak(hosts.index(own["host"]), own["service"], own["file"], own["port"], peer, own["secret"])

    reaper = _start_reaper(emulation, job)
    wakes, status, stopped = None, None, "ended"
    others: dict[str, subprocess.Popen[bytes]] = {}
    before_s, before = os.times(), machine.counters()
    try:
        for host, command in job["serve"]:
            server = start(host, command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
            _await_server(emulation, hosts.index(host), server, command)
        if job["own"] and not job["own"]["connects"]:
            speak()
        others = {host: start(host, command, stdin=subprocess.DEVNULL) for host, command in job.get("others", [])}
        wakes = Wakes.start()
        with _open_output(job) as output:
            begin = start_quic if job["own"] and job["own"]["has_peer"] else start
            program = begin(job["at"], job["command"], has_terminal=job["has_terminal"], stdout=output)
        if job["own"] and job["own"]["connects"]:
            _await_server(emulation, hosts.index(job["at"]), program, job["command"])
            speak()
        if job["classes"]:
            # Not in the middle of a class's own code, which would look like its failure.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: asked.append(True))
        while (stopped := emulation.run(SLICE_S, program.pid)) == "slice":
            if asked:
                raise StopError
        if stopped == "ended":
            status = program.wait()
    except StopError:
        stopped = "interrupted"
        # The server hears SIGTERM only.
        _interrupt(emulation, programs[len(job["serve"]) :])
    ended = [(host, program.poll()) for host, program in others.items()]
    _end(emulation, programs)
    # Also daemons.
    reaper.stop()
    # Only now: it would wait while packets are due.
    late_wakes = wakes.stop() if wakes else []
    after_s = os.times()
    return {
        "status": status,
        "others": ended,
        "stopped": stopped,
        "walls": reaper.walls,
        "missing_walls": reaper.missing,
        "outside": emulation.outside(),
        "late_wakes": late_wakes,
        "samples": emulation.samples(),
        "multipath": emulation.multipath(),
        "spoken": _read_spoken(reports) if reports else emulation.spoken(),
        "proxied": emulation.proxied(),
        "passed": emulation.passed,
        "kernel": _kernel(emulation),
        "counters": _counters(emulation),
        "machine": machine.between(before, machine.counters()),
        "cpu_s": after_s.user + after_s.system - before_s.user - before_s.system,
        "tables": emulation.finish(),
    }


def _read_spoken(reports: Sequence[tuple[str, int]]) -> dict[str, list[Any]]:
    """Reads the connections of ends with bentpipe's QUIC, by host. An end that was killed has no report."""
    import json

    found: dict[str, list[Any]] = {"host": []}
    for host, report in reports:
        content = os.pread(report, os.fstat(report).st_size, 0)
        columns: dict[str, list[Any]] = json.loads(content) if content else {}
        found["host"] += [host] * len(columns.get("peer", []))
        for name, values in columns.items():
            found.setdefault(name, []).extend(values)
    return found


def _open_output(job: dict[str, Any]) -> contextlib.AbstractContextManager[Any]:
    """Open the place of the program's output: a file, the error output, or None for the caller's."""
    if job.get("output"):
        return open(job["output"], "wb")  # noqa: PTH123 - `pathlib` takes milliseconds to load.
    return contextlib.nullcontext(sys.stderr if job["is_quiet"] else None)


def _start_reaper(emulation: _core.Emulation, job: dict[str, Any]) -> Reaper:
    """Start the first process of the programs, behind the walls that the job wants."""
    chosen = [wall for wall in _core.walls() if wall not in job["shared"]]
    try:
        reaper = Reaper.start(emulation, [wall for wall in chosen if wall not in job["without"]])
    except RuntimeError as error:
        raise _failure(str(error)) from None
    reaper.missing = [wall for wall in chosen if wall not in reaper.walls]
    if job["is_strict"] and reaper.missing:
        raise _failure(
            f"walls around programs are missing: {', '.join(reaper.missing)}\n"
            "  {strict} needs all of them, see the guide of emulate; without it, the run lists them"
        )
    return reaper


def _classes(sent: list[tuple[str, str | None, bytes, tuple[int, int]]]) -> list[tuple[str, str, str | None, type]]:
    """Loads custom classes that `travel.sent` sent."""
    if not sent:
        return []
    from bentpipe.own import travel

    return travel.receive_classes(sent)


def _kernel(emulation: _core.Emulation) -> dict[str, str]:
    """Reads the release of the kernel, and the values of settings that the simulator has, too."""
    emulation.enter(0)
    found = {"release": os.uname().release}
    for name in SYSCTLS:
        with contextlib.suppress(OSError):
            found[name] = _read(f"/proc/sys/net/ipv4/{name}").strip()
    return found


def _counters(emulation: _core.Emulation) -> dict[str, dict[str, int]]:
    """Reads the kernel's counters of TCP at each host. The network namespaces are new, so they count from 0."""
    found: dict[str, dict[str, int]] = {}
    for place, host in enumerate(emulation.hosts):
        emulation.enter(place)
        counters = found[host] = {}
        for file in COUNTERS:
            with contextlib.suppress(OSError):
                lines = [line.split() for line in _read(f"/proc/thread-self/net/{file}").splitlines()]
                for (protocol, *names), (_, *values) in zip(lines[::2], lines[1::2], strict=True):
                    if protocol in ("Tcp:", "TcpExt:", "MPTcpExt:"):
                        counters |= zip(names, map(int, values), strict=True)
    return found


def _await_server(
    emulation: _core.Emulation, host: int, server: subprocess.Popen[bytes], command: Sequence[str]
) -> None:
    """Return when a program listens at the host. A fixed pause would be too short on a busy machine."""
    emulation.enter(host)
    until = time.monotonic() + LISTENS_WITHIN_S
    while not _is_anything_open():
        if server.poll() is not None:
            raise _failure(f"the server {' '.join(command)!r} ended immediately, with status {server.returncode}")
        if time.monotonic() > until:
            raise _failure(
                f"the server {' '.join(command)!r} does not listen after {LISTENS_WITHIN_S:g} s\n"
                "  expected a program that opens a port of TCP or UDP"
            )
        time.sleep(0.005)


def _is_anything_open() -> bool:
    """Whether a socket of TCP listens in this network namespace, or one of UDP is bound."""
    for name in ("tcp", "tcp6", "udp", "udp6"):
        with contextlib.suppress(FileNotFoundError):
            rows = _read(f"/proc/thread-self/net/{name}").splitlines()[1:]
            # Column 4 is the state: 0A listens, 07 is the one of UDP without a peer.
            if any(row.split()[3] in ("0A", "07") for row in rows):
                return True
    return False


def _read(file: str) -> str:
    """The text of a file; `pathlib` takes milliseconds to load."""
    with os.fdopen(os.open(file, os.O_RDONLY), encoding="ascii") as content:
        return content.read()


def _interrupt(emulation: _core.Emulation, programs: list[subprocess.Popen[bytes]]) -> None:
    """Pass Ctrl-C on: a terminal interrupts the processes of the caller's session only."""
    for program in programs:
        if program.poll() is not None:
            continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGINT)
        if emulation.run(INTERRUPT_S, program.pid) == "over":
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(INTERRUPT_S)


def _end(emulation: _core.Emulation, programs: list[subprocess.Popen[bytes]]) -> None:
    """End the programs while packets still flow, so that they can close connections; then kill them."""
    for program in programs:
        program.terminate()
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until and any(program.poll() is None for program in programs):
        running = next(program for program in programs if program.returncode is None)
        if emulation.run(SLICE_S, running.pid) == "over":
            time.sleep(0.01)
    for program in programs:
        program.kill()
        program.wait()
    # The last ACKs for our own TCP are still on the way.
    while time.monotonic() < until and {*emulation.spoken()["state"]} - {"closed", "timewait"}:
        if emulation.run(SLICE_S, None) == "over":
            break
