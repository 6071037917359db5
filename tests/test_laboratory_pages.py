"""The laboratory in a web page, in Chromium: it loads, runs, compares, and holds an experiment in a link."""

import csv
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.statistics.curve import Curve
from bentpipe.studio import lessons
from bentpipe.studio.lessons.gentle import Gentle
from bentpipe.studio.packets import Packets
from tests.laboratory import Page, need_module
from tools.docs import laboratory
from tools.docs.links import SITE

pytestmark = pytest.mark.timeout(300)
SHORT = """\
title = "short"
duration = "4 s"
[link.sat]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "100 ms"
[flow.bulk]
from = "a"
to = "b"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    need_module()
    found = tmp_path_factory.mktemp("site") / laboratory.FOLDER
    found.mkdir()
    for name, content in laboratory.make_files().items():
        (found / name).write_bytes(content)
    return found


@pytest.fixture(scope="module")
def site(folder):
    """The address of the page on a server of files."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{laboratory.FOLDER}/"
        server.shutdown()


def fragment(text, more=""):
    return f"#text={laboratory.pack_text(text)}{more}"


def test_the_page_runs_a_scenario_and_shows_what_python_computes(visitor, site):
    with Page(visitor, site) as page:
        loaded = set(page.hosts)
        page.type(SHORT)
        page.run()
        expected = bp.run(bp.loads(SHORT).with_series(["goodput_bps"]))
        shown = page.value("studio.finished.find(studio.time.run).tables.flows.goodput_bps")
        assert shown == expected.flows["goodput_bps"].to_list()
        plots = {each["id"]: each for each in page.value("studio.plots.report()")}
        assert {"goodput", "window", "srtt", "queue", "losses"} <= plots.keys()
        assert sum(curve["points"] for curve in plots["window"]["curves"]) > 10
        # The value at the handle is that of the series.
        page.value("studio.time.set({ t: 3 })")
        page.until("studio.ready")
        known = page.value("studio.finished.find(studio.time.run).at(3).goodput_bps.bulk")
        assert known == expected.find_values(3.0)["goodput_bps"]["bulk"]
        assert "limited by" in page.page.inner_text("#why")
        assert "bentpipe why scenario.toml tries changes" in page.page.inner_text("#why")
        assert page.value("document.querySelectorAll('#topology .topology-node').length") == 2
        parts = page.value("studio.finished.find(studio.time.run).spent({ flow: 'bulk' }).parts")
        columns = {"start-up": "start_up_s", "fast recovery": "recovery_s", "congestion window": "cwnd_limited_s"}
        for part in parts:
            assert part["time_s"] == pytest.approx(expected.flows[columns[part["words"]]][0], abs=1e-6)
        # Nothing is fetched after loading.
        assert page.hosts == loaded


def test_an_error_is_marked_at_its_line_with_its_repair(visitor, site):
    with Page(visitor, site) as page:
        page.type(SHORT.replace('rate = "2 Mbit/s"', 'raet = "2 Mbit/s"'))
        page.until("document.querySelector('.lab-problem.is-error')")
        assert page.value("[...document.querySelectorAll('.lab-lines .is-error')].map((line) => line.textContent)") == [
            "6"
        ]
        said = page.page.inner_text("#problems")
        with pytest.raises(bp.errors.ScenarioError) as caught:
            bp.loads(SHORT.replace('rate = "2 Mbit/s"', 'raet = "2 Mbit/s"'))
        assert all(problem.message in said for problem in caught.value.problems)
        page.page.click("text=Use rate")
        page.until("document.querySelector('.lab-valid')")
        assert page.value("studio.editor.text()") == SHORT
        assert "No problem: 1 flow, 4 s" in page.page.inner_text("#problems")


def test_the_editor_completes_what_the_schema_knows(visitor, site):
    with Page(visitor, site) as page:
        page.type(SHORT + "[tcp]\ncc = ")
        page.page.focus(".lab-area")
        page.page.keyboard.type('"bbr')
        page.until("!document.querySelector('.lab-offers').hidden")
        offers = page.value("[...document.querySelectorAll('.lab-offers b')].map((each) => each.textContent)")
        assert offers == ["bbr1", "bbr2", "bbr3"]
        page.page.keyboard.press("ArrowDown")
        page.page.keyboard.press("Enter")
        page.until("document.querySelector('.lab-valid')")
        assert page.value("studio.editor.text()").endswith('cc = "bbr2"')
        tables = page.value("studio.complete.offers('[link.sat.').found.map((each) => each.name)")
        assert {"forward", "reverse"} <= set(tables)
        assert "jitter" in page.value("studio.complete.offers('[link.sat]\\nji').found.map((each) => each.name)")
        kinds = page.value("studio.complete.offers('[link.sat]\\nerror = { kind = \"').found.map((each) => each.name)")
        assert {"bit", "packet", "none"} <= set(kinds)


def test_a_comparison_has_single_runs_of_each_congestion_control(visitor, site):
    with Page(visitor, site + fragment(SHORT, "&cc=reno,bbr3&run")) as page:
        page.until("studio.compare.report()?.runs.length === 10 && !studio.compare.report().isRunning")
        runs = page.value("studio.compare.report().runs")
        for cc in ("reno", "bbr3"):
            for seed in (1, 3):
                expected = bp.run(bp.loads(SHORT).with_sets({"tcp.cc": cc}).with_seed(seed))
                shown = [run["goodput_bps"] for run in runs if (run["cc"], run["seed"]) == (cc, seed)]
                assert shown == expected.summary["goodput_bps"].to_list()
        said = page.page.inner_text("#compare")
        assert "single runs, without intervals" in said
        assert "bentpipe compare scenario.toml --cc reno,bbr3" in said
        # The axis has round marks, from zero to the first one beyond all runs.
        said = page.value(
            "[...document.querySelectorAll('.lab-dots [text-anchor=middle]')].map((each) => each.textContent)"
        )
        marks = [float(mark) for mark in said]
        most = max(run["goodput_bps"] for run in runs) / 1e6
        assert marks == pytest.approx(np.arange(len(marks)) * marks[1])
        assert marks[-2] < most <= marks[-1]
        assert f"{marks[1]:e}"[0] in "125"
        page.page.set_viewport_size({"width": 390, "height": 844})
        scroll = "document.querySelector('#compare .lab-scroll')"
        assert page.value(f"{scroll}.scrollWidth <= {scroll}.clientWidth")
        page.page.set_viewport_size({"width": 1280, "height": 720})


def test_the_sky_plot_hides_no_name_of_a_place(visitor, site):
    with Page(visitor, site + "#scenario=london-singapore") as page:
        for width in (1440, 1280):
            page.page.set_viewport_size({"width": width, "height": 800})
            page.until("studio.ready && studio.globe.state().satellites > 0")
            left, top, names = page.value("""(() => {
                const pen = CanvasRenderingContext2D.prototype;
                const fillText = pen.fillText;
                const ends = [];
                pen.fillText = function (text, x, y) {
                    if (["London", "Singapore"].includes(text)) ends.push([x + this.measureText(text).width, y]);
                };
                studio.globe.draw();
                pen.fillText = fillText;
                const plot = document.querySelector(".globe-skyplot");
                return [plot.offsetLeft, plot.offsetTop, ends];
            })()""")
            assert len(names) == 2
            assert all(end <= left or y < top for end, y in names)


def test_a_link_holds_the_whole_experiment(visitor, site):
    text = SHORT + "# 🛰 and “quotes”\n"
    with Page(visitor, site + fragment(text, "&run")) as page:
        page.until("studio.time.run?.startsWith('run') && studio.ready")
        assert page.value("studio.editor.text()") == text
        page.type(text.replace("4 s", "3 s"))
        page.page.click("#link")
        page.until("document.getElementById('say').textContent.includes('link')")
        address = page.page.url
    with Page(visitor, address) as page:
        assert page.value("studio.editor.text()") == text.replace("4 s", "3 s")
    with Page(visitor, site + "#text=damaged") as page:
        assert "damaged" in page.page.inner_text("#say")
        assert page.value("Boolean(studio.editor.text())")


def test_tables_and_the_figure_are_downloaded(visitor, site, tmp_path):
    with Page(visitor, site + fragment(SHORT, "&run")) as page:
        page.until("studio.time.run?.startsWith('run') && studio.ready")
        saved = {}
        for title in ("Scenario (TOML)", "All tables (JSON)", "Flows (CSV)", "Figure (SVG)", "Figure (PNG)"):
            page.page.click("#save summary")
            with page.page.expect_download() as started:
                page.page.click(f"#saves button:text-is('{title}')")
            saved[title] = tmp_path / started.value.suggested_filename
            started.value.save_as(saved[title])
        assert saved["Scenario (TOML)"].read_text() == SHORT
        expected = bp.run(bp.loads(SHORT)).flows.to_dicts()
        tables = json.loads(saved["All tables (JSON)"].read_text())
        assert tables["flows"] == expected
        (row,) = csv.DictReader(saved["Flows (CSV)"].read_text().splitlines())
        assert float(row["goodput_bps"]) == expected[0]["goodput_bps"]
        assert saved["Figure (SVG)"].read_text().count("clip-path=") == 5
        assert saved["Figure (PNG)"].read_bytes().startswith(b"\x89PNG")


def test_a_run_is_stopped_by_hand_and_by_its_limit(visitor, site):
    with Page(visitor, site + fragment(SHORT.replace('"4 s"', '"1 day"'))) as page:
        page.page.click("#run")
        page.until("document.getElementById('progress').value > 0")
        page.page.click("#stop")
        page.until("document.getElementById('say').textContent.startsWith('Stopped at') && studio.ready")
        assert 0 < page.value("studio.time.duration") < 86_400
        page.page.fill("#limit", "1")
        page.page.click("#run")
        page.until("document.getElementById('say').textContent.startsWith('Stopped after 1 s')")


def test_a_worker_that_fails_is_replaced_and_its_message_shown(visitor, site):
    with Page(visitor, site) as page:
        # JSON has no numbers of this kind: the worker ends, as it does after a panic.
        said = page.value("studio.core.ask({ check: { text: 1n } }).then(() => '', (error) => error.message)")
        assert "please report it" in said
        page.type(SHORT)
        page.until("document.querySelector('.lab-valid')")
        said = page.value("studio.core.run({ text: 1n }).then(() => '', (error) => error.message)")
        assert "please report it" in said
        page.run()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_on_a_narrow_screen_and_letters_have_contrast(visitor, site, scheme):
    with Page(visitor, site + fragment(SHORT, "&run")) as page:
        page.page.emulate_media(color_scheme=scheme)
        for width in (1280, 390):
            page.page.set_viewport_size({"width": width, "height": 844})
            page.until("studio.time.run?.startsWith('run') && studio.ready")
            for tab in ("curves", "tables", "compare", "defaults"):
                page.page.click(f"#tab-{tab}")
                assert page.value("document.documentElement.scrollWidth") <= width
        ratio = page.value("""(() => {
            const parts = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number).map((each) => each / 255)
                .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
            const weights = [0.2126, 0.7152, 0.0722];
            const light = (colour) => parts(colour).reduce((sum, each, index) => sum + each * weights[index], 0);
            const back = light(getComputedStyle(document.body).backgroundColor);
            return [".lab-valid", ".lab-foot", ".lab-say", ".lab-foot a", "#tab-tables"].map((name) => {
                const fore = light(getComputedStyle(document.querySelector(name)).color);
                return (Math.max(fore, back) + 0.05) / (Math.min(fore, back) + 0.05);
            });
        })()""")
        assert min(ratio) >= 4.5


def test_the_page_is_used_with_the_keyboard_alone(visitor, site):
    with Page(visitor, site + fragment(SHORT)) as page:
        press = page.page.keyboard.press
        seen = []
        page.page.focus("#scenario")
        for _ in range(9):
            seen.append(
                page.value(
                    "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
                )
            )
            press("Tab")
        assert seen[:7] == ["scenario", "run", "limit", "link", "SUMMARY", "scheme", "lab-area"]
        page.page.focus(".lab-area")
        press("Control+Enter")
        page.until("studio.time.run?.startsWith('run') && studio.ready")
        page.page.focus("#tab-curves")
        press("ArrowRight")
        assert page.value("!document.getElementById('tables').hidden && document.activeElement.id === 'tab-tables'")
        press("ArrowLeft")
        page.page.focus(".studio-handle")
        press("End")
        page.until("studio.time.t === studio.time.duration")
        # Escape, then Tab leaves the text.
        page.page.focus(".lab-area")
        press("Escape")
        press("Tab")
        assert page.value("document.activeElement !== document.querySelector('.lab-area')")


def test_one_file_works_from_a_folder_without_a_network(visitor, folder):
    with Page(visitor, (folder / laboratory.SINGLE).as_uri() + fragment(SHORT, "&run")) as page:
        page.until("studio.time.run?.startsWith('run') && studio.ready")
        assert page.value("studio.finished.find(studio.time.run).tables.summary.lost_packets[0] >= 0")
        assert {each for each in page.hosts if not each.startswith(("data:", "blob:"))} == {
            (folder / laboratory.SINGLE).as_uri()
        }


def test_guides_link_each_whole_scenario_to_the_page():
    page = f'# A page\n\n```toml\n{SHORT}```\n\n```toml\n[tcp]\ncc = "bbr3"\n```\n\n```\n$ bentpipe run\n```\n'
    found = laboratory.add_run_links(page, "guides/a/")
    assert found.count('class="run-this"') == 1
    assert f'href="../../try/#text={laboratory.pack_text(SHORT)}&amp;run"' in found
    assert 'class="run-this"' not in laboratory.add_run_links(f"```toml\n{SHORT}quic = {{}}\n```\n", "guides/a/")
    bundled = bp.load("geo").written[0]
    assert 'href="../../try/#scenario=geo&amp;run"' in laboratory.add_run_links(
        f"```toml\n{bundled}```\n", "gallery/geo/"
    )


def test_a_site_without_the_module_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(laboratory, "MODULE", tmp_path / "absent.wasm")
    pages = laboratory.make_files()
    assert b"wasm32-unknown-unknown" in pages["index.html"]
    assert set(pages) == {"index.html", laboratory.SINGLE}
    assert laboratory.SITE == SITE


@pytest.mark.parametrize("kind", ["level", "rate", "extremes", "count"])
def test_curves_are_those_of_the_studio(kind):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node")
    dice = np.random.default_rng(3)
    times, values = np.sort(dice.uniform(0, 60, 5000)), dice.normal(size=5000)
    extremes = (values - 1, values + 1)
    texts = map(laboratory.assets.text, ("static/source.js", "static/curves.js"))
    made = {
        "count": "studio.rows.events(times, 61)",
        "extremes": "studio.rows.curve('level', times, values, 61, extremes)",
    }.get(kind, f"studio.rows.curve('{kind}', times, values, 61)")
    kind_in_page = "level" if kind == "extremes" else kind
    program = f"""
        globalThis.studio = {{ palette: {{}} }};
        {" ".join(texts)}
        {(laboratory.WEB / "rows.js").read_text()}
        const [times, values, ...extremes] = {json.dumps([each.tolist() for each in (times, values, *extremes)])}
            .map((each) => Float64Array.from(each));
        const found = studio.curves.cut({made}, '{kind_in_page}', 10, 40, 90);
        console.log(JSON.stringify(["begins", "values", "least", "greatest"].map((name) => [...found[name]])));
    """
    done = subprocess.run([node, "-"], input=program, capture_output=True, text=True, check=True)
    if kind == "count":
        curve = Curve.from_events(times)
    else:
        curve = Curve.from_rows(kind_in_page, times, values, [(0.0, 61.0)], extremes if kind == "extremes" else None)
    expected = curve.cut(10, 40, 90)
    for name, found in zip(("begins", "values", "least", "greatest"), json.loads(done.stdout), strict=True):
        assert np.allclose(found, getattr(expected, name), rtol=1e-5, atol=1e-6), name


def test_a_teacher_shows_a_small_window_by_a_link(visitor, site):
    guide = (laboratory.ROOT / "docs" / "guides" / "try.md").read_text()
    (link,) = re.findall(r'class="run-this" href="../../try/(#[^"]*)"', laboratory.add_run_links(guide, "guides/try/"))
    with Page(visitor, site + link.replace("&amp;", "&")) as page:
        page.until("studio.time.run?.startsWith('run') && studio.ready")
        page.value("studio.time.set({ t: 20 })")
        page.until("studio.ready && document.getElementById('why').innerText.includes('at this moment')")
        page.until("document.getElementById('why').innerText.includes(\"limited by the receiver's window\")")
        goodput = page.value("studio.finished.find(studio.time.run).tables.summary.goodput_bps[0]")
    without = bp.run(bp.loads(laboratory._BLOCK.search(guide)[1], {"tcp": {}}), progress=False)
    assert f"goodput is {goodput / 1e6:.2f} Mbit/s" in guide
    assert f"goodput is {without.summary['goodput_bps'][0] / 1e6:.1f} Mbit/s" in guide


def test_the_page_shows_the_defaults_with_their_sources(visitor, site):
    with Page(visitor, site + fragment(SHORT)) as page:
        page.page.click("#tab-defaults")
        page.until("document.querySelector('#defaults pre')")
        assert page.value("document.querySelector('#defaults pre').textContent") == bp.loads(SHORT).resolve()
        page.type(SHORT.replace("4 s", "5 s"))
        page.until("document.querySelector('#defaults pre')?.textContent.includes('5 s')")
        page.type(SHORT.replace("rate", "raet"))
        page.until("document.getElementById('defaults').innerText.includes('has problems')")


def test_packets_of_a_span_are_those_of_the_studio(visitor, site):
    text = SHORT.replace("[flow.bulk]", 'error = { kind = "packet", rate = "2 %" }\n[flow.bulk]')
    result = bp.run(bp.loads(text).with_series(["losses"]), progress=False)
    with Page(visitor, site + fragment(text, "&run")) as page:
        page.until("studio.time.run?.startsWith('run') && studio.ready")
        # The handle is at a loss; the button zooms to less than two round trips.
        loss = result.series("losses").filter(pl.col("data_bytes") > 0)["time_s"][1]
        page.value(f"studio.time.set({{ t: {loss} }})")
        page.page.click("button:text-is('Packets')")
        page.until("studio.ready && studio.packets.report().sent > 0")
        start, end = page.value("[studio.time.from, studio.time.to]")
        for span in ((start, end), (0.0, 0.3), (1.0, 3.9)):
            asked = json.dumps({"flow": "bulk", "from": span[0], "to": span[1]})
            shown = page.value(f"studio.source.packets(studio.time.run, {asked})")
            expected = Packets(result).between("bulk", *span)
            assert shown.keys() == expected.keys()
            for kind in ("sent", "retransmitted", "acked", "sacked", "lost"):
                assert len(shown[kind]) == len(expected[kind])
                for one, other in zip(shown[kind], expected[kind], strict=True):
                    assert one[0] == pytest.approx(other[0], abs=1e-8)
                    assert one[1:] == other[1:]
        assert all(len(expected[kind]) > 0 for kind in ("sent", "retransmitted", "acked", "sacked", "lost"))
        assert page.value("studio.plots.panels().find((panel) => panel.about.id === 'packets').box.hidden") is False


def test_built_in_settings_act_as_the_class_of_a_lesson():
    lesson = lessons.lesson("custom-congestion-control")
    assert "Gentle" in lesson.texts[1]
    shown = bp.run(bp.loads(lesson.texts_without_python[1]), progress=False)
    expected = bp.run(lesson.scenario, {**lesson.steps[1].sets, "tcp.cc": Gentle}, progress=False)
    assert shown.flows["goodput_bps"][0] == pytest.approx(expected.flows["goodput_bps"][0], rel=0.01)
    assert shown.flows["goodput_bps"][0] > 15e6  # Reno has less than half of it.
    assert all(laboratory.is_whole(text) for text in lesson.texts_without_python)


def test_each_step_of_a_lesson_runs_and_moves_the_handle(visitor, site):
    page_text = laboratory.make_lessons()
    links = [each.replace("&amp;", "&") for each in re.findall(r'href="../../try/(#[^"]*)"', page_text)]
    steps = [step for name in lessons.names() for step in lessons.lesson(name).steps]
    assert len(links) == len(steps) > 15
    chosen = list(range(len(links))) if "BENTPIPE_ALL" in os.environ else [0, 5]
    with Page(visitor, site) as page:
        for number in chosen:
            page.page.goto(site + links[number])
            moved = f"Math.abs(studio.time.t - {steps[number].t}) < 1e-6"
            page.until(f"studio.time.run?.startsWith('run') && {moved} && studio.ready")
            if steps[number].end:
                assert page.value("studio.time.to") == min(steps[number].end, page.value("studio.time.duration"))
            page.value("studio.time.set({ t: 0 })")


def test_a_dropped_file_is_there_for_scenarios_that_name_it(visitor, site):
    text = SHORT.replace('rate = "2 Mbit/s"', 'rate = { file = "up.trace", format = "mahimahi" }')
    with Page(visitor, site + fragment(text)) as page:
        assert "dropped on the page" in page.page.inner_text("#problems")
        trace = "".join(f"{at}\n" for at in range(0, 1000, 7))
        page.value(f"studio.laboratory.take('up.trace', {json.dumps(trace)})")
        page.until("document.querySelector('.lab-valid')")
        page.run()
        assert page.value("studio.finished.find(studio.time.run).tables.summary.goodput_bps[0] > 0")
        page.value(f"studio.laboratory.take('mine.toml', {json.dumps(SHORT)})")
        page.until("studio.editor.text().includes('2 Mbit/s') && document.querySelector('.lab-valid')")
