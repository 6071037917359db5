"""Makes the tables of homes that share a medium, in the guide "Find why pages are slow behind a hub"."""

from __future__ import annotations

from tools.docs.hub import filled, interval
from tools.docs.regions import put
from validation import kept

Row = dict[str, list[float]]


def change(of: list[float], factor: float, unit: str) -> str:
    """A mean with its interval and sign."""
    mean, low, high = (factor * value for value in of)
    # No sign for zero.
    sign = "" if abs(mean) < 0.005 else "+" if mean > 0 else "-"
    return f"{sign}{abs(mean):.2f} ± {(high - low) / 2:.2f} {unit}"


def backup() -> str:
    """Capacity and page times of the others, with and without the backup."""
    lines = [
        "| carriers up | backup, granted | others, granted without it | change | their page without it | change |",
        "|---" * 6 + "|",
    ]
    rows: dict[str, Row] = kept.load("neighbours")["backup"]
    for carriers, row in rows.items():
        cells = [
            interval(row["backup_bps"], 1e-3, "kbit/s"),
            interval(row["others_bps_without"], 1e-3, "kbit/s"),
            change(row["others_bps_change"], 1e-3, "kbit/s"),
            interval(row["page_s_without"], 1, "s"),
            change(row["page_s_change"], 1, "s"),
        ]
        lines.append(f"| {carriers} | {' | '.join(cells)} |")
    return "\n".join(lines)


def shower() -> str:
    """Page times of the others, and goodput of the home in the shower."""
    lines = [
        "| carrier down | page, clear sky | by the shower | page, edge | by the shower | its download, dry | in rain |",
        "|---" * 7 + "|",
    ]
    rows: dict[str, Row] = kept.load("neighbours")["shower"]
    for name, row in rows.items():
        cells = []
        for homes in ("clear", "edge"):
            cells += [interval(row[f"{homes}_s_dry"], 1, "s"), change(row[f"{homes}_change"], 1, "s")]
        for key in ("download_bps_dry", "download_bps"):
            cells.append(interval(row[key], 1e-6, "Mbit/s") if row[key][0] > 0 else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def acks() -> str:
    """Bunches of ACKs."""
    lines = ["| access | ACKs in a bunch | gap, median | 95 % | longest |", "|---" * 5 + "|"]
    rows: dict[str, Row] = kept.load("neighbours")["acks"]
    for way, row in rows.items():
        gaps = [interval(row[f"gap_{key}_s"], 1000, "ms") for key in ("median", "p95", "max")]
        lines.append(f"| {way} | {interval(row['acks'], 1, '').strip()} | {' | '.join(gaps)} |")
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """The page with its tables, by path below `docs`."""
    page = filled()
    for name, made in (("backup", backup()), ("shower", shower()), ("acks", acks())):
        page = put(page, name, made)
    return {"guides/slow-pages.md": page}
