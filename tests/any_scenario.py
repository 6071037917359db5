"""Scenarios from the schema: any keys with any values, and a repair that follows what the messages name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

SCHEMA = json.loads((Path(__file__).parent.parent / "schema/scenario.schema.json").read_text(encoding="utf-8"))
SHAPES: dict[str, Any] = SCHEMA["$defs"]
COUNTS = (1, 2, 3, 5, 20)
WRONG = (
    *(0, -1, 1e-9, 1e18, float("nan"), float("inf"), True, None, "", "x", [], {}),
    *("-1 s", "0 s", "1e300 s", "0 bit/s", "1e-9 bit/s", "1e15 bit/s", "NaN", "٣ s", "0 B", "-3 B", "1e18 B"),
    *("1 ps", "0.1 ps", "100 %", "101 %", "0 %", "1e-30 %"),
)
"""Values that most keys refuse."""


class Generator:
    """Draws values for shapes of the schema.

    Parameters
    ----------
    random : Random
    wrong : float
        Share of values that are drawn from `WRONG`.
    density : float
        Share of the optional keys that are present.
    """

    def __init__(self, random: Random, wrong: float, density: float) -> None:
        self._random, self._wrong, self.density = random, wrong, density
        self.names: dict[str, list[str]] = {}

    def make(self, shape: Any, key: str = "", depth: int = 0) -> Any:
        """Draw a value of a shape; `key` is its key in the scenario."""
        random = self._random
        if key == "count":
            return random.choice(COUNTS)
        if "$ref" in shape:
            rest = {name: value for name, value in shape.items() if name != "$ref"}
            shape = {**SHAPES[shape["$ref"].rsplit("/", 1)[-1]], **rest}
        if "const" in shape:
            return shape["const"]
        if "enum" in shape:
            return random.choice(shape["enum"])
        for choices in ("oneOf", "anyOf"):
            if choices in shape:
                return self.make(random.choice(shape[choices]), key, depth + 1)
        kind = shape.get("type")
        if key in self.names and "format" not in shape and kind in ("string", None):
            return random.choice(self.names[key])
        if kind == "object":
            return self._make_table(shape, depth)
        if kind == "array":
            return self._make_list(shape, key, depth)
        return self._make_value(shape)

    def table(self, shape: str) -> dict[str, Any]:
        """Draw a table of a named shape."""
        made = self.make(SHAPES[shape])
        return made if isinstance(made, dict) else {}

    def _make_table(self, shape: Any, depth: int) -> dict[str, Any]:
        properties = shape.get("properties", {})
        made = {}
        for name, inner in properties.items():
            is_there = self._random.random() < self.density and depth < 9
            if name in shape.get("required", ()) or is_there:
                made[name] = self.make(inner, name, depth + 1)
        others = shape.get("additionalProperties")
        if isinstance(others, dict) and not properties:
            made |= {f"k{n}": self.make(others, "", depth + 1) for n in range(self._random.randrange(1, 3))}
        return made

    def _make_list(self, shape: Any, key: str, depth: int) -> list[Any]:
        if "prefixItems" in shape:
            return [self.make(each, key, depth + 1) for each in shape["prefixItems"]]
        length = min(max(shape.get("minItems", 0), self._random.randrange(4)), shape.get("maxItems", 4))
        return [self.make(shape.get("items", {}), key.removesuffix("s"), depth + 1) for _ in range(length)]

    def _make_value(self, shape: Any) -> Any:
        random = self._random
        if random.random() < self._wrong:
            return random.choice(WRONG)
        quantity = shape.get("x-quantity")
        if quantity == "time":
            drawn = (f"{10 ** random.uniform(-3, 3.5):g} ms", f"{10 ** random.uniform(-2, 1):g} s")
            return random.choice([*drawn, "0 s", "1 us", "1 ps"]) if random.random() < 0.97 else "100 h"
        if quantity == "rate":
            return f"{10 ** random.uniform(3.5, 8.3):.0f} bit/s"
        if quantity in ("size", "bytes"):
            return random.choice([f"{random.randrange(1, 100_000)} B", "1 B", "1500 B", "40 B", "300 kB"])
        if quantity == "share" or shape.get("format") == "probability":
            return random.choice([0, 0.001, 0.01, 0.1, 0.5, 1, "3 %", "99.9 %"])
        examples, kind = shape.get("examples"), shape.get("type")
        if examples and (not isinstance(kind, list) or random.random() < 0.6):
            return random.choice(examples)
        if isinstance(kind, list):
            kind = random.choice([each for each in kind if each != "string"] or kind)
        if kind in ("integer", "number"):
            return self._make_number(kind, shape)
        return random.random() < 0.5 if kind == "boolean" else "x"

    def _make_number(self, kind: str, shape: Any) -> float:
        random = self._random
        least = shape.get("minimum", 0)
        most = max(least, shape.get("maximum", least + 1000))
        if kind == "number":
            drawn = (least + (most - least) * random.random(), min(most, least + random.random()))
            return random.choice([least, most, *drawn])
        middle = min(most, max(least, int(10 ** random.uniform(0, 4))))
        return int(random.choice([least, min(most, least + 1), middle, most if most < 1e5 else least]))


def make_scenario(random: Random) -> dict[str, Any]:
    """Draw a scenario: a chain of links, flows between its nodes, and any keys with any values."""
    make = Generator(random, random.choice([0.0, 0.0, 0.02]), random.choice([0.03, 0.08, 0.15, 0.3]))
    nodes = [f"n{n}" for n in range(random.randrange(2, 6))]
    links = [f"l{n}" for n in range(len(nodes) - 1)]
    sides = [f"{link}.{side}" for link in links for side in ("forward", "reverse")]
    ends = dict.fromkeys(("from", "to", "node", "route", "reverse_route", "rout", "install"), nodes)
    make.names = {**ends, **dict.fromkeys(("down", "up", "withdraw", "handover"), links), "link": links + sides}
    make.names |= {"flow": ["f0", "f1"], "medium": ["m0"]}
    made: dict[str, Any] = {"duration": f"{random.uniform(0.3, 4):.3f} s", "seed": random.randrange(1000), "link": {}}
    for number, link in enumerate(links):
        table = make.table("Link")
        table.pop("medium", None)
        path = {"rate": f"{10 ** random.uniform(-1, 2):g} Mbit/s", "delay": f"{random.uniform(0, 300):g} ms"}
        made["link"][link] = {**path, **table, "from": nodes[number], "to": nodes[number + 1]}
    made["flow"] = {}
    for number in range(random.randrange(1, 4)):
        start, end = random.sample(nodes, 2)
        made["flow"][f"f{number}"] = {**make.table("Flow"), "from": start, "to": end}
    if random.random() < 0.5:
        made["tcp"] = make.table("Tcp")
    if random.random() < 0.4:
        node = make.table("Node")
        if random.random() < 0.5:
            node["middlebox"] = [make.make(SHAPES["Middlebox"]) for _ in range(random.randrange(1, 3))]
        made["node"] = {random.choice(nodes): node}
    if random.random() < 0.25:
        made["at"] = [make.table("At") for _ in range(random.randrange(1, 4))]
    if random.random() < 0.25:
        made["record"] = make.table("Record")
    if random.random() < 0.1:
        made["forwarding"] = make.make(SHAPES["Forwarding"])
    return made


def find_place(scenario: dict[str, Any], key: str) -> list[tuple[Any, Any]]:
    """Follow a key into a scenario as far as it goes: pairs of a table or a list and a name in it."""
    found: list[tuple[Any, Any]] = []
    at: Any = scenario
    for quoted, plain in re.findall(r'"([^"]*)"|([^."\[\]]+)', key):
        name: Any = quoted or plain
        if isinstance(at, list) and name.isdigit() and int(name) < len(at):
            name = int(name)
        elif not (isinstance(at, dict) and name in at):
            break
        found.append((at, name))
        at = at[name]
    return found


def repair(scenario: dict[str, Any], key: str) -> bool:
    """Delete what a message names, or the table around it. Returns whether something is gone."""
    path = find_place(scenario, key)
    for table, name in reversed(path):
        is_end = name in ("from", "to", "link", "flow", "duration") and len(path) <= 3
        if isinstance(table, dict) and (is_end or name == "kind"):
            continue
        del table[name]
        return True
    return False
