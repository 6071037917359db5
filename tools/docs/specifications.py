"""The specification of each congestion control and middlebox, for a link on its page."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "specs"

OF = {
    "tahoe": "tcp-tahoe-tcpmin",
    "tcpmin": "tcp-tahoe-tcpmin",
    "reno": "tcp-reno",
    "newreno": "tcp-newreno",
    "sack": "tcp-sack",
    "highspeed": "highspeed-tcp",
    "scalable": "scalable-tcp",
    "westwood-nr": "westwood",
    "westwood-plus": "westwood",
    "bbr1": "bbr",
    "bbr2": "bbr",
    "bbr3": "bbr",
    "leocc": "leo-aware",
    "satcp": "leo-aware",
    "enhanced-hswa": "enhanced-hswa-tcp",
    "hswa": "hswa-tcp",
    "peach": "tcp-peach",
    "peach-plus": "tcp-peach",
    "scps": "scps-tp",
    "swift": "tcp-swift",
    "eln": "eln-eten",
    "eten": "eln-eten",
    "rcp": "xcp-rcp",
    "xcp": "xcp-rcp",
    "split": "pep",
    "spoof": "pep",
    "snoop": "pep",
}
"""Pages of `docs/specs` by the congestion control or middlebox, where their names differ."""


def link(name: str) -> str:
    """A paragraph that leads to the specification, or an empty text."""
    page = OF.get(name, name)
    # A wrong name in the list gives a dead link, which tests refuse.
    return f"Specification: [{page}](../specs/{page}.md).\n" if name in OF or (FOLDER / f"{page}.md").is_file() else ""
