"""Completion of words in a shell."""

import shutil
import subprocess

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import SHELLS, app
from bentpipe.metric import list_metrics
from bentpipe.scenario import overrides


def completed(*args):
    """Completions of the last word."""
    *before, last = args
    return [item.value for item in ShellComplete(app, {}, "bentpipe", "_").get_completions(list(before), last)]


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["comp"], ["compare"]),
        (["run", "geo-"], ["geo-access", "geo-access-random", "geo-broadband", "geo-home"]),
        (["show", "starlink-"], ["starlink-isl"]),
        (["init", "--from", "starlink-"], ["starlink-isl"]),
        (["run", "geo", "--cc", "cub"], ["cubic"]),
        (["mix", "geo", "-c", "cubic,bbr"], ["cubic,bbr1", "cubic,bbr2", "cubic,bbr3"]),
        (["compare", "geo", "--cc", "cubic,bbr1,bbr"], ["cubic,bbr1,bbr2", "cubic,bbr1,bbr3"]),
        (["compare", "geo", "--against", "hyb"], ["hybla"]),
        (["compare", "geo", "--metric", "good"], ["goodput"]),
        (["compare", "geo", "--correction", "h"], ["holm"]),
        (["compare", "geo", "--chart", ""], ["intervals", "ratio", "cwnd"]),
        (["mix", "geo", "--chart", "s"], ["share"]),
        (["sweep", "geo", "--metric", "rtt,good"], ["rtt,goodput"]),
        (["sweep", "geo", "--until", "good"], ["goodput="]),
        (["run", "geo", "--series", "events,cwnd"], ["events,cwnd_bytes"]),
        (["list", "scen"], ["scenarios"]),
        (["reproduce", "hs"], ["hswa"]),
        (["run", "geo", "--set", "link.sat.forward.rat"], ["link.sat.forward.rate="]),
        (["run", "geo", "--set", "flow.transfer.st"], ["flow.transfer.start="]),
        (["run", "geo", "--set", "link.none."], []),
        (["run", "geo", "--set", "tcp.cc=bbr"], ["tcp.cc=bbr1", "tcp.cc=bbr2", "tcp.cc=bbr3"]),
        (["run", "geo", "--set", "tcp.none="], []),
        (["sweep", "geo", "--vary", "tcp.pacing=off,w"], ["tcp.pacing=off,window"]),
        (["sweep", "geo", "--vary", "seed=1,2; tcp.smss"], ["seed=1,2; tcp.smss="]),
        (["--completion", "z"], ["zsh"]),
    ],
)
def test_names_are_completed(args, found):
    completions = completed(*args)
    # Forms of a value, such as tcp.cc.kind, come after the key itself.
    assert completions[: len(found)] == found
    assert bool(completions) == bool(found)


COUNTED = """
duration = "10 s"
[link."up{n}"]
from = "a{n}"
to = "gateway"
count = 2
delay = "1 ms"
forward.rate = "1 Mbit/s"
reverse.rate = "2 Mbit/s"
[link.sat]
from = "gateway"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
[flow."f{n}"]
from = "a{n}"
to = "b"
count = 2
tcp.cc = "cubic"
"""


def test_keys_without_an_effect_are_not_offered(tmp_path):
    path = tmp_path / "counted.toml"
    path.write_text(COUNTED)

    def keys(begin, command="run"):
        return [key for key in completed(command, str(path), "--set", begin) if key.count(".") == begin.count(".")]

    assert keys("link.up{n}.ra") == []
    assert keys("link.up{n}.forward.ra") == ["link.up{n}.forward.rate="]
    assert keys("link.sat.ra") == ["link.sat.rate="]
    assert keys("tcp.c") == ["tcp.cwnd_validation=", "tcp.careful_resume=", "tcp.cwnd_unit="]
    assert keys("flow.f{n}.tcp.cc") == ["flow.f{n}.tcp.cc="]
    # Nothing has the names of instances, and a node needs no table.
    assert keys("link.up1.") == []
    assert keys("node.gateway.mid") == ["node.gateway.middlebox="]
    assert (keys("sweep.rep"), keys("sweep.rep", "sweep")) == (
        [],
        ["sweep.replications=", "sweep.replications_max="],
    )


def test_every_key_that_is_offered_has_an_effect():
    for name in ("geo", "leo", "web-on-geo"):
        scenario = bp.load(name)
        for begin in ("link.", "tcp."):
            assert not any(scenario.find_acting(key[:-1]) for key in completed("run", name, "--set", begin))


def test_all_metrics_and_topics_are_offered():
    assert completed("compare", "geo", "--metric", "") == [*list_metrics()]
    assert "goodput,queue_p95:sat.forward" in completed("compare", "geo", "--metric", "goodput,queue_p95:")
    assert completed("compare", "geo", "--until", "goodput:") == ["goodput:transfer="]
    assert {"cc", "columns", "papers"} <= {*completed("list", "")}


def test_files_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    for name in ("mine/path.toml", "mine/notes.txt", "mine.toml"):
        (tmp_path / name).touch()
    assert completed("run", "mi") == ["mine/", "mine.toml"]
    assert completed("run", "mine/") == ["mine/path.toml"]


def test_a_broken_scenario_still_completes_what_does_not_depend_on_it(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("duration = ")
    assert completed("run", str(path), "--set", "tcp.smss") == ["tcp.smss="]


def test_every_key_of_a_resolved_scenario_is_offered():
    scenario = bp.load("geo").to_dict()
    known = overrides.keys(bp.schema(), scenario)

    def leaves(table, path):
        for name, value in table.items():
            if isinstance(value, dict):
                yield from leaves(value, f"{path}{name}.")
            else:
                yield f"{path}{name}"

    assert {*leaves(scenario, "")} <= {*known}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_is_printed(shell):
    done = CliRunner().invoke(app, ["--completion", shell])
    assert done.exit_code == 0
    assert "_BENTPIPE_COMPLETE" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_script_is_one_that_bash_reads():
    script = CliRunner().invoke(app, ["--completion", "bash"]).stdout
    said = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=True)
    assert said.stderr == ""
