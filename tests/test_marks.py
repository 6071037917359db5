"""Counts of marks for custom congestion controls, and ECT(1) on the wire."""

import shutil
import struct
import subprocess

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.errors import ScenarioError

NEEDS_TSHARK = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

L4S = {
    "duration": "5 s",
    "link.sat.delay": "14 ms",
    "link.sat.forward.error": "none",
    "link.sat.forward.queue": "dualpi2",
    "tcp.ecn": {"kind": "accurate", "ect": 1},
}


class Counts(bp.CongestionControl):
    """Reno that gives up the share of marked packets in each round trip."""

    takes_marks = True
    all = None

    def __init__(self, init):
        self.marked, self.delivered, self.end = 0, 0, 0
        self.sums = [0, 0]

    def on_ack(self, ack, path):
        assert 0 <= ack.ce_packets <= ack.delivered_packets
        if left := self.slow_start(ack, path):
            self.increase(left, path)

    def on_delivery(self, delivery, path):
        assert delivery.delivered_packets > 0
        self.marked += delivery.ce_packets
        self.delivered += delivery.delivered_packets
        self.sums = [self.sums[0] + delivery.ce_packets, self.sums[1] + delivery.delivered_packets]
        Counts.all = self.sums
        if path.snd_una > self.end:
            if self.marked:
                kept = max(self.cwnd * (1 - self.marked / self.delivered / 2), 2 * path.smss)
                self.reduce(kept, kept)
            self.marked, self.delivered, self.end = 0, 0, path.snd_nxt

    def on_congestion(self, why, path):
        assert not why.is_ecn, "marks are counted instead"
        super().on_congestion(why, path)


def test_a_custom_congestion_control_reads_how_many_packets_were_marked():
    run = bp.run(bp.load("leo", {**L4S, "tcp.cc": Counts}))
    flow, link = run.flows.row(0, named=True), run.links.filter(pl.col("link") == "sat.forward").row(0, named=True)
    marked, delivered = Counts.all
    assert link["l4s_packets"] > 0.99 * link["carried_packets"], "its data are ECT(1)"
    assert 0 < marked <= flow["marked_packets"] <= link["marked_packets"]
    # The last marks were on their way back when the run ended.
    assert marked > 0.9 * flow["marked_packets"]
    assert delivered * 1448 == pytest.approx(flow["acked_bytes"], rel=0.01)
    assert link["l4s_queue_mean_s"] < 2e-3


def test_without_the_attribute_there_are_no_counts():
    class Plain(bp.CongestionControl):
        def on_ack(self, ack, path):
            assert (ack.ce_packets, ack.delivered_packets) == (0, 0)
            super().on_ack(ack, path)

    run = bp.run(bp.load("leo", {**L4S, "duration": "2 s", "tcp.cc": Plain}))
    assert run.links.filter(pl.col("link") == "sat.forward")["l4s_packets"][0] == 0, "its data is not ECT(1)"


def test_a_class_that_extends_prague_is_prague():
    class Own(bp.CongestionControl):
        extends = "prague"

    run = bp.run(bp.load("leo", {**L4S, "tcp.cc": Own}))
    same = bp.run(bp.load("leo", {**L4S, "tcp.cc": "prague"}))
    columns = ["goodput_bps", "marked_packets", "sent_packets"]
    assert run.flows[columns].equals(same.flows[columns])


def test_prague_without_counts_of_marks_is_refused():
    with pytest.raises(ScenarioError, match='reports no counts of marks, which cc "prague" needs'):
        bp.load("leo", {"tcp.cc": "prague", "tcp.ecn": "off"})
    with pytest.raises(ScenarioError, match='cc "cubic" does not count marks'):
        bp.load("leo", {"tcp.cc": "cubic", "tcp.ecn": {"kind": "accurate", "ect": 1}})


def codepoints(file):
    """ECN codepoints of the packets with payload in a capture, and of the others."""
    data, at, found = file.read_bytes(), 0, ([], [])
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            packet = data[at + 28 : at + length]
            header = (packet[0] & 15) * 4
            size, offset = struct.unpack_from(">H", packet, 2)[0], (packet[header + 12] >> 4) * 4
            found[0 if size > header + offset else 1].append(packet[1] & 3)
        at += length
    return found


def test_data_of_prague_is_ect1_on_the_wire(tmp_path):
    bp.run(bp.load("leo", {**L4S, "duration": "2 s", "tcp.cc": "prague"}), pcap=tmp_path / "x.pcapng")
    sent, control = codepoints(tmp_path / "x-server.pcapng")
    assert len(sent) > 1000
    assert set(sent) == {1}
    assert set(control) == {0}, "SYNs and pure ACKs are Not-ECT"
    received, _ = codepoints(tmp_path / "x-terminal.pcapng")
    assert {1, 3} == set(received), "the queue marks some"


def tshark(file, *options):
    return subprocess.run(["tshark", "-r", str(file), *options], capture_output=True, text=True, check=True).stdout


@NEEDS_TSHARK
def test_an_independent_reader_finds_ect1_and_the_counter(tmp_path):
    bp.run(bp.load("leo", {**L4S, "duration": "2 s", "tcp.cc": "prague"}), pcap=tmp_path / "x.pcapng")
    fields = ["-T", "fields", "-e", "ip.dsfield.ecn"]
    assert set(tshark(tmp_path / "x-server.pcapng", "-Y", "tcp.len > 0", *fields).split()) == {"1"}
    assert set(tshark(tmp_path / "x-terminal.pcapng", "-Y", "tcp.len > 0", *fields).split()) == {"1", "3"}
    counters = tshark(tmp_path / "x-terminal.pcapng", "-Y", "tcp.len == 0", "-T", "fields", "-e", "tcp.flags.ace")
    assert len(set(counters.split())) == 8, "the counter of RFC 9768 runs through all its values"
