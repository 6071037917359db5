"""A packed result can be repeated from the file alone, and a repetition names each difference."""

import io
import json
import re
import zipfile
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.packing import cite

MINE = """
import bentpipe as bp
from helper import KEPT

class Mine(bp.CongestionControl):
    def on_congestion(self, why, path):
        self.ssthresh = self.cwnd * KEPT
"""


@pytest.fixture
def here(written, tmp_path):
    """Return a folder with a scenario that names a trace, and a class that imports a file beside it."""
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "rate.csv").write_text("time_s,rate_bps\n0,1000000\n1,2000000\n")
    text = (tmp_path / written).read_text().replace('rate = "1 Mbit/s"', 'rate = { file = "traces/rate.csv" }')
    (tmp_path / "traced.toml").write_text(text)
    (tmp_path / "helper.py").write_text("KEPT = 0.8\n")
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def do(*words):
    """Run a command, and return its exit code and output."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output


def make(*words):
    code, said = do(*words, "-q")
    assert code == 0, said


def change(pack, **changes):
    """Return a copy of a packed result with other content, and a list that agrees with it."""
    with zipfile.ZipFile(pack) as file:
        content = {name: file.read(name) for name in file.namelist()}
    facts = json.loads(content.pop("pack.json"))
    facts |= changes.pop("facts", {})
    content |= changes.pop("content", {})
    facts["files"] = {name: sha256(data).hexdigest() for name, data in content.items()}
    place = pack.with_name("changed.zip")
    with zipfile.ZipFile(place, "w") as file:
        for name, data in {"pack.json": json.dumps(facts).encode(), **content}.items():
            file.writestr(name, data)
    return place


@pytest.mark.parametrize(
    "verb",
    [
        ("compare", "--cc", "cubic,{here}/mine.py:Mine", "--replications", "2", "--store", "kept"),
        ("mix", "--cc", "cubic,{here}/mine.py:Mine", "--replications", "2", "--store", "kept"),
        ("mix", "--cc", "cubic,{here}/mine.py:Mine", "--vary", "stagger=0s,0.2s", "-n", "2", "--store", "kept"),
        ("sweep", "--vary", "tcp.cc=cubic,{here}/mine.py:Mine", "--replications", "2", "--store", "kept"),
        ("run", "--cc", "{here}/mine.py:Mine", "--save", "kept"),
        ("run", "--save", "kept"),
    ],
    ids=lambda verb: f"{verb[0]}{len(verb)}",
)
def test_a_stranger_repeats_each_kind_of_result_from_the_file_alone(here, monkeypatch, verb):
    place = here / "private"
    place.mkdir()
    for name in ("traced.toml", "mine.py", "helper.py", "traces"):
        (here / name).rename(place / name)
    make(verb[0], place / "traced.toml", *(word.format(here=place) for word in verb[1:]))
    packed = bp.pack("kept", here / "packed.zip")
    inside, has_code = set(packed.files), any("mine.py" in word for word in verb)
    assert ({"classes/Mine/mine.py", "classes/Mine/helper.py"} <= inside) == has_code
    assert verb[0] == "run" or {"scenario/scenario.toml", "scenario/traces/rate.csv"} <= inside
    monkeypatch.chdir("/")
    for name in ("traced.toml", "mine.py", "helper.py", "traces/rate.csv"):
        (place / name).unlink()

    refused, said = do("repeat", packed.path)
    assert refused == (2 if has_code else 0)
    assert ("classes/Mine/mine.py:Mine" in said) == has_code
    repeated = bp.repeat(packed.path, trust=True, progress=False)

    assert repeated.is_equal, str(repeated)
    assert repeated.verdict.startswith("equal to the byte")
    assert not repeated.others
    # No place of the machine that packed it.
    whole = packed.path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        found = [name for name in file.namelist() if str(here).encode() in file.read(name)]
    assert found == []


def test_equal_results_are_equal_files(here):
    for name in ("one", "two"):
        make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "2", "--store", name)
        bp.pack(name, f"{name}.zip")
    one, two = (Path(f"{name}.zip").read_bytes() for name in ("one", "two"))
    assert one == two


def test_a_scenario_that_was_a_dict_is_packed_as_well(here):
    content = {
        "duration": "1 s",
        "link": {"l": {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "9 ms"}},
        "flow": {"f": {"from": "a", "to": "b"}},
    }
    bp.compare(content, cc=["cubic", "reno"], replications=2, store="kept", progress=False)
    packed = bp.pack("kept")
    assert packed.path.name == "kept.pack.zip"
    assert "scenario/scenario.json" in packed.files
    assert bp.repeat(packed.path, progress=False).is_equal


def test_what_has_changed_since_the_runs_is_refused(here):
    make("compare", "traced.toml", "--cc", "cubic,mine.py:Mine", "--replications", "1", "--store", "kept")
    (here / "helper.py").write_text("KEPT = 0.9\n")
    (here / "mine.py").write_text(MINE + "\n")
    with pytest.raises(ScenarioError, match="its code has changed"):
        bp.pack("kept")
    (here / "helper.py").write_text("KEPT = 0.8\n")
    (here / "mine.py").write_text(MINE)
    (here / "traces" / "rate.csv").write_text("time_s,rate_bps\n0,1000000\n1,3000000\n")
    with pytest.raises(BentpipeError, match="have changed since the runs"):
        bp.pack("kept")
    (here / "traces" / "rate.csv").unlink()
    with pytest.raises(BentpipeError, match="cannot be read any more"):
        bp.pack("kept")


def test_a_difference_is_named_and_ends_with_1(here):
    make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "2", "--store", "kept")
    packed = bp.pack("kept")
    with zipfile.ZipFile(packed.path) as file:
        runs = pl.read_parquet(file.read("result/runs.parquet"))
    other = io.BytesIO()
    runs.with_columns(pl.col("goodput_bps") * 1.25).write_parquet(other)
    same = io.BytesIO()
    runs.write_parquet(same, compression="uncompressed")

    wrong = change(packed.path, content={"result/runs.parquet": other.getvalue()}, facts={"polars": "0.1"})
    code, said = do("repeat", wrong)
    assert code == 1
    assert "1 of 3 tables differ" in said
    assert "runs: goodput_bps in 4 of 4 rows, by 20 % at most" in said
    assert "polars: packed with 0.1" in said
    # The same values in another form.
    code, said = do("repeat", change(packed.path, content={"result/runs.parquet": same.getvalue()}))
    assert (code, "equal values in 3 tables" in said) == (0, True), said


def test_an_interrupted_repetition_goes_on_in_its_folder(here):
    make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "2", "--store", "kept")
    packed = bp.pack("kept")
    for _ in range(2):
        assert bp.repeat(packed.path, "there", progress=False).is_equal
    (here / "there" / "scenario" / "scenario.toml").write_text("")
    with pytest.raises(BentpipeError, match="is not the file of"):
        bp.repeat(packed.path, "there", progress=False)


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/../../outside", "c:\\outside", "a\\b"])
def test_a_file_cannot_leave_its_folder(here, name):
    make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "1", "--store", "kept")
    wrong = change(bp.pack("kept").path, content={name: b"x"})
    with pytest.raises(BentpipeError, match="outside its folder"):
        bp.repeat(wrong, trust=True)


@pytest.mark.parametrize("name", ["json.py", "bentpipe/__init__.py", "runs/results.sqlite", "again/table.parquet"])
def test_nothing_lies_where_the_command_runs(here, name):
    """Python imports from the folder of a command first: a file there would run without a question."""
    make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "1", "--store", "kept")
    (here / "ran").unlink(missing_ok=True)
    wrong = change(bp.pack("kept").path, content={name: b"open('ran', 'w').close()"})
    with pytest.raises(BentpipeError, match="which no packed result has"):
        bp.repeat(wrong)
    assert not (here / "ran").exists()


@pytest.mark.parametrize("place", ["scenario/evil.py:Evil", "/tmp/evil.py:Evil", "classes/none.py:Evil", "json"])
def test_code_that_is_not_shown_does_not_run(here, place):
    make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "1", "--store", "kept")
    wrong = change(bp.pack("kept").path, facts={"classes": {"Evil": place}}, content={"scenario/evil.py": b"1 / 0"})
    with pytest.raises(BentpipeError, match="names code that is not inside"):
        bp.repeat(wrong, trust=True)


@pytest.mark.parametrize(
    "facts",
    [{"command": None}, {"command": [1]}, {"classes": []}, {"classes": {"a": 1}}, {"packages": 3}, {"citation": None}],
    ids=str,
)
def test_facts_of_another_form_are_damage(here, facts):
    make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "1", "--store", "kept")
    wrong = change(bp.pack("kept").path, facts=facts)
    for words in (["repeat", wrong], ["repeat", wrong, "--look"], ["cite", wrong]):
        code, said = do(*words)
        assert (code, "is damaged" in said) == (2, True), said


COMMAND = ["bentpipe", "compare", "scenario/scenario.toml", "--cc", "cubic,reno"]


@pytest.mark.parametrize(
    "command",
    [
        ["rm", *COMMAND[1:]],
        ["bentpipe", "emulate", *COMMAND[2:]],
        ["bentpipe", "compare", "/etc/passwd"],
        [*COMMAND, "--save", "/tmp/x"],
        [*COMMAND, "--save=/tmp/x"],
        [*COMMAND, "-o", "/tmp/x"],
        [*COMMAND, "--on", "dask://elsewhere:1"],
        [*COMMAND[:-1], "cubic,/tmp/evil.py:Evil"],
        [*COMMAND[:-1], "cubic,scenario/evil.py:Evil"],
        [*COMMAND, "--set", "tcp.cc=evil.py:Evil"],
        [*COMMAND, "--set", 'node.x.middlebox=["evil.py:Evil"]'],
        [],
    ],
)
def test_a_command_that_does_more_is_refused(here, command):
    make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "1", "--store", "kept")
    wrong = change(bp.pack("kept").path, facts={"command": command}, content={"scenario/evil.py": b"x"})
    with pytest.raises(BentpipeError, match="does more than repeat its result"):
        bp.repeat(wrong, trust=True)


def test_damage_is_found_at_each_place(here):
    make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "1", "--store", "kept")
    whole = bp.pack("kept").path.read_bytes()
    wrong = here / "wrong.zip"
    for at in range(0, len(whole), len(whole) // 150):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]):
            wrong.write_bytes(data)
            try:
                bp.packing.archive.read_archive(wrong)
            except BentpipeError:
                continue
            # Bytes that carry nothing, such as dates in the headers of the ZIP file.
            assert len(data) == len(whole)


def test_wrong_places_say_what_was_expected(here):
    code, said = do("pack", "nothing")
    assert (code, "does not exist" in said) == (2, True)
    code, said = do("repeat", "traced.toml")
    assert (code, "expected a file of bentpipe pack" in said) == (2, True)
    code, said = do("cite", "traced.toml")
    assert (code, "expected a file of bentpipe pack" in said) == (2, True)


def test_looking_shows_the_code_and_runs_nothing(here):
    (here / "mine.py").write_text("import pathlib\n" + MINE + '\npathlib.Path("ran").touch()\n')
    make(
        "compare", "traced.toml", "--cc", "cubic,mine.py:Mine", "--replications", "1", "--store", "kept", "--jobs", "1"
    )
    packed = bp.pack("kept").path
    (here / "ran").unlink()
    code, said = do("repeat", packed, "--look")
    assert code == 0
    assert "self.ssthresh = self.cwnd * KEPT" in said
    assert not (here / "ran").exists()


def test_a_citation_has_what_a_reader_needs(here):
    make("compare", "traced.toml", "--cc", "cubic,reno", "--replications", "3", "--store", "kept")
    code, said = do("cite", "kept")
    assert code == 0
    digest = bp.load("traced.toml").digest
    for part in (
        "cubic, reno: 3 replications of each",
        "seeds 1 to 3",
        "results 11",
        "hosts RFC defaults, cubic, reno",
        digest,
    ):
        assert part in said, said
    assert "bentpipe compare traced.toml --replications 3 --cc cubic,reno" in said
    assert bp.cite(bp.pack("kept").path).sentence.startswith("cubic, reno: 3 replications")


def test_a_run_is_cited_with_the_number_of_its_results(here):
    make("run", "traced.toml", "--save", "kept")
    place = here / "kept" / "provenance.json"
    place.write_text(place.read_text().replace('"results": 11', '"results": 10'))
    cited = bp.cite("kept")
    assert "results 10;" in cited.sentence
    assert "note = {results 10}" in cited.bibtex
    assert "Command" not in cited.sentence


def test_a_sweep_is_cited_by_its_keys(here):
    make("sweep", "traced.toml", "--vary", "tcp.cc=cubic,reno", "--vary", "link.l.delay=5ms,9ms", "--store", "kept")
    assert bp.cite("kept").sentence.startswith(
        "4 points of tcp.cc, link.l.delay, 10 replications of each point over the"
    )


def test_the_reference_is_that_of_the_citation_file():
    text = (Path(__file__).parent.parent / "CITATION.cff").read_text()
    assert f'title: "{cite.TITLE}"' in text
    assert f'- name: "{cite.AUTHORS}"' in text
    assert f'repository-code: "{cite.URL}"' in text
    assert re.search(rf"^date-released: {cite.YEAR}-", text, re.MULTILINE)
