"""Names the series of an explanation that end early, because not all their rows could be recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bentpipe.experiment.single.run_result import RunResult


def join_parts(parts: list[str]) -> str:
    """Join with commas, and with *and* before the last part."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def describe_gaps(result: RunResult, series: Iterable[str], until_s: float) -> str:
    """Name the series that end before an instant, as text to append to a sentence; empty without such series."""
    ends: dict[float, list[str]] = {}
    for name in series:
        end_s = result.recorded_until(name)
        if end_s < until_s:
            ends.setdefault(end_s, []).append(name)
    said = (
        f" Unknown after {end_s:.6g} s: {join_parts(names)} did not fit the record." for end_s, names in ends.items()
    )
    return "".join(said)
