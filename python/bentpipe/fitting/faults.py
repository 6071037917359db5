"""Collects all faults of all files, so that a user can mend them at one time."""

from __future__ import annotations

from bentpipe.errors import SHOWN_MAX, FitError

VALUE_MAX = 60
"""Largest number of shown letters of a wrong value."""


class Faults:
    """Faults of files, each with its place, its value and the expected values."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.count = 0

    def wrong(self, place: str, message: str, expected: str) -> None:
        """Add a fault. Faults above the number that an error shows are only counted."""
        self.count += 1
        if len(self.found) < SHOWN_MAX:
            self.found.append(f"{place}: {message}\n  {expected}")

    def refuse(self) -> None:
        """Raise an error with all faults, if there are any."""
        if not self.count:
            return
        more = [f"... and {self.count - SHOWN_MAX} more"] if self.count > SHOWN_MAX else []
        total = [f"{self.count} problems; nothing was written"] if self.count > 1 else []
        raise FitError("\n".join([*self.found, *more, *total]))


def shown(value: object) -> str:
    """Write a wrong value in one line, shortened."""
    text = " ".join(str(value).split())
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}..."
