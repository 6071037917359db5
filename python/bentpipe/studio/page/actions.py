"""Actions of the bar on the run that is shown: pin, share, export, present, colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from bentpipe.studio.page.command import run_command

if TYPE_CHECKING:
    from bentpipe.studio.page.session import Session
    from bentpipe.studio.page.view import View

FORMS = {"SVG": "svg", "PDF": "pdf", "PNG": "png"}
SCHEMES = {"auto": "brightness_auto", "dark": "dark_mode", "light": "light_mode"}


class Actions:
    """The buttons on the right of the bar."""

    def __init__(self, session: Session, view: View) -> None:
        self._session, self._view, self._scheme = session, view, "auto"
        self._pin = _button("Pin", "push_pin", self._toggle_pin).mark("pin")
        self._share = _button("Share", "ios_share", self._share_run).mark("share")
        self._export = _button("Export", "image", None).mark("export")
        with self._export, ui.menu():
            for title, form in FORMS.items():
                ui.menu_item(f"Figure of the visible part, {title}", lambda form=form: self._figure(form)).mark(form)
            ui.menu_item("Globe, SVG", lambda: view.call("picture", "globe"))
            ui.separator()
            ui.menu_item("Copy the command of this run", self._copy)
        _button("Present", "present_to_all", self._present).classes("page-kept").mark("present")
        self._colours = ui.button(icon=SCHEMES["auto"], on_click=self._next_scheme)
        self._colours.props('flat dense round aria-label="Colours: as the system"').mark("colours")
        session.on("run", self._show)
        session.on("pin", self._show)
        session.on("opened", self._show)
        self._show()

    def _show(self) -> None:
        session = self._session
        for button in (self._pin, self._share, self._export):
            button.set_enabled(bool(session.run))
        self._pin.text = "Unpin" if session.run in session.pins else "Pin"

    def _present(self) -> None:
        self._session.tell("view-run")
        self._view.call("present")

    def _toggle_pin(self) -> None:
        if self._has_run():
            self._session.turn_pin(self._session.run)

    def _has_run(self) -> bool:
        """Whether the run that is shown is still there."""
        self._session.leave_removed()
        return bool(self._session.run)

    def _share_run(self) -> None:
        if not self._has_run():
            return
        ui.notify("The file is being made.", type="ongoing", timeout=3000)
        pins = [run for run in self._session.pins if run != self._session.run]
        self._view.call("download", "share", {"pin": ",".join(pins)} if pins else {})

    def _figure(self, form: str) -> None:
        if self._has_run():
            self._view.call("download", "figure", {"form": form, "visible": True})
            self._copy()

    def _copy(self) -> None:
        if not self._has_run():
            return
        command = run_command(self._session, self._session.run)
        ui.clipboard.write(command)
        ui.notify(f"The command is in the clipboard: {command}", type="info", multi_line=True)

    def _next_scheme(self) -> None:
        names = list(SCHEMES)
        self._scheme = names[(names.index(self._scheme) + 1) % len(names)]
        self._colours.props(f'icon={SCHEMES[self._scheme]} aria-label="Colours: {self._scheme}"')
        self._view.call("scheme", self._scheme)


def _button(title: str, icon: str, action: object) -> ui.button:
    return ui.button(title, icon=icon, on_click=action).props("flat dense no-caps")  # type: ignore[arg-type]
