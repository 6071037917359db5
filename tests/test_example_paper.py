"""The example of a paper is made from its stores, and the table of a paper has the best in bold."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError

PAPER = Path(__file__).parent.parent / "examples" / "paper"


@pytest.fixture(scope="module")
def swept(lossy, tmp_path_factory):
    """Return the store of a sweep of two congestion controls at two error rates."""
    store = tmp_path_factory.mktemp("swept") / "store"
    bp.sweep(
        bp.loads(lossy),
        {"tcp.cc": ["bbr3", "reno"], "link.l.error.rate": [1e-4, 0.05]},
        replications=6,
        metric="goodput,rtt",
        store=store,
        progress=False,
    )
    return store


@pytest.mark.parametrize(("style", "width"), [("column", 3.3), ("page", 7.0)])
def test_all_figures_of_a_report_have_the_width_of_its_style(swept, tmp_path, style, width):
    report = bp.report(swept, tmp_path / "report", style=style)
    endings = [path.suffix for path in report.figures]
    assert endings.count(".svg") == endings.count(".pdf") == endings.count(".png") > 0
    for path in report.figures:
        if path.suffix == ".svg":
            head = path.read_text().partition("<svg ")[2].partition(">")[0]
            assert f'width="{72 * width:g}pt"' in head
        elif path.suffix == ".pdf":
            assert f"/MediaBox [ 0 0 {72 * width:g} " in path.read_bytes().decode("latin-1")


def test_a_style_that_is_none_is_refused(swept, tmp_path):
    with pytest.raises(BentpipeError, match="known: column, page"):
        bp.report(swept, tmp_path / "report", style="poster")
    assert not (tmp_path / "report").exists()


def test_the_wide_table_has_a_column_for_each_case_and_the_best_in_bold(swept, tmp_path):
    report = bp.report(swept, tmp_path / "report")
    (place,) = [path for path in report.tables if path.name == "wide.tex"]
    rows = [line.removesuffix(r" \\").split(" & ") for line in place.read_text().splitlines() if " & " in line]
    assert rows[0] == ["", "rate", "bbr3", "reno"] or rows[0][-2:] == ["bbr3", "reno"]
    sweep = bp.Sweep.load(swept)
    for choice in sweep.choices("goodput"):
        rate = f"{choice.settings['link.l.error.rate']:g}".replace("0.0001", "1e-4")
        (row,) = [row for row in rows if row[0].startswith("Goodput") and row[1] == rate]
        bold = {name for name, cell in zip(("bbr3", "reno"), row[2:], strict=True) if cell.startswith(r"\textbf{")}
        assert bold == {choice.best, *choice.equals}
    # With many errors one of them is better for certain.
    assert any(len({choice.best, *choice.equals}) == 1 for choice in sweep.choices("goodput"))
    assert place.with_suffix(".csv").read_text().splitlines()[0] == "metric,link.l.error.rate,bbr3,reno"


def test_one_replication_has_no_best(lossy, tmp_path):
    swept = bp.compare(bp.loads(lossy), ["bbr3", "reno"], replications=1, progress=False)
    report = swept.report(tmp_path / "report")
    text = next(path for path in report.tables if path.name == "wide.tex").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith("Goodput")]
    values = [float(cell) for cell in row.removesuffix(r" \\").split(" & ")[1:]]
    assert len(values) == 2
    assert all(value > 0 for value in values)
    assert "textbf" not in text


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="pdflatex is missing: sudo apt-get install --no-install-recommends texlive-latex-base",
)
def test_the_example_is_made_from_its_stores(tmp_path):
    shutil.copytree(PAPER, tmp_path / "paper")
    text = (tmp_path / "paper" / "lossy.toml").read_text()
    (tmp_path / "paper" / "lossy.toml").write_text(text.replace('duration = "30 s"', 'duration = "5 s"'))
    words = ["make", f"BENTPIPE={sys.executable} -m bentpipe"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    for _ in range(2):
        done = subprocess.run(words, cwd=tmp_path / "paper", env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    # The second time nothing was left to do.
    assert "up to date" in done.stdout
    assert (tmp_path / "paper" / "paper.pdf").stat().st_size > 20_000
    log = (tmp_path / "paper" / "paper.log").read_text()
    assert "undefined" not in log
    assert "Overfull" not in log
