"""Mistakes of newcomers: each has an error with its remedy, or a note with the number, at the command that makes it."""

from __future__ import annotations

import re
import time

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.cli.progress import LOOK_S, MANY, Bar
from bentpipe.errors import KNOWN_MAX, BentpipeError, Interrupted
from bentpipe.progress import Progress

CALL = """
duration = "20 s"
[link.sat]
from = "hub"
to = "ship"
rate = "10 Mbit/s"
delay = "270 ms"
[flow.f]
from = "hub"
to = "ship"
"""
SEGMENTS = """
import bentpipe as bp

class Segments(bp.CongestionControl):
    def on_ack(self, ack, path):
        self.cwnd = min(self.cwnd + 1, 100)
"""


def cli(*words):
    # Sentences are wrapped at the width of the terminal.
    found = CliRunner().invoke(app, list(map(str, words)))
    return found.exit_code, " ".join(found.stdout.split()), found.stderr


@pytest.fixture
def call(tmp_path):
    path = tmp_path / "call.toml"
    path.write_text(CALL)
    return path


@pytest.mark.parametrize(
    ("sets", "note"),
    [
        (
            {"link.sat.delay": "540 ms"},
            r'"sat.forward" \(and of 1 more\) is 540 ms one way; over a geostationary satellite',
        ),
        ({"link.sat.delay": "260 s"}, r"an answer to a packet: it takes 520.00 s, and the run leaves 20 s"),
        ({"link.sat.rate": "10 bit/s"}, r"an answer to a packet: it takes \d{4}.\d\d s, and the run leaves 20 s"),
        (
            {"link.sat.error": '{ kind = "packet", rate = 1.0 }'},
            r'nothing arrived of flow "f": \d+ packets sent in 20.0 s, and \d+ of them were lost at "ship" '
            r"\(bit-error\)",
        ),
        (
            {"flow.f.app": '{ kind = "cbr", rate = "1 Mbit/s", size = "1 B" }'},
            r'datagrams offer "sat.forward" 29.000 Mbit/s with headers, 290 % of its rate',
        ),
        (
            {"flow.f.app": '{ kind = "cbr", rate = "20 Mbit/s", size = "1400 B" }'},
            r'datagrams offer "sat.forward" 20.400 Mbit/s with headers, 204 % of its rate',
        ),
        (
            {"link.sat.mtu": '{ size = "1400 B" }', "tcp.path_mtu": "ignore"},
            r'exceed the 1400 B of "sat.forward", dropped, and tcp.path_mtu = "ignore" ignores the reports',
        ),
        (
            {"link.sat.mtu": '{ size = "1400 B", oversize = "drop" }'},
            r'no data arrived of flow "f": \d+ packets sent in 20.0 s, and \d+ of them were lost at "hub" \(too-big\)',
        ),
    ],
)
def test_a_run_without_sense_has_a_note_with_the_number(call, sets, note):
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    code, printed, _ = cli("run", call, *words)
    assert code == 0
    assert re.search(note, printed), printed
    # The same scenario without the mistake has no note.
    assert "note: " not in cli("run", call)[1]


def test_a_window_in_segments_is_noted(call, tmp_path):
    (tmp_path / "segments.py").write_text(SEGMENTS)
    _, printed, _ = cli("run", call, "--cc", f"{tmp_path / 'segments.py'}:Segments")
    assert "ends with a window of one segment, the least, and lost nothing: Segments may count segments" in printed
    # Another custom class grows, and has no note.
    (tmp_path / "grows.py").write_text(SEGMENTS.replace("min(self.cwnd + 1, 100)", "self.cwnd + 1448"))
    assert "one segment" not in cli("run", call, "--cc", f"{tmp_path / 'grows.py'}:Segments")[1]


def test_segments_of_any_size_fill_the_path():
    # A window that never left its first size gave 0.9 of 10 Mbit/s.
    for smss in (9000, 15000):
        found = bp.run(bp.loads(CALL), {"tcp.smss": f"{smss} B", "duration": "60 s"})
        assert found.estimate("goodput").value > 7e6


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "link.sat.error=ber"], 'did you mean "bit"?'),
        (["--set", "link.sat.mtu=100 B"], 'expected a table, like { size = "100 B" }'),
        (["--set", "node.hub.middlebox=split"], 'expected a list, like ["split"]'),
        (["--set", "duration=300 d"], "expected at most 200 d, because time is counted in picoseconds with 64 bits"),
        (["--set", "duration=205 d"], "200"),
        (["--loss", "1%"], "did you mean --set link.NAME.error='1 %'?"),
        (["--duration", "5 s"], "did you mean --set duration='60 s'?"),
        (["--set", "link.sat.rate=5", "Mbit/s"], "did you mean --set 'link.sat.rate=5 Mbit/s'?"),
        (["--set", "flow.f.app=sctp"], "over this path with bentpipe emulate"),
        (["--set", "flow.f.app=http"], 'did you mean "page"? known: rtp'),
        (["--set", "flow.f.app=foo"], "(8 of 14, all: bentpipe list app)"),
        (["--cc", "renoo"], "did you mean 'reno'? known: reno, "),
        (["10"], "error: got unexpected extra argument (10)"),
    ],
)
def test_an_error_has_its_remedy(call, words, told):
    code, printed, error = cli("run", call, *words)
    assert code == 2
    assert printed == ""
    assert error.startswith("error: ")
    assert told in error
    assert "Usage" not in error


@pytest.mark.parametrize(
    ("replaced", "by", "told"),
    [
        ('to = "ship"\n', "", "flow.f.to is missing"),
        ('to = "ship"\n', "", "expected a text or a list (Receiving node)"),
        (
            "[flow.f]",
            '[[at]]\ntime = "5 s"\n[at.handover]\nfrom = "a"\nto = "b"\n[flow.f]',
            "expected a list of tables: [[at.handover]]",
        ),
    ],
)
def test_an_error_of_the_file_has_its_remedy(tmp_path, replaced, by, told):
    before, _, after = CALL.rpartition(replaced)
    (tmp_path / "wrong.toml").write_text(before + by + after)
    code, _, error = cli("check", tmp_path / "wrong.toml")
    assert code == 2
    assert told in error


def test_known_names_are_few_and_after_the_hint():
    with pytest.raises(BentpipeError) as refused:
        bp.run("geo").estimate("goodputt")
    first, second = str(refused.value).split("\n")
    assert first == "'goodputt' is not a metric"
    assert second.startswith("  did you mean 'goodput'? known: ")
    names = re.search(r"known: (.*) \((\d) of (\d+), all: bentpipe list metrics\)", second)
    assert len(names[1].split(", ")) == int(names[2]) <= KNOWN_MAX < int(names[3])


def test_shares_of_equal_files_are_noted(call):
    words = ("--cc", "cubic,reno", "-n", "2")
    code, printed, error = cli("mix", call, *words, "--set", 'flow.f.app={ kind = "file", size = "100 kB" }')
    assert code == 0, error
    assert "all flows are files: shares follow their sizes" in printed
    assert "all flows are files" not in cli("mix", call, *words)[1]


@pytest.mark.parametrize("verb", ["compare", "sweep"])
def test_one_replication_shows_no_difference(tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    cases = ("--vary", "tcp.cc=cubic,reno") if verb == "sweep" else ("--cc", "cubic,reno")
    words = (verb, "geo", *cases, "-n")
    _, printed, _ = cli(*words, "1")
    assert "one replication shows no difference, as any may be chance: intervals need 2 or more" in printed
    assert re.search(r"in this one run, cubic gets [\d.]+ % more goodput than reno", printed)
    assert "one run" not in cli(*words, "2")[1]


def test_work_of_long_duration_is_noted_once(capsys):
    with Bar() as bar:
        bar(Progress(total=MANY - 1))
        assert capsys.readouterr().err == ""
        many = Progress(total=2_000_000, done=1, began_s=time.monotonic() - 60)
        bar(many)
        bar(many)
        assert capsys.readouterr().err == "note: 2,000,000 runs; Ctrl-C stops them\n"
        # After some seconds of work.
        bar._began_s -= LOOK_S
        bar(many)
        bar(many)
        (line,) = capsys.readouterr().err.splitlines()
        assert re.fullmatch(r"note: 1 of 2,000,000 runs, \S+ runs/s: about \d+:\d\d:\d\d left; Ctrl-C stops", line)
    with Bar(is_quiet=True) as bar:
        bar(many)
        assert capsys.readouterr().err == ""


def test_a_sweep_of_a_million_points_begins_with_their_number(call, monkeypatch):
    from bentpipe.experiment.design.grid import Grid

    def stop(*_):
        raise Interrupted("stopped")

    monkeypatch.setattr(Grid, "_point", stop)
    ranges = ("--vary", "link.sat.rate=1 Mbit/s..2 Mbit/s:1000", "--vary", "link.sat.delay=1 ms..2 ms:1000")
    _, _, error = cli("sweep", call, *ranges, "-n", "2")
    assert "note: 2,000,000 runs; Ctrl-C stops them" in error
