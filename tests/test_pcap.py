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
