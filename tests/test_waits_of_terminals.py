"""Waits for grants in the simulator against a model of one terminal, which shares no code with it."""

import pytest

from validation import access, kept, terminal
from validation.terminal import READINGS, WAITS

ROW = "rate 1 Mbit/s, random requests"


@pytest.mark.parametrize("name", [ROW, "rate 512 kbit/s and volume, random requests"])
def test_the_simulator_agrees_with_a_model_of_one_terminal(name: str) -> None:
    simulated = access.waits(access.WAITS[name], 1)
    model = terminal.run(WAITS[name], READINGS["bentpipe's"], 1, 1500.0)
    for key in ("first_s", "mean_s", "p95_s"):
        # The place of the windows in a superframe is drawn in the model.
        assert model[key] == pytest.approx(simulated[key], abs=0.015), key
    assert model["empty"] == pytest.approx(simulated["empty"], abs=0.006)


def test_a_whole_first_superframe_of_a_new_rate_leaves_more_of_it_empty() -> None:
    others = READINGS["others"]
    whole, burst = (terminal.run(WAITS[ROW], of, 1, 1500.0) for of in (others, others._replace(first_is_burst=True)))
    # The separate simulation has 0.04.
    assert whole["empty"] == pytest.approx(0.04, abs=0.005)
    assert whole["empty"] > burst["empty"] + 0.008
    assert whole["mean_s"] == pytest.approx(burst["mean_s"], abs=0.005)


def test_transfers_have_the_orders_of_publications_that_the_page_states() -> None:
    transfers = kept.load("access")["transfers"]

    def is_faster(key: str, control: str, way: str, other: str) -> bool:
        """Whether the intervals are apart."""
        return bool(transfers[f"{control}: {way}"][key][2] < transfers[f"{control}: {other}"][key][1])

    asking, rest = "volume, free to those that ask", "rate up to 1 Mbit/s, free to all"
    # IEEE GLOBECOM 2001, 966262.
    assert is_faster("download of 10 MB", "cubic", asking, rest)
    assert is_faster("download of 10 MB", "bbr1", rest, asking)
    ways = (rest, asking)
    assert not any(is_faster("upload of 500 kB", "cubic", *order) for order in (ways, ways[::-1]))
    for control in access.CONTROLS:
        assert is_faster("page", control, rest, asking)
        # M. Luglio et al. 2009.
        assert is_faster("upload of 500 kB", control, "volume, free to all", "volume")
