"""The commands that repeat the shown run or result, for a shell and for Python."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from nicegui import ui

from bentpipe.experiment.common.commands import file_word

if TYPE_CHECKING:
    from bentpipe.studio.page.session import Session


class CommandPanel:
    """The commands, each with a button that copies it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._list = ui.column().classes("page-commands")
        for what in ("opened", "text", "saved", "run"):
            session.on(what, self._show)

    def _show(self) -> None:
        session = self._session
        self._list.clear()
        with self._list:
            if session.run:
                self._line("This run", run_command(session, session.run))
            if session.is_changed:
                ui.label("The text has changes that are not in the file: save it, and commands about it are exact.")
            name = shlex.quote(file_word(session.name))
            self._line("Run", f"bentpipe run {name}")
            self._line("Check", f"bentpipe check {name}")
            self._line("Open this page", f"bentpipe studio {name}")

    def _line(self, title: str, command: str) -> None:
        with ui.column().classes("page-command"):
            with ui.row():
                ui.label(title).classes("page-strong")
                ui.button("Copy", on_click=lambda: ui.clipboard.write(command)).props(
                    f'flat dense no-caps aria-label="Copy: {title}"'
                )
            ui.label(command).classes("page-code").mark("command")


def run_command(session: Session, run: str) -> str:
    """The command that makes a run again: of its file, or of the scenario that is kept beside the run."""
    folder = session.studio.folder
    command = folder.about(run).get("command")
    kept = (folder.runs_path / run / "scenario.toml").relative_to(folder.path)
    return str(command or f"bentpipe run {shlex.quote(kept.as_posix())}")
