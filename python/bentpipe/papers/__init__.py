"""Published papers as experiments, claim by claim: the API for a paper's folder.

A paper is a folder with `paper.toml` (title, readings, assumptions), `claims.toml`, `scenarios`, `measures.py`
(functions that take a `Lab` and return a `Finding`) and an optional `figures.py`. Five papers are bundled. They use
only this API, as your own papers do. `bentpipe.reproduce` measures, judges and draws them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.papers.claims import Claim, Criterion, Paper, Reading, paper
    from bentpipe.papers.drawing import COLOURS, blank, intervals, label, legend_above, style
    from bentpipe.papers.lab import Finding, Lab, Possible, Runs
    from bentpipe.papers.scaffolding import scaffold
    from bentpipe.papers.verdicts import Verdict

__all__ = [
    "COLOURS",
    "Claim",
    "Criterion",
    "Finding",
    "Lab",
    "Paper",
    "Possible",
    "Reading",
    "Runs",
    "Verdict",
    "blank",
    "intervals",
    "label",
    "legend_above",
    "paper",
    "scaffold",
    "style",
]

# Loaded at first use, as in `bentpipe` itself.
_HOMES = {
    "claims": ("Claim", "Criterion", "Paper", "Reading", "paper"),
    "drawing": ("COLOURS", "blank", "intervals", "label", "legend_above", "style"),
    "lab": ("Finding", "Lab", "Possible", "Runs"),
    "scaffolding": ("scaffold",),
    "verdicts": ("Verdict",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"bentpipe.papers.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'bentpipe.papers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
