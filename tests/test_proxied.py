"""Middleboxes for real packets: a proxy that splits connections, reports of packets that are too large."""

import hashlib
import json
import subprocess
import sys

import pytest

import bentpipe as bp

PATH = """
title = "a gateway between two Linux hosts"
duration = "120 s"

[tcp]
like = "linux-6"

[node.gateway]
middlebox = [{ kind = "split", listener = { cc = "bbr3" } }]

[link.near]
from = "user"
to = "gateway"
rate = "100 Mbit/s"
delay = "1 ms"

[link.far]
from = "gateway"
to = "server"
rate = "50 Mbit/s"
delay = "20 ms"

[flow.real]
from = "user"
to = "server"
app = "port"
"""
ROUGH = """
[node.sat]
middlebox = [{ kind = "impair", duplicate = "1 %", reorder = "2 %", hold = "3 ms" }]

[link.down]
from = "gateway"
to = "sat"
rate = "50 Mbit/s"
delay = "5 ms"
error = { kind = "packet", rate = 0.005 }
"""

# It returns a digest of its input, once the sender has no more data.
SERVER = """
import hashlib, socket
with socket.create_server(("", 7000), family=socket.AF_INET6, dualstack_ipv6=True) as server:
    while True:
        peer, address = server.accept()
        found = hashlib.sha256()
        with peer:
            try:
                while data := peer.recv(1 << 16):
                    found.update(data)
                peer.sendall(f"{found.hexdigest()} {address[0]}".encode())
            except ConnectionResetError:
                open("reset", "w").close()
"""
CLIENT = """
import json, socket, sys, time
path, family = sys.argv[1:]
data = open(path, "rb").read()
before = time.monotonic()
with socket.socket(getattr(socket, family)) as peer:
    peer.connect(("server", 7000))
    connected = time.monotonic() - before
    peer.sendall(data)
    peer.shutdown(socket.SHUT_WR)
    answer = b""
    while part := peer.recv(1 << 16):
        answer += part
    whole = time.monotonic() - before
    level, name = (0, 14) if family == "AF_INET" else (41, 24)
    mtu = peer.getsockopt(level, name)
digest, address = answer.decode().split()
print(json.dumps({"digest": digest, "address": address, "connect_s": connected, "whole_s": whole, "mtu": mtu}))
"""
RESET = """
import socket, struct, time
peer = socket.create_connection(("server", 7000))
peer.sendall(bytes(100_000))
time.sleep(0.5)
peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
peer.close()
time.sleep(0.5)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    (tmp_path / "reset.py").write_text(RESET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def carry(place, text, count, capfd, family="AF_INET", **more):
    """Return the client's report on `count` bytes that it sent, after a check of the digest, and the emulation."""
    (place / "path.toml").write_text(text)
    # Different in any two places.
    data = b"".join(hashlib.sha256(str(at).encode()).digest() for at in range(count // 32))
    (place / "data").write_bytes(data)
    command = [sys.executable, "client.py", "data", family]
    found = bp.emulate("path.toml", command, serve=f"{sys.executable} server.py", at="user", **more)
    assert found.status == 0
    said = json.loads(capfd.readouterr().out.strip().splitlines()[-1])
    assert said["digest"] == hashlib.sha256(data).hexdigest()
    return said, found


@pytest.mark.usefixtures("namespaces")
def test_10_mb_cross_a_split_proxy_through_loss_reordering_and_duplication(place, capfd):
    rough = PATH.replace('[link.far]\nfrom = "gateway"', '[link.far]\nfrom = "sat"') + ROUGH
    said, found = carry(place, rough, 10_000_000, capfd, cc="cubic", pcap="path.pcapng", seed=4)
    # The server sees the client's address.
    assert said["address"].endswith("10.77.0.2")
    near, far = found.spoken
    assert [near[key] for key in ("host", "peer", "cc")] == ["gateway", "user", "cubic"]
    assert [far[key] for key in ("host", "peer", "cc")] == ["gateway", "server", "bbr3"]
    assert near["received_bytes"] == far["acked_bytes"] == 10_000_000
    assert far["retransmissions"] > 0
    assert "lets real packets pass" not in str(found.result.notes)
    taken = subprocess.run(["grep", "-ac", "taken by a proxy at gateway", "path-user.pcapng"], stdout=subprocess.PIPE)
    assert int(taken.stdout) > 0


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
def test_a_proxy_answers_the_opener_before_the_far_end_can(place, capfd, family):
    geo = PATH.replace('delay = "20 ms"', 'delay = "260 ms"')
    said, found = carry(place, geo, 200_000, capfd, family=family)
    assert said["connect_s"] < 0.26 < 0.52 < said["whole_s"]
    assert all(row["state"] in ("closed", "timewait") and not row["aborted"] for row in found.spoken)


@pytest.mark.usefixtures("namespaces")
def test_a_reset_is_passed_on_behind_the_data(place):
    (place / "path.toml").write_text(PATH)
    command = [sys.executable, "reset.py"]
    found = bp.emulate("path.toml", command, serve=f"{sys.executable} server.py", at="user")
    assert found.status == 0
    assert (place / "reset").is_file()
    assert [row["aborted"] for row in found.spoken] == [True, True]


@pytest.mark.usefixtures("namespaces")
def test_a_function_that_real_packets_pass_is_named_in_the_notes(place, capfd):
    _, found = carry(place, PATH.replace('kind = "split", listener = { cc = "bbr3" }', 'kind = "snoop"'), 3200, capfd)
    assert '"snoop" at node "gateway" lets real packets pass as they are' in found.result.notes


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
@pytest.mark.parametrize("middlebox", ["", 'middlebox = [{ kind = "split" }]'])
def test_a_sender_of_linux_finds_the_mtu_of_its_path(place, capfd, family, middlebox):
    text = PATH.replace('middlebox = [{ kind = "split", listener = { cc = "bbr3" } }]', middlebox)
    text = text.replace('delay = "20 ms"', 'delay = "20 ms"\nmtu = { size = "1300 B" }')
    said, found = carry(place, text, 640_000, capfd, family=family)
    # Behind a proxy, the proxy adapts to the smaller MTU.
    assert said["mtu"] == (1500 if middlebox else 1300)
    assert found.result.drops.filter(cause="too-big")["packets"].sum() > 0
