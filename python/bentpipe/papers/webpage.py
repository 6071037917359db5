"""Builds the common page of all papers, which opens anywhere: verdicts, claims, figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe.papers import entries, pages, summary
from bentpipe.reports.figures import inline
from bentpipe.reports.page import Folded, Page, Picture, Points, Section, Tabled, Text
from bentpipe.reports.provenance import Provenance
from bentpipe.reports.tables import Table
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.papers.entries import Entry
    from bentpipe.papers.reproduce import Reproduced
    from bentpipe.papers.verdicts import Verdict
    from bentpipe.reports.page import Block


def page(found: Sequence[Entry], papers: Sequence[Reproduced]) -> str:
    """Builds the whole file. Papers that were reproduced before keep their section."""
    provenance = Provenance(
        title="; ".join(each.title for each in found),
        source="",
        seeds="",
        replications="",
        version=f"bentpipe {__version__}",
        senders="",
        command=" && ".join(pages.commands(found)),
    )
    caption = (
        "Claims by paper and verdict. One world: claims that hold together in one possible network. Some reading: "
        "claims that hold in at least one reading."
    )
    fresh = {each.paper.name: each for each in papers}
    sections = [Section("Verdicts", [Tabled(_counts(found), caption)])]
    for each in found:
        made = Section(each.title, html=each.html)
        sections.append(_section(fresh[each.name]) if each.name in fresh else made)
    return Page("Papers, claim by claim", _answer(found), sections, provenance=provenance).html()


def _answer(found: Sequence[Entry]) -> str:
    """Counts the claims that hold, in all papers together."""
    claims, some = (sum(counts) for counts in zip(*((each.claims, each.some) for each in found), strict=True))
    papers = "one paper" if len(found) == 1 else f"{len(found)} papers"
    counts = [(kind, sum(each.counts.get(kind, 0) for each in found)) for kind in entries.kinds(found)]
    return (
        f"{pages.together(found)}{some} of {claims} claims in {papers} hold in some reading. Verdicts: "
        f"{', '.join(f'{count} {kind}' for kind, count in counts)}."
    )


def _counts(found: Sequence[Entry]) -> Table:
    kinds = entries.kinds(found)
    rows = [[each.name, each.in_one_world, str(each.some), *map(each.count, kinds)] for each in found]
    return _table("verdicts", ["paper", "one world", "some reading", *kinds], rows, texts=1)


def _section(each: Reproduced) -> Section:
    paper = each.paper
    rows = [
        [*cells, attack] if each.is_attacked else list(cells)
        for verdict in each.verdicts
        for cells, attack in zip(pages.list_compared(verdict), pages.attacks(verdict), strict=True)
    ]
    head = ["claim", "statement", "printed value or condition", "measured, ± 95 %", "verdict"]
    head += [pages.ATTACKED] if each.is_attacked else []
    table = _table(paper.name, head, rows, texts=len(head))
    blocks: list[Block] = [
        *([Text(origin)] if (origin := summary.origin(paper)) else []),
        Points([*summary.in_words(each), *summary.attacks(each)]),
        *(
            Text(f"The figure {figure.name} could not be drawn: {pages.one_line(message)}", is_warning=True)
            for figure, message in each.failed.items()
        ),
        *([Text(paper.proposed)] if paper.proposed else []),
        *(
            Picture(inline(drawn, f"{paper.name}{figure.name}".replace("-", ""), figure.title), f"{figure.title}.")
            for figure, drawn in each.figures.items()
        ),
        Tabled(table, "Printed values, measured values in the reading that decided, and verdicts."),
        *_by_reading(each),
        Folded(
            "Each claim with its measurement, every reading and the reason",
            [_claim(verdict) for verdict in each.verdicts],
        ),
        *([Folded("Assumptions", [Points(paper.assumed)])] if paper.assumed else []),
    ]
    return Section(paper.title, blocks, anchor=entries.anchor(paper.name))


def _by_reading(each: Reproduced) -> list[Block]:
    found = summary.by_reading(each)
    if found is None:
        return []
    head = ["reading", *map(summary.number, found.claims)]
    table = _table(f"{each.paper.name}-readings", head, [[name, *cells] for name, cells in found.rows], len(head))
    return [Tabled(table, "Claims by reading. A cell is empty if the claim was not measured in the reading.")]


def _claim(verdict: Verdict) -> Block:
    claim = verdict.claim
    lines = [line.strip() for line in pages.claim(verdict)]
    points = [line.removeprefix("- ").replace("**", "") for line in lines if line.startswith("- ")]
    return Folded(f"{claim.id}: {verdict.text}", [Text(f"{claim.statement} ({claim.where})"), Points(points)])


def _table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> Table:
    data = pl.DataFrame(list(rows), schema=dict.fromkeys(head, pl.String), orient="row")
    return Table(name, data, head, rows, texts, len(rows))
