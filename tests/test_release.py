"""The uploaded packages: metadata, versions, and dependencies that every supported machine has."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
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


TOOLS = [f"tools.{path.stem}" for path in sorted((ROOT / "tools").glob("[!_]*.py"))]


@pytest.mark.parametrize("name", [*TOOLS, "tools.docs", "tools.mutants", "tools.words.words"])
def test_a_tool_that_is_asked_for_help_changes_nothing(name):
    """The time of each file stays."""

    def stamps():
        return {path: path.stat().st_mtime_ns for folder in FOLDERS for path in tracked(ROOT / folder)}

    before = stamps()
    command = [sys.executable, "-m", name, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert stamps() == before
    lacks = re.findall(r"No module named '(\w+)", done.stderr)
    if lacks and lacks[0] not in {"tools", "validation"}:
        pytest.skip(f"{name} needs the package {lacks[0]}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.lower().startswith("usage")


def test_a_measurement_reads_its_command_line_first():
    """A request for help measures nothing and rewrites no number."""
    modules = [path for folder in ("validation", "bench") for path in sorted((ROOT / folder).glob("*.py"))]
    starts = {path: text.split('if __name__ == "__main__":\n') for path in modules if (text := path.read_text("utf-8"))}
    # The client of a page runs inside an emulation.
    programs = {path: parts for path, parts in starts.items() if len(parts) == 2 and path.name != "page_client.py"}
    assert len(programs) > 40
    own = re.compile(r"ArgumentParser|click\.command|\boptions\(")
    late = [path.name for path, (text, end) in programs.items() if "kept.begin(" not in end and not own.search(text)]
    assert late == []


@pytest.mark.parametrize(("words", "status"), [(["--help"], 0), (["everything"], 2)])
def test_a_measurement_that_takes_no_argument_refuses_one(words, status):
    command = [sys.executable, "-m", "validation.hosts", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == status
    assert "usage: " in done.stdout + done.stderr


def tracked(folder):
    """The sources of a folder, without what is compiled."""
    kinds = {".md", ".rs", ".py", ".pyi", ".csv", ".json", ".toml", ".txt", ".bin", ".png", ".svg"}
    return (path for path in folder.rglob("*") if path.suffix in kinds and "__pycache__" not in path.parts)


def test_the_source_distribution_is_whole_where_there_is_no_git(tmp_path):
    """Built from a folder without a repository, with files of an earlier build, by a machine without Git."""
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.exists():
        pytest.skip("needs maturin, which make installs")
    source, bare = tmp_path / "source", tmp_path / "bin"
    ours = shutil.ignore_patterns(".*", "target", "site", "dist", "__pycache__", "*.so", "*.pyd")
    shutil.copytree(ROOT, source, ignore=ours)
    shutil.copy(ROOT / ".gitignore", source)
    (source / "python" / "bentpipe" / "_core.abi3.so").write_bytes(b"of an earlier build")
    (source / "python" / "bentpipe" / "__pycache__").mkdir()
    (source / "python" / "bentpipe" / "__pycache__" / "old.pyc").touch()
    bare.mkdir()
    for name in ("cargo", "rustc"):
        (bare / name).symlink_to(shutil.which(name))
    given = os.environ | {"PATH": str(bare), "CARGO_TARGET_DIR": str(tmp_path / "target"), "CARGO_NET_OFFLINE": "true"}
    build = [maturin, "sdist", "--out", tmp_path]
    subprocess.run(build, cwd=source, env=given, check=True, capture_output=True, timeout=100)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path / "out", **({"filter": "data"} if sys.version_info >= (3, 12) else {}))
    (built,) = (tmp_path / "out").iterdir()
    assert not [path for path in built.rglob("*") if path.suffix in {".so", ".pyc"}]
    missing = [
        f"{path.relative_to(built)}: {name}"
        for path in built.glob("crates/*/src/**/*.rs")
        for name in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', path.read_text(encoding="utf-8"))
        if not (path.parent / name).exists()
    ]
    assert not missing
    # The crates that it needs are all there, with the versions of the lock.
    resolve = [bare / "cargo", "metadata", "--locked", "--format-version", "1"]
    done = subprocess.run(resolve, cwd=built, env=given, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    ours = {path.relative_to(ROOT / "python") for path in (ROOT / "python").rglob("*.py")}
    assert ours == {path.relative_to(built / "python") for path in (built / "python").rglob("*.py")}


def test_the_recipe_asks_for_what_the_project_asks_for():
    recipe = yaml.safe_load((ROOT / "packaging" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"] == {"version": bp.__version__, "python_min": PROJECT["requires-python"].lstrip(">=")}
    run = {each.replace("matplotlib-base", "matplotlib").replace(" ", "") for each in recipe["requirements"]["run"]}
    # A package for each Python would be needed to leave tomli out.
    assert run == {each.split(";")[0] for each in PROJECT["dependencies"]} | {"python"}
    assert (
        f"maturin {PYPROJECT['build-system']['requires'][0].removeprefix('maturin')}" in recipe["requirements"]["host"]
    )
    scripts = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    about = recipe["about"]
    assert (about["license"], about["summary"]) == (PROJECT["license"], PROJECT["description"])
    assert set(PROJECT["license-files"]) < set(about["license_file"])


def test_a_release_uploads_what_was_built():
    """A system without a runner, or a library without a wheel there, does not stop the others."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8"))["jobs"]
    rows = jobs["wheel"]["strategy"]["matrix"]["include"]
    assert jobs["wheel"]["strategy"]["fail-fast"] is False
    assert {"needs.audit.result", "needs.sdist.result"} <= set(re.findall(r"needs\.\w+\.result", jobs["publish"]["if"]))
    assert "needs.wheel" not in jobs["publish"]["if"]
    # Where our libraries have no wheels, ours cannot be installed without a compiler.
    assert not [row for row in rows if row["target"] == "aarch64" and "musl" in row["libc"]]


def test_images_for_contributors_and_classes_start_with_what_is_there():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert container["postCreateCommand"] == "make .venv/built"
    binder = yaml.safe_load((ROOT / ".binder" / "environment.yml").read_text(encoding="utf-8"))
    assert "rust>=1.85" in binder["dependencies"]
    post = ROOT / ".binder" / "postBuild"
    assert os.access(post, os.X_OK) or os.name == "nt"
    assert re.findall(r"\.\[(\w+)\]", post.read_text(encoding="utf-8"))[0] in PROJECT["optional-dependencies"]


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
