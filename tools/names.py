"""Writes the names that calls accept as types, so that editors complete them.

    python -m tools.names      # rewrites python/bentpipe/scenario/names.py; `make bless` does, too

The names come from the registries that `bentpipe list` prints. Calls accept other texts as well: files, classes, and
metrics of one flow or link.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import bentpipe as bp
from bentpipe.experiment.common import options

FILE = Path(__file__).resolve().parent.parent / "python" / "bentpipe" / "scenario" / "names.py"


def kinds() -> dict[str, tuple[str, list[str]]]:
    """Meaning and names of each type, by its name."""
    metrics = bp.metrics().filter(is_of_one=False)["name"].to_list()
    return {
        "CcName": ("Built-in congestion controls.", list(bp.catalog.names("cc"))),
        "ScenarioName": ("Bundled scenarios.", bp.scenarios()["name"].to_list()),
        "MetricName": ("Metrics of a run.", metrics),
        "SeriesName": ("Time series of a run.", bp.series()["name"].to_list()),
        "ConstellationName": ("Known constellations.", [each["name"] for each in bp.sky.constellations()]),
        "ComparisonChart": ("Charts of a comparison.", list(options.CHARTS)),
        "MixChart": ("Charts of a mix.", list(options.MIX_CHARTS)),
        "SweepChart": ("Charts of a sweep.", list(options.SWEEP_CHARTS)),
    }


def module() -> str:
    """The text of the module."""
    text = (
        '"""Names that calls accept, as types for editors. Generated from the registries; do not edit."""\n\n'
        "from __future__ import annotations\n\nfrom typing import Literal\n"
    )
    for kind, (meaning, names) in kinds().items():
        listed = "".join(f'    "{name}",\n' for name in names)
        text += f'\n{kind} = Literal[\n{listed}]\n"""{meaning}"""\n'
    return text


def main() -> None:
    """Rewrite the module."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    FILE.write_text(module(), encoding="utf-8")


if __name__ == "__main__":
    main()
