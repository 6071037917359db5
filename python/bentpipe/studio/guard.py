"""The door of the studio: an ASGI application around all others, which admits requests of the studio's page only.

A page of any other site can send requests to this machine. So a request is admitted if it knows the token of this
start, names this server as its host, and comes from a page of this server or from no page. HTTP and WebSocket follow
the same rules.
"""

from __future__ import annotations

import asyncio
import re
from secrets import compare_digest, token_urlsafe
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN_BYTES = 32
METHODS = ("GET", "HEAD", "POST")
BODY_MAX = 1 << 20
"""Bytes of a request; scenarios come over the socket, which has its own limit."""
UPLOAD = re.compile(r"/_nicegui/client/[^/]+/upload/\d+")
"""Path of a file that a page sends, behind the token."""
UPLOAD_MAX = 256 << 20
"""Bytes of the files that a page sends at once. They are written to disk while they arrive."""
TOO_LARGE = (413, "the request is too large")
REQUESTS_PER_S, REQUESTS_AT_ONCE = 200.0, 1000
MESSAGES_PER_S, MESSAGES_AT_ONCE = 200.0, 1000
"""Messages of all sockets together. A page that a user works with sends a few each second."""
PAGES_PER_S, PAGES_AT_ONCE = 5.0, 40
"""A page takes half a megabyte. If no browser connects to it, the server forgets it after a minute."""
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'{sockets}; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""NiceGUI needs inline scripts and the compiler of its templates."""


def new_token() -> str:
    """A fresh token for one start of the server."""
    return token_urlsafe(TOKEN_BYTES)


class Rate:
    """A token bucket. Requests above its rate wait, so that the work of a flood is bounded.

    Parameters
    ----------
    per_s : float
    at_once : int
        Number that passes without a wait after a quiet time.
    """

    def __init__(self, per_s: float, at_once: int) -> None:
        self._per_s, self._at_once = per_s, at_once
        self._left, self._at_s = float(at_once), 0.0

    async def wait(self) -> None:
        """Return when one more may pass. They pass in order."""
        now_s = asyncio.get_running_loop().time()
        self._left = min(self._at_once, self._left + (now_s - self._at_s) * self._per_s) - 1
        self._at_s = now_s
        if self._left < 0:
            await asyncio.sleep(-self._left / self._per_s)


class Door:
    """Refuses each request that is not one of the studio's own page.

    Parameters
    ----------
    inside : ASGI application
        Sees admitted requests only, with the token in `root_path`.
    token : str
        First segment of each path.
    hosts : collection of str
        The names of this server with their port, such as `127.0.0.1:8000`.
    """

    def __init__(self, inside: Application, token: str, hosts: Collection[str]) -> None:
        self._inside = inside
        self._token = token
        self._hosts = frozenset(hosts)
        self._origins = frozenset(f"http://{host}" for host in hosts)
        self._requests = Rate(REQUESTS_PER_S, REQUESTS_AT_ONCE)
        self._messages = Rate(MESSAGES_PER_S, MESSAGES_AT_ONCE)
        self._pages = Rate(PAGES_PER_S, PAGES_AT_ONCE)
        policy = POLICY.format(sockets="".join(f" ws://{host}" for host in sorted(hosts)))
        self._headers = [
            (b"content-security-policy", policy.encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"x-frame-options", b"DENY"),
            (b"x-content-type-options", b"nosniff"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            # Start and end of the server.
            await self._inside(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await self._refuse(scope, send, *refusal)
        elif scope["path"] == f"/{self._token}":
            # Names on the page are relative to the folder.
            await self._answer(send, 307, b"", [(b"location", f"/{self._token}/".encode())])
        else:
            await self._requests.wait()
            if scope["path"] == f"/{self._token}/":
                await self._pages.wait()
            if scope["type"] == "websocket":
                # The server reads no further message until this one is taken.
                receive = self._slow_down(receive)
            # The server bounds bodies that state their length, and this door has read the length.
            is_open_ended = any(name.lower() == b"transfer-encoding" for name, _ in scope["headers"])
            if scope["type"] == "http" and is_open_ended:
                body = await _read(receive)
                if body is None:
                    await self._refuse(scope, send, *TOO_LARGE, [(b"connection", b"close")])
                    return
                receive = _again(body, receive)
            scope["root_path"] = f"/{self._token}"
            await self._inside(scope, receive, self._add_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason of a request that is not admitted; None if it is."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        # Stops names of other sites that lead here (DNS rebinding).
        if [host.decode("latin-1").lower() for host in headers.get(b"host", [])] not in [
            [each] for each in self._hosts
        ]:
            return 403, "the request names another host"
        origins = [origin.decode("latin-1") for origin in headers.get(b"origin", [])]
        if any(origin not in self._origins for origin in origins) or (scope["type"] == "websocket" and not origins):
            return 403, "the request comes from another page"
        if not self._comes_from_here(headers):
            return 403, "the request comes from another site"
        if not self._has_token(scope["path"]):
            return 403, "the address has no valid token: open the address that bentpipe studio printed"
        if _is_devious(scope):
            return 404, "the path makes no sense"
        if scope["type"] == "http" and scope["method"] not in METHODS:
            return 405, "the method is not used here"
        is_upload = scope["type"] == "http" and UPLOAD.fullmatch(scope["path"].removeprefix(f"/{self._token}"))
        if int(headers.get(b"content-length", [b"0"])[0] or 0) > (UPLOAD_MAX if is_upload else BODY_MAX):
            return TOO_LARGE
        return None

    def _comes_from_here(self, headers: dict[bytes, list[bytes]]) -> bool:
        site = headers.get(b"sec-fetch-site", [b"none"])
        if all(each in (b"none", b"same-origin") for each in site):
            return True
        # The file that opens the browser is of no site. To open the page in its own tab shows nothing to anybody else.
        return headers.get(b"sec-fetch-mode") == [b"navigate"] and headers.get(b"sec-fetch-dest") == [b"document"]

    def _has_token(self, path: str) -> bool:
        first = path[1:].partition("/")[0] if path.startswith("/") else ""
        return compare_digest(first.encode("utf-8", "surrogatepass"), self._token.encode())

    async def _refuse(
        self, scope: Scope, send: Send, status: int, why: str, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        if scope["type"] == "websocket":
            # Before the handshake: the client sees status 403.
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = [(b"content-type", b"text/plain; charset=utf-8"), *headers]
        await self._answer(send, status, f"refused: {why}\n".encode(), headers)

    async def _answer(self, send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [*self._headers, length, *headers]})
        await send({"type": "http.response.body", "body": body})

    def _slow_down(self, receive: Receive) -> Receive:
        """Wrap a function that receives, so that messages come at the rate of this door."""

        async def receive_slowly() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                await self._messages.wait()
            return message

        return receive_slowly

    def _add_headers(self, send: Send) -> Send:
        """Wrap a function that sends, so that each answer has the headers of the door."""

        async def send_dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in self._headers}
                # A further policy only forbids more.
                ours.discard(b"content-security-policy")
                others = [(name, value) for name, value in message.get("headers", []) if name.lower() not in ours]
                others = [(name, value) for name, value in others if not name.lower().startswith(b"access-control-")]
                message = {**message, "headers": [*others, *self._headers]}
            await send(message)

        return send_dressed


async def _read(receive: Receive) -> bytes | None:
    """Read the body of a request as it arrives; None as soon as it is larger than `BODY_MAX`."""
    body = b""
    while True:
        message = await receive()
        # A client that goes away sends no more.
        if message["type"] != "http.request":
            return body
        body += bytes(message.get("body", b""))
        if len(body) > BODY_MAX:
            return None
        if not message.get("more_body", False):
            return body


def _again(body: bytes, receive: Receive) -> Receive:
    """A function that gives a body that was read, then what comes after it."""
    left = [body]

    async def receive_again() -> Message:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return receive_again


def _is_devious(scope: Scope) -> bool:
    """Whether a path goes up, or hides a separator from those who read it."""
    raw = scope.get("raw_path") or b""
    hidden = any(sign in raw.lower() for sign in (b"%2f", b"%5c", b"%2e", b"%00"))
    return hidden or "\\" in scope["path"] or any(part in ("..", ".") for part in scope["path"].split("/"))
