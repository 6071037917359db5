"""Loads a page as the simulated application does: one connection for the page, up to six for its objects.

    python page_client.py HOST OBJECTS CONNECTIONS REQUEST_BYTES PARSE_S

It prints the time from the first SYN to the last byte, in milliseconds. No connection opens before it has a request.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections import deque

PORT = 8000


def opened(host: str) -> socket.socket:
    """A connection that sends a request at once."""
    # IPv4, as in the simulation: the name has an address of IPv6, too.
    connection = socket.create_connection((socket.gethostbyname(host), PORT))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def fetch(connection: socket.socket, host: str, name: str, size: int) -> None:
    """Request a file with `size` bytes, and take all of the answer."""
    start = f"GET /{name} HTTP/1.1\r\nHost: {host}\r\nX: "
    connection.sendall((start + "x" * (size - len(start) - 4) + "\r\n\r\n").encode())
    head, body = b"", b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(65536)
    head, body = head.split(b"\r\n\r\n", 1)
    (length,) = (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    left = length - len(body)
    while left > 0:
        left -= len(connection.recv(65536))


def load(host: str, objects: int, connections: int, request_bytes: int, parse_s: float) -> None:
    """Load the page."""
    begin = time.monotonic()
    first = opened(host)
    fetch(first, host, "", request_bytes)
    time.sleep(parse_s)
    names = deque(f"{number}.png" for number in range(objects))

    def take(connection: socket.socket | None) -> None:
        while names:
            name = names.popleft()
            connection = connection or opened(host)
            fetch(connection, host, name, request_bytes)

    workers = [threading.Thread(target=take, args=(first if n == 0 else None,)) for n in range(connections)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"<title>{1000 * (time.monotonic() - begin):.0f}</title>")


if __name__ == "__main__":
    load(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
