"""Views of the studio, looked at in numbers in both schemes: cut texts, texts on each other, and contrast on pixels."""

import io

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.studio.data import RunData
from bentpipe.studio.series import list_run_series
from bentpipe.studio.share import single
from bentpipe.studio.sky import SkyData
from tests.studio_pages import MINE, Page, server
from tests.test_studio_access import SCENARIO
from tests.test_studio_colours import contrast
from tests.test_studio_file import View

Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.timeout(600)
SCHEMES = ("light", "dark")
LEAST = 4.5
EDGES = 0.93
"""Share of the contrast of a colour that thin letters have on pixels, as their edges are smoothed."""
LOOK = """
() => {
  const shown = [];
  const within = (rect, element) => {
    const box = { left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom };
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.position === "fixed" && each !== element) break;
      if (!/auto|scroll|hidden|clip/.test(style.overflowX + style.overflowY)) continue;
      const frame = each.getBoundingClientRect();
      box.left = Math.max(box.left, frame.left);
      box.top = Math.max(box.top, frame.top);
      box.right = Math.min(box.right, frame.right);
      box.bottom = Math.min(box.bottom, frame.bottom);
    }
    box.right = Math.min(box.right, innerWidth);
    box.bottom = Math.min(box.bottom, innerHeight);
    return box;
  };
  const isDisabled = (element) => element.closest("[disabled], .disabled, [aria-disabled=true], [inert]");
  const cut = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent.trim();
    if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest("script, style, svg, option, .page-unseen, .cm-editor, .material-icons, .q-icon")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const whole = range.getBoundingClientRect();
    const box = within(whole, element);
    if (box.right - box.left < 4 || box.bottom - box.top < 6) continue;
    const style = getComputedStyle(element);
    const frame = element.getBoundingClientRect();
    const hides = /hidden|clip/.test(style.overflowX) && style.textOverflow !== "ellipsis";
    if (hides && whole.right > frame.right + 2) cut.push(text);
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    const top = document.elementFromPoint(x, y);
    if (!top || !(element.contains(top) || top.contains(element))) continue;
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700);
    const isWhole = box.bottom - box.top > whole.height - 2;
    // Behind an ellipsis, nothing is painted.
    const isBehind = (each) => {
      if (!each) return false;
      const isShort = getComputedStyle(each).textOverflow === "ellipsis";
      return isShort ? whole.right > each.getBoundingClientRect().right - 12 : isBehind(each.parentElement);
    };
    if (isBehind(element)) continue;
    const lines = [...range.getClientRects()].map((line) => within(line, element));
    shown.push({ text, box, lines, isLarge, isDisabled: Boolean(isDisabled(element)), isWhole });
  }
  const on = [];
  shown.forEach((one, index) => {
    for (const other of shown.slice(index + 1)) {
      const meets = (line, next) => {
        const width = Math.min(line.right, next.right) - Math.max(line.left, next.left);
        const height = Math.min(line.bottom, next.bottom) - Math.max(line.top, next.top);
        return width > 3 && height > 4;
      };
      if (one.lines.some((line) => other.lines.some((next) => meets(line, next)))) on.push([one.text, other.text]);
    }
  });
  return { shown, cut, on };
}
"""


def list_faint(page, shown, scale):
    """Texts whose letters have too little contrast on the pixels of the page."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    faint = []
    for each in shown:
        if each["isDisabled"] or not each["isWhole"]:
            continue
        box = [round(scale * each["box"][side]) for side in ("left", "top", "right", "bottom")]
        colours, counts = np.unique(np.asarray(picture.crop(box)).reshape(-1, 3), axis=0, return_counts=True)
        ground = colours[counts.argmax()]
        found = max(contrast(ground, colour) for colour in colours)
        if found < (3 if each["isLarge"] else LEAST) * EDGES:
            faint.append((each["text"][:60], round(found, 2)))
    return faint


def look(page, name, scale=2):
    """Faults of the view that a page shows."""
    found = page.evaluate(LOOK)
    assert found["shown"], name
    faults = [f"{name}: cut: {text}" for text in found["cut"]]
    faults += [f"{name}: {one!r} is on {other!r}" for one, other in found["on"]]
    return faults + [f"{name}: {text!r} has {value}" for text, value in list_faint(page, found["shown"], scale)]


def make(scenario, sets=None):
    loaded = bp.load(scenario, sets or {})
    return RunData(bp.run(loaded, series=list_run_series(loaded)))


def make_many():
    ends = {"from": "a", "to": "b"}
    flows = {f"f{number}": {**ends, "start": f"{number / 5:g} s"} for number in range(12)}
    link = {**ends, "rate": "20 Mbit/s", "delay": "20 ms"}
    return RunData(bp.run({"title": "many", "duration": "5 s", "link": {"l": link}, "flow": flows}))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    rain = folder / "rain.toml"
    rain.write_text(SCENARIO)
    geo = {"duration": "20 s"}
    sky = make("london-singapore", {"duration": "20 s"})
    pages = {
        "pins": single(make("geo", geo), [make("geo", {**geo, "tcp.cc": each}) for each in ("bbr3", "reno")]),
        "many flows": single(make_many()),
        "access": single(make(rain)),
        "sky": single(sky, sky=SkyData.from_scenario(sky.result.scenario)),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [1440, 1280, 390])
@pytest.mark.parametrize("name", ["pins", "many flows", "access", "sky"])
def test_a_shared_file_has_whole_texts_with_contrast(browser, files, name, width, scheme):
    size = {"width": width, "height": 844 if width == 390 else 800}
    context = browser.new_context(viewport=size, color_scheme=scheme, device_scale_factor=2, offline=True)
    view = View(context, files / f"{name}.html")
    view.set(t=12.0)
    faults = look(view.page, name)
    view.page.keyboard.press("?")
    faults += look(view.page, "keys")
    view.page.keyboard.press("Escape")
    view.page.locator(".studio-quiet", has_text="Table").first.click()
    view.state()
    faults += look(view.page, "table")
    context.close()
    assert faults == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_panels_of_the_studio_have_whole_texts_with_contrast(visitor, tmp_path, scheme):
    pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")
    (tmp_path / "mine.toml").write_text(MINE)
    with server(tmp_path, "mine.toml") as (_, host, token), Page(visitor, f"http://{host}/{token}/") as page:
        page.page.set_viewport_size({"width": 1440, "height": 900})
        page.scheme(scheme)
        scale = page.value("devicePixelRatio")
        faults = []
        for tab in ("Form", "Command", "Text"):
            page.tab(tab)
            page.page.get_by_role("tabpanel", name=tab, exact=True).wait_for()
            page.scheme(scheme)
            faults += look(page.page, tab, scale)
        page.run()
        page.button("Pin").click()
        page.until("studio.time.pin && studio.ready")
        for tab in ("Compare", "Sweep", "Tune", "Fit", "Tables", "Library", "Run"):
            page.tab(tab)
            page.page.get_by_role("tabpanel", name=tab, exact=True).wait_for()
            page.scheme(scheme)
            faults += look(page.page, tab, scale)
        page.button("Present").click()
        page.until("studio.ready")
        page.scheme(scheme)
        faults += look(page.page, "Present", scale)
        assert faults == []
