"""Sweeps and searches on `dask.distributed`, with a real scheduler and workers in separate processes."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil
import pytest

import bentpipe as bp
from bentpipe import _core
from bentpipe.errors import BentpipeError
from bentpipe.experiment.execution import workers
from bentpipe.experiment.single import task
from tests.test_tune_runs import SCENARIO

pytest.importorskip("distributed")

# These tests wait for other processes, or have many runs.
pytestmark = pytest.mark.timeout(600)

PATIENCE_S = 120
"""Longest wait for an event, in seconds. No test depends on its duration."""
RATES = {"link.down.error.rate": [0.002, 0.01]}
DASK = [sys.executable, "-m", "dask"]


def files(store):
    return {path.name: path.read_bytes() for path in sorted(store.glob("*.parquet"))}


def wait_until(is_so, what, process=None, look_s=0.01):
    """Poll until a condition holds. Fail if the process ends before."""
    end_s = time.monotonic() + PATIENCE_S
    while not is_so():
        has_ended = process is not None and process.poll() is not None
        # The process may have ended because the condition holds.
        assert not has_ended or is_so(), f"a process ended with {process.returncode} before {what}"
        assert time.monotonic() < end_s, f"not in {PATIENCE_S} s: {what}"
        time.sleep(look_s)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def programs(folder):
    """Start programs, and end them."""
    running = []
    # Dask asks a worker that was just killed for its results until this time is over, by default 30 s.
    env = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}

    def start(*command):
        with (folder / f"{len(running)}.log").open("w") as log:
            words = [str(part) for part in command]
            running.append(subprocess.Popen(words, stdout=log, stderr=log, cwd=folder, env=env))
        return running[-1]

    try:
        yield start
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait(PATIENCE_S)


@pytest.fixture
def started(tmp_path):
    """Start programs, and end them with the test."""
    with programs(tmp_path) as start:
        yield start


def start_scheduler(started, folder):
    """Start a scheduler without workers, and return its address."""
    port, at = free_port(), folder / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", port, "--no-dashboard", "--scheduler-file", at]
    process = started(*DASK, "scheduler", *options)
    wait_until(at.exists, "the scheduler listens", process)
    return process, f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """Return the address of a scheduler. Each test starts its workers."""
    folder = tmp_path_factory.mktemp("scheduler")
    with programs(folder) as start:
        yield start_scheduler(start, folder)[1]


def start_worker(started, scheduler, *python):
    """Start a worker with one thread that nothing restarts."""
    command = python or DASK
    options = ["--nthreads", 1, "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    return started(*command, "worker", scheduler, *options)


def test_a_cluster_gives_the_same_bytes_although_a_worker_is_killed(small, tmp_path, started, scheduler):
    workers = [start_worker(started, scheduler) for _ in range(2)]
    asked = {"vary": RATES, "replications": 60, "tables": ["flows", "drops"]}
    killed = []

    def kill(progress):
        if progress.done >= 20 and not killed:
            killed.append(progress.left)
            workers[0].kill()

    wait_until_workers(scheduler, 2)
    result = bp.sweep(small, **asked, store=tmp_path / "cluster", on=f"dask://{scheduler}", progress=kill)
    assert workers[0].wait(PATIENCE_S) == -signal.SIGKILL
    assert killed[0] > 0
    assert workers[1].poll() is None
    assert (result.missing, result.failures) == (0, [])
    bp.sweep(small, **asked, store=tmp_path / "local")
    assert files(tmp_path / "cluster") == files(tmp_path / "local")


def test_a_search_on_a_cluster_has_the_result_of_a_local_one(started, scheduler):
    for _ in range(2):
        start_worker(started, scheduler)
    wait_until_workers(scheduler, 2)
    scenario = bp.loads(SCENARIO)
    there = bp.tune(scenario, on=f"dask://{scheduler}")
    assert json.dumps(there.to_dict()) == json.dumps(bp.tune(scenario, jobs=1).to_dict())


def wait_until_workers(scheduler, count):
    """Wait until the scheduler has exactly these workers.

    It notices late that workers of an earlier test have ended.
    """
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:
        wait_until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == count, f"{count} workers")


def test_local_workers_listen_on_loopback_only_and_leave_nothing_behind(small, tmp_path):
    options = ["--vary", "link.down.error.rate=0.002,0.01", "--replications", "20", "--tables", "flows,drops"]
    sweep = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "bentpipe",
            "sweep",
            small,
            *options,
            "--store",
            tmp_path / "cluster",
            "--on",
            "local:2",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    family = []
    hosts = set()

    def has_ended():
        family[:] = {*family, *of(sweep.pid)}
        hosts.update(host for process in family for host in listening(process))
        return sweep.poll() is not None

    try:
        # Checking all processes and their sockets takes longer than the runs.
        wait_until(has_ended, "the sweep ends", look_s=0.2)
        output, errors = sweep.communicate(timeout=PATIENCE_S)
    finally:
        sweep.kill()
    assert sweep.returncode == 0, errors
    assert len(family) >= 3
    assert hosts == {"127.0.0.1"}
    # Only the line of bentpipe.
    assert [line for line in errors.splitlines() if line] == [errors.splitlines()[-1]]
    assert errors.splitlines()[-1].startswith("40 of 40 runs, ")
    assert "best in goodput at" in output
    wait_until(lambda: not any(map(is_at_work, family)), "all processes of the sweep have ended")
    bp.sweep(small, RATES, replications=20, tables=["flows", "drops"], store=tmp_path / "local")
    assert files(tmp_path / "cluster") == files(tmp_path / "local")


def of(pid):
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def is_at_work(process):
    """Whether the process has not ended. It may end during the question."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def listening(process):
    try:
        connections = process.net_connections(kind="inet")
    except psutil.Error:
        return []
    return [connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN]


@pytest.mark.skipif(not os.environ.get("BENTPIPE_ALL"), reason="takes a minute: BENTPIPE_ALL=1")
def test_ctrl_c_ends_local_workers_too(small, tmp_path):
    options = ["--vary", "link.down.error.rate=0.002,0.01", "--replications", "5000", "--store", tmp_path / "store"]
    sweep = subprocess.Popen(
        [sys.executable, "-m", "bentpipe", "sweep", small, *options, "--on", "local:2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(
            lambda: (tmp_path / "store" / "index.sqlite").exists() and done(tmp_path / "store") > 10,
            "ten runs done",
            sweep,
        )
        family = of(sweep.pid)
        # To all of them, as a terminal does.
        for process in family:
            process.send_signal(signal.SIGINT)
        _, errors = sweep.communicate(timeout=PATIENCE_S)
    finally:
        sweep.kill()
    assert sweep.returncode == 130, errors
    assert "Traceback" not in errors
    assert "interrupted after " in errors.splitlines()[-1]
    wait_until(lambda: not any(map(is_at_work, family)), "all processes of the sweep have ended")
    assert bp.Sweep.load(tmp_path / "store").runs.height > 10


def done(store):
    try:
        return bp.Sweep.load(store).runs.height
    except BentpipeError:  # The sweep had not begun.
        return 0


def said(call, *args, **named):
    with pytest.raises(BentpipeError) as error:
        call(*args, **named)
    return str(error.value)


@pytest.mark.skipif(not os.environ.get("BENTPIPE_ALL"), reason="takes a quarter of a minute: BENTPIPE_ALL=1")
def test_a_scheduler_that_disappears_ends_with_what_was_kept_and_the_command_that_goes_on(small, tmp_path, started):
    scheduler, address = start_scheduler(started, tmp_path)
    start_worker(started, address)
    wait_until_workers(address, 1)
    (tmp_path / "small.toml").write_text(small.read_text())
    store, rates = tmp_path / "store", "link.down.error.rate=0.002,0.01"
    asked = ["--vary", rates, "--set", "duration=300 s", "--replications", "200", "--store", store]
    line = [sys.executable, "-m", "bentpipe", "sweep", "small.toml", *asked, "--on", f"dask://{address}"]
    sweep = subprocess.Popen(
        list(map(str, line)), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: done(store) > 2, "some runs are kept")
    scheduler.kill()
    _, errors = sweep.communicate(timeout=120)
    assert sweep.returncode == 2, errors
    assert "Traceback" not in errors
    found = re.search(
        r"error: the scheduler is gone: (\d+) of 400 runs are kept in (.*)\n.*\n  (bentpipe .*)\n", errors
    )
    assert found, errors
    assert found[2] == str(store)
    assert int(found[1]) == done(store) > 2
    # A shell accepts the command, and it has the options.
    words = shlex.split(found[3])
    assert words[:2] == ["bentpipe", "sweep"]
    assert words[-2:] == ["--store", str(store)]
    assert set(asked[:1] + asked[4:5]) <= set(words)


def test_a_cluster_that_is_not_there_is_said(small, tmp_path, monkeypatch):
    monkeypatch.setattr("bentpipe.experiment.execution.workers.CONNECT_S", 0.5)
    port = free_port()
    text = said(bp.sweep, small, RATES, on=f"dask://127.0.0.1:{port}", store=tmp_path / "store")
    assert text.startswith(
        f"the scheduler at 127.0.0.1:{port} does not answer\n  expected a running scheduler: dask scheduler\n"
    )
    assert not (tmp_path / "store").exists()


def test_a_scheduler_without_workers_is_said(small, tmp_path, scheduler):
    wait_until_workers(scheduler, 0)
    assert said(bp.sweep, small, RATES, on=f"dask://{scheduler}", store=tmp_path / "store") == (
        f"the scheduler at {scheduler} has no workers\n  start some: dask worker {scheduler}"
    )
    assert not (tmp_path / "store").exists()


def test_workers_with_another_bentpipe_are_said(small, tmp_path, started, scheduler, monkeypatch):
    other = (
        "import sys, bentpipe.version; bentpipe.version.__version__ = '0.0.0'; from dask.__main__ import main; main()"
    )
    start_worker(started, scheduler, sys.executable, "-c", other)
    wait_until_workers(scheduler, 1)
    text = said(bp.sweep, small, RATES, on=f"dask://{scheduler}", store=tmp_path / "store")
    assert re.fullmatch(
        rf"the worker tcp://127.0.0.1:\d+ has bentpipe 0.0.0, results {_core.RESULTS}, but the sweep has"
        rf" {re.escape(task.build())}\n  expected the same version everywhere",
        text,
    )
    # No work has begun.
    assert not (tmp_path / "store").exists()


def test_a_worker_with_another_python_is_named_before_work_begins(small, started, scheduler, caplog, monkeypatch):
    start_worker(started, scheduler)
    wait_until_workers(scheduler, 1)
    # The answer of a worker with another Python.
    asked = workers._ABOUT.replace("list(__import__('sys').version_info[:2])", "[3, 99]")
    assert "99" in asked
    monkeypatch.setattr(workers, "_ABOUT", asked)
    result = bp.sweep(small, RATES, on=f"dask://{scheduler}", replications=2)
    assert result.runs.height == 4
    (warning,) = [each.getMessage() for each in caplog.records if each.name == "bentpipe"]
    assert re.match(r"the worker tcp://127.0.0.1:\d+ has Python 3.99, and this process has Python 3.\d+; ", warning)


def test_that_no_worker_is_left_is_said_with_what_ctrl_c_keeps(
    small, tmp_path, started, scheduler, monkeypatch, caplog
):
    monkeypatch.setattr("bentpipe.experiment.execution.workers.DESERTED_S", 0.5)
    running = [start_worker(started, scheduler)]
    wait_until_workers(scheduler, 1)

    def warnings():
        return [each.getMessage() for each in caplog.records if each.name == "bentpipe"]

    def kill(progress):
        if progress.done >= 3 and len(running) == 1:
            running[0].kill()
            running.append(None)
        elif warnings() and len(running) == 2:
            # It goes on with another worker.
            running.append(start_worker(started, scheduler))

    result = bp.sweep(small, RATES, replications=60, on=f"dask://{scheduler}", store=tmp_path / "store", progress=kill)
    assert len(running) == 3
    assert result.runs.height == 120
    (warning,) = warnings()
    assert re.fullmatch(
        rf"no worker is left at the scheduler {scheduler} \(dask worker {scheduler} starts one\); waiting."
        r" Ctrl-C keeps \d+ of 120 runs",
        warning,
    )


def test_results_that_are_lost_before_they_are_fetched_are_made_again(
    small, tmp_path, started, scheduler, monkeypatch, caplog
):
    monkeypatch.setattr("bentpipe.experiment.execution.workers.DESERTED_S", 0.5)
    running = [start_worker(started, scheduler)]
    wait_until_workers(scheduler, 1)
    taken = workers.Cluster._take

    def take(self, count):
        found = taken(self, count)
        if found and len(running) == 1:
            running[0].kill()
            running.append(None)
            # The scheduler takes back what it had told.
            wait_until(lambda: all(future.status == "lost" for _, future in found), "loss is told")
        return found

    def start_another(progress):
        # Only who still hears of the progress can start it.
        if caplog.records and len(running) == 2:
            running.append(start_worker(started, scheduler))

    monkeypatch.setattr(workers.Cluster, "_take", take)
    result = bp.sweep(
        small, RATES, replications=4, on=f"dask://{scheduler}", store=tmp_path / "store", progress=start_another
    )
    assert len(running) == 3
    assert result.runs.height == 8


def test_workers_without_bentpipe_are_said(small, tmp_path, started, scheduler):
    without = "import sys; sys.modules['bentpipe'] = None; from dask.__main__ import main; main()"
    start_worker(started, scheduler, sys.executable, "-c", without)
    wait_until_workers(scheduler, 1)
    text = said(bp.sweep, small, RATES, on=f"dask://{scheduler}", store=tmp_path / "store")
    assert text.startswith("the worker tcp://127.0.0.1:")
    assert " cannot run simulations: " in text
    assert text.endswith(f"\n  expected bentpipe {bp.__version__} on every worker")


@pytest.mark.parametrize("on", ["", "local", "local:two", "dask://", "slurm", "127.0.0.1:8786"])
def test_a_place_that_means_nothing_is_said(small, on):
    assert said(bp.sweep, small, RATES, on=on) == (
        f"on={on!r}\n  expected local:N for N processes here, or dask://HOST:PORT of a scheduler"
    )


@pytest.mark.parametrize("count", [0, 1025])
def test_processes_are_counted(small, count):
    message = f"on='local:{count}': {count} processes\n  expected 1 to 1024"
    assert said(bp.sweep, small, RATES, on=f"local:{count}") == message


def test_jobs_and_a_cluster_contradict_each_other(small):
    assert said(bp.sweep, small, RATES, on="local:2", jobs=3) == (
        "jobs=3 with on='local:2'\n  expected one of the two: the cluster decides the number of its workers"
    )


def test_a_task_is_the_same_as_here_when_it_arrives_as_text(small):
    core = bp.load(small)._core
    there = task.execute_text(core.to_json(), 7, ["flows"], task.build())
    assert json.loads(there) == json.loads(task.execute(core, 7, ["flows"]))
