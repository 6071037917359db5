"""Pages of the studio without a browser: text, problems, form, runs, and jobs after a closed page."""

import os
import shutil
from functools import partialmethod

import pytest

pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")

from bentpipe.studio.folders import Folder
from bentpipe.studio.page.session import Wanted
from tests.studio_pages import SHORT, on_pages, until

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    return tmp_path


def found(user, marker):
    """Elements that a page shows with this mark."""
    from nicegui import ElementFilter

    with user:
        return list(ElementFilter(marker=marker))


async def opened_at(user, title):
    """A page whose text was found valid, with a panel that is shown."""
    await until(lambda: found(user, "valid"))
    user.find(title).click()


def labels(user):
    from nicegui import ElementFilter, ui

    with user:
        return [each.text for each in ElementFilter(kind=ui.label)]


def test_a_page_opens_with_a_valid_text_and_runs_nothing(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        await user.should_see("No problem: 1 flow, 2 s")
        assert user.session.text == SHORT
        assert user.session.draft in studio.drafts
        assert studio.jobs.list_jobs() == []
        assert not (folder / ".studio").exists()

    on_pages(folder, act)


def test_problems_appear_with_their_place_and_a_click_repairs_them(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        editor = found(user, "editor")[0]
        editor.value = SHORT.replace('"2 Mbit/s"', '"2 Mbitt/s"').replace("[flow.bulk]", "[flw.bulk]")
        await until(lambda: any(problem.suggestion == "flow" for problem in user.session.errors))
        marks = {(each["from"], each["to"]) for each in editor.decorations if each["kind"] == "mark"}
        assert "flw" in {editor.value[start:end] for start, end in marks}
        assert not found(user, "run")[0].enabled
        assert user.session.start_run() is None
        user.find("Use flow").click()
        await until(lambda: "[flow.bulk]" in user.session.text)
        await until(lambda: [problem.key for problem in user.session.errors] == ["link.sat.rate"])
        assert editor.value == SHORT.replace('"2 Mbit/s"', '"2 Mbitt/s"')
        assert {editor.value[each["from"] : each["to"]] for each in editor.decorations} == {'"2 Mbitt/s"'}
        editor.value = SHORT
        await until(lambda: found(user, "valid"))
        assert found(user, "run")[0].enabled
        assert editor.decorations == []

    on_pages(folder, act)


@pytest.mark.parametrize("text", ["x = [", "[[", "\0", "title = 'ü\U0001f6f0' = 1", "a" * 1000 + "[", "[link"])
def test_a_text_that_is_no_toml_has_a_problem_and_the_page_goes_on(folder, text):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        found(user, "editor")[0].value = text
        await until(lambda: user.session.errors)
        assert found(user, "problem")
        found(user, "editor")[0].value = SHORT
        await until(lambda: found(user, "valid"))

    on_pages(folder, act)


def test_the_form_writes_into_the_text_and_keeps_comments_and_order(folder):
    async def act(studio, user):
        await opened_at(user, "Form")
        await until(lambda: found(user, "field-duration"))
        from nicegui import ElementFilter, ui

        with user:
            group = next(each for each in ElementFilter(kind=ui.expansion) if each.text == "link sat")
        group.value = True
        rate = found(user, "field-link.sat.rate")[0]
        assert (rate.value, rate.props["placeholder"]) == ("2 Mbit/s", "2 Mbit/s")
        queue = found(user, "field-link.sat.queue")[0]
        assert queue.value == ""
        table = '{points = [["0 s", "3 Mbit/s"], ["1 s", "1 Mbit/s"]]}'
        rate.value = table
        user.find("field-link.sat.rate").trigger("blur")
        await until(lambda: user.session.scenario is not None and "points" in user.session.scenario.written[0])
        assert rate.value == table
        rate.value = "3 Mbit/s"
        user.find("field-link.sat.rate").trigger("blur")
        await until(lambda: user.session.text == SHORT.replace("2 Mbit/s", "3 Mbit/s"))
        await until(lambda: user.session.scenario is not None and '"3 Mbit/s"' in user.session.scenario.written[0])
        queue.value = "10 packets"
        user.find("field-link.sat.queue").trigger("blur")
        await until(lambda: 'queue = "10 packets"' in user.session.text)
        queue.value = ""
        user.find("field-link.sat.queue").trigger("blur")
        await until(lambda: "queue" not in user.session.text)
        assert user.session.text == SHORT.replace("2 Mbit/s", "3 Mbit/s")
        assert found(user, "editor")[0].value == user.session.text

    on_pages(folder, act)


def test_a_search_finds_the_key_of_this_name_first(folder):
    async def act(studio, user):
        await opened_at(user, "Form")
        await until(lambda: found(user, "search"))
        for words, first in (("cc", "tcp.cc"), ("rain", "sky.rain"), ("duration", "duration")):
            found(user, "search")[0].value = words
            keys = [each.replace("\u200b", "") for each in labels(user)]
            matching = [key for key in keys if words in key.rpartition(".")[2].split()]
            assert matching[0] == first
        found(user, "search")[0].value = "cc"
        field = found(user, "field-tcp.cc")[0]
        assert field.props["display-value"] == found(user, "field-flow.bulk.tcp.cc")[0].props["display-value"]
        field.value = "bbr3"
        await until(lambda: 'cc = "bbr3"' in user.session.text)
        await until(lambda: found(user, "field-tcp.cc")[0].props["display-value"] == "bbr3")
        await until(lambda: found(user, "field-flow.bulk.tcp.cc")[0].props["display-value"] == "bbr3 (default)")

    on_pages(folder, act)


def test_a_run_shows_its_progress_and_then_its_result(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        user.find("run").click()
        await until(lambda: found(user, "job"))
        (job,) = studio.jobs.list_jobs()
        await until(lambda: job.is_over)
        assert (job.state, job.error) == ("done", "")
        assert user.session.run == job.run
        assert studio.folder.runs() == [job.run]
        about = studio.folder.about(job.run)
        assert about["text"] == SHORT
        assert about["command"].startswith("bentpipe run short.toml")
        await until(lambda: not found(user, "job"))

    on_pages(folder, act)


def test_a_job_survives_its_page_and_another_page_shows_it(folder):
    (folder / "short.toml").write_text(SHORT.replace('"2 s"', '"100000 s"'))

    async def act(studio, one, other):
        await until(lambda: found(one, "valid"))
        job = one.session.start_run()
        await until(lambda: job.progress)
        with one:
            from nicegui import ui

            client = ui.context.client
        client.delete()
        assert len(studio.pages) == 1
        assert job.state == "running"
        await until(lambda: any(text.startswith("run: simulated") for text in labels(other)))
        # A click takes longer than a step of the progress: its button stays.
        (stop,) = found(other, "stop")
        before = job.progress
        await until(lambda: job.progress != before)
        assert found(other, "stop") == [stop]
        other.find("stop").click()
        await until(lambda: job.is_over)
        assert (job.state, job.error) == ("stopped", "")
        # The part until then is a run.
        assert studio.folder.about(job.run)["stop"] == "interrupted"

    on_pages(folder, act, count=2)


def test_pin_keeps_a_run(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        job = user.session.start_run()
        await until(lambda: job.is_over)
        await until(lambda: found(user, "pin")[0].enabled)
        user.find("pin").click()
        assert user.session.pins == (job.run,)
        assert studio.folder.about(job.run)["is_pinned"]
        user.find("pin").click()
        assert user.session.pins == ()
        assert not studio.folder.about(job.run)["is_pinned"]

    on_pages(folder, act)


def test_a_page_pins_four_runs_and_says_why_there_is_no_fifth(folder):
    async def act(studio, user):
        session = user.session
        await until(lambda: found(user, "valid"))
        job = session.start_run()
        await until(lambda: job.is_over)
        runs = [f"{number:012}" for number in range(5)]
        for run in runs:
            shutil.copytree(studio.folder.run(job.run), studio.folder.runs_path / run)
            session.turn_pin(run)
        assert session.pins == (*runs[:4],)
        assert user.notify.messages[-1].startswith("4 runs are pinned.")
        session.turn_pin(runs[1])
        session.turn_pin(runs[4])
        assert session.pins == (runs[0], runs[2], runs[3], runs[4])
        pinned = {run for run in studio.folder.runs() if studio.folder.about(run)["is_pinned"]}
        assert pinned == set(session.pins)
        # Back to an address with two of them.
        session.show_address(Wanted(scenario=session.name, pin=f"{runs[4]},{runs[0]}"))
        assert session.pins == (runs[4], runs[0])
        assert {run for run in studio.folder.runs() if studio.folder.about(run)["is_pinned"]} == {runs[4], runs[0]}

    on_pages(folder, act)


def test_runs_that_a_page_shows_are_not_removed(folder, monkeypatch):
    monkeypatch.setattr(Folder, "prune", partialmethod(Folder.prune, kept=1))

    async def act(studio, one, other):
        await until(lambda: found(one, "valid"))
        job = one.session.start_run()
        await until(lambda: job.is_over)
        shown, pinned, neither = (f"{number:012}" for number in range(3))
        for age, run in enumerate((shown, pinned, neither), 1):
            shutil.copytree(studio.folder.run(job.run), studio.folder.runs_path / run)
            os.utime(studio.folder.run(run) / "provenance.json", (age, age))
        other.session.show(shown)
        other.session.set_pins([pinned])
        # Another page removes its pin of the same run.
        one.session.set_pins([pinned])
        one.session.set_pins([])
        again = one.session.start_run()
        assert set(studio.folder.runs()) == {job.run, shown, pinned}
        await until(lambda: again.is_over)

    on_pages(folder, act, count=2)


def test_a_page_that_is_opened_later_shows_the_run_of_its_scenario(folder):
    (folder / "short.toml").write_text(SHORT.replace('"2 s"', '"100000 s"'))

    async def act(studio, user, other):
        await until(lambda: found(user, "valid"))
        job = user.session.start_run()
        await until(lambda: job.progress)
        await user.open("/?scenario=short.toml")
        await other.open("/?scenario=geo")
        later, elsewhere = list(studio.pages.values())[-2:]
        assert found(user, "job")
        await until(lambda: found(user, "valid"))
        user.find("stop").click()
        await until(lambda: later.run)
        assert (later.run, elsewhere.run) == (job.run, "")

    on_pages(folder, act, count=2)


def test_a_page_leaves_a_run_that_was_removed(folder):
    async def act(studio, user):
        session = user.session
        await until(lambda: found(user, "valid"))
        job = session.start_run()
        await until(lambda: job.is_over)
        session.set_pins([job.run])
        for button in ("share", "svg", "pin"):
            session.show(job.run)
            if studio.folder.runs():
                shutil.rmtree(studio.folder.run(job.run))
            user.notify.messages.clear()
            user.find(button).click()
            assert f"there is no run {job.run}" in user.notify.messages[0], button
            assert (session.run, session.pins) == ("", ())
            assert session.draft in studio.drafts
            assert not found(user, "share")[0].enabled
        assert found(user, "pin")[0].text == "Pin"
        session.set_pins([job.run])
        assert session.pins == ()

    on_pages(folder, act)


@pytest.mark.parametrize("name", ["run", "pin"])
@pytest.mark.parametrize(("asked", "said"), [("0123456789ab", "there is no run"), ("x", "does not name a run")])
def test_an_address_with_an_unknown_run_is_not_ignored(folder, name, asked, said):
    async def act(studio, user):
        await user.open(f"/?{name}={asked}")
        await until(lambda: user.notify.messages)
        assert said in user.notify.messages[0]

    on_pages(folder, act)


def test_of_two_pages_that_edit_one_file_the_second_is_asked(folder):
    async def act(studio, one, other):
        await until(lambda: found(one, "valid") and found(other, "valid"))
        found(one, "editor")[0].value = SHORT.replace("2 Mbit/s", "3 Mbit/s")
        found(other, "editor")[0].value = SHORT.replace("2 Mbit/s", "4 Mbit/s")
        one.find("save").click()
        await until(lambda: "3 Mbit/s" in (folder / "short.toml").read_text())
        other.find("save").click()
        await until(lambda: found(other, "In the file"))
        assert "3 Mbit/s" in found(other, "In the file")[0].value
        assert "4 Mbit/s" in found(other, "Here")[0].value
        # Nothing is written before the answer.
        assert "3 Mbit/s" in (folder / "short.toml").read_text()
        other.find("Keep mine").click()
        await until(lambda: "4 Mbit/s" in (folder / "short.toml").read_text())
        one.find("save").click()
        await until(lambda: found(one, "In the file"))
        one.find("Take the file").click()
        await until(lambda: "4 Mbit/s" in one.session.text)
        assert found(one, "editor")[0].value == one.session.text

    on_pages(folder, act, count=2)


def test_a_bundled_scenario_is_saved_under_a_name_of_the_folder(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        user.find("save").click()
        await until(lambda: found(user, "save-name"))
        user.find("save-name").click()
        await until(lambda: (folder / "geo-mine.toml").exists())
        assert user.session.name == "geo-mine.toml"
        assert not user.session.is_changed

    on_pages(folder, act, first="geo")


def test_a_file_is_replaced_by_a_bundled_scenario_after_a_question_only(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        for answer, is_replaced in (("Cancel", False), ("Replace the file", True)):
            user.find("save").click()
            await until(lambda: found(user, "save-name"))
            user.find("Name of the file").elements.pop().value = "short.toml"
            user.find("save-name").click()
            await until(lambda: found(user, "In the file"))
            await user.should_see("short.toml exists already.")
            assert found(user, "In the file")[0].value == SHORT
            user.find(answer).click()
            await until(lambda: not found(user, "In the file"))
            assert ((folder / "short.toml").read_text() == SHORT) != is_replaced
        assert (folder / "short.toml").read_text() == user.session.text
        assert user.session.name == "short.toml"

    on_pages(folder, act, first="geo")


def test_a_file_that_was_removed_is_saved_again(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        (folder / "short.toml").unlink()
        user.find("save").click()
        await until(lambda: (folder / "short.toml").exists())
        assert (folder / "short.toml").read_text() == SHORT

    on_pages(folder, act)


def test_a_file_that_was_changed_elsewhere_is_read_again_if_the_page_has_no_changes(folder):
    from bentpipe.studio.page.command import run_command

    file, other = folder / "short.toml", SHORT.replace("2 Mbit/s", "3 Mbit/s")

    async def act(studio, user):
        session = user.session
        await until(lambda: found(user, "valid"))
        file.write_text(other)
        job = session.start_run()
        assert session.text == found(user, "editor")[0].value == other
        await until(lambda: job.is_over)
        assert studio.folder.about(job.run)["text"] == other
        assert run_command(session, job.run).startswith("bentpipe run short.toml")
        session.open("geo")
        file.write_text(SHORT)
        session.open("short.toml")
        assert session.text == SHORT
        # Own changes stay, and the command of their run is not that of the file.
        session.edit(f"{SHORT}# mine")
        file.write_text(other)
        assert not session.refresh()
        session.open("geo")
        session.open("short.toml")
        assert session.text == f"{SHORT}# mine"
        job = session.start_run()
        await until(lambda: job.is_over)
        assert run_command(session, job.run) == f"bentpipe run .studio/runs/{job.run}/scenario.toml"

    on_pages(folder, act)


def test_a_text_whose_file_was_removed_counts_as_changed(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        (folder / "short.toml").unlink()
        assert not user.session.refresh()
        assert found(user, "file")[0].text == "short.toml (changed)"
        assert user.session.text == SHORT

    on_pages(folder, act)


@pytest.mark.parametrize("text", ["", "x = ["])
def test_a_file_that_is_not_valid_has_no_picture(folder, text):
    (folder / "broken.toml").write_text(text)

    async def act(studio, user):
        await until(lambda: user.session.draft)
        user.session.open("broken.toml")
        await until(lambda: user.session.errors)
        assert user.session.draft == ""
        # While a text is edited, its last valid picture stays.
        user.session.open("short.toml")
        await until(lambda: user.session.draft)
        user.session.edit(f"{SHORT}[")
        await until(lambda: user.session.errors)
        assert user.session.draft

    on_pages(folder, act)


def test_a_foreign_text_is_text_on_the_page(folder):
    evil = "<img src=x onerror=alert(1)>"
    (folder / "short.toml").write_text(SHORT.replace('"short"', f"'{evil}'").replace('cc = "', ""))

    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        found(user, "editor")[0].value = SHORT.replace("[flow.bulk]", f"[flow.bulk]\n'{evil}' = 1")
        await until(lambda: user.session.errors)
        from nicegui import ElementFilter, ui

        with user:
            assert [each.content for each in ElementFilter(kind=ui.html)] == ["bentpipe studio"]
        assert any(evil in text for text in labels(user))

    on_pages(folder, act)


def test_a_studio_has_so_many_pages_and_no_more(folder):
    async def act(studio, user):
        from bentpipe.studio.state import PAGES_MAX

        studio.pages |= {f"page {number}": user.session for number in range(PAGES_MAX)}
        await user.open("/")
        await user.should_see(f"{PAGES_MAX} pages of this studio are open")

    on_pages(folder, act)


@pytest.mark.parametrize(
    ("entered", "said"), [(None, "is empty"), (-3, "= -3"), (1.5, "= 1.5"), (99999999, "= 99999999")]
)
def test_replications_outside_their_range_are_refused(folder, entered, said):
    async def act(studio, user):
        await opened_at(user, "Compare")
        field = user.find("Replications").elements.pop()
        field.value = entered
        field.sanitize()
        user.find("start-compare").click()
        assert user.notify.messages[-1] == f"replications {said}\n  expected a whole number from 1 to 1000"
        assert studio.jobs.list_jobs() == []

    on_pages(folder, act)


def test_compare_shows_statements_and_says_how_many_runs_count(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        user.find("Compare").click()
        await until(lambda: found(user, "senders"))
        found(user, "senders")[0].value = ["cubic", "reno"]
        user.find("start-compare").click()
        await until(lambda: studio.jobs.list_jobs() and studio.jobs.list_jobs()[0].is_over)
        (job,) = studio.jobs.list_jobs()
        assert (job.state, job.error) == ("done", "")
        await until(lambda: found(user, "statement"))
        assert [case["of"] for case in job.result["cases"]]
        assert job.result["command"].startswith("bentpipe compare short.toml")
        chart = found(user, "chart-compare")[0]
        assert sorted(chart.options["yAxis"]["data"]) == ["cubic", "reno"]

    on_pages(folder, act)


def test_sweep_fills_a_map_and_a_cell_becomes_a_run(folder):
    async def act(studio, user):
        await opened_at(user, "Sweep")
        await until(lambda: found(user, "key-2"))
        found(user, "values-2")[0].value = "10 ms,20 ms,30 ms"
        user.find("start-sweep").click()
        await user.should_see("Key 2 has no key")
        found(user, "key-2")[0].value = "link.sat.delay"
        found(user, "margin-sweep")[0].value = "-3 apples"
        user.find("start-sweep").click()
        await until(lambda: studio.jobs.list_jobs() and studio.jobs.list_jobs()[0].state == "failed")
        assert "apples" in studio.jobs.list_jobs()[0].error
        found(user, "margin-sweep")[0].value = "50 %"
        user.find("start-sweep").click()
        await until(lambda: len(studio.jobs.list_jobs()) == 2 and not studio.jobs.open())
        (job,) = [each for each in studio.jobs.list_jobs() if each.state != "failed"]
        assert (job.state, job.error) == ("done", "")
        chart = found(user, "chart-sweep")[0]
        assert chart.options["yAxis"]["data"] == ["10 ms", "20 ms", "30 ms"]
        cells = chart.options["series"][0]["data"]
        assert len(cells) == 6
        for kind, border in (("best", "solid"), ("ties", "dashed")):
            framed = [index for index, each in enumerate(cells) if each["itemStyle"].get("borderType") == border]
            assert {job.result["points"][index]["of"] for index in framed} == {*job.result[kind]["goodput"]}, kind
        assert not any("decal" in each["itemStyle"] for each in cells)
        index = next(i for i, point in enumerate(job.result["points"]) if point["at"] == ["reno", "20 ms"])
        with user:
            from bentpipe.studio.page.sweep import Sweep

            panel = next(each for each in _panels(user.session) if isinstance(each, Sweep))
            part = {**job.result, "missing": 1, "points": [dict(each) for each in job.result["points"]]}
            part["points"][0] |= {"replications": 0, "mean": None, "low": None, "high": None}
            part["points"][1] |= {"mean": 2e6, "low": 2e6 - 10, "high": 2e6 + 10}
            first, *others = panel.drawing(part)["series"][0]["data"]
            assert others[0]["text"] == "2 ± < 0.001"
            assert ("decal" in first["itemStyle"], first["visualMap"], first["text"]) == (True, False, "0 of 5")
            assert not any("decal" in each["itemStyle"] for each in others)
            panel.handle_click(index)
        await until(lambda: studio.jobs.list_jobs()[0].kind == "run" and studio.jobs.list_jobs()[0].is_over)
        about = studio.folder.about(user.session.run)
        assert dict(about["sets"]) == {"tcp.cc": "reno", "link.sat.delay": "20 ms"}

    on_pages(folder, act)


def test_a_start_that_is_refused_removes_what_an_earlier_one_left(folder):
    async def act(studio, user):
        await opened_at(user, "Sweep")
        await until(lambda: found(user, "key-2"))
        user.find("start-sweep").click()
        await until(lambda: studio.jobs.list_jobs() and studio.jobs.list_jobs()[0].is_over)
        await until(lambda: found(user, "chart-sweep") and found(user, "statement"))
        (state,) = found(user, "state-sweep")
        assert state.text == "done"
        found(user, "values-1")[0].value = ""
        user.find("start-sweep").click()
        assert state.text == "Key 1 has no values\n  expected a key and its values, or neither"
        assert not found(user, "chart-sweep")
        assert not found(user, "statement")
        found(user, "values-1")[0].value = "reno,cubic"
        user.find("start-sweep").click()
        await until(lambda: found(user, "chart-sweep") and state.text == "done")

    on_pages(folder, act)


def test_tune_shows_its_rungs_and_the_worth_of_each_change(folder):
    search = 'vary = { tcp.initial_window = ["10 segments", "40 segments"], link.sat.queue = ["1 bdp", "2 bdp"] }\n'
    (folder / "short.toml").write_text(f"{SHORT}[tune]\n{search}")

    async def act(studio, user):
        await opened_at(user, "Tune")
        await until(lambda: found(user, "objective"))
        user.find("start-tune").click()
        await user.should_see("the search has no objective")
        found(user, "objective-of")[0].value = "bulk"
        user.find("start-tune").click()
        await user.should_see("the flow or link has no metric")
        assert studio.jobs.list_jobs() == []
        found(user, "objective")[0].value = "goodput"
        user.find("start-tune").click()
        await until(lambda: studio.jobs.list_jobs() and studio.jobs.list_jobs()[0].is_over)
        (job,) = studio.jobs.list_jobs()
        assert (job.state, job.error) == ("done", "")
        assert job.result["command"] == "bentpipe tune short.toml --for goodput:bulk"
        await until(lambda: found(user, "worth"))
        assert "initial window: 10 segments -> 40 segments" in " ".join(labels(user))
        series = {each["name"]: each["data"] for each in found(user, "chart-tune")[0].options["series"]}
        assert sum(map(len, series.values())) == sum(rung["points"] for rung in job.result["rungs"])
        (best,) = series["best so far"]
        # More goodput is better, and the chart has its change.
        assert best["value"][1] > 0
        assert "initial window 40 segments" in best["text"]

    on_pages(folder, act)


def test_the_chart_of_a_search_has_its_best_inside_and_triangles_for_what_is_outside():
    from bentpipe.studio.page.tune import Tune

    changes = {"best": 2.9, "far": 9.0, "low": -3.0}
    settings = [{"name": name, "change": change, "kept": True} for name, change in changes.items()]
    rung = {"name": "", "points": 3, "blocks": 1, "settings": settings}
    drawn = Tune.drawing(None, {"rungs": [rung], "best": "best", "objective": "goodput"})
    dots = {each["text"]: each for series in drawn["series"] for each in series["data"]}
    assert {text: (dot["value"][1], dot.get("symbol")) for text, dot in dots.items()} == {
        "best: +290.0 %": (290.0, None),
        "far: +900.0 %": (290.0, "triangle"),
        "low: -300.0 %": (-100.0, "triangle"),
    }


def test_commands_name_a_file_that_begins_with_a_dash_as_a_file(folder):
    (folder / "-dash.toml").write_text(SHORT)

    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        words = [each.text.split() for each in found(user, "command")]
        assert words == [["bentpipe", verb, "./-dash.toml"] for verb in ("run", "check", "studio")]

    on_pages(folder, act, first="-dash.toml")
    from bentpipe.studio.worker import _search_command

    assert _search_command("-dash.toml", {}) == "bentpipe tune ./-dash.toml"


def _panels(session):
    return [each.__self__ for each in session._listeners["jobs"] if hasattr(each, "__self__")]


def test_a_page_cannot_name_code(folder, tmp_path):
    (folder / "mine.py").write_text("raise SystemExit('code of a page was run')\n")

    async def act(studio, user):
        await opened_at(user, "Sweep")
        await until(lambda: found(user, "values-1"))
        found(user, "values-1")[0].value = "mine.py:Mine,reno"
        user.find("start-sweep").click()
        await user.should_see("is not a congestion control")
        assert studio.jobs.list_jobs() == []
        found(user, "editor")[0].value = SHORT + '[tcp]\ncc = "mine.py:Mine"\n'
        await until(lambda: user.session.errors)

    on_pages(folder, act)


def test_custom_classes_of_the_command_line_can_be_named(folder):
    (folder / "mine.py").write_text("import bentpipe as bp\nclass Mine(bp.Reno):\n    pass\n")

    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        found(user, "editor")[0].value = SHORT + '[tcp]\ncc = "Mine"\n'
        await until(lambda: user.session.scenario is not None and user.session.is_changed and not user.session.errors)
        job = user.session.start_run()
        await until(lambda: job.is_over)
        assert (job.state, job.error) == ("done", "")

    on_pages(folder, act, own=(f"{folder}/mine.py:Mine",))


def test_the_library_shows_a_run_with_its_name_and_run_leaves_the_library(folder):
    (folder / "other.toml").write_text(SHORT.replace('"2 s"', '"1 s"'))

    def tab(user):
        from nicegui import ElementFilter, ui

        with user:
            return next(each.value for each in ElementFilter(kind=ui.tabs) if each.value != "Text")

    def origin(user):
        return [each for each in labels(user) if "Run of" in each] if found(user, "origin")[0].visible else []

    async def act(studio, user):
        await opened_at(user, "Library")
        user.find("run").click()
        await until(lambda: user.session.run)
        assert (tab(user), origin(user)) == ("Run", [])
        of_short = user.session.run
        user.session.start_run({"tcp.cc": "reno"})
        await until(lambda: user.session.run != of_short)
        assert ", tcp.cc = reno. The editor has other values." in origin(user)[0]
        user.session.open("other.toml")
        assert origin(user) == []
        user.find("Library").click()
        entries = found(user, "run-entry")
        rows = [each.text for each in labels_of(entries)]
        assert len(set(rows)) == len(rows) == 2
        assert all(each.startswith("short.toml, ") for each in rows)
        user.find("Show").click()
        assert tab(user) == "Run"
        await user.should_see("The editor has other.toml.")
        user.find("Open short.toml").click()
        assert (user.session.name, user.session.text) == ("short.toml", SHORT)

    on_pages(folder, act)


def labels_of(elements):
    from nicegui import ui

    return [each for element in elements for each in element.descendants() if isinstance(each, ui.label)]


def test_an_empty_name_cannot_be_saved(folder):
    async def act(studio, user):
        await until(lambda: found(user, "valid"))
        user.find("save").click()
        await until(lambda: found(user, "save-name"))
        (button,) = found(user, "save-name")
        assert button.enabled
        with user:
            from nicegui import ElementFilter, ui

            field = next(each for each in ElementFilter(kind=ui.input) if each.value == "geo-mine.toml")
        field.value = " "
        assert not button.enabled

    on_pages(folder, act, first="geo")
