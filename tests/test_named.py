"""Each row of the page on names in the papers points to an existing key, name or command."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bentpipe import catalog, metric

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "papers" / "named.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| name |")
]


def is_there(token: str) -> bool:
    """Whether the program has it: `--metric NAME`, `bentpipe COMMAND`, `KEY = "VALUE"` or `TABLE.KEY`."""
    if token.startswith("--metric "):
        return bool(metric.find_metric(token.removeprefix("--metric ")))
    if token.startswith("bentpipe "):
        return (DOCS.parent / "python" / "bentpipe" / "cli" / f"{token.removeprefix('bentpipe ')}.py").exists()
    key, _, value = token.partition(" = ")
    if not value:
        table, _, key = key.partition(".")
        page = DOCS / "reference" / "scenario" / f"{table}.md"
        return f"\n## {key}\n" in page.read_text(encoding="utf-8")
    if key == "kind":
        return f"\n`{token}`" in (DOCS / "reference" / "scenario" / "node.md").read_text(encoding="utf-8")
    written = tomllib.loads(f"value = {value}")["value"]
    # A scenario accepts only a list of middleboxes.
    names = written if key == "middlebox" else [written]
    return isinstance(names, list) and {*names} <= {each["name"] for each in catalog.choices()[key]}


def test_no_page_writes_a_middlebox_as_a_scenario_refuses_it():
    for page in DOCS.rglob("*.md"):
        assert re.findall('`middlebox = "[^`]*`', page.read_text(encoding="utf-8")) == [], page


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_thing_that_the_papers_name_is_where_the_table_says_or_says_why_not(row):
    _what, by, where, outcome = row
    assert by
    tokens = re.findall("`([^`]+)`", where)
    assert [token for token in tokens if not is_there(token)] == []
    assert bool(tokens) != outcome.startswith("Left out"), "it is here, or left out with the reason"
    assert outcome


@pytest.mark.parametrize("paper", ["been", "geo", "hswa", "refwa", "timers"])
def test_verdicts_in_the_table_are_those_of_the_pages(paper):
    page = (DOCS / "papers" / f"{paper}.md").read_text(encoding="utf-8")
    judged = dict(re.findall(r"^\| \[([A-Z]+-\d+)\]\(#.*\| ([^|]+) \|$", page, re.MULTILINE))
    said = re.findall(rf"\[([A-Z]+-\d+)\]\({paper}\.md#[a-z0-9-]+\) ([a-z ]+)", PAGE)
    assert said
    for claim, verdict in said:
        assert judged[claim].startswith(verdict.split(" under ")[0].split(" by ")[0].strip()), claim
        assert (" under " in verdict) == (" under " in judged[claim]), claim
