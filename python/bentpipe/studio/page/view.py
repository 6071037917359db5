"""The view over a run: mounts the scripts of the package, and sends them the run that they show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nicegui import ui

from bentpipe.studio import assets
from bentpipe.studio.page.session import Wanted

if TYPE_CHECKING:
    from nicegui.awaitable_response import AwaitableResponse
    from nicegui.events import GenericEventArguments

    from bentpipe.studio.page.session import Session

OWN = ("static/connection.js", "static/page.js")
PLACES = {name: f"studio-{name}" for name in ("plots", "globe", "topology", "why", "strip")}
"""By script, the element that it draws in."""


def add_scripts() -> None:
    """Add scripts and styles to the head of the page. Their names are relative: the token is not in the text."""
    for name in (*assets.STYLES, "static/page.css"):
        ui.add_head_html(f'<link rel="stylesheet" href="{name}">')
    for name in (*assets.SCRIPTS, *assets.SKY_SCRIPTS, *OWN):
        ui.add_head_html(f'<script defer src="{name}"></script>')


def place(of: str) -> None:
    """An element for a script."""
    ui.element("div").props(f"id={PLACES[of]}").classes("page-view")


class View:
    """Sends the state of a session to the scripts of its page."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._client = ui.context.client
        self._guarded: tuple[bool, str] | None = None
        for what in ("run", "pin", "checked", "opened"):
            session.on(what, self._show)
        for what in ("text", "saved", "opened"):
            session.on(what, self._guard)
        # The scripts begin when the page has a connection; they are loaded by then.
        self._client.on_connect(self._begin)

        ui.on("studio-dark", self._dark)
        ui.on("studio-focus", session.refresh)
        ui.on("studio-gone", session.leave_removed)
        ui.on("studio-address", self._show_address)
        ui.on("studio-unpin", self._unpin)

    def _begin(self) -> None:
        """Begin the scripts, or go on after an interruption."""
        self.call("begin", PLACES, self.state())
        self._guarded = None
        self._guard()

    def _dark(self, event: GenericEventArguments) -> None:
        self._session.is_dark = bool(event.args.get("isDark")) if isinstance(event.args, dict) else False
        self._session.tell("scheme")

    def _show_address(self, event: GenericEventArguments) -> None:
        given = event.args if isinstance(event.args, dict) else {}
        self._session.show_address(Wanted.from_parameters({name: str(value or "") for name, value in given.items()}))
        self.call("arrive")

    def _unpin(self, event: GenericEventArguments) -> None:
        run = str(event.args.get("run", "")) if isinstance(event.args, dict) else ""
        if run in self._session.pins:
            self._session.turn_pin(run)

    def _show(self) -> None:
        self.call("show", self.state())

    def _guard(self) -> None:
        guarded = self._session.has_unsaved, self._session.name
        if self._guarded != guarded:
            self._guarded = guarded
            self.call("guard", *guarded)

    def state(self) -> dict[str, str | bool | None]:
        """The state for the scripts: a run, or the network and the sky of a scenario that has not been run."""
        session = self._session
        return {
            "run": session.run or session.draft or None,
            "isDraft": not session.run,
            "pin": ",".join(session.pins) or None,
            "scenario": session.name,
        }

    def call(self, name: str, *given: Any) -> AwaitableResponse:
        """Call a function of `studio.page` in the browser."""
        arguments = ", ".join(json.dumps(each) for each in given)
        return self._client.run_javascript(f"return studio.page.{name}({arguments})")
