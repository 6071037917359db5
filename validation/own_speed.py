"""How many ACKs per second a congestion control in Python takes, and what it costs over the same in Rust.

A path without losses where every segment is acknowledged, so that nearly all is ACKs in congestion avoidance.

    python validation/own_speed.py
"""

from __future__ import annotations

import time

import bentpipe as bp
from bentpipe import _core

PATH = """
duration = "DURATION"
[tcp]
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


class Inherits(bp.CongestionControl):
    """Overrides nothing: all in Rust."""


class Helpers(bp.CongestionControl):
    """Reno by what the base class offers."""

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


def main() -> None:
    """Least processor time of some runs each, taken in turn."""
    scenario = bp.loads(PATH.replace("DURATION", "5 s"))
    bp.run(scenario, cc=Counts)
    least: dict[str, float] = {}
    senders = ["sack", Inherits, Helpers, Arithmetic]
    for _ in range(9):
        for sender in senders:
            simulation = _core.Run(scenario.replace("tcp.cc", sender)._core)
            begin_s = time.process_time()
            while not simulation.is_done:
                simulation.advance(20_000)
            name = sender if isinstance(sender, str) else sender.__name__
            least[name] = min(least.get(name, 1e9), time.process_time() - begin_s)
    print(f"{Counts.acks:,} ACKs each")
    for name, taken_s in least.items():
        over_us = (taken_s - least["sack"]) / Counts.acks * 1e6
        print(f"{name:12} {Counts.acks / taken_s:12,.0f} ACK/s, {over_us:6.2f} us per ACK more than sack")
    alone = Counts.acks / max(least["Arithmetic"] - least["sack"], 1e-9)
    print(f"the hook of Arithmetic alone: {alone:,.0f} ACK/s")


if __name__ == "__main__":
    main()
