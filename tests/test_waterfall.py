"""Objects of pages, and their waterfall."""

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError

PAGE = """
duration = "10 s"
[tcp]
like = "rfc"
[link.path]
from = "server"
to = "browser"
rate = "1 Gbit/s"
delay = "100 ms"
[flow.web]
from = "browser"
to = "server"
[flow.web.app]
kind = "page"
count = 1
recorded = [
    { bytes = "1 kB" },
    { bytes = "1 kB", after = 0, delay = "50 ms" },
    { bytes = "1 kB", after = 0, delay = "50 ms", host = 1, wait = "30 ms" },
]
"""


@pytest.fixture(scope="module")
def result():
    return bp.run(bp.loads(PAGE), series="objects", progress=False)


def test_an_object_has_the_times_of_its_request_and_of_its_bytes(result):
    """A round trip takes 0.2 s. Without TLS, a request is handed to a connection at once, which takes one to open."""
    rows = result.series("objects").sort("object")
    assert rows["after"].to_list() == [None, 0, 0]
    assert rows["host"].to_list() == [0, 0, 1]
    assert rows["due_s"].to_list() == pytest.approx([0, 0.45, 0.45], abs=1e-3)
    assert rows["request_s"].to_list() == pytest.approx([0, 0.45, 0.45], abs=1e-3)
    assert rows["first_byte_s"].to_list() == pytest.approx([0.4, 0.65, 0.88], abs=1e-3)
    assert rows["last_byte_s"].to_list() == pytest.approx([0.4, 0.65, 0.88], abs=1e-3)


def test_requests_wait_for_tls_and_for_an_idle_connection():
    """TLS takes a round trip after the one of TCP. One connection to a host carries one object at a time."""
    second = {"bytes": "1 kB", "after": 0, "delay": "50 ms"}
    changes = {"tls_rtts": 1, "connections": 1, "recorded": [{"bytes": "1 kB"}, second, second]}
    changes = {f"flow.web.app.{key}": value for key, value in changes.items()}
    rows = bp.run(bp.loads(PAGE), changes, series="objects", progress=False).series("objects").sort("object")
    assert rows["due_s"].to_list() == pytest.approx([0, 0.65, 0.65], abs=1e-3)
    assert rows["request_s"].to_list() == pytest.approx([0.4, 0.65, 0.85], abs=1e-3)
    assert rows["last_byte_s"].to_list() == pytest.approx([0.6, 0.85, 1.05], abs=1e-3)


def test_a_waterfall_has_a_bar_for_each_part_of_each_object(result):
    axes = result.plot("waterfall").axes[0]
    assert len(axes.patches) == 9
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches]
    assert max(ends) == pytest.approx(result.transfers["duration_s"][0], abs=1e-9)
    assert result.plot("waterfall").get_suptitle() == "web, page 1: 3 objects, 3.00 kB"


def test_a_run_without_the_series_is_repeated_with_it(result):
    again = bp.run(bp.loads(PAGE), progress=False).plot("waterfall")
    assert len(again.axes[0].patches) == 9


def test_a_run_without_a_whole_page_has_no_waterfall():
    short = bp.run(bp.loads(PAGE), {"duration": "500 ms"}, series="objects", progress=False)
    with pytest.raises(BentpipeError, match="no page that began between"):
        short.plot("waterfall")


def test_a_waterfall_is_of_the_slowest_page_that_begins_in_the_part():
    found = bp.run("web-on-geo", {"flow.pages.app.count": 3}, series="objects", progress=False)
    pages = found.transfers.filter(flow="pages")
    slowest = pages.sort("duration_s")["transfer"][-1]
    assert found.plot("waterfall").get_suptitle().startswith(f"pages, page {slowest + 1}: ")
    last = pages["start_s"][-1]
    assert found.plot("waterfall", start=last).get_suptitle().startswith("pages, page 3: ")
