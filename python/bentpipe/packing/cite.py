"""Writes the sentence that cites a result in a paper, and the entry for its list of references."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import arguments, files
from bentpipe.errors import BentpipeError
from bentpipe.experiment.report import open_result
from bentpipe.experiment.single.run_result import RunResult
from bentpipe.own import loading
from bentpipe.packing.archive import read_archive
from bentpipe.packing.content import find_sweep
from bentpipe.scenario.scenario import Scenario

if TYPE_CHECKING:
    import os

    from bentpipe.contract.result import Result

TITLE = "bentpipe: a laboratory for transport protocols over satellite networks"
AUTHORS = "The bentpipe developers"
YEAR = 2026
URL = "https://github.com/bentpipe/bentpipe"


@dataclass(frozen=True)
class Citation:
    """The citation of a result.

    Attributes
    ----------
    title : str
        Title of the scenario.
    sentence : str
        Description of the runs: version, number of results, hosts, replications, seeds, digest of the
        scenario, and the command.
    bibtex : str
        The entry of bentpipe for BibTeX.
    """

    title: str
    sentence: str
    bibtex: str

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain data, fit for JSON."""
        return {"title": self.title, "sentence": self.sentence, "bibtex": self.bibtex}

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{self.bibtex}"


def cite(source: str | os.PathLike[str]) -> Citation:
    """Write the sentence that cites a result in a paper, and the entry for its references.

    Parameters
    ----------
    source : path
        The store of a sweep, comparison or mix, a folder where one of them or a run was saved, or a file of `pack`.

    Returns
    -------
    Citation

    Raises
    ------
    BentpipeError
        The source has no result.
    """
    place = arguments.path("source", source)
    if place.is_dir():
        return cite_result(open_result(place))
    if not place.exists():
        raise files.is_no_result(place)
    facts = read_archive(place).facts
    return Citation(facts["title"], facts["citation"], write_bibtex(facts["bentpipe"], facts["results"]))


def cite_result(result: Result) -> Citation:
    """Write the citation of an open run, comparison, mix or sweep."""
    provenance = result._reporter().provenance
    if isinstance(result, RunResult):
        what, digest, version, results = "One run", result.scenario.digest, result.version, result.results
    else:
        sweep = find_sweep(result)
        text = sweep.facts["scenario"]
        digest = Scenario(text, senders=loading.absent(text)).digest
        version, results = sweep.facts["version"], sweep.facts["results"]
        # The points of a comparison are its cases.
        what = f"{', '.join(result.names)}: {provenance.replications.replace(' point', '')}"
        if result is sweep:
            what = f"{len(sweep.names)} points of {', '.join(sweep.keys)}, {provenance.replications}"
    details = [provenance.version, f"hosts {result.hosts}", f"digest of the scenario {digest}"]
    if provenance.senders:
        details.append(f"own classes {provenance.senders}")
    sentence = f"{what} over the scenario {provenance.title}, {provenance.seeds} ({'; '.join(details)})."
    # The scenario of a saved run is in its own folder. Without a command, as for a scenario in Python, the digest alone
    # identifies the runs.
    if not isinstance(result, RunResult):
        with suppress(BentpipeError):
            sentence += f" Command: {result.command()}"
    return Citation(provenance.title, sentence, write_bibtex(version, results))


def write_bibtex(version: str, results: int) -> str:
    """Write the entry of this version of bentpipe for BibTeX."""
    return (
        f"@software{{bentpipe,\n  title = {{{{{TITLE}}}}},\n  author = {{{{{AUTHORS}}}}},\n  year = {{{YEAR}}},\n"
        f"  version = {{{version}}},\n  url = {{{URL}}},\n  note = {{results {results}}}\n}}"
    )
