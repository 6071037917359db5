"""Compares REFWA Plus with other remedies for link errors: a section of the page of its paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import plot
from bentpipe.formatting import write_fixed
from bentpipe.plot.style import COLOURS, sheet, style
from validation import kept
from validation.remedies import RATES, SCHEMES

if TYPE_CHECKING:
    from pathlib import Path


def figure(file: Path) -> None:
    """Draw goodput over the loss rate, a line for each scheme."""
    rows = kept.load("remedies")
    with style():
        figure = sheet(7.2, 4.2)
        axes = figure.subplots()
        for number, name in enumerate(SCHEMES):
            of = [row for row in rows if row["scheme"] == name and row["rate"] > 0]
            x, y = [row["rate"] for row in of], [row["share"][0] for row in of]
            colour = COLOURS[number % len(COLOURS)]
            dashes = "-" if number < len(COLOURS) else "--"
            axes.plot(x, y, "o" + dashes, color=colour, markersize=3, label=name, linewidth=2 if "Plus" in name else 1)
            low, high = ([row["share"][edge] for row in of] for edge in (1, 2))
            axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set_xscale("log")
        axes.set_xlabel("packets lost on the first inter-satellite link (share)")
        axes.set_ylabel("goodput of ten senders (% of 10 Mbit/s)")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, ncols=2)
        plot.save(figure, file, dpi=150)


def table(rows: list[dict[str, Any]], column: str, digits: int) -> str:
    """A row per scheme, a column per rate."""
    lines = ["| | " + " | ".join(f"{rate:g}" for rate in RATES) + " |", "|---" + "|---:" * len(RATES) + "|"]
    for name in SCHEMES:
        cells = []
        for row in rows:
            if row["scheme"] == name:
                mean, low, high = row[column]
                cells.append(f"{write_fixed(mean, digits)} ±{(high - low) / 2:.{digits}f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


TEXT = """## Beside other remedies for link errors

REFWA Plus beside the remedies that its paper cites, and beside later ones, on the topology of the paper: ten greedy
senders over three satellites, 10 Mbit/s, a round trip of 160 ms, buffers of one bandwidth-delay product. The first
inter-satellite link loses packets at random. TCP is that of ns-2, as in the paper; each scheme has its own recovery.
Means of 10 replications of 120 s with 95 % intervals; headers take 3.8 % of the link. `python -m validation.remedies`
measures it again.

![Goodput of each scheme over the loss rate](refwa/remedies.png)

### Goodput, % of the link

{goodput}

### Jain's index of fairness

{jain}

### Who wins where, and why

{verdict}
"""
VERDICT = """Up to one loss in a thousand there is nothing to win: a window of a tenth of the path recovers before
the next loss. All fill the link but WestwoodNR, which stays at three quarters, and WTCP.

At one in a hundred, schemes that do not halve their window for an error are ahead: SACK with notices of errors (ELN),
and BBR. Both kinds of Peach follow, which halve it and have it back two round trips later, then WestwoodNR, REFWA Plus
and WTCP. NewReno, SACK and Santa Cruz stay at three fifths. REFWA without Plus does, too: its windows are for
congestion, and its senders are NewReno.

From one in twenty on, most fall. ELN repairs each segment once in a round trip and waits for duplicates that no
longer come. STP has Reno's window. At one in a hundred it is a little behind SACK, since each loss waits for a poll.
From one in ten on it is ahead, since a lost retransmission needs no timeout. BBR v3 takes more than 2 % of losses for
congestion, which explains all of its fall: with a threshold of 90 % it has the best goodput up to 30 %, without any
middlebox. Only unusually many losses lower the rate of WTCP. It comes next and is the best at 50 %. It pays with a
tenth of a clean link; [its page](../congestion-controls/wtcp.md) shows what is left for other senders. REFWA Plus
retransmits all outstanding data and never backs off, so its timeouts are short. From one in ten on it is ahead of every
scheme to which the paper compares it.

TCP-Peach+ beats it for two separate reasons. At 20 % it has 52 %, and 20 % with the recovery of NewReno in place of
SACK. Without copies of data in its probe segments, which is Peach with SACK, it has 18 %, and without both 7 %. The
copies are many times the data, at a priority that costs other packets nothing here. Without queues that serve them
last, at every hop, they would be a flood.

Each needs something else. ELN needs a satellite that sees the error and marks ACKs. REFWA Plus needs middleboxes on
all satellites, and new senders. Peach needs priorities at every hop. BBR and WTCP need only the sender, and a path
whose losses are known to be errors."""


def section() -> str:
    """The section of the page on REFWA Plus."""
    rows = kept.load("remedies")
    return TEXT.format(goodput=table(rows, "share", 1), jain=table(rows, "jain", 2), verdict=VERDICT)
