"""Tries the tests with other periods of the product: `python -m tools.periods FACTOR [argument of pytest ...]`.

A test must not depend on the speed of the machine. This command copies the package, multiplies each period of it by the
factor, and runs the Python tests with the copy. A factor of 0 reports and polls at every opportunity, as on a machine
that does no work between two periods. A factor of 10 reports hardly ever, as on a machine that works ten times as fast.
Limits of patience, after which something counts as failed, stay as they are.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "target" / "periods"
PERIOD = re.compile(
    r"^((?:[A-Z]+_)*(?:EVERY|POLL|LINGER|DEBOUNCE|SOON|APPEARS_AFTER|SLICE)_S = )([\d.]+)$", re.MULTILINE
)
"""A constant of Python: how often something is reported, looked at or drawn, in seconds."""
DELAY = re.compile(r"(setTimeout\(.*, )(\d{2,3})(?=\))")
"""A delay of a script of the studio, in milliseconds. From a second on, delays are limits of patience."""


def main() -> int:
    """Run the tests with the changed copy, and return the exit status."""
    parser = argparse.ArgumentParser(description="Run the Python tests with other periods of the product.")
    parser.add_argument("factor", type=float, help="factor of each period, such as 0 or 10")
    chosen, arguments = parser.parse_known_args()
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(ROOT / "python", PLACE, ignore=shutil.ignore_patterns("__pycache__"))
    changed = 0
    for path in sorted(PLACE.rglob("*")):
        if path.suffix in (".py", ".js") and "vendor" not in path.parts:
            changed += change(path, chosen.factor)
    print(f"{changed} periods are multiplied by {chosen.factor:g}", file=sys.stderr)
    command = [sys.executable, "-m", "pytest", *(arguments or ["--numprocesses", "auto", "--dist", "worksteal"])]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(PLACE)}, check=False).returncode


def change(path: Path, factor: float) -> int:
    """Multiply each period of a file by a factor, and return their number."""
    text = path.read_text(encoding="utf-8")
    pattern = PERIOD if path.suffix == ".py" else DELAY
    text, count = pattern.subn(lambda found: f"{found[1]}{float(found[2]) * factor:g}", text)
    if count:
        path.write_text(text, encoding="utf-8")
    return count


if __name__ == "__main__":
    sys.exit(main())
