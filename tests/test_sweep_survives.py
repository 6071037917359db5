"""Sweeps that are killed, interrupted, or share a store: no finished run is lost, and no run is repeated."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import bentpipe as bp

# These tests wait for other processes, or have many runs.
pytestmark = pytest.mark.timeout(600)

PATIENCE_S = 120
"""Longest wait for an event, in seconds. No test depends on its duration."""
WATCHED = Path(__file__).with_name("watched.py")
RATES = [0.001 * (1 + k) for k in range(20)]
ALL = bool(os.environ.get("BENTPIPE_ALL"))
KILLS, REPLICATIONS = (10, 100) if ALL else (4, 40)
"""Number of kills of a long sweep, and its number of replications."""


class Watched:
    """A sweep on the command line in a separate process that logs the runs it begins. See `watched.py`."""

    def __init__(self, folder, scenario, *options, **asked):
        self.log = folder / "begun.txt"
        self.store = folder / "store"
        asked = {"log": str(self.log), **asked}
        self.process = subprocess.Popen(
            [sys.executable, WATCHED, json.dumps(asked), "sweep", scenario, "--store", self.store, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def begun(self):
        """Return the names of the runs begun so far, by all processes with this log."""
        return [line.split()[1] for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def wait_for(self, runs):
        """Wait until this many runs have begun."""
        self.wait_until(lambda: len(self.begun()) >= runs, f"{runs} runs begun")

    def wait_until(self, is_so, what):
        """Poll until a condition holds. Report the output of the process if it ends before."""
        end_s = time.monotonic() + PATIENCE_S
        while not is_so():
            has_ended = self.process.poll() is not None
            # The process may have ended because the condition holds.
            assert not has_ended or is_so(), f"ended before {what}: {self.end()}"
            assert time.monotonic() < end_s, f"not in {PATIENCE_S} s: {what}"
            time.sleep(0.005)

    def end(self):
        """Wait for the end, and return the output."""
        output, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output, errors


def grid(points, replications):
    rates = ",".join(f"{rate:.3g}" for rate in RATES[:points])
    vary = ["--vary", f"link.down.error.rate={rates}", "--replications", str(replications)]
    return [*vary, "--tables", "drops", "--jobs", "2"]


def undisturbed(small, tmp_path, points, replications):
    """Return the files of an undisturbed sweep."""
    vary = {"link.down.error.rate": [float(f"{rate:.3g}") for rate in RATES[:points]]}
    bp.sweep(small, vary, replications=replications, tables=["drops"], store=tmp_path / "undisturbed")
    return files(tmp_path / "undisturbed")


def files(store):
    return {path.name: path.read_bytes() for path in sorted(store.glob("*.parquet"))}


def index(store):
    """Return the committed and the claimed runs."""
    if not (store / "index.sqlite").exists():
        return set(), set()
    connection = sqlite3.connect(store / "index.sqlite")
    try:
        return tuple({id_ for (id_,) in connection.execute(f"select id from {table}")} for table in ("runs", "claims"))
    except sqlite3.OperationalError:  # The process was killed before the tables existed.
        return set(), set()
    finally:
        connection.close()


def test_a_long_sweep_killed_again_and_again_is_that_of_an_undisturbed_one(small, tmp_path):
    draw = random.Random(4)
    options = grid(20, REPLICATIONS)
    in_flight = Counter()
    kept_before = set()
    for _ in range(KILLS):
        moment = draw.randrange(120)
        # The sweep never reaches its end, however slow the test is to kill it.
        with Watched(tmp_path, small, *options, hold=moment + 60) as sweep:
            before = len(sweep.begun())
            sweep.wait_for(before + moment)
            sweep.process.kill()
            assert sweep.process.wait() == -signal.SIGKILL
            kept, claimed = index(sweep.store)
            assert kept_before <= kept, "a run that was finished is gone"
            assert set(sweep.begun()[before:]) - kept <= claimed
            kept_before = kept
            in_flight.update(claimed - kept)
    with Watched(tmp_path, small, *options) as sweep:
        code, _, errors = sweep.end()
        assert (code, "Traceback" in errors) == (0, False)
    begun = Counter(sweep.begun())
    assert len(begun) == 20 * REPLICATIONS
    assert all(times - 1 <= in_flight[run] for run, times in begun.items())
    assert pl.read_parquet(sweep.store / "runs.parquet")["run"].n_unique() == 20 * REPLICATIONS
    assert files(sweep.store) == undisturbed(small, tmp_path, 20, REPLICATIONS)
    # Killed processes leave no files.
    assert sorted(path.name for path in sweep.store.iterdir()) == [
        "drops.parquet",
        "index.sqlite",
        "runs.parquet",
        "working",
    ]
    assert [path.name for path in (sweep.store / "working").iterdir()] == ["writing"]


DEATHS = [
    ["_connect", 1, "after"],
    ["begin", 1, "after"],
    ["keep", 1, "after"],
    ["_export", 1, "after"],
    *([["begin", 1, "before"], ["_export", 1, "before"], ["_export", 2, "after"]] if ALL else []),
]


@pytest.mark.parametrize("die", DEATHS)
def test_killed_while_the_store_is_opened_or_written_it_goes_on(small, tmp_path, die):
    options = grid(3, 8)
    with Watched(tmp_path, small, *options, die=die) as sweep:
        assert sweep.end()[0] == -signal.SIGKILL
    kept, _ = index(sweep.store)
    begun = len(sweep.begun())
    with Watched(tmp_path, small, *options) as sweep:
        assert sweep.end()[0] == 0
    assert len(sweep.begun()) - begun == 24 - len(kept)
    assert files(sweep.store) == undisturbed(small, tmp_path, 3, 8)


def test_two_processes_share_a_store_and_no_run_is_done_twice(small, tmp_path):
    options = grid(10, 40)
    with Watched(tmp_path, small, *options, meet=2) as one, Watched(tmp_path, small, *options, meet=2) as other:
        ends = [one.end(), other.end()]
    assert [code for code, _, _ in ends] == [0, 0]
    # Both have the whole result.
    assert ends[0][1] == ends[1][1]
    begun = Counter(one.begun())
    assert len(begun) == 400
    assert set(begun.values()) == {1}
    assert len({line.split()[0] for line in one.log.read_text().splitlines()}) == 2
    assert files(one.store) == undisturbed(small, tmp_path, 10, 40)


def test_what_a_process_that_died_was_doing_is_done_by_the_other(small, tmp_path):
    options = grid(4, 10)
    with Watched(tmp_path, small, *options, hold=0) as dying:
        dying.wait_for(2)
        held = index(dying.store)[1]
        with Watched(tmp_path, small, *options) as other:
            # It does all other runs, and waits for these.
            other.wait_until(lambda: len(index(other.store)[0]) == 40 - len(held), "all else done")
            assert set(other.begun()[2:]).isdisjoint(held)
            assert other.process.poll() is None
            dying.process.kill()
            assert other.end()[0] == 0
    assert files(other.store) == undisturbed(small, tmp_path, 4, 10)


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(small, tmp_path):
    options = grid(4, 50)
    with Watched(tmp_path, small, *options, hold=60) as sweep:
        # Both workers hold a run, so that two runs have begun that do not end.
        sweep.wait_for(62)
        sweep.wait_until(lambda: len(index(sweep.store)[0]) == 60, "60 runs kept")
        sweep.process.send_signal(signal.SIGINT)
        code, output, errors = sweep.end()
    assert code == 130
    assert "\ninterrupted after 60 of 200 runs, which are kept\n" in errors
    assert "Traceback" not in errors
    assert "140 runs missing; repeat the command to continue" in output
    assert pl.read_parquet(sweep.store / "runs.parquet").height == 60
    with Watched(tmp_path, small, *options) as sweep:
        code, output, errors = sweep.end()
    assert code == 0
    assert "200 of 200 runs, 60 reused" in errors
    assert "missing" not in output
    assert Counter(Counter(sweep.begun()).values()) == {1: 198, 2: 2}
    assert files(sweep.store) == undisturbed(small, tmp_path, 4, 50)
