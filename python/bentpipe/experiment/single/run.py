"""Runs one scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import arguments, files, forks
from bentpipe.errors import ScenarioError
from bentpipe.experiment.common.senders import name_senders
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.experiment.single.simulate import simulate
from bentpipe.scenario.scenario import make_scenario

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from bentpipe.own.loading import Function, Sender
    from bentpipe.progress import Wish
    from bentpipe.scenario.names import SeriesName
    from bentpipe.scenario.scenario import AnyScenario, Scenario
    from bentpipe.scenario.writing import Sets


def run(
    scenario: AnyScenario,
    sets: Sets = (),
    *,
    cc: Sender | None = None,
    middlebox: Mapping[str, Function | Iterable[Function]] | None = None,
    seed: int | None = None,
    series: SeriesName | str | Iterable[SeriesName | str] = (),
    pcap: str | os.PathLike[str] | None = None,
    qlog: str | os.PathLike[str] | None = None,
    progress: Wish = None,
) -> RunResult:
    """Simulate a scenario.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        A `Scenario`, the content of a scenario file, or an argument of `load`.
    sets : mapping or pairs, optional
        Overrides of the scenario by dotted key, as in `load`: `{"link.feeder.rate": "5 Mbit/s"}`.
    cc : str or class, optional
        A congestion control that replaces `[tcp] cc`: its name, a class that extends `CongestionControl`, or
        `FILE.py:CLASS`. A flow that names its own congestion control keeps it.
    middlebox : mapping, optional
        Middleboxes to add, by the name of the node. A middlebox is a class that extends `Middlebox`, `FILE.py:CLASS`,
        or a table as in a scenario; a node may have a list of them. They come after the node's own middleboxes.
    seed : int, optional
        Seed of the run. The default is the scenario's seed.
    series : str or iterable of str, optional
        Time series to record in addition to those of the scenario; see `bentpipe list series`.
    pcap : path, optional
        Capture the packets of each host for Wireshark. For `OUT.pcapng`, the files are `OUT-HOST.pcapng`. They contain
        headers without payload. A lost packet has the cause as a comment. A capture does not change the result.
    qlog : path, optional
        Folder for qlog files of flows over QUIC, one for each end of each connection: `FLOW-NUMBER-client.sqlog` and
        `FLOW-NUMBER-server.sqlog`. They are qlog 0.3 as JSON text sequences, which qvis reads. The first 250
        connections have files. They do not change the result.
    progress : callable or bool, optional
        A callable that receives a `Progress` several times a second. True: show a bar, in a notebook or on the
        terminal. False: show no bar. By default, notebooks show a bar for work of more than a second.

    Returns
    -------
    RunResult
        It depends only on the scenario, the seed and the version of bentpipe.

    Raises
    ------
    ScenarioError
        Unknown series, or an invalid scenario.
    Interrupted
        Ctrl-C was pressed; `result` has the run until then, and its `stop` is `interrupted`.
    SenderError
        A class in Python failed. There is no result.
    RunError
        A bug in bentpipe.
    """
    forks.refuse()
    scenario = make_scenario(scenario, sets)
    if cc is not None:
        scenario = with_sender(scenario, cc)
    if middlebox is not None:
        scenario = with_functions(scenario, middlebox)
    if seed is not None:
        scenario = scenario.with_seed(seed)
    scenario = scenario.with_series(series)
    captures = None if pcap is None else files.captures(pcap)
    qlogs = None if qlog is None else files.make_folder("qlog", qlog)
    return simulate(scenario, RunResult.from_tables, captures=captures, qlogs=qlogs, progress=progress)


def with_sender(scenario: Scenario, cc: Sender) -> Scenario:
    """Return the scenario with another congestion control.

    Raises
    ------
    ScenarioError
        The congestion control is unknown, more than one is given, or no flow could use it.
    """
    found = list(name_senders(scenario, cc).values())
    if len(found) != 1:
        raise ScenarioError(f"{len(found)} congestion controls for one run\n  expected one; compare takes several")
    return found[0]


def with_functions(scenario: Scenario, middlebox: Mapping[str, Function | Iterable[Function]]) -> Scenario:
    """Return the scenario with more middleboxes at nodes.

    Raises
    ------
    ScenarioError
        The node is unknown, or a middlebox cannot be there.
    """
    nodes = scenario.to_dict().get("node", {})
    places = {}
    expected = "nodes, each with a class, a kind, a table or a list of them: {'gateway': Shed}"
    for node, given in arguments.mapping("middlebox", middlebox, expected).items():
        is_list = hasattr(given, "__iter__") and not (isinstance(given, (str, type)) or hasattr(given, "items"))
        more = [*given] if is_list else [given]
        name = f'"{node}"' if "." in node else node
        places[f"node.{name}.middlebox.replace"] = [*nodes.get(node, {}).get("middlebox", []), *more]
    return scenario.with_sets(places)
