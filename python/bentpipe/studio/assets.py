"""Lists the scripts and styles of the view over a run, in the order in which a page loads them."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = (
    "vendor/uplot/uPlot.iife.min.js",
    "static/time.js",
    "static/source.js",
    "static/format.js",
    "static/curves.js",
    "static/lines.js",
    "static/losses.js",
    "static/states.js",
    "static/packets.js",
    "static/panel.js",
    "static/pins.js",
    "static/flows.js",
    "static/plots.js",
    "static/strip.js",
    "static/keys.js",
    "static/why.js",
    "static/topology.js",
    "static/share.js",
)
"""Classic scripts. Each puts one name on the global `studio`."""
SKY_SCRIPTS = (
    "vendor/d3-array/d3-array.min.js",
    "vendor/d3-geo/d3-geo.min.js",
    "vendor/topojson-client/topojson-client.min.js",
    "static/sky.js",
    "static/svg.js",
    "static/skyplot.js",
    "static/passes.js",
    "static/globe.js",
)
"""Scripts that only a run with a sky needs."""
STYLES = ("vendor/uplot/uPlot.min.css", "static/studio.css", "static/sky.css")
"""Style sheets."""
LAND = "vendor/world-atlas/land-110m.json"
"""Outlines of the land for the globe."""


def text(name: str) -> str:
    """The content of one of these files."""
    return (HERE / name).read_text(encoding="utf-8")
