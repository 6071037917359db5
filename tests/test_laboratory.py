"""The core as a module for web pages: the same tables as in Python, and an answer to any text."""

import gzip
import os
import random
import re
import shutil
import subprocess
from itertools import zip_longest

import numpy as np
import pytest

import bentpipe as bp
from bentpipe import _core
from bentpipe.scenario.scenario import list_bundled
from bentpipe.studio.sky import SkyData
from tests.laboratory import ask, need_module
from tools.docs import laboratory

IS_LONG = "BENTPIPE_ALL" in os.environ
MISSING = np.iinfo(np.int64).min
EVENTS = 10**12 if IS_LONG else 3000
pytestmark = pytest.mark.timeout(1800 if IS_LONG else 120)


@pytest.fixture(autouse=True)
def module(request):
    if "types" not in request.node.name:
        need_module()


def read_bundled(name):
    return bp.load(name).written[0]


def as_lists(tables):
    """Tables of Python's core with values as JSON has them."""

    def column(values):
        if isinstance(values, list):
            return values
        kind, raw = values
        # The core's marks of a missing value, in columns of whole and of real numbers.
        return [
            None if number == MISSING or number != number else number for number in np.frombuffer(raw, kind).tolist()
        ]

    return {name: {key: column(values) for key, values in table.items()} for name, table in tables.items()}


def as_columns(tables):
    """Tables of the module, with texts in place of their numbers."""

    def column(values):
        return values if isinstance(values, list) else [values["texts"][row] for row in values["rows"]]

    return {name: {key: column(values) for key, values in table.items()} for name, table in tables.items()}


def select_tables(result):
    return {name: table for name, table in result.items() if name not in ("series", "coverage", "notes")}


def test_every_bundled_scenario_has_the_same_tables_as_in_python():
    names = list_bundled()
    found = ask(
        [{"begin": {"text": read_bundled(name)}}, {"advance": {"events": EVENTS}}, {"so_far": {}}] for name in names
    )
    for name, answer in zip_longest(names, found):
        if name not in laboratory.read_scenarios():
            # The page does not offer what it does not run.
            assert "no run has begun" in answer["wrong"]
            continue
        run = _core.Run(bp.load(name)._core)
        run.advance(EVENTS)
        expected = run.so_far()
        assert as_columns(select_tables(answer)) == as_lists(select_tables(expected)), name
        assert (answer["notes"], answer["coverage"]) == (expected["notes"], expected["coverage"]), name


def test_series_of_a_run_are_those_of_python():
    names = ["cwnd_bytes", "losses", "decisions", "goodput_bps"]
    begin = {"begin": {"text": read_bundled("geo"), "series": names, "seed": 7}}
    (answer,) = ask([[begin, {"advance": {"events": 100_000}}, {"so_far": {}}]])
    run = _core.Run(bp.load("geo").with_series(names)._core, 7)
    run.advance(100_000)
    expected = run.so_far()["series"]
    assert len(expected["cwnd_bytes"]["flow"]) > 100
    assert as_columns(answer["series"]) == as_lists(expected)


def test_problems_have_the_words_and_lines_of_the_library():
    text = read_bundled("geo").replace('"20 Mbit/s"', '"20 Mbitt/s"').replace("queue =", "quue =", 1)
    (answer,) = ask([[{"check": {"text": text}}]])
    with pytest.raises(bp.errors.ScenarioError) as caught:
        bp.loads(text)
    expected = caught.value.problems
    assert len(expected) == 2
    assert [each["message"] for each in answer["problems"]] == [each.message for each in expected]
    assert [each["start"] for each in answer["problems"]] == [[each.line, each.column] for each in expected]
    assert [each["suggestion"] for each in answer["problems"]] == [each.suggestion for each in expected]


def test_overrides_are_those_of_the_command_line():
    sets = [["tcp.cc", '"reno"'], ["duration", '"5 s"']]
    requests = [{"begin": {"text": read_bundled("geo"), "sets": sets}}, {"advance": {"events": 10**9}}, {"finish": {}}]
    (answer,) = ask([requests])
    expected = bp.run(bp.load("geo", {"tcp.cc": "reno", "duration": "5 s"}))
    assert answer["summary"]["goodput_bps"] == expected.summary["goodput_bps"].to_list()


def test_a_scenario_names_files_that_were_dropped_on_the_page(tmp_path):
    trace = "".join(f"{at}\n" for at in range(0, 1000, 7))
    text = read_bundled("geo").replace('rate = "20 Mbit/s"', 'rate = { file = "up.trace", format = "mahimahi" }')
    (tmp_path / "up.trace").write_text(trace)
    (tmp_path / "a.toml").write_text(text)
    without, found = ask([[{"check": {"text": text}}], [{"check": {"text": text, "files": {"up.trace": trace}}}]])
    assert "is not in this page" in without["problems"][0]["message"]
    assert found["digest"] == bp.load(tmp_path / "a.toml").digest


def test_a_case_of_a_scenario_runs_as_in_the_library():
    begin = {"begin": {"text": read_bundled("london-singapore"), "case": "geo", "sets": [["duration", '"5 s"']]}}
    (answer,) = ask([[begin, {"advance": {"events": 10**9}}, {"finish": {}}]])
    case = bp.load("london-singapore", {"duration": "5 s"}).cases["geo"]
    assert answer["summary"]["goodput_bps"] == bp.run(case).summary["goodput_bps"].to_list()


def test_a_run_that_is_stopped_has_the_results_up_to_then():
    begin = {"begin": {"text": read_bundled("geo")}}
    (answer,) = ask([[begin, {"advance": {"events": 100}}, {"stop": {}}, {"finish": {}}]])
    assert as_columns(select_tables(answer))["summary"]["stop"] == ["interrupted"]
    assert 0 < answer["summary"]["simulated_s"][0] < 60


def test_a_request_without_a_run_and_an_unknown_one_have_an_answer():
    found = ask([[{"finish": {}}], [{"advance": {"events": 1}}], [{"dance": {}}], [{"check": {"text": 3}}]])
    assert all(set(each) == {"wrong"} for each in found)


def test_the_sky_of_the_globe_is_that_of_the_studio():
    for name in ("london-singapore", "ship"):
        (found,) = ask([[{"sky": {"text": read_bundled(name)}}]])
        scenario = bp.load(name)
        expected = SkyData.from_scenario(scenario).facts
        same = ("place", "latitude_deg", "longitude_deg", "height_km", "is_gateway", "moves")
        assert [[place[key] for key in same] for place in found["places"]] == [
            [place[key] for key in same] for place in expected["places"]
        ]
        assert found["flows"] == expected["flows"]
        for part in ("paths", "delays", "passes"):
            assert len(found[part]) == len(expected[part]) > 0
            for one, other in zip(found[part], expected[part], strict=True):
                assert one.keys() == other.keys()
                assert all(is_near(one[key], other[key]) for key in one), (part, one, other)
        begin = 0
        for one, each in zip(found["constellations"], scenario.sky().constellations, strict=True):
            assert one["names"] == list(each.satellites)
            shape = (one["keyframes"], len(one["names"]), 3)
            size = shape[0] * shape[1] * 3
            shown = np.array(found["frames"][begin : begin + size]).reshape(shape) * one["scale_km"]
            begin += size
            end_s = one["step_s"] * (one["keyframes"] - 1)
            known = each.keyframes(end_s=end_s, step_s=one["step_s"])
            angle = found["earth_rad_s"] * known.time_s[:, None]
            x, y, z = np.moveaxis(known.satellites_km, -1, 0)
            turned = [x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle), z]
            assert np.abs(np.stack(turned, axis=-1) - shown).max() <= one["scale_km"]


def test_cells_of_the_globe_are_those_of_the_studio():
    expected = SkyData.from_scenario(bp.load("london-singapore"))
    (name,) = [each["name"] for each in expected.facts["constellations"]]
    sky = {"sky": {"text": read_bundled("london-singapore")}}
    view = {"constellation": name, "time_s": 7.0}
    views = [
        {**view, "is_delay": False},
        {**view, "is_delay": True},
        {**view, "is_delay": True, "to": "Singapore"},
        {**view, "is_delay": True, "to": "Atlantis"},
    ]
    counts, up, far, wrong = ask([sky, {"cells": each}] for each in views)
    assert counts == expected.coverage(name, 7.0)
    for shown, to in ((up, None), (far, "Singapore")):
        known = expected.delays(name, 7.0, to)
        assert shown["cell_deg"] == known["cell_deg"]
        # Halves of the last digit are rounded to either side.
        assert all(
            one == other if None in (one, other) else abs(one - other) < 0.011
            for one, other in zip(shown["delays_ms"], known["delays_ms"], strict=True)
        )
    assert max(value for value in up["delays_ms"] if value) < 10 < max(value for value in far["delays_ms"] if value)
    assert "Atlantis" in wrong["wrong"]
    assert "no sky" in ask([[{"cells": views[0]}]])[0]["wrong"]


def is_near(one, other):
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-6 * max(1.0, abs(other)) or (np.isnan(one) and np.isnan(other))
    return one == other or (one is None and isinstance(other, float) and np.isnan(other))


def make_wrong(texts, count):
    """Texts with a few changed, lost or doubled pieces."""
    dice = random.Random(60)
    pieces = ['"', "[", "]", "{", "}", "=", "\n", "\0", "é", "🛰", "1e999", "-1", '"0 s"', "[[", "count = 1e9", "'''"]
    for _ in range(count):
        letters = list(dice.choice(texts))
        for _ in range(dice.randint(1, 6)):
            at = dice.randrange(len(letters))
            letters[at : at + dice.choice((0, 1, 1, 9))] = dice.choice(
                (dice.choice(pieces), "", "".join(letters[at : at + 40]))
            )
        yield "".join(letters)


def test_a_thousand_wrong_texts_leave_the_module_alive():
    texts = [read_bundled(name) for name in ("geo", "s1", "web-on-geo", "peach", "bursts")]
    checks = [
        {"check": {"text": text}}
        for text in [*make_wrong(texts, 1000), "[" * 100_000, "a = " + "[" * 100_000, "a." * 50_000]
    ]
    # One instance has them all: a panic would end it.
    (answer,) = ask([[*checks, {"check": {"text": read_bundled("geo")}}]])
    assert answer["digest"] == bp.load("geo").digest
    found = ask([each] for each in checks[::20])
    assert all("problems" in each or "digest" in each for each in found)
    assert sum("problems" in each for each in found) > len(found) / 2


def test_a_panic_leaves_its_text_and_memory_has_an_end():
    know = {"know": {}}
    # A number makes room for a request of this length.
    found = ask([[know, 2**32 - 1], [know, 2**31 - 1], [know]])
    assert "capacity overflow" in found[0]["panic"]
    assert "panic" in found[1]
    assert "version" in found[2]


def test_the_guide_states_the_sizes_of_the_files():
    guide = (laboratory.ROOT / "docs" / "guides" / "try.md").read_text()
    stated = re.findall(r"^\| `([\w.]+)`[^|]*\| ([\d.,]+) \| ([\d.,]+) \|", guide, re.MULTILINE)
    files = laboratory.make_files()
    assert {name for name, *_ in stated} == files.keys() - {"licences.txt"}
    for name, *sizes in stated:
        found = [len(files[name]), len(gzip.compress(files[name], 9))]
        assert [1000 * float(size.replace(",", "")) for size in sizes] == pytest.approx(found, rel=0.05), name


def test_scripts_of_the_studio_and_of_the_page_have_sound_types():
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("no TypeScript: make types checks the scripts")
    done = subprocess.run([compiler, "--project", laboratory.WEB], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
