"""Which senders share a scenario, and in which flows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.experiment.common.days import located
from bentpipe.experiment.common.senders import as_case, senders_of
from bentpipe.own.loading import united
from bentpipe.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.own.loading import Own, Sender


DATAGRAMS = ("cbr", "poisson", "on-off")
"""Applications that have no transport to choose."""


@dataclass(frozen=True)
class Plan:
    """Which senders share a scenario, and in which flows."""

    names: tuple[str, ...]
    base: dict[str, Any]
    """The scenario, resolved."""
    flows: list[dict[str, dict[str, Any]]]
    """For each sender, by name of a flow that takes part, the flow with its transport."""
    folder: str | None
    classes: dict[str, Own]
    """By name, those of one's own."""
    scenario: Scenario | None = None
    """The source of the plan, as are the `members`; None if the plan was read."""
    members: Mapping[str, Scenario] = field(default_factory=dict)
    """By name of a congestion control or case, the scenario with it alone."""

    @classmethod
    def of(cls, scenario: Scenario, names: list[Sender], cases: Mapping[str, Mapping[str, Any]]) -> Plan:
        """Check what is asked for."""
        known = scenario.cases | {name: as_case(scenario, name, sets) for name, sets in cases.items()}
        members: dict[str, Scenario] = {}
        for name in names:
            is_case = isinstance(name, str) and name in known
            members |= {str(name): known[str(name)]} if is_case else senders_of(scenario, [name])
        if len(members) < 2:
            given = ", ".join(members) or "none"
            raise ScenarioError(
                f"a mix needs two congestion controls or more, got {given}\n  expected names such as reno,cubic"
            )
        return cls._made(scenario, members)

    def on_day(self, day: int) -> Plan:
        """The same plan on a day of the sky.

        Raises
        ------
        ScenarioError
            It makes no sense on this day.
        BentpipeError
            The plan was read, and has the first day only.
        """
        if day == 0 or (self.scenario is not None and not self.scenario.has_days):
            return self
        if self.scenario is None:
            raise BentpipeError(
                f"replication {day} has another day of the sky, which a saved mix does not have\n"
                f"  expected replication 0, or the scenario itself with sky.day = {day}"
            )
        with located(day):
            members = {name: member.on_day(day) for name, member in self.members.items()}
            return self._made(self.scenario.on_day(day), members)

    @classmethod
    def _made(cls, scenario: Scenario, members: Mapping[str, Scenario]) -> Plan:
        base = scenario.to_dict()
        resolved = {name: member.to_dict() for name, member in members.items()}
        for name, content in resolved.items():
            if changed := [key for key in base if _shared(base, key) != _shared(content, key)]:
                raise ScenarioError(
                    f"case {name} changes [{changed[0]}], which all cases share\n"
                    "  expected changes of tcp only, such as tcp.pacing=window"
                )
        transports = {
            flow: [_transport(content, flow) for content in resolved.values()]
            for flow in scenario.flow_names
            if base["flow"][flow]["app"]["kind"] not in DATAGRAMS
        }
        takers = {flow: found for flow, found in transports.items() if any(each != found[0] for each in found)}
        if not takers:
            raise ScenarioError(
                "every flow would have the same transport in each case\n"
                "  remove `cc` from [flow.NAME.tcp] of the flows that should differ"
            )
        flows = [
            {flow: {**base["flow"][flow], "tcp": found[place]} for flow, found in takers.items()}
            for place in range(len(members))
        ]
        senders = united(*(member.senders for member in members.values()))
        return cls(tuple(members), base, flows, scenario.folder, senders, scenario, members)

    def mixed(self, kinds: list[int]) -> Scenario:
        """The scenario in which the copies of each flow have these senders, in order."""
        flows = {name: flow for name, flow in self.base["flow"].items() if name not in self.flows[0]}
        for name in self.flows[0]:
            for slot, kind in enumerate(kinds):
                flows[self._copy(name, slot)] = self.flows[kind][name]
        return Scenario({**self.base, "flow": flows}, folder=self.folder, senders=self.classes)

    def senders(self, turn: int) -> dict[str, str]:
        """By name of a flow in the mix of replication `turn`, its sender."""
        return {flow: sender for flow, (_, sender) in self.copies(turn).items()}

    def copies(self, turn: int) -> dict[str, tuple[str, str]]:
        """By name of a flow in the mix of replication `turn`, the flow that it is a copy of, and its sender."""
        count = len(self.names)
        return {
            self._copy(name, slot): (name, self.names[(slot + turn) % count])
            for name in self.flows[0]
            for slot in range(count)
        }

    def _copy(self, name: str, slot: int) -> str:
        copy = f"{name}.{slot + 1}"
        # A flow of the scenario may have that name already.
        while copy in self.base["flow"]:
            copy += "'"
        return copy


def _transport(content: dict[str, Any], flow: str) -> dict[str, Any]:
    """That of a flow, whole: a resolved flow names only what differs from `tcp`."""
    common, own = content["tcp"], content["flow"][flow].get("tcp", {})
    deep = {key: {**common[key], **own.get(key, {})} for key in ("rto", "ack")}
    return {**common, **own, **deep}


def _shared(content: dict[str, Any], key: str) -> Any:
    """What a case may not change."""
    if key == "flow":
        return {name: {k: v for k, v in flow.items() if k != "tcp"} for name, flow in content["flow"].items()}
    return None if key in ("tcp", "title") else content.get(key)
