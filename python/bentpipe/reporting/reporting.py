"""The report of a sweep: a page, and its figures and tables as files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import human, store
from bentpipe.errors import BentpipeError
from bentpipe.metrics import METRICS
from bentpipe.plot.house import label
from bentpipe.plot.sweeps import draw_sweep
from bentpipe.reporting import figures
from bentpipe.reporting.page import Code, Folded, Page, Picture, Points, Section, Tabled, Text
from bentpipe.reporting.provenance import Provenance, of_sweep
from bentpipe.reporting.tables import ROWS_MAX, Table
from bentpipe.sweeps.frames import column as as_column
from bentpipe.sweeps.result import Contrast, Sweep
from bentpipe.sweeps.store import FAILURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.metrics import Metric
    from bentpipe.reporting.page import Block
    from bentpipe.statistics.comparing import Difference
    from bentpipe.statistics.estimates import Estimate

FORM = "bentpipe report"
FOLDER = "report"
PAGE = "report.html"
FAILURES_MAX = 50
LETTERS_MAX = 400
"""A statement about so many settings that it is longer is counted first, and then given in full to who wants it."""
FOLDED_MAX = 20_000
"""Nobody reads more."""


@dataclass(frozen=True)
class Report:
    """Where things are.

    Attributes
    ----------
    folder, page : Path
    figures, tables : list of Path
        Each figure as SVG and PNG, each table as CSV and LaTeX.
    statements : list of str
        What can be said about each metric; in numbers, where it is about many settings.
    """

    folder: Path
    page: Path
    figures: list[Path]
    tables: list[Path]
    statements: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "page": str(self.page),
            "figures": list(map(str, self.figures)),
            "tables": list(map(str, self.tables)),
            "statements": self.statements,
        }


def report(store: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> Report:
    """Write what a sweep gave as a page that opens anywhere, with its figures (SVG, PNG) and tables (CSV, LaTeX).

    Equal stores give equal files. An older report is replaced.

    Parameters
    ----------
    store : path
        The folder of a sweep; it is only read.
    folder : path, optional
        Where to write; `report` in the store if not given.

    Returns
    -------
    Report

    Raises
    ------
    BentpipeError
        There is no sweep in the store, or the folder cannot be written.
    """
    place = _place(Path(store), folder)
    return _Reporter(Sweep.load(store)).write(place)


def _place(source: Path, folder: str | os.PathLike[str] | None) -> Path:
    """The folder of the report, which can be written."""
    if folder is not None:
        store.refuse_unless_free(folder)
        return Path(folder)
    place = source / FOLDER
    if source.is_dir() and not os.access(source, os.W_OK):
        raise BentpipeError(
            f"error: {source} is write-protected, so its report has no place in it\n"
            f"  say where: bentpipe report {source} --out DIR"
        )
    # What is no store is said so by who reads it.
    if source.is_dir():
        store.refuse_unless_free(place)
    return place


class _Reporter:
    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.provenance: Provenance = of_sweep(sweep)
        self.estimates = {name: sweep.estimates(name) for name in sweep.metrics}
        self.tables: list[Table] = []
        self.figures: dict[str, figures.Drawn] = {}
        self.said: list[str] = []

    def write(self, place: Path) -> Report:
        content = self.page().html()
        note = str(self.provenance)

        def fill(folder: Path) -> None:
            (folder / PAGE).write_text(content, encoding="utf-8")
            for name, text in self.provenance.files.items():
                (folder / name).write_text(text, encoding="utf-8")
            for name in ("figures", "tables"):
                (folder / name).mkdir()
            for name, drawn in self.figures.items():
                drawn.write(folder / "figures", name, note)
            for table in self.tables:
                (folder / "tables" / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
                (folder / "tables" / f"{table.name}.tex").write_text(table.latex(note), encoding="utf-8")

        store.put(place, FORM, fill, provenance=self.provenance.to_dict())
        return Report(
            place,
            place / PAGE,
            [place / "figures" / f"{name}{ending}" for name in self.figures for ending in (".svg", ".png")],
            [place / "tables" / f"{table.name}{ending}" for table in self.tables for ending in (".csv", ".tex")],
            self.said,
        )

    def page(self) -> Page:
        sweep = self.sweep
        size = f"{_count(sweep.points.height, 'point')}, {_count(sweep.runs.height, 'run')}"
        sections = [self._metric(name) for name in sweep.metrics]
        sections.append(Section("All points", [self._points()]))
        if sweep.failures:
            sections.append(self._failures())
        scenario = Folded("The scenario with every default filled in", [Code(self.provenance.scenario)], "scenario")
        sections.append(Section("Scenario", [scenario]))
        warnings: list[Block] = []
        if sweep.missing:
            wanted = int(sweep.points["replications"].sum())
            text = f"{_count(sweep.missing, 'run')} of {wanted:,} missing: not done yet, or failed."
            warnings.append(Text(text, is_warning=True))
        first = sections[0]
        return Page(
            sweep.title or "untitled",
            f"{size}; varied: {', '.join(sweep.keys)}",
            [Section(first.title, [*warnings, *first.blocks]), *sections[1:]],
            f"{self.provenance.version}. Means with Student's 95 % intervals; differences in pairs of equal seeds, "
            "corrected for their number (Holm).",
        )

    # A metric.

    def _metric(self, name: str) -> Section:
        metric = METRICS[name]
        blocks: list[Block] = []
        contrasts = self.sweep.contrasts(name)
        statements = self.sweep.statements(name)
        long = [text for text in statements if len(text) > LETTERS_MAX]
        counted = dict(zip(reversed(statements), map(_counted, reversed(contrasts)), strict=False))
        said = [counted.get(text, text) if text in long else text for text in statements]
        self.said += said
        blocks.append(Points(said))
        if sum(map(len, long)) > FOLDED_MAX:
            blocks.append(Text(f"Setting by setting they are in tables/differences-{name}.csv."))
        elif long:
            blocks.append(Folded("Setting by setting", [Points(long)]))
        if any(each.mean is not None for each in self.estimates[name]):
            drawing = draw_sweep(self.sweep, metric, self.estimates[name])
            drawn = figures.Drawn.of(drawing.figure, str(self.provenance))
            self.figures[name] = drawn
            caption = f"{metric.meaning}: {_what_is_drawn(self.estimates[name])}."
            caption += "".join(f" {note[:1].upper()}{note[1:]}." for note in drawing.notes)
            svg = figures.inline(drawn, f"f{len(self.figures)}", f"{metric.meaning} of {self.sweep.title}")
            blocks.append(Picture(svg, caption, self.provenance))
        if contrasts:
            table = self._differences(metric, contrasts)
            blocks.append(Tabled(table, self._caption(table, _DIFFERENCES), self.provenance))
        return Section(f"{name[:1].upper()}{name[1:]}", blocks)

    def _differences(self, metric: Metric, contrasts: Sequence[Contrast]) -> Table:
        keys = list(next((each for one in contrasts for each in one.settings.values()), {}))
        flat = [
            (contrast, contrast.settings[at], difference)
            for contrast in contrasts
            for at, difference in contrast.differences.items()
        ]
        found = [difference for _, _, difference in flat]
        data = pl.DataFrame(
            [
                pl.Series("sender", [contrast.sender for contrast, _, _ in flat], dtype=pl.String),
                pl.Series("other", [contrast.other for contrast, _, _ in flat], dtype=pl.String),
                *(as_column(key, [settings[key] for _, settings, _ in flat]) for key in keys),
                pl.Series("pairs", [each.replications for each in found], dtype=pl.Int64),
                *(
                    pl.Series(f"{metric.column}_{name}", [getattr(each, of) for each in found], dtype=pl.Float64)
                    for name, of in (("difference", "value"), ("low", "low"), ("high", "high"))
                ),
                pl.Series("difference_pct", [each.percent(each.value) for each in found], dtype=pl.Float64),
                pl.Series("p", [each.p for each in found], dtype=pl.Float64),
                pl.Series("p_adjusted", [each.p_adjusted for each in found], dtype=pl.Float64),
                pl.Series("effect", [each.effect.value for each in found], dtype=pl.Float64),
                pl.Series("is_shown", [each.is_shown for each in found], dtype=pl.Boolean),
            ]
        )
        shown = flat[:ROWS_MAX]
        divisor, unit = human.scale([each.value for each in found], metric.unit)
        short = [human.short_key(key, self.sweep.keys) for key in keys]
        head = ["sender", "against", *short, "pairs", label("difference", unit), "in %", "p", "effect", "shown"]
        rows = [
            [
                contrast.sender,
                contrast.other,
                *(human.setting(settings[key]) for key in keys),
                str(each.replications),
                _margin(each.value, each.low, each.high, divisor),
                _margin(each.percent(each.value), each.percent(each.low), each.percent(each.high), 1),
                human.MISSING if each.p_adjusted is None else _probability(each.p_adjusted),
                _effect(each),
                {True: "yes", False: "no", None: human.MISSING}[each.is_shown],
            ]
            for contrast, settings, each in shown
        ]
        table = Table(f"differences-{metric.name}", data, head, rows, 2 + len(keys), len(flat))
        self.tables.append(table)
        return table

    # What is about all of them.

    def _points(self) -> Tabled:
        sweep = self.sweep
        data = sweep.points.select(*sweep.keys)
        head = [human.short_key(key, sweep.keys) for key in sweep.keys]
        counts = sweep.runs.group_by("point").len()
        have = dict(zip(counts["point"].to_list(), counts["len"].to_list(), strict=True))
        runs = [have.get(point, 0) for point in sweep.points["point"]]
        data = data.with_columns(pl.Series("runs", runs, dtype=pl.Int64))
        cells = [[human.setting(value) for value in sweep.points[key].head(ROWS_MAX)] for key in sweep.keys]
        cells.append([str(count) for count in runs[:ROWS_MAX]])
        head.append("runs")
        for name, found in self.estimates.items():
            metric = METRICS[name]
            divisor, unit = human.scale([each.mean for each in found], metric.unit)
            head.append(label(name, unit))
            # Fewer values than runs change what a mean is about, so they are counted where it happens.
            cells.append(
                [
                    _margin(each.mean, each.low, each.high, divisor)
                    + (f" (of {each.replications})" if each.mean is not None and each.replications < count else "")
                    for each, count in zip(found[:ROWS_MAX], runs, strict=False)
                ]
            )
            data = data.with_columns(
                pl.Series(metric.column, [each.mean for each in found], dtype=pl.Float64),
                pl.Series(f"{metric.column}_low", [each.low for each in found], dtype=pl.Float64),
                pl.Series(f"{metric.column}_high", [each.high for each in found], dtype=pl.Float64),
                pl.Series(f"{metric.column}_count", [each.replications for each in found], dtype=pl.Int64),
            )
        rows = list(zip(*cells, strict=True))
        table = Table("points", data, head, rows, len(sweep.keys), sweep.points.height)
        self.tables.append(table)
        return Tabled(table, self._caption(table, "Mean ± half of the 95 % interval at each point."), self.provenance)

    def _caption(self, table: Table, text: str) -> str:
        if table.total <= len(table.rows):
            return text
        return f"{text} The first {len(table.rows)} of {table.total:,} rows; tables/{table.name}.csv has all."

    def _failures(self) -> Section:
        shown = self.sweep.failures[:FAILURES_MAX]
        blocks: list[Block] = [
            Text(
                f"{_count(len(self.sweep.failures), 'run')} failed. To see one fail again, in the folder of the store:"
            )
        ]
        for failure in shown:
            # Not the path of the store: it may be elsewhere tomorrow.
            replay = f"{FAILURES}/{failure['id']}.json"
            blocks.append(Code(f"{failure['parameters']}\n{failure['message']}\nbentpipe run {replay}"))
        if len(shown) < len(self.sweep.failures):
            blocks.append(Text(f"{len(self.sweep.failures) - len(shown):,} more are in the store."))
        return Section("What failed", blocks)


_DIFFERENCES = (
    "The best sender against each other one, in pairs of equal seeds: mean difference ± half of its 95 % interval; p, "
    "corrected for all rows (Holm); effect size, Hedges' g_z; whether the difference is shown at 5 %."
)


def _what_is_drawn(estimates: Sequence[Estimate]) -> str:
    if any(each.half_width is not None for each in estimates):
        return "mean and 95 % interval"
    return "one run at each point, so no intervals"


def _counted(contrast: Contrast) -> str:
    """A statement about many settings, in numbers."""
    found = list(contrast.differences.values())
    shown = [each for each in found if each.is_shown and each.value]
    above = sum(1 for each in shown if (each.value or 0) > 0)
    text = f"{contrast.sender} against {contrast.other} in {contrast.metric}, of {_count(len(found), 'setting')}: "
    unknown = sum(each.value is None for each in found)
    parts = [f"above at {above}", f"below at {len(shown) - above}"]
    parts.append(f"no difference can be shown at {len(found) - len(shown) - unknown}")
    return text + ", ".join(parts) + (f", no values of both at {unknown}" if unknown else "")


def _margin(value: float | None, low: float | None, high: float | None, divisor: float) -> str:
    if value is None:
        return human.MISSING
    half = None if low is None or high is None else abs(high - low) / 2 / divisor
    mean, margin = human.mean_and_margin(value / divisor, half)
    return mean if margin is None else f"{mean} ± {margin}"


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _effect(difference: Difference) -> str:
    effect = difference.effect
    return human.MISSING if effect.value is None else f"{effect.value:.2f}, {effect.magnitude}"


_count = human.count
