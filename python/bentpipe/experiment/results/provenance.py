"""Provenance of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.experiment.common.commands import WRITTEN, given_in_python, has_file, sweep_command
from bentpipe.experiment.common.provenance import RESOLVED, choose_title, describe_senders
from bentpipe.reports.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.experiment.results.sweep import Sweep


def describe_sweep(sweep: Sweep) -> Provenance:
    """Make the provenance of a sweep and its files."""
    facts = sweep.facts
    text, form = facts["written"]
    # A copy beside the page: the original file may change or be missing.
    file = f"{WRITTEN}.{form}"
    versions = facts["versions"] or [facts["version"]]
    no_command = given_in_python(facts)
    notes = [
        "" if has_file(facts) else f"{file} is beside the report",
        f"no command makes it again: {', '.join(no_command)} was given in Python" if no_command else "",
    ]
    return Provenance(
        title=choose_title(sweep.title, facts["source"]),
        source=facts["source"] if has_file(facts) else "",
        seeds=_seeds(sweep),
        replications=_replications(sweep.points["replications"].to_list()),
        version=f"bentpipe {', '.join(versions)}, results {facts['results']}",
        senders=describe_senders(facts["senders"]),
        command=sweep_command(facts),
        scenario=facts["scenario"],
        files={file: text, RESOLVED: facts["scenario"]},
        note="; ".join(filter(None, notes)),
    )


def _seeds(sweep: Sweep) -> str:
    if "seed" in sweep.keys:
        seeds = sweep.runs["seed"]
        first, last = (min(seeds), max(seeds)) if len(seeds) else (sweep.facts["seed"], sweep.facts["seed"])
    else:
        first = sweep.facts["seed"]
        last = (first + max(sweep.points["replications"].to_list()) - 1) % 2**64
    days = max(sweep.points["replications"].to_list()) - 1 if sweep.has_days else 0
    said = f"seed {first}" if first == last else f"seeds {first} to {last}"
    return said + (f", days 0 to {days} of the sky" if days else "")


def _replications(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    if most == 1:
        return "one run of each point"
    return f"{fewest if fewest == most else f'{fewest} to {most}'} replications of each point"
