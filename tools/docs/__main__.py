"""Writes the pages of `docs` that follow from measured numbers and from the code, and keeps figures small.

    python -m tools.docs                     # all of them
    python -m tools.docs senders sky         # some of them
    python -m tools.docs sky --pictures      # draw their figures again, too
    python -m tools.docs --check             # write nothing; exit status 1 and a list if pages are not current

The modules of `validation` and `bench` measure the numbers and keep them in `validation/data`; this program measures
nothing. Figures that need runs are drawn by the module with the runs. The other figures are drawn here, if they are
missing or with `--pictures`. mkdocs itself makes the reference and the gallery (`tools/docs/pages.py`).
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.docs import pictures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

DOCS = Path(__file__).resolve().parents[2] / "docs"
MAKERS = (
    "access",
    "advice",
    "agreement",
    "bbr",
    "browser",
    "c4",
    "careful_resume",
    "elements",
    "emulation",
    "fairness",
    "fits",
    "functions",
    "handovers",
    "hosts",
    "l4s",
    "linux",
    "memory",
    "messages",
    "mitigations",
    "multipath_kernel",
    "neighbours",
    "notices",
    "ns2_more",
    "packetdrill",
    "papers",
    "performance",
    "proxies",
    "recorded_pages",
    "senders",
    "sky",
    "slow_start",
    "starlink",
)
"""Modules with `pages()`, texts by path below `docs`. Some have `pictures()`: functions that draw, by path."""


def maker(name: str) -> ModuleType:
    """The module that makes some pages."""
    return importlib.import_module(f"tools.docs.{name}")


def stale(name: str) -> list[str]:
    """The pages of a module that are not current, and its missing figures."""
    module = maker(name)
    found = [path for path, text in module.pages().items() if not is_current(DOCS / path, text)]
    return found + [path for path in drawn_by(module) if not (DOCS / path).exists()]


def is_current(file: Path, text: str) -> bool:
    """Whether a page has this text."""
    return file.exists() and file.read_text(encoding="utf-8") == text


def drawn_by(module: ModuleType) -> dict[str, Callable[[Path], None]]:
    """The functions that draw the figures of a module, by path below `docs`."""
    return module.pictures() if hasattr(module, "pictures") else {}


def write(name: str, is_drawn_again: bool) -> None:
    """Write the pages of a module that are not current, and draw figures."""
    module = maker(name)
    for path, draw in drawn_by(module).items():
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
        for file in pictures.large(DOCS):
            pictures.shrink(file)
            print(file.relative_to(DOCS))
        return 0
    found = {name: stale(name) for name in names}
    for name, paths in found.items():
        for path in paths:
            print(f"docs/{path} is not current: python -m tools.docs {name}")
    large = [file.relative_to(DOCS) for file in pictures.large(DOCS)]
    for path in large:
        print(f"docs/{path} has more than {pictures.COLOURS} colours: python -m tools.docs")
    return int(any(found.values()) or bool(large))


if __name__ == "__main__":
    sys.exit(main())
