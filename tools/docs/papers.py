"""Adds sections to the pages of papers: measurements beyond their claims.

`python -m validation.papers` makes the pages without these sections. The sections come before the list of sources.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tools.docs import remedies, wishes
from tools.docs.regions import put

if TYPE_CHECKING:
    from collections.abc import Callable

PAPERS = Path(__file__).resolve().parents[2] / "docs" / "papers"
BEFORE = "## Sources of this page"
SECTIONS = {
    "been": ("copies", wishes.been_section),
    "hswa": ("inputs", wishes.hswa_section),
    "refwa": ("remedies", remedies.section),
}
"""Name and maker of each paper's section, by paper."""


def pages() -> dict[str, str]:
    """The pages with their sections, by path below `docs`."""
    return {
        f"papers/{paper}.md": put((PAPERS / f"{paper}.md").read_text(encoding="utf-8"), name, make(), BEFORE)
        for paper, (name, make) in SECTIONS.items()
    }


def pictures() -> dict[str, Callable[[Path], None]]:
    """The functions that draw the figures, by path below `docs`."""
    return {
        "papers/been/copies.png": wishes.been_figure,
        "papers/hswa/inputs.png": wishes.hswa_figure,
        "papers/refwa/remedies.png": remedies.figure,
    }
