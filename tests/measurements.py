"""Small records of measurements, in the formats of their tools, with known values."""

import json
import random

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


EVERY = {
    "ping.txt": ping,
    "irtt.json": irtt,
    "iperf3.json": iperf3,
    "flent.json": flent,
    "ss.txt": ss,
    "table.csv": csv,
    "dish.csv": dish,
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
