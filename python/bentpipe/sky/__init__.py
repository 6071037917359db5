"""A look at the sky: paths, passes, coverage, maps and link budgets of constellations, without any packets.

>>> import bentpipe as bp
>>> path = bp.sky.path("London", "New York", over="starlink-shell-1", duration="1 min")
>>> path.instants["hops"].max() >= 3
True
"""

from bentpipe.sky.budgets import Budget, budget
from bentpipe.sky.covering import Coverage, coverage
from bentpipe.sky.forwarding import forwarding
from bentpipe.sky.matrix import SkyPaths, paths
from bentpipe.sky.moment import Map, map
from bentpipe.sky.of_scenario import Keyframes, ScenarioSky, SkyConstellation
from bentpipe.sky.passing import Passes, passes
from bentpipe.sky.paths import SkyPath, path
from bentpipe.sky.place_lists import places
from bentpipe.sky.scenes import cities, constellations

__all__ = [
    "Budget",
    "Coverage",
    "Keyframes",
    "Map",
    "Passes",
    "ScenarioSky",
    "SkyConstellation",
    "SkyPath",
    "SkyPaths",
    "budget",
    "cities",
    "constellations",
    "coverage",
    "forwarding",
    "map",
    "passes",
    "path",
    "paths",
    "places",
]


def __dir__() -> list[str]:
    return list(__all__)
