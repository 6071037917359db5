"""bentpipe's own TCP on the wire: each byte arrives, whoever sends, through loss, reordering and duplication."""

import hashlib
import json
import shutil
import subprocess
import sys

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError

# They wait for other processes, or are many runs.
pytestmark = pytest.mark.timeout(600)

ROUGH = """
title = "20 Mbit/s that loses, repeats and reorders"
duration = "60 s"

[tcp]
like = "linux-6"

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

[flow.real]
from = "server"
to = "user"
app = "port"
"""

# A program over ordinary sockets: it receives into a file, sends a file, or both.
CLIENT = """
import socket, sys, threading
way, place, family = sys.argv[1:4]
peer = socket.socket(getattr(socket, family))
peer.connect(("server", 5001))
if way == "get":
    with open(place, "wb") as file:
        while data := peer.recv(1 << 16):
            file.write(data)
elif way == "put":
    with open(place, "rb") as file:
        peer.sendall(file.read())
    peer.shutdown(socket.SHUT_WR)
    while peer.recv(1 << 16):
        pass
else:
    def send():
        with open(place, "rb") as file:
            peer.sendall(file.read())
        peer.shutdown(socket.SHUT_WR)
    threading.Thread(target=send).start()
    with open(place + ".back", "wb") as file:
        while data := peer.recv(1 << 16):
            file.write(data)
"""
SERVER = """
import socket, sys
with socket.create_server(("", 5001)) as server:
    peer, _ = server.accept()
    with open(sys.argv[1], "wb") as file:
        while data := peer.recv(1 << 16):
            file.write(data)
    peer.close()
"""
BYTES = 1_500_000


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def place(tmp_path):
    (tmp_path / "rough.toml").write_text(ROUGH)
    (tmp_path / "client.py").write_text(CLIENT)
    (tmp_path / "server.py").write_text(SERVER)
    # Not the same in any two places.
    (tmp_path / "data").write_bytes(b"".join(hashlib.sha256(str(at).encode()).digest() for at in range(BYTES // 32)))
    return tmp_path


def client(place, way, name, family="AF_INET"):
    return [sys.executable, str(place / "client.py"), way, str(place / name), family]


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(("cc", "family"), [("cubic", "AF_INET"), ("bbr3", "AF_INET6"), ("hybla", "AF_INET")])
def test_linux_gets_each_byte_that_our_tcp_sends(place, cc, family, trusted):
    asked = {"send": place / "data", "cc": cc, "seed": 3}
    found = trusted(lambda: bp.speak(place / "rough.toml", client(place, "get", "got", family), **asked))
    assert found.status == 0
    assert digest(place / "got") == digest(place / "data")
    (ours,) = found.spoken
    assert (ours["cc"], ours["acked_bytes"], ours["aborted"]) == (cc, BYTES, False)
    assert ours["retransmissions"] > 0
    assert set(found.samples["cc"]) >= {f"{cc} (bentpipe)"}


@pytest.mark.usefixtures("namespaces")
def test_our_tcp_takes_each_byte_that_linux_sends(place, trusted):
    found = trusted(lambda: bp.speak(place / "rough.toml", client(place, "put", "data"), take=place / "taken"))
    assert found.status == 0
    assert digest(place / "taken") == digest(place / "data")
    assert found.spoken[0]["received_bytes"] == BYTES
    assert found.spoken[0]["duplicate_segments"] > 0


@pytest.mark.usefixtures("namespaces")
def test_our_tcp_echoes_each_byte(place, trusted):
    found = trusted(lambda: bp.speak(place / "rough.toml", client(place, "both", "data"), echo=True))
    assert found.status == 0
    assert digest(place / "data.back") == digest(place / "data")


@pytest.mark.usefixtures("namespaces")
def test_our_tcp_connects_to_a_server_of_linux(place, trusted):
    server = [sys.executable, str(place / "server.py"), str(place / "got")]
    found = trusted(lambda: bp.speak(place / "rough.toml", server, send=place / "data", connect=True))
    assert found.status == 0
    assert digest(place / "got") == digest(place / "data")


@pytest.mark.usefixtures("namespaces")
def test_connections_to_other_ports_are_refused(place):
    code = "import socket, sys\ntry: socket.create_connection(('server', 80), 5)\n"
    code += "except ConnectionRefusedError: sys.exit(7)"
    assert bp.speak(place / "rough.toml", [sys.executable, "-c", code], echo=True).status == 7


@pytest.mark.usefixtures("namespaces")
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is missing")
def test_captures_of_our_tcp_have_nothing_malformed(place):
    bp.speak(place / "rough.toml", client(place, "both", "data"), echo=True, pcap=place / "both.pcapng")
    for host in ("server", "user"):
        checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
        wrong = "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0"
        words = ["tshark", "-r", str(place / f"both-{host}.pcapng"), *checks, "-Y", wrong]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert not done.stdout


@pytest.mark.usefixtures("namespaces")
def test_the_command_prints_our_connections(place):
    words = ["speak", "rough.toml", "--cc", "bbr3", "--set", "duration=2 s"]
    done = subprocess.run([sys.executable, "-m", "bentpipe", *words], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Connections of bentpipe's own TCP" in done.stdout
    assert "bbr3" in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "bentpipe", *words, "--json"], cwd=place, capture_output=True, text=True
    )
    assert json.loads(done.stdout)["spoken"][0]["cc"] == "bbr3"


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"send": "data", "echo": True}, "send and echo\n  expected only one of them"),
        ({"send": "nowhere"}, "there is no file nowhere\n  expected a file to send"),
        ({"take": "no/where"}, "the folder of no/where does not exist"),
        ({"port": 0}, "port 0\n  expected 1 to 65535"),
        ({"cc": "cubix"}, "is not a congestion control"),
    ],
)
def test_what_makes_no_sense_is_refused(place, monkeypatch, asked, text):
    monkeypatch.chdir(place)
    with pytest.raises(BentpipeError) as error:
        bp.speak("rough.toml", ["true"], **asked)
    assert text in str(error.value)


OWN = """
import bentpipe


class Fixed(bentpipe.CongestionControl):
    \"\"\"A constant window of 40 segments.\"\"\"

    def on_ack(self, ack, path):
        self.cwnd = 40 * path.smss

    def on_congestion(self, why, path):
        self.cwnd = 40 * path.smss


class Broken(bentpipe.CongestionControl):
    \"\"\"Fails.\"\"\"

    def on_ack(self, ack, path):
        raise ValueError("no idea")
"""


@pytest.mark.usefixtures("namespaces")
def test_a_congestion_control_in_python_speaks(place, trusted):
    (place / "own.py").write_text(OWN)
    asked = {"send": place / "data", "cc": f"{place}/own.py:Fixed", "seed": 3}
    found = trusted(lambda: bp.speak(place / "rough.toml", client(place, "get", "got"), **asked))
    assert found.status == 0
    assert digest(place / "got") == digest(place / "data")
    (ours,) = found.spoken
    assert (ours["cc"], ours["acked_bytes"]) == ("Fixed", BYTES)
    windows = found.samples.filter(cc="Fixed (bentpipe)")["cwnd_bytes"]
    # But in recovery, which is not the class's.
    assert windows.mode().to_list() == [40 * 1448]


@pytest.mark.usefixtures("namespaces")
def test_a_class_from_no_file_speaks(place, trusted):
    pytest.importorskip("cloudpickle")
    module = {}
    exec(OWN, module)
    asked = {"send": place / "data", "cc": module["Fixed"], "seed": 3}
    found = trusted(lambda: bp.speak(place / "rough.toml", client(place, "get", "got"), **asked))
    (ours,) = found.spoken
    assert (ours["cc"], ours["acked_bytes"]) == ("Fixed", BYTES)


@pytest.mark.usefixtures("namespaces")
def test_a_class_that_fails_ends_the_run_with_its_traceback(place):
    (place / "own.py").write_text(OWN)
    with pytest.raises(BentpipeError, match=r"(?s)Broken failed in on_ack, flow real.*no idea"):
        bp.speak(place / "rough.toml", client(place, "get", "got"), send=place / "data", cc=f"{place}/own.py:Broken")


PLAIN = """
title = "a flow that is no port yet"
duration = "2 s"

[link.sat]
from = "server"
to = "user"
rate = "20 Mbit/s"
delay = "10 ms"

[flow.bulk]
from = "server"
to = "user"
"""
PASSES = """
import bentpipe


class Passes(bentpipe.Middlebox):
    \"\"\"Lets everything pass.\"\"\"
"""


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    "words",
    [
        ["speak", "plain.toml", "--cc", "own.py:Fixed"],
        ["speak", "plain.toml", "--set", "tcp.cc=own.py:Fixed"],
        ["emulate", "plain.toml", "--serve", "bulk", "--set", "node.server.middlebox=passes.py:Passes"],
    ],
)
def test_own_classes_are_there_when_real_packets_take_the_place_of_a_flow(place, words):
    (place / "own.py").write_text(OWN)
    (place / "passes.py").write_text(PASSES)
    (place / "plain.toml").write_text(PLAIN)
    words = [sys.executable, "-m", "bentpipe", *words, "--json"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["flows"][0]["delivered_bytes"] > 0
    assert [each["cc"] for each in found["spoken"]] == (["Fixed"] if words[3] == "speak" else [])


@pytest.mark.usefixtures("namespaces")
def test_own_functions_are_there_on_both_sides_of_a_twin(place):
    (place / "passes.py").write_text(PASSES)
    (place / "plain.toml").write_text(PLAIN)
    scenario = bp.load(place / "plain.toml", {"node.server.middlebox": f"{place}/passes.py:Passes"})
    found = bp.twin(scenario, replications=2, emulations=1)
    assert found.scenario.to_dict()["node"]["server"]["middlebox"][0]["name"] == "Passes"
    assert (found.runs["goodput_bps"] > 0).all()
