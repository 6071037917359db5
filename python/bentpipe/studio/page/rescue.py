"""Unsaved texts: kept in the folder while they are typed, and offered by the next page that opens their file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from bentpipe.errors import BentpipeError
from bentpipe.studio.page.session import TEXT_MAX

if TYPE_CHECKING:
    from nicegui.events import GenericEventArguments

    from bentpipe.studio.page.session import Session

NAMES_MAX = 20
"""Texts that a browser may send."""


class Rescue:
    """Keeps the unsaved texts of a page, and offers those of earlier pages above the text."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: set[str] = set()
        self._text = ""
        with ui.row().classes("page-offer").props('role="status"').mark("offer") as self._offer:
            self._said = ui.label().classes("page-words")
            ui.button("Show it", on_click=self._take).props("dense no-caps outline").mark("take-unsaved")
            ui.button("Discard it", on_click=self._discard).props("flat dense no-caps").mark("discard-unsaved")
        self._offer.set_visibility(False)
        session.on("checked", self._keep)
        session.on("saved", self._keep)
        session.on("opened", self.offer)
        ui.on("studio-unsaved", self._hear)

    def _keep(self) -> None:
        """Keep the text if it differs from its file. A text of this page that does not is no longer kept."""
        session, name = self._session, self._session.name
        try:
            if session.is_changed and session.has_unsaved:
                if self._offer.visible and name not in self._kept:
                    # The older text waits for a decision.
                    return
                session.studio.folder.keep_unsaved(name, session.text)
                self._kept.add(name)
            elif name in self._kept:
                session.studio.folder.drop_unsaved(name)
                self._kept.discard(name)
        except BentpipeError as error:
            session.notify(str(error), "negative")

    def _hear(self, event: GenericEventArguments) -> None:
        """Keep the texts that an earlier page of the same tab has left."""
        sent = event.args if isinstance(event.args, dict) else {}
        for name, text in list(sent.items())[:NAMES_MAX]:
            if not isinstance(text, str) or len(text) > TEXT_MAX:
                continue
            try:
                if text != self._session.studio.folder.open(str(name)).text:
                    self._session.studio.folder.keep_unsaved(str(name), text)
            except BentpipeError as error:
                self._session.notify(str(error), "negative")
        self.offer(is_of_tab=True)

    def offer(self, *, is_of_tab: bool = False) -> None:
        """Offer the kept text of the file that is open.

        A text of the same tab is of a page that is gone. Other texts are not offered while a page with a connection
        edits the file.
        """
        session = self._session
        others = (page for page in session.studio.pages.values() if page is not session and page.is_connected())
        is_elsewhere = any(page.name == session.name and page.is_changed for page in others)
        text = session.studio.folder.read_unsaved(session.name)
        is_elsewhere = is_elsewhere and not is_of_tab
        self._text = "" if text is None or is_elsewhere or text in (session.text, session.saved) else text
        self._said.text = f"An unsaved text of {session.name} is kept from an earlier page."
        self._offer.set_visibility(bool(self._text))

    def _take(self) -> None:
        text, self._text = self._text, ""
        self._offer.set_visibility(False)
        self._kept.add(self._session.name)
        self._session.edit(text)
        self._session.tell("opened")

    def _discard(self) -> None:
        self._text = ""
        self._offer.set_visibility(False)
        self._session.studio.folder.drop_unsaved(self._session.name)
        self._keep()
