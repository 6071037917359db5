"""The tool that changes the periods of the product finds them all, and leaves limits of patience."""

import re
import shutil
from pathlib import Path

from tools.periods import change

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "bentpipe"


def test_periods_are_multiplied_and_limits_of_patience_are_not(tmp_path):
    for name in ("studio/worker.py", "studio/jobs.py", "studio/static/connection.js"):
        shutil.copy(PACKAGE / name, tmp_path)
    counts = {path.name: change(path, 10) for path in sorted(tmp_path.iterdir())}
    assert counts == {"connection.js": 1, "jobs.py": 0, "worker.py": 2}
    worker, jobs, page = ((tmp_path / name).read_text() for name in ("worker.py", "jobs.py", "connection.js"))
    assert "PROGRESS_EVERY_S = 1\n" in worker
    assert "GRACE_S = 3.0\n" in jobs
    assert "setTimeout(watch, 2000)" in page


def test_a_period_has_a_name_that_the_tool_knows(tmp_path):
    # A constant in seconds below a second is a period, or is listed here with its reason.
    others = {
        "GRACE_S": "patience before runs are interrupted",
    }
    short = re.compile(
        r"^([A-Z_]*(?:AFTER|EACH|EVERY|GRACE|LINGER|POLL|SOON|WAIT|DEBOUNCE|SLICE)_S) = 0?\.\d+$", re.MULTILINE
    )
    for path in PACKAGE.rglob("*.py"):
        names = set(short.findall(path.read_text(encoding="utf-8"))) - others.keys()
        if names:
            shutil.copy(path, tmp_path / "copy.py")
            assert change(tmp_path / "copy.py", 2) >= len(names), (path.name, names)
