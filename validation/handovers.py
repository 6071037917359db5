"""Puts packets through `handovers.toml` with several kinds of handover, and draws their delays.

    python -m validation.handovers         # a second
    python -m tools.docs handovers         # after that: the table of the page "Handovers"

The numbers go into `validation/data/handovers.json`, the figure into `docs/concepts`.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe.plot.style import style
from validation import kept

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
FIGURE = HERE.parent / "docs" / "concepts" / "handovers.png"
EVERY_S = 0.002
"""Time between packets of 228 B: half of the links' rate."""
PAYLOAD = 200
FROM_S, TO_S = 0.8, 1.3


def handover(**how: str) -> dict[str, object]:
    """A line of the timeline at 1 s: the way through one satellite becomes that through the other."""
    policies = {key: how.pop(key) for key in ("waiting", "in_flight") if key in how}
    return {"at": [{"time": "1 s", **policies, "handover": [{"from": "sat-a", "to": "sat-b", **how}]}]}


def rescue(forwarding: str) -> dict[str, object]:
    """The gateway leaves the old satellite immediately, which knows a route through the new one."""
    routes = [
        {"flow": "call", "route": ["user", "sat-b", "gateway"], "reverse_route": ["gateway", "sat-b", "user"]},
        {"flow": "call", "route": ["sat-a", "sat-b", "gateway"]},
    ]
    down = {"down": ["a-gateway"], "waiting": "rerouted"}
    return {"forwarding": forwarding, "at": [{"time": "1 s", "install": routes, **down}]}


CASES: dict[str, dict[str, object]] = {
    "make before break, 60 ms": handover(make_before_break="60 ms"),
    "make before break, 20 ms": handover(make_before_break="20 ms"),
    "at once": handover(),
    "at once, in flight delivered": handover(in_flight="delivered"),
    "break before make, 80 ms, lost": handover(break_before_make="80 ms"),
    "break before make, 80 ms, rerouted": handover(break_before_make="80 ms", waiting="rerouted"),
    "downlink only, hop by hop": rescue("hop-by-hop"),
    "downlink only, source route": rescue("source-route"),
}
DRAWN = ["make before break, 60 ms", "break before make, 80 ms, rerouted", "downlink only, hop by hop"]


@dataclass(frozen=True)
class Outcome:
    """Packets of a case: (entered, delay) of arrived ones, in order, and (entered, cause) of lost ones."""

    arrived: list[tuple[float, float]]
    lost: list[tuple[float, str]]

    @property
    def reordered(self) -> int:
        """Number of reordered packets: a packet that entered later arrived first (RFC 4737 §3)."""
        latest, count = -1.0, 0
        for entered, _ in self.arrived:
            count += entered < latest
            latest = max(latest, entered)
        return count

    @property
    def gap_s(self) -> float:
        """Longest time without an arrival."""
        at = [entered + delay for entered, delay in self.arrived]
        return max(later - earlier for earlier, later in itertools.pairwise(at))


def run(case: dict[str, object]) -> Outcome:
    """Puts packets through one kind of handover."""
    scenario = {**tomllib.loads((HERE / "handovers.toml").read_text()), **case}
    network = bp.Network(scenario, seed=1)
    near, _ = network.ports("call")
    for n in range(round((TO_S - FROM_S) / EVERY_S)):
        network.inject(FROM_S + n * EVERY_S, near, size=PAYLOAD + 28)
    network.run_until(2)
    arrived = [(packet.entered_s, packet.at_s - packet.entered_s) for packet in network.drain()]
    lost = [(packet.entered_s, packet.cause) for packet in network.drain_lost()]
    return Outcome(arrived, lost)


def draw(outcomes: dict[str, Outcome]) -> Figure:
    """One-way delays by the time of entering. Crosses are lost packets."""
    figure = Figure(figsize=(7, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(DRAWN), 1, sharex=True, sharey=True)
    for axis, name in zip(axes, DRAWN, strict=True):
        outcome = outcomes[name]
        axis.plot(*zip(*[(t, 1000 * d) for t, d in outcome.arrived], strict=True), ".", markersize=3, label="arrived")
        if outcome.lost:
            axis.plot([t for t, _ in outcome.lost], [5] * len(outcome.lost), "x", markersize=4, label="lost")
        axis.axvline(1, color="0.6", linewidth=0.8)
        axis.set_title(name, fontsize=9, loc="left")
        axis.set_ylim(0, 145)
        axis.legend(loc="upper right", fontsize=8, frameon=False)
    axes[1].set_ylabel("one-way delay (ms)")
    axes[-1].set_xlabel("when the packet entered (s)")
    axes[-1].set_xlim(0.9, 1.2)
    return figure


def numbers(outcome: Outcome) -> dict[str, Any]:
    """The row of a case in the table."""
    return {
        "arrived": len(outcome.arrived),
        "lost": dict(sorted(Counter(cause for _, cause in outcome.lost).items())),
        "reordered": outcome.reordered,
        "gap_ms": round(1000 * outcome.gap_s),
    }


def main() -> None:
    """Keep the numbers and draw the figure."""
    outcomes = {name: run(case) for name, case in CASES.items()}
    kept.save("handovers", {name: numbers(outcome) for name, outcome in outcomes.items()})
    with style():
        draw(outcomes).savefig(FIGURE, dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    kept.begin(__doc__)
    main()
