"""Makes one HTML file of the view over a run: it opens from disk, without a network and without Python.

The file has the same scripts as the page. Data are blobs, compressed and in base64. Its policy allows no request.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.statistics.curve import choose_width
from bentpipe.studio import assets
from bentpipe.studio.data import RunData, pack_columns
from bentpipe.studio.sky import SkyData

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from bentpipe.experiment.single.run_result import RunResult

BYTES_MOST = 750_000
"""Of all series of a run, in base64. Longer series are thinned to fewer columns."""
COLUMNS = 4000
COLUMNS_LEAST = 250
CURVES_MOST = 8
"""Flows and links whose series are in the file."""
ADAPTED_MOST = 3
"""Links whose MODCODs are drawn, as in `plots.js`."""
FLOW_COLUMNS = 200
"""Columns of the picture of all flows."""
MOMENTS = 600
"""Instants with reasons."""
STEP_S = 0.1
"""Between instants with reasons, at least."""
PACKETS_MOST = 200_000
"""Bytes of all spans with packets, in base64."""
SPANS_MOST = 3
"""Spans of a flow with its packets."""
TRIPS = 2.0
"""Round trips in such a span."""


@dataclass(frozen=True, repr=False)
class Explored:
    """The view over a run as one page.

    Attributes
    ----------
    html : str
        The page.
    height : int
        Pixels in a notebook.
    """

    html: str
    height: int = 720

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Raises
        ------
        BentpipeError
            The file cannot be written.
        """
        with files.writing(path):
            files.replace_text(path, self.html)

    def __repr__(self) -> str:
        return f"<Explored, {len(self.html) / 1e6:.2f} MB: a notebook shows it, and save(path) writes the page>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="The run over time" sandbox="allow-scripts" width="100%" height="{self.height}" '
            f'style="border: 0" srcdoc="{escape(self.html)}"></iframe>'
        )


def explore_result(result: RunResult, height: int = 720) -> Explored:
    """The view over a result; see `RunResult.explore`."""
    sky = SkyData.from_scenario(result.scenario) if result.scenario.has_sky else None
    return Explored(single(RunData(result), sky=sky), height)


def single(data: RunData, pinned: Sequence[RunData] = (), sky: SkyData | None = None) -> str:
    """The view over a run as one page, with pinned runs behind it, and with its sky if it has one."""
    meta = data.meta() | {"has_sky": sky is not None}
    bytes_most = BYTES_MOST // (1 + len(pinned))
    curves = dict(_curves(data, meta, bytes_most))
    blobs = {f"run/{name}": text for name, text in (curves | dict(_reasons(data, meta))).items()}
    if len(data.result.scenario.flow_names) > CURVES_MOST:
        blobs["run/flows"] = _zip_content(
            data.flows("goodput_bps", 0.0, data.result.simulated_s, FLOW_COLUMNS, "scenario")
        )
    pins = [f"pin-{number}" for number, _ in enumerate(pinned, 1)]
    for pin, each in zip(pins, pinned, strict=True):
        blobs |= {f"{pin}/{name}": text for name, text in _curves(each, each.meta(), bytes_most)}
    if pinned:
        blobs["run/differences"] = _zip_content(dict(zip(pins, data.find_differences(pinned), strict=True)))
    if sky is not None:
        blobs |= {
            "run/sky": _zip_content(dict(sky.facts)),
            "run/keyframes": _zip_content(sky.frames),
            "land": _zip_content(assets.text(assets.LAND)),
        }
    content = {"run": "run", "pin": ",".join(pins) or None, "blobs": blobs}
    style = "\n".join(map(assets.text, assets.STYLES))
    names = [*assets.SCRIPTS, *(assets.SKY_SCRIPTS if sky is not None else ())]
    scripts = [*map(assets.text, names), "studio.share.open();"]
    allowed = " ".join(map(_hash, scripts))
    rules = (
        "default-src 'none'",
        f"script-src {allowed}",
        f"style-src {_hash(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    body = "".join(f"<script>{script}</script>\n" for script in scripts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(meta['title'])}</title>\n<style>{style}</style>\n</head>\n"
        '<body class="studio-page">\n'
        f'<script type="application/json" id="studio-content">{_inside(content)}</script>\n{body}</body>\n</html>\n'
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inside(content: Any) -> str:
    """JSON in which no text of a scenario can end the element around it."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")


def _zip_content(content: bytes | str | dict[str, Any] | list[Any]) -> str:
    if isinstance(content, (dict, list)):
        content = json.dumps(content, separators=(",", ":"))
    if isinstance(content, str):
        content = content.encode()
    # Without the time of its making, equal files are equal bytes.
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def _curves(data: RunData, meta: dict[str, Any], bytes_most: int) -> Iterator[tuple[str, str]]:
    """Facts and series, by name. Series have as many columns as there is room for."""
    # Links whose MODCODs are drawn need not be busy.
    links = dict.fromkeys([*data.busy_links[:1], *meta["adapted"][:ADAPTED_MOST], *data.busy_links])
    shown = {"flow": meta["flows"][:CURVES_MOST], "link": [*links][:CURVES_MOST]}
    curves = [(each["name"], of) for each in meta["series"] for of in shown[each["of"]]]
    columns = COLUMNS
    while True:
        cuts = {f"series/{name}/{of}": _cut(data, name, of, columns) for name, of in curves}
        series = {name: _zip_content(content) for name, content in cuts.items()}
        if columns <= COLUMNS_LEAST or sum(map(len, series.values())) <= bytes_most:
            break
        columns //= 2
    yield "meta", _zip_content(meta | {"flows": shown["flow"], "links": shown["link"]})
    yield from series.items()


def _cut(data: RunData, name: str, of: str, columns: int) -> bytes:
    """A whole series. Its columns are a power of ten wide, so that all wider columns are made of whole ones."""
    curve, end_s = data.curve(name, of), data.result.simulated_s
    width_s = choose_width(end_s, columns, steps=(1,))
    return pack_columns(curve.cut(0.0, end_s, columns, width_s))


def _reasons(data: RunData, meta: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Sentences, parts of the time, the network, and the packets of some spans, by name."""
    yield "network", _zip_content(data.result.scenario.network())
    room = PACKETS_MOST
    found: dict[str, list[list[float]]] = {}
    wanted = {flow: _spans(data, meta, flow) for flow in meta["flows"][:CURVES_MOST]}
    until = max((end for spans in wanted.values() for _, end in spans), default=0.0)
    for flow in wanted:
        yield f"why/{flow}", _zip_content(_sentences(data, flow))
        yield f"spent/{flow}", _zip_content(data.find_time_spent(flow))
        for start, end in wanted[flow]:
            content = _zip_content(data.packets(flow, start, end, until))
            if len(content) <= room:
                room -= len(content)
                known = found.setdefault(flow, [])
                yield f"packets/{flow}/{len(known)}", content
                known.append([start, end])
    yield "spans", _zip_content(found)


def _sentences(data: RunData, flow: str) -> dict[str, Any]:
    """The sentences at evenly spaced instants; each sentence is there once."""
    step_s = max(data.result.simulated_s / MOMENTS, STEP_S)
    sentences: dict[str, int] = {}
    moments = [
        [sentences.setdefault(text, len(sentences)) for text in data.sentences(flow, index * step_s)]
        for index in range(int(data.result.simulated_s / step_s) + 1)
    ]
    return {"step_s": step_s, "sentences": list(sentences), "moments": moments}


def _spans(data: RunData, meta: dict[str, Any], flow: str) -> list[tuple[float, float]]:
    """Spans whose packets are worth their room: the largest losses, and the start."""
    rtt_s = meta["rtt_s"].get(flow)
    if not rtt_s:
        return []
    latest, length_s = data.result.simulated_s, TRIPS * rtt_s
    losses = [each for each in meta["happenings"] if each["kind"] == "loss" and each["flow"] == flow]
    begins = [each["time_s"] - length_s / 4 for each in sorted(losses, key=lambda loss: -loss["numbers"]["packets"])]
    found: list[tuple[float, float]] = []
    for begin in [*begins[:1], 0.0, *begins[1:]]:
        start = max(0.0, begin)
        span = (start, min(start + length_s, latest))
        if len(found) < SPANS_MOST and not any(first < span[1] and span[0] < end for first, end in found):
            found.append(span)
    return found
