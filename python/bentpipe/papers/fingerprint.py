"""What the pages of a paper were computed from, in twelve digits: they are stale where it is another one now."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bentpipe import _core
from bentpipe.papers.claims import FOLDER

if TYPE_CHECKING:
    from bentpipe.papers.claims import Paper

# The number of the results that the core gives.
RESULTS = _core.RESULTS
DECIDING = ("claims.py", "lab.py", "verdicts.py")
"""What makes verdicts of runs. Pages that only look different are not stale: a test makes them from quick runs."""


def fingerprint(paper: Paper) -> str:
    """Of the core's results, the paper's folder, and what decides; the same on every system."""
    files = [*sorted(paper.folder.glob("*.toml")), *sorted(paper.folder.glob("*.py")), *(FOLDER / f for f in DECIDING)]
    found = hashlib.sha256(f"results {RESULTS}\n".encode())
    for path in files:
        # Line ends are as git likes them here.
        found.update(f"{path.name}\n{path.read_text(encoding='utf-8')}\n".encode())
    return found.hexdigest()[:12]
