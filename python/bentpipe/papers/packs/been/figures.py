"""BEEN's figures, drawn again: three schemes on the Iridium stand-in, beside what the paper prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.papers import COLOURS, Finding, blank, intervals, label, legend_above, style

from .formulas import HEADER_BYTES, PAYLOADS_BYTES, RATES
from .measures import transfers
from .proposal import flows_of, trace, windows_packets, world
from .runs import ERROR, column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.papers import Lab

    from .runs import Sets

LENGTHS = [payload + HEADER_BYTES for payload in PAYLOADS_BYTES]
PRINTED_TCP_EFFICIENCY = {1e-2: [(90, 50)], 1e-3: [(1540, 50), (140, 80), (90, 90)]}
"""Section 2.2 and Sections 5.3.1 and 5.3.2, NewReno: packet in B, in %."""
PRINTED_INFORMATION_EFFICIENCY = {1e-2: [(90, 18)], 1e-3: [(240, 65)]}
PRINTED_PROPOSAL = {1e-2: 24, 1e-3: 57}
CEILING_FROM = 45


def figure_2(lab: Lab) -> Figure:
    """Figure 2: NewReno over packet size at three error rates per byte, means and 95 % intervals."""
    panels = (
        ("tcp_efficiency_pct", 1, "TCP efficiency", "%"),
        ("throughput_bps", 1, "Throughput", "bit/s"),
        ("goodput_bps", 1, "Goodput", "bit/s"),
        ("delivered_bytes", 1e3, "Data delivered", "kB"),
    )
    with style():
        figure, axes = blank(len(panels), height=6.2)
        for panel, (name, divisor, what, unit) in zip(axes, panels, strict=True):
            for colour, rate in zip(COLOURS, RATES, strict=False):
                _measured(panel, lab, name, rate, colour, 1 / divisor)
            panel.set_ylabel(label(what, unit))
            panel.grid()
        for colour, rate in zip(COLOURS, RATES, strict=False):
            for length, percent in PRINTED_TCP_EFFICIENCY.get(rate, []):
                axes[0].plot(length, percent, "s", color=colour, markerfacecolor="none", markersize=6)
        axes[0].plot([], [], "s", color="0.4", markerfacecolor="none", markersize=6, label="printed")
        axes[0].set_ylim(0, 105)
        for panel in axes[1:]:
            # Where nothing arrives there is a zero to draw.
            panel.set_yscale("symlog", linthresh=1 if panel is axes[3] else 10)
            panel.set_ylim(0, 1e4 if panel is axes[3] else 1e6)
        _sizes(axes[-1])
        legend_above(axes[0], 4)
        figure.suptitle("NewReno by packet size and error rate per byte\n95 % intervals", x=0.02, ha="left")
        return figure


def figure_information_efficiency(lab: Lab) -> Figure:
    """Information efficiency over initial packet size at three error rates: three schemes, what is printed."""
    with style():
        figure, axes = blank(len(RATES), height=5.4)
        lengths = np.geomspace(CEILING_FROM, 1700, 200)
        for panel, rate in zip(axes, RATES, strict=True):
            share = (1 - HEADER_BYTES / lengths) * (1 - rate) ** lengths
            panel.plot(lengths, 100 * share, color="0.5", linewidth=0.6, linestyle="--", label="arithmetic")
            _schemes(panel, lab, "information_efficiency", rate, 100)
            for length, percent in PRINTED_INFORMATION_EFFICIENCY.get(rate, []):
                panel.plot(length, percent, "s", color="0.3", markerfacecolor="none", markersize=6)
            if rate in PRINTED_PROPOSAL:
                panel.axhline(PRINTED_PROPOSAL[rate], color="0.3", linestyle=":", linewidth=0.8)
            panel.set_ylim(0, 118)
            _rate(panel, rate)
            panel.grid()
        axes[0].plot([], [], "s", color="0.3", markerfacecolor="none", markersize=6, label="printed, NewReno")
        axes[0].plot([], [], color="0.3", linestyle=":", linewidth=0.8, label="printed, BEEN")
        axes[1].set_ylabel(label("Information efficiency", "%"))
        _sizes(axes[-1])
        legend_above(axes[0], 3)
        figure.suptitle("Payload that arrives, of all that is sent\n95 % intervals", x=0.02, ha="left")
        return figure


def figure_goodput(lab: Lab) -> Figure:
    """Goodput over initial packet size at three error rates, of the three schemes."""
    with style():
        figure, axes = blank(len(RATES), height=5.4)
        for panel, rate in zip(axes, RATES, strict=True):
            _schemes(panel, lab, "goodput_bps", rate, 1e-3)
            # Where nothing arrives there is a zero to draw.
            panel.set_yscale("symlog", linthresh=0.01)
            panel.set_ylim(0, 3e4)
            panel.set_yticks([0, 0.1, 1, 10, 100, 1000], ["0", "0.1", "1", "10", "100", "1000"])
            _rate(panel, rate)
            panel.grid()
        axes[1].set_ylabel(label("Goodput", "kbit/s"))
        _sizes(axes[-1])
        legend_above(axes[0], 3)
        figure.suptitle("Three schemes by initial packet size\n95 % intervals", x=0.02, ha="left")
        return figure


def figure_cwnd(lab: Lab) -> Figure:
    """Windows of BEEN and NewReno with packets of 240 B at most at three error rates per byte, one run each."""
    payload = 200
    with style():
        figure, axes = blank(len(RATES), height=4.4)
        for panel, rate in zip(axes, RATES, strict=True):
            for colour, scheme in zip(COLOURS, ("NewReno", "BEEN"), strict=False):
                sets: Sets = {f"{ERROR}.rate": rate}
                result = trace(lab, payload, sets, scheme=scheme)
                times_s = np.arange(0.05, result.simulated_s, 0.1)
                windows = windows_packets(result, times_s, payload)
                panel.plot(times_s, windows, color=colour, linewidth=0.6, label=scheme)
            _rate(panel, rate)
            panel.set_ylim(0, 27)
            panel.grid()
        axes[1].set_ylabel(label("Congestion window", "packets"))
        axes[-1].set_xlabel(label("Time", "s"))
        axes[-1].set_xlim(0, 200)
        legend_above(axes[0], 2)
        figure.suptitle("Packets of 240 B at most, one run each", x=0.02, ha="left")
        return figure


def _rate(axes: Axes, rate: float) -> None:
    text = f"error rate {rate:g} per byte"
    axes.text(0.99, 0.97, text, transform=axes.transAxes, ha="right", va="top", fontsize=7)


def _schemes(axes: Axes, lab: Lab, name: str, rate: float, factor: float) -> None:
    for colour, marker, scheme in zip(COLOURS, "osD", ("NewReno", "SaTPEP", "BEEN"), strict=False):
        runs = [flows_of(lab, scheme, payload, world(rate=rate)) for payload in PAYLOADS_BYTES]
        found = [Finding.mean(factor * column(flows, name)) for flows in runs]
        intervals(axes, LENGTHS, found, marker=marker, markersize=3, color=colour, label=scheme)


def _measured(axes: Axes, lab: Lab, name: str, rate: float, colour: str, factor: float) -> None:
    found = [
        Finding.mean(factor * column(transfers(lab, payload=payload, rate=rate, unit="byte"), name))
        for payload in PAYLOADS_BYTES
    ]
    intervals(axes, LENGTHS, found, marker="o", linestyle="-", color=colour, label=f"{rate:g}")


def _sizes(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xticks(LENGTHS, [str(length) for length in LENGTHS])
    axes.minorticks_off()
    axes.set_xlabel(label("Packet size", "B"))
