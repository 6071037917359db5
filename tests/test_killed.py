"""Commands that are killed at random instants, see another clock, or may not write: the next one ends with the same.

`BENTPIPE_KILLS` is the number of kills of each command (default 2).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe import files
from bentpipe.errors import BentpipeError
from tests import measurements

if TYPE_CHECKING:
    from collections.abc import Callable

KILLS = int(os.environ.get("BENTPIPE_KILLS", "20" if os.environ.get("BENTPIPE_ALL") else "1"))
BENTPIPE = [sys.executable, "-m", "bentpipe"]
JUMPING = Path(__file__).with_name("jumping.py")

pytestmark = pytest.mark.timeout(24 * 3600)

SCENARIO = """
duration = "3 s"
[link.l]
from = "a"
to = "b"
delay = "40 ms"
rate = "2 Mbit/s"
error = { kind = "packet", rate = 1e-2 }
[flow.f]
from = "a"
to = "b"
app = { kind = "request-response", response = "20 kB", think = "50 ms" }
[tune]
objective = { "fct:f" = 1 }
[tune.vary]
tcp.initial_window = ["10 segments", "20 segments"]
link.l.queue = ["1 bdp", "4 bdp"]
"""


def read_all(folder: Path) -> dict[str, bytes]:
    """Return the visible files of a folder by their names."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    is_hidden = lambda name: any(part.startswith(".") for part in name.parts)  # noqa: E731
    return {str(name): path.read_bytes() for name, path in sorted(found.items()) if not is_hidden(name)}


def fit(folder: Path) -> Any:
    """The scenario with its traces. Its digest of an older scenario depends on the file that it replaced."""
    found = {name: text for name, text in read_all(folder).items() if name.startswith("path")}
    about = json.loads(found.pop("path.data/provenance.json"))
    about.pop("replaced_digest", None)
    return found, about


def tune(folder: Path) -> Any:
    text = subprocess.run([*BENTPIPE, "tune", "s.toml", "--json"], cwd=folder, capture_output=True, check=True).stdout
    return {name: value for name, value in json.loads(text).items() if name not in ("source", "folder")}


def reproduce(folder: Path) -> Any:
    found = read_all(folder / "out")
    # The index of the store also has the runs of killed commands.
    return {name: text for name, text in found.items() if name.endswith((".csv", ".parquet", ".md", ".toml"))}


COMMANDS: dict[str, tuple[list[str], Callable[[Path], Any]]] = {
    "fit": (["fit", "ping.txt", "-o", "path.toml", "--draws", "5", "-q"], fit),
    "tune": (["tune", "s.toml", "-q", "--jobs", "2"], tune),
    "reproduce": (["reproduce", "hswa", "--claim", "HSWA-13", "-o", "out", "-q", "--jobs", "2"], reproduce),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "ping.txt").write_text(measurements.ping(), encoding="utf-8")
    return tmp_path


def start(folder: Path, verb: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BENTPIPE, *COMMANDS[verb][0]],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(folder: Path, verb: str) -> Any:
    """Run a command to its end, and return what it wrote."""
    process = start(folder, verb)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return COMMANDS[verb][1](folder)


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_command_killed_at_any_instant_goes_on_with_the_same_result(
    verb: str, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("whole")
    for name in ("s.toml", "ping.txt"):
        (other / name).write_bytes((folder / name).read_bytes())
    begin = time.monotonic()
    expected = finish(other, verb)
    took_s = time.monotonic() - begin
    assert expected
    draw = random.Random(f"{verb} {KILLS}")
    for kill in range(KILLS):
        process = start(folder, verb)
        time.sleep(draw.uniform(0, 1.1 * took_s))
        # With its workers: a worker alone that ends is another matter.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if kill % 4 == 3 or kill == KILLS - 1:
            assert finish(folder, verb) == expected, f"after kill {kill}"


def test_a_fit_killed_between_its_two_files_is_replaced_by_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder with the traces is new, and the scenario is the older one. It does not count as edited."""
    place = folder / "path.toml"
    fitted = bp.fit(folder / "ping.txt", check=False)
    fitted.save(place, draws=2)
    (folder / "ping.txt").write_text(measurements.ping(rtt=80.0), encoding="utf-8")
    newer = bp.fit(folder / "ping.txt", check=False)
    before = place.read_bytes()

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(files, "replace_text", die)
        with pytest.raises(KeyboardInterrupt):
            newer.save(place, draws=2)
    assert place.read_bytes() == before
    newer.save(place, draws=2)
    assert b"80" in place.read_bytes() != before
    place.write_bytes(before + b"# edited\n")
    with pytest.raises(BentpipeError, match="was edited since fit wrote it"):
        newer.save(place, draws=2)


def test_a_clock_that_jumps_changes_no_result(folder: Path) -> None:
    """A run is known by its digest, and a lease by a lock of the system. The time of day decides nothing."""
    vary = ["--vary", "tcp.cc=reno,cubic", "--replications", "20", "--json", "--jobs", "2"]
    outputs = []
    for seed, store in ((1, "one"), (2, "one"), (3, "two")):
        command = [sys.executable, str(JUMPING), str(seed), "sweep", "s.toml", *vary, "--store", store]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(json.loads(done.stdout))
    plain = subprocess.run(
        [*BENTPIPE, "sweep", "s.toml", *vary, "--store", "three"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert outputs == [json.loads(plain.stdout)] * 3
    tables = [read_all(folder / store) for store in ("one", "two", "three")]
    assert len({table["runs.parquet"] for table in tables}) == 1


WRITERS = {
    "run": ["run", "s.toml", "--save", "no/run"],
    "run --pcap": ["run", "s.toml", "--pcap", "no/p"],
    "run --plot": ["run", "s.toml", "--plot", "no/p.png"],
    "compare": ["compare", "s.toml", "--cc", "reno,cubic", "-n", "2", "--store", "no/c"],
    "sweep": ["sweep", "s.toml", "--vary", "tcp.cc=reno,cubic", "-n", "2", "--store", "no/s"],
    "tune": ["tune", "s.toml", "--store", "no/t"],
    "fit": ["fit", "ping.txt", "-o", "no/path.toml", "--no-check"],
    "reproduce": ["reproduce", "hswa", "--claim", "HSWA-13", "-o", "no/r"],
    "reproduce --new": ["reproduce", "--new", "no/mine"],
    "init": ["init", "no/mine", "--from", "geo"],
}


@pytest.fixture
def in_read_only(folder: Path) -> Callable[[list[str]], subprocess.CompletedProcess[str]]:
    """Run a command beside a folder `no` of a file system that is mounted read-only: also root cannot write there."""
    (folder / "no").mkdir()
    script = 'mount -t tmpfs none no && mount -o remount,ro none no && exec "$@"'

    def run(words: list[str]) -> subprocess.CompletedProcess[str]:
        unshare = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
        return subprocess.run(
            [*unshare, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )

    try:
        is_able = run(["true"]).returncode == 0
    except OSError:
        is_able = False
    if not is_able:
        pytest.skip("mounting is not permitted here")
    return run


PATIENCE_S = 600
"""Longest wait for a command that refuses at its start."""


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_without_permission_is_reported_before_any_work(
    name: str, in_read_only: Callable[[list[str]], subprocess.CompletedProcess[str]]
) -> None:
    done = in_read_only([*BENTPIPE, *WRITERS[name]])
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert "error: " in done.stderr
    assert "write-protected" in done.stderr or "read-only file system" in done.stderr
    assert "no/" in done.stderr
    assert not done.stdout.strip()
