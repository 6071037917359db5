"""Tries what papers leave to others: sections of the pages on HSWA and BEEN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import plot
from bentpipe.formatting import write_fixed
from bentpipe.plot.style import COLOURS, sheet, style
from validation import kept
from validation.wishes import CONNECTIONS, COPIES, ERRORS, INPUTS, RATES

if TYPE_CHECKING:
    from pathlib import Path

MEASURES = {
    "goodput": "Goodput of all, % of the link",
    "utilisation": "Utilisation of the downlink, %",
    "jain": "Jain's index of fairness",
    "queue": "Mean wait in the queue in front of the first link, ms",
    "again": "Retransmitted, % of the bytes sent",
}


def cell(value: list[float], digits: int) -> str:
    """Mean, and half of its interval."""
    mean, low, high = value
    return f"{write_fixed(mean, digits)} ±{(high - low) / 2:.{digits}f}"


def of(rows: list[dict[str, Any]], *point: Any) -> dict[str, Any]:
    """The row of a point."""
    return next(row for row in rows if list(row["point"]) == list(point))


def hswa_tables(rows: list[dict[str, Any]]) -> str:
    """A table for each measure: a row for each arm and rate, a column for each number of connections."""
    parts = []
    for measure, title in MEASURES.items():
        lines = [f"### {title}", "", "| inputs | errors | " + " | ".join(map(str, CONNECTIONS)) + " |"]
        lines.append("|---|---" + "|---:" * len(CONNECTIONS) + "|")
        for rate in ERRORS:
            for arm in INPUTS:
                cells = [cell(of(rows, arm, n, rate)[measure], 3 if measure == "jain" else 1) for n in CONNECTIONS]
                lines.append(f"| {arm} | {rate:g} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def been_table(rows: list[dict[str, Any]]) -> str:
    """A row for each rate and number of copies."""
    head = "| errors | copies | all damaged, p^n | goodput, kbit/s | information efficiency | packets sent for one |"
    lines = [head, "|---|---|---:|---:|---:|---:|"]
    for rate in RATES:
        for copies in COPIES:
            row = of(rows, copies, rate)
            cells = [cell(row["goodput"], 1), cell(row["efficiency"], 3), cell(row["per_packet"], 2)]
            lines.append(f"| {rate:g} | {copies} | {rate**copies:.3g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def hswa_figure(file: Path) -> None:
    """Draw goodput and queue over the number of connections, a line for each choice of inputs."""
    found = kept.load("wishes")["hswa"]
    with style():
        figure = sheet(7.0, 3.4)
        panels = figure.subplots(1, 2)
        for axes, measure in zip(panels, ("goodput", "queue"), strict=True):
            for number, arm in enumerate(INPUTS):
                means, low, high = zip(*(of(found, arm, n, 1e-3)[measure] for n in CONNECTIONS), strict=True)
                colour = COLOURS[number % len(COLOURS)]
                axes.plot(CONNECTIONS, means, "o-", color=colour, markersize=3, label=arm)
                axes.fill_between(CONNECTIONS, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.set_xlabel("connections, one error in a thousand")
            axes.grid(alpha=0.3)
            axes.legend(fontsize=7, title="inputs", title_fontsize=7)
        panels[0].set_ylabel("goodput of all (% of the link)")
        panels[0].set_ylim(bottom=0)
        panels[1].set_ylabel("mean wait in the queue (ms)")
        plot.save(figure, file, dpi=150)


def been_figure(file: Path) -> None:
    """Draw goodput over information efficiency, a line for each number of copies."""
    found = kept.load("wishes")["been"]
    with style():
        figure = sheet(4.6, 3.4)
        axes = figure.subplots()
        for number, copies in enumerate(COPIES):
            rows = [of(found, copies, rate) for rate in RATES]
            x, y = [row["efficiency"][0] for row in rows], [row["goodput"][0] for row in rows]
            axes.plot(x, y, "o-", color=COLOURS[number], markersize=3, label=f"{copies}")
        for rate in RATES:
            row = of(found, 1, rate)
            at = (row["efficiency"][0], row["goodput"][0])
            axes.annotate(f"{rate:g}", at, fontsize=7, xytext=(4, -8), textcoords="offset points")
        axes.set_xlabel("information efficiency (errors at the points)")
        axes.set_ylabel("goodput (kbit/s)")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, title="copies", title_fontsize=7)
        plot.save(figure, file, dpi=150)


def hswa_section() -> str:
    """The section of the page on HSWA."""
    return HSWA.format(tables=hswa_tables(kept.load("wishes")["hswa"]), verdict=HSWA_VERDICT)


def been_section() -> str:
    """The section of the page on BEEN."""
    return BEEN.format(table=been_table(kept.load("wishes")["been"]), verdict=BEEN_VERDICT)


HSWA = """## Enhanced HSWA with further inputs

The conclusion of the paper says that more parameters can be added to the formula of the window, for results with many
connections. It names none. Three parameters that a sender or its administrator can know are settings of
[`enhanced-hswa`](../congestion-controls/enhanced-hswa.md), off by default:

- `connections`: how many share the link, as an oracle knows. Each grows by that part of the increment.
- `queue_target`: a queueing delay, the round trip over the least one. The closer to it, the less is added; a loss
  behind a longer queue halves the window, as one of congestion. Here 100 ms.
- `measures_errors`: the error rate is that of the connection's own losses, instead of the oracle's.

On the paper's geostationary bent pipe, 100 Mbit/s, a round trip of 510 ms, windows and queues of one bandwidth-delay
product; errors per packet; 5 replications of 60 s, starts within a second. Means with 95 % intervals.
`python -m validation.wishes` measures it again.

![Goodput and queue by inputs](hswa/inputs.png)

{verdict}

{tables}
"""

BEEN = """## Copies of reported segments

REFWA Plus cites go-back-N with multicopy retransmission: each retransmission is sent several times at once. On
[BEEN's](../middleboxes/been.md) path each report of a damaged packet may bring `tcp.report_copies` copies. They are
sent once more when all of them were reported: with an error rate of p none of n arrives with the probability p^n.
Packets of 500 B on the uplink of 1.5 Mbit/s, windows of 20 packets, errors per packet; 10 replications of 100 s. Means
with 95 % intervals. `python -m validation.wishes` measures it again.

![Goodput and information efficiency by copies](been/copies.png)

{table}

{verdict}
"""

HSWA_VERDICT = """**The queue helps.** With ten or fifteen connections and one error in a thousand it halves the wait,
and shares are more equal (Jain's index with fifteen 0.82 instead of 0.59), for a few per cent of goodput. With three
and five it costs more goodput than it is worth. Without errors it costs none: the cost comes from errors behind a
queue, which halve the window too. **The other two do not help.** The number of connections changes nothing beyond the
intervals, so the growth of each window does not decide. The measured loss rate changes nothing, either: the increment
follows its logarithm, and no oracle is needed. **No input raises the goodput of many connections.** Up to one error
in a thousand, ten and fifteen connections fill the link without any input. At one in a hundred they do not, and each
input leaves their goodput equal or lower; all three together lower it. The mean of each connection falls with their
number because they share the link's rate."""

BEEN_VERDICT = """A copy saves a report and a retransmission each time that the first dies: the window moves on
sooner. Two copies give 2 % more goodput at one error in ten, 9 % at three and at five in ten. A third adds little,
and takes some away at seven in ten, where it fills nine tenths of the uplink. A packet that arrives costs
1 + np/(1-p^n) sendings, as the last column shows. BEEN's information efficiency does not see that cost: it is the
share of packets that arrive, needed or not."""
