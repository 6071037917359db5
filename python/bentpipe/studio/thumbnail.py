"""A small drawing of a scenario: its nodes from left to right, and its links. It has no text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bentpipe.scenario.scenario import load

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTH, HEIGHT, EDGE = 160, 90, 14
NODES_MAX = 60
"""Nodes that are drawn; more would be one dark spot."""
SKY = "#0b2545"


@lru_cache(64)
def draw_bundled(name: str) -> str:
    """The drawing of a bundled scenario as SVG."""
    scenario = load(name)
    return draw_network(scenario.network(), has_sky=scenario.has_sky)


def draw_network(network: Mapping[str, Any], *, has_sky: bool) -> str:
    """The drawing of a network as SVG."""
    places = _places(network)
    ink, paper, accent = ("#9cc9e6", SKY, "#e69f00") if has_sky else ("#52606d", "#eef1f4", "#0072b2")
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{paper}"/>']
    if has_sky:
        parts.append(f'<circle cx="{WIDTH / 2}" cy="{HEIGHT * 2.3:g}" r="{HEIGHT * 1.62:g}" fill="#1c4f7c"/>')
    used = {link for flow in network["flows"] for link in flow["route"] or ()}
    for link in network["links"]:
        if link["from"] in places and link["to"] in places:
            (x1, y1), (x2, y2) = places[link["from"]], places[link["to"]]
            colour, width = (accent, 2) if link["link"] in used else (ink, 1)
            parts.append(
                f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" stroke-width="{width}"/>'
            )
    parts += [f'<circle cx="{x:g}" cy="{y:g}" r="3.5" fill="{ink}"/>' for x, y in places.values()]
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(parts)}</svg>'


def _places(network: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Each node by its distance in links from where flows begin, and those of one distance below each other."""
    beside: dict[str, set[str]] = {}
    for link in network["links"]:
        beside.setdefault(link["from"], set()).add(link["to"])
        beside.setdefault(link["to"], set()).add(link["from"])
    layer = dict.fromkeys((flow["from"] for flow in network["flows"]), 0)
    front = list(layer)
    while front:
        near = sorted({other for node in front for other in beside.get(node, ())} - layer.keys())
        layer |= dict.fromkeys(near, max(layer.values()) + 1)
        front = near
    by_layer: dict[int, list[str]] = {}
    for node, number in list(layer.items())[:NODES_MAX]:
        by_layer.setdefault(number, []).append(node)
    step = (WIDTH - 2 * EDGE) / max(1, max(by_layer, default=0))
    return {
        node: (round(EDGE + number * step, 1), round(HEIGHT * (row + 1) / (len(nodes) + 1), 1))
        for number, nodes in by_layer.items()
        for row, node in enumerate(nodes)
    }
