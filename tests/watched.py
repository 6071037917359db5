"""Runs the command line with a log of all begun runs; a test can hold or kill it there.

    python watched.py '{"log": "begun.txt", ...}' sweep FILE ...

- `log`: file with a line `PROCESS RUN` for each begun run.
- `hold`: number of runs in this process after which each run is held until a stop.
- `meet`: number of processes with a begun run until which every run is held.
- `die`: `[name, number, "before" or "after"]`. Kill this process at that call of this method of the store.
"""

import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path

PATIENCE_S = 600
"""Longest time to hold a run before an error, in seconds: longer than any test waits, so no process stays behind."""


def watch(asked):
    """Install the log."""
    from bentpipe.experiment.execution import workers
    from bentpipe.experiment.single import task
    from bentpipe.experiment.store import store

    execute = workers.execute
    log = Path(asked["log"])
    count = itertools.count(1)

    def watched(scenario, seed, tables, is_stopped=lambda: False, progress=None):
        write_down(log, f"{os.getpid()} {task.name(scenario.digest, seed)}\n")
        is_held = next(count) > asked.get("hold", sys.maxsize)
        wait_until(lambda: not is_held or is_stopped(), "told to stop")
        wait_until(lambda: is_stopped() or processes(log) >= asked.get("meet", 0), "joined by the other processes")
        return execute(scenario, seed, tables, is_stopped, progress)

    workers.execute = watched
    if "die" in asked:
        kill_at(store.Store, *asked["die"])


def wait_until(is_so, what):
    """Poll until the condition holds. Other processes or a signal make it so."""
    end_s = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > end_s:
            raise TimeoutError(f"not {what} in {PATIENCE_S} s")
        time.sleep(0.005)


def processes(log):
    """Count the processes that have begun a run."""
    return len({line.split()[0] for line in log.read_text().splitlines()})


def kill_at(kind, name, number, when):
    """Make a method kill its process."""
    method = getattr(kind, name)
    calls = itertools.count(1)

    def deadly(*args, **kwargs):
        is_now = next(calls) == number
        if is_now and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        found = method(*args, **kwargs)
        if is_now:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(kind, name, deadly)


def write_down(log, line):
    """Append a line in one piece, also if other processes write."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)


if __name__ == "__main__":
    watch(json.loads(sys.argv.pop(1)))
    from bentpipe.__main__ import main

    main()
