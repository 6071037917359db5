"""The lab: each notebook of `examples` runs, and prints what its text quotes and claims."""

from __future__ import annotations

import ast
import html
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient

import bentpipe as bp

if TYPE_CHECKING:
    from collections.abc import Iterator

# They wait for other processes, or are many runs.
pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).resolve().parents[1]
LAB = sorted((ROOT / "examples").glob("*.ipynb"))
PAGE = (ROOT / "docs" / "guides" / "lab.md").read_text(encoding="utf-8")
SIZE_MAX = 16_000
"""Bytes of a notebook: text and short cells, no outputs."""
MINUTES = 90
CLEARED = "clear the outputs: jupyter nbconvert --clear-output --inplace examples/*.ipynb"


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def sources(notebook: nbformat.NotebookNode, kind: str) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def minutes_of(notebook: nbformat.NotebookNode) -> int:
    (found,) = re.findall(r"\*\*Time: (\d+) minutes\.\*\*", notebook.cells[0].source)
    return int(found)


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> Iterator[NotebookClient]:
    """Client of one kernel for all notebooks: to start it and load libraries takes longer than some of them."""
    folder = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patched:
        # Kernels write their history and their sockets' addresses here.
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
            patched.setenv(name, str(folder / name))
        client = NotebookClient(nbformat.v4.new_notebook(), timeout=600, kernel_name="python3")
        with client.setup_kernel(cwd=str(folder)):
            yield client


def executed(path: Path, client: NotebookClient) -> nbformat.NotebookNode:
    """The notebook with its outputs, from a kernel without names of others."""
    client.nb = read(path)
    client.reset_execution_trackers()
    client.execute_cell(nbformat.v4.new_code_cell("%reset -f"), 0)
    for index, cell in enumerate(client.nb.cells):
        client.execute_cell(cell, index)
    return client.nb


def shown(output: nbformat.NotebookNode) -> str:
    """The words of an output, as a reader sees them."""
    if output.output_type == "stream":
        assert output.name == "stdout", output.text
        return output.text
    page = output.data.get("text/html")
    if page is None:
        return output.data["text/plain"]
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def printed(notebook: nbformat.NotebookNode) -> str:
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(map(shown, outputs))


def pictures(notebook: nbformat.NotebookNode) -> int:
    data = [output.get("data", {}) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return sum("image/png" in each or "data:image/png" in each.get("text/html", "") for each in data)


def quoted(notebook: nbformat.NotebookNode) -> list[str]:
    """The lines of outputs that the text quotes."""
    blocks = [
        block
        for text in sources(notebook, "markdown")
        for block in re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]
    return [line for block in blocks for line in block.splitlines()]


def value(pattern: str, text: str) -> float:
    """The number in the first match of a pattern; later matches repeat it."""
    found = re.findall(pattern, text)
    assert found, pattern
    assert set(found) == {found[0]}, (pattern, found)
    return float(found[0])


def values(text: str, label: str, names: list[str]) -> list[float]:
    """The numbers after names, each with the same words before it and between."""
    return [value(label.format(re.escape(name)), text) for name in names]


def slow_start(text: str) -> None:
    slow, fast = values(text, r"at {} 1 MB takes ([\d.]+) s", ["20 Mbit/s", "100 Mbit/s"])
    assert 0.99 * slow < fast < slow, "less than 1 %"
    one, ten, forty, hundred = values(
        text, r"100 kB with {} at first: ([\d.]+) s", ["1 segments", "10 segments", "40 segments", "100 segments"]
    )
    assert one - ten == pytest.approx(4 * 0.54, abs=0.1), "10 segments are the window after 3.3 doublings"
    assert ten - forty == pytest.approx(0.54, abs=0.05)
    assert hundred == forty, "the window of the receiver"
    late, early = values(text, r"{}: window up to ([\d.]+) MB", ["standard", "hystart"])
    assert late == pytest.approx(2 * early, rel=0.1)
    assert early == pytest.approx(2.7, abs=0.1), "path and queue"
    geo, leo = values(text, r"1 MB over a delay of {}: ([\d.]+) s", ["260 ms", "25 ms"])
    assert 4 < geo / leo < 540 / 70


def handover(text: str) -> None:
    reno, cubic, bbr = values(text, r"\n{}: ([\d.]+) Mbit/s at a median", ["reno", "cubic", "bbr3"])
    assert reno < bbr < cubic
    assert value(r"cubic: .* round trip of (\d+) ms", text) > 1.8 * value(r"bbr3: .* round trip of (\d+) ms", text)
    whole, clean, steady = values(text, r"reno, {}: ([\d.]+) Mbit/s", ["as it is", "no losses", "no steps"])
    assert clean == cubic
    assert steady - whole < (clean - whole) / 2
    cubic, bbr = values(text, r"{} with a queue of 0.1 bdp: ([\d.]+) Mbit/s", ["cubic", "bbr3"])
    assert cubic < 0.8 * bbr
    assert value(r"deaf to losses: .*, (\d+) packets lost", text) > 100_000
    assert value(r"deaf to losses: ([\d.]+) Mbit/s", text) < 0.9 * whole


def sharing(text: str) -> None:
    label, names = r": {} gets (\d+) %", ["reno", "cubic", "bbr3"]
    reno, cubic, bbr = values(text, r"\n1 bdp" + label, names)
    assert reno < bbr < cubic
    reno, cubic, bbr = values(text, r"0\.1 bdp" + label, names)
    assert reno < cubic < 33 < 75 < bbr
    reno, cubic, bbr = values(text, "FQ-CoDel" + label, names)
    assert reno < 33 < cubic
    assert abs(cubic - bbr) < 3
    near = values(text, r"\n{}: near ([\d.]+) Mbit/s", ["reno", "cubic", "bbr3", "hybla"])
    far = values(text, r"\n{}: near [\d.]+ Mbit/s, far ([\d.]+)", ["reno", "cubic", "bbr3", "hybla"])
    ratios = [a / b for a, b in zip(near, far, strict=True)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] > 4 * ratios[1]
    assert ratios[1] == pytest.approx(580 / 80, rel=0.15), "round trips with the queue"
    assert ratios[3] < 1.2
    near, far = re.search(r"bbr3 with a queue of 1 MB: near ([\d.]+) Mbit/s, far ([\d.]+)", text).groups()
    assert float(far) > 1.5 * float(near)


def proxy(text: str) -> None:
    names = ["no proxy", "split", "split, 200 segments"]
    alone, split, larger = values(text, r"1 MB, {}: ([\d.]+) s", names)
    assert alone - split == pytest.approx(7 * 0.06, abs=0.03)
    assert split - larger == pytest.approx(2 * 0.52, abs=0.1)
    alone, split, larger = values(text, r"10 MB with errors, {}: ([\d.]+) s", names)
    assert min(split, larger) > 0.8 * alone
    assert max(values(text, r"10 MB with errors, {}: ([\d.]+) s", ["split, bbr3", "no proxy, bbr3"])) < alone / 2
    assert value(r"acknowledged to the server: (\d+) B", text) == 1e6
    assert value(r"delivered to the terminal: (\d+) B", text) == 10 * 1448
    alone, split, larger = values(text, r"LEO, {}: ([\d.]+) s", names)
    assert split == larger < 0.7 * alone
    alone, split, larger = values(text, r"server near the gateway, {}: ([\d.]+) s", names)
    assert split == pytest.approx(alone, rel=0.01)


def rain(text: str) -> None:
    london, singapore = values(text, r"{}, 0.1 % of the year: Es/N0 [-\d.]+ dB, (\d+) Mbit/s", ["London", "Singapore"])
    assert (london, singapore) == (32, 0)
    names = ["4 bdp", "1 bdp", "CoDel", "0.25 bdp", "0.1 bdp", "FQ-CoDel"]
    waits = values(text, r"\n{}: download [\d.]+ Mbit/s, call ([\d.]+) s", names)
    assert waits == sorted(waits, reverse=True)
    assert waits[1] == pytest.approx(0.28 + 3.15e6 * 8 / 10e6, abs=0.05)
    assert waits[-1] < 0.3
    scores = values(text, r"\n{}: .* MOS ([\d.]+)", names)
    assert scores[-1] >= 3.9 > 3.1 >= max(scores[:-1])
    downloads = values(text, r"\n{}: download ([\d.]+)", names)
    assert min(downloads) == downloads[names.index("0.1 bdp")]
    assert value(r"1 bdp, bbr3: .* call ([\d.]+) s", text) == waits[1]
    assert value(r"0\.25 bdp, storm: .* call ([\d.]+) s", text) > 3
    assert value(r"FQ-CoDel, storm: .* call ([\d.]+) s", text) == waits[-1]
    assert value(r"FQ-CoDel, defaults: download ([\d.]+)", text) < 0.8 * downloads[-1]


def custom(text: str) -> None:
    label, names = r"\n?{}: ([\d.]+) Mbit/s \(±[\d.]+\), [\d.]+ % retransmitted", ["reno", "cubic", "Gentle"]
    reno, cubic, gentle = (float(re.search(label.format(name), text)[1]) for name in names)
    assert gentle > 2 * reno
    assert gentle == pytest.approx(cubic, rel=0.1)
    share, margin = map(float, re.search(r"Gentle gets (\d+) % \(±(\d+) %\)", text).groups())
    assert share - margin > 50
    assert value(r"QueueShare gets (\d+) %", text) == pytest.approx(50, abs=2)
    queue_share, step = (float(re.search(label.format(name), text)[1]) for name in ("QueueShare", "Step"))
    assert reno < step < queue_share < gentle
    assert "to the last digit: True" in text


FACTS = {
    "1-slow-start-over-geo": slow_start,
    "2-handover-in-leo": handover,
    "3-who-starves-whom": sharing,
    "4-pep-yes-or-no": proxy,
    "5-rain-and-buffers": rain,
    "6-custom-congestion-control": custom,
}
"""By notebook, a check that its outputs show what its answers state without quoting it."""


LONG = {"2-handover-in-leo": "10 s", "3-who-starves-whom": "20 s"}
"""Notebooks that only BENTPIPE_ALL=1 runs, with their time."""


@pytest.mark.parametrize("path", LAB, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_its_text_claims(path, client):
    if path.stem in LONG and not os.environ.get("BENTPIPE_ALL"):
        pytest.skip(f"takes {LONG[path.stem]}: BENTPIPE_ALL=1")
    notebook = executed(path, client)
    text = printed(notebook)
    words = " ".join(text.split())
    assert quoted(notebook)
    assert [line for line in quoted(notebook) if " ".join(line.split()) not in words] == []
    FACTS[path.stem]("\n" + text)
    assert pictures(notebook) >= 3


def test_the_lab_has_six_notebooks_of_90_minutes_and_the_page_lists_them():
    assert [path.stem for path in LAB] == list(FACTS)
    minutes = {path.stem: minutes_of(read(path)) for path in LAB}
    assert sum(minutes.values()) == MINUTES
    for name, each in minutes.items():
        assert re.search(rf"^\| `{name}\.ipynb` \|.*\| {each} \|$", PAGE, re.MULTILINE), name


@pytest.mark.parametrize("path", LAB, ids=lambda path: path.stem)
def test_a_notebook_is_valid_small_and_without_outputs(path):
    notebook = read(path)
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z-]*", each) for each in ids), "an id names its cell: diffs are readable"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code), CLEARED
    assert path.stat().st_size < SIZE_MAX


@pytest.mark.parametrize("path", LAB, ids=lambda path: path.stem)
def test_a_notebook_asks_before_each_run_and_answers_at_the_end(path):
    notebook = read(path)
    heads = [line for text in sources(notebook, "markdown") for line in text.splitlines() if line.startswith("## ")]
    assert heads[-2:] in (["## Tasks", "## Answers"], ["## Yes or no?", "## Answers"])
    before, _, after = "\n".join(cell.source for cell in notebook.cells).partition("## Answers")
    for what, least in (("Question", 3), ("Task", 2)):
        asked = re.findall(rf"\*\*{what} (\d)\.\*\*", before)
        assert len(asked) >= least
        assert asked == re.findall(rf"\*\*{what} (\d)\.\*\*", after), what
    for previous, cell in zip(notebook.cells, notebook.cells[1:], strict=False):
        if cell.cell_type == "code" and cell.id.endswith("-run"):
            assert "**Question " in previous.source, cell.id


@pytest.mark.parametrize("path", LAB, ids=lambda path: path.stem)
def test_a_notebook_uses_the_public_interface_only(path):
    tree = ast.parse("\n".join(sources(read(path), "code")))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [ast.unparse(node) for node in imports] == ["import bentpipe as bp"]
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    assert {node.attr for node in used if ast.unparse(node.value) == "bp"} <= set(bp.__all__)
    assert not [node.attr for node in used if node.attr.startswith("_")]
