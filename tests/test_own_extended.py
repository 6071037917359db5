"""Classes that extend the congestion controls of bentpipe."""

import inspect
import json
import math
import subprocess
import sys

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import ScenarioError, SenderError
from bentpipe.own.fingerprint import compute_code

REGISTRY = [choice["name"] for choice in bp.choices()["cc"]]

SCENARIO = """
title = "A lossy hop"
duration = "20 s"
seed = 3
[tcp]
like = "rfc"
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
app = { kind = "bulk", size = "200 kB", pause = "1 s" }
"""

CALM = """
import math

import bentpipe as bp


class Calm(bp.Cubic):
    least_s = math.inf

    def on_ack(self, ack, path):
        self.least_s = min(self.least_s, ack.rtt_s or math.inf)
        super().on_ack(ack, path)

    def on_congestion(self, why, path):
        if path.srtt_s - self.least_s > 0.020:
            super().on_congestion(why, path)
"""

SERIES = ["cwnd_bytes", "ssthresh_bytes", "pacing_rate_bps", "events"]


@pytest.fixture
def calm(tmp_path):
    (tmp_path / "calm.py").write_text(CALM)
    return f"{tmp_path / 'calm.py'}:Calm"


def extending(name):
    """A subclass without hooks."""
    return type("Same", (bp.CongestionControl,), {"extends": name, "__module__": __name__})


def calling(name):
    """A subclass with all hooks; each calls the hook that it overrides."""

    class Calls(bp.CongestionControl):
        extends = name

        def __init__(self, init):
            super().__init__(init)
            self.calls = 0

        def on_ack(self, ack, path):
            self.calls += 1
            super().on_ack(ack, path)

        def on_congestion(self, why, path):
            super().on_congestion(why, path)

        def on_rto(self, first, path):
            super().on_rto(first, path)

        def on_delivery(self, delivery, path):
            super().on_delivery(delivery, path)

        def on_recovery_exit(self, path):
            super().on_recovery_exit(path)

        def on_resume(self, path):
            super().on_resume(path)

        def on_error_report(self, start, end, error_rate, path):
            super().on_error_report(start, end, error_rate, path)

        def on_smss(self, smss):
            super().on_smss(smss)

        def limit_cwnd(self, max):
            super().limit_cwnd(max)

        def set_window(self, cwnd, ssthresh):
            super().set_window(cwnd, ssthresh)

        def pacing_rate(self):
            return super().pacing_rate()

    return Calls


def trace(scenario, cc):
    """Tables and series of a run without the name of the congestion control."""
    result = bp.run(scenario, cc=cc, series=SERIES)
    return {name: table.drop("cc", strict=False) for name, table in tables(result).items()}


def tables(result):
    return {"flows": result.flows, "links": result.links, "events": result.events, **result.recorded}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].equals(other[name], null_equal=True), name


LIKES = ["rfc", "linux-6"]


@pytest.mark.parametrize("like", LIKES)
@pytest.mark.parametrize("name", REGISTRY)
def test_where_nothing_is_overridden_it_is_the_same_bit_for_bit(name, like):
    scenario = bp.loads(SCENARIO, {"tcp.like": like})
    assert_same(trace(scenario, extending(name)), trace(scenario, name))


@pytest.mark.parametrize("name", REGISTRY)
def test_a_call_of_what_is_overridden_is_the_same_too(name):
    scenario = bp.loads(SCENARIO, {"tcp.like": "linux-6"})
    ours, core = trace(scenario, calling(name)), trace(scenario, name)
    if name in ("reno", "newreno", "sack"):
        # A hook for deliveries costs nothing else.
        assert ours["flows"].height == core["flows"].height
    assert_same(ours, core)


def test_reports_and_marks_reach_it(tmp_path):
    sets = {
        "link.hop.error": {"kind": "none"},
        "link.hop.queue": {"kind": "codel", "ecn": True},
        "tcp.ecn": "classic",
        "tcp.cwnd_validation": "rfc7661",
    }
    scenario = bp.loads(SCENARIO, sets)
    for name in ("cubic", "reno", "vegas"):
        assert_same(trace(scenario, calling(name)), trace(scenario, name))


def test_its_settings_are_those_of_the_scenario():
    class Mine(bp.Cubic):
        pass

    steep = {"kind": "cubic", "beta": 0.5, "c": 2.0}
    scenario = bp.loads(SCENARIO)
    own = scenario.replace("tcp.cc", {**steep, "kind": Mine})
    assert_same(trace(own, None), trace(scenario.replace("tcp.cc", steep), None))
    again = bp.Scenario(own.to_dict(), senders=own.senders)
    assert again.digest == own.digest
    assert own.to_dict()["tcp"]["cc"]["extends"] == "cubic"
    with pytest.raises(ScenarioError, match=r"tcp\.cc\.epsilon is not a known key"):
        scenario.replace("tcp.cc", {"kind": Mine, "epsilon": 1})


def test_a_part_is_changed_and_the_rest_stays(calm):
    scenario = bp.loads(SCENARIO, {"link.hop.delay": "250 ms", "link.hop.rate": "20 Mbit/s", "duration": "60 s"})
    flows = {name: bp.run(scenario, cc=cc).flows for name, cc in (("calm", calm), ("cubic", "cubic"))}
    # Most losses are errors, which no queue explains.
    assert flows["calm"]["goodput_bps"][0] > 2 * flows["cubic"]["goodput_bps"][0]
    assert flows["calm"]["cc"].to_list() == ["Calm", "Calm"]


def test_a_window_and_a_rate_can_be_set():
    class Small(bp.Cubic):
        def on_ack(self, ack, path):
            super().on_ack(ack, path)
            self.cwnd = min(self.cwnd, 4 * path.smss)

    class Slow(bp.Bbr):
        def pacing_rate(self):
            return 1e6

    scenario = bp.loads(SCENARIO)
    small = bp.run(scenario, cc=Small, series=["cwnd_bytes"])
    assert small.recorded["cwnd_bytes"]["cwnd_bytes"].max() <= 10 * 1460
    assert 0.4e6 < small.flows["goodput_bps"][0] < 4 * 1460 * 8 / 0.1
    assert bp.run(scenario, cc=Slow).flows["goodput_bps"][0] < 1e6


def test_it_goes_back_by_its_own_rules_with_all_attributes():
    """Reordering that looks like losses, which Eifel undoes."""
    text = SCENARIO.replace('error = { kind = "packet", rate = 1e-3 }', "").replace(
        "[flow.one]", '[node.m]\nmiddlebox = [{ kind = "impair", reorder = 0.01, hold = "30 ms" }]\n[flow.one]'
    )
    text = text.replace('to = "b"\nrate', 'to = "m"\nrate').replace(
        "[node.m]", '[link.next]\nfrom = "m"\nto = "b"\nrate = "9 Mbit/s"\ndelay = "1 ms"\n[node.m]'
    )
    sets = {"tcp.timestamps": True, "tcp.spurious_detection": "eifel", "tcp.spurious_response": "restore"}
    scenario = bp.loads(text, sets)
    for name in ("cubic", "vegas", "bic", "westwood-plus"):
        core = trace(scenario, name)
        assert "undo" in core["events"]["event"].to_list()
        assert_same(trace(scenario, calling(name)), core)


def test_wrong_classes_are_refused():
    def made(**facts):
        return type("Wrong", (bp.CongestionControl,), facts)

    scenario = bp.loads(SCENARIO)
    for cls, said in (
        (made(extends="hibla"), "is not a congestion control that Wrong can extend"),
        (made(extends="cubic", recovery="reno"), "Wrong has its own recovery, and extends cubic"),
    ):
        with pytest.raises(ScenarioError) as error:
            bp.run(scenario, cc=cls)
        assert said.replace("'hibla'", "hibla") in str(error.value).replace("'hibla'", "hibla").replace(
            '"hibla"', "hibla"
        )

    class Parts(bp.Cubic):
        def on_ack(self, ack, path):
            self.increase(ack.newly_acked, path)

    with pytest.raises(
        SenderError, match=r"increase is a part of Reno's window, and cubic has its own: expected super"
    ):
        bp.run(scenario, cc=Parts)


def test_the_code_tells_what_is_extended():
    cubic, hybla = (type("Mine", (bp.CongestionControl,), {"extends": name}) for name in ("cubic", "hybla"))
    assert compute_code(cubic) != compute_code(hybla)
    assert compute_code(bp.Cubic) != compute_code(bp.Reno)


def test_the_bases_are_congestion_controls_themselves():
    scenario = bp.loads(SCENARIO)
    for base, name in ((bp.Cubic, "cubic"), (bp.Reno, "reno"), (bp.Bbr, "bbr3")):
        assert_same(trace(scenario, base), trace(scenario, name))
        assert inspect.getdoc(base)


def test_it_works_in_sweeps_other_processes_and_saved_results(calm, tmp_path, cluster):
    scenario = bp.loads(SCENARIO, {"duration": "3 s"})
    here = bp.sweep(scenario, {"tcp.cc": ["cubic", calm]}, replications=2, store=tmp_path / "store", jobs=1)
    there = bp.sweep(scenario, {"tcp.cc": ["cubic", calm]}, replications=2, on=cluster)
    assert here.runs["goodput_bps"].to_list() == there.runs["goodput_bps"].to_list()
    result = bp.run(scenario, cc=calm)
    result.save(tmp_path / "saved")
    again = bp.RunResult.load(tmp_path / "saved")
    assert again.flows.equals(result.flows)
    assert again.scenario.to_dict()["tcp"]["cc"] == result.scenario.to_dict()["tcp"]["cc"]


def test_the_command_line_takes_it(calm, tmp_path):
    path = tmp_path / "hop.toml"
    path.write_text(SCENARIO)
    done = CliRunner().invoke(app, ["run", str(path), "--cc", calm, "--set", "duration=3 s", "--json"])
    assert done.exit_code == 0, done.output
    assert {row["cc"] for row in json.loads(done.stdout)["flows"]} == {"Calm"}


def test_help_shows_what_can_be_overridden():
    code = "import bentpipe as bp; help(bp.Cubic)"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for said in ("on_congestion(self, why", "Handle the start of a loss episode", "CUBIC (RFC 9438)", "extends"):
        assert said in text
    assert math.isinf(bp.Cubic.__new__(bp.Cubic).ssthresh)
