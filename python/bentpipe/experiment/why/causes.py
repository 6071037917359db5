"""Words for the causes of losses."""

from __future__ import annotations

CAUSES = {
    "bit-error": "bits in error",
    "queue-overflow": "its queue was full",
    "early-drop": "its queue management dropped early",
    "forced-drop": "its queue was beyond the upper threshold",
    "outage": "it was down",
    "handover": "it was removed",
    "route-missing": "there was no route on",
    "too-big": "the next link takes no packet of that size",
    "no-listener": "the host did not listen",
    "policy": "a middlebox of the node dropped it",
    "link-loss": "errors of the link",
    "access-collision": "its burst of random access collided with others",
    "acm-outage": "the signal was below the threshold of its burst",
    "no-waveform": "its queue was full, and its signal was below every waveform",
    "policed": "its token bucket had too few tokens",
    "push-out": "packets of a higher class took the room in its queue",
}
CONGESTION = ("queue-overflow", "early-drop", "forced-drop", "push-out", "policed", "policy")
"""Causes of congestion, as in the columns of loss verdicts. All other causes belong to links."""
