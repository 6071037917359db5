"""The folder of the studio: names that stay inside, runs that are kept, files that change under a page."""

import json
import os
import shutil

import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError, Problem, ScenarioError
from bentpipe.scenario import editing
from bentpipe.studio.folders import ChangedError, Folder, write_about
from tests.studio_pages import SHORT


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "mine"
    place.mkdir()
    (place / "a.toml").write_text(SHORT)
    (tmp_path / "outside.toml").write_text("secret = 1\n")
    return Folder(place)


@pytest.mark.parametrize(
    "name",
    ["../outside.toml", "/etc/passwd", "a/../../outside.toml", "", "x\0y", "..", "link.toml", "far/outside.toml"],
)
def test_a_name_that_leads_out_is_refused(folder, name):
    (folder.path / "link.toml").symlink_to(folder.path.parent / "outside.toml")
    (folder.path / "far").symlink_to(folder.path.parent)
    for action in (folder.open, lambda name: folder.save(name, "x = 1", ""), folder.inside):
        with pytest.raises(BentpipeError, match="outside the folder"):
            action(name)
    assert (folder.path.parent / "outside.toml").read_text() == "secret = 1\n"


def test_scenarios_are_opened_with_a_mark_and_bundled_ones_without(folder):
    assert folder.open("a.toml")[:2] == ("a.toml", SHORT)
    assert not folder.open("a.toml").is_bundled
    assert folder.open("geo").is_bundled
    (folder.path / "geo").mkdir()
    assert folder.open("geo").is_bundled
    assert folder.scenarios() == ["a.toml"]


def test_reports_are_listed_and_read_and_other_files_are_not(folder):
    for place in ("mine.report", "mine.sweep/report", ".studio/results/0123456789ab/report"):
        (folder.path / place).mkdir(parents=True)
        (folder.path / place / "index.html").write_text("<p>found")
    (folder.path / "far.report").mkdir()
    (folder.path / "far.report" / "index.html").symlink_to(folder.path.parent / "outside.toml")
    assert len(folder.reports()) == 3
    assert {folder.report(name).read_text() for name in folder.reports()} == {"<p>found"}
    for name in ("a.toml", "far.report/index.html", "../outside.toml"):
        with pytest.raises(BentpipeError, match="is not a report of the folder"):
            folder.report(name)


def test_a_large_folder_is_listed_up_to_a_limit(folder, monkeypatch):
    for number in range(30):
        (folder.path / f"b{number}.toml").write_text("")
        (folder.path / f"d{number}" / "e" / "f").mkdir(parents=True)
        (folder.path / f"d{number}" / "e" / "c.toml").write_text("")
        (folder.path / f"d{number}" / "e" / "f" / "deep.toml").write_text("")
    assert len(folder.scenarios()) == 61
    monkeypatch.setattr("bentpipe.studio.folders.WALKED_MAX", 10)
    assert len(folder.scenarios()) <= 10


def test_a_file_that_is_too_large_is_not_read(folder, monkeypatch):
    monkeypatch.setattr("bentpipe.studio.folders.SIZE_MAX", 10)
    with pytest.raises(BentpipeError, match="is larger than"):
        folder.open("a.toml")


def test_bytes_that_are_no_text_are_an_error(folder):
    (folder.path / "b.toml").write_bytes(b"# first\ntitle = '\xe9'\n")
    with pytest.raises(BentpipeError) as found:
        folder.open("b.toml")
    said = "b.toml is not text in UTF-8 (byte 0xe9 in line 2)\n  expected a scenario, saved as UTF-8"
    assert str(found.value) == said


def test_save_refuses_a_file_that_was_changed_elsewhere(folder):
    opened = folder.open("a.toml")
    mark = folder.save("a.toml", "x = 1\n", opened.mark)
    with pytest.raises(ChangedError):
        folder.save("a.toml", "x = 2\n", opened.mark)
    assert (folder.path / "a.toml").read_text() == "x = 1\n"
    folder.save("a.toml", "x = 2\n", mark)
    # A new name must not be in use.
    with pytest.raises(ChangedError):
        folder.save("a.toml", "x = 3\n", "")


def test_save_writes_a_removed_file_again(folder):
    opened = folder.open("a.toml")
    (folder.path / "a.toml").unlink()
    folder.save("a.toml", "x = 1\n", opened.mark)
    assert (folder.path / "a.toml").read_text() == "x = 1\n"


def test_the_ends_of_lines_are_those_of_an_editor_here_and_stay_in_the_file(folder):
    (folder.path / "a.toml").write_bytes(b"x = 1\r\ny = 2\r\n")
    opened = folder.open("a.toml")
    assert opened.text == "x = 1\ny = 2\n"
    folder.save("a.toml", f"{opened.text}z = 3\n", opened.mark)
    assert (folder.path / "a.toml").read_bytes() == b"x = 1\r\ny = 2\r\nz = 3\r\n"


@pytest.mark.parametrize("name", ["a.py", "a", ".studio/runs/x.toml", "a.toml.exe"])
def test_save_writes_scenarios_only(folder, name):
    with pytest.raises(BentpipeError, match="does not name a scenario"):
        folder.save(name, "x = 1", "")


@pytest.mark.parametrize(
    "act", [lambda folder, name: folder.open(name), lambda folder, name: folder.save(name, "", "")]
)
def test_a_name_that_is_too_long_is_an_error(folder, act):
    with pytest.raises(BentpipeError, match=r"n\.\.\. cannot be (read|written): file name too long$"):
        act(folder, f"{'n' * 300}.toml")


def test_an_error_has_names_as_in_the_folder(folder):
    with pytest.raises(BentpipeError) as found:
        folder.take("absent")
    assert folder.show_error(found.value).startswith(".studio/runs/")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_an_error(folder):
    folder.path.chmod(0o500)
    try:
        with pytest.raises(BentpipeError, match="cannot be written"):
            folder.new_run()
    finally:
        folder.path.chmod(0o700)


def test_a_folder_that_takes_no_files_is_an_error(folder):
    # For root, too: a file is in the place of the folder.
    (folder.path / ".studio").write_text("")
    with pytest.raises(BentpipeError, match="cannot be written"):
        folder.new_run()
    assert folder.runs() == []


@pytest.mark.parametrize("what", ["nowhere", "file"])
def test_a_folder_that_is_none_is_an_error(tmp_path, what):
    (tmp_path / "file").write_text("")
    with pytest.raises(BentpipeError):
        Folder(tmp_path / what)


def saved(folder, number, *, is_pinned=False):
    run, place = folder.new_run()
    bp.run(bp.loads(SHORT)).save(place)
    write_about(place, text=SHORT, scenario="a.toml", sets=[], is_pinned=is_pinned)
    os.utime(place / "provenance.json", (number, number))
    return run


def test_the_oldest_runs_go_unless_they_are_pinned(folder):
    runs = [saved(folder, 1000 + number, is_pinned=number == 1) for number in range(5)]
    assert folder.runs() == runs[::-1]
    assert folder.prune(kept=3) == [runs[0]]
    assert folder.prune(kept=2) == [runs[2]]
    assert folder.runs() == [runs[4], runs[3], runs[1]]


def test_too_many_bytes_remove_runs_too(folder):
    runs = [saved(folder, 1000 + number) for number in range(3)]
    folder.prune(kept_bytes=1)
    assert folder.runs() == [runs[2]]


def test_a_run_is_found_by_its_name_only(folder):
    run = saved(folder, 1000)
    assert folder.run(run).name == run
    (folder.runs_path / "0123456789ab").symlink_to(folder.run(run))
    for name in ("0123456789ab", "../mine", run.upper() if run.upper() != run else "x", f"{run}0", ""):
        with pytest.raises(BentpipeError):
            folder.run(name)
    assert folder.runs() == [run]


def test_what_is_written_beside_a_run_may_be_damaged(folder):
    run = saved(folder, 1000)
    (folder.run(run) / "studio.json").write_text("{")
    assert folder.about(run) == {}
    (folder.run(run) / "studio.json").write_text("[]")
    assert folder.about(run) == {}
    folder.pin(run, True)
    assert folder.about(run)["is_pinned"]


def test_stores_and_saved_runs_are_listed_and_a_run_is_taken_over(folder):
    bp.run(bp.loads(SHORT)).save(folder.path / "out")
    bp.sweep(bp.loads(SHORT), {"duration": ["1 s", "2 s"]}, replications=1, store=folder.path / "store")
    assert {name for name, _ in folder.stores()} == {"out", "store"}
    run = folder.take("out")
    assert folder.runs() == [run]
    assert bp.RunResult.load(folder.run(run)).flows.height == 1


def test_a_store_of_another_version_is_an_error_with_the_reason(folder):
    from types import SimpleNamespace

    from bentpipe.studio.page.library import open_result

    bp.sweep(bp.loads(SHORT), {"duration": ["1 s", "2 s"]}, replications=1).save(folder.path / "old")
    facts = json.loads((folder.path / "old" / "provenance.json").read_text())
    session = SimpleNamespace(studio=SimpleNamespace(folder=folder))
    assert open_result(session, "old")[0] == "sweep"
    (folder.path / "old" / "provenance.json").write_text(json.dumps({"form": facts["form"], "version": "99"}))
    with pytest.raises(BentpipeError, match="old"):
        open_result(session, "old")
    shutil.rmtree(folder.path / "old")
    with pytest.raises(BentpipeError, match="does not exist"):
        open_result(session, "old")


def problems_of(text):
    try:
        return bp.loads(text).warnings
    except ScenarioError as error:
        return error.problems


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("duration", "durration"),
        ("[flow.bulk]", "[flw.bulk]"),
        ('from = "a"\nto = "b"\nrate', 'form = "a"\nto = "b"\nrate'),
    ],
)
def test_a_suggestion_of_a_key_repairs_the_text(right, wrong):
    text = SHORT.replace(right, wrong, 1)
    problem = next(each for each in problems_of(text) if each.suggestion)
    assert editing.repair_text(text, problem) == SHORT


def test_a_suggestion_of_a_value_keeps_its_quotes_and_letters_before_it():
    text = "# ü \U0001f6f0\n" + SHORT + "[tcp]\ncc = 'cubc' # ü\n"
    (problem,) = problems_of(text)
    assert editing.repair_text(text, problem) == text.replace("cubc", "cubic")
    start, end = editing.offsets(text, problem)
    assert text[start:end] == "'cubc'"


def test_a_problem_without_suggestion_or_place_is_not_repaired():
    assert editing.repair_text(SHORT, Problem("m")) is None
    assert editing.repair_text(SHORT, Problem("m", suggestion="x")) is None
    assert editing.repair_text("", Problem("m", suggestion="x", line=1, column=1, end_line=1, end_column=1)) is None
    missing = next(each for each in problems_of(SHORT.replace('duration = "2 s"\n', "")))
    assert editing.repair_text(SHORT, missing) is None


def test_removed_takes_a_key_and_the_tables_that_are_empty_then():
    text = SHORT + "# why\n[tcp]\ncc = { kind = 'cubic', beta = 0.5 } # say\n"
    without = editing.remove_key(text, "tcp.cc.beta")
    assert "beta" not in without
    assert "# say" in without
    assert bp.loads(editing.remove_key(text, "tcp.cc")).digest == bp.loads(SHORT).digest
    assert editing.remove_key(text, "tcp.ecn") == text
    assert editing.remove_key(text, "node.x.kind") == text
    assert "[flow.bulk]" in editing.remove_key(editing.remove_key(text, "flow.bulk.from"), "flow.bulk.to")
    with pytest.raises(ScenarioError):
        editing.remove_key(text, "a..b")
    with pytest.raises(ScenarioError):
        editing.remove_key("x = [", "x")
