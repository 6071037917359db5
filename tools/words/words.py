"""Check the English of the repository: rules from words.toml, a baseline that may only shrink.

    python tools/words/words.py                  # check against the baseline; exit code 1 if a file got worse
    python tools/words/words.py docs/index.md    # print every fault of some files
    python tools/words/words.py --bless          # write the baseline; refuses to let it grow
    python tools/words/words.py --rank 40        # list the worst files
    python tools/words/words.py --commits main.. # check commit subjects
    python tools/words/words.py --message FILE   # check the subject of one message, for the hook of git

Needs Python 3.11, or 3.10 with tomli.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10; pytest installs it.
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = Path(
    subprocess.run(["git", "rev-parse", "--show-toplevel"], cwd=HERE, capture_output=True, text=True).stdout.strip()
    or "."
)
BASELINE = HERE / "baseline.json"
# A string with fewer words is a key or a label.
WORDS_OF_A_TEXT = 4
LONG_SENTENCE = 25
# Lines of docstrings that are commands, doctests or rules.
NO_PROSE = (">>>", "...", "---", "```", "python ", ".venv/bin/")


@dataclass(frozen=True)
class Text:
    """A piece of prose and its first line. `kind` is page, doc, comment, string or subject."""

    line: int
    kind: str
    text: str
    offset: int = 0


@dataclass(frozen=True)
class Rule:
    """A pattern, the advice it prints, and the kinds of text and files where it applies."""

    name: str
    pattern: re.Pattern[str]
    advice: str
    kinds: frozenset[str]
    is_first: bool
    skip: re.Pattern[str] | None
    bad: tuple[str, ...]
    good: tuple[str, ...]


@dataclass(frozen=True)
class Fault:
    """A place where a rule matched."""

    path: str
    line: int
    rule: str
    found: str
    sentence: str
    advice: str


ALL_KINDS = ("page", "doc", "comment", "string", "subject")


def rules() -> list[Rule]:
    """Read the rules from words.toml."""
    table = tomllib.loads((HERE / "words.toml").read_text())["rule"]
    return [
        Rule(
            name,
            re.compile(entry["pattern"], (re.IGNORECASE if entry.get("ignore_case", True) else 0) | re.VERBOSE),
            entry["advice"],
            frozenset(entry.get("kinds", ALL_KINDS)),
            entry.get("first", False),
            re.compile(entry["skip"]) if "skip" in entry else None,
            tuple(entry.get("bad", ())),
            tuple(entry.get("good", ())),
        )
        for name, entry in table.items()
    ]


# Reading prose.


def of_markdown(source: str) -> list[Text]:
    """Return paragraphs, list items, headings and table cells, without code."""
    texts: list[Text] = []
    block: list[str] = []
    start, is_code = 0, False

    def close() -> None:
        if block:
            texts.append(Text(start, "page", plain(" ".join(block))))
            block.clear()

    for number, line in enumerate(source.splitlines(), 1):
        stripped = line.strip()
        if re.match(r"(```|~~~)", stripped):
            close()
            is_code = not is_code
        elif is_code:
            continue
        elif stripped.startswith("|"):
            close()
            cells = [cell.strip() for cell in stripped.strip("|").split("|")]
            texts += [Text(number, "page", plain(cell)) for cell in cells if len(cell.split()) >= WORDS_OF_A_TEXT]
        elif not stripped or stripped.startswith(("<", "![", "#", "!!!", "---")):
            close()
            if stripped.startswith("#"):
                texts.append(Text(number, "page", plain(stripped.lstrip("# "))))
        else:
            if re.match(r"([-*+]|\d+\.) ", stripped):
                close()
                stripped = re.sub(r"^([-*+]|\d+\.) +", "", stripped)
            if not block:
                start = number
            block.append(stripped)
    close()
    return texts


def of_python(source: str) -> list[Text]:
    """Return docstrings, comments and the strings that users read."""
    texts: list[Text] = []
    nodes = list(ast.walk(ast.parse(source)))
    documents: set[int] = set()
    for node in nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                documents.add(id(first.value))
                texts += paragraphs(first.value.value, first.lineno, "doc")
    joined = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            value = "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents | joined:
            value = node.value
        else:
            continue
        if is_prose(value):
            texts += paragraphs(value, node.lineno, "string")
    comment: list[str] = []
    start = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(
            ("#!", "# type:", "# noqa", "# fmt", "# ruff")
        ):
            if comment and token.start[0] != last + 1:
                texts.append(Text(start, "comment", plain(" ".join(comment))))
                comment = []
            if not comment:
                start = token.start[0]
            comment.append(token.string.lstrip("# ").strip())
            last = token.start[0]
    if comment:
        texts.append(Text(start, "comment", plain(" ".join(comment))))
    return texts


def of_rust(source: str) -> list[Text]:
    """Return doc comments, comments and strings, without those of the test module."""
    texts: list[Text] = []
    block: list[str] = []
    kind, start = "", 0

    def close() -> None:
        if block:
            texts.append(Text(start, kind, plain(" ".join(block))))
            block.clear()

    is_code = False
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith(("mod tests {", "pub mod tests {")):
            break
        found = re.match(r"\s*(//[/!]?)(?: |$)(.*)", line)
        if not found:
            close()
            for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
                if is_prose(literal):
                    texts.append(Text(number, "string", plain(re.sub(r"\{[^}]*\}", "X", literal))))
            continue
        here = "comment" if found[1] == "//" else "doc"
        text = found[2].strip()
        if text.startswith("```"):
            close()
            is_code = not is_code
            continue
        if is_code or not text or here != kind or re.match(r"([-*|]|\d+\.) ", text):
            close()
        if is_code or not text:
            continue
        if not block:
            kind, start = here, number
        block.append(re.sub(r"^([-*]|\d+\.) ", "", text))
    close()
    return texts


def of_toml(source: str) -> list[Text]:
    """Return comments: shipped scenarios are read as examples."""
    lines = enumerate(source.splitlines(), 1)
    return [Text(number, "comment", plain(line.split("# ", 1)[1])) for number, line in lines if "# " in line]


def of_notebook(source: str) -> list[Text]:
    """Return the prose of all cells, each with its number as line."""
    cells = json.loads(source)["cells"]
    return [
        replace(text, line=number)
        for number, cell in enumerate(cells, 1)
        for text in (of_markdown if cell["cell_type"] == "markdown" else of_python)("".join(cell["source"]))
    ]


READERS = {
    ".md": of_markdown,
    ".py": of_python,
    ".pyi": of_python,
    ".rs": of_rust,
    ".toml": of_toml,
    ".ipynb": of_notebook,
}


def is_prose(value: str) -> bool:
    """Whether a string is a sentence for a reader, not code, markup or data."""
    if re.search(r'[{}=;<>\\/]{2}|^\s*[<\[]|=\s*"|\n\[', value):
        return False
    return len(re.findall(r"\b[a-z]{2,}\b", value)) >= WORDS_OF_A_TEXT and not re.fullmatch(r"[\w.:-]+", value)


def paragraphs(value: str, line: int, kind: str) -> list[Text]:
    """Split a string at empty lines and fields; leave out doctests, code and section heads."""
    texts, block, start = [], [], line
    for number, row in enumerate([*value.splitlines(), ""], line):
        stripped = row.strip()
        is_field = re.match(r"\w[\w, *]* : \S", stripped)
        if not stripped or is_field or stripped.startswith(NO_PROSE):
            if block:
                texts.append(Text(start, kind, plain(" ".join(block))))
            block = []
        else:
            if not block:
                start = number
            block.append(stripped)
    return texts


def plain(text: str) -> str:
    """Replace code by X, and links by their text."""
    text = re.sub(r"``[^`]+``|`[^`]+`", "X", text)
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^]]*)\](\([^)]*\)|\[[^]]*\])", r"\1", text)
    text = re.sub(r"\[(X)\]", r"\1", text)
    text = re.sub(r"https?://\S+", "X", text)
    return re.sub(r"\s+", " ", re.sub(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", text)).strip()


def sentences(text: str) -> list[str]:
    """Split at the ends of sentences, not at abbreviations."""
    guarded = re.sub(r"\b(e\.g|i\.e|cf|et al|vs|approx|No|Sec|Fig|Eq|St|Dr|[A-Z])\. ", r"\1.\0 ", text)
    return [part.replace("\0", "") for part in re.split(r"(?<=[.!?])\s+(?=[\"'(A-Z0-9`X])", guarded) if part.strip()]


# Checking.


def texts_of(path: Path) -> list[Text]:
    """Read the prose of a file; none if the file cannot be parsed."""
    try:
        return READERS[path.suffix](path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, tokenize.TokenError):
        return []


def faults_of(path: str, texts: list[Text], known: list[Rule]) -> list[Fault]:
    """Apply the rules to texts."""
    here = [rule for rule in known if not (rule.skip and rule.skip.search(path))]
    found = []
    for text in texts:
        for place, sentence in enumerate(sentences(text.text)):
            for rule in here:
                if text.kind in rule.kinds and not (rule.is_first and place):
                    for match in rule.pattern.finditer(sentence):
                        found.append(Fault(path, text.line, rule.name, match[0].strip(), sentence, rule.advice))
    return found


@dataclass(frozen=True)
class Measure:
    """Difficulty of a file for its reader. `score` is 0 for a model page; above 40 a page needs rewriting."""

    words: int
    sentence: float
    long_share: float
    per_1000: float
    faults: int

    @property
    def score(self) -> float:
        """Faults per 1,000 words, one point for each % of long sentences above 10."""
        return self.per_1000 + max(0.0, 100 * self.long_share - 10)


def measure(texts: list[Text], faults: int) -> Measure | None:
    """Measure the texts of a file; None below 80 words, where rates mean nothing."""
    lengths = [len(part.split()) for text in texts for part in sentences(text.text) if len(part.split()) >= 4]
    words = sum(len(text.text.split()) for text in texts)
    if words < 80 or not lengths:
        return None
    is_long = sum(length > LONG_SENTENCE for length in lengths)
    return Measure(words, sum(lengths) / len(lengths), is_long / len(lengths), 1000 * faults / words, faults)


def tracked(root: Path, wanted: list[str]) -> list[str]:
    """Return the files to check, relative to the root."""
    skip = [re.compile(pattern) for pattern in tomllib.loads((HERE / "words.toml").read_text())["files"]["skip"]]
    names = subprocess.run(["git", "ls-files", *wanted], cwd=root, check=True, capture_output=True, text=True).stdout
    return [
        name
        for name in names.splitlines()
        if Path(name).suffix in READERS and not any(pattern.search(name) for pattern in skip)
    ]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="files or folders to print every fault of")
    parser.add_argument("--root", type=Path, default=ROOT, help="root of the repository")
    parser.add_argument("--bless", action="store_true", help="write the baseline; it may only shrink")
    parser.add_argument("--grow", action="store_true", help="with --bless: accept more faults (a new rule)")
    parser.add_argument("--rank", type=int, help="list this many of the worst files")
    parser.add_argument("--commits", help="check the subjects of this range of commits")
    parser.add_argument("--message", type=Path, help="check the first line of this file")
    parser.add_argument("--json", action="store_true", help="print faults as JSON lines")
    options = parser.parse_args()
    known = rules()
    if options.message:
        return check_subjects(options.message.read_text(encoding="utf-8").splitlines()[:1], known)
    if options.commits:
        return check_subjects(subjects_of(options.root, options.commits), known)
    found: list[Fault] = []
    measures: dict[str, Measure] = {}
    for name in tracked(options.root, options.files):
        texts = texts_of(options.root / name)
        here = faults_of(name, texts, known)
        found += here
        if (measured := measure(texts, len(here))) is not None:
            measures[name] = measured
    if options.rank:
        return print_rank(measures, options.rank)
    if options.json:
        for fault in found:
            print(json.dumps(fault.__dict__))
        return 0
    if options.files:
        for fault in found:
            print(f"{fault.path}:{fault.line}: {fault.rule}: {fault.found!r}\n  {fault.sentence}\n  {fault.advice}")
        return int(bool(found))
    return compare(found, options.bless, options.grow)


def compare(found: list[Fault], is_blessed: bool, may_grow: bool) -> int:
    """Compare counts per file and rule with the baseline."""
    counts = Counter((fault.path, fault.rule) for fault in found)
    recorded = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    old = {(path, rule): count for path, rows in recorded.items() for rule, count in rows.items()}
    worse = {key: count for key, count in counts.items() if count > old.get(key, 0)}
    better = {key for key, count in old.items() if counts.get(key, 0) < count}
    if worse and not (is_blessed and may_grow):
        for fault in found:
            if (fault.path, fault.rule) in worse:
                print(f"{fault.path}:{fault.line}: {fault.rule}: {fault.found!r}\n  {fault.sentence}\n  {fault.advice}")
        print(f"{len(worse)} counts are above the baseline: rewrite the new sentences")
        return 1
    if is_blessed:
        tree: dict[str, dict[str, int]] = {}
        for (path, rule), count in sorted(counts.items()):
            tree.setdefault(path, {})[rule] = count
        BASELINE.write_text(json.dumps(tree, indent=1) + "\n")
        print(f"baseline: {sum(counts.values())} faults (before: {sum(old.values())})")
        return 0
    if better:
        print(f"{len(better)} counts are below the baseline: record them with --bless")
        return 1
    print(f"{sum(counts.values())} known faults, no new ones")
    return 0


def print_rank(measures: dict[str, Measure], count: int) -> int:
    """Print the worst files."""
    worst = sorted(measures.items(), key=lambda item: -item[1].score)[:count]
    print("score  faults/1000  long %  words/sentence  words  file")
    for name, row in worst:
        print(
            f"{row.score:5.0f}  {row.per_1000:11.1f}  {100 * row.long_share:6.0f}  {row.sentence:14.1f}"
            f"  {row.words:5}  {name}"
        )
    return 0


SUBJECT = re.compile(
    r"^(Merge|[a-z0-9_]+(, [a-z0-9_]+)?: (?!(what|how|when|where|whether|who|why|a|an|the)\b)\S)", re.ASCII
)


def subjects_of(root: Path, span: str) -> list[str]:
    """Return the subjects of a range of commits."""
    command = ["git", "log", "--format=%s", span]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()


def check_subjects(subjects: list[str], known: list[Rule]) -> int:
    """Check the form of subjects, then the rules."""
    is_bad = False
    for subject in subjects:
        faults = faults_of("commit", [Text(0, "subject", subject)], known)
        if len(subject) > 72 or not SUBJECT.match(subject) or faults:
            is_bad = True
            print(
                f"{subject}\n  expected `room: verb and object`, at most 72 characters"
                + "".join(f"\n  {fault.found!r}: {fault.advice}" for fault in faults)
            )
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
