"""Captures of simulated runs, also of those that are over."""

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
    """Write what each host of a simulated run sends and receives as files that Wireshark opens.

    Parameters
    ----------
    of : RunResult, Scenario, dict, path or name
        A result, whose run is done again with its seed: it gives the same packets. Or a scenario, as `run` takes.
    path : path
        Of `OUT.pcapng`, the files are `OUT-HOST.pcapng`; of a name with `{host}` in it, those with the hosts there.

    Returns
    -------
    list of Path
        The files, one of each host.

    Raises
    ------
    BentpipeError
        There is no such folder; the result is of an emulated run, which nothing repeats.
    ScenarioError, SenderError, RunError
        As `run`.
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
    places = [files.capture_of(path, host) for host in hosts]
    return [place for place in places if place.is_file()]
