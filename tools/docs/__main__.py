"""Writes the pages of `docs` that follow from measured numbers and from the code.

    python -m tools.docs                     # all of them
    python -m tools.docs senders sky         # some of them
    python -m tools.docs sky --pictures      # draw their figures again, too
    python -m tools.docs --check             # write nothing; exit status 1 and a list if pages are not current

Nothing is measured: the numbers are in `validation/data`, and the modules of `validation` and `bench` measure them.
Figures that need runs are drawn where the runs are. The other figures are drawn here, if they are missing or if
`--pictures` asks for them. mkdocs itself makes the reference and the gallery (`tools/docs/pages.py`).
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

DOCS = Path(__file__).resolve().parents[2] / "docs"
MAKERS = (
    "agreement",
    "elements",
    "emulation",
    "functions",
    "handovers",
    "linux",
    "mitigations",
    "notices",
    "ns2_more",
    "papers",
    "performance",
    "proxies",
    "senders",
    "sky",
    "starlink",
)
"""Modules with `pages()`, texts by their path below `docs`, and perhaps `pictures()`, functions that draw."""


def maker(name: str) -> ModuleType:
    """The module that makes some pages."""
    return importlib.import_module(f"tools.docs.{name}")


def stale(name: str) -> list[str]:
    """The pages of a module that are not current, and its missing figures."""
    module = maker(name)
    found = [path for path, text in module.pages().items() if not is_current(DOCS / path, text)]
    return found + [path for path in pictures(module) if not (DOCS / path).exists()]


def is_current(file: Path, text: str) -> bool:
    """Whether a page has this text."""
    return file.exists() and file.read_text(encoding="utf-8") == text


def pictures(module: ModuleType) -> dict[str, object]:
    """What draws each figure of a module, by the figure's path below `docs`."""
    return module.pictures() if hasattr(module, "pictures") else {}


def write(name: str, is_drawn_again: bool) -> None:
    """Write the pages of a module that are not current, and draw figures."""
    module = maker(name)
    for path, draw in pictures(module).items():
        if is_drawn_again or not (DOCS / path).exists():
            (DOCS / path).parent.mkdir(parents=True, exist_ok=True)
            draw(DOCS / path)
            print(path)
    for path, text in module.pages().items():
        if not is_current(DOCS / path, text):
            (DOCS / path).write_text(text, encoding="utf-8")
            print(path)


def main(arguments: Iterable[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.docs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"pages to make: {', '.join(MAKERS)}")
    parser.add_argument("--check", action="store_true", help="list pages that are not current; write nothing")
    parser.add_argument("--pictures", action="store_true", help="draw figures again")
    options = parser.parse_args(arguments if arguments is None else list(arguments))
    if unknown := [name for name in options.names if name not in MAKERS]:
        parser.error(f"no such pages: {', '.join(unknown)}\n  expected some of {', '.join(MAKERS)}")
    names = options.names or MAKERS
    if not options.check:
        for name in names:
            write(name, options.pictures)
        return 0
    found = {name: stale(name) for name in names}
    for name, paths in found.items():
        for path in paths:
            print(f"docs/{path} is not current: python -m tools.docs {name}")
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
