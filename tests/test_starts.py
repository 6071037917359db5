"""Statements of the pages on slow starts, careful resume and the C4 list, beside their measured numbers."""

from __future__ import annotations

from typing import Any

import pytest

from bentpipe.catalog import names
from tools.docs.slow_start import SHORT, change, mean
from validation import kept
from validation.c4 import CASES, STARLINK
from validation.slow_start import BARE, ENDS, PATHS, SIZES

PAGE = kept.load("slow_start")
GEO, GEO_DEEP, RAIN, LEO, MEASURED = PATHS


def value(path: str, end: str, key: str) -> float:
    found = mean(PAGE["paths"][path][end][key])[0]
    assert found is not None
    return found


def against_standard(path: str, end: str, size: str) -> float:
    of = PAGE["paths"][path]
    found = mean(change(of[end][size], of["standard"][size]))[0]
    assert found is not None
    return found


def test_each_setting_is_measured_on_each_path() -> None:
    assert list(PAGE["paths"]) == list(PATHS)
    assert len(SHORT) == len(PATHS)
    assert all(list(of) == list(ENDS) for of in PAGE["paths"].values())


def test_only_hystart_ends_before_a_loss_on_a_path_with_a_usual_queue() -> None:
    for path in (GEO, RAIN, LEO, MEASURED):
        # Some packets are lost by errors of the link.
        assert [end for end in ENDS if value(path, end, "lost") < 1] == ["hystart"], path
    assert [value(GEO_DEEP, end, "lost") for end in ENDS if "search" in end] == [0, 0, 0]
    assert value(GEO, "search, least", "lost") == pytest.approx(0.6 * value(GEO, "standard", "lost"), rel=0.05)


def test_hystart_ends_far_too_early_over_starlink() -> None:
    assert value(MEASURED, "hystart", "window") == pytest.approx(0.5, abs=0.1)
    assert against_standard(MEASURED, "hystart", "10 MB") > 40


def test_rapid_start_is_faster_than_slow_start_on_each_path() -> None:
    for path in PATHS:
        assert value(path, "rapid", "time") < value(path, "standard", "time")
        assert all(against_standard(path, "rapid", size) < 0 for size in SIZES), path
    assert against_standard(GEO, "rapid", "1 MB") == pytest.approx(-12, abs=1)
    assert value(GEO, "standard", "time") - value(GEO, "rapid", "time") == pytest.approx(1.2, abs=0.1)


def test_search_needs_the_queues_of_the_packet_models() -> None:
    """`docs/specs/search.md`: queues of an exit without a loss."""
    models = {"search": (4.5, 4.75), "search, least": (2.05, 1.95)}
    for name, queues in models.items():
        assert [PAGE["queues"][path][name] for path in BARE] == pytest.approx(queues, abs=0.1)


def test_a_saved_window_of_another_path_makes_no_file_slower_with_cubic() -> None:
    saved: dict[str, dict[str, Any]] = kept.load("careful_resume")["saved"]
    for queue, rows in saved.items():
        off = rows.pop("off")["time"][0]
        assert [name for name, row in rows.items() if row["time"][0] >= off] == [], queue


def test_careful_resume_is_no_cure_for_the_overshoot() -> None:
    files = kept.load("careful_resume")["files"]
    off, on, threshold = (files[name]["10 MB"]["lost"][0] for name in ("off", "on", "on, threshold of 1 bdp"))
    assert on >= off > 0 == threshold


def test_congestion_controls_that_a_jump_makes_slower_are_named() -> None:
    each = {cc: times for cc, times in kept.load("careful_resume")["each"].items() if times is not None}
    slower = {
        cc
        for cc, of in each.items()
        if max(of["1 bdp"]["time"][0], of["12 bdp"]["time"][0]) > 1.01 * of["off"]["time"][0]
    }
    assert slower - {"scps"} == {"tahoe", "tcpmin", "peach", "peach-plus", "swift"}


def test_the_list_of_c4_is_run_with_every_congestion_control() -> None:
    cases = kept.load("c4")["cases"]
    assert list(cases) == list(names("cc"))
    assert all(list(times) == list(CASES) for times in cases.values())
    for case in ("satellite", "Wi-Fi fade"):
        bound = CASES[case].bound_s
        assert all(times[case] is None or times[case] > bound for times in cases.values()), case


def test_the_order_over_starlink_is_that_of_the_study() -> None:
    """BBR first, Illinois next (BIC is beside it), and CUBIC is hurt by HyStart."""
    found = kept.load("c4")["starlink"]
    for name in STARLINK:
        rates = {cc: of[name] for cc, of in found.items()}
        order = sorted(rates, key=lambda cc: -rates[cc])
        assert order[0].startswith("bbr"), name
        assert [cc for cc in order if not cc.startswith("bbr")][:2] in (["illinois", "bic"], ["bic", "illinois"]), name
        assert rates["cubic"] < rates["cubic, standard"], name
