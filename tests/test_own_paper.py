"""Custom papers: a folder or an installed package works like a bundled paper."""

import ast
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe import papers
from bentpipe.cli.reproduce import command
from bentpipe.errors import BentpipeError, PaperError
from bentpipe.papers import claims, loading
from bentpipe.progress import Progress

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "guides" / "reproduce-paper.md"


@pytest.fixture
def mine(tmp_path):
    """The folder of a new paper."""
    papers.scaffold(tmp_path / "mine")
    return tmp_path / "mine"


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_new_paper_is_reproduced_and_written_down(mine, tmp_path):
    result = bp.reproduce(mine, folder=tmp_path / "out")
    (paper,) = result.papers
    assert {verdict.claim.id: verdict.text for verdict in paper.verdicts} == {
        "MINE-01": "reproduced",
        "MINE-02": "impossible as printed",
    }
    page = (tmp_path / "out" / "mine.md").read_text(encoding="utf-8")
    assert f"`bentpipe reproduce {mine} --quick`" in page
    assert "`scenarios/path.toml`" in page
    assert (tmp_path / "out" / "mine" / "figure-1.png").is_file()
    assert "Your own paper" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_what_is_judged_is_written_before_the_next_paper_begins(mine, tmp_path):
    papers.scaffold(tmp_path / "second")

    def interrupt(progress):
        if progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bp.reproduce([mine, tmp_path / "second"], folder=tmp_path / "out", progress=interrupt)
    assert (tmp_path / "out" / "mine.md").is_file()
    assert not (tmp_path / "out" / "second.md").exists()


def test_the_command_makes_a_new_paper(tmp_path):
    place = tmp_path / "mypaper"
    done = CliRunner().invoke(command, ["--new", str(place)])
    assert (done.exit_code, done.output.startswith(f"wrote {place / 'claims.toml'}, ")) == (0, True)
    assert claims.paper(place).title == "Your own paper"


def test_a_new_paper_takes_no_ones_place(mine, tmp_path):
    with pytest.raises(BentpipeError, match="mine exists and is not an empty folder"):
        papers.scaffold(mine)
    with pytest.raises(PaperError, match="cannot be called 'runs'"):
        papers.scaffold(tmp_path / "runs")


def test_the_papers_that_come_with_bentpipe_work_as_folders_of_ones_own(tmp_path):
    for name, id_ in (("geo", "GEO-17"), ("hswa", "HSWA-05"), ("refwa", "REF-25"), ("timers", "TIMER-12")):
        folder = shutil.copytree(claims.PACKS / name, tmp_path / name, ignore=shutil.ignore_patterns("__*__*"))
        ours, theirs = (bp.reproduce(which, only=[id_]).papers[0].verdicts[0] for which in (name, folder))
        assert (ours.text, ours.found) == (theirs.text, theirs.found)
        for file in (loading.MEASURES, loading.FIGURES):
            assert loading.module(claims.paper(folder), file).__file__ == str(folder / f"{file}.py")


ALLOWED = {"bentpipe", "bentpipe.papers", "numpy", "polars", "matplotlib", *sys.stdlib_module_names}


@pytest.mark.parametrize(
    "path", sorted([*claims.PACKS.glob("*/*.py"), *claims.FOLDER.glob("template/*.py")]), ids=lambda path: path.stem
)
def test_the_papers_that_come_with_bentpipe_import_what_others_may(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        for name in names:
            assert name in ALLOWED or name.partition(".")[0] in ALLOWED - {"bentpipe"}, f"{path}: {name}"
        if isinstance(node, ast.ImportFrom):
            assert node.level <= 1, "its own folder is the whole package"
            if node.module == "bentpipe":
                assert {alias.name for alias in node.names} <= set(bp.__all__)
            if node.module == "bentpipe.papers":
                assert {alias.name for alias in node.names} <= set(papers.__all__)


def test_everything_public_is_there_and_documented():
    assert sorted(papers.__all__) == papers.__all__ == dir(papers)
    for name in papers.__all__:
        value = getattr(papers, name)
        assert not callable(value) or value.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'Labs'"):
        _ = papers.Labs


def test_papers_are_listed_without_what_runs_them():
    code = "import sys\nfrom bentpipe.papers import claims\nclaims.title('geo')\nprint('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_two_papers_have_a_module_of_the_same_name_each(mine, tmp_path):
    papers.scaffold(tmp_path / "other")
    change(tmp_path / "other" / "measures.py", "RTT_S = 0.52", "RTT_S = 52.0")
    change(tmp_path / "other" / "claims.toml", "MINE-", "OTHER-")
    bounds = [loading.module(claims.paper(tmp_path / name), "measures").RTT_S for name in ("mine", "other")]
    assert bounds == [0.52, 52.0]
    # A changed file is read again.
    change(mine / "measures.py", "RTT_S = 0.52", "RTT_S = 0.521")
    assert loading.module(claims.paper(mine), "measures").RTT_S == 0.521


def test_two_papers_of_one_name_are_refused(mine, tmp_path):
    again = shutil.copytree(mine, tmp_path / "again" / "mine")
    with pytest.raises(PaperError, match="two papers are called mine"):
        bp.reproduce([mine, again])
    assert len(bp.reproduce([mine, str(mine)], only=["mine-02"]).papers) == 1


def test_an_installed_package_brings_papers(mine, tmp_path, monkeypatch):
    package = tmp_path / "site" / "satellites"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copytree(mine, package / "first")
    monkeypatch.syspath_prepend(tmp_path / "site")
    points = [
        EntryPoint("first", "satellites.first", claims.GROUP),
        EntryPoint("geo", "satellites.first", claims.GROUP),
        EntryPoint("lost", "satellites.lost", claims.GROUP),
    ]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [each for each in points if each.group == group]
    )
    assert {"first", "lost", "geo"} <= set(claims.names())
    assert claims.title("first") == "Your own paper"
    (paper,) = bp.reproduce("first", only=["MINE-02"]).papers
    assert (paper.paper.name, paper.paper.called, paper.paper.folder) == ("first", "first", package / "first")
    assert claims.paper("geo").folder == claims.PACKS / "geo", "ours keep their names"
    with pytest.raises(PaperError, match=r"satellites\.lost, .* the paper 'lost', is not a package with a paper\.toml"):
        claims.paper("lost")


WRONG = {
    "no paper.toml": (lambda folder: (folder / "paper.toml").unlink(), r"mine has no paper\.toml\n  expected"),
    "no claims.toml": (lambda folder: (folder / "claims.toml").unlink(), r"mine has no claims\.toml"),
    "no measures.py": (lambda folder: (folder / "measures.py").unlink(), r"mine has no measures\.py"),
    "no figures.py": (lambda folder: (folder / "figures.py").unlink(), r"mine has no figures\.py"),
    "no claims": (
        lambda folder: (folder / "claims.toml").write_text(""),
        r"claims\.toml: it has no claims\n  expected",
    ),
    "no TOML": (lambda folder: (folder / "paper.toml").write_text("title ="), r"paper\.toml cannot be read: Invalid"),
    "no measure": ("claims.toml", 'measure = "completion"\n', "", "MINE-02 has no measure: a function"),
    "no band": ("claims.toml", "passes = { above = 1 }\n", "", "MINE-01 has no passes: the band"),
    "no title": ("paper.toml", "title =", "titel =", "unknown keys: titel"),
    "a number for a text": ("claims.toml", 'unit = "s"', "unit = 1", "MINE-02 has unit = 1\n  expected a text"),
    "a band of two": (
        "claims.toml",
        "{ above = 1 }",
        "{ above = 1, below = 2 }",
        r"MINE-01 has passes = .* is not a band",
    ),
    "no number": ("claims.toml", '"5 %"', '"five %"', r"MINE-02 has passes = .* is not a band\n  expected above"),
    "a lost measure": (
        "claims.toml",
        '"completion"',
        '"completed"',
        "MINE-02: 'completed' is not a function .*'completion'",
    ),
    "a lost figure": ("paper.toml", '"figure_1"', '"figure_2"', "figure-1: 'figure_2' is not a function .*'figure_1'"),
    "a lost argument": ("paper.toml", "rate = 1e-6", "rates = 1e-6", r"MINE-01 \(errors per bit\): .*argument"),
    "no module": (
        "measures.py",
        "from bentpipe.papers",
        "from bentpipe.labs",
        r"measures\.py cannot be imported\n\n.*labs",
    ),
}
"""Papers that make no sense: nothing is run."""
FAILING = {
    "no scenario": (lambda folder: shutil.rmtree(folder / "scenarios"), r"MINE-01 \(errors per packet\): .*path\.toml"),
    "a measure that raises": ("measures.py", "RTT_S / 2", "RTT_S / 0", r"completion_bounds of .* failed\n\n.*division"),
    "a measure that exits": ("measures.py", "return Finding.exact(", "exit(", "MINE-02 .* failed\n\n.*SystemExit"),
    "a key that is not there": ("measures.py", '"tcp.cc"', '"tcp.ccc"', "MINE-01 .*tcp.ccc"),
    "a number for a finding": ("measures.py", "Finding.exact(", "float(", r"returned 5\.\d+\n  expected a Finding"),
    "a number for a bound": (
        "measures.py",
        "return Possible(",
        "return [1] or Possible(",
        r"returned \[1\]\n  expected a Possible",
    ),
    "a bound that is not one": ("measures.py", "RTT_S / 2", "RTT_S * 20", "measured 5.*, but"),
}
"""Measures that fail: each costs its claim and no other."""


def harm(mine, how, *said):
    if callable(how):
        how(mine)
    else:
        change(mine / how, *said[:2])


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_with_a_paper_is_said_with_its_place(wrong, mine):
    harm(mine, *WRONG[wrong])
    said = WRONG[wrong][-1]
    only = [] if "figure" in wrong else re.findall("MINE-0.", said)[:1]
    with pytest.raises(PaperError, match=re.compile(said, re.DOTALL)) as caught:
        bp.reproduce(mine, only=only)
    text = str(caught.value)
    assert not text.startswith("error: ")
    # Only those lines of bentpipe that the paper's code called.
    assert "papers/loading.py" not in text


@pytest.mark.parametrize("wrong", FAILING)
def test_a_measure_that_fails_costs_its_claim_and_no_other(wrong, mine, tmp_path):
    harm(mine, *FAILING[wrong])
    said = FAILING[wrong][-1]
    result = bp.reproduce(mine, folder=tmp_path / "out", jobs=1)
    (paper,) = result.papers
    errors = [verdict for verdict in paper.verdicts if verdict.kind == "error"]
    assert re.search(said, errors[0].detail, re.DOTALL)
    assert errors[0].text == "error"
    assert "papers/loading.py" not in errors[0].detail
    assert result.errors[0] == errors[0].detail
    if wrong != "no scenario":
        assert len(errors) == 1
    page = (tmp_path / "out" / "mine.md").read_text(encoding="utf-8")
    assert re.search(r"^\| error \| \d \| \[", page, re.MULTILINE)
    assert f"- Error: {errors[0].claim.id}" in page
    assert "a failed measurement" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_the_command_says_by_its_exit_status_that_a_measure_failed(mine, tmp_path):
    asked = [str(mine), "-o", str(tmp_path / "out"), "--jobs", "1", "--quiet"]
    assert CliRunner().invoke(command, asked).exit_code == 0
    measures = mine / "measures.py"
    before = measures.stat()
    harm(mine, *FAILING["a measure that raises"])
    # As an editor that is faster than the clock of files.
    os.utime(measures, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert measures.stat().st_size == before.st_size
    done = CliRunner().invoke(command, asked[:-1])
    assert done.exit_code == 1
    assert re.search(r"failed: .*division", done.output, re.DOTALL)
    assert "MINE-01" in done.output


def test_a_figure_that_fails_costs_no_claim(mine, tmp_path):
    path = mine / "figures.py"
    path.write_text(
        re.sub(r"(def figure_1\(.*\n)", r"\1    raise IndexError('no rows')\n", path.read_text()), encoding="utf-8"
    )
    result = bp.reproduce(mine, folder=tmp_path / "out", jobs=1)
    assert [verdict.kind for verdict in result.papers[0].verdicts] == ["reproduced", "impossible as printed"]
    assert len(result.errors) == 1
    assert "IndexError: no rows" in result.errors[0]
    assert "- The figure figure-1 could not be drawn: " in (tmp_path / "out" / "mine.md").read_text(encoding="utf-8")


def test_a_second_paper_joins_the_first_in_the_same_folder(mine, tmp_path):
    second = shutil.copytree(mine, tmp_path / "second")
    change(second / "claims.toml", "MINE-", "OTHER-")
    change(second / "paper.toml", "Your own paper", "A second paper")
    out = tmp_path / "out"
    bp.reproduce(mine, folder=out, jobs=1)
    first = (out / "index.html").read_text(encoding="utf-8")
    bp.reproduce(second, folder=out, jobs=1, full=True)
    page, index = ((out / name).read_text(encoding="utf-8") for name in ("index.html", "index.md"))
    for title in ("Your own paper", "A second paper"):
        assert page.count(f"<h2>{title}</h2>") == 1
        assert index.count(f"| [{title}](") == 1
    section = re.search(r'<section id="paper-mine">.*?</section>', first, re.DOTALL).group()
    assert section in page, "with its figures"
    assert f"`bentpipe reproduce {mine} --quick` and `bentpipe reproduce {second} --full`" in index
    known = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    assert [(each["paper"], each["scale"]) for each in known["papers"]] == [("mine", "quick"), ("second", "full")]
    with (out / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(dict.fromkeys(row["claim"] for row in rows)) == ["MINE-01", "MINE-02", "OTHER-01", "OTHER-02"]
    assert [row["claim"] for row in known["claims"]] == [row["claim"] for row in rows]
    # A second reproduction replaces the first one.
    bp.reproduce(mine, folder=out, jobs=1)
    assert (out / "index.md").read_text(encoding="utf-8") == index
    assert (out / "index.html").read_text(encoding="utf-8").count('<section id="paper-') == 2
    # Damaged data in the folder are no obstacle.
    (out / "claims.json").write_text("{", encoding="utf-8")
    bp.reproduce(mine, folder=out, jobs=1)
    assert "A second paper" not in (out / "index.md").read_text(encoding="utf-8")


def test_folders_that_are_not_there_are_said(tmp_path):
    with pytest.raises(PaperError, match=r"nowhere is not a folder\n  expected the folder of a paper"):
        bp.reproduce(tmp_path / "nowhere")
    with pytest.raises(PaperError, match=r"did you mean 'refwa'\? known: .*\n .* folder: ./refw"):
        bp.reproduce("refw")


def blocks(language):
    """Code of the guide in a language, each with the file that the line before it names."""
    return re.findall(rf"(?:`([\w./]+)`:\n\n)?```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_guide_makes_a_paper_that_is_reproduced(tmp_path):
    files = [(name, text) for language in ("toml", "python") for name, text in blocks(language) if name]
    assert {name for name, _ in files} == {"paper.toml", "claims.toml", "measures.py", "scenarios/link.toml"}
    for name, text in files:
        path = tmp_path / "mypaper" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (paper,) = bp.reproduce(tmp_path / "mypaper", falsify=True).papers
    shown = "\n".join(text for _, text in blocks("text"))
    for verdict in paper.verdicts:
        for text in (verdict.text, verdict.attack.text):
            assert re.search(rf"^{verdict.claim.id} {re.escape(text)}$", shown, re.MULTILINE), text


def test_reproduce_reports_the_progress_of_all_verbs(mine):
    seen = []
    bp.reproduce(mine, progress=lambda progress: seen.append((type(progress), progress.doing, progress.share)))
    assert {kind for kind, *_ in seen} == {Progress}
    assert seen[0][1].startswith("MINE-")
    shares = [share for *_, share in seen]
    assert (shares[0], shares) == (0, sorted(set(shares)))
    plain = len(seen)
    seen.clear()
    bp.reproduce(mine, falsify=True, progress=lambda progress: seen.append((progress.doing, progress.share)))
    shares = [share for _, share in seen]
    assert (shares[0], shares) == (0, sorted(set(shares)))
    assert len(seen) == plain + 2
    assert seen[1][0] == "MINE-01 attacked"


@pytest.mark.parametrize("papers", [0, True, b"hswa", print, {}, {"hswa": 1}, ["hswa", 3], None], ids=repr)
def test_what_is_no_paper_is_refused_with_the_remedy(papers):
    with pytest.raises(PaperError, match=r"(?s)^papers = .*\n  expected the name of a paper, .*bentpipe list papers"):
        bp.reproduce(papers)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"only": 3}, "only = 3"),
        ({"only": [3]}, r"only = \[3\]"),
        ({"folder": 0}, "folder = 0"),
        ({"jobs": "x"}, "jobs = 'x'"),
    ],
)
def test_options_of_wrong_types_are_refused_with_the_remedy(options, words):
    with pytest.raises(BentpipeError, match=f"(?s)^{words}\n  expected "):
        bp.reproduce("hswa", **options)


def test_one_claim_may_be_a_text():
    assert [each.claim.id for each in bp.reproduce("geo", only="geo-01").papers[0].verdicts] == ["GEO-01"]
