"""`bentpipe.speak`: bentpipe's own TCP on the wire, against the kernel's."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe.catalog import cc_keys
from bentpipe.emulation.asked import collect_asked
from bentpipe.emulation.emulate import Own, carry_out
from bentpipe.emulation.programs import PORT, find_program
from bentpipe.emulation.quic import find_settings
from bentpipe.errors import EmulationError
from bentpipe.files import make_folder
from bentpipe.scenario.scenario import make_scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.emulation.emulate import Emulation
    from bentpipe.own.loading import Sender
    from bentpipe.scenario.scenario import AnyScenario


def speak(
    scenario: AnyScenario,
    command: Sequence[str] = (),
    *,
    send: str | os.PathLike[str] | None = None,
    take: str | os.PathLike[str] | None = None,
    echo: bool = False,
    connect: bool = False,
    port: int = PORT,
    cc: Sender | None = None,
    at: str | None = None,
    flow: str | None = None,
    seed: int | None = None,
    pcap: str | os.PathLike[str] | None = None,
    quic: bool = False,
    qlog: str | os.PathLike[str] | None = None,
    strict: bool = False,
    quiet: bool = False,
) -> Emulation:
    """Speak bentpipe's own TCP or QUIC with a program, over the path of a scenario, in real time.

    Hosts and path are as in `emulate`. The host without the program runs the simulator's TCP with the settings of
    `[tcp]`, driven by real packets and a clock. It sends without end to each client, unless `send`, `take` or `echo` is
    given.

    With `quic`, the host has the simulator's QUIC with TLS 1.3 instead, at a socket of UDP. Its settings are those of
    the flow's `quic`, or of `[quic]`. Each end offers the protocol `hq-interop`. The opener of a connection opens one
    stream, and a server answers on each stream of a client.

    Parameters
    ----------
    scenario, at, flow, seed, pcap, strict, quiet
        As for `emulate`.
    command : sequence of str, optional
        The program with its arguments. If bentpipe's TCP sends without end, the program may be missing: a built-in
        client receives the data. With `quic`, `send` and `connect`, it may also be missing: bentpipe's QUIC receives
        the file.
    send : path, optional
        Send this file, then close.
    take : path, optional
        Write the received data to this file. With `quic` and `connect`, request the name of this file: `GET /NAME`.
    echo : bool
        Send back what comes.
    connect : bool
        Connect to the program, once it listens, instead of waiting for it to connect.
    port : int
        Port on which bentpipe's TCP listens, or to which it connects.
    cc : str or class, optional
        Congestion control of bentpipe's TCP instead of that of the scenario: a name (`bentpipe list cc`), or a custom
        one as `FILE.py:CLASS` or as the class. With `quic`, a name of `quic.cc`.
    quic : bool
        Speak QUIC instead of TCP.
    qlog : path, optional
        With `quic`: folder for qlog files of the connections of bentpipe's ends, `FLOW-NUMBER-client.sqlog` or
        `FLOW-NUMBER-server.sqlog`, in the form of `run`. Times count from the start of that end.

    Returns
    -------
    Emulation
        `spoken` has the outcome of each connection of bentpipe. `samples` and the series of `result` have the windows.

    Raises
    ------
    EmulationError
        As in `emulate`. Also: more than one of `send`, `take` and `echo`, a missing file, or `qlog` without `quic`.
        With `quic`: this build has no QUIC on the wire, or a setting of QUIC has no effect there.
    ScenarioError
        The scenario is not valid, there is no such congestion control, or its class is in no file.
    """
    asked = {"send": send is not None, "take": take is not None, "echo": echo}
    services = [name for name, is_asked in asked.items() if is_asked]
    if len(services) > 1:
        raise EmulationError(f"{' and '.join(services)}\n  expected only one of them")
    if send is not None and not Path(send).is_file():
        raise EmulationError(f"there is no file {send}\n  expected a file to send")
    if take is not None and not Path(take).absolute().parent.is_dir():
        raise EmulationError(f"the folder of {take} does not exist\n  expected a file in an existing folder")
    if not isinstance(port, int) or not 0 < port < 1 << 16:
        raise EmulationError(f"port {port}\n  expected 1 to 65535")
    if qlog is not None and not quic:
        raise EmulationError("{qlog} without {quic}\n  expected both, or none of them", qlog=os.fspath(qlog), quic=True)
    scenario = make_scenario(scenario)
    options = {"send": send, "take": take, "echo": echo, "connect": connect, "port": None if port == PORT else port}
    options |= {"quic": quic, "qlog": qlog}
    more = {"cc": cc, "at": at, "flow": flow, "seed": seed, "pcap": pcap, "strict": strict}
    asked = collect_asked(scenario, {**options, **more}, command)
    settings = None
    if quic:
        if echo and connect:
            raise EmulationError(
                "{echo} and {connect} with {quic}\n  expected one of the first two: a client opens the stream",
                echo=True,
                connect=True,
                quic=True,
            )
        settings = find_settings(scenario, flow, cc)
    elif cc is not None:
        scenario = scenario.with_sets({cc_keys()[0]: cc})
    if not command and not services and not connect and not quic:
        command = find_program("fetch")
    file = send if send is not None else take
    own = Own(
        service=services[0] if services else "bulk",
        file=None if file is None else str(Path(file).absolute()),
        port=port,
        connects=connect,
        secret=secrets.randbits(64),
        quic=settings,
        qlog=None if qlog is None else str(Path(make_folder("qlog", qlog)).absolute()),
    )
    found = carry_out(scenario, command, own=own, at=at, flow=flow, seed=seed, pcap=pcap, strict=strict, quiet=quiet)
    return replace(found, asked={"verb": "speak", **asked})
