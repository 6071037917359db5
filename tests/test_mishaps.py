"""Mishaps: full disks, long names, narrow terminals, and words of other tools."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe import files
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, ScenarioError

BENTPIPE = [sys.executable, "-m", "bentpipe"]
TOO_LONG = "a" * 300


def cli(*args, **given):
    return CliRunner().invoke(app, [str(arg) for arg in args], **given)


def process(*args, env=(), **given):
    done = subprocess.run(
        [*BENTPIPE, *map(str, args)], capture_output=True, check=False, env={**os.environ, **dict(env)}, **given
    )
    assert b"Traceback" not in done.stderr
    return done


@pytest.fixture
def full_disk(monkeypatch):
    """Simulate a disk that accepts files but not their content."""

    def refused(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write_bytes(path, _):
        path.touch()
        refused(path)

    monkeypatch.setattr(os, "fsync", refused)
    monkeypatch.setattr(Path, "write_bytes", write_bytes)


# Disks


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_an_older_figure_survives_a_full_disk(small, tmp_path, full_disk, ending):
    place = tmp_path / f"figure.{ending}"
    place.write_text("an older figure")
    done = cli("run", small, "--plot", place)
    assert done.exit_code == 2
    assert done.stderr == f"error: {place} cannot be written: no space left on device\n"
    assert place.read_text() == "an older figure"
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("command", [["run"], ["compare", "--cc", "reno,sack", "--replications", 1]])
def test_a_full_disk_leaves_no_part_of_a_result(small, tmp_path, full_disk, command):
    place = tmp_path / "result"
    done = cli(*command, small, "--save", place)
    assert done.exit_code == 2
    assert done.stderr == f"error: {place} cannot be written: no space left on device\n"
    assert not list(tmp_path.iterdir())


def test_a_link_to_a_figure_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    files.replace(tmp_path / "link.txt", b"new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    files.replace(tmp_path / ("ü" * 120 + ".svg"), b"x")
    files.put_folder(tmp_path / ("ü" * 120), "bentpipe run", lambda place: None, provenance={})
    assert len(list(tmp_path.iterdir())) == 2


KILLED = """
import os, signal, sys
from pathlib import Path
from bentpipe import files

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def fill(place):
    (place / "part").write_text("part")
    if sys.argv[2] == "filling":
        die()

if sys.argv[2] == "file":
    os.fsync = die
    files.replace(sys.argv[1], b"new")
if sys.argv[2] == "renaming":
    rename, names = Path.rename, []
    Path.rename = lambda self, other: die() if names else (names.append(self), rename(self, other))[1]
files.put_folder(sys.argv[1], "bentpipe run", fill, provenance={})
"""


@pytest.mark.parametrize("moment", ["filling", "renaming", "file"])
def test_the_next_write_removes_what_a_killed_process_left(tmp_path, moment):
    place = tmp_path / "result"
    if moment == "file":
        place.write_text("old")
    else:
        files.put_folder(place, "bentpipe run", lambda folder: None, provenance={})
    killed = subprocess.run([sys.executable, "-c", KILLED, place, moment], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    # Only a killed process leaves such a name. Other names stay, as do those of processes that are alive.
    left = [each for each in tmp_path.iterdir() if each.name.endswith((".new", ".old"))]
    assert left
    others = [
        tmp_path / ".result.1234.new",
        tmp_path / left[0].name.replace(left[0].name.split(".")[-2], str(os.getppid())),
    ]
    for other in others:
        other.mkdir()
    if moment == "file":
        files.replace(place, b"newer")
        assert place.read_text() == "newer"
    else:
        # The older result is moved aside before the new one comes: it must not be lost if the next write fails, too.
        with pytest.raises(BentpipeError, match="no room"):
            files.put_folder(place, "bentpipe run", fail, provenance={})
        assert files.find_form(place) == "bentpipe run"
        files.put_folder(place, "bentpipe run", lambda folder: None, provenance={})
    assert sorted(tmp_path.iterdir()) == sorted([place, *others])


def fail(folder):
    raise OSError(errno.ENOSPC, "no room")


@pytest.mark.parametrize(
    "args",
    [
        ["run", TOO_LONG],
        ["run", "a" * 5000],
        ["run", "SMALL", "--save", TOO_LONG],
        ["run", "SMALL", "--plot", f"{TOO_LONG}.svg"],
        ["sweep", "SMALL", "--vary", "tcp.cc=reno,sack", "--store", TOO_LONG],
        ["report", TOO_LONG],
    ],
)
def test_names_that_are_too_long_are_refused_before_any_work(small, tmp_path, monkeypatch, args):
    monkeypatch.chdir(tmp_path)
    done = cli(*(str(small) if arg == "SMALL" else arg for arg in args))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert len(done.stderr) < 500


def test_a_folder_that_is_gone_or_closed_is_an_error(small, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = process("run", "s.toml", env={"PYTHONPATH": str(Path(bp.__file__).parents[1])})
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")

    def closed(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "closed/s.toml")

    monkeypatch.setattr(Path, "exists", closed)
    with pytest.raises(ScenarioError, match=r"^closed/s.toml cannot be read: permission denied$"):
        bp.load("closed/s.toml")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc")
@pytest.mark.parametrize("option", [["--plot", "/proc/x.png"], ["--save", "/proc/x"]])
def test_a_place_that_takes_no_files_is_refused_before_the_run(small, option):
    done = cli("run", small, *option)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no file can be made in /proc" in done.stderr


def test_errors_of_the_system_are_errors_with_a_name(monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO), "disk/file")

    monkeypatch.setattr("bentpipe.catalog.schema", broken)
    done = cli("schema")
    assert (done.exit_code, done.stderr) == (2, "error: disk/file: input/output error\n")


# Terminals


@pytest.mark.parametrize(
    "env",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
def test_letters_that_a_terminal_does_not_have_degrade(small, env):
    table = process("compare", small, "--cc", "reno,sack", "--replications", 2, env=env)
    assert table.returncode == 0
    assert b"mean of 2 replications, +- 95 % interval" in table.stdout
    titled = process("run", small, "--set", "title=Zoë ± 1", "--json", env=env)
    assert b'"title": "Zo\\u00eb \\u00b1 1"' in titled.stdout


def test_bytes_that_are_no_letters_are_no_mishap(small, tmp_path):
    place = tmp_path / os.fsdecode(b"\xff.toml")
    place.write_text(small.read_text())
    for args in (
        ["run", place],
        ["run", small, "--set", b"title=\xff"],
        ["compare", small, "--case", b"\xff: tcp.cc=reno", "--case", "b: tcp.cc=sack", "--replications", 1],
        ["sweep", place, "--vary", "tcp.cc=reno,sack", "--replications", 1, "--store", tmp_path / os.fsdecode(b"\xfe")],
    ):
        done = process(*(os.fsdecode(arg) if isinstance(arg, bytes) else arg for arg in args))
        assert (done.returncode, b"error" in done.stderr) == (0, False)
    wrong = process("run", small, "--set", os.fsdecode(b"\xff=1"))
    assert wrong.returncode == 2
    assert b"is not a known key" in wrong.stderr


def test_an_unknown_width_is_80_columns(small):
    known, unknown = (cli("run", small, env={"COLUMNS": columns}).stdout for columns in ("80", "0"))
    assert unknown == known
    assert known


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_terminals_keep_names_and_values(small, width):
    wide, narrow = (cli("run", small, env={"COLUMNS": str(columns)}).stdout for columns in (120, width))
    # A command is never broken: it is copied.
    assert max(len(line) for line in narrow.splitlines() if not line.startswith("Next: ")) <= width
    assert set(wide.split()) == set(narrow.split())
    # Each block begins with the subject of its rows.
    heads = [line for line in narrow.splitlines() if re.match(r"(flow|link|where) ", line)]
    assert len(heads) > 3
    for command in (["compare", "--cc", "reno,sack"], ["mix", "--cc", "reno,sack"]):
        done = cli(*command, small, "--replications", 2, env={"COLUMNS": "40"}).stdout
        assert len(re.findall(r"^reno ", done, re.MULTILINE)) > 1
        assert "…" not in done


def test_paths_are_never_broken(small, tmp_path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    swept = cli("sweep", small, "--vary", "tcp.cc=reno,sack", "--replications", 2, "--store", deep / "s")
    assert f"All runs are in {deep / 's'}; tables and figures: bentpipe report {deep / 's'}\n" in swept.stdout
    told = cli("report", deep / "s").stdout
    assert f"{deep / 's' / 'report' / 'report.html'}\n" in told
    assert f"{deep / 's' / 'report' / 'figures'}\n" in told


def test_a_table_has_one_unit_for_a_quantity(small):
    done = cli("run", small, "--set", "link.down.queue=1000 packets", "--set", "duration=40 s").stdout.splitlines()
    head = next(at for at, line in enumerate(done) if "RTT p95" in line)
    units = done[head + 1].split()
    assert units[-1] == units[-2]
    assert "utilised" in cli("compare", small, "--cc", "reno,sack", "--replications", 1).stdout


# Inputs


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["compare", "SMALL"], "has no cases to compare"),
        (["mix", "SMALL", "--cc", "reno"], "needs two congestion controls or more"),
        (["compare", "SMALL", "--case", "a: tcp.cc=nope", "--case", "b: tcp.cc=reno"], '"nope" is not a congestion'),
        (["compare", "SMALL", "--case", "a: =3"], "error: --case a: =3\n"),
        (["compare", "SMALL", "--cc", "CUBIC"], "did you mean 'cubic'"),
        (["compare", "SMALL", "--cc", "BBRv3"], "did you mean 'bbr3'"),
        (["sweep", "SMALL", "--vary", "tcp.cc=reno,sack", "--until", "goodput=x"], "--until: x is not a share"),
        (["sweep", "SMALL", "--vary", "link.up.error.rate=1e-5..1e-1:3:foo"], "1e-5..1e-1:3:foo is not a range"),
        (["sweep", "SMALL", "--vary", "link.up.error.rate=1e-5..1e-1:-3"], "1e-5..1e-1:-3 is not a range"),
        (
            ["sweep", "SMALL", "--vary", "tcp.cc=reno,sack", "--on", "local:1000000"],
            "1000000 processes\n  expected 1 to",
        ),
        (["run", "SMALL", "--save", "-"], "--save - is not a folder"),
        (["run", "SMALL", "--set", "link.dwn.rate=1 Mbit/s"], 'did you mean "down"?'),
        (["run", "SMALL", "--set", "link.down.bandwidth=1 Mbit/s"], 'did you mean "rate"?'),
    ],
)
def test_mistakes_are_told_before_anything_is_printed(small, tmp_path, monkeypatch, args, text):
    monkeypatch.chdir(tmp_path)
    done = cli(*(str(small) if arg == "SMALL" else arg for arg in args))
    assert (done.exit_code, done.stdout) == (2, "")
    assert text in done.stderr


def test_a_scenario_comes_from_the_standard_input(small):
    text = small.read_text()
    assert cli("check", "-", input=text).stdout == cli("check", small).stdout
    whole = json.loads(cli("check", small, "--json").stdout)["scenario"]
    done = cli("check", "-", "--json", input=json.dumps(whole))
    assert json.loads(done.stdout)["scenario"] == whole
    wrong = cli("check", "-", input="duration = 5")
    assert "  -:1:12" in wrong.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_without_a_writer_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    said = []

    def load():
        for read in (lambda: bp.load(tmp_path / "pipe.py"), lambda: bp.run("geo", cc=f"{tmp_path}/pipe.py:Mine")):
            with pytest.raises(ScenarioError) as refused:
                read()
            said.append(str(refused.value))

    # In a thread, because a reader without a writer waits for ever.
    waiting = threading.Thread(target=load, daemon=True)
    waiting.start()
    waiting.join(30)
    assert [" is a pipe" in text for text in said] == [True, True]


def test_half_of_a_letter_is_no_text():
    with pytest.raises(ScenarioError, match=r"^'\\ud800' \(letter 8 of a text\) is not Unicode\n"):
        bp.loads("title='\ud800'")


@pytest.mark.parametrize("what", [None, 3, ["s1"]])
def test_what_is_no_scenario_is_said_by_its_value(what):
    with pytest.raises(ScenarioError, match=re.escape(f"{what!r} is not a scenario\n")):
        bp.run(what)


def test_one_flow_is_not_flows(small):
    scenario = bp.load("geo", {"duration": "1 s"})
    assert "1 flow," in repr(scenario)
    assert "1 flow," in repr(bp.run(scenario))
    assert "2 flows," in repr(bp.load(small))


def test_a_part_of_a_run_says_so_where_it_is_saved(small, tmp_path, monkeypatch):
    def interrupted(simulation, *_):
        simulation.advance(1000)
        raise KeyboardInterrupt

    monkeypatch.setattr("bentpipe.experiment.single.simulate.advance", interrupted)
    done = cli("run", small, "--save", tmp_path / "part")
    assert done.exit_code == 130
    assert re.fullmatch(rf"interrupted at .* of .* s; the run so far is saved in {tmp_path}/part\n", done.stderr)
    assert '"stop": "interrupted"' in (tmp_path / "part" / "provenance.json").read_text()


# Arguments in Python


def nested(depth):
    content = {}
    for _ in range(depth):
        content = {"a": content}
    return content


def inside_itself():
    content = {}
    content["a"] = content["b"] = content
    return content


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda small: bp.Scenario(nested(3000)), "this dict is nested too deep"),
        # As deep as Python writes, and not as deep as the core reads.
        (lambda small: bp.Scenario(nested(200)), "this dict is nested too deep"),
        (lambda small: bp.Scenario(inside_itself()), "this dict is nested too deep"),
        (lambda small: bp.load(small, {"tcp.cc": nested(3000)}), "tcp.cc is nested too deep"),
        (lambda small: bp.load(small, {"tcp.cc": nested(200)}), "tcp.cc is nested too deep"),
        (lambda small: bp.load(small, {"tcp.cc": inside_itself()}), "tcp.cc is nested too deep"),
        (lambda small: bp.load(small, {1: 2}), "1 is not a key of a scenario\n  expected text"),
        (lambda small: bp.load(small, {None: 2}), "None is not a key of a scenario"),
        (lambda small: bp.load(small, [1]), "sets = [1]\n  expected a dict, or pairs"),
        (lambda small: bp.load(small, 3), "sets = 3\n  expected a dict, or pairs"),
        (lambda small: bp.sweep(small, {1: 2}), "1 is not a name of a key\n  expected text"),
        (lambda small: bp.sweep(small, {None: [2]}), "None is not a name of a key"),
        (
            lambda small: bp.compare(small, cc=["reno", "sack"], jobs=float("nan")),
            "jobs = nan\n  expected a number",
        ),
        (lambda small: bp.compare(small, cc=["reno", "sack"], jobs=2.5), "jobs = 2.5\n  expected a whole number"),
        (lambda small: bp.report("x" * 100_000), "too long"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(small, call, words):
    with pytest.raises(BentpipeError) as refused:
        call(small)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 1000


def test_a_key_that_a_case_sets_twice_is_refused(small):
    done = cli("compare", small, "--case", "x: tcp.cc=reno; tcp.cc=cubic", "--case", "y: tcp.cc=sack")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "case x has tcp.cc twice\n  expected each key once" in done.stderr


def test_no_text_of_a_csv_table_is_a_formula():
    from bentpipe.reports.tables import Table

    names = ["=2+2", "+1", "-1+1|x", "@a", "\tb", "reno", "a=b"]
    data = pl.DataFrame({"case": names, "change": [-1.5] * len(names)})
    rows = Table("t", data, [], [], 1, len(names)).csv().splitlines()
    assert rows[1:] == ["'=2+2,-1.5", "'+1,-1.5", "'-1+1|x,-1.5", "'@a,-1.5", "'\tb,-1.5", "reno,-1.5", "a=b,-1.5"]
