"""The places of the panels on the page."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from bentpipe.studio.page import view
from bentpipe.studio.page.bar import Bar
from bentpipe.studio.page.command import CommandPanel
from bentpipe.studio.page.compare import Compare
from bentpipe.studio.page.fit import Fit
from bentpipe.studio.page.form import Form
from bentpipe.studio.page.lesson import LessonPanel
from bentpipe.studio.page.library import Library
from bentpipe.studio.page.origin import Origin
from bentpipe.studio.page.rescue import Rescue
from bentpipe.studio.page.sweep import Sweep
from bentpipe.studio.page.tables import Tables
from bentpipe.studio.page.text import ProblemList, TextPanel
from bentpipe.studio.page.tune import Tune

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from nicegui.events import GenericEventArguments

    from bentpipe.studio.page.experiment import Experiment
    from bentpipe.studio.page.session import Session


def lay_out(session: Session) -> None:
    """Build the panels, and open what the address asks for."""
    view.add_scripts()
    client = ui.context.client
    scripts = view.View(session)
    with ui.element("div").classes("page-app"):
        Bar(session, scripts)
        with ui.splitter(value=23, limits=(0, 60)).classes("page-main") as outer:
            with outer.before:
                _left(session, scripts)
            with outer.after, ui.splitter(value=61, limits=(0, 100)).classes("page-fill") as inner:
                with inner.before:
                    _middle(session, scripts)
                with inner.after:
                    _right(session)
        with _section("Time", "page-bottom"):
            view.place("strip")

    def notify(text: str, kind: str) -> None:
        with client:
            shown = session.studio.folder.show_error(text)
            ui.notify(shown, type=kind, multi_line=True, close_button="Close", timeout=8000)  # type: ignore[arg-type]

    session.notify = notify
    # Text and form side by side need more room.
    ui.on("studio-wide", lambda event: outer.set_value(32 if event.args.get("isWide") else 23))
    session.start()


class Tabbed:
    """Tabs with a panel each. All panels are in the page, and one is visible: scripts find their places.

    Parameters
    ----------
    panels : mapping
        By title, the function that fills a panel.
    label : str
        Name of the tabs for screen readers.
    first : str, optional
        Title of the panel that is visible at first.
    lazy : collection of str
        Panels that are filled when they are first shown.
    changed : callable
        Called with the title of the panel that is shown.
    """

    def __init__(
        self,
        panels: Mapping[str, Callable[[], object]],
        label: str,
        *,
        first: str = "",
        lazy: Collection[str] = (),
        changed: Callable[[str], object] = lambda title: None,
    ) -> None:
        self._panels, self._changed, self._empty = panels, changed, set(panels)
        self._beside: tuple[str, ...] = ()
        self.tabs = ui.tabs(on_change=self._show).props(f'dense no-caps align=left aria-label="{label}"')
        with self.tabs.classes("page-tabs"):
            for title in panels:
                ui.tab(title)
        with ui.element("div").classes("page-panels"):
            self._places = {title: self._place(title) for title in panels}
        for title in panels:
            if title not in lazy:
                self._fill(title)
        self.show(first if first in panels else next(iter(panels)))

    def show(self, title: str) -> None:
        """Show the panel of a title."""
        self.tabs.value = title

    def beside(self, *titles: str) -> None:
        """Show some panels side by side whenever one of them is shown; none ends this."""
        self._beside = titles
        self._show()

    def _place(self, title: str) -> ui.element:
        return ui.element("div").classes("page-fill").props(f'role=tabpanel aria-label="{title}"')

    def _fill(self, title: str) -> None:
        if title in self._empty:
            self._empty.discard(title)
            with self._places[title]:
                self._panels[title]()

    def _show(self) -> None:
        title = str(self.tabs.value)
        shown = self._beside if title in self._beside else (title,)
        for name, place in self._places.items():
            place.set_visibility(name in shown)
        for name in shown:
            self._fill(name)
        self._changed(title)


@contextmanager
def _section(title: str, classes: str) -> Iterator[None]:
    """A part of the page with its heading, which only screen readers show."""
    with ui.element("section").classes(classes).props(f'aria-label="{title}"'):
        with ui.element("h2").classes("page-unseen"):
            ui.label(title)
        yield


def _left(session: Session, scripts: view.View) -> None:
    def widen(event: GenericEventArguments) -> None:
        # A wide screen has room for the text and the form.
        tabs.beside(*(("Text", "Form") if event.args.get("isWide") else ()))

    with _section("Scenario", "page-column page-left"):
        editors: list[TextPanel] = []
        lesson = session.studio.lesson
        Rescue(session)
        tabs = Tabbed(
            {
                **({"Lesson": lambda: LessonPanel(session, scripts, lesson)} if lesson is not None else {}),
                "Text": lambda: editors.append(TextPanel(session, scripts)),
                "Form": lambda: Form(session),
                "Command": lambda: CommandPanel(session),
            },
            "Scenario",
            lazy=("Form",),
        )
        ProblemList(session, editors[0])
    ui.on("studio-wide", widen)


def _middle(session: Session, scripts: view.View) -> None:
    panels: dict[str, Experiment] = {}

    def experiment(kind: type[Experiment]) -> None:
        panels[kind.kind] = kind(session)

    def show_found(kind: str, found: dict[str, Any]) -> None:
        tabs.show(kind.capitalize())
        panels[kind].show(found)

    def plots() -> None:
        Origin(session)
        view.place("plots")

    def to_run() -> None:
        tabs.show("Run")

    def show_start() -> None:
        # Tables change with the run.
        if tabs.tabs.value != "Tables":
            to_run()

    with _section("Results", "page-column"):
        tabs = Tabbed(
            {
                "Run": plots,
                "Compare": partial(experiment, Compare),
                "Sweep": partial(experiment, Sweep),
                "Tune": partial(experiment, Tune),
                "Fit": partial(experiment, Fit),
                "Tables": lambda: Tables(session, scripts),
                "Library": lambda: Library(session, show_found),
            },
            "Results",
            first=session.wanted.view.capitalize(),
            lazy=("Compare", "Sweep", "Tune", "Fit", "Tables", "Library"),
            changed=lambda title: scripts.call("show", {"view": None if title == "Run" else title.lower()}),
        )
    session.on("view-run", to_run)
    session.on("address", lambda: tabs.show(session.wanted.view.capitalize() or "Run"))
    session.on("started", show_start)


def _right(session: Session) -> None:
    with _section("Sky and reasons", "page-column page-right"):
        with ui.element("div").classes("page-sky"):
            tabs = Tabbed({title: partial(view.place, title.lower()) for title in ("Globe", "Topology")}, "Sky")
        view.place("why")
    had_sky = [True]

    def choose() -> None:
        # Without a sky, the globe is empty.
        scenario = session.scenario
        if scenario is not None and scenario.has_sky != had_sky[0]:
            had_sky[0] = scenario.has_sky
            tabs.show("Globe" if scenario.has_sky else "Topology")

    session.on("checked", choose)
