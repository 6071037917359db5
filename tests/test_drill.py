"""`bentpipe drill`: what it finds, and how it says what cannot be read."""

import json

import pytest
from click.testing import CliRunner

from bentpipe.cli.app import app
from bentpipe.emulation.drill import drill, shipped

CASE = """= RFC 5681 §3.1  Slow start grows by one segment for each ACK
smss = "1000 B"
handshake = false
initial_window = "1 segments"
+0    write 10000
+0    > 0:1000
+0.1  < ack 1000
+0    > 1000:3000 x2
+0    ? cwnd 2000
"""


def run(*words):
    return CliRunner().invoke(app, ["drill", *map(str, words)])


def test_all_scripts_hold_in_core_and_codec():
    done = run("--json")
    found = json.loads(done.output)
    assert done.exit_code == 0
    assert {each["script"] for each in found} == {*shipped()}
    assert all(each["holds"] and not each["core"] and not each["codec"] for each in found)
    assert sum(each["cases"] for each in found) >= 400


def test_a_script_of_ones_own(tmp_path):
    place = tmp_path / "own.script"
    place.write_text(CASE, encoding="utf-8")
    assert drill(str(place)).holds
    done = run(place)
    assert done.exit_code == 0
    assert done.output.count("holds as written") == 2


def test_the_first_line_that_differs_is_said(tmp_path):
    place = tmp_path / "own.script"
    place.write_text(CASE.replace("cwnd 2000", "cwnd 3000"), encoding="utf-8")
    found = drill(str(place))
    assert [(each.line, each.text) for each in found.core] == [(9, "+0    ? cwnd 3000")]
    done = run(place)
    assert done.exit_code == 1
    assert "expected cwnd 3000, but it is 2000" in done.output
    assert ":9: codec: " in done.output


def test_a_segment_without_room_in_a_packet_differs_in_the_codec_only(tmp_path):
    # RFC 2018 §3: beside timestamps, three blocks fit.
    case = '= RFC 2018 §3  x\nsmss = "1000 B"\nhandshake = false\ntimestamps = true\ninitial_window = "9 segments"\n'
    case += "+0 write 9000\n+0 > 0:9000 x9\n"
    case += "+0.1 < ack 0 ts 1/0 sack 1000:2000,3000:4000,5000:6000,7000:8000\n"
    place = tmp_path / "own.script"
    place.write_text(case, encoding="utf-8")
    found = drill(str(place))
    assert "no room in a packet" in found.codec[0].what
    assert not any("no room" in each.what for each in found.core)


@pytest.mark.parametrize(
    ("before", "after", "words", "marked"),
    [
        ("+0    write 10000", "+0    wrote 10000", "not an action: wrote 10000", "wrote"),
        ("< ack 1000", "< ack many", "not a number: many", "many"),
        ("< ack 1000", "< ack 1000 sick", "not a part of a segment: sick", "sick"),
        ("+0.1  <", "soon  <", "", ""),
        ("+0.1  <", "+soon  <", "not a time: soon", "soon"),
        ("= ", "", "expected", ""),
    ],
)
def test_what_cannot_be_read_is_marked(tmp_path, before, after, words, marked):
    place = tmp_path / "own.script"
    place.write_text(CASE.replace(before, after, 1), encoding="utf-8")
    done = run(place)
    assert done.exit_code == 2
    assert f"{place}:" in done.output
    assert words in done.output
    *_, line, mark = done.output.rstrip("\n").split("\n")
    assert mark.strip() == "^"
    assert line[mark.index("^") :].startswith(marked)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"# nothing\n"])
def test_what_is_no_script_is_refused(tmp_path, content):
    place = tmp_path / "own.script"
    place.write_bytes(content)
    assert run(place).exit_code == 2


def test_an_unknown_script_is_answered_with_those_there_are(tmp_path):
    done = run("rfc5682x")
    assert done.exit_code == 2
    assert "rfc5682" in done.output
    assert run(tmp_path).exit_code == 2
