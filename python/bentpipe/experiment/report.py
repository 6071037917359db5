"""Reports: what an experiment gave as a page, with its figures and tables as files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import files, formatting
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.experiment import aside
from bentpipe.experiment.frames import column as as_column
from bentpipe.experiment.mix import Mix, Mixed
from bentpipe.experiment.provenance import of_run, of_sweep, titled
from bentpipe.experiment.result import FORM as RUN
from bentpipe.experiment.result import SHOWN_DROPS, SHOWN_FLOWS, SHOWN_LINKS, RunResult, readable
from bentpipe.experiment.rows import difference_row, ranked_row
from bentpipe.experiment.store import FAILURES
from bentpipe.experiment.sweep import Sweep
from bentpipe.metrics import named
from bentpipe.plot.maps import draw_map
from bentpipe.plot.runs import PANELS
from bentpipe.plot.style import Drawing, label
from bentpipe.plot.sweeps import draw_sweep
from bentpipe.reports import figures
from bentpipe.reports.page import Code, Folded, Page, Picture, Points, Section, Tabled, Text
from bentpipe.reports.tables import ROWS_MAX, Table
from bentpipe.statistics.samples import AtLeast, bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.experiment.contrasts import Ranked
    from bentpipe.experiment.outcome import Result
    from bentpipe.metrics import Metric
    from bentpipe.reports.page import Block
    from bentpipe.reports.provenance import Provenance
    from bentpipe.statistics.comparing import Difference
    from bentpipe.statistics.estimates import Estimate

FORM = "bentpipe report"
FOLDER = "report"
PAGE = "report.html"
FAILURES_MAX = 50
ENDS = ("mean", "low", "high")
_OF_RATIO = ("metric", "sender", "other", "replications", "ratio", "low", "high", "note")
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


def report(
    source: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None, *, against: str | None = None
) -> Report:
    """Write what an experiment gave as a page that opens anywhere, with its figures (SVG, PNG) and tables (CSV, LaTeX).

    Equal results give equal files. An older report is replaced.

    Parameters
    ----------
    source : path
        The store of a sweep, comparison or mix, or what one of them or a run saved; it is only read.
    folder : path, optional
        Where to write; `report` in the source if not given.
    against : str, optional
        The sender or case of a sweep that every other one is compared with, instead of what the sweep says.

    Returns
    -------
    Report

    Raises
    ------
    BentpipeError
        There is no result in the source, or the folder cannot be written.
    ScenarioError
        `against` is no sender or case of the sweep.
    """
    with files.reading(source):
        place = _place(Path(source), folder)
    if files.form_of(Path(source)) == RUN:
        if against is not None:
            raise ScenarioError(
                f"{source} is one run: there is nothing to compare with {against}\n  leave --against out"
            )
        return _OfRun(RunResult.load(source)).write(place)
    if against is None and Sweep.verb_of(source) == Mixed.verb:
        return _OfMix(Mix.load(source)).write(place)
    return _OfSweep(Sweep.load(source, against)).write(place)


def report_of(result: Result, folder: str | os.PathLike[str]) -> Report:
    """The same of a result at hand."""
    files.refuse_unless_free(folder)
    if isinstance(result, Mix):
        return _OfMix(result).write(Path(folder))
    if isinstance(result, RunResult):
        return _OfRun(result).write(Path(folder))
    sweep = result if isinstance(result, Sweep) else getattr(result, "sweep", None)
    if sweep is None:
        raise BentpipeError("comparisons that were joined have no report\n  report each of them")
    return _OfSweep(sweep).write(Path(folder))


def _place(source: Path, folder: str | os.PathLike[str] | None) -> Path:
    """The folder of the report, which can be written."""
    if folder is not None:
        files.refuse_unless_free(folder)
        return Path(folder)
    place = source / FOLDER
    if source.is_dir() and not os.access(source, os.W_OK):
        raise BentpipeError(
            f"{source} is write-protected, so its report has no place in it\n"
            f"  say where: bentpipe report {source} --out DIR"
        )
    # What is no store is said so by who reads it.
    if source.is_dir():
        files.refuse_unless_free(place)
    return place


class _Reporter(ABC):
    """A page with its figures and tables."""

    def __init__(self, provenance: Provenance) -> None:
        self.provenance = provenance
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

        files.put(place, FORM, fill, provenance=self.provenance.to_dict())
        return Report(
            place,
            place / PAGE,
            [place / "figures" / f"{name}{ending}" for name in self.figures for ending in (".svg", ".png")],
            [place / "tables" / f"{table.name}{ending}" for table in self.tables for ending in (".csv", ".tex")],
            self.said,
        )

    @abstractmethod
    def page(self) -> Page:
        """Also collects the figures, the tables, and what is said."""

    def scenario(self) -> Section:
        """As resolved."""
        text = Code(self.provenance.scenario)
        return Section("Scenario", [Folded("The scenario with every default filled in", [text], "scenario")])

    def picture(self, file: str, drawing: Drawing, meaning: str, of: str, what_is_drawn: str) -> Picture:
        """A figure, which becomes a file as well."""
        drawn = figures.Drawn.of(drawing.figure, str(self.provenance))
        self.figures[file] = drawn
        caption = f"{meaning}: {what_is_drawn}."
        caption += "".join(f" {note[:1].upper()}{note[1:]}." for note in drawing.notes)
        svg = figures.inline(drawn, f"f{len(self.figures)}", f"{meaning} of {of}")
        return Picture(svg, caption, self.provenance)


class _OfMix(_Reporter):
    def __init__(self, mix: Mix) -> None:
        assert mix.sweep is not None, "a mix is made of runs"
        super().__init__(of_sweep(mix.sweep))
        self.mix = mix

    def page(self) -> Page:
        mix = self.mix
        self.said = mix.statements
        drawing = Drawing(mix.plot("all"), [])
        shares = self.picture(
            "shares", drawing, "Shares, goodput and windows", mix.scenario.title, "means and intervals"
        )
        return Page(
            titled(mix.scenario.title, mix.scenario.source),
            f"{', '.join(mix.senders)} in the same runs, {_count(len(mix.seeds), 'replication')}; hosts: {mix.hosts}",
            [
                Section("Who gets how much", [Points([*self.said, *mix.notes]), shares]),
                Section("Means", [self._means()]),
                self.scenario(),
            ],
            f"{self.provenance.version}. Means with Student's {100 * mix.confidence:g} % intervals.",
        )

    def _means(self) -> Tabled:
        data = self.mix.table
        rows = [
            [row["sender"], row["quantity"], *(formatting.quantity(row[each], row["unit"]) for each in ENDS)]
            for row in data.iter_rows(named=True)
        ]
        self.tables += [Table("means", data, ["sender", "quantity", *ENDS], rows, 2, len(rows)), self._totals()]
        return Tabled(self.tables[0], "Each sender, with its interval.", self.provenance)

    def _totals(self) -> Table:
        """Only as a file."""
        data = self.mix.totals
        rows = [
            [str(row[0]), str(row[1]), *(f"{each:.5g}" for each in row[2:])] for row in data.head(ROWS_MAX).iter_rows()
        ]
        return Table("totals", data, data.columns, rows, 0, data.height)


class _OfRun(_Reporter):
    def __init__(self, run: RunResult) -> None:
        super().__init__(of_run(run))
        self.run = run

    def page(self) -> Page:
        run = self.run
        self.said = run.statements
        first: list[Block] = [Points(self.said)]
        if any(name in run.recorded for name in PANELS):
            drawing = Drawing(run.plot(), [])
            first.append(self.picture("series", drawing, "Series of the run", run.scenario.title, "as recorded"))
        shown = (("flows", SHOWN_FLOWS), ("links", SHOWN_LINKS), ("drops", SHOWN_DROPS))
        sections = [Section(_RUN[name][0], [self._tabled(name, columns)]) for name, columns in shown]
        return Page(
            titled(run.scenario.title, run.scenario.source),
            f"one run, seed {run.seed}: {run.stop} at {run.simulated_s:.10g} s; hosts: {run.hosts}",
            [Section("Run", first), Section(_RUN["metrics"][0], [self._metrics()]), *sections, self.scenario()],
            f"{self.provenance.version}. One run has no intervals.",
        )

    def _metrics(self) -> Tabled:
        data = self.run.table
        rows = [[row["metric"], _valued(row)] for row in data.iter_rows(named=True)]
        self.tables.append(Table("metrics", data, ["metric", "value"], rows, 1, len(rows)))
        return Tabled(self.tables[-1], _RUN["metrics"][1], self.provenance)

    def _tabled(self, name: str, columns: Mapping[str, str]) -> Tabled:
        data = self.run.tables[name]
        table = Table(name, data, *readable(data.head(ROWS_MAX), name, columns), data.height)
        self.tables.append(table)
        return Tabled(table, _caption(table, _RUN[name][1]), self.provenance)


class _OfSweep(_Reporter):
    def __init__(self, sweep: Sweep) -> None:
        super().__init__(of_sweep(sweep))
        self.sweep = sweep
        self.estimates = {name: sweep.estimates(name) for name in sweep.metrics}

    def page(self) -> Page:
        sweep = self.sweep
        size = f"{_count(sweep.points.height, 'point')}, {_count(sweep.runs.height, 'run')}"
        sections = [self._metric(name) for name in sweep.metrics]
        sections.append(Section("Means at all points", [self._points()]))
        # Means before differences: what is compared should be known first.
        ranked = [self._ranked(name) for name in sweep.metrics if len(sweep.ranking(name)) > 1]
        sections += [Section("From the best to the worst", ranked)] if ranked else []
        compared = [self._differences(named(name)) for name in sweep.metrics if sweep.contrasts(name)]
        sections += [Section("Differences", compared)] if compared else []
        # A sweep that names nobody to compare with has differences to the best, and no ratios.
        sections += [Section("Ratios", [self._ratios()])] if sweep.against is not None and compared else []
        if sweep.failures:
            sections.append(self._failures())
        sections.append(self.scenario())
        warnings: list[Block] = []
        if sweep.missing:
            wanted = int(sweep.points["replications"].sum())
            text = f"{_count(sweep.missing, 'run')} of {wanted:,} missing: not done yet, or failed."
            warnings.append(Text(text, is_warning=True))
        warnings += [
            Text(f"{aside.said(others)} are in the store as well, and not used here.", is_warning=True)
            for others in sweep.facts["aside"]
        ]
        warnings += [Text(f"Note: {note}.", is_warning=True) for note in sweep.notes]
        first = sections[0]
        return Page(
            titled(sweep.title, sweep.facts["source"]),
            f"{size}; varied: {', '.join(sweep.keys)}; hosts: {sweep.hosts}",
            [Section(first.title, [*warnings, *first.blocks]), *sections[1:]],
            f"{self.provenance.version}. Means with Student's 95 % intervals; differences in pairs of equal seeds, "
            "corrected for their number (Holm).",
        )

    # A metric.

    def _metric(self, name: str) -> Section:
        metric = named(name)
        blocks: list[Block] = []
        said = self.sweep.statements_of(name)
        self.said += said
        blocks.append(Points(said))
        note = self.sweep.unfinished(name)
        blocks += [Text(f"{note[:1].upper()}{note[1:]}.", is_warning=True)] if note else []
        # What was counted, for who wants it setting by setting.
        full = [text for each in self.sweep.contrasts(name) if (text := each.in_full()) not in said]
        if sum(map(len, full)) > FOLDED_MAX:
            blocks.append(Text(f"Setting by setting they are in tables/differences-{metric.slug}.csv."))
        elif full:
            blocks.append(Folded("Setting by setting", [Points(full)]))
        if any(each.mean is not None for each in self.estimates[name]):
            what_is_drawn = _what_is_drawn(self.estimates[name])
            blocks.append(
                self._picture(metric.slug, metric, draw_sweep(self.sweep, metric, self.estimates[name]), what_is_drawn)
            )
            heat = draw_map(self.sweep, metric, self.estimates[name])
            if heat is not None:
                blocks.append(
                    self._picture(f"{metric.slug}-map", metric, heat, "mean in each cell, brighter is better")
                )
        return Section(metric.title, blocks)

    def _picture(self, file: str, metric: Metric, drawing: Drawing, what_is_drawn: str) -> Picture:
        return self.picture(file, drawing, metric.meaning, self.sweep.title, what_is_drawn)

    def _ranked(self, name: str) -> Tabled:
        """Every point in its place, against the best."""
        metric, keys = named(name), self.sweep.keys
        order = self.sweep.ranking(name)
        settings = {row["point"]: [row[key] for key in keys] for row in self.sweep.points.iter_rows(named=True)}
        rows = [ranked_row(each) for each in order]
        data = pl.DataFrame(
            [
                pl.Series("rank", range(1, len(order) + 1), dtype=pl.Int64),
                *(as_column(key, [settings[each.point][at] for each in order]) for at, key in enumerate(keys)),
                *pl.DataFrame(rows, infer_schema_length=None).get_columns(),
            ]
        ).rename({"mean": metric.column, "low": f"{metric.column}_low", "high": f"{metric.column}_high"})
        divisor, unit = formatting.scale([each.found.value for each in order], metric.unit)
        head = [
            *(formatting.short_key(key, keys) for key in keys),
            "rank",
            label(name, unit),
            "completed",
            "worse than the best",
        ]
        shown = [
            [
                *map(formatting.setting, settings[each.point]),
                str(at),
                bound(_margin(each.found.value, each.found.low, each.found.high, divisor), each.found),
                str(each.counts),
                _worse(each),
            ]
            for at, each in enumerate(order[:ROWS_MAX], 1)
        ]
        table = Table(f"ranking-{metric.slug}", data, head, shown, len(keys), len(order))
        self.tables.append(table)
        return Tabled(table, _caption(table, f"{metric.title}. {_RANKING}"), self.provenance)

    def _ratios(self) -> Tabled:
        """Each sender as a multiple of the baseline, setting by setting."""
        data = self.sweep.ratios
        keys = [name for name in data.columns if name not in _OF_RATIO]
        head = ["metric", "sender", "against", *(formatting.short_key(key, self.sweep.keys) for key in keys)]
        shown = [
            [
                named(row["metric"]).title,
                row["sender"],
                row["other"],
                *(formatting.setting(row[key]) for key in keys),
                "" if row["ratio"] is None else f"{row['ratio']:.3g} ({row['low']:.3g} to {row['high']:.3g})",
                row["note"] or "",
            ]
            for row in data.head(ROWS_MAX).iter_rows(named=True)
        ]
        table = Table("ratios", data, [*head, "ratio", "why none"], shown, 3 + len(keys), data.height)
        self.tables.append(table)
        text = "Geometric mean of the ratios to the baseline in pairs of equal seeds, with its interval."
        return Tabled(table, _caption(table, text), self.provenance)

    def _differences(self, metric: Metric) -> Tabled:
        contrasts = self.sweep.contrasts(metric.name)
        keys = list(next((each for one in contrasts for each in one.settings.values()), {}))
        flat = [
            (contrast, contrast.settings[at], difference)
            for contrast in contrasts
            for at, difference in contrast.differences.items()
        ]
        found = [difference for _, _, difference in flat]
        names = {
            "difference": f"{metric.column}_difference",
            "low": f"{metric.column}_low",
            "high": f"{metric.column}_high",
        }
        rest = pl.DataFrame([difference_row(each) for each in found], infer_schema_length=None).rename(names)
        data = pl.DataFrame(
            [
                pl.Series("sender", [contrast.sender for contrast, _, _ in flat], dtype=pl.String),
                pl.Series("other", [contrast.other for contrast, _, _ in flat], dtype=pl.String),
                *(as_column(key, [settings[key] for _, settings, _ in flat]) for key in keys),
                *rest.get_columns(),
            ]
        )
        shown = flat[:ROWS_MAX]
        divisor, unit = formatting.scale([each.value for each in found], metric.unit)
        short = [formatting.short_key(key, self.sweep.keys) for key in keys]
        # Only where not all was completed: who completed more is another question than who was faster.
        is_held = any(each.shares is not None for each in found)
        completed = ["completed", "p of that"] if is_held else []
        head = [
            "sender",
            "against",
            *short,
            *completed,
            "pairs",
            label("difference", unit),
            "in %",
            "p",
            "effect",
            "shown",
        ]
        rows = [
            [
                contrast.sender,
                contrast.other,
                *(formatting.setting(settings[key]) for key in keys),
                *(_completed(each) if is_held else []),
                str(each.replications),
                _margin(each.value, each.low, each.high, divisor),
                _margin(each.percent(each.value), each.percent(each.low), each.percent(each.high), 1),
                _probability(each.p_adjusted),
                _effect(each),
                {True: "yes", False: "no", None: formatting.MISSING}[each.is_shown],
            ]
            for contrast, settings, each in shown
        ]
        table = Table(f"differences-{metric.slug}", data, head, rows, 2 + len(keys), len(flat))
        self.tables.append(table)
        who = "Each other one against" if self.sweep.against else "The best against each other one"
        who += f" {self.sweep.against}" if self.sweep.against else ""
        text = f"{metric.title}. {who}, {_DIFFERENCES}" + (f" {_HELD}" if is_held else "")
        return Tabled(table, _caption(table, text), self.provenance)

    # What is about all of them.

    def _points(self) -> Tabled:
        sweep = self.sweep
        data = sweep.points.select(*sweep.keys)
        head = [formatting.short_key(key, sweep.keys) for key in sweep.keys]
        counts = sweep.runs.group_by("point").len()
        have = dict(zip(counts["point"].to_list(), counts["len"].to_list(), strict=True))
        runs = [have.get(point, 0) for point in sweep.points["point"]]
        data = data.with_columns(pl.Series("runs", runs, dtype=pl.Int64))
        cells = [[formatting.setting(value) for value in sweep.points[key].head(ROWS_MAX)] for key in sweep.keys]
        cells.append([str(count) for count in runs[:ROWS_MAX]])
        head.append("runs")
        for name, found in self.estimates.items():
            metric = named(name)
            divisor, unit = formatting.scale([each.mean for each in found], metric.unit)
            head.append(label(name, unit))
            # Fewer values than there should be change what a mean is about, so they are counted where it happens.
            completed = sweep.counts(name)
            cells.append(
                [
                    bound(_margin(each.mean, each.low, each.high, divisor), each)
                    + ("" if of.is_whole or each.mean is None else f" ({of})")
                    for each, of in zip(found[:ROWS_MAX], completed, strict=False)
                ]
            )
            data = data.with_columns(
                pl.Series(metric.column, [each.mean for each in found], dtype=pl.Float64),
                pl.Series(f"{metric.column}_low", [each.low for each in found], dtype=pl.Float64),
                pl.Series(f"{metric.column}_high", [each.high for each in found], dtype=pl.Float64),
                pl.Series(f"{metric.column}_count", [each.replications for each in found], dtype=pl.Int64),
                pl.Series(f"{metric.column}_completed", [of.done for of in completed], dtype=pl.Int64),
                pl.Series(f"{metric.column}_due", [of.due for of in completed], dtype=pl.Int64),
                pl.Series(f"{metric.column}_is_bound", [isinstance(each, AtLeast) for each in found], dtype=pl.Boolean),
            )
        rows = list(zip(*cells, strict=True))
        table = Table("points", data, head, rows, len(sweep.keys), sweep.points.height)
        self.tables.append(table)
        return Tabled(table, _caption(table, _POINTS), self.provenance)

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


_RUN = {
    "metrics": ("Metrics", "Each metric of the run; > is what a completion time is at least."),
    "flows": ("Flows", "Each flow; the CSV file has all columns."),
    "links": ("Links", "Each link and direction; the CSV file has all columns."),
    "drops": ("Losses", "Packets lost, by place, flow and cause."),
}
_POINTS = (
    "Mean ± half of the 95 % interval at each point. In brackets how many completed, or have a value, where not all "
    "did; > is what the mean is at least, as runs that did not complete count with the time that they had."
)
_RANKING = (
    "First counts how much was completed, then the mean. Each point against the best, in pairs of equal seeds: whether "
    "it is shown to be worse at 5 %, corrected for all of them (Holm). Those that are not may be the best in truth."
)
_DIFFERENCES = (
    "in pairs of equal seeds: mean difference ± half of its 95 % interval; p, "
    "corrected for all rows (Holm); effect size, Hedges' g_z; whether the difference is shown at 5 %."
)
_HELD = (
    "Differences are of what both completed. How much each completed goes before; p of that is of an exact test, "
    "corrected with the others."
)


def _caption(table: Table, text: str) -> str:
    if table.total <= len(table.rows):
        return text
    return f"{text} The first {len(table.rows)} of {table.total:,} rows; tables/{table.name}.csv has all."


def _valued(row: Mapping[str, Any]) -> str:
    """The mean of a row of `table`, which may be a bound."""
    text = formatting.quantity(row["mean"], row["unit"])
    return f"> {text}" if row["is_bound"] else text


def _what_is_drawn(estimates: Sequence[Estimate]) -> str:
    if any(each.half_width is not None for each in estimates):
        return "mean and 95 % interval"
    return "one run at each point, so no intervals"


def _margin(value: float | None, low: float | None, high: float | None, divisor: float) -> str:
    if value is None:
        return formatting.MISSING
    half = None if low is None or high is None else abs(high - low) / 2 / divisor
    mean, margin = formatting.mean_and_margin(value / divisor, half)
    return mean if margin is None else f"{mean} ± {margin}"


def _probability(p: float | None) -> str:
    return formatting.MISSING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _completed(difference: Difference) -> list[str]:
    """Of both, and the p of the test."""
    shares = difference.shares
    if shares is None:
        return ["all", formatting.MISSING]
    return [f"{shares.one}, {shares.other}", _probability(shares.p_adjusted)]


def _worse(each: Ranked) -> str:
    if each.behind is None:
        return "the best"
    return "yes" if each.is_worse else "not shown"


def _effect(difference: Difference) -> str:
    effect = difference.effect
    return formatting.MISSING if effect.value is None else f"{effect.value:.2f}, {effect.magnitude}"


_count = formatting.count
