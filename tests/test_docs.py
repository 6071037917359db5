"""README and guides: their commands work, and their links have targets."""

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

import bentpipe as bp
from bentpipe.__main__ import main
from bentpipe.cli.list import topics
from bentpipe.metric import list_metrics, list_single_metrics
from bentpipe.sky.paths import METRICS as OF_SKY
from tests import measurements
from tests.test_sky_exchange import element_sets
from tools.docs import live
from tools.docs import pages as site
from tools.docs.links import SITE, page_of

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs" / "guides").glob("*.md")), *sorted((ROOT / "docs" / "concepts").glob("*.md"))]

# Commands that need what no test has: a scheduler, a store of a run that failed, a sender that the reader writes.
OUT_OF_REACH = (
    "dask://",
    "local:",
    "/failures/",
    " FILE ",
    "mine.py",
    "multcp",
    "myidea",
    " emulate ",
    " --kernel",
    " --measure ",
    " speak ",
    " twin ",
    " studio ",
)
# Settings that make a run short. A later option goes over an earlier one.
SHORT = {
    "run": ["--set", "duration=3 s"],
    "compare": ["--set", "duration=3 s", "--replications", "2"],
    # Longer than the distance of starts on a page.
    "mix": ["--set", "duration=12 s", "--replications", "2"],
    "sweep": ["--set", "duration=3 s", "--replications", "2"],
    # A search of a page has a budget in minutes; an example of the help has one, too.
    "tune": ["--set", "duration=3 s", "--budget", "600"],
}
TRANSFERS = ("iperf.json", "down.json", "up.json")
"""Records of iperf3 that pages name."""


@cache
def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page, in order: language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """The commands that a page shows, without prompts and comments."""
    shown = "\n".join(text for language, text in blocks(page) if language in ("", "sh")).replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in shown.splitlines()]
    typed = [shlex.join(shlex.split(line, comments=True)) for line in lines if line.startswith("bentpipe ")]
    return [line for line in typed if not any(each in f"{line} " for each in OUT_OF_REACH)]


def save_files(page: Path, folder: Path) -> None:
    """Files that the reader saves, or that the commands name."""
    text = page.read_text()
    saved = re.findall(r"Save this as `([\w.]+)`.*?```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    first = [("geo.toml", block) for language, block in blocks(page) if language == "toml"]
    # Later steps of a tutorial change the file: the last of them has all the keys that its commands set.
    whole = [("geo.toml", block) for _, block in first if "[link.feeder]" in block]
    lists = {"ground_stations.txt": "0,Rome,41.9,12.5,20\n1,Oslo,59.9,10.7,20\n", "tles.txt": element_sets(8, 8)}
    measured = lists | {"ping.txt": measurements.ping(), **dict.fromkeys(TRANSFERS, measurements.iperf3())}
    for name, block in [*first[:1], *saved, *whole, *measured.items()]:
        (folder / name).write_text(block)
    for end in ("server", "terminal"):
        (folder / f"{end}.pcap").write_bytes(measurements.pcap())


WITH_COMMANDS = [page for page in PAGES if commands(page) and page.name != "tcp-over-satellite.md"]  # see test_guide


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_commands_of_a_page_run(page, tmp_path, monkeypatch, capsys, shortened):
    monkeypatch.chdir(tmp_path)
    save_files(page, tmp_path)
    for command in commands(page):
        words = shlex.split(command)[1:]
        monkeypatch.setattr(sys, "argv", ["bentpipe", *shortened(words, SHORT.get(words[0], []))])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, f"{command}\n{capsys.readouterr().err}"


def matches(pattern: str) -> set[str]:
    """Matches of a pattern in the pages, without the lists of messages, whose names may be wrong."""
    pages = (page for page in [README, *(ROOT / "docs").rglob("*.md")] if not page.stem.startswith("messages"))
    return {name for page in pages for name in re.findall(pattern, page.read_text())}


def test_each_topic_and_metric_of_a_page_exists():
    found = matches(r"`bentpipe list ([\w-]+)")
    assert found <= set(topics())
    values = matches(r"--metric[\s=]+[`']?([\w{}.:,]+[\w}])")
    metrics = {name for value in values for name in value.split(",")} - {*OF_SKY, "NAME", "METRIC"}
    assert len(metrics) > 20
    for name in metrics:
        assert name.partition(":")[0] in list_metrics() | list_single_metrics(), name


def test_the_page_on_installation_has_each_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    shown = re.findall(
        r"^\| `pip install 'bentpipe\[(\w+)\]'`", (ROOT / "docs/guides/install.md").read_text(), re.MULTILINE
    )
    assert sorted(shown) == sorted(extras)


# The others have separate tests: open-network in test_network, custom-congestion-control in test_own.
PYTHON = [
    ROOT / "docs" / name
    for name in (
        "guides/compare-congestion-controls.md",
        "guides/sky.md",
        "concepts/multipath.md",
        "concepts/statistics.md",
    )
]


@pytest.mark.parametrize("page", PYTHON, ids=lambda page: page.stem)
def test_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("compare", "mix"):
        verb = getattr(bp, name)
        monkeypatch.setattr(
            bp,
            name,
            lambda scenario, *rest, verb=verb, **options: verb(
                (bp.load(scenario) if isinstance(scenario, str) else scenario).replace("duration", "5 s"),
                *rest,
                **options | {"replications": 4},
            ),
        )
    code = [text for language, text in blocks(page) if language == "python"]
    assert code
    # The class of a page is one of a file, as its reader would write it.
    (tmp_path / "page.py").write_text("import bentpipe as bp\n" + "\n".join(code))
    text = (tmp_path / "page.py").read_text()
    exec(compile(text, str(tmp_path / "page.py"), "exec"), {"__name__": "page"})


def test_python_of_the_guide_to_sweeps_runs(tmp_path, monkeypatch):
    page = ROOT / "docs" / "guides" / "sweeps.md"
    monkeypatch.chdir(tmp_path)
    save_files(page, tmp_path)
    code = [text for language, text in blocks(page) if language == "python"]
    needs_more = ("pandas", "dask_jobqueue")
    text = "\n".join(text for text in code if not any(each in text for each in needs_more))
    exec(text.replace("replications=20", "replications=2"), {})


def test_the_readme_shows_what_mix_finds():
    shown = " ".join(README.read_text().split())
    mixed = bp.mix(bp.load("geo", {"duration": "120 s"}), ["reno", "cubic", "bbr3"])
    assert len(mixed.statements) == 4
    for statement in mixed.statements:
        assert statement in shown


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) < 120


def test_the_readme_counts_the_claims_of_the_papers():
    index = (ROOT / "docs" / "papers" / "index.md").read_text()
    rows = re.findall(r"^\|.*\|$", index.partition("\n## ")[0], re.MULTILINE)
    head, _, *papers = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    total = {name: sum(int(cells[i].split()[0]) for cells in papers) for i, name in enumerate(head) if i}
    shown = " ".join(README.read_text().split())
    assert f"Of {total['all']} claims in [{('no', 'one', 'two', 'three', 'four', 'five')[len(papers)]} papers]" in shown
    assert f"{total['one world']} hold together in one possible network for each paper" in shown
    assert f"{total['reproduced']} hold as printed" in shown
    assert f"{total['reproduced under a reading']} hold under at least one reading" in shown
    assert f"{total['impossible as printed']} are impossible as printed" in shown


def test_the_index_leads_to_every_page():
    """Each page is linked from the index, or from the list of its room that the index links."""
    docs = ROOT / "docs"
    made = site.pages()

    def links(page: Path) -> set[Path]:
        found = re.findall(r"\]\(([^)#:\s]+\.md)(?:#[^)]*)?\)", page.read_text())
        return {(page.parent / path).resolve() for path in found}

    index = docs / "index.md"
    first = links(index)
    addresses = re.findall(rf"\({re.escape(SITE)}([\w./-]*)", index.read_text())
    assert {*made, "gallery/index.md", "guides/teach.md", "try/index.html"} == {
        page_of(address) for address in addresses
    }
    lists = [page for page in first if page.name == "index.md" or page == docs / "reference" / "scenario.md"]
    reached = first.union({index}, *(links(page) for page in lists if page.is_file()))
    assert sorted(set(docs.rglob("*.md")) - reached) == []


def test_the_command_line_page_has_every_command_and_option():
    page = site.command_line()
    assert {"bentpipe", "bentpipe run", "bentpipe sky path"} <= site.commands().keys()
    for command, shown in site.commands().items():
        assert command == "bentpipe" or f"\n{'#' * len(command.split())} {command}\n" in page
        assert shown in page
    assert "--replications" in page
    assert "\x1b" not in page


def test_the_command_line_page_shows_what_the_program_prints():
    plain = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "bentpipe", "sky", "path", "--help"]
    printed = subprocess.run(command, env=os.environ | plain, capture_output=True, text=True, check=True).stdout
    assert site.commands()["bentpipe sky path"] == printed.replace("python -m bentpipe", "bentpipe").strip("\n")


def test_each_public_name_is_in_the_python_reference():
    page = site.python()
    for name in bp.__all__:
        assert name.startswith("__") or page.count(f"::: bentpipe.{name}\n") == 1, name


def test_each_column_cause_and_metric_is_in_the_reference():
    pages = site.pages()
    dictionary = bp.catalog.dictionary()
    for table, rows in dictionary.items():
        page = pages["reference/causes.md" if table == "causes" else "reference/columns.md"]
        for row in rows:
            assert f"| `{row['name']}` |" in page, (table, row["name"])
            assert row["meaning"].replace("|", "\\|") in page


def test_the_gallery_has_each_shipped_scenario_with_commands():
    index = site.gallery_index()
    assert len(site.shipped()) >= 16
    for name in site.shipped():
        assert f'href="{name}/"' in index
        page = site.gallery_page(name)
        assert f"\nbentpipe run {name}" in page or f"\nbentpipe compare {name}" in page, name


def _anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    words = (re.sub(r"\[(.*?)\]\(.*?\)|`", r"\1", head) for head in heads)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", head).strip().lower()) for head in words}


def test_every_link_of_the_pages_leads_somewhere():
    # Frames are HTML, which mkdocs leaves as it is: on the site a page is a folder, so they have one step more.
    made = {live.file(name) for name in live.VIEWS}
    dead = []
    for page in [README, *sorted((ROOT / "docs").rglob("*.md"))]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", text):
            path, _, anchor = "".join(link).partition("#")
            if path.startswith(("http:", "https:")):
                continue
            target = (page.parent / path).resolve() if path else page
            written = str(target.relative_to(ROOT)) if target.is_relative_to(ROOT) else ""
            if not target.exists() and written not in made:
                dead.append(f"{page.name}: {path}")
            elif anchor and written.endswith(".md") and written not in made:
                dead += [] if anchor in _anchors(target.read_text()) else [f"{page.name}: {path}#{anchor}"]
    assert not dead


def test_the_glossary_is_short_and_linked():
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    entries = re.findall(r"^## ([^\n]*)\n\n(.*?)(?=\n\n)", text, re.MULTILINE | re.DOTALL)
    assert 20 <= len(entries) <= 40
    words = [word for word, _ in entries]
    assert words == sorted(words, key=str.lower)
    linked = {
        anchor
        for page in PAGES
        for anchor in re.findall(r"\]\(\.\./reference/glossary\.md#([\w-]+)\)", page.read_text())
    }
    assert {word.lower().replace(" ", "-") for word in words} == linked
    for word, meaning in entries:
        # One sentence: no stop before its end, except in a version or a section.
        assert len(re.findall(r"[.!?](?:\s|$)", re.sub(r"\(.*?\)", "", meaning))) == 1, word
