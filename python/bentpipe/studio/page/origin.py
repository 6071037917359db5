"""The line above the plots that names the run, if its curves are not those of the text in the editor."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from nicegui import ui

from bentpipe.errors import BentpipeError
from bentpipe.formatting import setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.studio.page.session import Session


class Origin:
    """The line, with a button that opens the scenario of the run."""

    def __init__(self, session: Session) -> None:
        self._session, self._scenario = session, ""
        with ui.row().classes("page-origin page-hint").mark("origin") as self._row:
            self._label = ui.label()
            self._open = ui.button("Open", on_click=self._open_scenario).props("flat dense no-caps")
        self._row.set_visibility(False)
        session.on("run", self._show)
        session.on("opened", lambda: session.run or self._row.set_visibility(False))

    def _show(self) -> None:
        """Compare the text of the run with the editor. Later edits do not matter: the reader knows of them."""
        session = self._session
        about = session.studio.folder.about(session.run) if session.run else {}
        self._scenario = str(about.get("scenario", ""))
        is_other = self._scenario != session.name
        has_same_text = about.get("text") == session.text and not about.get("sets")
        self._row.set_visibility(bool(session.run) and (is_other or not has_same_text))
        self._open.set_visibility(bool(about) and is_other)
        self._open.text = f"Open {self._scenario}"
        editor = f"The editor has {session.name}." if is_other else "The editor has other values."
        self._label.text = f"Run of {describe_origin(about)}. {editor}" if about else f"A saved run. {editor}"

    def _open_scenario(self) -> None:
        session, run = self._session, self._session.run
        try:
            session.open(self._scenario)
        except BentpipeError as error:
            session.notify(str(error), "negative")
            return
        session.show(run)


def describe_origin(about: Mapping[str, Any]) -> str:
    """File, time and overrides of a run: `geo.toml, 3 Mar 14:05:09, tcp.cc = reno`."""
    when = time.strftime("%d %b %H:%M:%S", time.localtime(about.get("created_s", 0)))
    sets = [f"{key} = {setting(value)}" for key, value in about.get("sets", ())]
    return ", ".join([str(about.get("scenario", "")), when, *sets])
