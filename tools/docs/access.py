"""Makes the tables of the page "Shared access"."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bentpipe.formatting import write_fixed
from tools.docs.regions import put
from validation import kept
from validation.access import CONTROLS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "shared-access.md"

SEPARATE = {
    "rate 1 Mbit/s, control slots": "1.10 / 0.43 / 0.68 / 0.12",
    "rate 1 Mbit/s, random requests": "0.65 / 0.63 / 0.71 / 0.04",
    "volume, control slots": "1.06 / 0.70 / 0.95 / 0.02",
    "volume, random requests": "0.57 / 0.76 / 1.03 / 0.03",
    "rate 512 kbit/s and volume, random requests": "0.58 / 0.51 / 0.68 / 0.10",
    "constant 16 kbit/s and rate 1 Mbit/s, control slots": "0.19 / 0.54 / 0.65 / 0.42",
    "constant 64 kbit/s": "0.06 / 0.66 / 1.26 / 0.74",
    "volume, free to all, random requests": "0.012 / 0.011 / 0.035 / 0.95",
    "ALOHA": "0.116 / 0.11 / 0.645 / 1.184",
    "CRDSA, 3 copies": "- / 0.0006 / 0.572 / -",
}
"""Numbers of a simulation of requests and plans alone, which shares no code with bentpipe."""


def waits() -> str:
    """The waits of datagrams like those of pages."""
    lines = ["| access | first | mean | 95 % | empty | separate simulation |", "|---|---|---|---|---|---|"]
    for name, row in kept.load("access")["waits"].items():
        first, mean, p95 = (digits(row[key][0], "s") for key in ("first_s", "mean_s", "p95_s"))
        lines.append(f"| {name} | {first} | {mean} | {p95} | {row['empty'][0]:.2f} | {SEPARATE[name]} |")
    return "\n".join(lines)


def readings() -> str:
    """Waits in the model of one terminal, with two readings of the rules, beside both simulations."""
    lines = ["| access | simulator | model | model, other readings | separate simulation |", "|---" * 5 + "|"]
    measured = kept.load("access")["waits"]
    for name, row in kept.load("terminal").items():
        found = {key: of[0] for key, of in measured[name].items()}
        lines.append(f"| {name} | {' | '.join(map(four, [found, *row.values()]))} | {SEPARATE[name]} |")
    return "\n".join(lines)


def four(of: dict[str, float]) -> str:
    """Waits in seconds and the empty share, with the digits of the separate simulation."""
    return " / ".join(f"{of[key]:.2f}" for key in ("first_s", "mean_s", "p95_s", "empty"))


def requests() -> str:
    """Requests of 400 terminals."""
    lines = ["| requests by | load | lost | mean | 95 % | separate simulation |", "|---|---|---|---|---|---|"]
    for name, row in kept.load("access")["requests"].items():
        load, lost, mean, p95 = (row[key][0] for key in ("load", "lost", "mean_s", "p95_s"))
        lines.append(f"| {name} | {load:.3f} | {lost:.2g} | {mean:.3f} s | {p95:.3f} s | {SEPARATE[name]} |")
    return "\n".join(lines)


def transfers() -> str:
    """Times of pages and transfers by way of access."""
    found: dict[str, dict[str, list[float]]] = kept.load("access")["transfers"]
    parts: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, row in found.items():
        control, access = name.split(": ", 1)
        parts.setdefault(access, {})[control] = row
    columns = [(key, control) for key in next(iter(found.values())) for control in CONTROLS]
    heads = [f"{key}, `{control}`" for key, control in columns]
    lines = [f"| access | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for access, of in parts.items():
        lines.append(f"| {access} | {' | '.join(interval(of[control][key]) for key, control in columns)} |")
    return "\n".join(lines)


def orders() -> str:
    """Orders of publications, and ours."""
    found: dict[str, dict[str, list[float]]] = kept.load("access")["transfers"]
    asking, rest = "volume, free to those that ask", "rate up to 1 Mbit/s, free to all"

    def times(key: str, control: str, first: str = rest, second: str = asking) -> str:
        of = [interval(found[f"{control}: {way}"][key]) for way in (first, second)]
        return f"{of[0]} s, to {of[1]} s"

    downloads = [times("download of 10 MB", control) for control in CONTROLS]
    upload = times("upload of 500 kB", "cubic")
    loop = times("upload of 500 kB", "cubic", "volume", "volume, free to all")
    rows = [
        (
            "N. Kuhn et al. 2013",
            "the first ten datagrams arrive about 500 ms earlier by random than by dedicated access",
            "same: 0.45 to 0.56 s earlier",
        ),
        (
            "N. Kuhn et al. 2013",
            "under overload, random access is less reliable",
            "same: it loses more than 20 % of packets, and dedicated access none",
        ),
        (
            "IEEE GLOBECOM 2001, 966262",
            "free capacity also for terminals with a rate slows TCP, compared with free capacity for those that ask",
            f"same for downloads with `cubic` ({downloads[0]}), reversed with `bbr1` ({downloads[1]}) and for pages. "
            f"Uploads with `cubic` show no difference ({upload})",
        ),
        (
            "M. Luglio et al. 2009",
            "the loop of requests is inside TCP's loop: windows grow with the grants",
            f"same: an upload by volume takes longer than with free capacity ({loop}), as R adds to its rounds",
        ),
    ]
    lines = ["| publication | order there | here |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def interval(of: list[float]) -> str:
    """A mean with its interval, in seconds."""
    mean, low, high = of
    half = (high - low) / 2
    places = 1 if mean >= 10 else 2
    return f"{write_fixed(mean, places)} ± {half:.{places}f}"


def digits(value: Any, unit: str) -> str:
    """A time with the digits of the page."""
    return f"{value:.{3 if value < 0.05 else 2}f} {unit}"


def pages() -> dict[str, str]:
    """The page with its tables, by path below `docs`."""
    page = PAGE.read_text(encoding="utf-8")
    for made in (waits, readings, requests, transfers, orders):
        page = put(page, made.__name__, made())
    return {"concepts/shared-access.md": page}
