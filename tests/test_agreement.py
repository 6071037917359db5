"""The pages on ns-2's Linux modules, closed forms and sharing have the measured values, which still hold."""

from typing import Any

import pytest

import bentpipe as bp
from tools.docs import agreement as agreement_pages
from validation import agreement, kept


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return dict(kept.load("agreement"))


def test_each_large_difference_from_ns2_has_a_cause_that_takes_it_away(found: dict[str, Any]) -> None:
    s1 = found["s1"]
    assert set(s1["ns2"]) == {"own sack", *agreement.MODULES}
    for module, at in agreement.large(s1):
        place = f"{module} at {agreement.LOSS[at]}"
        assert module in s1["causes"], f"{place} differs from ns-2: find the cause"
        assert abs(s1["causes"][module][at] - s1["ns2"][module][at]) < agreement.LARGE, place


def test_every_sender_with_a_module_in_ns2_is_compared(found: dict[str, Any]) -> None:
    known = agreement.registered()
    compared = {module for module, sender in agreement.MODULES.items() if sender in known}
    assert set(found["s1"]["ours"]) == compared, "run python -m validation.agreement s1"


def test_recorded_utilisation_is_todays(found: dict[str, Any]) -> None:
    s1, at = found["s1"], agreement.LOSS.index("1e-2")
    for module in ("reno", "scalable"):
        [now] = agreement.utilisations({}, agreement.MODULES[module], {}, ["1e-2"])
        assert now == pytest.approx(s1["ours"][module][at], abs=1e-3), "run python -m validation.agreement s1"
    cause = next(cause for cause in agreement.CAUSES if cause.module == "vegas")
    [now] = agreement.utilisations(cause.changes, "vegas", cause.cc, ["1e-2"])
    assert now == pytest.approx(s1["causes"]["vegas"][at], abs=1e-3), "run python -m validation.agreement s1"


@pytest.mark.parametrize("law", agreement.LAWS, ids=lambda law: str(law.name))
def test_windows_are_those_of_the_response_functions(law: Any, found: dict[str, Any]) -> None:
    assert agreement.response(law, "1e-4") == pytest.approx(law.window(1e-4), rel=0.03)
    for rate, window in found["response"]["windows"][law.name].items():
        assert window == pytest.approx(law.window(float(rate)), rel=0.05), rate


@pytest.mark.parametrize("rtt_ms", agreement.RTTS_MS)
def test_hyblas_growth_does_not_depend_on_the_round_trip(rtt_ms: int) -> None:
    assert agreement.growth("hybla", rtt_ms) == pytest.approx(1600.0, rel=0.02)
    if rtt_ms > 25:
        assert agreement.growth("sack", rtt_ms) == pytest.approx((1000 / rtt_ms) ** 2, rel=0.02)


def test_every_sender_shares_or_is_said_not_to(found: dict[str, Any]) -> None:
    known = [choice["name"] for choice in bp.choices()["cc"]]
    assert list(found["sharing"]) == known, "run python -m validation.agreement sharing --cc NAME .."
    route = agreement.ROUTES[0]
    now = agreement.share("reno", route, 0, seed=1)
    recorded = found["sharing"]["reno"][agreement.case(route, 0)]
    assert recorded["settles_s"][0] == now.settles_s
    assert recorded["late"][0] == pytest.approx(now.late, abs=2e-3)


def test_fair_to_the_end() -> None:
    assert agreement.settled([0.5, 0.96, 0.9, 0.97, 0.99]) == 3
    assert agreement.settled([0.99, 0.99, 0.99, 0.99, 0.9]) is None
    assert agreement.settled([0.99] * 4) == 0
    assert agreement_pages.verdict({"settles_s": [0, 30], "fair": [1, 1], "late": [1, 1]}) == "30 s"
    told = [{"settles_s": [None, 30], "fair": [0.5, 1.0], "late": [late, late]} for late in (0.96, 0.9)]
    assert list(map(agreement_pages.verdict, told)) == ["on average: 0.960 (75 %)", "no: 0.900 (75 %)"]
