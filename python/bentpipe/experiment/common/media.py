"""Links in a medium whose modulation and code change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from bentpipe.experiment.single.run_result import RunResult


def list_adapted(result: RunResult) -> list[str]:
    """Return links with several MODCODs, the most first, of one medium: numbers of two media have different names."""
    used = result.recorded["modcod"].group_by("link").agg(used=pl.col("modcod").n_unique()).filter(pl.col("used") > 1)
    found = used.join(result.terminals.select("link", "medium"), on="link").sort(
        "used", "link", descending=[True, False]
    )
    return found.filter(found["medium"].is_in(found["medium"].head(1).to_list()))["link"].to_list()
