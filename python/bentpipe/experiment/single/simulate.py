"""Drives the core through one run, and makes a result of its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from bentpipe import _core, forks
from bentpipe.errors import Interrupted
from bentpipe.progress import Progress, choose_watch, telling

if TYPE_CHECKING:
    from collections.abc import Callable

    from bentpipe.experiment.single.tables import Tables
    from bentpipe.progress import Wish
    from bentpipe.scenario.scenario import Scenario

R = TypeVar("R")

EVENTS_AT_ONCE = 2_000
"""Number of events between checks of Ctrl-C and progress. An event may move ten thousand packets ahead of time."""


def simulate(
    scenario: Scenario,
    as_result: Callable[[Scenario, Tables], R],
    *,
    captures: str | None = None,
    qlogs: str | None = None,
    progress: Wish = None,
) -> R:
    """Run a scenario to its end.

    Parameters
    ----------
    scenario : Scenario
    as_result : callable
        Makes the result from the scenario and the tables of the core.
    captures : str, optional
        Path of the captures of the hosts, from `files.captures`.
    qlogs : str, optional
        Folder of the qlog files of flows over QUIC.
    progress : callable or bool, optional
        Progress of the run, as in `run`.

    Raises
    ------
    Interrupted
        Ctrl-C was pressed; `result` has the run until then.
    """
    forks.refuse()
    with choose_watch(progress) as watch:
        with telling(watch, "building the network"):
            simulation = _core.Run(scenario._core, pcap=captures, qlog=qlogs)
        state = Progress(total=1, make_result=lambda: as_result(scenario, simulation.so_far()))
        try:
            advance(simulation, watch and _notes(simulation, watch, state))
        except KeyboardInterrupt as interrupt:
            simulation.interrupt()
            message = f"interrupted at {simulation.simulated_s:.4g} s of {scenario.duration_s:.10g} s"
            raise Interrupted(message, lambda: as_result(scenario, simulation.finish()), where=str(interrupt)) from None
        with telling(watch, "making the tables"):
            result = as_result(scenario, simulation.finish())
        # The run has ended.
        state.make_result = lambda: result
        return result


def advance(
    simulation: _core.Run,
    progress: Callable[[float], object] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Run to the end or until stopped; return whether the end was reached."""
    while not simulation.is_done:
        if is_stopped():
            return False
        simulation.advance(EVENTS_AT_ONCE)
        if progress is not None:
            progress(simulation.progress)
    return True


def _notes(simulation: _core.Run, progress: Callable[[Progress], object], state: Progress) -> Callable[[float], object]:
    """Make the function that receives the finished share of a run."""

    def note(share: float) -> None:
        state.under_way, state.simulated_s = share, simulation.simulated_s
        progress(state)

    return note
