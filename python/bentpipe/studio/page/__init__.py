"""The page of the studio, made with NiceGUI: layout and bar here, one module per panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import Client, app, ui

from bentpipe.studio.page.layout import lay_out
from bentpipe.studio.page.session import Session, Wanted
from bentpipe.studio.state import PAGES_MAX

if TYPE_CHECKING:
    from bentpipe.studio.state import Studio

TITLE = "bentpipe studio"


def install(studio: Studio) -> None:
    """Add the page of a studio to the application of NiceGUI."""

    @ui.page("/", title=TITLE)
    def page(client: Client) -> None:
        build(studio, client)

    # Its bar has no name for screen readers, and moves at each request of the handle.
    app.config.quasar_config["loadingBar"] = {"skipHijack": True}

    @app.exception_handler(404)
    def missing(request: object, error: object) -> object:
        from fastapi.responses import PlainTextResponse

        # NiceGUI would write the address, which has the token, to its log.
        return PlainTextResponse("there is no such page\n", status_code=404)


def build(studio: Studio, client: Client) -> Session | None:
    """Build one page; a studio that has too many gets a sentence instead."""
    left = [name for name, page in studio.pages.items() if not page.is_connected()]
    if len(studio.pages) >= PAGES_MAX and left:
        # The oldest page without a browser: it was closed or loaded again within two minutes.
        Client.instances[left[0]].delete()
    if len(studio.pages) >= PAGES_MAX:
        ui.label(f"{PAGES_MAX} pages of this studio are open. Close one of them, and load this page again.")
        return None
    session = studio.pages[client.id] = Session(studio, client.id, Wanted.from_parameters(client.request.query_params))
    session.is_connected = lambda: client.has_socket_connection
    client.on_delete(lambda: studio.pages.pop(client.id, None) and None)
    lay_out(session)
    client.on_delete(session.close)
    return session
