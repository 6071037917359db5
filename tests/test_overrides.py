"""Overrides of a scenario: overrides without an effect are refused, and middleboxes are not removed by accident."""

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import ScenarioError
from bentpipe.scenario import overrides

SCENARIO = """
duration = "2 s"
[tcp]
like = "rfc"
[node.mid]
middlebox = [{ kind = "impair", reorder = 0.01, hold = "6 ms" }]
[link.up]
from = "a"
to = "mid"
delay = "1 ms"
forward.rate = "1 Mbit/s"
reverse.rate = "1 Mbit/s"
[link.down]
from = "mid"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
[flow.f]
from = "a"
to = "b"
"""

SHED = """
import bentpipe as bp


class Shed(bp.Middlebox):
    pass
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "own.toml").write_text(SCENARIO + 'tcp = { cc = "cubic" }\n')
    (tmp_path / "cases.toml").write_text(SCENARIO + '[case.a]\ntcp.cc = "reno"\n[case.b]\ntcp.cc = "sack"\n')
    (tmp_path / "varied.toml").write_text(SCENARIO + '[sweep.vary]\ntcp.cc = ["reno", "sack"]\n')
    (tmp_path / "shed.py").write_text(SHED)
    return tmp_path


def invoke(*args):
    done = CliRunner().invoke(app, [str(each) for each in args])
    return done.exit_code, " ".join(done.output.split())


def middleboxes(scenario):
    (node,) = [node for node in scenario.network()["nodes"] if node["node"] == "mid"]
    return node["middleboxes"]


RATES = "link.up.rate has no effect: each direction has its own rate"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run", "s.toml", "--set", "link.up.rate=5 Mbit/s"], (RATES, "link.up.forward.rate or link.up.reverse.rate")),
        (["check", "s.toml", "--set", "link.up.rate=5 Mbit/s"], (RATES, "--set link.up.rate")),
        (["sweep", "s.toml", "--vary", "link.up.rate=1 Mbit/s,5 Mbit/s"], (RATES, "--vary link.up.rate")),
        (["compare", "s.toml", "--case", "x:", "--case", "y: link.up.rate=5 Mbit/s"], (RATES,)),
        (["run", "own.toml", "--set", "tcp.cc=reno"], ("each flow has its own cc", "flow.f.tcp.cc")),
        (["run", "own.toml", "--cc", "reno"], ("each flow has its own cc", "flow.f.tcp.cc")),
        (["compare", "own.toml", "--cc", "reno,sack"], ("each flow has its own cc",)),
        (["mix", "own.toml", "--cc", "reno,sack"], ("each flow has its own cc",)),
        (["speak", "own.toml", "--cc", "reno"], ("each flow has its own cc",)),
        (["run", "s.toml", "--set", "tcp.cc=reno", "--cc", "sack"], ("tcp.cc has no effect: --cc sets it, too",)),
        (["compare", "s.toml", "--set", "tcp.cc=reno", "--cc", "sack,cubic"], ("--cc sets it, too",)),
        (["compare", "cases.toml", "--set", "tcp.cc=reno"], ("every case sets it, too",)),
        (
            ["compare", "s.toml", "--set", "tcp.cc=cubic", "--case", "a: tcp.cc=reno", "--case", "b: tcp.cc=sack"],
            ("every case sets it, too", "only one of the two"),
        ),
        (["sweep", "varied.toml", "--set", "tcp.cc=reno"], ("tcp.cc has no effect: the sweep sets it, too",)),
        (["sweep", "s.toml", "--vary", "seed=1,99", "--set", "seed=3"], ("seed has no effect",)),
        (
            ["sweep", "varied.toml", "--set", "sweep.replications=3", "--replications", "4"],
            ("sweep.replications has no effect: another option sets it, too",),
        ),
        (["run", "s.toml", "--set", "seed=1", "--set", "seed=2"], ("a later --set repeats it",)),
        (["run", "s.toml", "--set", "seed=1", "--seed", "2"], ("seed has no effect: --seed sets it, too",)),
        (["run", "s.toml", "--set", "link.down.error.rate=0.1", "--set", "link.down.error={kind='none'}"], ("later",)),
        (["run", "s.toml", "--set", "sweep.replications=3"], ("this command does not read it", "bentpipe sweep")),
        (["run", "cases.toml", "--set", "case.a.tcp.cc=cubic"], ("this command does not read it", "bentpipe compare")),
        (["compare", "s.toml", "--case", "x: tcp.cc=reno; tcp.cc=sack", "--case", "y:"], ("case x has tcp.cc twice",)),
        (["run", "s.toml", "--set", "tcp.cc+=reno"], ("tcp.cc is not a list of middleboxes",)),
    ],
)
def test_what_has_no_effect_is_refused(place, args, said):
    code, output = invoke(*args)
    assert code == 2
    for text in said:
        assert text in output, output


@pytest.mark.parametrize(
    "args",
    [
        ["run", "s.toml", "--set", "link.down.rate=5 Mbit/s", "--set", "tcp.cc=cubic"],
        ["run", "s.toml", "--set", "link.down.error.kind=packet", "--set", "link.down.error.rate=0.01"],
        ["run", "varied.toml", "--set", "tcp.cc=reno"],
        ["run", "cases.toml", "--set", "tcp.cc=cubic"],
        ["compare", "cases.toml", "--set", "tcp.smss=536 B", "-n", "2"],
        ["compare", "s.toml", "--set", "tcp.cc=cubic", "--case", "a:", "--case", "b: tcp.cc=sack", "-n", "2"],
        ["mix", "s.toml", "--cc", "base,reno", "--case", "base:", "--set", "tcp.cc=cubic", "-n", "2"],
        ["run", "s.toml", "--set", "node.mid.middlebox+=ewa", "--set", "node.mid.middlebox+=ack-filter"],
    ],
)
def test_what_has_one_is_not(place, args):
    code, output = invoke(*args)
    assert code == 0, output


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("node.mid.middlebox+=./shed.py:Shed", ["impair", "own"]),
        ('node.mid.middlebox+=["./shed.py:Shed", "ack-filter"]', ["impair", "own", "ack-filter"]),
        ("node.mid.middlebox.prepend=./shed.py:Shed", ["own", "impair"]),
        ("node.mid.middlebox.replace=./shed.py:Shed", ["own"]),
        ("node.mid.middlebox-=impair", []),
        ("node.a.middlebox=./shed.py:Shed", ["impair"]),
    ],
)
def test_words_change_the_list_of_a_node(place, key, expected):
    assert middleboxes(bp.load("s.toml", overrides.pairs([key]))) == expected


def test_a_class_does_not_remove_what_is_there(place):
    class Mine(bp.Middlebox):
        pass

    base = bp.load("s.toml")
    for value in (Mine, [Mine], ["impair", Mine], "shed.py:Shed", "ack-filter"):
        with pytest.raises(ScenarioError) as error:
            base.replace("node.mid.middlebox", value)
        assert "would remove impair" in str(error.value)
    code, output = invoke("run", "s.toml", "--set", "node.mid.middlebox=./shed.py:Shed")
    assert (code, "node.mid.middlebox.append (or +=)" in output) == (2, True)
    cases = {"plain": {}, "mine": {"node.mid.middlebox.append": Mine}}
    compared = bp.compare(base, cases=cases, replications=2, jobs=1)
    assert compared.names == ("plain", "mine")
    varied = bp.sweep(base, {"node.mid.middlebox.append": [[Mine], ["ack-filter"]]}, replications=1, jobs=1)
    assert varied.points.height == 2
    assert middleboxes(base.with_sets({"node.mid.middlebox.append": [Mine, {"kind": "ewa"}]})) == [
        "impair",
        "own",
        "ewa",
    ]
    assert middleboxes(bp.run(base, middlebox={"mid": Mine}).scenario) == ["impair", "own"]


def test_a_whole_list_notes_what_it_removes(place):
    scenario = bp.load("s.toml", {"node.mid.middlebox": [{"kind": "ewa"}]})
    assert scenario.notes == ["node.mid.middlebox removes impair from mid"]
    assert "node.mid.middlebox removes impair from mid" in bp.run(scenario).notes


def test_a_case_that_sets_the_kind_of_a_node_keeps_its_middleboxes(place):
    scenario = bp.loads(SCENARIO + '[case.x]\nnode.mid.kind = "processing"\n')
    assert middleboxes(scenario.cases["x"]) == ["impair"]


def test_the_commands_of_results_are_accepted(place):
    scenario = bp.load("s.toml", {"tcp.cc": "sack", "seed": 3})
    sweep = bp.sweep(scenario, {"tcp.cc": ["reno", "cubic"]}, replications=2, jobs=1, store="x.sweep")
    assert sweep.runs.height == 4
    from bentpipe.experiment.common.commands import run_command, sweep_command

    facts = {
        "verb": "sweep",
        "source": "s.toml",
        "written": (SCENARIO, "toml"),
        "senders": {},
        "metrics": ["goodput"],
        "sets": [
            ("tcp.cc", "sack"),
            ("tcp.smss", "536 B"),
            ("tcp.smss", "1000 B"),
            ("node.mid.middlebox.append", "ewa"),
            ("node.mid.middlebox.append", "ack-filter"),
            ("sweep.vary.tcp.cc", '["reno", "cubic"]'),
        ],
    }
    command = sweep_command(facts)
    assert "tcp.cc=sack" not in command
    assert "536" not in command
    assert command.count("middlebox.append=") == 2
    again = run_command(facts, {"tcp.cc": "cubic"}, 7)
    assert "tcp.cc=cubic" in again
    assert "tcp.cc=sack" not in again
    assert again.count("middlebox.append=") == 2
