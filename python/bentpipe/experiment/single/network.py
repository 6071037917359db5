"""Open network: the caller injects packets into a simulated path, advances time, and takes packets that leave."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat, SupportsIndex

from bentpipe import _core
from bentpipe.catalog import unknown
from bentpipe.errors import NetworkError, ScenarioError
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.experiment.single.simulate import EVENTS_AT_ONCE
from bentpipe.formatting import count
from bentpipe.scenario.scenario import make_scenario

if TYPE_CHECKING:
    from bentpipe.scenario.scenario import AnyScenario

UDP_HEADERS = 28
"""Bytes of the headers of IPv4 (20) and UDP (8), as the datagrams of the simulator have them."""
HEADER_LEN_MAX = 255
SIZE_MAX = 2**63 - 1
"""Largest size that the core can receive as a number. The core checks the smaller limits of the network."""


class Port(NamedTuple):
    """Place where packets enter and leave the network: one end of a flow with `app = "port"`."""

    flow: str
    """Name of the flow."""
    node: str
    """Node of the port: `from` of the flow, or `to`."""


class Delivered(NamedTuple):
    """A packet that has left the network."""

    at_s: float
    """Time when it left, simulated seconds."""
    port: Port
    """Port where it left: the other port of the flow."""
    entered_s: float
    """Time when it entered, simulated seconds."""
    size: int
    """Bytes on the wire, headers included."""
    is_marked: bool
    """Whether a queue set the ECN mark (CE) of the packet."""
    data: bytes
    """Data that was injected."""


class Lost(NamedTuple):
    """A packet that was lost."""

    at_s: float
    """Time of the loss, simulated seconds. For a loss on a link, the time when the packet would have arrived."""
    port: Port
    """Port where it entered."""
    entered_s: float
    """Time when it entered, simulated seconds."""
    where: str
    """The link, with its direction, or the node that lost it; as in the table `drops`."""
    cause: str
    """Cause, as in the table `drops`: `bentpipe list causes`."""
    size: int
    """Bytes on the wire, headers included."""
    data: bytes
    """Data that was injected."""


class Network:
    """A scenario as a component: the caller injects packets, advances time and takes packets out.

    A flow with `app = "port"` has a port at each of its nodes. A packet that enters at one port leaves at the other,
    unless the path loses it. Other flows of the scenario run as in `bentpipe.run`.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        The scenario, as in `bentpipe.run`. It needs a flow with `app = "port"`.
    seed : int, optional
        Seed of the run. The default is the scenario's seed.

    Attributes
    ----------
    scenario : Scenario
        The simulated scenario, with its seed.

    Raises
    ------
    ScenarioError
        The scenario is invalid, or has no ports.

    Notes
    -----
    Times are simulated seconds from the start of the scenario, rounded to whole picoseconds. Results do not depend on
    the steps of time: equal packets at equal times give equal results.

    Ctrl-C during `run_until` raises `KeyboardInterrupt`. The network has reached `now_s` and can continue. Only after
    Ctrl-C in a hook of a Python congestion control it cannot, because the hook did not complete its work.

    Only one thread at a time may use a network.

    Examples
    --------
    >>> import bentpipe as bp
    >>> net = bp.Network({
    ...     "duration": "10 s",
    ...     "link": {"sat": {"from": "gw", "to": "term", "rate": "10 Mbit/s", "delay": "260 ms"}},
    ...     "flow": {"real": {"from": "gw", "to": "term", "app": "port"}},
    ... })
    >>> gateway, terminal = net.ports("real")
    >>> net.inject(0.5, gateway, b"hello")
    >>> net.run_until(1)
    >>> [(packet.port.node, round(packet.at_s, 7), packet.data) for packet in net.drain()]
    [('term', 0.7600264, b'hello')]
    """

    def __init__(
        self,
        scenario: AnyScenario,
        *,
        seed: int | None = None,
    ) -> None:
        scenario = make_scenario(scenario)
        self.scenario = scenario if seed is None else scenario.with_seed(seed)
        self._core: _core.Network | None = _core.Network(self.scenario._core)
        flows = self._core.flows
        if not flows:
            raise ScenarioError(
                f"{self.scenario.source} has no ports\n"
                '  declare a flow for packets from outside: [flow.real] from = "a" to = "b" app = "port"'
            )
        self._flows = {flow: (Port(flow, from_node), Port(flow, to_node)) for flow, from_node, to_node in flows}
        self._ports = [port for pair in self._flows.values() for port in pair]
        self._places = {port: place for place, port in enumerate(self._ports)}
        self._injected = 0

    def ports(self, flow: str) -> tuple[Port, Port]:
        """Return the two ports of a flow: at the node `from`, and at the node `to`.

        Raises
        ------
        NetworkError
            No flow of this name has `app = "port"`.
        """
        if flow not in self._flows:
            raise NetworkError(unknown(str(flow), 'a flow with app = "port"', self._flows))
        return self._flows[flow]

    def inject(
        self,
        at_s: float,
        port: Port,
        data: bytes | bytearray | memoryview = b"",
        *,
        size: int | None = None,
        header_len: int = UDP_HEADERS,
    ) -> None:
        """Inject a packet.

        Parameters
        ----------
        at_s : float
            Time of entry, simulated seconds; not before `now_s`. Packets may be injected in any order. Packets of the
            same flow and instant enter in the order of the calls.
        port : Port
            Port of entry. The packet leaves at the other port of the flow.
        data : bytes, optional
            Payload. It is delivered unchanged; the simulator does not read it.
        size : int, optional
            Bytes on the wire, headers included. The default is the length of `data` plus `header_len`.
        header_len : int
            Bytes of the headers from IP on, 0 to 255: 28 for IPv4 with UDP. A node of kind `processing` looks for
            errors in the headers.

        Raises
        ------
        NetworkError
            The time is in the past or after the end of the run, the port belongs to another network, or the packet is
            too large for IP or for a queue on its path. The network has not changed.
        """
        core = self._open()
        place = self._places.get(port) if isinstance(port, Port) else None
        if place is None:
            ports = ", ".join(f"net.ports({flow!r})" for flow in self._flows)
            raise NetworkError(f"{port!r} is not a port of this network\n  expected one of {ports}")
        content = _content(data)
        headers = _whole("header_len", header_len, HEADER_LEN_MAX)
        total = len(content) + headers if size is None else _whole("size", size, SIZE_MAX)
        time_s, end_s = _seconds("at_s", at_s), self.scenario.duration_s
        if time_s > end_s:
            raise NetworkError(
                f"no packet can enter at {time_s!r} s: the run ends at {end_s:.10g} s\n"
                "  expected an earlier time, or a longer duration in the scenario"
            )
        core.inject(time_s, place, total, headers, content)
        self._injected += 1

    def run_until(self, until_s: float) -> None:
        """Advance time to `until_s`, including that instant, but not beyond the end of the run.

        Parameters
        ----------
        until_s : float
            Simulated seconds, at least `now_s`.

        Raises
        ------
        NetworkError
            The time is invalid or in the past.
        RunError, SenderError
            As in `bentpipe.run`. The network cannot be used afterwards.
        """
        core, until_s = self._open(), _seconds("until_s", until_s)
        if until_s < core.now_s:
            raise NetworkError(
                f"cannot go back to {until_s!r} s: the network is at {core.now_s!r} s\n  expected a later time"
            )
        # Python handles Ctrl-C between the calls.
        while not core.run_until(until_s, EVENTS_AT_ONCE):
            pass

    def drain(self) -> list[Delivered]:
        """Return the packets that left since the last call, in order of time."""
        return [Delivered(packet[0], self._ports[packet[1]], *packet[2:]) for packet in self._open().drain()]

    def drain_lost(self) -> list[Lost]:
        """Return the injected packets whose loss became known since the last call."""
        return [Lost(packet[0], self._ports[packet[1]], *packet[2:]) for packet in self._open().drain_lost()]

    @property
    def now_s(self) -> float:
        """Current time of the network, simulated seconds."""
        return self._open().now_s

    @property
    def next_wakeup_s(self) -> float:
        """Time of the next event, if no packet enters earlier, simulated seconds; infinite without events."""
        return self._open().next_wakeup_s

    def finish(self) -> RunResult:
        """End the run and return its tables. The network cannot be used afterwards: drain it first.

        Returns
        -------
        RunResult
            Its `stop` is `interrupted` if the network did not reach the end of the scenario. A note warns that the
            scenario cannot repeat the run, because the packets came from outside.
        """
        core, self._core = self._open(), None
        tables = core.finish()
        if self._injected:
            packets = count(self._injected, "packet")
            tables["notes"].append(
                f"{packets} came from outside by ports, so the scenario alone does not repeat this run"
            )
        return RunResult.from_tables(self.scenario, tables)

    def _open(self) -> _core.Network:
        if self._core is None:
            raise NetworkError("this network is finished\n  build a new network: bp.Network(scenario)")
        return self._core

    def __repr__(self) -> str:
        at = "finished" if self._core is None else f"at {self._core.now_s:.10g} s"
        return f"<Network {self.scenario.title!r}: ports of {', '.join(self._flows)}, {at}>"


def _seconds(name: str, value: SupportsFloat) -> float:
    """Check a time.

    >>> _seconds("at_s", 2)
    2.0
    """
    try:
        time_s = float(value) if not isinstance(value, str) else math.nan
    except (TypeError, ValueError, OverflowError):
        time_s = math.nan
    if not 0 <= time_s < math.inf:
        raise NetworkError(f"{name} = {value!r}\n  expected a finite number of seconds, at least 0")
    return time_s


def _whole(name: str, value: SupportsIndex, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= most:
        limits = f"0 to {most}" if most < SIZE_MAX else "at least 0"
        raise NetworkError(f"{name} = {value!r}\n  expected a whole number of bytes, {limits}")
    return number


def _content(data: bytes | bytearray | memoryview) -> bytes:
    try:
        # Not bytes(data): for a number it makes that many zeros.
        return data if isinstance(data, bytes) else memoryview(data).tobytes()
    except TypeError:
        raise NetworkError(f"data = {data!r}\n  expected bytes, like b'hello'; size=1200 for a size only") from None
