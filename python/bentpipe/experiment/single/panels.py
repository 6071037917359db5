"""Gets the run that a figure draws: the run itself, or the same run again with the series that the figure has.

Recording these series in every run would cost a thousand times the memory of its tables.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from bentpipe.experiment.single.run import run
from bentpipe.experiment.why.explanation import refuse_absent
from bentpipe.plot.runs import PANELS

if TYPE_CHECKING:
    from bentpipe.experiment.single.run_result import RunResult


def has_panels(result: RunResult) -> bool:
    """Whether the run recorded a series that the figure has."""
    return any(name in result.recorded for name in PANELS)


def drawable(result: RunResult) -> RunResult:
    """The run with series of the figure; a warning tells of a run that was repeated for them.

    Raises
    ------
    BentpipeError
        The run cannot be repeated without a class that `load` was not given.
    """
    # No scenario repeats the packets of real programs.
    is_real = any(flow["app"]["kind"] == "port" for flow in result.scenario.to_dict()["flow"].values())
    if has_panels(result) or is_real:
        return result
    refuse_absent(result.scenario, *PANELS)
    logging.getLogger("bentpipe").warning(f"no series to draw was recorded: running again with {', '.join(PANELS)}")
    return run(result.scenario, series=PANELS)
