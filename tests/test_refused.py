"""Invalid input: each error has the fault and the remedy, before any run."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe import forks
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ONE = """
duration = "1 s"
[link.sat]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "25 ms"
[flow.f]
from = "a"
to = "b"
"""
TWO = ONE + '[flow.g]\nfrom = "b"\nto = "a"\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(ONE, encoding="utf-8")
    (tmp_path / "two.toml").write_text(TWO, encoding="utf-8")
    return tmp_path


def refused(*words: str) -> str:
    """Return the output of the command, which refuses these words."""
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2, done.output
    return done.output


SKY = ("sky", "path", "Berlin", "Paris", "--over", "iridium", "--duration", "5s")
BUDGET = ("sky", "budget", "Berlin", "--over", "iridium", "--frequency", "12", "--gt", "1")
COMPARE = ("compare", "one.toml", "--cc", "reno,cubic", "-n", "2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        # Options without the option that they change.
        ((*SKY, "--apart", "links"), "--apart has no effect without --disjoint"),
        ((*SKY, "--stretch", "2"), "has no effect without --gateway"),
        ((*BUDGET, "--eirp", "30", "--antenna", "2"), "has no effect without --scintillation"),
        ((*COMPARE, "--replications-max", "3"), "--replications-max has no effect without --until"),
        (("mix", *COMPARE[1:], "--replications-max", "3"), "--replications-max has no effect without --until"),
        (
            ("sweep", "one.toml", "--vary", "tcp.cc=reno", "--replications-max", "3"),
            "--replications-max has no effect without --until",
        ),
        ((*COMPARE, "--until", "goodput=2%", "--replications-max", "1"), "a whole number from 2 to 10000"),
        (("reproduce", "hswa", "--new", "mine"), "--new and PAPER exclude each other"),
        # Invalid numbers.
        ((*BUDGET, "--eirp", "nan"), "--eirp nan"),
        ((*BUDGET, "--eirp", "1e308"), "--eirp 1e+308"),
        ((*BUDGET, "--eirp", "30", "--scintillation", "--antenna", "0"), "--antenna 0.0"),
        ((*SKY, "--gateway", "Bern", "--stretch", "0"), "stretch = 0 is out of range"),
        ((*SKY, "--seed", "99999999999999999999"), "a whole number from 0 to"),
        # Names.
        ((*COMPARE, "--metric", ","), "no metric to compare"),
        (("run", "one.toml", "--cc", "mine.py"), "expected FILE.py:CLASS"),
        (("compare", "one.toml", "--case", "x:", "--case", "x: tcp.cc=reno"), "there is a case x before it"),
        (("compare", "one.toml", "--case", "x: tcp.cc=renno", "--case", "y:"), "case x: tcp.cc"),
        (("run", "one.toml", "--pcap", "{node}.pcapng"), "braces are for host only"),
        (("run", "one.toml", "--pcap", "{host.pcapng"), "braces are for host only"),
        (("run", "one.toml", "--pcap", "captures/"), "is not a file name"),
        (("run", "one.toml", "--pcap", "-"), "each host has its own file"),
        (
            ("report", "nowhere"),
            "nowhere does not exist\n  expected a folder of bentpipe run, compare, mix, sweep or tune",
        ),
        (("report", "one.toml"), "one.toml is not a store or a saved result\n  expected a folder of bentpipe run, "),
        (
            ("compare", "one.toml", "--case", "a tcp.cc=reno"),
            "--case a tcp.cc=reno: no colon after the name\n  expected",
        ),
        (("tune", "one.toml", "--plan"), "no objective\n  expected --for fct:pages, or objective = {"),
        (("init", "a/b/c"), "a/b/c.toml cannot be written: there is no folder a/b\n  choose another place, or make"),
        (("run", "one.toml", "--cc", "mine.py:X"), "mine.py cannot be read: no such file or directory\n  expected the"),
        (("studio", "--folder", "nosuch"), "nosuch is not a folder\n  expected an existing folder of scenarios"),
        (("fit", "one.toml"), "one.toml: unknown format, begins with '\\nduration ="),
    ],
)
def test_options(place: Path, words: tuple[str, ...], said: str) -> None:
    assert said in refused(*words)
    assert not [each for each in place.iterdir() if each.suffix in (".sweep", ".pcapng") or each.name == "mine"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--flow", "h"), "'h' is not a flow of this scenario"),
        (("--flow", "h", "--at", "0.5s"), "'h' is not a flow of this scenario"),
        (("--at", "0.5s"), "the scenario has several flows"),
        (("--flow", "f", "--at", "2s"), "expected a time from 0 to 1 s"),
        (("--flow", "f", "--at", "-1s"), "expected a time from 0 to 1 s"),
        (("--flow", "f", "--at", "soon"), "--at soon is not a time"),
        (("--flow", "f", "--at", ""), "--at '' is not a time"),
        (
            ("--flow", "f", "--from", "0.2s"),
            "--from 0.2 s is only one end of a window\n  expected --to, too, or --at alone",
        ),
        (("--flow", "f", "--to", "0.2s"), "--to 0.2 s is only one end of a window\n  expected --from, too, or"),
        (("--flow", "f", "--at", "0.1s", "--to", "0.2s"), "--at 0.1 s and --to 0.2 s exclude each other"),
        (("--flow", "f", "--from", "0.5s", "--to", "0.1s"), "--from 0.5 s is not before --to 0.1 s\n  expected an end"),
    ],
)
def test_why_knows_before_the_run(
    place: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    bp.run("two.toml").save("saved")

    def run(*_: Any, **__: Any) -> None:
        raise AssertionError("it was run")

    monkeypatch.setattr("bentpipe.experiment.single.run.run", run)
    monkeypatch.setattr(bp.RunResult, "rerun", run)
    assert said in refused("why", "two.toml", *words)
    assert said in refused("why", "saved", *words)


def changed(name: str, old: str, new: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "flows.parquet").unlink(), "flows.parquet cannot be read"),
        (
            lambda folder: (folder / "links.parquet").replace(folder / "flows.parquet"),
            "its checksum is not that of the table that was written",
        ),
        (changed("scenario.toml", 'duration = "1 s"', 'duration = "9 s"'), "is not the scenario that was run"),
        (changed("scenario.toml", "seed = 1", "seed = 2"), "is not the scenario that was run"),
    ],
)
def test_saved_runs_that_were_changed(place: Path, change: Callable[[Path], object], said: str) -> None:
    bp.run("one.toml").save("saved")
    change(place / "saved")
    assert said in refused("report", "saved")


def test_a_report_of_one_run_compares_nothing(place: Path) -> None:
    bp.run("one.toml").save("saved")
    assert "saved is one run, which has no cases" in refused("report", "saved", "--against", "reno")


def test_deep_json(place: Path) -> None:
    (place / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    assert "error: not JSON" in refused("check", "deep.json")


def one() -> Any:
    return bp.run("one.toml")


def compare(**given: Any) -> Any:
    return bp.compare("one.toml", **{"cc": ["reno", "cubic"], "replications": 2, **given})


CCS = ["reno", "cubic"]


@pytest.mark.parametrize("given", [5, "5", 200, "200 %", 1, "100%", 0, "-2 %", "nan", "few", "2 % or so", True])
def test_a_share_that_is_not_between_0_and_1_is_refused(given: Any) -> None:
    calls = {
        "margin": [lambda: bp.twin("geo", margin={"goodput": given}), lambda: bp.tune("geo", margin=given)],
        "until": [lambda: bp.compare("geo", CCS, until={"metric": "goodput", "half_width": given})],
        "confidence": [lambda: bp.compare("geo", CCS, confidence=given)],
    }
    for name, of in calls.items():
        for call in of:
            with pytest.raises(BentpipeError) as refused:
                call()
            said = str(refused.value)
            assert " ".join(said.split()).startswith(f"{name}: {given} is not a share between 0 and 100 %")
            assert ("did you mean 5 %?" in said) is (str(given) == "5")


@pytest.mark.parametrize("share", ["5", "-2%"])
@pytest.mark.parametrize(
    "line",
    [
        "compare geo --cc cubic,reno --until goodput={}",
        "mix geo --cc cubic,reno --until goodput={}",
        "sweep geo --vary seed=1,2 --until goodput={}",
        "compare geo --cc cubic,reno --confidence {}",
        "twin geo --margin goodput={}",
        "twin geo --margin {}",
        "tune geo --margin {}",
    ],
)
def test_a_share_of_the_command_line_is_refused_by_its_option(line: str, share: str) -> None:
    done = CliRunner().invoke(app, [*line.format(share).split(), "--quiet"])
    said = " ".join(done.output.split())
    assert said.startswith(f"error: {line.split()[-2]}: {share} is not a share between 0 and 100 %")
    assert ("did you mean 5 %?" in said) is (share == "5")


@pytest.mark.parametrize("verb", ["run", "compare", "mix", "sweep", "tune", "fit"])
@pytest.mark.parametrize("size", ["0x0", "nanx3", "8x-1", "8x101"])
def test_a_size_that_no_figure_has_is_refused_before_any_work(verb: str, size: str, tmp_path: Path) -> None:
    line = [verb, "nosuch", "--plot", str(tmp_path / "x.png"), "--size", size]
    done = CliRunner().invoke(app, line)
    assert done.output.startswith("error: a figure of "), done.output


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: bp.run("one.toml", cc=3), "3 is not a congestion control"),  # type: ignore[arg-type]
        (lambda: bp.run("one.toml", series=[3]), "a text or a list of texts"),  # type: ignore[list-item]
        (lambda: bp.run("one.toml", middlebox=["snoop"]), "expected nodes"),  # type: ignore[arg-type]
        (lambda: bp.run("one.toml", middlebox={"a": None}), "node.a.middlebox"),  # type: ignore[dict-item]
        (lambda: compare(metric=[]), "no metric to compare"),
        (lambda: compare(metric=[1]), "a text or a list of texts"),
        (lambda: compare(replications=2.5), "replications = 2.5"),
        (lambda: compare(replications=True), "replications = True"),
        (lambda: compare(jobs="2"), "jobs = '2'"),
        (lambda: compare(confidence="high"), "confidence: high is not a share between"),
        (lambda: compare(statistic=None), "None is not a statistic"),
        (lambda: compare(correction=1), "1 is not a correction"),
        (lambda: compare(against=bp.Cubic), "expected a text"),
        (lambda: compare(tables="zz"), "'zz' is not a table of a run"),
        (lambda: compare(until="goodput=2%"), "expected {"),
        (lambda: compare(cc=None, cases=["a", "b"]), "expected cases with their settings"),
        (lambda: bp.sweep("one.toml", together={"tcp.cc": ["reno"]}), "a list of dicts"),  # type: ignore[arg-type]
        (lambda: bp.sweep("one.toml", vary=3), "keys with their values"),  # type: ignore[arg-type]
        (lambda: one().why(["f"]), "expected a text"),
        (lambda: one().why("f", at="0.5 s"), "at = '0.5 s'"),
        (lambda: one().why("f", start=0.1, end=math.nan), "end = nan"),
        (lambda: one().find_values("now"), "time_s = 'now'"),
        (lambda: one().estimate(3), "metric = 3"),
        (lambda: bp.Scenario(ONE, form="yaml"), "'yaml' is not a form"),
        (lambda: bp.Scenario(ONE, senders={"a": dict}), "'dict' is not"),  # type: ignore[dict-item]
        (lambda: bp.load("one.toml").edit_text("node.a.middlebox.append", "snoop"), "is not a key of a file"),
        (lambda: bp.sky.path(3, "Paris", over="iridium"), "place 3"),  # type: ignore[arg-type]
        (lambda: bp.sky.path((1, 2, "x"), "Paris", over="iridium"), "= 'x'"),  # type: ignore[arg-type]
        (lambda: bp.sky.path("Berlin", "Paris", over=["iridium"]), "over = "),  # type: ignore[arg-type]
        (lambda: bp.sky.path("Berlin", "Paris", over="iridium", start=3), "start = 3"),  # type: ignore[arg-type]
        (lambda: bp.sky.path("Berlin", "Paris", over="iridium", step=None), "step = None"),  # type: ignore[arg-type]
        (lambda: bp.sky.path("Berlin", "Paris", over="iridium", seed=-1), "seed = -1"),
        (lambda: bp.sky.path("Berlin", "Paris", over="iridium", seed=1.5), "seed = 1.5"),  # type: ignore[arg-type]
        (lambda: bp.sky.path("Berlin", "Paris", over="iridium", disjoint="2"), "disjoint = '2'"),  # type: ignore[arg-type]
        (lambda: bp.sky.path("Berlin", "Paris", over="iridium", range_max_km="far"), "range_max_km = 'far'"),  # type: ignore[arg-type]
        (lambda: bp.twin("one.toml", margin="lots"), "margin: lots is not a share"),
        (lambda: bp.speak("one.toml", ["true"], port="x"), "port x"),  # type: ignore[arg-type]
        (lambda: bp.twin("one.toml", flow=3), "3 is not a flow"),  # type: ignore[arg-type]
    ],
)
def test_arguments(place: Path, call: Callable[[], object], said: str) -> None:
    with pytest.raises(BentpipeError) as error:
        call()
    assert said in str(error.value)


FORKED = """
import json, os, sys
import bentpipe as bp

bp.sky.path("Berlin", "Paris", over="iridium", duration="5 s").instants.sort("hops").group_by("hops").len()
child = os.fork()
if child == 0:
    try:
        bp.sky.path("Berlin", "Paris", over="iridium", duration="5 s")
        os._exit(3)
    except bp.errors.BentpipeError as error:
        print(json.dumps(str(error)), flush=True)
        os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["python", None, "polars-1"], True), (["python", "polars-ooc", "jemalloc_bg_thd"], False), ([None], False)],
)
def test_threads_of_tables_are_found_whichever_has_its_name(tmp_path, monkeypatch, names, expected) -> None:
    """On a busy machine the second thread may have its name before the first. None: a thread that ends meanwhile."""
    for tid, name in enumerate(names):
        (tmp_path / str(tid)).mkdir()
        if name is not None:
            (tmp_path / str(tid) / "comm").write_text(f"{name}\n")
    monkeypatch.setattr(forks, "TASKS", tmp_path)
    assert forks._has_threads() is expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_sky_in_a_forked_child() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=True)
    assert "forked" in json.loads(done.stdout)


def test_a_table_that_a_run_does_not_have_is_named_with_those_that_it_has(place: Path) -> None:
    with pytest.raises(BentpipeError, match=r"'flow' is not a table of this result(?s:.*)did you mean 'flows'"):
        bp.run("one.toml").rows("flow")
