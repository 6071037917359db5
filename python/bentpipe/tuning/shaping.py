"""The shaper in front of a modem. Without it, packets wait in the modem, and the queue of the gateway stays empty.

`tune` simulates the queue with the same shaper that `apply.sh` sets: the same rate and the same bucket. A shaper has
one rate. So a link whose rate varies gets no shaper: it would waste capacity, or let the queue grow in the modem.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bentpipe.metric import matching
from bentpipe.scenario.editing import steps
from bentpipe.trials.amounts import kilobits, size
from bentpipe.tuning.conditions import conditions

if TYPE_CHECKING:
    from bentpipe.scenario.scenario import Scenario

SHARE = 0.97
"""Share of a link's rate that a gateway sends, so that packets wait in the gateway and not in the modem."""
BURST_S = 1e-3
"""Time of the rate that the bucket holds."""
BURST_MIN = 3028
"""Least size of the bucket, bytes: two full packets with the header of Ethernet."""
WAYS = (".forward", ".reverse")


@dataclass(frozen=True)
class Shaper:
    """A token bucket, as `tc` and a scenario have it."""

    kbit_s: int
    """Rate, kbit/s."""
    burst: int
    """Size of the bucket, bytes."""

    def keys(self) -> dict[str, str]:
        """Return the keys of the scenario."""
        return {"rate": f"{self.kbit_s} kbit/s", "burst": f"{self.burst} B"}


class Shaping:
    """The shapers of a scenario's links."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    @cached_property
    def _content(self) -> dict[str, Any]:
        return dict(self._scenario.to_dict()["link"])

    @cached_property
    def links(self) -> dict[str, dict[str, Any]]:
        """Directions of links by name, as the scenario is written."""
        return {link["link"]: link for link in self._scenario.network()["links"]}

    @cached_property
    def rates(self) -> dict[str, set[float]]:
        """All rates of each direction of a link in all conditions of the search, bit/s. A rate of zero is a pause."""
        core, found = self._scenario._core, {name: set(link["rate_bps"]["values"]) for name, link in self.links.items()}
        for each in conditions(self._scenario, json.loads(core.tune() or "{}").get("conditions", [])):
            for link in json.loads(each.scenario(core, []).network())["links"]:
                found.setdefault(link["link"], set()).update(link["rate_bps"]["values"])
        return found

    def directions(self, key: str) -> list[str]:
        """List the directions of links that a key covers.

        The link may be a group: `link.user.reverse` covers `user1.reverse`.
        """
        link, *direction = steps(key)[1:-1]
        found = list(matching(".".join([link, *direction]), self.links))
        ending = "".join(f".{each}" for each in direction)
        return found or [
            name
            for name in self.links
            if name.startswith(link)
            and name.endswith(ending)
            and name[len(link) :].removesuffix(ending).partition(".")[0].isdigit()
        ]

    def has_medium(self, name: str) -> bool:
        """Whether a direction is in a shared medium. No command of Linux can follow the grants of a medium."""
        link, _, direction = name.rpartition(".")
        return bool(self._content.get(link, {}).get(direction, {}).get("medium"))

    def shaper(self, name: str) -> Shaper | None:
        """Return the shaper of a direction. If the scenario has one, it is this shaper. None if the rate varies."""
        if self.has_medium(name):
            return None
        link, _, direction = name.rpartition(".")
        both = self._content.get(link, {})
        own = both.get(direction, both).get("shaper")
        if own:
            return Shaper(kilobits(own["rate"]), size(own["burst"]) or BURST_MIN)
        if len(self.rates[name]) != 1 or not max(self.rates[name]):
            return None
        rate = SHARE * max(self.rates[name])
        return Shaper(max(1, int(rate / 1000)), max(BURST_MIN, round(BURST_S * rate / 8)))

    def list_implied(self, key: str, value: Any) -> list[tuple[str, Any]]:
        """Return the changes that a change of a queue implies: a shaper for each direction that has none."""
        path = steps(key)
        if path[0] != "link" or path[-1] != "queue" or value is None:
            return []
        head = key.removesuffix(".queue")
        head = next((head.removesuffix(way) for way in WAYS if head.endswith(way)), head)
        found = {}
        for name in self.directions(key):
            shaper, way = self.shaper(name), name.rpartition(".")[2]
            if shaper is not None:
                found[f"{head}.{way}.shaper"] = shaper.keys()
        return list(found.items())
