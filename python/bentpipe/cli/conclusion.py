"""The last lines of a run: one sentence on what decided it, and one next command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import formatting
from bentpipe.catalog import QUIC_CC, cc_keys

if TYPE_CHECKING:
    from bentpipe.experiment.single.run_result import RunResult

LIMITS = {
    "start_up_s": "slow start",
    "cwnd_limited_s": "its congestion window",
    "rwnd_limited_s": "the receive window",
    "send_buffer_limited_s": "its send buffer",
    "app_limited_s": "an idle application",
    "recovery_s": "recovery from losses",
    "timeout_s": "waits for the retransmission timer",
    "outage_s": "outages",
}
"""Columns of `flows` with the words for them."""
BUFFERS = ("rwnd_limited_s", "send_buffer_limited_s")
COMPARED = ("cwnd_limited_s", "start_up_s", "recovery_s", "timeout_s")
BUSY = 0.9
"""Use of a link above which it is full."""


def conclude(result: RunResult) -> list[str]:
    """Write the sentence, and the command where one can repeat the run."""
    sentence, verb, options = _judge(result)
    command = _write_command(result, verb, options)
    return [sentence, f"Next: {command}"] if command else [sentence]


def _judge(result: RunResult) -> tuple[str, str, list[str]]:
    """Return the sentence, and the verb of the next command with its options."""
    flows = result.rows("flows")
    if not any(row["goodput_bps"] for row in flows):
        return "No data arrived: check rates, delays and losses of the path.", "check", []
    timed = [row for row in flows if row["start_up_s"] is not None and row["goodput_bps"]]
    if not timed:
        return _judge_arrivals(result), "why", []
    row = max(timed, key=lambda row: row["delivered_bytes"] or 0)
    parts = {name: row[name] or 0.0 for name in LIMITS}
    name = max(parts, key=lambda each: parts[each])
    share = 100 * parts[name] / (sum(parts.values()) or 1)
    full = max(result.rows("links"), key=lambda link: link["utilisation"] or 0.0)
    busy = full["utilisation"] or 0.0
    link = f", with {full['link']} used to {100 * busy:.0f} %" if busy >= BUSY else ""
    rate = formatting.quantity(row["goodput_bps"], "bit/s")
    sentence = f"{row['flow']} got {rate}, limited by {LIMITS[name]} for {share:.0f} % of the time{link}."
    if name in BUFFERS:
        return sentence, "tune", []
    is_compared = name in COMPARED and busy < BUSY
    return (sentence, "compare", ["--cc", "cubic,bbr3"]) if is_compared else (sentence, "why", [])


def _judge_arrivals(result: RunResult) -> str:
    """Return the sentence where no flow reports what limits it: of datagrams, and of streams over QUIC."""
    datagrams, flows = result.rows("datagrams"), result.rows("flows")
    lost = [row for row in datagrams if (row["loss_pct"] or 0) > 0]
    if lost:
        worst = max(lost, key=lambda row: row["loss_pct"])
        return f"{worst['flow']} lost {worst['loss_pct']:.3g} % of its packets."
    if datagrams:
        return "All datagrams arrived."
    if all(row["outcome"] == "completed" for row in flows):
        return "All data arrived."
    row = max(flows, key=lambda row: row["goodput_bps"] or 0.0)
    return f"{row['flow']} got {formatting.quantity(row['goodput_bps'], 'bit/s')}."


def _write_command(result: RunResult, verb: str, options: list[str]) -> str:
    """Write a command for the same scenario; empty if it was given in Python."""
    import shlex

    from bentpipe.experiment.common.commands import file_word, given_in_python, has_file, spelled_arguments
    from bentpipe.experiment.common.provenance import collect_facts

    facts: dict[str, Any] = collect_facts(result.scenario)
    if not has_file(facts) or given_in_python(facts) or result.scenario.case:
        return ""
    given = spelled_arguments(facts)
    # Recorded series are of this run only, and a comparison sets the congestion control itself.
    left_out = ("record.series", *cc_keys(), QUIC_CC) if verb == "compare" else ("record.series",)
    pairs = list(zip(given[::2], given[1::2], strict=False))
    given = [word for pair in pairs if not pair[1].startswith(left_out) for word in pair]
    return shlex.join(["bentpipe", verb, file_word(facts["source"]), *options, *given])
