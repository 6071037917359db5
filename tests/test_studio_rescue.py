"""A page of the studio loses no text: busy pages, pages without a network, killed servers, reloads, and Back."""

import contextlib
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")

from bentpipe.studio.folders import UNSAVED_MAX, Folder
from tests.studio_pages import SHORT, WAIT_MS, Page, on_pages, server, until
from tests.watched import wait_until

pytestmark = pytest.mark.timeout(300)
TYPED = SHORT.replace("# The way over the satellite.", "# Typed while offline.")
INTERRUPTED = "text=The connection to the studio is interrupted"
ENDED = "text=The studio has ended"

BRIEF = """
import sys
from bentpipe.studio import serve
serve.RECONNECT_S, serve.PING_S, serve.SILENT_S = {reconnect_s}, {ping_s}, {silent_s}
sys.argv = ["bentpipe", "studio", "--no-browser", "short.toml"]
from bentpipe.__main__ import main
main()
"""
"""A studio with other periods."""


@contextlib.contextmanager
def brief_server(folder, **periods):
    """A studio in another process whose periods are tests'."""
    command = [sys.executable, "-c", BRIEF.format(**periods)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            found = re.search(r"http://(\S+?)/(\S+)/", process.stdout.readline())
            yield process, f"http://{found[1]}/{found[2]}/"
        finally:
            process.kill()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    return tmp_path


def test_unsaved_texts_are_kept_by_name_and_the_oldest_go(tmp_path):
    folder = Folder(tmp_path)
    folder.keep_unsaved("a/b.toml", "x = 1\n")
    folder.keep_unsaved("a/b.toml", "ü = 2\n")
    assert folder.read_unsaved("a/b.toml") == "ü = 2\n"
    assert folder.read_unsaved("b.toml") is None
    for number in range(UNSAVED_MAX + 5):
        folder.keep_unsaved(f"{number}.toml", str(number))
    assert len(list(folder.unsaved_path.iterdir())) == UNSAVED_MAX
    assert folder.read_unsaved("a/b.toml") is None
    assert folder.read_unsaved(f"{UNSAVED_MAX + 4}.toml") == str(UNSAVED_MAX + 4)
    folder.drop_unsaved(f"{UNSAVED_MAX + 4}.toml")
    folder.drop_unsaved("never.toml")
    assert folder.read_unsaved(f"{UNSAVED_MAX + 4}.toml") is None


def found(user, marker):
    from nicegui import ElementFilter

    with user:
        return list(ElementFilter(marker=marker))


def test_an_older_text_waits_for_a_decision(folder):
    Folder(folder).keep_unsaved("short.toml", TYPED)

    async def act(studio, user):
        (offer,) = found(user, "offer")
        await until(lambda: found(user, "valid"))
        assert offer.visible
        found(user, "editor")[0].value = SHORT.replace('"short"', '"newer"')
        await until(lambda: user.session.scenario and user.session.scenario.title == "newer")
        assert studio.folder.read_unsaved("short.toml") == TYPED
        user.find(marker="discard-unsaved").click()
        await until(lambda: not offer.visible)
        assert studio.folder.read_unsaved("short.toml") == SHORT.replace('"short"', '"newer"')
        found(user, "editor")[0].value = SHORT
        await until(lambda: studio.folder.read_unsaved("short.toml") is None)

    on_pages(folder, act)


def test_many_reloads_leave_room_for_pages(folder, monkeypatch):
    from bentpipe.studio import page

    monkeypatch.setattr(page, "PAGES_MAX", 1)

    async def act(studio, user):
        (old,) = studio.pages
        studio.pages[old].is_connected = lambda: False
        await user.open("/")
        (new,) = studio.pages
        assert new != old
        # A page that somebody looks at stays.
        studio.pages[new].is_connected = lambda: True
        await user.open("/")
        await user.should_see("1 pages of this studio are open")
        assert [*studio.pages] == [new]

    on_pages(folder, act)


class Rescued(Page):
    """A page that may print the errors of a lost connection."""

    def __exit__(self, kind, *_):
        self.page.close(run_before_unload=False)

    def text(self):
        return self.page.locator(".cm-content").inner_text()

    def state(self, name):
        self.until(f"studio.connection.state === '{name}'")


class Withheld:
    """A browser that gets nothing from the server's socket until it is let through."""

    def __init__(self, visitor):
        self._visitor, self._held = visitor, []

    def new_page(self):
        page = self._visitor.new_page()
        page.route_web_socket("**/*", self._connect)
        return page

    def _connect(self, browser):
        server = browser.connect_to_server()
        server.on_message(lambda said: browser.send(said) if self._held is None else self._held.append((browser, said)))

    def let_through(self):
        held, self._held = self._held, None
        for browser, said in held:
            browser.send(said)


def test_what_is_typed_before_the_connection_stays(visitor, folder):
    browser = Withheld(visitor)
    with (
        server(folder, "short.toml") as (_, host, token),
        Rescued(browser, f"http://{host}/{token}/", ready=".cm-content") as page,
    ):
        page.type(TYPED)
        browser.let_through()
        page.page.wait_for_selector(".page-file >> text=(changed)")
        assert "Typed while offline" in page.text()
        page.button("Save").click()
        wait_until(lambda: (folder / "short.toml").read_text() == TYPED, "the text is saved")


def test_what_is_typed_before_the_connection_survives_its_end(visitor, folder):
    browser = Withheld(visitor)
    with (
        server(folder, "short.toml") as (_, host, token),
        Rescued(browser, f"http://{host}/{token}/", ready=".cm-content") as page,
    ):
        page.page.on("dialog", lambda dialog: dialog.accept())
        page.type(TYPED)
        visitor.set_offline(True)
        try:
            page.value("socket.io.engine.close()")
            page.until("sessionStorage.getItem('bentpipe-unsaved')?.includes('offline')")
        finally:
            visitor.set_offline(False)
        # A page of the same tab that begins offers the text.
        page.page.reload()
        browser.let_through()
        page.button("Show it").click()
        page.until("document.querySelector('.cm-content').textContent.includes('offline')")


def test_a_busy_page_keeps_its_connection(visitor, folder):
    # The page is busy for longer than the period of the server's questions and the former longest wait together.
    with brief_server(folder, reconnect_s=120, ping_s=0.2, silent_s=60) as (_, url), Rescued(visitor, url) as page:
        page.value("socket.on('disconnect', () => (globalThis.lost = true))")
        page.value("(() => { const t = performance.now(); while (performance.now() - t < 3000); })()")
        page.type(TYPED)
        page.page.keyboard.press("Control+s")
        # The name alone is not enough: until the server has the new text, it reads as if nothing were left to save.
        wait_until(lambda: (folder / "short.toml").read_text() == TYPED, "the text is saved")
        assert page.value("globalThis.lost") is None


def test_a_page_without_a_network_goes_on_where_it_was(visitor, folder):
    with server(folder, "short.toml") as (_, host, token), Rescued(visitor, f"http://{host}/{token}/") as page:
        visitor.set_offline(True)
        try:
            page.value("socket.io.engine.close()")
            page.page.wait_for_selector(INTERRUPTED)
            assert not page.page.is_visible(ENDED)
            page.type(TYPED)
            # No control pretends to work.
            assert page.value("document.querySelector('.page-tools').inert")
            with pytest.raises(Exception, match="Timeout"):
                page.button("Save").click(timeout=500)
            # Further attempts fail as well, and the state stays.
            for _ in range(3):
                page.value("socket.connect()")
            page.state("waiting")
        finally:
            visitor.set_offline(False)
        page.state("connected")
        assert "Typed while offline" in page.text()
        page.button("Save").click()
        wait_until(lambda: (folder / "short.toml").read_text() == TYPED, "the text is saved")


def test_a_server_that_has_forgotten_the_page_is_told_its_text(visitor, folder):
    with (
        brief_server(folder, reconnect_s=1, ping_s=1, silent_s=30) as (_, url),
        Rescued(visitor, url) as page,
    ):
        page.page.on("dialog", lambda dialog: dialog.accept())
        visitor.set_offline(True)
        try:
            page.value("socket.io.engine.close()")
            page.page.wait_for_selector(INTERRUPTED)
            page.type(TYPED)
            page.until("sessionStorage.getItem('bentpipe-unsaved')?.includes('offline')")
            # The server deletes the page, and rejects it when it comes back: the page is loaded again.
            page.page.wait_for_timeout(3000)
        finally:
            visitor.set_offline(False)
        page.button("Show it").click()
        page.until("document.querySelector('.cm-content').textContent.includes('offline')")
        page.page.wait_for_selector(".page-valid")


def test_a_reload_offers_the_text(visitor, folder):
    with server(folder, "short.toml") as (_, host, token), Rescued(visitor, f"http://{host}/{token}/") as page:
        asked = []
        page.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
        page.type(TYPED)
        page.page.wait_for_selector(".page-file >> text=(changed)")
        page.page.reload()
        assert asked == ["beforeunload"]
        page.page.wait_for_selector("text=An unsaved text of short.toml is kept")
        assert "Typed" not in page.text()
        page.button("Show it").click()
        page.until("document.querySelector('.cm-content').textContent.includes('offline')")
        page.page.wait_for_selector("text=An unsaved text of short.toml is kept", state="hidden")
        page.button("Save").click()
        wait_until(lambda: (folder / "short.toml").read_text() == TYPED, "the text is saved")
        page.page.reload()
        page.page.wait_for_selector(".page-valid")
        assert not page.page.is_visible("text=An unsaved text")
        assert not list((folder / ".studio" / "unsaved").iterdir())


def test_the_text_of_a_killed_server_is_offered_by_the_next_one(visitor, folder):
    with server(folder, "short.toml") as (process, host, token), Rescued(visitor, f"http://{host}/{token}/") as page:
        page.type(TYPED)
        page.page.wait_for_selector(".page-file >> text=(changed)")
        until_kept(folder)
        process.send_signal(signal.SIGKILL)
        page.page.wait_for_selector(ENDED, timeout=WAIT_MS)
        with page.page.expect_download() as found:
            page.button("Download the text").click()
        assert found.value.path().read_text() == TYPED
        assert found.value.suggested_filename == "short.toml"
    with server(folder, "short.toml") as (_, host, token), Rescued(visitor, f"http://{host}/{token}/") as page:
        page.button("Show it").click()
        page.until("document.querySelector('.cm-content').textContent.includes('offline')")


def until_kept(folder):
    """Wait until the studio keeps a text; the label of the file changes first."""
    import time

    for _ in range(6000):
        if list((folder / ".studio").glob("unsaved/*.txt")):
            return
        time.sleep(0.01)
    raise AssertionError("nothing is kept")


def test_a_port_with_another_studio_means_the_end(visitor, folder):
    with server(folder, "short.toml") as (_, host, token), Rescued(visitor, f"http://{host}/{token}/") as page:
        page.page.route("**/api/alive", lambda route: route.fulfill(status=403, body="refused"))
        page.page.route("**/socket.io/**", lambda route: route.abort())
        page.page.route_web_socket("**", lambda socket: socket.close())
        page.value("socket.io.engine.close()")
        page.page.wait_for_selector(ENDED)


def test_back_shows_the_former_scenario_run_pin_and_view(visitor, folder):
    (folder / "other.toml").write_text(SHORT.replace('"short"', '"other"'))
    with server(folder, "short.toml") as (_, host, token), Page(visitor, f"http://{host}/{token}/") as page:
        search = "Object.fromEntries(new URLSearchParams(location.search))"
        page.until(f"{search}.scenario === 'short.toml'")
        first = page.run()
        page.until(f"{search}.run === '{first}'")
        page.button("Pin").click()
        page.until(f"{search}.pin === '{first}'")
        page.tab("Tables")
        page.until(f"{search}.view === 'tables'")
        page.tab("Library")
        page.until(f"{search}.view === 'library'")
        page.page.locator(".page-entry", has_text="other.toml").get_by_role("button", name="Open").click()
        page.until(f"{search}.scenario === 'other.toml'")
        # Moves of the handle are no entries.
        page.value("studio.time.set({ t: 1 })")
        page.until(f"{search}.t === '1'")
        steps = [
            f"studio.time.scenario === 'short.toml' && studio.time.view === 'library' && studio.time.run === '{first}'",
            "studio.time.view === 'tables'",
            f"!studio.time.view && studio.time.pin === '{first}'",
            f"!studio.time.pin && studio.time.run === '{first}'",
            "studio.time.isDraft && studio.time.scenario === 'short.toml'",
        ]
        for step in steps:
            page.page.go_back()
            page.until(step)
        for step in reversed(steps[:-1]):
            page.page.go_forward()
            page.until(step)
        page.page.wait_for_selector(".page-library:visible")
