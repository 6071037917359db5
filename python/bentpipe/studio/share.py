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
from bentpipe.studio import assets
from bentpipe.studio.data import COLUMNS_MOST, RunData

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from bentpipe.experiment.single.run_result import RunResult

BYTES_MOST = 750_000
"""Of all series of a run, in base64. Longer series are thinned to fewer columns."""
COLUMNS = 4000
COLUMNS_LEAST = 250
CURVES_MOST = 8
"""Flows and links whose series are in the file."""
MOMENTS = 600
"""Instants with reasons."""
STEP_S = 0.1
"""Between instants with reasons, at least."""
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


def explored(result: RunResult, height: int = 720) -> Explored:
    """The view over a result; see `RunResult.explore`."""
    return Explored(single(RunData(result)), height)


def single(data: RunData, pinned: RunData | None = None) -> str:
    """The view over a run as one page, with another run behind it if one is pinned."""
    blobs = dict(_blobs(data, "run"))
    if pinned is not None:
        blobs |= dict(_blobs(pinned, "pin"))
    meta = data.meta()
    content = {"run": "run", "pin": None if pinned is None else "pin", "blobs": blobs}
    style = "\n".join(map(assets.text, assets.STYLES))
    scripts = [*map(assets.text, assets.SCRIPTS), "studio.share.open();"]
    allowed = " ".join(map(_hash, scripts))
    policy = f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    body = "".join(f"<script>{script}</script>\n" for script in scripts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
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


def _zipped(content: bytes | str | dict[str, Any] | list[Any]) -> str:
    if isinstance(content, (dict, list)):
        content = json.dumps(content, separators=(",", ":"))
    if isinstance(content, str):
        content = content.encode()
    # Without the time of its making, equal files are equal bytes.
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def _blobs(data: RunData, run: str) -> Iterator[tuple[str, str]]:
    """What a script asks the server for, by name."""
    meta = data.meta()
    flows = meta["flows"][:CURVES_MOST]
    curves = [
        (each["name"], of, each["style"])
        for each in meta["series"]
        for of in (flows if each["of"] == "flow" else meta["links"][:CURVES_MOST])
    ]
    columns = min(COLUMNS, COLUMNS_MOST)
    while True:
        series = {
            f"{run}/series/{name}/{of}": _zipped(data.series(name, of, columns=columns)) for name, of, _ in curves
        }
        if columns <= COLUMNS_LEAST or sum(map(len, series.values())) <= BYTES_MOST:
            break
        columns //= 2
    thinned = [f"{name}/{of}" for name, of, style in curves if style != "event" and data.rows(name, of) > columns]
    spans = {flow: _spans(data, meta, flow) for flow in flows}
    facts = {"run": run, "flows": flows, "links": meta["links"][:CURVES_MOST], "thinned": thinned, "spans": spans}
    yield f"{run}/meta", _zipped(meta | facts)
    yield from series.items()
    yield f"{run}/network", _zipped(data.result.scenario.network())
    for flow in flows:
        yield f"{run}/why/{flow}", _zipped(_reasons(data, flow))
        yield f"{run}/spent/{flow}", _zipped(data.spent(flow))
        if spans[flow]:
            yield f"{run}/packets/{flow}", _zipped([data.packets(flow, *span) for span in spans[flow]])


def _reasons(data: RunData, flow: str) -> dict[str, Any]:
    """The sentences at evenly spaced instants; each sentence is there once."""
    step_s = max(data.result.simulated_s / MOMENTS, STEP_S)
    sentences: dict[str, int] = {}
    moments = [
        [sentences.setdefault(text, len(sentences)) for text in data.sentences(flow, index * step_s)]
        for index in range(int(data.result.simulated_s / step_s) + 1)
    ]
    return {"step_s": step_s, "sentences": list(sentences), "moments": moments}


def _spans(data: RunData, meta: dict[str, Any], flow: str) -> list[tuple[float, float]]:
    """Spans with packets: the start, and the largest losses."""
    rtt_s = meta["rtt_s"].get(flow)
    if not rtt_s:
        return []
    latest, length_s = data.result.simulated_s, TRIPS * rtt_s
    losses = [each for each in meta["happenings"] if each["kind"] == "loss" and each["flow"] == flow]
    found: list[tuple[float, float]] = [(0.0, min(2 * length_s, latest))]
    for each in sorted(losses, key=lambda loss: -loss["numbers"]["packets"]):
        start = max(0.0, each["time_s"] - length_s / 2)
        span = (start, min(start + 2 * length_s, latest))
        if len(found) < SPANS_MOST and not any(begin < span[1] and span[0] < end for begin, end in found):
            found.append(span)
    return sorted(found)
