"""Captures of both ends of a connection, and datagrams: compared with the simulated runs that wrote them."""

import struct

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.errors import FitError
from bentpipe.fitting.readers import captures, opening, sights
from tests import measurements

PATH = """
duration = "{duration}"
[link.path]
from = "server"
to = "terminal"
[link.path.forward]
delay = "12 ms"
rate = "20 Mbit/s"
queue = "125 kB"
error = {error}
[link.path.reverse]
delay = "38 ms"
rate = "5 Mbit/s"
error = {{ kind = "packet", rate = 0.01 }}
[flow.transfer]
from = "server"
to = "terminal"
app = {app}
"""
LOSSES = '{ kind = "packet", rate = 0.003 }'
ENDS = ("server", "terminal")


def measured(folder, error=LOSSES, app='"greedy"', duration="30 s"):
    """Run the path with captures of both ends."""
    scenario = bp.loads(PATH.format(error=error, app=app, duration=duration))
    return bp.run(scenario, pcap=folder / "run.pcapng", progress=False)


def packets(place):
    with place.open("rb") as file:
        return list(captures.packets(opening.Stream(place.name, file)))


def written(place, seen, later=0.0):
    """Write packets as a capture whose clock is late."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 228)]
    for at, _, data, length in seen:
        seconds, fraction = divmod(round((at + later) * 1e9), 10**9)
        parts.append(struct.pack("<IIII", seconds, fraction, len(data), length) + data)
    place.write_bytes(b"".join(parts))
    return place


def both(folder, change=lambda data: data, later=0.0, drift=0.0):
    """Write the captures again: the terminal's with another clock, and with changed packets."""
    seen = [packets(folder / f"run-{end}.pcapng") for end in ENDS]
    begin = seen[1][0][0]
    moved = [(at + drift * (at - begin), link, change(data), length) for at, link, data, length in seen[1]]
    return [written(folder / "server.pcap", seen[0]), written(folder / "terminal.pcap", moved, later)]


def lost_towards(run, end):
    """Packets that the run lost by errors, which their receiver sees, and in the queue."""
    drops = dict(run.drops.select("where", "packets").iter_rows())
    return drops.get(end, 0), drops.get({"terminal": "path.forward", "server": "path.reverse"}[end], 0)


@pytest.mark.parametrize("order", [1, -1])
def test_losses_of_each_direction_are_those_of_the_run(tmp_path, order):
    run = measured(tmp_path)
    found = bp.fit([tmp_path / f"run-{end}.pcapng" for end in ENDS[::order]], check=False)
    load = found.loads[0]
    assert len(found.loads) == 1
    errors, queue = lost_towards(run, "terminal")
    # Packets after the last that both captures have are unknown.
    assert load.lost.sum() == pytest.approx(errors + queue, abs=2)
    assert load.lost.sum() - load.dropped.sum() == pytest.approx(errors, abs=2)
    assert found.by_name["lost forward"].value == pytest.approx(errors / load.packets.sum(), rel=0.1)
    back = sum(lost_towards(run, "server"))
    assert load.ways[1].lost == pytest.approx(back, abs=2)
    assert found.by_name["lost reverse"].low < 0.01 < found.by_name["lost reverse"].high
    resolved = found.scenario.to_dict()["link"]["path"]
    assert resolved["forward"]["error"]["rate"] == pytest.approx(found.by_name["lost forward"].value, rel=1e-3)
    assert resolved["reverse"]["error"]["rate"] == pytest.approx(found.by_name["lost reverse"].value, rel=1e-3)


@pytest.mark.parametrize("later", [0.0, 3.7, -86_400.25])
def test_the_round_trip_does_not_depend_on_the_clocks(tmp_path, later):
    measured(tmp_path)
    files = (
        [tmp_path / "run-server.pcapng", tmp_path / "run-terminal.pcapng"] if not later else both(tmp_path, later=later)
    )
    if abs(later) > 60:
        # Without a common time, these are captures of two transfers.
        assert "lost forward" not in bp.fit(files, check=False).by_name
        return
    found = bp.fit(files, check=False)
    assert found.by_name["base"].value == pytest.approx(0.050, rel=0.005)
    ways = [found.by_name[f"delay {way}"].value for way in ("forward", "reverse")]
    # The least delays are taken as equal; the truth is 12 and 38 ms.
    assert ways == pytest.approx([0.025, 0.025], rel=0.005)
    (said,) = [note for note in found.notes if "clocks differ by" in note]
    assert float(said.partition("differ by ")[2].split()[0]) == pytest.approx(1e3 * later - 13, rel=0.01)


@pytest.mark.parametrize("ppm", [100, -400])
def test_captures_have_no_drift_of_the_clocks(tmp_path, ppm):
    """Constant delays of 12 and 38 ms: each direction has half of the round trip, also at the end."""
    answers = '{ kind = "request-response", request = "20 kB", response = "64 B", think = "50 ms" }'
    measured(tmp_path, app=answers, error='"none"')
    files = both(tmp_path, later=3.7, drift=ppm * 1e-6)
    found = bp.fit(files, check=False)
    (said,) = [note for note in found.notes if "the clocks drift by" in note]
    assert float(said.partition("drift by ")[2].split()[0]) == pytest.approx(ppm, rel=0.01)
    for way in found.loads[0].ways:
        first, last = (np.nanmedian(part) for part in np.array_split(way.delay_s, 2))
        assert first == pytest.approx(last, abs=2e-4)
        assert np.nanmin(way.delay_s) == pytest.approx(0.025, abs=1e-3)


def test_with_one_clock_each_direction_has_its_delay(tmp_path):
    measured(tmp_path)
    files = [tmp_path / f"run-{end}.pcapng" for end in ENDS]
    found = bp.fit(files, check=False, clocks="same")
    ways = [found.by_name[f"delay {way}"].value for way in ("forward", "reverse")]
    assert ways == pytest.approx([0.012, 0.038], abs=2e-4)
    delays = [found.scenario.to_dict()["link"]["path"][way]["delay"] for way in ("forward", "reverse")]
    assert [float(each.removesuffix(" ms")) for each in delays] == pytest.approx([12, 38], abs=0.2)
    with pytest.raises(FitError, match=r"arrive before they are sent, so the clocks differ\n  expected one clock"):
        bp.fit(both(tmp_path, later=-0.5), check=False, clocks="same")
    with pytest.raises(FitError, match=r"clocks = 'ntp'\n  expected apart or same"):
        bp.fit(files, clocks="ntp")


def test_losses_of_a_full_queue_are_told_from_others(tmp_path):
    run = measured(tmp_path, error='"none"')
    found = bp.fit([tmp_path / f"run-{end}.pcapng" for end in ENDS], check=False)
    load = found.loads[0]
    assert sum(lost_towards(run, "terminal")) == pytest.approx(load.lost.sum(), abs=2)
    assert load.dropped.sum() == pytest.approx(load.lost.sum(), rel=0.02)
    assert "error" not in found.text("path.data").partition("[link.path.reverse]")[0]
    assert found.by_name["queue forward"].value == pytest.approx(125_000, rel=0.1)


def translated(data):
    """The packet behind a router with another address and port of the terminal."""
    at = 12 if data[12:16] == bytes([10, 78, 0, 2]) else 16
    port = 20 if at == 12 else 22
    return data[:at] + bytes([203, 0, 113, 7]) + data[at + 4 : port] + b"\x99\x99" + data[port + 2 :]


def test_a_router_that_changes_addresses_changes_nothing(tmp_path):
    measured(tmp_path)
    plain = bp.fit(both(tmp_path), check=False)
    behind = bp.fit(both(tmp_path, change=translated), check=False)
    assert [each.to_dict() for each in behind.numbers] == [each.to_dict() for each in plain.numbers]


def test_segments_that_a_host_joins_are_compared_one_by_one(tmp_path):
    """Receive offload: two full segments in a row are one packet in the capture."""
    measured(tmp_path)
    plain = bp.fit(both(tmp_path), check=False)
    joined, before = [], None
    for at, link, data, length in packets(tmp_path / "run-terminal.pcapng"):
        is_full = data[9] == 6 and length == 1500
        if before is not None:
            old = before[2]
            is_next = struct.unpack_from(">I", data, 24)[0] == struct.unpack_from(">I", old, 24)[0] + 1448
            if is_full and is_next and data[32:] == old[32:36] + data[36:38] + old[38:]:
                whole = old[:2] + struct.pack(">H", 1500 + 1448) + old[4:]
                joined.append((before[0], link, whole, 1500 + 1448))
                before = None
                continue
            joined.append(before)
            before = None
        if is_full:
            before = at, link, data, length
        else:
            joined.append((at, link, data, length))
    assert sum(length > 1500 for _, _, _, length in joined) > 100
    written(tmp_path / "terminal.pcap", joined)
    found = bp.fit([tmp_path / "server.pcap", tmp_path / "terminal.pcap"], check=False)
    assert found.loads[0].lost.sum() == plain.loads[0].lost.sum()


def test_captures_without_packets_in_common_are_refused(tmp_path):
    (tmp_path / "a.pcap").write_bytes(measurements.pcap(measurements.transfer()))
    other = measurements.transfer(first=77_000)
    moved = [(at, each.replace(measurements.ENDS[1], bytes([203, 0, 113, 7]))) for at, each in other]
    (tmp_path / "b.pcap").write_bytes(measurements.pcap(moved))
    with pytest.raises(
        FitError,
        match=r"a.pcap and b.pcap overlap in time, and have no packets in common\n  expected captures of both ends",
    ):
        bp.fit([tmp_path / "a.pcap", tmp_path / "b.pcap"], check=False)


def test_two_captures_of_one_end_are_told(tmp_path):
    measured(tmp_path)
    seen = packets(tmp_path / "run-server.pcapng")
    files = [written(tmp_path / "a.pcap", seen), written(tmp_path / "b.pcap", seen, later=2e-5)]
    found = bp.fit(files, check=False)
    assert "a.pcap and b.pcap: captured at the same end; the first is used" in found.notes
    assert [load.source for load in found.loads] == ["a.pcap"]
    here = sorted(echoes_at_both()[0], key=lambda each: each[0])
    for file, later in zip(files, (0, 2e-5), strict=True):
        file.write_bytes(measurements.pcap([(at + later, packet) for at, packet in here]))
    assert len(bp.fit(files, check=False, held_out=False).probes.send_s) == 400


def echoes_at_both(count=400, up=0.010, down=0.030, later=1.5):
    """Echo requests at the host that asks, and at the host that answers with another clock."""
    here, there = [], []
    for number in range(1, count + 1):
        at = 0.1 * number
        asks, answers = (
            measurements.ip(out, 1, struct.pack(">BBHHH", kind, 0, 0, 77, number), 56)
            for out, kind in ((True, 8), (False, 0))
        )
        here.append((at, asks))
        if number % 50 == 7:
            continue
        there += [(at + up + later, asks), (at + up + later + 1e-5, answers)]
        if number % 40 != 9:
            here.append((at + up + down + 1e-3 * (number % 3), answers))
    return here, there


def test_echo_requests_at_both_ends_have_the_direction_of_each_loss(tmp_path):
    here, there = echoes_at_both()
    (tmp_path / "here.pcap").write_bytes(measurements.pcap(sorted(here, key=lambda each: each[0])))
    (tmp_path / "there.pcap").write_bytes(measurements.pcap(there))
    found = bp.fit([tmp_path / "here.pcap", tmp_path / "there.pcap"], check=False, held_out=False)
    probes = found.probes
    # The host that asks is the terminal, so its requests go in the reverse direction.
    assert (probes.lost_reverse.sum(), probes.lost_forward.sum()) == (8, 10)
    answered = ~probes.is_lost
    assert probes.reverse_s[answered] == pytest.approx(0.020, abs=1e-5)
    assert np.nanmax(probes.forward_s) == pytest.approx(0.022, abs=1e-5)
    assert found.by_name["loss reverse"].value == pytest.approx(8 / 400)


def accepted(times, size=1028, rate=20e6, limit=125_000):
    """Numbers of the datagrams that a queue takes, and when they leave it, by the definition of a drop-tail queue."""
    taken, begins, free = [], [], 0.0
    for number, at in enumerate(times):
        waiting = sum(begin > at + 1e-9 for begin in begins[-200:])
        if at >= free or (waiting + 1) * size <= limit:
            begins.append(max(at, free))
            free = begins[-1] + 8 * size / rate
            taken.append((number, free))
    return taken


BEGIN = 946_684_800
"""Unix time of the begin of a simulated run."""
CBR = '{ kind = "cbr", rate = "26 Mbit/s", size = "1000 B" }'


def datagrams(folder, form):
    """Captures of datagrams above the rate, numbered in a form. The run knows which were lost."""
    run = measured(folder, error='"none"', app=CBR, duration="8 s")
    sent, came = packets(folder / "run-server.pcapng"), packets(folder / "run-terminal.pcapng")
    taken = accepted([at - BEGIN for at, *_ in sent])[: len(came)]
    # Datagrams without numbers are alike, but their times differ.
    assert [at - BEGIN for at, *_ in came] == pytest.approx([left + 0.012 for _, left in taken], abs=2e-6)
    arrived = [number for number, _ in taken]

    def numbered(seen, number):
        at, link, data, length = seen
        head = data[:4] + struct.pack(">H", number % 2**16 if form == "IP" else 0) + data[6:28]
        content = {"IP": b"", "iperf3": struct.pack(">III", 7, number, number) if number else b"open", "none": b""}
        return at, link, head + content[form], length

    written(folder / "server.pcap", [numbered(each, number) for number, each in enumerate(sent)])
    written(
        folder / "terminal.pcap",
        [numbered(each, number) for number, each in zip(arrived, came, strict=True)],
        later=0.25,
    )
    ping = "\n".join(["t_s,rtt_ms", *(f"{number / 10},50" for number in range(200))])
    (folder / "ping.csv").write_text(ping)
    return run, [folder / name for name in ("ping.csv", "server.pcap", "terminal.pcap")]


@pytest.mark.parametrize("form", ["IP", "iperf3"])
def test_datagrams_above_the_rate_give_the_rate(tmp_path, form):
    run, (ping, _, terminal) = datagrams(tmp_path, form)
    found = bp.fit([ping, terminal], check=False)
    load = found.loads[0]
    truth = sum(lost_towards(run, "terminal"))
    assert load.lost.sum() == pytest.approx(truth, rel=0.03)
    rate = found.by_name["rate forward"]
    assert (rate.kind, rate.value) == ("fitted", pytest.approx(20e6, rel=0.01))


def test_headers_of_a_datagram_follow_its_version():
    assert [sights.count_header_bytes(bytes(2 * size + 4)) for size in (4, 16)] == [20 + 8, 40 + 8]


def test_datagrams_at_both_ends_give_the_queue_too(tmp_path):
    run, files = datagrams(tmp_path, "IP")
    found = bp.fit(files, check=False)
    (load,) = found.loads
    assert load.lost.sum() == pytest.approx(sum(lost_towards(run, "terminal")), rel=0.03)
    assert found.by_name["rate forward"].value == pytest.approx(20e6, rel=0.01)
    assert found.by_name["queue forward"].value == pytest.approx(125_000, rel=0.05)


def test_datagrams_without_numbers_are_refused_with_what_is_needed(tmp_path):
    _, (ping, server, terminal) = datagrams(tmp_path, "none")
    with pytest.raises(FitError) as refused:
        bp.fit([ping, terminal])
    assert "terminal.pcap: " in str(refused.value)
    assert "datagrams without numbers, so losses between them are unknown\n  expected numbers in their content" in str(
        refused.value
    )
    with pytest.raises(FitError, match=r"datagrams are alike: equal identification and content\n  expected numbers"):
        bp.fit([ping, server, terminal])


def test_datagrams_at_the_sender_do_not_show_what_arrived(tmp_path):
    _, (ping, server, _) = datagrams(tmp_path, "IP")
    with pytest.raises(FitError, match=r"none is missing, as at the sender\n  expected the capture of the receiver"):
        bp.fit(server)
    del ping
