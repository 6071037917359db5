"""Writes the measured slots of a path for the key `slots` of a link: each run draws its slots from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import FitError
from bentpipe.fitting.draws import fill_rates, split_ways
from bentpipe.fitting.slots import SAMPLES_MIN

if TYPE_CHECKING:
    from bentpipe.fitting.draws import Sending
    from bentpipe.fitting.measured import Array, Probes
    from bentpipe.fitting.slots import Slots

SHARES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1.0)
"""Shares of the time of the waits of a row, as the key `wait` expects them."""
SLOW = 0.03
"""Share of the time with slow waits in slots over Starlink, in the median."""


def write_slots(
    probes: Probes, slots: Slots, sending_s: Sending, rates_bps: Array | None, lost_share: float
) -> tuple[str, float, float | None]:
    """Return the key `slots` of the forward direction, its least delay (s), and if rates differ its largest rate.

    `lost_share` is the part of the round trip's losses that is in this direction.

    Raises
    ------
    FitError
        The path has no period, or too few answers in each slot.
    """
    if slots.period_s is None or len(slots.edges_s) < 4:
        raise FitError(
            "the path has no slots of a known length\n  expected a longer measurement, or {period}", period=None
        )
    forward_s = split_ways(probes, sending_s)[0]
    answered = ~probes.is_lost
    least_s = float(forward_s[answered].min())
    rates = None if rates_bps is None else fill_rates(rates_bps)
    rows = []
    # The first and the last slot are parts.
    for slot, (begin, end) in enumerate(zip(slots.edges_s[1:-2], slots.edges_s[2:-1], strict=True), 1):
        inside = (probes.send_s >= begin) & (probes.send_s < end)
        delays = forward_s[inside & answered]
        if len(delays) < SAMPLES_MIN:
            continue
        base_s = float(delays.min())
        waits = ", ".join(f'"{1e3 * (each - base_s):.4g} ms"' for each in np.quantile(delays, SHARES))
        row = f'base = "{1e3 * (base_s - least_s):.4g} ms", wait = [{waits}], slow = {SLOW}'
        lost = float(probes.is_lost[inside].mean()) if probes.has_losses else 0.0
        row += f", loss = {1 - (1 - lost) ** lost_share:.4g}" if lost * lost_share > 0 else ""
        row += f", rate = {rates[slot] / rates.max():.4g}" if rates is not None else ""
        rows.append(f"    {{ {row} }},")
    if not rows:
        raise FitError(f"no slot has {SAMPLES_MIN} answers\n  expected more probes in each slot")
    text = "\n".join([f'slots = {{ every = "{slots.period_s:g} s", rows = [', *rows, "] }"])
    return text, least_s, None if rates is None else float(rates.max())
