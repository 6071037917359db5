"""All papers on one page that opens anywhere: verdicts, claims, figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe.papers import pages, summary, verdicts
from bentpipe.reports.figures import inline
from bentpipe.reports.page import Folded, Page, Picture, Points, Section, Tabled, Text
from bentpipe.reports.tables import Table
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.papers.reproduce import Reproduced, Reproduction
    from bentpipe.papers.verdicts import Verdict
    from bentpipe.reports.page import Block


def page(result: Reproduction) -> str:
    """The whole file."""
    count = sum(len(each.verdicts) for each in result.papers)
    again = pages.command([each.paper.called for each in result.papers], result.is_full)
    lead = f"{count} claims; made by {again}, bentpipe {__version__}"
    sections = [Section("Verdicts", [Tabled(_counts(result), "Claims by paper and verdict.")])]
    sections += [_section(each) for each in result.papers]
    return Page("Papers, claim by claim", lead, sections).html()


def _counts(result: Reproduction) -> Table:
    kinds = [kind for kind in verdicts.KINDS if any(kind in each.counts for each in result.papers)]
    rows = [[each.paper.name, *(summary.count(each, kind) for kind in kinds)] for each in result.papers]
    return _table("verdicts", ["paper", *kinds], rows, texts=1)


def _section(each: Reproduced) -> Section:
    paper = each.paper
    rows = [list(cells) for verdict in each.verdicts for cells in pages.compared(verdict)]
    head = ["claim", "what", "printed, or what has to hold", "ours, ± 95 %", "verdict"]
    table = _table(paper.name, head, rows, texts=5)
    blocks: list[Block] = [
        *([Text(origin)] if (origin := summary.origin(paper)) else []),
        Points(list(summary.in_words(each))),
        *([Text(paper.proposed)] if paper.proposed else []),
        *(
            Picture(inline(drawn, f"{paper.name}{figure.name}".replace("-", ""), figure.title), f"{figure.title}.")
            for figure, drawn in each.figures.items()
        ),
        Tabled(table, "What is printed, what was measured in the reading that decided, and what follows."),
        *_by_reading(each),
        Folded("Each claim: how it is measured, every reading, why", [_claim(verdict) for verdict in each.verdicts]),
        *([Folded("What we assumed", [Points(paper.assumed)])] if paper.assumed else []),
    ]
    return Section(paper.title, blocks)


def _by_reading(each: Reproduced) -> list[Block]:
    found = summary.by_reading(each)
    if found is None:
        return []
    head = ["reading", *map(summary.number, found.claims)]
    table = _table(f"{each.paper.name}-readings", head, [[name, *cells] for name, cells in found.rows], len(head))
    return [Tabled(table, "Which claims hold in which reading; nothing stands where one was not measured.")]


def _claim(verdict: Verdict) -> Block:
    claim = verdict.claim
    lines = [line.strip() for line in pages.claim(verdict)]
    points = [line.removeprefix("- ").replace("**", "") for line in lines if line.startswith("- ")]
    return Folded(f"{claim.id}: {verdict.text}", [Text(f"{claim.statement} ({claim.where})"), Points(points)])


def _table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> Table:
    data = pl.DataFrame(list(rows), schema=dict.fromkeys(head, pl.String), orient="row")
    return Table(name, data, head, rows, texts, len(rows))
