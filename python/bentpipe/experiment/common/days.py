"""Scenarios on days of the sky."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from bentpipe.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bentpipe import _core


def on_day(core: _core.Scenario, day: int) -> _core.Scenario:
    """Place a scenario on a day of the sky.

    Raises
    ------
    ScenarioError
        It is invalid on this day.
    """
    if day == 0:
        return core
    with locate_errors(day):
        return core.on_day(day)


@contextmanager
def locate_errors(day: int) -> Iterator[None]:
    """Add the day of the sky to errors of a scenario, and the setting that avoids this day."""
    try:
        yield
    except ScenarioError as error:
        where = f"on day {day} of the sky, which replication {day} has; sky.day = 0 gives all replications the same day"
        raise error.change_problems(where=where) from None
