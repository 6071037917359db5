"""Measures each mitigation of RFC 2488 and RFC 2760 on the plain paths `geo` and `leo`, and draws its figure.

    python -m validation.mitigations [NAME ...]     # less than a minute; with names, only these
    python -m tools.docs mitigations                # after that: the guide

The numbers go into `validation/data/mitigations.json`, the figures into `docs/guides/mitigations`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import plot
from bentpipe.plot.style import style
from validation import kept

if TYPE_CHECKING:
    from bentpipe.experiment.results.comparison import Comparison

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "guides" / "mitigations"
REPLICATIONS = 10


@dataclass(frozen=True)
class Mitigation:
    """One switch: its source and key, its cases, and a text on the result."""

    name: str
    title: str
    source: str
    key: str
    text: str
    """Effect of the switch, and the reason for the numbers; written after the measurement."""
    cases: dict[str, dict[str, str]]
    metric: str = "goodput"
    sets: dict[str, str] = field(default_factory=dict)
    """For both paths."""


ERRORS = {"link.sat.forward.error": '{ kind = "packet", rate = 1e-4 }'}
# The terminal requests, the server answers, on a new connection each time. All cases have time for all transfers: the
# end of a run would cut one of some cases, which the comparison counts as a failure.
SHORT = {
    "flow.transfer.from": "terminal",
    "flow.transfer.to": "server",
    "flow.transfer.app": (
        '{ kind = "request-response", response = "100 kB", think = "2 s", reconnect = true, count = 20 }'
    ),
    "duration": "180 s",
}
NO_OVERSHOOT = {"tcp.initial_ssthresh": "1 bdp"}

STANDARD = {"tcp.like": "rfc", "tcp.cc": "sack"}
"""Settings beside each switch. Hosts of today have most of the switches set already."""

MITIGATIONS = [
    Mitigation(
        "segment-size",
        "Larger segments",
        "RFC 2488 §3.1",
        "tcp.smss",
        "Path MTU discovery finds the largest packet of the path. Windows grow by segments, so larger "
        "segments grow faster, and headers cost less. Over GEO, without losses here, the headers matter most, "
        "in low orbit the growth after each handover.",
        {"536 B": {"tcp.smss": "536 B"}, "1460 B": {"tcp.smss": "1460 B"}},
        sets=NO_OVERSHOOT,
    ),
    Mitigation(
        "fec",
        "Error correction below TCP",
        "RFC 2488 §3.2",
        "link.NAME.interleave",
        "TCP takes a corrupted packet for congestion, so a link must not lose more packets than congestion "
        "would. A code with interleaving (here Reed-Solomon, 16 bytes of 255 corrected) removes all errors at a "
        "bit error rate of 1e-6 and adds two interleaver spans of delay.",
        {
            "no code": {},
            "coded": {"link.sat.forward.interleave": '{ span = "5 ms" }'},
        },
        sets={**NO_OVERSHOOT, "link.sat.forward.error": '{ kind = "bit", rate = 1e-6 }'},
    ),
    Mitigation(
        "window-scaling",
        "Large windows",
        "RFC 2488 §4.2, RFC 7323 §2",
        "tcp.window_scaling, tcp.receive_buffer",
        "Without scaling at most 65,535 bytes are in flight: 970 kbit/s at 540 ms, for any link. A fixed 64 kB "
        "buffer costs the same. `auto` grows as in current systems, and fills the path.",
        {
            "no scaling": {"tcp.window_scaling": "false"},
            "64 kB": {"tcp.receive_buffer": "64 kB"},
            "auto": {"tcp.receive_buffer": "auto"},
            "unlimited": {"tcp.receive_buffer": "unlimited"},
        },
        sets=NO_OVERSHOOT,
    ),
    Mitigation(
        "recovery",
        "Loss recovery",
        "RFC 2488 §4.1 and §4.4, RFC 2760 §3.3",
        "tcp.cc, tcp.recovery",
        "Losses come in bursts of 30 ms, every three seconds on average: about fifty segments over GEO. "
        "NewReno repairs one loss per round trip, which for a whole burst is worse than Reno's timeout. SACK "
        "repairs a burst in one or two round trips. Goodput hardly shows this: every burst takes half of the "
        "window in either case, and a sender that waits for the timer meets fewer. RACK also finds lost "
        "retransmissions, and avoids timeouts in low orbit. Proportional rate reduction (RFC 9937) has "
        "shorter recoveries, but meets more bursts: some hit its smooth sending while another sender is idle "
        "for half a round trip.",
        {
            "tahoe": {"tcp.cc": "tahoe"},
            "reno": {"tcp.cc": "reno"},
            "newreno": {"tcp.cc": "newreno"},
            "sack": {"tcp.cc": "sack"},
            "fack": {"tcp.recovery": '{ kind = "sack", evidence = "fack" }'},
            "rack": {"tcp.recovery": "rack"},
            "sack+prr": {"tcp.reduction": "prr"},
        },
        sets={
            **NO_OVERSHOOT,
            "link.sat.forward.error": (
                '{ kind = "gilbert-elliott", mean_good = "3 s", mean_bad = "30 ms", rate_bad = 0.6 }'
            ),
        },
    ),
    Mitigation(
        "fast-open",
        "Data in the SYN",
        "RFC 2760 §3.1, RFC 7413",
        "tcp.fast_open",
        "Fast Open replaces T/TCP and uses a cookie. Each connection except the first saves a round trip: half a "
        "second over GEO, for every short transfer.",
        {"off": {"tcp.fast_open": "off"}, "on": {"tcp.fast_open": "on"}},
        metric="fct",
        sets=SHORT,
    ),
    Mitigation(
        "initial-window",
        "Larger initial window",
        "RFC 2760 §3.2.1, RFC 6928",
        "tcp.initial_window",
        "Each doubling of the initial window saves a round trip of slow start. Ten segments are the default of "
        "the Internet. Over GEO they halve the time of 100 kB against one segment.",
        {
            "1 segment": {"tcp.initial_window": "1 segments"},
            "RFC 3390": {"tcp.initial_window": "rfc3390"},
            "RFC 6928": {"tcp.initial_window": "rfc6928"},
            "40 segments": {"tcp.initial_window": "40 segments"},
        },
        metric="fct",
        sets=SHORT,
    ),
    Mitigation(
        "byte-counting",
        "Byte counting",
        "RFC 2760 §3.2.2, RFC 3465",
        "tcp.byte_counting",
        "Receivers delay every other ACK. A window that grows by ACKs then grows by half per round trip instead "
        "of doubling. Counting acknowledged bytes restores doubling.",
        {
            "ACKs": {"tcp.byte_counting": "rfc5681"},
            "ABC": {"tcp.byte_counting": "abc"},
            "unlimited": {"tcp.byte_counting": "ubc"},
        },
        metric="fct",
        sets=SHORT,
    ),
    Mitigation(
        "delayed-ack",
        "Delayed ACKs after slow start",
        "RFC 2760 §3.2.3",
        "tcp.ack.slow_start",
        "Another way to double: every segment is acknowledged while the sender is in slow start. This needs a "
        "signal from the sender, for which there is no standard. Here an experimental bit carries it.",
        {
            "delayed": {"tcp.ack.slow_start": "delayed"},
            "after slow start": {"tcp.ack.slow_start": "every"},
            "never delayed": {"tcp.ack.every": "1"},
        },
        metric="fct",
        sets=SHORT,
    ),
    Mitigation(
        "slow-start",
        "Ending slow start",
        "RFC 2760 §3.2.4, RFC 3742, RFC 9406",
        "tcp.slow_start",
        "Slow start grows until the queue overflows, and learns of it a round trip later. That costs hundreds "
        "of packets, which SACK repairs in a few round trips, and leaves half of path and queue together: "
        "enough to fill a path whose queue is as long as itself. Ending slow start earlier therefore saves "
        "losses and waiting, not time. Limited slow start takes most of the first minute over GEO to reach "
        "the same window. HyStart leaves a window below the capacity of the path, which then grows by a "
        "segment per round trip. HyStart++ comes too late to prevent the overflow. It is ahead because it "
        "counts bytes and so doubles in fewer round trips. Hoe's estimate equals the capacity of the path if "
        "the spacing of ACKs is exact. Processing times of hosts blur it, more on faster links. In low orbit "
        "all except HyStart++ leave a smaller window than the overshoot does, and so less when the first "
        "handover halves it.",
        {
            "standard": {},
            "limited": {"tcp.slow_start": "limited"},
            "hoe": {"tcp.slow_start": "hoe"},
            "hystart": {"tcp.slow_start": "hystart"},
            "hystart++": {"tcp.slow_start": "hystart++"},
        },
    ),
    Mitigation(
        "marks",
        "ECN marks",
        "RFC 2760 §3.3.4, RFC 3168",
        "tcp.ecn, link.NAME.queue",
        "A queue that marks signals congestion without losses. Its threshold matters more: CoDel's interval "
        "should be about the round trip (RFC 8289 §4.3), and its default of 100 ms is a fifth of GEO's.",
        {
            "drop-tail": {},
            "CoDel": {"link.sat.forward.queue": "codel"},
            "CoDel, marks": {"link.sat.forward.queue": '{ kind = "codel", ecn = true }', "tcp.ecn": "classic"},
            "600 ms, marks": {
                "link.sat.forward.queue": '{ kind = "codel", ecn = true, interval = "600 ms", target = "30 ms" }',
                "tcp.ecn": "classic",
            },
        },
        sets=NO_OVERSHOOT,
    ),
    Mitigation(
        "corruption",
        "Loss differentiation",
        "RFC 2760 §3.3.3",
        "tcp.verdict",
        "`always-link-error` treats no loss as congestion: no loss differentiation can gain more than this "
        "difference, at one packet lost in ten thousand and, in low orbit, at the handovers. It is large on "
        "both paths, because both hold large windows.",
        {"congestion": {}, "bound": {"tcp.verdict": "always-link-error"}},
        sets={**ERRORS, **NO_OVERSHOOT},
    ),
    Mitigation(
        "increase",
        "Growth independent of the round trip",
        "RFC 2760 §3.4",
        "tcp.increase",
        "One segment per round trip is slow if that is half a second. Constant-rate grows like a connection of "
        "100 ms. By-K adds four segments if the round trip is above 300 ms. Both are for the long path only, and "
        "both are outside the standards.",
        {
            "standard": {},
            "constant-rate": {"tcp.increase": "constant-rate"},
            "by four": {"tcp.increase": '{ kind = "by-k", k = 4 }'},
        },
        sets={**ERRORS, **NO_OVERSHOOT},
    ),
    Mitigation(
        "connections",
        "Multiple connections",
        "RFC 2760 §3.5",
        "flow.NAME.count",
        "Four connections start with four initial windows. A loss halves one of four windows: an eighth of the "
        "total. The gain is at the expense of other flows on the path.",
        {n: {"flow.transfer.count": n} for n in ("1", "2", "4", "8")},
        sets=ERRORS,
    ),
    Mitigation(
        "pacing",
        "Pacing",
        "RFC 2760 §3.6",
        "tcp.pacing",
        "A window sent at once needs a queue for it. Spread over the round trip it needs almost none. With a "
        "queue of twenty packets, bursts end slow start at a small part of the path's capacity, and pacing lets "
        "it continue to a window several times as large.",
        {"bursts": {}, "paced": {"tcp.pacing": "window"}},
        sets={"link.sat.forward.queue": "20 packets"},
    ),
    Mitigation(
        "sharing",
        "Sharing between connections",
        "RFC 2760 §3.8, RFC 9040",
        "tcp.sharing",
        "Transfers of 10 MB use a new connection each, which begins with the threshold of the one before. "
        "Over GEO that is half of the window that overflowed the queue: only the first transfer loses "
        "packets, but the others take as long as without sharing. In low orbit much is lost: handovers halve "
        "the threshold again and again, and transfers without a loss do not raise it. A remembered threshold "
        "helps only if losses show the size of the path.",
        {"off": {}, "on": {"tcp.sharing": "on"}},
        metric="fct",
        sets={
            "flow.transfer.app": '{ kind = "bulk", size = "10 MB", pause = "1 s", reconnect = true }',
            "duration": "180 s",
        },
    ),
    Mitigation(
        "fewer-acks",
        "Fewer ACKs on a narrow return link",
        "RFC 2760 §3.9, RFC 3449 §2, RFC 5690",
        "tcp.ack.every",
        "A return link of 50 kbit/s has room for 156 ACKs per second. Its queue drops the others, and the "
        "remaining ones wait in it: the round trip over GEO is twice as long, so a window that would fill the "
        "path fills half of it. Acknowledging every eighth segment shortens that queue. The window must then "
        "grow by bytes, not by ACKs. In low orbit the wait matters even more. With ACK congestion control "
        "(RFC 5690) the sender detects dropped ACKs and asks the receiver to send fewer. In low orbit that is "
        "better than any fixed number. Over GEO it learns in round trips of half a second and more, while "
        "ACKs wait.",
        {
            "every 2nd": {},
            "every 4th": {"tcp.ack.every": "4"},
            "every 8th": {"tcp.ack.every": "8"},
            "as many as arrive": {"tcp.ack.congestion_control": "true"},
        },
        sets={"link.sat.reverse.rate": "50 kbit/s", **NO_OVERSHOOT, "tcp.byte_counting": "ubc"},
    ),
]


def measure(mitigation: Mitigation, path: str) -> Comparison:
    """The comparison on one path."""
    scenario = bp.load(path, STANDARD | mitigation.sets)
    return bp.compare(scenario, cases=mitigation.cases, replications=REPLICATIONS, metric=mitigation.metric)


def draw(mitigation: Mitigation, comparisons: dict[str, Comparison]) -> None:
    """Both paths in one figure."""
    with style():
        figure = Figure(figsize=(7.0, 0.9 + 0.24 * len(mitigation.cases)), layout="constrained")
        FigureCanvasAgg(figure)
        for axes, (path, comparison) in zip(figure.subplots(1, 2), comparisons.items(), strict=True):
            plot.draw_comparison(axes, comparison, mitigation.metric)
            axes.set_title(path.upper(), loc="left", fontsize=8)
        plot.save(figure, FIGURES / f"{mitigation.name}.png")


def numbers(mitigation: Mitigation, comparison: Comparison) -> dict[str, list[float | None]]:
    """Mean and half width by case."""
    found = {name: comparison.estimate(name, mitigation.metric) for name in mitigation.cases}
    return {name: [each.mean, each.half_width] for name, each in found.items()}


def main() -> None:
    """Measure and draw the named mitigations."""
    asked, known = sys.argv[1:], [each.name for each in MITIGATIONS]
    if unknown := [name for name in asked if name not in known]:
        raise SystemExit(f"error: no such mitigation: {', '.join(unknown)}\n  known: {', '.join(known)}")
    FIGURES.mkdir(exist_ok=True)
    found = kept.load("mitigations")
    for each in MITIGATIONS:
        if asked and each.name not in asked and each.name in found:
            continue
        comparisons = {path: measure(each, path) for path in ("geo", "leo")}
        draw(each, comparisons)
        found[each.name] = {path: numbers(each, comparison) for path, comparison in comparisons.items()}
        print(each.name, flush=True)
    kept.save("mitigations", found)


if __name__ == "__main__":
    kept.begin(__doc__, "NAME")
    main()
