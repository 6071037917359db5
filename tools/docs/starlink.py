"""Makes the page "Starlink as measured"."""

from __future__ import annotations

from typing import Any

from validation import kept
from validation.starlink import (
    AFTER_S,
    FAR_MS,
    FITTED,
    HELD_OUT,
    LAGOS_S,
    LAGS,
    MODELS,
    PING_S,
    RUN_S,
    SCENARIOS,
    TRANSFER_SEEDS,
)

COLUMNS = {
    "min": "min",
    "p5": "5 %",
    "p50": "median",
    "p95": "95 %",
    "p99": "99 %",
    "step_p50": "step, median",
    "step_p95": "step, 95 %",
    "inside": "spread in a slot",
}


def row(name: str, of: dict[str, Any]) -> str:
    """A line of the first table."""
    loss = f"{100 * of['loss']:.1f} %" if "loss" in of else "–"
    return f"| {name} | " + " | ".join(f"{of[column]:.1f}" for column in COLUMNS) + f" | {loss} |"


ROWS: dict[str, str | tuple[str, tuple[str, ...]]] = {
    "p5": "5 % of round trips (ms)",
    "p50": "median (ms)",
    "p95": "95 % (ms)",
    "p99": "99 % (ms)",
    "p99_9": "99.9 % (ms)",
    "step_p50": "step of the median between slots, median (ms)",
    "base_step_p50": "step of the base between slots, median (ms)",
    "spread": ("spread in a slot (ms), quantile of slots: ", ("5 %", "50 %", "95 %")),
    "rise": ("median less base of a slot (ms), quantile of slots: ", ("5 %", "50 %", "95 %")),
    "correlation": ("autocorrelation in a slot after ", tuple(LAGS)),
    "half_s": "deviation of half-second medians in a slot (ms)",
    "loss": "lost (%)",
}
"""Rows of the comparison with traces that were not used, by name of the figure."""


def compared(measured: dict[str, Any], made: dict[str, dict[str, Any]]) -> str:
    """The table of figures of scenarios beside those of the traces that were not used."""
    lines = [
        "| | measured | " + " | ".join(f"`{name}`" for name in made) + " |",
        "|---" + "|---:" * (1 + len(made)) + "|",
    ]
    for key, what in ROWS.items():
        title, parts = what if isinstance(what, tuple) else (what, ())
        for at, part in enumerate(parts or ("",)):
            scale = 100 if key == "loss" else 1
            value, *others = (scale * (of[key][at] if parts else of[key]) for of in (measured, *made.values()))
            digits = 2 if key in ("correlation", "loss") else 1
            cells = [f"{each:.{digits}f} ({100 * (each / value - 1):+.0f} %)" for each in others]
            lines.append(f"| {title}{part} | {value:.{digits}f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


LAGOS_ROWS = {
    "p0": "least (ms)",
    "p5": "5 % (ms)",
    "p50": "median (ms)",
    "p95": "95 % (ms)",
    "p99": "99 % (ms)",
    "step_p50": "step of the median between slots, median (ms)",
    "base_step_p50": "step of the base between slots, median (ms)",
    "inside": "spread in a slot, median (ms)",
    "loss": "lost (%)",
}
"""Rows of the comparison over links between satellites."""


def lagos(found: dict[str, Any]) -> str:
    """The table of pings over links between satellites."""
    lines = ["| | measured | `starlink-isl` |", "|---|---:|---:|"]
    for key, title in LAGOS_ROWS.items():
        value, other = (each[key] * (100 if key == "loss" else 1) for each in (found["measured"], found["made"]))
        digits = 2 if key == "loss" else 1
        lines.append(f"| {title} | {value:.{digits}f} | {other:.{digits}f} ({100 * (other / value - 1):+.0f} %) |")
    return "\n".join(lines)


TRANSFER_ROWS = {
    "goodput": "goodput (Mbit/s)",
    "share": "retransmitted (%)",
    "losses_s": "losses a second",
    "each": "retransmissions for a loss",
    "rtt": "round trip, median (ms)",
}
"""Rows of the comparison with transfers."""
WAYS = {"down": "download", "up": "upload"}


def transfers(found: dict[str, Any]) -> str:
    """The table of transfers, with the losses of the scenario and with losses of single packets."""
    lines = ["| | measured | `starlink` | `starlink`, burst = 0 s |", "|---|---:|---:|---:|"]
    for way, what in WAYS.items():
        measured, *made = (found[way][name] for name in ("measured", *MODELS))
        for key, title in TRANSFER_ROWS.items():
            known = f"{measured[key]:.2f}" if key in measured else "–"
            cells = [f"{value:.2f} ± {half:.2f}" for value, half in (each[key] for each in made)]
            lines.append(f"| {what}: {title} | {known} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page(found: dict[str, Any]) -> str:
    """The whole page."""
    traces, made = found["traces"], found["scenarios"]
    head = "| | " + " | ".join(COLUMNS.values()) + " | lost |\n|---" * 1 + "|---:" * (len(COLUMNS) + 1) + "|"
    lines = [head]
    lines += [
        row(f"trace {name}, {'in the table' if name in FITTED else 'held out'}", of) for name, of in traces.items()
    ]
    lines += [row("all traces", found["pooled"])]
    lines += [row(SCENARIOS[name], of) for name, of in made.items()]
    after = ["| from the boundary (ms) | " + " | ".join(f"{1e3 * low:.0f}" for low in AFTER_S) + " |"]
    after += ["|---" + "|---:" * len(AFTER_S) + "|"]
    every = {"all traces": found["pooled"]} | {SCENARIOS[name]: of for name, of in made.items()}
    for name, of in every.items():
        after += [
            f"| {name}: median round trip by sending (ms) | " + " | ".join(f"{x:.0f}" for x in of["after"]) + " |"
        ]
        after += [f"| {name}: replies against usual | " + " | ".join(f"{100 * x:.0f} %" for x in of["replies"]) + " |"]
    off = []
    for name, of in made.items():
        worst = max(("p5", "p50", "p95", "p99"), key=lambda column: abs(of[column] / found["pooled"][column] - 1))
        off.append(f"{SCENARIOS[name]} by {100 * abs(of[worst] / found['pooled'][worst] - 1):.0f} % ({COLUMNS[worst]})")
    return PAGE.format(
        table="\n".join(lines),
        compared=compared(found["held out"], made),
        lagos=lagos(found["between satellites"]),
        lagos_s=LAGOS_S,
        **{key: f"{value:,.0f}" for key, value in found["between satellites"].items() if key in ("slowest", "pings")},
        **found["between satellites"]["end"],
        transfers=transfers(found["transfers"]),
        far=FAR_MS,
        seeds=len(TRANSFER_SEEDS),
        held=", ".join(HELD_OUT),
        after="\n".join(after),
        off="; ".join(off),
        run=RUN_S,
        ping=1e3 * PING_S,
    )


PAGE = """<!-- Generated by `python -m tools.docs starlink`. -->
# Starlink as measured

How near do the bundled scenarios `starlink` and `victoria-seattle` come to pings over Starlink? Measured by
`python -m validation.starlink`.

## Question and method

The traces are pings about every 13 ms, 13 minutes each, from a terminal in Victoria to the gateway in Seattle in
December 2024 (Z. Zhao and J. Pan, LEO live streaming). The slots of traces 2 and 3 are the table `starlink-2024`, from
which the scenarios draw whole slots (`python -m tools.slots`). Other traces were held out. Pings cross the idle
scenarios every {ping:.1f} ms for {run} s, with three seeds. All values are round trips in ms. A slot
lasts 15 s and begins at seconds 12, 27, 42 and 57 of each minute. Steps are differences of medians of neighbouring
slots. The spread in a slot is its 95 % quantile less its 5 % quantile, which is its base. The traces have no sequence
numbers, so they do not show losses.

## Round trips

{table}

The largest differences between quantiles (5, 50, 95, 99 %) of a scenario and of all traces: {off}. Traces differ more
from each other, because few slots with long paths decide the upper quantiles.

![Distributions of round trips; two minutes of them; medians after a boundary](starlink.png)

## Beside traces that are not in the table

Measured values are means of the traces {held}. Only trace 1 has its round trips here, so the values within slots are
its own. The loss is that of two directions at the 0.18 % that TCP retransmitted in a download of 2023. Pings of that
year lost 2.5 %, which no TCP transfer showed.

{compared}

The upper quantiles of a trace depend on the one to three slots of 54 whose paths are 20 to 60 ms longer. Quantiles of
99 % differ from 63 to 97 ms between the traces. A correlation near 0 has no meaningful ratio.

## After a boundary

At a boundary packets are held, not lost. Columns begin at this time from the boundary and last 50 ms.

{after}

The scenarios have the pause and the replies that follow together. Measured round trips are longer for a quarter of a
second after it, and those of the scenarios for a tenth. The pause of `starlink` begins 15 ms before the boundary, the
pause of `victoria-seattle` at the boundary, because handovers happen there.

## Transfers, and how losses come

In 2023 a download of 120 s and an upload of 300 s with CUBIC were measured between Victoria and a data centre on the
west coast (J. Zhao and J. Pan, MMSys 2024). Here are the same transfers over `starlink` with the server as far away,
as means of {seeds} seeds with 95 % intervals. A loss is a group of retransmissions at most 0.2 s apart. In the
scenario, it is one reduction of the window:

{transfers}

```sh
bentpipe run starlink --set 'link.internet.delay={far} ms'
bentpipe run starlink --set 'link.internet.delay={far} ms' --set 'link.access.slots.burst=0 s'
```

Losses come in bursts. With the same share of lost packets, but each packet lost by itself, CUBIC reduces its window
more often. `burst` has one value, 2 ms, which gives the losses a second and the retransmissions for a loss of the
upload. The distance of the server gives the round trips. No goodput was used: that of the download is a test. The
upload of the scenario is faster than measured. It loses less, because the bundled table has the losses of the download.

## Over links between satellites

Pings from Victoria in the Seychelles to Lagos were measured in 2023 (J. Zhao and J. Pan, MMSys 2024). `starlink-isl`
has this path, with a ping every 200 ms for {lagos_s} s:

{lagos}

```sh
bentpipe run starlink-isl --set duration=2h --set 'flow.ping.app={{ kind = "probe", interval = "200 ms" }}'
```

The slowest of {pings} pings took {slowest} ms. Packets in flight at the end: {on_links} on links, {queued} in queues,
{stranded} waiting for a link that is away. Packets at the old satellite go on over the links between satellites. They
are lost at a change between two shells, because no links join these. Steps are larger than measured: the scenario takes
any satellite in view by lot, and the operator does not.

## Limits

These are pings on an idle path. Under load Starlink queues ping and TCP apart, so the queues and rates of the
scenarios are examples.
"""


def pages() -> dict[str, str]:
    """The page by its path below `docs`."""
    return {"validation/starlink.md": page(kept.load("starlink"))}
