"""Shows the progress of a command on the terminal's error output."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

from bentpipe.progress import APPEARS_AFTER_S, TerminalBar, clock

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from types import TracebackType

    from bentpipe.progress import Progress
    from bentpipe.scenario.scenario import Scenario


MANY = 10_000
"""Number of runs that is printed before they begin."""
LOOK_S = 5.0
"""Time after which the rest of the work is estimated, in seconds."""
LONG_S = 600.0
"""Shortest rest of the work that is printed without a terminal, in seconds. On a terminal the bar has it."""


class Bar:
    """Bar on a terminal for work of more than a second, passed as `progress`.

    Parameters
    ----------
    begun : callable, optional
        Called once when the work starts, after all arguments were checked.
    is_quiet : bool
        Show nothing.
    is_summed_up : bool
        Print a summary at the end, also without a terminal.
    """

    is_bar = True

    def __init__(
        self, begun: Callable[[], object] | None = None, *, is_quiet: bool = False, is_summed_up: bool = False
    ) -> None:
        self._begun = begun
        self._is_shown = not is_quiet and sys.stderr.isatty()
        self._is_summed_up = is_summed_up and not is_quiet
        self._bar = TerminalBar(APPEARS_AFTER_S)
        self._last: Progress | None = None
        self._began_s = monotonic()
        self._is_counted = self._is_estimated = is_quiet

    def __enter__(self) -> Bar:
        return self

    def __call__(self, progress: Progress) -> None:
        self._last = progress
        self._note_cost(progress)
        if self._begun is not None and progress.share > 0:
            begun, self._begun = self._begun, None
            begun()
        if self._is_shown:
            self._bar(progress)

    def _note_cost(self, progress: Progress) -> None:
        """Print the number of runs if they are many, and the rest of the work if it is long, once each."""
        if not self._is_counted and progress.total >= MANY:
            self._is_counted = True
            print(f"note: {progress.total:,} runs; Ctrl-C stops them", file=sys.stderr)
        left_s = progress.left_s
        if self._is_estimated or self._is_shown or left_s is None or monotonic() - self._began_s < LOOK_S:
            return
        self._is_estimated = True
        if left_s > LONG_S:
            print(f"note: {progress.label}: about {clock(left_s)} left; Ctrl-C stops", file=sys.stderr)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.hide()
        if self._is_summed_up and self._last is not None and self._last.share > 0:
            print(f"{self._last.label} in {monotonic() - self._began_s:.3g} s", file=sys.stderr)


def load(
    file: str,
    sets: Sequence[str],
    seed: int | None = None,
    *,
    more: Sequence[tuple[str, Any]] = (),
    tables: Collection[str] = (),
    is_quiet: bool = False,
) -> Scenario:
    """Read the scenario of a command, with a bar if it takes long.

    `more` goes over all; `tables` are those besides a run that the command reads.
    """
    from bentpipe.scenario import overrides, scenario

    with Bar(is_quiet=is_quiet) as bar:
        return scenario.load(file, [*overrides.pairs(sets, seed, tables), *more], progress=bar)
