"""Places and sizes on the page of the studio in a browser: all parts can be read and clicked."""

import pytest

import bentpipe as bp
from tests.studio_pages import MINE, Page, server

pytestmark = pytest.mark.timeout(300)
WHITE = "rgb(255, 255, 255)"
FITS = "(element) => element.scrollWidth <= element.clientWidth"


@pytest.fixture(scope="module")
def studio(browser, tmp_path_factory):
    pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")
    folder = tmp_path_factory.mktemp("layout")
    (folder / "mine.toml").write_text(MINE)
    bp.run(bp.loads(MINE)).save(folder / "saved")
    with server(folder, "mine.toml", "--jobs", "2") as (_, host, token):
        yield folder, f"http://{host}/{token}/"


@pytest.fixture
def page(visitor, studio):
    with Page(visitor, studio[1]) as opened:
        yield opened


def test_each_of_six_jobs_has_its_state_and_a_stop_that_can_be_clicked(visitor, tmp_path):
    (tmp_path / "long.toml").write_text(MINE.replace('"20 s"', '"1000000 s"'))
    with (
        server(tmp_path, "long.toml", "--jobs", "2") as (_, host, token),
        Page(visitor, f"http://{host}/{token}/") as page,
    ):
        jobs = page.page.locator(".page-job")
        for number in range(6):
            page.button("Run").click()
            jobs.nth(number).wait_for()
        for width in (1280, 1024, 400):
            page.page.set_viewport_size({"width": width, "height": 720})
            for job in jobs.all():
                assert job.get_by_text("run: ").evaluate(FITS)
                job.get_by_role("button", name="Stop").click(trial=True)
            assert page.value("document.documentElement.scrollWidth") <= width


def test_a_message_has_two_lines_and_a_close_that_can_be_read(page, studio):
    folder, _ = studio
    (folder / "latin1.toml").write_bytes(b"title = '\xe9'\n")
    page.tab("Library")
    page.page.locator(".page-entry", has_text="latin1.toml").get_by_role("button", name="Open").click()
    said = page.page.locator(".q-notification__message")
    said.wait_for()
    expected = "latin1.toml is not text in UTF-8 (byte 0xe9 in line 1)\nexpected a scenario, saved as UTF-8"
    assert said.inner_text() == expected
    close = page.page.locator(".q-notification button")
    assert close.evaluate("(button) => getComputedStyle(button).color") == WHITE
    close.click()
    (folder / "latin1.toml").unlink()


def test_a_damaged_table_is_named_as_in_the_folder(page, studio):
    folder, _ = studio
    run = page.run()
    (folder / ".studio" / "runs" / run / "links.parquet").write_bytes(b"PAR1")
    page.tab("Tables")
    page.button("links").click()
    said = page.page.get_by_text("is damaged")
    said.wait_for()
    table = f".studio/runs/{run}/links.parquet"
    expected = f"{table} is damaged: its checksum is not that of the table that was written\nput a copy back, or"
    assert said.inner_text().startswith(expected)


def test_the_buttons_of_the_tables_fit_their_panel(page):
    page.tab("Tables")
    toggle = page.page.locator(".page-panels .q-btn-toggle")
    page.button("summary").click()
    assert toggle.evaluate("(element) => element.closest('.page-fill').scrollLeft") == 0
    assert toggle.evaluate(f"(element) => ({FITS})(element.closest('.page-fill'))")


def test_a_shared_file_with_a_sky_fits_a_narrow_screen(browser, tmp_path):
    sky = '[sky]\nover = "starlink-shell-1"\n[flow.f]\nfrom = "London"\nto = "Singapore"\n'
    bp.run(bp.loads(f'duration = "6 s"\n{sky}')).explore().save(tmp_path / "shared.html")
    context = browser.new_context(viewport={"width": 400, "height": 800}, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "shared.html").as_uri())
    page.locator(".globe-line", has_text="one way").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    boxes = {
        name: page.locator(name).first.bounding_box() for name in (".studio-track", ".globe select", ".globe-skyplot")
    }
    assert boxes[".studio-track"]["width"] > 150
    assert boxes[".globe-skyplot"]["y"] > boxes[".globe select"]["y"] + boxes[".globe select"]["height"]
    # All of the reasons is visible.
    whole, shown = page.evaluate(
        "['scrollHeight', 'clientHeight'].map((name) => document.querySelector('.studio-why')[name])"
    )
    assert whole <= shown
    context.close()


def test_a_legend_that_is_too_long_ends_with_an_ellipsis(page):
    page.run()
    page.until("studio.state().plots.length >= 5")
    head = page.page.locator(".studio-panelbar .studio-head").first
    assert head.evaluate("(head) => getComputedStyle(head).textOverflow") == "ellipsis"
    inline = "(head) => [...head.children].every((each) => getComputedStyle(each).display === 'inline')"
    assert head.evaluate(inline)


def test_a_wide_network_has_its_route_in_view_and_says_that_it_scrolls(visitor, studio):
    with Page(visitor, f"{studio[1]}?scenario=geo-access") as page:
        page.page.locator("#studio-topology p", has_text="Scroll the drawing").wait_for(timeout=20_000)
        visible = """() => {
            const stage = document.querySelector('.topology-stage').getBoundingClientRect();
            const names = [...document.querySelectorAll('.topology-name')].filter((each) => {
                const box = each.getBoundingClientRect();
                return box.left >= stage.left && box.right <= stage.right;
            });
            return names.map((each) => each.textContent);
        }"""
        assert {"clear30", "gateway", "server"} <= set(page.value(visible))


def test_a_search_for_a_scenario_takes_its_first_match_and_replaces_the_last_one(page, studio):
    folder, _ = studio
    for number in (1, 2):
        (folder / f"many{number}.toml").write_text(MINE)
    page.page.reload()
    page.page.wait_for_selector(".page-valid")
    field = page.page.locator(".page-picker input").first
    for name in ("many1", "many2"):
        field.click()
        page.page.keyboard.type(name, delay=20)
        page.page.locator(".q-menu .q-item").nth(0).wait_for()
        page.until("document.querySelectorAll('.q-menu .q-item').length === 1")
        page.page.keyboard.press("Enter")
        page.page.locator(".page-file", has_text=f"{name}.toml").wait_for(timeout=20_000)
    for number in (1, 2):
        (folder / f"many{number}.toml").unlink()


def test_the_editor_says_how_the_keyboard_leaves_it(page):
    hint = "Tab indents. Escape, then Tab leaves the text."
    text = page.page.locator(".cm-content")
    assert text.get_attribute("aria-description") == hint
    said = "JSON.parse(getComputedStyle(document.querySelector('.page-editor'), '::after').content)"
    page.page.locator(".cm-line").first.click()
    assert page.value(said) == hint
