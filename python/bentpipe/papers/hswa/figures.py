"""The paper's figures, drawn again: from our runs, beside what the paper prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.papers.drawing import intervals, legend_above
from bentpipe.papers.hswa.formulas import (
    ENHANCED_BPS,
    HSWA_BPS,
    RATE_BPS,
    RATES,
    increments,
    passed_share,
    step,
)
from bentpipe.papers.hswa.measures import FLAVOURS, throughputs
from bentpipe.papers.lab import Finding
from bentpipe.plot.house import COLOURS, blank, label, style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.papers.lab import Lab

FIGURE_2 = (*FLAVOURS, "vegas", "westwood", "highspeed", "scalable", "scps-vegas", "hswa")
"""Those of the paper: it does not say which rules its SCPS-TP had."""
MARKERS = "osdv<>PX^"
READINGS: dict[str, dict[str, Any]] = {
    "step per round trip": {},
    "step per ACK": {"per": "ack", "is_open": True},
    "and losses by time": {"per": "ack", "is_open": True, "is_patient": True},
}
"""What the claims call them at length: a step per ACK goes without slow start, to an open receiver."""


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
    """Throughput over the rate of packet errors: the flavours that there are, and HSWA as printed."""
    # Runs that are almost without losses take the longest, and are almost equal.
    rare, frequent = lab.choose((1e-8, 1e-6), RATES[:3]), RATES[3:]
    rates = (*rare, *frequent)
    with style():
        figure, (axes,) = blank(1, height=2.8)
        for place, cc in enumerate(FIGURE_2):
            curve = throughputs(lab, cc=cc, rates=rare, replications=lab.choose(2, 10))
            curve |= throughputs(lab, cc=cc, rates=frequent, replications=lab.choose(4, 20))
            findings = [Finding.mean(curve[rate]) for rate in rates]
            # A little apart, or the last would hide the others: without losses they are the same.
            places = [rate * 1.1 ** (place - 3.5) for rate in rates]
            colour = COLOURS[place % len(COLOURS)]
            line = "-" if place < len(COLOURS) else "--"
            intervals(axes, places, findings, factor=1e-6, color=colour, ls=line, marker=MARKERS[place], label=cc)
        _printed(axes, "HSWA, printed", HSWA_BPS, "0.3", "D")
        _axes(axes)
        legend_above(axes, 4)
        replications = lab.choose("4 (below 1e-5: 2)", "20 (below 1e-5: 10)")
        sample = f"{replications} replications, 95 % intervals"
        figure.suptitle(f"GEO, 100 Mbit/s, one connection, 50 s, errors per packet\n{sample}", x=0.02, ha="left")
    return figure


def figure_3(lab: Lab) -> Figure:
    """Average throughput of 3 to 15 connections of HSWA, in two readings."""
    return _connections(lab, "hswa", "HSWA")


def figure_7(lab: Lab) -> Figure:
    """Average throughput of 3 to 15 connections of Enhanced HSWA, in two readings."""
    return _connections(lab, "enhanced-hswa", "Enhanced HSWA")


def _connections(lab: Lab, cc: str, name: str) -> Figure:
    rates = lab.choose((1e-8, 1e-4, 1e-2), RATES)
    seconds, replications = lab.choose((20, 1), (50, 4))
    with style():
        figure, panels = blank(2, height=3.9)
        for axes, reading in zip(panels, ("step per round trip", "step per ACK"), strict=True):
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
            _axes(axes)
            axes.set_ylim(0, 40)
            axes.text(0.98, 0.95, reading, transform=axes.transAxes, ha="right", va="top")
        panels[0].set_xlabel("")
        legend_above(panels[0], 2)
        sample = f"{seconds} s, mean of {replications} runs" if replications > 1 else f"{seconds} s, a single run"
        text = f"{name}, average per connection, {sample}\ndotted: equal shares of the link"
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
        figure, panels = blank(2, height=3.9)
        for axes, cc in zip(panels, rates, strict=True):
            for place, (reading, arguments) in enumerate(READINGS.items()):
                curve = throughputs(lab, cc=cc, rates=rates[cc], **arguments)
                findings = [Finding.mean(curve[rate]) for rate in rates[cc]]
                places = [rate * 1.12 ** (place - 1) for rate in rates[cc]]
                intervals(
                    axes, places, findings, factor=1e-6, color=COLOURS[place], marker=MARKERS[place], label=reading
                )
            highest = [RATE_BPS * passed_share(rate, "packet") / 1e6 for rate in RATES]
            axes.plot(RATES, highest, color="0.6", linestyle=":", label="ceiling")
            _printed(axes, "printed", printed[cc], "0.2", "^")
            _axes(axes)
            axes.text(0.02, 0.06, names[cc], transform=axes.transAxes)
        panels[0].set_xlabel("")
        legend_above(panels[0], 2)
        sample = f"{lab.choose('2 (from 1e-4: 4)', '10')} replications, 95 % intervals"
        figure.suptitle(f"One connection, 50 s, errors per packet\n{sample}", x=0.02, ha="left")
    return figure


def _printed(axes: Axes, text: str, values: Mapping[float, float], colour: str, marker: str) -> None:
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
