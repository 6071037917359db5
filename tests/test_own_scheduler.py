"""Schedulers of flows over several paths in Python."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bentpipe as bp
from bentpipe.errors import ScenarioError, SenderError
from tests.test_plugins import PATHS

KEY = "flow.f.multipath.scheduler"
IDEA = '''import bentpipe as bp


class Idea(bp.Scheduler):
    """The fastest subflow with room."""

    def choose(self, view):
        ready = [each for each in view.subflows if each.is_ready]
        return min(ready, key=lambda each: each.srtt_s, default=None)
'''


class FastestFirst(bp.Scheduler):
    def choose(self, view):
        ready = [each for each in view.subflows if each.is_ready]
        return min(ready, key=lambda each: each.srtt_s, default=None)


class Inherits(bp.Scheduler):
    pass


class OnlyLeo(bp.Scheduler):
    """The path that opens the connection must carry the first data, so that LEO can join (RFC 8684, section 3.1)."""

    def choose(self, view):
        leo = next(each for each in view.subflows if each.name == "leo")
        return leo if leo.is_usable else super().choose(view)


@pytest.fixture(scope="module")
def scenario():
    return bp.loads(PATHS, sets={KEY: "min-rtt"})


def facts(result):
    return result.flows.drop("flow"), result.subflows.drop("flow")


@pytest.mark.parametrize("cls", [FastestFirst, Inherits])
def test_the_fastest_with_room_in_python_is_min_rtt(scenario, cls):
    ours, bundled = bp.run(scenario, sets={KEY: cls}), bp.run(scenario)
    for own, other in zip(facts(ours), facts(bundled), strict=True):
        assert own.equals(other)
    assert bundled.subflows["delivered_share"].min() > 0.02


def test_a_subflow_that_is_not_ready_is_waited_for(scenario):
    result = bp.run(scenario, sets={KEY: OnlyLeo})
    sent = dict(result.subflows.select("flow", "sent_bytes").iter_rows())
    # GEO opens the connection: ten segments, and two for each of them before LEO has joined.
    assert 0 < sent["f.geo"] <= 30 * 1440
    assert sent["f.geo"] + sent["f.leo"] >= 1_000_000
    assert result.flows["delivered_bytes"].to_list() == [1_000_000]


def test_the_view_has_what_the_network_has(scenario):
    seen = []

    class Looks(bp.Scheduler):
        def __init__(self):
            self.made = (self.flow, self.seed)

        def choose(self, view):
            seen.append((self.made, view))
            return super().choose(view)

    bp.run(scenario, sets={KEY: Looks})
    views = [view for _, view in seen]
    assert {flow for (flow, _), _ in seen} == {"f"}
    assert all(isinstance(seed, int) for (_, seed), _ in seen)
    assert {each.name for each in views[0].subflows} == {"leo", "geo"}
    # Kept views have the values of their time.
    assert [view.now_s for view in views] == sorted(view.now_s for view in views)
    assert views[0].now_s < views[-1].now_s
    first, last = (sum(view.unsent for view in views[at : at + 1 or None]) for at in (0, -1))
    assert first == 1_000_000
    assert 0 < last <= 1440
    geo = next(each for each in views[-1].subflows if each.name == "geo")
    leo = next(each for each in views[-1].subflows if each.name == "leo")
    # Two ways of 300 ms, and of 20 ms.
    assert geo.srtt_min_s == pytest.approx(0.6, abs=0.01)
    assert 0.04 <= leo.srtt_min_s <= leo.srtt_max_s
    # 1460 B less timestamps of 12 B and the option of 20 B.
    assert leo.smss == 1428


def test_a_run_so_far_does_not_change_the_run(scenario):
    class Turns(bp.Scheduler):
        def __init__(self):
            self.sent = {"leo": 0, "geo": 0}

        def choose(self, view):
            ready = [each for each in view.subflows if each.is_ready]
            chosen = min(ready, key=lambda each: self.sent[each.name], default=None)
            if chosen:
                self.sent[chosen.name] += 1
            return chosen

    own = scenario.replace(KEY, Turns)
    core = own._core
    from bentpipe import _core

    runs = [_core.Run(core), _core.Run(core)]
    while not runs[0].is_done:
        runs[0].advance(500)
        runs[0].so_far()
        runs[1].advance(500)
    tables = [run.finish() for run in runs]
    assert tables[0] == tables[1]


class Fails(bp.Scheduler):
    answer = None

    def choose(self, view):
        if view.now_s > 1:
            return self.answer(view)
        return super().choose(view)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda view: 1 / 0, "ZeroDivisionError"),
        (lambda view: 0, "choose returned 0: expected one of view.subflows, or None to wait"),
        (lambda view: view.paths, "known: now_s, opportunistic, room, subflows, unsent, window"),
    ],
    ids=["exception", "number", "field"],
)
def test_an_error_ends_the_run_with_time_and_flow(scenario, answer, said):
    cls = type("Fails", (Fails,), {"answer": staticmethod(answer)})
    with pytest.raises(SenderError) as error:
        bp.run(scenario, sets={KEY: cls})
    assert "Fails failed in choose, flow f, at 1." in str(error.value)
    assert said in str(error.value)


def test_an_own_sender_of_a_subflow_reports_its_error(scenario):
    class Breaks(bp.CongestionControl):
        def on_ack(self, ack, path):
            raise ValueError("broken")

    with pytest.raises(SenderError, match=r"Breaks failed in on_ack, flow f\.geo"):
        bp.run(scenario, sets={"flow.f.subflow.geo.tcp.cc": Breaks})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (type("blest", (bp.Scheduler,), {}), "blest is called blest, like a bundled one"),
        (
            type("Cc", (bp.CongestionControl,), {}),
            "'Cc' is not a scheduler\n  expected a class that extends bentpipe.Sch",
        ),
        ("shuffle", "is not a scheduler"),
    ],
    ids=["bundled", "kind", "unknown"],
)
def test_what_is_no_scheduler_is_refused(scenario, value, said):
    with pytest.raises(ScenarioError) as error:
        bp.run(scenario, sets={KEY: value})
    assert said in str(error.value)


def test_a_method_that_nothing_would_call_is_refused():
    with pytest.raises(ScenarioError, match=r"did you mean 'choose'\?"):
        type("Idea", (bp.Scheduler,), {"chose": lambda self, view: None})
    with pytest.raises(ScenarioError, match=r"hooks use self\.seed"):
        type("Idea", (bp.Scheduler,), {"seed": 3})


def test_it_stands_wherever_a_name_does_and_its_result_reads_back(scenario, tmp_path):
    own, cases = {KEY: OnlyLeo}, {"plain": {}, "own": {KEY: OnlyLeo}}
    assert bp.compare(scenario, cases=cases, replications=2).names == ("plain", "own")
    sweep = bp.sweep(scenario, vary={KEY: ["blest", OnlyLeo]}, replications=2, store=tmp_path / "kept")
    assert sweep.points[KEY].to_list() == ["blest", "OnlyLeo"]
    result = bp.run(scenario, sets=own)
    result.save(tmp_path / "saved")
    again = bp.RunResult.load(tmp_path / "saved")
    assert again.flows.equals(result.flows)
    assert result.scenario.digest != bp.run(scenario, sets={KEY: FastestFirst}).scenario.digest
    with pytest.raises(SenderError, match="OnlyLeo is not saved with the result"):
        bp.run(again.scenario)


def test_the_command_line_takes_a_class_of_a_file(tmp_path):
    (tmp_path / "paths.toml").write_text(PATHS.replace("spread", "min-rtt"))
    (tmp_path / "idea.py").write_text(IDEA)

    def ran(*words):
        command = [sys.executable, "-m", "bentpipe", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    code, said = ran(
        "sweep", "paths.toml", "--vary", f"{KEY}=ecf,./idea.py:Idea", "--replications", "2", "--store", "kept"
    )
    assert code == 0, said
    assert "Idea" in said
    assert ran("pack", "kept", "-q") == (0, "")
    code, said = ran("repeat", "kept.pack.zip", "-q", "--trust")
    assert (code, said) == (0, "")
