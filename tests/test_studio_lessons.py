"""The lessons: each step is a scenario that runs, and the numbers of its text are those of the run."""

import re

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.own import loading
from bentpipe.studio import lessons


def megabits(flow="transfer"):
    return lambda run: dict(run.flows.select("flow", "goodput_bps").iter_rows())[flow] / 1e6


def first(column, table="flows", scale=1.0):
    return lambda run: getattr(run, table)[column][0] * scale


def peak(run):
    return run.series("cwnd_bytes")["cwnd_bytes"].max() / 1e6


TOLD = {
    "geo-slow-start": [
        [("takes 4.4 s", first("completion_s"))],
        [("takes 4.3 s", first("completion_s"))],
        [("takes 3.4 s", first("completion_s"))],
        [("reaches 5.2 MB", peak), ("1,947 packets", lambda run: len(run.series("losses")))],
        [
            ("reaches 2.7 MB", peak),
            ("481 packets", lambda run: len(run.series("losses"))),
            ("16.5 instead", megabits()),
        ],
    ],
    "leo-handover": [
        [("95.8 Mbit/s", megabits())],
        [],
        [("89.0 Mbit/s", megabits()), ("1,028 packets", lambda run: run.estimate("lost").value)],
        [("63.0 Mbit/s", megabits())],
        [("89.5 Mbit/s", megabits())],
    ],
    "who-starves-whom": [
        [("CUBIC gets 13.2", megabits()), ("BBR v3 3.9", megabits("bbr3")), ("Reno 1.8", megabits("reno"))],
        [("gets 15.5", megabits("bbr3")), ("CUBIC 1.3", megabits()), ("Reno 0.3", megabits("reno"))],
        [("turn: 6.7", megabits("bbr3")), ("6.7, 6.7", megabits()), ("and 4.8", megabits("reno"))],
    ],
    "proxy-or-not": [
        [("after 4.39 s", first("completion_rx_s"))],
        [("after 3.97 s", first("completion_rx_s")), ("after 0.48 s", first("completion_acked_s"))],
        [("has 14,480 bytes", first("delivered_bytes")), ("for 1 MB", first("acked_bytes", scale=1e-6))],
    ],
    "rain-and-buffers": [
        [("than 2.7 s", first("delay_p95_s", "datagrams"))],
        [("better: 0.51 s", first("delay_p95_s", "datagrams")), ("24.1 instead", megabits())],
        [("takes 0.27 s", first("delay_p95_s", "datagrams")), ("has 24.2", megabits())],
    ],
    "custom-congestion-control": [
        [("has 6.7", megabits())],
        [("has 15.6", megabits())],
        [],
    ],
}
"""By lesson and step, words of its text with a number, and the measure that the number is of."""


def test_there_is_a_lesson_for_each_notebook_of_the_lab():
    assert lessons.names() == list(TOLD)


def scenario_of(lesson, number):
    text = lesson.texts[number]
    classes = [loading.load_class(lesson.own)] if lesson.own else []
    return bp.scenario.scenario.Scenario(text, senders={loading.find_name(each): each for each in classes})


@pytest.mark.parametrize("name", TOLD)
def test_its_numbers_are_those_of_its_runs(name):
    lesson = lessons.lesson(name)
    assert lesson.title
    assert lesson.about
    for number, (step, told) in enumerate(zip(lesson.steps, TOLD[name], strict=True)):
        run = bp.run(scenario_of(lesson, number), series=["cwnd_bytes", "losses"])
        assert 0 <= step.start <= step.t <= run.simulated_s
        assert step.end <= run.scenario.duration_s
        for words, measure in told:
            assert words in step.text
            (number_told,) = re.findall(r"[\d,]+\.?\d*", words.replace("v3", ""))[-1:]
            digits = len(number_told.partition(".")[2])
            assert f"{measure(run):,.{digits}f}" == number_told, words


def test_the_last_step_of_the_last_lesson_starves_reno():
    lesson = lessons.lesson("custom-congestion-control")
    run = bp.run(scenario_of(lesson, 2))
    assert megabits()(run) > 3 * megabits("reno")(run)


def test_the_text_of_a_step_keeps_the_comments_of_its_scenario():
    lesson = lessons.lesson("leo-handover")
    assert lesson.texts[2].startswith("# ")
    assert 'cc = "reno"' in lesson.texts[2]


def test_an_unknown_lesson_is_refused():
    with pytest.raises(BentpipeError, match="geo-slow-start"):
        lessons.lesson("geo-slow-strat")  # spelling is part of the test
