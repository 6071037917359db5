"""A page asks for all its curves at once, and each request has its own thread."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Event

import pytest

import bentpipe as bp
from bentpipe.experiment.single import tables
from bentpipe.studio.data import RunData
from bentpipe.studio.series import VIEW

PATH = Path(__file__).parent / "studio.toml"


@pytest.fixture
def hasty():
    """Threads that take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    place = tmp_path_factory.mktemp("threads") / "run"
    bp.run(PATH, series=VIEW).save(place)
    return place


@pytest.mark.parametrize("bytes_most", [64_000_000, 1])
def test_all_questions_at_once_have_the_answers_of_one_after_the_other(saved, hasty, monkeypatch, bytes_most):
    monkeypatch.setattr("bentpipe.studio.data.ARRAYS_BYTES_MOST", bytes_most)
    alone = RunData(saved)
    flows, links, end = alone.result.scenario.flow_names, alone.result.scenario.link_names, alone.result.simulated_s
    asked = [
        ("series", (each["name"], of, 0.0, end, 300))
        for each in alone.described
        for of in (flows if each["of"] == "flow" else links)
    ]
    asked += [("why", (flow, end / 2)) for flow in flows] + [("find_time_spent", (flow, 0.0, end)) for flow in flows]
    asked += [("packets", (flow, start, start + 0.2)) for flow in flows for start in (0.0, 1.0, 2.0)]
    asked += [("meta", ()), ("find_values", (end / 2,))]
    answers = {each: getattr(alone, each[0])(*each[1]) for each in asked}
    for turn in range(3):
        data = RunData(saved)
        random.Random(turn).shuffle(asked)
        with ThreadPoolExecutor(40) as pool:
            found = pool.map(lambda each: (each, getattr(data, each[0])(*each[1])), asked)  # noqa: B023
            assert all(answers[each] == answer for each, answer in found)


def test_two_threads_that_ask_for_one_table_both_get_it(monkeypatch):
    run = bp.run("geo", sets={"duration": "1 s"}, series=["cwnd_bytes"])
    both, make = Barrier(2, timeout=5), tables.columns_frame

    def together(columns):
        both.wait()
        return make(columns)

    monkeypatch.setattr(tables, "columns_frame", together)
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(lambda: run.recorded["cwnd_bytes"]) for _ in range(2)]
        try:
            assert found[0].result().equals(found[1].result())
        except BrokenBarrierError:  # The other thread failed: its error is the reason.
            found[1].result()
            raise


def test_what_two_requests_need_is_made_once():
    pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")
    from bentpipe.studio.routes import once

    made, other_is_there = [], Event()

    @once
    def slow(run):
        made.append(run)
        if run == "slow":
            # The thread that asks for another run does not wait for this one.
            assert other_is_there.wait(30)
        return object()

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(slow, "slow") for _ in range(3)]
        pool.submit(slow, "other").result(30)
        other_is_there.set()
        assert len({id(each.result()) for each in found}) == 1
    assert sorted(made) == ["other", "slow"]
