"""Hints on experiments: the coverage of intervals, and the power of replications. Results show them as notes.

Hints on a scenario that need no run are the core's (`crates/model/src/spec/hints.rs`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from bentpipe.experiment.common.until import Until
from bentpipe.formatting import count
from bentpipe.statistics.estimates import estimate
from bentpipe.statistics.judgement import Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bentpipe.experiment.design.design import Point
    from bentpipe.scenario.scenario import Scenario

RANDOMNESS = ("timing", "custom", "drawn")
"""Reaches of the seed, from least to most."""
FAR = 2.0
"""Effect in standard deviations. Replications are few if they can show only larger differences."""
NOTES_MAX = 8
"""Maximum number of listed notes on the points of a grid."""


def list_notes(points: Sequence[Point], *, is_grid: bool) -> list[str]:
    """List the notes on the scenarios, each once.

    A note on some points of a grid has their number.
    """
    counts = Counter(note for point in points for note in point.notes)
    found = [
        note if of == len(points) or not is_grid else f"{note} (at {of} of {count(len(points), 'point')})"
        for note, of in counts.items()
    ]
    more = len(found) - NOTES_MAX
    rest = [f"{count(more, 'more note')}; bentpipe check shows those of a scenario"] if more > 0 else []
    return [*found[:NOTES_MAX], *rest]


def hint_until(
    facts: Mapping[str, Any], values: Callable[[str], Iterable[NDArray[np.float64]]], kind: str
) -> list[str]:
    """Give a hint with the number of points whose intervals are still wider than `until` requests.

    `kind` is the word for a point in the hint, such as `case`.
    """
    if facts.get("until") is None:
        return []
    until = Until(**facts["until"])
    # The intervals that `until` checked.
    found = [estimate(each, Judgement.confidence) for each in values(until.metric)]
    wide = sum(each.mean is not None and not until.is_met(each) for each in found)
    if not wide:
        return []
    most = max(each.replications for each in found)
    return [
        f"the interval of {until.metric} is still wider than ± {100 * until.half_width:g} % at {wide} of"
        f" {count(len(found), kind)}, after at most {most} runs of each"
    ]


def hint_replications(
    facts: Mapping[str, Any], replications: int, tests: int, confidence: float = Judgement.confidence
) -> list[str]:
    """Describe the coverage and the power of the replications of an experiment.

    Parameters
    ----------
    facts : mapping
        Facts of the experiment.
    replications : int
        Runs of each point.
    tests : int
        Number of comparisons that are corrected together; 0 without comparisons.
    confidence : float
    """
    if replications < 2:
        return []
    found = []
    known = {"timing": "is", "custom": "and draws of custom classes are"}
    if verb := known.get(facts.get("randomness", "")):
        found.append(
            f"only the timing of hosts {verb} random here: intervals do not cover other losses, loads or paths"
        )
    if facts.get("shares_day", False):
        found.append("all replications share one day of the sky (sky.day): intervals do not cover other days")
    return found + _too_few(replications, tests, confidence)


def _too_few(replications: int, tests: int, confidence: float) -> list[str]:
    if tests < 1:
        return []
    from bentpipe.statistics.power import LARGE, count_replications, least_shown

    least = least_shown(replications, confidence, tests)
    if least <= FAR:
        return []
    wanted = count_replications(LARGE, confidence, tests)
    return [
        f"{replications} replications show only differences above {float(f'{least:.2g}'):g} standard deviations; "
        f"{wanted} show those above {LARGE:g}"
    ]


def hint_files(scenario: Scenario) -> list[str]:
    """Give a hint if all flows of a mix are files: their goodputs over the run then depend only on their sizes."""
    if {*scenario.flow_kinds} != {"file"}:
        return []
    return ["all flows are files: shares follow their sizes if all complete; compare --metric completion:NAME instead"]


def hint_fairness(scenarios: Iterable[Scenario], metrics: Sequence[str]) -> list[str]:
    """Give a hint if the metrics include Jain's index, and flows are of different kinds."""
    kinds = sorted({kind for scenario in scenarios for kind in scenario.flow_kinds})
    if "jain" not in metrics or len(kinds) < 2:
        return []
    return [f"jain is over flows of different kinds ({', '.join(kinds)}), whose goodputs are not meant to be equal"]


def hint_security(scenarios: Iterable[Scenario]) -> list[str]:
    """Give a hint if pages over TCP have no round trip for TLS, and flows of another scenario are over QUIC.

    The core gives it for flows of one scenario.
    """
    flows = [[*scenario.to_dict()["flow"].values()] for scenario in scenarios]
    has_quic = ["quic" in flow for case in flows for flow in case]
    is_open = any(
        flow["app"].get("kind") == "page" and "quic" not in flow and flow["app"].get("tls_rtts") == 0
        for case in flows
        for flow in case
    )
    is_in_one = any(len({"quic" in flow for flow in case}) > 1 for case in flows)
    if not (is_open and any(has_quic)) or is_in_one:
        return []
    return [
        "pages over TCP have no round trip for TLS, and the handshake of QUIC has it; an equal comparison:"
        " app.tls_rtts = 1"
    ]
