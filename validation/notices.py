"""Measures whether notices of errors keep the goodput of every sender, under all kinds of errors.

Runs each middlebox that reports errors to senders, under each recovery and each `tcp.like`, and each error model. Takes
about ten minutes with two processes.

    python -m validation.notices
    python -m tools.docs notices                   # after that: the page

The numbers go into `validation/data/notices.json`.

Each cell is compared with the same sender, errors and seed without notices. It is *worse* if its goodput is lower in
each of three seeds and in each of five more. On average the difference must be at least one percent of the goodput
without errors.
"""

from __future__ import annotations

import itertools
import json
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import bentpipe as bp
from validation import kept

HERE = Path(__file__).resolve().parent
PATH = HERE / "notices.toml"
SEEDS = (1, 2, 3)
MORE_SEEDS = (4, 5, 6, 7, 8)
MARGIN = 0.01
"""Least difference of a worse cell, as a share of the goodput without errors."""

FEW = {"link.up.forward.error": '{ kind = "packet", rate = 2e-3 }'}
RAIN = (
    '{ kind = "profile", unit = "packet", points = [["0 s", 0.0], ["4 s", 2e-3], ["8 s", 2e-2], ["11 s", 5e-2], '
    '["14 s", 2e-2], ["18 s", 2e-3], ["22 s", 0.0]], every = "25 s" }'
)
ERRORS: dict[str, dict[str, str]] = {
    "0.2 %": FEW,
    "2 %": {"link.up.forward.error": '{ kind = "packet", rate = 2e-2 }'},
    "bursts": {"link.up.forward.error": '{ kind = "gilbert-elliott", mean_good = "2 s", mean_bad = "20 ms" }'},
    "rain": {"link.up.forward.error": RAIN},
    "handovers": FEW | {"link.up.outage": '{ spans = [["3 s", "3.1 s"]], every = "5 s", queue = "flush" }'},
    "ACK loss": FEW | {"link.up.reverse.error": '{ kind = "packet", rate = 5e-2 }'},
}
"""Error models, by the words of the page."""
RESEND = {"tcp.error_reports": "resend"}
PEP = '[{ kind = "satpep", rate = "10 Mbit/s", rtt = "80 ms" }]'

FUNCTIONS: dict[str, dict[str, str]] = {
    "none": {},
    "been": RESEND
    | {
        "node.gateway.middlebox": '[{ kind = "been", role = "gateway" }]',
        "node.satellite.middlebox": '[{ kind = "been", role = "satellite" }]',
    },
    "eten, backward": RESEND | {"node.satellite.middlebox": '[{ kind = "eten" }]'},
    "eten, forward": RESEND
    | {
        "node.satellite.middlebox": '[{ kind = "eten", notice = "forward" }]',
        "node.terminal.middlebox": '[{ kind = "eten", notice = "forward", role = "receiver" }]',
    },
    "eln": RESEND | {"node.satellite.middlebox": '[{ kind = "eln" }]'},
    "refwa": {
        "tcp.feedback": '{ kind = "refwa-plus" }',
        "tcp.duplicate_acks": "any-window",
        "node.gateway.middlebox": '[{ kind = "refwa" }]',
    },
    "satpep": {"node.gateway.middlebox": PEP, "node.station.middlebox": PEP},
}

SENDERS: dict[str, dict[str, str]] = {
    "timeout-only": {"tcp.recovery": "timeout-only"},
    "fast-retransmit": {"tcp.recovery": "fast-retransmit"},
    "reno": {"tcp.recovery": "reno"},
    "newreno": {"tcp.recovery": "newreno"},
    "sack": {"tcp.recovery": "sack"},
    "sack, fack": {"tcp.recovery": '{ kind = "sack", evidence = "fack" }'},
    "sack, hole": {"tcp.recovery": '{ kind = "sack", evidence = "hole" }'},
    "sack, status": {"tcp.recovery": '{ kind = "sack", evidence = "status" }'},
    "rack": {"tcp.recovery": "rack"},
    "rack, reenter = false": {"tcp.recovery": '{ kind = "rack", reenter = false }'},
    "rack, prr, undo": {
        "tcp.recovery": "rack",
        "tcp.reduction": "prr",
        "tcp.spurious_detection": "any",
        "tcp.dsack": "true",
    },
    "snack": {"tcp.recovery": "snack"},
    "like rfc": {"tcp.like": "rfc"},
    "like linux-6": {"tcp.like": "linux-6"},
    "like linux-6-paced": {"tcp.like": "linux-6-paced"},
    "like linux-6, bbr3": {"tcp.like": "linux-6", "tcp.cc": "bbr3"},
    "like windows-11": {"tcp.like": "windows-11"},
    "like freebsd-14": {"tcp.like": "freebsd-14"},
    "like ns-2": {"tcp.like": "ns-2"},
}


EXPECTED_WORSE: dict[tuple[str, str], str] = {
    ("like linux-6, bbr3", "refwa"): "REFWA writes windows that hold back the window of BBR v3",
    ("like linux-6, bbr3", "satpep"): "SaTPEP sends at 0.95 of the link, and BBR v3 keeps more without it",
}
"""Senders and middleboxes that may be worse than without notices, with the reason."""


def goodput(sets: dict[str, str], seed: int) -> float:
    """Goodput, bit/s."""
    return float(bp.run(bp.load(PATH).with_sets(sets), seed=seed).flows["goodput_bps"][0])


def row(errors: str, sender: str, functions: tuple[str, ...] = tuple(FUNCTIONS)) -> dict[str, tuple[float, bool]]:
    """Share of the goodput that is left by middlebox, and whether that is worse than without notices.

    The baseline is `"none"`, which has to be among `functions`.
    """
    keys = SENDERS[sender]
    clean = statistics.fmean(goodput(keys, seed) for seed in SEEDS)
    found: dict[str, tuple[float, bool]] = {}

    def shares(name: str, seeds: tuple[int, ...]) -> list[float]:
        return [goodput(keys | FUNCTIONS[name] | ERRORS[errors], seed) / clean for seed in seeds]

    none = shares("none", SEEDS)
    more: list[float] = []
    for name in functions:
        told = none if name == "none" else shares(name, SEEDS)
        is_worse = all(a < b for a, b in zip(told, none, strict=True))
        if is_worse:
            more = more or shares("none", MORE_SEEDS)
            again = shares(name, MORE_SEEDS)
            lower = [b - a for a, b in zip(told + again, none + more, strict=True)]
            is_worse = min(lower) > 0.0 and statistics.fmean(lower) >= MARGIN
        found[name] = statistics.fmean(told), is_worse
    return found


def measure() -> dict[str, dict[str, dict[str, tuple[float, bool]]]]:
    """The rows by errors and sender."""
    cells = list(itertools.product(ERRORS, SENDERS))
    found: dict[str, dict[str, dict[str, tuple[float, bool]]]] = {errors: {} for errors in ERRORS}
    with ProcessPoolExecutor() as pool:
        rows = pool.map(row, *zip(*cells, strict=True))
        for (errors, sender), cell in zip(cells, rows, strict=True):
            found[errors][sender] = cell
            print(
                errors, sender, *(f"{name} {s:.2f}{' worse' if w else ''}" for name, (s, w) in cell.items()), flush=True
            )
    return found


def main() -> None:
    """Measure and keep the numbers."""
    numbers = json.loads(json.dumps(measure()), parse_float=lambda text: round(float(text), 4))
    kept.save("notices", {"matrices": numbers})


if __name__ == "__main__":
    kept.begin(__doc__)
    main()
