"""Measures ACKs per second of a congestion control in Python, and packets per second of a middlebox in Python.

A path without losses where every segment is acknowledged, so that nearly all is ACKs in congestion avoidance; for
functions the same path through a node.

    python -m bench.own_speed
"""

from __future__ import annotations

import time

import bentpipe as bp
from bentpipe import _core
from validation import kept

PATH = """
duration = "DURATION"
[tcp]
like = "rfc"
cc = "sack"
initial_ssthresh = "20 kB"
ack = { every = 1 }
[link.l]
from = "a"
to = "b"
rate = "1 Gbit/s"
delay = "5 ms"
queue = "10000 packets"
[flow.one]
from = "a"
to = "b"
"""

SECOND_HOP = """
[link.second]
from = "node"
to = "b"
rate = "1 Gbit/s"
delay = "5 ms"
queue = "10000 packets"
"""


class Inherits(bp.CongestionControl):
    """Overrides nothing: all in Rust."""


class Helpers(bp.CongestionControl):
    """Reno with the methods of the base class."""

    def on_ack(self, ack, path):
        left = self.slow_start(ack, path)
        if left:
            self.increase(left, path)


class Arithmetic(bp.CongestionControl):
    """Reno written out."""

    def on_ack(self, ack, path):
        if not ack.is_cwnd_limited:
            return
        smss, cwnd = path.smss, self.cwnd
        self.cwnd = cwnd + (min(ack.newly_acked, smss) if cwnd < self.ssthresh else smss * smss / cwnd)


class Counts(bp.CongestionControl):
    """Counts ACKs."""

    acks = 0

    def on_ack(self, ack, path):
        type(self).acks += 1
        super().on_ack(ack, path)


class Forwards(bp.Middlebox):
    """Sees each packet and lets it go on."""

    def on_packet(self, packet):
        pass


class Sheds(bp.Middlebox):
    """Reads two things and drops nothing."""

    def on_packet(self, packet):
        if packet.is_to_receiver and self.queue_packets > 20_000:
            self.drop()


class Delays(bp.Middlebox):
    """Holds each packet back."""

    def on_packet(self, packet):
        self.delay(1e-3)


class Passed(bp.Middlebox):
    """Counts packets."""

    packets = 0

    def on_packet(self, packet):
        type(self).packets += 1


def taken(scenario: bp.Scenario) -> float:
    """Seconds of processor time."""
    simulation = _core.Run(scenario._core)
    begin_s = time.process_time()
    while not simulation.is_done:
        simulation.advance(20_000)
    return time.process_time() - begin_s


def functions() -> None:
    """Packets per second of middleboxes at a node half way."""
    path = PATH.replace("DURATION", "5 s").replace('to = "b"\nrate', 'to = "node"\nrate')
    scenario = bp.loads(path + SECOND_HOP)
    bp.run(scenario, middlebox={"node": Passed})
    arms = {"none": scenario}
    for each in (Forwards, Sheds, Delays):
        arms[each.__name__] = scenario.replace("node.node.middlebox", each)
    least = dict.fromkeys(arms, 1e9)
    for _ in range(9):
        for name, arm in arms.items():
            least[name] = min(least[name], taken(arm))
    print(f"{Passed.packets:,} packets each")
    for name, taken_s in least.items():
        over_us = (taken_s - least["none"]) / Passed.packets * 1e6
        print(f"{name:12} {Passed.packets / taken_s:12,.0f} packets/s, {over_us:6.2f} us per packet more than none")


def main() -> None:
    """Least processor time of some runs each, taken in turn."""
    scenario = bp.loads(PATH.replace("DURATION", "5 s"))
    bp.run(scenario, cc=Counts)
    least: dict[str, float] = {}
    senders = ["sack", Inherits, Helpers, Arithmetic]
    for _ in range(9):
        for sender in senders:
            name = sender if isinstance(sender, str) else sender.__name__
            least[name] = min(least.get(name, 1e9), taken(scenario.replace("tcp.cc", sender)))
    print(f"{Counts.acks:,} ACKs each")
    for name, taken_s in least.items():
        over_us = (taken_s - least["sack"]) / Counts.acks * 1e6
        print(f"{name:12} {Counts.acks / taken_s:12,.0f} ACK/s, {over_us:6.2f} us per ACK more than sack")
    alone = Counts.acks / max(least["Arithmetic"] - least["sack"], 1e-9)
    print(f"the hook of Arithmetic alone: {alone:,.0f} ACK/s")
    functions()


if __name__ == "__main__":
    kept.begin(__doc__)
    main()
