"""Jobs of the studio and their workers: order, progress, stop, and failures."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.studio import worker
from bentpipe.studio.folders import Folder
from bentpipe.studio.jobs import WAITING_MAX, Jobs
from bentpipe.studio.page.library import open_result
from bentpipe.studio.page.session import Session
from bentpipe.studio.state import Studio
from tests.studio_pages import SHORT, server, until

LONG = SHORT.replace('"2 s"', '"1000000 s"')
HANGS = """
import time
import bentpipe as bp
class Hangs(bp.Reno):
    def on_ack(self, *_):
        while True:
            try:
                time.sleep(100)
            except BaseException:
                pass
"""

HOLDS = """
import time
from bentpipe.studio import worker
worker.PROGRESS_EVERY_S = worker.PARTIAL_EVERY_S = 1000.0
class Reporter(worker.Reporter):
    def __call__(self, progress):
        super().__call__(progress)
        while progress.doing.startswith("search, rung 2"):
            time.sleep(0.01)
worker.Reporter = Reporter
worker.main()
"""
"""A worker that stays in the second rung of a search until it is stopped, on a machine of any speed."""


@pytest.fixture
def studio(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    return Studio(Folder(tmp_path), Jobs(1), "short.toml")


def submit(studio, text=SHORT, kind="run", **more):
    request = studio.request(text, "short.toml", {}, is_on_disk=True)
    place = studio.folder.new_run()[1] if kind == "run" else studio.folder.new_result()
    return studio.jobs.submit(kind, "short", {**request, "place": str(place), **more}, "page")


def acted(studio, act):
    async def whole():
        try:
            return await act()
        finally:
            await studio.jobs.close()

    return asyncio.run(whole())


def test_a_run_is_saved_with_its_text_and_progress_is_told(studio):
    heard = []

    async def act():
        studio.jobs.subscribe(lambda job: heard.append((job.state, dict(job.progress))))
        job = submit(studio)
        await until(lambda: job.is_over)
        return job

    job = acted(studio, act)
    assert (job.state, job.error) == ("done", "")
    result = bp.RunResult.load(studio.folder.run(job.run))
    assert result.stop == "time-limit"
    assert {"cwnd_bytes", "losses", "decisions", "limited_by"} <= set(result.recorded)
    # The result of the library for the same scenario.
    assert result.flows.equals(bp.run(bp.loads(SHORT)).flows)
    assert any(state == "running" and progress["simulated_s"] is not None for state, progress in heard if progress)
    assert heard[-1][0] == "done"


def test_jobs_wait_in_order_and_a_page_has_so_many(studio):
    async def act():
        first = submit(studio, LONG)
        waiting = [submit(studio) for _ in range(WAITING_MAX)]
        assert [job.state for job in waiting] == ["waiting"] * WAITING_MAX
        with pytest.raises(BentpipeError, match="jobs of this page wait already"):
            submit(studio)
        await until(lambda: first.progress)
        assert waiting[0].state == "waiting"
        studio.jobs.stop(waiting[1])
        assert waiting[1].state == "stopped"
        studio.jobs.stop(first)
        await until(lambda: all(job.is_over for job in waiting))
        assert [job.state for job in waiting] == ["done", "stopped", "done", "done"]
        assert first.state == "stopped"
        assert studio.folder.about(first.run)["stop"] == "interrupted"

    acted(studio, act)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_worker_takes_only_its_job(studio, number):
    async def act():
        job = submit(studio, LONG)
        await until(lambda: job.progress)
        studio.jobs._processes[job.number].send_signal(number)
        await until(lambda: job.is_over)
        assert job.state == "failed"
        assert ("killed (SIGKILL)" if number == signal.SIGKILL else "crashed (SIGSEGV)") in job.error
        # No half of a run is left, and the next one goes.
        assert studio.folder.runs() == []
        again = submit(studio)
        await until(lambda: again.is_over)
        assert again.state == "done"

    acted(studio, act)


def test_a_class_that_hangs_is_ended_by_force(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "mine.py").write_text(HANGS)
    studio = Studio(Folder(tmp_path), Jobs(1), "short.toml", (f"{tmp_path}/mine.py:Hangs",))

    async def act():
        job = submit(studio, SHORT + '[tcp]\ncc = "Hangs"\n')
        await until(
            lambda: studio.jobs._processes and psutil.Process(studio.jobs._processes[job.number].pid).num_threads() > 1
        )
        studio.jobs.stop(job)
        await until(lambda: job.is_over)
        assert job.state == "stopped"
        assert studio.folder.runs() == []

    acted(studio, act)


def test_a_scenario_that_is_refused_gives_its_problems(studio):
    async def act():
        job = submit(studio, SHORT.replace("2 Mbit/s", "2 Mbitt/s"))
        await until(lambda: job.is_over)
        assert job.state == "failed"
        assert job.problems[0]["key"] == "link.sat.rate"

    acted(studio, act)


def test_a_full_disk_is_an_error_of_the_job(studio, monkeypatch):
    # A limit on the size of files takes the place of the disk: the worker inherits it.
    code = (
        "import resource, signal, runpy; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
        "runpy.run_module('bentpipe.studio.worker', run_name='__main__')"
    )
    studio.jobs = Jobs(1, (sys.executable, "-B", "-c", code))

    async def act():
        job = submit(studio)
        await until(lambda: job.is_over)
        assert job.state == "failed"
        assert "cannot be written: file too large" in job.error
        assert studio.folder.runs() == []
        assert [path.name for path in studio.folder.runs_path.iterdir()] == []

    acted(studio, act)


def test_too_little_memory_is_an_error_of_the_job(studio):
    async def act():
        job = submit(studio, memory_share=0.0001)
        await until(lambda: job.is_over)
        assert job.state == "failed"
        assert job.error
        again = submit(studio)
        await until(lambda: again.is_over)
        assert again.state == "done"

    acted(studio, act)


@pytest.mark.parametrize(
    "command",
    [("/nowhere/python",), (sys.executable, "-c", "print('no JSON')"), (sys.executable, "-c", "raise SystemExit(3)")],
)
def test_a_worker_that_makes_no_sense_fails_its_job(studio, command):
    studio.jobs = Jobs(1, command)

    async def act():
        job = submit(studio)
        await until(lambda: job.is_over)
        assert job.state == "failed"
        assert job.error

    acted(studio, act)


def test_what_a_class_prints_does_not_disturb(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "mine.py").write_text("import bentpipe as bp\nprint('loud')\nclass Loud(bp.Reno):\n    pass\n")
    studio = Studio(Folder(tmp_path), Jobs(1), "short.toml", (f"{tmp_path}/mine.py:Loud",))

    async def act():
        job = submit(studio, SHORT + '[tcp]\ncc = "Loud"\n')
        await until(lambda: job.is_over)
        assert (job.state, job.error) == ("done", "")

    acted(studio, act)


def test_compare_and_sweep_give_parts_while_they_run(studio, monkeypatch):
    monkeypatch.setattr(worker, "PROGRESS_EVERY_S", 0.0)
    monkeypatch.setattr(worker, "PARTIAL_EVERY_S", 0.0)
    monkeypatch.setattr(worker, "PARTIAL_SHARE", 1e9)
    request = studio.request(SHORT, "short.toml", {}, is_on_disk=True)
    vary = {"tcp.cc": ["cubic", "reno"], "link.sat.delay": ["10 ms", "20 ms"]}
    heard = []
    found = worker.sweep(
        {**request, "options": {"vary": vary, "replications": 3, "jobs": 1}}, lambda **answer: heard.append(answer)
    )
    parts = [answer["partial"] for answer in heard if "partial" in answer]
    assert parts
    assert any(part["missing"] for part in parts)
    assert {point["wanted"] for part in parts for point in part["points"]} == {3}
    # At the end, the numbers of the library.
    expected = bp.sweep(bp.loads(SHORT), vary, replications=3)
    assert [point["at"] for point in found["points"]] == [
        [cc, delay] for cc in vary["tcp.cc"] for delay in vary["link.sat.delay"]
    ]
    assert [point["mean"] for point in found["points"]] == expected.table["mean"].to_list()
    assert (found["missing"], found["statements"]) == (0, expected.statements)
    first, *others = expected.ranking("goodput")
    assert found["best"] == {"goodput": [expected.names[first.point]]}
    # Other points that are not shown to be worse are ties.
    assert found["ties"] == {"goodput": [expected.names[each.point] for each in others if not each.is_worse]}
    unsaved = {**request, "is_on_disk": False, "options": {"vary": {"duration": ["1 s", "2 s"]}, "replications": 1}}
    assert worker.sweep(unsaved, lambda **answer: None)["command"] == worker.NOT_ON_DISK
    heard.clear()
    found = worker.compare(
        {**request, "options": {"cc": ["cubic", "reno"], "replications": 4, "jobs": 1}},
        lambda **answer: heard.append(answer),
    )
    counts = {case["replications"] for answer in heard if "partial" in answer for case in answer["partial"]["cases"]}
    assert min(counts) < 4
    assert {case["replications"] for case in found["cases"]} == {4}
    assert found["wanted"] == 4
    comparison = bp.compare(bp.loads(SHORT), ["cubic", "reno"], replications=4)
    assert found["statements"] == comparison.statements
    assert {case["of"]: case["values"] for case in found["cases"]} == {
        name: comparison.values(name, "goodput").tolist() for name in comparison.names
    }


SEARCH = """
[tune]
objective = { goodput = 1 }
vary = { tcp.cc = ["cubic", "reno"], tcp.initial_window = ["10 segments", "20 segments", "40 segments"] }
"""


def test_a_search_gives_its_rungs_while_it_runs(studio, tmp_path, monkeypatch):
    for name, value in (("PROGRESS_EVERY_S", 0.0), ("PARTIAL_EVERY_S", 0.0), ("PARTIAL_SHARE", 1e9)):
        monkeypatch.setattr(worker, name, value)
    text = SHORT + SEARCH
    (tmp_path / "short.toml").write_text(text)
    request = studio.request(text, "short.toml", {}, is_on_disk=True)
    heard, place = [], studio.folder.new_result()
    found = worker.tune(
        {**request, "place": str(place), "options": {"budget": "500", "jobs": 1}},
        lambda **answer: heard.append(answer),
    )
    parts = [answer["partial"] for answer in heard if "partial" in answer]
    counts = [len(part["rungs"]) for part in parts]
    assert counts == sorted(counts)
    assert set(counts) >= {0, 1, 2, 3}
    assert all(part["verdict"] == "interrupted" and not part["statements"] for part in parts)
    for part in parts:
        for rung in part["rungs"]:
            assert len(rung["settings"]) == rung["points"]
            assert sum(setting["kept"] for setting in rung["settings"]) == rung["kept"]
    steps = [answer["progress"]["label"] for answer in heard if "progress" in answer]
    assert any(step.startswith("search, rung 2 of 4") for step in steps)
    # At the end, the result of the library, which the store has, too.
    expected = bp.tune(bp.loads(text), budget="500")
    assert (found["verdict"], found["statements"]) == (expected.verdict, expected.statements)
    assert found["command"] == "bentpipe tune short.toml --budget 500"
    ((name, _),) = studio.folder.stores()
    kind, again = open_result(Session(studio, "page"), name)
    assert (kind, again["rungs"], again["worth"]) == ("tune", found["rungs"], found["worth"])


def test_a_search_that_is_stopped_keeps_its_rungs_and_its_store(studio, tmp_path):
    text = SHORT + SEARCH
    (tmp_path / "short.toml").write_text(text)
    studio.jobs = Jobs(1, (sys.executable, "-c", HOLDS))

    async def act():
        job = submit(studio, text, "tune", options={"budget": "500", "jobs": 1})
        await until(lambda: (job.partial or {}).get("rungs"))
        studio.jobs.stop(job)
        await until(lambda: job.is_over)
        assert job.state == "stopped"
        assert len(job.result["rungs"]) == 1
        assert job.result["statements"][0].startswith("Interrupted after")

    acted(studio, act)


def test_the_worker_ends_with_its_server(tmp_path):
    (tmp_path / "short.toml").write_text(LONG)
    request = Studio(Folder(tmp_path), Jobs(1), "short.toml").request(LONG, "short.toml", {}, is_on_disk=True)
    with subprocess.Popen(
        [sys.executable, "-m", "bentpipe.studio.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write(json.dumps({**request, "kind": "run", "place": str(tmp_path / "run")}) + "\n")
        process.stdin.flush()
        assert "progress" in json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(30) == 1
    assert not (tmp_path / "run").exists()


SERVER = """
import asyncio, sys
from bentpipe.studio.folders import Folder
from bentpipe.studio.jobs import Jobs
from bentpipe.studio.state import Studio

async def main():
    studio = Studio(Folder("."), Jobs(1), "short.toml")
    request = studio.request(open("short.toml").read(), "short.toml", {}, is_on_disk=True)
    job = studio.jobs.submit("run", "t", {**request, "place": str(studio.folder.new_run()[1])})
    while not job.progress:
        await asyncio.sleep(0.01)
    print(studio.jobs._processes[job.number].pid, flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def test_a_killed_server_leaves_no_worker(tmp_path):
    (tmp_path / "short.toml").write_text(LONG)
    with subprocess.Popen([sys.executable, "-c", SERVER], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        worker_ = psutil.Process(int(process.stdout.readline()))
        assert worker_.is_running()
        process.kill()
        worker_.wait(30)
    assert Folder(tmp_path).runs() == []


BABBLES = """
import sys, time
print('FIRST', flush=True)
sys.stdout.write("x" * 1000000)
sys.stdout.flush()
time.sleep(1000)
"""


class Kept(dict):
    """Processes that a test looks at after their end."""

    def pop(self, number, *_):
        return self[number]


@pytest.mark.parametrize("first", ["babble", json.dumps({"progress": {"share": 0.1}})])
def test_a_worker_that_babbles_is_ended_with_its_pipes(tmp_path, studio, first):
    (tmp_path / "babbles.py").write_text(BABBLES.replace("FIRST", first))
    studio.jobs = Jobs(1, (sys.executable, str(tmp_path / "babbles.py")))
    studio.jobs._processes = Kept()

    async def act():
        job = submit(studio)
        await until(lambda: job.is_over or job.progress)
        process = studio.jobs._processes[1]
        if job.progress:
            # Within the second answer.
            process.kill()
        await until(lambda: job.is_over)
        assert ("killed" if job.progress else "makes no sense") in job.error
        assert process.returncode is not None
        assert all(process._transport.get_pipe_transport(pipe).is_closing() for pipe in range(3))

    acted(studio, act)


def test_closing_ends_a_worker_that_begins_and_starts_no_other(studio):
    async def act():
        jobs = [submit(studio, LONG), submit(studio, LONG)]
        # The first worker is being started.
        await asyncio.sleep(0)
        await studio.jobs.close()
        assert [job.state for job in jobs] == ["failed", "waiting"]
        assert studio.jobs._processes == {}

    acted(studio, act)


def test_ctrl_c_ends_the_server_without_a_traceback(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    with server(tmp_path, "short.toml") as (process, host, token):
        del host, token
        process.send_signal(signal.SIGINT)
        assert (process.wait(30), process.errors()) == (0, "")


EARLY = """
import os, runpy, signal
from uvicorn.lifespan.on import LifespanOn

async def startup(self, begin=LifespanOn.startup):
    os.kill(os.getpid(), signal.SIGINT)
    await begin(self)

LifespanOn.startup = startup
runpy.run_module("bentpipe", run_name="__main__")
"""


def test_ctrl_c_ends_a_server_that_just_starts(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", EARLY, "studio", "--no-browser", "geo"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("text", ["x = [", "", "title = 1"])
def test_a_scenario_that_makes_no_sense_is_opened_to_be_repaired(tmp_path, text):
    (tmp_path / "short.toml").write_text(text)
    with server(tmp_path, "short.toml") as (process, host, token):
        del host, token
        assert process.poll() is None


def test_a_port_in_use_is_an_error_before_anything_is_printed(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "bentpipe", "studio", "--no-browser", "--port", str(port)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: port {port} cannot be used: address already in use")


def test_two_studios_in_one_folder_do_not_disturb_each_other(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    one, other = (Studio(Folder(tmp_path), Jobs(1), "short.toml") for _ in range(2))

    async def act():
        jobs = [submit(one), submit(other)]
        await until(lambda: all(job.is_over for job in jobs))
        await other.jobs.close()
        assert [job.state for job in jobs] == ["done", "done"]
        assert set(one.folder.runs()) == set(other.folder.runs()) == {job.run for job in jobs}

    acted(one, act)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.toml"], "nowhere.toml"),
        (["short.toml", "--folder", "nowhere"], "nowhere"),
        (["../outside.toml", "--folder", "."], "is not in"),
        (["short.toml", "--own", "short.toml:X"], "X"),
        (["short.toml", "--own", "nowhere.py:X"], "nowhere.py"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(tmp_path, arguments, message):
    place = tmp_path / "mine"
    place.mkdir()
    (place / "short.toml").write_text(SHORT)
    (tmp_path / "outside.toml").write_text(SHORT)
    done = subprocess.run(
        [sys.executable, "-m", "bentpipe", "studio", "--no-browser", *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_other_commands_load_nothing_of_the_studio():
    code = (
        "import sys; from bentpipe.cli.app import app; import bentpipe as bp; bp.run\n"
        "try: app(['list', 'scenarios'])\n"
        "except SystemExit: pass\n"
        "rooms = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(rooms & {'nicegui', 'fastapi', 'uvicorn'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.splitlines()[-1] == "[]"
