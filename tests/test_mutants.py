"""The list of faults that `make mutants` tries fits the sources."""

from tools.mutants.__main__ import ROOT, mutants


def test_each_fault_has_one_place():
    found = {each.what: (ROOT / each.file).read_text(encoding="utf-8").count(each.old) for each in mutants()}
    assert set(found.values()) == {1}, found
    assert all(each.old != each.new for each in mutants())
