"""The common part of the panels of experiments: their job, its state in words, and its statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from nicegui import ui

from bentpipe.errors import BentpipeError
from bentpipe.metric import METRICS, list_table_metrics
from bentpipe.statistics.judgement import MARGIN_USUAL
from bentpipe.studio.page.bar import write_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.studio.jobs import Job
    from bentpipe.studio.page.session import Session

REPLICATIONS_MAX = 1000


class Experiment(ABC):
    """A panel that starts an experiment and shows its result while it grows."""

    kind: str
    action: str = "Start"
    """Title of the button that starts it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.job: Job | None = None
        self.found: dict[str, Any] | None = None
        with ui.element("div").classes("page-experiment"):
            with ui.row().classes("page-settings"):
                self.settings()
                self.sampling()
                ui.button(self.action, icon="play_arrow", on_click=self.start).props("dense no-caps unelevated").mark(
                    f"start-{self.kind}"
                )
            self.state = ui.label().props('role="status"').classes("page-hint").mark(f"state-{self.kind}")
            self.place = ui.element("div").classes("page-chart")
            self.chart: ui.echart | None = None
            self.statements = ui.column().classes("page-statements")
        session.on("jobs", self._follow)
        session.on("scheme", self._repaint)

    @abstractmethod
    def settings(self) -> None:
        """Add the fields that only this kind has."""

    def sampling(self) -> None:
        """Add the fields of replications and metric."""
        # With a range, NiceGUI would silently replace what is entered outside of it.
        self.replications = ui.number("Replications", value=5).props("dense outlined").classes("page-narrow")
        self.margin = ui.input("Margin", value=MARGIN_USUAL).props("dense outlined").classes("page-narrow")
        self.margin.tooltip("The smallest difference that matters: 1%, or 0.2 Mbit/s. Less is a tie.").mark(
            f"margin-{self.kind}"
        )
        self.metric = ui.select(metrics(), value="goodput", label="Metric", with_input=True)
        self.metric.props("dense outlined options-dense").classes("page-grow")

    def collect_arguments(self) -> dict[str, Any]:
        """Arguments of the library's verb for replications and metric.

        Raises
        ------
        BentpipeError
            The replications are not a whole number in their range.
        """
        count = self.replications.value
        if count not in range(1, REPLICATIONS_MAX + 1):
            entered = "is empty" if count is None else f"= {count:.12g}"
            raise BentpipeError(f"replications {entered}\n  expected a whole number from 1 to {REPLICATIONS_MAX}")
        return {
            "replications": int(count),
            "metric": [str(self.metric.value)],
            "margin": str(self.margin.value or "").strip() or None,
        }

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Arguments of the library's verb.

        Raises
        ------
        BentpipeError
            A field makes no sense.
        """

    @abstractmethod
    def drawing(self, found: dict[str, Any]) -> dict[str, Any] | None:
        """The options of the chart; None if the result has none."""

    def handle_click(self, index: int) -> None:
        """React to a click at a mark of the chart; by default, a click does nothing."""
        del index

    def start(self) -> None:
        """Put the experiment into the queue."""
        try:
            options = {**self.options(), **self.collect_arguments(), "jobs": max(1, self.session.studio.jobs.most)}
        except BentpipeError as error:
            self.clear()
            self.state.text = self.session.studio.folder.show_error(error)
            self.session.notify(str(error), "negative")
            return
        place = str(self.session.studio.folder.new_result())
        self.clear()
        self.job = self.session.start_job(self.kind, options=options, place=place)
        self._follow()

    def clear(self) -> None:
        """Remove the state and the result of the last experiment, which the library keeps."""
        self.job, self.state.text = None, ""
        if self.chart is not None:
            self.chart.delete()
            self.chart = None
        self.show(None)

    def _follow(self) -> None:
        job = self.job
        if job is None:
            # A page that is opened later shows what another one began.
            job = next((each for each in self.session.studio.jobs.open() if each.kind == self.kind), None)
            if job is None:
                return
            self.job = job
        error = self.session.studio.folder.show_error(job.error)
        self.state.text = error or (job.state if job.is_over else write_label(job))
        found = job.result or job.partial
        if found is not None and found is not self.found:
            self.show(found)

    def _repaint(self) -> None:
        if self.chart is not None:
            self.chart.delete()
            self.chart = None
            self.show(self.found)

    def show(self, found: dict[str, Any] | None) -> None:
        """Show a result, or a part of it."""
        self.found = found
        options = None if found is None else self.drawing(found)
        if options is not None:
            if self.chart is None:
                # ECharts is large: a page that draws none does not load it.
                with self.place:
                    self.chart = ui.echart(
                        {**options, "backgroundColor": "transparent"},
                        on_point_click=lambda event: self.handle_click(event.data_index),
                        theme=_theme(is_dark=self.session.is_dark),
                    )
                self.chart.classes("page-echart").mark(f"chart-{self.kind}")
            else:
                self.chart.options.clear()
                self.chart.options.update({**options, "backgroundColor": "transparent"})
                self.chart.update()
        self.statements.clear()
        with self.statements:
            for text in [*(found or {}).get("statements", ()), *(found or {}).get("notes", ())]:
                ui.label(text).mark("statement")
            if (found or {}).get("command"):
                ui.label(found["command"]).classes("page-code")  # type: ignore[index]


def add_table(heads: Sequence[str], rows: Sequence[Sequence[str]], name: str, *, texts: bool = False) -> None:
    """Add a table; `texts` if its columns are texts, which begin at the left."""
    with ui.element("table").classes("page-rungs page-texts" if texts else "page-rungs").mark(name):
        for tag, cells in (("th", heads), *(("td", row) for row in rows)):
            with ui.element("tr"):
                for cell in cells:
                    with ui.element(tag):
                        ui.label(cell)


def _theme(*, is_dark: bool) -> dict[str, Any]:
    """Colours of text and lines of a chart; those of data are the same on light and dark."""
    text, grid = ("#e8edf2", "#2c3742") if is_dark else ("#16202a", "#dde3e9")
    axis = {
        "axisLabel": {"color": text},
        "nameTextStyle": {"color": text},
        "axisLine": {"lineStyle": {"color": text}},
        "splitLine": {"lineStyle": {"color": [grid]}},
        "splitArea": {"areaStyle": {"color": ["transparent"]}},
    }
    words = {"textStyle": {"color": text}}
    return {**words, "title": words, "legend": words, "visualMap": words, "categoryAxis": axis, "valueAxis": axis}


def metrics() -> dict[str, str]:
    """Metrics by name, with their meanings."""
    return {
        name: metric.meaning and f"{name}: {metric.meaning}"
        for name, metric in (METRICS | list_table_metrics()).items()
    }
