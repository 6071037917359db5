"""Plan of a mix: the cases that share a scenario, and their flows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.experiment.common.days import locate_errors
from bentpipe.experiment.common.senders import as_case, name_senders
from bentpipe.own.loading import absent, unite_classes
from bentpipe.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.own.loading import Own, Sender


DATAGRAMS = ("cbr", "poisson", "on-off", "probe")
"""Applications without a choice of transport."""
TRANSPORTS = ("tcp", "quic")
"""Keys of the transport of a flow."""


@dataclass(frozen=True)
class Plan:
    """The cases that share a scenario, and their flows."""

    names: tuple[str, ...]
    base: dict[str, Any]
    """The resolved scenario."""
    flows: list[dict[str, dict[str, Any]]]
    """Flows that take part, with their transport, by name, for each case."""
    folder: str | None
    classes: dict[str, Own]
    """Custom classes by name."""
    scenario: Scenario | None = None
    """Scenario that the plan was made from; None if the plan was loaded."""
    members: Mapping[str, Scenario] = field(default_factory=dict)
    """Scenarios with only one congestion control or case, by its name."""
    stagger_s: float = 0.0
    """Time between the starts of the copies of a flow."""

    @classmethod
    def from_request(
        cls, scenario: Scenario, names: list[Sender], cases: Mapping[str, Mapping[str, Any]], stagger_s: float = 0.0
    ) -> Plan:
        """Check the request and make its plan."""
        known = scenario.cases | {name: as_case(scenario, name, sets) for name, sets in cases.items()}
        members: dict[str, Scenario] = {}
        for name in names:
            is_case = isinstance(name, str) and name in known
            members |= {str(name): known[str(name)]} if is_case else name_senders(scenario, [name])
        if len(members) < 2:
            given = ", ".join(members) or "none"
            raise ScenarioError(
                f"a mix needs two congestion controls or more, got {given}\n  expected names such as reno,cubic"
            )
        plan = cls._from_members(scenario, members, stagger_s)
        if stagger_s * (len(members) - 1) >= scenario.duration_s:
            raise ScenarioError(
                f"the last case starts after {stagger_s * (len(members) - 1):g} s, and the run has"
                f" {scenario.duration_s:g} s\n  expected a shorter {{stagger}}, or a longer duration",
                stagger=None,
            )
        return plan

    @classmethod
    def from_facts(cls, written: Mapping[str, Any], folder: str | None) -> Plan:
        """Read a plan from the facts of a store. Its custom classes have names, but cannot run."""
        # The copies of the same flow, one per case.
        copies = [flow for flows in written["flows"] for flow in flows.values()]
        classes = absent({**written["base"], "flow": {str(number): flow for number, flow in enumerate(copies)}})
        # Older stores have no distance of starts.
        stagger_s = written.get("stagger_s", 0.0)
        return cls(tuple(written["names"]), written["base"], written["flows"], folder, classes, stagger_s=stagger_s)

    def facts(self) -> dict[str, Any]:
        """Return the facts that `from_facts` reads."""
        return {"names": self.names, "base": self.base, "flows": self.flows, "stagger_s": self.stagger_s}

    def on_day(self, day: int) -> Plan:
        """Make the same plan on a day of the sky.

        Raises
        ------
        ScenarioError
            The scenario is invalid on this day.
        BentpipeError
            The plan was loaded, and has only the first day.
        """
        if day == 0 or (self.scenario is not None and not self.scenario.has_days):
            return self
        if self.scenario is None:
            raise BentpipeError(
                f"replication {day} has another day of the sky, which a saved mix does not have\n"
                f"  expected replication 0, or the scenario itself with sky.day = {day}"
            )
        with locate_errors(day):
            members = {name: member.on_day(day) for name, member in self.members.items()}
            return self._from_members(self.scenario.on_day(day), members, self.stagger_s)

    @classmethod
    def _from_members(cls, scenario: Scenario, members: Mapping[str, Scenario], stagger_s: float) -> Plan:
        base = scenario.to_dict()
        resolved = {name: member.to_dict() for name, member in members.items()}
        for name, content in resolved.items():
            if changed := [key for key in base if _find_shared(base, key) != _find_shared(content, key)]:
                raise ScenarioError(
                    f"case {name} changes [{changed[0]}], which all cases share\n"
                    "  expected changes of tcp and quic only, such as tcp.pacing=window"
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
                "  remove `cc` from [flow.NAME.tcp] or [flow.NAME.quic] of the flows that should differ"
            )
        flows = [
            {flow: {**_without_transport(base["flow"][flow]), **found[place]} for flow, found in takers.items()}
            for place in range(len(members))
        ]
        senders = unite_classes(*(member.senders for member in members.values()))
        return cls(tuple(members), base, flows, scenario.folder, senders, scenario, members, stagger_s)

    def mix_cases(self, kinds: list[int]) -> Scenario:
        """Make the scenario in which the copies of each flow have these cases, in order."""
        flows = {name: flow for name, flow in self.base["flow"].items() if name not in self.flows[0]}
        for name in self.flows[0]:
            for slot, kind in enumerate(kinds):
                flow = self.flows[kind][name]
                flows[self._copy(name, slot)] = self._delay(name, flow, slot) if self.stagger_s else flow
        return Scenario({**self.base, "flow": flows}, folder=self.folder, senders=self.classes)

    def _delay(self, name: str, flow: dict[str, Any], slot: int) -> dict[str, Any]:
        """Return the flow with a later start."""
        start = _core.quantity(flow["start"]) if isinstance(flow["start"], str) else None
        if start is None:
            raise ScenarioError(
                f"flow.{name}.start is random, so the starts of its copies have no fixed distance\n"
                "  expected a fixed start, or no {stagger}",
                stagger=None,
            )
        return {**flow, "start": f"{start[0] + slot * self.stagger_s!r} s"}

    def senders(self, turn: int) -> dict[str, str]:
        """Return the case of each flow in the mix of replication `turn`, by name."""
        return {flow: sender for flow, (_, sender) in self.copies(turn).items()}

    def copies(self, turn: int) -> dict[str, tuple[str, str]]:
        """Return the original and the case of each flow in the mix of replication `turn`, by name."""
        count = len(self.names)
        return {
            self._copy(name, slot): (name, self.names[(slot + turn) % count])
            for name in self.flows[0]
            for slot in range(count)
        }

    def _copy(self, name: str, slot: int) -> str:
        copy = f"{name}.{slot + 1}"
        # A flow of the scenario may already have that name.
        while copy in self.base["flow"]:
            copy += "'"
        return copy


def _transport(content: dict[str, Any], flow: str) -> dict[str, Any]:
    """Return the table of the complete transport of a flow, by its key."""
    own = content["flow"][flow]
    if "quic" in own:
        return {"quic": own["quic"]}
    # A resolved flow has only the differences from `tcp`.
    common, tcp = content["tcp"], own.get("tcp", {})
    deep = {key: {**common[key], **tcp.get(key, {})} for key in ("rto", "ack")}
    return {"tcp": {**common, **tcp, **deep}}


def _without_transport(flow: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in flow.items() if key not in TRANSPORTS}


def _find_shared(content: dict[str, Any], key: str) -> Any:
    """Return the part of a scenario that a case may not change."""
    if key == "flow":
        return {name: _without_transport(flow) for name, flow in content["flow"].items()}
    return None if key in (*TRANSPORTS, "title") else content.get(key)
