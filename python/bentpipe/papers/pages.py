"""Makes one page per paper, in Markdown: the proposal, the claims with their verdicts, and the assumptions."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.papers import claims, entries, falsify, fingerprint, summary, verdicts
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.papers.claims import Claim, Figure, Paper
    from bentpipe.papers.entries import Entry
    from bentpipe.papers.lab import Finding
    from bentpipe.papers.reproduce import Reproduced
    from bentpipe.papers.verdicts import Found, Verdict

FULL_TIME = "half an hour"
"""Time of `reproduce --full` for all papers on two cores, measured once."""
SOURCE = "https://github.com/bentpipe/bentpipe/blob/main/python/bentpipe/papers/packs"
SHORT_MAX = 72
REPEATED_WORDS = 8
"""A measurement with fewer words is repeated instead of a link."""
TERMS = (
    ("setting", "A choice that the paper leaves open, such as the unit of the error rate."),
    (
        "world",
        "A possible network: one value for each setting. A claim counts in a world if its runs had these values.",
    ),
    ("reading", "A stated interpretation of the paper. The first reading of a claim is the literal one."),
    ("band", 'The values that pass, after "Passes". `claims.toml` names the bands that were set after first results.'),
    ("note", "Facts after a value. A note that several readings share is printed once."),
    (
        "without its mechanism",
        "The claim measured again without the mechanism that it names. If it fails, this mechanism is the cause.",
    ),
    (
        "without its condition",
        "The claim measured again without a condition that it needs, such as errors. If it fails, the measure depends "
        "on the condition. This does not show that the named mechanism is the cause.",
    ),
    (verdicts.REPRODUCED, "The whole 95 % interval of the measured value is in the band, in the literal reading."),
    (verdicts.UNDER_READING, "It is in the band in the named reading: the paper is ambiguous, or contradicts itself."),
    (verdicts.IN_PART, "Some parts of the claim hold. Others fail, hold in another reading, or need a feature."),
    (verdicts.NOT_REPRODUCED, "The measured value is outside the band in every possible reading."),
    (verdicts.IMPOSSIBLE, "Arithmetic or physics excludes the printed value in every reading, with any simulator."),
    (verdicts.UNDECIDED, "The interval crosses the edge of the band."),
    (verdicts.NEEDS, "bentpipe lacks a feature."),
    (verdicts.ERROR, "The measurement failed. The page has its message."),
)
"""Words of the pages, with their meanings: the index has them for all papers."""


ATTACKED = "without its mechanism or condition"
"""Head of the column with the outcomes of attacks."""


def page(reproduced: Reproduced, is_full: bool) -> str:
    """The page of a paper."""
    return formatting.without_signs_of_zero("\n".join(_lines(reproduced, is_full))) + "\n"


def index(found: Sequence[Entry]) -> str:
    """The list of papers with the verdicts of each."""
    kinds = entries.kinds(found)
    total = sum(each.claims for each in found)
    sums = {kind: sum(each.counts.get(kind, 0) for each in found) for kind in kinds}
    lines = [
        "# Papers, claim by claim\n",
        f"**{together(found)}Of {summary.write_counts(total, sums)}.**\n",
        "Each page has the verdicts, the proposal of the paper, the measurement of each claim, and the assumptions.\n",
        f"| paper | one world | some reading | {' | '.join(kinds)} | all |",
        f"|---|{'---|' * (len(kinds) + 3)}",
    ]
    for each in found:
        counts = " | ".join([each.in_one_world, str(each.some), *map(each.count, kinds), str(each.claims)])
        lines.append(f"| [{each.title}]({each.name}.md) | {counts} |")
    lines += [
        "\n*One world* counts claims that hold together in one possible network, *some reading* claims that hold in at",
        "least one reading, which may differ from claim to claim. Each paper has its own network.",
        "\n## Terms\n\n| term | meaning |\n|---|---|",
        *(f"| {term} | {meaning} |" for term, meaning in TERMS),
        f"\nMade by {' and '.join(f'`{again}`' for again in commands(found))}; do not edit. All papers take about",
        f"{FULL_TIME} on two cores with `--full`, a few minutes with `--quick`. With `--full`, undecided claims are",
        f"measured again with up to {verdicts.SCALE_MAX} times as many runs.",
    ]
    return "\n".join(lines) + "\n"


def together(found: Sequence[Entry]) -> str:
    """Count the claims that hold together in one network for each paper, over all papers."""
    worlds = [each for each in found if each.world is not None]
    if not worlds:
        return ""
    held, of = sum(each.world or 0 for each in worlds), sum(each.claims for each in worlds)
    return f"{held} of {of} claims hold together in one possible network for each paper. "


def commands(found: Sequence[Entry]) -> list[str]:
    """Commands that reproduce these papers: one command for all papers with the same options."""
    alike: dict[tuple[bool, bool], list[str]] = {}
    for each in found:
        alike.setdefault((each.is_full, each.is_attacked), []).append(each.called)
    return [command(papers, *how) for how, papers in alike.items()]


def command(papers: Sequence[str], is_full: bool, is_attacked: bool = False) -> str:
    """The command that makes the pages of these papers."""
    chosen = [] if list(papers) == claims.names() else map(shlex.quote, papers)
    options = ["--full" if is_full else "--quick", *(["--falsify"] if is_attacked else [])]
    return " ".join(["bentpipe reproduce", *chosen, *options])


def write_printed(verdict: Verdict) -> str:
    """The value that the paper prints, with its unit."""
    claim = verdict.claim
    if claim.printed is None:
        return formatting.MISSING
    return claim.printed if isinstance(claim.printed, str) else _number(claim.printed, claim.unit)


def ours(verdict: Verdict) -> str:
    """The measured value with its interval, in the reading that decided."""
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
    """The band of a claim, with its unit.

    >>> from bentpipe.papers.claims import paper
    >>> [band(claim) for claim in paper("hswa").claims if claim.id in ("HSWA-10", "HSWA-24", "HSWA-28", "HSWA-34")]
    ['96.98 Mbit/s ± 5 %', '6.5 to 9.5 Mbit/s', 'above 1.02', '2']
    """
    criterion = claim.criterion
    if criterion is None:
        return ""
    _, _, margin = criterion.text.partition(" ± ")
    if margin and claim.value is not None:
        if criterion.low == criterion.high:
            return _number(claim.value, claim.unit)
        if "%" not in margin:
            # For values in per cent, a margin in per cent would be relative.
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

    >>> short("HSWA keeps about 96 Mbit/s."), short("A long statement " * 9)[-20:]
    ('HSWA keeps about 96 Mbit/s', 'A long statement A …')
    """
    text = statement.removesuffix(".")
    return text if len(text) <= SHORT_MAX else text[: SHORT_MAX - 1].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def list_compared(verdict: Verdict) -> Iterator[tuple[str, str, str, str, str]]:
    """Rows of the table of a claim and its parts: name, statement, printed value or condition, measured, verdict."""
    claim = verdict.claim
    yield claim.id, short(claim.statement), _write_claim(verdict), "" if verdict.parts else ours(verdict), verdict.text
    for part in verdict.parts:
        claimed = band(part.claim) if part.claim.printed == claim.printed else _write_claim(part)
        yield "", part.claim.part, claimed, ours(part), part.text


def attacks(verdict: Verdict) -> Iterator[str]:
    """The outcomes of attacks, one for each row of `list_compared`; empty without an attack."""
    for part in (verdict, *verdict.parts):
        attack = part.attack
        if attack is None or attack.kind == falsify.NOT_HELD:
            yield ""
        else:
            # The reason is in the section of the claim.
            yield attack.note.partition(":")[0] if attack.kind == falsify.EXEMPT else f"{attack.kind}, {attack.of}"


def _write_claim(verdict: Verdict) -> str:
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
    yield f"# {paper.title}\n"
    if origin := summary.origin(paper):
        yield f"{origin}\n"
    headline, _, *others = summary.in_words(reproduced)
    yield f"**{headline}** The [index](index.md#terms) explains the terms.\n"
    yield "| verdict | claims | which |\n|---|---|---|"
    for kind in reproduced.counts:
        found = [verdict.claim.id for verdict in reproduced.verdicts if verdict.kind == kind]
        which = "all others" if kind == verdicts.REPRODUCED else ", ".join(map(_link, found))
        yield f"| {kind} | {summary.count(reproduced, kind)} | {which} |"
    yield f"| all | {len(reproduced.verdicts)} | |\n"
    for sentence in [*others, *summary.attacks(reproduced)]:
        yield f"- {sentence}"
    for figure, message in reproduced.failed.items():
        yield f"- The figure {figure.name} could not be drawn: {one_line(message)}"
    if paper.proposed:
        yield f"\n## Proposal\n\n{paper.proposed}"
    yield "\n## Printed and measured values\n"
    yield "Measured values are of the reading that decided, with their 95 % intervals.\n"
    head = ["claim", "statement", "printed value or condition", "measured", "verdict"]
    if reproduced.is_attacked:
        head.insert(-1, ATTACKED)
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for verdict in reproduced.verdicts:
        for (id_, *cells), attack in zip(list_compared(verdict), attacks(verdict), strict=True):
            link = f"[{id_}](#{id_.lower()})" if id_ else ""
            if reproduced.is_attacked:
                cells.insert(-1, attack)
            yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in (link, *cells))} |"
    yield from _by_reading(reproduced)
    yield "\n## Claim by claim"
    places = summary.figures_by_claim(paper)
    before: dict[str, str] = {}
    for verdict in reproduced.verdicts:
        yield from claim(verdict, before)
        for part in verdict.judged:
            before.setdefault(part.claim.how, verdict.claim.id)
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
    yield "\n## Sources of this page\n"
    names = [path.relative_to(paper.folder).as_posix() for path in paper.files]
    is_ours = paper.folder.parent == claims.PACKS
    links = [f"[{name}]({SOURCE}/{paper.name}/{name})" if is_ours else f"`{name}`" for name in names]
    yield f"Claims, scenarios and measures: {', '.join(links)}."
    yield f"Made by `{command([paper.called], is_full, reproduced.is_attacked)}`; do not edit."
    yield f"bentpipe {__version__}, fingerprint of the claims and their judgement: `{fingerprint.fingerprint(paper)}`."


def _link(id_: str) -> str:
    return f"[{summary.number(id_)}](#{id_.lower()})"


def _by_reading(reproduced: Reproduced) -> Iterator[str]:
    table = summary.by_reading(reproduced)
    if table is None:
        return
    yield "\n## Claims by reading\n"
    yield "Readings that at least three claims share. A cell is empty if the claim was not measured in the reading.\n"
    heads = map(_link, table.claims)
    yield f"| reading | {' | '.join(heads)} | hold |"
    yield f"|---|{'---|' * (len(table.claims) + 1)}"
    for name, cells in table.rows:
        yield f"| {name} | {' | '.join(cells)} | {cells.count(summary.YES)} of {len(cells) - cells.count('')} |"


def _figure(paper: Paper, figure: Figure) -> Iterator[str]:
    # The caption has the title, so that the alternative text does not repeat it.
    yield f"\n![{figure.name.replace('-', ' ')}]({paper.name}/{figure.name}.png)\n\n{figure.title}."


def claim(verdict: Verdict, before: Mapping[str, str] | None = None) -> Iterator[str]:
    """The lines about a claim. The printed value is in the table of all claims.

    `before` names the claims above by their measurement: the same text becomes a link.
    """
    claim = verdict.claim
    basis = "" if claim.by == claims.RUNS else f", by {claim.by}"
    yield f"\n### {claim.id}\n\n**{verdict.text}**{basis} ({claim.where}). {claim.statement}\n"
    # Parts share lines: the first part has them.
    said: set[str] = set()
    for part in verdict.parts:
        own = "" if part.claim.statement == claim.statement else f" {part.claim.statement}"
        by = f", by {part.claim.by}" if part.claim.by not in (claims.RUNS, claim.by) else ""
        yield f"- {part.claim.part}: **{part.text}**{by}.{own}"
        lines = [line for line in _list_judgements(part, before or {}) if line not in said]
        said.update(line for line in lines if line.startswith(("- Measured", "- No mechanism")))
        yield from (f"    {line}" for line in lines)
    if not verdict.parts:
        yield from _list_judgements(verdict, before or {})
    elif verdict.detail and verdict.kind != verdicts.NEEDS:
        yield f"- Why: {verdict.detail}"


def _list_judgements(verdict: Verdict, before: Mapping[str, str]) -> Iterator[str]:
    claim = verdict.claim
    how = claim.how
    if how in before and len(how.split()) >= REPEATED_WORDS:
        how = f"As [{before[how]}](#{before[how].lower()})."
    if verdict.kind == verdicts.ERROR:
        yield f"- To be measured: {how}" + _passes(claim)
        yield f"- Error: {one_line(verdict.detail)}"
        return
    if verdict.kind == verdicts.NEEDS:
        # The band is fixed before the claim can be measured.
        yield f"- To be measured: {how}" + _passes(claim)
        yield f"- Needs: {verdict.detail}"
        return
    counts = {each.finding.replications for each in verdict.found}
    # The first line has the number of runs if it is the same for all readings.
    common = counts.pop() if len(counts) == 1 else None
    head = f"Measured, {common} runs" if common is not None and common > 1 else "Measured"
    yield f"- {head}: {how}" + _passes(claim)
    notes: set[str] = set()
    for each in verdict.found:
        holds = {True: "holds", False: "does not hold", None: "not decided"}[each.holds]
        if each.contradiction:
            holds = "impossible"
        note = _one_run(each, claim) + (f" {each.finding.note}" if each.finding.note not in ("", *notes) else "")
        notes.add(each.finding.note)
        runs = _runs(each.finding, common)
        yield f"- {each.reading.name}: **{value(each.finding, claim.unit)}**{runs}, {holds}.{note}"
    yield from _attack(verdict, common)
    if verdict.detail:
        yield f"- Why: {verdict.detail}"


def _attack(verdict: Verdict, common: int | None) -> Iterator[str]:
    """The line of an attack. It repeats neither the basis of the claim nor the note of the reading."""
    attack = verdict.attack
    if attack is None or attack.kind in (falsify.NOT_HELD, falsify.UNNAMED):
        return
    if attack.finding is None:
        if attack.kind == falsify.EXEMPT and verdict.claim.without is None:
            return
        yield f"- {attack.text[:1].upper()}{attack.text[1:].removesuffix('.')}."
        return
    reading = f" ({attack.reading})" if len(verdict.found) > 1 else ""
    notes = ["", *(each.finding.note for each in verdict.found)]
    note = "" if attack.finding.note in notes else f" {attack.finding.note}"
    outcome = attack.text.replace(f" without {attack.what}", "", 1).removesuffix(".")
    measured = f"**{value(attack.finding, verdict.claim.unit)}**{_runs(attack.finding, common)}"
    yield f"- Without {attack.what}{reading}: {measured}, {outcome}.{note}"


def _runs(finding: Finding, common: int | None) -> str:
    is_known = finding.replications in (common, 1)
    return "" if is_known else f" ({finding.replications} runs)"


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
    """The range of a single run, for a claim about a single run."""
    span = found.finding.one_run
    if found.fits_one_run is None or span is None:
        return ""
    divisor, text = formatting.scale(list(span), claim.unit)
    ends = f"{span[0] / divisor:.3g} to {span[1] / divisor:.3g} {text}".rstrip()
    return f" {'Compatible' if found.fits_one_run else 'Not compatible'} with one run: {ends}."
