"""Measures remedies for slow pages behind a hub, and their costs, over the bundled scenario `geo-access`.

    python -m validation.hub          # some minutes on two cores
    python -m tools.docs neighbours   # after that: the tables of the guide "Find why pages are slow behind a hub"

The numbers go into `validation/data/hub.json`.
"""

from __future__ import annotations

from typing import Any

import bentpipe as bp
from validation import kept

REPLICATIONS = 10
METRICS = (
    "fct:pages-clear",
    "fct_p95:pages-clear",
    "grant_wait_mean:clear{n}.reverse",
    "unused:clear{n}.reverse",
)
TERMINALS = [*(f"clear{n}" for n in range(1, 31)), *(f"edge{n}" for n in range(1, 10)), "shower"]
FILTER = [{"kind": "ack-filter", "direction": "both"}]
PROXY: dict[str, Any] = {"node.gateway.middlebox": [{"kind": "split"}]}
FREE: dict[str, Any] = {"medium.up.free": "all"}
REMEDIES: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "`bbr3` at the hosts": {"tcp.cc": "bbr3"},
    "split proxy at the gateway": PROXY,
    "ACK filter at each terminal": {f"node.{name}.middlebox": FILTER for name in TERMINALS},
    '`free = "asking"`': {"medium.up.free": "asking"},
    '`constant = "64 kbit/s"`': {
        f"link.{name}.reverse.access.constant": "64 kbit/s" for name in ("clear", "edge", "shower")
    },
    '`free = "all"`': FREE,
    '`free = "all"`, and the proxy': {**PROXY, **FREE},
}
"""Changes of hosts, gateway, terminals and medium."""


def measured(found: bp.Comparison) -> dict[str, dict[str, list[float]]]:
    """Mean and interval of each metric, by case."""
    rows: dict[str, dict[str, list[float]]] = {}
    for case in found.names:
        for metric in METRICS:
            of = found.estimate(case, metric)
            rows.setdefault(case, {})[metric] = [of.value, of.low, of.high]
        print(case, rows[case], flush=True)
    return rows


def main() -> None:
    """Measure and keep the numbers."""
    ways = bp.compare("geo-access", metric=",".join(METRICS), replications=REPLICATIONS)
    remedies = bp.compare("geo-access", cases=REMEDIES, metric=",".join(METRICS), replications=REPLICATIONS)
    kept.save("hub", {"ways": measured(ways), "remedies": measured(remedies)})


if __name__ == "__main__":
    kept.begin(__doc__)
    main()
