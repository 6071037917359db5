"""Compares real pages behind a hub with simulated ones: a home of the bundled scenario `geo-access`, in real time.

    python -m validation.browser                # half an hour; needs Linux, Chromium and private namespaces
    python -m validation.browser --simulated    # the simulated pages only: some minutes
    python -m tools.docs browser          # after that: the table of the guide "Load a page over GEO in your browser"

The real packets of one home wait for the grants of the scenario, and 39 simulated homes read pages beside it. The
simulation has the same page in the place of the real one. Chromium loads it, and a client that opens its connections as
the simulated application does. Loads on a machine that was too busy are repeated. The numbers go into
`validation/data/browser.json`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import struct
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import bentpipe as bp
from bentpipe.emulation.emulate import whole
from bentpipe.statistics.estimates import estimate
from validation import kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CONFIDENCE = 0.95
LOADS = 6
ATTEMPTS = 3
SEEDS = range(1, 101)
WAYS = ("as shipped", "constant", "volume", "free")
SCENARIO = "geo-access"
HOME = "clear30"
CC = "cubic"
CLIENT = Path(__file__).resolve().parent / "page_client.py"

WARM_UP_S = 10
START_S = (10, 13)
"""Programs start after 10 s, when all homes read. Chromium needs a second or two until its first packet."""

DURATION_S = 60
PAGES: dict[str, Any] = {
    f"flow.pages-{homes}.app": {
        "kind": "page",
        "model": "3gpp2",
        "page_scale": 5.0,
        "reading": {"kind": "exponential", "mean": "10 s"},
    }
    for homes in ("clear", "edge", "shower")
}
"""Pages of the other homes: 258 kB on average, so that a load ends within the run by each way of access."""

MAIN_BYTES, OBJECT_BYTES, OBJECTS = 53_500, 38_800, 6
"""A page of the mean size of the others."""

CONNECTIONS = 6
PARSE_S = 0.02
HEAD_BYTES = 188
REQUEST_BYTES = 400
"""Headers of the server's answers, and of requests: Chromium's have 434 B for the page and 368 B for a picture."""


def picture(size: int) -> bytes:
    """A PNG picture of this size in bytes: noise, which does not compress."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 80, 80, 8, 2, 0, 0, 0))
    rows = b"".join(b"\0" + os.urandom(3 * 80) for _ in range(80))
    body, end = chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    signature = b"\x89PNG\r\n\x1a\n"
    left = size - len(signature + head + body + end) - 12
    # The rest is a private chunk, which browsers skip.
    return signature + head + body + chunk(b"prVt", os.urandom(left)) + end


def write_site(folder: Path) -> None:
    """The page and its pictures. The title of the page becomes its time in milliseconds."""
    for number in range(OBJECTS):
        (folder / f"{number}.png").write_bytes(picture(OBJECT_BYTES - HEAD_BYTES))
    script = "onload = () => setTimeout(() => document.title = t.loadEventEnd - t.navigationStart)"
    icon = '<link rel="icon" href="data:,">'
    pictures = "".join(f'<img src="{number}.png">' for number in range(OBJECTS))
    text = f"{pictures}<script>const t = performance.timing; {script}</script>"
    head = f"<title></title>{icon}"
    filling = MAIN_BYTES - HEAD_BYTES - len(head + text) - len("<!---->")
    # The pictures come last: a browser requests them as soon as it has read of them.
    (folder / "index.html").write_text(f"{head}<!--{'x' * filling}-->{text}")


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """The current folder, which the server serves."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def of(way: str, flow: dict[str, Any]) -> bp.Scenario:
    """The scenario with this way of access, and this flow of the home in the place of its backup."""
    backup = {"from": HOME, "to": "server", **flow}
    scenario = bp.load(SCENARIO, {"duration": f"{DURATION_S} s", **PAGES, "flow.backup": backup})
    return scenario.cases.get(way, scenario)


def chromium() -> str:
    """Command that loads the page in Chromium and prints it."""
    program = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("Chromium is missing")
    options = "--headless --no-sandbox --disable-background-networking --user-data-dir=profile --dump-dom"
    return f"{program} {options} http://server:8000/"


def client() -> str:
    """Command that loads the page as the simulated application does, and prints the time as a title."""
    return f"{sys.executable} {CLIENT} server {OBJECTS} {CONNECTIONS} {REQUEST_BYTES} {PARSE_S}"


PROGRAMS = {"chromium": chromium, "client": client}


def loaded(program: str, way: str, seed: int) -> tuple[float, bp.Emulation]:
    """Time of a real page."""
    scenario = of(way, {"app": "port"})
    with tempfile.TemporaryDirectory() as folder:
        write_site(Path(folder))
        command = f"sleep {WARM_UP_S}; {PROGRAMS[program]()} > out.txt 2> log.txt"
        with inside(Path(folder)):
            found = whole(bp.emulate(scenario, ["sh", "-c", command], serve="http", at=HOME, seed=seed, cc=CC))
        title = re.search(r"<title>(\d+)", (Path(folder) / "out.txt").read_text(errors="replace"))
    return int(title[1]) / 1000 if title else float("nan"), found


def trusted(program: str, way: str, seed: int) -> tuple[float, int]:
    """Time of a real page on a machine that was not too busy, and the number of repetitions."""
    for attempt in range(ATTEMPTS):
        page_s, found = loaded(program, way, seed + 1000 * attempt)
        print(f"{program}, {way}, {seed}: {page_s} s; {found.trust.sentence}", flush=True)
        if found.trust.sentence.startswith("Trustworthy") and np.isfinite(page_s):
            return page_s, attempt
    return float("nan"), ATTEMPTS


def simulated(way: str, seed: int) -> float:
    """Time of the simulated page."""
    app = {
        "kind": "page",
        "main": f"{MAIN_BYTES} B",
        "object": f"{OBJECT_BYTES} B",
        "objects": OBJECTS,
        "request": f"{REQUEST_BYTES} B",
        "parse": f"{PARSE_S} s",
        "connections": CONNECTIONS,
        "count": 1,
    }
    low, high = START_S
    scenario = of(way, {"app": app, "start": {"uniform": [f"{low} s", f"{high} s"]}})
    transfers = bp.run(scenario, seed=seed).transfers
    (page_s,) = transfers.filter(transfers["flow"] == "backup")["duration_s"]
    return float(page_s)


def interval(values: list[float]) -> list[float | None]:
    """Mean and interval, and the number of values."""
    known = estimate(np.array(values), CONFIDENCE)
    return [known.mean, known.low, known.high, len(values)]


def main(programs: Iterable[str] = PROGRAMS) -> None:
    """Measure and keep the numbers; real loads by these programs."""
    numbers: dict[str, Any] = kept.load("browser")
    for way in WAYS:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            ours = list(pool.map(lambda seed, way=way: simulated(way, seed), SEEDS))
        numbers.setdefault(way, {})["simulated_s"] = interval(ours)
        for program in programs:
            found = [trusted(program, way, seed) for seed in range(1, LOADS + 1)]
            numbers[way][f"{program}_s"] = interval([page_s for page_s, _ in found if np.isfinite(page_s)])
            numbers[way][f"{program}_repeated"] = sum(attempts for _, attempts in found)
        print(way, numbers[way], flush=True)
    kept.save("browser", numbers)


if __name__ == "__main__":
    kept.begin(__doc__, "--simulated")
    main(() if "--simulated" in sys.argv else PROGRAMS)
