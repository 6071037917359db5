"""Measures a path to a host with the programs that the machine has: `ping`, and `iperf3` if the host serves it."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from bentpipe import arguments
from bentpipe.errors import FitError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PING_SHARE = 2 / 3
"""Share of the time for pings. The rest is for transfers in both directions."""
INTERVAL_S = 0.2
"""Between pings: the shortest that ping allows without root."""
SECONDS = (5, 86_400)
GRACE_S = 30.0
"""Time after which a program is ended that should have ended by itself."""
_HOST = re.compile(r"[A-Za-z0-9_.:%-]+")


def measure(host: str, folder: Path, seconds: int = 60, say: Callable[[str], None] = lambda text: None) -> list[Path]:
    """Measure round trips, and if the machine has `iperf3` and the host serves it, also rates. Return the files.

    Parameters
    ----------
    host : str
        Name or address of a host that answers pings. `iperf3 -s` there allows rates.
    folder : Path
        Place of `ping.txt`, `down.json` and `up.json`. It is created.
    seconds : int
        Total time.
    say : callable
        Function that receives a line before each step, and for each step that failed.

    Raises
    ------
    FitError
        The host is no name or address, there is no `ping`, or no ping was answered.
    """
    if not _HOST.fullmatch(host) or host.startswith("-"):
        raise FitError(f"{host!r} is not the name or address of a host\n  expected one such as example.org")
    seconds = arguments.whole("seconds", seconds, *SECONDS, error=FitError)
    if shutil.which("ping") is None:
        raise FitError("ping is not installed\n  install it: iputils-ping on Debian and Ubuntu, iputils on others")
    folder.mkdir(parents=True, exist_ok=True)
    # Without iperf3, all the time is for pings.
    has_iperf3 = shutil.which("iperf3") is not None
    of_pings = max(2, round(seconds * PING_SHARE)) if has_iperf3 else seconds
    of_transfers = max(1, (seconds - of_pings) // 2)
    files = [_ping(host, folder / "ping.txt", of_pings, say)]
    if not has_iperf3:
        say("iperf3 is not installed: no rate is measured")
        return files
    for name, options, way in (("down.json", ["-R"], f"from {host}"), ("up.json", [], f"to {host}")):
        say(f"iperf3 {way}, {of_transfers} s")
        command = ["iperf3", "-J", "-c", host, "-t", str(of_transfers), "-i", "0.1", "--get-server-output", *options]
        status, text = _run(command, of_transfers)
        if status:
            say(f"no iperf3 server answers at {host}: no rate is measured. Start one there: iperf3 -s")
            break
        (folder / name).write_text(text, encoding="utf-8")
        files.append(folder / name)
    return files


def _ping(host: str, file: Path, seconds: int, say: Callable[[str], None]) -> Path:
    """Write the output of pings. As `fit` reads them, each has a time stamp."""
    say(f"ping to {host}, {seconds} s")
    _, text = _run(["ping", "-D", "-n", "-i", str(INTERVAL_S), "-w", str(seconds), host], seconds)
    if "time=" not in text:
        said = next((line for line in text.splitlines() if line.startswith("ping:")), "")
        raise FitError(
            f"{host} answered no ping{f' ({said})' if said else ''}\n"
            "  expected a host that answers, or records of another program: bentpipe fit DATA"
        )
    file.write_text(text, encoding="utf-8")
    return file


def _run(command: Sequence[str], seconds: int) -> tuple[int, str]:
    """Run a program, and return its status and its output."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + GRACE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise FitError(
            f"{command[0]} did not end after {seconds + GRACE_S:g} s\n  expected an answer in time"
        ) from None
    return done.returncode, done.stdout + (done.stderr if command[0] == "ping" else "")
