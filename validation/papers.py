"""Makes the pages of the papers, `docs/papers`: verdicts and figures of `bentpipe reproduce --full`.

.venv/bin/python validation/papers.py             all papers, half an hour on two cores
.venv/bin/python validation/papers.py hswa geo    these alone; the index, which counts the verdicts of all, stays
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import bentpipe as bp
from bentpipe.papers import claims

PAGES = Path(__file__).resolve().parent.parent / "docs" / "papers"


def main() -> None:
    """Reproduce papers and put pages and figures in place of the old ones."""
    # Not those of installed packages.
    names = sys.argv[1:] or list(claims.shipped())
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        bp.reproduce(names, is_full=True, folder=made)
        for name in names:
            shutil.rmtree(PAGES / name, ignore_errors=True)
            (PAGES / name).mkdir(parents=True)
            for path in [made / f"{name}.md", *(made / name).glob("*.png")]:
                shutil.copyfile(path, PAGES / path.relative_to(made))
        if names == list(claims.shipped()):
            shutil.copyfile(made / "index.md", PAGES / "index.md")


if __name__ == "__main__":
    main()
