"""Intervals, tests, effect sizes, corrections, and the end of a warm-up.

Each module names its sources. Modules are loaded when first used, as `scipy.stats` takes seconds to import.

>>> import bentpipe as bp
>>> bp.statistics.estimates.least(0.95)
6
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

MODULES = (
    *("comparing", "correction", "effects", "estimates", "judgement", "power", "quality", "samples", "steady"),
    "warmup",
)
__all__ = [*MODULES]


def __getattr__(name: str) -> ModuleType:
    if name in MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__} has no attribute {name!r}: known are {', '.join(MODULES)}")


def __dir__() -> list[str]:
    return list(__all__)
