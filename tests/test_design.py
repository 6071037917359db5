"""Designs whose replications have their own scenarios, and designs that drop points during the experiment."""

from dataclasses import replace

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.experiment.design.design import Arms, Point
from bentpipe.experiment.execution.execution import carry_out
from bentpipe.experiment.results.sweep import Sweep
from bentpipe.experiment.store.store import Store

PATH = {
    "title": "A path",
    "duration": "3 s",
    "tcp": {"like": "rfc"},
    "link": {"sat": {"from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "40 ms", "queue": "1 bdp"}},
    "flow": {"f": {"from": "a", "to": "b", "app": {"kind": "file", "size": "100 kB"}}},
}
RATES = ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s", "8 Mbit/s"]


def trace(replication):
    """Return another trace of the link's rate for each replication."""
    return {"points": [["0 s", RATES[replication % 4]], ["1 s", RATES[(replication + 1) % 4]]]}


class Plain(Arms[Sweep]):
    """Arms that share a scenario over their replications."""

    verb = "sweep"

    def result(self, sweep):
        return sweep


class Traced(Plain):
    """Replication b has trace b, the same for all arms."""

    def __init__(self, scenario, key, arms, **settings):
        super().__init__(scenario, key, arms, **settings)
        self.points = [replace(point, digest=self.core(point).digest, has_own=True) for point in self.points]

    def core(self, point, replication=0):
        arm = list(self.arms.values())[point.index]
        return arm.with_sets({"link.sat.rate": trace(replication), "record.series": []})._core


class Rungs(Traced):
    """Successive halving: the better half of the arms continues after each rung."""

    rungs = (2, 4, 8)

    def grow_counts(self, counts, so_far):
        most = max(counts)
        following = next((rung for rung in self.rungs if rung > most), None)
        if following is None:
            return list(counts)
        means = [float(values.mean()) for values in so_far().values("completion").values()]
        still = sorted((mean, index) for index, mean in enumerate(means) if counts[index] == most)
        kept = {index for _, index in still[: max(1, len(still) // 2)]}
        return [following if index in kept else count for index, count in enumerate(counts)]


def arms(*names):
    scenario = bp.Scenario(PATH)
    return scenario, {name: scenario.replace("tcp.cc", name) for name in names}


def traced(kind=Traced, names=("reno", "cubic"), replications=4, **settings):
    scenario, by_name = arms(*names)
    return kind(scenario, "tcp.cc", by_name, replications=replications, metrics=["completion"], **settings)


def alone(cc, replication):
    """Return the completion time of a run with the same scenario and seed."""
    scenario = bp.Scenario(PATH).with_sets({"tcp.cc": cc, "link.sat.rate": trace(replication)})
    return bp.run(scenario, seed=scenario.seed + replication).estimate("completion").value


def test_each_replication_has_its_own_trace_and_all_arms_the_same():
    sweep = carry_out(traced())
    for cc, values in zip(["reno", "cubic"], sweep.values("completion").values(), strict=True):
        assert values.tolist() == [alone(cc, replication) for replication in range(4)]
    assert len({round(value, 6) for value in sweep.values("completion")[0]}) == 4
    assert not sweep.has_days


def test_a_store_names_runs_by_the_scenario_of_their_replication_and_goes_on(tmp_path):
    folder, design = tmp_path / "store", traced(replications=3)
    first = carry_out(design, store=folder)
    with Store(folder, is_read_only=True) as store:
        written = store.find_experiment()["points"]
    for point, (*_, digests) in zip(design.points, written, strict=True):
        assert digests == [design.core(point, replication).digest for replication in range(3)]
        assert len(set(digests)) == 3
    read = Sweep.load(folder)
    assert read.runs.equals(first.runs)
    assert not read.has_days
    told = []
    more = carry_out(traced(replications=4), store=folder, progress=lambda state: told.append(state.reused))
    assert told[-1] == 6
    assert more.runs.filter(pl.col("replication") < 3).equals(first.runs)


def test_replications_that_share_a_scenario_have_one_digest(tmp_path):
    carry_out(traced(Plain), store=tmp_path / "store")
    with Store(tmp_path / "store", is_read_only=True) as store:
        facts = store.find_experiment()
    assert all(len(point) == 6 for point in facts["points"])
    assert facts["has_days"] is False


def test_a_store_of_before_has_days_where_its_runs_have_digests(tmp_path):
    sky = PATH | {"sky": {"over": "starlink-shell-1"}, "link": {}, "flow": {"f": {"from": "London", "to": "Paris"}}}
    found = bp.compare(sky | {"duration": "1 s"}, ["reno", "sack"], replications=2)
    facts = {name: value for name, value in found.sweep.facts.items() if name != "has_days"}
    assert replace(found.sweep, facts=facts).has_days
    assert found.has_days


def test_rungs_stop_half_of_the_arms_each():
    names = ["reno", "cubic", "newreno", "tahoe"]
    sweep = carry_out(traced(Rungs, names, replications=2))
    counts = sweep.points["replications"].to_list()
    assert sorted(counts) == [2, 2, 4, 8]
    best = counts.index(8)
    assert sweep.runs.filter(pl.col("point") == best)["replication"].to_list() == list(range(8))
    # No arm that stopped at a rung was better there than an arm that continued.
    values = [list(each) for each in sweep.values("completion").values()]
    at_first = [sum(each[:2]) / 2 for each in values]
    stopped = [at_first[index] for index, count in enumerate(counts) if count == 2]
    went_on = [at_first[index] for index, count in enumerate(counts) if count > 2]
    assert min(stopped) >= max(went_on)


def test_rungs_in_a_store_go_on_with_what_is_there(tmp_path):
    names = ["reno", "cubic", "newreno", "tahoe"]
    folder, told = tmp_path / "store", []
    first = carry_out(traced(Rungs, names, replications=2), store=folder)
    again = carry_out(
        traced(Rungs, names, replications=2), store=folder, progress=lambda state: told.append(state.done)
    )
    assert again.runs.equals(first.runs)
    assert told[-1] == 0


def test_a_point_says_whether_its_replications_differ():
    point = Point.from_core(0, {}, bp.Scenario(PATH)._core)
    assert not point.varies
    assert replace(point, has_own=True).varies
    with pytest.raises(AttributeError):
        point.varies = True
