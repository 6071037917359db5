"""The sky of a scenario for the globe: facts as JSON, and positions of satellites as short integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from bentpipe.scenario.scenario import Scenario
    from bentpipe.sky.of_scenario import Keyframes, ScenarioSky, SkyConstellation

    Values = NDArray[np.float64]

EARTH_RAD_S = 7.2921159e-5
"""Rotation of the Earth (WGS 84)."""
STEPS_S = (900.0, 300.0, 60.0)
"""Times between keyframes to try, the longest first: one orbit of a satellite needs few, an ellipse more."""
ERROR_MAX_KM = 5.0
"""Largest error of a position between keyframes: less than a pixel."""
SHORT_MAX = 32_767
LOOKS = 240
"""Looks at the passes and at the moving places in a run."""
LOOK_MIN_S = 1.0
CELL_DEG = 2.0
"""Size of a cell of the coverage."""


@dataclass(frozen=True, repr=False)
class SkyData:
    """The sky of a scenario as the globe has it.

    Attributes
    ----------
    facts : dict
        Plain data: `epoch`, `duration_s`, `constellations`, `places`, `flows`, `paths`, `handovers` and `passes`. Paths
        and passes name nodes by number: satellites of all constellations in order, then the places.
    frames : bytes
        Positions of satellites, little-endian 16-bit integers x, y, z by constellation, keyframe and satellite, in the
        frame that the Earth's has at time 0 and that does not turn. `constellations` has the scale in km, the step and
        the number of keyframes.
    """

    facts: Mapping[str, Any]
    frames: bytes
    _sky: ScenarioSky

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> SkyData:
        """Look at the sky of a scenario.

        Raises
        ------
        ScenarioError
            It has no `[sky]`.
        """
        import numpy as np

        sky = scenario.sky()
        constellations, frames = [], []
        for each in sky.constellations:
            step_s, positions = _keyframes(each)
            scale_km = float(np.nanmax(np.abs(positions), initial=1.0)) / SHORT_MAX
            frames.append(_shorts(positions / scale_km))
            constellations.append(
                {
                    **each.scene.to_dict(),
                    "name": each.name,
                    "names": each.satellites,
                    "step_s": step_s,
                    "keyframes": len(positions),
                    "scale_km": scale_km,
                    "links": _links(each),
                    "places": [place.name for place in each.scene.places],
                }
            )
        numbers = _numbers(sky)
        facts = {
            **sky.to_dict(),
            "has_day": "epoch" in scenario.to_dict().get("sky", {}),
            "earth_rad_s": EARTH_RAD_S,
            "constellations": constellations,
            "places": _places(sky),
            "paths": [_path(row, numbers) for row in sky.paths.to_dicts()],
            "delays": _delays(sky),
            "passes": [row for each in sky.constellations for row in _passes(sky, each, numbers)],
        }
        return cls(facts, b"".join(frames), sky)

    def coverage(self, constellation: str, time_s: float) -> dict[str, Any]:
        """The number of satellites in view all over the Earth at an instant.

        Returns
        -------
        dict
            `cell_deg`, and `counts` by cell from the south-west, row by row.
        """
        return {"cell_deg": CELL_DEG, "counts": self._cells(constellation, time_s, None)["min"].to_list()}

    def delays(self, constellation: str, time_s: float, to: str | None) -> dict[str, Any]:
        """The one-way delay from all over the Earth to a place, or to the nearest satellite, at an instant.

        Returns
        -------
        dict
            `cell_deg`, and `delays_ms` by cell from the south-west, row by row; None without a path.
        """
        delays = self._cells(constellation, time_s, to)["delay_s"]
        return {"cell_deg": CELL_DEG, "delays_ms": (1000 * delays).round(2).to_list()}

    def _cells(self, constellation: str, time_s: float, to: str | None) -> pl.DataFrame:
        return self._sky[constellation].coverage(time_s, time_s + 1.0, 1.0, to=to, cell=CELL_DEG).cells


def _keyframes(of: SkyConstellation) -> tuple[float, Values]:
    """Choose the longest step with small errors between keyframes, and return it with the positions at keyframes."""
    for step_s in STEPS_S:
        found = of.keyframes(end_s=max(of.duration_s, step_s), step_s=step_s / 2)
        positions = _fix_positions(found)
        # Both ends of the run lie between keyframes, so that the number of halves is even.
        whole = positions[: len(positions) - 1 + len(positions) % 2]
        if _error_km(whole) <= ERROR_MAX_KM:
            break
    return step_s, whole[::2]


def _fix_positions(found: Keyframes) -> Values:
    """Positions in the frame that does not turn."""
    import numpy as np

    angle = EARTH_RAD_S * found.time_s[:, None]
    x, y, z = np.moveaxis(found.satellites_km, -1, 0)
    return np.stack([x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle), z], axis=-1)


def _error_km(positions: Values) -> float:
    """Largest distance between a position and the middle of its neighbours along the great circle, km."""
    import numpy as np

    before, middle, after = positions[:-2:2], positions[1::2], positions[2::2]
    between = before + after
    length = np.linalg.norm(between, axis=-1, keepdims=True)
    radius = (np.linalg.norm(before, axis=-1, keepdims=True) + np.linalg.norm(after, axis=-1, keepdims=True)) / 2
    error = np.linalg.norm(between / length * radius - middle, axis=-1)
    return float(np.nanmax(error, initial=0.0))


def _shorts(positions: Values) -> bytes:
    """Positions as integers; a satellite without one is in the middle of the Earth."""
    import numpy as np

    return np.nan_to_num(np.rint(positions)).astype("<i2").tobytes()


def _links(of: SkyConstellation) -> list[int]:
    """The links between satellites at the start: from, to, from, to, ..."""
    if not of.scene.is_linked:
        return []
    number = {name: index for index, name in enumerate(of.satellites)}
    return [number[name] for row in of.map().links.rows() for name in row if name in number]


def _numbers(sky: ScenarioSky) -> dict[str, int]:
    """The number of each satellite and place by its name."""
    names = [name for each in sky.constellations for name in each.satellites]
    return {name: number for number, name in enumerate([*names, *sky.places["place"]])}


def _path(row: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, Any]:
    """A path with its nodes as numbers."""
    nodes = [] if row["path"] is None else [numbers[name] for name in row["path"].split(" > ")]
    kept = ("from", "to", "constellation", "time_s", "end_s", "delay_s", "from_satellite", "to_satellite")
    return {**{name: row[name] for name in kept}, "nodes": nodes}


def _places(sky: ScenarioSky) -> list[dict[str, Any]]:
    """The places, those that move with their way: longitude, latitude, longitude, ..."""
    import numpy as np

    rows = sky.places.to_dicts()
    if not any(row["moves"] for row in rows):
        return rows
    for each in sky.constellations:
        names = [place.name for place in each.scene.places]
        found = each.keyframes(step_s=_look_s(sky))
        x, y, z = np.moveaxis(found.places_km, -1, 0)
        east, north = np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))
        for row in rows:
            if row["moves"] and row["place"] in names:
                index = names.index(row["place"])
                row["way"] = np.stack([east[:, index], north[:, index]], axis=-1).ravel().round(4).tolist()
                row["way_step_s"] = float(found.time_s[1] - found.time_s[0])
    return rows


def _look_s(sky: ScenarioSky) -> float:
    return max(LOOK_MIN_S, sky.duration_s / LOOKS)


def _delays(sky: ScenarioSky) -> list[dict[str, Any]]:
    """One-way delay over time of each pair of places; None without a path."""
    import polars as pl

    found = []
    for start, end in dict.fromkeys(sky.flows.values()):
        rows = sky.delays.filter(pl.col("from") == start, pl.col("to") == end).sort("time_s")
        found.append({"from": start, "to": end, **rows.select("time_s", "delay_s").to_dict(as_series=False)})
    return found


def _passes(sky: ScenarioSky, of: SkyConstellation, numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """The passes of a constellation over each of its places in the run."""
    columns = ("satellite", "rise_s", "set_s", "elevation_deg")
    return [
        {**row, "place": place.name, "satellite": numbers[row["satellite"]]}
        for place in of.scene.places
        for row in of.passes(place.name, step_s=_look_s(sky)).passes.select(columns).to_dicts()
    ]
