"""Small records of measurements, in the formats of their tools, with known values."""

import json
import random
import struct

TRIPS = 200
LOST = {20, 21, 90}


def ping(count=TRIPS, lost=LOST, begin=1734546419.0, interval=0.1, rtt=50.0):
    """Output of `ping -D`: a stamp is the arrival."""
    lines = ["PING example (192.0.2.1) 56(84) bytes of data."]
    for number in range(1, count + 1):
        if number not in lost:
            trip = rtt + number % 7
            stamp = begin + number * interval + trip / 1e3
            lines.append(f"[{stamp:.6f}] 64 bytes from 192.0.2.1: icmp_seq={number} ttl=55 time={trip:.1f} ms")
    return "\n".join([*lines, "", f"{count} packets transmitted, {count - len(lost)} received", ""])


def irtt(count=TRIPS, lost=LOST):
    trips = []
    for number in range(count):
        stamp = {"client": {"send": {"wall": int(1.7e18 + number * 1e7)}}}
        if number in lost:
            trips.append({"seqno": number, "lost": "true_down", "timestamps": stamp})
            continue
        up, down = 20_000_000 + number % 3 * 100_000, 30_000_000
        delay = {"rtt": up + down, "send": up, "receive": down}
        trips.append({"seqno": number, "lost": "false", "timestamps": stamp, "delay": delay})
    return json.dumps({"version": {}, "round_trips": trips})


def pings(probes, begin):
    """Output of `ping -D` with the answered probes of a run that begins at this Unix time."""
    lines = ["PING server (10.0.0.1) 56(84) bytes of data."]
    for number, sent_s, rtt_s in probes.drop_nulls("rtt_s").select("number", "sent_s", "rtt_s").iter_rows():
        answer = f"64 bytes from 10.0.0.1: icmp_seq={number + 1} ttl=64 time={1e3 * rtt_s:.3f} ms"
        lines.append(f"[{begin + sent_s + rtt_s:.6f}] {answer}")
    return "\n".join([*lines, ""])


def later(content, seconds):
    """The same capture (pcapng of nanoseconds), later. Simulated runs begin in 2000."""
    found, at = bytearray(content), 0
    while at < len(found):
        kind, size = struct.unpack_from("<II", found, at)
        if kind == 6:
            high, low = struct.unpack_from("<II", found, at + 12)
            shifted = (high << 32 | low) + seconds * 10**9
            struct.pack_into("<II", found, at + 12, shifted >> 32, shifted & (2**32 - 1))
        at += size
    return bytes(found)


def iperf3(seconds=30, step=0.5, rate=9e6, cwnd=None, retransmits=0):
    """Output of `iperf3 -J -R --get-server-output`: the client does not have the sender's window."""
    intervals, of_sender = [], []
    for number in range(int(seconds / step)):
        sent = int(rate * step / 8)
        total = {"start": number * step, "end": (number + 1) * step, "seconds": step, "bytes": sent}
        total |= {"bits_per_second": rate, "omitted": False}
        window = cwnd or 100_000 + 2_000 * number
        state = {"retransmits": retransmits, "snd_cwnd": window, "rtt": 50_000 + 1_000 * number, "rttvar": 1}
        intervals.append({"streams": [{**total, "sender": False}], "sum": {**total, "sender": False}})
        sums = {**total, "sender": True, "retransmits": retransmits}
        of_sender.append({"streams": [{**total, **state, "sender": True}], "sum": sums})
    test = {"protocol": "TCP", "reverse": 1, "duration": seconds}
    start = {"test_start": test, "tcp_mss_default": 1448, "timestamp": {"timesecs": 1734546419}}
    end, server = {"sender_tcp_congestion": "cubic"}, {"start": start, "intervals": of_sender}
    return json.dumps({"start": start, "intervals": intervals, "end": end, "server_output_json": server})


def flent(count=TRIPS):
    x_values = [0.2 * number for number in range(count)]
    trips = [None if number == 5 else 50.0 + number % 5 for number in range(count)]
    rates = [9.0] * count
    about = {"T0": "2024-12-18T18:26:59Z", "SERIES_META": {"Ping (ms) ICMP": {"UNITS": "ms"}}}
    about["SERIES_META"]["TCP download"] = {"UNITS": "Mbits/s"}
    results = {"Ping (ms) ICMP": trips, "TCP download": rates}
    return json.dumps({"metadata": about, "version": 4, "x_values": x_values, "results": results})


def ss(count=60):
    lines = []
    for number in range(count):
        lines.append(f"{1734546419 + 0.5 * number:.3f}")
        lines.append("ESTAB 0 0 192.0.2.1:5201 198.51.100.9:40000")
        lines.append(
            f"\t cubic wscale:7,7 rto:250 rtt:{50 + number}.5/2 mss:1448 cwnd:{70 + number} bytes_sent:1"
            f" bytes_acked:{number * 562_500} retrans:0/{number // 10} delivery_rate 9000000bps"
        )
    return "\n".join(lines) + "\n"


def csv(count=TRIPS, lost=LOST):
    rows = [f"{100 + 0.1 * number:.3f},{-1 if number in lost else 50 + number % 7}" for number in range(count)]
    return "\n".join(["t_s,rtt_ms", *rows]) + "\n"


def dish(count=TRIPS):
    rows = [f"{1748560813 + number},{40 + number % 5},1373919.8,360013.8" for number in range(count)]
    return "\n".join(["t_utc_s,pop_ping_latency_ms,downlink_bps,uplink_bps", *rows]) + "\n"


ENDS = (bytes([192, 0, 2, 1]), bytes([198, 51, 100, 9]))
SEGMENT, TRIP_S, GAP_S = 1448, 0.050, 0.001287
"""Payload, round trip, and time between segments: 9 Mbit/s."""
MISSING = {100, 101, 900}
"""Segments of the capture that are lost once."""


def ip(out, protocol, content, size):
    """An IPv4 packet from the first end or to it. `content` is stored, `size` is the payload behind it."""
    source, target = ENDS if out else ENDS[::-1]
    return (
        struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(content) + size, 1, 0, 64, protocol, 0, source, target) + content
    )


def segment(out, sequence, number, size=0, flags=16, at=0.0, echo=0.0, options=b"", stamps=True):
    """A segment of TCP. Time stamps are in milliseconds, from 1 on."""
    if stamps:
        options += struct.pack(">HBBII", 0x0101, 8, 10, int(1e3 * at) + 1, int(1e3 * echo) + 1 if echo else 0)
    ports = (5201, 40_000) if out else (40_000, 5201)
    words = (20 + len(options)) // 4
    head = struct.pack(">HHIIBBHHH", *ports, sequence % 2**32, number % 2**32, words << 4, flags, 500, 0, 0)
    return ip(out, 6, head + options, size)


def transfer(seconds=5.0, stamps=True, first=2**32 - 100_000):
    """Packets of a transfer as its sender sees them, with their times: a constant rate, and three losses."""
    mss = struct.pack(">BBH", 2, 4, 1460)
    seen = [
        (0.0, segment(False, 7, 0, flags=2, options=mss, stamps=stamps)),
        (0.0, segment(True, first, 8, flags=18, options=mss, stamps=stamps)),
        (TRIP_S, segment(False, 8, first + 1, stamps=stamps)),
    ]
    sent, arrivals = {}, []
    for number in range(int(seconds / GAP_S)):
        at = 0.1 + number * GAP_S
        sent[number] = at
        arrivals.append((at + TRIP_S / 2, number, at))
        if number in MISSING:
            arrivals[-1] = (at + 1.5 * TRIP_S + 3 * GAP_S, number, at + TRIP_S + 3 * GAP_S)
    for number, at in sent.items():
        seen.append((at, segment(True, first + 1 + number * SEGMENT, 8, SEGMENT, at=at, stamps=stamps)))
    got, expected, recent = set(), 0, 0.0
    for at, number, of in sorted(arrivals):
        if number in MISSING:
            seen.append((of, segment(True, first + 1 + number * SEGMENT, 8, SEGMENT, at=of, stamps=stamps)))
        got.add(number)
        # The echoed stamp is of the segment at the left edge (RFC 7323).
        recent = of if number == expected else recent
        while expected in got:
            expected += 1
        answer = segment(False, 8, first + 1 + expected * SEGMENT, at=at, echo=recent, stamps=stamps)
        seen.append((at + TRIP_S / 2, answer))
    return sorted(seen, key=lambda each: each[0])


def echoes(count=TRIPS, lost=LOST):
    """Echo requests and answers, with their times."""
    seen = []
    for number in range(1, count + 1):
        at = 6.0 + 0.1 * number
        seen.append((at, ip(True, 1, struct.pack(">BBHHH", 8, 0, 0, 77, number), 56)))
        if number not in lost:
            trip = (50 + number % 7) / 1e3
            seen.append((at + trip, ip(False, 1, struct.pack(">BBHHH", 0, 0, 0, 77, number), 56)))
    return sorted(seen, key=lambda each: each[0])


def pcap(packets=None, order="<", fractions=10**6, link=101, before=b"", begin=1734546419):
    """A capture of packets with their times: all of a transfer, then echo requests."""
    packets = [*transfer(), *echoes()] if packets is None else packets
    magic = {10**6: 0xA1B2C3D4, 10**9: 0xA1B23C4D}[fractions]
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 96, link)]
    for at, packet in packets:
        seconds, fraction = divmod(begin * fractions + round(at * fractions), fractions)
        total = struct.unpack_from(">H", packet, 2)[0] + len(before)
        parts.append(struct.pack(f"{order}IIII", seconds, fraction, len(before) + len(packet), total) + before + packet)
    return b"".join(parts)


def pcapng(packets=None, order="<", exponent=None, link=101, before=b"", begin=1734546419, offset=0):
    """A capture of packets in blocks: a section, an interface with its unit of times, packets."""
    packets = [*transfer(), *echoes()] if packets is None else packets

    def block(kind, content):
        content += bytes(-len(content) % 4)
        size = struct.pack(f"{order}I", len(content) + 12)
        return struct.pack(f"{order}I", kind) + size + content + size

    options = b""
    if exponent is not None:
        options += struct.pack(f"{order}HHB3x", 9, 1, exponent)
    if offset:
        options += struct.pack(f"{order}HHq", 14, 8, offset)
    units = 10**6 if exponent is None else 2 ** (exponent - 128) if exponent >= 128 else 10**exponent
    parts = [block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts.append(block(1, struct.pack(f"{order}HHI", link, 0, 96) + options))
    # Names of hosts, and blocks of other programs, are left out by readers.
    parts.append(block(4, bytes(8)))
    parts.append(block(0x0BAD, b"anything"))
    for at, packet in packets:
        ticks = (begin - offset) * units + round(at * units)
        total = struct.unpack_from(">H", packet, 2)[0] + len(before)
        head = struct.pack(f"{order}IIIII", 0, ticks >> 32, ticks % 2**32, len(before) + len(packet), total)
        parts.append(block(6, head + before + packet))
    return b"".join(parts)


EVERY = {
    "ping.txt": ping,
    "irtt.json": irtt,
    "iperf3.json": iperf3,
    "flent.json": flent,
    "ss.txt": ss,
    "table.csv": csv,
    "dish.csv": dish,
    "sent.pcap": pcap,
    "sent.pcapng": pcapng,
}


def bursts(count, mean_good, mean_bad, rate_bad, seed, spacing=0.01):
    """Losses of a channel whose states last for exponential times."""
    draw = random.Random(seed)
    lost, is_bad, left = [], False, draw.expovariate(1 / mean_good)
    for _ in range(count):
        lost.append(is_bad and draw.random() < rate_bad)
        left -= spacing
        while left < 0:
            is_bad = not is_bad
            left += draw.expovariate(1 / (mean_bad if is_bad else mean_good))
    return lost
