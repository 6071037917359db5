"""A change of a metric raises the number of results: runs in a store must equal runs of this version."""

import hashlib
import os
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe import _core
from bentpipe.experiment.single import measure
from bentpipe.metric import COLUMNS

RECORDED = Path(__file__).with_name("recorded.txt")
SCENARIOS = {
    "small": lambda: bp.load(Path(__file__).with_name("small.toml")),
    "load": lambda: bp.load("load", {"duration": "5 s"}),
    "short-transfers": lambda: bp.load("short-transfers", {"duration": "5 s"}),
    "reordering": lambda: bp.load("reordering", {"duration": "5 s"}),
}


def hashes():
    found = {}
    for name, made in SCENARIOS.items():
        run = _core.Run(made()._core)
        run.advance(10**9)
        values = measure.outcome(run.finish())
        text = repr([(column, values[name].hex()) for name, column in COLUMNS.items()])
        found[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def written(number, found):
    return f"results {number}\n" + "".join(f"{name} {digest}\n" for name, digest in found.items())


def refusal(before, number, found):
    """Why these are not to be recorded; None if they may."""
    lines = dict(line.split() for line in before.splitlines())
    old = int(lines.pop("results", 0))
    changed = [name for name, digest in found.items() if lines.get(name, digest) != digest]
    if number > old or (number == old and not changed):
        return None
    return (
        f"the metrics of {', '.join(changed) or 'no run'} changed, and RESULTS is {number}: raise RESULTS in"
        f" crates/sim/src/lib.rs to {old + 1}, add the reason to docs/develop/results-history.md,"
        " then make bless"
    )


def test_what_changes_a_metric_raises_the_number_of_results():
    before, found = RECORDED.read_text() if RECORDED.exists() else "", hashes()
    assert refusal(before, _core.RESULTS, found) is None
    if os.environ.get("BLESS"):
        RECORDED.write_text(written(_core.RESULTS, found))
    assert RECORDED.read_text() == written(_core.RESULTS, found), "make bless, and review the difference"


def test_a_metric_that_is_new_is_a_change(monkeypatch):
    before = written(_core.RESULTS, hashes())
    outcome = measure.outcome
    monkeypatch.setattr(measure, "outcome", lambda tables: {**outcome(tables), "new": 1.0})
    monkeypatch.setitem(COLUMNS, "new", "new_metric")
    assert "raise RESULTS" in refusal(before, _core.RESULTS, hashes())
    assert refusal(before, _core.RESULTS + 1, hashes()) is None


@pytest.mark.parametrize(
    ("number", "digest", "is_refused"), [(7, "a", False), (7, "b", True), (8, "b", False), (6, "a", True)]
)
def test_a_changed_metric_is_blessed_with_a_higher_number_only(number, digest, is_refused):
    assert (refusal(written(7, {"small": "a"}), number, {"small": digest}) is not None) == is_refused
