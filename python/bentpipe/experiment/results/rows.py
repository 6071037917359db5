"""Rankings and differences of a sweep as rows of plain data, for JSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.statistics.samples import AtLeast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.experiment.results.contrasts import Contrast, Ranked


def ranked_row(each: Ranked) -> dict[str, Any]:
    """A point in its place: mean and interval, how much was completed, and the test against the best."""
    behind = each.behind
    shares = behind.shares if behind is not None else None
    return {
        "mean": each.found.value,
        "low": each.found.low,
        "high": each.found.high,
        "completed": each.counts.done,
        "due": each.counts.due,
        "is_bound": isinstance(each.found, AtLeast),
        "p_adjusted": behind and behind.p_adjusted,
        "p_completed": shares and shares.p_adjusted,
        "is_worse": each.is_worse,
    }


def difference_rows(contrasts: Sequence[Contrast]) -> list[dict[str, Any]]:
    """A row per pair of senders and setting."""
    return [
        {"sender": contrast.sender, "other": contrast.other, **contrast.settings[at], **each.to_dict()}
        for contrast in contrasts
        for at, each in contrast.differences.items()
    ]
