"""Sentences and tables of results state each fact once, with its reason."""

from __future__ import annotations

from io import StringIO

import numpy as np
from click.testing import CliRunner
from rich.console import Console

import bentpipe as bp
from bentpipe.cli import render
from bentpipe.cli.app import app
from bentpipe.metric import find_metric
from bentpipe.statistics.comparing import differences, sentence
from bentpipe.statistics.judgement import Judgement
from bentpipe.tuning.script import write_script
from bentpipe.tuning.sentences import SHOWN_MAX, objective, without_effect

WEB = """
duration = "30 s"
[link.l]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
[flow.web]
from = "b"
to = "a"
app = { kind = "page", model = "3gpp2", reading = "1 s" }
"""


def heads_of_transfers(scenario, metric):
    found = bp.compare(scenario, cc=["cubic", "reno"], replications=2, metric=metric, progress=False)
    console = Console(file=StringIO(), width=120, record=True)
    for part in render.comparison(found):
        console.print(part)
    return console.export_text().split("Transfers")[1].split("cubic")[0].split()


def test_the_metric_of_the_only_kind_of_flow_is_in_the_table_once():
    assert heads_of_transfers(bp.loads(WEB), "fct:web").count("fct") == 1
    # With another kind, both differ.
    other = '[flow.ask]\nfrom = "b"\nto = "a"\napp = { kind = "request-response", response = "2 kB" }\n'
    assert heads_of_transfers(bp.loads(WEB + other), "fct:web").count("fct") == 2
    # As asked for.
    assert heads_of_transfers(bp.loads(WEB), "fct:web,fct").count("fct") == 2


def test_rates_of_unlike_datagrams_have_no_fairness():
    printed = CliRunner().invoke(app, ["run", "web-on-geo", "--set", "duration=5 s"])
    assert printed.exit_code == 0
    assert "fairness" not in printed.stdout


def judge(by_name):
    """The differences of pairs of samples, by name."""
    found = differences(list(by_name.values()), Judgement(against="other"), find_metric("rtt"))
    return dict(zip(by_name, found, strict=True))


def test_many_settings_without_a_difference_are_counted():
    rng = np.random.default_rng(1)
    names = [f"rate {rate}, queue {queue}" for rate in "abc" for queue in "xyz"]
    equal = judge({name: (rng.normal(10, 1, 8), rng.normal(10, 1, 8)) for name in names})
    said = sentence("cubic", "reno", equal, find_metric("rtt"))
    assert said == "no difference in rtt can be shown between cubic and reno at any of the 9 settings"
    first, *_ = names
    one = judge({name: (rng.normal(20 if name == first else 10, 0.1, 8), rng.normal(10, 0.1, 8)) for name in names})
    said = sentence("cubic", "reno", one, find_metric("rtt"))
    assert said.endswith("no difference can be shown at 8 of the 9 settings, all but rate a, queue x")


def test_a_change_without_effect_is_stated_once():
    axes = [{"key": "a", "what": "random access"}, {"key": "b", "what": "pacing"}]
    under = [{"tcp.cc": name} for name in ("bbr1", "hybla", "reno")]
    same = [{"key": "a", "value": "none", "under": each} for each in under]
    content = {"axes": axes, "same": same, "influence": None}
    assert without_effect(content) == ["random access none changed no run in 3 settings."]
    assert without_effect({**content, "same": same[:1]}) == ["random access none changed no run with bbr1."]
    assert without_effect({**content, "same": [*same, {"key": "a", "value": "none", "under": {}}]}) == [
        "random access none changed no run."
    ]
    many = [{"key": "b", "value": str(number), "under": {}} for number in range(SHOWN_MAX + 2)]
    assert without_effect({**content, "same": many})[-1] == "2 more changes had no effect."


def test_a_recommended_change_is_not_said_to_have_a_small_effect():
    axes = [{"key": "a", "what": "random access"}, {"key": "b", "what": "pacing"}]
    content = {"axes": axes, "same": [], "influence": {"main": {"a": 0.001, "b": 0.002}}}
    assert without_effect(content) == ["Less than 1 % of the variance: random access, pacing."]
    recommended = {**content, "recommended": {"set": {"a": "none"}}}
    assert without_effect(recommended) == ["Less than 1 % of the variance: pacing."]


def test_an_objective_keeps_its_acronym():
    assert objective({"objective": [{"title": "RTT, 95 % quantile"}, {"title": "Goodput"}]}) == (
        "RTT, 95 % quantile and goodput"
    )


def test_a_setting_without_a_command_has_the_reason():
    def note(scenario, key):
        (only,) = write_script(bp.load(scenario), {key: "20 ms"}).notes
        return only

    assert "its rate follows grants or frames" in note("geo-access", "link.edge1.reverse.delay")
    assert "set it in the device of this node or link" in note("geo", "link.sat.forward.delay")
    # The name of a link is no setting.
    assert "hub" not in note("geo", "link.access.forward.delay")
    assert "satellites change the device behind this link" in note("ship", "sky.user.forward.delay")


def test_a_printed_result_has_its_hosts_table_and_statements():
    small = bp.loads(WEB)
    found = bp.compare(small, cc=["cubic", "reno"], replications=2, metric="fct", progress=False)
    first, heads, cubic, *_ = str(found).splitlines()
    assert first == "hosts: Linux 6, cubic, reno; pages: 51.5 kB in 6.6 requests, means of 3gpp2"
    assert heads.split()[0] == "cc"
    assert cubic.split()[0] == "cubic"
    assert found.statements[0] in str(found)
    run = bp.run(small, progress=False)
    assert f"{run.flows['goodput_bps'][0] / 1e3:.0f}" in str(run).splitlines()[2]
    assert repr(run).startswith("<RunResult")
