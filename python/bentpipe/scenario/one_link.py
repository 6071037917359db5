"""A scenario of one link between a server and a client, from the values of a command line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bentpipe.errors import ScenarioError
from bentpipe.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

KEYS = {
    "rate": "link.path.rate",
    "up_rate": "link.path.reverse.rate",
    "delay": "link.path.delay",
    "loss": "link.path.error.rate",
    "queue": "link.path.queue",
}
"""Key of the scenario for each value."""
RATE = "1 Gbit/s"
"""Rate of a link without one, as of an Ethernet device."""


def make_one_link(values: Mapping[str, str | None], duration: str, sets: Sequence[tuple[str, Any]] = ()) -> Scenario:
    """Make a scenario of one link, `path`, from `server` to `client`. Real packets may replace its flow `bulk`.

    Parameters
    ----------
    values : mapping
        `rate`, `delay`, `loss` and `queue` of each direction, and `up_rate` of the direction to the server. Values
        that are missing or None are 1 Gbit/s, 0 s, no loss and a queue of one bandwidth-delay product.
    duration : str
        Duration of the run.
    sets : pairs
        Overrides by dotted key.

    Raises
    ------
    ScenarioError
        A value is impossible. The place of the problem is the option with the value.
    """
    given = {name: value for name, value in values.items() if value is not None}
    link: dict[str, Any] = {"from": "server", "to": "client", "rate": given.get("rate", RATE)}
    link["delay"] = given.get("delay", "0 s")
    if "up_rate" in given:
        link |= {"forward": {"rate": link.pop("rate")}, "reverse": {"rate": given["up_rate"]}}
    if "loss" in given:
        link["error"] = {"kind": "packet", "rate": given["loss"], "effect": "lose"}
    if "queue" in given:
        link["queue"] = given["queue"]
    words = [f"{name.replace('_', ' ')} {value}" for name, value in given.items()]
    flow = {"from": "server", "to": "client", "app": "greedy"}
    content = {"title": ", ".join(words), "duration": duration, "link": {"path": link}, "flow": {"bulk": flow}}
    options = {key: f"--{name.replace('_', '-')}" for name, key in KEYS.items()}
    options["link.path.forward.rate"] = options["link.path.rate"]
    try:
        return Scenario(content, sets=sets)
    except ScenarioError as error:
        raise error.change_problems(
            lambda each: replace(each, place=options.get(each.key, each.place) or each.place)
        ) from None
