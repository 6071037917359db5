"""Judges whether an emulated run followed its scenario."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

LATE_SHARE_MAX = 0.005
LATE_WAKES_MAX = 0.05
DATA_PER_ACK_MAX = 8
"""Receivers in the field acknowledge two segments at once, or a few more where their devices join them."""
TURN_MAX_S = 0.002
"""One gap above 2 ms ends the slow start of a Linux sender that watches trains of ACKs (HyStart)."""
BURSTS_MAX = 0.01
STOLEN_MAX = 0.001
"""Packets are late while the emulator is stopped or catches up: up to five times this share on two processors."""
TURNAROUND_MAX_S = 0.0005
LIMITED_MAX = 0.02
EXCESS_MAX_S = 0.0005
EXCESS_MAX = 0.02
"""Share of the path's round trip, if that is more."""
SLEPT_MAX_S = 0.001
"""Between two readings of two clocks some microseconds pass."""
OFFLOADS = {"on": "on", "off": "off", "receive": "on, but the kernel accepts no joined packets"}

FILTERS = ("landlock", "seccomp")
"""Walls that filter calls; all others are namespaces."""


@dataclass(frozen=True)
class Trust:
    """Events outside the scenario, and the verdict on the run.

    Attributes
    ----------
    packets_entered, packets_left : int
        Packets of hosts that entered the simulated path, and that left it.
    late_mean_s, late_p99_s, late_p999_s, late_max_s : float
        Lateness of packets at their host, seconds: mean, quantiles, maximum.
    late_limit_s : float
        Limit of lateness: 1 ms, or a fiftieth of the shortest path if that is more.
    late_packets : int
        Packets above the limit.
    longest_turn_s : float
        The longest time between two reads of the hosts' packets, seconds. No packet entered later than this.
    dropped_by_devices, not_written, too_large : int
        Packets lost outside the scenario: before they were read, when they were written to a host, and because they
        were larger than a queue on the path.
    ignored : int
        Packets to addresses that are not hosts, such as IPv6 router solicitations. (UDP multicast and broadcast are
        carried to each host.)
    not_udp, unreadable : int
        Packets to all hosts that were not carried because they are not UDP, such as the kernel's reports of multicast
        groups; and packets that are not IP.
    data_per_ack : float or None
        Number of data segments that a host received for each ACK that it sent. Above 8, the host received many segments
        at the same time, or its programs were slow to read.
    busy_s : float
        Time in which the kernel's connections had unacknowledged data, seconds, summed over all ends.
    rwnd_limited_s, send_buffer_limited_s : float
        Part of `busy_s` in which the receiver's window, or the send buffer, kept connections from sending.
    round_trip_s, round_trip_excess_s : float or None
        For each connection of the kernel, the excess is its shortest round trip minus the least time of packets on the
        path, forth and back, during the connection. These are round trip and excess of the connection with the smallest
        excess, seconds. None without a connection, or if a proxy answers.
    backend, offload : str
        Devices of the hosts: `tun` or `packet`. Units of several segments: `on`, `off`, or `receive` if the kernel
        sends them but does not accept them.
    wakes, late_wakes : int
        Wake-ups of a test program that sleeps 10 ms at a time, and those of them later than the limit because other
        programs had the processor. Programs at hosts wait for the processor in the same way.
    has_priority : bool
        Whether the emulator had real-time priority.
    cpu_s : float
        Processor time of the emulator, seconds.
    writes, late_bursts : int
        Deliveries of packets to hosts, and deliveries that join packets whose due times differ by more than 1 ms.
    turnaround_s : float or None
        Time in which the slowest host answers an echo request without a path, seconds: the median of 20 requests before
        the run. None if a host does not answer.
    stolen_share : float
        On a virtual machine: share of the time of all processors that other machines took.
    throttled_s : float
        Time in which the processor limit of a container or service stopped the emulator and its programs, seconds.
    waited_s : float
        Time in which the emulator waited for a processor, seconds.
    slept_s : float
        Time in which the machine was suspended, seconds.
    walls, missing_walls : tuple of str
        Walls around programs in addition to the namespaces of each host: walls in force, and walls that the system does
        not have. They are `processes`, `ipc`, `sysfs`, `landlock` and `seccomp`, and do not change the verdict.
    """

    packets_entered: int
    packets_left: int
    late_mean_s: float
    late_p99_s: float
    late_p999_s: float
    late_max_s: float
    late_limit_s: float
    late_packets: int
    longest_turn_s: float
    dropped_by_devices: int
    not_written: int
    too_large: int
    ignored: int
    data_per_ack: float | None
    busy_s: float
    rwnd_limited_s: float
    send_buffer_limited_s: float
    round_trip_s: float | None
    round_trip_excess_s: float | None
    backend: str
    offload: str
    wakes: int
    late_wakes: int
    has_priority: bool
    cpu_s: float
    writes: int
    late_bursts: int
    turnaround_s: float | None
    stolen_share: float
    throttled_s: float
    waited_s: float
    slept_s: float
    not_udp: int = 0
    unreadable: int = 0
    walls: tuple[str, ...] = ()
    missing_walls: tuple[str, ...] = ()

    @property
    def lost_outside(self) -> int:
        """Packets lost outside the scenario."""
        return self.dropped_by_devices + self.not_written + self.too_large

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the run is not trustworthy; empty if it is."""
        found = []
        share = self.late_packets / max(self.packets_left, 1)
        if share > LATE_SHARE_MAX:
            found.append(
                f"{share:.1%} of packets left more than {self.late_limit_s * 1e3:.3g} ms late"
                f" (limit {LATE_SHARE_MAX:.1%})"
            )
        share = self.late_wakes / max(self.wakes, 1)
        if share > LATE_WAKES_MAX:
            found.append(
                f"programs got the processor more than {self.late_limit_s * 1e3:.3g} ms late in {share:.0%} of cases"
                f" (limit {LATE_WAKES_MAX:.0%})"
            )
        share = self.late_bursts / max(self.writes, 1)
        if share > BURSTS_MAX:
            found.append(f"packets of more than 1 ms left at once in {share:.1%} of cases (limit {BURSTS_MAX:.0%})")
        if self.slept_s > SLEPT_MAX_S:
            found.append(f"the machine was suspended for {self.slept_s:.3g} s")
        if self.lost_outside:
            found.append(f"packets lost outside the scenario: {self.lost_outside} (limit 0)")
        return tuple(found)

    @property
    def is_trustworthy(self) -> bool:
        """Whether nothing outside the scenario was strong enough to change the result."""
        return not self.reasons

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if not self.packets_left:
            return "No verdict: no packet arrived."
        remarks = [*self._processors, *self._endpoints]
        if self.reasons:
            return " ".join([f"Not trustworthy: {'; '.join(self.reasons)}.", *remarks])
        if (self.turnaround_s or 0) > TURNAROUND_MAX_S:
            remarks.append(
                f"Hosts need {(self.turnaround_s or 0) * 1e3:.2g} ms to answer without a path, in each round trip."
            )
        if self.longest_turn_s > TURN_MAX_S:
            remarks.append(f"One gap of {self.longest_turn_s * 1e3:.1f} ms may have ended a slow start early.")
        if (self.data_per_ack or 0) > DATA_PER_ACK_MAX:
            remarks.append(
                f"A host sent one ACK for {self.data_per_ack:.0f} segments: it got many at once, or its program was"
                " slow to read."
            )
        verdict = (
            f"Trustworthy: 99.9 % of packets left at most {self.late_p999_s * 1e3:.2g} ms late,"
            " and none was lost outside the scenario."
        )
        return " ".join([verdict, *remarks])

    @property
    def _processors(self) -> list[str]:
        """Remarks on other users of the processors."""
        found = []
        if self.stolen_share > STOLEN_MAX:
            found.append(f"Other machines took {self.stolen_share:.1%} of the processors.")
        if self.throttled_s > 0:
            found.append(
                f"The processor limit of this container or service stopped the run for {self.throttled_s:.3g} s."
            )
        return found

    @property
    def _endpoints(self) -> list[str]:
        """Remarks on effects of the hosts, not of the path."""
        found = []
        for limited_s, what in (
            (self.send_buffer_limited_s, "its send buffer"),
            (self.rwnd_limited_s, "the receiver's window"),
        ):
            share = limited_s / self.busy_s if self.busy_s else 0
            if share > LIMITED_MAX:
                found.append(f"The sender was limited by {what} in {share:.0%} of its time, not by the path.")
        if self.round_trip_s is not None and self.round_trip_excess_s is not None:
            path_s = self.round_trip_s - self.round_trip_excess_s
            if self.round_trip_excess_s > max(EXCESS_MAX_S, EXCESS_MAX * path_s):
                found.append(
                    f"Round trips took {self.round_trip_excess_s * 1e3:.2g} ms longer at least than the path, which has"
                    f" {path_s * 1e3:.3g} ms."
                )
        return found

    def _share(self, limited_s: float) -> str:
        """Share of the time with unacknowledged data."""
        return f"{limited_s / self.busy_s:.1%}" if self.busy_s else "none"

    def _not_carried(self) -> str:
        """Packets that the path does not carry, with the reasons."""
        counts = {"to no host": self.ignored, "to all hosts, not UDP": self.not_udp, "unreadable": self.unreadable}
        return ", ".join(f"{count} {reason}" for reason, count in counts.items() if count) or "0"

    def rows(self) -> list[tuple[str, str]]:
        """Names and values of all measurements."""

        def ms(seconds: float) -> str:
            return f"{seconds * 1e3:.3g} ms"

        return [
            ("packets that entered the path", str(self.packets_entered)),
            ("packets that left it", str(self.packets_left)),
            ("late, mean", ms(self.late_mean_s)),
            ("late, 99 %", ms(self.late_p99_s)),
            ("late, 99.9 %", ms(self.late_p999_s)),
            ("late, most", ms(self.late_max_s)),
            (f"later than {ms(self.late_limit_s)}", f"{self.late_packets / max(self.packets_left, 1):.2%}"),
            ("longest gap between two looks at the hosts", ms(self.longest_turn_s)),
            ("more than 1 ms of packets at once", f"{self.late_bursts / max(self.writes, 1):.2%}"),
            (
                "a host's answer without a path",
                "none" if self.turnaround_s is None else ms(self.turnaround_s),
            ),
            ("lost outside the scenario", str(self.lost_outside)),
            ("not carried", self._not_carried()),
            ("programs that got the processor later", f"{self.late_wakes / max(self.wakes, 1):.1%}"),
            ("segments with data for each ACK", "none" if self.data_per_ack is None else f"{self.data_per_ack:.1f}"),
            ("senders limited by their send buffer", self._share(self.send_buffer_limited_s)),
            ("senders limited by the receiver's window", self._share(self.rwnd_limited_s)),
            (
                "shortest round trip, longer than the path's by",
                "none" if self.round_trip_excess_s is None else ms(self.round_trip_excess_s),
            ),
            ("devices of the hosts", f"{self.backend}, offload {OFFLOADS[self.offload]}"),
            ("real-time priority", "yes" if self.has_priority else "no: not allowed"),
            ("processor time of the emulator", f"{self.cpu_s:.2f} s"),
            ("time that it waited for a processor", f"{self.waited_s:.2f} s"),
            ("processors that other machines took", f"{self.stolen_share:.1%}"),
            ("time stopped by a limit of the processor", f"{self.throttled_s:.2f} s"),
            ("namespaces around programs", ", ".join(each for each in self.walls if each not in FILTERS) or "none"),
            ("filters around programs", ", ".join(each for each in self.walls if each in FILTERS) or "none"),
            ("missing walls", ", ".join(self.missing_walls) or "none"),
        ]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Trust:
        """Read it from the content of `to_dict`."""
        found = {each.name: content[each.name] for each in fields(cls) if each.name in content}
        walls = {name: tuple(found.get(name, ())) for name in ("walls", "missing_walls")}
        return cls(**{**found, **walls})

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        walls = {"walls": list(self.walls), "missing_walls": list(self.missing_walls)}
        return {"is_trustworthy": self.is_trustworthy, "sentence": self.sentence, **asdict(self), **walls}
