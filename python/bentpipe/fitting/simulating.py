"""Simulates the measurement on the fitted scenario: the same probes, and the same transfers."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.catalog import names
from bentpipe.experiment.single.run import run
from bentpipe.fitting import writing
from bentpipe.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bentpipe.fitting.measured import Array, Load, Probes

FOLDER = "path.data"
SPARE_S = 2.0
TRANSFER_MAX_S = 120.0
"""Longest simulated transfer. Longer ones are compared over this time."""
SEARCH_MAX_S = 60.0
"""Longest simulated transfer in the search for its losses."""
SEEDS = (1, 2, 3, 4, 5)
"""Runs of a transfer over random losses."""
ERRORS = (0.0, -1.28, 1.28, -0.52, 0.52)
"""Error of the measured losses in each run, in standard errors: five equally likely values of a normal distribution."""
TIMES_MAX = 40_000
"""Largest number of simulated probes; of more, equally spaced ones are taken."""
CC = {"bbr": "bbr1", "westwood": "westwood-plus"}
"""Names in the kernel that differ."""


@contextmanager
def place_traces(content: Mapping[str, str]) -> Iterator[Path]:
    """Write the traces into a temporary folder, where the scenario reads them."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FOLDER).mkdir()
        for name, text in content.items():
            (Path(folder) / FOLDER / name).write_text(text, encoding="utf-8")
        yield Path(folder)


def instants(probes: Probes, begin_s: float) -> Array:
    """Return the times of probes that are simulated, from the begin of the trace on."""
    times = probes.send_s[probes.send_s >= begin_s] - begin_s
    step = -(-len(times) // TIMES_MAX)
    chosen: Array = np.unique(np.round(times[::step], 6))
    return chosen


def probing(times_s: Array) -> tuple[str, dict[str, str]]:
    """Return a flow with probes at these times, and its file."""
    rows = "\n".join(f"{each:.6f}" for each in times_s - times_s[0])
    flow = (
        '[flow.probes]\nfrom = "server"\nto = "terminal"\n'
        f'start = "{times_s[0]:.6f} s"\n'
        f'app = {{ kind = "probe", times = {{ file = "{FOLDER}/times.csv", column = "time_s" }}, size = "56 B" }}\n'
    )
    return flow, {"times.csv": f"time_s\n{rows}\n"}


def probes(text: str, content: Mapping[str, str]) -> tuple[Array, int]:
    """Run the scenario. Return the round trips of answered probes, and the number of probes that ended."""
    with place_traces(content) as folder:
        result = run(Scenario(text, source="path.toml", folder=folder), progress=False)
    table = result.tables["probes"]
    ended = table.filter(table["outcome"] != "under-way")
    answered = ended.filter(ended["outcome"] == "answered")["rtt_s"].to_numpy()
    return answered, ended.height


def find_cc(load: Load) -> str | None:
    """Return the engine's name of the congestion control of a transfer; None if it has none."""
    name = CC.get(load.cc or "", load.cc)
    return name if name in names("cc") else None


def make_transfer(load: Load) -> str:
    """Return a flow like a measured transfer."""
    return writing.transfer(load.direction, find_cc(load), load.streams)


def goodput(text: str, content: Mapping[str, str], seed: int) -> float:
    """Run the scenario. Return the goodput of all its flows."""
    with place_traces(content) as folder:
        scenario = Scenario(text, source="path.toml", folder=folder)
        return float(run(scenario, seed=seed, progress=False).flows["goodput_bps"].sum())
