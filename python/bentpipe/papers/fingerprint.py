"""Fingerprint of a paper's sources in twelve digits. Pages with another fingerprint are stale."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bentpipe import _core
from bentpipe.papers.claims import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bentpipe.papers.claims import Paper

# The number of the core's results.
RESULTS = _core.RESULTS
DECIDING = (
    FOLDER / "claims.py",
    FOLDER / "engine.py",
    FOLDER / "falsify.py",
    FOLDER / "lab.py",
    FOLDER / "settings.py",
    FOLDER / "verdicts.py",
    FOLDER / "worlds.py",
    FOLDER.parent / "statistics" / "estimates.py",
)
"""Sources that turn runs into verdicts. Changes of the layout do not make pages stale: a test makes pages."""


def fingerprint(paper: Paper) -> str:
    """Fingerprint of the core's results, the paper's folder and `DECIDING`; the same on every system."""
    return digest([*paper.files, *DECIDING])


def digest(files: Iterable[Path], *others: str) -> str:
    """Digest of the core's results, of files and texts; the same on every system."""
    found = hashlib.sha256(f"results {RESULTS}\n".encode())
    for path in files:
        # Reading as text makes line ends equal on all systems.
        found.update(f"{path.name}\n{path.read_text(encoding='utf-8')}\n".encode())
    for text in others:
        found.update(f"{text}\n".encode())
    return found.hexdigest()[:12]
