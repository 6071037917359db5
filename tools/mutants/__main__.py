"""Tries the faults of `faults/*.toml`: `python -m tools.mutants [WORD ...]`, or `make mutants` for all.

The command builds one copy of the crates that has all faults, each behind a switch, and runs the tests that must find
each. It ends with status 1 unless all of them do. WORD selects faults by a word of their description or file.

`--search tcp,sim/it` runs all tests of these programs instead, and prints those that fail: `tcp` has the tests inside
the crate, `sim/it` those of `crates/sim/tests`. `--search tcp:multi::` runs those with `multi::` in their names.

`--bless` writes the list of faults to `docs/develop/faults.md`, without a build.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.mutants.page import PAGE, make_page
from tools.mutants.source import COPY, PLACE, VARIABLE, Fault, copy_sources, read_faults

PACKAGES = ("access", "cc", "conformance", "model", "net", "orbit", "quic", "scenario", "sim", "tcp", "units")
BUILD = ("cargo", "test", "--no-run", "--tests", "--message-format", "json")
SETTINGS = {
    "CARGO_TARGET_DIR": str(PLACE / "build"),
    # After a change of the list, only files with other faults are built again.
    "CARGO_INCREMENTAL": "1",
    # The first failure is enough.
    "PROPTEST_MAX_SHRINK_ITERS": "0",
}
SECONDS_MAX = 300
"""A test that has not ended after this time has found its fault."""


def main() -> int:
    """Try the faults, and return the exit status."""
    parser = argparse.ArgumentParser(description="Try faults of the crates: their tests must find each.")
    parser.add_argument("word", nargs="*", help="words of descriptions or files; by default all faults")
    parser.add_argument("--search", metavar="PROGRAMS", help="run all tests of these programs, separated by commas")
    parser.add_argument("--bless", action="store_true", help="write the list of faults, without trying them")
    options = parser.parse_args()
    faults = read_faults()
    if options.bless:
        PAGE.write_text(make_page(faults), encoding="utf-8")
        return 0
    chosen = [each for each in faults if not options.word or any(w in each.what + each.file for w in options.word)]
    copy_sources(faults)
    programs = build_programs()
    if options.search:
        search_tests(chosen, programs, options.search.split(","))
        return 0
    return 1 if try_faults(chosen, programs) else 0


def build_programs() -> dict[str, Path]:
    """Build the tests of the copy, and return their programs by name."""
    packages = [part for name in PACKAGES for part in ("--package", f"bentpipe-{name}")]
    built = subprocess.run([*BUILD, *packages], cwd=COPY, env=os.environ | SETTINGS, stdout=subprocess.PIPE, text=True)
    if built.returncode:
        sys.exit("error: a fault does not compile\n  correct its entry in tools/mutants/faults")
    programs = {}
    for line in built.stdout.splitlines():
        made = json.loads(line)
        if made.get("executable") and made["profile"]["test"]:
            crate = Path(made["manifest_path"]).parent.name
            is_unit = "lib" in made["target"]["kind"]
            programs[crate if is_unit else f"{crate}/{made['target']['name']}"] = Path(made["executable"])
    return programs


def try_faults(faults: list[Fault], programs: dict[str, Path]) -> int:
    """Run the tests that must find each fault, and return the number of faults that are not found."""
    tests = sorted({test for fault in faults for test in fault.found_by})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        broken = [
            test
            for test, is_broken in zip(tests, pool.map(lambda test: fails(programs, test), tests), strict=True)
            if is_broken
        ]
        if broken:
            sys.exit(f"error: {', '.join(broken)} fails without a fault\n  mend it first")
        wrong = 0
        for fault, lacking in zip(
            faults, pool.map(lambda fault: find_blind_tests(programs, fault), faults), strict=True
        ):
            is_whole = not lacking and bool(fault.found_by or fault.missed)
            wrong += not is_whole
            verdict = "missed" if fault.missed else "found"
            print(f"{verdict if is_whole else 'SURVIVES':8} {fault.what}", *lacking, sep="\n    ", flush=True)
    print(f"{len(faults)} faults, {sum(bool(each.missed) for each in faults)} missed with a reason, {wrong} wrong")
    return wrong


def find_blind_tests(programs: dict[str, Path], fault: Fault) -> list[str]:
    """Return the tests that should find a fault and do not."""
    return [test for test in fault.found_by if not fails(programs, test, fault)]


def fails(programs: dict[str, Path], test: str, fault: Fault | None = None) -> bool:
    """Whether a test fails, or does not end."""
    program, _, name = test.partition("::")
    output = run_tests(programs, program, [name, "--exact"], fault)
    if output is not None and "running 0 tests" in output:
        sys.exit(f"error: there is no test {test}\n  correct its name in tools/mutants/faults")
    return output is None or "test result: ok" not in output


def search_tests(faults: list[Fault], programs: dict[str, Path], where: list[str]) -> None:
    """Print all tests that find each fault."""
    for fault in faults:
        print(f"{fault.what}", flush=True)
        for place in where:
            program, _, words = place.partition(":")
            output = run_tests(programs, program, words.split(), fault, threads=os.cpu_count() or 1)
            failed = (
                ["(does not end)"] if output is None else re.findall(r"^test (\S+) .*FAILED$", output, re.MULTILINE)
            )
            for name in failed:
                print(f"    {program}::{name}", flush=True)


def run_tests(
    programs: dict[str, Path], program: str, words: list[str], fault: Fault | None, threads: int = 1
) -> str | None:
    """Run tests of a program, and return what they print. Returns `None` if they do not end."""
    if program not in programs:
        sys.exit(f"error: there is no program {program} of tests\n  expected one of: {', '.join(sorted(programs))}")
    environment = os.environ | SETTINGS | {VARIABLE: str(fault.number if fault else 0)}
    command = [str(programs[program]), *words, f"--test-threads={threads}"]
    folder = COPY / "crates" / program.partition("/")[0]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
