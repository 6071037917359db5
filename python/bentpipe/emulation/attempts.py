"""Repeats an emulated run on a loaded machine until its verdict is trustworthy."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bentpipe.emulation.emulate import Emulation

ATTEMPTS_MAX = 100
PAUSE_S = 1.0
"""Pause before the second attempt, seconds. Each further pause is as much longer, so that load can pass."""


def repeat_until_trustworthy(
    run: Callable[[], Emulation], attempts: int, pause: Callable[[float], None] = time.sleep
) -> tuple[Emulation, int]:
    """Run until the verdict is trustworthy, at most `attempts` times; return the last run and its number.

    A warning reports each run that is repeated. A run that Ctrl-C ended is not repeated.
    """
    number = 1
    while True:
        found = run()
        if found.trust.is_trustworthy or found.stopped == "interrupted" or number >= attempts:
            return found, number
        logging.getLogger("bentpipe").warning(
            "attempt %d of %d: %s The program runs again.", number, attempts, found.trust.sentence
        )
        pause(PAUSE_S * number)
        number += 1
