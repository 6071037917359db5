"""Pages of the studio without a browser, and requests to its server, for tests."""

import asyncio
import contextlib
import logging
import re
import subprocess
import sys
import threading

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
    """A studio in another process, with its address."""
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
