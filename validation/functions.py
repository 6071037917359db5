"""Measures the gains and losses from each middlebox.

A transfer that uses the middlebox, a plain one beside it, and a user who asks for short transfers share a geostationary
path and a path in low orbit, without errors and with errors. The numbers go into `validation/data/functions.json`.

    python -m validation.functions            # middleboxes without numbers
    python -m validation.functions NAME ...   # these again; `all` for every one
    python -m tools.docs functions            # after that: the pages

Each middlebox takes some seconds.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bentpipe as bp
from bentpipe.errors import BentpipeError
from validation import kept

SCENARIO = Path(__file__).with_name("functions.toml").read_text(encoding="utf-8")
REPLICATIONS = 10
METRICS = {
    "goodput:user": (1e6, "goodput, Mbit/s"),
    "goodput:beside": (1e6, "goodput of the plain transfer, Mbit/s"),
    "fct_p50:short": (1, "median time of a request for 100 kB, s"),
    "queue_p95:up.forward": (1e-3, "95th percentile of the queueing delay, ms"),
}


PATHS: dict[str, dict[str, Any]] = {
    "GEO": {},
    "LEO": {
        "link.up.delay": "4 ms",
        "link.down.delay": "20 ms",
        "link.up.rate": "50 Mbit/s",
        "link.down.rate": "50 Mbit/s",
        "link.up.reverse.rate": "10 Mbit/s",
        "link.down.reverse.rate": "10 Mbit/s",
    },
}
OF_PATH = {
    "GEO": {"RATE": "20 Mbit/s", "BACK": "2 Mbit/s", "BDP": "1.35 MB", "RTT": "520 ms", "RETURN": "100 kbit/s"},
    "LEO": {"RATE": "50 Mbit/s", "BACK": "10 Mbit/s", "BDP": "440 kB", "RTT": "48 ms", "RETURN": "250 kbit/s"},
}
"""Values of the path in settings of a middlebox."""
SLOW_RETURN = {
    f"link.{link}.reverse.{key}": value
    for link in ("up", "down")
    for key, value in (("rate", "RETURN"), ("queue", "50 packets"))
}


@dataclass(frozen=True)
class Place:
    """Position of a middlebox on the path, and its users."""

    nodes: dict[str, list[Any]]
    """Middleboxes by node, from the server on."""
    tcp: dict[str, Any] = field(default_factory=dict)
    """Keys of the transfer that uses it."""
    path: dict[str, Any] = field(default_factory=dict)
    """Overrides of the path, with the middlebox and without it."""
    lossy: str = "up"
    """The link on which packets are corrupted."""
    more: str = ""
    """Remarks."""

    @property
    def errors(self) -> dict[str, Any]:
        """One packet in a thousand."""
        return {f"link.{self.lossy}.forward.error": {"kind": "packet", "rate": 1e-3}}


ROHC = [{"kind": "compress", "role": role, "scheme": "rohc"} for role in ("decompressor", "compressor")]
RESEND = {"error_reports": "resend"}
PLACES = {
    "impair": Place({"satellite": [{"kind": "impair", "duplicate": 0.001, "reorder": 0.001, "hold": "20 ms"}]}),
    "ack-filter": Place(
        {"station": ["ack-filter"]},
        path=SLOW_RETURN,
        more="The return links have 1/200 of the rate and queues of 50 packets.",
    ),
    "ack-reconstruct": Place(
        {"gateway": ["ack-reconstruct"], "station": ["ack-filter"]},
        path=SLOW_RETURN,
        more="The return links have 1/200 of the rate and queues of 50 packets.",
    ),
    "refwa": Place({"gateway": ["refwa"], "satellite": ["refwa"]}),
    "ewa": Place({"gateway": ["ewa"], "satellite": ["ewa"]}),
    "split": Place({"gateway": ["split"]}),
    "cache": Place(
        {"satellite": ["cache"]},
        path={"flow.short.app.catalogue": {"objects": 5}},
        more="The user requests five objects, one after the other and again from the first.",
    ),
    "spoof": Place({"gateway": [{"kind": "spoof", "window": "BDP"}]}),
    "satpep": Place(
        {
            "gateway": [{"kind": "satpep", "rate": "RATE", "rtt": "RTT"}],
            "station": [{"kind": "satpep", "rate": "BACK", "rtt": "RTT"}],
        },
    ),
    "snoop": Place(
        {"satellite": ["snoop"]},
        lossy="down",
        more="The errors are between satellite and station, because it would hide the overflow of a queue behind it.",
    ),
    "freeze": Place(
        {"gateway": ["freeze"]},
        path={"link.up.outage": {"spans": [["9 s", "12 s"]], "every": "20 s"}},
        more="The link between gateway and satellite is down for 3 s of every 20 s.",
    ),
    "been": Place(
        {"gateway": [{"kind": "been", "role": "gateway"}], "satellite": [{"kind": "been", "role": "satellite"}]},
        tcp=RESEND,
    ),
    "eln": Place({"satellite": ["eln"]}, tcp=RESEND),
    "eten": Place({"satellite": ["eten"]}, tcp=RESEND),
    "dpsm": Place({"satellite": ["dpsm"]}),
    "erasure": Place(
        {"gateway": [{"kind": "erasure", "role": "encoder"}], "station": [{"kind": "erasure", "role": "decoder"}]},
    ),
    "compress": Place(
        {"gateway": ROHC, "station": ROHC},
        path=SLOW_RETURN,
        more="The return links have 1/200 of the rate and queues of 50 packets.",
    ),
    "xcp": Place({"gateway": ["xcp"], "satellite": ["xcp"]}, tcp={"feedback": "xcp"}),
    "rcp": Place({"gateway": ["rcp"], "satellite": ["rcp"]}, tcp={"feedback": "rcp"}),
}


def of_path(settings: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the settings with the path's numbers."""
    text = json.dumps(settings)
    for word, value in OF_PATH[path].items():
        text = text.replace(f'"{word}"', f'"{value}"')
    return json.loads(text)


def measure(name: str) -> dict[str, Any]:
    """Each metric on each path: mean without and with, and the ratio with its interval."""
    place, found = PLACES[name], {}
    for path, sets in PATHS.items():
        boxes = {f"node.{node}.middlebox": boxes for node, boxes in of_path(place.nodes, path).items()}
        use = boxes | {f"flow.user.tcp.{key}": value for key, value in place.tcp.items()}
        for title, errors in ((path, {}), (f"{path}, errors", place.errors)):
            scenario = bp.loads(SCENARIO, {**sets, **of_path(place.path, path), **errors})
            compared = bp.compare(
                scenario, cases={"without": {}, "with": use}, metric=list(METRICS), replications=REPLICATIONS
            )
            found[title] = {metric: _numbers(compared, metric) for metric in METRICS}
    return found


def _numbers(compared: bp.Comparison, metric: str) -> list[float | None]:
    # The second item of an estimate is the mean, of an interval the value.
    means = [compared.estimate(case, metric)[1] for case in ("without", "with")]
    try:
        ratio = compared.ratio("with", "without", metric)[1:4]
    except BentpipeError:  # A change to zero.
        ratio = (None, None, None)
    return [None if value is None else float(f"{value:.4g}") for value in (*means, *ratio)]


def main() -> None:
    """Measure the requested middleboxes."""
    asked = sys.argv[1:]
    if unknown := [name for name in asked if name not in (*PLACES, "all")]:
        raise SystemExit(f"error: no such middlebox: {', '.join(unknown)}\n  known: {', '.join(PLACES)}")
    numbers = kept.load("functions")
    for name in PLACES:
        if name not in numbers or name in asked or "all" in asked:
            numbers[name] = measure(name)
            kept.save("functions", dict(sorted(numbers.items())))
            print(name, flush=True)


if __name__ == "__main__":
    kept.begin(__doc__, "NAME")
    main()
