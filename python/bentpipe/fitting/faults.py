"""Collects all faults of all files, so that a user can mend them in one go."""

from __future__ import annotations

from collections import Counter

from bentpipe.errors import FitError

VALUE_MAX = 60
"""Largest number of shown letters of a wrong value."""
PER_FILE = 10
"""Largest number of shown faults of a file. The rest are counted."""


class Faults:
    """Faults of files, each with its place, its value and the expected values."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._counts: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """Number of all faults."""
        return self._counts.total()

    def wrong(self, place: str, message: str, expected: str) -> None:
        """Add a fault at `FILE:LINE`, or at `FILE: PART`."""
        file = place.partition(":")[0]
        self._counts[file] += 1
        if self._counts[file] <= PER_FILE:
            self.found.append(f"{place}: {message}\n  {expected}")

    def refuse(self) -> None:
        """Raise an error with all faults, if there are any."""
        if not self.count:
            return
        more = [
            f"... and {count - PER_FILE} more in {file}" for file, count in self._counts.items() if count > PER_FILE
        ]
        total = [f"{self.count} problems; nothing was written"] if self.count > 1 else []
        raise FitError("\n".join([*self.found, *more, *total]))


def show_value(value: object) -> str:
    """Write a wrong value in one line, shortened."""
    text = " ".join(str(value).split())
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}..."
