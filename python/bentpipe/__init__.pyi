from . import catalog as catalog
from . import errors as errors
from . import plot as plot
from . import sky as sky
from . import statistics as statistics
from . import testing as testing
from .catalog import choices as choices
from .catalog import schema as schema
from .contract.result import Result as Result
from .emulation.drill import Drilled as Drilled
from .emulation.drill import drill as drill
from .emulation.emulate import Emulation as Emulation
from .emulation.emulate import emulate as emulate
from .emulation.speak import speak as speak
from .emulation.twin import Twin as Twin
from .emulation.twin import twin as twin
from .experiment.compare import compare as compare
from .experiment.mix import mix as mix
from .experiment.mix import mixes as mixes
from .experiment.report import report as report
from .experiment.results.comparison import Comparison as Comparison
from .experiment.results.mix import Mix as Mix
from .experiment.results.mixes import Mixes as Mixes
from .experiment.results.sweep import Sweep as Sweep
from .experiment.single.network import Network as Network
from .experiment.single.pcap import pcap as pcap
from .experiment.single.run import run as run
from .experiment.single.run_result import RunResult as RunResult
from .experiment.sweep import sweep as sweep
from .fitting.fit import fit as fit
from .fitting.result import Fit as Fit
from .listing import metrics as metrics
from .listing import scenarios as scenarios
from .listing import series as series
from .own.middlebox import Middlebox as Middlebox
from .own.scheduler import Scheduler as Scheduler
from .own.sender import Bbr as Bbr
from .own.sender import CongestionControl as CongestionControl
from .own.sender import Cubic as Cubic
from .own.sender import Reno as Reno
from .packing.cite import Citation as Citation
from .packing.cite import cite as cite
from .packing.pack import Packed as Packed
from .packing.pack import pack as pack
from .packing.repeat import Repeated as Repeated
from .packing.repeat import repeat as repeat
from .papers.reproduce import Reproduction as Reproduction
from .papers.reproduce import reproduce as reproduce
from .scenario.scenario import Scenario as Scenario
from .scenario.scenario import check as check
from .scenario.scenario import load as load
from .scenario.scenario import loads as loads
from .scenario.types import ScenarioDict as ScenarioDict
from .statistics.estimates import Estimate as Estimate
from .tc.scenario import Translation as Translation
from .tc.scenario import from_tc as from_tc
from .tc.writing import Lines as Lines
from .tc.writing import to_tc as to_tc
from .tuning.result import Tuning as Tuning
from .tuning.tune import tune as tune
from .version import __version__ as __version__

__all__ = [
    "Bbr",
    "Citation",
    "Comparison",
    "CongestionControl",
    "Cubic",
    "Drilled",
    "Emulation",
    "Estimate",
    "Fit",
    "Lines",
    "Middlebox",
    "Mix",
    "Mixes",
    "Network",
    "Packed",
    "Reno",
    "Repeated",
    "Reproduction",
    "Result",
    "RunResult",
    "Scenario",
    "ScenarioDict",
    "Scheduler",
    "Sweep",
    "Translation",
    "Tuning",
    "Twin",
    "__version__",
    "catalog",
    "check",
    "choices",
    "cite",
    "compare",
    "drill",
    "emulate",
    "errors",
    "fit",
    "from_tc",
    "load",
    "loads",
    "metrics",
    "mix",
    "mixes",
    "pack",
    "pcap",
    "plot",
    "repeat",
    "report",
    "reproduce",
    "run",
    "scenarios",
    "schema",
    "series",
    "sky",
    "speak",
    "statistics",
    "sweep",
    "testing",
    "to_tc",
    "tune",
    "twin",
]
