"""A stand-in for the compiled core until that is merged. Then delete this file and the hook in conftest.py."""

import json
import random
import struct

import tomllib
from bentpipe.errors import ScenarioError

CC = {"tahoe": 0.8, "tcpmin": 0.3, "reno": 0.9, "newreno": 1.0, "sack": 1.0}


def _set(tree, key, value):
    *path, last = key.split(".")
    for part in path:
        tree = tree.setdefault(part, {})
    try:
        value = tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        pass
    tree[last] = value


class Scenario:
    def __init__(self, tree, source, sets):
        for key, value in sets:
            _set(tree, key, value)
        problems = [
            f"error: {key} is not known"
            for key in tree
            if key not in ("title", "duration", "seed", "tcp", "node", "link", "flow", "record")
        ]
        cc = tree.get("tcp", {}).get("cc", "newreno")
        if cc not in CC:
            problems.append(f"error: tcp.cc = {cc!r} is not a congestion control\n  known: ...")
        for name in tree.get("record", {}).get("series", []):
            if name not in [s["name"] for s in DICTIONARY["series"]] + ["events"]:
                problems.append(f"error: {name!r} is not a series")
        if "duration" not in tree:
            problems.append("error: duration is missing")
        if problems:
            raise ScenarioError("\n".join(problems) + f"\n{len(problems)} problems; nothing was run\n  {source}")
        for name, flow in list(tree.get("flow", {}).items()):
            for n in range(flow.pop("count", 0)):
                tree["flow"][f"{name}{n + 1}"] = flow
                tree["flow"].pop(name, None)
        self.tree = tree
        self.title = tree.get("title", "")
        self.duration_s = float(tree["duration"].split()[0])
        self.seed = tree.get("seed", 1)
        self.digest = f"{hash(json.dumps(tree, sort_keys=True)) & 0xFFFFFFFF:08x}"
        self.flow_names = sorted(tree.get("flow", {}))
        self.link_names = [f"{n}.{d}" for n in sorted(tree["link"]) for d in ("forward", "reverse")]

    @classmethod
    def from_toml(cls, text, source, sets):
        try:
            return cls(tomllib.loads(text), source, sets)
        except tomllib.TOMLDecodeError as error:
            raise ScenarioError(f"error: {source}: {error}") from None

    @classmethod
    def from_json(cls, text, source, sets):
        return cls(json.loads(text), source, sets)

    def to_json(self):
        return json.dumps(self.tree)

    def to_toml(self):
        from bentpipe.scenario import _toml

        return "".join(f"{k} = {_toml(v)}\n" for k, v in self.tree.items())


def reals(*values):
    return "<f8", struct.pack(f"<{len(values)}d", *values)


def wholes(*values):
    return "<i8", struct.pack(f"<{len(values)}q", *values)


NAN = float("nan")


class Run:
    def __init__(self, scenario, seed=None):
        self.s = scenario
        self.seed = scenario.seed if seed is None else seed
        self.done = self.stopped = False
        self.t = 0.0

    def advance(self, events):
        self.t = min(self.s.duration_s, self.t + events / 50_000 * 5)
        self.done = self.t >= self.s.duration_s

    is_done = property(lambda self: self.done or self.stopped)
    progress = property(lambda self: self.t / self.s.duration_s)
    simulated_s = property(lambda self: self.t)

    def interrupt(self):
        self.stopped = True

    def finish(self):
        flows = self.s.flow_names
        channel = random.Random(self.seed)
        default = self.s.tree.get("tcp", {}).get("cc", "newreno")
        cc = [self.s.tree["flow"][f].get("tcp", {}).get("cc", default) for f in flows]
        base = [channel.uniform(0.8, 1.0) for _ in flows]
        good = [1e6 * b * CC[c] for b, c in zip(base, cc)]
        done = [
            NAN if self.s.tree["flow"][f].get("app", "greedy") == "greedy" else 8e6 / g for f, g in zip(flows, good)
        ]
        n = len(flows)
        special = {
            "flow": flows,
            "cc": cc,
            "outcome": ["running" if d != d else "completed" for d in done],
            "completion_s": reals(*done),
            "goodput_bps": reals(*good),
            "timeouts": wholes(*[int(9 * b) for b in base]),
            "sent_bytes": wholes(*[10_000_000] * n),
            "retransmitted_bytes": wholes(*[int(1e5 * b) for b in base]),
            "rtt_p50_s": reals(*[0.25 + b / 100 for b in base]),
            "ssthresh_end_bytes": reals(*[NAN] * n),
        }
        links = self.s.link_names
        m = len(links)
        link = {"link": links, "utilisation": reals(*[0.9 / (i + 1) for i in range(m)])}

        def fill(table, special, n):
            out = {}
            for column in DICTIONARY[table]:
                name, unit = column["name"], column["unit"]
                if name in special:
                    out[name] = special[name]
                elif unit == "":
                    out[name] = ["x"] * n
                elif name.endswith(("_packets", "_bytes")) or unit == "1":
                    out[name] = wholes(*[1234] * n)
                else:
                    out[name] = reals(*[0.123] * n)
            return out

        asked = self.s.tree.get("record", {}).get("series", [])
        series = {}
        for entry in DICTIONARY["series"]:
            if entry["name"] in asked:
                names = flows if entry["entity"] == "flow" else links
                times = [i * 0.1 for i in range(100) for _ in names]
                series[entry["name"]] = {
                    "time_s": reals(*times),
                    entry["entity"]: names * 100,
                    entry["name"]: reals(*[channel.uniform(0, 1e5) for _ in times]),
                }
        empty = {"time_s": reals(), "flow": [], "event": [], "value": wholes()}
        return {
            "flows": fill("flows", special, n),
            "links": fill("links", link, m),
            "drops": {
                "where": ["down.forward", "down.forward"],
                "flow": [flows[0], flows[-1]],
                "cause": ["bit-error", "queue-overflow"],
                "packets": wholes(17, 4),
                "bytes": wholes(25500, 6000),
            },
            "summary": {
                "stop": ["interrupted" if self.stopped else "time-limit"],
                "simulated_s": reals(self.t),
                "goodput_bps": reals(sum(good)),
                "jain": reals(0.987),
                "sent_packets": wholes(1000),
                "delivered_packets": wholes(970),
                "lost_packets": wholes(21),
                "in_flight_packets": wholes(9),
                "packet_hops": wholes(2000),
            },
            "series": series,
            "events": empty,
            "notes": [],
        }


def schema():
    return json.dumps({"title": "bentpipe scenario", "type": "object"})


def choices():
    return json.dumps(
        {
            "cc": [{"name": n, "summary": f"About {n}."} for n in CC],
            "recovery": [],
            "verdict": [],
            "queue": [{"name": "drop-tail", "summary": "FIFO"}],
            "error": [],
            "app": [],
            "middlebox": [],
        }
    )


def dictionary():
    return json.dumps(DICTIONARY)


def build_info():
    return {"version": "0.0.0", "profile": "fake"}


def _read_dictionary():
    import re
    from pathlib import Path

    text = (Path(__file__).parents[1] / "crates/sim/src/record/dictionary.rs").read_text()
    tables = {}
    for part in re.split(r"\npub const ", text)[1:]:
        name = part.split(":")[0].lower()
        tables[name] = [
            dict(zip(("name", "unit", "meaning"), m))
            for m in re.findall(r'(?:column|series)\("([^"]*)", "([^"]*)", "((?:[^"])*)"', part)
        ]
        if name == "series":
            for entry, entity in zip(tables[name], re.findall(r"Entity::(\w+),", part)):
                entry["entity"] = entity.lower()
    return tables


DICTIONARY = _read_dictionary()
