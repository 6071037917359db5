"""bentpipe's QUIC on the wire: against itself, and against aioquic, through loss, reordering and duplication."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError
from tests import qlogs
from tests.conftest import REAL_TIME_TRIES
from validation import quic_twin

# They wait for other processes.
pytestmark = pytest.mark.timeout(600)

ROUGH = """
title = "20 Mbit/s that loses, repeats and reorders"
duration = "60 s"

[node.sat]
middlebox = [{ kind = "impair", duplicate = "1 %", reorder = "2 %", hold = "3 ms" }]

[link.up]
from = "server"
to = "sat"
rate = "20 Mbit/s"
delay = "10 ms"

[link.down]
from = "sat"
to = "user"
rate = "20 Mbit/s"
delay = "10 ms"

[link.down.forward]
error = { kind = "packet", rate = 0.005 }

[link.down.reverse]
error = { kind = "packet", rate = 0.005 }

[quic]
cc = "bbr3"

[flow.real]
from = "server"
to = "user"
"""

# A program with aioquic: a client that gets, puts or does both; or a server that takes, or sends.
AIOQUIC = """
import asyncio, datetime, os, ssl, sys
from pathlib import Path
from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated
from aioquic.quic.logger import QuicFileLogger
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

way, place = sys.argv[1], Path(sys.argv[2])
windows = {"max_data": 1 << 24, "max_stream_data": 1 << 24, "alpn_protocols": [sys.argv[3]]}

async def client():
    logger = QuicFileLogger(os.environ["LOGS"]) if "LOGS" in os.environ else None
    configuration = QuicConfiguration(verify_mode=ssl.CERT_NONE, quic_logger=logger, **windows)
    async with connect("server", 5001, configuration=configuration) as connection:
        reader, writer = await connection.create_stream()
        writer.write(b"GET /data\\r\\n" if way == "get" else place.read_bytes())
        writer.write_eof()
        data = await reader.read()
        if way == "get":
            place.write_bytes(data)
        elif way == "both":
            Path(f"{place}.back").write_bytes(data)

async def server():
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now()
    certificate = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
    certificate = certificate.sign(key, hashes.SHA256())
    configuration = QuicConfiguration(is_client=False, certificate=certificate, private_key=key, **windows)
    done = asyncio.Event()

    class Protocol(QuicConnectionProtocol):
        def quic_event_received(self, event):
            super().quic_event_received(event)
            if isinstance(event, ConnectionTerminated):
                done.set()

    async def answer(reader, writer):
        data = await reader.read()
        if way == "take":
            place.write_bytes(data)
        else:
            assert data == b"GET /got\\r\\n", data
            writer.write(place.read_bytes())
        writer.write_eof()

    handler = lambda reader, writer: asyncio.ensure_future(answer(reader, writer))
    more = {"create_protocol": Protocol, "stream_handler": handler}
    await serve("::", 5001, configuration=configuration, **more)
    await done.wait()

asyncio.run(server() if way in ("take", "send") else client())
"""
BYTES = 1_000_000


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def place(tmp_path):
    (tmp_path / "rough.toml").write_text(ROUGH)
    (tmp_path / "peer.py").write_text(AIOQUIC)
    # Not the same in any two places.
    (tmp_path / "data").write_bytes(b"".join(hashlib.sha256(str(at).encode()).digest() for at in range(BYTES // 32)))
    return tmp_path


@pytest.fixture
def aioquic(place):
    """Makes the command of a program with aioquic."""
    pytest.importorskip("aioquic")
    return lambda way, name, protocol="hq-interop": [
        sys.executable, str(place / "peer.py"), way, str(place / name), protocol
    ]  # fmt: skip


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("cc", ["cubic", "bbr3", "stack-cubic"])
def test_aioquic_gets_each_byte_that_our_quic_sends(place, aioquic, cc, trusted):
    asked = {"send": place / "data", "cc": cc, "seed": 3, "quic": True}
    found = trusted(lambda: bp.speak(place / "rough.toml", aioquic("get", "got"), **asked))
    assert found.status == 0
    assert digest(place / "got") == digest(place / "data")
    (ours,) = found.spoken
    assert (ours["host"], ours["peer"], ours["cc"], ours["failure"]) == ("server", "user", cc, None)
    # It closes before it acknowledges the last byte.
    assert ours["received_bytes"] == len("GET /data\r\n")
    assert ours["retransmissions"] > 0
    # The path's round trip is 40 ms, and up to 3 ms are held.
    assert 0.04 < ours["handshake_s"] < 1


@pytest.mark.usefixtures("namespaces")
def test_our_quic_takes_each_byte_that_aioquic_puts(place, aioquic, trusted):
    asked = {"take": place / "taken", "quic": True}
    found = trusted(lambda: bp.speak(place / "rough.toml", aioquic("put", "data"), **asked))
    assert found.status == 0
    assert digest(place / "taken") == digest(place / "data")
    assert found.spoken[0]["received_bytes"] == BYTES


@pytest.mark.usefixtures("namespaces")
def test_our_quic_echoes_each_byte(place, aioquic, trusted):
    found = trusted(lambda: bp.speak(place / "rough.toml", aioquic("both", "data"), echo=True, quic=True))
    assert found.status == 0
    assert digest(place / "data.back") == digest(place / "data")


@pytest.mark.usefixtures("namespaces")
def test_our_quic_uploads_to_a_server_of_aioquic(place, aioquic, trusted):
    asked = {"send": place / "data", "connect": True, "quic": True}
    found = trusted(lambda: bp.speak(place / "rough.toml", aioquic("take", "got"), **asked))
    assert found.status == 0
    assert digest(place / "got") == digest(place / "data")
    assert (found.spoken[0]["acked_bytes"], found.spoken[0]["failure"]) == (BYTES, None)


@pytest.mark.usefixtures("namespaces")
def test_our_quic_downloads_from_a_server_of_aioquic(place, aioquic, trusted):
    asked = {"take": place / "got", "connect": True, "quic": True}
    found = trusted(lambda: bp.speak(place / "rough.toml", aioquic("send", "data"), **asked))
    assert found.status == 0
    assert digest(place / "got") == digest(place / "data")


@pytest.mark.usefixtures("namespaces")
def test_a_client_of_another_protocol_is_refused_with_the_reason(place, aioquic):
    found = bp.speak(place / "rough.toml", aioquic("get", "got", "h3"), send=place / "data", quic=True)
    assert found.status != 0
    # TLS alert 120: no_application_protocol.
    assert "protocol" in found.spoken[0]["failure"]


@pytest.mark.usefixtures("namespaces")
def test_our_qlog_has_the_packets_of_that_of_aioquic(place, aioquic, monkeypatch):
    (place / "theirs").mkdir()
    monkeypatch.setenv("LOGS", str(place / "theirs"))
    asked = {"send": place / "data", "qlog": place / "ours", "quic": True}
    found = bp.speak(place / "rough.toml", aioquic("get", "got"), **asked)
    assert found.status == 0
    ours = qlogs.read(place / "ours" / "real-0-server.sqlog")
    (file,) = sorted((place / "theirs").iterdir())[-1:]
    theirs = json.loads(file.read_text())["traces"][0]["events"]
    for one, other in ((ours, theirs), (theirs, ours)):
        received = set(qlogs.packets(other, "packet_received"))
        assert received <= set(qlogs.packets(one, "packet_sent"))
        assert len(received) > 50
    assert sum(event["name"] == "recovery:packet_lost" for event in ours) == found.spoken[0]["retransmissions"] > 0


@pytest.mark.usefixtures("namespaces")
def test_both_ends_of_ours_have_a_qlog(place):
    asked = {"send": place / "data", "connect": True, "quic": True, "qlog": place / "qlog"}
    assert bp.speak(place / "rough.toml", **asked).status == 0
    client, server = (qlogs.read(place / "qlog" / f"real-0-{side}.sqlog") for side in ("client", "server"))
    for one, other in ((client, server), (server, client)):
        assert set(qlogs.packets(other, "packet_received")) <= set(qlogs.packets(one, "packet_sent"))
    assert len(qlogs.packets(server, "packet_received")) > BYTES / 1500


@pytest.mark.usefixtures("namespaces")
def test_without_a_program_both_ends_are_ours(place, capfd, trusted):
    asked = {"send": place / "data", "connect": True, "quic": True}
    found = trusted(lambda: bp.speak(place / "rough.toml", **asked))
    assert (found.status, found.stopped) == (0, "ended")
    assert f"received {BYTES} B in " in capfd.readouterr().out
    assert found.spoken[0]["acked_bytes"] == BYTES
    assert found.hosts.endswith("QUIC (bentpipe), bbr3")


@pytest.mark.usefixtures("namespaces")
def test_the_command_prints_our_connections(place):
    words = [sys.executable, "-m", "bentpipe", "speak", "rough.toml", "--quic", "--set", "duration=2 s"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Connections of bentpipe's own QUIC" in done.stdout
    done = subprocess.run([*words, "--json"], cwd=place, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["spoken"][0]["cc"] == "bbr3"


@pytest.mark.parametrize(
    ("sets", "asked", "text"),
    [
        ({}, {"echo": True, "connect": True}, "echo=True and connect=True with quic=True\n  expected one of"),
        ({}, {"take": "got"}, "no program to run"),
        ({}, {"cc": "cubix"}, "is not a congestion control"),
        ({}, {"cc": "prague"}, "the stack does not count marks"),
        ({}, {"cc": "own.py:Own"}, "expected a name for QUIC"),
        ({}, {"flow": "other"}, "'other' is not a flow"),
        ({"quic.handshake.resume": "0-rtt"}, {}, 'has no earlier one\n  expected "none"'),
        ({"quic.handshake.address_token": True}, {}, "has no earlier one\n  expected false"),
        ({"quic.migration": {"kind": "handover"}}, {}, 'the address of a socket stays\n  expected "off"'),
        ({"quic.mtu": "1473 B"}, {}, "expected at most 1472 B"),
    ],
)
def test_what_makes_no_sense_is_refused(place, sets, asked, text):
    with pytest.raises(BentpipeError) as error:
        bp.speak(bp.load(place / "rough.toml", sets), quic=True, **asked)
    assert text in str(error.value)


def test_qlog_without_quic_is_refused(place):
    with pytest.raises(BentpipeError, match=r"qlog='.*' without quic=True\n  expected both"):
        bp.speak(place / "rough.toml", qlog=place / "qlog")


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("path", quic_twin.PATHS)
def test_real_downloads_take_the_time_of_simulated_ones(path):
    # The interval of ten pairs needs minutes.
    runs = quic_twin.RUNS if os.environ.get("BENTPIPE_ALL") else 2
    ratio = 0.0
    for _ in range(REAL_TIME_TRIES):
        pairs = quic_twin.compare(quic_twin.PATHS[path], "bbr3", runs)
        if not pairs:
            pytest.skip("this machine is too busy: no run is trustworthy")
        ratio = sum(real_s / simulated_s for real_s, simulated_s in pairs) / len(pairs)
        # A machine that is busy for a moment delays all runs of a try.
        if abs(ratio - 1) <= 0.05:
            break
    assert ratio == pytest.approx(1, abs=0.05)
