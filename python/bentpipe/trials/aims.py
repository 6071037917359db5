"""The aim of each kind of flow: its use, and the metric that decides whether a change helps.

Pages and other transfers are judged by their time, including unfinished transfers. Files are judged by their completion
time, films by their stalls, and calls by the E-model of delay and loss. Streams without an end are judged by goodput,
all other datagrams by delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import _core

if TYPE_CHECKING:
    from collections.abc import Mapping

DATAGRAMS = ("cbr", "poisson", "on-off", "probe", "port")
"""Applications without a congestion control."""
CALL_BPS = 2e6
"""Largest rate of a call, in bit/s: speech, or a video call. A steady stream above it is a film."""
CALL_INTERVAL_S = 0.1
"""Largest interval between packets of a call, in seconds. Slower streams are readings of sensors and such."""
FILM_BUFFER_S = 2.0
"""Seconds of a film in its buffer when it plays."""


@dataclass(frozen=True)
class Aim:
    """The aim of a kind of flow."""

    what: str
    """`page`, `call`, `film`, `file`, `transfer`, `stream` or `packet`."""
    metric: str
    """Metric of the judgement, for `bentpipe compare` and `bentpipe tune`. For a film, it is the delivered share."""
    unit: str
    is_more_better: bool
    rate_bps: float = 0.0
    """Rate of a film."""


def find_aim(name: str, flow: Mapping[str, Any]) -> Aim:
    """Return the aim of a kind of flow, from its resolved keys.

    >>> find_aim("web", {"app": {"kind": "page"}}).metric
    'fct:web'
    >>> find_aim("talk", {"app": {"kind": "cbr", "rate": "64 kbit/s", "size": "160 B"}}).metric
    'mos:talk'
    """
    app = flow.get("app", "greedy")
    keys = app if isinstance(app, dict) else {"kind": app}
    kind = str(keys["kind"])
    if kind in DATAGRAMS:
        return _find_datagram_aim(name, kind, keys)
    if kind == "greedy":
        # From the first packet on, as `why` prints it.
        return Aim("stream", f"goodput_active:{name}", "bit/s", True)
    if kind == "file":
        return Aim("file", f"completion_rx:{name}", "s", False)
    return Aim("page" if kind == "page" else "transfer", f"fct:{name}", "s", False)


def _find_datagram_aim(name: str, kind: str, keys: Mapping[str, Any]) -> Aim:
    rate_bps, size = _number(keys.get("peak", keys.get("rate"))), _number(keys.get("size"))
    if kind in ("cbr", "on-off") and rate_bps > CALL_BPS:
        return Aim("film", f"packet_delivery:{name}", "1", True, rate_bps)
    is_call = kind in ("cbr", "on-off") and 0 < 8 * size <= CALL_INTERVAL_S * rate_bps
    return Aim("call", f"mos:{name}", "1", True) if is_call else Aim("packet", f"delay_mean:{name}", "s", False)


def _number(text: Any) -> float:
    """Return a quantity in its basic unit; 0 for a profile and for a random quantity."""
    found = _core.quantity(text) if isinstance(text, str) else None
    return found[0] if found else 0.0
