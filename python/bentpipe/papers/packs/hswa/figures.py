"""Draws the paper's figures from our runs, beside the printed values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.papers import COLOURS, Finding, blank, intervals, label, legend_above, paper, style

from .formulas import (
    ENHANCED_BPS,
    HSWA_BPS,
    RATE_BPS,
    RATES,
    increments,
    packets_needed,
    passed_share,
    step,
)
from .runs import FLAVOURS, bdp_segments, throughputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.papers import Lab

OTHERS = (*FLAVOURS, "vegas", "westwood", "highspeed", "scalable", "scps-vegas")
"""The other flavours of the paper, which does not name the rules of its SCPS-TP."""
MARKERS = "osdv<>PX^"
READINGS = {
    each.name: each.arguments for each in paper(Path(__file__).parent).readings if each.arguments["error"] == "packet"
}
"""Readings with errors per packet. With errors per bit or byte nothing arrives at rates with a printed throughput."""
ROUND_TRIP, ACK, _, PACKETS, SACK, NEWRENO = READINGS
LABELS = dict(
    zip(
        READINGS,
        (
            "per round trip",
            "per ACK",
            "per ACK, losses by time",
            "per ACK, 6000 B",
            "per round trip, 50 ms, SACK",
            "per ACK, 50 ms, NewReno",
        ),
        strict=True,
    )
)
"""Short names for legends: the unit of the step."""
PATHS = {
    "510 ms, 1000 B": (ROUND_TRIP, ACK),
    "510 ms, 6000 B": (PACKETS,),
    "50 ms, 1000 B": (SACK, NEWRENO),
}
"""Round trips and packets, with the readings that have them."""


def figure_1(lab: Lab) -> Figure:
    """Increment of the window over TD, after eq. 3.1, at some error rates."""
    with style():
        figure, (axes,) = blank(1, height=2.2)
        delays = np.linspace(1, 2.5, 151)
        for colour, rate in zip(COLOURS, (1e-8, 1e-5, 1e-2), strict=False):
            values = [increments(float(delay), step(rate))[0] for delay in delays]
            axes.plot(delays, values, color=colour, label=f"error rate {rate:.0e}".replace("e-0", "e-"))
        axes.set_xlabel("TD as a multiple of BaseTD")
        axes.set_ylabel(label("Increment", "segments"))
        axes.set_ylim(bottom=0)
        axes.grid()
        axes.legend(loc="upper right")
        figure.suptitle("Eq. 3.1, third case from 2 BaseTD", x=0.02, ha="left")
    return figure


def figure_2(lab: Lab) -> Figure:
    """Throughput over the rate of packet errors: the other flavours and HSWA, on each path, and HSWA as printed."""
    rates = lab.choose((1e-8, 1e-4, 1e-2), (1e-8, 1e-6, *RATES[4:]))
    count = lab.choose(2, 4)
    with style():
        figure, panels = blank(len(PATHS), height=6.2)
        for axes, (name, readings) in zip(panels, PATHS.items(), strict=True):
            path = {key: value for key, value in READINGS[readings[0]].items() if key in ("segment_bytes", "rtt_ms")}
            curves = [(cc, cc, {**path, "handshake": READINGS[readings[0]].get("handshake", True)}) for cc in OTHERS]
            steps = {reading: READINGS[reading].get("per", "rtt") for reading in readings}
            curves += [(f"hswa, per {steps[each]}", "hswa", READINGS[each]) for each in readings]
            for place, (text, cc, reading) in enumerate(curves):
                curve = throughputs(lab, cc=cc, rates=rates, replications=count, **reading)
                findings = [Finding.mean(curve[rate]) for rate in rates]
                # Slightly shifted, since the curves coincide without losses.
                places = [rate * 1.1 ** (place - 4.5) for rate in rates]
                is_own = cc == "hswa"
                # Black is HSWA's.
                colour = "black" if is_own else COLOURS[place % (len(COLOURS) - 1)]
                line = "-" if place < len(COLOURS) - 1 or text == "hswa, per rtt" else "--"
                marker = "x" if text == "hswa, per ack" else MARKERS[place % len(MARKERS)]
                intervals(axes, places, findings, factor=1e-6, color=colour, ls=line, marker=marker, label=text)
            _draw_printed(axes, "hswa, printed", HSWA_BPS, "0.1", "D")
            _axes(axes)
            axes.text(0.98, 0.95, name, transform=axes.transAxes, ha="right", va="top")
        for axes in panels[:-1]:
            axes.set_xlabel("")
        legend_above(panels[0], 4)
        text = f"One connection, 50 s, errors per packet\n{count} replications, 95 % intervals"
        figure.suptitle(text, x=0.02, ha="left")
    return figure


def figure_3(lab: Lab) -> Figure:
    """Average throughput of 3 to 15 connections of HSWA, in three readings."""
    return _connections(lab, "hswa", "HSWA", {})


def figure_7(lab: Lab) -> Figure:
    """Average throughput of 3 to 15 connections of Enhanced HSWA, in three readings."""
    return _connections(lab, "enhanced-hswa", "Enhanced HSWA", {5: (10,), 10: (7, 9), 15: (7, 9)})


def _connections(lab: Lab, cc: str, name: str, printed: Mapping[int, Sequence[float]]) -> Figure:
    rates = lab.choose((1e-8, 1e-4, 1e-2), (1e-8, 1e-6, *RATES[4:]))
    seconds, replications = lab.choose((20, 1), (50, 2))
    with style():
        figure, panels = blank(3, height=5.4)
        for axes, reading in zip(panels, (ROUND_TRIP, ACK, SACK), strict=True):
            for place, connections in enumerate((3, 5, 10, 15)):
                curve = throughputs(
                    lab,
                    cc=cc,
                    rates=rates,
                    connections=connections,
                    seconds=seconds,
                    replications=replications,
                    **READINGS[reading],
                )
                colour = COLOURS[place]
                axes.plot(
                    rates,
                    [curve[rate].mean() / 1e6 for rate in rates],
                    color=colour,
                    marker=MARKERS[place],
                    markersize=3,
                    label=f"{connections} connections",
                )
                axes.axhline(100 / connections, color=colour, linestyle=":", linewidth=0.8)
                for value in printed.get(connections, ()):
                    axes.plot(rates, [value] * len(rates), "D", color=colour, markerfacecolor="none", markersize=5)
            _axes(axes)
            axes.set_ylim(0, 40)
            text = f"step {LABELS[reading]}"
            axes.text(0.98, 0.95, text, transform=axes.transAxes, ha="right", va="top")
        for axes in panels[:-1]:
            axes.set_xlabel("")
        legend_above(panels[0], 2)
        sample = f"{seconds} s, mean of {replications} runs" if replications > 1 else f"{seconds} s, a single run"
        text = f"{name}, average per connection, {sample}\ndotted: equal shares; diamonds: printed"
        figure.suptitle(text, x=0.02, ha="left")
    return figure


def figure_6(lab: Lab) -> Figure:
    """HSWA and Enhanced HSWA: printed, measured in several readings, and the most that the channel passes."""
    rates = {
        "hswa": lab.choose((1e-8, 1e-6, *RATES[3:]), RATES),
        "enhanced-hswa": lab.choose((1e-8, *RATES[4:]), RATES),
    }
    names = {"hswa": "HSWA", "enhanced-hswa": "Enhanced HSWA"}
    printed = {"hswa": HSWA_BPS, "enhanced-hswa": ENHANCED_BPS}
    with style():
        figure, panels = blank(2, height=5.4)
        for axes, cc in zip(panels, rates, strict=True):
            for place, (name, reading) in enumerate(READINGS.items()):
                curve = throughputs(lab, cc=cc, rates=rates[cc], **reading)
                findings = [Finding.mean(curve[rate]) for rate in rates[cc]]
                places = [rate * 1.12 ** (place - 2.5) for rate in rates[cc]]
                text = LABELS[name]
                colour, marker = COLOURS[place], MARKERS[place]
                intervals(axes, places, findings, factor=1e-6, color=colour, marker=marker, label=text)
            highest = [RATE_BPS * passed_share(rate, "packet") / 1e6 for rate in RATES]
            axes.plot(RATES, highest, color="0.6", linestyle=":", label="ceiling")
            _draw_printed(axes, "printed", printed[cc], "0.1", "D")
            _axes(axes)
            axes.text(0.02, 0.06, names[cc], transform=axes.transAxes)
        panels[0].set_xlabel("")
        legend_above(panels[0], 2)
        sample = f"{lab.choose('2 (from 1e-4: 4)', '10')} replications, 95 % intervals"
        figure.suptitle(f"One connection, 50 s, errors per packet\n{sample}", x=0.02, ha="left")
    return figure


def figure_6_packets(lab: Lab) -> Figure:
    """HSWA's throughput over the packets per round trip, with the packets that the printed values need."""
    sizes = lab.choose((1000, 6000), (1000, 2000, 4000, 6000, 9000, 12000))
    held = [bdp_segments(size) for size in sizes]
    with style():
        figure, (axes,) = blank(1, height=3.0)
        for place, rate in enumerate((1e-5, 1e-4, 1e-3)):
            findings = [
                Finding.mean(
                    throughputs(lab, cc="hswa", rates=[rate], **READINGS[PACKETS] | {"segment_bytes": size})[rate]
                )
                for size in sizes
            ]
            colour, text = COLOURS[place], f"{rate:.0e}".replace("e-0", "e-")
            intervals(axes, held, findings, factor=1e-6, color=colour, marker=MARKERS[place], label=text)
            axes.axhline(HSWA_BPS[rate] / 1e6, color=colour, linestyle=":", linewidth=0.8)
            axes.plot(packets_needed(rate), HSWA_BPS[rate] / 1e6, marker="D", color=colour, markerfacecolor="none")
        axes.set_xscale("log")
        axes.set_xticks(held, [str(each) for each in held])
        axes.minorticks_off()
        axes.set_ylim(0, 105)
        axes.set_xlabel("Packets that a round trip holds")
        axes.set_ylabel(label("Throughput", "Mbit/s"))
        axes.grid()
        legend_above(axes, 3)
        text = "HSWA, step per ACK, 510 ms, packets of 1 to 12 kB\ndotted: printed; diamonds: how many it would take"
        figure.suptitle(text, x=0.02, ha="left")
    return figure


def _draw_printed(axes: Axes, text: str, values: Mapping[float, float], colour: str, marker: str) -> None:
    axes.plot(
        list(values),
        [value / 1e6 for value in values.values()],
        marker=marker,
        markeredgecolor=colour,
        linestyle="none",
        markerfacecolor="none",
        markersize=5,
        label=text,
        clip_on=False,
    )


def _axes(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xticks(RATES)
    axes.minorticks_off()
    axes.set_ylim(0, 105)
    axes.set_xlabel("Error rate")
    axes.set_ylabel(label("Throughput", "Mbit/s"))
    axes.grid()
