"""Makes the pages of the papers, `docs/papers`: verdicts and figures of `bentpipe reproduce --quick`; a minute or two.

.venv/bin/python validation/papers.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import bentpipe as bp

PAGES = Path(__file__).resolve().parent.parent / "docs" / "papers"


def main() -> None:
    """Reproduce all papers and put pages and figures in place of the old ones."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        bp.reproduce(folder=made)
        shutil.rmtree(PAGES, ignore_errors=True)
        PAGES.mkdir(parents=True)
        for path in [*made.glob("*.md"), *made.glob("*/*.png")]:
            target = PAGES / path.relative_to(made)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)


if __name__ == "__main__":
    main()
