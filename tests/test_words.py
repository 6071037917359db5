"""The rules find what they are for, and no file has more faults than the baseline."""

import json

import pytest

from tools import functions
from tools.words import words


def test_each_rule_finds_its_examples():
    for rule in words.rules():
        assert rule.bad, rule.name
        assert rule.good, rule.name
        for sentence in rule.bad:
            assert rule.pattern.search(sentence), (rule.name, sentence)
        for sentence in rule.good:
            assert not rule.pattern.search(sentence), (rule.name, sentence)


def test_code_is_no_prose():
    page = "Use `what is told` here.\n\n```\nof its own\n```\n| a | b |\n|---|---|\n| one two three four | x |\n"
    assert [text.text for text in words.of_markdown(page)] == ["Use X here.", "one two three four"]
    assert [
        text.kind for text in words.of_python('"""A module."""\nraise ValueError("a b c d is not known here")')
    ] == ["doc", "string"]
    cells = [{"cell_type": "code", "source": ["x = 1\n", "# A comment."]}, {"cell_type": "markdown", "source": [page]}]
    assert [(text.line, text.text) for text in words.of_notebook(json.dumps({"cells": cells}))] == [
        (1, "A comment."),
        (2, "Use X here."),
        (2, "one two three four"),
    ]
    assert [text.text for text in words.of_rust("/// One line\n/// and more.\nfn f() {}\n")] == ["One line and more."]


def test_no_file_got_worse(capsys):
    """Run `words.py` for the list, and `words.py --bless` after rewriting."""
    known = words.rules()
    found = [
        fault
        for name in words.tracked(words.ROOT, [])
        for fault in words.faults_of(name, words.texts_of(words.ROOT / name), known)
    ]
    assert words.compare(found, is_blessed=False, may_grow=False) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("def shown(): ...", ["shown"]),
        ("class A:\n    def _of(self): ...\n    async def values_of(self): ...", ["_of", "values_of"]),
        ("def make():\n    def by_size(): ...", ["by_size"]),
        ("class A:\n    @property\n    def seed(self): ...\n    @cached_property\n    def judged(self): ...", []),
        ("def make_table(): ...\ndef from_dict(): ...\ndef with_seed(): ...\ndef need(): ...", []),
        ("class A:\n    def __format__(self): ...\n    def is_needed(self): ...", []),
    ],
)
def test_a_function_is_a_verb_and_its_object(text, refused, tmp_path):
    (tmp_path / "module.py").write_text(text)
    assert [name for _, name in functions.find_names(tmp_path / "module.py")] == refused


def test_a_module_is_a_noun(tmp_path):
    (tmp_path / "swept.py").touch()
    assert list(functions.find_names(tmp_path / "swept.py")) == [(1, "swept")]


def test_no_file_has_more_names_without_a_verb():
    """Run `python -m tools.functions` for the list, and with `--bless` after renaming."""
    found, most = functions.find_all([functions.PACKAGE]), functions.read_baseline()
    worse = {file: names for file, names in found.items() if len(names) > most[file]}
    assert not worse
    stale = {file: count for file, count in most.items() if len(found.get(file, ())) < count}
    assert not stale, "python -m tools.functions --bless"


def test_a_subject_has_a_room_and_a_verb(capsys):
    assert words.check_subjects(["tcp: reduce again when a retransmission is lost"], words.rules()) == 0
    for subject in ("fixed a bug", "docs: what a flow at rest takes", "docs: " + "add words " * 8):
        assert words.check_subjects([subject], words.rules()) == 1, subject
        assert subject in capsys.readouterr().out
