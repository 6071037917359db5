"""Fixtures for all tests."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from filelock import FileLock

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import EmulationError
from bentpipe.experiment.execution import workers
from bentpipe.experiment.single import task
from bentpipe.reports.figures import Drawn

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell ignores SIGINT for background processes. Programs that tests interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONG = dict(line.split(" s  ")[::-1] for line in Path(__file__).with_name("long.txt").read_text().splitlines())
"""Tests that only BENTPIPE_ALL=1 runs, with the seconds that each took. Quicker tests are of the same parts."""


def pytest_collection_modifyitems(items):
    """Skip the long tests, so that all others end within minutes."""
    for item in [] if os.environ.get("BENTPIPE_ALL") else items:
        if seconds := LONG.get(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=f"takes {seconds} s: BENTPIPE_ALL=1"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Return the number of processes that test: more than cores, as tests spend a third of their time waiting."""
    return workers.cores() * 3 // 2


@pytest.fixture
def small():
    """Return the path of a scenario with two flows that takes milliseconds to run."""
    return Path(__file__).parent / "small.toml"


@pytest.fixture(scope="module")
def lossy():
    """Return the text of a scenario of two seconds over a link that loses packets. Test files add cases to it."""
    return (Path(__file__).parent / "lossy.toml").read_text()


@pytest.fixture
def written(lossy, tmp_path, monkeypatch):
    """Return the name of a file with that text, in the working directory of the test."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.toml").write_text(lossy)
    return "file.toml"


@pytest.fixture
def invoked():
    """Run a command, which must succeed, and return the JSON that it prints."""

    def run(*words):
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    return run


@pytest.fixture
def begun(monkeypatch):
    """Record the seeds of runs that begin from here on."""
    seeds = []

    def execute(scenario, seed, *rest):
        seeds.append(seed)
        return task.execute(scenario, seed, *rest)

    monkeypatch.setattr(workers, "execute", execute)
    return seeds


@pytest.fixture
def undrawn(monkeypatch):
    """Reports whose figures are made but not drawn: that takes most of the time. For tests of all other parts."""
    monkeypatch.setattr(
        Drawn, "from_figure", classmethod(lambda cls, figure, note="": cls(figure, '<svg width="1"></svg>'))
    )
    monkeypatch.setattr(Drawn, "write", lambda drawn, folder, name, note="": None)


REAL_TIME_TRIES = 3


@pytest.fixture
def trusted():
    """A function that repeats a real-time run until its verdict is trustworthy.

    It returns the result. If a busy machine spoils all tries, the test is skipped with the verdict as the reason.
    Assertions that hold on any machine belong into the run itself, all others after it.
    """

    def run(emulated, trust=lambda found: found.trust):
        for _ in range(REAL_TIME_TRIES):
            found = emulated()
            if trust(found).is_trustworthy:
                return found
        pytest.skip(f"{REAL_TIME_TRIES} tries: {trust(found).sentence}")

    return run


@pytest.fixture(scope="session")
def namespaces():
    """Skip the test if this system allows no emulation."""
    path = {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms"}
    try:
        bp.emulate({"duration": "1 s", "link": {"l": path}, "flow": {"f": {"from": "a", "to": "b"}}}, ["true"])
    except EmulationError as error:
        pytest.skip(str(error))


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    """Return a Chromium for the tests of one file. Other files may need the event loop that it occupies."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
    if CHROMIUM is None:
        pytest.skip("no Chromium (Debian's package chromium): no browser tests")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-3d-apis"]
    with playwright.sync_playwright() as run:
        opened = run.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def visitor(browser):
    """A reader who opens one page after another, so that the browser loads and compiles the libraries once."""
    context = browser.new_context(accept_downloads=True)
    yield context
    context.close()


STARTED = []
"""Programs that outlive their parent process, kept from the garbage collector, which would warn."""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Return the address for `--on` of a cluster that all processes of this session share. It ends with the session."""
    pytest.importorskip("distributed")
    is_one_of_several = "PYTEST_XDIST_WORKER" in os.environ
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if is_one_of_several else own
    address = folder / "cluster.txt"
    with FileLock(folder / "cluster.lock"):
        if not address.exists():
            session = os.getppid() if is_one_of_several else os.getpid()
            program = [sys.executable, Path(__file__).parent / "cluster.py", str(session), address]
            with (folder / "cluster.log").open("w") as log:
                STARTED.append(subprocess.Popen(program, stdout=log, stderr=log, cwd=folder, start_new_session=True))
            while not address.exists():
                assert STARTED[-1].poll() is None, (folder / "cluster.log").read_text()
                time.sleep(0.02)
    return f"dask://{address.read_text()}"


@pytest.fixture
def shortened():
    """Return the words of a command with these options: they replace its options or are added."""

    def with_options(words, options):
        words = list(words)
        for option, value in zip(options[::2], options[1::2], strict=True):
            key = f"{value.partition('=')[0]}=" if option == "--set" else ""
            pairs = enumerate(itertools.pairwise(words))
            place = next((at for at, (name, given) in pairs if name == option and given.startswith(key)), None)
            if place is None:
                words += [option, value]
            else:
                words[place + 1] = value
        return words

    return with_options
