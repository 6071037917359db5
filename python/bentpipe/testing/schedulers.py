"""Checks of custom schedulers of flows over several paths, in the form of `bentpipe.testing.checks`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeAlias

from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.experiment.single.run import run
from bentpipe.own import travel
from bentpipe.own.loading import find_name, load_class
from bentpipe.own.scheduler import Repeat, Scheduler, SchedulerView, Subflow
from bentpipe.testing.checks import HOOK_LINES_MAX, KEPT_MAX, check_all, count_lines, spell_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.testing.checks import Check

    Choice: TypeAlias = Subflow | Repeat | None

__all__ = [
    "SCHEDULER",
    "bonds_a_transfer",
    "check_scheduler",
    "chooses_a_usable_subflow",
    "copies_choose_alike",
    "keeps_choices_short",
    "keeps_little_of_views",
    "repeats_its_choices",
    "sends_when_all_is_idle",
    "survives_failing_subflows",
    "survives_hostile_views",
    "travels_to_other_processes",
]


def __dir__() -> list[str]:
    return list(__all__)


ROUTES: Mapping[str, list[str]] = {"leo": ["a", "b"], "geo": ["a", "hub", "b"]}
COPIED_EACH = 10
"""Choices from one copy to the next."""


def _break(path: str, second: int) -> dict[str, Any]:
    """A change that takes a path away."""
    return {"time": f"{second} s", "withdraw": [f"f.{path}"], "down": [path]}


def _mend(path: str, second: int) -> dict[str, Any]:
    """A change that brings it back."""
    route = ROUTES[path]
    way = {"flow": f"f.{path}", "route": route, "reverse_route": route[::-1]}
    return {"time": f"{second} s", "up": [path], "install": [way]}


PATHS: Mapping[str, Any] = {
    "duration": "30 s",
    "link": {
        "leo": {"from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "20 ms"},
        "up": {"from": "a", "to": "hub", "rate": "1 Gbit/s", "delay": "10 ms"},
        "geo": {"from": "hub", "to": "b", "rate": "5 Mbit/s", "delay": "250 ms"},
    },
    "flow": {
        "f": {
            "from": "a",
            "to": "b",
            "app": {"kind": "file", "size": "2 MB"},
            "multipath": {},
            "subflow": {path: {"route": route, "reverse_route": route[::-1]} for path, route in ROUTES.items()},
        }
    },
}
FAILING: Mapping[str, Mapping[str, Any]] = {
    "losses": {"link.leo.error": {"kind": "packet", "rate": 0.03}, "link.geo.error": {"kind": "packet", "rate": 0.01}},
    "no LEO after two seconds": {"at": [_break("leo", 2)]},
    "no GEO after two seconds": {"at": [_break("geo", 2)]},
    "LEO comes and goes": {"at": [(_mend if second % 2 else _break)("leo", 2 + second) for second in range(6)]},
    "a backup": {"flow.f.subflow.geo.backup": True, "at": [_break("leo", 1)]},
    "a small receive buffer": {"flow.f.multipath.receive_buffer": "32 kB"},
    "late packets": {"link.leo.jitter": {"delay": {"kind": "exponential", "mean": "40 ms"}, "every": "50 ms"}},
}
"""Settings of paths with which a transfer still has to arrive, by name.

LEO joins after a second, with the first signal over GEO: a connection that loses its only path before then ends.
"""


SHORT: Mapping[str, Any] = {
    **FAILING["losses"],
    "flow.f.app": {"kind": "request-response", "request": "6 kB", "response": "20 kB", "count": 40},
}
"""Transfers so short that often both subflows are ready, and there is a choice."""


def check_scheduler(cls: type[Scheduler]) -> None:
    """Carry out all checks of a scheduler: `SCHEDULER`.

    Parameters
    ----------
    cls : class
        It extends `bentpipe.Scheduler`.

    Raises
    ------
    AssertionError
        Its text has a line for each check that fails.
    ScenarioError
        The class does not extend `Scheduler`.
    """
    check_all(load_class(cls, Scheduler), SCHEDULER)


def bonds_a_transfer(cls: type[Scheduler] | str) -> None:
    """A file of 2 MB arrives over LEO and GEO. The check also takes the name of a built-in scheduler."""
    _expect_arrival(cls, {})


def survives_failing_subflows(cls: type[Scheduler] | str) -> None:
    """A file arrives with losses, failing subflows, a backup, and a small receive buffer.

    The check also takes names.
    """
    for sets in FAILING.values():
        _expect_arrival(cls, {"duration": "90 s", **sets})


def repeats_its_choices(cls: type[Scheduler] | str) -> None:
    """Two runs with one seed are equal. The check also takes the name of a built-in scheduler."""
    one, other = (_run(cls, SHORT) for _ in range(2))
    are_equal = one.flows.equals(other.flows) and one.subflows.equals(other.subflows)
    assert are_equal, "two runs with one seed differ: use random.Random(self.seed) for chance"


def chooses_a_usable_subflow(cls: type[Scheduler]) -> None:
    """`choose` returns a subflow of the view, or None.

    It never waits for an unusable subflow while another is usable.
    """

    def look(self: Any, view: SchedulerView, chosen: Choice) -> None:
        _expect_usable(view, chosen, f"at {view.now_s:.3f} s")

    for sets in FAILING.values():
        _run(_watch(cls, look), sets)


def sends_when_all_is_idle(cls: type[Scheduler]) -> None:
    """`choose` does not wait while all subflows are ready and carry nothing: no ACK would call it again."""

    def look(self: Any, view: SchedulerView, chosen: Choice) -> None:
        are_idle = all(each.is_ready and not each.flight_size + each.queued for each in view.subflows)
        waits = chosen is None or (isinstance(chosen, Repeat) and not chosen.subflow.can_repeat)
        assert not waits or not are_idle or not view.room or not view.unsent, (
            f"choose waits at {view.now_s:.3f} s, and all subflows are ready and carry nothing"
        )

    for sets in ({}, *FAILING.values()):
        _run(_watch(cls, look), sets)
    view = _list_views()["idle subflows"]
    look(None, view, cls().choose(view))


def survives_hostile_views(cls: type[Scheduler]) -> None:
    """`choose` raises no error with one subflow, closed subflows, zero windows or huge round trips."""
    scheduler = cls()
    for _ in range(2):
        for words, view in _list_views().items():
            try:
                chosen = scheduler.choose(view)
            except Exception as error:
                raise AssertionError(f"choose raises {type(error).__name__} with {words}: {error}") from error
            _expect_usable(view, chosen, f"with {words}")


def copies_choose_alike(cls: type[Scheduler]) -> None:
    """A copy makes the same choices as its original, and does not share lists and dicts with it."""
    calls: list[int] = []

    def choose(self: Any, view: SchedulerView) -> Choice:
        calls.append(1)
        other = copy.deepcopy(self) if len(calls) % COPIED_EACH == 1 else None
        if other is not None:
            for name, value in vars(self).items():
                is_shared = vars(other).get(name) is value and isinstance(value, (list, dict, set, bytearray))
                assert not is_shared, f"a copy shares {name} with its original"
        chosen = cls.choose(self, view)
        if other is not None:
            # Not by the class of `self`, which would count and copy again.
            also = cls.choose(other, view)
            assert _name(also) == _name(chosen), (
                f"a copy chooses {_name(also)} at {view.now_s:.3f} s, and its original {_name(chosen)}"
            )
        return chosen

    _run(type(cls.__name__, (cls,), {"name": find_name(cls), "choose": choose}), SHORT)


def travels_to_other_processes(cls: type[Scheduler]) -> None:
    """The class can be sent to another process, which replications on all processors need."""
    try:
        import cloudpickle  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: F401
    except ImportError:
        return
    try:
        ((_, _, _, other),) = travel.receive_classes(travel.sent({find_name(cls): cls}))
    except ScenarioError as error:
        raise AssertionError(f"it cannot be sent to another process: {error}") from error
    assert other.__name__ == cls.__name__, f"{other.__name__} arrives in another process"


def keeps_little_of_views(cls: type[Scheduler]) -> None:
    """The state of a connection is bounded."""
    kept: list[int] = [0]

    def look(self: Any, view: SchedulerView, chosen: Choice) -> None:
        kept[0] = max(kept[0], sum(len(each) for each in vars(self).values() if hasattr(each, "__len__")))

    _run(_watch(cls, look), {"flow.f.app": "greedy", "link.leo.rate": "20 Mbit/s"})
    assert kept[0] <= KEPT_MAX, f"its lists and dicts hold {kept[0]:,} elements after 30 s at 25 Mbit/s"


def keeps_choices_short(cls: type[Scheduler]) -> None:
    """No call of `choose` runs more than `HOOK_LINES_MAX` lines. Lines are counted, so that no machine is too slow."""

    def choose(self: Any, view: SchedulerView) -> Choice:
        lines, chosen = count_lines(cls.choose, self, view)
        assert lines <= HOOK_LINES_MAX, f"choose runs {lines:,} lines of Python at {view.now_s:.3f} s"
        found: Choice = chosen
        return found

    _run(type(cls.__name__, (cls,), {"name": find_name(cls), "choose": choose}), {})


SCHEDULER: tuple[Check, ...] = (
    bonds_a_transfer,
    survives_failing_subflows,
    repeats_its_choices,
    chooses_a_usable_subflow,
    sends_when_all_is_idle,
    survives_hostile_views,
    copies_choose_alike,
    travels_to_other_processes,
    keeps_little_of_views,
    keeps_choices_short,
)
"""The checks of a scheduler."""


def _list_views() -> dict[str, SchedulerView]:
    """Views that a network seldom has, by their description."""

    def subflows(**more: Any) -> list[Subflow]:
        return [Subflow("leo", 0, srtt_s=0.04, **more), Subflow("geo", 1, srtt_s=0.6, **more)]

    def view(**more: Any) -> SchedulerView:
        return SchedulerView(subflows(**more))

    return {
        "idle subflows": view(),
        "one subflow": SchedulerView([Subflow("leo")]),
        "one closed subflow": SchedulerView([Subflow("leo", is_usable=False, has_room=False)]),
        "all subflows closed": view(is_usable=False, has_room=False),
        "a closed subflow that is the fastest": SchedulerView(
            [Subflow("leo", 0, srtt_s=0.01, is_usable=False), Subflow("geo", 1, srtt_s=0.6)]
        ),
        "no room on any subflow": view(has_room=False, flight_size=14_400),
        "windows of 0": view(cwnd=0, has_room=False),
        "a window of less than a segment": view(cwnd=500),
        "a closed receive window": SchedulerView(subflows(flight_size=14_400), window=0, room=0),
        "no new data": SchedulerView(subflows(), unsent=0),
        "no round trip measured": SchedulerView([Subflow("leo", 0, srtt_s=0.0), Subflow("geo", 1, srtt_s=0.0)]),
        "a round trip of a day": SchedulerView(
            [Subflow("leo", 0), Subflow("geo", 1, srtt_s=86_400.0, rttvar_s=86_400.0, cwnd=2**40)]
        ),
        "a pacing rate of 0": view(pacing_rate=0),
        "data to repeat": view(can_repeat=True, flight_size=1440),
        "data to repeat and no new data": SchedulerView(subflows(can_repeat=True, flight_size=1440), unsent=0),
        "sixteen equal subflows": SchedulerView([Subflow(f"path {place}", place) for place in range(16)]),
    }


def _expect_usable(view: SchedulerView, chosen: Any, when: str) -> None:
    subflow = chosen.subflow if isinstance(chosen, Repeat) else chosen
    assert subflow is None or any(subflow is each for each in view.subflows), (
        f"choose returns {chosen!r} {when}: expected one of view.subflows, or None"
    )
    assert subflow is None or subflow.is_usable or not any(each.is_usable for each in view.subflows), (
        f"choose waits for {subflow.name!r} {when}, which cannot send, and another subflow can"
    )


def _expect_arrival(cls: type[Scheduler] | str, sets: Mapping[str, Any]) -> None:
    result = _run(cls, sets)
    assert result.rows("flows")[0]["completion_s"] is not None, (
        f"with {spell_sets(sets)}: 2 MB are not complete after {result.simulated_s:g} s"
    )


def _watch(cls: type[Scheduler], look: Callable[[Any, SchedulerView, Any], None]) -> type[Scheduler]:
    """Make a class that looks at each of its choices."""

    def choose(self: Any, view: SchedulerView) -> Choice:
        chosen = cls.choose(self, view)
        look(self, view, chosen)
        return chosen

    return type(cls.__name__, (cls,), {"name": find_name(cls), "choose": choose})


def _run(cls: type[Scheduler] | str, sets: Mapping[str, Any]) -> RunResult:
    from bentpipe.scenario.scenario import Scenario

    try:
        return run(Scenario(PATHS, sets={**sets, "flow.f.multipath.scheduler": cls}), progress=False)
    except BentpipeError as error:
        raise AssertionError(f"with {spell_sets(sets)}: {error}") from error


def _name(chosen: Choice) -> str:
    if isinstance(chosen, Repeat):
        return f"to repeat on {chosen.subflow.name}"
    return "to wait" if chosen is None else chosen.name
