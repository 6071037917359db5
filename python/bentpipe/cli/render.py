"""Renders experiments with many runs, and papers, as tables for 80 columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.text import Text

from bentpipe import formatting
from bentpipe.cli.tables import heading, hidden, make_table
from bentpipe.experiment.store import aside
from bentpipe.heads import head
from bentpipe.metric import TRANSFERS, VERDICTS, find_metric

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import RenderableType
    from rich.table import Table

    from bentpipe.contract.reporter import Report
    from bentpipe.contract.result import Result
    from bentpipe.experiment.results.comparison import Comparison
    from bentpipe.experiment.results.mix import Mix
    from bentpipe.experiment.results.mixes import Mixes
    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.papers.reproduce import Reproduction
    from bentpipe.scenario.scenario import Scenario
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.statistics.judgement import Judgement
    from bentpipe.statistics.samples import Counts

POINTS_MAX = 40
FAILURES_MAX = 5


def facts(scenario: Scenario) -> Text:
    """Title and one line of key facts."""
    text = Text(scenario.title or scenario.source, style="bold")
    flows = formatting.count(len(scenario.flow_names), "flow")
    links = formatting.count(len(scenario.link_names), "link direction")
    text.append(f"\n{flows}, {links}, {scenario.duration_s:.10g} s, seed {scenario.seed}", style="not bold")
    return text


def hosts(result: Result) -> Text:
    """Renders the hosts of a result and the sizes of its pages, as its first lines."""
    pages = f"\npages: {result.pages}" if result.pages else ""
    return Text(f"hosts: {result.hosts or 'none, the flows are datagrams'}{pages}")


def _are_equal(ones: Sequence[Estimate | Interval], others: Sequence[Estimate | Interval]) -> bool:
    """Whether estimates are equal, except for the rounding of sums in another order."""
    ends = [[end or 0.0 for each in found for end in (each.value, each.low, each.high)] for found in (ones, others)]
    return all(math.isclose(one, other, rel_tol=1e-9) for one, other in zip(*ends, strict=True))


def comparison(comparison: Comparison, show_all: bool = False) -> Iterator[RenderableType]:
    """Renders a comparison: a row per case, means above half widths, then the statements."""
    estimates = {
        metric: [comparison.estimate(name, metric) for name in comparison.names] for metric in comparison.metrics
    }
    shown = {name: found for name, found in estimates.items() if any(each.value is not None for each in found)}
    # The metric of the only flow or link is that of all.
    for name, found in list(shown.items()):
        whole, colon, _ = name.partition(":")
        if colon and whole not in comparison.asked and whole in shown and _are_equal(shown[whole], found):
            del shown[whole]
    # Metrics of flows with several transfers go into a separate table, so that both tables fit the terminal.
    of_transfers = {name: found for name, found in shown.items() if _is_transfer_column(name)}
    # Columns of losses only on request: with all, the table is wider than a terminal. Jain's index needs equal flows.
    is_mixed = len(set(comparison.scenario.flow_kinds)) > 1
    rest = [*(() if show_all else VERDICTS), *(("jain",) if is_mixed else ())]
    hidden = [name for name in rest if name not in comparison.asked]
    apart = (*of_transfers, *hidden)
    yield hosts(comparison)
    yield _estimates(comparison, {name: found for name, found in shown.items() if name not in apart})
    if of_transfers:
        yield _estimates(comparison, of_transfers, "Transfers")
    replications = len(comparison.seeds)
    if replications > 1:
        yield _sample(f" of {replications} replications{_days(comparison)}", comparison.judgement, comparison.tests)
    # All times of transfers cover the same transfers.
    notes = (
        comparison.note_unfinished(name)
        for name in shown
        if name == "fct" or not find_metric(name).has_transfers or find_metric(name).of
    )
    for note in filter(None, notes):
        yield Text(note, style="yellow")
    yield Text("")
    for statement in comparison.statements:
        yield Text(statement)


def notes(result: Comparison | Mix | Mixes | Sweep) -> Iterator[RenderableType]:
    """Renders the notes and hints of a result, as its last lines."""
    for note in result.notes:
        yield Text(f"note: {note}", style="yellow")


def ratios(result: Comparison | Sweep) -> Iterator[RenderableType]:
    """Renders ratios to the baseline: a row per case and setting, a column per metric; below, why some are missing."""
    frame = result.ratios
    shown = frame["metric"].unique(maintain_order=True).to_list()
    last = ("replications", "ratio", "low", "high", "note")
    keys = [name for name in frame.columns if name not in ("metric", "other", *last)]
    table = make_table(
        f"Ratios to {result.against}",
        head(getattr(result, "kind", "congestion control")),
        [formatting.short_key(key, keys) for key in keys[1:]],
    )
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for row in frame.iter_rows(named=True):
        names = tuple(formatting.setting(row[key]) for key in keys)
        rows.setdefault(names, {})[row["metric"]] = formatting.interval(row["ratio"], row["low"], row["high"])
    drawn = [
        name
        for name in shown
        if any(cells.get(name, formatting.MISSING) != formatting.MISSING for cells in rows.values())
    ]
    for name in drawn:
        table.add_column(name.replace(":", "\n"), justify="right", vertical="bottom")
    for names, cells in rows.items():
        table.add_row(*map(Text, names), *(cells.get(name, formatting.MISSING) for name in drawn))
    yield Text("")
    yield table
    yield Text("geometric mean of the pairs' ratios, with its interval", style="dim")
    asked = result.metric if hasattr(result, "metric") else result.metrics[0]
    notes = frame.filter((frame["metric"] == asked) & frame["note"].is_not_null())["note"]
    for note in notes.unique(maintain_order=True):
        yield Text(note, style="yellow")


def mix(mix: Mix) -> Iterator[RenderableType]:
    """Renders a mix: a row per congestion control, means above half widths, then the statements."""
    from bentpipe.experiment.results.mix import TESTS
    from bentpipe.statistics.samples import Counts

    yield hosts(mix)
    titles = mix.quantities
    shown = {name: [mix.estimate(sender, name) for sender in mix.names] for name in titles}
    table = make_table("", head("case" if mix.has_cases else "cc"), [])
    columns = []
    for name, found in shown.items():
        is_share = name == "share"
        divisor, unit = (0.01, "%") if is_share else formatting.scale([each.value for each in found], titles[name].unit)
        table.add_column("among\nits own" if name == "own" else heading(name.replace(":", "\n"), unit), justify="right")
        columns.append([_cell(each, divisor, Counts(each.replications, len(mix.seeds))) for each in found])
    for place, sender in enumerate(mix.names):
        table.add_row(Text(sender), *(column[place] for column in columns))
    yield table
    jain = mix.total("jain_senders")
    value = _cell(jain, 1).replace("\n", " ")
    yield Text(f"\nJain's index {value}, goodput {formatting.quantity(mix.total('goodput_bps').mean, 'bit/s')} in all")
    yield Text(f"{formatting.count(mix.runs['flows'][0], 'flow')} of each case", style="dim")
    replications = len(mix.seeds)
    if replications > 1:
        yield _sample(f" of {replications} replications{_days(mix)}", mix.judgement, TESTS * len(mix.names))
    yield Text("")
    for statement in mix.statements:
        yield Text(statement)


def mixes(result: Mixes) -> Iterator[RenderableType]:
    """Renders mixes at several points: a row per point with the most harmed case and the answer, then statements."""
    yield hosts(result)
    keys = [formatting.short_key(key, result.keys) for key in result.keys]
    margin = result.mixes[0].fairness.margin
    table = make_table("", keys[0], [*keys[1:], "loses most"])
    for title in ("harm\n%", f"fair within\n{100 * margin:.3g} %", "more\nreplications"):
        table.add_column(title, justify="right")
    shown = [*result.list_answers()][:POINTS_MAX]
    for values, case, harm, found in shown:
        more = "" if found.is_fair is not None else f"about {found.more}" if found.more else formatting.MISSING
        table.add_row(
            *(Text(formatting.setting(each)) for each in values.values()), Text(case), harm, found.answer, more
        )
    yield table
    yield from hidden(len(result.mixes) - len(shown), "more points; --json has all", hint="")
    replications = max(len(mix.seeds) for mix in result.mixes)
    if replications > 1:
        level, days = result.judgement.level, _days(result.mixes[0])
        yield Text(f"{replications} replications{days}; {level} for all answers together", style="dim")
    yield Text("")
    for statement in result.statements:
        yield Text(statement)


def sweep(result: Sweep, place: Path) -> Iterator[RenderableType]:
    """Renders a sweep: a row per point, means above half widths, statements, failures, and the path of the store."""
    yield hosts(result)
    keys = [formatting.short_key(key, result.keys) for key in result.keys]
    table = make_table("", keys[0], keys[1:])
    table.add_column("\nruns", justify="right")
    cells = []
    for name in result.metrics:
        found = result.estimates(name)
        divisor, unit = _scale(name, {name: found})
        table.add_column(_head(name, unit), justify="right")
        counts = [None] * len(found) if _is_transfer_column(name) else result.counts(name)
        cells.append([_cell(each, divisor, of) for each, of in zip(found, counts, strict=True)])
    points = result.points.head(POINTS_MAX)
    for number, row in enumerate(points.iter_rows(named=True)):
        names = [Text(formatting.setting(row[key])) for key in result.keys]
        table.add_row(*names, str(found[number].replications), *(column[number] for column in cells))
    yield Text(result.title, style="bold")
    yield table
    yield from hidden(result.points.height - points.height, "more points; `bentpipe report` shows them", hint="")
    yield _sample(_days(result), result.judgement)
    for note in filter(None, map(result.note_unfinished, result.metrics)):
        yield Text(note, style="yellow")
    yield Text("")
    first, *others = result.metrics
    for statement in (*result.make_statements(first), *(text for name in others for text in result.best(name)[:1])):
        yield Text(statement)
    for failure in result.failures[:FAILURES_MAX]:
        yield Text(
            f"\nfailed at {failure['parameters']}: {failure['message']}\n  bentpipe run {failure['replay']}",
            style="red",
        )
    yield from hidden(len(result.failures) - FAILURES_MAX, "more failed", hint="")
    if result.missing:
        yield Text(f"{formatting.count(result.missing, 'run')} missing; repeat the command to continue", style="yellow")
    for others in result.facts["aside"]:
        yield Text(
            f"{aside.describe_runs(others)} are kept in {place / others['folder']}, and not used", style="yellow"
        )
    yield f"\nAll runs are in {place}; tables and figures: bentpipe report {place}"


def reproduction(result: Reproduction, place: Path | None) -> Iterator[RenderableType]:
    """Renders papers: a row per claim, then counts of verdicts; without a place, claims at length."""
    from bentpipe.papers import entries, pages, summary

    for each in result.papers:
        table = make_table(f"{each.paper.name}: {each.paper.title}", "claim", [])
        for title, width in (("what", 24), ("printed, or\nhas to hold", 14), ("ours,\n± 95 %", 16), ("verdict", 16)):
            table.add_column(title if "\n" in title else f"\n{title}", overflow="fold", max_width=width)
        for verdict in each.verdicts:
            for cells in pages.list_compared(verdict):
                table.add_row(*map(Text, cells))
        yield table
        if place is None:
            for verdict in each.verdicts:
                yield Text("\n".join(pages.claim(verdict)).replace("**", "").replace("### ", ""))
        else:
            yield from map(Text, summary.in_words(each))
        yield from map(Text, summary.attacks(each))
        for message in each.errors:
            yield Text(f"failed: {message}", style="red")
    if place is None:
        return
    counts = make_table("Verdicts", "paper", [])
    kinds = entries.kinds(result.entries)
    for kind in ("one world", "some reading", *kinds):
        counts.add_column(kind.replace(" ", "\n", 1), justify="right", vertical="bottom")
    for entry in result.entries:
        counts.add_row(Text(entry.name), entry.in_one_world, str(entry.some), *map(entry.count, kinds))
    yield counts
    yield f"\nPages, figures and claims.csv are in {place}"


def report(report: Report) -> Iterator[RenderableType]:
    """Renders the statements of a report and the paths of its parts."""
    # Not a table: line breaks would spoil a copied path.
    places = [f"page     {report.page}"]
    for what, files in (("figures", report.figures), ("tables", report.tables)):
        kinds = ", ".join(dict.fromkeys(file.suffix[1:].upper().replace("TEX", "LaTeX") for file in files))
        names = ", ".join(dict.fromkeys(file.stem for file in files))
        if files:
            places += [f"{what:<9}{files[0].parent}", f"{'':<9}{names} ({kinds})"]
    for statement in report.statements:
        yield Text(statement)
    yield Text("")
    yield from places


def _estimates(comparison: Comparison, shown: Mapping[str, Sequence[Estimate | Interval]], title: str = "") -> Table:
    table = make_table(title, head(comparison.kind), [])
    cells: list[list[str]] = []
    for name, found in shown.items():
        divisor, unit = _scale(name, shown)
        table.add_column(_head(name, unit), justify="right")
        # Transfers are many and have several columns: their counts are below the table.
        counts = [
            None if find_metric(name).has_transfers else comparison.sample(sender, name).counts
            for sender in comparison.names
        ]
        cells.append([_cell(each, divisor, of) for each, of in zip(found, counts, strict=True)])
    for place, name in enumerate(comparison.names):
        table.add_row(Text(name), *(column[place] for column in cells))
    return table


def _days(result: Comparison | Mix | Sweep) -> str:
    """The days of the sky, as a part of a description of replications."""
    return ", each on another day of the sky" if result.has_days else ""


def _sample(of: str, judgement: Judgement, tests: int = 1) -> Text:
    """The line below a table: statistic and interval of its cells, and the correction of those in its sentences."""
    margin = "±" if judgement.statistic == "mean" else "with"
    is_corrected = tests > 1 and judgement.correction != "none"
    more = f" of each; sentences have intervals corrected for {tests} tests" if is_corrected else ""
    return Text(f"{judgement.statistic}{of}, {margin} {judgement.level} interval{more}", style="dim")


def _scale(name: str, shown: Mapping[str, Sequence[Estimate | Interval]]) -> tuple[float, str]:
    """Divisor and unit of a metric, equal for all shown metrics of its quantity (`fct`, `fct_p95`)."""
    if find_metric(name).base == "utilisation":
        return 0.01, "%"
    unit = find_metric(name).unit
    values = [
        each.value
        for other, found in shown.items()
        if _quantity(other) == _quantity(name) and find_metric(other).unit == unit
        for each in found
    ]
    return formatting.scale(values, unit)


def _quantity(name: str) -> str:
    return find_metric(name).base.partition("_")[0]


def _is_transfer_column(name: str) -> bool:
    """Whether the column belongs to the table of flows with several transfers."""
    return find_metric(name).base in TRANSFERS or find_metric(name).has_transfers


def _head(name: str, unit: str) -> str:
    """Head of a column: the metric, and below it the flow or link."""
    return _SHORT.get(name) or heading(name.replace(":", "\n"), unit)


def _cell(found: Estimate | Interval, divisor: float, counts: Counts | None = None) -> str:
    """Cell with the value, below it one margin, or two for asymmetric intervals, then the count of completed ones."""
    from bentpipe.statistics.samples import bound

    text = bound(_value_and_margin(found, divisor), found)
    return text if counts is None or counts.is_whole or found.value is None else f"{text}\n{counts}"


def _value_and_margin(found: Estimate | Interval, divisor: float) -> str:
    value, low, high = (None if each is None else each / divisor for each in (found.value, found.low, found.high))
    if value is None:
        return formatting.MISSING
    if low is None or high is None:
        return formatting.mean_and_margin(value, None)[0]
    by, margin = formatting.mean_and_margin(value, (high - low) / 2)
    digits = len(by.partition(".")[2])
    is_even = math.isclose(high - value, value - low, rel_tol=1e-6, abs_tol=1e-9 * abs(value))
    return (
        f"{by}\n±{margin}"
        if is_even
        else f"{by}\n+{formatting.write_fixed(high - value, digits)}\n-{formatting.write_fixed(value - low, digits)}"
    )


_SHORT = {"utilisation": "utilised\n%", "lost": "\nlost", "jain": "fairness\n(Jain)", "unfinished": "\nunfinished"}
