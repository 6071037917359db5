"""Starts the processes of an emulation, and waits for their report."""

from __future__ import annotations

import marshal
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bentpipe.errors import EmulationError

FRONT = "from bentpipe.emulation.front import main; main()"
"""Start of the front: `-m` would take milliseconds longer."""
NAMESPACES = {"user": "user", "mnt": "mount", "pid": "process", "net": "network", "uts": "host name"}
"""Those that an emulation makes: their limits in /proc/sys/user are named so."""
HINTS = {
    "/dev/net/tun": "sudo modprobe tun makes it, a container needs --device /dev/net/tun; {backend} needs no device",
    "(veth)": "sudo modprobe -a tun veth loads both kinds of devices for hosts into the kernel",
    "packet socket": "sudo modprobe -a tun af_packet loads the modules for hosts into the kernel",
    "segmentation offload": "{offload} uses it if the kernel has it",
    "": "this needs private namespaces: sudo sysctl -w user.max_user_namespaces=15000"
    " kernel.apparmor_restrict_unprivileged_userns=0 allows them; a container needs --cap-add SYS_ADMIN,NET_ADMIN",
}
"""Remedies where the system refuses a step, by a word of the step."""


def make_report(job: dict[str, Any]) -> dict[str, Any]:
    """Report of the front on a job.

    Raises
    ------
    EmulationError
        The job failed. The text names a remedy.
    """
    content = _wait(job)
    if "error" in content:
        error: str = content["error"]
        if not error:
            raise KeyboardInterrupt("interrupted; there is no result")
        text = f"{error}\n  {_hint(error)}" if "does not allow" in error else error
        raise EmulationError(text, backend="packet", offload="auto", strict=None)
    return content


def _hint(error: str) -> str:
    """The remedy for a refusal of the system."""
    if "os error 28" not in error:
        return next(hint for step, hint in HINTS.items() if step in error)
    # Limits of namespaces give the error of a full disk (namespaces(7)).
    limits = {kind: Path(f"/proc/sys/user/max_{kind}_namespaces") for kind in NAMESPACES}
    spent = [
        kind for kind, limit in limits.items() if limit.exists() and limit.read_text(encoding="utf-8").strip() == "0"
    ]
    if not spent:
        return "the limit of namespaces is reached (sysctl user): end programs in namespaces, or raise the limit"
    names = " and ".join(NAMESPACES[kind] for kind in spent)
    commands = " ".join(f"user.max_{kind}_namespaces=15000" for kind in spent)
    return f"{names} namespaces are switched off here: sudo sysctl -w {commands} allows them"


def _wait(job: dict[str, Any]) -> dict[str, Any]:
    """Start the front and return its report. If this process ends, all processes end."""
    # Files, not pipes: an interrupt would lose what was just read.
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as report:
        # One interpreter reads and writes it with marshal: the front starts without json and pickle.
        marshal.dump(job, file)
        file.seek(0)
        descriptors = (file.fileno(), report.fileno())
        arguments = [sys.executable, "-c", FRONT, *map(str, descriptors)]
        # Without its handlers the front would print a traceback. A signal that is held back reaches this process below.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with subprocess.Popen(arguments, pass_fds=descriptors) as front:
                try:
                    is_interrupted = _await(front, before)
                finally:
                    # It has no more work.
                    front.kill()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        report.seek(0)
        content = report.read()
    if is_interrupted and not content:
        # The front was not ready yet to pass it on.
        return {"error": ""}
    if not content:
        raise EmulationError(
            f"the emulator ended before its report, with status {front.returncode}\n"
            "  run it again, and report a bug if it ends again"
        )
    try:
        found = dict(marshal.loads(content))
    except (EOFError, ValueError, TypeError):
        raise EmulationError("the emulator was killed while it wrote its report\n  run it again") from None
    # Ctrl-C may have ended the program before the engine saw the signal.
    return {**found, "stopped": "interrupted"} if is_interrupted else found


def _await(front: subprocess.Popen[bytes], before: set[int | signal.Signals]) -> bool:
    """Wait for the end, and return whether Ctrl-C caused it. From here on Ctrl-C works again.

    After Ctrl-C the engine ends and reports. A second Ctrl-C ends the wait.
    """
    # A wait for a process goes on after a signal where a library has asked for that; this one does not.
    descriptor = os.pidfd_open(front.pid)
    end = select.poll()
    end.register(descriptor, select.POLLIN)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        end.poll()
        return False
    except KeyboardInterrupt:
        # A terminal signals the program, too. A notebook or another program may have signalled this process only.
        front.terminate()
        end.poll()
        return True
    finally:
        os.close(descriptor)
