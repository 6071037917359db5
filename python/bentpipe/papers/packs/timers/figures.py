"""Draws the figures of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bentpipe.papers import COLOURS, Finding, blank, intervals, label, legend_above, style

from . import runs
from .runs import CONTINUOUS, HALF, HIGH_RATE, LARGE, LOW_RATE, ONE, RATE_BPS, SENDERS, SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bentpipe.papers import Lab

NAMES = {LARGE: "64 kB", HALF: "3.3 kB", ONE: "1.46 kB", "6600 B": "6.6 kB"}
SENDER_NAMES = {"tcpmin": "TCPmin", "reno": "Reno"}
PRINTED_MS = {LARGE: [1], "6600 B": [1], HALF: [4], ONE: [26, 250]}
"""Table 2 of the paper: for a segment the single success, and the least granularity above which all succeed."""


def figure_1(lab: Lab) -> Figure:
    """One-way delay over three passes: half of SRTT less service times, beside the geometry."""
    sets = {"tcp.receive_buffer": ONE, "tcp.ack.every": 1, "flow.ftp.app.size": "250 MB", "duration": "2160 s"}
    times_s, srtt_s = runs.line(runs.trace(lab, {**sets, **CONTINUOUS}, ["srtt_s"]), "srtt_s")
    measured_s = (srtt_s[::400] - runs.DATA_S - runs.ACK_S) / 2
    evenly_s = np.arange(0.0, 2160.0, 2.0)
    with style():
        figure, (axes,) = blank(1, height=2.0)
        axes.plot(times_s[::400], 1e3 * measured_s, "o", color=COLOURS[5], markersize=2.5, label="(SRTT - service) / 2")
        for hops, colour, name in ((2, COLOURS[6], "two slant ranges"), (1, COLOURS[1], "one slant range")):
            delays_ms = 1e3 * runs.one_way_s(evenly_s, hops)
            axes.plot(evenly_s, delays_ms, "-" if hops == 2 else "--", color=colour, linewidth=0.8, label=name)
        axes.set_xlabel("Time (s)")
        axes.set_ylabel(label("One-way delay", "ms"))
        axes.set_ylim(0, 20)
        axes.set_xlim(0, 2160)
        axes.grid()
        legend_above(axes, 3)
        return figure


def figure_3(lab: Lab) -> Figure:
    """Buffer of 8760 B: SRTT, utilisation and queueing delay over a pass."""
    sets = {"tcp.receive_buffer": "8760 B", "duration": "719 s", "record.interval": "10 s"}
    result = runs.trace(lab, {**sets, **CONTINUOUS}, ["srtt_s", "rto_s", "carried_bps", "queue_bytes"])
    carried = result.series("carried_bps", link="pass.forward")
    queue = result.series("queue_bytes", link="pass.forward")
    with style():
        figure, panels = blank(3, height=3.9)
        evenly_s = np.arange(10.0, 719.0, 1.0)
        for name, colour, line, text in (("srtt_s", 0, "-", "SRTT"), ("rto_s", 1, "--", "RTO")):
            values_s = runs.held(*runs.line(result, name), evenly_s)
            panels[0].plot(evenly_s, 1e3 * values_s, line, color=COLOURS[colour], label=text)
        propagation_s = 2 * runs.one_way_s(evenly_s, 2)
        panels[0].plot(evenly_s, 1e3 * propagation_s, ":", color=COLOURS[6], label="propagation")
        panels[0].set_ylabel(label("Round trip", "ms"))
        legend_above(panels[0], 3)
        rows = carried.filter(pl.col("time_s") > 10)
        panels[1].plot(rows["time_s"], 100 * rows["carried_bps"] / RATE_BPS, color=COLOURS[0])
        panels[1].set_ylabel(label("Utilisation", "%"))
        waits_ms = 1e3 * 8 * queue["queue_bytes"].to_numpy() / RATE_BPS
        panels[2].plot(queue["time_s"], waits_ms, ".", color=COLOURS[0], markersize=3)
        panels[2].set_ylabel(label("Queueing delay", "ms"))
        panels[2].set_xlabel("Time (s); utilisation is a mean over 10 s")
        for axes in panels:
            axes.set_ylim(bottom=0)
            axes.grid()
        panels[2].set_xlim(0, 719)
        return figure


def _estimates(lab: Lab, rate: float) -> Figure:
    ticks_ms = runs.setting_1_ms(lab, HALF)
    sets = {
        "tcp.receive_buffer": HALF,
        "tcp.rto.granularity": f"{ticks_ms} ms",
        "duration": "719 s",
        "flow.ftp.app.size": "250 MB",
        "link.pass.error": {"kind": "bit", "rate": rate},
    }
    result = runs.trace(lab, sets, ["srtt_s", "rto_s"])
    with style():
        figure, (axes,) = blank(1, height=2.2)
        for name, colour, text in (("rto_s", 1, "RTO"), ("srtt_s", 0, "SRTT")):
            times_s, values_s = runs.line(result, name)
            inside = times_s > 5
            axes.plot(
                times_s[inside],
                1e3 * values_s[inside],
                color=COLOURS[colour],
                linewidth=0.5,
                drawstyle="steps-post",
                label=text,
                rasterized=True,
            )
        evenly_s = np.arange(0.0, 719.0, 1.0)
        # A pair of segments is acknowledged together.
        truth_s = 2 * runs.one_way_s(evenly_s, 2) + 2 * runs.DATA_S + runs.ACK_S
        axes.plot(evenly_s, 1e3 * truth_s, "--", color=COLOURS[6], label="round trip without errors")
        axes.set_xlabel("Time (s)")
        axes.set_ylabel(label("Estimate", "ms"))
        axes.set_xlim(0, 719)
        if rate == HIGH_RATE:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.grid()
        legend_above(axes, 3)
        exponent = round(np.log10(rate / 2))
        figure.suptitle(f"3.3 kB, clock of {ticks_ms} ms, bit error rate 2e{exponent}", x=0.02, ha="left")
        return figure


def figure_4(lab: Lab) -> Figure:
    """SRTT and RTO over a pass at 2e-8."""
    return _estimates(lab, LOW_RATE)


def figure_5(lab: Lab) -> Figure:
    """SRTT and RTO over a pass at 2e-5."""
    return _estimates(lab, HIGH_RATE)


def _response(lab: Lab, rate: float) -> Figure:
    with style():
        figure, (axes,) = blank(1, height=2.4)
        for place, buffer in enumerate((LARGE, HALF, ONE)):
            for cc, marker, line in zip(SENDERS, "so", ("--", "-"), strict=True):
                found = [
                    Finding.mean(runs.mean_normalised(lab, rate, cc=cc, buffer=buffer, settings=(setting,)))
                    for setting in SETTINGS
                ]
                # Slightly shifted, so that the intervals do not hide each other.
                shift = -0.12 if cc == "tcpmin" else 0.12
                intervals(
                    axes,
                    [number + shift for number in range(1, 13)],
                    found,
                    marker=marker,
                    linestyle=line,
                    color=COLOURS[place],
                    linewidth=0.6,
                    elinewidth=0.5,
                    capsize=1.5,
                    label=f"{SENDER_NAMES[cc]}, {NAMES[buffer]}",
                    markerfacecolor="white" if cc == "tcpmin" else COLOURS[place],
                )
        axes.set_xticks(range(1, 13))
        axes.set_xlabel("Experiment (setting of the timer)")
        axes.set_ylabel("Normalised response time")
        if rate == HIGH_RATE:
            axes.set_yscale("log")
            axes.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
            axes.minorticks_off()
        axes.grid()
        legend_above(axes, 3)
        return figure


def figure_6(lab: Lab) -> Figure:
    """Time of the file over that without errors at 2e-8, by experiment."""
    return _response(lab, LOW_RATE)


def figure_7(lab: Lab) -> Figure:
    """Time of the file over that without errors at 2e-5, by experiment."""
    return _response(lab, HIGH_RATE)


def table_2(lab: Lab) -> Figure:
    """Granularities without a needless retransmission in runs without errors (dark), and printed values (hollow)."""
    buffers = (LARGE, "6600 B", HALF, ONE)
    fine = runs.GRANULARITIES_MS[:60]
    with style():
        figure, (axes,) = blank(1, height=1.9)
        for place, buffer in enumerate(buffers):
            tried = runs.needless(lab, buffer, runs.GRANULARITIES_MS if buffer == ONE else fine)
            clean = [each for each, counts in tried.items() if not any(counts)]
            bad = [each for each, counts in tried.items() if any(counts)]
            axes.plot(bad, [place] * len(bad), "|", color=COLOURS[1], markersize=5, markeredgewidth=0.6)
            axes.plot(clean, [place] * len(clean), "|", color=COLOURS[0], markersize=12, markeredgewidth=0.9)
            axes.plot(
                PRINTED_MS[buffer],
                [place + 0.32] * len(PRINTED_MS[buffer]),
                "^",
                color=COLOURS[6],
                markersize=4,
                mfc="white",
            )
        axes.plot([], [], "|", color=COLOURS[0], markersize=8, label="none needless")
        axes.plot([], [], "|", color=COLOURS[1], markersize=5, label="some")
        axes.plot([], [], "^", color=COLOURS[6], mfc="white", markersize=4, label="smallest in the paper")
        axes.set_yticks(range(len(buffers)), [NAMES[each] for each in buffers])
        axes.set_ylim(len(buffers) - 0.4, -0.6)
        axes.set_xscale("log")
        axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200, 500], ["1", "2", "5", "10", "20", "50", "100", "200", "500"])
        axes.minorticks_off()
        axes.set_xlabel(label("Timer granularity", "ms"))
        axes.set_ylabel("Receive buffer")
        legend_above(axes, 3)
        return figure
