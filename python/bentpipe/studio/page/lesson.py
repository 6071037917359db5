"""The panel of a lesson: the text of a step, and buttons to the steps before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

if TYPE_CHECKING:
    from bentpipe.studio.lessons import Lesson
    from bentpipe.studio.page.session import Session
    from bentpipe.studio.page.view import View


class LessonPanel:
    """One lesson. A step writes the text of the scenario, runs it, and sets the handle and the visible part."""

    def __init__(self, session: Session, view: View, lesson: Lesson) -> None:
        self._session, self._view, self._lesson, self._number = session, view, lesson, -1
        # The text is a constant of the package.
        with ui.element("article").classes("page-lesson").props(f'aria-label="Lesson: {lesson.name}"'):
            ui.markdown(f"## {lesson.title}\n\n{lesson.about}")
            self._text = ui.markdown("").mark("step").props("aria-live=polite")
            with ui.row().classes("page-tools"):
                self._back = ui.button("Back", on_click=lambda: self.show(self._number - 1)).mark("back")
                self._where = ui.label("")
                self._next = ui.button("Begin", on_click=lambda: self.show(self._number + 1)).mark("next")
                for button in (self._back, self._next):
                    button.props("flat dense no-caps")
        self._label()
        session.on("run", self._set_handle)

    def show(self, number: int) -> None:
        """Show a step, and run its scenario."""
        step = self._lesson.steps[number]
        self._number = number
        self._text.content = f"### {step.title}\n\n{step.text}"
        self._label()
        self._session.edit(self._lesson.texts[number])
        self._session.tell("opened")
        self._session.start_run()

    def _label(self) -> None:
        count = len(self._lesson.steps)
        self._where.text = f"Step {self._number + 1} of {count}" if self._number >= 0 else f"{count} steps"
        self._next.text = "Next" if self._number >= 0 else "Begin"
        self._back.set_enabled(self._number > 0)
        self._next.set_enabled(self._number < count - 1)

    def _set_handle(self) -> None:
        """Set the handle when the run of the step is there."""
        if self._number < 0 or not self._session.run or self._session.text != self._lesson.texts[self._number]:
            return
        step = self._lesson.steps[self._number]
        self._view.call("moment", self._session.run, {"t": step.t, "from": step.start, "to": step.end or None})
