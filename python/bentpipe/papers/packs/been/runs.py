"""What the measures of BEEN share: the schemes, each a scenario over the same path, and tables of runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bentpipe.papers import Finding

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from bentpipe.papers import Lab

    Sets: TypeAlias = dict[str, str | float]

PATH = "iridium-path"
SCHEMES = {"NewReno": PATH, "SaTPEP": "iridium-satpep", "BEEN": "iridium-been"}
"""What the paper compares, and the scenario of each."""
SMSS = "tcp.smss"
ERROR = "link.up.forward.error"


def scheme_flows(lab: Lab, scheme: str, sets: Sets, payload: int, replications: int) -> pl.DataFrame:
    """The table `flows` of a scheme's runs with one initial size, a row per replication, in order."""
    vary = {SMSS: [f"{payload} B"]}
    runs = lab.sweep(SCHEMES[scheme], sets, vary=vary, replications=replications, tables=["flows"])
    return runs.tables["flows"].sort("replication")


def column(flows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """One column of numbers, nan where there is none."""
    values: NDArray[np.float64] = flows[name].cast(pl.Float64).fill_null(math.nan).to_numpy()
    return values


def share(percents: NDArray[np.float64], note: str = "") -> Finding:
    """Mean of a share in %. A run in which nothing was sent has none; its interval allows for any from 0 to 100."""
    least, most = (Finding.mean(np.nan_to_num(percents, nan=end)) for end in (0.0, 100.0))
    return replace(Finding.mean(percents, note), low=least.low, high=most.high, missing=0)
