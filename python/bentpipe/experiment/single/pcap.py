"""Writes captures of simulated runs. A finished run is simulated again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import files
from bentpipe.errors import BentpipeError
from bentpipe.experiment.single.run import run
from bentpipe.experiment.single.run_result import RunResult

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from bentpipe.scenario.scenario import AnyScenario


def pcap(of: RunResult | AnyScenario, path: str | os.PathLike[str]) -> list[Path]:
    """Write the packets that each host of a simulated run sends and receives, as files for Wireshark.

    Parameters
    ----------
    of : RunResult, Scenario, dict, path or name
        A result or a scenario. The run of a result is simulated again with the same seed, so the packets are the same.
        For scenarios, see `run`.
    path : path
        For `OUT.pcapng`, the files are `OUT-HOST.pcapng`. `{host}` in the name is replaced by each host.

    Returns
    -------
    list of Path
        The files, one per host.

    Raises
    ------
    BentpipeError
        The folder does not exist, or the result is from an emulated run, which cannot be repeated.
    ScenarioError, SenderError, RunError
        As in `run`.
    """
    files.captures(path)
    scenario, seed = (of.scenario, of.seed) if isinstance(of, RunResult) else (of, None)
    if isinstance(of, RunResult) and any(note.startswith("real packets came") for note in of.notes):
        raise BentpipeError(
            "real packets came from programs, and a second run would have different packets\n"
            "  expected pcap= of emulate or speak"
        )
    found = run(scenario, seed=seed, pcap=path)
    flows = found.scenario.to_dict()["flow"].values()
    hosts = sorted({flow[end] for flow in flows for end in ("from", "to")})
    places = [files.find_capture(path, host) for host in hosts]
    return [place for place in places if place.is_file()]
