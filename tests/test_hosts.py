"""Each value of the preset of Linux has a conformance case that fails with another value, or a reason."""

from __future__ import annotations

import pytest

from bentpipe import _core
from validation import hosts, kept


@pytest.fixture(scope="module")
def cases():
    """Cases of the preset, which hold."""
    found = hosts.cases()
    assert len(found) >= 40
    assert [title for title, text in found if hosts.differs(text)] == []
    return found


@pytest.mark.parametrize("key", [key for key, *_ in hosts.rows("linux-6")])
def test_a_wrong_value_of_linux_fails(key, cases):
    assert key in {*hosts.OTHER, *hosts.PARTS}, "expected another value in validation/hosts.py"
    assert bool(hosts.held(key, cases)) != (key in hosts.REASONS)


def test_other_values_are_read():
    """Each other value can be read, and differs from the value of the preset."""
    values = {key: value for key, value, _ in hosts.rows("linux-6")}
    for key, other in hosts.OTHER.items():
        _core.drill((f'= RFC 9293 §3.1  x\nlike = "linux-6"\n{key} = {other}\n+0 nothing\n', None), False)
        assert values[key] != other


def test_each_value_that_the_schema_declares_for_linux_is_a_row():
    """Also keys inside the table of a row: each needs a case."""
    values = {key: value for key, value, _ in hosts.rows("linux-6")}
    assert hosts.declare_values("linux-6").keys() <= values.keys()
    for key, (kind, other) in hosts.PARTS.items():
        table, _, part = key.rpartition(".")
        named = f'kind = "{kind}", ' if kind else ""
        script = f'= RFC 9293 §3.1  x\nlike = "linux-6"\n{table} = {{ {named}{part} = {other} }}\n+0 nothing\n'
        _core.drill((script, None), False)
        assert values[key] != other


def test_the_page_has_the_rows_of_today():
    assert list(kept.load("hosts")["rows"]) == [key for key, *_ in hosts.rows("linux-6")]
