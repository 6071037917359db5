"""The door of the studio: refused requests over HTTP and WebSocket, and the files and names behind it."""

import base64
import contextlib
import os
import re
import select
import socket

import pytest

pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")

from bentpipe.studio import guard
from tests.studio_pages import SHORT, server


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenarios")
    (folder / "short.toml").write_text(SHORT)
    (folder / "out.toml").symlink_to("/etc/passwd")
    (folder / "mine.report").mkdir()
    (folder / "mine.report" / "index.html").write_text("<script>alert(1)</script>")
    with server(folder, "short.toml") as (_, host, token):
        yield host, token


def asked(host, target, *headers, method="GET", host_header=None, body=b""):
    """Status, headers and body of one raw request."""
    name, _, port = host.rpartition(":")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host if host_header is None else host_header}", *headers]
    lines += ["Connection: close"] if not any(line.startswith("Connection") for line in headers) else []
    with socket.create_connection((name.strip("[]"), int(port)), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
            if b"101 Switching" in answer:
                break
    head, _, rest = answer.partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    return int(status.split()[1]), dict(re.split(": ?", field.lower(), maxsplit=1) for field in fields), rest


def upgrade(origin):
    key = base64.b64encode(os.urandom(16)).decode()
    fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
    return fields + ([f"Origin: {origin}"] if origin else [])


def test_the_page_is_there_with_the_token_and_carries_its_policy(studio):
    host, token = studio
    status, headers, body = asked(host, f"/{token}/")
    assert status == 200
    assert b"bentpipe studio" in body
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "deny"
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert not [name for name in headers if name.startswith("access-control")]
    assert "server" not in headers


def test_without_its_last_slash_the_address_leads_to_the_page(studio):
    host, token = studio
    status, headers, _ = asked(host, f"/{token}")
    assert (status, headers["location"].lower()) == (307, f"/{token.lower()}/")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/api/library",
        "/{wrong}/",
        "/{wrong}/api/library",
        "/{short}/",
        "//{token}/",
        "/%2f{token}/",
        "/{upper}/",
    ],
)
def test_a_request_without_the_token_is_refused(studio, path):
    host, token = studio
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    target = path.format(wrong=wrong, token=token, short=token[:-1], upper=token.swapcase()) or "*"
    status, _, body = asked(host, target)
    assert status in (400, 403, 404)
    assert b"scenarios" not in body


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1", "localhost", "127.0.0.1.evil.example:{port}", "", "127.0.0.1:1"]
)
def test_a_request_to_another_host_is_refused(studio, name):
    host, token = studio
    status, _, _ = asked(host, f"/{token}/", host_header=name.format(port=host.rpartition(":")[2]))
    assert status in (400, 403)


def test_two_hosts_in_one_request_are_refused(studio):
    host, token = studio
    status, _, _ = asked(host, f"/{token}/", "Host: evil.example")
    assert status in (400, 403)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://{host}", "http://127.0.0.1:1", "http://{host}.evil"]
)
def test_a_request_of_another_origin_is_refused_over_http_and_websocket(studio, origin):
    host, token = studio
    origin = origin.format(host=host)
    assert asked(host, f"/{token}/api/library", f"Origin: {origin}")[0] == 403
    socket_path = f"/{token}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    assert asked(host, socket_path, *upgrade(origin))[0] == 403


def test_a_websocket_needs_an_origin_the_token_and_our_host(studio):
    host, token = studio
    path = f"/{token}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    ours = f"http://{host}"
    assert asked(host, path, *upgrade(ours))[0] == 101
    assert asked(host, path, *upgrade(""))[0] == 403
    assert asked(host, path.replace(token, "x" * len(token)), *upgrade(ours))[0] == 403
    assert asked(host, path.removeprefix(f"/{token}"), *upgrade(ours))[0] == 403
    assert asked(host, path, *upgrade(ours), host_header="evil.example")[0] == 403
    assert asked(host, path, *upgrade(ours), "Sec-Fetch-Site: cross-site")[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_gets_nothing_but_may_be_left_for_ours(studio, site):
    host, token = studio
    target = f"/{token}/api/library"
    assert asked(host, target, f"Sec-Fetch-Site: {site}")[0] == 403
    assert asked(host, target, f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script")[0] == 403
    assert (
        asked(host, target, f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe")[0] == 403
    )
    # The file that opens the browser is of no site.
    assert (
        asked(host, f"/{token}/", f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")[0]
        == 200
    )
    assert asked(host, target, "Sec-Fetch-Site: same-origin")[0] == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(studio, method):
    host, token = studio
    assert asked(host, f"/{token}/api/library", method=method)[0] == 405


def test_a_large_body_is_refused(studio):
    host, token = studio
    assert asked(host, f"/{token}/api/library", "Content-Length: 2000000", method="POST")[0] == 413


@pytest.mark.parametrize(("target", "status"), [("api/library", 200), ("nothing", 404)])
def test_a_body_without_a_length_is_counted_as_it_arrives(studio, target, status):
    host, token = studio
    chunk = b"10000\r\n" + bytes(1 << 16) + b"\r\n"
    name, _, port = host.rpartition(":")
    head = f"POST /{token}/{target} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection((name.strip("[]"), int(port)), timeout=30) as connection:
        connection.sendall(head.encode())
        sent = 0
        # It has no end. The server answers and closes the connection.
        with contextlib.suppress(ConnectionError):
            while not select.select([connection], [], [], 0)[0] and sent < 1000:
                connection.sendall(chunk)
                sent += 1
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")
    assert 16 <= sent < 200
    # A small one is admitted.
    fields = ["Transfer-Encoding: chunked"]
    found = asked(host, f"/{token}/{target}", *fields, method="GET", body=b"5\r\nhello\r\n0\r\n\r\n")
    assert found[0] == status


@pytest.mark.parametrize(
    "path",
    [
        "static/../serve.py",
        "static/..%2fserve.py",
        "static/%2e%2e/serve.py",
        "static/%2e%2e%2fserve.py",
        "static/..%5cserve.py",
        "vendor/../../../../../../etc/passwd",
        "static//etc/passwd",
        "static/%00",
        "api/run/../library",
        "api/run/..%2f..%2f/meta",
        "serve.py",
        "docs",
        "openapi.json",
    ],
)
def test_paths_that_leave_their_folder_are_refused(studio, path):
    host, token = studio
    status, _, body = asked(host, f"/{token}/{path}")
    assert status in (403, 404)
    assert b"root:" not in body
    assert b"import" not in body


@pytest.mark.parametrize(
    "run", ["0123456789ab", "0123456789AB", "0123456789a", "0123456789abc", "short.toml", "....", "%20"]
)
@pytest.mark.parametrize(
    "what",
    ["meta", "at?t=1", "network", "sky", "series?name=x&of=y&from=0&to=1&columns=10", "figure?form=svg&from=0&to=1"],
)
def test_an_unknown_run_is_not_found(studio, run, what):
    host, token = studio
    assert asked(host, f"/{token}/api/run/{run}/{what}")[0] == 404


def test_the_token_is_in_no_page_and_in_no_log(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    with server(tmp_path, "short.toml") as (process, host, token):
        _, _, body = asked(host, f"/{token}/nowhere")
        assert token.encode() not in body
        asked(host, f"/{token}/%ff%fe")
        process.terminate()
        process.wait(30)
        assert token not in process.stdout.read()
        assert token not in process.errors()


def test_a_report_is_shown_without_its_scripts(studio):
    host, token = studio
    status, headers, body = asked(host, f"/{token}/api/report?name=mine.report/index.html")
    assert (status, body) == (200, b"<script>alert(1)</script>")
    assert headers["content-type"].startswith("text/html")
    policies = policies_of(host, f"/{token}/api/report?name=mine.report/index.html")
    assert any("sandbox" in policy and "default-src 'none'" in policy for policy in policies)
    assert any("frame-ancestors 'none'" in policy for policy in policies)
    assert asked(host, f"/{token}/api/report?name=short.toml")[0] == 404


def policies_of(host, target):
    from urllib.request import urlopen

    with urlopen(f"http://{host}{target}") as answer:
        return answer.headers.get_all("content-security-policy")


class Clock:
    """Virtual time of an event loop: a wait moves it on."""

    def __init__(self, monkeypatch):
        self.now_s = 1000.0

        async def sleep(seconds):
            self.now_s += seconds

        monkeypatch.setattr(guard.asyncio, "sleep", sleep)
        monkeypatch.setattr(guard.asyncio, "get_running_loop", lambda: self)

    def time(self):
        return self.now_s


def admitted(kind, path="", messages=1):
    """A function that sends a request of this kind through a door, and the messages that passed."""
    token, host = "t" * 43, "127.0.0.1:1"
    headers = [(b"host", host.encode()), (b"origin", f"http://{host}".encode())]
    scope = {"type": kind, "path": f"/{token}/{path}", "method": "GET", "headers": headers}
    seen = []

    async def inside(scope, receive, send):
        for _ in range(messages):
            seen.append(await receive())

    async def receive():
        return {"type": "websocket.receive" if kind == "websocket" else "http.request", "text": "x"}

    async def send(message):
        seen.append(message)

    door = guard.Door(inside, token, [host])
    return lambda: door(dict(scope), receive, send), seen


@pytest.mark.parametrize(
    ("kind", "path", "per_s", "at_once"),
    [
        ("http", "", guard.PAGES_PER_S, guard.PAGES_AT_ONCE),
        ("http", "api/library", guard.REQUESTS_PER_S, guard.REQUESTS_AT_ONCE),
    ],
)
def test_a_flood_of_requests_passes_at_the_rate_of_the_door(monkeypatch, kind, path, per_s, at_once):
    clock = Clock(monkeypatch)
    begin_s = clock.now_s
    ask, seen = admitted(kind, path)
    step_all(ask() for _ in range(at_once))
    assert clock.now_s == begin_s
    step_all(ask() for _ in range(500))
    assert clock.now_s - begin_s == pytest.approx(500 / per_s)
    assert len(seen) == at_once + 500
    # After a quiet time, the user waits for nothing.
    clock.now_s += at_once / per_s
    before_s = clock.now_s
    step_all([ask()])
    assert clock.now_s == before_s


def test_a_flood_of_messages_passes_at_the_rate_of_the_door(monkeypatch):
    """The server stops to read: nothing piles up, and the work of a page is bounded."""
    clock = Clock(monkeypatch)
    begin_s = clock.now_s
    ask, seen = admitted("websocket", "_nicegui_ws/socket.io/", messages=10_000)
    step_all([ask()])
    assert len(seen) == 10_000
    assert clock.now_s - begin_s == pytest.approx((10_000 - guard.MESSAGES_AT_ONCE) / guard.MESSAGES_PER_S)


def step_all(coroutines):
    """Run coroutines that wait for virtual time only."""
    for coroutine in coroutines:
        with contextlib.suppress(StopIteration):
            coroutine.send(None)
            pytest.fail("it waits for something else")
