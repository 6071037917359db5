"""Every result with pages names their size."""

from __future__ import annotations

import statistics

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.experiment.common.pages import CELLULAR_BYTES, WEB_BYTES, name_pages

TODAY = "2.47 MB in 77 requests, medians of web-2025"
PATH = """
duration = "{duration}"
[link.l]
from = "a"
to = "b"
rate = "1 Gbit/s"
delay = "1 ms"
queue = "100 MB"
[flow.web]
from = "b"
to = "a"
app = {{ kind = "page", model = "{model}", count = {count}, reading = "1 ms" }}
"""


def path(model: str, count: int, duration: str) -> bp.Scenario:
    return bp.Scenario(PATH.format(model=model, count=count, duration=duration))


@pytest.mark.parametrize(
    ("model", "count", "size", "middle"),
    [("web-2025", 400, WEB_BYTES, statistics.median), ("3gpp2", 3000, CELLULAR_BYTES, statistics.fmean)],
)
def test_named_sizes_are_those_of_pages_that_are_drawn(model, count, size, middle):
    sizes = bp.run(path(model, count, "2000 s"), progress=False).transfers["size_bytes"].to_list()
    assert len(sizes) == count
    assert middle(sizes) == pytest.approx(size, rel=0.15)


def test_every_result_with_pages_names_their_size():
    small = path("web-2025", 2, "10 s")
    results = [
        bp.run(small, progress=False),
        bp.compare(small, cc=["cubic", "reno"], replications=2, metric="fct", progress=False),
        bp.sweep(small, {"tcp.cc": ["cubic", "reno"]}, replications=2, metric="fct", progress=False),
        bp.tune(small, {"tcp.cc": ["cubic", "reno"]}, objective="fct", budget=114, progress=False),
    ]
    for result in results:
        assert result.pages == TODAY
        assert f"pages: {TODAY}" in result._repr_html_()
        assert result.to_dict()["provenance"]["pages"] == TODAY
    told = results[0].why(tries=False, progress=False)
    assert f"pages: {TODAY}" in str(told)
    assert told.to_dict()["pages"] == TODAY


def test_results_without_pages_name_none():
    assert bp.run("geo", progress=False).pages == ""
    assert name_pages(bp.load("geo").to_dict()["flow"]) == ""


@pytest.mark.parametrize("verb", [["run"], ["why", "--no-try"], ["compare", "--cc", "cubic,reno", "-n", "2"]])
def test_commands_print_the_size_of_pages(verb):
    shown = CliRunner().invoke(app, [verb[0], "web-on-geo", "--set", "duration=20 s", *verb[1:]])
    assert shown.exit_code == 0, shown.output
    assert f"pages: {TODAY}" in shown.output


def test_bundled_scenarios_have_todays_pages():
    for name in ("web-on-geo", "geo-home", "geo-access"):
        assert name_pages(bp.load(name).to_dict()["flow"]) == TODAY
    assert name_pages(bp.load("distance-learning").to_dict()["flow"]) == "320 kB in 4 requests"
