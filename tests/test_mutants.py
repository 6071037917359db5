"""The faults that `make mutants` tries fit the sources, and the page that lists them."""

from pathlib import Path

import pytest

from tools.mutants.page import PAGE, make_page
from tools.mutants.source import ROOT, Fault, insert_faults, read_faults

FAULTS = read_faults()


def test_each_fault_has_one_place():
    found = {fault.what: (ROOT / fault.file).read_text(encoding="utf-8").count(fault.old) for fault in FAULTS}
    assert set(found.values()) == {1}, {what: count for what, count in found.items() if count != 1}
    assert all(fault.old != fault.new for fault in FAULTS)
    assert len(found) == len({fault.number for fault in FAULTS}) == len(FAULTS)


def test_all_faults_of_a_file_fit_together():
    for file in {fault.file for fault in FAULTS}:
        own = [fault for fault in FAULTS if fault.file == file]
        text = insert_faults((ROOT / file).read_text(encoding="utf-8"), own)
        assert all(text.count(f"fault({fault.number})") == 1 for fault in own), file


def test_each_fault_has_tests_that_find_it_or_a_reason():
    assert [fault.what for fault in FAULTS if bool(fault.found_by) is bool(fault.missed)] == []


def test_each_test_that_finds_a_fault_exists():
    for test in sorted({test for fault in FAULTS for test in fault.found_by}):
        program, _, name = test.partition("::")
        crate, _, target = program.partition("/")
        folder = ROOT / "crates" / crate / ("tests" if target else "src")
        wanted = f"fn {name.rpartition('::')[2]}("
        assert any(wanted in path.read_text(encoding="utf-8") for path in folder.rglob("*.rs")), test


def test_an_expression_and_a_statement_are_behind_a_switch():
    fault = Fault("a sum", "crates/tcp/src/lib.rs", "a + b", "a - b")
    whole = f"(if bentpipe_units::fault({fault.number}) {{ a - b }} else {{ a + b }})"
    assert insert_faults("let c = a + b;", [fault]) == f"let c = {whole};"
    step = Fault("a step", "crates/units/src/lib.rs", "step();", "")
    assert insert_faults("step();\n", [step]) == f"if crate::fault({step.number}) {{  }} else {{ step(); }}\n"


def test_faults_that_overlap_are_refused():
    texts = ["a + b", "b + c"]
    faults = [Fault(text, "crates/tcp/src/lib.rs", text, "0") for text in texts]
    with pytest.raises(ValueError, match="overlaps"):
        insert_faults("a + b + c", faults)


def test_the_page_has_all_faults():
    hint = "run: python -m tools.mutants --bless"
    assert Path(PAGE).read_text(encoding="utf-8") == make_page(FAULTS), hint
