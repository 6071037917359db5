"""One page per paper, in Markdown: what it proposed, what holds, what does not, what was assumed."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.papers import claims, entries, falsify, fingerprint, summary, verdicts
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.papers.claims import Claim, Figure, Paper
    from bentpipe.papers.entries import Entry
    from bentpipe.papers.lab import Finding
    from bentpipe.papers.reproduce import Reproduced
    from bentpipe.papers.verdicts import Found, Verdict

FULL_TIME = "half an hour"
"""Of `reproduce --full` for all papers on two cores, measured once."""
SOURCE = "https://github.com/bentpipe/bentpipe/blob/main/python/bentpipe/papers/packs"
SHORT_MAX = 72
_MEANINGS = {
    verdicts.REPRODUCED: "as printed, in the words of the paper",
    verdicts.UNDER_READING: "in the named reading: the paper is ambiguous, or its words miss its numbers",
    verdicts.IN_PART: "separate verdicts: some parts hold; others do not, not in the same reading, or need a feature",
    verdicts.NOT_REPRODUCED: "measured, and different in every possible reading",
    verdicts.IMPOSSIBLE: "arithmetic or physics rules the printed value out in every reading, for any simulator",
    verdicts.UNDECIDED: "the interval of our value crosses the edge of the band",
    verdicts.NEEDS: "a feature that bentpipe does not have yet",
    verdicts.ERROR: "the measure failed: the page has its message",
}


def page(reproduced: Reproduced, is_full: bool) -> str:
    """The page of a paper."""
    return "\n".join(_lines(reproduced, is_full)) + "\n"


def index(found: Sequence[Entry]) -> str:
    """The page that leads to the papers: verdicts of each."""
    kinds = entries.kinds(found)
    lines = [
        "# Papers, claim by claim\n",
        f"Made by {' and '.join(f'`{again}`' for again in commands(found))}; do not edit. Each page has the proposal",
        "of a paper, a verdict for each claim, and the assumptions where the paper is silent. All papers take",
        f"about {FULL_TIME} on two cores with `--full`, a few minutes with `--quick`.\n",
        "One world: the claims that hold together with one choice of readings. Some reading: the claims that hold in",
        "at least one reading, which may be a different one for each claim.\n",
        f"| paper | one world | some reading | {' | '.join(kinds)} | all |",
        f"|---|{'---|' * (len(kinds) + 3)}",
    ]
    for each in found:
        counts = " | ".join([str(each.world), str(each.some), *map(each.count, kinds), str(each.claims)])
        lines.append(f"| [{each.title}]({each.name}.md) | {counts} |")
    return "\n".join(lines) + "\n"


def commands(found: Sequence[Entry]) -> list[str]:
    """Commands that make these papers again: one for all papers with the same options."""
    alike: dict[tuple[bool, bool], list[str]] = {}
    for each in found:
        alike.setdefault((each.is_full, each.is_attacked), []).append(each.called)
    return [command(papers, *how) for how, papers in alike.items()]


def command(papers: Sequence[str], is_full: bool, is_attacked: bool = False) -> str:
    """What makes the pages of these papers again."""
    chosen = [] if list(papers) == claims.names() else map(shlex.quote, papers)
    options = ["--full" if is_full else "--quick", *(["--falsify"] if is_attacked else [])]
    return " ".join(["bentpipe reproduce", *chosen, *options])


def printed(verdict: Verdict) -> str:
    """The value that the paper prints, with its unit."""
    claim = verdict.claim
    if claim.printed is None:
        return formatting.MISSING
    return claim.printed if isinstance(claim.printed, str) else _number(claim.printed, claim.unit)


def ours(verdict: Verdict) -> str:
    """Our value with its interval, in the reading that decided."""
    known = [(each.claim, each.shown) for each in verdict.judged]
    texts = [value(shown.finding, claim.unit) for claim, shown in known if shown is not None]
    return "; ".join(texts) or formatting.MISSING


def value(finding: Finding, unit: str) -> str:
    """A value with its interval.

    >>> from bentpipe.papers.lab import Finding
    >>> value(Finding(4.31, 4.21, 4.41, 5), "s"), value(Finding.exact(0.5), "1"), value(Finding(None), "s")
    ('4.31 ± 0.10 s', '0.500', '-')
    """
    if finding.value is None:
        return formatting.MISSING
    divisor, text = formatting.scale([finding.value], unit)
    half = None if finding.low is None or finding.high is None else (finding.high - finding.low) / 2 / divisor
    mean, margin = formatting.mean_and_margin(finding.value / divisor, half or None)
    return f"{mean} {text}".rstrip() if margin is None else f"{mean} ± {margin} {text}".rstrip()


def band(claim: Claim) -> str:
    """What passes, with its unit.

    >>> from bentpipe.papers.claims import paper
    >>> [band(claim) for claim in paper("hswa").claims if claim.id in ("HSWA-10", "HSWA-24", "HSWA-28", "HSWA-34")]
    ['96.98 Mbit/s ± 5 %', '7 to 9 Mbit/s', 'above 1.02', '2']
    """
    criterion = claim.criterion
    if criterion is None:
        return ""
    _, _, margin = criterion.text.partition(" ± ")
    if margin and claim.value is not None:
        if criterion.low == criterion.high:
            return _number(claim.value, claim.unit)
        if "%" not in margin:
            # Of per cents, per cent would be a share of them.
            margin = f"{margin} points" if claim.unit == "%" else _number(float(margin), claim.unit)
        return f"{_number(claim.value, claim.unit)} ± {margin}"
    if math.isinf(criterion.low):
        return f"below {_number(criterion.high, claim.unit)}"
    if math.isinf(criterion.high):
        return f"above {_number(criterion.low, claim.unit)}"
    if criterion.low == criterion.high:
        return _number(criterion.low, claim.unit)
    divisor, text = formatting.scale([criterion.low, criterion.high], claim.unit)
    return f"{criterion.low / divisor:.6g} to {criterion.high / divisor:.6g} {text}".rstrip()


def short(statement: str) -> str:
    """The beginning of a statement, for a line of a table.

    >>> short("HSWA keeps about 96 Mbit/s."), short("What is said here " * 9)[-14:]
    ('HSWA keeps about 96 Mbit/s', 'What is said …')
    """
    text = statement.removesuffix(".")
    return text if len(text) <= SHORT_MAX else text[: SHORT_MAX - 1].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def compared(verdict: Verdict) -> Iterator[tuple[str, str, str, str, str]]:
    """Claim, what is claimed, what is printed (or has to hold), ours, verdict: of a claim, then of its parts."""
    claim = verdict.claim
    yield claim.id, short(claim.statement), _claimed(verdict), "" if verdict.parts else ours(verdict), verdict.text
    for part in verdict.parts:
        claimed = band(part.claim) if part.claim.printed == claim.printed else _claimed(part)
        yield "", part.claim.part, claimed, ours(part), part.text


def attacks(verdict: Verdict) -> Iterator[str]:
    """The outcomes without the mechanism, one for each row of `compared`; empty without an attack."""
    for part in (verdict, *verdict.parts):
        attack = part.attack
        yield "" if attack is None or attack.kind == falsify.NOT_HELD else attack.text


def _claimed(verdict: Verdict) -> str:
    claim = verdict.claim
    if isinstance(claim.printed, (int, float)):
        return _number(claim.printed, claim.unit)
    said, has_to = claim.printed or "", band(claim)
    return has_to if not said or has_to.startswith(said) else "; ".join(filter(None, (said, has_to)))


def _number(number: float, unit: str) -> str:
    divisor, text = formatting.scale([number], unit)
    return f"{number / divisor:.6g} {text}".rstrip()


def _lines(reproduced: Reproduced, is_full: bool) -> Iterator[str]:
    paper = reproduced.paper
    again = command([paper.called], is_full, reproduced.is_attacked)
    yield f"# {paper.title}\n"
    if origin := summary.origin(paper):
        yield f"{origin}\n"
    yield f"Made by `{again}`; do not edit. Verdicts are computed: a claim is reproduced if the whole"
    yield "95 % interval of our value is in its band."
    if is_full:
        yield f"Undecided claims were judged again with up to {verdicts.SCALE_MAX} times as many runs."
    yield ""
    headline, *others = summary.in_words(reproduced)
    yield f"**{headline}** A world is one choice of readings for all claims.\n"
    for sentence in [*others, *summary.attacks(reproduced)]:
        yield f"- {sentence}"
    for figure, message in reproduced.failed.items():
        yield f"- The figure {figure.name} could not be drawn: {one_line(message)}"
    if paper.proposed:
        yield f"\n## Proposal\n\n{paper.proposed}"
    yield "\n## Verdicts\n\n| verdict | claims | meaning |\n|---|---|---|"
    for kind in reproduced.counts:
        yield f"| {kind} | {summary.count(reproduced, kind)} | {_MEANINGS[kind]} |"
    yield f"| all | {len(reproduced.verdicts)} | |"
    yield "\n## Printed and ours\n"
    yield "A claim about an order or a shape has no printed number but a condition. Our value is from the"
    yield "reading that decided, with its 95 % interval.\n"
    head = ["claim", "what", "printed value or condition", "ours", "verdict"]
    if reproduced.is_attacked:
        head.insert(-1, "without its mechanism")
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for verdict in reproduced.verdicts:
        for (id_, *cells), attack in zip(compared(verdict), attacks(verdict), strict=True):
            link = f"[{id_}](#{id_.lower()})" if id_ else ""
            if reproduced.is_attacked:
                cells.insert(-1, attack)
            yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in (link, *cells))} |"
    yield from _by_reading(reproduced)
    yield "\n## Claim by claim"
    places = summary.figures_by_claim(paper)
    for verdict in reproduced.verdicts:
        yield from claim(verdict)
        for figure in reproduced.figures:
            if places[figure] is verdict.claim:
                yield from _figure(paper, figure)
    unplaced = [figure for figure in reproduced.figures if places[figure] is None]
    if unplaced:
        yield "\n## Other figures"
        for figure in unplaced:
            yield from _figure(paper, figure)
    if paper.assumed:
        yield "\n## Assumptions\n"
    for assumption in paper.assumed:
        yield f"- {assumption}"
    yield "\n## Sources\n"
    names = [path.relative_to(paper.folder).as_posix() for path in paper.files]
    is_ours = paper.folder.parent == claims.PACKS
    links = [f"[{name}]({SOURCE}/{paper.name}/{name})" if is_ours else f"`{name}`" for name in names]
    yield f"Claims, scenarios and measures: {', '.join(links)}."
    yield f"bentpipe {__version__}, fingerprint of the deciding sources: `{fingerprint.fingerprint(paper)}`."


def _by_reading(reproduced: Reproduced) -> Iterator[str]:
    table = summary.by_reading(reproduced)
    if table is None:
        return
    yield "\n## Which claims hold in which reading\n"
    yield "Readings that at least three claims share; a cell is empty if a claim was not measured in a reading.\n"
    heads = [f"[{summary.number(id_)}](#{id_.lower()})" for id_ in table.claims]
    yield f"| reading | {' | '.join(heads)} | hold |"
    yield f"|---|{'---|' * (len(heads) + 1)}"
    for name, cells in table.rows:
        yield f"| {name} | {' | '.join(cells)} | {cells.count(summary.YES)} of {len(cells) - cells.count('')} |"


def _figure(paper: Paper, figure: Figure) -> Iterator[str]:
    yield f"\n![{figure.title}]({paper.name}/{figure.name}.png)\n\n{figure.title}."


def claim(verdict: Verdict) -> Iterator[str]:
    """The lines about a claim."""
    claim = verdict.claim
    basis = "" if claim.by == claims.RUNS else f", by {claim.by}"
    yield f"\n### {claim.id}\n\n**{verdict.text}**{basis} ({claim.where}). {claim.statement}\n"
    if claim.printed is not None:
        yield f"- Printed: {printed(verdict)}"
    for part in verdict.parts:
        own = "" if part.claim.statement == claim.statement else f" {part.claim.statement}"
        yield f"- {part.claim.part}: **{part.text}**.{own}"
        if part.claim.printed not in (None, claim.printed):
            yield f"    - Printed: {printed(part)}"
        yield from (f"    {line}" for line in _judged(part))
    if not verdict.parts:
        yield from _judged(verdict)
    elif verdict.detail and verdict.kind != verdicts.NEEDS:
        yield f"- Why: {verdict.detail}"


def _judged(verdict: Verdict) -> Iterator[str]:
    claim = verdict.claim
    if verdict.kind == verdicts.ERROR:
        yield f"- To be measured: {claim.how}" + _passes(claim)
        yield f"- Error: {one_line(verdict.detail)}"
        return
    if verdict.kind == verdicts.NEEDS:
        # What has to hold is settled before it can be measured.
        yield f"- To be measured: {claim.how}" + _passes(claim)
        yield f"- Needs: {verdict.detail}"
        return
    yield f"- Measured: {claim.how}" + _passes(claim)
    for each in verdict.found:
        holds = {True: "holds", False: "does not hold", None: "not decided"}[each.holds]
        if each.contradiction:
            holds = "impossible"
        runs = f" ({each.finding.replications} runs)" if each.finding.replications > 1 else ""
        note = _one_run(each, claim) + (f" {each.finding.note}" if each.finding.note else "")
        yield f"- {each.reading.name}: **{value(each.finding, claim.unit)}**{runs}, {holds}.{note}"
    yield from _attack(verdict)
    if verdict.detail:
        yield f"- Why: {verdict.detail}"


def _attack(verdict: Verdict) -> Iterator[str]:
    attack = verdict.attack
    if attack is None or attack.kind in (falsify.NOT_HELD, falsify.UNNAMED):
        return
    if attack.finding is None:
        yield f"- Attacked: {attack.text}."
        return
    runs = f" ({attack.finding.replications} runs)" if attack.finding.replications > 1 else ""
    note = f" {attack.finding.note}" if attack.finding.note else ""
    ours = value(attack.finding, verdict.claim.unit)
    yield f"- Attacked ({attack.reading}): **{ours}**{runs}, {attack.text.removesuffix('.')}.{note}"


def one_line(message: str) -> str:
    r"""The first and the last line of an error: the place, and the exception at the end of a traceback.

    >>> one_line("X-1: the measure failed"), one_line("X-1: m failed\n\nTraceback\n  m()\nIndexError: no rows")
    ('X-1: the measure failed', 'X-1: m failed: IndexError: no rows')
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return ": ".join(dict.fromkeys([lines[0], lines[-1]]))


def _passes(claim: Claim) -> str:
    return f" Passes: {band(claim)}." if claim.criterion else ""


def _one_run(found: Found, claim: Claim) -> str:
    """Where a single run of ours lies, for a claim about a single run."""
    span = found.finding.one_run
    if found.fits_one_run is None or span is None:
        return ""
    divisor, text = formatting.scale(list(span), claim.unit)
    ends = f"{span[0] / divisor:.3g} to {span[1] / divisor:.3g} {text}".rstrip()
    return f" {'Compatible' if found.fits_one_run else 'Not compatible'} with one run: {ends}."
