"""The help of the command line: everything explained, in lines that fit, with examples that run."""

import lzma
import re
import shlex

import click
import pytest
from click.testing import CliRunner

from bentpipe.cli.app import COMMANDS, app
from bentpipe.experiment.common.options import CHARTS, MIX_CHARTS, SWEEP_CHARTS
from bentpipe.metric import METRICS
from bentpipe.papers.claims import paper
from bentpipe.scenario.scenario import shipped_text
from bentpipe.statistics.judgement import CORRECTIONS, STATISTICS
from tests import measurements

LETTERS = 45
"""Of the first line of a command's help at most, so that no list of commands cuts it."""


def help_of(*args):
    done = CliRunner().invoke(app, [*args, "--help"])
    assert done.exit_code == 0
    return done.stdout


def command(name):
    with click.Context(app) as ctx:
        return app.get_command(ctx, name)


@pytest.mark.parametrize("args", [[], *([name] for name in COMMANDS)])
def test_lines_of_help_fit_the_terminal(args):
    # Examples are copied, so they are never broken.
    lines = help_of(*args).partition("Examples:")[0].splitlines()
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_line_of_help_is_whole_in_the_list_of_commands(name):
    first = command(name).help.splitlines()[0]
    assert len(first) <= LETTERS
    assert re.search(rf"^  {name} +{re.escape(first)}$", help_of(), re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_and_option_is_explained(name):
    text = help_of(name)
    for parameter in command(name).params:
        assert parameter.help, parameter.name
        assert " ".join(parameter.help.split()[:3]) in " ".join(text.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_commands(name):
    examples = command(name).examples
    assert examples
    assert "Examples:\n" + "".join(f"  {example}\n" for example in examples) in help_of(name)
    for example in examples:
        assert len(example) <= 80
        words = shlex.split(example.partition(" >")[0])
        assert words[:2] == ["bentpipe", name]
        with command(name).make_context(name, words[2:]):
            pass


# Options that shorten examples. Papers, whose runs are long, are checked by name. Commands in real time have separate
# tests.
SHORT = {
    "run": ["--set", "duration=20 s"],
    "compare": ["--set", "duration=2 s", "--replications", "1"],
    "mix": ["--set", "duration=2 s", "--replications", "1"],
    "sweep": ["--set", "duration=2 s", "--replications", "2"],
    "tune": ["--set", "duration=3 s"],
}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in COMMANDS
        if name not in ("report", "pack", "repeat", "cite", "reproduce", "emulate", "speak", "studio", "twin")
    ],
)
def test_examples_run(name, tmp_path, monkeypatch, shortened):
    # They need a kernel and a host.
    out_of_reach = {"--kernel", "--measure"}
    examples = [each for each in command(name).examples if not out_of_reach & {*each.split()}]
    for number, example in enumerate(examples):
        place = tmp_path / str(number)
        place.mkdir()
        monkeypatch.chdir(place)
        if name == "check":
            (place / "mine.toml").write_text(shipped_text("geo"))
        if name == "fit":
            (place / "ping.txt").write_text(measurements.ping())
            (place / "iperf.json").write_text(measurements.iperf3())
            (place / "ping.csv.xz").write_bytes(lzma.compress(measurements.csv().encode()))
            for end in ("server", "terminal"):
                (place / f"{end}.pcap").write_bytes(measurements.pcap())
            (place / "lags.csv").write_text(measurements.csv().replace("t_s,rtt_ms", "when,lag"))
        (place / "myidea.py").write_text("import bentpipe as bp\n\n\nclass MyIdea(bp.CongestionControl):\n    pass\n")
        words = shlex.split(example.partition(" >")[0])[1:]
        most = ["--replications-max", "2"] if "--until" in words else []
        done = CliRunner().invoke(app, shortened(words, [*SHORT.get(name, []), *most]))
        assert done.exit_code == 0, done.output


def test_examples_of_reports_and_papers_name_what_there_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    sweep = ["sweep", "geo", "--vary", "tcp.cc=cubic,reno", *SHORT["sweep"]]
    assert runner.invoke(app, sweep).exit_code == 0
    for example in command("report").examples:
        done = runner.invoke(app, shlex.split(example)[1:])
        assert done.exit_code == 0, done.output
    for example in [*command("pack").examples, *command("repeat").examples, *command("cite").examples]:
        done = runner.invoke(app, shlex.split(example)[1:])
        assert done.exit_code == 0, done.output
    for example in command("reproduce").examples:
        with command("reproduce").make_context("reproduce", shlex.split(example)[2:]) as context:
            given = context.params
        claims = {claim.id for name in given["papers"] for claim in paper(name).claims}
        assert claims >= {*given["claims"]}


def test_pages_can_be_made_of_the_examples():
    assert command("show").epilog == (
        "Examples:\n\n    bentpipe show geo\n    bentpipe show geo > mine.toml\n    bentpipe show geo --tc > path.sh"
    )


@pytest.mark.parametrize(
    ("name", "option", "choices"),
    [
        ("compare", "--statistic", STATISTICS),
        ("compare", "--correction", CORRECTIONS),
        ("compare", "--chart", CHARTS),
        ("mix", "--chart", MIX_CHARTS),
        ("sweep", "--chart", SWEEP_CHARTS),
    ],
)
def test_help_shows_the_choices(name, option, choices):
    assert f"{option} {'|'.join(choices)}" in help_of(name)


def test_help_names_the_metrics():
    assert ", ".join(METRICS) in " ".join(help_of("compare").split())


def test_an_option_has_the_same_letter_everywhere():
    letters = {}
    for name in COMMANDS:
        for option in command(name).params:
            for letter in (each for each in option.opts if len(each) == 2):
                letters.setdefault(letter, set()).update(each for each in option.opts if len(each) > 2)
    assert letters.pop("-o") == {"--save", "--out"}
    assert letters == {
        "-c": {"--cc"},
        "-s": {"--seed"},
        "-m": {"--metric"},
        "-n": {"--replications"},
        "-p": {"--plot"},
        "-j": {"--jobs"},
        "-q": {"--quiet"},
    }


def test_the_nearest_command_and_option_are_named():
    done = CliRunner().invoke(app, ["compere", "geo"])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: 'compere' is not a command\n")
    assert "did you mean 'compare'?" in done.stderr
    assert "--metric" in CliRunner().invoke(app, ["compare", "geo", "--metrik", "rtt"]).stderr


def test_without_a_command_five_to_start_with_are_shown_and_they_are_commands():
    done = CliRunner().invoke(app, [], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    shown = [line.strip().split("  ")[0] for line in done.stdout.splitlines() if line.startswith("  bentpipe ")]
    assert len(shown) == 5
    for line in shown:
        _, name, *arguments = shlex.split(line)
        # Parsed, not run.
        with command(name).make_context(name, arguments):
            pass
    assert f"All {len(COMMANDS)} commands: bentpipe --help" in done.stdout
