"""Every message states a fact and a remedy, in plain sentences."""

import re

import pytest

from tools.docs import messages
from tools.docs.messages import ERROR, HELP, TEXT, Message, of_python, of_rust
from tools.words import words

RULES = words.rules()

# Errors that end with the cause that the system, a library or a class gave.
CAUSE = re.compile(
    r"\{(reason|error|strerror|traceback|outcome|why|message|what|notes|trim_end|detail|replay|help)\}(\)|\")?$"
)
# Bugs, tracebacks and interrupts; errors that a BentpipeError wraps, and `Execution` completes with a command.
NEED_NONE = {"RunError", "SenderError", "Interrupted", "KeyboardInterrupt", "EndError", "_EndError", "ClusterError"}
NEED_NONE |= {"AttributeError", "KeyError", "TypeError", "ValueError"}
# Helpers whose arguments are parts of a message; readers that add the line of a file.
PARTS = {"_wrong", "_failure", "_no_effect", "_make_error", "error", "wrong", "positive"}
REMEDY = re.compile(r"\n\s*\S|expected |known: |did you mean|; (add|run|use) |\{EXPECTED\}")
# `did you mean X?` offers a name; it is the only question.
QUESTION = re.compile(r"\?(?! ?$)|\?$")
# Facts by negation: `is no time`, `keeps nothing`. They leave the reader to guess the reason.
RIDDLE = re.compile(
    r"(?<!there )\b(is|are) no \w|\bis none\b|\bnothing\b(?! was run)|\bnobody\b|\bis of no use\b|\bnowhere\b"
)
COMMAND = re.compile(r"\b(bentpipe|pip|dask|sudo|container)\b")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


# Verdicts of papers carry digests of these files.
FROZEN = re.compile(r"python/bentpipe/papers/(claims|engine|falsify|lab|verdicts)\.py$")
# Files that read the text of options.
READS_OPTIONS = re.compile(r"/cli/|scenario/overrides\.py$")


def place(message: Message) -> str:
    return f"{message.file}, {message.function}: {message.shown}"


def sentences(message: Message) -> list[str]:
    """The sentences of a message, with X for each value; alternatives are separate."""
    text = re.sub(r"\{[^{}]*\}", "X", message.text)
    text = re.sub(r"did you mean [^?]*\?", "did you mean X", text)
    found = []
    for line in text.splitlines():
        for part in re.split(r"[\[\]|]", line) if "|" in line else [line]:
            found += words.sentences(words.plain(part.strip()))
    return found


def without_remedy(message: Message) -> bool:
    """Whether an error has a fact only."""
    if message.kind != ERROR or message.maker in NEED_NONE | PARTS:
        return False
    text = message.text.strip()
    is_wrapper = not re.search(r"[a-z]{2,} [a-z]{2,}", re.sub(r"\{[^{}]*\}", "", text))
    return not is_wrapper and not REMEDY.search(text) and not CAUSE.search(text)


def faults(message: Message) -> list[str]:
    """All that is wrong with a message."""
    found = []
    if without_remedy(message):
        found.append("no remedy: expected a second line, such as `expected ...` or a command")
    for sentence in sentences(message):
        text = words.Text(0, "string", sentence)
        found += [f"{fault.rule}: {fault.found!r}" for fault in words.faults_of(message.file, [text], RULES)]
        if len(sentence.split()) > words.LONG_SENTENCE:
            found.append(f"{len(sentence.split())} words in a sentence")
        if QUESTION.search(sentence):
            found.append("a question")
        if message.kind == ERROR and (riddle := RIDDLE.search(sentence)):
            found.append(f"a riddle: {riddle[0]!r}")
    is_of_library = message.kind == ERROR and not READS_OPTIONS.search(message.file)
    option = None if COMMAND.search(message.text) else OPTION.search(message.text)
    if is_of_library and option:
        found.append(f"{option[0]}: callers in Python have no options; write {{name}}")
    return found


def test_each_message_reads_once():
    judged = [message for message in messages.all_messages() if not FROZEN.search(message.file)]
    found = [f"{place(message)}\n    {fault}" for message in judged for fault in faults(message)]
    assert found == [], "\n".join(found)


def test_both_languages_and_all_kinds_are_read():
    counts = {
        (kind, home): sum(each.kind == kind and each.file.startswith(home) for each in messages.all_messages())
        for kind in (ERROR, TEXT, HELP)
        for home in ("python/", "crates/")
    }
    assert min(counts[ERROR, "python/"], counts[ERROR, "crates/"], counts[TEXT, "python/"]) > 300, counts
    assert counts[HELP, "python/"] > 150, counts


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ('raise BentpipeError("a mix of one congestion control")', "no remedy"),
        ('raise ScenarioError("a ratio to what?\\n  expected the baseline: {against}")', "a question"),
        ('raise SkyError(f"{name} is no time\\n  expected 5 s")', "a riddle"),
        ('raise BentpipeError("a ratio needs a baseline\\n  expected --against NAME")', "callers in Python"),
        ('raise BentpipeError("it stands beside another key\\n  expected one of them")', "stands"),
        ('said.append(f"{name} gets nothing of what is sent here")', "clause-as-noun"),
        (f'said.append("it is {"very " * 25}slow")', "words in a sentence"),
    ],
)
def test_a_bad_message_of_python_is_found(source, fault):
    (message,) = of_python("python/bentpipe/sky/looks.py", f"def look(name):\n    {source}\n")
    assert any(fault in each for each in faults(message)), faults(message)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ('report.value(&path, "is too long", "");', "no remedy"),
        ('report.value(&path, "is no time", "expected more than 0 s");', "a riddle"),
        ('SkyError::new("places", format!("more than {MOST_PLACES}"))', "no remedy"),
        ('PyValueError::new_err("this run is over")', "no remedy"),
    ],
)
def test_a_bad_message_of_rust_is_found(source, fault):
    (message,) = of_rust("crates/net/src/x.rs", f"fn check() {{ {source} }}\n")
    assert any(fault in each for each in faults(message)), faults(message)


def test_a_good_message_is_left_alone():
    python = 'def f(n):\n    raise BentpipeError(f"{n} jobs\\n  expected at least 1")\n'
    rust = 'fn check() { report.value(&path, "is too small", "expected more than 0 s"); }\n'
    found = [*of_python("python/bentpipe/x.py", python), *of_rust("crates/net/src/x.rs", rust)]
    assert [each.text for each in found] == [
        "{n} jobs\n  expected at least 1",
        "{key} = {value} is too small\nexpected more than 0 s",
    ]
    assert not any(faults(each) for each in found)
