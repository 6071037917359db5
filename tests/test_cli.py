"""The command line, as people and programs use it."""

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.__main__ import main
from bentpipe.cli.app import app

BENTPIPE = [sys.executable, "-m", "bentpipe"]


def cli(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_version():
    assert cli("--version").stdout == f"bentpipe {bp.__version__}\n"


def test_run_prints_tables_for_80_columns(small):
    done = cli("run", small)
    assert done.exit_code == 0
    for text in ("Two senders", "2 flows", "goodput", "kbit/s", "bulk", "down.forward", "packets sent ="):
        assert text in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_many_flows_are_summed_up(small, tmp_path):
    path = tmp_path / "many.toml"
    path.write_text(small.read_text().replace("[flow.bulk]", "[flow.bulk]\ncount = 30"))
    done = cli("run", path)
    assert "31 flows; --all shows each" in done.stdout
    assert "median" in done.stdout
    assert "bulk17" not in done.stdout
    assert "bulk17" in cli("run", path, "--all").stdout


def test_transfers_that_failed_are_not_called_done(small):
    outage = ["--set", "link.up.outage={spans=[['2 s', '90 s']]}", "--set", "tcp.give_up=2 retransmissions"]
    done = cli("run", small, *outage, "--set", "duration=80 s", "--set", "flow.bulk.app={kind='file', size='5 MB'}")
    assert "every transfer was over; 2 connections gave up\n" in done.stdout
    assert "aborted" in done.stdout


def test_run_as_json_is_json_and_nothing_else(small):
    done = cli("run", small, "--json", "--seed", 9, "--series", "cwnd_bytes")
    assert done.stderr == ""
    content = json.loads(done.stdout)
    assert content == bp.run(bp.load(small), seed=9, series=["cwnd_bytes"]).to_dict()


def test_values_can_be_set(small):
    content = json.loads(cli("run", small, "--set", "title=Other", "--set", "duration = 5 s", "--json").stdout)
    assert content["title"] == "Other"
    assert content["summary"]["simulated_s"] == 5


def test_run_saves_and_draws(small, tmp_path):
    done = cli("run", small, "--save", tmp_path / "result", "--plot", tmp_path / "run.png")
    assert done.exit_code == 0
    assert "goodput_bps" in bp.RunResult.load(tmp_path / "result").recorded
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_compare(small, tmp_path):
    done = cli("compare", small, "--cc", "reno, tahoe", "--replications", 2, "--plot", tmp_path / "c.svg")
    assert done.exit_code == 0
    assert "mean of 2 replications, ± 95 % interval" in done.stdout
    assert "in goodput" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert (tmp_path / "c.svg").read_text().startswith("<?xml")


def test_what_cannot_be_drawn_is_printed(small, tmp_path):
    place = tmp_path / "c.svg"
    for command in (
        ["compare", small, "--cc", "reno,tahoe"],
        ["sweep", small, "--vary", "tcp.cc=reno,tahoe", "--store", tmp_path / "s"],
    ):
        done = cli(*command, "--replications", 2, "--metric", "fct", "--plot", place)
        assert done.exit_code == 2
        assert "there is no fct in any of the runs\n  nothing can be drawn" in done.stderr
        assert "reno" in done.stdout
        assert not place.exists()


def test_compare_as_json(small):
    done = cli("compare", small, "--cc", "reno,sack", "--replications", 2, "--jobs", 2, "--metric", "rtt", "--json")
    assert (
        json.loads(done.stdout) == bp.compare(bp.load(small), ["reno", "sack"], replications=2, metric="rtt").to_dict()
    )


def test_compare_by_medians(small):
    done = cli(
        "compare", small, "--cc", "reno,tahoe", "--replications", 6, "--statistic", "median", "--confidence", 0.9
    )
    assert done.exit_code == 0
    assert "median of 6 replications, with 90 % interval" in done.stdout
    assert "goodput (median)" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_check_prints_what_would_be_run(small):
    assert cli("check", small).stdout == bp.check(small)
    assert json.loads(cli("check", small, "--json").stdout) == bp.load(small).to_dict()


def test_schema():
    assert json.loads(cli("schema").stdout) == bp.schema()


@pytest.mark.parametrize("topic", ["recovery", "verdict", "ecn", "pacing", "queue", "error", "app", "middlebox", "cc"])
def test_lists_of_choices(topic):
    names = [entry["name"] for entry in json.loads(cli("list", topic, "--json").stdout)]
    assert names
    assert names == [choice["name"] for choice in bp.choices()[topic]]
    assert names[0] in cli("list", topic).stdout


def test_other_lists():
    assert "bit-error" in cli("list", "causes").stdout
    assert "cwnd_bytes" in cli("list", "series").stdout
    assert cli("list", "scenarios").exit_code == 0
    assert "newreno" in cli("list").stdout


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["run", "missing.toml"], "'missing.toml' is not a file"),
        (["run", "."], "is a directory"),
        (["run", "SMALL", "--set", "nonsense"], "expected KEY=VALUE"),
        (["run", "SMALL", "--set", "=3"], "expected KEY=VALUE"),
        (["run", "SMALL", "--set", "nonsense=3"], "nonsense"),
        (["run", "SMALL", "--series", "nonsense"], "nonsense"),
        (["run", "missing.toml", "--plot", "figure.bmp"], ".png, .svg, .pdf"),
        (["run", "missing.toml", "--save", "."], "not a bentpipe result"),
        (["compare", "SMALL", "--cc", "renoo"], "did you mean 'reno'"),
        (["compare", "SMALL", "--cc", "reno", "--metric", "godput"], "did you mean 'goodput'"),
        (["compare", "SMALL", "--cc", "reno", "--replications", "1000000000"], "expected 1 to 10000"),
        (["compare", "SMALL", "--cc", "reno", "--statistic", "medain"], "did you mean 'median'"),
        (["compare", "SMALL", "--cc", "reno", "--correction", "bonferroni"], "known: holm, bh, none"),
        (["compare", "SMALL", "--cc", "reno", "--confidence", "95"], "more than 0 and less than 1"),
        (["run", "missing.toml", "--plot", "missing/figure.png"], "there is no folder missing"),
        (["run", "missing.toml", "--plot", "SMALL/figure.png"], "is no folder"),
        (["run", "missing.toml", "--plot", "FOLDER.png"], "is a folder"),
        (["run", "missing.toml", "--save", "SMALL/result"], "is no folder"),
        (["run", ""], "'' is not a file"),
        (["check", "missing.toml"], "'missing.toml' is not a file"),
        (["list", "quue"], "did you mean 'queue'"),
        (["run"], "Missing argument"),
    ],
)
def test_mistakes_are_explained(small, tmp_path, args, text):
    (tmp_path / "folder.png").mkdir()
    places = {"SMALL": str(small), "FOLDER.png": str(tmp_path / "folder.png")}
    for short, place in places.items():
        args = [arg.replace(short, place) for arg in args]
    done = cli(*args)
    assert done.exit_code == 2
    assert text in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.output


def test_ctrl_c_while_loading_is_quiet(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "bentpipe.cli.app", SimpleNamespace(app=interrupted))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")  # noqa: PTH110
def test_a_full_disk_is_said(small):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*BENTPIPE, "check", str(small)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "error: the output cannot be written: no space left on device\n"


def test_nothing_heavy_is_imported_before_it_is_needed(small):
    def imported(*args):
        code = f"import sys; sys.argv[1:] = {args!r}\nfrom bentpipe.cli.app import app\n"
        code += "try: app()\nexcept SystemExit: pass\n"
        code += "print([m for m in ('polars', 'numpy', 'scipy', 'matplotlib') if m in sys.modules], file=sys.stderr)"
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.strip()

    assert imported("--help") == "[]"
    assert imported("list", "cc") == "[]"
    assert imported("check", str(small)) == "[]"
    assert imported("run", str(small)) == "['polars', 'numpy']"
    assert imported("compare", str(small), "--cc", "reno", "--replications", "2") == "['polars', 'numpy', 'scipy']"


def test_a_reader_that_leaves_is_no_error(small):
    for args in (["run", str(small)], ["check", str(small)], ["schema"], ["list", "series"]):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([*BENTPIPE, *args], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
        os.close(write)
        assert done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("save", [False, True])
def test_ctrl_c_stops_at_once_and_says_how_far_it_came(small, tmp_path, save):
    # So long that it would never end by itself.
    args = ["run", str(small), "--set", "duration=4000 h", *(["--save", str(tmp_path / "part")] if save else [])]
    with subprocess.Popen([*BENTPIPE, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # The facts are printed just before the run.
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert "Two senders" in first
    assert process.returncode == 130
    assert said.startswith("interrupted")
    assert "Traceback" not in said
    assert (tmp_path / "part").exists() == (save and "interrupted at" in said)
