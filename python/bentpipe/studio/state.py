"""The state that all pages of a studio share: its folder, its jobs, and the custom classes of the command line."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError
from bentpipe.own import loading
from bentpipe.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.own.loading import Own
    from bentpipe.progress import Watch
    from bentpipe.scenario.writing import Sets
    from bentpipe.studio.folders import Folder
    from bentpipe.studio.jobs import Jobs
    from bentpipe.studio.lessons import Lesson
    from bentpipe.studio.page.session import Session

PAGES_MAX = 20
DRAFTS_MAX = 2 * PAGES_MAX
PINS_MOST = 4
"""Pinned runs of a page."""


@dataclass
class Studio:
    """One server.

    Attributes
    ----------
    folder : Folder
    jobs : Jobs
    first : str
        Name of the scenario that a page shows first.
    own : sequence of str
        Custom classes, as `FILE.py:CLASS`. No page can name others: scenarios contain no code.
    lesson : Lesson, optional
        The lesson whose steps are beside the page.
    """

    folder: Folder
    jobs: Jobs
    first: str = "geo"
    own: Sequence[str] = ()
    lesson: Lesson | None = None
    pages: dict[str, Session] = field(default_factory=dict)
    """The open pages by identifier."""
    drafts: OrderedDict[str, Scenario] = field(default_factory=OrderedDict)
    """By name, the valid scenarios that pages show and have not run."""

    def __post_init__(self) -> None:
        classes = [loading.load_class(each) for each in self.own]
        for text, found in zip(self.own, classes, strict=True):
            if isinstance(found, str):
                raise BentpipeError(f"{text!r} is not a custom class\n  expected FILE.py:CLASS, such as mine.py:MyCc")
        self.senders: dict[str, Own] = {loading.find_name(each): each for each in classes}

    def scenario(self, text: str, name: str, sets: Sets = (), progress: Watch | None = None) -> Scenario:
        """Check the text of a scenario file of the folder.

        Raises
        ------
        ScenarioError
            It is not valid.
        """
        return Scenario(
            text,
            form=find_form(name),
            source=name,
            sets=sets,
            folder=self.folder.inside(name).parent,
            senders=self.senders,
            progress=progress,
        )

    def scenario_of_run(self, run: str) -> Scenario:
        """The scenario of a run as it was written, with its sky, if it has one.

        Raises
        ------
        BentpipeError
            There is no such run.
        """
        about = self.folder.about(run)
        if not about:
            # Saved elsewhere and copied here: without its sky.
            text = (self.folder.run(run) / "scenario.toml").read_text(encoding="utf-8")
            return Scenario(text, senders=loading.absent(text))
        text, sets = about["text"], [*map(tuple, about["sets"])]
        return self.scenario(text, about["scenario"], sets)

    def draft(self, scenario: Scenario) -> str:
        """Keep a valid scenario for its page, and return its name."""
        content = "\0".join([scenario.source, *map(str, scenario.sets), scenario.written[0]])
        name = hashlib.sha256(content.encode()).hexdigest()[:12]
        self.drafts[name] = scenario
        self.drafts.move_to_end(name)
        while len(self.drafts) > DRAFTS_MAX:
            self.drafts.popitem(last=False)
        return name

    @property
    def shown(self) -> set[str]:
        """Runs that a page shows, or has pinned."""
        return {run for page in self.pages.values() for run in (page.run, *page.pins)}

    def request(self, text: str, name: str, sets: Sets = (), *, is_on_disk: bool) -> dict[str, Any]:
        """The part of the request to a worker that is about a scenario."""
        pairs = sets.items() if hasattr(sets, "items") else sets
        return {
            "text": text,
            "form": find_form(name),
            "scenario": name,
            "source": name,
            "folder": str(self.folder.inside(name).parent),
            "sets": [list(each) for each in pairs],
            "own": list(self.own),
            "is_on_disk": is_on_disk,
        }


def split_pins(text: str) -> list[str]:
    """Names of pinned runs, as addresses have them: each once, and the first `PINS_MOST`."""
    return [*dict.fromkeys(filter(None, text.split(",")))][:PINS_MOST]


def find_form(name: str) -> str:
    """The form of the text in a scenario file, from its name."""
    return "json" if name.endswith(".json") else "toml"
