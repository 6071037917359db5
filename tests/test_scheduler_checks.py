"""The checks of schedulers find the fault that they are made for, and accept the built-in schedulers."""

import random
import threading

import pytest

import bentpipe as bp
from bentpipe import testing
from bentpipe.catalog import names
from bentpipe.errors import ScenarioError
from bentpipe.own.scheduler import SchedulerView, Subflow

ALSO_FOR_NAMES = (testing.bonds_a_transfer, testing.survives_failing_subflows, testing.repeats_its_choices)


@pytest.mark.parametrize("name", names("scheduler"))
@pytest.mark.parametrize("check", ALSO_FOR_NAMES)
def test_each_built_in_scheduler_passes(check, name):
    check(name)


def test_the_base_class_passes():
    class Mine(bp.Scheduler):
        pass

    testing.check_scheduler(Mine)


def ready(view):
    return [each for each in view.subflows if each.is_ready]


class Redundant(bp.Scheduler):
    """All data on all subflows, as the built-in scheduler."""

    repeats = True

    def choose(self, view):
        again = [each for each in view.subflows if each.can_repeat]
        return min(again, key=lambda each: each.srtt_s).repeat() if again else super().choose(view)


def test_a_scheduler_that_repeats_data_passes():
    testing.check_scheduler(Redundant)


@pytest.mark.parametrize("sets", [{}, *testing.schedulers.FAILING.values()])
def test_a_scheduler_that_repeats_data_is_the_built_in_one(sets):
    mine, built_in = (testing.schedulers._run(scheduler, sets) for scheduler in (Redundant, "redundant"))
    assert mine.rows("flows")[0]["reinjected_bytes"] > 0
    assert [mine.rows(table) for table in ("flows", "subflows")] == [
        built_in.rows(table) for table in ("flows", "subflows")
    ]


def test_a_class_that_does_not_say_so_repeats_nothing():
    class Mine(bp.Scheduler):
        def choose(self, view):
            return view.subflows[0].repeat()

    with pytest.raises(
        AssertionError, match=r"returned Subflow\(.*\).repeat\(\): expected `repeats = True` in the class"
    ):
        testing.bonds_a_transfer(Mine)


def test_repeats_is_true_or_false():
    with pytest.raises(ScenarioError, match="repeats of Mine is 2\n  expected True or False"):

        class Mine(bp.Scheduler):
            repeats = 2


class RepeatsNothing(bp.Scheduler):
    """Repeats where nothing is to be repeated."""

    repeats = True

    def choose(self, view):
        chosen = super().choose(view)
        return chosen.repeat() if chosen else None


class Waits(bp.Scheduler):
    """Never sends."""

    def choose(self, view):
        return None


class OnlyFirst(bp.Scheduler):
    """Waits for the first subflow even while it has failed."""

    def choose(self, view):
        return view.subflows[0]


class Chance(bp.Scheduler):
    """Chance without the seed."""

    def choose(self, view):
        return random.choice(ready(view) or [None])


class Foreign(bp.Scheduler):
    """A subflow that is not one of the view's."""

    def choose(self, view):
        return Subflow("leo", 0) if view.subflows[0].is_ready else super().choose(view)


class Patient(bp.Scheduler):
    """Waits half a second for nothing."""

    def choose(self, view):
        return super().choose(view) if view.now_s > 0.5 else None


class Divides(bp.Scheduler):
    """No round trip is no number to divide by."""

    def choose(self, view):
        return max(ready(view), key=lambda each: each.cwnd / each.srtt_s, default=None)


class Shares(bp.Scheduler):
    """Its copies have its list."""

    def __init__(self):
        self.seen = []

    def __deepcopy__(self, memo):
        other = super().__deepcopy__(memo)
        other.seen = self.seen
        return other


class Forgets(bp.Scheduler):
    """Its copies do not know whose turn it is."""

    def __init__(self):
        self.turn = 0

    def __deepcopy__(self, memo):
        other = super().__deepcopy__(memo)
        other.turn = 0
        return other

    def choose(self, view):
        self.turn += 1
        found = ready(view)
        return found[self.turn // 3 % len(found)] if found else None


class Hoards(bp.Scheduler):
    """Keeps a number for each choice."""

    def __init__(self):
        self.times = []

    def choose(self, view):
        self.times += [view.now_s] * 3
        return super().choose(view)


class Counts(bp.Scheduler):
    """Ten thousand lines for a choice."""

    def choose(self, view):
        total = 0
        for number in range(6000):
            total += number
        return super().choose(view)


@pytest.mark.parametrize(
    ("cls", "check", "words"),
    [
        (Waits, "bonds_a_transfer", "2 MB are not complete after 30 s"),
        (OnlyFirst, "survives_failing_subflows", "down.*2 MB are not complete after 90 s"),
        (Chance, "repeats_its_choices", "two runs with one seed differ"),
        (
            OnlyFirst,
            "chooses_a_usable_subflow",
            "choose waits for 'geo' at .*, which cannot send, and another subflow can",
        ),
        (Foreign, "chooses_a_usable_subflow", "choose returns .*: expected one of view.subflows"),
        (Patient, "sends_when_all_is_idle", "choose waits at .*, and all subflows are ready and carry nothing"),
        (RepeatsNothing, "sends_when_all_is_idle", "choose waits at .*, and all subflows are ready and carry nothing"),
        (Divides, "survives_hostile_views", "ZeroDivisionError with no round trip measured"),
        (Shares, "copies_choose_alike", "a copy shares seen with its original"),
        (Forgets, "copies_choose_alike", "a copy chooses (leo|geo) at .*, and its original (leo|geo)"),
        (Hoards, "keeps_little_of_views", "hold [0-9,]+ elements"),
        (Counts, "keeps_choices_short", "choose runs 12,00[0-9] lines of Python"),
    ],
)
def test_a_fault_is_found_and_named(cls, check, words):
    with pytest.raises(AssertionError, match=words):
        getattr(testing, check)(cls)


def test_a_class_that_cannot_travel_is_found():
    pytest.importorskip("cloudpickle")
    # In a function: classes of modules travel by the source of their file.
    lock = threading.Lock()

    class Local(bp.Scheduler):
        def choose(self, view):
            with lock:
                return super().choose(view)

    with pytest.raises(AssertionError, match="cannot be sent to another process"):
        testing.travels_to_other_processes(Local)


def test_all_faults_are_told_at_once():
    with pytest.raises(AssertionError) as found:
        testing.check_scheduler(Waits)
    text = str(found.value)
    assert "Waits fails" in text
    assert all(name in text for name in ("bonds_a_transfer", "survives_failing_subflows", "sends_when_all_is_idle"))


def test_another_class_is_refused():
    with pytest.raises(ScenarioError, match="Scheduler"):
        testing.check_scheduler(bp.Middlebox)


def test_views_of_tests_have_what_was_given():
    leo = Subflow("leo", 3, srtt_s=0.04, cwnd=20_000, flight_size=1440, has_room=False, pacing_rate=10**6)
    view = SchedulerView([leo], now_s=2.5, room=5, unsent=7)
    assert view.subflows[0] is leo
    assert (view.now_s, view.room, view.unsent, view.opportunistic) == (2.5, 5, 7, 0)
    assert (leo.name, leo.index, leo.srtt_s, leo.cwnd, leo.flight_size) == ("leo", 3, 0.04, 20_000, 1440)
    assert (leo.is_usable, leo.is_ready, leo.pacing_rate, leo.srtt_min_s, leo.srtt_max_s) == (
        True,
        False,
        10**6,
        0.04,
        0.04,
    )
    assert bp.Scheduler().choose(view) is None
    for value in (-1.0, float("nan"), float("inf"), 1e9):
        with pytest.raises(ValueError, match=r"a time of .* s\n  expected 0 to 1000000 s"):
            Subflow("leo", srtt_s=value)
