"""Reads and writes measured numbers: a JSON file in `validation/data` for each measurement."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "data"


def begin(text: str | None, takes: str = "") -> None:
    """Read the command line of a module before it measures.

    `--help` prints `text` and ends. An argument of a module that takes none ends with an error. `takes` names the
    arguments that the module itself reads.
    """
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    if takes:
        parser.add_argument("words", nargs="*", metavar=takes)
        parser.parse_known_args()
    else:
        parser.parse_args()


def load(name: str) -> Any:
    """The numbers of a measurement; an empty dictionary if there are none yet."""
    file = DATA / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


FLAT = re.compile(r'\[\n\s*((?:"(?:[^"\\]|\\.)*"|[^][{}"])*?)\n\s*\]')
"""A list of numbers and texts, as `json` writes it."""


def save(name: str, found: Any) -> None:
    """Write the numbers of a measurement, each list without others in it on one line."""
    text = json.dumps(found, indent=1, ensure_ascii=False)
    text = FLAT.sub(lambda match: "[" + re.sub(r"\n\s*", " ", match[1]) + "]", text)
    (DATA / f"{name}.json").write_text(text + "\n", encoding="utf-8")
