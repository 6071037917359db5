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
from bentpipe._core import build_info as _build_info

if TYPE_CHECKING:
    from bentpipe.comparison import Comparison, compare
    from bentpipe.mixing import Mix, mix
    from bentpipe.network import Network
    from bentpipe.own import CongestionControl
    from bentpipe.papers.reproducing import Reproduction, reproduce
    from bentpipe.reference import choices, schema
    from bentpipe.reporting.reporting import report
    from bentpipe.result import RunResult
    from bentpipe.running import run
    from bentpipe.scenario import Scenario, check, load, loads
    from bentpipe.sweeps.result import Sweep
    from bentpipe.sweeps.sweeping import sweep

__version__ = _build_info()["version"]

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
    "Comparison": "comparison",
    "CongestionControl": "own",
    "Mix": "mixing",
    "Network": "network",
    "Reproduction": "papers.reproducing",
    "RunResult": "result",
    "Scenario": "scenario",
    "Sweep": "sweeps.result",
    "check": "scenario",
    "choices": "reference",
    "compare": "comparison",
    "load": "scenario",
    "loads": "scenario",
    "mix": "mixing",
    "reproduce": "papers.reproducing",
    "report": "reporting.reporting",
    "run": "running",
    "schema": "reference",
    "sweep": "sweeps.sweeping",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bentpipe' has no attribute {name!r}")
    value = getattr(import_module(f"bentpipe.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
