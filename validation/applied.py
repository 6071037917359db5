"""From a measurement to an applied setting: fit, tune, `apply.sh`, and real transfers before and after it.

    python -m validation.applied FOLDER     # a folder of `validation.coverage measure`; as root, four minutes

Two namespaces are joined by two TUN devices, and a loop delays their packets: drop-tail queue, rate, delay. It has no
code of bentpipe, so the gain is that of the kernel over a path that only the measurement describes.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import json
import os
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bentpipe as bp
from validation import kept
from validation.coverage import LATER, PATHS

if TYPE_CHECKING:
    from validation.coverage import Truth

TRANSFERS, BYTES = 14, 100_000
NETWORK, SERVER, TERMINAL = "10.9.0.0/30", "10.9.0.1", "10.9.0.2"
TUNSETIFF, TUN_WITHOUT_HEADER, NEW_NETWORK = 0x400454CA, 0x1001, 0x40000000
SEARCH = f"""
[flow.pages]
from = "server"
to = "terminal"
app = {{ kind = "arrivals", size = "{BYTES} B", interval = "6 s" }}
[tune]
objective = {{ "fct:pages" = 1 }}
[tune.vary]
tcp.initial_window = ["20 segments", "40 segments"]
"""
SERVING = f"""
import socket
listener = socket.create_server(("0.0.0.0", 8000))
while True:
    connection, _ = listener.accept()
    connection.recv(1)
    connection.sendall(bytes({BYTES}))
    connection.close()
"""
ASKING = f"""
import json, socket, time
found = []
for _ in range({TRANSFERS}):
    begin = time.monotonic()
    connection = socket.create_connection(("{SERVER}", 8000))
    connection.sendall(b"x")
    while connection.recv(65536):
        pass
    found.append(time.monotonic() - begin)
    time.sleep(1)
print(json.dumps(found))
"""


class Tunnels:
    """Two namespaces, and the loop that carries packets between them."""

    def __init__(self, name: str, truth: Truth) -> None:
        self.names = [f"bp-{name}-a", f"bp-{name}-b"]
        self._stop = threading.Event()
        for each in self.names:
            run("ip", "netns", "add", each)
        with ThreadPoolExecutor(1) as apart:
            # A separate thread, because its namespace changes.
            self._files = [apart.submit(_open_tunnel, each).result() for each in self.names]
        for each, address in zip(self.names, (SERVER, TERMINAL), strict=True):
            run("ip", "-n", each, "addr", "add", f"{address}/30", "dev", "path0")
            run("ip", "-n", each, "link", "set", "path0", "up", "mtu", "1500", "txqueuelen", "2000")
            route = [NETWORK, "dev", "path0", "proto", "kernel", "scope", "link", "src", address, "congctl", "cubic"]
            run("ip", "-n", each, "route", "change", *route)
        ways = ((truth.down, truth.down_queue), (truth.up, truth.up_queue))
        self._loop = threading.Thread(target=self._carry, args=(ways, truth.rtt_ms / 2e3))
        self._loop.start()

    def close(self) -> None:
        """Remove all of it."""
        self._stop.set()
        self._loop.join()
        for each in self._files:
            os.close(each)
        for name in self.names:
            run("ip", "netns", "del", name)

    def inside(self, end: int, *command: str, **more: Any) -> subprocess.Popen[str]:
        """Start a command at the server (0) or at the terminal (1)."""
        asked = ["ip", "netns", "exec", self.names[end], *command]
        return subprocess.Popen(asked, text=True, stdout=subprocess.PIPE, **more)

    def _carry(self, ways: tuple[tuple[float, int], tuple[float, int]], delay_s: float) -> None:
        waiting: list[tuple[float, int, int, bytes]] = []
        free, count = [0.0, 0.0], 0
        while not self._stop.is_set():
            left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.1
            ready = select.select(self._files, [], [], min(left, 0.1))[0]
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, _, end, packet = heapq.heappop(waiting)
                os.write(self._files[end], packet)
            for end in (self._files.index(each) for each in ready):
                packet = os.read(self._files[end], 65536)
                rate, limit = ways[end]
                free[end] = max(free[end], now)
                if (free[end] - now) * rate * 1e6 / 8 + len(packet) <= limit + 1500:
                    free[end] += 8 * len(packet) / (rate * 1e6)
                    count += 1
                    heapq.heappush(waiting, (free[end] + delay_s, count, 1 - end, packet))


def _open_tunnel(namespace: str) -> int:
    """Return the file of a new TUN device in a namespace."""
    place = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(place, NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(place)
    found = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(found, TUNSETIFF, struct.pack("16sH22x", b"path0", TUN_WITHOUT_HEADER))
    return found


def run(*command: str) -> str:
    """Run a command, and return its output."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measure(folder: Path, number: int, truth: Truth) -> dict[str, Any]:
    """Fit a measured path, find a setting, and apply it."""
    place = folder / truth.name
    fitted = bp.fit([place / "ping.txt", place / "down.json", place / "up.json"], check=False, held_out=False)
    with tempfile.TemporaryDirectory() as temporary:
        at = Path(temporary)
        fitted.save(at / "path.toml", draws=0)
        text = (at / "path.toml").read_text(encoding="utf-8").partition("[flow.transfer]")[0]
        (at / "use.toml").write_text(text + SEARCH, encoding="utf-8")
        tuned = bp.tune(at / "use.toml", jobs=1, progress=False)
        tuned.apply(at / "out")
        path = Tunnels(str(number), truth)
        serving = path.inside(0, sys.executable, "-c", SERVING)
        try:
            time.sleep(1)
            before = _ask(path)
            state = run("ip", "-n", path.names[0], "route")
            settings = {"SAVED": str(at / "saved"), "PREFIX": NETWORK, **os.environ}
            if path.inside(0, "sh", str(at / "out" / "apply.sh"), "server", env=settings).wait():
                raise SystemExit(f"error: apply.sh failed over {truth.name}")
            after = _ask(path)
            undone = path.inside(0, "sh", str(at / "out" / "undo.sh"), env=settings).wait()
            is_restored = not undone and run("ip", "-n", path.names[0], "route") == state
        finally:
            serving.kill()
            serving.wait()
            path.close()
    effect = tuned.content["effect"]["fct:pages"]
    change = after / before - 1
    return {
        "path": f"{truth.down:g} and {truth.up:g} Mbit/s, {truth.rtt_ms:g} ms",
        "setting": dict(tuned.recommended),
        "predicted": {name: effect[name] for name in ("value", "low", "high")},
        "before_s": before,
        "after_s": after,
        "change": change,
        "is_inside": effect["low"] <= change <= effect["high"],
        "is_restored": is_restored,
    }


def _ask(path: Tunnels) -> float:
    """Return the median time of some transfers."""
    asked = path.inside(1, sys.executable, "-c", ASKING)
    return float(statistics.median(json.loads(asked.communicate()[0])))


def main() -> None:
    """Measure three paths, and keep the result."""
    match sys.argv[1:]:
        case [folder]:
            chosen = [truth for truth in (*PATHS, *LATER) if (truth.down, truth.cc) in CHOSEN]
            found = [measure(Path(folder), number, truth) for number, truth in enumerate(chosen)]
            kept.save("applied", found)
            print(json.dumps(found, indent=1))
        case _:
            raise SystemExit("error: expected a folder of measurements: python -m validation.applied FOLDER")


CHOSEN = ((1.5, "cubic"), (3, "cubic"), (10, "cubic"))
"""Rate and congestion control of the paths."""

if __name__ == "__main__":
    kept.begin(__doc__, "COMMAND")
    main()
