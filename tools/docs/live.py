"""Makes the live views of the site while mkdocs builds it: runs as single files, which pages show in frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bentpipe as bp

if TYPE_CHECKING:
    from bentpipe.experiment.single.run_result import RunResult

FOLDER = "live"
VIEWS: dict[str, tuple[str, dict[str, Any]]] = {
    "geo-slow-start": ("geo", {"duration": "30 s", "title": "Slow start over GEO"}),
    "leo-handover": ("leo", {"duration": "50 s", "title": "Handovers in LEO"}),
    "who-starves-whom": (
        "geo",
        {
            "title": "CUBIC, Reno and BBR v3 in one queue",
            "flow.transfer.tcp": {"cc": "cubic"},
            "flow.reno": {"from": "server", "to": "terminal", "tcp": {"cc": "reno"}},
            "flow.bbr3": {"from": "server", "to": "terminal", "tcp": {"cc": "bbr3"}},
        },
    ),
}
"""By name, a bundled scenario and the values over it."""


def run(name: str) -> RunResult:
    """The run of a live view."""
    scenario, sets = VIEWS[name]
    return bp.run(bp.load(scenario, sets))


def file(name: str) -> str:
    """Path of a live view below `docs`."""
    return f"{FOLDER}/{name}.html"


def on_files(files, config):
    """Called by mkdocs: adds the files to those of the folder."""
    from mkdocs.structure.files import File

    for name in VIEWS:
        content = "" if config.extra["draft"] else run(name).explore().html
        files.append(File.generated(config, file(name), content=content))
    return files
