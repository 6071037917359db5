"""The search of `tune` on stub runners of known truth: error control, regret, guards, conditions, resumption."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from bentpipe.errors import BentpipeError, Interrupted
from bentpipe.tuning.confirming import AS_GOOD, BETTER, GUARD, INTERRUPTED, UNSHOWN
from bentpipe.tuning.planning import make_plan
from bentpipe.tuning.tune import tune
from tests.tuned import VARY, Stub, noise, work

GAIN = {
    "tcp.cc": {"reno": -0.1, "hybla": 0.2, "vegas": -0.3},
    "tcp.initial_window": {"20 segments": 0.02, "40 segments": 0.05},
    "link.l.queue": {"10 packets": -0.2, "20 packets": 0.0, "40 packets": 0.1},
}


def gain(changes):
    # Values between those of the space are worth nothing.
    return sum(GAIN[key].get(value, 0.0) for key, value in changes.items())


def known(changes, condition, seed, spread=0.04, shared=0.12):
    return 1e6 * math.exp(gain(changes) + spread * noise(changes, condition, seed) + shared * noise(condition, seed))


def searched(of, outcome, **more):
    return of.search(Stub(of, outcome), **more)


WIDE = {**VARY, "tcp.timestamps": [True, False]}
WORTH = {**GAIN, "tcp.timestamps": {False: 0.03}}


def gain_of(changes):
    return sum(WORTH[key][value] for key, value in changes.items())


def test_the_best_of_a_known_truth_is_found_in_nearly_every_search_with_a_quarter_of_the_runs():
    """The runs are those of the verdict: the search, and the default and its best setting on fresh seeds."""
    right, seeds = 0, 20
    each = work(WIDE)
    points = each.space.whole()
    assert len(points) == 96
    best = max(gain_of(dict(point.changes)) for point in points)
    for seed in range(seeds):

        def outcome(changes, condition, block, seed=seed):
            return 1e6 * math.exp(
                gain_of(changes) + 0.04 * noise(seed, changes, block) + 0.12 * noise(seed, condition, block)
            )

        found = searched(each, outcome)
        right += 1 - math.exp(gain_of(found.recommended) - best) <= 0.02
        assert found.content["runs"]["search"] + 2 * found.content["blocks"] <= 0.25 * len(points) * 20
    assert right >= 19, right


def test_under_a_true_null_better_is_rarely_claimed():
    """All settings are equal: a claim is false. Each of two looks has half of 5 %."""
    searches, false = 500, 0
    each = work({key: VARY[key] for key in ("tcp.cc", "link.l.queue")})
    for search in range(searches):
        outcome = lambda changes, condition, seed, search=search: math.exp(0.05 * noise(search, changes, seed))  # noqa: E731
        false += searched(each, outcome).verdict == BETTER
    assert false / searches <= 0.07, false


def test_settings_without_effect_are_one_class_and_the_default_stays():
    found = searched(work(), lambda changes, condition, seed: math.exp(0.1 * noise(seed)))
    assert (found.verdict, found.recommended) == (UNSHOWN, {})
    assert found.content["rungs"][0]["kept"] == 1
    assert any("changed no run" in each for each in found.statements)
    assert found.content["runs"]["confirm"] == 0


def test_seeds_of_search_and_confirmation_are_disjoint():
    each = work()
    stub = Stub(each, known)
    each.search(stub)
    assert stub.seeds["search"] & stub.seeds["confirm"] == set()
    assert min(stub.seeds["confirm"]) - max(stub.seeds["search"]) > 2**31
    assert len(stub.asked) == len(set(stub.asked)), "a run is requested twice"


def test_a_guard_that_holds_in_the_mean_but_not_in_a_condition_is_refused():
    conditions = {"rain": {"duration": "8 s"}}
    of = work(VARY, {"goodput": "-15 %"}, conditions=conditions)

    def outcome(changes, condition, seed):
        other = 1.0
        if changes.get("tcp.cc") == "hybla":
            # The mean of both conditions rises.
            other = 0.7 if condition == "rain" else 2.4
        return [known(changes, condition, seed), 1e6 * other * math.exp(0.01 * noise(changes, condition, seed))]

    found = searched(of, outcome)
    assert found.verdict == BETTER
    assert "tcp.cc" not in found.recommended
    assert all(guard["holds"] for guard in found.content["guards"])


def test_the_verdict_is_guard_if_every_better_setting_breaks_one_too_little_to_be_seen_in_the_search():
    of = work({"tcp.cc": ["cubic", "hybla"]}, {"goodput": "-15 %"})

    def outcome(changes, condition, seed):
        better = "tcp.cc" in changes
        # Just at the bound, with a wide spread.
        return [known(changes, condition, seed), 1e6 * (0.85 if better else 1.0) * math.exp(0.1 * noise(changes, seed))]

    found = searched(of, outcome)
    assert (found.verdict, found.recommended) == (GUARD, {})
    assert "guard" in found.statements[0]
    # The verdict has 60 seeds, the worth of each change has 20.
    assert (found.content["blocks"], found.content["worth_blocks"]) == (60, 20)
    assert "The worth of each change is from the first 20 of them." in found.statements


def test_a_sender_that_stalls_is_never_recommended():
    def outcome(changes, condition, seed):
        # Fast where it delivers, and nothing at all every fifth time.
        stalls = changes.get("tcp.cc") == "vegas" and seed % 5 == 0
        return math.nan if stalls else known(changes, condition, seed) * (2 if changes.get("tcp.cc") == "vegas" else 1)

    found = searched(work(), outcome)
    assert found.verdict == BETTER
    assert found.recommended["tcp.cc"] == "hybla"


@pytest.mark.parametrize("seed", range(10))
def test_a_useless_key_does_not_change_the_recommendation(seed):
    vary = {key: VARY[key] for key in ("tcp.cc", "link.l.queue")}
    first = searched(work(vary), lambda c, name, s: known({k: c[k] for k in c if k in GAIN}, name, (seed, s)))
    more = work({**vary, "tcp.pacing": ["off", "window"]})
    second = searched(more, lambda c, name, s: known({k: c[k] for k in c if k in GAIN}, name, (seed, s)))
    assert second.recommended == first.recommended
    assert {"key": "tcp.pacing", "value": "window", "under": {}} in second.content["same"]


def test_a_change_within_the_margin_is_left():
    found = searched(
        work({"tcp.cc": ["cubic", "hybla"]}),
        lambda changes, condition, seed: math.exp(0.004 * bool(changes) + 0.005 * noise(changes, seed)),
    )
    assert (found.verdict, found.recommended) == (AS_GOOD, {})


def test_superfluous_changes_are_taken_back():
    found = searched(work(), lambda c, name, seed: known({k: v for k, v in c.items() if k == "tcp.cc"}, name, seed))
    assert found.recommended == {"tcp.cc": "hybla"}
    # More goodput is better.
    assert found.statements[0].startswith("Better: +")


def test_the_worst_condition_decides_if_it_is_asked_for():
    conditions = {"rain": {"duration": "8 s"}}

    def outcome(changes, condition, seed):
        gains = {"hybla": (0.5, -0.2), "vegas": (0.1, 0.1)}.get(changes.get("tcp.cc"), (0.0, 0.0))
        return math.exp(gains[condition == "rain"] + 0.02 * noise(changes, condition, seed))

    vary = {"tcp.cc": ["cubic", "hybla", "vegas"]}
    assert searched(work(vary, conditions=conditions), outcome).recommended == {"tcp.cc": "hybla"}
    worst = searched(work(vary, conditions=conditions, robust="worst"), outcome)
    assert worst.recommended == {"tcp.cc": "vegas"}
    assert [rung["blocks"] for rung in worst.content["rungs"]] == [1, 3, 9, 18, 36]


def test_a_quantile_of_the_conditions_ignores_the_worst_tenth_of_the_time():
    conditions = {"rain": {"duration": "8 s", "weight": 0.05}, "busy": {"duration": "7 s"}}

    def outcome(changes, condition, seed):
        # Hybla is best except for 5 % of the time. Vegas is always a little better.
        gains = {"hybla": -0.4 if condition == "rain" else 0.3, "vegas": 0.1}.get(changes.get("tcp.cc"), 0.0)
        return math.exp(gains + 0.02 * noise(changes, condition, seed))

    vary = {"tcp.cc": ["cubic", "hybla", "vegas"]}
    assert searched(work(vary, conditions=conditions, robust="q90"), outcome).recommended == {"tcp.cc": "hybla"}
    assert searched(work(vary, conditions=conditions, robust="worst"), outcome).recommended == {"tcp.cc": "vegas"}


def test_a_default_that_a_stock_system_lacks_is_allowed_and_named():
    found = searched(work({"tcp.cc": ["cubic", "hybla"]}, more='tcp.cc = "tahoe"\n'), known)
    assert "The default has cc tahoe: a stock kernel has no tahoe." in found.statements


def test_a_front_has_no_dominated_point():
    of = work(VARY, objective={"pareto": ["goodput:f", "rtt_mean:f"]})

    def outcome(changes, condition, seed):
        slow = {"40 packets": 0.4, "20 packets": 0.2, "10 packets": -0.1}.get(changes.get("link.l.queue"), 0.0)
        return [known(changes, condition, seed, 0.01), math.exp(slow + 0.01 * noise(changes, seed))]

    content = searched(of, outcome).content
    assert content["front_of"] == ["goodput:f", "rtt_mean:f"]
    assert len(content["front"]) >= 2
    values = [tuple(each["effect"][name]["value"] for name in content["front_of"]) for each in content["front"]]
    for one in values:
        # More goodput and less delay are better; 2 % is within the spread.
        assert not any(two[0] > one[0] + 0.02 and two[1] < one[1] - 0.02 for two in values)


def test_a_large_space_is_sampled_and_its_best_is_found_by_neighbours():
    vary = {
        **VARY,
        "tcp.idle_restart": [True, False],
        "tcp.rto.variance_min": ["200 ms", "300 ms", "400 ms"],
        "tcp.fast_open": ["off", "on"],
        "tcp.window_scaling": [True, False],
        "link.l.delay": ["9 ms", "8 ms", "7 ms"],
    }
    of = work(vary)
    assert of.space.is_large
    stub = Stub(of, lambda c, name, seed: known({k: v for k, v in c.items() if k in GAIN}, name, seed))
    found = of.search(stub)
    assert found.recommended["tcp.cc"] == "hybla"
    assert gain({k: v for k, v in found.recommended.items() if k in GAIN}) >= 0.3
    assert found.content["runs"]["search"] < 0.1 * of.space.size * 18
    assert found.content["influence"] is not None


def test_the_middle_between_values_of_a_large_space_is_tried_and_recommended_if_it_is_best():
    more = {f"flow.f.tcp.{key}": [True, False] for key in ("timestamps", "window_scaling")}
    # The default depends on `cwnd_validation`: no value of the axis is the default, so one value is enough.
    more["flow.f.tcp.idle_restart"] = [True]
    # The noise of a setting is 2 %.
    of = work({**VARY, "tcp.rto.variance_min": ["200 ms", "400 ms", "1600 ms"], **more}, margin="2 %")
    assert of.space.is_large
    size = of.space.size

    def outcome(changes, condition, seed):
        best = 0.5 if changes.get("tcp.rto.variance_min") == "800 ms" else 0.0
        wide = 0.3 if changes.get("tcp.rto.variance_min") in ("400 ms", "1600 ms") else 0.0
        return math.exp(best + wide + 0.02 * noise(changes, condition, seed))

    found = searched(of, outcome)
    assert found.recommended == {"tcp.rto.variance_min": "800 ms"}
    assert found.content["points"] == of.space.size == size
    assert "800 ms" in next(a for a in found.content["axes"] if a["key"] == "tcp.rto.variance_min")["values"]


def test_the_greedy_path_begins_with_the_change_that_gains_most():
    found = searched(work(), known)
    path = found.content["path"]
    # Hybla gains 0.2, the queue 0.1, the window 0.05.
    assert [step["key"] for step in path] == ["tcp.cc", "link.l.queue", "tcp.initial_window"]
    assert path[-1]["score"]["value"] == found.content["score"]["value"]
    gains = [1 / (1 + step["score"]["value"]) for step in path]
    assert gains == pytest.approx(np.exp(np.cumsum([0.2, 0.1, 0.05])), rel=0.03)
    assert any("The largest gain first" in each and "cc (+2" in each for each in found.statements)


def test_a_value_that_the_tool_rounds_is_confirmed_as_the_tool_sets_it():
    """6 kB are 4.14 segments: the route takes 4, which is 3.5 % less."""
    of = work({"tcp.initial_window": ["6 kB", "9 kB"]})
    asked = []

    def outcome(changes, condition, seed):
        asked.append((changes.get("tcp.initial_window"), seed))
        return math.exp(0.3 * (changes.get("tcp.initial_window") in ("6 kB", "4 segments")) + 0.01 * noise(seed))

    found = searched(of, outcome)
    assert found.recommended == {"tcp.initial_window": "4 segments"}
    confirmed = {value for value, seed in asked if seed >= 2**32}
    assert confirmed == {None, "4 segments"}


def test_the_result_says_what_was_not_tried_and_why():
    stock = work({}).search(Stub(work({}), known_of_stock)).content
    rows = {each["what"]: each["why"] for each in stock["not_tried"]}
    assert rows["tcp.ecn"] == "no queue of the path marks packets"
    assert 'space = "all"' in rows["tcp.cc = bbr3"]
    assert "a sample, and the neighbours" in rows["combinations"]
    named = searched(work(), known).content
    assert named["not_tried"] == []


def known_of_stock(changes, condition, seed):
    return math.exp(0.01 * noise(changes, condition, seed))


def test_values_of_a_sample_are_equally_frequent():
    of = work()
    counts = {}
    for point in of.space.sample(96, 1):
        for key, value in point.changes:
            counts[key, value] = counts.get((key, value), 0) + 1
    by_key = {}
    for (key, _), count in counts.items():
        by_key.setdefault(key, []).append(count)
    assert all(max(each) - min(each) <= 12 for each in by_key.values()), by_key


def test_a_budget_limits_the_runs_and_says_the_least():
    of = work()
    stub = Stub(of, known)
    of.search(stub, 300)
    assert stub.count <= 300 + 200
    with pytest.raises(BentpipeError, match="expected at least"):
        of.budget(10, 2, None)


@pytest.mark.parametrize("killed_at", [1, 2, 3, 4, 5, 6])
def test_a_search_that_is_interrupted_has_no_verdict_and_the_next_one_has_the_same_result(killed_at):
    of = work()
    whole = searched(work(), known).to_dict()
    five = SimpleNamespace(height=5)

    class Stops(Stub):
        calls = 0

        def __call__(self, phase, wanted):
            self.calls += 1
            if self.calls == killed_at:
                raise Interrupted("interrupted", lambda: SimpleNamespace(runs=five), where="Mine.on_ack")
            return super().__call__(phase, wanted)

    with pytest.raises(Interrupted) as caught:
        of.search(Stops(of, known))
    part = caught.value.result
    assert part.verdict == INTERRUPTED
    # Runs of ended steps, and five of the interrupted step: one number everywhere.
    count = part.content["runs"]["all"]
    assert count >= 5
    assert str(caught.value) == f"interrupted after {count} runs, in Mine.on_ack"
    assert part.statements[0] == f"Interrupted after {count} runs: there is no verdict yet."
    again = work()
    assert json.dumps(again.search(Stub(again, known)).to_dict()) == json.dumps(whole)


def test_only_settings_of_a_stock_system_are_recommended():
    with pytest.raises(BentpipeError, match="a stock kernel has no bbr3"):
        work({"tcp.cc": ["cubic", "bbr3"]}).space  # noqa: B018
    gains = {"bbr3": 0.5, "hybla": 0.3}
    found = searched(
        work({"tcp.cc": ["cubic", "hybla", "bbr3"]}, space="all"),
        lambda c, name, seed: math.exp(gains.get(c.get("tcp.cc"), 0) + 0.01 * noise(c, seed)),
    )
    assert found.recommended == {"tcp.cc": "hybla"}
    assert any("Research could add" in each and "bbr3" in each for each in found.statements)


def test_keys_that_the_scenario_refuses_together_are_dropped():
    of = work({"tcp.cc": ["cubic", "bbr1"], "tcp.pacing": ["off", "window"], "tcp.slow_start": ["standard", "hystart"]})
    points = of.space.whole()
    assert len({point.digest for point in points}) == len(points)
    assert points[0].changes == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": {"goodptu:f": 1}}, "goodput"),
        ({"objective": {"goodput:g": 1}}, "not a flow"),
        ({"objective": {"timeouts": 1}}, "can be 0"),
        ({"objective": {"goodput:f": 0}}, "weight above 0"),
        ({"objective": {"pareto": ["goodput:f"]}}, "two metrics or more"),
        ({"guard": {"goodput:f": "-15 %"}}, "which is the objective"),
        ({"guard": {"goodput": "lots"}}, "expected a share"),
        ({"guard": ["goodput <= -15 %"]}, "expected goodput >= -15 %"),
        ({"robust": "best"}, "mean"),
        ({"margin": 0}, "margin: 0 is not a share"),
        ({"vary": {"tcp.cc": ["cubic"]}}, "one point"),
        ({"vary": {"seed": [1, 2]}}, "cannot vary"),
        ({"vary": {"tcp.cc": ["cubbic"]}}, "is not a congestion control"),
        ({"vary": {"tcp.cc": ["cubic", "hybla"], "tcp.nosuch": [1, 2]}}, "not a known key"),
        ({"vary": {"tcp.cc": ["cubic", "hybla"], "link.m.queue": ["1 bdp"]}}, "link.m is not in the scenario"),
        ({"conditions": {"rain": {"tcp.cc": "reno"}}}, "which varies"),
        ({"conditions": {"rain": {"tcp.ccc": "reno"}}}, "tcp.ccc"),
        ({"conditions": {"rain": {"weight": 2}}}, "weights below 1"),
        ({"conditions": {"rain": {"draws": "none/*.csv"}}}, "folder"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(settings, message):
    with pytest.raises(BentpipeError, match=message):
        work(**settings).space.whole()


def test_an_objective_that_no_run_has_is_refused_before_the_search():
    of = work()
    with pytest.raises(BentpipeError, match=r"the default has no goodput:f in 9 s"):
        of.search(Stub(of, lambda *_: np.nan))


@pytest.mark.parametrize("budget", [0, 5, "5", -5, "1.2.3min", "5 parsec", 2.5])
def test_a_plan_and_a_search_refuse_the_same_budgets_and_make_no_store(budget, tmp_path):
    scenario = work().scenario
    with pytest.raises(BentpipeError, match="budget"):
        make_plan(scenario, budget=budget)
    with pytest.raises(BentpipeError, match="budget"):
        tune(scenario, budget=budget, store=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_space_of_more_points_than_an_index_can_count_is_sampled():
    vary = {f"flow.f{at}.tcp.cc": ["cubic", "reno", "hybla"] for at in range(50)}
    flows = "".join(f'[flow.f{at}]\nfrom = "a"\nto = "b"\napp = "greedy"\n' for at in range(50))
    space = work(vary, more=flows).space
    assert space.size == 3**50
    assert space.is_large


@pytest.mark.parametrize("budget", ["9" * 5000, "9" * 400 + " min", "1.2.3min", "\u0663"])
def test_a_budget_that_is_no_number_is_refused(budget):
    with pytest.raises(BentpipeError, match="budget = "):
        tune("geo-home", budget=budget)


@pytest.mark.parametrize(
    "wrong", [{"vary": 5}, {"objective": 5}, {"guard": 5}, {"conditions": 5}, {"conditions": {"rain": 5}}, {"store": 5}]
)
def test_arguments_of_another_type_are_errors_of_the_library(wrong):
    with pytest.raises(BentpipeError, match=r" = 5\n  expected (a|texts)"):
        tune("geo-home", **wrong)


def test_a_value_that_the_file_varies_is_named_by_its_table():
    with pytest.raises(BentpipeError) as refused:
        tune("geo-home", {"tcp.ccc": ["cubic"]})
    assert "tune.vary.tcp.ccc" in str(refused.value)
    assert "sets[" not in str(refused.value)
