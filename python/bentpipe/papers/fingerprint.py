"""What the pages of a paper were computed from, in twelve digits: they are stale where it is another one now."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bentpipe import _core
from bentpipe.papers.claims import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bentpipe.papers.claims import Paper

# The number of the results that the core gives.
RESULTS = _core.RESULTS
DECIDING = (
    FOLDER / "claims.py",
    FOLDER / "engine.py",
    FOLDER / "falsify.py",
    FOLDER / "lab.py",
    FOLDER / "verdicts.py",
    FOLDER.parent / "statistics" / "estimates.py",
)
"""What makes verdicts of runs. Pages that only look different are not stale: a test makes them from quick runs."""


def fingerprint(paper: Paper) -> str:
    """Of the core's results, the paper's folder, and what decides; the same on every system."""
    return digest([*paper.files, *DECIDING])


def digest(files: Iterable[Path], *others: str) -> str:
    """Of the core's results, of files and texts; the same on every system."""
    found = hashlib.sha256(f"results {RESULTS}\n".encode())
    for path in files:
        # Line ends are as git likes them here.
        found.update(f"{path.name}\n{path.read_text(encoding='utf-8')}\n".encode())
    for text in others:
        found.update(f"{text}\n".encode())
    return found.hexdigest()[:12]
