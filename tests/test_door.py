"""The first minutes: the question of `bentpipe` alone, the last lines of a run, and a measured path."""

import stat
import sys

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli import door, init
from bentpipe.cli.app import app
from bentpipe.cli.conclusion import LIMITS, conclude
from bentpipe.errors import FitError
from bentpipe.fitting.measuring import measure
from tests import measurements


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def asked(monkeypatch):
    """Answer the question at a terminal, and return the output with the commands that would run."""
    done = []
    monkeypatch.setattr(init, "is_answered", lambda: True)
    monkeypatch.setattr(door, "_do", lambda app, words: done.append([*words]))

    def answer(text):
        done.clear()
        found = CliRunner().invoke(app, [], input=text)
        assert found.exit_code == 0, found.output
        return found.output, [*done]

    return answer


def test_a_terminal_gets_one_question_with_three_answers(asked):
    text, done = asked("2\n")
    assert [line.strip()[:1] for line in text.splitlines() if line.startswith("  ")] == ["1", "2", "3"]
    assert done == [["compare", "geo", "--cc", "cubic,bbr3,reno", "--replications", "5"]]
    # After another answer the question is repeated.
    assert asked("7\n2\n")[1] == done


def test_a_slow_link_is_measured_and_explained(asked, tmp_path):
    assert asked("1\n\n")[1] == [["why", "geo"]]
    expected = [["fit", "--measure", "example.org", "--save", "example.org.toml"], ["why", "example.org.toml"]]
    assert asked("1\nexample.org\n")[1] == expected
    # An earlier path stays.
    (tmp_path / "example.org.toml").write_text("kept")
    assert asked("1\nexample.org\n")[1][0][-1] == "example.org-2.toml"


def test_the_tour_ends_in_one_file(asked, tmp_path):
    text, done = asked("\n")
    assert [words[:2] for words in done] == [["run", "geo"], ["run", "geo"]]
    assert "Wrote bentpipe-tour.html" in text
    page = (tmp_path / "bentpipe-tour.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "https://" not in page.partition("<body")[0]
    assert text.splitlines()[-1] == "Next: bentpipe init mine"


def test_the_commands_of_the_tour_run():
    for words in door.STEPS:
        done = CliRunner().invoke(app, [*words[:2], "--set", "duration=1 s", *words[4:]])
        assert done.exit_code == 0, done.output


def test_a_pipe_gets_help_and_no_question():
    done = CliRunner().invoke(app, [], input="1\n")
    assert done.exit_code == 0
    assert "Answer" not in done.output
    assert "bentpipe list scenarios" in done.output


def test_a_run_ends_with_one_sentence_and_one_command():
    done = CliRunner().invoke(app, ["run", "geo", "--set", "duration=20 s"])
    sentence, command = done.stdout.splitlines()[-2:]
    assert sentence.startswith("transfer got ")
    assert sentence.count(". ") == 0
    assert any(words in sentence for words in LIMITS.values())
    assert command.startswith("Next: bentpipe ")
    # The long tables are there on request.
    assert "Where the time went" not in done.stdout
    assert "Where the time went" in CliRunner().invoke(app, ["run", "geo", "--set", "duration=20 s", "--all"]).stdout


@pytest.mark.parametrize(
    ("sets", "words", "verb"),
    [
        ({"tcp.receive_buffer": "64 kB"}, "limited by the receive window", "tune"),
        (
            {"flow.transfer.app": {"kind": "bulk", "size": "5 kB", "pause": "2 s"}},
            "limited by an idle application",
            "why",
        ),
        ({"link.sat.forward.error": {"kind": "packet", "rate": "1 %"}, "tcp.cc": "reno"}, "limited by", "compare"),
        ({"link.sat.forward.error": {"kind": "packet", "rate": 1.0}}, "No data arrived", "check"),
    ],
)
def test_the_last_lines_follow_from_the_run(sets, words, verb):
    result = bp.run(bp.load("geo", {"duration": "30 s", **sets}))
    sentence, command = conclude(result)
    assert words in sentence
    assert command.startswith(f"Next: bentpipe {verb} geo")
    # The command has the settings of the run, except the congestion control that a comparison sets.
    assert ("tcp.cc" in command) is False
    done = CliRunner().invoke(app, [verb, "--help"])
    assert done.exit_code == 0


def test_a_run_of_a_dict_has_no_command():
    content = bp.load("geo", {"duration": "3 s"}).to_dict()
    assert len(conclude(bp.run(content))) == 1


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Make programs that print a record, in the only folder of programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(name, text, status=0):
        (folder / f"{name}.out").write_text(text)
        calls = str(folder / "calls")
        script = f"#!{sys.executable}\nimport sys\nprint(*sys.argv[1:], file=open({calls!r}, 'a'))\n"
        script += f"print(open({str(folder / f'{name}.out')!r}).read())\nraise SystemExit({status})\n"
        (folder / name).write_text(script)
        (folder / name).chmod(stat.S_IRWXU)
        return folder / "calls"

    return make


def test_a_path_is_measured_written_and_compared(programs, tmp_path):
    programs("ping", measurements.ping())
    calls = programs("iperf3", measurements.iperf3())
    done = CliRunner().invoke(app, ["fit", "--measure", "example.org", "--seconds", "12", "--no-check"])
    assert done.exit_code == 0, done.output
    assert "ping to example.org, 8 s" in done.stderr
    # Pings have two thirds of the time, and each direction a sixth.
    lines = calls.read_text().splitlines()
    assert lines[0] == "-D -n -i 0.2 -w 8 example.org"
    assert [("-R" in line, "-t 2 " in f"{line} ") for line in lines[1:]] == [(True, True), (False, True)]
    assert bp.load("example.org.toml").title
    assert (tmp_path / "example.org.measured" / "ping.txt").exists()
    for name in ("cubic", "bbr3", "reno"):
        assert name in done.stdout


def test_pings_alone_are_enough(programs, tmp_path):
    programs("ping", measurements.ping())
    said = []
    files = measure("192.0.2.1", tmp_path / "m", 10, said.append)
    assert [each.name for each in files] == ["ping.txt"]
    assert said[-1] == "iperf3 is not installed: no rate is measured"
    programs("iperf3", "refused", status=1)
    assert [each.name for each in measure("192.0.2.1", tmp_path / "m", 10, said.append)] == ["ping.txt"]
    assert said[-1].startswith("no iperf3 server answers at 192.0.2.1")


def test_what_cannot_be_measured_is_refused(programs, tmp_path):
    with pytest.raises(FitError, match="ping is not installed\n  install it: iputils-ping"):
        measure("example.org", tmp_path / "m")
    programs("ping", "ping: example.invalid: Name or service not known", status=2)
    with pytest.raises(FitError, match=r"example.invalid answered no ping \(ping: example.invalid: Name or service"):
        measure("example.invalid", tmp_path / "m")
    for name in ("-f", "a b", "$(id)"):
        with pytest.raises(FitError, match="is not the name or address of a host"):
            measure(name, tmp_path / "m")
    for words in ([], ["--measure", "a", "ping.txt"]):
        done = CliRunner().invoke(app, ["fit", *words])
        assert "expected DATA..., or --measure HOST" in done.stderr
