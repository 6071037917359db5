"""Library: bundled scenarios, scenarios of the folder, and runs, stores and reports in it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import background_tasks, ui

from bentpipe.errors import BentpipeError
from bentpipe.scenario.scenario import list_bundled
from bentpipe.studio.page.origin import describe_origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from bentpipe.studio.page.session import Session


class Library:
    """The lists. `shown` is called with the kind of a result, and the result."""

    def __init__(self, session: Session, shown: Callable[[str, dict[str, Any]], object]) -> None:
        self._session, self._shown = session, shown
        self._listed: tuple[Any, ...] = ()
        with ui.element("div").classes("page-library"):
            with ui.row():
                ui.label("In this folder").classes("page-strong")
                ui.button("Refresh", on_click=self.refresh).props("flat dense no-caps")
            self._own = ui.column().classes("page-list")
            ui.label("Bundled scenarios").classes("page-strong")
            with ui.element("div").classes("page-cards"):
                for name, title in list_bundled().items():
                    self._card(name, title)
        session.on("run", self.refresh)
        session.on("saved", self.refresh)
        self.refresh()

    def _card(self, name: str, title: str) -> None:
        with ui.element("button").classes("page-card").props("type=button").mark(f"card-{name}") as card:
            # Drawn by the server when it becomes visible.
            ui.element("img").props(f'src="api/thumbnail/{name}" alt="" loading=lazy width=160 height=90')
            ui.label(name).classes("page-strong")
            ui.label(title)
        card.on("click", lambda: self._do(partial(self._session.open, name)))

    def refresh(self) -> None:
        """Read the folder again."""
        session, folder = self._session, self._session.studio.folder
        runs = [(run, folder.about(run)) for run in folder.runs()]
        listed = scenarios, runs, stores, reports = folder.scenarios(), runs, folder.stores(), folder.reports()
        if listed == self._listed:
            # A button that is replaced loses a click that is under way.
            return
        self._listed = listed
        self._own.clear()
        with self._own:
            for name in scenarios:
                with ui.row().classes("page-entry"):
                    ui.label(name)
                    self._button("Open", partial(session.open, name))
            for run, about in runs:
                self._run(run, about)
            for name, title in stores:
                with ui.row().classes("page-entry"):
                    ui.label(f"{name}: {title}")
                    ui.button("Open", on_click=lambda name=name: self.open_store(name)).props(
                        "flat dense no-caps"
                    ).mark("open-store")
            for name in reports:
                with ui.row().classes("page-entry"):
                    ui.label(f"{name}: report")
                    ui.link("Open", f"api/report?name={quote(name)}", new_tab=True).classes("page-link").mark("report")
            if not (scenarios or runs or stores or reports):
                ui.label("Nothing yet.")

    def _run(self, run: str, about: dict[str, Any]) -> None:
        session = self._session
        with ui.row().classes("page-entry").mark("run-entry"):
            ui.label(describe_origin(about) if about else run).tooltip(f"{run}: {about.get('stop', '')}")
            self._button("Show", lambda: self._show(run))
            self._button("Pin", lambda: session.turn_pin(run))

    def _show(self, run: str) -> None:
        self._session.show(run)
        self._session.tell("view-run")

    def _button(self, title: str, action: Callable[[], object]) -> None:
        ui.button(title, on_click=lambda: self._do(action)).props("flat dense no-caps")

    def _do(self, action: Callable[[], object]) -> None:
        try:
            action()
        except BentpipeError as error:
            self._session.notify(str(error), "negative")

    def open_store(self, name: str) -> None:
        """Open a saved run, a comparison, or the store of a sweep."""
        background_tasks.create(self._open_store(name), name="open a store")

    async def _open_store(self, name: str) -> None:
        session = self._session
        try:
            kind, found = await asyncio.to_thread(open_result, session, name)
        except BentpipeError as error:
            session.notify(str(error), "negative")
            return
        if kind == "run":
            self._show(found["run"])
        else:
            self._shown(kind, found)


def open_result(session: Session, name: str) -> tuple[str, dict[str, Any]]:
    """The result in a folder: `run` with its name, or `compare`, `sweep` or `tune` with the data of its panel.

    Raises
    ------
    BentpipeError
        The folder has no result, or that of another version, or a damaged one.
    """
    from bentpipe.experiment.results.comparison import Comparison
    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.studio import worker

    folder = session.studio.folder
    place = folder.inside(name)
    if folder.form(name) == "bentpipe run":
        return "run", {"run": folder.take(name)}
    verb = Sweep.find_verb(place)
    if verb == "compare":
        return "compare", worker.describe_comparison(Comparison.load(place))
    if verb == "tune":
        from bentpipe.tuning.result import Tuning

        return "tune", worker.describe_search(Tuning.load(place))
    # The library reports other folders.
    return "sweep", worker.swept(Sweep.load(place))
