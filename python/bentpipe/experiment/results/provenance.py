"""Where what a sweep shows is from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.experiment.contract.commands import (
    UNNAMED,
    WRITTEN,
    given_in_python,
    has_file,
    own,
    run_command,
    sweep_command,
)
from bentpipe.reports.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.experiment.single.run_result import RunResult

RESOLVED = "resolved.toml"


def titled(title: str, source: str) -> str:
    """The title of a report: that of the scenario, or the name of its file, or of the folder that has its result."""
    path = Path(source)
    return title or (path.parent.name if path.name == f"{WRITTEN}.toml" else path.stem) or UNNAMED


def of_sweep(sweep: Sweep) -> Provenance:
    """Of all that is made of a sweep."""
    facts = sweep.facts
    text, form = facts["written"]
    # Beside the page: a file may change, and there may have been none.
    file = f"{WRITTEN}.{form}"
    versions = facts["versions"] or [facts["version"]]
    no_command = given_in_python(facts)
    notes = [
        "" if has_file(facts) else f"{file} is beside the report",
        f"no command makes it again: {', '.join(no_command)} was given in Python" if no_command else "",
    ]
    return Provenance(
        title=titled(sweep.title, facts["source"]),
        source=facts["source"] if has_file(facts) else "",
        seeds=_seeds(sweep),
        replications=_replications(sweep.points["replications"].to_list()),
        version=f"bentpipe {', '.join(versions)}, results {facts['results']}",
        senders=_described(facts["senders"]),
        command=sweep_command(facts),
        scenario=facts["scenario"],
        files={file: text, RESOLVED: facts["scenario"]},
        note="; ".join(filter(None, notes)),
    )


def of_run(run: RunResult) -> Provenance:
    """Of all that is made of a single run."""
    scenario = run.scenario
    facts: dict[str, Any] = {"source": scenario.source, "sets": scenario.sets, "senders": own(scenario.senders)}
    text = scenario.resolved()
    return Provenance(
        title=titled(scenario.title, scenario.source),
        source=scenario.source if has_file(facts) else "",
        seeds=f"seed {run.seed}",
        replications="one run",
        version=f"bentpipe {run.version}, results {_core.RESULTS}",
        senders=_described(facts["senders"]),
        # The command line cannot name a case of a scenario.
        command="" if scenario.case else run_command(facts, {}, run.seed),
        scenario=text,
        files={RESOLVED: text},
        note="" if has_file(facts) else f"{RESOLVED} is beside the report",
    )


def _described(senders: Mapping[str, Mapping[str, Any]]) -> str:
    return "; ".join(f"{name}: {each['class'] or 'a class'}, code {each['code']}" for name, each in senders.items())


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
