"""Scenarios and results come back as they were from text, JSON and folders: random ones."""

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bentpipe as bp
from bentpipe.catalog import choices

# A run takes milliseconds, on a busy machine a second.
RANDOM = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(RANDOM, max_examples=8)

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,7}", fullmatch=True)
LETTERS = st.characters(exclude_categories=["Cs", "Cc"])
CC = st.sampled_from([each["name"] for each in choices()["cc"]])
RATES = st.one_of(
    st.builds("{} kbit/s".format, st.integers(64, 5000)),
    st.builds("{} Mbit/s".format, st.floats(0.1, 50).map(lambda rate: round(rate, 3))),
)
DELAYS = st.builds("{} ms".format, st.integers(1, 300))
ERRORS = st.one_of(
    st.just({"kind": "none"}),
    st.builds(lambda rate: {"kind": "packet", "rate": rate}, st.floats(1e-6, 0.05)),
    st.builds(lambda rate: {"kind": "bit", "rate": rate}, st.floats(1e-9, 1e-6)),
)
QUEUES = st.one_of(
    st.builds("{} packets".format, st.integers(2, 100)), st.sampled_from(["1 bdp", "0.5 bdp"]), st.just("50 kB")
)


@st.composite
def contents(draw):
    """The content of a scenario: nodes in a row, links between them, flows from the first to the last."""
    nodes = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    names = draw(st.lists(NAMES, min_size=len(nodes) - 1, max_size=len(nodes) - 1, unique=True))
    links = {}
    for name, one, other in zip(names, nodes, nodes[1:], strict=False):
        links[name] = {"from": one, "to": other, "rate": draw(RATES), "delay": draw(DELAYS)}
        links[name] |= draw(st.fixed_dictionaries({}, optional={"queue": QUEUES, "error": ERRORS}))
    flows = {
        name: {"from": nodes[0], "to": nodes[-1]}
        | draw(st.fixed_dictionaries({}, optional={"tcp": st.fixed_dictionaries({"cc": CC})}))
        for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    }
    # Otherwise a congestion control of all would have no effect.
    flows[next(iter(flows))].pop("tcp", None)
    return {
        "title": draw(st.text(LETTERS, max_size=20)),
        "duration": f"{draw(st.integers(1, 3))} s",
        "seed": draw(st.integers(0, 2**64 - 1)),
        "tcp": {"cc": draw(CC)},
        "link": links,
        "flow": flows,
    }


OVERRIDES = st.dictionaries(
    st.sampled_from(["tcp.cc", "tcp.smss", "duration", "tcp.initial_window", "seed"]), st.none(), max_size=4
).flatmap(
    lambda keys: st.fixed_dictionaries(
        {
            "tcp.cc": CC,
            "tcp.smss": st.builds("{} B".format, st.integers(200, 1460)),
            "duration": st.builds("{} ms".format, st.integers(100, 9000)),
            "tcp.initial_window": st.builds("{} segments".format, st.integers(1, 20)),
            "seed": st.integers(0, 2**64 - 1),
        }
    ).map(lambda values: {key: values[key] for key in keys})
)


@RANDOM
@given(contents(), OVERRIDES)
def test_a_resolved_scenario_is_the_scenario(content, sets):
    scenario = bp.Scenario(content).with_sets(sets)
    again = bp.loads(scenario.resolve())
    assert again.digest == scenario.digest
    assert again.to_dict() == scenario.to_dict()
    assert bp.Scenario(json.loads(json.dumps(scenario.to_dict()))).digest == scenario.digest


def test_a_number_is_read_to_its_last_digit():
    # JSON readers that round twice return 5.960464477539062e-08.
    rate = 5.960464477539063e-08
    scenario = bp.load("geo", {"link.sat.forward.error": {"kind": "bit", "rate": rate}})
    assert scenario.to_dict()["link"]["sat"]["forward"]["error"]["rate"] == rate
    assert bp.loads(scenario.resolve()).digest == scenario.digest


@RANDOM
@given(contents(), OVERRIDES)
def test_overrides_are_values_of_the_file(content, sets):
    whole = json.loads(json.dumps(content))
    for key, value in sets.items():
        table, _, name = key.rpartition(".")
        (whole[table] if table else whole)[name] = value
    scenario = bp.Scenario(content).with_sets(sets)
    assert scenario.digest == bp.Scenario(whole).digest
    # As the command line takes them.
    typed = dict(scenario.sets)
    assert bp.Scenario(content).with_sets(typed).digest == scenario.digest


@FEW
@given(content=contents(), seed=st.integers(0, 2**63))
def test_a_run_that_was_saved_is_the_run(tmp_path_factory, content, seed):
    folder = tmp_path_factory.mktemp("run")
    result = bp.run(content, seed=seed)
    result.save(folder / "run")
    again = bp.RunResult.load(folder / "run")
    same(again, result)
    assert again.flows.equals(result.flows)
    assert again.scenario.digest == result.scenario.digest


@FEW
@given(content=contents(), cc=st.lists(CC, min_size=2, max_size=3, unique=True), replications=st.integers(1, 3))
def test_a_comparison_that_was_kept_is_the_comparison(tmp_path_factory, content, cc, replications):
    folder = tmp_path_factory.mktemp("compare")
    result = bp.compare(content, cc, replications=replications, store=folder / "store", jobs=1)
    same(bp.Comparison.load(folder / "store"), result)


@FEW
@given(content=contents(), rates=st.lists(RATES, min_size=1, max_size=3, unique=True), replications=st.integers(1, 2))
def test_a_sweep_that_was_kept_is_the_sweep(tmp_path_factory, content, rates, replications):
    folder = tmp_path_factory.mktemp("sweep")
    vary = {f"link.{next(iter(content['link']))}.rate": rates}
    result = bp.sweep(content, vary, replications=replications, store=folder / "store", jobs=1)
    again = bp.Sweep.load(folder / "store")
    same(again, result)
    assert again.runs.equals(result.runs)


def same(again, result):
    """Both say the same, as text and as JSON."""
    assert json.dumps(again.to_dict(), sort_keys=True) == json.dumps(result.to_dict(), sort_keys=True)
    assert again.statements == result.statements
    assert again.table.equals(result.table)


def test_the_bundled_scenarios_are_what_they_resolve_to():
    for path in sorted((Path(bp.__file__).parent / "scenario" / "shipped").glob("*.toml")):
        scenario = bp.load(path)
        assert bp.loads(scenario.resolve()).digest == scenario.digest, path.stem
