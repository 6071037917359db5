"""Words for the events and changes that an explanation lists, the numbers of profiles, and the round trip of a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import _core

if TYPE_CHECKING:
    from bentpipe.experiment.single.run_result import RunResult

CHANGES = {"up": "comes back", "down": "is taken away"}
"""Words of each change of a link."""
EVENTS = {
    "established": ("connection", "the connection is open"),
    "fast_retransmit": ("recovery", "recovery begins"),
    "timeout": ("timeout", "the retransmission timer expires"),
    "recovery_exit": ("recovery-end", "recovery ends"),
    "slow_start_exit": ("slow-start-end", "slow start ends"),
    "undo": ("undo", "the sender detects a spurious loss, and restores its state"),
    "reduction": ("reduction", "the sender treats the loss as congestion"),
    "no_reduction": (
        "no-reduction",
        "the sender treats the loss as a link error, and does not reduce its window",
    ),
    "ecn_reduction": ("ecn-reduction", "ECN marks reduce the congestion window"),
    "zero_window": ("wait", "the receiver's window closes"),
    "completed": ("connection", "all data are acknowledged"),
    "transfer": ("transfer", "a transfer is complete"),
    "aborted": ("connection", "the connection gives up"),
    "subflow_joined": ("subflow", "the path is established"),
    "subflow_failed": ("subflow", "the path does not deliver: it gets no new data"),
    "subflow_restored": ("subflow", "the path delivers again"),
    "subflow_reset": ("subflow", "the path is given up: its connection is reset"),
    "penalised": ("reduction", "the window of the path is halved, because its data blocked the receive buffer"),
}
"""Kind and words of each event."""


def read_number(value: Any) -> float:
    """Read a value of a profile as a number: a quantity in its basic unit (s, B, bit/s), a probability, or a number."""
    found = _core.quantity(value) if isinstance(value, str) else (float(value), "")
    return found[0] if found else float("nan")


def read_seconds(text: str) -> float:
    """Read a time of a profile, in seconds."""
    found = _core.quantity(text)
    assert found is not None, "the scenario is valid"
    return found[0]


def median_rtt_s(result: RunResult, flow: str) -> float:
    """Return the median round trip of a flow or subflow; 0 if it has none."""
    table = result.subflows if flow in result.scenario.subflow_names else result.flows
    return table.row(by_predicate=pl.col("flow") == flow, named=True)["rtt_p50_s"] or 0.0
