"""The module of the laboratory in a web page, for tests: asked in Node, or in pages of Chromium."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tools.docs import laboratory

ROOT = Path(__file__).resolve().parent.parent
WAIT_S = 110


def need_module():
    """Skip the test without a module of today's sources."""
    if not laboratory.has_module():
        pytest.skip("no module for web pages: make web builds it")
    sources = [
        path
        for crate in ("units", "orbit", "access", "cc", "tcp", "model", "net", "scenario", "sim", "web")
        for path in (ROOT / "crates" / crate / "src").rglob("*.rs")
    ]
    if max(path.stat().st_mtime for path in sources) > laboratory.MODULE.stat().st_mtime:
        pytest.skip("the module for web pages is older than its sources: make web builds it")


def ask(requests):
    """The answers of the module: each entry is a list of requests for a new instance, with the last one's answer."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node: the module is not tested outside a browser")
    command = [node, ROOT / "crates" / "web" / "tests" / "core.mjs", laboratory.MODULE]
    given = "".join(json.dumps(each) + "\n" for each in requests)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Page:
    """A page of the laboratory in a browser. Its policy forbids a condition within the page: tests poll it."""

    def __init__(self, context, url):
        self.page, self.printed, self.hosts = context.new_page(), [], set()
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.printed.append(said.text))
        self.page.on("pageerror", lambda error: self.printed.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(request.url.split("#")[0]))
        self.page.goto(url)
        self.until("studio.isOpen")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.page.close()
        if kind is None:
            assert self.printed == []

    def value(self, expression):
        return self.page.evaluate(expression)

    def until(self, condition):
        end = time.monotonic() + WAIT_S
        while not self.value(f"Boolean({condition})"):
            assert time.monotonic() < end, (
                f"{condition} does not hold on the page: {self.value('document.body.innerText')[:500]}"
            )
            time.sleep(0.02)

    def run(self):
        # A page without a link has begun a run already.
        self.until("document.getElementById('stop').hidden && studio.ready")
        before = self.value("studio.time.run")
        self.page.click("#run")
        self.until(f"studio.time.run !== {json.dumps(before)} && !studio.time.isDraft && studio.ready")

    def type(self, text):
        self.page.fill(".lab-area", text)
        self.until("studio.ready")
