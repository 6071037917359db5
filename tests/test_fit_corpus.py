"""Files of many tools: each is read right, or refused with the command that makes a readable one."""

import pytest

from validation import corpus

FILES = corpus.files()


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_right_or_refused_with_the_command(name):
    outcome, said = corpus.judge(FILES[name], name)
    assert outcome == ("refused" if FILES[name].command else "read"), said


def test_the_corpus_has_sixty_files():
    assert len(FILES) >= 60
