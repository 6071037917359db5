"""The pages that `agreement.py` writes, from its numbers alone."""

from __future__ import annotations

import statistics
from typing import Any

import agreement

HEAD = "<!-- Written by validation/agreement.py; change that, not this. -->\n"


def pages(found: dict[str, Any]) -> dict[str, str]:
    """File names and texts."""
    return {"agreement.md": senders_page(found), "sharing.md": sharing_page(found)}


def table(head: list[str], rows: list[list[str]]) -> str:
    """In Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("|" + "|".join(row) + "|\n" if row[0] == "---" else "| " + " | ".join(row) + " |\n" for row in lines)


def senders_page(found: dict[str, Any]) -> str:
    """Agreement with ns-2's modules of Linux, and with closed forms."""
    s1 = found["s1"]
    rows = []
    for module, sender in agreement.MODULES.items():
        theirs, ours = s1["ns2"][module], s1["ours"].get(module)
        name = module if module == sender else f"{module} (`{sender}` here)"
        cells = []
        for at, their in enumerate(theirs):
            cell = f"{'-' if ours is None else f'{ours[at]:.3f}'} / {their:.3f}"
            is_large = ours is not None and abs(ours[at] - their) > agreement.LARGE
            cells.append(f"**{cell}**" if is_large else cell)
        rows.append([name, *cells])
    missing = [module for module in agreement.MODULES if module not in s1["ours"]]
    note = f"No sender of ours yet: {', '.join(missing)}.\n\n" if missing else ""
    large = agreement.large(s1)
    causes = []
    for cause in agreement.CAUSES:
        if cause.module not in s1["causes"]:
            continue
        with_it = s1["causes"][cause.module]
        lines = [
            [
                agreement.LOSS[at],
                f"{s1['ours'][module][at]:.3f}",
                f"{with_it[at]:.3f}",
                f"{s1['ns2'][module][at]:.3f}",
                f"{with_it[at] - s1['ns2'][module][at]:+.3f}",
            ]
            for module, at in large
            if module == cause.module
        ]
        text = f"### {cause.module}\n\n{cause.text}\n\n" + settings(cause) + "\n\n"
        if lines:
            text += table(["loss rate", "ours", "with these settings", "ns-2", "left"], lines) + "\n"
        causes.append(text)
    at = agreement.LOSS.index("1e-2")
    return f"""{HEAD}
# Senders against ns-2 and their closed forms

`python validation/agreement.py s1 response` makes this page; [Agreement with ns-2](ns2.md) has the senders that are
ns-2's own, and how the two are configured alike.

## Ten senders over three satellites

`validation/ns2/s1.toml`: utilisation by payload goodput, bentpipe / ns-2, {agreement.SEEDS} seeds each.
ns-2's are its agent `linux`, which runs congestion control modules of Linux 2.6.16 to 2.6.22 on a sender with
selective acknowledgements. Ours are the senders as they are specified, with the preset `ns-2`. Differences of more than
{agreement.LARGE:g} are bold and have a cause below; there are {len(large)} of them in {
        sum(len(values) for values in s1["ours"].values())
    }.

{table(["sender", *agreement.LOSS], rows)}
{note}## The causes

ns-2's modules were not read for this: a cause is what we know or infer of them, and its proof is that the same
setting here gives what ns-2 gives. "ours" and "with these settings" are means of the same seeds.

One cause is common to all modules: the kernel around them. ns-2 shows it without us: at a loss rate of 0.01 its own
SACK sender has {s1["ns2"]["own sack"][at]:.3f}, and Reno's module, with the same law, {s1["ns2"]["reno"][at]:.3f}.
That kernel counts windows in whole segments; it is in slow start while the window *equals* the threshold, so that a
segment is added at once after each recovery (RFC 5681 §3.1 allows both); it repairs lost retransmissions without a
timeout; its timer is never shorter than the round trip and 200 ms. Here that is {setting_list(agreement.KERNEL)}, and
takes our Reno from {s1["ours"]["reno"][at]:.3f} to {s1["kernel"][at]:.3f}. It is not all of it: at 0.1 it is
too good ({s1["kernel"][-2]:.3f}, ns-2 {s1["ns2"]["reno"][-2]:.3f}), as RACK finds losses that the kernel leaves to its
timer. The preset has what ns-2's own senders do.

{"".join(causes)}{response_part(found["response"])}"""


def settings(cause: agreement.Cause) -> str:
    """Those that make ours as theirs."""
    cc = ", ".join(f"{key} = {value}" for key, value in toml(cause.cc))
    name = agreement.MODULES[cause.module]
    parts = [f'`cc = {{ kind = "{name}", {cc} }}`'] if cc else []
    if cause.changes:
        parts.append(setting_list(cause.changes))
    return "With " + " and ".join(parts) + ":"


def toml(changes: dict[str, Any]) -> list[tuple[str, str]]:
    """Keys and values as a scenario has them."""
    text = {True: "true", False: "false"}
    return [
        (key, text[value] if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value))
        for key, value in changes.items()
    ]


def setting_list(changes: dict[str, Any]) -> str:
    """In a sentence."""
    return ", ".join(f"`{key} = {value}`" for key, value in toml(changes))


def response_part(found: dict[str, Any]) -> str:
    """Response functions, and Hybla's growth."""
    rows = []
    for law in agreement.LAWS:
        for rate in law.rates:
            window, expected = found["windows"][law.name][rate], law.window(float(rate))
            cells = [f"{window:.1f}", f"{expected:.1f}", f"{window / expected - 1:+.1%}"]
            rows.append([law.name, law.formula, law.source, rate, *cells])
    growths = [
        [f"`{cc}`", f"{rtt_ms} ms", f"{value:.1f}", f"{growth_expected(cc, rtt_ms):.1f}"]
        for cc, values in found["growth"].items()
        for rtt_ms, value in zip(agreement.RTTS_MS, values, strict=True)
    ]
    return f"""## Response functions

`validation/response.toml`: one sender on a path of 100 ms on which nothing queues; one of 1/p packets is lost,
periodically, the first when slow start has reached the window at which the formula's cycle ends. Mean window of the
second half of the run, in segments. The formulas leave out the round trip in which a loss is repaired and nothing
is added, except Scalable's, whose cycle has only 13; so measured windows are a little smaller where cycles are
short. CUBIC is without fast convergence: its cycle neither attracts nor repels, and fast convergence would take it
to a smaller one.

{table(["sender", "window", "source", "p", "measured", "formula", "difference"], rows)}
HighSpeed's table (RFC 3649, Appendix B) is in `crates/tcp/src/cc/loss/highspeed.rs`, all rows, with a test that the
formulas give it.

## Hybla does not depend on the round trip

In congestion avoidance Hybla adds ρ² segments per round trip, ρ = RTT / 25 ms, so that its rate grows by 1 / (25
ms)² = 1600 segments per second in each second, whatever the path; Reno's by 1 / RTT². The same path without losses,
seconds 20 to 30:

{table(["sender", "round trip", "measured", "closed form"], growths)}"""


def growth_expected(cc: str, rtt_ms: int) -> float:
    """Segments per second, in each second.

    >>> growth_expected("hybla", 500), growth_expected("sack", 500)
    (1600.0, 4.0)
    """
    return (1000 / (25 if cc == "hybla" else rtt_ms)) ** 2


def sharing_page(found: dict[str, Any]) -> str:
    """How long two flows of the same sender take to share."""
    cases = [(route, later_s) for route in agreement.ROUTES for later_s in (0, agreement.LATER_S)]
    rows = []
    for sender, by_case in found["sharing"].items():
        cells = [verdict(by_case[agreement.case(*one)]) for one in cases]
        rows.append([f"`{sender}`", *cells])
    head = [
        "sender",
        *(f"{route.name}, {'together' if later_s == 0 else f'{later_s} s later'}" for route, later_s in cases),
    ]
    leo, geo = agreement.ROUTES
    return f"""{HEAD}
# Sharing: two flows of the same sender

`python validation/agreement.py sharing` makes this page.

`validation/sharing.toml`: two flows that never end share 10 Mbit/s and a drop-tail queue of one bandwidth-delay
product, over a round trip of {leo.rtt_ms} ms (a low orbit, or a line on the ground) and of {geo.rtt_ms} ms
(geostationary). They start together, or the second {agreement.LATER_S} s after the first, each within half a second.
From the start of the second on, for {leo.duration_s} s and {geo.duration_s} s, what each delivers in windows of
{leo.window_s} s and {geo.window_s} s gives Jain's index.

Each cell is the time after which Jain's index stays at {agreement.FAIR} or above to the end, in the slowest of
{agreement.SHARING_SEEDS} seeds; 0 s is from the first window. Where in some seed it falls below in the last quarter,
the two do not converge in that sense: "on average" says that over the whole second half the index is {agreement.FAIR}
or more, "no" that it is not even that. Behind it stand that index and the share of the windows of the second half
that were fair, means of the seeds. An index of 0.9 is a share of two to one, 0.5 that one of the two starves.

{table(head, rows)}
The numbers of `bbr3` over GEO are unconfirmed. They follow from the draft as coded: both flows' long-term bounds sit
where their overflows left them, and nothing lowers the larger one. No second implementation was run on this path.
"""


def verdict(seeds: dict[str, list[Any]]) -> str:
    """Of one case.

    >>> verdict({"settles_s": [0, 30], "fair": [1, 1], "late": [1, 1]})
    '30 s'
    >>> verdict({"settles_s": [None, 30], "fair": [0.5, 1], "late": [0.98, 1]})
    'on average: 0.990 (75 %)'
    >>> verdict({"settles_s": [None, None], "fair": [0, 0], "late": [0.8, 0.9]})
    'no: 0.850 (0 %)'
    """
    if None not in seeds["settles_s"]:
        return f"{max(seeds['settles_s'])} s"
    late, fair = statistics.fmean(seeds["late"]), statistics.fmean(seeds["fair"])
    return f"{'on average' if late >= agreement.FAIR else 'no'}: {late:.3f} ({fair * 100:.0f} %)"
