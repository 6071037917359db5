"""Tables: flows, links, losses and transfers of the run that is shown, with the meaning of each column on hover."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nicegui import background_tasks, ui

from bentpipe.catalog import OF_OBJECTS, dictionary
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from bentpipe.studio.page.session import Session
    from bentpipe.studio.page.view import View

TABLES = (*OF_OBJECTS, "summary")
TIMED = ("transfers",)
"""Tables whose rows have a time in the run."""
SHORT = "({value}) => (typeof value === 'number' && !Number.isInteger(value) && String(+value.toPrecision(6))) || value"
"""Shows six digits; the saved result has all."""
ROWS_MAX = 2000
"""Rows of a table on the page; the saved result has all."""


class Tables:
    """One table at a time."""

    def __init__(self, session: Session, view: View) -> None:
        self._session, self._view = session, view
        with ui.element("div").classes("page-experiment"):
            self._name = ui.toggle(list(TABLES), value="flows", on_change=self._load).props("dense no-caps unelevated")
            self._said = ui.label().classes("page-hint").props('role="status"')
            self._place = ui.element("div").classes("page-grid")
        session.on("run", self._load)
        self._load()

    def _load(self) -> None:
        run, name = self._session.run, str(self._name.value)
        if not run:
            self._place.clear()
            self._said.text = "Run the scenario, or open a run from the library."
            return
        background_tasks.create(self._show(run, name), name="table of a run")

    async def _show(self, run: str, name: str) -> None:
        folder = self._session.studio.folder

        def read() -> tuple[list[dict[str, Any]], int]:
            from bentpipe.experiment.single.run_result import RunResult

            table = getattr(RunResult.load(folder.run(run)), name)
            return table.head(ROWS_MAX).to_dicts(), table.height

        try:
            rows, count = await asyncio.to_thread(read)
        except BentpipeError as error:
            self._said.text = folder.show_error(error)
            return
        if (run, name) != (self._session.run, self._name.value):
            return
        said = [f"{count} row{'s' * (count != 1)}", *([f"{ROWS_MAX} shown"] if count > ROWS_MAX else [])]
        self._said.text = ", ".join([*said, *(["a click on a row shows it in the plots"] if name in TIMED else [])])
        self._place.clear()
        with self._place:
            options = {"columnDefs": columns(name), "rowData": rows, "enableBrowserTooltips": True}
            grid = ui.aggrid(options, auto_size_columns=False).classes("page-aggrid").mark("table")
            if name in TIMED:
                grid.on("cellClicked", lambda event: self.open(run, event.args["data"]), args=["data"])

    def open(self, run: str, row: dict[str, Any]) -> None:
        """Show the time of a transfer in the plots."""
        start, long = row["start_s"], row.get("duration_s")
        margin = 0.05 * (long or 0.0)
        end = start + long + margin if long else None
        self._session.tell("view-run")
        self._view.call("moment", run, {"flow": row["flow"], "t": start, "from": max(0.0, start - margin), "to": end})


def columns(name: str) -> list[dict[str, Any]]:
    """The columns of a table for the grid: the unit and the meaning are on hover."""
    return [
        {
            "field": each["name"],
            "headerName": each["name"],
            "headerTooltip": f"{each['meaning']} ({each['unit']})" if each["unit"] else each["meaning"],
            "sortable": True,
            "filter": True,
            "resizable": True,
            "width": max(110, 68 + 8 * len(each["name"])),
            "cellDataType": False,
            ":valueFormatter": SHORT,
        }
        for each in dictionary()[name]
    ]
