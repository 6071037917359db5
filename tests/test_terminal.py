"""Terminals get visible text from any file; streams may be closed, full or broken."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import bentpipe as bp
from bentpipe.cli.tables import Shown, make_rows
from bentpipe.errors import ScenarioError
from bentpipe.terminal import HIDDEN, visible

# These tests wait for other processes, or have many runs.
pytestmark = pytest.mark.timeout(600)

BENTPIPE = [sys.executable, "-m", "bentpipe"]
EVIL = "\x1b]0;pwned\x07\x1b[31m\u202etxt\x9b2J"
ESCAPED = EVIL.replace("\x1b", "\\u001b").replace("\x07", "\\u0007").replace("\x9b", "\\u009b")
OURS = re.compile("\x1b\\[[0-9;]*m")


def bentpipe(*args, **given):
    return subprocess.run([*BENTPIPE, *map(str, args)], capture_output=True, check=False, **given)


def hidden(done):
    """Return the characters that a terminal would act on, except the colours of bentpipe."""
    text = OURS.sub("", (done.stdout + done.stderr).decode(errors="surrogateescape"))
    return HIDDEN.findall(text)


def test_hidden_characters_are_numbers_and_json_and_toml_stay_what_they_are():
    assert visible("a\tb\nü µ \u05d0") == "a\tb\nü µ \u05d0"
    for letter in EVIL + "\u061c\u200e\u2066\x7f":
        if HIDDEN.match(letter):
            assert json.loads(f'"{visible(letter)}"') == letter


@pytest.mark.parametrize("where", ["title", "flow", "link", "node", "case"])
@pytest.mark.parametrize("letter", ["\x1b", "\x7f", "\x85", "\u202e", "\u2066", "\u200f"])
def test_names_and_titles_with_hidden_characters_are_refused(small, where, letter):
    content = bp.load(small).to_dict()
    name = f"a{letter}b"
    if where == "title":
        content["title"] = name
    elif where == "case":
        content["case"] = {name: {"tcp": {"cc": "reno"}}}
    elif where == "node":
        content["flow"][next(iter(content["flow"]))]["to"] = name
    else:
        content[where][name] = next(iter(content[where].values()))
    with pytest.raises(ScenarioError, match="contains a control character or a direction mark") as refused:
        bp.Scenario(content)
    assert not HIDDEN.search(str(refused.value))


def test_names_of_cases_given_in_python_are_refused_too(small):
    for wrong in ({EVIL: {"tcp.cc": "reno"}}, {1: {"tcp.cc": "reno"}}, {" ": {}}):
        with pytest.raises(ScenarioError, match="name"):
            bp.compare(small, cases=wrong)
        with pytest.raises(ScenarioError, match="name"):
            bp.sweep(small, {"case": ["x"]}, cases=wrong)


@pytest.fixture
def evil(tmp_path, small):
    """A folder with files whose names and content are hostile."""
    text = small.read_text()
    (tmp_path / f"{EVIL}.toml").write_text(text)
    (tmp_path / "title.toml").write_text(text.replace("Two senders", ESCAPED))
    (tmp_path / "value.toml").write_text(text.replace("duration = ", f'duration = "{ESCAPED}" #', 1))
    (tmp_path / "raw.toml").write_text(text.replace("duration = ", f"# \x1b[31m {EVIL}\nduratio = ", 1))
    (tmp_path / "key.toml").write_text(f'{text}\n[flow."{ESCAPED}"]\n')
    (tmp_path / "trace.toml").write_text(
        text.replace("[flow", f"[link.x]\nerror = {{ kind = 'trace', file = '{EVIL[4:8]}' }}\n[flow", 1)
    )
    (tmp_path / "tle.txt").write_text(f"{EVIL}\n1 25544U\n2 25544\n")
    (tmp_path / "own.py").write_text(f"raise ValueError({EVIL!r})\n")
    (tmp_path / "a.script").write_text(f"# {EVIL}\n{EVIL}\n")
    return tmp_path


COMMANDS = [
    *([command, name] for command in ("check", "run") for name in ("title.toml", "value.toml", "raw.toml", "key.toml")),
    ["run", f"{EVIL}.toml"],
    ["run", f"{EVIL}.toml", "--json"],
    ["run", "trace.toml"],
    ["check", f"{EVIL}.toml"],
    ["compare", f"{EVIL}.toml", "--cc", f"reno,{EVIL}"],
    ["compare", f"{EVIL}.toml", "--case", f"{EVIL}: tcp.cc=reno", "--case", "b: tcp.cc=sack"],
    ["compare", f"{EVIL}.toml", "--cc", "reno,sack", "-n", "2", "--metric", EVIL],
    ["run", f"{EVIL}.toml", "--set", f"{EVIL}=1"],
    ["run", f"{EVIL}.toml", "--cc", "own.py:Own"],
    ["run", f"{EVIL}.toml", "--save", f"{EVIL}/{EVIL}", "--pcap", f"{EVIL}/x"],
    ["sweep", f"{EVIL}.toml", "--vary", f"tcp.cc={EVIL}", "--store", "store"],
    ["report", EVIL],
    ["reproduce", EVIL],
    ["list", EVIL],
    ["show", EVIL],
    ["why", f"{EVIL}.toml", "--at", EVIL],
    ["drill", "a.script"],
    ["sky", "path", "London", EVIL],
    ["sky", "path", "London", "Oslo", "--over", "tle.txt"],
    ["init", f"{EVIL}/x.toml"],
    ["emulate", f"{EVIL}.toml", "--serve", EVIL, "--", EVIL],
    ["emulate", f"{EVIL}.toml", "--at", EVIL, "--", "true"],
    [EVIL],
    ["run", f"--{EVIL}"],
]


@pytest.mark.parametrize(
    "args",
    COMMANDS if os.environ.get("BENTPIPE_ALL") else COMMANDS[::2],
    ids=lambda args: re.sub(r"[^\w.-]+", "_", " ".join(args))[:40],
)
def test_no_command_writes_what_a_terminal_acts_on(evil, args):
    done = bentpipe(*args, cwd=evil, env={**os.environ, "FORCE_COLOR": "1", "NO_COLOR": ""})
    # An error in a custom file has a traceback.
    assert b"Traceback" not in done.stderr or "own.py:Own" in args
    assert hidden(done) == []
    assert (done.stdout + done.stderr).strip()
    if "--json" in args:
        assert json.loads(done.stdout)


@pytest.mark.parametrize("width", [40, 55, 75, 82])
def test_long_names_are_broken_between_words(width):
    names = ["ship~starlink-1-8-21.reverse", "rest.reverse", "as it is: ship~starlink-3-7-2"]
    columns = [Shown(title, [1.0, 22.5, 3.0], "ms") for title in ("carried", "queue p95", "queue max")]
    console = Console(width=width, file=io.StringIO())
    console.print(make_rows("Links", "link", names, [], [*columns, *columns]))
    printed = console.file.getvalue()
    pieces = re.findall(r"[a-z\d]+", " ".join(line.split("  ")[0] for line in printed.splitlines()))
    assert {piece for name in names for piece in re.findall(r"[a-z\d]+", name)} <= set(pieces)
    assert not {"re", "reve", "rev", "verse", "erse"} & set(pieces)
    assert max(map(len, printed.splitlines())) <= width


def test_our_own_colours_pass(small):
    env = {**os.environ, "FORCE_COLOR": "1", "NO_COLOR": ""}
    for args in (["--help"], ["list", "cc"], ["run", small], ["run", "no-such-file"]):
        done = bentpipe(*args, env=env)
        text = (done.stdout + done.stderr).decode()
        assert "\x1b[1m" in text or "\x1b[36m" in text, args
        # The mark has disappeared.
        assert max(len(number) for code in OURS.findall(text) for number in re.findall(r"\d+", code)) <= 3


# Streams


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors by a shell")
@pytest.mark.parametrize(
    "args",
    [["list", "cc"], ["run", "SMALL"], ["run", "SMALL", "--json"], ["check", "SMALL"], ["--help"], ["schema"], []],
)
def test_a_closed_output_is_an_error(small, args):
    words = " ".join(str(small) if arg == "SMALL" else arg for arg in args)
    done = subprocess.run(["sh", "-c", f"{' '.join(BENTPIPE)} {words} >&-"], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr == b"error: the output cannot be written: bad file descriptor\n"


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors by a shell")
def test_commands_that_print_nothing_need_no_output(small, tmp_path):
    for closed in (">&-", ">&- 2>&-", "<&- >&- 2>&-"):
        place = tmp_path / f"out{len(closed)}"
        line = f"{' '.join(BENTPIPE)} run {small} -q --save {place} {closed}"
        assert subprocess.run(["sh", "-c", line], check=False).returncode == 0
        assert (place / "flows.parquet").is_file()
    done = subprocess.run(["sh", "-c", f"{' '.join(BENTPIPE)} run - <&-"], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    "args", ["list places", "list columns", "check geo", "run geo --set 'duration=2 s' --json", "--help"]
)
def test_a_reader_that_wants_no_more_is_no_failure(args):
    done = subprocess.run(
        ["sh", "-c", f"{' '.join(BENTPIPE)} {args} | head -c 1 >/dev/null"], capture_output=True, check=False
    )
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("args", [["list", "cc"], ["--help"], ["check", "geo"], ["schema"]])
def test_a_full_disk_behind_the_output_is_an_error(args):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*BENTPIPE, *args], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (2, b"error: the output cannot be written: no space left on device\n")
