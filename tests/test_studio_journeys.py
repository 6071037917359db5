"""Journeys through the studio in a browser, without a console error, and with requests to its own server only."""

import re
import shutil

import pytest

import bentpipe as bp
from tests.studio_pages import MINE, WAIT_MS, Page, server

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def studio(browser, tmp_path_factory):
    pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")
    folder = tmp_path_factory.mktemp("journeys")
    (folder / "mine.toml").write_text(MINE)
    bp.run(bp.loads(MINE)).save(folder / "saved")
    with server(folder, "mine.toml") as (_, host, token):
        yield folder, f"http://{host}/{token}/"


@pytest.fixture
def page(visitor, studio):
    with Page(visitor, studio[1]) as opened:
        yield opened


def test_j1_a_page_opens_with_text_and_network_and_nothing_is_run(page, studio):
    folder, _ = studio
    page.until("document.querySelectorAll('#studio-topology svg text').length > 2")
    assert page.value("document.documentElement.lang") == "en-GB"
    assert page.page.get_by_role("heading", level=1).inner_text() == "bentpipe studio"
    assert page.button("Run").is_enabled()
    assert page.button("Share").is_disabled()
    assert not (folder / ".studio").exists() or page.value("studio.time.run").isalnum()


def test_j2_a_broken_value_is_underlined_listed_and_repaired(page):
    page.type(MINE.replace('app = "greedy"', 'app = "greedi"'))
    page.page.wait_for_selector(".cm-content .page-error")
    assert page.page.locator(".cm-content .page-error").first.inner_text() == '"greedi"'
    assert page.button("Run").is_disabled()
    page.button("Use greedy").click()
    page.page.wait_for_selector(".page-valid")
    assert page.button("Run").is_enabled()
    assert 'app = "greedy"' in page.page.locator(".cm-content").inner_text()


def test_j3_a_long_run_shows_its_progress_and_stop_keeps_the_part(page):
    page.type(MINE.replace('"20 s"', '"1000000 s"'))
    page.page.wait_for_selector("text=1e+06 s")
    page.button("Run").click()
    page.page.wait_for_selector(".page-job >> text=simulated")
    page.button("Stop").click()
    page.until("new URLSearchParams(location.search).get('run') && !document.querySelector('.page-job')")
    page.until("studio.ready && studio.state().plots.length >= 5")
    assert page.value("studio.time.duration") < 1_000_000


def test_j4_the_handle_and_the_zoom_move_all_plots(page):
    page.run()
    page.until("studio.state().plots.length >= 5")
    page.page.locator("#studio-strip [role=slider]").focus()
    page.page.keyboard.press("l")
    page.until("studio.time.t > 0")
    loss = page.value("studio.time.t")
    page.page.keyboard.press("ArrowRight")
    page.until(f"studio.time.t > {loss}")
    box = page.page.locator("#studio-plots .u-over").first.bounding_box()
    page.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20, steps=5)
    page.page.mouse.up()
    page.until("studio.time.from > 4 && studio.time.to < 11 && studio.ready")
    drawn = "studio.state().plots.filter((plot) => plot.curves.length)"
    page.until(f"{drawn}.every(({{ x }}) => x[0] === studio.time.from && x[1] === studio.time.to)")
    page.page.locator("#studio-plots .u-over").first.dblclick()
    page.until("studio.time.from === 0 && studio.time.to === studio.time.duration")


def test_j5_a_pinned_run_is_behind_the_next_one(page):
    first = page.run()
    page.button("Pin").click()
    page.until(f'studio.time.pin === "{first}"')
    page.tab("Form")
    page.page.get_by_label("Search keys").fill("tcp.cc")
    page.page.get_by_label("tcp.cc", exact=True).first.click()
    page.page.get_by_role("option", name="reno", exact=True).click()
    page.page.wait_for_function("document.querySelector('.page-valid')")
    page.tab("Text")
    page.page.wait_for_selector(".cm-content >> text=reno")
    second = page.run()
    assert second != first
    page.until("studio.state().plots[0].curves.some((curve) => curve.behind.some((count) => count > 0))")
    # The address has it all.
    page.value("studio.time.set({ t: 7, from: 5, to: 9 })")
    page.until("location.search.includes('from=5')")
    page.page.reload()
    page.page.wait_for_selector(".page-valid")
    page.until("studio.time.t === 7 && studio.time.from === 5 && studio.time.to === 9")
    assert page.value("[studio.time.run, studio.time.pin]") == [second, first]


def test_j6_compare_shows_intervals_and_statements(page):
    page.tab("Compare")
    page.page.get_by_role("tabpanel", name="Compare").get_by_label("Replications").fill("3")
    page.page.locator("button:visible", has_text="Start").click()
    page.page.wait_for_selector("text=/cubic .* than bbr3|bbr3 .* than cubic|no difference/")
    page.page.wait_for_selector("text=bentpipe compare mine.toml")
    assert page.page.locator(".page-echart canvas").count() == 1


def test_j7_a_sweep_fills_its_map_and_a_cell_becomes_the_run(page):
    page.tab("Sweep")
    panel = page.page.get_by_role("tabpanel", name="Sweep")
    panel.get_by_label("Replications").fill("1")
    page.page.locator("button:visible", has_text="Start").click()
    page.page.wait_for_selector("text=bentpipe sweep mine.toml")
    before = page.value("studio.time.run")
    box = page.page.locator(".page-echart:visible canvas").first.bounding_box()
    page.page.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.5)
    page.until(f'studio.time.run !== "{before}" && studio.ready')
    page.page.wait_for_selector("#studio-plots:visible")


def test_j8_a_saved_run_is_opened_from_the_library(page):
    page.tab("Library")
    images = page.page.locator(".page-card img")
    images.first.scroll_into_view_if_needed()
    page.until("[...document.querySelectorAll('.page-card img')].some((image) => image.naturalWidth > 0)")
    page.page.locator(".page-entry", has_text="saved: run").get_by_role("button", name="Open").click()
    page.until("studio.time.duration === 20 && studio.ready && studio.state().plots.length >= 5")
    page.tab("Tables")
    page.page.wait_for_selector(".ag-cell >> text=transfer")


def test_j9_share_and_export_make_files(page, tmp_path):
    page.run()
    page.until("studio.state().plots.length >= 5")
    with page.page.expect_download() as shared:
        page.button("Share").click()
    shared.value.save_as(tmp_path / "shared.html")
    assert "<!doctype html>" in (tmp_path / "shared.html").read_text()[:100]
    page.value("studio.time.set({ from: 5, to: 9 })")
    for title, start in (("SVG", b"<?xml"), ("PDF", b"%PDF"), ("PNG", b"\x89PNG")):
        page.button("Export").click()
        with page.page.expect_download() as figure:
            page.page.get_by_text(f"Figure of the visible part, {title}").click()
        figure.value.save_as(tmp_path / title)
        assert (tmp_path / title).read_bytes().startswith(start)
    assert "bentpipe run" in (tmp_path / "SVG").read_text()


def test_j10_present_leaves_plots_sky_handle_and_reasons(page):
    page.run()
    page.tab("Tables")
    page.button("Present").click()
    page.until("!document.querySelector('.page-left').offsetParent")
    for name in ("plots", "why", "strip"):
        assert page.page.locator(f"#studio-{name}").is_visible()
    size = "parseFloat(getComputedStyle(document.querySelector('#studio-plots .studio-head h2')).fontSize)"
    assert page.value(size) == pytest.approx(1.6 * 13)
    assert page.value("studio.letters") == 1.6
    page.until("document.querySelector('.topology-label')?.getScreenCTM().a > 1.2")
    letters = """['.topology-name', '.topology-label'].map((each) => {
        const text = document.querySelector(each);
        return text.getScreenCTM().a * parseFloat(getComputedStyle(text).fontSize);
    })"""
    assert min(page.value(letters)) >= 14
    # All of it is visible.
    heights = "['scrollHeight', 'clientHeight'].map((name) => document.querySelector('.topology-stage')[name])"
    whole, shown = page.value(heights)
    assert whole <= shown
    page.page.keyboard.press("Escape")
    page.until("document.querySelector('.page-left').offsetParent")
    assert page.value(size) == pytest.approx(13)


def test_the_sky_plot_hides_nothing_of_the_globe(page):
    found = page.value("""[1, 1.6].flatMap((letters) => {
        studio.letters = letters;
        return [[354, 290], [354, 150], [480, 240], [700, 700], [1100, 400]].map(([width, height]) => {
            const { radius, middle: [x, y] } = studio.skyplot.room(width, height);
            const [right, below] = [width - 58 * letters - x, height - 88 * letters - y];
            return { radius, left: x - radius, gap: Math.hypot(right, below) - radius - 44 * letters };
        });
    })""")
    assert all(each["radius"] >= 40 and each["left"] >= 0 and each["gap"] > 0 for each in found), found


def test_the_globe_shows_delays_with_their_range(page):
    sky = '[sky]\nover = { geo = 57 }\n[flow.transfer]\nfrom = "London"\nto = "Singapore"\n'
    page.type(f'duration = "3 s"\n{sky}')
    page.page.wait_for_selector("text=No problem")
    page.run()
    pick = page.page.get_by_label("What the globe shows")
    pick.select_option("Satellites in view")
    page.until("studio.globe.state().layer.legend?.join() === '0,1 in view'")
    (geo,) = bp.loads(f'duration = "3 s"\n{sky}').sky().constellations
    for choice, to in (("Delay to a satellite", None), ("Delay to Singapore", "Singapore")):
        delays = 1000 * geo.coverage(0, 1, 1, to=to, cell=2).cells["delay_s"]
        pick.select_option(choice)
        page.until(f"studio.globe.state().layer.legend?.join() === '{delays.min():.0f},{delays.max():.0f} ms'")
    page.run()
    page.until("studio.globe.state().layer.text === 'Delay to Singapore' && studio.globe.state().layer.legend")
    assert pick.locator("option:checked").inner_text() == "Delay to Singapore"
    pick.select_option("Passes")
    page.page.wait_for_selector(".globe-passes >> text=1 pass, 1 at")
    assert not page.page.locator(".globe-skyplot").is_visible()


def test_axe_finds_nothing_in_either_scheme(page):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    ).Axe()
    page.run()
    page.until("studio.state().plots.length >= 5")
    # Names, roles and order are the same in both schemes.
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.scheme(scheme)
        options = {"resultTypes": ["violations"], **rules}
        # The whole page, then the panel of each other tab.
        for tab in ("Text", "Form", "Command", "Run", "Compare", "Sweep", "Tables", "Library", "Topology"):
            page.tab(tab)
            page.page.wait_for_load_state("networkidle")
            place = None if tab == "Text" else {"include": [[".q-tabs"], [f'[role=tabpanel][aria-label="{tab}"]']]}
            found = axe.run(page.page, context=place, options=options).response["violations"]
            assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == [], (tab, scheme)


def test_the_scheme_of_colours_is_chosen(page):
    for name, is_dark in (("dark", True), ("light", False)):
        page.page.get_by_role("button", name=re.compile("^Colours")).click()
        page.until(f"document.documentElement.dataset.scheme === '{name}'")
        assert page.value("Quasar.Dark.isActive") == is_dark


def test_a_page_says_that_its_server_has_gone(visitor, tmp_path):
    (tmp_path / "mine.toml").write_text(MINE)
    with server(tmp_path, "mine.toml") as (process, host, token):
        opened, never = Page(visitor, f"http://{host}/{token}/"), visitor.new_page()
        # It ends before this page is connected.
        elsewhere = "constructor(url) { super(url.replace(/:[0-9]+/, ':1')); }"
        never.add_init_script(f"globalThis.WebSocket = class extends WebSocket {{ {elsewhere} }}")
        never.route("**/socket.io/**", lambda route: route.abort())
        never.goto(opened.url)
        opened.until("studio.source")
        assert not opened.page.is_visible("text=The studio has ended")
        process.kill()
        for page in (opened.page, never):
            page.wait_for_selector("text=The studio has ended", timeout=WAIT_MS)
            page.close()


def test_columns_stack_on_a_narrow_page_and_the_handle_stays(page):
    page.run()
    page.page.set_viewport_size({"width": 800, "height": 900})
    page.until("document.querySelector('.page-right').clientHeight > 500 && studio.ready")
    page.page.locator("#studio-why").scroll_into_view_if_needed()
    views = "['.page-editor', '#studio-plots', '#studio-why']"
    heights = page.value(f"{views}.map((view) => document.querySelector(view).clientHeight)")
    assert min(heights) > 200
    assert page.value("document.documentElement.scrollWidth") <= 800
    box = page.page.locator("#studio-strip").bounding_box()
    assert box["y"] + box["height"] <= 900


def test_a_row_of_the_transfers_is_shown_in_the_plots(page):
    page.type(MINE.replace('app = "greedy"', 'app = { kind = "page", model = "3gpp2" }\nstart = "3 s"'))
    page.page.wait_for_selector("text=No problem")
    page.run()
    page.tab("Tables")
    page.button("transfers").click()
    page.page.locator(".ag-cell", has_text="transfer").first.click()
    page.until("studio.time.t === 3 && studio.time.from > 2 && studio.time.to < 12 && studio.ready")
    page.page.wait_for_selector("#studio-plots:visible")


def test_j11_a_search_shows_its_rungs_and_is_opened_again_from_the_library(page):
    page.type(
        MINE.replace('"20 s"', '"4 s"') + '[tune]\nvary = { tcp.initial_window = ["10 segments", "40 segments"] }\n'
    )
    page.page.wait_for_selector("text=/No problem: .* 4 s/")
    page.tab("Tune")
    panel = page.page.get_by_role("tabpanel", name="Tune")
    panel.get_by_label("Objective").fill("goodput")
    page.page.get_by_role("option", name=re.compile("^goodput:")).first.click()
    page.page.locator("button:visible", has_text="Start").click()
    panel.locator(".page-rungs", has_text="search").wait_for()
    panel.get_by_text("seeds that the search did not use").wait_for()
    assert panel.locator(".page-echart canvas").count() == 1
    page.tab("Library")
    page.page.locator(".page-entry", has_text="a search").get_by_role("button", name="Open").first.click()
    panel.locator(".page-rungs:visible").first.wait_for()


def test_a_tall_network_and_a_long_title_are_whole(visitor, tmp_path):
    pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")
    parts = ['title = "Six terminals behind one gateway, each with another rate of its link"\nduration = "2 s"']
    parts.append('[link.sat]\nfrom = "server"\nto = "gateway"\nrate = "20 Mbit/s"\ndelay = "250 ms"')
    for number in range(1, 7):
        ends = f'to = "terminal{number}"'
        parts.append(f'[link.user{number}]\nfrom = "gateway"\n{ends}\nrate = "{number} Mbit/s"\ndelay = "20 ms"')
        parts.append(f'[flow.f{number}]\nfrom = "server"\n{ends}')
    (tmp_path / "tall.toml").write_text("\n".join(parts))
    sizes = """(name) => ['Height', 'Width'].every((side) => {
        const found = document.querySelector(name);
        return found[`scroll${side}`] <= found[`client${side}`];
    })"""
    with server(tmp_path, "tall.toml") as (_, host, token), Page(visitor, f"http://{host}/{token}/") as page:
        page.run()
        page.tab("Form")
        page.until("document.querySelector('.page-field textarea')?.offsetParent")
        page.until(f"({sizes})('.page-field textarea')")
        page.button("Present").click()
        page.until(f"document.querySelector('.page-right.is-tall') && ({sizes})('.topology-stage')")
        page.page.keyboard.press("Escape")
        page.until("!document.querySelector('.page-right.is-tall')")


@pytest.mark.parametrize("delay_ms", [40, 100])
def test_typed_text_stays_as_it_is_typed_and_is_saved(page, studio, delay_ms):
    folder, _ = studio
    page.page.locator(".cm-content").click()
    page.page.keyboard.press("Control+Home")
    # The text is broken at first, then valid, and the colours change meanwhile.
    page.page.keyboard.type("seed = 7 # a quick brown fox ", delay=delay_ms)
    page.page.emulate_media(color_scheme="dark")
    page.page.keyboard.type("jumps over the lazy dog\n", delay=delay_ms)
    page.page.keyboard.press("Control+s")
    page.page.wait_for_selector("text=saved mine.toml")
    written = (folder / "mine.toml").read_text()
    (folder / "mine.toml").write_text(MINE)
    assert written == f"seed = 7 # a quick brown fox jumps over the lazy dog\n{MINE}"


def test_a_page_with_unsaved_text_is_not_left_without_a_question(page, studio):
    asked = []
    page.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.page.reload()
    page.page.wait_for_selector(".page-valid")
    page.page.locator(".cm-content").click()
    page.page.keyboard.type("# ")
    page.page.wait_for_selector("text=mine.toml (changed)")
    assert asked == []
    page.page.reload()
    page.page.wait_for_selector(".page-valid")
    assert asked == ["beforeunload"]


def test_a_page_takes_a_file_that_was_changed_meanwhile_and_shows_no_other_picture(page, studio):
    folder, _ = studio
    page.until("document.querySelectorAll('#studio-topology svg text').length > 2")
    (folder / "empty.toml").write_text("")
    try:
        for text in (f"{MINE}[", ""):
            (folder / "mine.toml").write_text(text)
            page.value("dispatchEvent(new Event('focus'))")
            page.page.wait_for_selector(".page-problem-error")
        page.page.get_by_label("Scenario", exact=True).first.fill("empty")
        page.page.get_by_role("option", name="empty.toml").click()
        page.until("studio.time.run === null && studio.ready")
        assert page.page.locator("#studio-topology svg text:visible").count() == 0
    finally:
        (folder / "mine.toml").write_text(MINE)
        (folder / "empty.toml").unlink(missing_ok=True)


def test_a_page_leaves_a_run_that_was_removed(page, studio):
    folder, _ = studio
    run = page.run()
    page.until("studio.state().plots.length >= 5 && location.search.includes('run=')")
    shutil.rmtree(folder / ".studio" / "runs" / run)
    page.value("studio.time.set({ t: 3, from: 2, to: 5 })")
    page.page.wait_for_selector(f"text=there is no run {run}")
    page.page.wait_for_selector("text=Not run yet")
    page.page.wait_for_selector("#studio-why >> text=Run the scenario")
    page.until("studio.ready && !location.search.includes('run=')")
    assert page.page.locator(".studio-error").inner_text() == ""
    assert page.page.locator("#studio-strip .studio-key").count() == 0
    assert page.page.get_by_text(f"there is no run {run}").count() == 1
    assert page.button("Share").is_disabled()
    # The browser and the views write each refusal.
    assert all("404" in said or "there is no run" in said for said in page.printed)
    page.printed.clear()
