"""One page per paper, in Markdown: what it proposed, what holds, what does not, what was assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bentpipe
from bentpipe import human
from bentpipe.papers import claims, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.papers.claims import Claim
    from bentpipe.papers.lab import Finding
    from bentpipe.papers.reproducing import Reproduced, Reproduction
    from bentpipe.papers.verdicts import Found, Verdict

_SECTIONS = {
    verdicts.REPRODUCED: ("What holds", "As the paper has it, in its own words."),
    verdicts.UNDER_READING: (
        "What holds in one reading",
        "The paper leaves open what is meant, or its own words do not give its numbers; in the reading named, they do.",
    ),
    verdicts.IN_PART: (
        "What holds in part",
        "Parts are judged apart: some hold; others do not, or not in the same reading, or need what is not there yet.",
    ),
    verdicts.NOT_REPRODUCED: ("What does not hold", "Measured, and different in every reading."),
    verdicts.IMPOSSIBLE: (
        "What cannot be as printed",
        "Arithmetic or physics rules the printed value out, whatever the simulator; what we measured stands beside it.",
    ),
    verdicts.UNDECIDED: ("What is not decided", "The interval reaches over the edge of what passes."),
    verdicts.NEEDS: ("What is open", "These need what bentpipe does not have yet."),
}


def page(reproduced: Reproduced, is_full: bool) -> str:
    """The page of a paper."""
    return "\n".join(_lines(reproduced, is_full)) + "\n"


def index(result: Reproduction) -> str:
    """The page that leads to the papers: verdicts of each."""
    kinds = [kind for kind in verdicts.KINDS if any(kind in each.counts for each in result.papers)]
    again = command([each.paper.name for each in result.papers], result.is_full)
    lines = [
        "# Papers, claim by claim\n",
        f"Made by `{again}`; do not edit. Each page says what a paper",
        "proposed, what of it holds, what does not, and what we assumed where it is silent.\n",
        f"| paper | {' | '.join(kinds)} | all |",
        f"|---|{'---|' * (len(kinds) + 1)}",
    ]
    for each in result.papers:
        counts = " | ".join(str(each.counts.get(kind, 0)) for kind in kinds)
        lines.append(f"| [{each.paper.title}]({each.paper.name}.md) | {counts} | {len(each.verdicts)} |")
    return "\n".join(lines) + "\n"


def command(papers: Sequence[str], is_full: bool) -> str:
    """What makes the pages of these papers again."""
    chosen = [] if list(papers) == claims.names() else papers
    return " ".join(["bentpipe reproduce", *chosen, "--full" if is_full else "--quick"])


def printed(verdict: Verdict) -> str:
    """The value that the paper prints, with its unit."""
    claim = verdict.claim
    if claim.printed is None:
        return human.MISSING
    return claim.printed if isinstance(claim.printed, str) else _number(claim.printed, claim.unit)


def ours(verdict: Verdict) -> str:
    """Our value with its interval, in the reading that decided."""
    known = [(each.claim, each.shown) for each in verdict.judged]
    texts = [value(shown.finding, claim.unit) for claim, shown in known if shown is not None]
    return "; ".join(texts) or human.MISSING


def value(finding: Finding, unit: str) -> str:
    """A value with its interval.

    >>> from bentpipe.papers.lab import Finding
    >>> value(Finding(4.31, 4.21, 4.41, 5), "s"), value(Finding.exact(0.5), "1"), value(Finding(None), "s")
    ('4.31 ± 0.10 s', '0.500', '-')
    """
    if finding.value is None:
        return human.MISSING
    divisor, text = human.scale([finding.value], unit)
    half = None if finding.low is None or finding.high is None else (finding.high - finding.low) / 2 / divisor
    mean, margin = human.mean_and_margin(finding.value / divisor, half or None)
    return f"{mean} {text}".rstrip() if margin is None else f"{mean} ± {margin} {text}".rstrip()


def _number(number: float, unit: str) -> str:
    divisor, text = human.scale([number], unit)
    return f"{number / divisor:.6g} {text}".rstrip()


def _lines(reproduced: Reproduced, is_full: bool) -> Iterator[str]:
    paper = reproduced.paper
    again = command([paper.name], is_full)
    yield f"# {paper.title}\n"
    yield f"{paper.authors}. {paper.published}\n"
    yield f"Made by `{again}`; do not edit. Verdicts are computed: a claim is reproduced where the whole"
    yield "95 % interval of our value lies in the band that was set for it.\n"
    yield f"## What it proposed\n\n{paper.proposed}\n"
    yield "## Verdicts\n\n| verdict | claims |\n|---|---|"
    for kind, count in reproduced.counts.items():
        yield f"| {kind} | {count} |"
    yield f"| all | {len(reproduced.verdicts)} |"
    for kind, (title, text) in _SECTIONS.items():
        found = [verdict for verdict in reproduced.verdicts if verdict.kind == kind]
        if found:
            yield f"\n## {title}\n\n{text}"
            for verdict in found:
                yield from claim(verdict)
    if reproduced.figures:
        yield "\n## Figures"
        for figure in reproduced.figures:
            yield f"\n![{figure.title}]({paper.name}/{figure.name}.png)\n\n{figure.title}."
            yield f"`{again}`, bentpipe {bentpipe.__version__}, scenarios in `bentpipe/papers/{paper.name}`."
    yield "\n## What we assumed\n"
    for assumption in paper.assumed:
        yield f"- {assumption}"


def claim(verdict: Verdict) -> Iterator[str]:
    """The lines about a claim."""
    claim = verdict.claim
    yield f"\n**{claim.id}** ({claim.where}). {claim.statement}\n"
    for part in verdict.parts:
        own = "" if part.claim.statement == claim.statement else f" {part.claim.statement}"
        yield f"- {part.claim.part}: *{part.text}*.{own}"
        yield from (f"  {line}" for line in _judged(part))
    if not verdict.parts:
        yield from _judged(verdict)
    elif verdict.detail:
        yield f"- Why: {verdict.detail}"


def _judged(verdict: Verdict) -> Iterator[str]:
    claim = verdict.claim
    if claim.printed is not None:
        yield f"- Printed: {printed(verdict)}"
    if verdict.kind == verdicts.NEEDS:
        yield f"- Needs: {verdict.detail}"
        return
    yield f"- Measured: {claim.how}" + (f" Passes: {claim.criterion.text}." if claim.criterion else "")
    for each in verdict.found:
        holds = {True: "holds", False: "does not hold", None: "not decided"}[each.holds]
        runs = f" ({each.finding.replications} runs)" if each.finding.replications > 1 else ""
        note = _one_run(each, claim) + (f" {each.finding.note}" if each.finding.note else "")
        yield f"- {each.reading.name}: **{value(each.finding, claim.unit)}**{runs}, {holds}.{note}"
    if verdict.detail:
        yield f"- Why: {verdict.detail}"


def _one_run(found: Found, claim: Claim) -> str:
    """Where a single run of ours lies, for a claim about a single run."""
    span = found.finding.one_run
    if found.fits_one_run is None or span is None:
        return ""
    divisor, text = human.scale(list(span), claim.unit)
    ends = f"{span[0] / divisor:.3g} to {span[1] / divisor:.3g} {text}".rstrip()
    return f" {'Compatible' if found.fits_one_run else 'Not compatible'} with one run: {ends}."
