"""The page of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import _core
from bentpipe.contract.reporter import Reporter
from bentpipe.errors import BentpipeError
from bentpipe.formatting import choice
from bentpipe.plot.style import Drawing
from bentpipe.reports.page import Code, Page, Points, Section, Tabled, Text
from bentpipe.reports.provenance import Provenance
from bentpipe.reports.tables import ROWS_MAX, Table
from bentpipe.tuning.applying import write_tuned
from bentpipe.tuning.sentences import change, headline, name_seeds, settings, statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.reports.page import Block
    from bentpipe.tuning.result import Tuning

_FIGURES = {
    "worth": "Worth of each change, alone and taken back",
    "front": "Front of compromises",
    "map": "The two keys with the largest interaction",
}


def _command(tuning: Tuning) -> str:
    try:
        return tuning.command()
    except BentpipeError:
        # The scenario or a class was given in Python.
        return ""


class TuningReporter(Reporter):
    """Builds the page of a search."""

    def __init__(self, tuning: Tuning) -> None:
        content = tuning.content
        engine = content["engine"]
        super().__init__(
            Provenance(
                title=tuning.title,
                source=content["source"],
                seeds=name_seeds(content),
                replications=f"{content['runs']['all']:,} runs",
                version=f"bentpipe {engine['version']}, results {engine['results']}",
                senders=", ".join(content["senders"]),
                command=_command(tuning),
                scenario=tuning.scenario.resolve(),
                files={"tuned.toml": write_tuned(tuning)},
                note="" if engine["results"] == _core.RESULTS else "made by another version of the simulator",
            )
        )
        self._tuning, self._content = tuning, content

    def page(self) -> Page:
        said = statements(self._content)
        self.said = said
        sections = [
            Section("Settings", list(self._settings())),
            Section("Worth of each change", list(self._pictures())),
            Section("By condition", [Tabled(self._by_condition(), "Change of each metric, and guards.")]),
            Section("The search", [Tabled(self._rungs(), "Rungs: settings, kept settings and new runs.")]),
            Section("The space", [Tabled(self._space(), "Keys with the values that were tried.")]),
            Section("Not tried", list(self._not_tried())),
        ]
        return Page(
            title=self._tuning.title,
            answer=" ".join(said),
            sections=sections,
            about=headline(self._content),
            method="Claims are one-sided t tests on seeds that the search did not use. Intervals have 95 %.",
            provenance=self.provenance,
        )

    def _settings(self) -> Iterator[Block]:
        found = settings(self._content)
        if not found:
            yield Text("Leave the settings as they are.")
            return
        yield Points(found)
        yield Code("\n".join(f"{key} = {literal}" for key, literal in self._content["recommended"]["sets"]))

    def _pictures(self) -> Iterator[Block]:
        for chart, meaning in _FIGURES.items():
            try:
                figure = self._tuning.plot(chart)
            except BentpipeError:
                # A chart without data, such as a front of one metric.
                continue
            yield self.picture(chart, Drawing(figure, []), meaning, self._tuning.title, "")

    def _by_condition(self) -> Table:
        names = [each["name"] for each in self._content["conditions"]]
        rows = [
            [
                metric,
                *("-" if each is None else f"{100 * each:+.1f} %" for each in effect["by_condition"].values()),
                change(effect),
            ]
            for metric, effect in self._content["effect"].items()
        ]
        for guard in dict.fromkeys(each["guard"] for each in self._content["guards"]):
            held = [each["holds"] for each in self._content["guards"] if each["guard"] == guard]
            rows.append([f"guard {guard}", *("holds" if each else "not shown" for each in held), ""])
        return self._table("conditions", ["metric", *names, "all"], rows)

    def _rungs(self) -> Table:
        rows = [
            [each["name"] or "search", *(str(each[name]) for name in ("blocks", "points", "kept", "runs"))]
            for each in self._content["rungs"]
        ]
        return self._table("rungs", ["step", "blocks", "settings", "kept", "runs"], rows)

    def _space(self) -> Table:
        rows = [
            [axis["key"], axis["default"], ", ".join(map(choice, axis["values"])), axis["reason"]]
            for axis in self._content["axes"]
        ]
        return self._table("space", ["key", "default", "values", "reason"], rows, texts=4)

    def _not_tried(self) -> Iterator[Block]:
        rows = [[each["what"], each["why"]] for each in self._content["not_tried"]]
        if rows:
            yield Tabled(
                self._table("not_tried", ["setting", "reason"], rows, texts=2),
                "Settings that were not tried, and the reasons.",
            )
        else:
            yield Text("Every combination of the keys and values was tried.")

    def _table(self, name: str, head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> Table:
        data: dict[str, Any] = {column: [row[at] for row in rows] for at, column in enumerate(head)}
        table = Table(name, pl.DataFrame(data), head, rows[:ROWS_MAX], texts, len(rows))
        self.tables.append(table)
        return table
