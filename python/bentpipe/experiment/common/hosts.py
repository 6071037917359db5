"""Names of the hosts of an experiment."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from bentpipe.formatting import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SENDERS_MAX = 6
"""Maximum number of congestion controls of a host that are named."""


def name_hosts(found: Iterable[Sequence[tuple[str, Sequence[str]]]]) -> str:
    """Name the hosts of scenarios, each given as `Scenario.hosts`: `Linux 6, cubic, bbr3; RFC defaults, newreno`."""
    senders: dict[str, dict[str, None]] = {}
    for host, names in chain.from_iterable(found):
        senders.setdefault(host, {}).update(dict.fromkeys(names))
    return "; ".join(", ".join([host, *_order_names(list(names))]) for host, names in senders.items())


def _order_names(names: Sequence[str]) -> Sequence[str]:
    return names if len(names) <= SENDERS_MAX else [count(len(names), "congestion control")]
