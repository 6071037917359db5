"""The budget of a scenario: every door refuses what takes too long or too much memory, with the same number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import ScenarioError
from bentpipe.studio import worker

if TYPE_CHECKING:
    from pathlib import Path

LINK = '[link.l]\nfrom = "a"\nto = "b"\nrate = "10 Gbit/s"\ndelay = "10 ms"\n'
FLOW = '[flow.f]\nfrom = "a"\nto = "b"\n'


def text(flow: str = "", link: str = "", more: str = "", duration: str = "100 s") -> str:
    return f'duration = "{duration}"\n{LINK}{link}\n{FLOW}{flow}\n{more}\n'


def app_of(kind: str, keys: str) -> str:
    return f'app = {{ kind = "{kind}", {keys} }}'


LARGE = {
    "events": (text(duration="4000 h"), "about 6.1e12 packet-hops"),
    "datagrams": (text(app_of("cbr", 'rate = "9 Gbit/s", size = "1 B"')), "packet-hops"),
    "transfers": (
        text(app_of("arrivals", 'size = "1 B", interval = "1 us", overload = true')),
        "about 1.0e8 transfers",
    ),
    "records": (text(app_of("records", 'size = "1500 B", interval = "1 us"')), "about 1.0e8 records"),
    "probes": (text(app_of("probe", 'interval = "1 us"')), "about 1.0e8 probes"),
    "reads": (text('reader = { rate = "100 Gbit/s", every = "1 ns" }'), "about 1.0e11 reads"),
    "changes": (text(link='outage = { mean_up = "1 us", mean_down = "1 ps" }', duration="1 h"), "about 7.2e9 times"),
    "states": (text(link='outage = { mean_up = "1 us", mean_down = "1 us" }', duration="11 s"), "about 1.1e7 times"),
    "samples": (text(more='[record]\nseries = ["carried_bps"]\ninterval = "1 ns"'), "about 2.0e11 samples"),
    "waiting": (
        text(app_of("cbr", 'rate = "10 Gbit/s"'), 'queue = "unlimited"\nforward.rate = "1 Mbit/s"'),
        "about 1.0e8 packets wait",
    ),
    "memory": (text(app_of("cbr", 'rate = "9 Gbit/s", size = "1000 B"'), 'forward.delay = "100 s"'), "B of memory"),
    "links": (text(more=LINK.replace("link.l", "link.m") + "count = 1000000"), "stands for 1000001 links"),
    "flows": (text("count = 1000000", more=FLOW.replace("flow.f", "flow.g")), "stands for 1000001 flows"),
}


def refuse(words: list[str]) -> str:
    """Return the output of a command that refuses these words, in one line."""
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize("kind", LARGE)
def test_all_doors_refuse_the_same_scenario_with_the_same_number(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, number = LARGE[kind]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(content, encoding="utf-8")
    with pytest.raises(ScenarioError) as found:
        bp.Scenario(content)
    (problem,) = found.value.problems
    assert number in problem.message
    said = " ".join(problem.message.split())
    for words in (["check", "s.toml"], ["run", "s.toml"], ["sweep", "s.toml", "--plan"], ["tune", "s.toml", "--plan"]):
        assert said in refuse(words), words
    request: dict[str, Any] = {
        "own": [],
        "text": content,
        "form": "toml",
        "source": "s.toml",
        "sets": [],
        "folder": ".",
    }
    with pytest.raises(ScenarioError) as of_studio:
        worker.run(request, lambda **_: None)
    assert [each.message for each in of_studio.value.problems] == [problem.message]
    assert not list(tmp_path.glob("*.sweep"))


def test_each_point_of_a_sweep_is_in_the_budget_before_any_run(tmp_path: Path) -> None:
    """The last of three points is too large: no run begins, and no store is left."""
    vary = {"duration": ["1 s", "2 s", "4000 h"]}
    with pytest.raises(ScenarioError, match="packet-hops") as found:
        bp.sweep(bp.Scenario(text(duration="1 s")), vary, store=tmp_path / "store", replications=1)
    with pytest.raises(ScenarioError) as alone:
        bp.Scenario(text(duration="4000 h"))
    assert alone.value.problems[0].message in str(found.value)
    assert "at the point duration=4000 h" in str(found.value)
    assert not (tmp_path / "store").exists()


def test_a_plan_of_a_sweep_names_the_largest_point_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(text(duration="1 s"), encoding="utf-8")
    words = ["sweep", "s.toml", "--vary", "duration=1s,3s,2s", "-n", "4", "--plan"]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    plan = json.loads(done.stdout)
    events, memory = bp.Scenario(text(duration="3 s"))._core.cost
    expected = {"points": 3, "runs": 12, "largest": "duration=3s", "events": events, "memory_bytes": memory}
    assert plan == expected
    said = CliRunner().invoke(app, words).stdout
    assert said.startswith("3 points, 12 runs; the largest point is duration=3s: at most ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.toml"]


def test_a_run_takes_no_more_than_its_budget() -> None:
    """The number of packet-hops is a bound from above, and not a hundred times too high."""
    for flow in ("", app_of("cbr", 'rate = "5 Mbit/s"'), app_of("probe", 'interval = "1 ms"')):
        scenario = bp.Scenario(text(flow, duration="2 s").replace("10 Gbit/s", "20 Mbit/s"))
        events, memory = scenario._core.cost
        links = bp.run(scenario).links
        hops = int(links["carried_packets"].sum())
        assert hops <= 1.05 * events + 100, flow
        assert events < 20 * hops
        assert 1e3 < memory < 1e7


def test_json_of_a_dict_has_the_same_budget() -> None:
    content, number = LARGE["records"]
    import tomllib

    with pytest.raises(ScenarioError, match=number):
        bp.run(json.loads(json.dumps(tomllib.loads(content))))
