"""Measures transfers and pages over `proxies.toml`, with proxies and without.

    python -m validation.proxies         # a minute
    python -m tools.docs proxies         # after that: the tables of the page "Proxies"

All times are until the last byte has arrived, not until it was acknowledged: a proxy acknowledges early. They go into
`validation/data/proxies.json`.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import bentpipe as bp
from validation import kept

HERE = Path(__file__).resolve().parent
SEEDS = range(1, 3)

HYBLA = {"kind": "hybla", "needs_ssthresh": False}
"""Accelerates from the first ACK on: the buffers of the proxy bound it."""
TUNED = {"initial_window": "200 segments", "cc": HYBLA, "pacing": "window"}
PROXIES: dict[str, dict[str, list[dict[str, object]]]] = {
    "none": {},
    "split": {"gateway": [{"kind": "split"}]},
    "split, `hybla` and 200 segments on the hop": {"gateway": [{"kind": "split", "listener": TUNED}]},
    "spoof": {"gateway": [{"kind": "spoof", "window": "3.25 MB"}]},
    "satpep": {
        "gateway": [{"kind": "satpep", "rate": "50 Mbit/s"}],
        "terminal": [{"kind": "satpep", "rate": "5 Mbit/s"}],
    },
}
PATHS: dict[str, dict[str, object]] = {
    "clear": {},
    "fades: 1 % of the packets to the user are hit, and nothing passes from 1.2 s to 2.2 s": {
        "link.sat.forward.error": {"kind": "packet", "rate": 1e-2},
        "link.sat.outage": {"spans": [["1.2 s", "2.2 s"]]},
    },
    "hands over: nothing passes for 100 ms every 2 s, and the delay changes by 20 ms": {
        "link.sat.outage": {"spans": [[f"{at}.0 s", f"{at}.1 s"] for at in range(1, 599, 2)]},
        "link.sat.delay": {"points": [["0 s", "260 ms"], ["3 s", "280 ms"]], "every": "6 s"},
    },
}
WHOLE = {f"tcp.{key}": value for key, value in TUNED.items()}
STANDARD = {"tcp.slow_start": "standard"}
CAUSES: dict[str, tuple[dict[str, object], dict[str, list[dict[str, object]]]]] = {
    "none": ({}, {}),
    "none; `hybla` and 200 segments from end to end": (WHOLE, {}),
    "none; slow start without HyStart": (STANDARD, {}),
    "split": ({}, PROXIES["split"]),
    "split; slow start without HyStart": (STANDARD, PROXIES["split"]),
    "split, 200 segments on the hop": (
        {},
        {"gateway": [{"kind": "split", "listener": {key: TUNED[key] for key in ("initial_window", "pacing")}}]},
    ),
    "split, `hybla` on the hop": ({}, {"gateway": [{"kind": "split", "listener": {"cc": HYBLA}}]}),
    "split, both": ({}, PROXIES["split, `hybla` and 200 segments on the hop"]),
}
"""Parts of the proxies and senders of the tables: keys, and middleboxes at the nodes."""
SIZES = ["10 kB", "100 kB", "1 MB", "10 MB"]
PAGES = {
    "flow.f.from": "user",
    "flow.f.to": "server",
    "flow.f.app": {"kind": "page", "model": "3gpp2", "count": 20, "reading": "1 s"},
}


def time_s(sets: dict[str, object], proxy: dict[str, list[dict[str, object]]]) -> float | None:
    """The median over seeds of the time of a transfer, or of the mean time of a page; none if one never arrived."""
    found = []
    is_page = "flow.f.from" in sets
    # The client of a page is on the other side of the gateway: the hop is that of the opener.
    turned = {"listener": "opener"} if is_page else {}
    nodes = {
        f"node.{node}.middlebox": [{turned.get(key, key): value for key, value in box.items()} for box in boxes]
        for node, boxes in proxy.items()
    }
    for seed in SEEDS:
        result = bp.run(bp.load(HERE / "proxies.toml", {**sets, **nodes}), seed=seed)
        value = result.completions["duration_mean_s"][0] if is_page else result.flows["completion_rx_s"][0]
        if value is None or value != value:
            return None
        found.append(value)
    return statistics.median(found)


def times(sets: dict[str, object], proxy: dict[str, list[dict[str, object]]]) -> list[float | None]:
    """The times of the transfers of all sizes, then of a page."""
    found = [time_s({**sets, "flow.f.app": {"kind": "file", "size": size}}, proxy) for size in SIZES]
    return rounded([*found, time_s({**sets, **PAGES}, proxy)])


def rounded(times_s: list[float | None]) -> list[float | None]:
    """Number with the digits of the page."""
    return [None if each is None else round(each, 2) for each in times_s]


def main() -> None:
    """Measure and keep the numbers."""
    largest = {"flow.f.app": {"kind": "file", "size": SIZES[-1]}}
    paths = {path: {name: times(sets, proxy) for name, proxy in PROXIES.items()} for path, sets in PATHS.items()}
    causes = {
        name: rounded([time_s({**sets, **keys, **largest}, proxy) for sets in PATHS.values()])
        for name, (keys, proxy) in CAUSES.items()
    }
    kept.save("proxies", {"paths": paths, "causes": causes})


if __name__ == "__main__":
    kept.begin(__doc__)
    main()
