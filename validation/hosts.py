"""Finds the conformance cases that hold each value of the preset `linux-6`, and asks the running kernel about them.

    python -m validation.hosts     # three minutes, on Linux: as root, or where namespaces are allowed
    python -m tools.docs hosts     # after that: the page

A case holds a value if it fails on bentpipe's TCP with another value. The numbers go into `validation/data/hosts.json`.
"""

from __future__ import annotations

import json
import platform
import re
from typing import Any

import bentpipe as bp
from bentpipe import _core
from bentpipe.emulation.drill import on_kernel, read_bundled, run_script
from validation import kept

HOSTS = ("linux-6", "linux-6-paced", "windows-11", "freebsd-14", "ns-2")
"""Presets with values; the page has a table of each."""
PATH = """duration = "1 s"
[tcp]
like = "{like}"
[link.l]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
[flow.f]
from = "a"
to = "b"
"""
ROW = re.compile(r"^(?P<key>\w+) = (?P<value>.*?) +# default, (?P<like>[\w-]+): (?P<source>.*)$")
"""A line of a resolved scenario whose value is from a preset."""

OTHER: dict[str, str] = {
    "cc": '"newreno"',
    "smss": '"1460 B"',
    "recovery": '"newreno"',
    "reduction": '"at-once"',
    "second_reduction": '"rfc5681"',
    "dsack": "false",
    "spurious_detection": '"off"',
    "spurious_response": '"conservative"',
    "initial_window": '"4 segments"',
    "byte_counting": '"rfc5681"',
    "slow_start": '"standard"',
    "cwnd_validation": '"off"',
    "grow_on_exit": "false",
    "ssthresh_rounding": '"bytes"',
    "ssthresh_base": '"flight-size"',
    "give_up": '"5 s"',
    "acceptable_acks": '"rfc9293"',
    "challenge_acks": "{ limit = 10 }",
    "timestamps": "false",
    "receive_buffer": '"4000 B"',
    "send_buffer": '"4000 B"',
    "ecn": '"classic"',
    "auto_buffer": '{ start = "3000 B" }',
    "auto_send_buffer": '{ start = "3000 B", limit = "4000 B" }',
    "rto.initial": '"3 s"',
    "rto.min": '"1 s"',
    "rto.max": '"2 s"',
    "rto.granularity": '"500 ms"',
    "rto.variance_min": '"0 s"',
    "rto.sampling": '"per-window"',
    "rto.variation": '"mean"',
    "rto.sack_samples": "false",
    "rto.backoff_max": "2",
    "rto.syn_linear_timeouts": "0",
    "rto.syn_retries": "2",
    "rto.synack_retries": "2",
    "rto.syn_reduction_after": "1",
    "rto.reduce_in_recovery": "true",
    "rto.whole_ack_undoes": "false",
    "rto.persist_min": '"500 ms"',
    "rto.persist_max": '"1 s"',
    "rto.persist_restarts": "false",
    "ack.every": "1",
    "ack.delay": '"200 ms"',
    "ack.quick": "0",
}
"""Another value of each row."""

PARTS: dict[str, tuple[str, str]] = {
    "cc.after_rto": ("cubic", '"rfc"'),
    "cc.first_growth": ("cubic", "0.0"),
    "cc.needs_ssthresh": ("hybla", "true"),
    "cc.quantum": ("bbr1", '"segment"'),
    "recovery.undo_shows_reordering": ("rack", "false"),
    "recovery.sack_echo": ("rack", "true"),
    "challenge_acks.limit": ("", "10"),
    "challenge_acks.interval": ("", '"1 ms"'),
    "auto_buffer.start": ("", '"3000 B"'),
    "auto_buffer.limit": ("", '"131072 B"'),
    "auto_buffer.growth": ("", '"twice"'),
    "auto_send_buffer.start": ("", '"3000 B"'),
    "auto_send_buffer.limit": ("", '"128000 B"'),
}
"""Keys in the table of a row: the kind of table that has the key, and another value."""

OWN_KINDS = ("cubic", "rack")
"""Kinds of the preset itself: a case without the row has them."""

REASONS: dict[str, str] = {
    "slow_start": "HyStart depends on samples of many round trips: see the recorded runs of a kernel.",
    "cc.needs_ssthresh": "The measured kernel has no Hybla: read in its source.",
    "cc.quantum": "Segmentation offload shows at rates above those of a script.",
    "auto_buffer.limit": "The kernel counts its own memory in a buffer, so that windows of scripts differ from it.",
    "auto_buffer.growth": "The kernel counts its own memory in a buffer, so that windows of scripts differ from it.",
    "auto_send_buffer.limit": "A flight of 4 MiB is more than a script carries.",
    "acceptable_acks": "An ACK is too old only after a transfer of more than the largest window.",
}
"""Rows that may be without a case."""


def rows(like: str) -> list[tuple[str, str, str]]:
    """Key, value and source of each value that a preset sets."""
    found, table, declared = [], "", declare_values(like)
    for line in bp.loads(PATH.format(like=like)).resolve().splitlines():
        if line.startswith("["):
            table = line.strip("[]")
        elif table.split(".")[0] == "tcp" and (row := ROW.match(line)) and row["like"] == like:
            key = f"{table}.{row['key']}".removeprefix("tcp.")
            found.append((key, row["value"], row["source"]))
            found += [(part, *values) for part, values in declared.items() if part.startswith(f"{key}.")]
    return found


def declare_values(like: str) -> dict[str, tuple[str, str]]:
    """Value and source of each key of `[tcp]` that a preset sets, as the schema declares them."""
    schema, found = bp.schema(), {}

    def walk(node: Any, names: tuple[str, ...]) -> None:
        if isinstance(node, list):
            for each in node:
                walk(each, names)
        if not isinstance(node, dict):
            return
        if reference := node.get("$ref"):
            walk(schema["$defs"][reference.rpartition("/")[2]], names)
        of_host = node.get("x-defaults", {}).get(like, {})
        source = of_host.get("x-origin", "")
        if source.startswith(f"{like}: "):
            found[".".join(names)] = (json.dumps(of_host["default"]), source.removeprefix(f"{like}: "))
        for key, inner in node.items():
            if key == "properties":
                for name, each in inner.items():
                    walk(each, (*names, name))
            elif key not in ("x-defaults", "$defs"):
                walk(inner, names)

    walk(schema["properties"]["tcp"], ())
    return found


def cases() -> list[tuple[str, str]]:
    """Title and text of each case whose host is `linux-6`."""
    parts = re.split(r"(?m)^(?== )", read_bundled()["linux"])
    found = [(part.split("\n", 1)[0][2:].strip(), part) for part in parts if '\nlike = "linux-6"\n' in part]
    return [(title.split("  ", 1)[-1], text) for title, text in found]


def differs(text: str) -> bool:
    """Whether a case fails. A value that contradicts its settings proves nothing."""
    try:
        return any(difference is not None for _, difference in _core.drill((text, None), False))
    except ValueError:
        return False


def held(key: str, known: list[tuple[str, str]]) -> list[str]:
    """Titles of the cases that fail with another value of a key."""
    return [title for title, text in known if (other := with_other(key, text)) and differs(other)]


def with_other(key: str, text: str) -> str | None:
    """A case with another value of a key. None for a case that sets the key itself, or that is without it."""
    table, line = key, f"{key} = {OTHER.get(key)}"
    if key in PARTS:
        (kind, value), (table, _, part) = PARTS[key], key.rpartition(".")
        inside = re.search(rf"(?m)^{re.escape(table)} = {{ (.*) }}$", text)
        if inside and f'kind = "{kind}"' in inside[0] and f"{part} = " not in inside[1]:
            return text.replace(inside[0], f"{table} = {{ {inside[1]}, {part} = {value} }}")
        named = f'kind = "{kind}", ' if kind else ""
        line = f"{table} = {{ {named}{part} = {value} }}"
        if f'{table} = "{kind}"\n' in text:
            return text.replace(f'{table} = "{kind}"\n', f"{line}\n", 1)
        if kind not in ("", *OWN_KINDS):
            return None
    if re.search(rf"(?m)^{re.escape(table)}\b", text):
        return None
    return text.replace('like = "linux-6"\n', f'like = "linux-6"\n{line}\n', 1)


def main() -> None:
    """Measure and keep the results."""
    known = cases()
    kernel = on_kernel([run_script("linux")])[0].kernel
    assert kernel is not None
    failed = {difference.title.split("  ", 1)[-1] for difference in kernel.differences}
    found = {
        "kernel": ".".join(platform.release().split(".")[:2]),
        "differs": sorted(failed),
        "rows": {key: held(key, known) for key, *_ in rows("linux-6")},
    }
    kept.save("hosts", found)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()
