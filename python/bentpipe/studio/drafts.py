"""The data of a scenario that has not been run: its facts, and no series. It has the methods of `RunData`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.hosts import name_hosts
from bentpipe.experiment.common.pages import name_pages
from bentpipe.version import __version__

if TYPE_CHECKING:
    from bentpipe.scenario.scenario import Scenario

TOLD = "Run the scenario: reasons are those of a run."


@dataclass(frozen=True)
class DraftData:
    """A valid scenario before its run.

    Attributes
    ----------
    name : str
        Its name in the requests of the scripts.
    scenario : Scenario
    """

    name: str
    scenario: Scenario

    def meta(self) -> dict[str, Any]:
        """The facts, as plain data."""
        scenario = self.scenario
        return {
            "run": self.name,
            "is_draft": True,
            "title": scenario.title,
            "seed": scenario.seed,
            "version": __version__,
            "results": _core.RESULTS,
            "digest": scenario.digest,
            "command": None,
            "text": scenario.written[0],
            "duration_s": scenario.duration_s,
            "stop": "",
            "hosts": name_hosts([scenario.hosts]),
            "pages": name_pages(scenario.to_dict()["flow"]),
            "flows": scenario.flow_names,
            "links": scenario.link_names,
            "rtt_s": {},
            "busiest": None,
            "terminals": {},
            "access": {},
            "adapted": [],
            "senders": {},
            "series": [],
            "happenings": [],
            "statements": [],
            "notes": scenario.notes,
            "has_sky": scenario.has_sky,
            "epoch": None,
        }

    def series(self, name: str, of: str, start: float, end: float, columns: int) -> bytes:
        """Refuse: nothing was recorded."""
        raise self._refusal()

    def find_values(self, t: float) -> dict[str, dict[str, float]]:
        """No values."""
        return {}

    def why(self, flow: str, t: float) -> dict[str, Any]:
        """The sentence that a run is needed."""
        return {"flow": flow, "t": t, "sentences": [TOLD], "happenings": []}

    def find_time_spent(self, flow: str, start: float, end: float) -> dict[str, Any]:
        """No parts."""
        return {"flow": flow, "start_s": start, "end_s": end, "parts": []}

    def packets(self, flow: str, start: float, end: float) -> dict[str, Any]:
        """Refuse: no packet was sent."""
        raise self._refusal()

    def _refusal(self) -> BentpipeError:
        return BentpipeError(f"{self.scenario.title or 'the scenario'} has not been run\n  expected a run: press Run")
