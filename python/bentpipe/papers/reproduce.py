"""Reproduces papers: measures and judges every claim, draws every figure, and writes pages."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import arguments, files, formatting
from bentpipe.catalog import unknown
from bentpipe.contract import frames
from bentpipe.contract.result import Result
from bentpipe.contract.tabled import OfTables
from bentpipe.errors import PaperError
from bentpipe.experiment.execution.workers import check_jobs
from bentpipe.papers import claims, loading, pages, settings, verdicts, webpage
from bentpipe.papers.entries import NAME, PAGE, document, entry, join_entries
from bentpipe.papers.falsify import ERROR, attack_claim
from bentpipe.papers.lab import Lab
from bentpipe.papers.summary import in_words
from bentpipe.papers.worlds import best
from bentpipe.progress import Progress, choose_watch
from bentpipe.reports.figures import Drawn
from bentpipe.reports.provenance import Provenance
from bentpipe.statistics.estimates import Interval
from bentpipe.statistics.judgement import DEFAULT
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.figure import Figure as MatplotlibFigure

    from bentpipe.contract.reporter import Reporter
    from bentpipe.papers.claims import Figure, Paper
    from bentpipe.papers.entries import Entry
    from bentpipe.papers.verdicts import Verdict
    from bentpipe.papers.worlds import World
    from bentpipe.progress import Wish


@dataclass(frozen=True)
class Reproduced:
    """Verdicts and figures of a paper."""

    paper: Paper
    verdicts: tuple[Verdict, ...]
    figures: dict[Figure, Drawn]
    """Figures that were drawn."""
    failed: dict[Figure, str] = field(default_factory=dict)
    """Messages of figures whose function failed."""

    @property
    def counts(self) -> dict[str, int]:
        """Claims of each kind of verdict, in the order of `verdicts.KINDS`."""
        found = Counter(verdict.kind for verdict in self.verdicts)
        return {kind: found[kind] for kind in verdicts.KINDS if found[kind]}

    @property
    def errors(self) -> list[str]:
        """Messages of measures and figures that failed."""
        measures = [verdict.detail for verdict in self.verdicts if verdict.kind == verdicts.ERROR]
        parts = (part.attack for verdict in self.verdicts for part in verdict.judged if part.attack is not None)
        return [*measures, *(attack.note for attack in parts if attack.kind == ERROR), *self.failed.values()]

    @cached_property
    def world(self) -> World | None:
        """The possible network in which most claims hold together; None for a paper without settings."""
        return best(self.paper.settings, self.verdicts)

    @property
    def is_attacked(self) -> bool:
        """Whether claims were measured again without their mechanism or condition."""
        return any(part.attack is not None for verdict in self.verdicts for part in verdict.judged)

    @property
    def readings(self) -> tuple[int, int]:
        """Readings that hold and readings tried, summed over the claims that hold only under a reading."""
        each = [verdict.readings for verdict in self.verdicts if verdict.kind == verdicts.UNDER_READING]
        return sum(held for held, _ in each), sum(tried for _, tried in each)


@dataclass(frozen=True)
class Kept:
    """Content of the folder of a reproduction."""

    table: pl.DataFrame
    facts: Mapping[str, Any]
    """`command` (or the reason why there is none), `statements`, `notes`, and the document of claims."""
    pictures: Mapping[str, bytes]
    """Each figure as SVG and PNG, by file name."""


@dataclass(frozen=True, repr=False, eq=False)
class Reproduction(Result):
    """Result of `reproduce`: verdicts and figures of papers.

    Attributes
    ----------
    papers : tuple of Reproduced
        Papers with their verdicts, in the order of their claims. Empty after `load`: a folder keeps tables, sentences
        and pictures.
    is_full : bool
        Whether replications are enough for the tolerances.
    only : tuple of str
        The chosen claims; empty for all.
    """

    papers: tuple[Reproduced, ...]
    is_full: bool
    only: tuple[str, ...] = ()
    kept: Kept | None = field(default=None, repr=False)

    @property
    def charts(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the drawn figures; for several papers, `PAPER:FIGURE`."""
        return tuple(self._drawn)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the claims."""
        return tuple(self.table["of"].unique(maintain_order=True))

    @property
    def hosts(self) -> str:
        """Empty: each run of a paper has its own hosts."""
        return ""

    @property
    def runs(self) -> pl.DataFrame:  # type: ignore[override]
        """Empty table: the folder of `reproduce(folder=...)` keeps the runs of each paper."""
        return pl.DataFrame()

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row per claim and part, in the reading that decided.

        Columns `of` (the claim), `metric` (its part, or `value`), `unit`, `replications`, `mean`, `low`, `high`, then
        `paper`, `reading`, `printed` and `verdict`. Values are null where nothing was measured.
        """
        return self._contents.table

    @property
    def differences(self) -> pl.DataFrame:
        """Table without rows: claims are not compared with each other."""
        return frames.differences([], DEFAULT)

    @property
    def statements(self) -> list[str]:
        """Summary of each paper, in sentences."""
        return list(self._contents.facts["statements"])

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        """Messages of measures and figures that failed."""
        return list(self._contents.facts["notes"])

    def rows(self) -> list[dict[str, Any]]:
        """One row per claim, part and reading, as in `claims.csv`."""
        return list(self._contents.facts["document"]["claims"])

    @property
    def errors(self) -> list[str]:
        """Messages of measures and figures that failed. A failure affects only its claim or figure."""
        return self.notes

    @property
    def entries(self) -> list[Entry]:
        """Entries of the papers in the index."""
        return [
            entry(each, self.is_full, [row for verdict in each.verdicts for row in _rows(each, verdict)])
            for each in self.papers
        ]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the table as Parquet, figures as SVG and PNG, and all of `to_dict` into a folder.

        To get pages for people, and to keep the runs, use `reproduce(folder=...)` instead.
        """
        found = self._contents

        def fill(place: Path) -> None:
            (place / "table.parquet").write_bytes(files.parquet(found.table))
            for name, content in found.pictures.items():
                (place / name).write_bytes(content)

        about = {**found.facts, "is_full": self.is_full, "only": self.only, "pictures": list(found.pictures)}
        files.put_folder(folder, FORM, fill, provenance={"version": __version__, **about})

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Reproduction:
        """Open a folder that `save` wrote. Its figures are files, because `plot` needs the runs.

        Raises
        ------
        BentpipeError
            The folder is not a saved reproduction, or is damaged.
        """
        facts = files.provenance(folder, FORM)
        with files.reading(folder):
            pictures = {name: (Path(folder) / name).read_bytes() for name in facts["pictures"]}
            shared = {name: facts[name] for name in ("command", "refusal", "statements", "notes", "document")}
            kept = Kept(files.table(folder, "table"), shared, pictures)
            return cls((), facts["is_full"], tuple(facts["only"]), kept)

    def command(self) -> str:
        """Return the shell command that repeats the reproduction.

        Raises
        ------
        BentpipeError
            Only some of the papers were attacked.
        """
        facts = self._contents.facts
        if facts["refusal"]:
            raise PaperError(facts["refusal"])
        return str(facts["command"])

    @cached_property
    def _contents(self) -> Kept:
        return self.kept or collect_kept(self)

    @cached_property
    def _drawn(self) -> dict[str, Drawn]:
        return {
            f"{each.paper.name}:{figure.name}" if len(self.papers) > 1 else figure.name: drawn
            for each in self.papers
            for figure, drawn in each.figures.items()
        }

    def _chart(self, chart: str | None) -> str:
        if self.kept is not None:
            raise PaperError("the figures of a saved reproduction are its files\n  expected one made by reproduce()")
        if not self._drawn:
            raise PaperError("no figure was drawn\n  expected a reproduction of all claims of a paper with figures")
        return super()._chart(chart)

    def _figure(self, chart: str, metric: str | None) -> MatplotlibFigure:
        if metric is not None:
            raise PaperError(
                "{metric} has no figure: figures show the metrics of the paper\n  expected plot() of a figure",
                metric=metric,
            )
        # The caller may change it.
        copied: MatplotlibFigure = pickle.loads(pickle.dumps(self._drawn[chart].figure))
        return copied

    def _estimate(self, of: str, metric: str) -> Interval:
        found = self.table.filter(of=of)
        if metric not in found["metric"]:
            raise PaperError(unknown(metric, f"a part of {of}", found["metric"]))
        row = found.row(by_predicate=pl.col("metric") == metric, named=True)
        return Interval(row["replications"] or 0, row["mean"], row["low"], row["high"], None)

    def _reporter(self) -> Reporter:
        titles = [each["title"] for each in self._contents.facts["document"]["papers"]]
        made = Provenance(
            title="; ".join(titles),
            source="",
            seeds="",
            replications="full scale" if self.is_full else "quick",
            version=f"bentpipe {__version__}",
            senders="",
            command=self._contents.facts["command"],
        )
        return OfTables(self, made, {"claims": ("Claims in every reading", pl.DataFrame(self.rows(), strict=False))})

    def _provenance(self) -> dict[str, Any]:
        return {"version": __version__, "is_full": self.is_full, "only": list(self.only)}

    def _content(self) -> dict[str, Any]:
        return dict(self._contents.facts["document"])

    def __repr__(self) -> str:
        papers = self._contents.facts["document"]["papers"]
        claimed = formatting.count(sum(each["claims"] for each in papers), "claim")
        return f"<Reproduction of {', '.join(each['paper'] for each in papers)}: {claimed}>"

    def _repr_html_(self) -> str:
        if self.kept is not None:
            from bentpipe.plot import notebook

            return notebook.page("", [notebook.take_rows(self.table)], [*self.statements, *self.notes])
        return "".join(map(_html, self.papers))


FORM = "bentpipe reproduction"
COLUMNS = {
    **dict.fromkeys(("of", "metric", "unit"), pl.String),
    "replications": pl.Int64,
    **dict.fromkeys(("mean", "low", "high"), pl.Float64),
    **dict.fromkeys(("paper", "reading", "printed", "verdict"), pl.String),
}
"""Columns of `Reproduction.table`."""


def collect_kept(found: Reproduction) -> Kept:
    """Collect the content of the folder of a reproduction."""
    attacks = {each.is_attacked for each in found.papers}
    called = [each.paper.called for each in found.papers]
    again = pages.command(called, found.is_full, attacks == {True}) + "".join(f" --claim {each}" for each in found.only)
    facts = {
        "command": again if len(attacks) == 1 else "",
        "refusal": "" if len(attacks) == 1 else "no command makes this again: only some papers were attacked",
        "statements": [sentence for each in found.papers for sentence in in_words(each)],
        "notes": [message for each in found.papers for message in each.errors],
        # The same types as after reading JSON.
        "document": json.loads(json.dumps(document(found.entries))),
    }
    rows = [_make_row(each, part) for each in found.papers for verdict in each.verdicts for part in verdict.judged]
    return Kept(pl.DataFrame(rows, schema=COLUMNS), facts, dict(_pictures(found)))


def _make_row(each: Reproduced, verdict: Verdict) -> dict[str, Any]:
    """A row of `Reproduction.table`."""
    claim, shown = verdict.claim, verdict.shown
    row = {"of": claim.id, "metric": claim.part or "value", "unit": claim.unit, "paper": each.paper.name}
    row |= {"printed": str(claim.printed), "verdict": verdict.text}
    if shown is None:
        return row
    finding = shown.finding
    values = {"mean": finding.value, "low": finding.low, "high": finding.high, "replications": finding.replications}
    return {**row, **values, "reading": shown.reading.name}


def _pictures(found: Reproduction) -> Iterator[tuple[str, bytes]]:
    """Each figure as SVG and PNG, by name of the file."""
    with tempfile.TemporaryDirectory() as folder:
        for each in found.papers:
            for figure, drawn in each.figures.items():
                name = f"{each.paper.name}-{figure.name}"
                drawn.write(Path(folder), name)
                for ending in (".svg", ".png"):
                    yield name + ending, (Path(folder) / (name + ending)).read_bytes()


def _html(found: Reproduced) -> str:
    """HTML of a paper for a notebook."""
    from bentpipe.plot import notebook

    rows = [[each.claim.id, each.claim.statement, each.text] for each in found.verdicts]
    figures = [partial(getattr, drawn, "figure") for drawn in found.figures.values()]
    table = (["claim", "statement", "verdict"], rows, 3)
    return notebook.page(found.paper.title, [table], [*in_words(found), *found.failed.values()], *figures)


def reproduce(
    papers: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    only: Sequence[str] = (),
    full: bool = False,
    falsify: bool = False,
    folder: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Wish = None,
) -> Reproduction:
    """Measure every claim of papers, judge it, and redraw their figures.

    Parameters
    ----------
    papers : name, path, or several of them
        Names of `bentpipe list papers`, or folders of your papers. Default: all known papers.
    only : sequence of str
        Claims, such as HSWA-13. Other claims are not measured, nothing is drawn, and the folder keeps only runs.
    full : bool
        Enough replications for the tolerances, and up to four times as many for undecided claims. Default: few.
    falsify : bool
        Measure each claim that holds a second time, without its mechanism or condition (`without` in `claims.toml`).
        `Verdict.attack` has the outcome. If the claim still holds, it does not depend on the mechanism or condition.
    folder : path, optional
        Folder for tables, figures, pages and runs; nothing is written without it. The kept runs let an interrupted
        reproduction continue. Papers reproduced earlier stay in the tables and pages of the folder.
    jobs : int, optional
        Runs at the same time; all cores if not given.
    progress : callable or bool, optional
        A callable that receives a `Progress` before each claim, attack and figure. They count as runs, and
        `Progress.doing` names them. Or whether to show a bar, as in `run`.

    Returns
    -------
    Reproduction

    Raises
    ------
    PaperError
        A paper or claim is unknown, or a folder has an error. A measure that fails affects only its claim, see
        `Reproduction.errors`.
    BentpipeError
        The folder cannot be written.
    """
    only = [only] if isinstance(only, str) else arguments.texts("only", only)
    # Within a measure, the error would be that of its claim.
    check_jobs(jobs)
    chosen = _chosen(papers, only)
    place = None if folder is None else arguments.path("folder", folder)
    if place is not None:
        files.refuse_unless_writable_folder(place)
    for paper in chosen:
        loading.check(paper)
    looks = 2 if falsify else 1
    total = sum(looks * len(paper.claims) + len(paper.figures) for paper in chosen)
    how_far, found = Progress(total=total), []

    def tell(what: str) -> None:
        how_far.doing = what
        if watch is not None:
            watch(how_far)

    with choose_watch(progress) as watch:
        for paper in chosen:
            runs = None if place is None else place / "runs" / paper.name
            with Lab(paper.folder, store=runs, is_full=full, jobs=jobs, settings=paper.settings) as lab:
                judged = []
                for claim in paper.claims:
                    tell(claim.id)
                    verdict = verdicts.settle_claim(paper, claim, lab)
                    how_far.done += 1
                    if falsify:
                        tell(f"{claim.id} attacked")
                        verdict = attack_claim(paper, verdict, lab)
                        how_far.done += 1
                    judged.append(verdict)
                drawn, failed = {}, {}
                for figure in paper.figures:
                    tell(f"{paper.name}: {figure.title}")
                    if not verdicts.missing(figure.needs):
                        try:
                            drawn[figure] = _draw(paper, figure, lab, place)
                        except PaperError as error:
                            failed[figure] = str(error)
                    how_far.done += 1
            found.append(Reproduced(paper, tuple(judged), drawn, failed))
            if place is not None and not only:
                # Keep this paper even if a later one fails.
                _write(Reproduction(tuple(found), full), place)
    return Reproduction(tuple(found), full, tuple(only))


def _chosen(papers: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], only: Sequence[str]) -> list[Paper]:
    """The papers; if claims are given, with these claims only and without figures."""
    # A dict or bytes would be a list of their parts, and an empty one all papers.
    is_several = isinstance(papers, Iterable) and not isinstance(papers, (str, bytes, bytearray, Mapping, os.PathLike))
    given: list[Any] = list(papers) if is_several else [papers]  # type: ignore[arg-type]
    for which in given:
        if not isinstance(which, (str, os.PathLike)):
            raise PaperError(
                f"{{papers}} = {which!r:.80}\n"
                "  expected the name of a paper, the folder of your paper, or a list of them: bentpipe list papers",
                papers=None,
            )
    by_folder = {paper.folder.resolve(): paper for paper in map(claims.paper, given or claims.names())}
    chosen = list(by_folder.values())
    for name, count in Counter(paper.name for paper in chosen).items():
        if count > 1:
            places = ", ".join(str(paper.folder) for paper in chosen if paper.name == name)
            raise PaperError(f"two papers are called {name}: {places}\n  expected folders of different names")
    if not only:
        return chosen
    known = {claim.id.upper(): claim.id for paper in chosen for claim in paper.claims}
    if lost := sorted({id_.upper() for id_ in only} - known.keys()):
        # Claims of the same paper, or the first claim of each.
        near = [id_ for id_ in known.values() if id_.partition("-")[0].upper() == lost[0].partition("-")[0]]
        near = near or [paper.claims[0].id for paper in chosen]
        raise PaperError(unknown(lost[0], "a claim of these papers", near))
    wanted = {known[id_.upper()] for id_ in only}
    kept = [(paper, tuple(claim for claim in paper.claims if claim.id in wanted)) for paper in chosen]
    return [replace(paper, claims=few, figures=()) for paper, few in kept if few]


def _draw(paper: Paper, figure: Figure, lab: Lab, place: Path | None) -> Drawn:
    command = pages.command([paper.called], lab.is_full)
    note = f"{paper.title}: {figure.title}. bentpipe {__version__}. Made again by: {command}"
    drawn = Drawn.from_figure(loading.draw_figure(paper, figure.name, figure.draw, lab), note)
    if place is not None:
        target = place / paper.name
        with files.writing(target):
            target.mkdir(parents=True, exist_ok=True)
            drawn.write(target, figure.name, note)
    return drawn


def _write(result: Reproduction, place: Path) -> None:
    found = join_entries(place, result.entries)
    text = io.StringIO()
    table = csv.DictWriter(text, list(result.rows()[0]), restval="", extrasaction="ignore")
    table.writeheader()
    table.writerows(row for each in found for row in each.rows)
    files.replace_text(place / "claims.csv", text.getvalue())
    # The page comes before the data, which list its sections.
    files.replace_text(place / PAGE, webpage.page(found, result.papers))
    files.replace_text(place / NAME, json.dumps(document(found), indent=1, ensure_ascii=False) + "\n")
    files.replace_text(place / "index.md", pages.index(found))
    for each in result.papers:
        files.replace_text(place / f"{each.paper.name}.md", pages.page(each, result.is_full))


def _attack(verdict: Verdict) -> dict[str, Any]:
    attack = verdict.attack
    if attack is None:
        columns = ("without", "without_kind", "without_outcome", "without_reading", "without_value", "without_note")
        return dict.fromkeys(columns, "")
    return {
        "without": attack.what,
        "without_kind": attack.of if attack.what else "",
        "without_outcome": attack.kind,
        "without_reading": attack.reading,
        "without_value": "" if attack.finding is None else attack.finding.value,
        "without_note": attack.note,
    }


def _rows(reproduced: Reproduced, verdict: Verdict) -> list[dict[str, Any]]:
    """A row per part and reading; one row per part if nothing is measured."""
    rows = []
    for each in verdict.judged:
        claim = each.claim
        held, tried = verdict.readings
        head = {
            "paper": reproduced.paper.name,
            "claim": claim.id,
            "part": claim.part,
            "statement": claim.statement,
            "where": claim.where,
            "printed": claim.printed,
            "unit": claim.unit,
            "by": claim.by,
            "verdict": verdict.text,
            "in_one_world": reproduced.world is not None and claim.id in reproduced.world.claims,
            "readings_held": held,
            "readings_tried": tried,
            "part_verdict": each.text if claim.part else "",
            "passes": "" if claim.criterion is None else claim.criterion.text,
            **_attack(each),
        }
        if not each.found:
            columns = ("reading", "world", "value", "low", "high", "replications", "holds", "fits_one_run")
            empty = dict.fromkeys(columns)
            rows.append({**head, **empty, "note": each.detail})
        rows += [
            {
                **head,
                "reading": found.reading.name,
                "world": settings.in_words(found.world),
                "value": found.finding.value,
                "low": found.finding.low,
                "high": found.finding.high,
                "replications": found.finding.replications,
                "holds": found.holds,
                "fits_one_run": found.fits_one_run,
                "note": found.finding.note,
            }
            for found in each.found
        ]
    return rows
