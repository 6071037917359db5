"""Counts names of functions and modules without a verb and an object.

    python -m tools.functions            # fails if a file has more such names than the baseline
    python -m tools.functions FOLDER...  # lists the names of files or folders
    python -m tools.functions --bless    # stores a smaller baseline

A function is a verb and its object: `make_table`, `find_slots`. Lone participles (`shown`, `judged`) and names that
hang on a preposition (`of_runs`, `values_of`) hide what the call returns: a table, a text, a bool or a figure.
Constructors `from_...`, conversions `to_...` and `as_...`, and copies `with_...` are usual in Python. A
property is a noun, so properties are not counted. A module is a noun, too: a lone participle counts.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "bentpipe"
BASELINE = ROOT / "tools" / "functions.json"
GENERATED = {PACKAGE / "scenario" / name for name in ("types.py", "senders.py", "names.py")}

PARTICIPLE = re.compile(
    r"\w+ed|begun|bound|broken|built|chosen|done|drawn|found|given|gone|grown|held|hidden|kept|known|laid|left|lost|made"
    r"|meant|met|paid|put|said|seen|sent|shown|spent|spoken|swept|taken|told|written"
)
VERBS = {"embed", "exceed", "feed", "heed", "need", "proceed", "seed", "shed", "speed", "succeed"}
"""Verbs and nouns that only look like participles."""
PREPOSITIONS = "about after against among as at before beside between by for from in into of on over per to under with"
FIRST = {"at", "by", "in", "of", "on"}
"""Prepositions that may not begin a name. Others are usual beginnings: `from_dict`, `to_dict`, `with_seed`."""


def hangs(name: str) -> bool:
    """Whether a name is a lone participle, or hangs on a preposition.

    >>> [name for name in ("shown", "of_runs", "_values_of", "make_table", "from_dict", "need") if hangs(name)]
    ['shown', 'of_runs', '_values_of']
    """
    words = name.strip("_").split("_")
    if len(words) == 1 and PARTICIPLE.fullmatch(words[0]) and words[0] not in VERBS:
        return True
    return words[-1] in PREPOSITIONS.split() or words[0] in FIRST


def find_names(path: Path) -> Iterator[tuple[int, str]]:
    """Find the names of a file that the rule refuses, each with its line; a module is in line 1."""
    if hangs(path.stem):
        yield 1, path.stem
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if is_function and not node.name.startswith("__") and hangs(node.name) and not _is_property(node):
            yield node.lineno, node.name


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {ast.unparse(each).split(".")[-1] for each in node.decorator_list}
    return not names.isdisjoint({"property", "cached_property", "setter"})


def find_all(places: Iterable[Path]) -> dict[str, list[tuple[int, str]]]:
    """Find the refused names of files and folders, by file."""
    files = (file for place in places for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place]))
    found = {file.resolve(): list(find_names(file)) for file in files if file.resolve() not in GENERATED}
    return {file.relative_to(ROOT).as_posix(): names for file, names in found.items() if names}


def read_baseline() -> Counter[str]:
    """Read the number of refused names that each file may have."""
    return Counter(json.loads(BASELINE.read_text(encoding="utf-8")))


def main() -> int:
    """Compare with the baseline, list names, or store a smaller baseline; return the exit status."""
    parser = argparse.ArgumentParser(description="Count names of functions without a verb and an object.")
    parser.add_argument("places", nargs="*", type=Path, help="files or folders to list")
    parser.add_argument("--bless", action="store_true", help="store a smaller baseline")
    chosen = parser.parse_args()
    found = find_all(chosen.places or [PACKAGE])
    known = Counter[str]() if chosen.places else read_baseline()
    worse = {file: names for file, names in found.items() if len(names) > known[file]}
    for file, names in worse.items():
        print(*(f"{file}:{line}: {name}" for line, name in names), sep="\n")
    print(f"{sum(map(len, found.values()))} names are no verb and object", file=sys.stderr)
    if worse:
        return 1
    if chosen.bless:
        counts = {file: len(names) for file, names in sorted(found.items())}
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
