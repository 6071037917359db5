"""`bentpipe drill`: its results, and its errors for unreadable scripts."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from bentpipe.cli.app import app
from bentpipe.emulation import drill
from bentpipe.emulation.drill import on_kernel, read_bundled, run_script
from bentpipe.errors import EmulationError

# They wait for other processes, or are many runs.
pytestmark = pytest.mark.timeout(600)

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
    assert {each["script"] for each in found} == {*read_bundled()}
    assert all(each["holds"] and not each["core"] and not each["codec"] for each in found)
    assert sum(each["cases"] for each in found) >= 400


def test_a_script_of_ones_own(tmp_path):
    place = tmp_path / "own.script"
    place.write_text(CASE, encoding="utf-8")
    assert run_script(str(place)).holds
    done = run(place)
    assert done.exit_code == 0
    assert done.output.count("holds as written") == 2


def test_the_first_line_that_differs_is_said(tmp_path):
    place = tmp_path / "own.script"
    place.write_text(CASE.replace("cwnd 2000", "cwnd 3000"), encoding="utf-8")
    found = run_script(str(place))
    assert [(each.line, each.text) for each in found.core] == [(9, "+0    ? cwnd 3000")]
    done = run(place)
    assert done.exit_code == 1
    assert "expected cwnd 3000, but it is 2000" in done.output
    assert ":9: core and codec: " in done.output


ONE_MORE = "+0    > 1000:3000 x2\n"
"""Segments that the kernel sends here in slow start, as bentpipe does."""


@pytest.mark.usefixtures("namespaces")
def test_the_kernel_holds_differs_and_does_not_apply(tmp_path):
    place = tmp_path / "own.script"
    wrong = CASE.replace("cwnd 2000", "cwnd 3000  # linux: +0 ? cwnd 2000")
    cases = [CASE, wrong, CASE.replace("cwnd 2000", "cwnd 4000"), CASE.replace(ONE_MORE, "+0    > 1000:2000\n")]
    cases += [
        CASE.replace("handshake", 'recovery = "timeout-only"\nhandshake'),
        CASE.replace("write", "smss 500\n+0 write"),
    ]
    place.write_text("\n".join(cases), encoding="utf-8")
    (found,) = on_kernel([run_script(str(place))])
    assert (found.kernel.holds, found.kernel.noted) == (1, 1)
    assert found.kernel.not_applicable == {"recovery": 1, "smss that changes": 1}
    many, few = found.kernel.differences
    assert "expected cwnd 4000, but it is 2000" in many.what
    assert "unexpected" in few.what
    assert "2000:3000" in few.what
    done = run(place, "--kernel", "--json")
    assert done.exit_code == 1
    assert json.loads(done.output)[0]["kernel"]["holds"] == 1


@pytest.mark.usefixtures("namespaces")
def test_the_kernel_sends_a_fin_with_data_that_waited_for_the_connection(tmp_path):
    place = tmp_path / "own.script"
    case = "= RFC 9293 §3.10.4  x\n+0 > syn noack\n+0 write 1000\n+0 close\n+0.1 < syn ack 0\n+0 > fin 0:1000\n"
    place.write_text(case, encoding="utf-8")
    (found,) = on_kernel([run_script(str(place))])
    assert found.kernel.holds == 1


@pytest.mark.usefixtures("namespaces")
def test_a_difference_names_the_way_of_linux(tmp_path):
    place = tmp_path / "own.script"
    place.write_text(
        CASE.replace('initial_window = "1', 'initial_window = "2')
        .replace("0:1000", "0:2000 x2")
        .replace("ack 1000", "ack 2000")
        .replace("1000:3000 x2", "2000:5000 x3")
        .replace("cwnd 2000", "cwnd 3000"),
        encoding="utf-8",
    )
    (found,) = on_kernel([run_script(str(place))])
    (difference,) = found.kernel.differences
    assert difference.way == 'byte_counting = "ubc-pure"'
    assert difference.way not in difference.what
    assert "too, with byte_counting" in run(place, "--kernel").output


PACKETDRILL = """// A server sends its first window.
`sh/settings.sh`
   0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
  +0 listen(3, 1) = 0
 +.1 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
  +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
 +.1 < . 1:1(0) ack 1 win 320
  +0 accept(3, ..., ...) = 4
  +0 write(4, ..., 12000) = 12000
  +0 > P. 1:10001(10000) ack 1
  +0 %{ assert tcpi_snd_cwnd == 10 and tcpi_unacked == 10 }%
 +.1 < . 1:1(0) ack 2001 win 320
  +0 > P. 10001:12001(2000) ack 1
"""


def packetdrill(folder, text=PACKETDRILL):
    """Writes a script with its settings."""
    (folder / "sh").mkdir(exist_ok=True)
    (folder / "sh" / "settings.sh").write_text(
        "touch /tmp/x\n" if "touch" in text else "sysctl -q net.ipv4.tcp_sack=1\n"
    )
    place = folder / "own.pkt"
    place.write_text(text, encoding="utf-8")
    return place


def test_a_script_of_packetdrill_runs_on_a_host_like_linux(tmp_path):
    assert run_script(str(packetdrill(tmp_path))).holds
    found = run_script(str(packetdrill(tmp_path, PACKETDRILL.replace("cwnd == 10", "cwnd == 4"))))
    assert (found.core[0].line, found.core[0].what) == (11, "tcpi_snd_cwnd is 10")
    shown = run(packetdrill(tmp_path, PACKETDRILL.replace("cwnd == 10", "cwnd == 4"))).output
    assert "core and codec: tcpi_snd_cwnd is 10" in shown


@pytest.mark.usefixtures("namespaces")
def test_the_kernel_runs_a_script_of_packetdrill(tmp_path):
    (found,) = on_kernel([run_script(str(packetdrill(tmp_path)))])
    assert found.holds
    wrong = packetdrill(tmp_path, PACKETDRILL.replace("unacked == 10", "unacked > 10"))
    (found,) = on_kernel([run_script(str(wrong))])
    assert found.kernel.differences[0].what == "tcpi_unacked is 10"


def test_shell_blocks_are_never_executed(tmp_path):
    mark = tmp_path / "mark"
    done = run(packetdrill(tmp_path, PACKETDRILL.replace("`sh/settings.sh`", f"`touch {mark}`")))
    assert done.exit_code == 2
    assert "own.pkt:2:" in done.output
    assert "nothing is executed" in done.output
    assert not mark.exists()


@pytest.mark.usefixtures("namespaces")
def test_the_kernel_does_most_of_what_scripts_of_linux_say(monkeypatch):
    drilled = []
    monkeypatch.setattr(drill, "on_kernel", lambda scripts: drilled.extend(on_kernel(scripts)) or drilled)
    shown = run("linux", "--kernel").output
    (found,) = drilled
    kernel = found.kernel
    assert kernel.holds + kernel.noted + len(kernel.differences) + sum(kernel.not_applicable.values()) == found.cases
    # The notes are of one version, and a busy machine is late: most, not all.
    assert kernel.holds + kernel.noted > 4 * len(kernel.differences)
    assert "noted" in shown
    assert "Not applicable to the kernel" in shown


@pytest.mark.usefixtures("namespaces")
def test_where_namespaces_are_not_allowed_one_sentence_says_so():
    code = "open('/proc/sys/user/max_user_namespaces', 'w').write('0')\n"
    code += "import os; os.execv(sys.executable, [sys.executable, '-m', 'bentpipe', 'drill', 'rfc3042', '--kernel'])"
    words = ["unshare", "--user", "--map-user=1000", "--keep-caps", sys.executable, "-c", "import sys\n" + code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "max_user_namespaces'" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 2
    assert "does not allow" in done.stderr
    assert "Traceback" not in done.stderr


def test_other_systems_have_no_kernel_to_ask(monkeypatch):
    monkeypatch.delattr("bentpipe._core.kernel_drill", raising=False)
    with pytest.raises(EmulationError, match="expected Linux for the drill"):
        on_kernel([run_script("rfc3042")])


def test_a_segment_without_room_in_a_packet_differs_in_the_codec_only(tmp_path):
    # RFC 2018 §3: beside timestamps, three blocks fit.
    case = '= RFC 2018 §3  x\nsmss = "1000 B"\nhandshake = false\ntimestamps = true\ninitial_window = "9 segments"\n'
    case += "+0 write 9000\n+0 > 0:9000 x9\n"
    case += "+0.1 < ack 0 ts 1/0 sack 1000:2000,3000:4000,5000:6000,7000:8000\n"
    place = tmp_path / "own.script"
    place.write_text(case, encoding="utf-8")
    found = run_script(str(place))
    assert "no room in a packet" in found.codec[0].what
    assert not any("no room" in each.what for each in found.core)


@pytest.mark.parametrize(
    ("before", "after", "words", "marked"),
    [
        ("+0    write 10000", "+0    wrote 10000", "not an action: wrote 10000", "wrote"),
        ("< ack 1000", "< ack many", "not a number: many", "many"),
        ("< ack 1000", "< ack 1000 sick", "not a part of a segment: sick", "sick"),
        ("+0.1  <", "soon  <", "a step begins with +", "soon"),
        ("cwnd 2000", "cwmd 2000", "not one of cwnd, ssthresh", "cwmd"),
        ("cwnd 2000", "cwnd 2000  # linux: soon", "expected +SECONDS and an action", "soon"),
        ("1000 B", "1000 Q", "is not a size; expected a number with B", "smss"),
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
