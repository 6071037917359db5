"""The view of shared access: parts of the delay, and the links whose MODCODs are drawn."""

import pytest

import bentpipe as bp
from bentpipe.plot.runs import choose_series
from bentpipe.studio import share
from bentpipe.studio.data import RunData
from bentpipe.studio.series import list_run_series
from bentpipe.studio.share import single
from tests.test_studio_file import View

PARTS = ("asking", "behind", "turn", "sending", "air")
pytestmark = pytest.mark.timeout(300)
SCENARIO = """
duration = "20 s"
[medium.down]
kind = "tdm"
symbol_rate = "5 Mbaud"
[medium.up]
kind = "mf-tdma"
symbol_rate = "1 Mbaud"
carriers = 2
controller = "hub"
[link.clear]
from = "hub"
to = "clear-home"
delay = "250 ms"
[link.clear.forward]
medium = "down"
es_n0 = "14 dB"
[link.clear.reverse]
medium = "up"
es_n0 = "9 dB"
access = { volume_based = true }
[link.rain]
from = "hub"
to = "wet-home"
delay = "250 ms"
[link.rain.forward]
medium = "down"
es_n0 = { points = [["0 s", "14 dB"], ["8 s", "4 dB"], ["14 s", "4 dB"], ["20 s", "14 dB"]] }
[link.rain.reverse]
medium = "up"
es_n0 = "9 dB"
access = { volume_based = true }
[flow.dry]
from = "hub"
to = "clear-home"
[flow.wet]
from = "hub"
to = "wet-home"
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("access") / "rain.toml"
    path.write_text(SCENARIO)
    scenario = bp.load(path)
    return RunData(bp.run(scenario, series=list_run_series(scenario)))


@pytest.fixture(scope="module")
def view(browser, data, tmp_path_factory):
    place = tmp_path_factory.mktemp("access") / "rain.html"
    place.write_text(single(data), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    view = View(context, place)
    yield view
    context.close()
    assert view.printed == []


def test_modcods_are_those_of_the_link_that_changes_by_name(view, data):
    assert data.meta()["adapted"] == ["rain.forward"]
    assert "modcod" in choose_series(data.result)
    (curve,) = view.plot("modcod")["curves"]
    assert curve["of"] == "rain.forward"
    names = {row["modcod"] for row in data.result.modcods.filter(medium="down").iter_rows(named=True)}
    for t in (2.0, 12.0):
        view.set(t=t)
        assert view.page.locator('[data-panel="modcod"] .studio-value').first.inner_text() in names


def test_a_file_has_the_links_whose_modcods_are_drawn(data, monkeypatch):
    monkeypatch.setitem(vars(data), "busy_links", [f"busy{number}" for number in range(20)])
    monkeypatch.setattr(share, "_cut", lambda data, name, of, columns: b"")
    curves = dict(share._curves(data, data.meta(), share.BYTES_MOST))
    assert {"series/modcod/busy0", "series/modcod/rain.forward"} <= set(curves)


def test_parts_of_the_delay_are_those_of_the_table_and_of_the_route(view, data):
    table = {row["link"]: row for row in data.result.terminals.iter_rows(named=True)}
    for flow, links in (("dry", ("clear.forward", "clear.reverse")), ("wet", ("rain.forward", "rain.reverse"))):
        view.set(flow=flow)
        section = view.page.locator(".studio-access")
        bars = section.get_by_role("img")
        assert [each.split(":")[0] for each in (bars.nth(place).get_attribute("aria-label") for place in (0, 1))] == [
            *links
        ]
        for place, link in enumerate(links):
            parts = bars.nth(place).locator("span")
            shown = {
                parts.nth(at).get_attribute("data-part"): parts.nth(at).bounding_box()["width"]
                for at in range(parts.count())
            }
            known = {name: table[link][f"{name}_mean_s"] for name in PARTS}
            # The longest bar has the whole width.
            full = section.bounding_box()["width"]
            longest = max(sum(table[each][f"{name}_mean_s"] for name in PARTS) for each in links)
            whole, all_s = sum(shown.values()), sum(known.values())
            assert whole == pytest.approx(full * all_s / longest, abs=8), link
            for name, width in shown.items():
                assert width / whole == pytest.approx(known[name] / all_s, abs=0.02), (link, name)
            assert {name for name, value in known.items() if value > 0} == {*shown}
