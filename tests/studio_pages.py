"""Pages of the studio without a browser, and requests to its server, for tests."""

import asyncio
import contextlib
import logging
import re
import subprocess
import sys
import threading
from pathlib import Path

import bentpipe as bp
from bentpipe.studio.folders import Folder
from bentpipe.studio.jobs import Jobs
from bentpipe.studio.state import Studio

SHORT = """\
# The way over the satellite.
title = "short"
duration = "2 s"
[link.sat]
from = "a"
to = "b"
rate = "2 Mbit/s"  # of the beam
delay = "100 ms"
[flow.bulk]
from = "a"
to = "b"
"""
VALID = ".page-valid"
WAIT_MS = 120_000
MINE = (Path(bp.__file__).parent / "scenario" / "shipped" / "geo.toml").read_text().replace('"60 s"', '"20 s"')


def on_pages(folder, act, *, jobs=2, count=1, first="short.toml", own=(), command=None):
    """Open pages of a studio in a simulation of a browser, and act on them: `act(studio, *pages)` is a coroutine."""
    from nicegui import ui
    from nicegui.testing.user_simulation import prepare_simulation, user_simulation

    from bentpipe.studio import page

    async def whole():
        studio = Studio(Folder(folder), Jobs(jobs, command), first, own)
        sessions = []
        async with user_simulation(root=lambda: sessions.append(page.build(studio, ui.context.client))) as user:
            prepare_simulation()
            users = [user]
            for _ in range(count - 1):
                users.append(
                    type(user)(
                        __import__("httpx").AsyncClient(transport=user.http_client._transport, base_url="http://test")
                    )
                )
            for each in users:
                await each.open("/")
            for each, session in zip(users, sessions, strict=True):
                each.session = session
            try:
                return await act(studio, *users)
            finally:
                await studio.jobs.close()

    logging.getLogger("nicegui").setLevel(logging.ERROR)
    return asyncio.run(whole())


async def until(condition, seconds=60):
    """Wait until a condition holds; it fails after a time that no working machine needs."""
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{condition} does not hold")


@contextlib.contextmanager
def server(folder, *arguments):
    """A studio in another process, with its address; it ends without a traceback of bentpipe."""
    command = [sys.executable, "-m", "bentpipe", "studio", "--no-browser", *arguments]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            found = re.search(r"http://(\S+?)/(\S+)/", process.stdout.readline())
            assert found, process.stderr.read()
            errors = []
            reader = threading.Thread(target=lambda: errors.append(process.stderr.read()), daemon=True)
            reader.start()

            def said():
                reader.join(30)
                return "".join(errors)

            process.errors = said
            yield process, found[1], found[2]
        finally:
            process.kill()
        # Libraries print tracebacks, too.
        assert not re.search(r'File ".*/python/bentpipe/', said()), said()


class Page:
    """A page of the studio in a browser, with its messages and requests."""

    def __init__(self, visitor, url, ready=VALID):
        self.page, self.printed, self.hosts = visitor.new_page(), [], set()
        self.page.set_viewport_size({"width": 1280, "height": 720})
        self.page.emulate_media(color_scheme="light")
        self.page.set_default_timeout(WAIT_MS)
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.printed.append(said.text))
        self.page.on("pageerror", lambda error: self.printed.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(request.url.partition("//")[2].partition("/")[0]))
        self.url = url
        self.page.goto(url)
        self.page.wait_for_selector(ready)
        if ready == VALID:
            # The message that begins the scripts comes after it.
            self.until("studio.source")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            # The text of the page, for the report of the failure.
            print(*self.printed, sep="\n")
            with contextlib.suppress(Exception):
                print(self.page.locator("body").inner_text(timeout=5000))
        self.page.close()
        if kind is None:
            assert self.printed == [], self.printed
            assert {host for host in self.hosts if host} == {self.url.split("/")[2]}

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def tab(self, name):
        self.page.get_by_role("tab", name=name, exact=True).click()

    def run(self):
        before = self.value("studio.time.run")
        self.button("Run").click()
        self.until(f'studio.time.run !== "{before}" && studio.ready')
        return self.value("studio.time.run")

    def until(self, condition):
        self.page.wait_for_function(condition)

    def value(self, expression):
        return self.page.evaluate(expression)

    def scheme(self, name):
        """Switch the system to light or dark, and wait until all colours have moved to their end."""
        self.page.emulate_media(color_scheme=name)
        self.until(f"Quasar.Dark.isActive === {str(name == 'dark').lower()}")
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.until("""document.getAnimations().every(
            ({ playState, effect }) => playState !== 'running' || effect.getComputedTiming().endTime === Infinity
        )""")

    def type(self, text):
        """Replace the text of the scenario."""
        self.page.locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)
