"""The view over a run: mounts the scripts of the package, and tells them which run to show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nicegui import ui

from bentpipe.studio import assets

if TYPE_CHECKING:
    from bentpipe.studio.page.session import Session

OWN = "static/page.js"
PLACES = {
    "plots": "studio-plots",
    "globe": "studio-globe",
    "topology": "studio-topology",
    "passes": "studio-passes",
    "why": "studio-why",
    "strip": "studio-strip",
}
"""By script, the element that it draws in."""


def add_scripts() -> None:
    """Add scripts and styles to the head of the page. Their names are relative: the token is not in the text."""
    for name in (*assets.STYLES, "static/page.css"):
        ui.add_head_html(f'<link rel="stylesheet" href="{name}">')
    for name in (*assets.SCRIPTS, *assets.SKY_SCRIPTS, OWN):
        ui.add_head_html(f'<script defer src="{name}"></script>')


def place(of: str) -> None:
    """An element for a script."""
    ui.element("div").props(f"id={PLACES[of]}").classes("studio-view")


class View:
    """Tells the scripts what the session shows."""

    def __init__(self, session: Session) -> None:
        self._session = session
        session.on("run", self._show)
        session.on("pin", lambda: self._set(pin=session.pin or None))
        session.on("checked", self._draft)

    def _show(self) -> None:
        self._set(run=self._session.run)
        remember(run=self._session.run)

    def _draft(self) -> None:
        """Draw the network and the sky of a scenario that has not been run."""
        if not self._session.run and self._session.draft:
            self._set(run=self._session.draft)

    def _set(self, **state: Any) -> None:
        ui.context.client  # noqa: B018
        call("show", state)


def call(name: str, *given: Any) -> None:
    """Call a function of `studio.page` in the browser."""
    arguments = ", ".join(json.dumps(each) for each in given)
    ui.run_javascript(f"studio.page.{name}({arguments})")


def remember(**parameters: str) -> None:
    """Put values into the address of the page."""
    call("remember", parameters)
