"""The bar: the scenario, the progress of jobs, and the actions on what the page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from bentpipe.errors import BentpipeError
from bentpipe.progress import clock
from bentpipe.scenario.scenario import list_bundled
from bentpipe.studio.page.actions import Actions

if TYPE_CHECKING:
    from bentpipe.studio.jobs import Job
    from bentpipe.studio.page.session import Session
    from bentpipe.studio.page.view import View


class Bar:
    """The head of the page."""

    def __init__(self, session: Session, view: View) -> None:
        self._session = session
        self._rows: dict[int, JobRow] = {}
        with ui.element("header").classes("page-bar"):
            ui.html("bentpipe studio", sanitize=False, tag="h1")
            self._picker = (
                ui.select(_names(session), value=None, label="Scenario", with_input=True, on_change=self._pick)
                .props("dense options-dense outlined hide-bottom-space")
                .classes("page-picker")
                .mark("scenario")
            )
            self._jobs = ui.row().classes("page-jobs").props('role="status" aria-label="Jobs"')
            self._run = ui.button("Run", icon="play_arrow", on_click=lambda: session.start_run())
            self._run.props("dense no-caps unelevated").mark("run")
            Actions(session, view)
        session.on("opened", self._update_stop)
        session.on("saved", self._update_stop)
        session.on("checked", self._update_run)
        session.on("jobs", self._show_jobs)

    def _pick(self) -> None:
        session, name = self._session, self._picker.value
        if not name or name == session.name:
            return
        try:
            session.open(str(name))
        except BentpipeError as error:
            session.notify(str(error), "negative")
            self._picker.value = session.name

    def _update_stop(self) -> None:
        name = self._session.name
        options = _names(self._session)
        self._picker.set_options({name: name, **options} if name not in options else options, value=name)

    def _update_run(self) -> None:
        self._run.set_enabled(not self._session.errors)

    def _show_jobs(self) -> None:
        """Show the open jobs. Rows stay while their job is open: a click needs its button to stay."""
        jobs = {job.number: job for job in self._session.studio.jobs.open()}
        for number in self._rows.keys() - jobs.keys():
            self._rows.pop(number).delete()
        for number, job in jobs.items():
            if number not in self._rows:
                with self._jobs:
                    self._rows[number] = JobRow(self._session, job)
            self._rows[number].show(job)


class JobRow:
    """One open job: its progress, its state in words, and a button that stops it."""

    def __init__(self, session: Session, job: Job) -> None:
        self._row = ui.row().classes("page-job").mark("job")
        with self._row:
            self._share = ui.linear_progress(value=0.0, show_value=False)
            self._share.props(f'aria-label="Progress of {job.kind} {job.number}"')
            self._label = ui.label()
            stop = ui.button("Stop", on_click=lambda: session.studio.jobs.stop(job))
            stop.props("flat dense no-caps").mark("stop")

    def show(self, job: Job) -> None:
        """Show the progress of the job."""
        self._share.value = job.progress.get("share", 0.0)
        self._label.text = write_label(job)

    def delete(self) -> None:
        """Remove the row from the page."""
        self._row.delete()


def write_label(job: Job) -> str:
    """The state of a job in a few words: `run: simulated 12.3 s, 4 s left`."""
    if job.state == "waiting":
        return f"{job.kind}: waits"
    if job.is_told_to_stop:
        return f"{job.kind}: {'saves what there is' if job.is_saving else 'stops'}"
    left_s = job.progress.get("left_s")
    left = "" if left_s is None else f", {clock(left_s)} left"
    return f"{job.kind}: {job.progress.get('label', 'begins')}{left}"


def _names(session: Session) -> dict[str, str]:
    """Scenarios of the folder and bundled ones, by name."""
    own = {name: name for name in session.studio.folder.scenarios()}
    return own | {name: f"{name}: {title}" for name, title in list_bundled().items() if name not in own}
