"""Lessons: a text of steps beside the page. Each step sets values of a bundled scenario, the handle and the zoom.

A lesson is a Markdown file of this folder. It begins with a title and a block of TOML. `scenario` is the name of a
bundled scenario, and `own` a class of this folder that the steps may name. `alike` is a built-in congestion control
with settings that act as the class does. Each step is a heading with its own block: `t`, `from` and `to` in seconds,
and the table `set` of keys and values over the scenario.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.scenario.editing import edit_text
from bentpipe.scenario.scenario import shipped_text
from bentpipe.scenario.writing import literals

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent
_PART = re.compile(r"^#{1,2} ([^\n]+)\n\n```toml\n(.*?)```\n", re.MULTILINE | re.DOTALL)
"""A heading with its block."""


@dataclass(frozen=True)
class Step:
    """One step of a lesson.

    Attributes
    ----------
    title : str
    text : str
        Markdown.
    t, start, end : float
        The handle and the visible part, in seconds. An `end` of 0 is that of the run.
    sets : dict
        Key to value, over the bundled scenario.
    """

    title: str
    text: str
    t: float
    start: float
    end: float
    sets: Mapping[str, Any]


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    Attributes
    ----------
    name, title : str
    scenario : str
        Name of the bundled scenario.
    about : str
        Markdown before the first step.
    steps : tuple of Step
    own : str
        `FILE.py:CLASS` of a custom class that steps name, or nothing.
    alike : str
        TOML of a congestion control for pages without Python that acts as this class, or nothing.
    """

    name: str
    title: str
    scenario: str
    about: str
    steps: tuple[Step, ...]
    own: str
    alike: str = ""

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The text of the scenario in each step, as a file has it."""
        return tuple(self._edit_text(step) for step in self.steps)

    @property
    def texts_without_python(self) -> tuple[str, ...]:
        """The texts with the built-in congestion control in place of the custom class."""
        name = self.own.rpartition(":")[2]
        return tuple(text.replace(f'"{name}"', self.alike) for text in self.texts) if self.own else self.texts

    def _edit_text(self, step: Step) -> str:
        text = shipped_text(self.scenario)
        for key, literal in literals(step.sets, {}):
            text = edit_text(text, key, literal)
        return text


def names() -> list[str]:
    """The names of all lessons, in their order."""
    return [path.stem[2:] for path in sorted(FOLDER.glob("*.md"))]


def lesson(name: str) -> Lesson:
    """A lesson by its name.

    Raises
    ------
    BentpipeError
        There is none.
    """
    known = {path.stem[2:]: path for path in sorted(FOLDER.glob("*.md"))}
    if name not in known:
        raise BentpipeError(unknown(name, "a lesson", known))
    # Title, block and text of each part, behind what is before the first one.
    _, *parts = _PART.split(known[name].read_text(encoding="utf-8"))
    whole, *steps = [
        (title, tomllib.loads(block), text.strip()) for title, block, text in zip(*[iter(parts)] * 3, strict=True)
    ]
    title, facts, about = whole
    own = str(FOLDER / facts["own"]) if "own" in facts else ""
    return Lesson(
        name, title, facts["scenario"], about, tuple(_step(*each) for each in steps), own, facts.get("alike", "")
    )


def _step(title: str, facts: Mapping[str, Any], text: str) -> Step:
    return Step(title, text, facts.get("t", 0.0), facts.get("from", 0.0), facts.get("to", 0.0), facts.get("set", {}))
