"""Compares recorded pages in Chromium with the simulation of their records, over slow paths in real time.

    make docs DRAFT=1                     # some of the pages are those of this site
    python -m validation.pages            # ten minutes; needs Linux, Chromium and private namespaces
    python -m tools.docs recorded_pages            # after that: the page "Recorded pages"

Each page is first loaded from a server of this machine, with an empty cache, and recorded as a HAR by the devtools
protocol of Chromium. The same files are then loaded through `emulate`, with an empty cache, and the record is simulated
over the same path. The numbers go into `validation/data/pages.json`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.server
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import tomlkit

import bentpipe as bp
from bentpipe.emulation.emulate import whole
from validation import kept
from validation.browser import inside, picture

if TYPE_CHECKING:
    from collections.abc import Iterator

SITE = Path(__file__).resolve().parents[1] / "site"
PATH: dict[str, Any] = {
    "duration": "90 s",
    "link": {"sat": {"from": "server", "to": "user", "rate": "2 Mbit/s", "delay": "260 ms", "queue": "200 kB"}},
}
LOADS = 1
ATTEMPTS = 2
OPTIONS = ["--headless", "--no-sandbox", "--disable-background-networking", "--disable-component-update"]
TITLE = "onload = () => setTimeout(() => document.title = t.loadEventEnd - t.navigationStart)"
SCRIPT = f"<script>const t = performance.timing; {TITLE}</script>"

Files = dict[str, bytes]


def chosen(seed: int, images: int, scripts: int, depth: int) -> Files:
    """A page of pictures, scripts and styles; scripts insert more pictures and scripts, down to this depth."""
    draw = random.Random(seed)

    def bytes_of(median: float) -> int:
        return min(300_000, max(600, round(median * draw.lognormvariate(0, 1.2))))

    files: Files = {}

    def add_picture() -> str:
        name = f"p{len(files)}.png"
        # A picture has at least its noise; the smallest are styles.
        files[name] = picture(max(20_000, bytes_of(20_000)))
        return name

    def add_script(level: int) -> str:
        name = f"s{len(files)}.js"
        files[name] = b""
        more = [f"document.body.appendChild(new Image()).src = '{add_picture()}';" for _ in range(2)]
        if level < depth:
            inner = add_script(level + 1)
            more.append(f"document.body.appendChild(document.createElement('script')).src = '{inner}';")
        filling = "".join(draw.choices("abcdefghijklmnopqrstuvwxyz ", k=bytes_of(15_000)))
        files[name] = f"/*{filling}*/\n{' '.join(more)}".encode()
        return name

    body = "".join(f'<img src="{add_picture()}">' for _ in range(images))
    body += "".join(f'<script async src="{add_script(2)}"></script>' for _ in range(scripts))
    files["style.css"] = ("/*" + "x" * bytes_of(10_000) + "*/").encode()
    text = (
        f'<!doctype html><title></title><link rel="icon" href="data:,"><link rel="stylesheet" href="style.css">{SCRIPT}'
    )
    files["index.html"] = f"{text}<body>{body}<p>{'word ' * 2000}</p>".encode()
    return files


def of_site(page: str) -> Files:
    """A page of our site with all its files, and with a title that becomes its time."""
    files = {str(path.relative_to(SITE)): path.read_bytes() for path in (SITE / "assets").rglob("*") if path.is_file()}
    folder = SITE / page
    files |= {str(path.relative_to(SITE)): path.read_bytes() for path in folder.iterdir() if path.is_file()}
    pictures = SITE / f"{page}.png"
    files |= {f"{page}.png": pictures.read_bytes()} if pictures.is_file() else {}
    html = files[f"{page}/index.html"].decode().replace("<head>", f"<head>{SCRIPT}", 1)
    # Searches and frames of other runs are no part of the page.
    return {**files, f"{page}/index.html": re.sub(r"<iframe[^>]*></iframe>", "", html).encode()}


def pages() -> dict[str, tuple[str, Files]]:
    """Address and files of each page."""
    ours = {
        "ours: sky": "guides/sky",
        "ours: why": "guides/why",
        "ours: TCP": "concepts/tcp",
        "ours: Starlink": "validation/starlink",
    }
    made = {
        "one picture": chosen(1, 1, 0, 2),
        "12 pictures": chosen(2, 12, 0, 2),
        "30 pictures": chosen(3, 30, 0, 2),
        "4 scripts": chosen(4, 4, 4, 2),
        "depth 4": chosen(5, 3, 2, 4),
        "depth 3, 20 pictures": chosen(6, 20, 3, 3),
    }
    return {name: (f"{page}/", of_site(page)) for name, page in ours.items()} | {
        name: ("", files) for name, files in made.items()
    }


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files as the server of `emulate` does."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """A server of these files. Gives its address."""
    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def chromium() -> str:
    """The browser."""
    return shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("Chromium is missing")


async def listen(address: str, url: str) -> tuple[dict[str, Any], float]:
    """Load a page in a running browser and record it as a HAR, until its load event. Gives it and the page's time."""
    from websockets.asyncio.client import connect

    found: dict[str, dict[str, Any]] = {}
    load_s = start_s = None
    async with connect(address, max_size=None) as page:
        # The empty page of the new browser has its own load event.
        await asyncio.sleep(3)
        methods = ("Network.enable", "Page.enable", "Network.setCacheDisabled", "Page.navigate")
        given: tuple[dict[str, Any], ...] = ({}, {}, {"cacheDisabled": True}, {"url": url})
        for n, (method, params) in enumerate(zip(methods, given, strict=True)):
            await page.send(json.dumps({"id": n, "method": method, "params": params}))
        while load_s is None or any("end_s" not in each for each in found.values()):
            try:
                event = json.loads(await asyncio.wait_for(page.recv(), 2 if load_s else 30))
            except asyncio.TimeoutError:
                # Requests without an end after the load event are no part of the page.
                break
            params = event.get("params", {})
            entry = found.get(params.get("requestId", ""))
            match event.get("method"):
                case "Network.requestWillBeSent" if params["request"]["url"].startswith("http") and load_s is None:
                    # The load event does not wait for data that scripts fetch.
                    if params.get("type") in ("Fetch", "XHR"):
                        continue
                    start_s = start_s or params["timestamp"]
                    found[params["requestId"]] = {"sent": params, "wall_s": params["wallTime"]}
                case "Network.responseReceived" if entry:
                    entry["received"] = params
                case "Network.loadingFinished" if entry:
                    entry |= {"end_s": params["timestamp"], "bytes": params["encodedDataLength"]}
                case "Network.loadingFailed" if entry:
                    del found[params["requestId"]]
                case "Page.loadEventFired" if start_s is not None:
                    load_s = params["timestamp"]
    assert start_s is not None
    entries = [as_har(each) for each in found.values() if {"received", "end_s"} <= each.keys()]
    return {"log": {"version": "1.2", "entries": entries}}, load_s - start_s


def as_har(of: dict[str, Any]) -> dict[str, Any]:
    """An entry of a HAR from the events of one request."""
    sent, response = of["sent"], of["received"]["response"]
    timing = response.get("timing") or {}
    wait_ms = max(0.0, timing.get("receiveHeadersEnd", 0.0) - timing.get("sendEnd", 0.0))
    return {
        "startedDateTime": datetime.fromtimestamp(of["wall_s"], timezone.utc).isoformat(timespec="microseconds"),
        "time": 1000 * (of["end_s"] - sent["timestamp"]),
        "_initiator": sent.get("initiator", {}),
        "request": {"url": sent["request"]["url"], "headersSize": 400, "bodySize": 0},
        "response": {"httpVersion": response.get("protocol", ""), "_transferSize": int(of["bytes"])},
        "timings": {"wait": wait_ms},
    }


def recorded(folder: Path, page: str) -> tuple[dict[str, Any], float]:
    """The HAR of a page, and its time, loaded from this machine."""
    with served(folder) as address, tempfile.TemporaryDirectory() as profile:
        command = [chromium(), *OPTIONS, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = Path(profile) / "DevToolsActivePort"
            while not port.exists() or not port.read_text():
                time.sleep(0.1)
            root = f"http://127.0.0.1:{port.read_text().split()[0]}/json"
            tabs = json.loads(urlopen(root).read())
            tab = next(each for each in tabs if each["type"] == "page")
            return asyncio.run(listen(tab["webSocketDebuggerUrl"], address + page))
        finally:
            browser.terminate()
            browser.wait()


def loaded(folder: Path, page: str, seed: int) -> float:
    """The time of a page in Chromium over the path, on a machine that was not too busy."""
    scenario = {**PATH, "flow": {"page": {"from": "user", "to": "server", "app": "port"}}}
    for attempt in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as work:
            options = f"{' '.join(OPTIONS)} --user-data-dir={work}/profile"
            command = f"{chromium()} {options} --dump-dom http://server:8000/{page} > {work}/out.txt 2> {work}/log.txt"
            with inside(folder):
                found = whole(
                    bp.emulate(scenario, ["sh", "-c", command], serve="http", at="user", seed=seed + 100 * attempt)
                )
            title = re.search(r"<title>(\d+)", (Path(work) / "out.txt").read_text(errors="replace"))
        print(f"  {title[1] if title else '-'} ms; {found.trust.sentence}", flush=True)
        if title:
            return int(title[1]) / 1000
    return float("nan")


def simulated(har: Path) -> float:
    """The time of the recorded page in the simulation of the path."""
    app = {"kind": "page", "recorded": {"file": har.name}, "count": 1}
    content = {**PATH, "flow": {"page": {"from": "user", "to": "server", "app": app}}}
    scenario = bp.loads(tomlkit.dumps(content), folder=har.parent)
    return float(bp.run(scenario).transfers["duration_s"][0])


def main() -> None:
    """Measure and keep the numbers."""
    numbers: dict[str, Any] = {}
    for name, (page, files) in pages().items():
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work) / "files"
            for path, content in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
            har, local_s = recorded(folder, page)
            (Path(work) / "page.har").write_text(json.dumps(har))
            ours = simulated(Path(work) / "page.har")
            theirs = sorted(loaded(folder, page, seed) for seed in range(1, LOADS + 1))
        sizes = [each["response"]["_transferSize"] for each in har["log"]["entries"]]
        numbers[name] = {
            "requests": len(sizes),
            "bytes": sum(sizes),
            "local_s": local_s,
            "chromium_s": theirs,
            "simulated_s": ours,
        }
        print(name, numbers[name], flush=True)
    kept.save("pages", numbers)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()
