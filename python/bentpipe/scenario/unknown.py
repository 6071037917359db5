"""Links that an override does not find: a key of an unknown name makes a new link, which lacks the rest."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from bentpipe.catalog import nearest
from bentpipe.errors import ScenarioError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from bentpipe.errors import Problem

_LACKS_AN_END = re.compile(r'link\.(?P<name>[^"]+|"[^"]+")\.(from|to)')


def with_known(error: ScenarioError, text: str, form: str) -> ScenarioError:
    """The same error; for a link that the scenario does not have, with those that it has."""
    try:
        content = json.loads(text) if form == "json" else tomllib.loads(text)
    except (ValueError, RecursionError):
        return error
    links = content.get("link") if isinstance(content, dict) else None
    if not isinstance(links, dict):
        return error
    problems: dict[str, Problem] = {}
    for each in error.problems:
        made = _made(each)
        if made is None or made in links:
            problems[str(each)] = each
        else:
            # A link that lacks both ends is one mistake.
            problems.setdefault(f"link {made}", _of_unknown(each, made, tuple(links)))
    return ScenarioError(*problems.values(), where=error.where)


def _made(problem: Problem) -> str | None:
    """The name of a link that an override has made by a key of it, without its ends."""
    found = _LACKS_AN_END.fullmatch(problem.key)
    if found is None or problem.file is not None or not problem.message.endswith(" is missing"):
        return None
    return found["name"].strip('"')


def _of_unknown(problem: Problem, name: str, known: tuple[str, ...]) -> Problem:
    return replace(
        problem,
        message=f"there is no link called {name}",
        key=f"link.{name}",
        known=known,
        expected="a new link needs from and to",
        suggestion=nearest(name, known) or "",
    )
