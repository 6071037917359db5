"""The state of one page: the text of a scenario, its problems, the run, the pinned run, and its jobs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from nicegui import background_tasks

from bentpipe.errors import BentpipeError, Problem, ScenarioError
from bentpipe.scenario import editing
from bentpipe.studio.folders import ChangedError, Opened
from bentpipe.studio.state import PINS_MOST, split_pins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe.scenario.scenario import Scenario
    from bentpipe.studio.jobs import Job
    from bentpipe.studio.state import Studio

DEBOUNCE_S = 0.08
"""From the last change of the text to its check."""
ALWAYS = "geo"
"""The bundled scenario that a page shows if there is no other."""
DATA = "bentpipe.studio.data"
TEXT_MAX = 512 * 1024
"""Letters of a text that can be edited: the socket drops larger messages."""


class Wanted(NamedTuple):
    """The parameters in the address of a page."""

    scenario: str = ""
    run: str = ""
    pin: str = ""
    view: str = ""

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Wanted:
        """Read the parameters of the address; scripts read the times."""
        return cls(*(parameters.get(name, "")[:200] for name in cls._fields))


class _StaleError(Exception):
    """The text has changed while it was checked."""


@dataclass
class Session:
    """One page. Its panels subscribe to changes."""

    studio: Studio
    page: str
    wanted: Wanted = field(default_factory=Wanted)
    name: str = ""
    """Name of the scenario file."""
    text: str = ""
    saved: str = ""
    """The text of the file when it was read last; empty if the file was removed since."""
    mark: str = ""
    """Mark of the file's content, as in `Opened`."""
    scenario: Scenario | None = None
    """The text as a scenario, if it is valid."""
    problems: tuple[Problem, ...] = ()
    draft: str = ""
    """Name of the scenario as it is drawn before it has run: while a text is not valid, its last valid form."""
    run: str = ""
    pins: tuple[str, ...] = ()
    """Pinned runs, the oldest first."""
    is_dark: bool = False
    is_connected: Callable[[], bool] = lambda: True
    """Whether a browser shows this page now. A page stays for two minutes without one."""
    job: Job | None = None
    """The job that the page asked for last."""

    def __post_init__(self) -> None:
        self._version = 0
        self._drawn = ""
        self._others: dict[str, tuple[str, str, str]] = {}
        self._listeners: dict[str, list[Callable[[], object]]] = {}
        self._end_of_jobs = self.studio.jobs.subscribe(self._hear)
        self.notify: Callable[[str, str], object] = lambda text, kind: None

    def on(self, what: str, listener: Callable[[], object]) -> None:
        """Call a function when something has changed.

        It is one of `opened`, `text`, `checked`, `saved`, `run`, `pin`, `jobs`, `started`, `scheme`, `address` and
        `view-run`.
        """
        self._listeners.setdefault(what, []).append(listener)

    def tell(self, what: str) -> None:
        """Call all functions that subscribed to an event."""
        for listener in self._listeners.get(what, ()):
            listener()

    def close(self) -> None:
        """End the subscription; jobs go on."""
        self._end_of_jobs()
        self._version += 1

    # The text.

    @property
    def is_changed(self) -> bool:
        """Whether the text differs from the file."""
        return self.text != self.saved

    @property
    def has_unsaved(self) -> bool:
        """Whether the page has a text that would be lost if it closes. Texts of a lesson are never lost."""
        lesson = self.studio.lesson
        is_own = lesson is None or self.text not in lesson.texts
        return bool(self._others) or (self.is_changed and is_own)

    @property
    def is_fixed(self) -> bool:
        """Whether the text is too large to be edited."""
        return len(self.text) > TEXT_MAX

    def start(self) -> None:
        """Open what the address asks for: a run with its text, or a scenario."""
        run = self.wanted.run if self._is_there(self.wanted.run) else ""
        about = self.studio.folder.about(run) if run else {}
        names = [self.wanted.scenario or about.get("scenario"), self.studio.first, ALWAYS]
        for name in filter(None, names):
            try:
                self.open(name)
                break
            except BentpipeError as error:
                self.notify(str(error), "negative")
        if about.get("text") and about.get("scenario") == self.name:
            self.edit(about["text"])
            self.tell("opened")
        if run:
            self.show(run)
        if self.wanted.pin:
            self.set_pins(split_pins(self.wanted.pin))
        # A page that is loaded again, or opened later, shows the run that another one began.
        ours = [job for job in self.studio.jobs.open() if (job.kind, job.request.get("scenario")) == ("run", self.name)]
        self.job = ours[-1] if ours else None
        self.tell("jobs")

    def open(self, name: str) -> None:
        """Open a scenario file, with the unsaved changes that this page has made to it.

        Raises
        ------
        BentpipeError
            There is none, or it cannot be read.
        """
        opened = self.studio.folder.open(name)
        if self.is_changed:
            self._others[self.name] = (self.text, self.saved, self.mark)
        self._take(opened)
        if name in self._others:
            self.text, self.saved, self.mark = self._others.pop(name)
        self.scenario, self.problems, self.run = None, (), ""
        self.tell("opened")
        self.check()

    def _take(self, opened: Opened) -> None:
        self.name, self.text, self.saved, self.mark = opened.name, opened.text, opened.text, opened.mark

    def refresh(self) -> bool:
        """Read the file again, unless this page has changes to it; returns whether its text is that of the file."""
        if self.is_changed:
            return False
        try:
            there = self.studio.folder.open(self.name)
        except BentpipeError:
            # The page has the only copy.
            self.saved = ""
            self.tell("text")
            return False
        if there.text != self.text:
            self.notify(f"{self.name} was changed elsewhere: this is its new text", "info")
            self.take(there)
        self.mark = there.mark
        return True

    def edit(self, text: str) -> None:
        """Replace the text; any panel may do this."""
        if text != self.text:
            self.text = text
            self.tell("text")
            self.check()

    def check(self) -> None:
        """Check the text soon."""
        self._version += 1
        background_tasks.create(self._check(self._version), name="check of a scenario")

    async def _check(self, version: int) -> None:
        await asyncio.sleep(DEBOUNCE_S)
        if version != self._version:
            return
        text, name = self.text, self.name

        def watch(_: object) -> None:
            if version != self._version:
                raise _StaleError

        def check_text() -> tuple[Scenario | None, tuple[Problem, ...]]:
            try:
                scenario = self.studio.scenario(text, name, progress=watch)
            except ScenarioError as error:
                return None, error.problems
            return scenario, scenario.warnings

        try:
            found = await asyncio.to_thread(check_text)
        except _StaleError:
            return
        except BentpipeError as error:
            found = None, (Problem(str(error)),)
        if version == self._version:
            self.scenario, self.problems = found
            if self.scenario is not None:
                self.draft, self._drawn = self.studio.draft(self.scenario), self.name
            elif self._drawn != self.name:
                self.draft = ""
            self.tell("checked")

    @property
    def errors(self) -> list[Problem]:
        """Problems that forbid a run."""
        return [problem for problem in self.problems if problem.severity == "error"]

    def repair(self, problem: Problem) -> None:
        """Put the suggestion of a problem into the text."""
        text = editing.repair_text(self.text, problem)
        if text is not None:
            self.edit(text)
            self.tell("opened")

    def put_value(self, key: str, literal: str) -> None:
        """Write a value at a dotted key, or remove the key if the value is empty; comments stay.

        Raises
        ------
        ScenarioError
            The text is not TOML, or the key cannot be set.
        """
        text = editing.edit_text(self.text, key, literal) if literal else editing.remove_key(self.text, key)
        self.edit(text)
        self.tell("opened")

    def save(self, name: str, over: Opened | None = None) -> None:
        """Write the text into its file, or into another one.

        Parameters
        ----------
        name : str
        over : Opened, optional
            The content that is replaced; by default, the content as it was opened here.

        Raises
        ------
        ChangedError
            The file was changed elsewhere.
        BentpipeError
            It cannot be written.
        """
        mark = over.mark if over else self.mark if name == self.name else ""
        self.mark = self.studio.folder.save(name, self.text, mark)
        self.name, self.saved = name, self.text
        self.tell("saved")

    def take(self, opened: Opened) -> None:
        """Discard the text of the page, and take the text of a file."""
        self._take(opened)
        self.tell("opened")
        self.check()

    # Runs.

    def start_run(self, sets: Mapping[str, Any] | None = None) -> Job | None:
        """Run the scenario of the page, with other values at some keys."""
        job = self.start_job("run", sets=sets or {})
        if job is not None:
            self.tell("started")
        return job

    def start_job(self, kind: str, *, sets: Mapping[str, Any] | None = None, **more: Any) -> Job | None:
        """Put a job into the queue; a problem becomes a message on the page."""
        is_on_disk = self.refresh()
        if self.errors:
            self.notify("The scenario has problems: nothing was run.", "warning")
            return None
        try:
            request = self.studio.request(self.text, self.name, sets or {}, is_on_disk=is_on_disk)
            if kind == "run":
                # The server needs it for the result; the worker takes at least as long.
                background_tasks.create(asyncio.to_thread(import_module, DATA), name="load tables")
                self.studio.folder.prune(self.studio.shown)
                request["place"] = str(self.studio.folder.new_run()[1])
        except BentpipeError as error:
            self.notify(str(error), "negative")
            return None
        title = self.scenario.title if self.scenario is not None else self.name
        return self.submit(kind, title or self.name, {**request, **more})

    def submit(self, kind: str, title: str, request: Mapping[str, Any]) -> Job | None:
        """Put a job with a whole request into the queue; a problem becomes a message on the page."""
        try:
            self.job = self.studio.jobs.submit(kind, title, request, self.page)
        except BentpipeError as error:
            self.notify(str(error), "negative")
            return None
        self.tell("jobs")
        return self.job

    def _hear(self, job: Job) -> None:
        self.tell("jobs")
        if self.job is not None and job.number == self.job.number and job.is_over:
            if job.run:
                self.show(job.run)
            if job.state == "failed":
                self.notify(job.error, "negative")

    def show(self, run: str) -> None:
        """Show a run in the views; none if the name is empty."""
        self.run = run
        self.tell("run")

    def _is_there(self, run: str) -> bool:
        """Whether there is a run of this name; the reader is notified if not."""
        try:
            return bool(run and self.studio.folder.run(run))
        except BentpipeError as error:
            self.notify(str(error), "warning")
            return False

    def show_address(self, wanted: Wanted) -> None:
        """Show what an address of this page asks for: its scenario, run, pinned run and view."""
        if wanted.scenario and wanted.scenario != self.name:
            try:
                self.open(wanted.scenario)
            except BentpipeError as error:
                self.notify(str(error), "negative")
        if wanted.run != self.run:
            self.show(wanted.run if self._is_there(wanted.run) else "")
        self.set_pins(split_pins(wanted.pin))
        self.wanted = wanted
        self.tell("address")

    def leave_removed(self) -> None:
        """Show the run and the pinned runs no longer if they were removed."""
        there = tuple(filter(self._is_there, self.pins))
        if there != self.pins:
            self.pins = there
            self.tell("pin")
        if self.run and not self._is_there(self.run):
            self.draft = self.studio.draft(self.scenario) if self.scenario is not None else self.draft
            self.show("")

    def set_pins(self, runs: Sequence[str]) -> None:
        """Show these runs behind the others."""
        pins = tuple(run for run in runs if run in self.pins or self._is_there(run))
        if pins == self.pins:
            return
        changes = [(name, False) for name in self.pins if name not in pins]
        for name, is_pinned in changes + [(name, True) for name in pins if name not in self.pins]:
            try:
                self.studio.folder.pin(name, is_pinned)
            except BentpipeError as error:
                self.notify(str(error), "warning")
        self.pins = pins
        self.tell("pin")

    def turn_pin(self, run: str) -> None:
        """Pin a run, or pin it no longer."""
        if run in self.pins:
            self.set_pins([name for name in self.pins if name != run])
        elif len(self.pins) == PINS_MOST:
            self.notify(f"{PINS_MOST} runs are pinned.\nUnpin one of them in the list above the plots.", "warning")
        else:
            self.set_pins([*self.pins, run])


__all__ = ["ChangedError", "Session", "Wanted"]
