"""Reports: the answer first, figures and tables also as files, and the provenance at the end of the page."""

import json
import os
import re
import shlex
import xml.etree.ElementTree as ET
from html import unescape
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError
from bentpipe.experiment.report import report
from bentpipe.experiment.results import contrasts
from bentpipe.plot import sweep_figure
from bentpipe.plot.axis import Axis, numbers
from bentpipe.plot.sweeps import PANELS_MAX, Layout
from bentpipe.reports.page import Code, Folded, Page, Points, Section, Text
from bentpipe.reports.provenance import Provenance
from bentpipe.reports.tables import Table

TITLE = "<script>alert('$1')</script> & 10 % of_all {costs} $2 ^~#"
SCENARIO = {
    "title": TITLE,
    "duration": "2 s",
    "link": {
        "a_b": {
            "from": "a",
            "to": "b",
            "rate": "4 Mbit/s",
            "delay": "20 ms",
            "queue": "30 packets",
            "error": {"kind": "packet", "rate": 0.01},
        }
    },
    "flow": {"f": {"from": "a", "to": "b"}},
    "case": {"plain": {}, "small_&_<b>": {"tcp": {"smss": "536 B"}}},
}
RATES = {"link.a_b.error.rate": [0, 1e-4, 1e-3, 1e-2]}


def swept(folder, vary, **options):
    options = {"replications": 3, "metric": ["goodput", "rtt"]} | options
    return bp.sweep(SCENARIO, vary, store=folder, **options)


def texts(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


class Checker(HTMLParser):
    """Checks that every element is closed, ids are unique, references have targets, and no file is fetched."""

    VOID = ("meta",)

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.wanted, self.tags, self.shown = [], [], set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name.endswith("href") and value.startswith("#"):
                self.wanted.add(value[1:])
            elif name.endswith(("href", "src")):
                assert value.startswith("data:"), value
            assert not name.startswith("on")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.shown.append(data)


def checked(html):
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))
    assert checker.wanted <= set(checker.ids)
    assert "script" not in checker.tags
    assert "http" not in html.replace("http-equiv", "")
    return checker


def test_report_has_page_figures_and_tables(tmp_path):
    swept(tmp_path / "s", {"tcp.cc": ["reno", "sack"], **RATES})
    found = report(tmp_path / "s")
    assert found.folder == tmp_path / "s" / "report"
    assert set(texts(found.folder)) == {
        "report.html",
        "scenario.json",
        "resolved.toml",
        "provenance.json",
        *(f"figures/{metric}.{ending}" for metric in ("goodput", "rtt") for ending in ("svg", "png", "pdf")),
        *(
            f"tables/{table}.{ending}"
            for table in (
                "points",
                "wide",
                "ranking-goodput",
                "ranking-rtt",
                "differences-goodput",
                "differences-rtt",
            )
            for ending in ("csv", "tex")
        ),
    }
    assert {path.relative_to(found.folder).as_posix() for path in (*found.figures, *found.tables, found.page)} == set(
        texts(found.folder)
    ) - {"scenario.json", "resolved.toml", "provenance.json"}
    html = found.page.read_text()
    checker = checked(html)
    assert html.count('<svg role="img"') == 2
    assert checker.tags.count("table") == 5
    shown = "".join(checker.shown).casefold()
    assert all(statement.casefold() in shown for statement in found.statements)


def test_what_a_title_or_a_name_contains_is_shown_and_not_run(tmp_path):
    swept(tmp_path / "s", {"case": ["plain", "small_&_<b>"]}, replications=2)
    found = report(tmp_path / "s")
    html = found.page.read_text()
    shown = "".join(checked(html).shown)
    assert TITLE in shown
    assert "small_&_<b>" in shown
    assert "<script" not in html
    latex = (found.folder / "tables" / "points.tex").read_text()
    assert r"small\_\&\_$<$b$>$ & 2 &" in latex
    for path in found.figures:
        if path.suffix == ".svg":
            ET.parse(path)


def test_latex_tables_need_no_package_and_escape_specials():
    row = ["a_b & 10 %", "~^\\{}#$", "[x] ± µ"]
    latex = Table("t", pl.DataFrame(), ["[k_1]", "b", "c"], [row], 1, 1).latex("note $\nof two lines")
    assert latex.splitlines() == [
        "% note $",
        "% of two lines",
        r"\begin{tabular}{lrr}",
        r"\hline",
        r"{}[k\_1] & b & c \\",
        r"\hline",
        r"a\_b \& 10 \% & \textasciitilde{}\textasciicircum{}\textbackslash{}\{\}\#\$ & [x] $\pm$ $\mu$ \\",
        r"\hline",
        r"\end{tabular}",
    ]


def test_equal_stores_have_equal_reports(tmp_path):
    for name, jobs in (("one", 1), ("other name", 3)):
        swept(tmp_path / name, {"tcp.cc": ["reno", "sack"], **RATES}, jobs=jobs)
    one, other = (texts(report(tmp_path / name).folder) for name in ("one", "other name"))
    assert one == other
    # A new report replaces the old one and all files in it.
    (tmp_path / "one" / "report" / "figures" / "old.png").write_text("")
    assert texts(report(tmp_path / "one").folder) == one


@pytest.mark.usefixtures("undrawn")
def test_a_report_only_reads_the_store(tmp_path):
    swept(tmp_path / "s", RATES)

    def kept():
        # Readers of the index share memory through files beside it.
        return {name: text for name, text in texts(tmp_path / "s").items() if not name.endswith(("-shm", "-wal"))}

    before = kept()
    report(tmp_path / "s", tmp_path / "deep" / "report")
    assert kept() == before


@pytest.mark.usefixtures("undrawn")
def test_numbers_in_csv_are_those_of_the_sweep(tmp_path):
    sweep = swept(tmp_path / "s", {"tcp.cc": ["reno", "sack"], "link.a_b.rate": ["1 Mbit/s", "4 Mbit/s"]})
    folder = report(tmp_path / "s").folder
    points = pl.read_csv(folder / "tables" / "points.csv")
    goodput = sweep.table.filter(pl.col("metric") == "goodput")
    for column, of in (("goodput_bps", "mean"), ("goodput_bps_low", "low"), ("goodput_bps_high", "high")):
        np.testing.assert_allclose(points[column], goodput[of])
    assert points["runs"].to_list() == [3] * 4
    differences = pl.read_csv(folder / "tables" / "differences-goodput.csv")
    assert differences.height == 2
    row = differences.row(0, named=True)
    mean = {(p["tcp.cc"], p["link.a_b.rate"]): p["mean"] for p in goodput.to_dicts()}
    apart = mean[row["of"], row["link.a_b.rate"]] - mean[row["other"], row["link.a_b.rate"]]
    assert row["mean"] == pytest.approx(apart)


@pytest.mark.usefixtures("undrawn")
def test_ratios_are_shown_where_a_baseline_is_named(tmp_path):
    sweep = swept(tmp_path / "s", {"tcp.cc": ["reno", "sack", "tahoe"]})
    assert not (report(tmp_path / "s", tmp_path / "without").folder / "tables" / "ratios.csv").exists()
    found = report(tmp_path / "s", tmp_path / "with", against="reno")
    ratios = pl.read_csv(found.folder / "tables" / "ratios.csv").filter(pl.col("metric") == "goodput")
    assert set(ratios["of"]) == {"sack", "tahoe"}
    runs = sweep.runs.sort("seed")
    of = {name: runs.filter(pl.col("tcp.cc") == name)["goodput_bps"].to_numpy() for name in ("reno", "sack")}
    by_hand = np.exp(np.log(of["sack"] / of["reno"]).mean())
    assert ratios.filter(pl.col("of") == "sack")["ratio"].item() == pytest.approx(by_hand)
    shown = "".join(checked(found.page.read_text()).shown)
    assert "Ratios" in shown
    assert f"{by_hand:.3g} (" in shown


def test_files_and_the_end_of_the_page_have_the_provenance(tmp_path):
    swept(tmp_path / "s", RATES, metric=["goodput"])
    found = report(tmp_path / "s")
    html = found.page.read_text()
    command = json.loads((found.folder / "provenance.json").read_text())["command"]
    figures, provenance = html.split('<section id="provenance">')
    assert figures.count("<figure>") == 3
    for fact in ("seeds 1 to 3", "3 replications of each point", f"bentpipe {bp.__version__}"):
        assert (html.count(fact), provenance.count(fact)) == (1, 1)
    assert "".join(checked(html).shown).count(command) == 1
    assert 'delay = "20 ms"' in "".join(checked(html).shown)
    assert command in (found.folder / "tables" / "points.tex").read_text()
    description = ET.parse(found.folder / "figures" / "goodput.svg").getroot()
    assert any(command in (each.text or "") for each in description.iter())


def first_paragraph(result, folder):
    html = result.report(folder).page.read_text()
    assert html.index('<p class="answer">') < html.index("<h2>")
    return unescape(re.search(r'<p class="answer">(.*?)</p>', html, re.DOTALL)[1])


@pytest.mark.usefixtures("undrawn")
def test_the_first_paragraph_of_a_comparison_names_the_best_and_each_difference(tmp_path):
    comparison = bp.compare(SCENARIO, ["reno", "sack", "tahoe"], replications=3)
    text = first_paragraph(comparison, tmp_path / "r")
    best = comparison.order_cases("goodput")[0]
    assert text.startswith(f"Best goodput: {best}, ")
    assert all(statement.casefold() in text.casefold() for statement in comparison.statements)


@pytest.mark.usefixtures("undrawn")
def test_the_first_paragraph_of_a_sweep_counts_the_settings_of_each_case(tmp_path):
    sweep = swept(tmp_path / "s", {"tcp.cc": ["reno", "sack"], **RATES}, metric=["rtt", "goodput"])
    text = first_paragraph(sweep, tmp_path / "r")
    assert "reno in 4 of 4 settings" in text.partition(".")[0]
    assert "rtt" in text
    assert "goodput" not in text


@pytest.mark.usefixtures("undrawn")
def test_the_first_paragraph_of_a_mix_has_all_shares(tmp_path):
    mix = bp.mix(SCENARIO, ["reno", "sack"], replications=3)
    text = first_paragraph(mix, tmp_path / "r")
    shares = [float(number) for number in re.findall(r"(?:reno|sack) ([\d.]+) %", text)]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert "50 % is fair" in text
    shown = mix.differences.filter(pl.col("other") == "a fair share")["is_shown"]
    assert ("no share is shown" in text.casefold()) is not any(shown)
    alone = bp.mix(SCENARIO, ["reno", "sack"], replications=1)
    assert "may be chance" in first_paragraph(alone, tmp_path / "alone")


@pytest.mark.usefixtures("undrawn")
def test_the_first_paragraph_of_a_run_has_its_metrics_and_losses(tmp_path):
    run = bp.run(SCENARIO)
    text = first_paragraph(run, tmp_path / "r")
    goodput = run.table.row(by_predicate=pl.col("metric") == "goodput", named=True)["mean"]
    assert f"Goodput {goodput / 1e6:.2f} Mbit/s" in text
    lost = run.drops["packets"].sum()
    assert f"{lost:,} packets lost" in text


@pytest.mark.usefixtures("undrawn")
def test_a_look_at_the_sky_folds_long_tables(tmp_path):
    path = bp.sky.path("London", "Singapore", over="starlink-shell-1", duration="60 s")
    text = first_paragraph(path, tmp_path / "r")
    assert all(statement.casefold() in text.casefold() for statement in path.statements[:3])
    html = (tmp_path / "r" / "report.html").read_text()
    assert f"<summary>{path.instants.height} rows</summary>" in html
    checked(html)


def test_figures_of_a_page_have_colours_for_both_schemes(tmp_path):
    comparison = bp.compare(SCENARIO, ["reno", "sack"], replications=2)
    html = comparison.report(tmp_path / "r").page.read_text()
    svg = html[html.index("<svg role") : html.index("</figure>")]
    assert "var(--c-0072b2, #0072b2)" in svg
    assert "#000000" not in svg
    assert "#ffffff" not in svg
    style = html[html.index("<style>") : html.index("</style>")]
    assert "prefers-color-scheme: dark" in style
    used = set(re.findall(r"var\((--c-\w+)", svg))
    assert used <= set(re.findall(r"(--c-\w+):", style))


def test_both_schemes_show_the_same_colours_of_values(tmp_path):
    vary = {"link.a_b.delay": ["10 ms", "20 ms"], "link.a_b.rate": ["1 Mbit/s", "2 Mbit/s"]}
    html = swept(tmp_path / "s", vary, replications=1, metric=["goodput"]).report(tmp_path / "r").page.read_text()
    assert re.findall(r'<svg role="img"[^>]* class="([^"]*)"', html) == ["column", "column mapped"]
    assert "svg:not(.mapped) image { filter" in html


GRIDS = {
    "lists": ["--vary", "tcp.cc=reno,sack", "--vary", "link.l.rate=1 Mbit/s,2 Mbit/s"],
    "ranges": ["--vary", "link.l.error.rate=1e-5..1e-3:3:log", "--vary", "tcp.ack.every=1..2:2"],
    "together": ["--vary", "tcp.cc=reno,sack; tcp.smss=536 B,1460 B", "--vary", "seed=1,10"],
    "tables": ["--vary", 'link.l.error={ kind = "packet", rate = 1e-3 },{ kind = "none" }'],
    "texts": ["--set", 'title=it\'s; a "title"', "--vary", "link.l.queue=10 packets,1 bdp"],
    "until": ["--vary", "tcp.cc=reno,sack", "--until", "goodput=50%", "--replications-max", "4"],
    "file": ["--set", "duration=1 s", "--seed", "18446744073709551615"],
    "step": ["--set", 'sweep.vary.link.l.delay={ from = "10 ms", to = "30 ms", step = "10 ms" }'],
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = """
        title = "plain"
        duration = "0.5 s"
        [link.l]
        from = "a"
        to = "b"
        rate = "1 Mbit/s"
        delay = "10 ms"
        error = { kind = "packet", rate = 0.001 }
        [flow.f]
        from = "a"
        to = "b"
        [sweep.vary]
        tcp.initial_window = ["1 segment", "2 segments"]
    """
    (tmp_path / "it's a file.toml").write_text(text)
    return "it's a file.toml"


@pytest.mark.parametrize("grid", GRIDS)
def test_the_command_makes_the_same_store_and_report_again(written, tmp_path, grid, request):
    # Drawing takes most of the time, so the figures of one grid stand for all.
    metrics = "goodput,jain" if grid == "lists" else "goodput"
    if grid != "lists":
        request.getfixturevalue("undrawn")
    options = ["--replications", "2", "--metric", metrics, "--tables", "links"]
    done = CliRunner().invoke(app, ["sweep", written, *GRIDS[grid], *options, "--store", "first"])
    assert done.exit_code == 0, done.output
    first = report("first")
    command = json.loads((first.folder / "provenance.json").read_text())["command"]
    for part in command.split(" && "):
        assert shlex.split(part)[0] == "bentpipe"
        done = CliRunner().invoke(app, shlex.split(part)[1:])
        assert done.exit_code == 0, done.output
    assert texts(tmp_path / "it's a file.sweep" / "report") == texts(first.folder)
    again, before = bp.Sweep.load("it's a file.sweep"), bp.Sweep.load("first")
    assert again.runs.equals(before.runs)
    # As a user would type it, if that is possible.
    if grid not in ("file", "step"):
        assert "sweep.vary" not in command


STEADY = """
import bentpipe as bp


class Steady(bp.CongestionControl):
    def on_ack(self, ack, path):
        self.cwnd = 20 * path.smss
"""
OWN = {
    "alone": ["--vary", "tcp.cc=newreno,mine.py:Steady", "--vary", "link.l.error.rate=0,0.01"],
    "together": ["--vary", "tcp.cc=newreno,mine.py:Steady; tcp.smss=536 B,1460 B"],
    "set": ["--set", "tcp.cc=mine.py:Steady", "--vary", "link.l.error.rate=0,0.01"],
}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("grid", OWN)
def test_the_command_names_the_file_of_a_sender_of_ones_own(written, tmp_path, grid, begun):
    (tmp_path / "mine.py").write_text(STEADY)
    done = CliRunner().invoke(app, ["sweep", written, *OWN[grid], "--replications", "2"])
    assert done.exit_code == 0, done.output
    first = report("it's a file.sweep")
    made = json.loads((first.folder / "provenance.json").read_text())
    assert "mine.py:Steady" in made["command"]
    assert re.fullmatch(r"Steady: mine\.py:Steady, code [0-9a-f]{16}", made["senders"])
    assert made["senders"] in first.page.read_text()
    tex = "".join(path.read_text() for path in first.tables if path.suffix == ".tex")
    assert "mine.py:Steady" in tex
    begun.clear()
    for part in made["command"].split(" && "):
        done = CliRunner().invoke(app, shlex.split(part)[1:])
        assert done.exit_code == 0, done.output
    assert begun == [], "all of it is there already"
    assert json.loads((first.folder / "provenance.json").read_text()) == made
    # Another file is another congestion control, although its name is the same.
    (tmp_path / "mine.py").write_text(STEADY.replace("20", "30"))
    for part in made["command"].split(" && "):
        assert CliRunner().invoke(app, shlex.split(part)[1:]).exit_code == 0
    assert begun != []
    other = json.loads((first.folder / "provenance.json").read_text())
    assert other["command"] == made["command"]
    assert other["senders"] != made["senders"]


@pytest.mark.usefixtures("undrawn")
def test_where_no_command_can_name_a_sender_that_is_said(tmp_path):
    def made():
        class Mine(bp.CongestionControl):
            pass

        return Mine

    bp.sweep(SCENARIO, {"tcp.cc": ["newreno", made()]}, replications=1, store=tmp_path / "s")
    found = json.loads((report(tmp_path / "s").folder / "provenance.json").read_text())
    assert found["command"] == ""
    assert "no command makes it again: Mine was given in Python" in found["note"]
    assert found["senders"].startswith("Mine: a class, code ")


@pytest.mark.usefixtures("undrawn")
def test_the_command_for_a_scenario_that_was_in_no_file(tmp_path, monkeypatch):
    # Not the resolved scenario: defaults that depend on the congestion control are fixed in it.
    swept(tmp_path / "s", {"tcp.cc": ["newreno", "sack"], "case": ["plain", "small_&_<b>"], **RATES})
    first = report(tmp_path / "s")
    made = json.loads((first.folder / "provenance.json").read_text())
    assert made["note"] == "scenario.json is beside the report"
    monkeypatch.chdir(first.folder)
    for part in made["command"].split(" && "):
        done = CliRunner().invoke(app, shlex.split(part)[1:])
        assert done.exit_code == 0, done.output
    before, again = bp.Sweep.load(tmp_path / "s"), bp.Sweep.load("scenario.sweep")
    assert again.runs.equals(before.runs)
    tables = (texts(folder / "report" / "tables") for folder in (tmp_path / "s", first.folder / "scenario.sweep"))
    ours, theirs = ({name: text for name, text in each.items() if name.endswith("csv")} for each in tables)
    assert ours == theirs


@pytest.mark.usefixtures("undrawn")
def test_senders_that_go_with_another_key_are_compared(tmp_path):
    together = [{"tcp.cc": ["reno", "sack"], "tcp.smss": ["536 B", "1460 B"]}]
    sweep = bp.sweep(SCENARIO, together=together, replications=3, store=tmp_path / "s")
    (contrast,) = sweep.contrasts("goodput")
    assert list(contrast.differences) == [""]
    assert sweep.statements == [str(contrast)]
    assert "tcp.smss goes with tcp.cc" in report(tmp_path / "s").page.read_text().replace("Tcp", "tcp")


@pytest.mark.usefixtures("undrawn")
def test_settings_that_differ_in_the_seventh_digit_are_two(tmp_path):
    rates = {"link.a_b.error.rate": [0.001000001, 0.001000002], "link.a_b.delay": ["10 ms", "20 ms"]}
    sweep = swept(tmp_path / "s", {"tcp.cc": ["reno", "sack"], **rates}, metric=["goodput"])
    (contrast,) = sweep.contrasts("goodput")
    assert list(contrast.differences)[::3] == ["rate 0.001000001, delay 10 ms", "rate 0.001000002, delay 20 ms"]
    assert pl.read_csv(report(tmp_path / "s").folder / "tables" / "differences-goodput.csv").height == 4


def test_missing_and_failed_runs_are_shown(tmp_path, monkeypatch):
    from bentpipe.experiment.execution import workers
    from bentpipe.experiment.single import task

    done = task.execute

    def fails(scenario, seed, *rest):
        return task.Failure("it is <broken> & lost") if seed == 2 else done(scenario, seed, *rest)

    monkeypatch.setattr(workers, "execute", fails)
    swept(tmp_path / "s", {"tcp.cc": ["reno", "sack"]})
    found = report(tmp_path / "s")
    shown = "".join(checked(found.page.read_text()).shown)
    assert "2 runs of 6 missing: not done yet, or failed." in shown
    assert shown.count("it is <broken> & lost") == 2
    assert str(tmp_path) not in shown
    replays = [line.split()[-1] for line in shown.splitlines() if line.startswith("bentpipe run failures/")]
    assert len(replays) == 2
    for replay in replays:
        assert bp.load(tmp_path / "s" / replay).seed == 2


def test_a_metric_that_no_run_has_is_said_and_not_drawn(tmp_path):
    sweep = swept(tmp_path / "s", {"tcp.cc": ["reno", "sack"]}, metric=["goodput", "completion"])
    found = report(tmp_path / "s")
    assert "there is no completion" in found.page.read_text()
    assert [path.stem for path in found.figures] == ["goodput"] * 3
    with pytest.raises(BentpipeError, match="no run has a value of completion"):
        sweep.plot(metric="completion")


def test_where_a_report_cannot_be_written(tmp_path, monkeypatch):
    swept(tmp_path / "s", {"tcp.cc": ["reno", "sack"]}, replications=1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("")
    cases = {
        (
            "nowhere",
        ): "error: nowhere does not exist\n  expected a folder of bentpipe run, compare, mix, sweep or tune\n",
        (
            tmp_path / "s",
            "--out",
            tmp_path / "full",
        ): f"error: {tmp_path / 'full'} exists and is not a bentpipe result\n  choose another folder to save in\n",
    }
    for arguments, text in cases.items():
        done = CliRunner().invoke(app, ["report", *map(str, arguments)])
        assert done.exit_code == 2
        assert done.stderr == text
    # Root may write anywhere, so permissions would prove nothing.
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK or path != tmp_path / "s")
    done = CliRunner().invoke(app, ["report", str(tmp_path / "s")])
    assert done.exit_code == 2
    assert done.stderr == (
        f"error: {tmp_path / 's'} is write-protected, so the report cannot be written into it\n"
        "  expected another folder: --out FOLDER\n"
    )
    assert CliRunner().invoke(app, ["report", str(tmp_path / "s"), "--out", str(tmp_path / "r")]).exit_code == 0


def test_the_command_says_where_things_are(tmp_path):
    swept(tmp_path / "s", {"tcp.cc": ["reno", "sack"]})
    done = CliRunner().invoke(app, ["report", str(tmp_path / "s"), "--json"])
    found = json.loads(done.stdout)
    assert found["page"] == str(tmp_path / "s" / "report" / "report.html")
    assert all((tmp_path / path).exists() for path in (*found["figures"], *found["tables"]))
    done = CliRunner().invoke(app, ["report", str(tmp_path / "s")])
    assert "report.html" in "".join(done.stdout.split())
    assert "goodput, rtt (SVG, PNG, PDF)" in done.stdout


@pytest.mark.usefixtures("undrawn")
def test_many_settings_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(contrasts, "LETTERS_MAX", 40)
    sweep = swept(tmp_path / "s", {"tcp.cc": ["reno", "sack", "newreno"], **RATES})
    found = report(tmp_path / "s")
    shown = [sum(bool(each.is_shown) for each in one.differences.values()) for one in sweep.contrasts("goodput")]
    for statement, count in zip(found.statements, shown, strict=False):
        assert "of 4 settings" in statement
        assert statement.endswith(f"no difference can be shown at {4 - count}")
    html = "".join(checked(found.page.read_text()).shown)
    assert "For each setting" in html
    assert all(one.in_full() in html for one in sweep.contrasts("goodput"))


# Figures.


def test_quantities_are_numbers_of_one_unit():
    assert numbers(["10 ms", "0.5 s", "1 min"]) == ([0.01, 0.5, 60.0], "s")
    assert numbers(["1 %", "0.02"]) == ([0.01, 0.02], "1")
    assert numbers(["1 %", "2 %"]) == ([1.0, 2.0], "%")
    assert numbers(["1 KiB", "1kB"]) == ([1024.0, 1000.0], "B")
    assert numbers(["1 segment", "3 segments"]) == ([1.0, 3.0], "segments")
    assert numbers(["1 bdp", "0.5 bdp"]) == ([1.0, 0.5], "bdp")
    for values in (["10 packets", "1 bdp"], ["reno", "sack"], [True, False], ["1 s", None]):
        assert numbers(values) is None


def test_an_axis_is_log_where_values_are_spaced_by_ratios():
    assert Axis.from_values("k", [1e-5, 1e-4, 1e-3]).is_log
    assert Axis.from_values("k", ["500 kbit/s", "1 Mbit/s", "4 Mbit/s", "16 Mbit/s"]).is_log
    assert Axis.from_values("k", ["0.25 bdp", "0.5 bdp", "1 bdp", "2 bdp"]).is_log
    assert not Axis.from_values("k", [1, 10, 20, 30, 40]).is_log
    assert not Axis.from_values("k", [1, 2, 3, 4]).is_log
    assert not Axis.from_values("k", [float(value) for value in range(1, 41)]).is_log
    with_zero = Axis.from_values("k", [0.0, 1e-4, 1e-3, 1e-2])
    assert with_zero.is_log
    assert with_zero.places[0.0] == pytest.approx(1e-5)


def layout(**values):
    from itertools import product

    rows = list(product(*values.values()))
    points = pl.DataFrame(dict(zip(values, zip(*rows, strict=True), strict=True)))
    return Layout.from_points(points, list(values), ("cc", "case"))


def test_the_numeric_key_with_most_values_is_the_axis_and_senders_have_the_colours():
    found = layout(rate=[1.0, 2.0, 3.0], cc=["a", "b"], delay=["1 s", "2 s"])
    assert (found.x.key, found.colour, found.dash, found.panels) == ("rate", "cc", "delay", [])
    found = layout(cc=list("abcde"), x=[float(k) for k in range(9)], delay=["1 s", "2 s", "3 s"], case=["p", "q"])
    assert (found.x.key, found.colour, found.dash, found.panels) == ("x", "cc", "case", ["delay"])
    found = layout(cc=["a", "b"], case=["p", "q"])
    assert (found.x, found.colour) == (None, "cc")
    found = layout(case=["p", "q"])
    assert (found.x, found.colour) == (None, None)


@pytest.mark.parametrize(
    "vary",
    [
        {"tcp.cc": ["reno", "sack"], **RATES},
        {"tcp.cc": ["reno", "sack"], "case": ["plain", "small_&_<b>"]},
        {"link.a_b.delay": ["10 ms", "20 ms", "40 ms"]},
        {"tcp.cc": ["reno"]},
        {"link.a_b.queue": ["10 packets", "1 bdp"], "link.a_b.delay": ["10 ms", "40 ms"], **RATES, "tcp.cc": ["sack"]},
        {"seed": [1, 3, 5]},
        {"link.a_b.delay": {"from": "10 ms", "to": "170 ms", "count": 17}, "link.a_b.rate": ["1 Mbit/s", "2 Mbit/s"]},
        {"link.a_b.delay": ["10 ms", "20 ms"], "link.a_b.rate": [f"{k} Mbit/s" for k in range(1, 9)]},
    ],
    ids=lambda vary: "-".join(key.rpartition(".")[2] for key in vary),
)
def test_no_legend_lies_over_data(tmp_path, vary):
    figure = bp.sweep({**SCENARIO, "duration": "0.5 s"}, vary, replications=2).plot()
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    boxes = [legend.get_window_extent(renderer) for legend in figure.legends]
    parts = [axes.get_tightbbox(renderer) for axes in figure.axes]
    texts = [text.get_window_extent(renderer) for text in figure.texts if text.get_text()]
    for box in boxes:
        assert not any(box.overlaps(part) for part in parts)
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
    for text in texts[:1]:
        assert not any(text.overlaps(part) for part in parts)


@pytest.mark.usefixtures("undrawn")
def test_more_panels_than_fit_are_chosen_evenly(tmp_path):
    vary = {
        "link.a_b.delay": [f"{k} ms" for k in range(10, 70, 10)],
        "link.a_b.rate": [f"{k} Mbit/s" for k in range(1, 6)],
        "link.a_b.queue": ["5 packets", "10 packets", "1 bdp", "2 bdp", "3 bdp"],
        "tcp.smss": ["536 B", "1000 B", "1200 B", "1460 B", "400 B"],
    }
    scenario = {**SCENARIO, "duration": "50 ms"}
    bp.sweep(scenario, vary, replications=1, store=tmp_path / "s")
    found = report(tmp_path / "s")
    assert f"{PANELS_MAX} of 25 panels are shown" in found.page.read_text()
    assert "The first 100 of 750 rows" in found.page.read_text()
    assert pl.read_csv(found.folder / "tables" / "points.csv").height == 750


def test_a_single_run_has_no_interval_in_the_figure(tmp_path):
    sweep = bp.sweep(SCENARIO, RATES, replications=1)
    (axes,) = sweep_figure(sweep, "goodput").axes
    assert all(len(bars.get_segments()) == 0 for bars in axes.collections)


# Pages.


def test_a_page_is_made_of_parts():
    blocks = [Text("a < b", is_warning=True), Points(["1 & 2"]), Folded("more", [Code("x = '<y>'")], "there")]
    made = Provenance("T & U", "file.toml", "seed 1", "one run", "bentpipe 0", "", "bentpipe run 'a & b'", "x = 1")
    page = Page("T & U", "The answer is <this>.", [Section("One", blocks)], "3 points", "Means.", made)
    shown = checked(page.html()).shown
    for text in ("a < b", "1 & 2", "x = '<y>'", "T & U", "The answer is <this>.", "3 points", "Means.", "x = 1"):
        assert text in shown
    for text in ("file.toml", "one run, seed 1", "bentpipe 0", "bentpipe run 'a & b'"):
        assert shown.count(text) == 1


def test_each_result_has_its_report(tmp_path):
    compared = bp.compare(SCENARIO, ["reno", "sack"], replications=2, store=tmp_path / "compared")
    mixed = bp.mix(SCENARIO, ["reno", "sack"], replications=2, store=tmp_path / "mixed")
    for name, result in (("compared", compared), ("mixed", mixed)):
        there, here = report(tmp_path / name), result.report(tmp_path / f"{name}-report")
        assert there.page.read_text() == here.page.read_text()
        assert there.statements == here.statements == result.statements
        assert {path.suffix for path in (*here.figures, *here.tables)} == {".svg", ".png", ".pdf", ".csv", ".tex"}


def test_titles_of_figures_stay_within_them(lossy):
    sweep = bp.sweep(
        bp.loads(lossy),
        {"tcp.cc": ["cubic", "bbr3"], "link.l.error.rate": [1e-4, 1e-3, 0.2]},
        replications=2,
        metric="goodput",
        progress=False,
    )
    figure = sweep.plot()
    figure.draw_without_rendering()
    assert figure._suptitle.get_window_extent().x1 <= figure.bbox.x1
    # Only a title with this note is longer than a column.
    assert "interval" in figure.get_suptitle().partition("triangles")[2]
    assert figure.axes[0].get_xlabel() == "Error rate of link l"
