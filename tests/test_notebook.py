"""Results, figures and bars in a notebook. Jupyter is not needed: these are the methods that it calls."""

from __future__ import annotations

import inspect
import re
import struct
import sys
from types import SimpleNamespace

import polars as pl
import pytest
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import progress
from bentpipe.emulation.quantities import BY_NAME
from bentpipe.emulation.twin import Twin
from bentpipe.sky import scenes

PNG = b"\x89PNG\r\n\x1a\n"
SERIES = ["goodput_bps", "cwnd_bytes", "queue_bytes", "losses", "decisions", "limited_by"]


@pytest.fixture
def result(small):
    return bp.run(small, series=SERIES)


@pytest.fixture
def cell(monkeypatch):
    """The texts displayed below the cell of a notebook, in order; the last one stays."""
    shown = []
    handle = SimpleNamespace(update=shown.append)

    def display(html, *, display_id):
        assert display_id
        shown.append(html)
        return handle

    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    return shown


def pictures(page: str) -> int:
    return len(re.findall(r'<img src="data:image/png;base64,[A-Za-z0-9+/=]{1000,}" width="\d+"', page))


def test_a_figure_shows_itself_and_stays_one_of_matplotlib(result):
    figure = result.plot()
    content, size = figure._repr_png_()
    assert isinstance(figure, Figure)
    assert content.startswith(PNG)
    width, height = struct.unpack(">II", content[16:24])
    # Twice as sharp as it is large.
    assert (width, height) == pytest.approx((2 * size["width"], 2 * size["height"]), abs=2)


def test_a_run_has_tables_statements_and_figure(small, result):
    page = result._repr_html_()
    assert page.count("<table>") == 2
    assert result.statements[0] in page
    assert pictures(page) == 1
    # Without series, a short run is run again.
    assert pictures(bp.run(small)._repr_html_()) == 1


def test_comparisons_and_mixes_have_tables_statements_and_a_figure(small):
    for found in (bp.compare(small, cc="reno,cubic", replications=2), bp.mix(small, "reno,cubic", replications=2)):
        page = found._repr_html_()
        assert page.count("<table>") == 1
        assert all(f"<p>{said[:5]}" in page for said in found.statements)
        assert pictures(page) == 1


def test_a_sweep_has_table_statements_and_a_figure(small):
    page = bp.sweep(small, {"tcp.cc": ["reno", "cubic"]}, replications=2)._repr_html_()
    assert page.count("<table>") == 1
    assert pictures(page) == 1


def test_an_explanation_is_a_table_and_its_summary(result):
    flow = result.scenario.flow_names[0]
    told = result.why(flow, start=0, end=result.simulated_s)
    page = told._repr_html_()
    assert page.count("<tr>") == 1 + len(told.happenings)
    assert told.summary in page
    assert repr(told).startswith(f"<Explanation of {flow}, 0 s to ")


def test_looks_at_the_sky_have_tables_statements_and_a_figure():
    looks = (
        bp.sky.path("London", "New York", over="iridium", duration=60),
        bp.sky.passes("London", over="iridium", duration=1200),
        bp.sky.map(over="iridium", ends=("London", "New York")),
        bp.sky.coverage(over="iridium", cell=15, duration=60),
        bp.sky.budget("London", over="geo:19.2E", frequency=12, eirp=50, g_over_t=15),
    )
    for found in looks:
        page = found._repr_html_()
        assert page.count("<table>") == 1, found
        assert found.statements
        assert all(said in page for said in found.statements), found
        assert pictures(page) == 1, found


def test_a_sky_without_a_path_says_so_and_draws_nothing():
    found = bp.sky.path("London", "Sydney", over="geo:19.2E", duration=10)
    assert found.statements[-1] == "there is no path"
    assert pictures(found._repr_html_()) == 0


def test_a_twin_shows_its_verdict_both_windows_and_a_row_per_quantity(small, result):
    window = result.series("cwnd_bytes").select("time_s", "cwnd_bytes")
    rows = [
        {"side": "simulated", "seed": seed, "is_trustworthy": True, **dict.fromkeys(BY_NAME, 1.0)} for seed in (1, 2)
    ]
    rows.append({**rows[0], "side": "emulated"})
    windows = {"simulated": window, "emulated": window}
    found = Twin(bp.load(small), pl.DataFrame(rows), {"release": "6.1", "cc": "<cubic>"}, (), ("a note",), windows)
    page = found._repr_html_()
    assert page.count("<tr>") == 1 + len(found.quantities)
    assert "&lt;cubic&gt;" in page
    assert found.verdict in page
    assert "<p>a note</p>" in page
    assert pictures(page) == 1


def test_a_reproduction_shows_claims_and_verdicts():
    found = bp.reproduce("hswa", only=["HSWA-01"])
    page = found._repr_html_()
    assert "HSWA-01" in page
    assert found.papers[0].verdicts[0].text in page
    assert repr(found) == "<Reproduction of hswa: 1 claim>"


def test_a_notebook_shows_a_bar_only_where_work_takes_long(small, cell, monkeypatch):
    bp.run(small)
    assert cell == []
    monkeypatch.setattr(progress, "APPEARS_AFTER_S", 0.0)
    bp.run(small)
    assert re.match(r'<progress value="\d\.\d{4}"></progress> simulated ', cell[0])
    assert cell[-1] == ""
    cell.clear()
    bp.run(small, progress=False)
    assert cell == []


def test_whoever_asks_for_a_bar_gets_one_at_once_from_every_verb(small, cell):
    verbs = (
        lambda: bp.run(small, progress=True),
        lambda: bp.compare(small, cc="reno,sack", replications=2, progress=True),
        lambda: bp.mix(small, "reno,cubic", replications=2, progress=True),
        lambda: bp.sweep(small, {"tcp.cc": ["reno"]}, replications=2, progress=True),
        lambda: scenes.do_work("coverage", lambda reached: reached(0.5), True),
        lambda: bp.reproduce("hswa", only=["HSWA-01"], progress=True),
    )
    for verb in verbs:
        cell.clear()
        verb()
        assert cell[0].startswith("<progress "), inspect.getsource(verb)
        assert cell[-1] == ""


def test_a_bar_goes_when_the_work_fails(cell):
    def work():
        with progress.choose_watch(True) as bar:
            bar(progress.Progress(total=2, done=1, doing="<b>"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert "&lt;b&gt;" in cell[0]
    assert cell[-1] == ""


def test_outside_of_notebooks_there_is_no_bar_unless_asked_for():
    with progress.choose_watch(None) as watch:
        assert watch is None
    with progress.choose_watch(True) as watch:
        assert isinstance(watch, progress.TerminalBar)
    with pytest.raises(TypeError, match="progress is 'yes': expected True, False, or a callable"):
        progress.choose_watch("yes")
