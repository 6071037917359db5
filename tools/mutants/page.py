"""The page that lists all faults with the tests that find them."""

from __future__ import annotations

from tools.mutants.source import ROOT, Fault

PAGE = ROOT / "docs" / "develop" / "faults.md"
HEAD = """# Faults

This page is made by `python -m tools.mutants --bless` from the lists in `tools/mutants/faults`.

`make mutants` copies the crates, puts the faults of this page behind a switch, builds the copy once, and runs the tests
beside each fault. Each of them must fail with the fault, and pass without it. The sources themselves have no switch.
`tcp::` begins the name of a test inside `crates/tcp`, and `sim/it::` that of a test in
`crates/sim/tests`.

"""


def make_page(faults: list[Fault]) -> str:
    """Return the page in Markdown."""
    missed = sum(bool(fault.missed) for fault in faults)
    parts = [HEAD, f"{len(faults)} faults. Beside {len(faults) - missed} of them is a test that must find it.\n"]
    areas: dict[str, list[Fault]] = {}
    for fault in faults:
        areas.setdefault(fault.area, []).append(fault)
    for area, own in sorted(areas.items()):
        parts += [f"\n## {area}\n\n", "| fault | found by |\n", "|---|---|\n"]
        parts += [f"| {fault.what} | {_finders(fault)} |\n" for fault in own]
    return "".join(parts)


def _finders(fault: Fault) -> str:
    if fault.missed:
        return f"no test: {fault.missed}"
    return "<br>".join(f"`{test}`" for test in fault.found_by)
