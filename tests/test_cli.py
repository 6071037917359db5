"""The command line, as people and programs use it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.__main__ import main
from bentpipe.catalog import dictionary
from bentpipe.cli import progress
from bentpipe.cli.app import app
from bentpipe.cli.excerpt import describe_error
from bentpipe.cli.printing import is_coloured

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
    assert done.exit_code == 0
    assert "31 flows; --all shows each" in done.stdout
    assert "median" in done.stdout
    assert "packets sent =" in done.stdout
    assert "bulk17" not in done.stdout
    every = cli("run", path, "--all").stdout
    assert "bulk17" in every
    assert "summed over all connections" in every


def test_transfers_that_failed_are_not_called_done(small):
    outage = ["--set", "link.up.outage={spans=[['2 s', '90 s']]}", "--set", "tcp.give_up=2 retransmissions"]
    done = cli("run", small, *outage, "--set", "duration=80 s", "--set", "flow.bulk.app={kind='file', size='5 MB'}")
    assert "(every transfer was over; 2 connections gave up)\n" in done.stdout
    assert "aborted" in done.stdout


def test_run_as_json_is_json_and_nothing_else(small):
    done = cli("run", small, "--json", "--seed", 9, "--series", "cwnd_bytes")
    assert done.stderr == ""
    content = json.loads(done.stdout)
    assert content == bp.run(bp.load(small), seed=9, series=["cwnd_bytes"]).to_dict()


def test_values_can_be_set(small):
    content = json.loads(cli("run", small, "--set", "title=Other", "--set", "duration = 5 s", "--json").stdout)
    assert content["provenance"]["title"] == "Other"
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
        assert "no run has a value of fct" in done.stderr
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
    found = json.loads(cli("check", small, "--json").stdout)
    assert found["scenario"] == bp.load(small).to_dict()
    assert [problem["message"] for problem in found["problems"]] == bp.load(small).notes


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
        (["compare", "SMALL", "--cc", "reno", "--confidence", "95"], "did you mean 95 %?"),
        (["run", "missing.toml", "--plot", "missing/figure.png"], "there is no folder missing"),
        (["run", "missing.toml", "--plot", "SMALL/figure.png"], "is not a folder"),
        (["run", "missing.toml", "--plot", "FOLDER.png"], "is a folder"),
        (["run", "missing.toml", "--save", "SMALL/result"], "is not a folder"),
        (["run", ""], "'' is not a file"),
        (["check", "missing.toml"], "'missing.toml' is not a file"),
        (["list", "quue"], "did you mean 'queue'"),
        (["run"], "error: FILE is missing\n  expected bentpipe run FILE"),
        (["run", "SMALL", "10"], "error: got unexpected extra argument (10)\n  options: bentpipe run --help"),
        (["run", "SMALL", "--set", "rate=5", "Mbit/s"], "error: got unexpected extra argument (Mbit/s)\n"),
        (["run", "SMALL", "--loss", "1%"], "did you mean --set link.NAME.error='1 %'?"),
        (["run", "SMALL", "--duration", "5 s"], "did you mean --set duration='60 s'?"),
        (["compare", "SMALL", "--replications", "many"], "error: invalid value for '-n'"),
        (["--loss"], "error: --loss is not an option of bentpipe\n"),
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
    # Another Ctrl-C is ignored from then on, by this process and by its children.
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 130
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")  # noqa: PTH110
def test_a_full_disk_is_said(small):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*BENTPIPE, "check", str(small)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "error: the output cannot be written: no space left on device\n"


def test_nothing_heavy_is_imported_before_it_is_needed(small):
    commands = [
        *(["--help"], ["list"], ["list", "cc"], ["check", str(small)], ["run", str(small)]),
        ["run", str(small), "--json"],
        ["compare", str(small), "--cc", "reno,sack", "--replications", "2"],
    ]
    # In one process, and after each what is there by then.
    code = f"""
import sys
from bentpipe.cli.app import app
for args in {commands!r}:
    try: app(args)
    except SystemExit: pass
    print([m for m in ('polars', 'numpy', 'scipy', 'matplotlib') if m in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [*["[]"] * 5, "['numpy']", "['polars', 'numpy']"]


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
    args = ["run", str(small), "--set", "duration=4000 h", "--plot", str(tmp_path / "part.png")]
    args += ["--save", str(tmp_path / "part")] if save else []
    with subprocess.Popen([*BENTPIPE, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # The facts are printed just before the run.
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert "Two senders" in first
    assert process.returncode == 130
    assert said.startswith("interrupted")
    assert ("; no figure was drawn" in said) == ("interrupted at" in said)
    assert not (tmp_path / "part.png").exists()
    assert "Traceback" not in said
    assert (tmp_path / "part").exists() == (save and "interrupted at" in said)


# Errors with a line of the scenario

BROKEN = 'duration = "5 sec"\n[tcp]\n\tcc = "cubik"\n'


def test_an_error_shows_the_line_that_it_is_about(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text(BROKEN)
    lines = cli("check", path).stderr.splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith('error: duration = "5 sec"'))
    assert lines[at + 1] == '  1 | duration = "5 sec"'
    assert re.fullmatch(r"    \|            \^+", lines[at + 2])
    assert lines[at + 3].startswith('  did you mean "5 s"? expected a number with')
    at = next(at for at, line in enumerate(lines) if line.startswith("error: tcp.cc"))
    # A tab is one column for the caret, too.
    assert lines[at + 1] == '  3 |  cc = "cubik"'
    assert re.fullmatch(r"    \|       \^+", lines[at + 2])


def test_an_error_shows_the_part_of_a_long_line_that_it_is_about(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text(f'tcp = {{ cc = "reno", reordering = 3, {" " * 100}like = "nobody" }}\n')
    lines = cli("check", path).stderr.splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("error: tcp.like"))
    shown, caret = lines[at + 1], lines[at + 2]
    assert max(len(shown), len(caret)) <= 80
    assert shown[caret.index("^") :].startswith('"nobody"')


def test_carets_stand_under_all_that_a_problem_is_about(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("a = wrong\n")

    def wrong(*end):
        place = {"file": str(path), "line": 1, "column": 5, "end_line": end[0], "end_column": end[1]}
        problem = bp.errors.Problem("a is wrong", expected="expected right", place=f"{path}:1:5", **place)
        return describe_error(bp.errors.ScenarioError(problem))

    assert ":1:5\n  1 | a = wrong\n    |     ^^^^^\n  expected right" in wrong(1, 10)
    # Longer texts, and texts of several lines, are cut.
    for end in ((1, 99), (2, 1)):
        assert f"|     {'^^^^^' if end[0] == 1 else '^'}\n" in wrong(*end)


@pytest.mark.parametrize("place", ["nowhere.toml:1:1", "FILE:9:1", "FILE:0:1", ".:1:1"])
def test_a_place_that_cannot_be_shown_is_only_named(tmp_path, place):
    (tmp_path / "file.toml").write_text("a = 1\n")
    text = f"a   {place.replace('FILE', str(tmp_path / 'file.toml'))}"
    assert describe_error(bp.errors.ScenarioError(text)) == f"error: {text}"


# Colour, and saying nothing


def coloured(text):
    return "\x1b[" in text


@pytest.mark.parametrize("args", [["--help"], ["list", "cc"], ["run", "SMALL"], ["check", "BROKEN"]])
def test_colours_are_for_terminals_and_no_color_forbids_them(small, tmp_path, monkeypatch, args):
    (tmp_path / "broken.toml").write_text(BROKEN)
    places = {"SMALL": str(small), "BROKEN": str(tmp_path / "broken.toml")}
    args = [places.get(arg, arg) for arg in args]
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    plain = cli(*args).output
    assert not coloured(plain)
    # As on a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    painted = CliRunner().invoke(app, args, color=True).output
    assert coloured(painted)
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR")
    assert not coloured(CliRunner().invoke(app, args, color=True).output)


def test_a_terminal_gets_colours():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    assert is_coloured(Terminal()) == ("NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb")
    assert not is_coloured(io.StringIO())


@pytest.mark.parametrize(
    "args",
    [
        ["run", "SMALL", "--save", "OUT"],
        ["compare", "SMALL", "--cc", "reno,sack", "-n", 2, "--save", "OUT"],
        ["mix", "SMALL", "--cc", "reno,sack", "-n", 2, "-o", "OUT"],
        ["sweep", "SMALL", "--vary", "tcp.cc=reno,sack", "-n", 2, "--store", "OUT"],
        ["check", "SMALL"],
    ],
)
def test_quiet_commands_print_nothing(small, tmp_path, args):
    places = {"SMALL": small, "OUT": tmp_path / "out"}
    done = cli(*(places.get(arg, arg) for arg in args), "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert (tmp_path / "out").exists() == ("OUT" in args)


def test_quiet_commands_print_errors_and_json(small):
    assert "did you mean 'reno'" in cli("run", small, "--cc", "ren", "-q").stderr
    assert json.loads(cli("run", small, "-q", "--json").stdout)["provenance"]["title"] == bp.load(small).title


# Progress


def test_one_bar_shows_what_every_experiment_reports(monkeypatch):
    shown, begun = [], []
    monkeypatch.setattr(progress, "APPEARS_AFTER_S", 0)
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True, write=shown.append, flush=lambda: None))
    step = SimpleNamespace(done=0, total=4, share=0.0, label="0 of 4 runs", left_s=None)
    with progress.Bar(lambda: begun.append(step.done)) as bar:
        bar(step)
        assert begun == []
        step.done, step.share, step.label, step.left_s = 1, 0.25, "1 of 4 runs", 90.0
        bar(step)
        bar(step)
        bar._bar._bar.refresh()
    assert begun == [1]
    text = "".join(shown)
    assert "1 of 4 runs" in text
    assert "25%" in text
    assert "1:30 left" in text


def test_a_bar_without_a_terminal_says_at_most_how_it_ended(capsys):
    step = SimpleNamespace(done=4, total=4, share=1.0, label="4 of 4 runs", left_s=0.0)
    for options, said in (({}, ""), ({"is_summed_up": True}, "4 of 4 runs in "), ({"is_quiet": True}, "")):
        with progress.Bar(**options) as bar:
            bar(step)
        text = capsys.readouterr().err
        assert text.startswith(said)
        assert bool(text) == bool(said)


@pytest.mark.parametrize("command", ["compare", "mix"])
def test_what_is_in_a_store_is_not_run_again(small, tmp_path, begun, command):
    args = [command, small, "--cc", "reno,sack", "--store", tmp_path / "store", "--json"]
    first = cli(*args, "-n", 2)
    count = len(begun)
    assert count > 0
    assert cli(*args, "-n", 2).stdout == first.stdout
    assert len(begun) == count
    assert len({row["seed"] for row in json.loads(cli(*args, "-n", 3).stdout)["runs"]}) == 3
    assert len(begun) == 1.5 * count


@pytest.mark.parametrize("command", ["compare", "mix"])
def test_what_was_kept_becomes_a_report(small, tmp_path, command):
    assert cli(command, small, "--cc", "reno,sack", "-n", 2, "--store", tmp_path / "store", "-q").exit_code == 0
    done = cli("report", tmp_path / "store", "--out", tmp_path / "page")
    assert done.exit_code == 0
    assert f"page     {tmp_path}/page/report.html\n" in done.stdout
    assert (tmp_path / "page" / "report.html").is_file()


@pytest.mark.parametrize(("command", "metric"), [("compare", "goodput"), ("mix", "share")])
def test_replications_are_added_until_intervals_are_narrow(small, command, metric):
    args = [command, small, "--cc", "reno,sack", "-n", 3, "--until", f"{metric}=0.001%", "--json"]
    found = json.loads(cli(*args, "--replications-max", 5).stdout)
    assert len({row["seed"] for row in found["runs"]}) == 5
    done = cli(*args[:-2], "nothing=1%")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "nothing" in done.stderr


# Lists


def test_every_column_is_listed_with_its_unit_and_meaning():
    listed = json.loads(cli("list", "columns", "--json").stdout)
    assert {(each["table"], each["name"]) for each in listed} == {
        (table, entry["name"])
        for table, entries in dictionary().items()
        if table not in ("series", "causes", "states")
        for entry in entries
    }
    assert all(each["summary"] for each in listed)
    text = " ".join(cli("list", "columns").stdout.split())
    assert "flows: flow Name of the flow." in text
    assert re.search(r"start_s Instant of the first packet sent [^\]]* \[s\]", text)


def test_all_topics_are_listed_with_their_names():
    listed = {each["name"]: each["entries"] for each in json.loads(cli("list", "--json").stdout)}
    assert set(listed["columns"]) == dictionary().keys() - {"series", "causes", "states"}
    assert listed["cc"] == [choice["name"] for choice in bp.choices()["cc"]]
    assert "hswa" in listed["papers"]


def test_lists_read_no_claims_and_check_no_scenarios(monkeypatch):
    def read(*_):
        raise AssertionError("not for a list")

    monkeypatch.setattr("bentpipe.papers.claims.paper", read)
    monkeypatch.setattr("bentpipe.scenario.scenario.load", read)
    for topic in ([], ["papers"], ["scenarios"]):
        assert cli("list", *topic).exit_code == 0


# Mistakes that would be found late


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["compare", "SMALL", "--cc", "reno,reno"], "reno is given twice"),
        (["mix", "SMALL", "--cc", "reno,reno"], "reno is given twice"),
        (["compare", "SMALL", "--case", "a: tcp.cc=nope", "--case", "b:"], "nope"),
        (["compare", "SMALL", "--cc", "reno", "--against", "sack"], "--against"),
        (["sweep", "SMALL", "--vary", "seed=1,2", "--replications", "2"], "share runs"),
        (["run", "SMALL", "--cc", "FAILS"], "boom"),
        (["run", "SMALL", "--seed", "-1"], "seed = -1"),
    ],
)
def test_a_mistake_is_found_before_anything_is_printed(small, tmp_path, monkeypatch, args, said):
    monkeypatch.chdir(tmp_path)
    fails = "class Fails(bp.CongestionControl):\n    def __init__(self, *_):\n        raise ValueError('boom')\n"
    (tmp_path / "fails.py").write_text(f"import bentpipe as bp\n\n\n{fails}")
    places = {"SMALL": str(small), "FAILS": "fails.py:Fails"}
    done = cli(*(places.get(arg, arg) for arg in args))
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_congestion_controls_add_up_when_cc_is_repeated():
    asked = ["compare", "tests/small.toml", "--set", "duration=2 s", "-n", "1", "--json"]
    found = json.loads(cli(*asked, "--cc", "reno", "--cc", "cubic,bbr3").output)
    assert found["provenance"]["names"] == ["reno", "cubic", "bbr3"]
    for command in ("run", "why", "speak", "emulate", "twin"):
        said = cli(command, "tests/small.toml", "--cc", "reno", "--cc", "cubic")
        assert said.exit_code == 2
        assert "expected one" in said.output


@pytest.mark.parametrize(
    ("word", "topic"), [("senders", "cc"), ("queues", "queue"), ("scenario", "scenarios"), ("PEPs", "middlebox")]
)
def test_other_words_lead_to_the_list_that_is_meant(word, topic):
    assert cli("list", word).output == cli("list", topic).output != ""


def test_a_link_that_is_not_there_is_said_with_those_that_are():
    for key in ("link.satt.rate=1 Mbit/s", "link.satt.from=a"):
        said = cli("run", "geo", "--set", key)
        assert said.exit_code == 2
        assert said.stderr.count("link.satt is not in the scenario") == 1
        assert 'did you mean "sat"? known: access, sat' in said.stderr
    said = cli("run", "geo", "--set", "link.uplink.error.rate=1e-3")
    assert said.stderr.count("error:") == 1
    assert "known: access, sat\n" in said.stderr
    assert "in the scenario" not in cli("run", "geo", "--set", "link.sat.rat=3").stderr
