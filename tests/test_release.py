"""The uploaded packages: metadata, versions, and dependencies that every supported machine has."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
import yaml

import bentpipe as bp
from tools.absolute_links import absolute

ROOT = Path(__file__).resolve().parents[1]

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SOURCES = sorted((ROOT / "python").rglob("*.py"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
POSIX_ONLY = {"curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}


def names(requirements):
    """The libraries that requirements name; a group that is included has its own."""
    return {re.split(r"[^\w.-]", each)[0].lower() for each in requirements if isinstance(each, str)}


@cache
def imported(source):
    """The modules that a file imports, wherever it does, by their first name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.append(node.module.split(".")[0])
    return found


def test_imports_are_found_wherever_they_stand():
    assert imported("import fcntl as f\ndef g():\n    from pwd import getpwnam\n") == ["fcntl", "pwd"]


def test_no_module_imports_what_windows_and_macos_do_not_have():
    assert len(SOURCES) > 50
    found = {path.relative_to(ROOT): POSIX_ONLY & set(imported(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert not {str(path): names for path, names in found.items() if names}


def test_text_is_read_and_written_as_utf_8_on_every_system():
    text = {"read_text", "write_text"}
    bare = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_text = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in text
            is_text = is_text and ast.unparse(node.func.value) != "formatter"
            if is_text and not any(keyword.arg == "encoding" for keyword in node.keywords):
                bare.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not bare


def test_each_file_of_the_project_says_the_same_version():
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert cargo["version"] == bp.__version__
    cited = yaml.safe_load(citation)
    assert str(cited["version"]) == bp.__version__
    assert cited["repository-code"] == cargo["repository"]
    assert cited["url"] == PROJECT["urls"]["Documentation"]
    assert [each["name"] for each in cited["authors"]] == [each["name"] for each in PROJECT["authors"]]
    assert cited["keywords"] == PROJECT["keywords"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (\d\S*) \((.*)\)$", changes)[0] == (cited["version"], str(cited["date-released"]))
    assert PROJECT["urls"]["Repository"] == cargo["repository"]


def test_the_index_has_a_readme_a_licence_and_where_to_ask():
    found = metadata.metadata("bentpipe")
    assert found["Summary"] == PROJECT["description"]
    assert found["License-Expression"] == PROJECT["license"]
    assert sorted(found.get_all("License-File")) == sorted(PROJECT["license-files"])
    assert {each.split(", ")[0] for each in found.get_all("Project-URL")} == PROJECT["urls"].keys()
    assert found["Description-Content-Type"].startswith("text/markdown")
    assert found["Description"] or found.get_payload()


@pytest.mark.parametrize("words", [["--help"], ["--dry-run"], ["README.md"], []])
def test_the_tool_for_the_page_on_the_index_changes_nothing_unless_told(words):
    readme = ROOT / "README.md"
    before = readme.read_bytes()
    done = subprocess.run([sys.executable, "tools/absolute_links.py", *words], cwd=ROOT, capture_output=True, text=True)
    assert readme.read_bytes() == before
    assert (done.returncode == 0) == (words in (["--help"], []))
    if not words:
        assert "https://github.com/" in done.stdout


def test_the_page_on_the_index_has_no_relative_links():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = absolute(readme, "https://github.com/a/b", "1.2.3")
    links = ["".join(link) for link in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", found)]
    assert all(link.startswith(("https://", "#")) for link in links)
    assert "https://raw.githubusercontent.com/a/b/v1.2.3/docs/assets/logo.svg" in links
    assert "https://github.com/a/b/blob/v1.2.3/docs/guides/install.md#platforms" in links
    assert absolute(found, "https://github.com/a/b", "1.2.3") == found


@pytest.mark.parametrize("name", ["constraints.txt", "Cargo.lock"])
def test_locks_name_no_index_of_a_machine(name):
    urls = set(re.findall(r"\w+://[^\s\"#]+", (ROOT / name).read_text(encoding="utf-8")))
    assert urls <= {"https://github.com/rust-lang/crates.io-index"}


def test_each_direct_dependency_is_locked():
    extras = PROJECT["optional-dependencies"].values()
    locked = re.findall(r"(?m)^([\w.-]+)==", (ROOT / "constraints.txt").read_text(encoding="utf-8"))
    named = names(PROJECT["dependencies"]).union(*map(names, extras), *map(names, GROUPS.values()))
    assert named - {"bentpipe"} <= set(locked), "make lock"


def test_each_library_that_is_imported_is_declared():
    stubs = {
        "yaml": "pyyaml",
        "IPython": "ipykernel",
        "jupyter_client": "nbclient",
        "PIL": "matplotlib",
        "lazy_loader": "lazy-loader",
    }
    ours = {"bentpipe", "tests", "tools", "validation", "bench", "words", "watched"}
    optional = PROJECT["optional-dependencies"]
    used = {
        "python/bentpipe": names(PROJECT["dependencies"])
        | names(optional["cluster"])
        | names(optional["studio"])
        | names(optional["pytest"])
        | names(optional["xarray"])
        | {"ipykernel"},
        # The test against `itur` is skipped without it: 160 MB for one comparison.
        "tests": names(PROJECT["dependencies"]) | names(GROUPS["test"]) | names(GROUPS["types"]) | {"itur"},
    }
    for folder, declared in used.items():
        found = {each for path in (ROOT / folder).rglob("*.py") for each in imported(path.read_text(encoding="utf-8"))}
        libraries = {stubs.get(each, each) for each in found - ours - set(sys.stdlib_module_names)}
        assert libraries - {"tomllib"} <= declared, folder


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_parse_and_say_that_they_are_untested(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Untested: ")
    # YAML 1.1 takes the key `on` for true.
    assert {"name", True, "permissions", "jobs"} <= yaml.safe_load(text).keys()


PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs" / "develop").glob("*.md"))]


FOLDERS = ("crates", "python", "docs", "tests", "validation", "tools", "examples", "bench")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_for_contributors_name_what_is_there(page):
    """Targets of make, scripts, files and tests in code, and links between the pages of the repository."""
    text = page.read_text(encoding="utf-8")
    code = "\n".join("".join(each) for each in re.findall(r"(?ms)^ *```\w*\n(.*?)^ *```|`([^`\n]+)`", text))
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    assert set(re.findall(r"(?m)^make ([a-z]+)", code)) <= targets
    paths = re.findall(rf"(?<![\w./])((?:{'|'.join(FOLDERS)})/[\w./-]*[\w/])", code)
    # A word in capitals is for the reader to replace.
    assert [path for path in paths if path == path.lower() and not (ROOT / path).exists()] == []
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if ":" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_settings_of_tools_parse():
    for path in [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff"]:
        assert yaml.safe_load(path.read_text(encoding="utf-8")), path
