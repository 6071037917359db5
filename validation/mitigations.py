"""Makes the guide "TCP over satellite, switch by switch".

Runs each mitigation of RFC 2488 and RFC 2760 on the plain paths `geo` and `leo`, draws its figure and writes its
numbers; less than a minute.

    .venv/bin/python validation/mitigations.py [NAME ...]

With names, only those figures are made anew, and the page keeps the other numbers of `docs/guides/mitigations.json`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import plot
from bentpipe.metric import METRICS
from bentpipe.plot.style import style

if TYPE_CHECKING:
    from bentpipe.experiment.results.comparison import Comparison

GUIDES = Path(__file__).resolve().parent.parent / "docs" / "guides"
NUMBERS = GUIDES / "mitigations.json"
REPLICATIONS = 10


@dataclass(frozen=True)
class Mitigation:
    """One switch: what it is, what is compared, and what comes of it."""

    name: str
    title: str
    source: str
    key: str
    text: str
    """What it does, and what to make of the figure; written after the numbers were seen."""
    cases: dict[str, dict[str, str]]
    metric: str = "goodput"
    sets: dict[str, str] = field(default_factory=dict)
    """For both paths."""


ERRORS = {"link.sat.forward.error": '{ kind = "packet", rate = 1e-4 }'}
# The server answers; the terminal asks, on a new connection each time.
SHORT = {
    "flow.transfer.from": "terminal",
    "flow.transfer.to": "server",
    "flow.transfer.app": '{ kind = "request-response", response = "100 kB", think = "2 s", reconnect = true }',
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
        "Path MTU discovery finds the largest packet that the path takes. Windows grow by segments, so larger ones "
        "grow faster, and headers weigh less. Over GEO, where nothing is lost here, headers weigh most; in low orbit "
        "the growth after each handover does.",
        {"536 B": {"tcp.smss": "536 B"}, "1460 B": {"tcp.smss": "1460 B"}},
        sets=NO_OVERSHOOT,
    ),
    Mitigation(
        "fec",
        "Error correction below TCP",
        "RFC 2488 §3.2",
        "link.NAME.interleave",
        "TCP takes a corrupted packet for congestion, so a link must not lose more than congestion would. A code "
        "with interleaving (here Reed-Solomon, 16 bytes of 255 corrected) turns a bit error rate of 1e-6 into none "
        "at all, for two spans of the interleaver more delay.",
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
        "Without scaling at most 65,535 bytes are on the way: 970 kbit/s at 540 ms, whatever the link. A fixed 64 "
        "kB buffer costs the same. `auto` grows as systems do today, and reaches the path.",
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
        "Losses in bursts of 30 ms, every three seconds on average: some fifty segments over GEO. NewReno repairs "
        "one loss in a round trip, and for a whole burst that is worse than Reno's timeout. SACK repairs a burst in "
        "one or two round trips, without a timeout over GEO. Goodput hardly shows that, as every burst takes half "
        "of the window in either case, and a sender that waits for the timer meets fewer. RACK also finds lost "
        "retransmissions, and avoids timeouts in low orbit. Proportional rate reduction (RFC 9937) never sends "
        "half a window in one go, and its recoveries are shorter. It gets less here, because it meets more bursts: "
        "a sender that spreads its window is also hit by those that fall where another is idle for half a round "
        "trip.",
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
        "T/TCP is history; Fast Open does the same with a cookie. Each connection but the first saves a round "
        "trip: half a second over GEO, for every short transfer.",
        {"off": {"tcp.fast_open": "off"}, "on": {"tcp.fast_open": "on"}},
        metric="fct",
        sets=SHORT,
    ),
    Mitigation(
        "initial-window",
        "Larger initial window",
        "RFC 2760 §3.2.1, RFC 6928",
        "tcp.initial_window",
        "Each doubling of the initial window saves a round trip of slow start. Ten segments are the default of the "
        "Internet; over GEO they save half of the time of 100 kB against one segment.",
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
        "Receivers delay every other ACK, and a window that grows by ACKs then grows by half in a round trip "
        "instead of doubling. Counting what was acknowledged restores doubling.",
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
        "The other way to the same end: every segment is acknowledged while the sender is in slow start. It needs "
        "a signal from the sender, for which there is no standard; an experiment's bit carries it here.",
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
        "Slow start grows until the queue overflows, and learns of it a round trip later. That costs hundreds of "
        "packets, which SACK repairs in a few round trips, and leaves half of path and queue together: enough to "
        "fill a path whose queue is as long as itself. So ending slow start earlier saves losses and waiting, not "
        "time: the first minute over GEO is as good with the standard. Limited slow start takes most of that minute "
        "to get to the same window. HyStart leaves a window below what the path holds, which then grows by a "
        "segment in a round trip. HyStart++ comes too late to prevent the overflow; it is ahead because it counts "
        "bytes and so doubles in fewer round trips. Hoe's estimate meets what the path holds if the spacing of ACKs "
        "is exact; processing times of hosts blur it, the more the faster the link. In low orbit all but HyStart++ "
        "leave a smaller window than the overshoot does, and so less when the first handover halves it.",
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
        "Marks instead of losses",
        "RFC 2760 §3.3.4, RFC 3168",
        "tcp.ecn, link.NAME.queue",
        "A queue that marks tells of congestion without losing anything. What it marks at matters more: CoDel's "
        "interval is to be about the round trip (RFC 8289 §4.3), and its default of 100 ms is a fifth of GEO's.",
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
        "Telling corruption from congestion",
        "RFC 2760 §3.3.3",
        "tcp.verdict",
        "`always-link-error` is the bound: a sender that knows that no loss is congestion. The distance to it is "
        "what any way of telling them apart can gain at one packet in ten thousand, and in low orbit at the "
        "handovers: much on both paths, as both hold large windows.",
        {"congestion": {}, "bound": {"tcp.verdict": "always-link-error"}},
        sets={**ERRORS, **NO_OVERSHOOT},
    ),
    Mitigation(
        "increase",
        "Growth that does not depend on the round trip",
        "RFC 2760 §3.4",
        "tcp.increase",
        "One segment in a round trip is slow when that is half a second. Constant-rate grows as a connection of "
        "100 ms would, by-K adds four segments where the round trip is above 300 ms. Both are for the long path "
        "only; neither is standard.",
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
        "Four connections start with four initial windows and lose a quarter of a half at a loss. They get what "
        "one does not, from whoever shares the path with them.",
        {n: {"flow.transfer.count": n} for n in ("1", "2", "4", "8")},
        sets=ERRORS,
    ),
    Mitigation(
        "pacing",
        "Pacing",
        "RFC 2760 §3.6",
        "tcp.pacing",
        "A window sent at once needs a queue for it. Spread over the round trip it needs almost none: with a queue "
        "of twenty packets bursts end slow start at a small part of what the path holds, and pacing lets it go on "
        "to a window several times as large.",
        {"bursts": {}, "paced": {"tcp.pacing": "window"}},
        sets={"link.sat.forward.queue": "20 packets"},
    ),
    Mitigation(
        "sharing",
        "Sharing what was learnt",
        "RFC 2760 §3.8, RFC 9040",
        "tcp.sharing",
        "Transfers of 10 MB, each on a new connection, which begins with the threshold that the one before it "
        "left. Over GEO that is half of what overflowed the queue: slow start ends below it, only the first "
        "transfer loses packets, and the others take as long as without. In low orbit much is lost: a handover "
        "halves the threshold, transfers without a loss do not raise it, and so it falls from handover to handover. "
        "A remembered threshold helps only where losses show the size of the path.",
        {"off": {}, "on": {"tcp.sharing": "on"}},
        metric="fct",
        sets={
            "flow.transfer.app": '{ kind = "bulk", size = "10 MB", pause = "1 s", reconnect = true }',
            "duration": "180 s",
        },
    ),
    Mitigation(
        "fewer-acks",
        "Fewer ACKs on a narrow way back",
        "RFC 2760 §3.9, RFC 3449 §2, RFC 5690",
        "tcp.ack.every",
        "With 50 kbit/s on the way back there is room for 156 ACKs in a second. The queue there drops the others, "
        "and those that remain wait in it: the round trip over GEO is twice as long, and a window that would fill "
        "the path fills half of it. Acknowledging every eighth segment shortens that queue. The window has to grow "
        "by bytes then, not by ACKs. In low orbit, where the round trip is short, the wait weighs even more. With "
        "congestion control for ACKs (RFC 5690) the sender finds out which were dropped, and tells the receiver to "
        "send fewer: in low orbit that is better than any number fixed beforehand. Over GEO it learns in round trips "
        "of half a second and more, while ACKs wait.",
        {
            "every 2nd": {},
            "every 4th": {"tcp.ack.every": "4"},
            "every 8th": {"tcp.ack.every": "8"},
            "as many as arrive": {"tcp.ack.congestion_control": "true"},
        },
        sets={"link.sat.reverse.rate": "50 kbit/s", **NO_OVERSHOOT, "tcp.byte_counting": "ubc"},
    ),
]

HEAD = """<!-- Generated by validation/mitigations.py; its texts are there. -->
# TCP over satellite, switch by switch

RFC 2488 and RFC 2760 list what helps TCP over satellites. Each corresponds to one scenario key. This page changes one
at a time on two plain paths that come with bentpipe: `geo` (20 Mbit/s, a round trip of 540 ms) and `leo` (100 Mbit/s,
40 to 70 ms, a handover every 15 s that loses a few packets). The hosts are those of the RFCs with SACK
(`like = "rfc"`): hosts of today, the default, have many of the switches set already. Dots are means of {replications}
replications with 95 % intervals; `--plot` draws the same. Where all replications are equal there is nothing random,
and no interval.

Two mechanisms are not on this page: the network can [compress headers](../functions/compress.md) (RFC 2760 §3.7) and
[filter ACKs](../concepts/links-and-errors.md#a-filter-of-acknowledgements).

| switch | key | GEO | LEO |
|---|---|---|---|
"""


def command(mitigation: Mitigation, path: str) -> str:
    """What makes the comparison on the command line."""
    words = [f"bentpipe compare {path} --metric {mitigation.metric}"]
    words += [f"--set {key}='{value}'" for key, value in (STANDARD | mitigation.sets).items()]
    for name, sets in mitigation.cases.items():
        settings = "; ".join(f"{key}={value}" for key, value in sets.items())
        words.append(f"--case '{name}: {settings}'".replace(": '", ":'"))
    return " \\\n    ".join(words)


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
        plot.save(figure, GUIDES / "mitigations" / f"{mitigation.name}.png")


def numbers(mitigation: Mitigation, comparison: Comparison) -> dict[str, list[float | None]]:
    """Mean and half width by case."""
    found = {name: comparison.estimate(name, mitigation.metric) for name in mitigation.cases}
    return {name: [each.mean, each.half_width] for name, each in found.items()}


def shown(mitigation: Mitigation, values: dict[str, list[float | None]]) -> str:
    """The numbers of one path, for a table."""
    unit = METRICS[mitigation.metric].unit
    divisor, unit = (1e6, "Mbit/s") if unit == "bit/s" else (1.0, unit)
    texts = [f"{name} {mean / divisor:.3g}" for name, (mean, _) in values.items() if mean is not None]
    return f"{'; '.join(texts)} {unit}"


def page(found: dict[str, dict[str, dict[str, list[float | None]]]]) -> str:
    """The whole guide."""
    text = HEAD.format(replications=REPLICATIONS)
    for m in MITIGATIONS:
        anchor = m.title.lower().replace(" ", "-")
        geo, leo = (shown(m, found[m.name][path]) for path in ("geo", "leo"))
        text += f"| [{m.title}](#{anchor}) | `{m.key}` | {geo} | {leo} |\n"
    for m in MITIGATIONS:
        text += f"\n## {m.title}\n\n{m.source}; `{m.key}`. {m.text}\n\n"
        text += f"![{m.title} over GEO and LEO](mitigations/{m.name}.png)\n\n```\n{command(m, 'geo')}\n```\n"
    return text


def main() -> None:
    """Measure, draw, write."""
    (GUIDES / "mitigations").mkdir(exist_ok=True)
    found = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    wanted = set(sys.argv[1:])
    for m in MITIGATIONS:
        if wanted and m.name not in wanted and m.name in found:
            continue
        comparisons = {path: measure(m, path) for path in ("geo", "leo")}
        draw(m, comparisons)
        found[m.name] = {path: numbers(m, comparison) for path, comparison in comparisons.items()}
        print(f"{m.name:16} {shown(m, found[m.name]['geo'])} | {shown(m, found[m.name]['leo'])}", flush=True)
    NUMBERS.write_text(json.dumps(found, indent=1) + "\n")
    (GUIDES / "tcp-over-satellite.md").write_text(page(found))


if __name__ == "__main__":
    main()
