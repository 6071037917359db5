"""All papers on one page that opens anywhere: verdicts, claims, figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

import bentpipe
from bentpipe.papers import pages, verdicts
from bentpipe.reporting.figures import inline
from bentpipe.reporting.page import Folded, Page, Picture, Points, Section, Tabled, Text
from bentpipe.reporting.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.papers.reproducing import Reproduced, Reproduction
    from bentpipe.papers.verdicts import Verdict
    from bentpipe.reporting.page import Block


def page(result: Reproduction) -> str:
    """The whole file."""
    count = sum(len(each.verdicts) for each in result.papers)
    again = pages.command([each.paper.name for each in result.papers], result.is_full)
    lead = f"{count} claims; made by {again}, bentpipe {bentpipe.__version__}"
    sections = [Section("Verdicts", [Tabled(_counts(result), "Claims by paper and verdict.")])]
    sections += [_section(each) for each in result.papers]
    return Page("Papers, claim by claim", lead, sections).html()


def _counts(result: Reproduction) -> Table:
    kinds = [kind for kind in verdicts.KINDS if any(kind in each.counts for each in result.papers)]
    rows = [[each.paper.name, *(str(each.counts.get(kind, 0)) for kind in kinds)] for each in result.papers]
    return _table("verdicts", ["paper", *kinds], rows, texts=1)


def _section(each: Reproduced) -> Section:
    paper = each.paper
    rows = [[verdict.claim.id, pages.printed(verdict), pages.ours(verdict), verdict.text] for verdict in each.verdicts]
    table = _table(paper.name, ["claim", "printed", "ours, ± 95 %", "verdict"], rows, texts=4)
    blocks: list[Block] = [
        Text(f"{paper.authors}. {paper.published}"),
        Text(paper.proposed),
        *(
            Picture(inline(drawn, f"{paper.name}{figure.name}".replace("-", ""), figure.title), f"{figure.title}.")
            for figure, drawn in each.figures.items()
        ),
        Tabled(table, "What is printed, what was measured in the reading that decided, and what follows."),
        Folded("Each claim: how it is measured, every reading, why", [_claim(verdict) for verdict in each.verdicts]),
        Folded("What we assumed", [Points(paper.assumed)]),
    ]
    return Section(paper.title, blocks)


def _claim(verdict: Verdict) -> Block:
    claim = verdict.claim
    lines = [line.strip() for line in pages.claim(verdict)]
    lines = [line.removeprefix("- ").replace("*", "") for line in lines if line.startswith("- ")]
    summary = f"{claim.id}: {verdict.text}"
    return Folded(summary, [Text(f"{claim.statement} ({claim.where})"), Points(lines)])


def _table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> Table:
    data = pl.DataFrame(list(rows), schema=dict.fromkeys(head, pl.String), orient="row")
    return Table(name, data, head, rows, texts, len(rows))
