"""Provenance of a single run and its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.experiment.common.commands import UNNAMED, WRITTEN, has_file, own, run_command
from bentpipe.reports.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.scenario.scenario import Scenario

RESOLVED = "resolved.toml"


def describe_run(scenario: Scenario, version: str, results: int = _core.RESULTS) -> Provenance:
    """Make the provenance of a single run and its files."""
    facts = collect_facts(scenario)
    text = scenario.resolve()
    return Provenance(
        title=choose_title(scenario.title, scenario.source),
        source=scenario.source if has_file(facts) else "",
        seeds=f"seed {scenario.seed}",
        replications="one run",
        version=f"bentpipe {version}, results {results}",
        senders=describe_senders(facts["senders"]),
        # The command line cannot name a case of a scenario.
        command="" if scenario.case else run_command(facts, {}, scenario.seed),
        scenario=text,
        files={RESOLVED: text},
        note="" if has_file(facts) else f"{RESOLVED} is beside the report",
    )


def collect_facts(scenario: Scenario) -> dict[str, Any]:
    """Collect the facts of a scenario for `run_command`."""
    return {"source": scenario.source, "sets": scenario.sets, "senders": own(scenario.senders)}


def choose_title(title: str, source: str) -> str:
    """Choose the title of a report: the scenario's title, or the name of its file, or of the folder with its result."""
    path = Path(source)
    return title or (path.parent.name if path.name == f"{WRITTEN}.toml" else path.stem) or UNNAMED


def describe_senders(senders: Mapping[str, Mapping[str, Any]]) -> str:
    """Describe custom congestion controls, each with its class and code."""
    return "; ".join(
        f"{name}: {each.get('package') or each['class'] or 'a class'}, code {each['code']}"
        for name, each in senders.items()
    )
