"""Measures whether notices of errors keep the goodput of every sender.

Runs each middlebox that reports errors to senders, under each recovery and each `tcp.like`. Takes two minutes with one
process.

    python -m validation.notices [--before FILE]
    python -m tools.docs notices                   # after that: the page

The numbers go into `validation/data/notices.json`. `--before` names a JSON file of an earlier run; the page then has
its numbers, too. Without it the earlier numbers stay.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import bentpipe as bp
from validation import kept

HERE = Path(__file__).resolve().parent
PATH = HERE / "notices.toml"
SEEDS = (1, 2, 3)
ERRORS = {"link.up.forward.error": '{ kind = "packet", rate = 2e-3 }'}
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


def goodput(sets: dict[str, str]) -> float:
    """Mean goodput over the seeds, bit/s."""
    scenario = bp.load(PATH).with_sets(sets)
    return statistics.fmean(float(bp.run(scenario, seed=seed).flows["goodput_bps"][0]) for seed in SEEDS)


def measure() -> dict[str, dict[str, float]]:
    """Share of the goodput that is left, by sender and middlebox."""
    shares: dict[str, dict[str, float]] = {}
    for sender, keys in SENDERS.items():
        clean = goodput(keys)
        row = {name: goodput(keys | sets | ERRORS) / clean for name, sets in FUNCTIONS.items()}
        shares[sender] = row
        print(sender, f"{clean / 1e6:.2f} Mbit/s", *(f"{name} {share:.2f}" for name, share in row.items()), flush=True)
    return shares


def main() -> None:
    """Measure and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="JSON file of an earlier run")
    options = parser.parse_args()
    before = kept.load("notices").get("before")
    if options.before:
        before = json.loads(options.before.read_text(encoding="utf-8"))["shares"]
    numbers = {"shares": measure(), "before": before}
    kept.save("notices", json.loads(json.dumps(numbers), parse_float=lambda text: round(float(text), 4)))


if __name__ == "__main__":
    main()
