"""Tries each fault of `list.toml`: `python -m tools.mutants [NUMBER ...]`, or `make mutants` for all.

The command sets the faults one by one into a copy of the crates, whose tests must then fail: all tests of the TCP
crate, or the comparison of the simulator's random networks with the naive engine. It ends with status 1 unless exactly
the faults survive that the list marks so. Each fault takes one to three minutes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "target" / "mutants"
COPIED = ("Cargo.toml", "Cargo.lock", "crates")
PROFILE = {"CARGO_PROFILE_TEST_DEBUG": "0", "CARGO_INCREMENTAL": "1", "CARGO_TARGET_DIR": str(PLACE / "target")}
"""Incremental, because each fault changes one file, and building takes longer than testing."""
COMMAND = ("cargo", "test", "--quiet", "--lib", "--package")
TESTS = {
    "crates/tcp": ("bentpipe-tcp",),
    "crates/sim": ("bentpipe-sim", "the_engine_agrees_with_its_specification"),
}
"""Per folder of faults, the package and the tests that must find them."""


@dataclass(frozen=True)
class Mutant:
    """A fault: a text of a file, and its replacement."""

    number: int
    what: str
    file: str
    old: str
    new: str
    survives: bool = False
    """Whether no test finds it yet."""

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that must find it."""
        return next(tests for folder, tests in TESTS.items() if self.file.startswith(folder + "/"))


def mutants() -> list[Mutant]:
    """The faults of the list."""
    listed = tomllib.loads(Path(__file__).with_name("list.toml").read_text(encoding="utf-8"))["mutant"]
    return [Mutant(number, **entry) for number, entry in enumerate(listed, 1)]


def main() -> int:
    """Try the faults, and return the exit status."""
    parser = argparse.ArgumentParser(description="Set faults into a copy of the crates and run their tests.")
    parser.add_argument("number", nargs="*", type=int, help="numbers of the list; by default all")
    chosen = parser.parse_args().number
    listed = [mutant for mutant in mutants() if not chosen or mutant.number in chosen]
    _copy()
    for tests in sorted({mutant.tests for mutant in listed}):
        if _fails(tests):
            command = " ".join((*COMMAND, *tests))
            sys.exit(f"error: the tests fail without a fault\n  mend them first: {command}")
    wrong = 0
    for mutant in listed:
        path = PLACE / mutant.file
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        found = _fails(mutant.tests)
        path.write_text(text, encoding="utf-8")
        is_expected = found is not mutant.survives
        wrong += not is_expected
        note = "" if is_expected else ", expected the opposite"
        print(f"{mutant.number:2} {'found' if found else 'SURVIVES':8} {mutant.what}{note}", flush=True)
    return 1 if wrong else 0


def _copy() -> None:
    for name in COPIED:
        source, target = ROOT / name, PLACE / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            # With new times: Cargo would keep what it built of a fault when the last run was interrupted.
            shutil.copytree(source, target, copy_function=shutil.copy)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def _fails(tests: tuple[str, ...]) -> bool:
    """Whether a test fails. A fault that does not compile is an error of the list."""
    command = [*COMMAND, *tests]
    built = subprocess.run([*command, "--no-run"], cwd=PLACE, env=os.environ | PROFILE, capture_output=True, text=True)
    if built.returncode:
        sys.exit(f"error: a fault does not compile\n{built.stderr}")
    return subprocess.run(command, cwd=PLACE, env=os.environ | PROFILE, capture_output=True).returncode != 0


if __name__ == "__main__":
    sys.exit(main())
