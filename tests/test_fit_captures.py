"""Captures as measurements: both formats, units and orders, TCP, echo requests, and broken files."""

import gzip
import json
import lzma
import random
import struct

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.errors import FitError
from bentpipe.fitting import readers
from bentpipe.fitting.faults import Faults
from bentpipe.fitting.readers.opening import Asked
from tests import measurements


def read(folder, content, name="sent.pcap", **asked):
    path = folder / name
    path.write_bytes(content)
    faults = Faults()
    found = readers.read(path, None, Asked(**asked), faults)
    faults.refuse()
    return found


def is_as_made(found, unit=1e-6):
    """Whether the known values of the made capture are found. `unit` is that of its times."""
    (probes,), (load,) = found.probes, found.loads
    assert set(np.flatnonzero(probes.is_lost) + 1) == measurements.LOST
    assert probes.send_s[0] == pytest.approx(1734546419 + 6.1, abs=2e-6)
    assert np.nanmin(probes.rtt_s) == pytest.approx(0.050, abs=2 * unit)
    assert np.median(load.rate_bps) == pytest.approx(8 * measurements.SEGMENT / measurements.GAP_S, rel=0.01)
    assert load.srtt_s == pytest.approx(measurements.TRIP_S, abs=2 * unit)
    assert load.trip_s == pytest.approx(measurements.TRIP_S, abs=2 * unit)
    assert load.retransmits.sum() == len(measurements.MISSING)
    window = measurements.TRIP_S / measurements.GAP_S * measurements.SEGMENT
    assert np.median(load.cwnd_bytes) == pytest.approx(window, abs=2 * measurements.SEGMENT)
    assert load.mss == 1448
    return True


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("fractions", [10**6, 10**9])
def test_pcap_in_both_orders_and_units(tmp_path, order, fractions):
    assert is_as_made(read(tmp_path, measurements.pcap(order=order, fractions=fractions)))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("exponent", [None, 6, 9, 12, 128 + 20, 128 + 32])
def test_pcapng_in_both_orders_and_any_unit_of_times(tmp_path, order, exponent):
    assert is_as_made(read(tmp_path, measurements.pcapng(order=order, exponent=exponent, offset=1_734_546_000)))


def test_a_section_may_follow_in_the_other_order_with_its_own_interfaces(tmp_path):
    transfer, echoes = measurements.transfer(), measurements.echoes()
    content = measurements.pcapng(transfer, "<", 6) + measurements.pcapng(echoes, ">", 9, link=1, before=ETHERNET)
    assert is_as_made(read(tmp_path, content))


ETHERNET = bytes(12) + b"\x08\x00"
LINKS = {
    "ethernet": (1, ETHERNET),
    "vlan": (1, bytes(12) + b"\x81\x00\x00\x05\x08\x00"),
    "two vlans": (1, bytes(12) + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00"),
    "any": (113, b"\x00\x04" + bytes(12) + b"\x08\x00"),
    "any, version 2": (276, b"\x08\x00" + bytes(18)),
    "loopback": (0, b"\x02\x00\x00\x00"),
    "raw": (228, b""),
}


@pytest.mark.parametrize("link", LINKS)
def test_types_of_links(tmp_path, link):
    kind, before = LINKS[link]
    assert is_as_made(read(tmp_path, measurements.pcap(link=kind, before=before)))


def test_packets_without_ip_are_named_by_their_link_type(tmp_path):
    with pytest.raises(FitError, match=r"packets without IP; link types 105\n  expected 100 echo requests"):
        read(tmp_path, measurements.pcap(link=105))


def of_version_6(packet):
    """The same packet over IPv6, with an extension header before its content."""
    source, target = (bytes(12) + packet[at : at + 4] for at in (12, 16))
    kind, content = packet[9], packet[20:]
    if kind == 1:
        kind, content = 58, bytes([{8: 128, 0: 129}[content[0]]]) + content[1:]
    size = struct.unpack_from(">H", packet, 2)[0] - 20 + 8
    return struct.pack(">IHBB16s16s", 6 << 28, size, 60, 64, source, target) + bytes([kind, 0]) + bytes(6) + content


def test_version_6_is_as_good(tmp_path, monkeypatch):
    packets = [(at, of_version_6(packet)) for at, packet in [*measurements.transfer(), *measurements.echoes()]]
    assert is_as_made(read(tmp_path, measurements.pcap(packets, link=229)))


def test_without_time_stamps_repeated_segments_give_no_round_trip(tmp_path):
    found = read(tmp_path, measurements.pcap(measurements.transfer(stamps=False)))
    (load,) = found.loads
    assert load.srtt_s == pytest.approx(measurements.TRIP_S, abs=2e-6)
    assert (load.mss, load.retransmits.sum()) == (1460, len(measurements.MISSING))


def test_a_packet_that_two_interfaces_saw_counts_once(tmp_path):
    twice = [(at + later, packet) for at, packet in measurements.transfer() for later in (0, 2e-5)]
    twice += [(at + later, packet) for at, packet in measurements.echoes() for later in (0, 2e-5)]
    found = read(tmp_path, measurements.pcap(twice))
    assert found.loads[0].retransmits.sum() == len(measurements.MISSING)
    assert set(np.flatnonzero(found.probes[0].is_lost) + 1) == measurements.LOST
    assert any("segments were captured twice; counted once" in note for note in found.notes)


def at_the_receiver(packets):
    """The same packets as the other host sees them: its own ones earlier, and those of the sender later."""
    moved = []
    for at, packet in packets:
        is_of_sender = packet[12:16] == measurements.ENDS[0]
        moved.append((at + (0.025 if is_of_sender else -0.025), packet))
    return sorted(moved, key=lambda each: each[0])


def test_a_capture_of_the_receiver_has_a_rate_and_no_window(tmp_path):
    packets = [(at + 1, packet) for at, packet in [*measurements.transfer(), *measurements.echoes()]]
    found = read(tmp_path, measurements.pcap(at_the_receiver(packets)))
    assert found.probes == []
    (load,) = found.loads
    assert (load.srtt_s, load.cwnd_bytes, load.retransmits) == (None, None, None)
    assert np.median(load.rate_bps) == pytest.approx(9e6, rel=0.01)
    assert any("as at the receiver" in note for note in found.notes)
    assert any("as at the host that answers" in note for note in found.notes)
    with pytest.raises(FitError, match="no file has round trips"):
        bp.fit(tmp_path / "sent.pcap")


def test_packets_that_the_capture_missed_are_told(tmp_path):
    packets = measurements.transfer()
    kept = [each for number, each in enumerate(packets) if number < 3 or number % 3]
    found = read(tmp_path, measurements.pcap(kept))
    assert any("the capture misses" in note for note in found.notes)
    assert np.median(found.loads[0].rate_bps) == pytest.approx(9e6, rel=0.02)


def test_a_pause_before_and_after_the_data_is_no_part_of_the_transfer(tmp_path):
    packets = measurements.transfer()
    last = struct.unpack_from(">II", packets[-1][1], 24)
    late = measurements.segment(False, last[0], last[1], flags=17)
    moved = [*packets[:3], *((at + 60, packet) for at, packet in packets[3:]), (200.0, late)]
    (load,) = read(tmp_path, measurements.pcap(moved)).loads
    assert 45 <= len(load.bytes) <= 51
    assert load.begin_s[0] == pytest.approx(1734546419 + 60.1, abs=0.2)


@pytest.mark.parametrize("packed", [gzip.compress, lzma.compress])
def test_compressed_captures_are_as_good_and_truncated_ones_are_not(tmp_path, packed):
    content = packed(measurements.pcap())
    assert is_as_made(read(tmp_path, content))
    with pytest.raises(FitError, match=r"sent.pcap: .*\n  expected a whole capture; the first .* are readable"):
        read(tmp_path, content[: len(content) // 2])
    found = read(tmp_path, content[: len(content) // 2], is_partial=True)
    assert "are used" in found.notes[0]


@pytest.mark.parametrize("made", [measurements.pcap, measurements.pcapng])
def test_a_truncated_record_has_its_number_and_place(tmp_path, made):
    content = made()
    places = [len(content) - 1, len(content) - 20, len(content) // 2 + 1]
    for end in places:
        with pytest.raises(FitError, match=r"sent.pcap: record [\d,]+ at byte [\d,]+: ends after \d+ of \d+ bytes\n"):
            read(tmp_path, content[:end])
        found = read(tmp_path, content[:end], is_partial=True)
        assert found.loads[0].srtt_s[-1] == pytest.approx(measurements.TRIP_S, abs=2e-6)


def test_the_place_of_a_record_is_that_in_the_file(tmp_path):
    content = bytearray(measurements.pcap(measurements.transfer()))
    place = 24
    for _ in range(2000):
        place += 16 + struct.unpack_from("<I", content, place + 8)[0]
    struct.pack_into("<I", content, place + 8, 300_000)
    with pytest.raises(FitError, match=rf"record 2,001 at byte {place:,}: 300,000 stored bytes"):
        read(tmp_path, bytes(content))


def changed(content, place, *values, form="<I"):
    made = bytearray(content)
    for number, value in enumerate(values):
        struct.pack_into(form, made, place + number * struct.calcsize(form), value)
    return bytes(made)


PCAP, NG = measurements.pcap(), measurements.pcapng()
AT_INTERFACE = 28
AT_UNIT = AT_INTERFACE + 20
AT_PACKET = AT_INTERFACE + 20 + 20 + 20
"""Places of the interface, of its unit of times if it has one, and of the first packet otherwise, in the made file."""
ONE = [(0.0, measurements.segment(True, 1, 1, 8))]
BROKEN = {
    "head only": PCAP[:24],
    "half a head": PCAP[:10],
    "first record only": PCAP[:40],
    "version": changed(PCAP, 4, 9, form="<H"),
    "version in the other order": changed(PCAP, 4, 512, form="<H"),
    "fraction above a second": changed(PCAP, 28, 1_000_000),
    "nanoseconds in microseconds": b"\xd4\xc3\xb2\xa1" + measurements.pcap(fractions=10**9)[4:],
    "huge record": changed(PCAP, 32, 0xFFFFFFFF),
    "record beyond the end": changed(PCAP, len(PCAP) - 28 - 16 + 8, 200_000),
    "link of another kind": changed(PCAP, 20, 105),
    "few packets": measurements.pcap(ONE),
    "no packets of IP": measurements.pcap([(0.0, bytes(60))] * 300),
    "headers cut": measurements.pcap([(at / 100, b"\x45" + bytes(5)) for at in range(300)]),
    "options cut": measurements.pcap([(at / 100, measurements.segment(True, 1, 1, 9)[:50]) for at in range(300)]),
    "option without end": measurements.pcap(
        [(at / 100, measurements.segment(True, 1, 1, options=b"\x05\x00\x00\x00", stamps=False)) for at in range(300)]
    ),
    "other protocols": measurements.pcap([(at / 100, measurements.ip(True, 17, bytes(8), 40)) for at in range(300)]),
    "fragments": measurements.pcap([(at / 100, changed(ONE[0][1], 6, 0xFF, form="<H")) for at in range(300)]),
    "times back": measurements.pcap(list(reversed([*measurements.transfer(), *measurements.echoes()]))),
    "all lost": measurements.pcap(measurements.echoes(lost=set(range(1, 201)))),
    "short transfer": measurements.pcap(measurements.transfer(seconds=1.5)),
    "few echoes": measurements.pcap(measurements.echoes(60)),
    "two far apart": measurements.pcap([(at * (1 if at < 2 else 1e6), each) for at, each in measurements.transfer(3)]),
    "section only": NG[:28],
    "section without order": changed(NG, 8, 0),
    "section of 4 GB": changed(NG, 4, 0xFFFFFFFC),
    "section of no length": changed(NG, 4, 0),
    "odd length": changed(NG, AT_INTERFACE + 4, 21),
    "lengths differ": changed(NG, 24, 32),
    "packet without interface": NG[:28] + NG[AT_PACKET:],
    "unknown interface": changed(NG, AT_PACKET + 8, 7),
    "short interface": NG[:28] + struct.pack("<III", 1, 12, 12) + NG[AT_INTERFACE + 20 :],
    "short packet": NG[:AT_PACKET] + struct.pack("<IIII", 6, 16, 0, 16),
    "stored beyond its block": changed(NG, AT_PACKET + 20, 4096),
    "packet without time": NG[:AT_PACKET] + struct.pack("<IIIIII", 3, 20, 4, 0, 20, 20)[:20],
    "unit of times": changed(measurements.pcapng(ONE, exponent=9), AT_UNIT, 127, form="<B"),
    "binary unit of times": changed(measurements.pcapng(ONE, exponent=9), AT_UNIT, 255, form="<B"),
    "times of another age": changed(measurements.pcapng(offset=1000), AT_UNIT, 10**12, form="<q"),
    "gz of nothing": gzip.compress(b""),
    "gz cut": gzip.compress(PCAP)[:200],
    "xz damaged": lzma.compress(PCAP)[:3000] + bytes(3000),
    "bomb": lzma.compress(PCAP) + 300 * lzma.compress(bytes(1 << 20)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_capture_is_an_error_with_a_place_and_a_remedy(tmp_path, name):
    with pytest.raises(FitError) as refused:
        read(tmp_path, BROKEN[name])
    first, second = str(refused.value).splitlines()[:2]
    assert first.startswith("sent.pcap: ")
    assert second.startswith("  expected ")
    assert len(first.split()) <= 25


def test_the_number_of_kinds_of_broken_files_is_that_of_the_promise():
    from tests.test_fit_readers import MALFORMED

    assert len(BROKEN) >= 40
    assert len(MALFORMED) >= 60


def test_other_kinds_refuse_a_capture_and_its_reader_refuses_others(tmp_path):
    (tmp_path / "a.pcap").write_bytes(PCAP)
    with pytest.raises(FitError, match=r"a.pcap: a packet capture\n  expected the record of ping; .* kind pcap"):
        bp.fit(tmp_path / "a.pcap", kind="ping")
    (tmp_path / "b.txt").write_text(measurements.ping())
    with pytest.raises(FitError, match=r"b.txt: begins with 50 49 4e 47\n  expected a capture: pcap or pcapng"):
        bp.fit(tmp_path / "b.txt", kind="pcap")


def test_random_changes_are_an_error_or_leave_the_numbers(tmp_path):
    """Changes of any byte of the headers: no other exception, and round trips and rates of the same size."""
    draw = random.Random(1)
    for whole in (measurements.pcap(), measurements.pcapng()):
        for _ in range(40):
            made = bytearray(whole)
            for _ in range(3):
                made[draw.randrange(200)] = draw.randrange(256)
            try:
                found = read(tmp_path, bytes(made), is_partial=draw.random() < 0.5)
            except FitError:
                continue
            assert all(0.04 < np.nanmedian(each.rtt_s) < 0.06 for each in found.probes)
            assert all(8e6 < np.median(each.rate_bps) < 10e6 for each in found.loads)


def test_addresses_and_content_appear_in_no_output(tmp_path):
    (tmp_path / "sent.pcap").write_bytes(PCAP)
    found = bp.fit(tmp_path / "sent.pcap", check=False)
    text = json.dumps(found.to_dict())
    assert not any(each in text for each in ("192.0.2.1", "198.51.100.9", "5201", "40000"))
    found.save(tmp_path / "path.toml", draws=1)
    written = (tmp_path / "path.toml").read_text() + "".join(
        each.read_text() for each in (tmp_path / "path.data").rglob("*") if each.is_file()
    )
    assert "192.0.2.1" not in written


PATH = """
duration = "{duration}"
[link.path]
from = "server"
to = "terminal"
delay = "25 ms"
[link.path.forward]
rate = "20 Mbit/s"
queue = "125 kB"
{error}
[link.path.reverse]
rate = "20 Mbit/s"
[flow.transfer]
from = "server"
to = "terminal"
app = {app}
"""


def test_the_captures_of_a_simulated_run_have_what_its_tables_have(tmp_path):
    scenario = bp.loads(PATH.format(duration="30 s", error='error = { kind = "packet", rate = 0.002 }', app='"greedy"'))
    run = bp.run(scenario, pcap=tmp_path / "run.pcapng")
    content = (tmp_path / "run-server.pcapng").read_bytes()
    (load,) = read(tmp_path, content).loads
    flow = run.flows.row(0, named=True)
    assert load.retransmits.sum() == pytest.approx(flow["retransmissions"], abs=1)
    assert 8 * load.bytes.sum() / load.interval_s.sum() == pytest.approx(flow["goodput_bps"], rel=0.01)
    assert load.trip_s == pytest.approx(0.050, rel=0.02)
    # The receiver's file has the same rate.
    (other,) = read(tmp_path, (tmp_path / "run-terminal.pcapng").read_bytes()).loads
    assert other.srtt_s is None
    assert other.bytes.sum() == pytest.approx(load.bytes.sum(), rel=0.01)


SLOW = 'rate = "2 Mbit/s"\nqueue = "60 kB"\n[flow'
UPLOAD = """
[flow.upload]
from = "terminal"
to = "server"
start = "{start}"
app = "greedy"
"""


@pytest.mark.parametrize(("start", "shows"), [("15 s", True), ("0 s", False)])
def test_the_queue_of_the_other_direction_is_not_taken_for_that_of_the_transfer(tmp_path, start, shows):
    """The upload fills a queue of 240 ms, the download one of 50 ms; a round trip has both."""
    path = PATH.format(duration="30 s", error="", app='"greedy"').replace('rate = "20 Mbit/s"\n[flow', SLOW)
    bp.run(bp.loads(path + UPLOAD.format(start=start)), pcap=tmp_path / "run.pcapng")
    found = bp.fit(tmp_path / "run-server.pcapng", check=False, held_out=False)
    assert any("data also went the other way" in note for note in found.notes)
    assert ("queue forward" in found.by_name) == shows
    if shows:
        queue = found.by_name["queue forward"]
        assert queue.low <= 125_000 <= queue.high


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("namespaces")
def test_a_path_of_real_packets_is_recovered_from_a_capture(tmp_path):
    """The kernel's TCP over a path with known parameters. A busy machine may delay packets, so margins are wide."""
    scenario = bp.loads(PATH.format(duration="15 s", error="", app='"port"'))
    bp.emulate(scenario, serve="bulk", pcap=tmp_path / "run.pcapng", quiet=True)
    found = bp.fit(tmp_path / "run-server.pcapng", check=False).by_name
    assert found["base"].value == pytest.approx(0.050, rel=0.05)
    assert found["rate forward"].value == pytest.approx(20e6, rel=0.05)
    assert found["rate forward"].kind in ("fitted", "lower bound")


def test_pieces_of_a_large_segment_are_repeated_one_by_one(tmp_path):
    """With segmentation offload, a capture has large segments, whose pieces are repeated within a millisecond."""
    mss = struct.pack(">BBH", 2, 4, 1460)
    size, packets = 10 * 1448, []
    packets.append((0.0, measurements.segment(False, 7, 0, flags=2, options=mss)))
    packets.append((0.0, measurements.segment(True, 0, 8, flags=18, options=mss)))
    packets.append((0.05, measurements.segment(False, 8, 1)))
    for number in range(300):
        at, begin = 0.1 + number * 0.0125, 1 + number * size
        packets.append((at, measurements.segment(True, begin, 8, size, at=at)))
        answered = at + 0.05
        if number % 50 == 10:
            pieces = [(at + 0.1 + place * 1e-4, begin + place * 1448) for place in range(10)]
            packets += [(again, measurements.segment(True, first, 8, 1448, at=again)) for again, first in pieces]
            answered = pieces[-1][0] + 0.05
        packets.append((answered, measurements.segment(False, 8, begin + size, at=answered, echo=answered - 0.05)))
    (load,) = read(tmp_path, measurements.pcap(sorted(packets, key=lambda each: each[0]))).loads
    assert load.retransmits.sum() == 60
    assert load.rate_bps.mean() == pytest.approx(8 * size / 0.0125, rel=0.05)
