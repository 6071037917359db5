"""The server of the studio: binds a local port, puts the door before the page, and opens the browser."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
import threading
import webbrowser
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError
from bentpipe.files import reason
from bentpipe.studio.guard import Door, new_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import FrameType

    from fastapi import FastAPI

    from bentpipe.studio.state import Studio

HOSTS = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
NAME = "bentpipe studio"
RECONNECT_S = 120.0
"""Time for which a page without a connection is kept, so that a browser that comes back finds it."""
PING_S, SILENT_S = 5.0, 30.0
"""Period of the server's questions to a page, and the longest wait for an answer. A busy page may take seconds."""
CONNECTIONS_MAX = 300
"""Connections and requests at the same time. A browser opens six for each page, and one socket."""


def bind(port: int = 0, *, is_ipv6: bool = False) -> socket.socket:
    """Open a port of this machine that no other machine reaches; 0 is any free one.

    Raises
    ------
    BentpipeError
        The port is in use or not allowed.
    """
    family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
    try:
        return socket.create_server((HOSTS[family], port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        why = reason(error) if isinstance(error, OSError) else "no such port"
        raise BentpipeError(
            f"port {port} cannot be used: {why}\n  expected a free port; without {{port}}, the system chooses one",
            port=None,
        ) from error


def list_names(listening: socket.socket) -> tuple[str, ...]:
    """The names of the server in addresses, with the port; the printed address has the first."""
    host, port = listening.getsockname()[:2]
    return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}", f"localhost:{port}")


def application(studio: Studio) -> FastAPI:
    """The routes and the page of a studio, without the door."""
    from fastapi import FastAPI
    from nicegui import core, ui

    from bentpipe.studio import page, routes

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        core.sio.eio.ping_interval, core.sio.eio.ping_timeout = PING_S, SILENT_S
        yield
        await studio.jobs.close()

    app = FastAPI(title=NAME, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    routes.install(app, studio)
    page.install(studio)
    ui.run_with(
        app,
        title=NAME,
        language="en-GB",
        dark=None,
        show_welcome_message=False,
        tailwind=False,
        reconnect_timeout=RECONNECT_S,
    )
    return app


def serve(studio: Studio, listening: socket.socket, told: Callable[[str], object], *, has_browser: bool) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    studio : Studio
    listening : socket
        The port, from `bind`.
    told : callable
        Called with the address of the page, when it can be opened.
    has_browser : bool
        Open a browser.
    """
    import uvicorn

    token, hosts = new_token(), list_names(listening)
    app = application(studio)
    url = f"http://{hosts[0]}/{token}/"
    config: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "wsproto"}
    config["limit_concurrency"] = CONNECTIONS_MAX

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            told(url)
            if has_browser:
                opened.enter_context(_browser(url))

    server = Server(uvicorn.Config(Door(app, token, hosts), timeout_graceful_shutdown=1, lifespan="on", **config))
    with contextlib.ExitStack() as opened, _interrupts(server.handle_exit):
        server.run(sockets=[listening])


@contextlib.contextmanager
def _interrupts(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle Ctrl-C from the first instruction of the event loop.

    Otherwise, asyncio handles it until the server has started: it cancels what starts, with a traceback, or waits.
    """
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _browser(url: str) -> Iterator[None]:
    """Open a browser by a file that only its owner reads: other users see the arguments of a process."""
    handle, name = tempfile.mkstemp(prefix="bentpipe-studio-", suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        target = escape(url, quote=True)
        file.write(f'<!doctype html><meta charset="utf-8"><title>{NAME}</title>')
        file.write(f'<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={target}">')

    def show() -> None:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(Path(name).as_uri())

    try:
        # Python may wait seconds for a browser that just starts, and the server has to answer it.
        threading.Thread(target=show, daemon=True).start()
        yield
    finally:
        Path(name).unlink(missing_ok=True)
