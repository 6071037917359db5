"""Measures whether `why` and `tune` name the same best change, in bundled scenarios and three others.

    python -m validation.advice             # a few minutes on two cores
    python -m validation.advice geo ship    # some of them
    python -m tools.docs                    # after that: the page

`why` tries single changes and pairs, each in one run. `tune` searches combinations of all its settings over several
seeds. Both improve one kind of flow, by the same metric. The numbers go into `validation/data/advice.json`.
"""

from __future__ import annotations

import ast
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import bentpipe as bp
from bentpipe.experiment.why.remedies import HELPS, Judge, Remedy
from bentpipe.experiment.why.spent import SERIES, find_entries
from bentpipe.scenario.editing import steps
from bentpipe.scenario.overrides import parse_text
from bentpipe.trials.changes import named_change
from validation import kept

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.scenario.scenario import Scenario

OTHERS = Path(__file__).resolve().parent / "advised"
CASES = {
    "geo": ("transfer", "20 s"),
    "geo, 100 Mbit/s": ("transfer", "15 s"),
    "geo-home": ("pages", "90 s"),
    "geo-broadband": ("update", "45 s"),
    "web-on-geo": ("pages", "90 s"),
    "web-on-geo, television": ("television", "20 s"),
    "geo-access": ("pages-clear", "30 s"),
    "geo-access, backup": ("backup", "90 s"),
    "geo-access-random": ("sensor", "30 s"),
    "leo-cell": ("call-up", "5 s"),
    "leo-cell, download": ("download", "5 s"),
    "short-transfers": ("medium", "120 s"),
    "bursts": ("transfer", "30 s"),
    "starlink": ("download", "30 s"),
    "distance-learning": ("slides", "160 s"),
    "london-singapore": ("transfer", "20 s"),
    "ship": ("download", "24 s"),
    "victoria-seattle": ("download", "30 s"),
    "starlink-isl": ("ping", "60 s"),
    "office": ("page", "40 s"),
    "ship-vsat": ("call-up", "40 s"),
    "ship-vsat, pages": ("web", "60 s"),
    "vsat-and-leo": ("web", "60 s"),
}
"""Scenario, kind of flow and duration, by name of the case."""
SETS: dict[str, dict[str, Any]] = {
    "geo-access, backup": {"flow.backup.app.size": "5 MB"},
    "geo, 100 Mbit/s": {"link.sat.forward.rate": "100 Mbit/s"},
    "ship": {"sky.constellation.starlink.failure": [{"terminal": "ship", "from": "8 s", "to": "16 s"}]},
}
"""Overrides of a case."""
WHY_ONLY = ("class", "fast_open", "ack.every")
"""Words in the keys and values of changes that only `why` tries."""
BUDGET = 350
"""Runs of a search."""
SEEDS = range(1001, 1005)
"""Seeds of the judgement, which neither of both has used."""
REASONS: dict[str, str] = {}
"""Reasons of differences, by case, as found by hand."""
AS_GOOD = 0.05
"""Largest difference of two gains that are as good as each other, as a share of the metric."""
TIE = 0.01
"""Worths that differ by less are equal, as a share of the metric."""
SHOWN = 0.02
"""Least worth of a change of `tune` that is named, as a share of the metric."""


def scenario(case: str) -> Scenario:
    """The scenario of a case, without its `[tune]`: `why` has neither guards nor conditions."""
    name = case.partition(",")[0]
    file = OTHERS / f"{name}.toml"
    parts = parse_text(*bp.load(file if file.exists() else name).written)
    parts.pop("tune", None)
    return bp.Scenario(parts, source=name, sets={"duration": CASES[case][1], **SETS.get(case, {})})


class Bench:
    """Means over fresh seeds, by the overrides of a scenario."""

    def __init__(self, plain: Scenario, kind: str) -> None:
        entries = find_entries(plain.to_dict()["flow"])
        names = [name for name, of in entries.items() if of == kind]
        self.plain, self.kind, self.judge = plain, kind, Judge(plain, {kind: names})

    def mean(self, sets: Mapping[str, Any]) -> float:
        """Mean of the metric."""
        told = self.plain.with_sets(dict(sets)) if sets else self.plain

        def value(seed: int) -> float:
            result = bp.run(told, seed=seed, series=self.judge.series, progress=False)
            found = self.judge.judge_result(result)[self.kind].value
            return float("nan") if found is None else found

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return float(np.nanmean(list(pool.map(value, SEEDS))))

    def gain(self, value: float, before: float) -> float:
        """Improvement over `before`, as a share."""
        aim = self.judge.aims[self.kind]
        if aim.what == "film":
            return (before - value) / self.plain.duration_s
        return value / before - 1 if aim.is_more_better else 1 - value / before

    def worths(self, sets: Mapping[str, Any], before: float) -> dict[str, float]:
        """Loss without each change, as a share of `before`; the largest first."""
        whole = self.gain(self.mean(sets), before)
        found = {key: whole - self.gain(self.mean({k: sets[k] for k in sets if k != key}), before) for key in sets}
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def is_of_tune(remedy: Remedy) -> bool:
    """Whether a search of `tune` has the changes of a remedy: no priority, Fast Open, or ACK for each segment."""
    return not any(word in f"{key}{value}" for key, value in remedy.sets.items() for word in WHY_ONLY)


def subject(key: str, value: Any) -> str:
    """Return the setting of a change: of a transport, the size or discipline of a queue, or another key."""
    path = steps(key)
    if "tcp" in path:
        return ".".join(path[path.index("tcp") :])
    if path[-1] == "queue":
        return f"{key}: {'a discipline' if 'kind' in str(value) else 'a size'}"
    return key


def measured(case: str) -> dict[str, Any]:
    """The best changes of both, and their effects over fresh seeds."""
    plain, kind = scenario(case), CASES[case][0]
    bench = Bench(plain, kind)
    told = bp.run(plain, series=SERIES, progress=False).why(kind, progress=False)
    helpful = [remedy for remedy in told.remedies if remedy.helps]
    first = next(filter(is_of_tune, helpful), None)
    metric = bench.judge.aims[kind].metric
    found = bp.tune(plain, objective=metric, budget=BUDGET, progress=False)
    before = bench.mean({})
    ours, theirs = dict(first.sets) if first else {}, found.recommended
    row: dict[str, Any] = {
        "case": case,
        "flow": kind,
        "metric": bench.judge.metric(kind)[0].partition(":")[0],
        "unit": bench.judge.metric(kind)[1],
        "before": before,
        "part": told.flows[0].parts[0].what if told.flows else "",
        "first": helpful[0].name if helpful and helpful[0] is not first else "",
    }
    for who, sets in (("why", ours), ("tune", theirs)):
        worths = bench.worths(sets, before)
        row[who] = {
            "name": first.name if who == "why" and first else "",
            "sets": {key: str(sets[key]) for key in sets},
            "worths": worths,
            "after": bench.mean(sets) if sets else before,
        }
        row[who]["gain"] = bench.gain(row[who]["after"], before)
    return row


def verdict(row: Mapping[str, Any]) -> str:
    """Compare the largest change of both: setting and value, the setting only, or the gains.

    >>> a, b = ({"worths": {key: 0.3}, "sets": {key: "1"}, "gain": 0.3} for key in ("tcp.cc", "flow.f.tcp.cc"))
    >>> none = {"worths": {}, "sets": {}, "gain": 0.0}
    >>> verdict({"why": a, "tune": b}), verdict({"why": a, "tune": none}), verdict({"why": none, "tune": none})
    ('same', 'differs', 'same')
    """
    ours, theirs = main_changes(row["why"]), main_changes(row["tune"])
    both = ours.keys() & theirs.keys()
    if both or not (ours or theirs):
        return "same" if not both or any(ours[each] == theirs[each] for each in both) else "same setting"
    return "as good" if abs(row["why"]["gain"] - row["tune"]["gain"]) <= AS_GOOD else "differs"


def change_words(key: str, text: str) -> str:
    """Name a change in words, from its key and its value as text.

    >>> change_words("link.l.queue", "{'kind': 'codel', 'target': '27 ms'}"), change_words("tcp.cc", "hybla")
    ('CoDel on l', 'hybla')
    """
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        value = tomllib.loads(f"value = {text}")["value"] if text.startswith(("{", "[")) else text
    return named_change(key, value, "").removesuffix(" for ")


def main_changes(found: Mapping[str, Any]) -> dict[str, str]:
    """Changes whose worth is the largest or within `TIE` of it, in words, by subject. Empty if none matters."""
    largest = max(found["worths"].values(), default=0.0)
    if largest < SHOWN or found["gain"] < HELPS:
        return {}
    return {
        subject(key, found["sets"][key]): change_words(key, found["sets"][key])
        for key, worth in found["worths"].items()
        if worth >= max(SHOWN, largest - TIE)
    }


def main(names: Sequence[str]) -> None:
    """Measure and keep the numbers."""
    rows = {row["case"]: row for row in kept.load("advice") or []}
    for case in CASES:
        if not names or case in names:
            rows[case] = measured(case)
            row = rows[case]
            gains = [f"{who} {row[who]['gain']:.3f} {row[who]['worths']}" for who in ("why", "tune")]
            print(case, verdict(row), *gains, flush=True)
            kept.save("advice", [rows[name] for name in CASES if name in rows])


if __name__ == "__main__":
    kept.begin(__doc__, "NAME")
    main(sys.argv[1:])
