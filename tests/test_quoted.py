"""Outputs in guides and concepts are those of today's commands. Long commands need BENTPIPE_ALL=1."""

import os
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import bentpipe as bp
from bentpipe import formatting
from bentpipe.__main__ import main
from bentpipe.metric import METRICS
from bentpipe.scenario import overrides
from bentpipe.statistics.samples import Counts, not_whole
from tests.test_docs import PAGES, blocks, commands, save_files
from validation import fits

DOCS = Path(__file__).resolve().parent.parent / "docs"

STARLINK = DOCS.parents[1] / "shared" / "data" / "starlink" / "leolive-ping10ms-bentpipe-victoria-1.csv.xz"
"""A recorded ping, which the repository does not have."""
QUOTED = {
    "concepts/results": ["bentpipe why leo --at 15s"],
    "guides/compare-congestion-controls": ["bentpipe mix geo --cc cubic,reno --plot shares.png"],
    "guides/fair": ["bentpipe mix geo --cc cubic,bbr1 --replications 5"],
    "guides/first-scenario": ["bentpipe run geo.toml"],
    "guides/report": [
        "bentpipe sweep geo --set link.sat.forward.error.kind=packet --vary tcp.cc=cubic,bbr3"
        " --vary link.sat.forward.error.rate=1e-5..1e-2:4:log --replications 5 --metric goodput,rtt",
        "bentpipe report geo.sweep",
    ],
    "guides/share": [
        "bentpipe compare geo --cc cubic,bbr3 --replications 5 --store geo.compare",
        "bentpipe pack geo.compare",
        "bentpipe repeat geo.compare.pack.zip",
        "bentpipe cite geo.compare",
    ],
    "guides/shared-access": ["bentpipe why asks.toml --flow page --no-try"],
    "guides/slow-pages": ["bentpipe why geo-access --flow pages-clear --no-try"],
    "guides/sweeps": ["bentpipe sweep lossy.toml"],
    "guides/tune": ["bentpipe tune geo-home"],
    "guides/vsat-and-leo": ["bentpipe run vessel.toml", "bentpipe why vessel.toml --flow web --no-try"],
    "guides/why": ["bentpipe why office.toml --flow page"],
}
"""Pages and the commands of their outputs, in order."""
LONG = {
    "guides/compare-congestion-controls": "5 s",
    "guides/fair": "3 s",
    "guides/report": "7 s",
    "guides/share": "4 s",
    "guides/tune": "a minute",
}
"""Commands that only BENTPIPE_ALL=1 runs, with their time."""
ELSEWHERE = {
    "broadcast": "below",
    "browser": "test_emulate",
    "custom-congestion-control": "test_own",
    "custom-middlebox": "test_own_middlebox",
    "drill": "test_docs",
    "emulate": "test_emulate",
    "fit": "below",
    "open-network": "test_network",
    "reproduce-paper": "test_own_paper",
    "sky": "test_sky",
}
"""Pages whose outputs have another test, or are measured in real time."""


def outputs(page: Path) -> list[str]:
    """The quoted outputs of a page: blocks of text, and the lines after a prompt and its command."""
    found = []
    for language, text in blocks(page):
        if language == "text":
            found.append(text)
        elif text.startswith("$ bentpipe") and " FILE " not in text:
            found.append("\n".join(line for line in text.splitlines()[1:] if not line.startswith("$ ")))
    return list(filter(None, found))


def pieces(output: str) -> list[str]:
    """The parts of an output between dots, without line breaks, and without the times of a sweep."""
    lines = [line for line in output.splitlines() if "runs/s in" not in line]
    parts = re.split(r"^\.\.\.$", "\n".join(lines), flags=re.MULTILINE)
    return [text for part in parts if (text := " ".join(part.split()))]


def cases_of(command: str) -> dict[str, dict[str, str]]:
    """The cases of a command."""
    return overrides.cases([word for before, word in pairwise(shlex.split(command)) if before == "--case"])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", QUOTED)
def test_a_page_quotes_what_its_commands_print(name, tmp_path, monkeypatch, capsys):
    if name in LONG and not os.environ.get("BENTPIPE_ALL"):
        pytest.skip(f"takes {LONG[name]}: BENTPIPE_ALL=1")
    page = DOCS / f"{name}.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    save_files(page, tmp_path)
    for file in re.findall(r"\w+\.toml", QUOTED[name][0]):
        first = next(text for language, text in blocks(page) if language == "toml")
        (tmp_path / file).write_text(first)
    shown = [*commands(page), *re.findall(r"`(bentpipe [^`\n]+)`", page.read_text())]
    for command in QUOTED[name]:
        assert command in shown, f"the page has no {command}"
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    printed = " ".join(capsys.readouterr().out.split())
    for output in outputs(page):
        for piece in pieces(output):
            assert piece in printed


def test_each_page_with_an_output_has_a_test_of_it():
    named = {Path(name).stem for name in QUOTED} | set(ELSEWHERE)
    assert {page.stem for page in PAGES if page.stem != "README" and any(map(pieces, outputs(page)))} <= named


def test_the_guide_of_files_for_many_has_the_means_of_its_cases(tmp_path):
    page = DOCS / "guides" / "broadcast.md"
    save_files(page, tmp_path)
    (command,) = [each for each in commands(page) if "maps.toml" in each and " compare " in each]
    found = bp.compare(tmp_path / "maps.toml", cases=cases_of(command), metric="file_complete")
    (shown,) = outputs(page)
    for case in cases_of(command):
        each = found.estimate(case, "file_complete")
        for number in formatting.mean_and_margin(each.mean, each.half_width):
            assert number in shown


@pytest.mark.parametrize(
    ("name", "file", "metrics", "is_named"),
    [
        ("shared-access", "asks.toml", ["fct:page"], False),
        ("two-antennas", "antennas.toml", ["goodput:download", "fct:web"], True),
        ("vsat-and-leo", "vessel.toml", ["fct:web", "mos:call"], True),
    ],
)
def test_a_guide_has_the_means_of_its_cases(name, file, metrics, is_named, tmp_path):
    page = DOCS / "guides" / f"{name}.md"
    save_files(page, tmp_path)
    (command,) = [each for each in commands(page) if each.startswith("bentpipe compare")]
    cases = cases_of(command)
    found = bp.compare(tmp_path / file, cases=cases, metric=",".join(metrics), replications=5)
    rows = re.findall(r"^\| .* \| .* ± .* \|$", page.read_text(), re.MULTILINE)
    assert len(rows) == len(cases) >= 3
    for case, row in zip(cases, rows, strict=True):
        assert row.startswith(f"| {case} |") == is_named
        pairs = [(found.estimate(case, metric), 1e6 if metric.startswith("goodput") else 1) for metric in metrics]
        shown = [" ± ".join(formatting.mean_and_margin(each.mean / by, each.half_width / by)) for each, by in pairs]
        assert re.findall(r"[\d.]+ ± [\d.]+", row) == shown


def test_the_guide_of_two_antennas_has_the_instants_of_a_return(tmp_path):
    page = DOCS / "guides" / "two-antennas.md"
    save_files(page, tmp_path)
    (entry,) = re.findall(r"^- \*\*Return\*\*.*?(?=^- )", page.read_text(), re.MULTILINE | re.DOTALL)
    away, address = (
        dict(each.split("=", 1) for each in re.findall(r"--set ([\w.]+=(?:'[^']+'|\w+))", code))
        for code in re.findall(r"`(--set.*?)`", entry, re.DOTALL)
    )
    shown = []
    for sets in (away, away | address):
        unquoted = {key: value.strip("'") for key, value in sets.items()}
        run = bp.run(bp.load(tmp_path / "antennas.toml", unquoted), series=["events"])
        sent = run.events.filter((pl.col("flow") == "download.leo") & (pl.col("event") == "sent"))
        shown.append(f"{sent.filter(pl.col('time_s') >= 210)['time_s'].min() - 210:.3f} s")
    assert re.findall(r"[\d.]+ s(?= after|,)", entry) == shown
    (joins,) = run.subflows.filter(pl.col("flow") == "download.leo")["joins"]
    assert f"`joins` is {joins}" in entry


def test_the_guide_to_quic_has_the_simulated_times(tmp_path):
    page = DOCS / "guides" / "quic.md"
    save_files(page, tmp_path)
    rows = re.findall(r"^\| (no loss|\d) \| .* \| ([\d.]+) \|$", page.read_text(), re.MULTILINE)
    assert len(rows) == 9
    for seed, shown in rows:
        lossless = {"link.sat.forward.error.rate": "0"} if seed == "no loss" else {}
        run = bp.run(bp.load(tmp_path / "leo.toml", lossless), seed=1 if lossless else int(seed))
        assert f"{run.estimate('completion').mean:.2f}" == shown, seed


def test_the_guide_to_browsers_has_the_times_of_its_cases(tmp_path, monkeypatch):
    page = DOCS / "guides" / "browser.md"
    save_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    (command,) = [each for each in commands(page) if each.startswith("bentpipe compare")]
    cases = cases_of(command)
    found = bp.compare("page.toml", cases=cases, metric="fct", replications=10)
    shown = re.findall(r"^\| [^|]+ \| ([\d.]+) s \|$", page.read_text(), re.MULTILINE)
    assert [f"{found.estimate(name, 'fct').mean:.2f}" for name in cases] == shown


def test_the_tutorial_has_the_goodput_of_its_unfinished_file(tmp_path):
    page = DOCS / "guides" / "first-scenario.md"
    save_files(page, tmp_path)
    run = bp.run(tmp_path / "geo.toml")
    assert run.flows["outcome"].to_list() == ["running"]
    assert f"The goodput is {run.estimate('goodput').mean / 1e6:.2f} Mbit/s." in page.read_text()


@pytest.mark.skipif(not os.environ.get("BENTPIPE_ALL"), reason="takes 6 s: BENTPIPE_ALL=1")
def test_the_guide_to_fits_quotes_them(tmp_path, monkeypatch, capsys):
    geo = fits.measure(fits.PATHS[-1], tmp_path, len(fits.PATHS))
    quoted = outputs(DOCS / "guides" / "fit.md")
    assert len(quoted) == 2
    for files, output in zip((geo, [STARLINK]), quoted, strict=True):
        if not files[0].is_file():
            continue
        monkeypatch.setattr(sys, "argv", ["bentpipe", "fit", *map(str, files)])
        with pytest.raises(SystemExit):
            main()
        assert " ".join(output.split()) in " ".join(capsys.readouterr().out.split())


def test_the_guide_quotes_the_note_on_incomplete_transfers():
    counts = {"sack": Counts(4, 10), "hybla": Counts(0, 10), "bbr3": Counts(10, 10)}
    text = " ".join((DOCS / "guides" / "compare-congestion-controls.md").read_text().split())
    assert not_whole(METRICS["completion"], counts) in text


def test_the_guide_to_the_sky_quotes_the_note_of_the_ship():
    (note,) = [note for note in bp.load("ship").notes if note.startswith("sky: ")]
    (shown,) = re.findall(r"^sky: Madrid to ship.*$", (DOCS / "guides" / "sky.md").read_text(), re.MULTILINE)
    assert note.startswith(shown)
