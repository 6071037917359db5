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

PARTS: dict[str, tuple[str, dict[str, str]]] = {
    "cc": ("cubic", {"after_rto": '"rfc"', "first_growth": "0.0"}),
    "recovery": ("rack", {"undo_shows_reordering": "false", "sack_echo": "true"}),
}
"""Rows with keys that a preset sets, too: the kind that has these keys, and another value of each."""

REASONS: dict[str, str] = {
    "slow_start": "HyStart depends on samples of many round trips: see the recorded runs of a kernel.",
    "acceptable_acks": "An ACK is too old only after a transfer of more than the largest window.",
}
"""Rows that may be without a case."""


def rows(like: str) -> list[tuple[str, str, str]]:
    """Key, value and source of each value that a preset sets."""
    found, table = [], ""
    for line in bp.loads(PATH.format(like=like)).resolve().splitlines():
        if line.startswith("["):
            table = line.strip("[]")
        elif table.split(".")[0] == "tcp" and (row := ROW.match(line)) and row["like"] == like:
            key = f"{table}.{row['key']}".removeprefix("tcp.")
            found.append((key, row["value"], row["source"]))
            found += [
                (f"{key}.{part}", *declared)
                for part in PARTS.get(key, ("", {}))[1]
                if (declared := declaration(part, like))
            ]
    return found


def declaration(key: str, like: str, schema: Any = None) -> tuple[str, str] | None:
    """Value and source of a key in the schema, if a preset sets it. Keys of this name are alike wherever they are."""
    schema = bp.schema() if schema is None else schema
    if isinstance(schema, list):
        return next(filter(None, (declaration(key, like, each) for each in schema)), None)
    if not isinstance(schema, dict):
        return None
    of_host = schema.get("properties", {}).get(key, {}).get("x-defaults", {}).get(like, {})
    origin = of_host.get("x-origin", "")
    if origin.startswith(f"{like}: "):
        return json.dumps(of_host["default"]), origin.removeprefix(f"{like}: ")
    return declaration(key, like, list(schema.values()))


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
    """A case with another value of a key. None for a case that sets the key itself."""
    table, _, part = key.rpartition(".")
    line = f"{key} = {OTHER.get(key)}"
    if table in PARTS:
        kind, others = PARTS[table]
        of_case = re.search(rf'(?m)^{table} = {{ kind = "{kind}".*(?= }}$)', text)
        if of_case:
            return None if part in of_case[0] else text.replace(of_case[0], f"{of_case[0]}, {part} = {others[part]}")
        key, line = table, f'{table} = {{ kind = "{kind}", {part} = {others[part]} }}'
    if re.search(rf"(?m)^{re.escape(key)}\b", text):
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
