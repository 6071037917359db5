"""Checks of custom congestion controls and middleboxes, for the tests of a package.

Checks of schedulers are in `bentpipe.testing.schedulers`.

Each check runs the class over small paths, and raises an `AssertionError` that names the fault and its time.

>>> import pytest                                                    # doctest: +SKIP
>>> from bentpipe import testing                                     # doctest: +SKIP
>>> from mine import MyIdea                                          # doctest: +SKIP
>>> @pytest.mark.parametrize("check", testing.CONGESTION_CONTROL)    # doctest: +SKIP
... def test_my_idea(check):
...     check(MyIdea)
"""

from __future__ import annotations

import copy
import math
import sys
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError
from bentpipe.experiment.single.run import run
from bentpipe.own.loading import find_name, load_class
from bentpipe.own.middlebox import Middlebox
from bentpipe.own.sender import CongestionControl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bentpipe.experiment.single.run_result import RunResult

    Check = Callable[[Any], None]

__all__ = [
    "CONGESTION_CONTROL",
    "MIDDLEBOX",
    "check_congestion_control",
    "check_middlebox",
    "completes_a_transfer",
    "copies_do_not_share",
    "keeps_a_possible_window",
    "keeps_hooks_short",
    "keeps_little",
    "lets_a_transfer_pass",
    "repeats_itself",
    "repeats_with_equal_seeds",
    "rests_while_the_application_does",
    "survives_hostile_links",
    "survives_hostile_paths",
    "takes_back_a_needless_reduction",
]


def __dir__() -> list[str]:
    return list(__all__)


WINDOW_MAX = 2**40
"""Largest window in bytes that a congestion control may have."""
KEPT_MAX = 20_000
"""Most elements that the lists and dicts of one connection may hold: several windows of a fast path."""

HOOK_LINES_MAX = 10_000
"""Most lines of Python that one call of a hook may run. A fast path has thousands of calls a second."""


def check_congestion_control(cls: type[CongestionControl]) -> None:
    """Carry out all checks of a congestion control: `CONGESTION_CONTROL`.

    Parameters
    ----------
    cls : class
        It extends `bentpipe.CongestionControl`.

    Raises
    ------
    AssertionError
        Its text has a line for each check that fails.
    ScenarioError
        The class does not extend `CongestionControl`.
    """
    check_all(load_class(cls, CongestionControl), CONGESTION_CONTROL)


def check_middlebox(cls: type[Middlebox]) -> None:
    """Carry out all checks of a middlebox: `MIDDLEBOX`.

    Parameters
    ----------
    cls : class
        It extends `bentpipe.Middlebox`.

    Raises
    ------
    AssertionError
        Its text has a line for each check that fails.
    ScenarioError
        The class does not extend `Middlebox`.
    """
    check_all(load_class(cls, Middlebox), MIDDLEBOX)


def check_all(cls: type, checks: Iterable[Check]) -> None:
    """Carry out checks, and raise an `AssertionError` with a line for each that fails."""
    faults = []
    for check in checks:
        try:
            check(cls)
        except AssertionError as error:
            faults.append(f"{check.__name__}: {error}")
    assert not faults, "\n".join([f"{cls.__name__} fails {len(faults)} checks", *faults])


def completes_a_transfer(cls: type[CongestionControl]) -> None:
    """A file of 2 MB arrives over a long path and a short path, both without link errors."""
    for delay in ("5 ms", "260 ms"):
        result = _run(cls, {"link.l.delay": delay, "duration": "90 s", "flow.f.app": {"kind": "file", "size": "2 MB"}})
        done_s = result.rows("flows")[0]["completion_s"]
        assert done_s is not None, f"2 MB over a delay of {delay} are not complete after {result.simulated_s:g} s"


def keeps_a_possible_window(cls: type[CongestionControl]) -> None:
    """After each hook, window and threshold have valid values, also with losses, timeouts and marks."""

    def look(self: Any, hook: str, path: Any) -> None:
        assert math.isfinite(self.cwnd), f"{hook} makes cwnd {self.cwnd} at {path.now_s:.3f} s"
        assert path.smss <= self.cwnd <= WINDOW_MAX, (
            f"{hook} makes cwnd {self.cwnd:.0f} bytes at {path.now_s:.3f} s, and a segment has {path.smss}"
        )
        assert self.ssthresh > 0, f"{hook} makes ssthresh {self.ssthresh} at {path.now_s:.3f} s"

    for sets in HOSTILE.values():
        _run(_watch(cls, look), sets)


def rests_while_the_application_does(cls: type[CongestionControl]) -> None:
    """The window stays bounded while the application sends less than the window allows."""
    most: list[float] = []

    def look(self: Any, hook: str, path: Any) -> None:
        most.append(self.cwnd / path.smss)

    _run(
        _watch(cls, look), {"flow.f.app": {"kind": "records", "size": "2 kB", "interval": "100 ms"}, "duration": "60 s"}
    )
    assert not most or most[-1] <= 4 * most[0] + 20, (
        f"the window grows from {most[0]:.0f} to {most[-1]:.0f} segments while two segments are sent each 100 ms"
    )


def takes_back_a_needless_reduction(cls: type[CongestionControl]) -> None:
    """After `undo`, the window is at least the smaller of window and threshold before the reduction."""

    def undo(self: Any, before: Any) -> None:
        cls.undo(self, before)
        assert self.cwnd >= 0.99 * min(before.cwnd, before.ssthresh), (
            f"undo leaves cwnd {self.cwnd:.0f} bytes, and it was {before.cwnd:.0f} before the reduction"
        )

    late = {"kind": "impair", "reorder": "2 %", "hold": "60 ms"}
    watched = type(cls.__name__, (cls,), {"name": find_name(cls), "undo": undo})
    _run(watched, {"node.m.middlebox": [late], "link.l.rate": "10 Mbit/s"})


def copies_do_not_share(cls: type[CongestionControl]) -> None:
    """A copy, which the connection makes for `undo`, has separate lists and dicts."""
    looked: list[int] = []

    def look(self: Any, hook: str, path: Any) -> None:
        looked.append(1)
        if len(looked) % 200 != 1:
            return
        other = copy.deepcopy(self)
        assert type(other) is type(self), f"a copy is a {type(other).__name__}"
        assert other.cwnd == self.cwnd, f"a copy has cwnd {other.cwnd}, not {self.cwnd}"
        for name, value in vars(self).items():
            assert name in vars(other), f"a copy lacks {name}"
            is_shared = vars(other)[name] is value and isinstance(value, (list, dict, set, bytearray))
            assert not is_shared, f"a copy shares {name} with its original"

    _run(_watch(cls, look), HOSTILE["losses"])


def repeats_with_equal_seeds(cls: type[CongestionControl]) -> None:
    """Two runs with one seed are equal."""
    one, other = (_run(cls, HOSTILE["losses"]) for _ in range(2))
    assert one.flows.equals(other.flows), "two runs with one seed differ: use random.Random(init.seed) for chance"


def keeps_little(cls: type[CongestionControl]) -> None:
    """The memory of the object stays bounded during a connection."""
    kept: list[int] = [0]

    def look(self: Any, hook: str, path: Any) -> None:
        kept[0] = max(kept[0], sum(len(each) for each in vars(self).values() if hasattr(each, "__len__")))

    _run(_watch(cls, look), {"link.l.rate": "20 Mbit/s", "duration": "60 s"})
    assert kept[0] <= KEPT_MAX, f"its lists and dicts hold {kept[0]:,} elements after 60 s at 20 Mbit/s"


def keeps_hooks_short(cls: type[CongestionControl]) -> None:
    """No call of a hook runs more than `HOOK_LINES_MAX` lines. Lines are counted, so that no machine is too slow."""

    def count_hook(hook: str) -> Callable[..., None]:
        def call(self: Any, *given: Any) -> None:
            lines, _ = count_lines(getattr(cls, hook), self, *given)
            assert lines <= HOOK_LINES_MAX, f"{hook} runs {lines:,} lines of Python at {given[-1].now_s:.3f} s"

        return call

    hooks = {hook: count_hook(hook) for hook in HOOKS}
    counted = type(cls.__name__, (cls,), {"name": find_name(cls), **hooks})
    _run(counted, {"link.l.rate": "10 Mbit/s", "duration": "20 s"})


def count_lines(function: Callable[..., Any], *given: Any) -> tuple[int, Any]:
    """Call a function; return the number of lines that it runs, and its value.

    A debugger or coverage of the caller goes on afterwards.
    """
    count, outer = 0, sys.gettrace()

    def trace(frame: Any, event: str, value: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        value = function(*given)
    finally:
        sys.settrace(outer)
    return count, value


def survives_hostile_paths(cls: type[CongestionControl]) -> None:
    """No hook raises an error on paths with losses, outages, late and lost ACKs, marks and a closed window."""
    for sets in HOSTILE.values():
        _run(cls, sets)


CONGESTION_CONTROL: tuple[Check, ...] = (
    completes_a_transfer,
    keeps_a_possible_window,
    rests_while_the_application_does,
    takes_back_a_needless_reduction,
    copies_do_not_share,
    repeats_with_equal_seeds,
    keeps_little,
    keeps_hooks_short,
    survives_hostile_paths,
)
"""The checks of a congestion control."""


def lets_a_transfer_pass(cls: type[Middlebox]) -> None:
    """A file of 500 kB arrives through the middlebox."""
    result = _run_through(cls, {"flow.f.app": {"kind": "file", "size": "500 kB"}})
    assert result.rows("flows")[0]["completion_s"] is not None, (
        f"500 kB are not complete after {result.simulated_s:g} s"
    )


def repeats_itself(cls: type[Middlebox]) -> None:
    """Two runs with one seed are equal."""
    one, other = (_run_through(cls, HOSTILE["losses"]) for _ in range(2))
    assert one.flows.equals(other.flows), "two runs with one seed differ: take chance from one seed"


def survives_hostile_links(cls: type[Middlebox]) -> None:
    """No hook raises an error with losses, outages, damaged and late packets, and a closed window."""
    for sets in HOSTILE.values():
        _run_through(cls, sets)


MIDDLEBOX: tuple[Check, ...] = (lets_a_transfer_pass, repeats_itself, survives_hostile_links)
"""The checks of a middlebox."""

HOOKS = ("on_ack", "on_congestion", "on_rto")
"""Hooks of a congestion control that change the window."""
PATH: Mapping[str, Any] = {
    "duration": "30 s",
    "link": {
        "l": {"from": "a", "to": "m", "rate": "2 Mbit/s", "delay": "50 ms"},
        "n": {"from": "m", "to": "b", "rate": "20 Mbit/s", "delay": "1 ms"},
    },
    "flow": {"f": {"from": "a", "to": "b"}},
}
HOSTILE: Mapping[str, Mapping[str, Any]] = {
    "losses": {"link.l.error": {"kind": "packet", "rate": 0.05}},
    "bursts": {"link.l.error": {"kind": "gilbert-elliott", "mean_good": "1 s", "mean_bad": "50 ms", "rate_bad": 0.5}},
    "outages": {"link.l.outage": {"mean_up": "2 s", "mean_down": "1 s"}},
    "lost ACKs": {"link.l.reverse.error": {"kind": "packet", "rate": 0.4}},
    "late packets": {"link.l.jitter": {"delay": {"kind": "exponential", "mean": "40 ms"}, "every": "50 ms"}},
    "marks": {"link.l.queue": {"kind": "codel", "target": "5 ms", "interval": "100 ms"}, "tcp.ecn": "classic"},
    "small queue": {"link.l.queue": "2 packets"},
    "closed window": {"tcp.receive_buffer": "6 kB"},
}
"""Settings of paths on which a class must not fail, by name."""


def _watch(cls: type[CongestionControl], look: Callable[[Any, str, Any], None]) -> type[CongestionControl]:
    """Make a class that looks at itself after each hook for an ACK, a loss or a timeout."""

    def watch_hook(hook: str) -> Callable[..., None]:
        def call(self: Any, *given: Any) -> None:
            getattr(cls, hook)(self, *given)
            look(self, hook, given[-1])

        return call

    hooks = {hook: watch_hook(hook) for hook in HOOKS}
    return type(cls.__name__, (cls,), {"name": find_name(cls), **hooks})


def _run(cls: type[CongestionControl], sets: Mapping[str, Any]) -> RunResult:
    return _carry_out(sets, cc=cls)


def _run_through(cls: type[Middlebox], sets: Mapping[str, Any]) -> RunResult:
    return _carry_out(sets, middlebox={"m": cls})


def _carry_out(sets: Mapping[str, Any], **given: Any) -> RunResult:
    from bentpipe.scenario.scenario import Scenario

    try:
        return run(Scenario(PATH, sets=sets), progress=False, **given)
    except BentpipeError as error:
        raise AssertionError(f"with {spell_sets(sets)}: {error}") from error


def spell_sets(sets: Mapping[str, Any]) -> str:
    """Settings as words of a fault."""
    return ", ".join(f"{key} = {value}" for key, value in sets.items()) or "a clean path"
