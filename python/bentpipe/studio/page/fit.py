"""The panel Fit: the files of a measurement with their contents in numbers, the fitted path, and its check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from bentpipe.errors import BentpipeError
from bentpipe.studio.guard import UPLOAD_MAX
from bentpipe.studio.page.experiment import Experiment, add_table

if TYPE_CHECKING:
    from pathlib import Path

    from nicegui.events import MultiUploadEventArguments

KINDS = ("ping", "fping", "irtt", "flent", "iperf3", "ss", "dish", "csv", "pcap")
MEASURED, SIMULATED = "#d55e00", "#0072b2"
ROOM = UPLOAD_MAX - (1 << 20)
"""Bytes of files sent at once, without the words between them."""
TOO_LARGE = (
    f"the files have more than {ROOM >> 20} MiB\n  put them into the folder of the studio, and choose them below"
)


class Fit(Experiment):
    """The panel of measurements."""

    kind = "fit"
    action = "Fit"

    def settings(self) -> None:
        """Files, and the options of `bentpipe fit`."""
        self.files: list[str] = []
        self._place: Path | None = None
        self.drop = ui.upload(
            label="Drop files of one path here: pings, transfers, captures",
            multiple=True,
            auto_upload=True,
            max_total_size=ROOM,
            on_multi_upload=self._take,
            on_rejected=lambda: self.session.notify(TOO_LARGE, "negative"),
        )
        self.drop.props('flat bordered hide-upload-btn aria-label="Files of a measurement"').classes("page-drop")
        self.drop.mark("drop")
        self.listed = ui.row().classes("page-files").props('role="list" aria-label="Files to fit"')
        there = ui.select(
            self.session.studio.folder.list_measurements(), label="Add a file of the folder", with_input=True
        )
        there.props("dense outlined options-dense").classes("page-medium").mark("there")
        there.on_value_change(lambda event: self._add(str(event.value or "")))
        self.file_kind = self._add_choice("Kind", {"": "by content", **{each: each for each in KINDS}})
        ways = {"forward": "to the terminal", "reverse": "from the terminal"}
        self.direction = self._add_choice("Transfers", ways)
        networks = {"": "search slots", "starlink": "slots of Starlink", "none": "no slots"}
        self.network = self._add_choice("Network", networks)
        self.period = self._add_text("Length of slots", "15s")
        self.interval = self._add_text("Between pings", "10ms")
        self.columns = self._add_text("Columns of a CSV", "lag=rtt:ms, when=send:s", width="page-medium")
        self.save = self._add_text("Save as", "path.toml", value="path.toml").mark("save-fit")

    def _add_choice(self, label: str, known: dict[str, str]) -> ui.select:
        field = ui.select(known, value=next(iter(known)), label=label).props("dense outlined options-dense")
        return field.classes("page-middle")

    def _add_text(self, label: str, example: str, *, value: str = "", width: str = "page-middle") -> ui.input:
        return ui.input(label, value=value, placeholder=example).props("dense outlined").classes(width).mark(label)

    def sampling(self) -> None:
        """Add no field: a fit has no replications."""

    async def _take(self, event: MultiUploadEventArguments) -> None:
        """Keep the files that were dropped, all in one folder."""
        folder = self.session.studio.folder
        try:
            if self._place is None or not self._place.is_dir():
                self._place = folder.new_measurement()
            for file in event.files:
                place = folder.inside(f"{self._place.relative_to(folder.path).as_posix()}/{file.name}")
                if place.parent != self._place:
                    raise BentpipeError(f"{file.name!r} does not name a file\n  expected the name of a measurement")
                await file.save(place)
                self._add(place.relative_to(folder.path).as_posix())
        except BentpipeError as error:
            self.session.notify(str(error), "negative")
        except OSError as error:
            self.session.notify(f"a file cannot be written: {error.strerror or error}", "negative")
        self.drop.reset()

    def _add(self, name: str) -> None:
        if name and name not in self.files:
            self.files.append(name)
        self._list()

    def _remove(self, name: str) -> None:
        self.files.remove(name)
        self._list()

    def _list(self) -> None:
        self.listed.clear()
        with self.listed:
            for name in self.files:
                with ui.row().classes("page-chip").props('role="listitem"').mark("measurement"):
                    shown = name.rpartition("/")[2]
                    ui.label(shown)
                    remove = ui.button(icon="close", on_click=lambda _, name=name: self._remove(name))
                    remove.props(f'flat dense round size=sm aria-label="Remove {shown}"')

    def options(self) -> dict[str, Any]:
        """Arguments of `bentpipe.fit`, without those that have their default."""
        columns = {}
        for each in filter(None, (part.strip() for part in str(self.columns.value or "").split(","))):
            name, _, unit = each.partition("=")
            if not (name and unit):
                expected = "expected NAME=UNIT or NAME=MEANING:UNIT, such as lag=rtt:ms"
                raise BentpipeError(f"columns {each}\n  {expected}")
            columns[name] = unit
        given = {
            "kind": self.file_kind.value,
            "direction": self.direction.value if self.direction.value != "forward" else "",
            "network": self.network.value,
            "period": str(self.period.value or "").strip(),
            "interval": str(self.interval.value or "").strip(),
            "columns": columns,
        }
        return {name: value for name, value in given.items() if value}

    def start(self) -> None:
        """Put the fit into the queue."""
        session, folder = self.session, self.session.studio.folder
        try:
            options, save = self.options(), str(self.save.value or "").strip()
            if not self.files:
                raise BentpipeError("no measurement\n  expected one file or more: drop them here")
            if save:
                folder.inside(save)
        except BentpipeError as error:
            self.clear()
            self.state.text = folder.show_error(error)
            session.notify(str(error), "negative")
            return
        self.clear()
        request = {"folder": str(folder.path), "files": list(self.files), "options": options, "save": save}
        title = ", ".join(name.rpartition("/")[2] for name in self.files)
        self.job = session.submit(self.kind, title[:80], request)
        self._follow()

    def drawing(self, found: dict[str, Any]) -> dict[str, Any] | None:
        """Quantiles of the round trips, measured and simulated; none without probes."""
        curves = found["curves"]
        if not curves:
            return None
        looks = {"measured": MEASURED, "simulated": SIMULATED}
        return {
            "animation": False,
            "aria": {"enabled": True},
            "title": {"text": "Round trips up to this time (%)", "left": 0, "top": 0, "textStyle": {"fontSize": 13}},
            "legend": {"top": 26, "left": 0},
            "grid": {"left": 8, "right": 24, "top": 56, "bottom": 26, "containLabel": True},
            "tooltip": {"trigger": "axis", "confine": True},
            "xAxis": {"type": "value", "scale": True, "name": "ms", "nameLocation": "middle", "nameGap": 24},
            "yAxis": {"type": "value", "min": 0, "max": 100},
            "series": [
                {
                    "type": "line",
                    "name": name,
                    "symbol": "none",
                    "data": [[round(value, 4), 100 * at / (len(values) - 1)] for at, value in enumerate(values)],
                    "lineStyle": {"color": looks[name], "type": "solid" if name == "measured" else "dashed"},
                    "itemStyle": {"color": looks[name]},
                }
                for name, values in curves.items()
            ],
        }

    def show(self, found: dict[str, Any] | None) -> None:
        """Show what was read from each file, the numbers of the path, the check, and the scenario."""
        super().show(found)
        self.place.set_visibility(found is None or bool(found["curves"]))
        if found is None:
            return
        with self.statements:
            if found["save"]:
                ui.button(
                    f"Open {found['save']} and run it", icon="play_arrow", on_click=lambda: self._open(found["save"])
                ).props("dense no-caps outline").mark("open-fit")
            add_table(("file", "kind", "samples", "span", "remarks"), found["files"], "files", texts=True)
            add_table(("path", "value", "", "how"), found["numbers"], "numbers", texts=True)
            if found["check"]:
                add_table(("check", "measured", "simulated", "verdict"), found["check"], "check", texts=True)
            with ui.expansion("Text of the scenario").classes("page-group"):
                ui.label(found["scenario"]).classes("page-code page-version").mark("scenario-text")

    def _open(self, name: str) -> None:
        """Open the path in the editor, and run it."""
        try:
            self.session.open(name)
        except BentpipeError as error:
            self.session.notify(str(error), "negative")
            return
        self.session.start_run()
