"""`bentpipe.emulate`: real programs over the path of a scenario."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import _core, arguments, files, forks
from bentpipe.catalog import unknown
from bentpipe.contract.result import Result
from bentpipe.emulation import connections, quic
from bentpipe.emulation.asked import collect_asked, command_or_none, real_time_command
from bentpipe.emulation.attempts import ATTEMPTS_MAX, repeat_until_trustworthy
from bentpipe.emulation.launch import make_report
from bentpipe.emulation.ports import Path as Route
from bentpipe.emulation.ports import connect_nodes, is_port, list_hosts, with_port
from bentpipe.emulation.programs import find_program
from bentpipe.emulation.trust import Trust
from bentpipe.emulation.wakes import later_than
from bentpipe.errors import EmulationError
from bentpipe.experiment.common.provenance import describe_run
from bentpipe.experiment.single.run_result import FORM as RUN
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.own import travel
from bentpipe.scenario.scenario import make_scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.figure import Figure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.own.loading import Function, Sender
    from bentpipe.scenario.scenario import AnyScenario
    from bentpipe.statistics.estimates import Estimate, Interval

PART, SAMPLES, MULTIPATH = "emulation", "samples", "multipath"
"""Additions to the folder of a run: part of the provenance, and names of tables."""
BUILT_IN = ("bulk", "echo", "http")
BACKENDS = ("auto", "tun", "packet")
OFFLOADS = ("auto", "off", "on")
INITIAL_WINDOW_MAX = 1000
"""More than any host uses, and no more than its buffers hold."""
PRESET_SWITCHES = {
    "timestamps": "tcp_timestamps",
    "window_scaling": "tcp_window_scaling",
    "dsack": "tcp_dsack",
    "idle_restart": "tcp_slow_start_after_idle",
}
"""Settings of TCP with the equal settings of the kernel."""


@dataclass(frozen=True, repr=False, eq=False)
class Emulation(Result):
    """Result of an emulated run.

    Attributes
    ----------
    result : RunResult
        Tables and series of the simulated path, as `bentpipe.run` gives them.
    trust : Trust
        Lateness of packets, losses outside the scenario, and the verdict.
    status : int or None
        Exit status of the program; None if it did not end by itself, negative if a signal ended it.
    stopped : str
        Reason for the end of the run: `ended` (the program ended), `over` (the duration of the scenario has passed) or
        `interrupted`.
    samples : polars.DataFrame
        The kernel's connections between hosts: windows, round trips, data acknowledged, retransmissions and limits, at
        both ends, every 20 ms while they changed. For each flow, the samples of the connection that sent the most data
        are also series of `result`.
    kernel : dict
        Release of the kernel, and TCP settings of the hosts, by the kernel's names.
    counters : dict
        The kernel's counters of TCP at each host (`Tcp` in /proc/net/snmp, `TcpExt` and `MPTcpExt` in
        /proc/net/netstat), since the start of the run.
    multipath : polars.DataFrame
        The kernel's connections over several paths, at both ends, every 20 ms while they changed: number of subflows,
        data acknowledged and received in order, and data given to a second subflow. Their subflows are in `samples`.
    spoken : list of dict
        Outcome of each connection of bentpipe's own TCP or QUIC, with the same counters as in a simulation. Such
        connections are at the host of `speak`, at a peer with the same QUIC, and at proxies that split connections (one
        towards each end). `host` is the node of the connection.
    attempts : int
        Number of runs until this one: more than 1 if earlier ones were not trustworthy.
    programs : dict
        Exit status of each program of `programs`, by node; None if it still ran at the end.
    asked : mapping
        The verb, origin of the scenario, options and program of the command that repeats it.
    """

    result: RunResult
    trust: Trust
    status: int | None
    stopped: str
    samples: pl.DataFrame
    kernel: dict[str, str]
    spoken: list[dict[str, Any]] = field(default_factory=list)
    asked: Mapping[str, Any] = field(default_factory=dict)
    counters: dict[str, dict[str, int]] = field(default_factory=dict)
    attempts: int = 1
    programs: dict[str, int | None] = field(default_factory=dict)
    multipath: pl.DataFrame = field(default_factory=lambda: connections.multipath({}))

    charts = RunResult.charts
    names = ("run",)

    @property
    def runs(self) -> pl.DataFrame:  # type: ignore[override]
        """One row, as `RunResult.runs`."""
        return self.result.runs

    @property
    def hosts(self) -> str:
        return self.result.hosts

    @property
    def table(self) -> pl.DataFrame:
        """A row per metric, as `RunResult.table`."""
        return self.result.table

    @property
    def differences(self) -> pl.DataFrame:
        """Table without rows: nothing is compared."""
        return self.result.differences

    @property
    def statements(self) -> list[str]:
        """The trust in the run, and the statements of `result`."""
        return [self.trust.sentence, *self.result.statements]

    @property
    def notes(self) -> Sequence[str]:  # type: ignore[override]
        """Notes of `result`."""
        return self.result.notes

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the files of `RunResult.save`, which `RunResult.load` opens, with the samples and the verdict."""
        content = self.result.collect_content()
        about: dict[str, Any] = {
            "status": self.status,
            "stopped": self.stopped,
            "kernel": self.kernel,
            "counters": self.counters,
            "spoken": self.spoken,
            "attempts": self.attempts,
            "programs": self.programs,
        }
        about |= {"trust": self.trust.to_dict(), "asked": self.asked}
        content["tables"] |= {SAMPLES: self.samples, MULTIPATH: self.multipath}
        content["provenance"][PART] = about
        files.write(folder, RUN, **content)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], classes: Iterable[Sender | Function] = ()) -> Emulation:
        """Open what `save` wrote.

        Parameters
        ----------
        folder : path
        classes : iterable of classes or str, optional
            Custom classes of the run, as for `RunResult.load`.

        Raises
        ------
        BentpipeError
            The folder is not the result of an emulation, or is damaged.
        """
        result = RunResult.load(folder, classes)
        facts = files.provenance(folder, RUN).get(PART)
        if facts is None:
            raise EmulationError(
                f"{Path(folder)} is the result of a simulated run\n  expected the result of an emulated run"
            )
        with files.reading(folder):
            return cls(
                **{**facts, "trust": Trust.from_dict(facts["trust"])},
                result=result,
                samples=files.table(folder, SAMPLES),
                multipath=files.table(folder, MULTIPATH),
            )

    def command(self) -> str:
        """Write the shell command that repeats the run. Real time gives other numbers.

        Raises
        ------
        BentpipeError
            The scenario or a class was given in Python.
        """
        return real_time_command(self.asked["verb"], self.asked)

    @property
    def connections(self) -> pl.DataFrame:
        """Last sample of each end of a connection, with the columns of `samples`."""
        return connections.connections(self.samples)

    def _estimate(self, of: str, metric: str) -> Estimate | Interval:
        return self.result.estimate(of, metric)

    def _figure(self, chart: str, metric: str | None) -> Figure:
        return self.result.plot(chart, metric=metric)

    def _reporter(self) -> Reporter:
        # A second of imports, which no run needs.
        from bentpipe.contract.tabled import OfTables

        scenario = self.result.scenario
        made = replace(describe_run(scenario, self.result.version), command=command_or_none(self))
        trust = pl.DataFrame(self.trust.rows(), schema=["outside the scenario", "value"], orient="row")
        tables = {"flows": ("Flows", self.result.flows), "links": ("Links", self.result.links)}
        more = {"drops": ("Losses", self.result.drops), "connections": ("Connections", self.connections)}
        return OfTables(self, made, {"trust": ("Outside the scenario", trust), **tables, **more})

    def _provenance(self) -> Mapping[str, Any]:
        content: Mapping[str, Any] = self.result.to_dict()["provenance"]
        return content

    def _content(self) -> dict[str, Any]:
        shared = ("provenance", "statements", "notes", "table", "differences")
        return {
            "status": self.status,
            "stopped": self.stopped,
            "attempts": self.attempts,
            "programs": self.programs,
            "trust": self.trust.to_dict(),
            "kernel": self.kernel,
            "counters": self.counters,
            "connections": self.connections.to_dicts(),
            "spoken": self.spoken,
            **{name: each for name, each in self.result.to_dict().items() if name not in shared},
        }

    def __repr__(self) -> str:
        return f"<Emulation {self.result.scenario.title!r}, {self.stopped}: {self.trust.sentence}>"

    def _repr_html_(self) -> str:
        from bentpipe.plot import notebook

        outside = (["outside the scenario", ""], self.trust.rows(), 1)
        return self.result._repr_html_() + notebook.page("", [outside], [self.trust.sentence])


@dataclass(frozen=True)
class Own:
    """Task of bentpipe's own TCP or QUIC at the host without the program."""

    service: str
    """`bulk`, `echo`, `send` or `take`."""
    file: str | None
    """File to send, or to write."""
    port: int
    connects: bool
    """Whether it connects to the program's host as soon as the program listens. Otherwise the program connects."""
    secret: int
    quic: Mapping[str, Any] | None = None
    """Scenario with the settings of QUIC; None for TCP."""
    qlog: str | None = None
    """Folder for qlog files of QUIC."""


def emulate(
    scenario: AnyScenario,
    command: Sequence[str] = (),
    *,
    serve: str | Sequence[str] | None = None,
    shell: bool = False,
    at: str | None = None,
    programs: Mapping[str, str | Sequence[str]] | None = None,
    flow: str | None = None,
    seed: int | None = None,
    pcap: str | os.PathLike[str] | None = None,
    cc: str | None = None,
    backend: str = "auto",
    offload: str = "auto",
    initial_window: int | None = None,
    shared_memory: bool = False,
    strict: bool = False,
    attempts: int = 1,
    output: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> Emulation:
    """Run a program over the path of a scenario, in real time.

    Both ends of a flow become Linux hosts in private namespaces, without root if the system allows it. Their packets
    pass the simulated links, queues, errors and middleboxes. The other flows of the scenario stay simulated and share
    the path. For a flow over several paths, each host has an address for each path, and the kernel's Multipath TCP
    (RFC 8684) opens a subflow from each address of the program's host. Programs can read and write the user's files,
    but change nothing else on the machine. Nothing remains afterwards.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        See `bentpipe.run`. The hosts are the ends of its flows with `app = "port"`. Without such a flow, real packets
        replace the flow `flow`, by default the first one.
    command : sequence of str, optional
        The program with its arguments. With `serve="bulk"` it may be missing; a built-in client then receives the data.
    serve : str or sequence of str, optional
        A program for the other host, or a built-in server. `bulk` sends without end, and `echo` sends back the received
        data, both at port 5001. `http` serves the files of this folder at port 8000. The run starts when it listens.
    shell : bool
        Run your shell (`SHELL`) instead of a program. A shell keeps the terminal; a program has a separate session.
    at : str, optional
        The host of the program; by default the node `to` of the flow. The server is at the other end of the flow.
    programs : mapping, optional
        Programs at further nodes, by the name of the node. Each such node becomes a host with real packets to all other
        hosts; the flows of the scenario stay simulated. These programs start before `command` and end with it.
    flow : str, optional
        The flow that real packets replace.
    seed : int, optional
        Seed of the run. The default is the scenario's seed.
    pcap : path, optional
        Capture the packets of each host. For `OUT.pcapng`, the files are `OUT-HOST.pcapng`; `{host}` in the name is
        replaced by each host. A packet that the path lost is in the capture of its sender, with the cause as a comment.
    cc : str, optional
        Congestion control of all connections at the hosts, regardless of the programs' choice. The name is the kernel's
        or bentpipe's, such as `reno`, `cubic`, `bbr` or `bbr1`. By default, the machine's setting applies.
    backend : str
        Devices of the hosts: `tun`, or `packet` (a pair of Ethernet devices and a packet socket, without
        /dev/net/tun). `auto` takes `tun` if the system allows it, else `packet`.
    offload : str
        Whether hosts hand over TCP data in units of up to 64 kB: `on`, `off`, or `auto` (on if the kernel supports it).
        Each segment is still a separate packet on the path, with its own place in queues and its own errors. Segments
        that leave the path at the same time go to the receiver as one unit.
    initial_window : int, optional
        Initial window of all connections at the hosts, in segments; by default the kernel's 10.
    shared_memory : bool
        Let programs share memory and message queues (System V and POSIX) with the machine. Programs of X11 may need
        this.
    strict : bool
        Run programs only if the system has all walls around programs. By default, programs also run with missing
        walls, which `trust.missing_walls` of the result names.
    attempts : int
        Maximum number of runs. The program runs again while the verdict is not trustworthy. The result is from the
        last run.
    output : path, optional
        File for the standard output of the program, in place of the standard output of this process.
    quiet : bool
        Send the output of the program to the error output.

    Raises
    ------
    EmulationError
        The system does not allow it, the kernel has no such congestion control, or a program could not be started. The
        text names a remedy.
    ScenarioError
        The scenario is not valid, or has no such flow.
    """
    source = make_scenario(scenario)
    attempts = arguments.whole("attempts", attempts, 1, ATTEMPTS_MAX, error=EmulationError)
    options: dict[str, Any] = {
        "serve": serve,
        "shell": shell,
        "at": at,
        "flow": flow,
        "seed": seed,
        "pcap": pcap,
        "cc": cc,
    }
    options |= {"backend": None if backend == "auto" else backend, "offload": None if offload == "auto" else offload}
    options |= {"initial_window": initial_window, "shared_memory": shared_memory, "strict": strict}
    options |= {"programs": {node: _spell_command(each) for node, each in (programs or {}).items()} or None}
    options |= {"attempts": None if attempts == 1 else attempts}
    asked = collect_asked(source, options, command)
    if shell:
        if command:
            raise EmulationError("{shell} and a program exclude each other\n  expected one of them", shell=True)
        command = (os.environ.get("SHELL", "/bin/sh"),)
    if not command and serve == "bulk":
        command = find_program("fetch")
    if isinstance(serve, str):
        serve = find_program(serve) if serve in BUILT_IN else _words(serve)
    run = partial(
        carry_out,
        source,
        command,
        serve=serve,
        shell=shell,
        at=at,
        programs={node: _words(each) if isinstance(each, str) else each for node, each in (programs or {}).items()},
        flow=flow,
        seed=seed,
        pcap=pcap,
        cc=cc,
        backend=backend,
        offload=offload,
        initial_window=initial_window,
        shared_memory=shared_memory,
        strict=strict,
        output=output,
        quiet=quiet,
    )
    found, number = repeat_until_trustworthy(run, attempts)
    return replace(found, asked={"verb": "emulate", **asked}, attempts=number)


def carry_out(
    scenario: AnyScenario,
    command: Sequence[str],
    *,
    serve: Sequence[str] | None = None,
    own: Own | None = None,
    shell: bool = False,
    at: str | None = None,
    programs: Mapping[str, Sequence[str]] | None = None,
    flow: str | None = None,
    seed: int | None = None,
    pcap: str | os.PathLike[str] | None = None,
    pcap_bytes: int | None = None,
    cc: str | None = None,
    backend: str = "auto",
    offload: str = "auto",
    initial_window: int | None = None,
    shared_memory: bool = False,
    strict: bool = False,
    without: Sequence[str] = (),
    output: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> Emulation:
    """Emulate with a program at one host, and a server or bentpipe's TCP at the other; see `emulate` and `speak`.

    Captures contain the first `pcap_bytes` bytes of each packet. The walls in `without` are left out, as on a system
    that does not have them.
    """
    forks.refuse()
    if not hasattr(_core, "Emulation"):
        raise EmulationError(f"this system is {sys.platform}\n  expected Linux for emulation")
    for word, name, known in ((backend, "a backend", BACKENDS), (offload, "a setting of offload", OFFLOADS)):
        if word not in known:
            raise EmulationError(unknown(word, name, known))
    if initial_window is not None and not 0 < initial_window <= INITIAL_WINDOW_MAX:
        raise EmulationError(
            f"an initial window of {initial_window} segments\n  expected 1 to {INITIAL_WINDOW_MAX} segments"
        )
    scenario = make_scenario(scenario)
    paths: list[Route] = []
    if programs:
        first = next(iter(scenario.to_dict()["flow"].values()))
        at = first["to"] if at is None else at
        served = [next(end for end in (first["from"], first["to"]) if end != at)] if serve else []
        if at in programs:
            raise EmulationError(f"two programs at {at}\n  expected one at each node")
        scenario = connect_nodes(scenario, [at, *served, *programs])
    else:
        scenario, paths = with_port(scenario, flow)
        if paths and own is not None:
            raise EmulationError("bentpipe's end has one path\n  expected a flow without multipath")
    if seed is not None:
        scenario = scenario.with_seed(seed)
    ends = next((each["from"], each["to"]) for each in scenario.to_dict()["flow"].values() if is_port(each))
    at = ends[1] if at is None else at
    if at not in (hosts := list_hosts(scenario)):
        raise EmulationError(unknown(at, "a host", hosts))
    peer = served[0] if programs and served else next(end for end in (*ends, *hosts) if end != at)
    has_peer = False
    if own is not None and own.quic is not None and own.service in ("bulk", "send") and not command:
        has_peer, command = True, quic.make_peer(own.quic, own, peer)
    if not command:
        raise EmulationError("no program to run\n  expected a command, such as: -- ping server")
    job = {
        "parent": os.getpid(),
        "scenario": json.dumps(scenario.to_dict()),
        "source": scenario.source,
        "folder": scenario.folder,
        "at": at,
        "command": list(command),
        "others": [(node, list(each)) for node, each in (programs or {}).items()],
        "serve": [(peer, list(serve))] if serve else [],
        "paths": [(path.flow, path.is_backup) for path in paths],
        "pcap": None if pcap is None else (files.captures(pcap), pcap_bytes),
        "own": None if own is None else {**_spell_own(own, peer, at), "has_peer": has_peer},
        "cc": cc,
        "backend": backend,
        "offload": offload,
        "initial_window": initial_window,
        "classes": list(travel.sent(scenario.senders)),
        "is_shell": shell,
        "shared": ["ipc"] if shared_memory else [],
        "without": list(without),
        "is_strict": strict,
        "output": None if output is None else str(Path(output).resolve()),
        "is_quiet": quiet,
    }
    content = make_report(job)
    outside = content["outside"]
    wakes = content["late_wakes"]
    trust = Trust(
        **outside,
        wakes=sum(wakes),
        late_wakes=later_than(wakes, outside["late_limit_s"]),
        has_priority=content["has_priority"],
        **content["machine"],
        walls=tuple(content["walls"]),
        missing_walls=tuple(content["missing_walls"]),
        cpu_s=content["cpu_s"],
    )
    tables = content["tables"]
    tables["notes"].append("real packets came from programs, so the scenario alone does not repeat this run")
    tables["notes"] += [
        f'"{function}" at node "{node}" lets real packets pass as they are' for node, function in content["passed"]
    ]
    if content["stopped"] == "ended":
        # To the core, a run that ends before its duration is interrupted.
        tables["summary"]["stop"] = ["ended"]
    samples = connections.samples(content["samples"])
    spoken = [*_rows(content["spoken"]), *_rows(content["proxied"])]
    outside = [connections.kernel(samples, content["kernel"]["release"])]
    if own is not None:
        senders = [row["cc"] for row in spoken if row["host"] == peer]
        outside.append(connections.own(scenario, senders, is_quic=own.quic is not None))
    about = {"kernel": content["kernel"], "counters": content["counters"], "spoken": spoken}
    result = connections.with_kernel(RunResult.from_tables(scenario, tables), samples, **about)
    result = replace(result, outside=outside)
    return Emulation(
        result,
        trust,
        content["status"],
        content["stopped"],
        samples,
        **about,
        programs=dict(content["others"]),
        multipath=connections.multipath(content["multipath"]),
    )


def _spell_own(own: Own, host: str, peer: str) -> dict[str, Any]:
    """The task of bentpipe's end, for the front. Over QUIC it is a program at its host."""
    task = {"host": host, **asdict(own)}
    return {**task, "quic": None if own.quic is None else quic.make_program(own.quic, own, peer)}


def whole(found: Emulation) -> Emulation:
    """Return the run if it is complete, so that it can be compared with others.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C ended it early.
    """
    if found.stopped == "interrupted":
        raise KeyboardInterrupt("interrupted; there is no result")
    return found


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _words(serve: str) -> list[str]:
    """Splits a command as a shell does."""
    try:
        words = shlex.split(serve)
    except ValueError as error:
        raise EmulationError(
            f"{{serve}}: {str(error)[:1].lower()}{str(error)[1:]}\n"
            "  expected a command as in a shell: python3 'my server.py'",
            serve=serve,
        ) from None
    if not words:
        raise EmulationError(f"{{serve}} is empty\n  expected a command, or one of {', '.join(BUILT_IN)}", serve=None)
    return words


def _spell_command(command: str | Sequence[str]) -> str:
    return command if isinstance(command, str) else shlex.join(command)
