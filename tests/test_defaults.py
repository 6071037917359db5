"""The schema, the reference, the Python types and the studio state the defaults of the host that runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.scenario import senders, types

LIKES = ("rfc", "linux-6", "linux-6-paced", "ns-2", "windows-11", "freebsd-14")
ROOT = Path(__file__).parents[1]
EMPTY = """duration = "5 s"
[link.l]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "10 ms"
[flow.f]
from = "a"
to = "b"
"""


def followed(node):
    """A node of the schema with its reference followed."""
    while "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        node = {**bp.schema()["$defs"][node["$ref"].rpartition("/")[2]], **rest}
    return node


def tcp(like=None, more=""):
    """The resolved transport of a file, as a dictionary."""
    scenario = bp.loads(EMPTY + "[tcp]\n" + (f'like = "{like}"\n' if like else "") + more)
    return scenario.to_dict()["tcp"]


def in_bytes(size):
    """A number of segments as bytes: the resolved file has bytes."""
    words = str(size).split(" ")
    return f"{int(words[0]) * 1448} B" if words[1:] == ["segments"] else size


def stated(node, like):
    """The default that the schema states for a host."""
    if like is None:
        return node.get("default")
    return node.get("x-defaults", {}).get(like, node).get("default")


def differences(node, values, like, path, given=None):
    """Keys whose resolved value is another than the stated default, with both."""
    for key, raw in node["properties"].items():
        if key in ("kind", "like") or key not in values:
            continue
        part, value, where = followed(raw), values[key], f"{path}.{key}"
        default = stated(part, like) if given is None or key not in given else given[key]
        short = default if isinstance(default, dict) else {"kind": default}
        if isinstance(value, dict) and "properties" in part:
            yield from differences(part, value, like, where)
        elif isinstance(value, dict) and "kind" in value:
            if value["kind"] != short["kind"]:
                yield where, default, value
            options = [followed(one) for one in part.get("oneOf", ())]
            for one in options:
                if one.get("properties", {}).get("kind", {}).get("const") == value["kind"]:
                    yield from differences(one, value, like, where, short)
        elif value != default and value != in_bytes(default):
            yield where, default, value


@pytest.mark.parametrize("like", LIKES)
def test_an_empty_file_of_each_host_resolves_to_the_schema(like):
    """The schema leaves only `verdict` open, because the congestion control decides it."""
    found = list(differences(bp.schema()["$defs"]["Tcp"], tcp(like), like, "tcp"))
    assert found == [("tcp.verdict", None, {"kind": "always-congestion"})]


def test_the_default_of_the_schema_is_that_of_a_file_without_a_host():
    found = list(differences(bp.schema()["$defs"]["Tcp"], tcp(), None, "tcp"))
    assert found == [("tcp.verdict", None, {"kind": "always-congestion"})]
    properties = bp.schema()["$defs"]["Tcp"]["properties"]
    assert (properties["timestamps"]["default"], properties["timestamps"]["x-origin"]) == (
        True,
        "linux-6: tcp_timestamps = 1",
    )


def test_hosts_whose_defaults_depend_on_other_keys_state_them():
    """A file that meets a condition has the default of this condition. Other files have the last default."""
    properties = bp.schema()["$defs"]["Tcp"]["properties"]
    for key, like, more, place in (
        ("slow_start", "linux-6", 'cc = "reno"', -1),
        ("slow_start", "windows-11", 'cc = "vegas"', -1),
        ("smss", "linux-6", "timestamps = false", -1),
        ("smss", "rfc", "timestamps = true", 0),
        ("grow_on_exit", "ns-2", 'cc = "sack"', 0),
        ("recovery", "ns-2", 'cc = "sack"', 0),
    ):
        other = properties[key]["x-defaults"][like]["otherwise"][place]["default"]
        value = tcp(like, more)[key]
        assert other in (value, value["kind"] if isinstance(value, dict) else None) or other == value, (key, like)
    limit = bp.schema()["$defs"]["AutoBuffer"]["properties"]["limit"]["x-defaults"]["linux-6"]["otherwise"][0]
    raised = tcp("linux-6", 'buffers = "raised"')["auto_buffer"]["limit"]
    assert (limit["when"], limit["default"]) == ('`buffers = "raised"`', raised)


def test_the_python_types_state_the_default_of_the_schema():
    for name, cls in (("Tcp", types.Tcp), ("Rto", types.Rto), ("Ack", types.Ack)):
        for key, node in bp.schema()["$defs"][name]["properties"].items():
            default = followed(node).get("default")
            if default is None or isinstance(default, dict):
                continue
            text = re.search(rf"(?m)^ +{key} :\n +(.*)$", cls.__doc__)
            assert f" Default: {json.dumps(default, ensure_ascii=False)}" in text[1], (name, key)
    assert "Default: 0.05; 0.0 (rfc, ns-2, windows-11, freebsd-14)" in senders.CcCubic.__doc__


@pytest.mark.parametrize(("page", "name"), [("tcp", "Tcp"), ("rto", "Rto"), ("ack", "Ack")])
def test_the_reference_has_the_default_of_each_host(page, name):
    text = (ROOT / "docs" / "reference" / "scenario" / f"{page}.md").read_text()
    entries = {head: entry for head, _, entry in (part.partition("\n") for part in text.split("\n## ")[1:])}
    for key, node in bp.schema()["$defs"][name]["properties"].items():
        found = re.findall(r"^    - ([^:]*):(.*(?:\n        - .*)*)", entries[key].split("\n\n")[1], re.MULTILINE)
        said = {like: text for names, text in found for like in re.findall(r"`([\w-]+)`", names)}
        of_hosts = node.get("x-defaults", {})
        assert not of_hosts or sorted(said) == sorted(LIKES), key
        for like, of in of_hosts.items():
            shown = of["default"]
            assert isinstance(shown, dict) or f"`{json.dumps(shown)}`" in said[like], (key, like)
            assert of.get("x-origin", "").removeprefix(f"{like}: ").removeprefix("linux-6-paced: ") in said[like]


def test_the_form_of_the_studio_shows_a_value_and_its_source_of_one_host():
    """Each default has the source of its host, with or without `like`, and also if the text sets the key."""
    from bentpipe.studio.page import fields

    def shown(more):
        text = EMPTY + more
        found = (field for group in fields.groups(text, bp.loads(text)) for field in group.fields)
        return {field.key: field for field in found}

    for more, prefix in (("", "tcp"), ('[flow.f.tcp]\nlike = "linux-6"\n[tcp]\nlike = "rfc"\n', "flow.f.tcp")):
        found = shown(more)
        assert found[f"{prefix}.timestamps"].default == "true"
        assert found[f"{prefix}.timestamps"].meaning.endswith("Source of the default: linux-6: tcp_timestamps = 1.")
        assert found[f"{prefix}.rto.min"].default == "200 ms"
        assert found[f"{prefix}.rto.min"].meaning.endswith("Source of the default: linux-6: TCP_RTO_MIN.")
    found = shown('[tcp]\nlike = "rfc"\n')
    assert (found["tcp.give_up"].default, found["tcp.ack.quick"].default) == ("100 s", "0")
    assert "RFC 1122" in found["tcp.give_up"].meaning
    assert "linux" not in found["tcp.give_up"].meaning
    found = shown('[tcp]\nrto.min = "1 s"\ncc = "reno"\nbuffers = "raised"\n')
    assert (found["tcp.rto.min"].value, found["tcp.rto.min"].default) == ("1 s", "200 ms")
    assert (found["tcp.slow_start"].default, found["tcp.cc"].default) == ("standard", "cubic")
    assert "RFC 5681" in found["tcp.slow_start"].meaning
    assert found["tcp.auto_buffer.limit"].meaning.endswith("the largest receive buffer raised to 64 MiB.")
