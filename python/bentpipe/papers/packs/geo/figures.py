"""Draws the paper's figures and tables from measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe.papers import COLOURS, Finding, blank, intervals, label, style

from . import measures, printed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.papers import Lab

MARKERS = "osD^vP"
FROM_SYN = measures.Network()
FROM_DATA = measures.Network(handshake=False)
THREE = measures.Network(senders=3, handshake=False)


def figure_2(lab: Lab) -> Figure:
    """Transfer time over the initial window, one panel for each size; the paper's numbers are hollow."""
    with style():
        figure, panels = blank(3, height=4.6)
        for axes, size in zip(panels, printed.SIZES, strict=True):
            for place, (text, network) in enumerate(
                (("from the SYN", FROM_SYN), ("from the first segment", FROM_DATA))
            ):
                found = [
                    Finding.mean(measures.times_s(lab, network, size, window)) for window in printed.INITIAL_WINDOWS
                ]
                _line(axes, printed.INITIAL_WINDOWS, found, place, text)
            _hollow(axes, printed.INITIAL_WINDOWS, printed.TABLES_1_TO_3[size])
            _decorate(axes, f"{size} (s)")
        panels[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        panels[-1].set_xlabel(label("Initial window", "segments"))
        panels[-1].set_xticks(printed.INITIAL_WINDOWS)
        figure.suptitle("Transfer time over GEO, one sender", x=0.02, ha="left")
        return figure


def tables_4_to_6(lab: Lab) -> Figure:
    """Transfer time over the buffer at the router and in the socket; the paper's numbers are hollow."""
    kinds = (
        ("one sender", FROM_DATA),
        ("three, router's queue", THREE),
        ("three, socket", measures.Network(senders=3, handshake=False, buffer_is="receiver")),
    )
    with style():
        figure, panels = blank(3, height=4.8)
        for axes, size in zip(panels, printed.SIZES, strict=True):
            for place, (text, network) in enumerate(kinds):
                found = [Finding.mean(measures.times_s(lab, network, size, buffer_kb=kb)) for kb in printed.BUFFERS_KB]
                # Side by side, since they mostly coincide.
                _line(axes, [kb + 1.5 * (place - 1) for kb in printed.BUFFERS_KB], found, place, text)
            _hollow(axes, printed.BUFFERS_KB, printed.TABLES_4_TO_6[size])
            _decorate(axes, f"{size} (s)")
        panels[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        panels[-1].set_xlabel(label("Buffer", "kB"))
        panels[-1].set_xticks(printed.BUFFERS_KB)
        figure.suptitle("Transfer time over GEO, from the first segment", x=0.02, ha="left")
        return figure


def figure_3(lab: Lab) -> Figure:
    """Goodput of three greedy senders over the bit error rate."""
    with style():
        return _over_errors(lab, "goodput_bps", 1e6, label("Goodput", "Mbit/s"))


def figure_4(lab: Lab) -> Figure:
    """Utilisation of the satellite's link over the bit error rate."""
    with style():
        return _over_errors(lab, "utilisation", 0.01, label("Utilisation of the satellite's link", "%"))


def _over_errors(lab: Lab, column: str, divisor: float, text: str) -> Figure:
    flavours = measures.error_runs(lab)
    drawn = {cc: flavours.filter(pl.col("tcp.cc") == cc) for cc in measures.FLAVOURS}
    drawn["newreno, SNACK"] = measures.snack_runs(lab)
    drawn["SNACK, corruption"] = measures.snack_runs(lab, cc="scps", verdict="assume-corruption")
    figure, (axes,) = blank(1, height=2.6)
    for place, (name, runs) in enumerate(drawn.items()):
        found = [Finding.mean(runs.filter(pl.col("rate") == rate)[column] / divisor) for rate in measures.RATES]
        # Side by side, since they mostly coincide.
        _line(axes, [rate * 1.08 ** (place - 2.5) for rate in measures.RATES], found, place, name)
    axes.set_xscale("log")
    axes.set_xticks(measures.RATES, [f"{rate:.0e}".replace("e-0", "e-") for rate in measures.RATES])
    axes.minorticks_off()
    axes.set_xlabel(label("Bit error rate", "per bit of data packets"))
    axes.set_ylim(bottom=0)
    axes.set_ylabel(text)
    axes.grid()
    axes.legend(loc="upper right")
    figure.suptitle("Three greedy senders over GEO, 10 Mbit/s", x=0.02, ha="left")
    return figure


def buffer_and_delay(lab: Lab) -> Figure:
    """Goodput and mean wait at the router of three greedy senders over the router's buffer."""
    buffers = [32, 160, measures.BUFFER_OF_BDP_KB, 2 * measures.BUFFER_OF_BDP_KB, 4 * measures.BUFFER_OF_BDP_KB]
    kinds = (("slow start to 32 segments", "32 segments"), ("slow start without limit", "unlimited"))
    with style():
        figure, (rate, wait) = blank(2, height=3.6)
        for place, (text, ssthresh) in enumerate(kinds):
            runs = measures.greedy(lab, measures.Network(senders=3, ssthresh=ssthresh), buffers)
            for axes, column, divisor in ((rate, "goodput_bps", 1e6), (wait, "wait_s", 1e-3)):
                found = [Finding.mean(runs.filter(pl.col("buffer_kb") == kb)[column] / divisor) for kb in buffers]
                _line(axes, buffers, found, place, text)
        _decorate(rate, label("Goodput", "Mbit/s"))
        _decorate(wait, label("Mean wait at the router", "ms"))
        rate.legend(loc="lower right")
        wait.set_xscale("log")
        wait.set_xticks(buffers, [str(kb) for kb in buffers])
        wait.minorticks_off()
        wait.set_xlabel(label("Router's buffer, 675 kB being the BDP", "kB"))
        figure.suptitle("Three greedy senders over GEO, 10 Mbit/s", x=0.02, ha="left")
        return figure


def _line(axes: Axes, xs: Sequence[float], found: Iterable[Finding], place: int, text: str) -> None:
    intervals(axes, xs, found, color=COLOURS[place], marker=MARKERS[place], linewidth=0.8, label=text)


def _hollow(axes: Axes, xs: Sequence[float], values: Sequence[float]) -> None:
    """The paper's numbers."""
    hollow = {"color": "black", "markerfacecolor": "none", "markersize": 5, "zorder": 5, "clip_on": False}
    axes.plot(xs, values, "s", label="as printed", **hollow)  # type: ignore[arg-type]


def _decorate(axes: Axes, text: str) -> None:
    axes.set_ylabel(text)
    axes.set_ylim(bottom=0)
    axes.grid()
