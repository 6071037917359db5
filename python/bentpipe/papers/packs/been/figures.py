"""BEEN's figures, drawn again: what NewReno does on the Iridium stand-in, beside what the paper prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.papers import COLOURS, Finding, blank, intervals, label, legend_above, style

from .formulas import HEADER_BYTES, PAYLOADS_BYTES, RATES
from .measures import transfers
from .runs import ERROR, PATH, SMSS, column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.papers import Lab

LENGTHS = [payload + HEADER_BYTES for payload in PAYLOADS_BYTES]
PRINTED_TCP_EFFICIENCY = {1e-2: [(90, 50)], 1e-3: [(1540, 50), (140, 80), (90, 90)]}
"""Section 2.2 and Sections 5.3.1 and 5.3.2, NewReno: packet in B, in %."""
PRINTED_INFORMATION_EFFICIENCY = {1e-2: [(90, 18)], 1e-3: [(240, 65)]}
PRINTED_PROPOSAL = {1e-2: (80, 24), 1e-3: (80, 57)}
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
    """Information efficiency over packet size: NewReno's means and 95 % intervals, arithmetic, and what is printed."""
    with style():
        figure, (axes,) = blank(1, height=3.1)
        lengths = np.geomspace(CEILING_FROM, 1700, 200)
        ceiling = 1 - HEADER_BYTES / lengths
        axes.plot(lengths, 100 * ceiling, color="0.5", linestyle=":", label="header alone")
        for colour, rate in zip(COLOURS, RATES, strict=False):
            axes.plot(lengths, 100 * ceiling * (1 - rate) ** lengths, color=colour, linewidth=0.6, linestyle="--")
            _measured(axes, lab, "information_efficiency", rate, colour, 100, line="none")
            for length, percent in PRINTED_INFORMATION_EFFICIENCY.get(rate, []):
                axes.plot(length, percent, "s", color=colour, markerfacecolor="none", markersize=6)
            if rate in PRINTED_PROPOSAL:
                axes.plot(*PRINTED_PROPOSAL[rate], "D", color=colour, markerfacecolor="none", markersize=6)
        axes.plot([], [], "s", color="0.4", markerfacecolor="none", markersize=6, label="printed, NewReno")
        axes.plot([], [], "D", color="0.4", markerfacecolor="none", markersize=6, label="printed, proposal")
        axes.plot([], [], color="0.4", linewidth=0.6, linestyle="--", label="arithmetic")
        axes.set_ylim(0, 105)
        axes.set_ylabel(label("Information efficiency", "%"))
        axes.grid()
        _sizes(axes)
        legend_above(axes, 4)
        figure.suptitle("Payload that arrives, of all that is sent\n95 % intervals", x=0.02, ha="left")
        return figure


def figure_cwnd(lab: Lab) -> Figure:
    """Congestion window of NewReno with packets of 240 B at three error rates per byte, one run each."""
    payload = 200
    with style():
        figure, axes = blank(len(RATES), height=3.8)
        for panel, colour, rate in zip(axes, COLOURS, RATES, strict=False):
            result = lab.run(PATH, {SMSS: f"{payload} B", f"{ERROR}.rate": rate}, series=["cwnd_bytes"])
            rows = result.series("cwnd_bytes")
            # It is recorded when it changes; the last value holds to the end.
            times_s = np.append(rows["time_s"], result.simulated_s)
            packets = np.append(rows["cwnd_bytes"], rows["cwnd_bytes"][-1]) / payload
            panel.plot(times_s, packets, color=colour, drawstyle="steps-post", linewidth=0.6)
            panel.set_title(f"error rate {rate:g} per byte", loc="right", fontsize=7)
            panel.set_ylim(0, 30)
            panel.grid()
        axes[1].set_ylabel(label("Congestion window", "packets"))
        axes[-1].set_xlabel(label("Time", "s"))
        axes[-1].set_xlim(0, 200)
        figure.suptitle("NewReno, packets of 240 B, one run each", x=0.02, ha="left")
        return figure


def _measured(axes: Axes, lab: Lab, name: str, rate: float, colour: str, factor: float, line: str = "-") -> None:
    found = [
        Finding.mean(factor * column(transfers(lab, payload=payload, rate=rate, unit="byte"), name))
        for payload in PAYLOADS_BYTES
    ]
    intervals(axes, LENGTHS, found, marker="o", linestyle=line, color=colour, label=f"{rate:g}")


def _sizes(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xticks(LENGTHS, [str(length) for length in LENGTHS])
    axes.minorticks_off()
    axes.set_xlabel(label("Packet size", "B"))
