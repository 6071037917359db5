"""The page about handovers matches the simulator, which follows the delays of the links."""

from validation import handovers, kept


def test_the_page_has_the_numbers_of_today():
    outcomes = {name: handovers.run(case) for name, case in handovers.CASES.items()}
    assert {name: handovers.numbers(outcome) for name, outcome in outcomes.items()} == kept.load("handovers")
    assert handovers.FIGURE.exists()
    for outcome in outcomes.values():
        assert len(outcome.arrived) + len(outcome.lost) == 250


def test_what_a_handover_cuts_off_is_what_was_in_flight():
    """41.8 ms of packets 2 ms apart are 20; the ten on the first link go on where a node sends them another way."""
    lost = {name: len(handovers.run(case).lost) for name, case in handovers.CASES.items()}
    assert lost["at once"] == lost["downlink only, source route"] == 20
    assert lost["make before break, 60 ms"] == 0
    assert lost["downlink only, hop by hop"] == lost["at once, in flight delivered"] == 10
    assert lost["break before make, 80 ms, lost"] == 20 + 40
