"""Time series of a run, whole or at an instant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, cast

from bentpipe import arguments
from bentpipe.catalog import dictionary, unknown
from bentpipe.errors import BentpipeError
from bentpipe.experiment.single.tables import LazyTables
from bentpipe.statistics.judgement import Judgement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from bentpipe.experiment.common.curves import Curves
    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.scenario.scenario import Scenario
    from bentpipe.statistics.curve import Curve
    from bentpipe.statistics.quality import Stalls
    from bentpipe.statistics.steady import Steady

EVENTS = ("events", "decisions", "losses", "objects", "critical_path")
"""Series of events and parts, which have tables in place of values over time."""


class Recorded(ABC):
    """Base of results with recorded series."""

    scenario: Scenario
    recorded: Mapping[str, pl.DataFrame]
    coverage: Mapping[str, Mapping[str, float | None]]

    @property
    @abstractmethod
    def simulated_s(self) -> float:
        """Length of the run, simulated seconds."""

    @abstractmethod
    def _recording(self, *names: str) -> Recorded:
        """Return this result if it has these series, else that of another run, if the run can be repeated."""

    @property
    @abstractmethod
    def _curves(self) -> Curves:
        """The curves of the result."""

    def recorded_until(self, name: str) -> float:
        """Return the end of the recorded rows of a series, simulated seconds.

        It is the end of the run if all rows fit.
        """
        end_s = self.coverage.get(name, {}).get("end_s")
        return self.simulated_s if end_s is None else end_s

    def curve(self, name: str, of: str) -> Curve:
        """Return a series of one flow or link as a curve, which also has the spans in which its values are known.

        Parameters
        ----------
        name : str
            A series such as `cwnd_bytes`, or a value of a congestion control such as `cc_values:round_count`. The
            series `route_queue_bytes` has the bytes in the fullest queue on the route of a flow, at each instant.
        of : str
            The flow, or the link and direction.

        Returns
        -------
        bentpipe.statistics.curve.Curve

        Raises
        ------
        BentpipeError
            As in `series`.
        """
        return self._curves.make(name, of)

    def find_life(self, flow: str) -> tuple[float, float] | None:
        """Return the begin and end of a flow, simulated seconds; None for a flow that has not started."""
        return self._curves.find_life(flow)

    def find_routes(self, flow: str) -> list[tuple[float, list[str]]]:
        """Return the routes of the data of a flow: begin in simulated seconds, and links."""
        return self._curves.find_routes(flow)

    def find_adapted_links(self) -> list[str]:
        """Return the links with several MODCODs, the most first; none unless `modcod` was recorded.

        They are of one medium, because numbers of MODCODs have other names in another.
        """
        import polars as pl

        if "modcod" not in self.recorded:
            return []
        used = self.recorded["modcod"].group_by("link").agg(used=pl.col("modcod").n_unique())
        found = used.filter(pl.col("used") > 1).join(
            cast("RunResult", self).terminals.select("link", "medium"), on="link"
        )
        found = found.sort("used", "link", descending=[True, False])
        return found.filter(found["medium"].is_in(found["medium"].head(1).to_list()))["link"].to_list()

    def series(self, name: str, flow: str | None = None, link: str | None = None) -> pl.DataFrame:
        """Return one time series. If it was not recorded, the scenario runs again, and a warning is logged.

        Parameters
        ----------
        name : str
            Such as `cwnd_bytes`; see `bentpipe list series`.
        flow, link : str, optional
            Only the rows of this flow or subflow (`FLOW.SUBFLOW`), or of this link and direction.

        Returns
        -------
        polars.DataFrame
            Columns `time_s` (simulated seconds), `flow` or `link`, and the series by its own name, in order of time.
            `cc_state` and `cc_values` have the names of states and values in the column `name`. `decisions` has the
            columns of the table `events`. The columns of `losses` and `critical_path` are in
            `bentpipe.catalog.dictionary()`.

        Raises
        ------
        BentpipeError
            The series, flow or link is unknown; or the series was not recorded, and the run cannot be repeated.
        """
        import polars as pl

        names = [*(entry["name"] for entry in dictionary()["series"]), *EVENTS]
        if name not in names:
            raise BentpipeError(unknown(name, "a series", names))
        recorded = self._recording(name).recorded
        if name not in recorded:
            raise BentpipeError(
                f"{name} was not recorded, and this run cannot be repeated\n  expected a run with {{series}}",
                series=[name],
            )
        table = recorded[name]
        flows = [*self.scenario.flow_names, *self.scenario.subflow_names]
        asked = {"flow": (flow, flows), "link": (link, self.scenario.link_names)}
        for entity, (wanted, known) in asked.items():
            if wanted is None:
                continue
            # Losses belong to a flow and to a place, which may be a link.
            column = "where" if entity == "link" and "where" in table.columns else entity
            if column not in table.columns:
                raise BentpipeError(
                    f"{name} is not a series of {entity}s\n  expected a series of bentpipe list series for a {entity}"
                )
            if wanted not in known:
                raise BentpipeError(unknown(wanted, f"a {entity} of this scenario", known))
            table = table.filter(pl.col(column) == wanted)
        return table

    def stalls(self, flow: str, rate_bps: float, buffer_s: float = 2.0) -> Stalls:
        """Find the stalls of a video that plays from the series `goodput_bps`; see `statistics.quality.stalls`."""
        from bentpipe.statistics.quality import stalls

        table = self.series("goodput_bps", flow=flow)
        return stalls(table["time_s"].to_list(), table["goodput_bps"].to_list(), rate_bps, buffer_s)

    def steady(
        self,
        name: str,
        *,
        flow: str | None = None,
        link: str | None = None,
        after: str | float = "mser",
        confidence: float = Judgement.confidence,
    ) -> Steady:
        """Estimate the mean of a recorded series after the warm-up, with an interval, from this single run.

        For a flow, the estimate covers the time from its start to its completion. Series with a row per change are
        first averaged over spans of `record.interval`. The confidence interval is by batch means. It is for the mean of
        an endless run with this seed, and does not cover the differences between seeds.

        Parameters
        ----------
        name : str
            Such as `goodput_bps`.
        flow, link : str, optional
            The flow or link. It may be left out if there is only one.
        after : "mser" or float
            End of the warm-up: found by MSER-5, or in seconds from the start of the run.
        confidence : float

        Returns
        -------
        Steady
            `mean` is None if the series does not settle. `note` has the reason, or another note.

        Raises
        ------
        BentpipeError
            As in `series`. Also raised for several flows or links without a name, and for an invalid `after` or
            `confidence`.
        """
        from bentpipe.experiment.single.settled import average_series

        return average_series(cast("RunResult", self), name, flow, link, after, confidence)

    def find_values(self, time_s: float) -> dict[str, dict[str, float]]:
        """Return the values of all recorded series at an instant.

        If no series was recorded, the scenario runs again with the series of `plot`, and a warning is logged.

        Parameters
        ----------
        time_s : float
            Simulated seconds.

        Returns
        -------
        dict
            For each series, a dict from flow or link to the value. There is no value before the first row of a series,
            after the end of the flow, while the link is absent, or where rows did not fit. A level holds until the next
            row. A rate is the rate of the interval that contains the instant. `cc_values` is one series for each name,
            such as `cc_values:round_count`. The series of events, `losses` and `decisions`, are left out.

        Raises
        ------
        BentpipeError
            The instant is outside the run.
        """
        import polars as pl

        if not 0 <= arguments.number("time_s", time_s) <= self.simulated_s:
            raise BentpipeError(f"at {time_s} s\n  expected 0 to {self.simulated_s} s, within the run")
        entries = dictionary()["series"]
        if not any(entry["name"] in self.recorded for entry in entries):
            from bentpipe.plot import choose_panels

            again = self._recording(*choose_panels(self.scenario))
            return {} if again is self else again.find_values(time_s)
        values: dict[str, dict[str, float]] = {}
        for entry in entries:
            name, entity = entry["name"], entry["entity"]
            if name not in self.recorded:
                continue
            rows, time = self._scan(name), pl.col("time_s")
            if name == "cc_values":
                last = rows.filter(time <= time_s).group_by(entity, "name", maintain_order=True).last()
                for of, value, number in last.select(entity, "name", name).collect().iter_rows():
                    if self._is_known(name, of, time_s):
                        values.setdefault(f"{name}:{value}", {})[of] = number
                continue
            if entry["kind"] == "rate":
                # A row covers the interval before it.
                found = rows.filter(time >= time_s - 1e-9 * (1 + time_s)).group_by(entity, maintain_order=True).first()
            else:
                found = rows.filter(time <= time_s).group_by(entity, maintain_order=True).last()
            at = found.select(entity, name).collect().iter_rows()
            values[name] = {of: value for of, value in at if self._is_known(name, of, time_s)}
        return values

    def _is_known(self, name: str, of: str, time_s: float) -> bool:
        return any(first <= time_s <= last for first, last in self._curves.find_spans(name, of))

    def _scan(self, name: str) -> pl.LazyFrame:
        return self.recorded.scan(name) if isinstance(self.recorded, LazyTables) else self.recorded[name].lazy()
