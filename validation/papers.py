"""Makes the pages of the papers, `docs/papers`: verdicts and figures of `bentpipe reproduce --full --falsify`.

Ends with exit status 1 if a measure fails, or if a claim survives its attack without a reason.

    python -m validation.papers                   # all papers, more than an hour on two cores
    python -m validation.papers hswa geo          # only these; the index, which counts all verdicts, stays
    python -m validation.papers --quick           # at quick scale, ten minutes; the pages name their command
    python -m tools.docs papers --pictures        # after that: the sections with further measurements
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import bentpipe as bp
from bentpipe.papers import claims, summary
from validation import kept

PAGES = Path(__file__).resolve().parent.parent / "docs" / "papers"


def main() -> None:
    """Reproduce papers and put pages and figures in place of the old ones."""
    # Papers of installed packages do not count.
    is_full = "--quick" not in sys.argv
    names = [name for name in sys.argv[1:] if name != "--quick"] or list(claims.list_bundled())
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        result = bp.reproduce(names, full=is_full, falsify=True, folder=made)
        for name in names:
            shutil.rmtree(PAGES / name, ignore_errors=True)
            (PAGES / name).mkdir(parents=True)
            for path in [made / f"{name}.md", *(made / name).glob("*.png")]:
                shutil.copyfile(path, PAGES / path.relative_to(made))
        if sorted(names) == sorted(claims.list_bundled()):
            shutil.copyfile(made / "index.md", PAGES / "index.md")
    for each in result.papers:
        print(*summary.attacks(each), sep="\n")
    unexplained = [
        verdict.claim.id
        for each in result.papers
        for verdict in each.verdicts
        for part in verdict.judged
        if part.attack is not None and not part.attack.is_explained
    ]
    if result.errors or unexplained:
        sys.exit("\n".join([*result.errors, *unexplained]))


if __name__ == "__main__":
    kept.begin(__doc__, "NAME")
    main()
