"""Draws the figures of BEEN: three schemes on the fixed Iridium path, beside the printed values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.papers import COLOURS, Finding, blank, intervals, label, legend_above, style

from .formulas import HEADER_BYTES, PAYLOADS_BYTES, RATES
from .measures import transfers
from .proposal import DURATION_S, WINDOW_PACKETS, one_size, sample_series, select_flows, trace, windows_packets, world
from .runs import ERROR, HOP_RTT_S, SATPEP, SCHEMES, column, gateways

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bentpipe.papers import Lab

    from .runs import Sets

LENGTHS = [payload + HEADER_BYTES for payload in PAYLOADS_BYTES]
PRINTED_TCP_EFFICIENCY = {1e-2: [(90, 50)], 1e-3: [(1540, 50), (140, 80), (90, 90)]}
"""Section 2.2 and Sections 5.3.1 and 5.3.2, NewReno: packet in B, in %."""
PRINTED = {
    ("tcp_efficiency_pct", 1e-2): [("NewReno", 90, 50)],
    ("tcp_efficiency_pct", 1e-3): [("NewReno", 90, 90), ("SaTPEP", 90, 90)],
    ("information_efficiency", 1e-2): [("NewReno", 90, 18)],
    ("information_efficiency", 1e-3): [("NewReno", 240, 65), ("SaTPEP", 240, 65)],
}
"""Sections 5.3.1 and 5.3.2: scheme, packet in B, in %. The text prints no value of another metric."""
PRINTED_PROPOSAL = {
    ("tcp_efficiency_pct", 1e-2): 50,
    ("tcp_efficiency_pct", 1e-3): 90,
    ("information_efficiency", 1e-2): 24,
    ("information_efficiency", 1e-3): 57,
}
"""Values in % that the text prints for BEEN with all sizes."""
COMPARED = {"NewReno": "o", "SaTPEP": "s", "BEEN": "D"}
"""The three schemes and their markers."""
WORLDS = ("byte", "bit")
METRICS = (
    ("throughput_bps", 1e-3, "Throughput", "kbit/s"),
    ("goodput_bps", 1e-3, "Goodput", "kbit/s"),
    ("delivered_bytes", 1e-3, "Delivered", "kB"),
    ("tcp_efficiency_pct", 1, "TCP efficiency", "%"),
    ("information_efficiency", 100, "Information eff.", "%"),
)
"""Section 5.2: column, factor, name and unit."""
TRACED_PAYLOAD = 200
"""Of the windows: packets of 240 B at most."""
WINDOW_MEAN_S = 2
"""Windows are drawn as means over this time."""


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
                _draw_measured(panel, lab, name, rate, colour, 1 / divisor)
            panel.set_ylabel(label(what, unit))
            panel.grid()
        for colour, rate in zip(COLOURS, RATES, strict=False):
            for length, percent in PRINTED_TCP_EFFICIENCY.get(rate, []):
                axes[0].plot(length, percent, "s", color=colour, markerfacecolor="none", markersize=6)
        axes[0].plot([], [], "s", color="0.4", markerfacecolor="none", markersize=6, label="printed")
        axes[0].set_ylim(0, 105)
        for panel in axes[1:]:
            # The value is zero if nothing arrives.
            panel.set_yscale("symlog", linthresh=1 if panel is axes[3] else 10)
            panel.set_ylim(0, 1e4 if panel is axes[3] else 1e6)
        _sizes(axes[-1])
        legend_above(axes[0], 4)
        figure.suptitle("NewReno by packet size and error rate per byte\n95 % intervals", x=0.02, ha="left")
        return figure


def figure_4(lab: Lab) -> Figure:
    """Figure 4: five metrics and the windows of three schemes at an error rate of 0.01, per byte and per bit."""
    return _make_figure(lab, 1e-2)


def figure_5(lab: Lab) -> Figure:
    """Figure 5: these metrics and windows at 0.001."""
    return _make_figure(lab, 1e-3)


def figure_6(lab: Lab) -> Figure:
    """Figure 6: these metrics and windows at 0.0001."""
    return _make_figure(lab, 1e-4)


def _make_figure(lab: Lab, rate: float) -> Figure:
    with style():
        figure, _ = blank(1, height=9.0)
        figure.clear()
        figure.set_size_inches(7.0, 9.0)
        axes = figure.subplots(len(METRICS) + 1, len(WORLDS), squeeze=False)
        for column_axes, unit in zip(axes.T, WORLDS, strict=True):
            for panel, metric in zip(column_axes, METRICS, strict=False):
                _metric(panel, lab, rate, unit, metric)
            _windows(column_axes[-1], lab, rate, unit)
            column_axes[0].set_title(f"{rate:g} per {unit}")
            _sizes(column_axes[len(METRICS) - 1])
        for panel, (_, _, what, unit) in zip(axes[:, 0], METRICS, strict=False):
            panel.set_ylabel(label(what, unit))
        axes[-1, 0].set_ylabel(label("Window, 240 B", "packets"))
        figure.align_ylabels(axes[:, 0])
        if any(at == rate for _, at in PRINTED):
            axes[0, 0].plot([], [], "s", color="0.4", markerfacecolor="none", markersize=6, label="printed")
            axes[0, 0].plot([], [], color=COLOURS[2], linestyle=":", label="printed, BEEN")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=5)
        figure.suptitle(f"Error rate {rate:g}, 95 % intervals", x=0.02, ha="left")
        return figure


def _metric(panel: Axes, lab: Lab, rate: float, unit: str, metric: tuple[str, float, str, str]) -> None:
    """A metric over the initial packet size, with the values that the text prints."""
    name, factor, _, measured_in = metric
    for colour, (scheme, marker) in zip(COLOURS, COMPARED.items(), strict=False):
        runs = [select_flows(lab, scheme, payload, world(rate=rate, unit=unit)) for payload in PAYLOADS_BYTES]
        found = [Finding.mean(factor * column(flows, name)) for flows in runs]
        intervals(panel, LENGTHS, found, marker=marker, markersize=3, color=colour, label=scheme)
        for printed, length, percent in PRINTED.get((name, rate), []):
            if printed == scheme:
                # NewReno and SaTPEP share their printed values.
                size = 6 if scheme == "NewReno" else 9
                panel.plot(length, percent, "s", color=colour, markerfacecolor="none", markersize=size)
    if (name, rate) in PRINTED_PROPOSAL:
        panel.axhline(PRINTED_PROPOSAL[name, rate], color=COLOURS[2], linestyle=":", linewidth=1)
    _sizes(panel)
    panel.set_xlabel("")
    panel.tick_params(labelbottom=name == METRICS[-1][0])
    if measured_in == "%":
        panel.set_ylim(0, 105)
    else:
        # The value is zero if nothing arrives.
        panel.set_yscale("symlog", linthresh=0.1)
        panel.set_ylim(0, 1e5 if name == "delivered_bytes" else 1e4)
        panel.set_yticks([0, 1, 100, 10000], ["0", "1", "100", "10000"])
        panel.minorticks_off()
    panel.grid()


def _windows(panel: Axes, lab: Lab, rate: float, unit: str) -> None:
    """The windows of the three schemes over time, one run each. SaTPEP's: packets per round trip of its gateways."""
    for colour, scheme in zip(COLOURS, COMPARED, strict=False):
        times_s, windows = _window(lab, rate, unit, scheme)
        panel.plot(times_s, windows, color=colour, linewidth=0.9)
    panel.set_xlim(0, 200)
    panel.set_ylim(0, None)
    panel.set_xlabel(label("Time", "s"))
    panel.grid()


def _window(lab: Lab, rate: float, unit: str, scheme: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    sets = world(rate=rate, unit=unit)
    if scheme in SATPEP:
        error: Sets = {key: value for key, value in sets.items() if key.startswith(ERROR)}
        more = error | gateways(scheme, TRACED_PAYLOAD) | {"record.interval": f"{WINDOW_MEAN_S:g} s"}
        rows = lab.run(SCHEMES[scheme], more, series=["carried_bps"]).series("carried_bps", link="up.forward")
        # After the last packet there are no rows.
        packets = np.zeros(round(DURATION_S / WINDOW_MEAN_S))
        packets[: len(rows)] = rows["carried_bps"].to_numpy() * HOP_RTT_S / 8 / (TRACED_PAYLOAD + HEADER_BYTES)
        return WINDOW_MEAN_S * np.arange(1.0, len(packets) + 1), packets
    result = trace(lab, TRACED_PAYLOAD, sets, scheme=scheme)
    times_s = np.arange(0.05, result.simulated_s, 0.1)
    means = windows_packets(result, times_s, TRACED_PAYLOAD).reshape(-1, round(WINDOW_MEAN_S / 0.1)).mean(axis=1)
    return WINDOW_MEAN_S * np.arange(1.0, len(means) + 1), means


def figure_growth(lab: Lab) -> Figure:
    """BEEN's window and its data in flight in the first seconds: growth at 0.0001 per byte, inflation at 0.001."""
    with style():
        figure, axes = blank(2, height=4.2)
        times_s = np.arange(0, 4, 0.002)
        for panel, rate in zip(axes, (1e-4, 1e-3), strict=True):
            # Packets of one size: data in flight and windows are counted in the same unit.
            result = trace(lab, TRACED_PAYLOAD, one_size(world(rate=rate)) | {"duration": "20 s"})
            flight = sample_series(result, "flight_size_bytes", times_s, "right") / TRACED_PAYLOAD
            windows = windows_packets(result, times_s, TRACED_PAYLOAD)
            panel.plot(times_s, flight, color="0.6", linewidth=0.8, label="data in flight")
            panel.plot(times_s, windows, color=COLOURS[2], label="congestion window")
            panel.axhline(WINDOW_PACKETS, color="0.3", linestyle=":", linewidth=0.8, label="ssthresh, receive window")
            text = f"error rate {rate:g} per byte"
            panel.text(0.99, 0.03, text, transform=panel.transAxes, ha="right", va="bottom", fontsize=7)
            panel.set_ylim(0, None)
            panel.set_ylabel(label("BEEN", "packets"))
            panel.grid()
        axes[-1].set_xlim(0, 4)
        axes[-1].set_xlabel(label("Time", "s"))
        legend_above(axes[0], 1)
        figure.suptitle("Packets of 240 B, one run each", x=0.02, ha="left")
        return figure


def _draw_measured(axes: Axes, lab: Lab, name: str, rate: float, colour: str, factor: float) -> None:
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
