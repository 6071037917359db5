"""The kit for tests of programs: statuses, attempts, quantiles, baselines, and the pytest plugin."""

import json
import logging
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bentpipe.emulation.attempts import repeat_until_trustworthy
from bentpipe.errors import BentpipeError
from bentpipe.testing.plugin import annotate
from bentpipe.testing.runs import Runs, find_ranks

# They wait for other processes.
pytestmark = pytest.mark.timeout(600)


class UnfitError(Exception):
    """The test ended as unfit."""


def give_up(reason):
    raise UnfitError(reason)


def found(is_trustworthy, stopped="ended"):
    sentence = "Trustworthy." if is_trustworthy else "Not trustworthy: load."
    return SimpleNamespace(trust=SimpleNamespace(is_trustworthy=is_trustworthy, sentence=sentence), stopped=stopped)


@pytest.mark.parametrize(
    ("verdicts", "attempts", "count"),
    [([True], 5, 1), ([False, False, True, True], 5, 3), ([False] * 9, 3, 3), ([False, True], 1, 1)],
)
def test_a_run_is_repeated_until_it_is_trustworthy(verdicts, attempts, count, caplog):
    runs, pauses = iter(map(found, verdicts)), []
    with caplog.at_level(logging.WARNING, logger="bentpipe"):
        last, number = repeat_until_trustworthy(lambda: next(runs), attempts, pauses.append)
    assert number == count == len(pauses) + 1
    assert last.trust.is_trustworthy == verdicts[count - 1]
    # Each further pause is longer, and each repetition is reported.
    assert pauses == sorted(set(pauses))
    assert len(caplog.messages) == count - 1
    assert all("Not trustworthy: load." in each for each in caplog.messages)


def test_an_interrupted_run_is_not_repeated():
    assert repeat_until_trustworthy(lambda: found(False, "interrupted"), 9)[1] == 1


def strict(*words):
    line = [sys.executable, "-m", "bentpipe", "emulate", "--strict", "-q", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=120).returncode


@pytest.mark.usefixtures("namespaces")
def test_each_status_of_strict_means_one_thing():
    path = ["--delay", "5ms", "--attempts", "3"]
    code = [sys.executable, "-c", "import sys; raise SystemExit(int(sys.argv[1]))"]
    # 2 and 3 are those of the program, and 123 is a busy machine.
    for status in (0, 2, 3):
        assert strict(*path, "--", *code, str(status)) in (status, 123)
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert strict(*path, "--set", "duration=1 s", "--", *sleep) in (124, 123)
    for wrong in (["nosuch.toml"], ["--rate", "20mbit"], ["--nosuch"]):
        assert strict(*wrong, "--", "true") == 125
    assert strict(*path, "--", "no-such-program") == 125


def test_the_interval_of_a_quantile_holds_as_often_as_it_states():
    """Order statistics of 20 exponential values, against the true median and 90 % quantile."""
    dice = np.random.default_rng(1)
    for share in (0.5, 0.9):
        true = -np.log(1 - share)
        inside = []
        for _ in range(3000):
            ordered = np.sort(dice.exponential(size=20))
            low, high = find_ranks(20, share, 0.9)
            inside.append((low is None or ordered[low] <= true) and (high is None or true <= ordered[high]))
        assert 0.9 <= np.mean(inside) < 0.99


def runs(seconds, place, first=1, digest="d", is_update=False):
    return Runs([first + number for number in range(len(seconds))], list(seconds), digest, place, give_up, is_update)


def test_a_limit_is_passed_failed_or_undecided(tmp_path):
    at_place = tmp_path / "b.json"
    assert runs([1.0] * 80, at_place).check_below(1.1) is None
    with pytest.raises(AssertionError, match=r"the 95 % quantile is 2.00 s .* and the limit is 1.1 s"):
        runs([2.0] * 80, at_place).check_below(1.1)
    # Ten runs have no upper end of a 95 % quantile.
    assert runs([1.0] * 10, at_place).quantile(0.95).high is None
    with pytest.raises(UnfitError, match=r"undecided: .* at least 72 runs decide"):
        runs([1.0] * 10, at_place).check_below(1.1)


def test_a_baseline_is_compared_run_by_run(tmp_path):
    place, dice = tmp_path / "b.json", np.random.default_rng(3)
    paths = 1 + dice.exponential(size=10)
    assert runs(paths, place, is_update=True).check_baseline("fetch") is None
    # The other names stay.
    runs(paths * 2, place, is_update=True).check_baseline("other")
    assert set(json.loads(place.read_text())) == {"fetch", "other"}

    def again(factor):
        return runs(paths * factor * (1 + 0.01 * dice.standard_normal(10)), place).check_baseline("fetch")

    for _ in range(20):
        assert again(1.0).high < 1.1
    for _ in range(20):
        with pytest.raises(AssertionError, match=r"times that of the baseline 'fetch'.* and the limit is 1.100"):
            again(1.3)
    with pytest.raises(UnfitError, match="undecided"):
        runs(paths * np.where(np.arange(10) % 2, 1.3, 0.95), place).check_baseline("fetch")


def test_a_baseline_that_is_missing_or_of_another_path_decides_nothing(tmp_path):
    place = tmp_path / "b.json"
    with pytest.raises(UnfitError, match=r"b.json has no baseline 'fetch'; pytest --bentpipe-update writes it"):
        runs([1.0] * 10, place).check_baseline("fetch")
    runs([1.0] * 10, place, is_update=True).check_baseline("fetch")
    with pytest.raises(BentpipeError, match="was measured over another path\n  expected the same scenario"):
        runs([1.0] * 10, place, digest="e").check_baseline("fetch")
    # Without common seeds there are no pairs.
    with pytest.raises(UnfitError, match="too few pairs"):
        runs([1.0] * 10, place, first=100).check_baseline("fetch")
    place.write_text("{")
    with pytest.raises(BentpipeError, match=r"b.json"):
        runs([1.0] * 10, place).check_baseline("fetch")


IS_INSTALLED = any(each.name == "bentpipe" for each in entry_points(group="pytest11"))


def run_tests(folder, text, *options, **environment):
    """Run pytest in a folder as a visitor would."""
    (folder / "test_it.py").write_text(text)
    plugin = [] if IS_INSTALLED else ["-p", "bentpipe.testing.plugin"]
    line = [sys.executable, "-m", "pytest", "-rs", "-q", "-p", "no:cacheprovider", *plugin, *options]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GITHUB_"))}
    return subprocess.run(line, capture_output=True, text=True, cwd=folder, env={**clean, **environment}, timeout=300)


def test_the_wheel_declares_the_plugin():
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nbentpipe = "bentpipe.testing.plugin"\n' in text


def test_the_plugin_loads_nothing_until_a_test_uses_it():
    heavy = "[name for name in ('numpy', 'polars', 'scipy', 'click', 'bentpipe.emulation') if name in sys.modules]"
    code = f"import sys, bentpipe.testing.plugin; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


ASK = """
import sys

ECHO = "import socket; s = socket.create_connection(('server', 5001)); s.send(b'x'); print(s.recv(1).decode())"


def test_fetch(path):
    with path(delay="30 ms", seed=3) as p:
        done = p.run([sys.executable, "-c", ECHO], serve="echo").check()
        assert done.output == "x\\n"
        # The handshake and the answer take two round trips.
        assert done.seconds >= 0.12


def test_scenario(path):
    with path("geo", sets={"duration": "20 s"}) as p:
        runs = p.repeat(["true"], runs=2)
        assert runs.seeds == [1, 2]


def test_status(path):
    with path(delay="5 ms") as p:
        p.run([sys.executable, "-c", "print('before the end'); raise SystemExit(7)"]).check()
"""


@pytest.mark.usefixtures("namespaces")
def test_a_visitors_tests_pass_and_fail_for_the_right_reason(tmp_path):
    done = run_tests(tmp_path, ASK, "--bentpipe-attempts", "3", f"--junit-xml={tmp_path / 'junit.xml'}")
    text = done.stdout + done.stderr
    if "skipped" in text:
        pytest.skip("this machine is too loaded for an emulation")
    assert "1 failed, 2 passed" in text
    assert "AssertionError: status 7" in text
    assert "before the end" in text
    assert "path: delay 5 ms, seed 1" in text
    assert 'name="bentpipe" value="seed 3: Trustworthy' in (tmp_path / "junit.xml").read_text()


UNFIT = """
import bentpipe.testing.path as kit


def test_loaded(path, monkeypatch):
    def emulate(scenario, command, *, attempts, **options):
        trust = type("Trust", (), {"is_trustworthy": False, "sentence": "Not trustworthy: 9 % late."})
        return type("Found", (), {"trust": trust, "attempts": attempts, "stopped": "ended"})

    monkeypatch.setattr(kit, "emulate", emulate)
    path(delay="1 ms").run(["true"])


def test_forbidden(path, monkeypatch):
    from bentpipe.errors import EmulationError

    def emulate(*given, **options):
        raise EmulationError("the system does not allow it\\n  a remedy")

    kit.find_refusal.cache_clear()
    monkeypatch.setattr(kit, "emulate", emulate)
    path(delay="1 ms").run(["true"])


def test_without_a_path():
    assert False
"""


def test_an_unfit_machine_neither_passes_nor_fails_a_test(tmp_path):
    done = run_tests(tmp_path, UNFIT, "--bentpipe-attempts", "3", GITHUB_ACTIONS="true")
    assert "1 failed, 2 skipped" in done.stdout
    assert "3 attempts: Not trustworthy: 9 % late." in done.stdout
    assert "this machine allows no emulation: the system does not allow it a remedy" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("::")]
    # The other tests of the session are not ours.
    assert len(lines) == 1
    assert lines[0].startswith("::warning file=test_it.py,line=5,title=test_loaded::")
    assert lines[0].endswith("3 attempts: Not trustworthy: 9 %25 late.")
    (tmp_path / "pytest.ini").write_text("[pytest]\nbentpipe_unfit = fail\nbentpipe_attempts = 2\n")
    done = run_tests(tmp_path, UNFIT)
    assert "3 failed" in done.stdout
    assert "2 attempts: Not trustworthy" in done.stdout


def test_annotations_escape_what_ends_them():
    report = SimpleNamespace(location=("a,b.py", 4, "test_x[1:2]"), longrepr=("a", 5, "Skipped: 5 %\nnext"))
    assert annotate("error", report) == "::error file=a%2Cb.py,line=5,title=test_x[1%3A2]::Skipped: 5 %25%0Anext"


@pytest.mark.parametrize(
    "content",
    [
        "[1]",
        "{",
        '{"a": 3}',
        '{"a": {"path": "d"}}',
        '{"a": {"path": "d", "seeds": [1], "seconds": []}}',
        '{"a": {"path": "d", "seeds": [1], "seconds": ["x"]}}',
    ],
)
def test_a_damaged_baseline_is_named(tmp_path, content):
    place = tmp_path / "b.json"
    place.write_text(content)
    with pytest.raises(BentpipeError, match="is damaged"):
        runs([1.0] * 20, place).check_baseline("a")


@pytest.mark.parametrize("share", [0, 1, -0.5, 95, float("nan"), "much"])
def test_a_share_that_no_quantile_has_is_refused(tmp_path, share):
    with pytest.raises(BentpipeError, match="share"):
        runs([1.0] * 20, tmp_path / "b.json").quantile(share)
