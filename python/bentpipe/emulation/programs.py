"""Built-in programs of emulated hosts, over ordinary sockets: servers, clients, and ends with bentpipe's QUIC."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PORT = 5001
HTTP_PORT = 8000
CHUNK = bytes(1 << 16)
MULTIPATH = 262
"""Protocol of sockets of Multipath TCP (IPPROTO_MPTCP of Linux). Python has its name on some systems only."""
QUIC_SLICE_S = 0.05
"""Interval between checks for signals, seconds."""


def bulk() -> None:
    """Send without end to each client."""

    def send(connection: socket.socket) -> None:
        try:
            while True:
                connection.sendall(CHUNK)
        except OSError:
            connection.close()

    _accept(send)


def echo() -> None:
    """Return what arrives, by TCP and by UDP."""

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1 << 16):
                connection.sendall(data)

    threading.Thread(target=_accept, args=(answer,), daemon=True).start()
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("::", PORT))
        while True:
            data, sender = datagrams.recvfrom(1 << 16)
            datagrams.sendto(data, sender)


def http() -> None:
    """Serve the files of the current folder by HTTP/1.1 over persistent connections."""
    from http import server

    class Files(server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # As in servers: otherwise the end of a file waits a round trip for the ACK of earlier data.
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:
            """Do not log requests."""

    class Server(server.ThreadingHTTPServer):
        address_family = socket.AF_INET6
        # As in real servers: a browser opens several connections at once.
        request_queue_size = 128

    with Server(("::", HTTP_PORT), Files, bind_and_activate=False) as server_:
        server_.socket.close()
        server_.socket = _open(socket.AF_INET6)
        server_.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server_.server_bind()
        server_.server_activate()
        server_.serve_forever()


def fetch(limit_s: str = "inf") -> None:
    """Receive from the peer's bulk server for some seconds, or until SIGTERM, and print the rate."""
    # One buffer for all: new memory for each call would cost more time than the data.
    start_s, received, buffer = time.monotonic(), 0, bytearray(1 << 20)
    with contextlib.suppress(EndError), _open(socket.AF_INET) as peer:
        signal.signal(signal.SIGTERM, _end)
        signal.signal(signal.SIGINT, _end)
        # Of IPv4, whose headers are those of simulated segments.
        peer.connect((os.environ["BENTPIPE_PEER"].split()[0], PORT))
        until_s = time.monotonic() + float(limit_s)
        while time.monotonic() < until_s and (size := peer.recv_into(buffer)):
            received += size
    took_s = time.monotonic() - start_s
    with contextlib.suppress(EndError):
        print(f"received {received} B in {took_s:.2f} s: {received * 8e-6 / took_s:.3f} Mbit/s", flush=True)


def quic(text: str, report: str = "") -> None:
    """Run an end with bentpipe's QUIC until SIGTERM, or until its only connection is closed.

    `text` is the task as JSON. The connections go to the file descriptor `report`.
    """
    # Loaded only here: other programs start without them.
    import json
    import secrets

    from bentpipe import _core
    from bentpipe.errors import BentpipeError

    task = json.loads(text)
    stops: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stops.append(number))
    scenario = _core.Scenario.from_json(json.dumps(task["settings"]), "", [], None, [])
    # Of IPv4, whose headers are those of simulated packets.
    peer = None if task["peer"] is None else socket.gethostbyname(task["peer"])
    request = f"GET /{os.path.basename(task['file'] or '')}\r\n"  # noqa: PTH119 - `pathlib` takes milliseconds.
    more = (task["port"], peer, request, secrets.randbits(64), task["qlog"])
    try:
        host = _core.QuicHost(scenario, task["service"], task["file"], *more)
    except BentpipeError as error:
        sys.exit(f"QUIC: {error}")
    is_single = task["single"] or peer is not None
    is_over = False
    while not stops and not is_over:
        connections, closed = host.run(QUIC_SLICE_S)
        is_over = is_single and 0 < connections == closed
    host.close()
    host.run(QUIC_SLICE_S)
    columns = host.reports()
    for note in host.notes():
        print(note, file=sys.stderr)
    if report:
        columns["peer"] = [_name(peer) for peer in columns["peer"]]
        with os.fdopen(int(report), "wb") as file:
            file.write(json.dumps(columns).encode())
    if not task["single"]:
        return
    for received, took_s, failure in zip(
        *(columns[name] for name in ("received_bytes", "done_s", "failure")), strict=True
    ):
        print(f"received {received} B", *([] if took_s is None else [f"in {took_s:.3f} s"]), flush=True)
        if failure:
            sys.exit(f"QUIC: {failure}")


def _name(address: str) -> str:
    """The name of a host."""
    try:
        return socket.gethostbyaddr(address)[0]
    except OSError:
        return address


def find_program(name: str) -> list[str]:
    """The command of a built-in program."""
    return [sys.executable, "-m", "bentpipe.emulation.programs", name]


class EndError(Exception):
    """A signal asks for the end."""


def _end(*_: object) -> None:
    # Once: a second signal would interrupt the last line.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    raise EndError


def _open(family: socket.AddressFamily) -> socket.socket:
    """Open a socket of TCP, over all paths if there are several."""
    return socket.socket(family, socket.SOCK_STREAM, MULTIPATH if "BENTPIPE_PATHS" in os.environ else 0)


def _accept(serve: Callable[[socket.socket], None]) -> None:
    with _open(socket.AF_INET6) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind(("::", PORT))
        server.listen()
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


PROGRAMS: dict[str, Callable[..., None]] = {"bulk": bulk, "echo": echo, "http": http, "fetch": fetch, "quic": quic}

if __name__ == "__main__":
    try:
        PROGRAMS[sys.argv[1]](*sys.argv[2:])
    except (KeyboardInterrupt, BrokenPipeError):
        # Ctrl-C ends a server, and the reader of its output is gone. Python would try to print it again.
        os._exit(1)
