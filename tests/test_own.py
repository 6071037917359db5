"""Custom congestion controls in Python."""

import copy
import json
import math
import os
import pickle
import random
import re
import shlex
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe import _core
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, Interrupted, ScenarioError, SenderError
from bentpipe.own import loading, travel
from bentpipe.own.fingerprint import compute_code
from bentpipe.own.sender import HOOKS

SCENARIO = """
title = "A lossy hop"
duration = "20 s"
seed = 3
[tcp]
like = "rfc"
cc = "sack"
[link.hop]
from = "a"
to = "b"
rate = "4 Mbit/s"
delay = "50 ms"
queue = "1 bdp"
error = { kind = "packet", rate = 1e-3 }
[flow.one]
from = "a"
to = "b"
[flow.two]
from = "a"
to = "b"
tcp = { cc = "cubic" }
"""

IDEA = """
import bentpipe as bp

PART = 0.7

class MyIdea(bp.CongestionControl):
    def on_congestion(self, why, path):
        kept = path.share(why.left(PART))
        self.reduce(path.as_ssthresh(kept), kept)
"""


@pytest.fixture
def scenario():
    return bp.loads(SCENARIO)


@pytest.fixture
def idea(tmp_path):
    (tmp_path / "myidea.py").write_text(IDEA)
    return f"{tmp_path / 'myidea.py'}:MyIdea"


class Inherits(bp.CongestionControl):
    pass


class InPython(bp.CongestionControl):
    """Reno's window (RFC 5681), every hook written out."""

    def on_ack(self, ack, path):
        if ack.is_cwnd_limited:
            below = self.cwnd < self.ssthresh
            self.cwnd += min(ack.newly_acked, path.smss) if below else path.smss**2 / self.cwnd

    def on_congestion(self, why, path):
        assert not why.is_ecn
        assert why.beta is None
        self.cwnd = self.ssthresh = path.half()

    def on_rto(self, first, path):
        if first:
            self.ssthresh = path.half_as_ssthresh()
        self.cwnd = 0


def numbers_of(fact):
    names = [name for name in dir(fact) if not name.startswith("_")]
    return {name: value for name in names if not callable(value := getattr(fact, name))}


def flows(result):
    return [{key: value for key, value in row.items() if key != "cc"} for row in result.flows.to_dicts()]


@pytest.mark.parametrize("cc", [Inherits, InPython])
def test_renos_window_in_python_is_renos_window(scenario, cc):
    ours, rust = bp.run(scenario, cc=cc), bp.run(scenario, cc="sack")
    assert ours.flows["cc"].to_list() == [cc.__name__, "cubic"]
    for mine, other in zip(flows(ours), flows(rust), strict=True):
        # The core keeps fractions of bytes with 16 binary digits.
        numbers = {key: value for key, value in other.items() if isinstance(value, (int, float))}
        assert {key: mine[key] for key in numbers} == pytest.approx(numbers, rel=0.01, nan_ok=True)
    if cc is Inherits:
        assert flows(ours) == flows(rust)


def test_a_reduced_window_is_rounded_as_the_host_rounds_it(scenario):
    kept = []

    class Reduces(bp.CongestionControl):
        def on_congestion(self, why, path):
            share = 5.5 * path.smss
            self.reduce(path.as_ssthresh(share), share)
            kept.append(self.cwnd / path.smss)

    bp.run(scenario.with_sets({"tcp.ssthresh_rounding": "window"}), cc=Reduces)
    assert set(kept) == {5.0}
    kept.clear()
    bp.run(scenario.with_sets({"tcp.ssthresh_rounding": "bytes"}), cc=Reduces)
    assert set(kept) == {5.5}


def test_facts_that_a_class_keeps_stay_as_they_were(scenario):
    class Keeps(bp.CongestionControl):
        def __init__(self, init):
            self.init, self.kept, self.seen = init, [], []

        def keep(self, *facts):
            numbers = [numbers_of(fact) for fact in facts]
            self.kept, self.seen = [*self.kept, *facts][-20:], [*self.seen, *numbers][-20:]
            assert [numbers_of(fact) for fact in self.kept] == self.seen
            assert [numbers_of(pickle.loads(pickle.dumps(fact))) for fact in facts] == numbers
            assert [numbers_of(copy.deepcopy(fact)) for fact in facts] == numbers

        def on_ack(self, ack, path):
            self.keep(ack, path)
            super().on_ack(ack, path)

        def on_congestion(self, why, path):
            self.keep(why, path)
            super().on_congestion(why, path)

        def on_delivery(self, delivery, path):
            self.keep(delivery, path)

    assert flows(bp.run(scenario, cc=Keeps)) == flows(bp.run(scenario, cc="sack"))


def test_the_recovery_of_the_class_is_used(scenario):
    class Old(bp.CongestionControl):
        recovery = "newreno"

    assert flows(bp.run(scenario, cc=Old)) == flows(bp.run(scenario, cc="newreno"))
    assert flows(bp.run(scenario, cc=Old)) != flows(bp.run(scenario, cc=Inherits))


def test_growth_that_the_scenario_sets_holds_for_what_is_inherited(scenario):
    sets = {"tcp.byte_counting.kind": "abc", "tcp.slow_start.kind": "hystart"}
    lively = scenario.with_sets(sets)
    assert flows(bp.run(lively, cc=Inherits)) == flows(bp.run(lively, cc="sack"))


def test_the_hooks_are_called_in_order_with_what_they_name(scenario):
    told = []

    class Notes(bp.CongestionControl):
        def __init__(self, init):
            assert init.smss > 0
            assert init.cwnd > 0
            assert init.ssthresh == math.inf
            assert init.now_s >= 0
            told.append("init")

        def on_ack(self, ack, path):
            told.append("ack")
            assert ack.newly_acked > 0
            assert ack.rtt_s is None or ack.rtt_s > 0.1
            assert path.snd_una <= path.snd_nxt
            assert path.flight_size >= 0
            assert path.rwnd > 0
            super().on_ack(ack, path)

        def on_delivery(self, delivery, path):
            told.append("delivery")
            assert delivery.newly_delivered > 0
            assert delivery.delivered >= delivery.newly_delivered
            assert delivery.rate_bps is None or delivery.rate_bps < 10e6
            assert path.srtt_s is None or path.srtt_s > 0.1

        def on_congestion(self, why, path):
            told.append("congestion")
            super().on_congestion(why, path)

        def on_recovery_exit(self, path):
            told.append("exit")

        def on_resume(self, path):
            told.append("resume")

    assert flows(bp.run(scenario, cc=Notes)) == flows(bp.run(scenario, cc=Inherits))
    # Both ends, made twice.
    assert told[:4] == ["init"] * 3 + ["resume"]
    assert told.count("init") == 4
    assert told.count("congestion") > 3
    assert told.count("exit") == pytest.approx(told.count("congestion"), abs=1)
    acks = [at for at, what in enumerate(told) if what == "ack"]
    assert all(told[at - 1] == "delivery" for at in acks)
    assert told.count("delivery") > len(acks), "in recovery, too"


def test_a_pacing_rate_is_kept(scenario):
    class Paced(bp.CongestionControl):
        def pacing_rate(self):
            return 1e6

    goodput = bp.run(scenario, cc=Paced).flows["goodput_bps"][0]
    assert 0.7e6 < goodput < 1e6


def test_a_rate_that_comes_with_the_first_ack_is_kept_too(scenario):
    class PacedLater(bp.CongestionControl):
        has_begun = False

        def on_ack(self, ack, path):
            self.has_begun = True
            super().on_ack(ack, path)

        def pacing_rate(self):
            return 1e6 if self.has_begun else None

    goodput = bp.run(scenario, cc=PacedLater).flows["goodput_bps"][0]
    assert 0.7e6 < goodput < 1e6


def test_what_was_no_loss_is_undone_with_all_attributes():
    scenario = bp.load("reordering", {"duration": "30 s", "tcp.spurious_detection": "dsack", "tcp.dsack": True})
    undone, cut = [], []

    class Counts(bp.CongestionControl):
        __slots__ = ("cuts",)

        def __init__(self, init):
            self.cuts, self.list = 0, []

        def on_congestion(self, why, path):
            self.cuts += 1
            self.list.append(path.now_s)
            cut.append(path.now_s)
            super().on_congestion(why, path)

        def undo(self, before):
            super().undo(before)
            undone.append((self.cuts, len(self.list)))

    assert flows(bp.run(scenario, cc=Counts)) == flows(bp.run(scenario, cc="sack"))
    assert undone
    assert all(cuts == entries for cuts, entries in undone)
    assert undone[-1][0] < len(cut), "as if it had not been"


def failing(what):
    class Fails(bp.CongestionControl):
        calls = 0

        def on_congestion(self, why, path):
            type(self).calls += 1
            what(self)

        def on_ack(self, ack, path):
            assert self.calls == 0, "no hook is called after one that failed"
            super().on_ack(ack, path)

    return Fails


def test_an_exception_ends_the_run_with_time_flow_and_traceback(scenario):
    fails = failing(lambda self: 1 / 0)
    with pytest.raises(SenderError) as failure:
        bp.run(scenario, cc=fails)
    text = str(failure.value)
    assert re.match(r"Fails failed in on_congestion, flow one, at \d+\.\d+ s\n", text)
    assert "Traceback (most recent call last)" in text
    assert "in on_congestion" in text
    assert "1 / 0" in text
    assert text.endswith("ZeroDivisionError: division by zero")
    assert isinstance(failure.value.__cause__, ZeroDivisionError)
    assert fails.calls == 1


def test_the_run_stops_at_the_event_and_is_over(scenario):
    simulation = _core.Run(scenario.replace("tcp.cc", failing(lambda self: 1 / 0))._core)
    with pytest.raises(SenderError) as failure:
        simulation.advance(10**9)
    assert 0 < float(re.search(r"at (\S+) s", str(failure.value))[1]) < 20
    with pytest.raises(bp.errors.RunError, match="has ended"):
        simulation.finish()


def test_an_exception_ends_all_that_was_asked_for(scenario, tmp_path):
    with pytest.raises(SenderError, match="KeyError: 'nothing'"):
        bp.compare(scenario, cc=["sack", failing(lambda self: {}["nothing"])], jobs=1, replications=3)
    with pytest.raises(SenderError, match="KeyError: 'nothing'"):
        bp.sweep(
            scenario,
            {"tcp.cc": ["sack", failing(lambda self: {}["nothing"])]},
            replications=3,
            jobs=1,
            store=tmp_path / "store",
        )


EXITS = {
    "SystemExit": "import sys; sys.exit(0)",
    "GeneratorExit": "raise GeneratorExit",
    "Odd": "raise type('Odd', (BaseException,), {})('no Exception')",
}
ASKED = {
    "run": ["run", "hop.toml", "--cc", "exits.py:Exits"],
    "compare": ["compare", "hop.toml", "--cc", "sack,exits.py:Exits", "--replications", "2"],
    "mix": ["mix", "hop.toml", "--cc", "sack,exits.py:Exits", "--replications", "2"],
    "sweep": ["sweep", "hop.toml", "--vary", "tcp.cc=sack,exits.py:Exits", "--replications", "2"],
    "cluster": ["sweep", "hop.toml", "--vary", "tcp.cc=exits.py:Exits", "--replications", "1", "--on"],
}


def words_of(asked, request):
    """The words of a command; that of another process goes to the cluster of the session."""
    return [*ASKED[asked], *([request.getfixturevalue("cluster")] if asked == "cluster" else [])]


def exits_in(tmp_path, hook, what):
    arguments = "self, init" if hook == "__init__" else "self, ack, path"
    (tmp_path / "hop.toml").write_text(SCENARIO)
    (tmp_path / "exits.py").write_text(
        f"import bentpipe as bp\nclass Exits(bp.CongestionControl):\n    def {hook}({arguments}):\n        {what}\n"
    )


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("kind", EXITS)
def test_what_asks_to_end_the_process_is_an_error_of_the_sender(tmp_path, monkeypatch, request, asked, kind):
    exits_in(tmp_path, "on_ack", EXITS[kind])
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words_of(asked, request))
    assert done.exit_code == 2, done.output
    assert "error: Exits failed in on_ack, flow one" in done.stderr
    assert kind in done.stderr
    assert "exits.py" in done.stderr


def test_so_it_is_where_the_object_is_made_and_where_the_file_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exits_in(tmp_path, "__init__", "import sys; sys.exit(0)")
    done = CliRunner().invoke(app, ASKED["compare"])
    assert done.exit_code == 2
    assert "error: Exits failed in __init__, flow one, at 0 s" in done.stderr
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(3)\n")
    done = CliRunner().invoke(app, ASKED["compare"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {tmp_path}/exits.py cannot be imported\n")
    assert done.stderr.endswith("SystemExit: 3\n")


@pytest.mark.parametrize("asked", ["compare", "mix", "sweep", "cluster"])
def test_a_keyboard_interrupt_of_the_senders_own_is_its_error_where_no_signal_is_heard(
    tmp_path, monkeypatch, request, asked
):
    exits_in(tmp_path, "on_ack", "raise KeyboardInterrupt")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words_of(asked, request))
    assert done.exit_code == 2, done.output
    assert re.search(r"error: Exits\.on_ack, flow one(\.\d)?: it raised KeyboardInterrupt\n", done.stderr)


def test_a_sender_that_fails_in_a_sweep_is_shown_with_its_point_its_seed_and_how_to_repeat_it(tmp_path, monkeypatch):
    exits_in(tmp_path, "on_ack", "raise ValueError('boom')")
    monkeypatch.chdir(tmp_path)
    vary = ["--vary", "tcp.cc=exits.py:Exits", "--vary", "link.hop.delay=20 ms,30 ms", "--set", "duration=4 s"]
    done = CliRunner().invoke(app, ["sweep", "hop.toml", *vary, "--seed", "5", "--replications", "1", "--jobs", "1"])
    assert done.exit_code == 2
    *_, where, again = done.stderr.splitlines()
    assert where == "  at the point tcp.cc=Exits, link.hop.delay=20 ms, with seed 5:"
    words = shlex.split(again)
    assert words[:3] == ["bentpipe", "run", "hop.toml"]
    assert "tcp.cc=exits.py:Exits" in words
    alone = CliRunner().invoke(app, words[1:])
    assert alone.exit_code == 2
    assert alone.stderr.splitlines()[0] in done.stderr, "at the same simulated time"


NO_BYTES = ["x", math.nan, -1, 2**41, None]


# No threshold yet is `math.inf`.
@pytest.mark.parametrize(
    ("name", "value"), [(name, v) for name in ("cwnd", "ssthresh") for v in NO_BYTES] + [("cwnd", math.inf)]
)
def test_what_is_no_window_is_refused_where_it_is_set(scenario, name, value):
    fails = failing(lambda self: setattr(self, name, value))
    with pytest.raises(SenderError, match=rf"{name} = .*: expected bytes, 0 to 2\*\*40") as failure:
        bp.run(scenario, cc=fails)
    assert "setattr" in str(failure.value)


@pytest.mark.parametrize("rate", ["fast", math.nan, 0, -1, 1e30])
def test_what_is_no_rate_is_refused(scenario, rate):
    class Wrong(bp.CongestionControl):
        def pacing_rate(self):
            return rate

    with pytest.raises(SenderError, match=r"at 0 s(.|\n)*a pacing rate of .*: expected bit/s"):
        bp.run(scenario, cc=Wrong)


def test_an_object_that_cannot_be_made_or_hides_a_hook_is_refused(scenario):
    class NoInit(bp.CongestionControl):
        def __init__(self):
            pass

    class Hides(bp.CongestionControl):
        def __init__(self, init):
            self.pacing_rate = 1e6

    with pytest.raises(SenderError, match="NoInit failed in __init__, flow one, at 0 s"):
        bp.run(scenario, cc=NoInit)
    with pytest.raises(SenderError, match="pacing_rate is a hook: expected a method of Hides"):
        bp.run(scenario, cc=Hides)


def test_ctrl_c_in_a_hook_interrupts(scenario):
    def interrupt(self):
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as interrupted:
        bp.run(scenario, cc=failing(interrupt))
    assert interrupted.value.result.stop == "interrupted"


NO_HOOKS = ["on_akc", "on_loss", "pacing_rat", "limit_cwdn", "onAck", "OnAck", "onack", "onLoss", "setWindw"]


@pytest.mark.parametrize("name", NO_HOOKS)
def test_methods_that_nothing_would_call_are_refused(name):
    with pytest.raises(ScenarioError, match=f"'{name}' is not a hook"):
        type("Slip", (bp.CongestionControl,), {name: lambda self: None})


def test_helpers_of_ones_own_may_have_any_other_name():
    type("Fine", (bp.CongestionControl,), {"window": 1, "increase": lambda *_: 1, "half": lambda self: 0})


def generator(self, ack, path):
    yield


async def coroutine(self, ack, path):
    pass


async def both(self, ack, path):
    yield


class Property:
    cwnd = property(lambda self: 5)


BODIES = {
    "on_ack of Wrong is a generator": {"on_ack": generator},
    "on_ack of Wrong is `async`": {"on_ack": coroutine},
    "on_congestion of Wrong is `async`": {"on_congestion": both},
    "on_ack of Wrong is a staticmethod": {"on_ack": staticmethod(lambda ack, path: None)},
    "on_ack of Wrong is a classmethod": {"on_ack": classmethod(lambda cls, ack, path: None)},
    "on_ack of Wrong is a property": {"on_ack": property(lambda self: None)},
    "on_ack of Wrong is 5": {"on_ack": 5},
    "Wrong has its own cwnd (property)": {"cwnd": property(lambda self: 5)},
    "Wrong has its own ssthresh (int)": {"ssthresh": 5},
    "Wrong has its own cwnd (member_descriptor)": {"__slots__": ("cwnd",)},
}


@pytest.mark.parametrize("wrong", BODIES)
def test_what_would_never_run_or_hides_the_window_is_refused(wrong):
    with pytest.raises(ScenarioError) as error:
        type("Wrong", (bp.CongestionControl,), BODIES[wrong])
    assert str(error.value).startswith(f"{wrong}")
    assert "\n  expected " in str(error.value)


def test_also_where_another_class_brings_it_or_it_comes_later(scenario):
    with pytest.raises(ScenarioError, match="Property has its own cwnd"):
        type("Wrong", (Property, bp.CongestionControl), {})
    late = type("Late", (bp.CongestionControl,), {})
    late.on_ack = generator
    with pytest.raises(ScenarioError, match="on_ack of Late is a generator"):
        bp.run(scenario, cc=late)


def test_what_is_no_class_is_called_what_it_is(tmp_path):
    (tmp_path / "func.py").write_text("def X():\n    pass\n")
    with pytest.raises(ScenarioError) as error:
        loading.load_class(f"{tmp_path}/func.py:X", bp.CongestionControl)
    assert str(error.value) == (
        f"X in {tmp_path}/func.py is not a class, but a function\n"
        "  expected a class that extends bentpipe.CongestionControl"
    )


def test_what_is_no_congestion_control_is_refused(scenario, tmp_path, idea):
    def refused(cc):
        with pytest.raises(ScenarioError) as error:
            bp.compare(scenario, cc=["cubic", cc])
        return str(error.value)

    broken = tmp_path / "broken.py"
    broken.write_text("import bentpipe as bp\n1 / 0\n")
    slip = tmp_path / "slip.py"
    slip.write_text("import bentpipe as bp\nclass A(bp.CongestionControl):\n    def on_akc(self): pass\n")
    assert "'int' is not a congestion control" in refused(int)
    assert "nofile.py cannot be read: no such file or directory\n  expected the file of X" in refused(
        str(tmp_path / "nofile.py:X")
    )
    assert "has no class MyIde\n  did you mean 'MyIdea'? known: MyIdea" in refused(idea[:-1])
    assert "broken.py cannot be imported" in refused(f"{broken}:X")
    assert "ZeroDivisionError" in refused(f"{broken}:X")
    assert f'File "{broken}", line 2' in refused(f"{broken}:X")
    assert "did you mean 'on_ack'" in refused(f"{slip}:A")
    assert "called cubic, like a bundled one" in refused(type("cubic", (bp.CongestionControl,), {}))
    assert "'tack' is not a loss recovery" in refused(type("A", (bp.CongestionControl,), {"recovery": "tack"}))
    assert "'reni' is not a congestion control" in refused("reni")


def test_two_of_one_name_are_refused_and_a_name_can_be_given(scenario):
    def made(part, **attributes):
        def on_congestion(self, why, path):
            self.reduce(path.as_ssthresh(path.share(part)), path.share(part))

        return type("Mine", (bp.CongestionControl,), {"on_congestion": on_congestion, **attributes})

    with pytest.raises(ScenarioError, match="two congestion controls are called Mine"):
        bp.compare(scenario, cc=[made(0.5), made(0.6)])
    with pytest.raises(ScenarioError, match="two congestion controls are called Mine"):
        bp.sweep(scenario, {"tcp.cc": [made(0.5), made(0.6)]})
    both = bp.compare(scenario, cc=[made(0.5), made(0.6, name="mine-60")], replications=2)
    assert both.names == ("Mine", "mine-60")


def test_a_scenario_file_cannot_name_code(idea):
    for text in (f'cc = "{idea}"', f'cc = {{ kind = "{idea}" }}'):
        with pytest.raises(ScenarioError, match="cc"):
            bp.loads(SCENARIO.replace('cc = "sack"', text))
    grid = bp.loads(SCENARIO + f'[sweep.vary]\ntcp.cc = ["{idea}"]\n')
    with pytest.raises(ScenarioError, match="cc"):
        bp.sweep(grid)


def test_a_class_stands_wherever_a_name_does(scenario, idea):
    cls = loading.load_class(idea)
    by_file, by_class = bp.run(scenario, cc=idea), bp.run(scenario.replace("tcp.cc", cls))
    assert flows(by_file) == flows(by_class)
    assert by_file.scenario == by_class.scenario
    one = scenario.replace("flow.two.tcp.cc", idea)
    assert bp.run(one).flows["cc"].to_list() == ["sack", "MyIdea"]
    content = {**scenario.to_dict(), "title": "x"}
    content["flow"]["two"]["tcp"]["cc"] = cls
    assert bp.run(bp.Scenario(content)).flows["cc"].to_list() == ["sack", "MyIdea"]
    cases = bp.compare(scenario, cases={"plain": {}, "mine": {"tcp.cc": cls}}, replications=2)
    assert cases.names == ("plain", "mine")
    text = bp.compare(scenario, cc=f"cubic, {idea}", replications=2)
    assert text.names == ("cubic", "MyIdea")
    together = [{"tcp.cc": ["cubic", cls], "link.hop.rate": ["4 Mbit/s", "2 Mbit/s"]}]
    assert bp.sweep(scenario, together=together, replications=1).points["tcp.cc"].to_list() == ["cubic", "MyIdea"]
    mixed = bp.mix(scenario, ["cubic", cls], replications=1)
    assert mixed.names == ("cubic", "MyIdea")
    with pytest.raises(ScenarioError, match="2 congestion controls for one run"):
        bp.run(scenario, cc=f"cubic,{idea}")
    with pytest.raises(ScenarioError, match="each flow has its own cc"):
        bp.run(scenario.replace("flow.one.tcp.cc", "reno"), cc=idea)


def test_a_saved_result_is_read_without_the_class(scenario, idea, tmp_path):
    result = bp.run(scenario, cc=idea)
    result.save(tmp_path / "saved")
    again = bp.RunResult.load(tmp_path / "saved")
    assert again.scenario == result.scenario
    assert again.flows.equals(result.flows)
    with pytest.raises(SenderError, match="MyIdea is not saved with the result"):
        bp.run(again.scenario)
    assert flows(bp.run(again.scenario, cc=idea)) == flows(result)


def test_results_depend_on_the_seed_and_not_on_what_is_recorded_or_beside_it(scenario):
    class Dice(bp.CongestionControl):
        def __init__(self, init):
            self.random = random.Random(init.seed)

        def on_congestion(self, why, path):
            kept = path.share(self.random.uniform(0.3, 0.9))
            self.reduce(path.as_ssthresh(kept), kept)

    plain = flows(bp.run(scenario, cc=Dice))
    assert plain == flows(bp.run(scenario, cc=Dice, series="cwnd_bytes"))
    assert plain != flows(bp.run(scenario, cc=Dice, seed=4))
    jobs = [bp.compare(scenario, cc=["sack", Dice], replications=4, jobs=jobs).runs for jobs in (1, 4)]
    assert jobs[0].equals(jobs[1])
    assert jobs[0].filter(of="Dice")["goodput_bps"][0] == bp.run(scenario, cc=Dice).summary["goodput_bps"][0]


def test_a_sweep_runs_again_what_changed_and_only_that(scenario, tmp_path, idea):
    file = Path(idea.rpartition(":")[0])

    def reused(sender=idea):
        told = []
        bp.sweep(
            scenario,
            {"tcp.cc": ["sack", sender]},
            replications=2,
            store=tmp_path / "store",
            progress=lambda progress: told.append(progress.reused),
        )
        return told[-1]

    assert reused() == 0
    assert reused() == 4
    file.write_text(IDEA.replace("0.7", "0.8"))
    assert reused() == 2
    file.write_text(IDEA)
    assert reused() == 4


def test_the_code_of_a_class_is_what_it_does():
    def made(text, **around):
        namespace = {"bp": bp, **around}
        exec(textwrap.dedent(text), namespace)
        return compute_code(namespace["Mine"])

    text = """
    def helper(x):
        return x * PART
    class Mine(bp.CongestionControl):
        factor = 2
        def on_ack(self, ack, path):
            self.cwnd += helper(ack.newly_acked)
    """
    code = made(text, PART=0.5)
    assert code == made(text, PART=0.5)
    others = [
        made(text, PART=0.6),
        made(text.replace("factor = 2", "factor = 3"), PART=0.5),
        made(text.replace("x * PART", "x + PART"), PART=0.5),
        made(text.replace("newly_acked)", "newly_acked) + 1"), PART=0.5),
    ]
    assert len({code, *others}) == 5

    def closed_over(part):
        class Mine(bp.CongestionControl):
            def on_congestion(self, why, path):
                self.cwnd = path.share(part)

        return compute_code(Mine)

    assert closed_over(0.5) == closed_over(0.5) != closed_over(0.6)


def test_the_code_does_not_depend_on_how_a_file_was_found(tmp_path, idea, monkeypatch):
    loaded = loading.load_class(idea)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "myidea", raising=False)
    imported = __import__("myidea").MyIdea
    assert imported is not loaded
    assert compute_code(imported) == compute_code(loaded)
    monkeypatch.chdir(tmp_path)
    assert loading.where(imported) == loading.where(loaded) == "myidea.py:MyIdea"
    assert loading.where(Inherits) == f"{Path(__file__)}:Inherits"
    assert loading.where(failing(lambda self: None)) is None


NOTEBOOK = """
import bentpipe as bp

PART = 0.7

def kept(path, why):
    return path.share(why.left(PART))

class Kept(bp.Cubic):
    def on_congestion(self, why, path):
        self.reduce(path.as_ssthresh(kept(path, why)), kept(path, why))
"""


@pytest.fixture
def in_a_notebook(monkeypatch):
    """A class that no other process can import, with a function and a value that it uses."""
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    exec(NOTEBOOK, vars(module))
    return module.Kept


def test_processes_have_the_same_classes(scenario, idea, in_a_notebook, cluster):
    def made(cls):
        return type("Made", (cls,), {"name": "made"})

    vary = {"tcp.cc": ["sack", idea, Inherits, made(Inherits), in_a_notebook]}
    here = bp.sweep(scenario, vary, replications=1)
    there = bp.sweep(scenario, vary, replications=1, on=cluster)
    assert there.runs.equals(here.runs)


def test_what_cannot_be_pickled_is_said(scenario, cluster):
    class Locked(bp.CongestionControl):
        lock = threading.Lock()

    with pytest.raises(ScenarioError, match=r"Locked cannot be sent to other processes: cannot pickle '_thread\.lock'"):
        bp.sweep(scenario, {"tcp.cc": [Locked]}, replications=1, on=cluster)


def test_byte_code_of_another_python_is_refused():
    pytest.importorskip("cloudpickle")
    (sent,) = travel.sent({"Inherits": Inherits})
    assert travel.receive_classes([sent])[0][:2] == ("Inherits", compute_code(Inherits))
    with pytest.raises(BentpipeError, match=r"Inherits was defined with Python 3\.9, and a worker has Python 3\."):
        travel.receive_classes([(*sent[:3], (3, 9))])


def test_the_command_line_takes_a_class_of_a_file(tmp_path, idea):
    (tmp_path / "hop.toml").write_text(SCENARIO)

    def bentpipe(*words):
        command = [sys.executable, "-m", "bentpipe", *words]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"}
        )

    ran = bentpipe("run", "hop.toml", "--cc", "myidea.py:MyIdea", "--json")
    assert [flow["cc"] for flow in json.loads(ran.stdout)["flows"]] == ["MyIdea", "cubic"]
    compared = bentpipe("compare", "hop.toml", "--cc", "cubic,myidea.py:MyIdea", "--replications", "2")
    assert compared.returncode == 0
    assert "MyIdea" in compared.stdout
    swept = bentpipe("sweep", "hop.toml", "--vary", "tcp.cc=sack,myidea.py:MyIdea", "--replications", "1")
    assert swept.returncode == 0
    assert "MyIdea" in swept.stdout
    failed = bentpipe("compare", "hop.toml", "--cc", "cubic,myidea.py:Other")
    assert failed.returncode == 2
    assert failed.stderr.startswith("error: 'Other' is not there")
    (tmp_path / "myidea.py").write_text(IDEA.replace("why.left(PART)", "why.nothing"))
    failed = bentpipe("run", "hop.toml", "--cc", "myidea.py:MyIdea")
    assert failed.returncode == 2
    assert "failed in on_congestion, flow one, at " in failed.stderr
    assert "myidea.py" in failed.stderr
    assert "AttributeError" in failed.stderr
    assert "Goodput" not in failed.stdout


GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "custom-congestion-control.md"


def test_the_guide_says_what_is_printed(tmp_path, monkeypatch, capsys):
    text = GUIDE.read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    around, printed = {}, ""
    for kind, content in blocks:
        if kind == "python" and (
            cls := re.search(r"^import bentpipe.*^class (\w+)", content, re.DOTALL | re.MULTILINE)
        ):
            module = cls[1].lower()
            assert f"as `{module}.py`" in text
            (tmp_path / f"{module}.py").write_text(content)
            monkeypatch.delitem(sys.modules, module, raising=False)
        elif kind == "python":
            exec(content, around)
            printed = capsys.readouterr().out
        elif kind == "text":
            if os.environ.get("BLESS"):
                text = text.replace(f"```text\n{content}```", f"```text\n{printed}```")
            else:
                assert content == printed
    figure = tmp_path / "queueshare.png"
    assert figure.read_bytes().startswith(b"\x89PNG")
    shown = GUIDE.parent / "custom-congestion-control" / "queueshare.png"
    if os.environ.get("BLESS"):
        GUIDE.write_text(text)
        shown.write_bytes(figure.read_bytes())
    assert f"(custom-congestion-control/{shown.name})" in text
    assert shown.exists()


def test_the_guide_names_every_hook():
    table = GUIDE.read_text()
    assert set(re.findall(r"^\| `(\w+)\(", table, flags=re.MULTILINE)) == {"__init__", *HOOKS}


def test_a_field_that_an_argument_lacks_is_an_error_with_those_that_it_has(tmp_path):
    class Guesses(bp.CongestionControl):
        def on_ack(self, ack, path):
            self.cwnd += ack.acked_bytes

    with pytest.raises(SenderError) as failed:
        bp.run("geo", {"duration": "3 s"}, cc=Guesses, progress=False)
    assert (
        "has no attribute 'acked_bytes'\n  known: ce_packets, delivered_packets, is_cwnd_limited, newly_acked, rtt_s"
        in str(failed.value)
    )

    class Own(bp.CongestionControl):
        def on_ack(self, ack, path):
            return self.nothing

    with pytest.raises(SenderError) as failed:
        bp.run("geo", {"duration": "3 s"}, cc=Own, progress=False)
    assert "known: " not in str(failed.value)


def test_a_class_that_fails_in_a_mix_has_the_command_of_the_mix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fails.py").write_text(
        "import bentpipe as bp\n\nclass Fails(bp.CongestionControl):\n    def on_ack(self, ack, path):\n        1 / 0\n"
    )
    done = CliRunner().invoke(app, ["mix", "geo", "--cc", "cubic,fails.py:Fails", "-n", "2", "--set", "duration=3 s"])
    assert done.exit_code == 2
    assert "at a run with all cases, with seed " in done.stderr or "at the run with all flows Fails" in done.stderr
    assert "bentpipe mix geo --set 'duration=3 s' --replications 2 --cc cubic,fails.py:Fails" in done.stderr
