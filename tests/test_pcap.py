"""Captures of simulated runs: the packets of the hosts, and an unchanged run."""

import shutil
import subprocess

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError

SHORT = {"duration": "12 s"}
NEEDS_TSHARK = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def tshark(file, *options):
    command = ["tshark", "-o", "ip.check_checksum:TRUE", "-r", str(file), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_result_is_the_same_with_and_without_a_capture_and_each_host_has_a_file(tmp_path):
    scenario = bp.load("geo").with_sets(SHORT)
    captured = bp.run(scenario, pcap=tmp_path / "geo.pcapng")
    assert captured.flows.equals(bp.run(scenario).flows)
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == ["geo-server.pcapng", "geo-terminal.pcapng"]
    first = (tmp_path / files[0]).read_bytes()
    bp.run(scenario, pcap=tmp_path / "geo.pcapng")
    assert (tmp_path / files[0]).read_bytes() == first, "equal runs give equal bytes"


def test_a_run_that_is_over_gives_its_packets(tmp_path):
    scenario = bp.load("geo").with_sets({**SHORT, "link.sat.forward.error": {"kind": "packet", "rate": 0.01}})
    places = bp.pcap(bp.run(scenario, seed=7), tmp_path / "geo.pcapng")
    assert [place.name for place in places] == ["geo-server.pcapng", "geo-terminal.pcapng"]
    found = [place.read_bytes() for place in places]
    bp.run(scenario, seed=7, pcap=tmp_path / "again.pcapng")
    assert (tmp_path / "again-server.pcapng").read_bytes() == found[0]
    assert bp.pcap(scenario, tmp_path / "geo.pcapng") == places
    assert places[0].read_bytes() != found[0], "another seed loses other packets"
    with pytest.raises(BentpipeError, match=r"there is no folder .*missing\n  make it"):
        bp.pcap("geo", tmp_path / "missing" / "geo.pcapng")


def test_the_command_refuses_a_capture_where_there_is_no_folder(tmp_path):
    result = CliRunner().invoke(app, ["run", "geo", "--pcap", str(tmp_path / "missing" / "geo.pcapng")])
    assert result.exit_code != 0
    assert "there is no folder" in result.output


@NEEDS_TSHARK
@pytest.mark.parametrize("scenario", ["geo", "geo-broadband", "web-on-geo", "s1"])
def test_an_independent_reader_finds_nothing_malformed_and_the_losses_that_were_counted(tmp_path, scenario):
    # The reader takes most of the time, in proportion to the packets.
    result = bp.run(bp.load(scenario).with_sets({"duration": "5 s"}), pcap=tmp_path / "x.pcapng")
    lost, wrong = 'frame.comment contains "lost: "', "_ws.malformed || ip.checksum.status == 0"
    listed = ["-T", "fields", "-e", "frame.comment", "-e", "_ws.malformed", "-e", "ip.checksum.status"]
    found = [
        line.split("\t")
        for file in tmp_path.iterdir()
        for line in tshark(file, "-Y", f"({lost}) || {wrong}", *listed).splitlines()
    ]
    assert [row for row in found if row[1] or row[2] == "0"] == []
    assert len(found) == result.drops["packets"].sum()


PATHS = """
duration = "20 s"
[tcp]
give_up = "5 s"
[link.leo]
from = "server"
to = "ship"
rate = "2 Mbit/s"
delay = "20 ms"
[link.up]
from = "server"
to = "hub"
rate = "1 Gbit/s"
delay = "5 ms"
[link.geo]
from = "hub"
to = "ship"
rate = "1 Mbit/s"
delay = "265 ms"
[[at]]
time = "4 s"
down = ["geo"]
waiting = "kept"
[flow.f]
from = "server"
to = "ship"
multipath = {}
[flow.f.subflow.leo]
route = ["server", "ship"]
reverse_route = ["ship", "server"]
[flow.f.subflow.geo]
route = ["server", "hub", "ship"]
reverse_route = ["ship", "hub", "server"]
"""


@NEEDS_TSHARK
def test_an_independent_reader_finds_keys_with_the_first_data_and_the_reason_of_a_reset(tmp_path):
    """RFC 8684, sections 3.1 and 3.6."""
    bp.run(bp.loads(PATHS), pcap=tmp_path / "x.pcapng")
    option = "tcp.options.mptcp."

    def read(shown, *fields):
        listed = [word for field in fields for word in ("-e", field)]
        lines = tshark(tmp_path / "x-server.pcapng", "-Y", shown, "-T", "fields", *listed).splitlines()
        return [line.split("\t") for line in lines]

    assert read("_ws.malformed", "frame.number") == []
    answers = f"{option}subtype == 0 && tcp.flags.syn == 1 && tcp.flags.ack == 1"
    ((peer, address),) = read(answers, f"{option}sendkey", "ip.src")
    ((*keys, mapped, length, packet),) = read(
        f"{option}subtype == 0 && tcp.len > 0",
        f"{option}sendkey",
        f"{option}recvkey",
        f"{option}datalvllen",
        "tcp.len",
        "ip.len",
    )
    assert keys[1] == peer != keys[0]
    assert (mapped, packet) == (length, "1500")
    # No data before them, and no other subflow before the first signal of the ship.
    (signal, *_) = read(f"{option}subtype == 2 && ip.src == {address}", "frame.time_relative")
    (join, *_) = read(f"{option}subtype == 1", "frame.time_relative")
    assert float(signal[0]) <= float(join[0])
    resets = read("tcp.flags.reset == 1", f"{option}subtype", f"{option}rst_reason", f"{option}flag_T.flag")
    assert [(kind, int(reason, 0), flag) for kind, reason, flag in resets] == [("8", 0, "1")]
