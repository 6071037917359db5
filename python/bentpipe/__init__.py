"""bentpipe: a laboratory for transport protocols over satellite networks.

>>> import bentpipe as bp
>>> scenario = bp.load("geo.toml")                                      # doctest: +SKIP
>>> result = bp.run(scenario)                                           # doctest: +SKIP
>>> comparison = bp.compare(scenario, cc=["reno", "newreno", "sack"])   # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bentpipe import errors
from bentpipe.version import __version__

if TYPE_CHECKING:
    from bentpipe.catalog import choices, schema
    from bentpipe.cc.loading import CongestionControl
    from bentpipe.experiment.compare import Comparison, compare
    from bentpipe.experiment.grid import sweep
    from bentpipe.experiment.mix import Mix, mix
    from bentpipe.experiment.network import Network
    from bentpipe.experiment.report import report
    from bentpipe.experiment.result import RunResult
    from bentpipe.experiment.run import run
    from bentpipe.experiment.sweep import Sweep
    from bentpipe.papers.reproduce import Reproduction, reproduce
    from bentpipe.scenario.scenario import Scenario, check, load, loads

__all__ = [
    "Comparison",
    "CongestionControl",
    "Mix",
    "Network",
    "Reproduction",
    "RunResult",
    "Scenario",
    "Sweep",
    "__version__",
    "check",
    "choices",
    "compare",
    "errors",
    "load",
    "loads",
    "mix",
    "report",
    "reproduce",
    "run",
    "schema",
    "sweep",
]

# Loaded when first used: the command line must answer at once, and tables and statistics take long to import.
# No module may bear the name of a function in here, or importing it would hide the function.
_HOMES = {
    "Comparison": "experiment.compare",
    "CongestionControl": "cc.loading",
    "Mix": "experiment.mix",
    "Network": "experiment.network",
    "Reproduction": "papers.reproduce",
    "RunResult": "experiment.result",
    "Scenario": "scenario.scenario",
    "Sweep": "experiment.sweep",
    "check": "scenario.scenario",
    "choices": "catalog",
    "compare": "experiment.compare",
    "load": "scenario.scenario",
    "loads": "scenario.scenario",
    "mix": "experiment.mix",
    "reproduce": "papers.reproduce",
    "report": "experiment.report",
    "run": "experiment.run",
    "schema": "catalog",
    "sweep": "experiment.grid",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bentpipe' has no attribute {name!r}")
    value = getattr(import_module(f"bentpipe.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
