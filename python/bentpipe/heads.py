"""Heads of columns. A column has the same head in terminals, notebooks, pages and figures."""

from __future__ import annotations

SOFT = "\u00ad"
"""Place where a terminal may break a head that has no unit below it."""

_HEADS = {
    # Flows.
    "flow": "flow",
    "cc": "cc",
    "outcome": "outcome",
    "goodput_bps": "goodput",
    "completion_s": "completion",
    "completion_acked_s": "acked",
    "retransmissions": f"retrans{SOFT}missions",
    "timeouts": f"time{SOFT}outs",
    "rtt_p50_s": "RTT p50",
    "rtt_p95_s": "RTT p95",
    # Reactions to losses.
    "congestion_losses": "congestion",
    "link_losses": "link errors",
    "reductions": "reductions",
    "error_reductions": "needless",
    "spurious_reductions": "spurious",
    "congestion_taken_for_errors": "missed",
    # Transfers.
    "transfers": "transfers",
    "unfinished": "unfinished",
    "failed": "failed",
    "duration_mean_s": "mean",
    "duration_p50_s": "p50",
    "duration_p95_s": "p95",
    "duration_p99_s": "p99",
    "slowdown_mean": "slowdown",
    # Datagrams.
    "sent_packets": "sent",
    "loss_pct": "lost",
    "delay_min_s": "delay min",
    "delay_p50_s": "delay p50",
    "delay_p95_s": "delay p95",
    "delay_p99_s": "delay p99",
    "jitter_s": "jitter",
    "file_complete_s": "file",
    "file_lacks_packets": "lacks",
    # Subflows of flows over several paths.
    "delivered_share": "share",
    "joins": "joins",
    "failures": "failures",
    # Links and media.
    "link": "link",
    "carried_bps": "carried",
    "utilisation": "utilised",
    "queue_p50_s": "queue p50",
    "queue_p95_s": "queue p95",
    "queue_max_bytes": "queue max",
    "corrupted_packets": "corrupted",
    "dropped_packets": "dropped",
    "grant_wait_mean_s": "wait mean",
    "grant_wait_p95_s": "wait p95",
    "asking_mean_s": "asking",
    "behind_mean_s": "behind",
    "turn_mean_s": "turn",
    "sending_mean_s": "sending",
    "air_mean_s": "air",
    "granted_bps": "granted",
    "unused_share": "unused",
    # Lost packets.
    "where": "where",
    "cause": "cause",
    "packets": "packets",
    "bytes": "bytes",
    # Connections of bentpipe's TCP and QUIC.
    "acked_bytes": "acked",
    "received_bytes": "received",
    "handshake_s": "handshake",
    "done_s": "done",
    # Names of compared things.
    "case": "case",
    "congestion control": "cc",
}


def head(name: str, *, is_soft: bool = False) -> str:
    """Return the head of a column of a table, or of a kind of compared things.

    Parameters
    ----------
    name : str
        Name of the column.
    is_soft : bool
        Keep the soft hyphens, where a terminal may break the head.

    >>> head("retransmissions"), head("congestion control")
    ('retransmissions', 'cc')
    """
    found = _HEADS[name]
    return found if is_soft else found.replace(SOFT, "")
